//! The primitives over which a tree is built, made from the scene one at a time, so that they need not be in memory
//! twice.

use glam::Vec3;
use obvhs::{Boundable, aabb::Aabb};

use crate::{
    accel::primitive::{Primitive, SPHERE, TRIANGLE},
    scene::{Mesh, Scene},
};

/// The primitives over which a tree is built, by index.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    /// A list of primitives.
    List(&'a [Primitive]),
    /// The triangles of a scene, then its spheres, then these instances. `Primitive::number` is the index.
    Scene(&'a Scene, &'a [Primitive]),
    /// The triangles of a mesh, in object space. `Primitive::number` is the index.
    Mesh(&'a Mesh),
}

impl Source<'_> {
    /// Returns the number of primitives.
    pub(crate) fn count(&self) -> usize {
        match self {
            Source::List(primitives) => primitives.len(),
            Source::Scene(scene, instances) => {
                scene.triangles.len() + scene.spheres.len() + instances.len()
            }
            Source::Mesh(mesh) => mesh.triangles.len(),
        }
    }

    /// Returns the primitive at an index below the count.
    #[inline]
    pub(crate) fn primitive(&self, index: u32) -> Primitive {
        let at = index as usize;
        match self {
            Source::List(primitives) => primitives[at],
            Source::Scene(scene, instances) => match scene.triangles.get(at) {
                Some(each) => triangle(each.vertices, each.material, index),
                None => other(scene, instances, index),
            },
            Source::Mesh(mesh) => {
                let vertices = mesh.triangles[at].map(|vertex| mesh.positions[vertex as usize]);
                let material = mesh.materials[at.min(mesh.materials.len() - 1)];
                triangle(vertices, material, index)
            }
        }
    }

    /// Returns whether the primitive at an index below the count is an instance.
    #[inline]
    pub(crate) fn is_instance(&self, index: u32) -> bool {
        let at = index as usize;
        match self {
            Source::List(primitives) => primitives[at].is_instance(),
            Source::Scene(scene, _) => at >= scene.triangles.len() + scene.spheres.len(),
            Source::Mesh(_) => false,
        }
    }

    /// Returns whether the primitives at two indices below the count are triangles that [form a
    /// pair](Primitive::forms_pair_with). Only neighbours do.
    #[inline]
    pub(crate) fn is_pair(&self, first: u32, second: u32) -> bool {
        first.checked_add(1) == Some(second)
            && self
                .primitive(first)
                .forms_pair_with(&self.primitive(second))
    }

    /// Returns the bounding box of the primitive at an index below the count.
    #[inline]
    pub(crate) fn bounds(&self, index: u32) -> Aabb {
        self.primitive(index).aabb()
    }
}

/// Returns a triangle with these vertices, in counter-clockwise order.
#[inline]
fn triangle([a, b, c]: [Vec3; 3], material: u32, number: u32) -> Primitive {
    Primitive {
        a,
        b,
        c,
        material,
        kind_bits: TRIANGLE,
        number,
    }
}

/// Returns the sphere or instance at an index that follows those of the scene's triangles.
fn other(scene: &Scene, instances: &[Primitive], index: u32) -> Primitive {
    let at = index as usize - scene.triangles.len();
    match scene.spheres.get(at) {
        Some(sphere) => Primitive {
            a: sphere.center,
            b: Vec3::new(sphere.radius, 0.0, 0.0),
            material: sphere.material,
            kind_bits: SPHERE,
            number: index,
            ..Primitive::default()
        },
        None => Primitive {
            number: index,
            ..instances[at - scene.spheres.len()]
        },
    }
}
