//! Colours of vertices, which multiply those of a material, and its opacity by their alpha: as textures that a mesh alone looks at.
//!
//! Each triangle has four texels of its own, the colours of its corners and a fourth so that what is between them
//! bilinearly is what is between them on the triangle.

use glam::{Vec3, Vec4};

use super::{
    Channel, Encoding, Image, Map, Parameter, Principled, Surface, Texels, Texture,
    model::{Model, ModelMaterial, ModelMesh, room},
};

impl Model {
    /// The material of one of the meshes, if it has colours: one of its own instead of `material`.
    pub(super) fn tinted(&mut self, mesh: usize, material: usize) -> Result<usize, String> {
        let of = &mut self.meshes[mesh];
        let Some(colors) = &of.colors else {
            return Ok(material);
        };
        let known = of.tints.iter().find(|(plain, _)| *plain == material);
        if let Some(&(_, tinted)) = known {
            return Ok(tinted);
        }
        let mut tinted = self.materials[material].clone();
        let first = colors.first().copied().unwrap_or(Vec4::ONE);
        let hides = |color: &Vec4| color.w.clamp(0.0, 1.0);
        let even = colors.iter().all(|color| hides(color) == hides(&first));
        if tinted.veiled && even {
            tinted.maps.opacity *= hides(&first);
        }
        let veiled = tinted.veiled && !even;
        let first = first.truncate();
        if !veiled && colors.iter().all(|color| color.truncate() == first) {
            multiply(&mut tinted, first);
        } else {
            if !tinted.maps.textures.is_empty() {
                self.note("not shown: the colors of vertices that have textures too".to_owned());
                return Ok(material);
            }
            let texture = match of.own_texture {
                Some(texture) => texture,
                None => {
                    let image = self.library.image(painted(of)?);
                    let texture = Texture::new(image, Encoding::Linear);
                    *of.own_texture.insert(self.library.texture(texture))
                }
            };
            let parameter = match tinted.surface {
                Surface::Emissive {
                    albedo: Vec3::ZERO, ..
                } => Parameter::Emission,
                _ => Parameter::Color,
            };
            let mut insert = |parameter, channel| {
                let map = Map { texture, channel };
                tinted.maps.textures.insert(parameter, map);
            };
            insert(parameter, Channel::Red);
            if veiled {
                insert(Parameter::Opacity, Channel::Alpha);
            }
        }
        self.materials.push(tinted);
        let number = self.materials.len() - 1;
        self.meshes[mesh].tints.push((material, number));
        Ok(number)
    }
}

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

/// The image of a mesh's colours, to which its texture coordinates lead then. Triangles share no vertices any more.
fn painted(mesh: &mut ModelMesh) -> Result<Image, String> {
    let colors = mesh.colors.as_deref().unwrap_or_default();
    let count = mesh.triangles.len();
    let columns = (count as f64).sqrt().ceil().max(1.0) as usize;
    let (width, height) = (2 * columns, 2 * count.div_ceil(columns));
    if width.max(height) > 1 << 16 {
        return Err(format!(
            "has colors of {count} triangles, which are too many"
        ));
    }
    let mut texels: Vec<[f32; 4]> = room(width * height)?;
    texels.resize(width * height, [0.0; 4]);
    let mut corners: Vec<u32> = room(3 * count)?;
    let mut uvs: Vec<[f32; 2]> = room(3 * count)?;
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
        let mut apart = room(corners.len())?;
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
