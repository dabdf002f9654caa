//! Builds the opacity maps of a scene, see [`opacity_map`](crate::shading::opacity_map).
//!
//! Triangles with the same opacity and texture coordinates share a map, so that the leaves of a tree often need only a
//! few.

mod image_triangle;
mod material_opacity;
mod texel_states;

use std::{collections::HashMap, ops::Range};

use rayon::prelude::*;

use self::{
    image_triangle::ImageTriangle,
    material_opacity::{MaterialOpacity, MeshOpacity, material_opacities},
    texel_states::TexelStates,
};
use super::texture_atlas::TextureBuffers;
use crate::{
    accel::{
        instance::{COORDINATES, Instance, SECOND_COORDINATES},
        primitive::Primitive,
        trees::{SceneBvhs, top_level_count},
    },
    scene::{Mesh, Scene},
    shading::{
        material::Material,
        material_textures::MAP_OPACITY,
        opacity_map::{LEVEL_BITS, MAPPED, OPAQUE, STATE_BITS, UNKNOWN, WORD_LEVEL},
        texture::Texture,
    },
};

/// Largest binary logarithm of the number of cells along an edge of a triangle.
const MAX_LEVEL: u32 = (1 << LEVEL_BITS) - 1;
/// Largest width and height in texels of the edges of a cell from its first corner. They are larger where [`MAX_LEVEL`]
/// or the memory for maps does not suffice.
const TEXELS_PER_CELL: f64 = 2.0;
/// Words that the maps of every scene may take: 256 KiB.
const FREE_WORDS: u64 = 1 << 16;
/// Words that the maps may take in addition for each triangle with an opacity texture. If all triangles differ, each
/// has 16 cells, because more would take longer to examine than all else that loads the scene.
const WORDS_PER_TRIANGLE: u64 = 1;

/// Builds the opacity maps of a scene's primitives. Returns an empty list if all surfaces are opaque.
///
/// `primitives` are those of the trees, followed by copies of triangles of emissive instances.
pub(crate) fn build(
    scene: &Scene,
    trees: &SceneBvhs,
    primitives: &[Primitive],
    materials: &[Material],
    buffers: &TextureBuffers,
) -> Vec<u32> {
    let opacities = material_opacities(materials, &buffers.maps);
    let is_opaque = |opacity: &MaterialOpacity| *opacity == MaterialOpacity::Uniform(OPAQUE);
    if opacities.iter().all(is_opaque) {
        return Vec::new();
    }
    let groups = groups(scene, trees, primitives.len(), &opacities);
    let mut words = vec![UNKNOWN; primitives.len()];
    for group in &groups {
        let places = words[group.range.clone()].par_iter_mut();
        places
            .zip(&primitives[group.range.clone()])
            .for_each(|(word, primitive)| *word = group.state(primitive, &opacities));
    }
    if words.iter().all(|&word| word == OPAQUE) {
        return Vec::new();
    }
    let mut triangles = Triangles::default();
    for group in &groups {
        for index in group.range.clone() {
            if words[index] == MAPPED
                && let MaterialOpacity::Textured(maps) =
                    group.opacity(&primitives[index], &opacities)
            {
                let second = opacity_texture(buffers, maps).second;
                triangles.add(index, maps, group.coordinates(trees, index, second));
            }
        }
    }
    triangles.append_maps(buffers, &mut words);
    words
}

/// Returns the opacity texture of the material textures with this index.
fn opacity_texture(buffers: &TextureBuffers, maps: u32) -> &Texture {
    let map = buffers.maps[maps as usize].textures[MAP_OPACITY as usize];
    &buffers.textures[(map >> 2) as usize]
}

/// Adjacent primitives whose opacity depends on their material in the same way: those of the scene itself, of a mesh,
/// or of copies of emissive triangles.
struct Group<'a> {
    /// Indices of the primitives.
    range: Range<usize>,
    /// The opacities that the primitives have in the instances of their mesh; [`MeshOpacity::OF_PRIMITIVE`] outside
    /// meshes.
    opacity: MeshOpacity,
    /// An instance of the mesh; `None` for primitives outside meshes and for a mesh without instances.
    instance: Option<&'a Instance>,
    /// Whether the maps of these primitives may be used.
    is_mapped: bool,
}

