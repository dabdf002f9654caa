//! Vertex colors, which multiply a material's color, and whose alpha multiplies its opacity.
//!
//! Equal colors change the material itself. Different ones become a texture that only this mesh uses, in which each
//! triangle has a block of 2 × 2 texels. Three are the colors of its corners. The fourth, b + c − a, makes bilinear
//! interpolation within the block linear, as it is on the triangle. If no color changes within a triangle, as in point
//! clouds, each color has a block instead, and the triangles keep their common vertices.
//!
//! A material with textures has no place for a further one. Then each triangle gets a copy of the material, multiplied
//! by the mean of the colors of its corners.

use std::collections::HashMap;

use glam::{Vec3, Vec4};

use super::{Model, ModelMaterial, ModelMesh};
use crate::{
    memory::vec_with_capacity,
    scene::{
        Channel, Encoding, Image, MaterialTexture, Parameter, Principled, Surface, Texels, Texture,
    },
};

/// Maximum number of copies of a material for vertex colors. A mesh with more colors rounds them to fewer, and points
/// with more are shown by triangles instead of spheres.
const MAX_TINTS: usize = 1024;

impl Model {
    /// Returns the index of the material for an instance of the mesh with index `mesh` to which the file gives the
    /// material with index `material`. Without vertex colors that is `material`; otherwise it is a copy that is
    /// multiplied by them.
    ///
    /// If the colors would need a texture and the material already has one, each triangle gets a material of its own.
    /// Fails if a texture of the colors would be too large, or if memory does not suffice.
    pub(crate) fn with_vertex_colors(
        &mut self,
        mesh: usize,
        material: usize,
    ) -> Result<usize, String> {
        let of = &mut self.meshes[mesh];
        let Some(colors) = &of.colors else {
            return Ok(material);
        };
        let known = of
            .colored_materials
            .iter()
            .find(|(plain, _)| *plain == material);
        if let Some(&(_, tinted)) = known {
            return Ok(tinted);
        }
        let mut tinted = self.materials[material].clone();
        let first = colors.first().copied().unwrap_or(Vec4::ONE);
        let alpha = |color: &Vec4| color.w.clamp(0.0, 1.0);
        let uniform_alpha = colors.iter().all(|color| alpha(color) == alpha(&first));
        if tinted.alpha_tested && uniform_alpha {
            tinted.maps.opacity *= alpha(&first);
        }
        let alpha_tested = tinted.alpha_tested && !uniform_alpha;
        let first = first.truncate();
        if !alpha_tested && colors.iter().all(|color| color.truncate() == first) {
            multiply(&mut tinted, first);
        } else {
            if !tinted.maps.textures.is_empty() {
                return self.color_triangles(mesh, material);
            }
            let texture = match of.color_texture {
                Some(texture) => texture,
                None => {
                    let image = self.library.add_image(color_image(of)?);
                    let texture = Texture::new(image, Encoding::Linear);
                    *of.color_texture.insert(self.library.add_texture(texture))
                }
            };
            let parameter = match tinted.surface {
                Surface::Emissive {
                    albedo: Vec3::ZERO, ..
                } => Parameter::Emission,
                _ => Parameter::Color,
            };
            let mut insert = |parameter, channel| {
                let map = MaterialTexture { texture, channel };
                tinted.maps.textures.insert(parameter, map);
            };
            insert(parameter, Channel::Red);
            if alpha_tested {
                insert(Parameter::Opacity, Channel::Alpha);
            }
        }
        self.materials.push(tinted);
        let number = self.materials.len() - 1;
        self.meshes[mesh].colored_materials.push((material, number));
        Ok(number)
    }

    /// Returns one material index for each entry of `vertices`, in order. The materials are copies of `material`, each
    /// multiplied by a vertex color. Without `colors`, each index is `material`.
    ///
    /// Returns `None` if the material has textures or there are more than [`MAX_TINTS`] colors. Fails if memory does
    /// not suffice.
    pub(crate) fn tinted_materials(
        &mut self,
        material: usize,
        colors: Option<&[Vec4]>,
        vertices: &[u32],
    ) -> Result<Option<Vec<usize>>, String> {
        let original = self.materials[material].clone();
        if !original.maps.textures.is_empty() {
            return Ok(None);
        }
        let mut materials = vec_with_capacity(vertices.len())?;
        let Some(colors) = colors else {
            materials.resize(vertices.len(), material);
            return Ok(Some(materials));
        };
        let mut tints: HashMap<[u32; 4], usize> = HashMap::new();
        let mut copies = Vec::new();
        for &vertex in vertices {
            let color = colors[vertex as usize];
            let alpha = match original.alpha_tested {
                true => color.w.clamp(0.0, 1.0),
                false => 1.0,
            };
            let color = color.truncate().extend(alpha);
            let number = *tints.entry(bits(&color)).or_insert_with(|| {
                let mut tinted = original.clone();
                multiply(&mut tinted, color.truncate());
                tinted.maps.opacity *= alpha;
                copies.push(tinted);
                self.materials.len() + copies.len() - 1
            });
            if copies.len() > MAX_TINTS {
                return Ok(None);
            }
            materials.push(number);
        }
        self.materials.extend(copies);
        Ok(Some(materials))
    }

