//! A single ray, tested against a box or a triangle in each lane at once.

use glam::Vec3;

use super::{
    block::AXES,
    prepared::Prepared,
    spheres::hit_spheres,
    tree::{Packet, Probe, WideNode, first_lane},
    triangles::hit_triangles,
};
use crate::{
    accel::{
        primitive::{Primitive, Shear},
        vectors::{Lanes, Mask, SimdF32},
    },
    path::{Hit, NO_PRIMITIVE, Ray, ShadowRay},
};

/// A ray copied to all lanes.
pub(super) struct WideRay<S: Lanes> {
    simd: S,
    /// Shear of the watertight triangle test.
    pub(super) shear: Shear,
    /// 1 per axis where the direction is negative, so that boxes are entered at their maximum planes; otherwise 0.
    down: [usize; 3],
    /// Reciprocal of the direction per axis.
    inverse: [SimdF32<S>; 3],
    /// See [`Prepared::enters`].
    enters: [SimdF32<S>; 3],
    /// See [`Prepared::leaves`].
    leaves: [SimdF32<S>; 3],
    /// Permutation of axes by the shear.
    axes: [usize; 3],
    /// Permuted origin.
    origin: [SimdF32<S>; 3],
    /// The numbers `x`, `y` and `z` of the shear.
    shears: [SimdF32<S>; 3],
    /// Index of the primitive that the ray leaves.
    from: S::u32s,
}

impl<S: Lanes> Probe<S> for WideRay<S> {
    #[inline(always)]
    fn met(&self, node: &WideNode<S>, distance: f32) -> (u32, SimdF32<S>) {
        let x = self.slab(node, 0, self.down[0] & 1);
        let y = self.slab(node, 1, self.down[1] & 1);
        let z = self.slab(node, 2, self.down[2] & 1);
        // `max` returns its second operand for NaN, so that an undefined slab does not count.
        let entered = x.0.max(y.0).max(z.0.max(self.splat(0.0)));
        let left = x.1.min(y.1).min(z.1.min(self.splat(distance)));
        (entered.up_to(left).bits() & node.child_mask, entered)
    }
}

impl<S: Lanes> WideRay<S> {
    /// Copies a prepared ray to all lanes. `from` is the primitive that it leaves.
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

    /// Returns the distances at which the ray enters and leaves the children's slabs along an axis.
    #[inline(always)]
    fn slab(&self, node: &WideNode<S>, axis: usize, near: usize) -> (SimdF32<S>, SimdF32<S>) {
        let entering = SimdF32(self.simd, node.planes[near][axis]);
        let leaving = SimdF32(self.simd, node.planes[1 - near][axis]);
        (
            entering.mul_add(self.inverse[axis], self.enters[axis]),
            leaving.mul_add(self.inverse[axis], self.leaves[axis]),
        )
    }

    /// Returns a vector with `x` in all lanes.
    #[inline(always)]
    fn splat(&self, x: f32) -> SimdF32<S> {
        SimdF32::all(self.simd, x)
    }

    /// Transforms one vertex of each lane's triangle to the sheared ray space of `hit_triangle`.
    #[inline(always)]
    fn corner(&self, corner: &[S::f32s; 3]) -> [SimdF32<S>; 3] {
        let [shear_x, shear_y, _] = self.shears;
        let x = SimdF32(self.simd, corner[self.axes[0]]) - self.origin[0];
        let y = SimdF32(self.simd, corner[self.axes[1]]) - self.origin[1];
        let z = SimdF32(self.simd, corner[self.axes[2]]) - self.origin[2];
        [x - shear_x * z, y - shear_y * z, z]
    }

    /// Intersects the ray with the triangles of a packet, see [`hit_triangles`], except the one that it leaves.
    #[inline(always)]
    fn hit_packet(&self, packet: &Packet<S>) -> Option<(Mask<S>, [SimdF32<S>; 3])> {
        let (a, b, c) = (
            self.corner(&packet.corners[0]),
            self.corner(&packet.corners[1]),
            self.corner(&packet.corners[2]),
        );
        let (hit, found) = hit_triangles([&a, &b, &c], self.shears[2])?;
        Some((hit & !self.are(packet, self.from), found))
    }

    /// Returns a mask of the packet's primitives that have this index.
    #[inline(always)]
    fn are(&self, packet: &Packet<S>, position: S::u32s) -> Mask<S> {
        Mask(self.simd, self.simd.equal_u32s(packet.positions, position))
    }

