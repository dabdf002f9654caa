//! The material of a block of paths, with its textures applied at each path's surface.

use super::surfaces::Surfaces;
use crate::{
    accel::arrays::{F32Array, PATHS, U32Array, Vec3Array},
    device::render_scene::RenderScene,
    math::max_f32,
    shading::{
        material::{DIFFUSE, Material},
        material_textures::{
            MAP_COLOR, MAP_EMISSION, MAP_METALLIC, MAP_NORMAL, MAP_ROUGHNESS, MAP_SPECULAR,
            MAP_SPECULAR_COLOR, MaterialTextures, bent_normal, channel_value, roughness_factor,
            scale_color, scale_radiance,
        },
        microfacet::MIN_ALPHA,
        texture::{
            FLOAT, LINEAR_8, LINEAR_16, NEAREST, SRGB_8, SRGB_VALUES, Texel, Texture, bilinear,
            decoded_8, image_position, neighbours, sample_texture, texel,
        },
    },
};

/// Textures that affect a diffuse material, as a bit mask of their indices in `MaterialTextures::textures`.
const DIFFUSE_MAPS: u32 = 1 << MAP_COLOR | 1 << MAP_EMISSION | 1 << MAP_NORMAL;
/// Textures that affect a layered material without glass and without a clear coat, as a bit mask.
const LAYERED_MAPS: u32 = DIFFUSE_MAPS
    | 1 << MAP_ROUGHNESS
    | 1 << MAP_METALLIC
    | 1 << MAP_SPECULAR
    | 1 << MAP_SPECULAR_COLOR;

/// A texture value for each path of a block.
#[derive(Default)]
struct TexelArray {
    rgb: Vec3Array,
    alpha: F32Array,
}

impl TexelArray {
    /// Returns the value at this index.
    #[inline(always)]
    fn get(&self, index: usize) -> Texel {
        Texel {
            rgb: self.rgb.get(index),
            alpha: self.alpha[index],
        }
    }

    /// Replaces the value at this index.
    #[inline(always)]
    fn set(&mut self, index: usize, value: Texel) {
        self.rgb.set(index, value.rgb);
        self.alpha[index] = value.alpha;
    }
}

/// The parameters of a material at the surface of each path of a block.
#[derive(Default)]
pub(super) struct ResolvedMaterials {
    pub(super) colors: Vec3Array,
    pub(super) emissions: Vec3Array,
    /// `Material::eta`, which is the F0 of a layered material's boundary.
    pub(super) boundary: Vec3Array,
    pub(super) alphas: F32Array,
    pub(super) metallic: F32Array,
    pub(super) specular: F32Array,

    // The lookup of a texture.
    /// Columns of the texels on the left and on the right.
    columns: [U32Array; 2],
    /// Rows of the upper and of the lower texels.
    rows: [U32Array; 2],
    /// Interpolation weights of the right texels, 0..=1.
    right: F32Array,
    /// Interpolation weights of the lower texels, 0..=1.
    lower: F32Array,
    /// The upper left, upper right, lower left and lower right texel.
    texels: [TexelArray; 4],
    /// The filtered value of the texture at the surface of each path, written by `look_up`.
    values: TexelArray,
}

