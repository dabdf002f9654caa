//! The scene as a processor with vectors reads it.
//!
//! Large scenes are a tree, made from the nodes of [`bvh`](crate::bvh), whose nodes have as many children as a vector has
//! lanes, and whose leaves are packets of up to as many primitives: one ray goes through it by vectors. Small ones are a
//! list, and go by vectors of rays. Hits are the twin's to the last bit in both.

mod beam;
mod block;
mod build;
mod flat;
mod ray;
mod search;
mod tree;
mod triangles;

use pulp::x86::{V3, V4};

use self::{
    flat::Flat,
    search::{Nearest, Occluded, Search},
    tree::Tree,
};
use crate::{
    bvh::Node,
    path::{Hit, Ray, ShadowRay},
    primitive::Primitive,
    vectors::Vectors,
};

/// Primitives of a scene that is traced without a tree, at most.
const MOST_FLAT: usize = 64;

/// Triangles and spheres, made ready for rays.
pub struct Wide(Shape);

enum Shape {
    Flat(Vectors, Flat),
    Eight(V3, Tree<V3>),
    Sixteen(V4, Tree<V4>),
}

impl Wide {
    /// These primitives, with the nodes and the `extent` of [`bvh::build`](crate::bvh::build), the root first: as a list if
    /// they are few, else as a tree. `None` if there are instances among them.
    pub fn new(
        vectors: Vectors,
        nodes: &[Node],
        primitives: &[Primitive],
        extent: f32,
    ) -> Option<Wide> {
        if primitives.len() <= MOST_FLAT {
            Wide::list(vectors, primitives)
        } else {
            Wide::tree(vectors, nodes, primitives, extent)
        }
    }

    /// As a list, however many they are.
    pub fn list(vectors: Vectors, primitives: &[Primitive]) -> Option<Wide> {
        let flat = Flat::new(primitives)?;
        Some(Wide(Shape::Flat(vectors, flat)))
    }

    /// As a tree, however few they are.
    pub fn tree(
        vectors: Vectors,
        nodes: &[Node],
        primitives: &[Primitive],
        extent: f32,
    ) -> Option<Wide> {
        Some(Wide(match vectors {
            Vectors::Eight(simd) => Shape::Eight(simd, Tree::new(nodes, primitives, extent)?),
            Vectors::Sixteen(simd) => Shape::Sixteen(simd, Tree::new(nodes, primitives, extent)?),
        }))
    }

    /// Tells of the rays at each of these places, in any order, what [`bvh::nearest`](crate::bvh::nearest) finds.
    pub fn each_nearest(
        &self,
        primitives: &[Primitive],
        rays: &[Ray],
        places: impl Iterator<Item = usize>,
        tell: impl FnMut(usize, Hit),
    ) {
        self.each::<Nearest>(primitives, rays, places, tell);
    }

    /// Tells of the rays at each of these places, in any order, what [`bvh::occluded`](crate::bvh::occluded) finds.
    pub fn each_occluded(
        &self,
        primitives: &[Primitive],
        rays: &[ShadowRay],
        places: impl Iterator<Item = usize>,
        tell: impl FnMut(usize, bool),
    ) {
        self.each::<Occluded>(primitives, rays, places, tell);
    }

    #[inline(always)]
    fn each<Q: Search>(
        &self,
        primitives: &[Primitive],
        rays: &[Q::Ray],
        places: impl Iterator<Item = usize>,
        tell: impl FnMut(usize, Q::Found),
    ) {
        match &self.0 {
            Shape::Flat(Vectors::Eight(simd), flat) => simd.vectorize(
                #[inline(always)]
                || flat.each::<Q, _>(*simd, rays, places, tell),
            ),
            Shape::Flat(Vectors::Sixteen(simd), flat) => simd.vectorize(
                #[inline(always)]
                || flat.each::<Q, _>(*simd, rays, places, tell),
            ),
            Shape::Eight(simd, tree) => simd.vectorize(
                #[inline(always)]
                || tree.each::<Q>(*simd, primitives, rays, places, tell),
            ),
            Shape::Sixteen(simd, tree) => simd.vectorize(
                #[inline(always)]
                || tree.each::<Q>(*simd, primitives, rays, places, tell),
            ),
        }
    }
}
