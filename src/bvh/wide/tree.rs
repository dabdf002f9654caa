//! One ray against eight boxes at once, and against eight triangles.
//!
//! Boxes are the primitives' own, in `f32`. What is accepted is the twin's to the last bit: triangles are tested by the same
//! operations in the same order, eight side by side, and spheres by the very function.

use std::cell::RefCell;

use glam::Vec3;
use pulp::{f32x8, u32x8, x86::V3};

use super::{
    beam::is_beam,
    block::{AXES, Block, Bucket, Way},
    triangles::hit_triangles,
};
use crate::{
    bvh::{box_ray, slack},
    path::{Hit, NO_PRIMITIVE, Ray, ShadowRay},
    primitive::{Primitive, Shear, blocks, nearer_hit, shear, turn},
    vectors::{Floats, Lanes, Mask},
};

/// Eight numbers.
pub(super) type Eight = Floats<V3>;

/// In a child's word: it is a packet, whose number the lower bits are.
pub(super) const PACKET: u32 = 1 << 31;
/// Besides: its primitives are no triangles.
pub(super) const OTHERS: u32 = 1 << 30;
/// Lanes of a vector.
pub(super) const LANES: usize = 8;
/// Rays that are made ready at once.
const PREPARED: usize = 32;

/// Eight boxes, each of a child. A ray that is no numbers meets all that there are.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct WideNode {
    /// Least, then largest x, y, z.
    pub(super) planes: [[f32x8; 3]; 2],
    /// Number of a node, or see `PACKET`.
    pub(super) children: [u32; LANES],
    /// A bit for each lane that has a child.
    pub(super) held: u32,
}

/// Up to eight primitives; in lanes that lack the first stands once more.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Packet {
    /// Of triangles x, y, z of each vertex.
    pub(super) corners: [[f32x8; 3]; 3],
    /// Among the primitives.
    pub(super) positions: u32x8,
}

/// The tree.
pub(super) struct Tree {
    pub(super) nodes: Vec<WideNode>,
    pub(super) packets: Vec<Packet>,
    pub(super) extent: f32,
    /// Children that wait at most.
    pub(super) waiting: usize,
}

impl Packet {
    /// Primitives that it holds.
    #[inline(always)]
    pub(super) fn count(&self) -> usize {
        let [first, others @ ..] = lanes(&self.positions);
        1 + others.iter().take_while(|&other| other != first).count()
    }

    /// A corner of a triangle.
    #[inline(always)]
    pub(super) fn corner(&self, corner: usize, lane: usize) -> [f32; 3] {
        let corners: &[[[f32; LANES]; 3]; 3] = bytemuck::cast_ref(&self.corners);
        let [x, y, z] = &corners[corner];
        [x[lane], y[lane], z[lane]]
    }
}

/// What can be held against the boxes of a node.
pub(super) trait Probe {
    /// Which children it meets before `distance`, and where it enters them.
    fn met(&self, node: &WideNode, distance: f32) -> (u32, Eight);
}

impl Tree {
    #[inline(always)]
    pub(super) fn each_nearest<S: Lanes>(
        &self,
        (simd, eight): (S, V3),
        primitives: &[Primitive],
        rays: &[Ray],
        places: impl Iterator<Item = usize>,
        tell: impl FnMut(usize, Hit),
    ) {
        let tell = &RefCell::new(tell);
        self.each(
            simd,
            places,
            #[inline(always)]
            |place| Way::from(&rays[place]),
            #[inline(always)]
            |block, stack| {
                self.nearest_of_beam(eight, block, stack, primitives, &mut *tell.borrow_mut());
            },
            #[inline(always)]
            |place, prepared, stack| {
                let ray = WideRay::new(eight, prepared, rays[place].from);
                let hit = self.nearest(stack, primitives, &rays[place], &ray);
                (tell.borrow_mut())(place, hit);
            },
        );
    }

