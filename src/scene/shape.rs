//! What stands in a scene.

use std::sync::Arc;

use glam::Vec3;
use rayon::prelude::*;

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

impl Mesh {
    fn is_same(&self, other: &Mesh) -> bool {
        let Mesh {
            positions,
            triangles,
            materials,
            normals,
            uvs,
            second_uvs,
            tangents,
        } = self;
        same_vectors(positions, &other.positions)
            && *triangles == other.triangles
            && *materials == other.materials
            && same_vectors(normals, &other.normals)
            && same_floats(uvs, &other.uvs)
            && same_floats(second_uvs, &other.second_uvs)
            && same_floats(tangents, &other.tangents)
    }
}

/// Whether all of one list are those of the other.
fn same<T: Sync>(
    one: &Arc<Vec<T>>,
    other: &Arc<Vec<T>>,
    is_same: impl Fn(&T, &T) -> bool + Sync,
) -> bool {
    let each = || one.par_iter().zip(other.par_iter());
    Arc::ptr_eq(one, other)
        || one.len() == other.len() && each().all(|(one, other)| is_same(one, other))
}

fn same_vectors(one: &[Vec3], other: &[Vec3]) -> bool {
    let bits = |vector: &Vec3| vector.to_array().map(f32::to_bits);
    one.len() == other.len() && one.iter().map(bits).eq(other.iter().map(bits))
}

fn same_floats<const N: usize>(one: &[[f32; N]], other: &[[f32; N]]) -> bool {
    let bits = |floats: &[f32; N]| floats.map(f32::to_bits);
    one.len() == other.len() && one.iter().map(bits).eq(other.iter().map(bits))
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
    /// Shares what stands in the other one if that is the same.
    pub(crate) fn share_shapes(&mut self, other: &Scene) {
        if self.has_shapes_of(other) {
            self.triangles = other.triangles.clone();
            self.spheres = other.spheres.clone();
            self.meshes = other.meshes.clone();
            self.instances = other.instances.clone();
        }
    }

    /// Whether the same stands in both, to the last bit, of materials of the same numbers: then the trees of one are those
    /// of the other.
    pub(crate) fn has_shapes_of(&self, other: &Scene) -> bool {
        same(&self.triangles, &other.triangles, |one, other| {
            same_vectors(&one.vertices, &other.vertices) && one.material == other.material
        }) && same(&self.spheres, &other.spheres, |one, other| {
            same_vectors(&[one.center], &[other.center])
                && one.radius.to_bits() == other.radius.to_bits()
                && one.material == other.material
        }) && same(&self.instances, &other.instances, |one, other| {
            same_vectors(&one.axes, &other.axes)
                && same_vectors(&[one.position], &[other.position])
                && (one.mesh, one.material) == (other.mesh, other.material)
        }) && same(&self.meshes, &other.meshes, Mesh::is_same)
    }

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
            .zip(self.instances.iter())
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