    /// Gives each triangle of a mesh a copy of a material that is multiplied by the mean color of its corners. Returns
    /// the index of one of the copies. A mesh that is also shown in another material keeps that, with a warning.
    ///
    /// Fails if memory does not suffice.
    fn color_triangles(&mut self, mesh: usize, material: usize) -> Result<usize, String> {
        let of = &self.meshes[mesh];
        if !of.triangle_materials.is_empty() {
            let text = "not shown: vertex colors of {} in a second material with textures";
            self.note_count(text, ["mesh", "meshes"], 1);
            return Ok(material);
        }
        let original = &self.materials[material];
        let opaque = !original.alpha_tested;
        let colors = of.colors.as_deref().unwrap_or_default();
        let mut is_smooth = false;
        let mut means: Vec<Vec4> = vec_with_capacity(of.triangles.len())?;
        for corners in &of.triangles {
            let [a, b, c] = corners.map(|vertex| {
                let color = colors[vertex as usize];
                let alpha = if opaque { 1.0 } else { color.w.clamp(0.0, 1.0) };
                color.truncate().extend(alpha)
            });
            is_smooth |= a != b || b != c;
            means.push(if a == b && b == c {
                a
            } else {
                (a + b + c) / 3.0
            });
        }
        let mut tints: HashMap<[u32; 4], u32> = HashMap::new();
        for steps in [f32::INFINITY, 255.0, 63.0, 31.0, 15.0, 7.0, 4.0] {
            if steps.is_finite() {
                is_smooth = true;
                let round = |color: &Vec4| (*color * steps).round() / steps;
                means.iter_mut().for_each(|mean| *mean = round(mean));
            }
            tints = means.iter().map(|mean| (bits(mean), 0)).collect();
            if tints.len() <= MAX_TINTS {
                break;
            }
        }
        if is_smooth {
            let text = "approximated: vertex colors of {} whose material has textures, by one color per triangle";
            self.note_count(text, ["mesh", "meshes"], 1);
        }
        tints.clear();
        let original = self.materials[material].clone();
        let mut materials: Vec<u32> = vec_with_capacity(means.len())?;
        for mean in &means {
            let number = *tints.entry(bits(mean)).or_insert_with(|| {
                let mut tinted = original.clone();
                multiply(&mut tinted, mean.truncate());
                tinted.maps.opacity *= mean.w;
                self.materials.push(tinted);
                self.materials.len() as u32 - 1
            });
            materials.push(number);
        }
        let number = materials.first().map_or(material, |&first| first as usize);
        let of = &mut self.meshes[mesh];
        of.triangle_materials = materials;
        of.colored_materials.push((material, number));
        Ok(number)
    }
}

/// Multiplies the color of a material by `by`: the radiance of an emitter that reflects nothing, otherwise the albedo
/// or base color. Materials other than `Diffuse`, `Emissive` and `Principled` stay as they are.
fn multiply(material: &mut ModelMaterial, by: Vec3) {
    match &mut material.surface {
        Surface::Emissive {
            radiance,
            albedo: Vec3::ZERO,
            ..
        } => *radiance *= by,
        Surface::Diffuse { albedo, .. } | Surface::Emissive { albedo, .. } => *albedo *= by,
        Surface::Principled(Principled { base_color, .. }) => *base_color *= by,
        _ => {}
    }
}

/// An image of blocks of 2 × 2 texels.
struct Blocks {
    /// Number of blocks in each row.
    columns: usize,
    /// Width and height in texels.
    size: [usize; 2],
    /// Texels, row by row from the top left.
    texels: Vec<[f32; 4]>,
}

impl Blocks {
    /// Creates an image of `count` blocks, whose texels are 0. Fails if there are too many or too little memory.
    fn new(count: usize) -> Result<Blocks, String> {
        let columns = (count as f64).sqrt().ceil().max(1.0) as usize;
        let size @ [width, height] = [2 * columns, 2 * count.div_ceil(columns)];
        if width.max(height) > 1 << 16 {
            return Err(format!(
                "has vertex colors on {count} triangles, which is too many"
            ));
        }
        let mut texels: Vec<[f32; 4]> = vec_with_capacity(width * height)?;
        texels.resize(width * height, [0.0; 4]);
        Ok(Blocks {
            columns,
            size,
            texels,
        })
    }