    #[inline(always)]
    pub(super) fn each_occluded<S: Lanes>(
        &self,
        (simd, eight): (S, V3),
        primitives: &[Primitive],
        rays: &[ShadowRay],
        places: impl Iterator<Item = usize>,
        tell: impl FnMut(usize, bool),
    ) {
        let tell = &RefCell::new(tell);
        self.each(
            simd,
            places,
            #[inline(always)]
            |place| Way::from(&rays[place]),
            #[inline(always)]
            |block, stack| {
                self.occluded_of_beam(eight, block, stack, primitives, &mut *tell.borrow_mut());
            },
            #[inline(always)]
            |place, prepared, stack| {
                let ray = WideRay::new(eight, prepared, rays[place].from);
                let blocked = self.occluded(stack, primitives, &rays[place], &ray);
                (tell.borrow_mut())(place, blocked);
            },
        );
    }

    /// Has rays traced: those that follow each other and are a beam together, the others alone.
    #[inline(always)]
    fn each<S: Lanes>(
        &self,
        simd: S,
        mut places: impl Iterator<Item = usize>,
        way: impl Fn(usize) -> Way,
        mut together: impl FnMut(&Block<S>, &mut [u64]),
        mut alone: impl FnMut(usize, &Prepared, &mut [u64]),
    ) {
        let mut stack = vec![0; self.waiting + 1];
        let mut taken = [0; PREPARED];
        let mut beam = Bucket::EMPTY;
        let (mut origins, mut directions) = ([[0.0; PREPARED]; 3], [[0.0; PREPARED]; 3]);
        let mut prepared = [Prepared::default(); PREPARED];
        loop {
            let mut count = 0;
            for (at, place) in taken.iter_mut().zip(&mut places) {
                *at = place;
                count += 1;
            }
            if count == 0 {
                return;
            }
            let mut alone_count = 0;
            let mut first = 0;
            while first < count {
                let end = count.min(first + S::F32_LANES);
                if end - first == S::F32_LANES && is_beam(&taken[first..end], &way, self.extent) {
                    let axis = shear(way(taken[first]).direction).axis;
                    for &place in &taken[first..end] {
                        beam.push(&way(place), place, axis);
                    }
                    beam.empty(
                        simd,
                        axis as usize,
                        #[inline(always)]
                        |block: &Block<S>| together(block, &mut stack),
                    );
                } else {
                    for at in first..end {
                        let place = taken[at];
                        let Way {
                            origin, direction, ..
                        } = way(place);
                        taken[alone_count] = place;
                        for axis in 0..3 {
                            origins[axis][alone_count] = origin[axis];
                            directions[axis][alone_count] = direction[axis];
                        }
                        alone_count += 1;
                    }
                }
                first = end;
            }
            if alone_count == 0 {
                continue;
            }
            // All of them, that the compiler makes vector instructions of it.
            for (at, prepared) in prepared.iter_mut().enumerate() {
                let [x, y, z] = [0, 1, 2].map(|axis| origins[axis][at]);
                let origin = Vec3::new(x, y, z);
                let [x, y, z] = [0, 1, 2].map(|axis| directions[axis][at]);
                *prepared = Prepared::new(origin, Vec3::new(x, y, z), self.extent);
            }
            for (&place, prepared) in taken[..alone_count].iter().zip(&prepared) {
                alone(place, prepared, &mut stack);
            }
        }
    }

    /// Of the packet that this child is.
    #[inline(always)]
    pub(super) fn packet(&self, child: u32) -> &Packet {
        &self.packets[(child & !(PACKET | OTHERS)) as usize]
    }

