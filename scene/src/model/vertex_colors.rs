//! Vertex colours, which multiply a material's colour, and whose alpha multiplies its opacity.
//!
//! Equal colours change the material itself. Different ones become a texture that only this mesh uses, in which each
//! triangle has a block of 2 × 2 texels. Three are the colours of its corners. The fourth, b + c − a, makes bilinear
//! interpolation within the block linear, as it is on the triangle.
//!
//! A material with textures has no place for a further one. Then each triangle gets a copy of the material, multiplied
//! by the mean of the colours of its corners.

use std::collections::HashMap;

use glam::{Vec3, Vec4};

use super::{Model, ModelMaterial, ModelMesh};
use crate::{
    memory::vec_with_capacity,
    scene::{
        Channel, Encoding, Image, MaterialTexture, Parameter, Principled, Surface, Texels, Texture,
    },
};

/// Largest number of copies of a material for the triangles of a mesh. More colours are rounded to fewer.
const MAX_TINTS: usize = 1024;

impl Model {
    /// Returns the index of the material for an instance of the mesh with index `mesh` to which the file gives the
    /// material with index `material`. Without vertex colours that is `material`; otherwise it is a copy that is
    /// multiplied by them.
    ///
    /// If the colours would need a texture and the material already has one, each triangle gets a material of its own.
    /// Fails if a texture of the colours would be too large, or if memory does not suffice.
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

    /// Gives each triangle of a mesh a copy of a material that is multiplied by the mean colour of its corners. Returns
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
        let bits = |color: &Vec4| color.to_array().map(f32::to_bits);
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

/// Multiplies the colour of a material by `by`: the radiance of an emitter that reflects nothing, otherwise the albedo
/// or base colour. Materials other than `Diffuse`, `Emissive` and `Principled` stay as they are.
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

/// Makes an image of a mesh's vertex colours and sets texture coordinates that point into it. Afterwards the triangles
/// share no vertices, and the mesh has no tangents or second texture coordinates.
///
/// Fails if there are too many triangles or too little memory.
fn color_image(mesh: &mut ModelMesh) -> Result<Image, String> {
    let colors = mesh.colors.as_deref().unwrap_or_default();
    let count = mesh.triangles.len();
    let columns = (count as f64).sqrt().ceil().max(1.0) as usize;
    let (width, height) = (2 * columns, 2 * count.div_ceil(columns));
    if width.max(height) > 1 << 16 {
        return Err(format!(
            "has vertex colors on {count} triangles, which is too many"
        ));
    }
    let mut texels: Vec<[f32; 4]> = vec_with_capacity(width * height)?;
    texels.resize(width * height, [0.0; 4]);
    let mut corners: Vec<u32> = vec_with_capacity(3 * count)?;
    let mut uvs: Vec<[f32; 2]> = vec_with_capacity(3 * count)?;
    for (number, triangle) in mesh.triangles.iter_mut().enumerate() {
        let (x, y) = (2 * (number % columns), 2 * (number / columns));
        let [a, b, c] = triangle.map(|vertex| colors[vertex as usize]);
        for (across, down, color) in [(0, 0, a), (1, 0, b), (0, 1, c), (1, 1, b + c - a)] {
            texels[(y + down) * width + x + across] = color.to_array();
        }
        let middle = |at: usize, size: usize| ((at as f64 + 0.5) / size as f64) as f32;
        for (across, down) in [(0, 0), (1, 0), (0, 1)] {
            uvs.push([middle(x + across, width), middle(y + down, height)]);
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
    Ok(Image {
        width: width as u32,
        height: height as u32,
        texels: Texels::Floats(texels),
    })
}

/// Returns the material for a mesh that has vertex colours or an image but no material: diffuse and white, to be
/// multiplied by them.
pub(crate) fn vertex_color_material() -> ModelMaterial {
    let (albedo, one_sided) = (Vec3::ONE, false);
    Surface::Diffuse { albedo, one_sided }.into()
}
