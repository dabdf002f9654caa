//! The tree, and the way of a ray or of a beam through it.
//!
//! A node has a box for each lane of a vector, the primitives' own, in `f32`, which are met or missed at once; below are
//! packets of up to as many primitives.

use bytemuck::Pod;
use glam::Vec3;

use super::{
    beam::is_beam,
    block::{Block, Way},
    ray::{Prepared, WideRay},
    search::Search,
};
use crate::{
    primitive::{Primitive, shear},
    vectors::{Floats, Lanes},
};

/// In a child's word: it is a packet, whose number the lower bits are.
pub(super) const PACKET: u32 = 1 << 31;
/// Besides: its primitives are no triangles.
pub(super) const OTHERS: u32 = 1 << 30;
/// Rays that are made ready at once.
const PREPARED: usize = 32;

/// Boxes, each of a child. A ray that is no numbers meets all that there are.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct WideNode<S: Lanes> {
    /// Least, then largest x, y, z.
    pub(super) planes: [[S::f32s; 3]; 2],
    /// Number of a node, or see `PACKET`.
    pub(super) children: S::u32s,
    /// A bit for each lane that has a child.
    pub(super) held: u32,
}

/// Primitives, as many as there are lanes at most; in lanes that lack the first stands once more.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Packet<S: Lanes> {
    /// Of triangles x, y, z of each vertex.
    pub(super) corners: [[S::f32s; 3]; 3],
    /// Among the primitives.
    pub(super) positions: S::u32s,
}

/// The tree.
pub(super) struct Tree<S: Lanes> {
    pub(super) nodes: Vec<WideNode<S>>,
    pub(super) packets: Vec<Packet<S>>,
    pub(super) extent: f32,
    /// Children that wait at most.
    pub(super) waiting: usize,
}

impl<S: Lanes> Packet<S> {
    /// Primitives that it holds.
    #[inline(always)]
    pub(super) fn count(&self) -> usize {
        let others = numbers(&self.positions)[1..].iter();
        1 + others
            .take_while(|&&other| other != self.position(0))
            .count()
    }

    /// Of a primitive.
    #[inline(always)]
    pub(super) fn position(&self, lane: usize) -> u32 {
        numbers(&self.positions)[lane]
    }

    /// A corner of a triangle.
    #[inline(always)]
    pub(super) fn corner(&self, corner: usize, lane: usize) -> [f32; 3] {
        let [x, y, z] = &self.corners[corner];
        [x, y, z].map(|along| f32::from_bits(numbers(along)[lane]))
    }
}

/// What can be held against the boxes of a node.
pub(super) trait Probe<S: Lanes> {
    /// Which children it meets before `distance`, and where it enters them.
    fn met(&self, node: &WideNode<S>, distance: f32) -> (u32, Floats<S>);
}

/// How far a ray or a beam has come.
pub(super) struct Visit<'a> {
    /// Children that wait, the nearest on top: where they are entered, as bits, above their words.
    stack: &'a mut [u64],
    height: usize,
    child: u32,
    /// What is further does not count.
    distance: f32,
}

impl Visit<'_> {
    /// At the root.
    #[inline(always)]
    pub(super) fn new(stack: &mut [u64], distance: f32) -> Visit<'_> {
        Visit {
            stack,
            height: 0,
            child: 0,
            distance,
        }
    }
}

