//! The shapes of a scene: triangles, spheres, and meshes with their instances.

use std::sync::Arc;

use glam::Vec3;
use rayon::prelude::*;

use super::Scene;

/// A flat triangle with a nonzero area, in world space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Triangle {
    /// Vertices in metres, counter-clockwise seen from the front: the normal is (v1 − v0) × (v2 − v0).
    pub vertices: [Vec3; 3],
    /// Index of the triangle's material in [`Scene::materials`].
    pub material: u32,
}

/// A sphere, whose front is its outside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sphere {
    /// Centre of the sphere in world space, metres.
    pub center: Vec3,
    /// Radius of the sphere in metres, above 0.
    pub radius: f32,
    /// Index of the sphere's material in [`Scene::materials`].
    pub material: u32,
}

/// An indexed triangle mesh in its own coordinates, which instances place in the scene. It has at least one triangle,
/// and all of its triangles have an area.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    /// Position of each vertex in mesh coordinates, which each instance transforms to world space.
    pub positions: Vec<Vec3>,
    /// Indices into `positions` of each triangle's vertices, counter-clockwise seen from the front.
    pub triangles: Vec<[u32; 3]>,
    /// Index into [`Scene::materials`] for each triangle, or a single index for all triangles.
    pub materials: Vec<u32>,
    /// Unit shading normal of each vertex in mesh coordinates; empty for flat shading.
    pub normals: Vec<Vec3>,
    /// Texture coordinates of each vertex, or empty; (0, 0) is the upper left corner of an image.
    pub uvs: Vec<[f32; 2]>,
    /// Second set of texture coordinates of each vertex, used by textures with
    /// [`Texture::uses_second_uvs`](crate::Texture::uses_second_uvs); or empty.
    pub second_uvs: Vec<[f32; 2]>,
    /// Tangent of each vertex as in glTF, or empty: a unit vector in the direction of growing u, and 1 or −1. That sign
    /// times `cross(normal, tangent)` points up in the image.
    pub tangents: Vec<[f32; 4]>,
}

impl Mesh {
    /// Returns whether both meshes are equal bit for bit, so that 0 and −0 differ.
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

/// Returns whether both lists are one allocation, or have equal lengths and `is_same` holds for each pair of entries.
fn same<T: Sync>(
    one: &Arc<Vec<T>>,
    other: &Arc<Vec<T>>,
    is_same: impl Fn(&T, &T) -> bool + Sync,
) -> bool {
    let each = || one.par_iter().zip(other.par_iter());
    Arc::ptr_eq(one, other)
        || one.len() == other.len() && each().all(|(one, other)| is_same(one, other))
}

/// Returns whether two lists of vectors are equal bit for bit.
fn same_vectors(one: &[Vec3], other: &[Vec3]) -> bool {
    let bits = |vector: &Vec3| vector.to_array().map(f32::to_bits);
    one.len() == other.len() && one.iter().map(bits).eq(other.iter().map(bits))
}

/// Returns whether two lists of float arrays are equal bit for bit.
fn same_floats<const N: usize>(one: &[[f32; N]], other: &[[f32; N]]) -> bool {
    let bits = |floats: &[f32; N]| floats.map(f32::to_bits);
    one.len() == other.len() && one.iter().map(bits).eq(other.iter().map(bits))
}

/// An instance: one placement of a mesh in the scene, with its own transform.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Instance {
    /// Index into [`Scene::meshes`].
    pub mesh: u32,
    /// Images of the mesh's x, y and z axes in world space, linearly independent: the columns of the transform. If they
    /// are left-handed, the mesh is mirrored, and its front stays outside.
    pub axes: [Vec3; 3],
    /// Position of the mesh's origin in world space, metres.
    pub position: Vec3,
    /// Index into [`Scene::materials`] of a material that replaces all materials of the mesh; `None` keeps the mesh's
    /// own.
    pub material: Option<u32>,
}

/// Returns whether a triangle has an area, which means that its normal can be computed in `f32`.
pub(crate) fn has_area(&[a, b, c]: &[Vec3; 3]) -> bool {
    (b - a).cross(c - a).length_squared().is_normal()
}

impl Scene {
    /// Makes this scene share the triangles, spheres, meshes and instances of `other`, if [`Scene::has_equal_shapes`]
    /// holds for both. The four `Arc`s then point to the same data, so later comparisons need only compare pointers.
    /// Otherwise nothing changes.
    pub fn share_equal_shapes(&mut self, other: &Scene) {
        if self.has_equal_shapes(other) {
            self.triangles = other.triangles.clone();
            self.spheres = other.spheres.clone();
            self.meshes = other.meshes.clone();
            self.instances = other.instances.clone();
        }
    }

    /// Returns whether triangles, spheres, meshes and instances of both scenes are equal bit for bit, with their
    /// material indices. Then an acceleration structure of one is valid for the other.
    pub fn has_equal_shapes(&self, other: &Scene) -> bool {
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

    /// Returns the indices into `instances`, in increasing order, of those that have an emissive material on any
    /// triangle. Materials and meshes that do not exist count as dark.
    pub fn emissive_instances(&self) -> Vec<u32> {
        let shines = |&material: &u32| {
            let surface = self.materials.get(material as usize);
            surface.is_some_and(|surface| surface.radiance() != Vec3::ZERO)
        };
        let meshes: Vec<bool> = self
            .meshes
            .iter()
            .map(|mesh| mesh.materials.iter().any(shines))
            .collect();
        (0..)
            .zip(self.instances.iter())
            .filter(|(_, instance)| match &instance.material {
                Some(material) => shines(material),
                None => meshes.get(instance.mesh as usize) == Some(&true),
            })
            .map(|(number, _)| number)
            .collect()
    }

    /// Returns the total number of triangles of the instances that [`Scene::emissive_instances`] returns, including
    /// triangles that do not emit.
    pub fn emissive_triangle_count(&self) -> u64 {
        let triangles = |&instance: &u32| {
            let mesh = self.instances[instance as usize].mesh;
            let mesh = self.meshes.get(mesh as usize);
            mesh.map_or(0, |mesh| mesh.triangles.len() as u64)
        };
        self.emissive_instances().iter().map(triangles).sum()
    }
}
