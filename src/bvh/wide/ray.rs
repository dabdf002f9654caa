//! One ray, against a box in each lane at once and against a triangle in each.

use glam::Vec3;

use super::{
    block::AXES,
    tree::{Packet, Probe, WideNode, first_lane},
    triangles::hit_triangles,
};
use crate::{
    bvh::{box_ray, slack},
    path::{Hit, NO_PRIMITIVE, ShadowRay},
    primitive::{Primitive, Shear, shear, turn},
    vectors::{Floats, Lanes, Mask},
};

/// A ray made ready.
#[derive(Clone, Copy)]
pub(super) struct Prepared {
    inverse: Vec3,
    /// − where planes are entered from, times `inverse`.
    enters: Vec3,
    /// The same of where they are left from.
    leaves: Vec3,
    shear: Shear,
    /// Its origin, turned as the shear says.
    origin: Vec3,
}

impl Default for Prepared {
    fn default() -> Prepared {
        Prepared::new(Vec3::ZERO, Vec3::Z, 0.0)
    }
}

impl Prepared {
    #[inline(always)]
    pub(super) fn new(origin: Vec3, direction: Vec3, extent: f32) -> Prepared {
        let boxes = box_ray(origin, direction, slack(origin, extent));
        let shear = shear(direction);
        Prepared {
            inverse: boxes.inverse,
            enters: -(boxes.entering * boxes.inverse),
            leaves: -(boxes.leaving * boxes.inverse),
            shear,
            origin: turn(origin, shear.axis),
        }
    }
}

/// A ray in all lanes.
pub(super) struct WideRay<S: Lanes> {
    simd: S,
    pub(super) shear: Shear,
    /// Per axis 1 where it goes down: it enters boxes by their largest planes.
    down: [usize; 3],
    inverse: [Floats<S>; 3],
    enters: [Floats<S>; 3],
    leaves: [Floats<S>; 3],
    /// Axes of the shear.
    axes: [usize; 3],
    origin: [Floats<S>; 3],
    shears: [Floats<S>; 3],
    from: S::u32s,
}

impl<S: Lanes> Probe<S> for WideRay<S> {
    #[inline(always)]
    fn met(&self, node: &WideNode<S>, distance: f32) -> (u32, Floats<S>) {
        let x = self.slab(node, 0, self.down[0] & 1);
        let y = self.slab(node, 1, self.down[1] & 1);
        let z = self.slab(node, 2, self.down[2] & 1);
        // What is no number comes first, where it counts for nothing.
        let entered = x.0.greater(y.0).greater(z.0.greater(self.splat(0.0)));
        let left = x.1.lesser(y.1).lesser(z.1.lesser(self.splat(distance)));
        (entered.up_to(left).bits() & node.held, entered)
    }
}

impl<S: Lanes> WideRay<S> {
    #[inline(always)]
    pub(super) fn new(simd: S, prepared: &Prepared, from: u32) -> WideRay<S> {
        let Prepared { inverse, shear, .. } = prepared;
        let sign = |x: f32| (x < 0.0) as usize;
        WideRay {
            simd,
            shear: *shear,
            down: [sign(inverse.x), sign(inverse.y), sign(inverse.z)],
            inverse: all(simd, *inverse),
            enters: all(simd, prepared.enters),
            leaves: all(simd, prepared.leaves),
            axes: AXES[shear.axis as usize & 3],
            origin: all(simd, prepared.origin),
            shears: all(simd, Vec3::new(shear.x, shear.y, shear.z)),
            from: simd.splat_u32s(from),
        }
    }

    /// Where it enters and leaves the children's extents along an axis.
    #[inline(always)]
    fn slab(&self, node: &WideNode<S>, axis: usize, near: usize) -> (Floats<S>, Floats<S>) {
        let entering = Floats(self.simd, node.planes[near][axis]);
        let leaving = Floats(self.simd, node.planes[1 - near][axis]);
        (
            entering.times_plus(self.inverse[axis], self.enters[axis]),
            leaving.times_plus(self.inverse[axis], self.leaves[axis]),
        )
    }

    #[inline(always)]
    fn splat(&self, x: f32) -> Floats<S> {
        Floats::all(self.simd, x)
    }

    /// A triangle's corner as of `hit_triangle`.
    #[inline(always)]
    fn corner(&self, corner: &[S::f32s; 3]) -> [Floats<S>; 3] {
        let [shear_x, shear_y, _] = self.shears;
        let x = Floats(self.simd, corner[self.axes[0]]) - self.origin[0];
        let y = Floats(self.simd, corner[self.axes[1]]) - self.origin[1];
        let z = Floats(self.simd, corner[self.axes[2]]) - self.origin[2];
        [x - shear_x * z, y - shear_y * z, z]
    }

    /// What `hit_triangle` finds of each: see [`hit_triangles`].
    #[inline(always)]
    fn hit_packet(&self, packet: &Packet<S>) -> Option<(Mask<S>, [Floats<S>; 3])> {
        let (a, b, c) = (
            self.corner(&packet.corners[0]),
            self.corner(&packet.corners[1]),
            self.corner(&packet.corners[2]),
        );
        let (hit, found) = hit_triangles([&a, &b, &c], self.shears[2])?;
        Some((hit & !self.are(packet, self.from), found))
    }

    /// Which of the packet's primitives it is.
    #[inline(always)]
    fn are(&self, packet: &Packet<S>, position: S::u32s) -> Mask<S> {
        Mask(self.simd, self.simd.equal_u32s(packet.positions, position))
    }

    /// What `nearer_hit` does with each.
    #[inline(always)]
    pub(super) fn nearer_hits(&self, packet: &Packet<S>, primitives: &[Primitive], best: &mut Hit) {
        let Some((hit, [distances, us, vs])) = self.hit_packet(packet) else {
            return;
        };
        let mut hit = (hit & distances.up_to(self.splat(best.distance))).bits();
        let (distances, us, vs) = (distances.lanes(), us.lanes(), vs.lanes());
        while hit != 0 {
            let lane = first_lane::<S>(hit);
            hit &= hit - 1;
            let (distance, position) = (distances[lane], packet.position(lane));
            if distance > best.distance {
                continue;
            }
            let tie = distance == best.distance && best.primitive != NO_PRIMITIVE;
            let number = |position: u32| primitives[position as usize].number;
            if tie && number(position) > number(best.primitive) {
                continue;
            }
            *best = Hit {
                distance,
                primitive: position,
                u: us[lane],
                v: vs[lane],
            };
        }
    }

    /// Whether `blocks` is true of any.
    #[inline(always)]
    pub(super) fn any_blocks(&self, packet: &Packet<S>, ray: &ShadowRay) -> bool {
        let Some((hit, [along, ..])) = self.hit_packet(packet) else {
            return false;
        };
        let to = self.simd.splat_u32s(ray.to);
        let blocks = along.below(self.splat(ray.distance)) & !self.are(packet, to);
        (hit & blocks).any()
    }
}

/// Each coordinate in all lanes.
#[inline(always)]
pub(super) fn all<S: Lanes>(simd: S, v: Vec3) -> [Floats<S>; 3] {
    [
        Floats::all(simd, v.x),
        Floats::all(simd, v.y),
        Floats::all(simd, v.z),
    ]
}