impl<S: Lanes> Tree<S> {
    /// Has rays traced: those that follow each other and are a beam together, the others alone.
    #[inline(always)]
    pub(super) fn each<Q: Search>(
        &self,
        simd: S,
        primitives: &[Primitive],
        rays: &[Q::Ray],
        mut places: impl Iterator<Item = usize>,
        mut tell: impl FnMut(usize, Q::Found),
    ) {
        let mut stack = vec![0; self.waiting + 1];
        let mut taken = [0; PREPARED];
        let (mut origins, mut directions) = ([[0.0; PREPARED]; 3], [[0.0; PREPARED]; 3]);
        let mut prepared = [Prepared::default(); PREPARED];
        let way = |place: usize| -> Way { rays[place].into() };
        loop {
            let mut count = 0;
            for (at, place) in taken.iter_mut().zip(&mut places) {
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
                    let block = Block::new(simd, axis as usize, rays, &taken[first..end]);
                    Q::of_beam(self, &block, &mut stack, primitives, &mut tell);
                } else {
                    for at in first..end {
                        let place = taken[at];
                        let Way {
                            origin, direction, ..
                        } = way(place);
                        taken[alone] = place;
                        for axis in 0..3 {
                            origins[axis][alone] = origin[axis];
                            directions[axis][alone] = direction[axis];
                        }
                        alone += 1;
                    }
                }
                first = end;
            }
            if alone == 0 {
                continue;
            }
            // All of them, that the compiler makes vector instructions of it.
            for (at, prepared) in prepared.iter_mut().enumerate() {
                let origin = Vec3::new(origins[0][at], origins[1][at], origins[2][at]);
                let direction = Vec3::new(directions[0][at], directions[1][at], directions[2][at]);
                *prepared = Prepared::new(origin, direction, self.extent);
            }
            for (&place, prepared) in taken[..alone].iter().zip(&prepared) {
                let ray = &rays[place];
                let Way { from, .. } = (*ray).into();
                let wide = WideRay::new(simd, prepared, from);
                let (mut found, distance) = Q::begin(ray);
                let mut visit = Visit::new(&mut stack, distance);
                while self.step(
                    &mut visit,
                    &wide,
                    #[inline(always)]
                    |child| Q::test(self, child, &wide, ray, primitives, &mut found),
                ) {}
                tell(place, found);
            }
        }
    }

    /// Of the packet that this child is.
    #[inline(always)]
    pub(super) fn packet(&self, child: u32) -> &Packet<S> {
        &self.packets[(child & !(PACKET | OTHERS)) as usize]
    }

    /// Goes on to the nearest box that is met before the visit's distance, or offers the packet that is in it; `test`
    /// returns the distance from then on, a negative one to end the visit. `false` if there is no more to be visited.
    #[inline(always)]
    pub(super) fn step(
        &self,
        visit: &mut Visit,
        probe: &impl Probe<S>,
        test: impl FnOnce(u32) -> f32,
    ) -> bool {
        let stack = &mut *visit.stack;
        if visit.child & PACKET != 0 {
            visit.distance = test(visit.child);
            if visit.distance < 0.0 {
                return false;
            }
        } else {
            let node = &self.nodes[visit.child as usize];
            let (mut met, entered) = probe.met(node, visit.distance);
            if met != 0 {
                let children = numbers(&node.children);
                let slot = first_lane::<S>(met);
                met &= met - 1;
                visit.child = children[slot];
                if met == 0 {
                    return true;
                }
                let entered = entered.lanes();
                let key = |slot: usize| {
                    u64::from(entered[slot].to_bits()) << 32 | u64::from(children[slot])
                };
                let mut nearest = key(slot);
                let floor = visit.height;
                let mut height = floor;
                while met != 0 {
                    let slot = first_lane::<S>(met);
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
                visit.height = height;
                visit.child = nearest as u32;
                return true;
            }
        }
        loop {
            if visit.height == 0 {
                return false;
            }
            visit.height -= 1;
            let waited = stack[visit.height];
            if f32::from_bits((waited >> 32) as u32) <= visit.distance {
                visit.child = waited as u32;
                return true;
            }
        }
    }
}

/// The numbers in a vector.
#[inline(always)]
pub(super) fn numbers<V: Pod>(vector: &V) -> &[u32] {
    bytemuck::cast_slice(std::slice::from_ref(vector))
}

/// The first lane of those that have a bit.
#[inline(always)]
pub(super) fn first_lane<S: Lanes>(bits: u32) -> usize {
    bits.trailing_zeros() as usize & (S::F32_LANES - 1)
}
