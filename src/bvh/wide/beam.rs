//! Rays that nearly go one way, from nearly one place: they visit the tree together, by what all of them are within, and
//! are told from each other at the triangles.

use glam::Vec3;

use super::{
    block::{Block, Way},
    ray::all,
    tree::{OTHERS, Packet, Probe, Tree, Visit, WideNode, first_lane},
};
use crate::{
    bvh::{inverse, slack},
    math::dot,
    path::{Hit, NO_PRIMITIVE},
    primitive::{Primitive, SPHERE, shear},
    vectors::{Floats, Lanes, Mask},
};

/// Cosine of how far the rays' directions are from the first one's at most.
const NARROW: f32 = 0.999;
/// How far their origins are from the first one's at most, as a part of the scene's extent.
const NEAR: f32 = 1.0 / 16.0;

/// Whether rays are a beam; that has one longest axis, and goes up or down along each.
#[inline(always)]
pub(super) fn is_beam(places: &[usize], way: impl Fn(usize) -> Way, extent: f32) -> bool {
    let first = way(places[0]);
    let axis = shear(first.direction).axis;
    let downwards = |direction: Vec3| direction.cmplt(Vec3::ZERO);
    places[1..].iter().all(|&place| {
        let Way {
            origin, direction, ..
        } = way(place);
        dot(direction, first.direction) > NARROW
            && (origin - first.origin).abs().max_element() <= extent * NEAR
            && downwards(direction) == downwards(first.direction)
            && shear(direction).axis == axis
    })
}

/// What the rays of a block are within.
struct Beam<S: Lanes> {
    simd: S,
    /// Per axis 1 where it goes down: it enters boxes by their largest planes.
    down: [usize; 3],
    /// 1 / direction, of two ends.
    inverse: [[Floats<S>; 3]; 2],
    /// The furthest origin, moved along the direction by the slack: from where planes are entered first.
    enters: [Floats<S>; 3],
    /// The other end, moved against the direction.
    leaves: [Floats<S>; 3],
}

impl<S: Lanes> Beam<S> {
    #[inline(always)]
    fn new(block: &Block<S>, extent: f32) -> Beam<S> {
        let simd = block.simd;
        let origins = block.turned_back(&block.origin);
        let directions = block.turned_back(&block.direction);
        let (low, high) = (least(origins), largest(origins));
        let (first, last) = (least(directions), largest(directions));
        let slack = Vec3::splat(slack(low.abs().max(high.abs()), extent));
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

    /// Where its first ray enters and its last ray leaves the extents of boxes along an axis.
    #[inline(always)]
    fn slab(&self, planes: &[[S::f32s; 3]; 2], axis: usize) -> (Floats<S>, Floats<S>) {
        let near = self.down[axis] & 1;
        let to_near = Floats(self.simd, planes[near][axis]) - self.enters[axis];
        let to_far = Floats(self.simd, planes[1 - near][axis]) - self.leaves[axis];
        let [first, last] = [self.inverse[0][axis], self.inverse[1][axis]];
        (
            (to_near * first).lesser(to_near * last),
            (to_far * first).greater(to_far * last),
        )
    }
}

impl<S: Lanes> Beam<S> {
    /// Which boxes it meets before `distance`, and where it enters them.
    #[inline(always)]
    fn met_boxes(&self, planes: &[[S::f32s; 3]; 2], distance: f32) -> (u32, Floats<S>) {
        let all = [
            self.slab(planes, 0),
            self.slab(planes, 1),
            self.slab(planes, 2),
        ];
        let [x, y, z] = &all;
        let entered =
            x.0.greater(y.0)
                .greater(z.0.greater(Floats::all(self.simd, 0.0)));
        let left =
            x.1.lesser(y.1)
                .lesser(z.1.lesser(Floats::all(self.simd, distance)));
        (entered.up_to(left).bits(), entered)
    }

    /// Which triangles of a packet it may hit before `distance`.
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

