//! A model: meshes, where they stand and what they are made of, as a file gives them.

use glam::{DAffine3, DVec3, Vec2, Vec3, Vec4};

use super::{Surface, memory};

/// What a glTF, OBJ or PLY file holds.
#[derive(Default)]
pub(super) struct Model {
    pub(super) meshes: Vec<ModelMesh>,
    pub(super) instances: Vec<ModelInstance>,
    /// At least those that the instances name.
    pub(super) materials: Vec<ModelMaterial>,
    /// The first one that has a picture.
    pub(super) camera: Option<ModelCamera>,
    /// What the reader should know though it is no error, a line each.
    pub(super) notes: Vec<String>,
}

/// Triangles that share vertices. Every position is finite, every index leads to one, and what is given for the vertices
/// is given for each.
#[derive(Default)]
pub(super) struct ModelMesh {
    pub(super) positions: Vec<Vec3>,
    /// Of length 1; without them the triangles are flat.
    pub(super) normals: Option<Vec<Vec3>>,
    pub(super) uvs: Option<Vec<Vec2>>,
    /// Along growing u, of length 1; w is the side of the bitangent, 1 or -1.
    pub(super) tangents: Option<Vec<Vec4>>,
    /// Counter-clockwise from the front.
    pub(super) triangles: Vec<[u32; 3]>,
}

/// A mesh somewhere.
#[derive(Clone, Copy)]
pub(super) struct ModelInstance {
    pub(super) mesh: usize,
    pub(super) material: usize,
    /// Finite, and with an inverse.
    pub(super) transform: DAffine3,
}

/// What a surface is made of: glTF's metallic-roughness model and its extensions. Colours are linear sRGB.
#[derive(Clone, Debug)]
pub(super) struct ModelMaterial {
    pub(super) base_color: Vec3,
    /// Shines with its base colour, and reflects nothing.
    pub(super) unlit: bool,
    pub(super) transmission: f32,
    pub(super) ior: f32,
    /// Radiance.
    pub(super) emission: Vec3,
}

impl Default for ModelMaterial {
    /// What a surface without a material is made of: a light grey.
    fn default() -> Self {
        ModelMaterial {
            base_color: Vec3::splat(0.8),
            unlit: false,
            transmission: 0.0,
            ior: 1.5,
            emission: Vec3::ZERO,
        }
    }
}

impl From<&ModelMaterial> for Surface {
    fn from(material: &ModelMaterial) -> Surface {
        let emissive = |radiance, albedo| Surface::Emissive {
            radiance,
            albedo,
            one_sided: false,
        };
        match material {
            _ if material.unlit => emissive(material.base_color, Vec3::ZERO),
            _ if material.emission != Vec3::ZERO => {
                emissive(material.emission, material.base_color)
            }
            _ if material.transmission > 0.5 => Surface::Dielectric {
                ior: material.ior.clamp(0.1, 10.0),
            },
            _ => Surface::Diffuse {
                albedo: material.base_color,
                one_sided: false,
            },
        }
    }
}

/// A pinhole camera that looks along its own -z, y up.
#[derive(Clone, Copy)]
pub(super) struct ModelCamera {
    pub(super) transform: DAffine3,
    /// Vertical angle of view, radians.
    pub(super) yfov: f64,
    /// Width over height of its picture.
    pub(super) aspect_ratio: Option<f64>,
}

impl Model {
    /// Adds a mesh, and says which it is.
    pub(super) fn push_mesh(&mut self, mesh: ModelMesh) -> usize {
        self.meshes.push(mesh);
        self.meshes.len() - 1
    }

    /// Adds a note, once.
    pub(super) fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// The corners of the box around all that it shows; `None` if that is nothing.
    pub(super) fn bounds(&self) -> Option<(DVec3, DVec3)> {
        let mut bounds: Option<(DVec3, DVec3)> = None;
        for instance in &self.instances {
            for &position in &self.meshes[instance.mesh].positions {
                let point = instance.transform.transform_point3(position.as_dvec3());
                let (low, high) = bounds.get_or_insert((point, point));
                (*low, *high) = (low.min(point), high.max(point));
            }
        }
        bounds
    }
}

/// An empty list with room for so many items, if there is memory for them.
pub(super) fn room<T>(items: usize) -> Result<Vec<T>, String> {
    memory::check((items as u64).saturating_mul(size_of::<T>() as u64))?;
    let mut list = Vec::new();
    list.try_reserve_exact(items)
        .map_err(|error| format!("is too large for memory: {error}"))?;
    Ok(list)
}

impl ModelMesh {
    /// Makes normals and tangents of length 1 and leaves out what cannot be used; returns what that was.
    pub(super) fn settle(&mut self) -> Vec<&'static str> {
        let mut left_out = Vec::new();
        let finite = |normals: &Vec<Vec3>| normals.iter().all(|normal| normal.is_finite());
        if self.normals.take_if(|normals| !finite(normals)).is_some() {
            left_out.push("normals");
        }
        let finite = |uvs: &Vec<Vec2>| uvs.iter().all(|uv| uv.is_finite());
        if self.uvs.take_if(|uvs| !finite(uvs)).is_some() {
            left_out.push("texture coordinates");
        }
        let usable =
            |tangent: &Vec4| tangent.is_finite() && tangent.truncate().length_squared().is_normal();
        self.tangents
            .take_if(|tangents| !tangents.iter().all(usable));
        for tangent in self.tangents.iter_mut().flatten() {
            let side = if tangent.w < 0.0 { -1.0 } else { 1.0 };
            *tangent = tangent.truncate().normalize().extend(side);
        }
        let Some(normals) = &mut self.normals else {
            return left_out;
        };
        // A normal without a direction is that of the triangles around it.
        let lost = |normal: &Vec3| !normal.length_squared().is_normal();
        if normals.iter().any(lost) {
            let mut around = vec![Vec3::ZERO; normals.len()];
            for triangle in &self.triangles {
                let [a, b, c] = triangle.map(|vertex| self.positions[vertex as usize]);
                let normal = (b - a).cross(c - a).normalize_or_zero();
                triangle
                    .iter()
                    .for_each(|&vertex| around[vertex as usize] += normal);
            }
            for (normal, around) in normals.iter_mut().zip(around) {
                if lost(normal) {
                    *normal = around;
                }
            }
        }
        for normal in normals {
            *normal = normal.try_normalize().unwrap_or(Vec3::Y);
        }
        left_out
    }
}
