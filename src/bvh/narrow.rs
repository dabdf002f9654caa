//! On processors of other kinds than x86-64 there are no vectors.

use crate::{
    bvh::Node,
    path::{Hit, Ray, ShadowRay},
    primitive::Primitive,
    vectors::Vectors,
};

/// None there is.
pub enum Wide {}

impl Wide {
    /// `None`.
    pub fn new(_: Vectors, _: &[Node], _: &[Primitive], _: f32) -> Option<Wide> {
        None
    }

    /// `None`.
    pub fn list(_: Vectors, _: &[Primitive]) -> Option<Wide> {
        None
    }

    /// `None`.
    pub fn tree(_: Vectors, _: &[Node], _: &[Primitive], _: f32) -> Option<Wide> {
        None
    }

    /// Tells of the rays at each of these places what [`bvh::nearest`](crate::bvh::nearest) finds.
    pub fn each_nearest(
        &self,
        _: &[Primitive],
        _: &[Ray],
        _: impl Iterator<Item = usize>,
        _: impl FnMut(usize, Hit),
    ) {
        match *self {}
    }

    /// Tells of the rays at each of these places what [`bvh::occluded`](crate::bvh::occluded) finds.
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