/// Returns the groups of the primitives of a scene, which together contain each of them once.
fn groups<'a>(
    scene: &Scene,
    trees: &'a SceneBvhs,
    primitive_count: usize,
    opacities: &[MaterialOpacity],
) -> Vec<Group<'a>> {
    let mut of_meshes = vec![(MeshOpacity::default(), None); scene.meshes.len()];
    for (written, instance) in scene.instances.iter().zip(trees.instances.iter()) {
        let (opacity, example) = &mut of_meshes[written.mesh as usize];
        opacity.add(instance.material, opacities);
        *example = Some(instance);
    }
    let of_scene = |range, is_mapped| Group {
        range,
        opacity: MeshOpacity::OF_PRIMITIVE,
        instance: None,
        is_mapped,
    };
    let mut end = top_level_count(scene);
    let mut groups = vec![of_scene(0..end, true)];
    // Without instances, the trees contain no meshes.
    let is_used = |_: &&Mesh| !scene.instances.is_empty();
    let meshes = scene.meshes.iter().filter(is_used);
    for (mesh, (opacity, instance)) in meshes.zip(of_meshes) {
        let range = end..end + mesh.triangles.len();
        end = range.end;
        groups.push(Group {
            range,
            opacity,
            instance,
            is_mapped: true,
        });
    }
    groups.push(of_scene(end..primitive_count, false));
    groups
}

impl Group<'_> {
    /// Returns the opacity of one of the primitives. `opacities` are those of the scene's materials, by index.
    fn opacity(&self, primitive: &Primitive, opacities: &[MaterialOpacity]) -> MaterialOpacity {
        self.opacity.of(opacities[primitive.material as usize])
    }

    /// Returns the state of one of the primitives, or [`MAPPED`] if it may have a map. `opacities` are those of the
    /// scene's materials, by index.
    fn state(&self, primitive: &Primitive, opacities: &[MaterialOpacity]) -> u32 {
        // Rays do not hit instances, but their triangles.
        if primitive.is_instance() {
            return OPAQUE;
        }
        match self.opacity(primitive, opacities) {
            MaterialOpacity::Uniform(OPAQUE) => OPAQUE,
            // A ray that passes through one side of a sphere still meets the other.
            _ if primitive.is_sphere() => UNKNOWN,
            MaterialOpacity::Uniform(state) => state,
            MaterialOpacity::Textured(_) if self.is_mapped => MAPPED,
            MaterialOpacity::Textured(_) => UNKNOWN,
        }
    }

    /// Returns the texture coordinates (u, v) of the corners of the triangle with this index: the second set if
    /// `second` is 1 and the mesh has one.
    fn coordinates(&self, trees: &SceneBvhs, index: usize, second: u32) -> [[f32; 2]; 3] {
        let Some(instance) = self.instance.filter(|each| each.flags & COORDINATES != 0) else {
            return [[0.0, 1.0], [1.0, 1.0], [0.0, 0.0]];
        };
        let at = trees.corners[(index as u32).wrapping_add(instance.corners) as usize];
        let next = second & u32::from(instance.flags & SECOND_COORDINATES != 0);
        [at.a, at.b, at.c].map(|corner| {
            let vertex = &trees.vertices[(corner + next) as usize];
            [vertex.u, vertex.v]
        })
    }
}

/// A material's opacity texture on a triangle: the index of the material textures, and the bits of the texture
/// coordinates of the corners.
type TexturedTriangle = (u32, [[u32; 2]; 3]);

/// The triangles with opacity textures, those that share a map listed once.
#[derive(Default)]
struct Triangles {
    /// Triangles that need maps of their own.
    different: Vec<TexturedTriangle>,
    /// The index of each in `different`.
    indices: HashMap<TexturedTriangle, u32>,
    /// Indices of all primitives with opacity textures, each with that of its triangle in `different`.
    primitives: Vec<(usize, u32)>,
}

impl Triangles {
    /// Adds a primitive with the opacity texture of the material textures with index `maps`.
    fn add(&mut self, primitive: usize, maps: u32, coordinates: [[f32; 2]; 3]) {
        let triangle = (maps, coordinates.map(|corner| corner.map(f32::to_bits)));
        let index = *self.indices.entry(triangle).or_insert_with(|| {
            self.different.push(triangle);
            self.different.len() as u32 - 1
        });
        self.primitives.push((primitive, index));
    }

    /// Returns the index of the material textures of a triangle, given by its index in `different`.
    fn texture(&self, index: usize) -> u32 {
        self.different[index].0
    }

    /// Returns the indices in `different`, those of equal material textures one after another.
    fn by_texture(&self) -> Vec<usize> {
        let mut indices: Vec<usize> = (0..self.different.len()).collect();
        indices.sort_by_key(|&index| self.texture(index));
        indices
    }

