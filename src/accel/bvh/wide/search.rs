//! The two queries of traversal: the nearest hit, and occlusion.

use super::{
    block::{RayBlock, RayParts, RayRecord},
    flat::{Corner, Flat},
    ray::WideRay,
    tree::{OTHERS, Order, WideTree},
};
use crate::{
    accel::{primitive::Primitive, vectors::Lanes},
    path::{Hit, NO_PRIMITIVE, Ray, ShadowRay},
};

/// A query that traversal answers for rays.
pub(super) trait Search {
    /// The ray that the query takes.
    type Ray: RayRecord + Into<RayParts>;
    /// The answer.
    type Output: Copy;
    /// The order in which a single ray visits the children of a node.
    const ORDER: Order;

    /// Returns the answer before any test, and the distance within which primitives count.
    fn begin(ray: &Self::Ray) -> (Self::Output, f32);

    /// Tests the packet `child` against a single ray and updates the answer.
    ///
    /// Returns the distance within which primitives count from then on; a negative one ends the traversal.
    fn test<S: Lanes>(
        tree: &WideTree<S>,
        child: u32,
        wide: &WideRay<S>,
        ray: &Self::Ray,
        primitives: &[Primitive],
        found: &mut Self::Output,
    ) -> f32;

    /// Answers the query for a beam, a block of coherent rays that traverse the tree together. For each ray, `report`
    /// receives its index from `block.ray_indices` and the answer.
    fn search_beam<S: Lanes>(
        tree: &WideTree<S>,
        block: &RayBlock<S>,
        stack: &mut [u64],
        primitives: &[Primitive],
        report: &mut impl FnMut(usize, Self::Output),
    );

    /// Answers the query for a block of rays in a small scene without a tree, by testing all primitives. For each ray,
    /// `report` receives its index from `block.ray_indices` and the answer. `corners` is scratch memory.
    fn search_list<S: Lanes>(
        flat: &Flat,
        block: &RayBlock<S>,
        corners: &mut [Corner<S>],
        report: &mut impl FnMut(usize, Self::Output),
    );
}

/// The query for the nearest hit.
pub(super) struct Nearest;

impl Search for Nearest {
    type Ray = Ray;
    type Output = Hit;
    const ORDER: Order = Order::NearestFirst;

    #[inline(always)]
    fn begin(_: &Ray) -> (Hit, f32) {
        let none = Hit {
            distance: f32::MAX,
            primitive: NO_PRIMITIVE,
            u: 0.0,
            v: 0.0,
        };
        (none, f32::MAX)
    }

    #[inline(always)]
    fn test<S: Lanes>(
        tree: &WideTree<S>,
        child: u32,
        wide: &WideRay<S>,
        ray: &Ray,
        primitives: &[Primitive],
        best: &mut Hit,
    ) -> f32 {
        let packet = tree.packet(child);
        if child & OTHERS == 0 {
            wide.nearer_hits(packet, primitives, best);
        } else {
            wide.nearer_spheres(packet, ray, primitives, best);
        }
        best.distance
    }

    #[inline(always)]
    fn search_beam<S: Lanes>(
        tree: &WideTree<S>,
        block: &RayBlock<S>,
        stack: &mut [u64],
        primitives: &[Primitive],
        report: &mut impl FnMut(usize, Hit),
    ) {
        tree.nearest_of_beam(block, stack, primitives, report);
    }

    #[inline(always)]
    fn search_list<S: Lanes>(
        flat: &Flat,
        block: &RayBlock<S>,
        corners: &mut [Corner<S>],
        report: &mut impl FnMut(usize, Hit),
    ) {
        flat.nearest(block, corners, report);
    }
}

/// The query whether anything blocks a shadow ray.
pub(super) struct Occluded;

impl Search for Occluded {
    type Ray = ShadowRay;
    type Output = bool;
    const ORDER: Order = Order::Any;

    #[inline(always)]
    fn begin(ray: &ShadowRay) -> (bool, f32) {
        (false, ray.distance)
    }

    #[inline(always)]
    fn test<S: Lanes>(
        tree: &WideTree<S>,
        child: u32,
        wide: &WideRay<S>,
        ray: &ShadowRay,
        _: &[Primitive],
        blocked: &mut bool,
    ) -> f32 {
        let packet = tree.packet(child);
        *blocked = if child & OTHERS == 0 {
            wide.any_blocks(packet, ray)
        } else {
            wide.any_sphere_blocks(packet, ray)
        };
        if *blocked { -1.0 } else { ray.distance }
    }

    #[inline(always)]
    fn search_beam<S: Lanes>(
        tree: &WideTree<S>,
        block: &RayBlock<S>,
        stack: &mut [u64],
        primitives: &[Primitive],
        report: &mut impl FnMut(usize, bool),
    ) {
        tree.occluded_of_beam(block, stack, primitives, report);
    }

    #[inline(always)]
    fn search_list<S: Lanes>(
        flat: &Flat,
        block: &RayBlock<S>,
        corners: &mut [Corner<S>],
        report: &mut impl FnMut(usize, bool),
    ) {
        flat.occluded(block, corners, report);
    }
}