    /// Returns the packet's triangles that the ray hits up to `distance`, one bit per lane, and their distances and
    /// weights.
    #[inline(always)]
    pub(super) fn hits_within(
        &self,
        packet: &Packet<S>,
        distance: f32,
    ) -> Option<(u32, [SimdF32<S>; 3])> {
        let (hit, found) = self.hit_packet(packet)?;
        let within = found[0].up_to(self.splat(distance));
        Some(((hit & within).bits(), found))
    }

    /// Returns the packet's triangles except `light` that the ray hits before `distance`, as
    /// [`hits_within`](Self::hits_within).
    #[inline(always)]
    pub(super) fn hits_before(
        &self,
        packet: &Packet<S>,
        distance: f32,
        light: u32,
    ) -> Option<(u32, [SimdF32<S>; 3])> {
        let (hit, found) = self.hit_packet(packet)?;
        let before = found[0].below(self.splat(distance));
        let is_light = self.are(packet, self.simd.splat_u32s(light));
        Some(((hit & before & !is_light).bits(), found))
    }

    /// Replaces `best` by the nearest hit with a triangle of the packet, by the rules of `nearer_hit`.
    #[inline(always)]
    pub(super) fn nearer_hits(&self, packet: &Packet<S>, primitives: &[Primitive], best: &mut Hit) {
        if let Some((hit, found)) = self.hits_within(packet, best.distance) {
            take_nearest(packet, hit, found, primitives, best);
        }
    }

    /// Replaces `best` by the nearest hit with a sphere of the packet, by the rules of `nearer_hit`.
    #[inline(always)]
    pub(super) fn nearer_spheres(
        &self,
        packet: &Packet<S>,
        ray: &Ray,
        primitives: &[Primitive],
        best: &mut Hit,
    ) {
        let found = self.hit_sphere_packet(packet, ray.origin, ray.direction, S::ALL);
        if let Some((hit, distances)) = found {
            let hit = (hit & distances.up_to(self.splat(best.distance))).bits();
            let found = [distances, self.splat(0.0), self.splat(0.0)];
            take_nearest(packet, hit, found, primitives, best);
        }
    }

    /// Returns whether any sphere of the packet blocks a shadow ray.
    #[inline(always)]
    pub(super) fn any_sphere_blocks(&self, packet: &Packet<S>, ray: &ShadowRay) -> bool {
        let counts = !self.are(packet, self.simd.splat_u32s(ray.to_primitive));
        let found = self.hit_sphere_packet(packet, ray.origin, ray.direction, counts.bits());
        found.is_some_and(|(hit, distances)| {
            (hit & distances.below(self.splat(ray.distance)) & counts).bits() != 0
        })
    }

    /// Intersects a ray, given by its origin and direction, with the spheres of a packet, see [`hit_spheres`].
    #[inline(always)]
    fn hit_sphere_packet(
        &self,
        packet: &Packet<S>,
        origin: Vec3,
        direction: Vec3,
        counts: u32,
    ) -> Option<(Mask<S>, SimdF32<S>)> {
        // The first vertex of a sphere is its center, and the second one holds its radius.
        let [center, [radius, ..], _] = &packet.corners;
        let [ox, oy, oz] = all(self.simd, origin);
        let to_origin = [
            ox - SimdF32(self.simd, center[0]),
            oy - SimdF32(self.simd, center[1]),
            oz - SimdF32(self.simd, center[2]),
        ];
        let direction = all(self.simd, direction);
        let leaves = self.are(packet, self.from);
        hit_spheres(
            to_origin,
            direction,
            SimdF32(self.simd, *radius),
            leaves,
            counts,
        )
    }

    /// Returns whether any triangle of the packet blocks a shadow ray.
    #[inline(always)]
    pub(super) fn any_blocks(&self, packet: &Packet<S>, ray: &ShadowRay) -> bool {
        let hits = self.hits_before(packet, ray.distance, ray.to_primitive);
        hits.is_some_and(|(hit, _)| hit != 0)
    }
}

/// Replaces `best` by the nearest hit with a primitive of a packet, by the rules of `nearer_hit`.
///
/// `hit` has one bit per lane, set if the ray hits the lane's primitive within `best.distance`. The arrays hold, per
/// lane, the distance and the `u` and `v` of the hit.
#[inline(always)]
fn take_nearest<S: Lanes>(
    packet: &Packet<S>,
    mut hit: u32,
    [distances, us, vs]: [SimdF32<S>; 3],
    primitives: &[Primitive],
    best: &mut Hit,
) {
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

/// Returns each coordinate in all lanes.
#[inline(always)]
pub(super) fn all<S: Lanes>(simd: S, v: Vec3) -> [SimdF32<S>; 3] {
    [
        SimdF32::all(simd, v.x),
        SimdF32::all(simd, v.y),
        SimdF32::all(simd, v.z),
    ]
}
