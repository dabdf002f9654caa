//! What stands in a scene.

use glam::Vec3;

use super::Scene;

/// A flat triangle with an area.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Triangle {
    /// Counter-clockwise from the front: the normal is (v1 − v0) × (v2 − v0). Metres.
    pub vertices: [Vec3; 3],
    /// Index into [`Scene::materials`].
    pub material: u32,
}

/// A sphere; its front is the outside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sphere {
    /// Metres.
    pub center: Vec3,
    /// Metres, above 0.
    pub radius: f32,
    /// Index into [`Scene::materials`].
    pub material: u32,
}

/// A shape in coordinates of its own, in as many places as there are instances of it. It has at least one triangle, and
/// all of its triangles have an area.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    /// By vertex.
    pub positions: Vec<Vec3>,
    /// Vertices of each triangle, counter-clockwise seen from the front.
    pub triangles: Vec<[u32; 3]>,
    /// Index into [`Scene::materials`], by triangle; or a single one for all.
    pub materials: Vec<u32>,
    /// By vertex, of length 1, for shading; none for a flat look.
    pub normals: Vec<Vec3>,
    /// Texture coordinates by vertex, (0, 0) the upper left of an image; or none.
    pub uvs: Vec<[f32; 2]>,
    /// A second set of them, which some textures may lie by; or none.
    pub second_uvs: Vec<[f32; 2]>,
    /// By vertex as in glTF: x, y and z of length 1 along growing u; and 1 or −1, by which `cross(normal, tangent)` is
    /// multiplied to point up in an image. Or none.
    pub tangents: Vec<[f32; 4]>,
}

/// A mesh in a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Instance {
    /// Index into [`Scene::meshes`].
    pub mesh: u32,
    /// Where the mesh's unit vectors go: not all in one plane. If they are left-handed, the mesh is mirrored, and its
    /// front stays outside.
    pub axes: [Vec3; 3],
    /// Where its origin goes, metres.
    pub position: Vec3,
    /// Index into [`Scene::materials`] that takes the place of the mesh's own.
    pub material: Option<u32>,
}

impl Scene {
    /// The instances of which anything shines, by number.
    pub(crate) fn shining_instances(&self) -> Vec<u32> {
        let shines: Vec<bool> = self
            .materials
            .iter()
            .map(|material| material.radiance() != Vec3::ZERO)
            .collect();
        let meshes: Vec<bool> = self
            .meshes
            .iter()
            .map(|mesh| {
                mesh.materials
                    .iter()
                    .any(|&material| shines[material as usize])
            })
            .collect();
        (0..)
            .zip(&self.instances)
            .filter(|(_, instance)| match instance.material {
                Some(material) => shines[material as usize],
                None => meshes[instance.mesh as usize],
            })
            .map(|(number, _)| number)
            .collect()
    }

    /// Triangles of those.
    pub(crate) fn shining_triangles(&self) -> u64 {
        let triangles = |&instance: &u32| {
            let mesh = self.instances[instance as usize].mesh;
            self.meshes[mesh as usize].triangles.len() as u64
        };
        self.shining_instances().iter().map(triangles).sum()
    }
}