impl ResolvedMaterials {
    /// Returns the textures of a material, and a bit mask of those that affect it. Returns `None` and 0 if it has none.
    #[inline(always)]
    fn maps<'a>(
        scene: &'a RenderScene,
        material: &Material,
    ) -> (Option<&'a MaterialTextures>, u32) {
        if material.maps == 0 {
            return (None, 0);
        }
        let maps = &scene.maps[material.maps as usize];
        let affecting = if material.kind == DIFFUSE {
            DIFFUSE_MAPS
        } else {
            LAYERED_MAPS
        };
        (Some(maps), maps.used & affecting)
    }

    /// Returns whether the material has a normal map.
    #[inline(always)]
    pub(super) fn has_normal_map(scene: &RenderScene, material: &Material) -> bool {
        ResolvedMaterials::maps(scene, material).1 & (1 << MAP_NORMAL) != 0
    }

    /// Returns whether no texture of the material uses the second texture coordinates, which a block lacks.
    pub(super) fn uses_only_first_coordinates(scene: &RenderScene, material: &Material) -> bool {
        let (maps, used) = ResolvedMaterials::maps(scene, material);
        maps.is_none_or(|maps| {
            (0..maps.textures.len())
                .filter(|place| used & (1 << place) != 0)
                .all(|place| scene.textures[(maps.textures[place] >> 2) as usize].second == 0)
        })
    }

    /// Applies the material's textures at the first `count` surfaces. A normal map bends their shading normals.
    #[inline(always)]
    pub(super) fn resolve(
        &mut self,
        scene: &RenderScene,
        material: &Material,
        surfaces: &mut Surfaces,
        count: usize,
    ) {
        self.colors.fill(material.color);
        self.emissions.fill(material.emission);
        self.boundary.fill(material.eta);
        self.alphas = [material.alpha; PATHS];
        self.metallic = [material.metallic; PATHS];
        self.specular = [material.specular; PATHS];
        let (Some(maps), mut left) = ResolvedMaterials::maps(scene, material) else {
            return;
        };
        let mut looked_up = u32::MAX;
        while left != 0 {
            let place = left.trailing_zeros();
            left &= left - 1;
            let map = maps.textures[place as usize];
            if map >> 2 != looked_up {
                looked_up = map >> 2;
                let texture = &scene.textures[looked_up as usize];
                self.look_up(&scene.texels, texture, surfaces, count);
            }
            self.apply(maps, material, place, map & 3, surfaces);
        }
    }

    /// Scales the parameter of the texture with the index `place` by the values that were looked up, or bends the
    /// shading normals by them. Scalars read `channel`: 0 red, 1 green, 2 blue, 3 alpha.
    #[inline(always)]
    fn apply(
        &mut self,
        maps: &MaterialTextures,
        material: &Material,
        place: u32,
        channel: u32,
        surfaces: &mut Surfaces,
    ) {
        match place {
            MAP_COLOR => {
                for at in 0..PATHS {
                    let color = scale_color(self.colors.get(at), self.values.rgb.get(at));
                    self.colors.set(at, color);
                }
            }
            MAP_EMISSION => {
                for at in 0..PATHS {
                    let emission = scale_radiance(maps.emission, self.values.rgb.get(at));
                    self.emissions.set(at, emission);
                }
            }
            MAP_NORMAL => {
                for at in 0..PATHS {
                    let surface = surfaces.get(at);
                    let value = self.values.rgb.get(at);
                    let normal = bent_normal(&surface, surface.shading, value, maps.normal_scale);
                    surfaces.shading.set(at, normal);
                }
            }
            MAP_ROUGHNESS => {
                for at in 0..PATHS {
                    let part = channel_value(self.values.get(at), channel);
                    let factor = roughness_factor(material, part);
                    self.alphas[at] = max_f32(self.alphas[at] * factor, MIN_ALPHA);
                }
            }
            MAP_METALLIC => {
                for at in 0..PATHS {
                    self.metallic[at] *= channel_value(self.values.get(at), channel);
                }
            }
            MAP_SPECULAR => {
                for at in 0..PATHS {
                    let part = channel_value(self.values.get(at), channel);
                    self.specular[at] *= part;
                    self.boundary.set(at, self.boundary.get(at) * part);
                }
            }
            _ => {
                for at in 0..PATHS {
                    let color = scale_color(self.boundary.get(at), self.values.rgb.get(at));
                    self.boundary.set(at, color);
                }
            }
        }
    }

    /// Looks up a texture at the first `count` surfaces, and stores the filtered results in `values`.
    #[inline(always)]
    fn look_up(&mut self, texels: &[u32], texture: &Texture, surfaces: &Surfaces, count: usize) {
        if texture.filter == NEAREST {
            for at in 0..count {
                let (u, v) = (surfaces.u[at], surfaces.v[at]);
                self.values.set(at, sample_texture(texels, texture, u, v));
            }
            return;
        }
        for at in 0..PATHS {
            let (x, y) = image_position(texture, surfaces.u[at], surfaces.v[at]);
            let columns = neighbours(x, texture.width, texture.wrap_u);
            let rows = neighbours(y, texture.height, texture.wrap_v);
            self.columns[0][at] = columns.first;
            self.columns[1][at] = columns.second;
            self.rows[0][at] = rows.first;
            self.rows[1][at] = rows.second;
            self.right[at] = columns.share;
            self.lower[at] = rows.share;
        }
        // Each format has a loop of its own without branches.
        match texture.format {
            SRGB_8 => self.read_texels_8::<true>(texels, texture, count),
            LINEAR_8 => self.read_texels_8::<false>(texels, texture, count),
            LINEAR_16 => self.read_texels::<LINEAR_16>(texels, texture, count),
            _ => self.read_texels::<FLOAT>(texels, texture, count),
        }
        for at in 0..PATHS {
            let [a, b, c, d] = &self.texels;
            let corners = [a.get(at), b.get(at), c.get(at), d.get(at)];
            let value = bilinear(corners, self.right[at], self.lower[at]);
            self.values.set(at, value);
        }
    }

    /// Reads the texels around the first `count` places in an image of 8 bits per channel, and decodes them to linear
    /// values. With `IS_SRGB`, red, green and blue are sRGB-encoded.
    #[inline(always)]
    fn read_texels_8<const IS_SRGB: bool>(
        &mut self,
        texels: &[u32],
        texture: &Texture,
        count: usize,
    ) {
        // Reads before it decodes, so that the reads of many paths overlap.
        let mut words = [[0; PATHS]; 4];
        for at in 0..count {
            for (corner, words) in words.iter_mut().enumerate() {
                let (x, y) = (self.columns[corner & 1][at], self.rows[corner >> 1][at]);
                words[at] = texels[(texture.start + y * texture.width + x) as usize];
            }
        }
        let no_values = [0; SRGB_VALUES as usize];
        let srgb_values = texels.first_chunk().unwrap_or(&no_values);
        for (words, values) in words.iter().zip(&mut self.texels) {
            for (at, &word) in words.iter().enumerate() {
                let value = decoded_8(word, IS_SRGB, |byte| srgb_values[(byte & 255) as usize]);
                values.set(at, value);
            }
        }
    }

    /// Reads the texels around the first `count` places in an image of this format, and decodes them to linear values.
    #[inline(always)]
    fn read_texels<const FORMAT: u32>(&mut self, texels: &[u32], texture: &Texture, count: usize) {
        let image = Texture {
            format: FORMAT,
            ..*texture
        };
        for at in 0..count {
            for corner in 0..4 {
                let (x, y) = (self.columns[corner & 1][at], self.rows[corner >> 1][at]);
                self.texels[corner].set(at, texel(texels, &image, x, y));
            }
        }
    }

    /// Returns the material at this index, except for its emission. `material` holds the parameters that no texture
    /// scales, and its emission is returned unchanged.
    #[inline(always)]
    pub(super) fn get(&self, at: usize, material: &Material) -> Material {
        Material {
            color: self.colors.get(at),
            eta: self.boundary.get(at),
            alpha: self.alphas[at],
            metallic: self.metallic[at],
            specular: self.specular[at],
            ..*material
        }
    }
}