    /// Sets the texels of a block: upper left, upper right, lower left and lower right.
    fn set(&mut self, number: usize, colors: [Vec4; 4]) {
        let [x, y] = self.corner(number);
        for (at, color) in colors.into_iter().enumerate() {
            self.texels[(y + at / 2) * self.size[0] + x + at % 2] = color.to_array();
        }
    }

    /// Returns the column and row of the upper left texel of a block.
    fn corner(&self, number: usize) -> [usize; 2] {
        [2 * (number % self.columns), 2 * (number / self.columns)]
    }

    /// Returns the texture coordinates of a place in a block, in texels from the upper left corner of the block.
    fn uv(&self, number: usize, place: [f64; 2]) -> [f32; 2] {
        let corner = self.corner(number);
        [0, 1].map(|axis| ((corner[axis] as f64 + place[axis]) / self.size[axis] as f64) as f32)
    }

    /// Returns the image.
    fn image(self) -> Image {
        Image {
            width: self.size[0] as u32,
            height: self.size[1] as u32,
            texels: Texels::Floats(self.texels),
        }
    }
}

/// Makes an image of a mesh's vertex colors and sets texture coordinates that point into it. Afterwards the mesh has
/// no tangents or second texture coordinates. If a triangle has corners of different colors, the triangles no longer
/// share vertices.
///
/// Fails if there are too many triangles or too little memory.
pub(crate) fn color_image(mesh: &mut ModelMesh) -> Result<Image, String> {
    let colors = mesh.colors.as_deref().unwrap_or_default();
    let count = mesh.triangles.len();
    let is_flat = |triangle: &[u32; 3]| {
        let [a, b, c] = triangle.map(|vertex| colors[vertex as usize]);
        a == b && b == c
    };
    if mesh.triangles.iter().all(is_flat) {
        return flat_color_image(mesh);
    }
    let mut blocks = Blocks::new(count)?;
    let mut corners: Vec<u32> = vec_with_capacity(3 * count)?;
    let mut uvs: Vec<[f32; 2]> = vec_with_capacity(3 * count)?;
    for (number, triangle) in mesh.triangles.iter_mut().enumerate() {
        let [a, b, c] = triangle.map(|vertex| colors[vertex as usize]);
        blocks.set(number, [a, b, c, b + c - a]);
        for place in [[0.5, 0.5], [1.5, 0.5], [0.5, 1.5]] {
            uvs.push(blocks.uv(number, place));
        }
        corners.extend(*triangle);
        *triangle = [0, 1, 2].map(|corner| (3 * number + corner) as u32);
    }
    fn apart<T: Copy>(shared: &[T], corners: &[u32]) -> Result<Vec<T>, String> {
        let mut apart = vec_with_capacity(corners.len())?;
        apart.extend(corners.iter().map(|&vertex| shared[vertex as usize]));
        Ok(apart)
    }
    mesh.positions = apart(&mesh.positions, &corners)?;
    if let Some(normals) = &mut mesh.normals {
        *normals = apart(normals, &corners)?;
    }
    mesh.tangents = None;
    mesh.uvs = Some(uvs);
    mesh.second_uvs = None;
    Ok(blocks.image())
}

/// Does the work of [`color_image`] for a mesh of which no triangle has corners of different colors. The image has a
/// block for each color instead of each triangle, and the triangles keep their common vertices.
///
/// Fails if there are too many colors or too little memory.
fn flat_color_image(mesh: &mut ModelMesh) -> Result<Image, String> {
    let colors = mesh.colors.as_deref().unwrap_or_default();
    let mut distinct: Vec<Vec4> = Vec::new();
    let mut numbers: HashMap<[u32; 4], usize> = HashMap::new();
    let mut of_vertex: Vec<usize> = vec_with_capacity(colors.len())?;
    for color in colors {
        let number = *numbers.entry(bits(color)).or_insert_with(|| {
            distinct.push(*color);
            distinct.len() - 1
        });
        of_vertex.push(number);
    }
    let mut blocks = Blocks::new(distinct.len())?;
    for (number, color) in distinct.into_iter().enumerate() {
        blocks.set(number, [color; 4]);
    }
    let mut uvs: Vec<[f32; 2]> = vec_with_capacity(of_vertex.len())?;
    uvs.extend(
        of_vertex
            .iter()
            .map(|&number| blocks.uv(number, [1.0, 1.0])),
    );
    mesh.tangents = None;
    mesh.uvs = Some(uvs);
    mesh.second_uvs = None;
    Ok(blocks.image())
}

/// Returns the bits of a color, as a key for equal colors.
fn bits(color: &Vec4) -> [u32; 4] {
    color.to_array().map(f32::to_bits)
}

/// Returns the material for a mesh that has vertex colors or an image but no material: diffuse and white, to be
/// multiplied by them.
pub(crate) fn vertex_color_material() -> ModelMaterial {
    let (albedo, one_sided) = (Vec3::ONE, false);
    Surface::Diffuse { albedo, one_sided }.into()
}
