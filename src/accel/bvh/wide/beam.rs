//! Beams: coherent rays that traverse the tree together, by bounds of their origins and directions, and are separated
//! only at the primitives.

use glam::Vec3;

use super::{
    block::{RayBlock, RayParts},
    ray::all,
    spheres::Three,
    tree::{OTHERS, Order, Packet, Probe, Visit, WideNode, WideTree, first_lane},
};
use crate::{
    accel::{
        bvh::{inverse, slack},
        primitive::{Primitive, shear},
        vectors::{Lanes, Mask, SimdF32},
    },
    math::dot,
    path::{Hit, NO_PRIMITIVE},
};

/// Minimum cosine between the direction of each ray of a beam and that of the first.
const NARROW: f32 = 0.999;
/// Maximum distance per axis of each ray's origin from the first one's, relative to the scene's extent.
const NEAR: f32 = 1.0 / 16.0;

/// Returns whether the rays at these indices form a beam: near origins, and directions that are close and agree in
/// longest axis and signs.
#[inline(always)]
pub(super) fn is_beam(ray_indices: &[usize], way: impl Fn(usize) -> RayParts, extent: f32) -> bool {
    let first = way(ray_indices[0]);
    let axis = shear(first.direction).axis;
    let downwards = |direction: Vec3| direction.cmplt(Vec3::ZERO);
    ray_indices[1..].iter().all(|&index| {
        let RayParts {
            origin, direction, ..
        } = way(index);
        dot(direction, first.direction) > NARROW
            && (origin - first.origin).abs().max_element() <= extent * NEAR
            && downwards(direction) == downwards(first.direction)
            && shear(direction).axis == axis
    })
}

/// Bounds of the rays of a block.
pub(super) struct Beam<S: Lanes> {
    /// The vector instructions.
    simd: S,
    /// 1 per axis where directions are negative, so that boxes are entered at their maximum planes; otherwise 0.
    down: [usize; 3],
    /// Reciprocals of the smallest and of the largest direction per axis.
    inverse: [[SimdF32<S>; 3]; 2],
    /// Per axis, the origin bound, enlarged by the slack, from which planes are entered first.
    enters: [SimdF32<S>; 3],
    /// Per axis, the opposite origin bound, from which planes are left last.
    leaves: [SimdF32<S>; 3],
}

impl<S: Lanes> Beam<S> {
    /// Bounds the rays of a block for a tree with this largest absolute coordinate. `slack_factor` multiplies the
    /// distance by which boxes are enlarged.
    #[inline(always)]
    pub(super) fn new(block: &RayBlock<S>, extent: f32, slack_factor: f32) -> Beam<S> {
        let simd = block.simd;
        let origins = block.permuted_back(&block.origin);
        let directions = block.permuted_back(&block.direction);
        let (low, high) = (smallest(origins), largest(origins));
        let (first, last) = (smallest(directions), largest(directions));
        let slack = Vec3::splat(slack(low.abs().max(high.abs()), extent) * slack_factor);
        let (low, high) = (low - slack, high + slack);
        let downwards = first.cmplt(Vec3::ZERO);
        Beam {
            simd,
            down: [
                usize::from(first.x < 0.0),
                usize::from(first.y < 0.0),
                usize::from(first.z < 0.0),
            ],
            inverse: [all(simd, inverse(first)), all(simd, inverse(last))],
            enters: all(simd, Vec3::select(downwards, low, high)),
            leaves: all(simd, Vec3::select(downwards, high, low)),
        }
    }

    /// Returns the earliest entry and the latest exit of any ray in the boxes' slabs along an axis.
    #[inline(always)]
    fn slab(&self, planes: &[[S::f32s; 3]; 2], axis: usize) -> (SimdF32<S>, SimdF32<S>) {
        let near = self.down[axis] & 1;
        let to_near = SimdF32(self.simd, planes[near][axis]) - self.enters[axis];
        let to_far = SimdF32(self.simd, planes[1 - near][axis]) - self.leaves[axis];
        let [first, last] = [self.inverse[0][axis], self.inverse[1][axis]];
        (
            (to_near * first).min(to_near * last),
            (to_far * first).max(to_far * last),
        )
    }
}

impl<S: Lanes> Beam<S> {
    /// Returns a bit mask of the boxes that the beam enters before `distance`, and the entry distance of each.
    #[inline(always)]
    fn met_boxes(&self, planes: &[[S::f32s; 3]; 2], distance: f32) -> (u32, SimdF32<S>) {
        let all = [
            self.slab(planes, 0),
            self.slab(planes, 1),
            self.slab(planes, 2),
        ];
        let [x, y, z] = &all;
        let entered = x.0.max(y.0).max(z.0.max(SimdF32::all(self.simd, 0.0)));
        let left = x.1.min(y.1).min(z.1.min(SimdF32::all(self.simd, distance)));
        (entered.up_to(left).bits(), entered)
    }

