//! What is asked of rays: what they hit first, or whether anything is in their way.

use super::{
    block::{Block, Row, Way},
    flat::{Corner, Flat},
    ray::WideRay,
    tree::{OTHERS, Tree, numbers},
};
use crate::{
    path::{Hit, NO_PRIMITIVE, Ray, ShadowRay},
    primitive::{Primitive, blocks, nearer_hit},
    vectors::Lanes,
};

/// A question to the rays.
pub(super) trait Search {
    type Ray: Row + Into<Way>;
    type Found: Copy;

    /// What is found before anything is tested, and how far that is.
    fn begin(ray: &Self::Ray) -> (Self::Found, f32);

    /// Tests a packet against a ray that goes alone; how far it is followed from then on, negative to end it.
    fn test<S: Lanes>(
        tree: &Tree<S>,
        child: u32,
        wide: &WideRay<S>,
        ray: &Self::Ray,
        primitives: &[Primitive],
        found: &mut Self::Found,
    ) -> f32;

    /// Tells what is found of each ray of a beam.
    fn of_beam<S: Lanes>(
        tree: &Tree<S>,
        block: &Block<S>,
        stack: &mut [u64],
        primitives: &[Primitive],
        tell: &mut impl FnMut(usize, Self::Found),
    );

    /// Tells what is found of each ray of a block without a tree.
    fn in_list<S: Lanes>(
        flat: &Flat,
        block: &Block<S>,
        corners: &mut [Corner<S>],
        tell: &mut impl FnMut(usize, Self::Found),
    );
}

/// The nearest hit.
pub(super) struct Nearest;

impl Search for Nearest {
    type Ray = Ray;
    type Found = Hit;

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
        tree: &Tree<S>,
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
            for &position in numbers(&packet.positions) {
                nearer_hit(primitives, position, ray, &wide.shear, best);
            }
        }
        best.distance
    }

    #[inline(always)]
    fn of_beam<S: Lanes>(
        tree: &Tree<S>,
        block: &Block<S>,
        stack: &mut [u64],
        primitives: &[Primitive],
        tell: &mut impl FnMut(usize, Hit),
    ) {
        tree.nearest_of_beam(block, stack, primitives, tell);
    }

    #[inline(always)]
    fn in_list<S: Lanes>(
        flat: &Flat,
        block: &Block<S>,
        corners: &mut [Corner<S>],
        tell: &mut impl FnMut(usize, Hit),
    ) {
        flat.nearest(block, corners, tell);
    }
}

/// Whether anything is in the way.
pub(super) struct Occluded;

impl Search for Occluded {
    type Ray = ShadowRay;
    type Found = bool;

    #[inline(always)]
    fn begin(ray: &ShadowRay) -> (bool, f32) {
        (false, ray.distance)
    }

    #[inline(always)]
    fn test<S: Lanes>(
        tree: &Tree<S>,
        child: u32,
        wide: &WideRay<S>,
        ray: &ShadowRay,
        primitives: &[Primitive],
        blocked: &mut bool,
    ) -> f32 {
        let packet = tree.packet(child);
        *blocked = if child & OTHERS == 0 {
            wide.any_blocks(packet, ray)
        } else {
            numbers(&packet.positions)
                .iter()
                .any(|&position| blocks(primitives, position, ray, &wide.shear))
        };
        if *blocked { -1.0 } else { ray.distance }
    }

    #[inline(always)]
    fn of_beam<S: Lanes>(
        tree: &Tree<S>,
        block: &Block<S>,
        stack: &mut [u64],
        primitives: &[Primitive],
        tell: &mut impl FnMut(usize, bool),
    ) {
        tree.occluded_of_beam(block, stack, primitives, tell);
    }

    #[inline(always)]
    fn in_list<S: Lanes>(
        flat: &Flat,
        block: &Block<S>,
        corners: &mut [Corner<S>],
        tell: &mut impl FnMut(usize, bool),
    ) {
        flat.occluded(block, corners, tell);
    }
}