    #[inline(always)]
    fn nearest(
        &self,
        stack: &mut [u64],
        primitives: &[Primitive],
        ray: &Ray,
        wide: &WideRay,
    ) -> Hit {
        let mut best = Hit {
            distance: f32::MAX,
            primitive: NO_PRIMITIVE,
            u: 0.0,
            v: 0.0,
        };
        self.visit(
            stack,
            wide,
            f32::MAX,
            #[inline(always)]
            |child| {
                let packet = self.packet(child);
                if child & OTHERS == 0 {
                    wide.nearer_hits(packet, primitives, &mut best);
                } else {
                    for &position in lanes(&packet.positions) {
                        nearer_hit(primitives, position, ray, &wide.shear, &mut best);
                    }
                }
                best.distance
            },
        );
        best
    }

    #[inline(always)]
    fn occluded(
        &self,
        stack: &mut [u64],
        primitives: &[Primitive],
        ray: &ShadowRay,
        wide: &WideRay,
    ) -> bool {
        let mut blocked = false;
        self.visit(
            stack,
            wide,
            ray.distance,
            #[inline(always)]
            |child| {
                let packet = self.packet(child);
                blocked = if child & OTHERS == 0 {
                    wide.any_blocks(packet, ray)
                } else {
                    lanes(&packet.positions)
                        .iter()
                        .any(|&position| blocks(primitives, position, ray, &wide.shear))
                };
                if blocked { -1.0 } else { ray.distance }
            },
        );
        blocked
    }

    /// Offers the packets of every box that is met before `distance`, the nearest first; `test` returns the distance
    /// from then on, a negative one to end the visit.
    #[inline(always)]
    pub(super) fn visit(
        &self,
        stack: &mut [u64],
        probe: &impl Probe,
        mut distance: f32,
        mut test: impl FnMut(u32) -> f32,
    ) {
        let mut height = 0;
        let mut child = 0;
        loop {
            if child & PACKET != 0 {
                distance = test(child);
                if distance < 0.0 {
                    return;
                }
            } else {
                let node = &self.nodes[child as usize];
                let (mut met, entered) = probe.met(node, distance);
                if met != 0 {
                    let slot = met.trailing_zeros() as usize & 7;
                    met &= met - 1;
                    child = node.children[slot];
                    if met == 0 {
                        continue;
                    }
                    let entered = entered.lanes();
                    let key = |slot: usize| {
                        u64::from(entered[slot].to_bits()) << 32 | u64::from(node.children[slot])
                    };
                    let mut nearest = key(slot);
                    let floor = height;
                    while met != 0 {
                        let slot = met.trailing_zeros() as usize & 7;
                        met &= met - 1;
                        let mut further = key(slot);
                        if further < nearest {
                            std::mem::swap(&mut further, &mut nearest);
                        }
                        let mut at = height;
                        while at > floor && stack[at - 1] < further {
                            stack[at] = stack[at - 1];
                            at -= 1;
                        }
                        stack[at] = further;
                        height += 1;
                    }
                    child = nearest as u32;
                    continue;
                }
            }
            loop {
                if height == 0 {
                    return;
                }
                height -= 1;
                let entered = f32::from_bits((stack[height] >> 32) as u32);
                if entered <= distance {
                    child = stack[height] as u32;
                    break;
                }
            }
        }
    }
}

#[inline(always)]
pub(super) fn lanes(vector: &u32x8) -> &[u32; LANES] {
    bytemuck::cast_ref(vector)
}

