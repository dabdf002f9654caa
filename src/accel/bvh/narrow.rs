//! Stand-in for SIMD traversal on processors other than x86-64, where it does not exist.

use crate::{
    accel::{
        bvh::{InstancedScene, Node},
        instance::{InstanceHit, OpacityTest},
        primitive::Primitive,
        vectors::SimdLevel,
    },
    path::{Hit, Ray, ShadowRay},
};

/// Uninhabited: this architecture has no SIMD traversal.
pub enum SimdScene {}

impl SimdScene {
    /// Returns `None`, because this architecture has no SIMD traversal.
    pub fn new(_: SimdLevel, _: &[Node], _: &[Primitive], _: f32) -> Option<SimdScene> {
        None
    }

    /// Returns `None`, because this architecture has no SIMD traversal.
    pub fn list(_: SimdLevel, _: &[Primitive]) -> Option<SimdScene> {
        None
    }

    /// Returns `None`, because this architecture has no SIMD traversal.
    pub fn tree(_: SimdLevel, _: &[Node], _: &[Primitive], _: f32) -> Option<SimdScene> {
        None
    }

    /// Cannot be called.
    pub(crate) fn bytes(&self) -> usize {
        match *self {}
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

/// A ray with what traversal of instances and opacity tests need besides it.
#[derive(Clone, Copy, Debug)]
pub struct InstancedRay<R> {
    /// The ray in world space, a [`Ray`] or [`ShadowRay`].
    pub ray: R,
    /// Index of the instance that the ray leaves, or `NO_INSTANCE`.
    pub from: u32,
    /// Index of the instance that a shadow ray goes to, or `NO_INSTANCE`.
    pub to: u32,
    /// Hash on which the ray's opacity tests depend.
    pub key: u32,
}

/// Uninhabited: this architecture has no SIMD traversal.
pub enum SimdInstancedScene {}

impl SimdInstancedScene {
    /// Returns `None`, because this architecture has no SIMD traversal.
    pub fn new(_: SimdLevel, _: &InstancedScene<'_>) -> Option<SimdInstancedScene> {
        None
    }

    /// Cannot be called.
    pub(crate) fn bytes(&self) -> usize {
        match *self {}
    }

    /// Cannot be called.
    pub fn each_nearest<T: OpacityTest>(
        &self,
        _: &InstancedScene<'_>,
        _: &T,
        _: impl Iterator<Item = (usize, InstancedRay<Ray>)>,
        _: impl FnMut(usize, InstanceHit),
    ) {
        match *self {}
    }

    /// Cannot be called.
    pub fn each_occluded<T: OpacityTest>(
        &self,
        _: &InstancedScene<'_>,
        _: &T,
        _: impl Iterator<Item = (usize, InstancedRay<ShadowRay>)>,
        _: impl FnMut(usize, bool),
    ) {
        match *self {}
    }
}
