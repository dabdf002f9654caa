//! SIMD traversal on x86-64. It finds the same hits as [`bvh`](crate::accel::bvh), bit by bit.
//!
//! Large scenes use a BVH built from the nodes of [`bvh`](crate::accel::bvh): nodes have as many children as a vector
//! has lanes, and leaves are packets of up to as many primitives, so that one ray tests all lanes at once. Coherent
//! rays traverse it together. Small scenes are a list that is tested with one ray per lane.

mod beam;
mod block;
mod build;
mod flat;
mod instance_entry;
mod instanced;
mod prepared;
mod ray;
mod search;
mod spheres;
mod split;
mod tree;
mod triangles;

pub use self::instanced::{InstancedRay, SimdInstancedScene};

use pulp::x86::{V3, V4};

use self::{
    flat::Flat,
    search::{Nearest, Occluded, Search},
    split::Nodes,
    tree::WideTree,
};
use crate::{
    accel::{bvh::Node, primitive::Primitive, vectors::SimdLevel},
    path::{Hit, Ray, ShadowRay},
};

/// Maximum number of primitives of a scene that is traced without a tree.
const MAX_FLAT: usize = 64;

/// A scene of triangles and spheres, prepared for SIMD traversal.
pub struct SimdScene(SceneForm);

/// The form of the scene: a list, or a tree for 8 or 16 lanes.
enum SceneForm {
    Flat(SimdLevel, Flat),
    Eight(V3, WideTree<V3>),
    Sixteen(V4, WideTree<V4>),
}

impl SimdScene {
    /// Prepares triangles and spheres with the nodes and the `extent` from [`bvh::build`](crate::accel::bvh::build):
    /// few as a list, more as a tree.
    ///
    /// There must be no instances among them; a list with instances, or nodes before their parents, give `None`.
    pub fn new(
        vectors: SimdLevel,
        nodes: &[Node],
        primitives: &[Primitive],
        extent: f32,
    ) -> Option<SimdScene> {
        if primitives.len() <= MAX_FLAT {
            SimdScene::list(vectors, primitives)
        } else {
            SimdScene::tree(vectors, nodes, primitives, extent)
        }
    }

    /// Prepares primitives as a list, whatever their number. `None` if there are instances among them.
    pub fn list(vectors: SimdLevel, primitives: &[Primitive]) -> Option<SimdScene> {
        let flat = Flat::new(primitives)?;
        Some(SimdScene(SceneForm::Flat(vectors, flat)))
    }

    /// Prepares triangles and spheres as a tree, whatever their number. `None` if a node of `nodes` comes before its
    /// parent.
    pub fn tree(
        vectors: SimdLevel,
        nodes: &[Node],
        primitives: &[Primitive],
        extent: f32,
    ) -> Option<SimdScene> {
        let nodes = Nodes {
            nodes,
            root: 0,
            instances: &[],
        };
        Some(SimdScene(match vectors {
            SimdLevel::Eight(simd) => {
                SceneForm::Eight(simd, WideTree::new(nodes, primitives, extent)?)
            }
            SimdLevel::Sixteen(simd) => {
                SceneForm::Sixteen(simd, WideTree::new(nodes, primitives, extent)?)
            }
        }))
    }

    /// Returns the memory of the scene in this form, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        match &self.0 {
            SceneForm::Flat(_, flat) => flat.bytes(),
            SceneForm::Eight(_, tree) => tree.bytes(),
            SceneForm::Sixteen(_, tree) => tree.bytes(),
        }
    }

    /// Finds the nearest hit, as [`bvh::nearest`](crate::accel::bvh::nearest), of the rays at these indices.
    ///
    /// Calls `report` with the index and the hit of each ray, in any order.
    pub fn each_nearest(
        &self,
        primitives: &[Primitive],
        rays: &[Ray],
        ray_indices: impl Iterator<Item = usize>,
        report: impl FnMut(usize, Hit),
    ) {
        self.each::<Nearest>(primitives, rays, ray_indices, report);
    }

    /// Finds whether the shadow rays at these indices are blocked, as [`bvh::occluded`](crate::accel::bvh::occluded).
    ///
    /// Calls `report` with the index and the result of each ray, in any order.
    pub fn each_occluded(
        &self,
        primitives: &[Primitive],
        rays: &[ShadowRay],
        ray_indices: impl Iterator<Item = usize>,
        report: impl FnMut(usize, bool),
    ) {
        self.each::<Occluded>(primitives, rays, ray_indices, report);
    }

    /// Runs a query for the rays at these indices, with the vectors of the scene's form. Calls `report` with the index
    /// and the result of each ray, in any order.
    #[inline(always)]
    fn each<Q: Search>(
        &self,
        primitives: &[Primitive],
        rays: &[Q::Ray],
        ray_indices: impl Iterator<Item = usize>,
        report: impl FnMut(usize, Q::Output),
    ) {
        match &self.0 {
            SceneForm::Flat(SimdLevel::Eight(simd), flat) => simd.vectorize(
                #[inline(always)]
                || flat.each::<Q, _>(*simd, rays, ray_indices, report),
            ),
            SceneForm::Flat(SimdLevel::Sixteen(simd), flat) => simd.vectorize(
                #[inline(always)]
                || flat.each::<Q, _>(*simd, rays, ray_indices, report),
            ),
            SceneForm::Eight(simd, tree) => simd.vectorize(
                #[inline(always)]
                || tree.each::<Q>(*simd, primitives, rays, ray_indices, report),
            ),
            SceneForm::Sixteen(simd, tree) => simd.vectorize(
                #[inline(always)]
                || tree.each::<Q>(*simd, primitives, rays, ray_indices, report),
            ),
        }
    }
}
