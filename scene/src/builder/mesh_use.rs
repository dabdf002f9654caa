//! The choice between separate triangles and instances for the meshes of a model.

use glam::Vec3;

use super::materials::Materials;
use crate::model::ModelMesh;

/// The use of one mesh by the instances of its model: their number, and whether their materials need texture
/// coordinates or tangents.
#[derive(Clone, Copy, Default)]
pub(super) struct MeshUse {
    /// Number of instances of the mesh in the model.
    pub(super) count: u32,
    /// Whether any material of the mesh's instances needs texture coordinates: it has a texture, is anisotropic, or
    /// blends such a material.
    pub(super) textured: bool,
    /// Whether any material of the mesh's instances needs tangents: it has a normal map, is anisotropic, or blends such
    /// a material.
    pub(super) normal_mapped: bool,
}

impl MeshUse {
    /// Largest number of emissive triangles, over all instances of a mesh, that become separate triangles, so that
    /// their light is sampled.
    const MAX_EMISSIVE_TRIANGLES: u64 = 1 << 20;
    /// Largest number of triangles of a mesh that become separate triangles for each of several instances. So few take
    /// less memory than an instance does.
    const MAX_SEPARATE_TRIANGLES: usize = 8;

    /// Returns whether the instances of a mesh become separate triangles, which are traced faster and whose light is
    /// sampled. `material` is their index in `materials`. Textured meshes and most smooth ones stay meshes.
    pub(super) fn becomes_separate_triangles(
        &self,
        mesh: &ModelMesh,
        material: u32,
        materials: &Materials,
    ) -> bool {
        if materials.is_textured(material) {
            return false;
        }
        let triangles = mesh.triangles.len();
        let shines = materials.surfaces[material as usize].radiance() != Vec3::ZERO;
        if shines && u64::from(self.count) * triangles as u64 <= Self::MAX_EMISSIVE_TRIANGLES {
            return true;
        }
        mesh.is_flat() && (self.count == 1 || triangles <= Self::MAX_SEPARATE_TRIANGLES)
    }
}