    /// Returns a bit mask of the packet's triangles whose boxes the beam enters before `distance`.
    #[inline(always)]
    fn near(&self, packet: &Packet<S>, distance: f32) -> u32 {
        let (x, y, z) = (
            self.extent(packet, 0),
            self.extent(packet, 1),
            self.extent(packet, 2),
        );
        self.met_boxes(&[[x.0, y.0, z.0], [x.1, y.1, z.1]], distance)
            .0
    }

    /// Returns minimum and maximum of the packet's triangles along an axis.
    #[inline(always)]
    fn extent(&self, packet: &Packet<S>, axis: usize) -> (S::f32s, S::f32s) {
        let [a, b, c] = &packet.corners;
        let a = SimdF32(self.simd, a[axis]);
        let b = SimdF32(self.simd, b[axis]);
        let c = SimdF32(self.simd, c[axis]);
        (a.min(b).min(c).1, a.max(b).max(c).1)
    }
}

impl<S: Lanes> Probe<S> for Beam<S> {
    #[inline(always)]
    fn met(&self, node: &WideNode<S>, distance: f32) -> (u32, SimdF32<S>) {
        let (met, entered) = self.met_boxes(&node.planes, distance);
        (met & node.child_mask, entered)
    }
}

/// The nearest hit of each ray of a beam so far.
struct BeamHits<S: Lanes> {
    /// Distances in metres; infinite without a hit.
    distance: SimdF32<S>,
    /// Indices of the primitives, or `NO_PRIMITIVE`.
    primitive: S::u32s,
    /// Barycentric weights of the second vertex.
    u: SimdF32<S>,
    /// Barycentric weights of the third vertex.
    v: SimdF32<S>,
}

impl<S: Lanes> BeamHits<S> {
    /// Updates the rays in the mask `hit` with a primitive where it is nearer, or equally near with a lower number.
    #[inline(always)]
    fn take(
        &mut self,
        position: u32,
        hit: Mask<S>,
        [along, hit_u, hit_v]: [SimdF32<S>; 3],
        primitives: &[Primitive],
    ) {
        let simd = along.0;
        let even = (hit & along.equals(self.distance)).bits();
        if even != 0 {
            let found: &mut [u32] =
                bytemuck::cast_slice_mut(std::slice::from_mut(&mut self.primitive));
            let number = |position: u32| primitives[position as usize].number;
            for (lane, found) in found.iter_mut().enumerate() {
                let tie = even >> lane & 1 == 1 && *found != NO_PRIMITIVE;
                if tie && number(position) < number(*found) {
                    *found = position;
                    self.u.lanes_mut()[lane] = hit_u.lanes()[lane];
                    self.v.lanes_mut()[lane] = hit_v.lanes()[lane];
                }
            }
        }
        let nearer = hit & along.below(self.distance);
        self.distance = along.where_or(nearer, self.distance);
        self.u = hit_u.where_or(nearer, self.u);
        self.v = hit_v.where_or(nearer, self.v);
        let all = simd.splat_u32s(position);
        self.primitive = simd.select_u32s(nearer.1, all, self.primitive);
    }
}

impl<S: Lanes> WideTree<S> {
    /// Reports the nearest hit of each ray of a beam to `report`.
    #[inline(always)]
    pub(super) fn nearest_of_beam(
        &self,
        block: &RayBlock<S>,
        stack: &mut [u64],
        primitives: &[Primitive],
        report: &mut impl FnMut(usize, Hit),
    ) {
        let mut best = BeamHits {
            distance: block.distance,
            primitive: block.simd.splat_u32s(NO_PRIMITIVE),
            u: block.all(0.0),
            v: block.all(0.0),
        };
        self.each_hit_of_beam(
            f32::MAX,
            block,
            stack,
            primitives,
            &mut best,
            (
                #[inline(always)]
                |best, position, hit, found| best.take(position, hit, found, primitives),
                #[inline(always)]
                |best| block.simd.reduce_max_f32s(best.distance.1).min(f32::MAX),
            ),
        );
        // Infinity means no hit, which is reported as the largest finite number.
        let distance = best.distance.min(block.all(f32::MAX));
        let primitive: &[u32] = bytemuck::cast_slice(std::slice::from_ref(&best.primitive));
        for (lane, &index) in block.ray_indices.iter().enumerate() {
            report(
                index,
                Hit {
                    distance: distance.lanes()[lane],
                    primitive: primitive[lane],
                    u: best.u.lanes()[lane],
                    v: best.v.lanes()[lane],
                },
            );
        }
    }

