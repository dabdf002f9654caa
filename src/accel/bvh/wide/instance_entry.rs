//! The data that a ray reads where it leaves the tree of the scene and enters that of an instance's mesh.

use glam::Vec3;

use super::spheres::Three;
use crate::{
    accel::{
        instance::Instance,
        vectors::{Lanes, SimdF32},
    },
    math::dot,
};

/// The data that a ray needs to enter an instance, in one cache line.
#[repr(C, align(64))]
pub(super) struct InstanceEntry {
    /// First row of the world-to-object matrix, see [`Instance`].
    inverse_x: Vec3,
    /// Index of the instance.
    pub(super) instance: u32,
    /// Second row of the world-to-object matrix.
    inverse_y: Vec3,
    /// Largest absolute coordinate of the mesh in object space.
    pub(super) extent: f32,
    /// Third row of the world-to-object matrix.
    inverse_z: Vec3,
    /// Index of the mesh's tree.
    pub(super) mesh: u32,
    /// World-space position of the object-space origin, metres.
    pub(super) position: Vec3,
}

impl InstanceEntry {
    /// Prepares an instance with its index and the index of its mesh's tree.
    pub(super) fn new(index: u32, instance: &Instance, mesh: u32) -> InstanceEntry {
        InstanceEntry {
            inverse_x: instance.inverse_x,
            instance: index,
            inverse_y: instance.inverse_y,
            extent: instance.extent,
            inverse_z: instance.inverse_z,
            mesh,
            position: instance.position,
        }
    }

    /// Transforms a vector from world space to object space, by the operations of
    /// [`instance::to_object`](crate::accel::instance::to_object).
    #[inline(always)]
    pub(super) fn to_object(&self, v: Vec3) -> Vec3 {
        Vec3::new(
            dot(self.inverse_x, v),
            dot(self.inverse_y, v),
            dot(self.inverse_z, v),
        )
    }

    /// Transforms a vector per lane from world space to object space, by the operations of [`Self::to_object`].
    #[inline(always)]
    pub(super) fn to_object_by_lane<S: Lanes>(&self, v: Three<S>) -> Three<S> {
        [
            dot_by_lane(self.inverse_x, v),
            dot_by_lane(self.inverse_y, v),
            dot_by_lane(self.inverse_z, v),
        ]
    }
}

/// Returns the dot products of a vector with that of each lane, by the operations of [`dot`].
#[inline(always)]
fn dot_by_lane<S: Lanes>(a: Vec3, [x, y, z]: Three<S>) -> SimdF32<S> {
    let simd = x.0;
    SimdF32::all(simd, a.x) * x + SimdF32::all(simd, a.y) * y + SimdF32::all(simd, a.z) * z
}
