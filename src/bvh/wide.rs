//! The scene as a processor with vectors reads it.
//!
//! Large scenes are a tree, made from the nodes of [`bvh`](crate::bvh), whose leaves are put together to packets of up to
//! eight primitives and whose nodes are filled up again from below: one ray goes through it by vectors of eight. Small ones
//! are a list, and go by vectors of rays. Hits are the twin's to the last bit in both.

mod beam;
mod block;
mod build;
mod flat;
mod ray;
mod search;
mod tree;
mod triangles;

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
pub struct Wide {
    vectors: Vectors,
    shape: Shape,
}

enum Shape {
    Flat(Flat),
    Tree(Tree),
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
        let shape = Shape::Flat(Flat::new(primitives)?);
        Some(Wide { vectors, shape })
    }

    /// As a tree, however few they are.
    pub fn tree(
        vectors: Vectors,
        nodes: &[Node],
        primitives: &[Primitive],
        extent: f32,
    ) -> Option<Wide> {
        let shape = Shape::Tree(Tree::new(nodes, primitives, extent)?);
        Some(Wide { vectors, shape })
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
        match (&self.shape, self.vectors) {
            (Shape::Flat(flat), Vectors::Eight(simd)) => simd.vectorize(
                #[inline(always)]
                || flat.each::<Q, _>(simd, rays, places, tell),
            ),
            (Shape::Flat(flat), Vectors::Sixteen(simd)) => simd.vectorize(
                #[inline(always)]
                || flat.each::<Q, _>(simd, rays, places, tell),
            ),
            (Shape::Tree(tree), Vectors::Eight(simd)) => simd.vectorize(
                #[inline(always)]
                || tree.each::<Q, _>((simd, simd), primitives, rays, places, tell),
            ),
            (Shape::Tree(tree), Vectors::Sixteen(simd)) => simd.vectorize(
                #[inline(always)]
                || tree.each::<Q, _>((simd, *simd), primitives, rays, places, tell),
            ),
        }
    }
}