/// A ray made ready.
#[derive(Clone, Copy)]
struct Prepared {
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
    fn new(origin: Vec3, direction: Vec3, extent: f32) -> Prepared {
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
struct WideRay {
    simd: V3,
    shear: Shear,
    /// Per axis 1 where it goes down: it enters boxes by their largest planes.
    down: [usize; 3],
    inverse: [Eight; 3],
    enters: [Eight; 3],
    leaves: [Eight; 3],
    /// Axes of the shear.
    axes: [usize; 3],
    origin: [Eight; 3],
    shears: [Eight; 3],
    from: u32x8,
}

impl Probe for WideRay {
    #[inline(always)]
    fn met(&self, node: &WideNode, distance: f32) -> (u32, Eight) {
        let x = self.slab(node, 0, self.down[0] & 1);
        let y = self.slab(node, 1, self.down[1] & 1);
        let z = self.slab(node, 2, self.down[2] & 1);
        // What is no number comes first, where it counts for nothing.
        let entered = x.0.greater(y.0).greater(z.0.greater(self.splat(0.0)));
        let left = x.1.lesser(y.1).lesser(z.1.lesser(self.splat(distance)));
        (entered.up_to(left).bits() & node.held, entered)
    }
}

impl WideRay {
    #[inline(always)]
    fn new(simd: V3, prepared: &Prepared, from: u32) -> WideRay {
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
            from: simd.splat_u32x8(from),
        }
    }

    /// Where it enters and leaves the children's extents along an axis.
    #[inline(always)]
    fn slab(&self, node: &WideNode, axis: usize, near: usize) -> (Eight, Eight) {
        let entering = Floats(self.simd, node.planes[near][axis]);
        let leaving = Floats(self.simd, node.planes[1 - near][axis]);
        (
            entering.times_plus(self.inverse[axis], self.enters[axis]),
            leaving.times_plus(self.inverse[axis], self.leaves[axis]),
        )
    }

    #[inline(always)]
    fn splat(&self, x: f32) -> Eight {
        Floats::all(self.simd, x)
    }

    /// A triangle's corner as of `hit_triangle`.
    #[inline(always)]
    fn corner(&self, corner: &[f32x8; 3]) -> [Eight; 3] {
        let [shear_x, shear_y, _] = self.shears;
        let x = Floats(self.simd, corner[self.axes[0]]) - self.origin[0];
        let y = Floats(self.simd, corner[self.axes[1]]) - self.origin[1];
        let z = Floats(self.simd, corner[self.axes[2]]) - self.origin[2];
        [x - shear_x * z, y - shear_y * z, z]
    }

    /// What `hit_triangle` finds of each, a little beyond `distance` at the furthest: see [`hit_triangles`].
    #[inline(always)]
    fn hit_packet(&self, packet: &Packet, distance: f32) -> Option<(Mask<V3>, [Eight; 3])> {
        let (a, b, c) = (
            self.corner(&packet.corners[0]),
            self.corner(&packet.corners[1]),
            self.corner(&packet.corners[2]),
        );
        let (hit, found) = hit_triangles([&a, &b, &c], self.shears[2], self.splat(distance))?;
        Some((hit & !self.are(packet, self.from), found))
    }

    /// Which of the packet's primitives it is.
    #[inline(always)]
    fn are(&self, packet: &Packet, position: u32x8) -> Mask<V3> {
        Mask(
            self.simd,
            self.simd.cmp_eq_u32x8(packet.positions, position),
        )
    }

    /// What `nearer_hit` does with each.
    #[inline(always)]
    fn nearer_hits(&self, packet: &Packet, primitives: &[Primitive], best: &mut Hit) {
        let Some((hit, [distances, us, vs])) = self.hit_packet(packet, best.distance) else {
            return;
        };
        let mut hit = hit.bits();
        let (distances, us, vs) = (distances.lanes(), us.lanes(), vs.lanes());
        while hit != 0 {
            let lane = hit.trailing_zeros() as usize & 7;
            hit &= hit - 1;
            let (distance, position) = (distances[lane], lanes(&packet.positions)[lane]);
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
    fn any_blocks(&self, packet: &Packet, ray: &ShadowRay) -> bool {
        let Some((hit, [along, ..])) = self.hit_packet(packet, ray.distance) else {
            return false;
        };
        let to = self.simd.splat_u32x8(ray.to);
        let blocks = along.below(self.splat(ray.distance)) & !self.are(packet, to);
        (hit & blocks).any()
    }
}

#[inline(always)]
fn all(simd: V3, v: Vec3) -> [Eight; 3] {
    [
        Floats::all(simd, v.x),
        Floats::all(simd, v.y),
        Floats::all(simd, v.z),
    ]
}