    /// Appends the maps of all triangles to `words`, and writes the entries of the primitives.
    fn append_maps(&self, buffers: &TextureBuffers, words: &mut Vec<u32>) {
        let placed: Vec<Option<ImageTriangle>> = self
            .different
            .par_iter()
            .map(|&(maps, coordinates)| {
                let coordinates = coordinates.map(|corner| corner.map(f32::from_bits));
                ImageTriangle::new(opacity_texture(buffers, maps), coordinates)
            })
            .collect();
        let level = |placed: &Option<ImageTriangle>| match placed {
            Some(triangle) => triangle.level(TEXELS_PER_CELL).min(MAX_LEVEL),
            None => 0,
        };
        let levels: Vec<u32> = placed.iter().map(level).collect();
        let max_level = max_level(&levels, self.primitives.len() as u64);
        let mut maps = vec![(UNKNOWN, Vec::new()); self.different.len()];
        // The states of one texture at a time are in memory, because they take as much of it as the image.
        for triangles in self
            .by_texture()
            .chunk_by(|&a, &b| self.texture(a) == self.texture(b))
        {
            let of_material = self.texture(triangles[0]);
            let states = TexelStates::new(
                &buffers.maps[of_material as usize],
                opacity_texture(buffers, of_material),
                &buffers.texels,
            );
            let Some(states) = states else { continue };
            let of_texture: Vec<(u32, Vec<u32>)> = triangles
                .par_iter()
                .map(|&index| match &placed[index] {
                    Some(triangle) => map(triangle, &states, levels[index].min(max_level)),
                    None => (UNKNOWN, Vec::new()),
                })
                .collect();
            for (&index, map) in triangles.iter().zip(of_texture) {
                maps[index] = map;
            }
        }
        let mut entries = Vec::with_capacity(maps.len());
        for (entry, cells) in maps {
            let first = words.len() as u64;
            let is_addressable = first < 1 << (u32::BITS - STATE_BITS - LEVEL_BITS);
            entries.push(if cells.is_empty() {
                entry
            } else if is_addressable {
                entry | (first as u32) << (STATE_BITS + LEVEL_BITS)
            } else {
                UNKNOWN
            });
            if is_addressable {
                words.extend(cells);
            }
        }
        for &(primitive, triangle) in &self.primitives {
            words[primitive] = entries[triangle as usize];
        }
    }
}

/// Returns the number of 32-bit words of a map with 2 to the power of `level` rows and columns of cells, at least 1. A
/// word holds the states of 16 cells.
fn word_count(level: u32) -> u64 {
    1 << (2 * level).saturating_sub(WORD_LEVEL)
}

/// Returns the largest limit of the levels, up to [`MAX_LEVEL`], with which the maps of a scene fit into their memory:
/// [`FREE_WORDS`] plus [`WORDS_PER_TRIANGLE`] for each triangle. Returns 0 if no limit suffices.
///
/// `levels` are the wanted levels of the maps, each shared map once. `triangle_count` is the number of triangles with
/// opacity textures, including all that share maps.
fn max_level(levels: &[u32], triangle_count: u64) -> u32 {
    let available = FREE_WORDS + WORDS_PER_TRIANGLE * triangle_count;
    let total = |max: u32| -> u64 { levels.iter().map(|&level| word_count(level.min(max))).sum() };
    let fits = |max: &u32| total(*max) <= available;
    (0..=MAX_LEVEL).rev().find(fits).unwrap_or(0)
}

/// Returns the entry of a triangle, without the index of its map's first word, and the words of the map. They are empty
/// if the triangle needs no map.
fn map(triangle: &ImageTriangle, states: &TexelStates, level: u32) -> (u32, Vec<u32>) {
    let whole = states.over(triangle.texels_of_all());
    if whole != UNKNOWN || level == 0 {
        return (whole, Vec::new());
    }
    let count = 1 << level;
    let mut words = vec![0; word_count(level) as usize];
    for row in 0..count {
        for column in 0..count.min(count - row + 1) {
            let state = states.over(triangle.texels_of_cell(column, row, count));
            let cell = (row << level) + column;
            let bit = STATE_BITS * (cell & ((1 << WORD_LEVEL) - 1));
            words[(cell >> WORD_LEVEL) as usize] |= state << bit;
        }
    }
    // A map in which nothing is known would only cost time.
    if words.iter().all(|&word| word == 0) {
        return (UNKNOWN, Vec::new());
    }
    (MAPPED | level << STATE_BITS, words)
}
