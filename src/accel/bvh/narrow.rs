//! Stand-in for SIMD traversal on processors other than x86-64, where it does not exist.

use crate::{
    accel::{bvh::Node, primitive::Primitive, vectors::SimdLevel},
    path::{Hit, Ray, ShadowRay},
};

/// Uninhabited: this architecture has no SIMD traversal.
pub enum SimdScene {}

impl SimdScene {
    /// Returns `None`.
    pub fn new(_: SimdLevel, _: &[Node], _: &[Primitive], _: f32) -> Option<SimdScene> {
        None
    }

    /// Returns `None`.
    pub fn list(_: SimdLevel, _: &[Primitive]) -> Option<SimdScene> {
        None
    }

    /// Returns `None`.
    pub fn tree(_: SimdLevel, _: &[Node], _: &[Primitive], _: f32) -> Option<SimdScene> {
        None
    }

    /// Cannot be called.
    pub fn each_nearest(
        &self,
        _: &[Primitive],
        _: &[Ray],
        _: impl Iterator<Item = usize>,
        _: impl FnMut(usize, Hit),
    ) {
        match *self {}
    }

    /// Cannot be called.
    pub fn each_occluded(
        &self,
        _: &[Primitive],
        _: &[ShadowRay],
        _: impl Iterator<Item = usize>,
        _: impl FnMut(usize, bool),
    ) {
        match *self {}
    }
}