    /// Reports to `report` which rays of a beam are blocked.
    #[inline(always)]
    pub(super) fn occluded_of_beam(
        &self,
        block: &RayBlock<S>,
        stack: &mut [u64],
        primitives: &[Primitive],
        report: &mut impl FnMut(usize, bool),
    ) {
        let furthest = block.simd.reduce_max_f32s(block.distance.1);
        let mut blocked = 0;
        self.each_hit_of_beam(
            furthest,
            block,
            stack,
            primitives,
            &mut blocked,
            (
                #[inline(always)]
                |blocked, position, hit, [along, ..]| {
                    let blocks = hit
                        & along.below(block.distance)
                        & !block.goes_to(block.simd.splat_u32s(position));
                    *blocked |= blocks.bits();
                },
                #[inline(always)]
                |&blocked| if blocked == S::ALL { -1.0 } else { furthest },
            ),
        );
        for (lane, &index) in block.ray_indices.iter().enumerate() {
            report(index, blocked >> lane & 1 == 1);
        }
    }

    /// Traverses the tree with a beam and updates `found` with every primitive that rays hit within `furthest`.
    ///
    /// `take` receives the primitive's index, a mask of the rays that hit it, and distances and weights. After each
    /// packet `follow` returns the new `furthest`; a negative one ends the traversal.
    #[inline(always)]
    fn each_hit_of_beam<F>(
        &self,
        mut furthest: f32,
        block: &RayBlock<S>,
        stack: &mut [u64],
        primitives: &[Primitive],
        found: &mut F,
        (take, follow): (
            impl Fn(&mut F, u32, Mask<S>, [SimdF32<S>; 3]),
            impl Fn(&F) -> f32,
        ),
    ) {
        let beam = Beam::new(block, self.extent, 1.0);
        let mut visit = Visit::new(stack, furthest, Order::NearestFirst);
        while self.step(
            &mut visit,
            &beam,
            #[inline(always)]
            |child| {
                let packet = self.packet(child);
                let mut waiting = packet.waiting(child, &beam, furthest);
                while waiting != 0 {
                    let lane = first_lane::<S>(waiting);
                    waiting &= waiting - 1;
                    let position = packet.position(lane);
                    if let Some((hit, met)) = block.meets(child, packet, lane, primitives) {
                        take(found, position, hit, met);
                    }
                }
                furthest = follow(found);
                furthest
            },
        ) {}
    }
}

impl<S: Lanes> Packet<S> {
    /// Returns a bit mask of the lanes whose primitives the beam may hit.
    #[inline(always)]
    fn waiting(&self, child: u32, beam: &Beam<S>, distance: f32) -> u32 {
        if child & OTHERS != 0 {
            S::ALL >> (S::F32_LANES - self.count())
        } else {
            self.near(beam, distance)
        }
    }

    /// Returns a bit mask of the lanes whose triangles the beam may hit before `distance`. The packet has only
    /// triangles.
    #[inline(always)]
    pub(super) fn near(&self, beam: &Beam<S>, distance: f32) -> u32 {
        beam.near(self, distance) & S::ALL >> (S::F32_LANES - self.count())
    }
}

impl<S: Lanes> RayBlock<'_, S> {
    /// Intersects the rays with one primitive of a packet.
    ///
    /// Returns a mask of hits in front of the origins, without rays that start on a triangle's plane, and distances and
    /// weights. `None` if no ray hits.
    #[inline(always)]
    fn meets(
        &self,
        child: u32,
        packet: &Packet<S>,
        lane: usize,
        primitives: &[Primitive],
    ) -> Option<(Mask<S>, [SimdF32<S>; 3])> {
        let position = packet.position(lane);
        let leaves = self.leaves(self.simd.splat_u32s(position));
        if child & OTHERS != 0 {
            let primitive = &primitives[position as usize];
            if primitive.is_sphere() {
                let center = primitive.a.to_array();
                let (hit, along) = self.hit_sphere(&center, primitive.b.x, leaves)?;
                return Some((hit, [along, self.all(0.0), self.all(0.0)]));
            }
        }
        let (a, b, c) = (
            self.corner(&packet.corner(0, lane)),
            self.corner(&packet.corner(1, lane)),
            self.corner(&packet.corner(2, lane)),
        );
        let (hit, found) = self.hit_triangle([&a, &b, &c])?;
        // A ray that starts on a triangle's plane does not hit it again.
        Some((hit & !leaves, found))
    }
}

/// Returns the minimum over all lanes, per coordinate.
#[inline(always)]
fn smallest<S: Lanes>([x, y, z]: Three<S>) -> Vec3 {
    let simd = x.0;
    Vec3::new(
        simd.reduce_min_f32s(x.1),
        simd.reduce_min_f32s(y.1),
        simd.reduce_min_f32s(z.1),
    )
}

/// Returns the maximum over all lanes, per coordinate.
#[inline(always)]
fn largest<S: Lanes>([x, y, z]: Three<S>) -> Vec3 {
    let simd = x.0;
    Vec3::new(
        simd.reduce_max_f32s(x.1),
        simd.reduce_max_f32s(y.1),
        simd.reduce_max_f32s(z.1),
    )
}