    #[inline(always)]
    fn extent(&self, packet: &Packet<S>, axis: usize) -> (S::f32s, S::f32s) {
        let [a, b, c] = &packet.corners;
        let a = Floats(self.simd, a[axis]);
        let b = Floats(self.simd, b[axis]);
        let c = Floats(self.simd, c[axis]);
        (a.lesser(b).lesser(c).1, a.greater(b).greater(c).1)
    }
}

impl<S: Lanes> Probe<S> for Beam<S> {
    #[inline(always)]
    fn met(&self, node: &WideNode<S>, distance: f32) -> (u32, Floats<S>) {
        let (met, entered) = self.met_boxes(&node.planes, distance);
        (met & node.held, entered)
    }
}

/// The nearest hits of a beam's rays so far.
struct Nearest<S: Lanes> {
    distance: Floats<S>,
    primitive: S::u32s,
    u: Floats<S>,
    v: Floats<S>,
}

impl<S: Lanes> Nearest<S> {
    /// Takes what is nearer, and of what is as near the lower number.
    #[inline(always)]
    fn take(
        &mut self,
        position: u32,
        hit: Mask<S>,
        [along, hit_u, hit_v]: [Floats<S>; 3],
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

impl<S: Lanes> Tree<S> {
    /// Tells what each ray of a beam hits.
    #[inline(always)]
    pub(super) fn nearest_of_beam(
        &self,
        block: &Block<S>,
        stack: &mut [u64],
        primitives: &[Primitive],
        tell: &mut impl FnMut(usize, Hit),
    ) {
        let mut best = Nearest {
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
        // There are infinitely many numbers beyond the largest, but no hit.
        let distance = best.distance.lesser(block.all(f32::MAX));
        let primitive: &[u32] = bytemuck::cast_slice(std::slice::from_ref(&best.primitive));
        for (lane, &place) in block.places.iter().enumerate() {
            tell(
                place,
                Hit {
                    distance: distance.lanes()[lane],
                    primitive: primitive[lane],
                    u: best.u.lanes()[lane],
                    v: best.v.lanes()[lane],
                },
            );
        }
    }

    /// Tells which rays of a beam are blocked.
    #[inline(always)]
    pub(super) fn occluded_of_beam(
        &self,
        block: &Block<S>,
        stack: &mut [u64],
        primitives: &[Primitive],
        tell: &mut impl FnMut(usize, bool),
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
                    let blocks = hit & along.below(block.distance) & !block.goes_to(position);
                    *blocked |= blocks.bits();
                },
                #[inline(always)]
                |&blocked| if blocked == S::ALL { -1.0 } else { furthest },
            ),
        );
        for (lane, &place) in block.places.iter().enumerate() {
            tell(place, blocked >> lane & 1 == 1);
        }
    }

    /// Takes into `found` each primitive that rays of a beam meet within the furthest distance: its position, which rays do,
    /// where, and at which weights. After each packet `follow` says how far that is from then on, negative to end it.
    #[inline(always)]
    fn each_hit_of_beam<F>(
        &self,
        mut furthest: f32,
        block: &Block<S>,
        stack: &mut [u64],
        primitives: &[Primitive],
        found: &mut F,
        (take, follow): (
            impl Fn(&mut F, u32, Mask<S>, [Floats<S>; 3]),
            impl Fn(&F) -> f32,
        ),
    ) {
        let beam = Beam::new(block, self.extent);
        let mut visit = Visit::new(stack, furthest);
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
    /// Lanes of the primitives that rays of the beam may hit.
    #[inline(always)]
    fn waiting(&self, child: u32, beam: &Beam<S>, distance: f32) -> u32 {
        let all = S::ALL >> (S::F32_LANES - self.count());
        if child & OTHERS != 0 {
            all
        } else {
            all & beam.near(self, distance)
        }
    }
}

impl<S: Lanes> Block<'_, S> {
    /// Which rays hit a primitive of a packet ahead, and do not leave it; where, and the weights of a triangle's corners.
    #[inline(always)]
    fn meets(
        &self,
        child: u32,
        packet: &Packet<S>,
        lane: usize,
        primitives: &[Primitive],
    ) -> Option<(Mask<S>, [Floats<S>; 3])> {
        let position = packet.position(lane);
        let leaves = self.leaves(position);
        if child & OTHERS != 0 {
            let primitive = &primitives[position as usize];
            if primitive.kind == SPHERE {
                let center = primitive.a.to_array();
                let (hit, along) = self.hit_sphere(&center, primitive.b.x, leaves);
                return Some((hit, [along, self.all(0.0), self.all(0.0)]));
            }
        }
        let (a, b, c) = (
            self.corner(&packet.corner(0, lane)),
            self.corner(&packet.corner(1, lane)),
            self.corner(&packet.corner(2, lane)),
        );
        let (hit, found) = self.hit_triangle([&a, &b, &c])?;
        // A ray that leaves a plane does not come back to it.
        Some((hit & !leaves, found))
    }
}

#[inline(always)]
fn least<S: Lanes>((x, y, z): (Floats<S>, Floats<S>, Floats<S>)) -> Vec3 {
    let simd = x.0;
    Vec3::new(
        simd.reduce_min_f32s(x.1),
        simd.reduce_min_f32s(y.1),
        simd.reduce_min_f32s(z.1),
    )
}

#[inline(always)]
fn largest<S: Lanes>((x, y, z): (Floats<S>, Floats<S>, Floats<S>)) -> Vec3 {
    let simd = x.0;
    Vec3::new(
        simd.reduce_max_f32s(x.1),
        simd.reduce_max_f32s(y.1),
        simd.reduce_max_f32s(z.1),
    )
}
