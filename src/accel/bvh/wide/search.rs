//! The two queries of traversal, the nearest hit and occlusion, and how they are answered for many rays.

use super::{
    beam::is_beam,
    block::{RayBlock, RayParts, RayRecord, each},
    flat::{Corner, Flat},
    prepared::PreparedRays,
    ray::WideRay,
    tree::{OTHERS, Order, Visit, WideTree},
};
use crate::{
    accel::{
        arrays::PATHS,
        primitive::{Primitive, shear},
        vectors::Lanes,
    },
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

impl<S: Lanes> WideTree<S> {
    /// Runs a query for the rays at these indices: consecutive coherent rays as a beam, all others singly.
    /// Calls `report` with the index and the result of each ray, in any order.
    #[inline(always)]
    pub(super) fn each<Q: Search>(
        &self,
        simd: S,
        primitives: &[Primitive],
        rays: &[Q::Ray],
        mut ray_indices: impl Iterator<Item = usize>,
        mut report: impl FnMut(usize, Q::Output),
    ) {
        let mut stack = vec![0; self.stack_height + 1];
        let mut taken = [0; PATHS];
        let mut prepared = PreparedRays::EMPTY;
        let way = |place: usize| -> RayParts { rays[place].into() };
        loop {
            let mut count = 0;
            for (at, place) in taken.iter_mut().zip(&mut ray_indices) {
                *at = place;
                count += 1;
            }
            if count == 0 {
                return;
            }
            let mut alone = 0;
            let mut first = 0;
            while first < count {
                let end = count.min(first + S::F32_LANES);
                if end - first == S::F32_LANES && is_beam(&taken[first..end], way, self.extent) {
                    let axis = shear(way(taken[first]).direction).axis;
                    let block = RayBlock::new(simd, axis as usize, rays, &taken[first..end]);
                    Q::search_beam(self, &block, &mut stack, primitives, &mut report);
                } else {
                    for at in first..end {
                        let place = taken[at];
                        let RayParts {
                            origin, direction, ..
                        } = way(place);
                        taken[alone] = place;
                        prepared.set(alone, origin, direction);
                        alone += 1;
                    }
                }
                first = end;
            }
            if alone == 0 {
                continue;
            }
            prepared.prepare(self.extent, 1.0);
            for (at, &place) in taken[..alone].iter().enumerate() {
                let ray = &rays[place];
                let RayParts { from_primitive, .. } = (*ray).into();
                let wide = WideRay::new(simd, &prepared.get(at), from_primitive);
                let (mut found, distance) = Q::begin(ray);
                let mut visit = Visit::new(&mut stack, distance, Q::ORDER);
                while self.step(
                    &mut visit,
                    &wide,
                    #[inline(always)]
                    |child| Q::test(self, child, &wide, ray, primitives, &mut found),
                ) {}
                report(place, found);
            }
        }
    }
}

impl Flat {
    /// Runs a query for the rays at these indices. Calls `report` with the index and the result of each ray, in any
    /// order.
    #[inline(always)]
    pub(super) fn each<Q: Search, S: Lanes>(
        &self,
        simd: S,
        rays: &[Q::Ray],
        ray_indices: impl Iterator<Item = usize>,
        mut report: impl FnMut(usize, Q::Output),
    ) {
        let mut corners = self.corners(simd);
        each(
            simd,
            rays,
            ray_indices,
            #[inline(always)]
            |block| Q::search_list(self, block, &mut corners, &mut report),
        );
    }
}
