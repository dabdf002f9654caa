//! The tree for SIMD traversal, and the steps of a traversal by a ray or a beam.
//!
//! A node has one box per lane, in `f32`; all are tested at once. Leaves are packets of up to as many primitives.

use crate::accel::vectors::{Lanes, SimdF32};
use bytemuck::Pod;

/// Bit of a child word: the child is a packet, whose index is in the lower bits; otherwise the word is a node's index.
pub(super) const PACKET: u32 = 1 << 31;
/// Bit of a child word of a packet: its primitives are not triangles.
pub(super) const OTHERS: u32 = 1 << 30;
/// Bit of a child word besides [`PACKET`] and [`OTHERS`]: the child is an instance, whose index is in the lower bits.
pub(super) const INSTANCE_LEAF: u32 = 1 << 29;
/// A node: the boxes of its children, one per lane. NaN rays enter all boxes that exist.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct WideNode<S: Lanes> {
    /// Minimum x, y, z of the children's boxes, then their maximum x, y, z.
    pub(super) planes: [[S::f32s; 3]; 2],
    /// Child word of each lane: the index of a node, or a packet as [`PACKET`] describes.
    pub(super) children: S::u32s,
    /// Mask with one bit set for each lane that has a child.
    pub(super) child_mask: u32,
}

/// A leaf of up to one primitive per lane; unused lanes repeat the first.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Packet<S: Lanes> {
    /// Coordinates x, y, z of each of the triangles' three vertices. A sphere has its center as first vertex, and its
    /// radius as x of the second.
    pub(super) corners: [[S::f32s; 3]; 3],
    /// Indices among the scene's primitives.
    pub(super) positions: S::u32s,
}

/// A tree of nodes and packets. Node 0 is the root.
pub(super) struct WideTree<S: Lanes> {
    /// The nodes.
    pub(super) nodes: Vec<WideNode<S>>,
    /// The leaves.
    pub(super) packets: Vec<Packet<S>>,
    /// Largest absolute coordinate of the scene in metres; 0 and unused in the tree of a mesh.
    pub(super) extent: f32,
    /// Maximum number of children on the traversal stack.
    pub(super) stack_height: usize,
}

impl<S: Lanes> WideTree<S> {
    /// Returns the memory of the tree in bytes.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.nodes[..]) + size_of_val(&self.packets[..])
    }
}

impl<S: Lanes> Packet<S> {
    /// Returns the number of primitives in the packet.
    #[inline(always)]
    pub(super) fn count(&self) -> usize {
        let others = numbers(&self.positions)[1..].iter();
        1 + others
            .take_while(|&&other| other != self.position(0))
            .count()
    }

    /// Returns the index of a lane's primitive among the scene's primitives.
    #[inline(always)]
    pub(super) fn position(&self, lane: usize) -> u32 {
        numbers(&self.positions)[lane]
    }

    /// Returns the coordinates of a vertex, 0..=2, of a lane's triangle.
    #[inline(always)]
    pub(super) fn corner(&self, corner: usize, lane: usize) -> [f32; 3] {
        let [x, y, z] = &self.corners[corner];
        [x, y, z].map(|along| f32::from_bits(numbers(along)[lane]))
    }
}

/// A ray or a beam of rays that can be tested against the boxes of a node.
pub(super) trait Probe<S: Lanes> {
    /// Returns a bit mask of the children that are entered before `distance`, and the entry distance of each.
    fn met(&self, node: &WideNode<S>, distance: f32) -> (u32, SimdF32<S>);
}

/// The order in which a traversal visits the children of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// The nearest child first, for the nearest hit.
    NearestFirst,
    /// Any order, which takes no sorting, for queries that any hit answers.
    Any,
}

/// Traversal state of a ray or beam: the current child, the stack and the maximum distance.
pub(super) struct Visit<'a> {
    /// Children still to visit, the nearest on top: the bits of the entry distance in the upper half, the child word in
    /// the lower.
    stack: &'a mut [u64],
    /// Number of entries on the stack.
    height: usize,
    /// Child word of the current node or packet.
    child: u32,
    /// Distance beyond which nothing counts.
    distance: f32,
    /// The order in which the children of a node are visited.
    order: Order,
}

impl Visit<'_> {
    /// Starts a traversal at the root.
    #[inline(always)]
    pub(super) fn new(stack: &mut [u64], distance: f32, order: Order) -> Visit<'_> {
        Visit {
            stack,
            height: 0,
            child: 0,
            distance,
            order,
        }
    }
}

impl<S: Lanes> WideTree<S> {
    /// Returns the packet that a child word with the bit [`PACKET`] refers to.
    #[inline(always)]
    pub(super) fn packet(&self, child: u32) -> &Packet<S> {
        &self.packets[(child & !(PACKET | OTHERS)) as usize]
    }

    /// Advances a traversal by one node or packet.
    ///
    /// From a node it continues with the nearest child that is entered before the current distance. A packet is passed
    /// to `test`, which returns the distance from then on; a negative one ends the traversal. Returns `false` at the
    /// end.
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
                if visit.order == Order::Any {
                    while met != 0 {
                        let slot = first_lane::<S>(met);
                        met &= met - 1;
                        stack[height] = key(slot);
                        height += 1;
                    }
                }
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

/// Returns the 32-bit words of a vector.
#[inline(always)]
pub(super) fn numbers<V: Pod>(vector: &V) -> &[u32] {
    bytemuck::cast_slice(std::slice::from_ref(vector))
}

/// Returns the 32-bit words of a vector, to change them.
#[inline(always)]
pub(super) fn numbers_mut<V: Pod>(vector: &mut V) -> &mut [u32] {
    bytemuck::cast_slice_mut(std::slice::from_mut(vector))
}

/// Returns the index of the lowest set bit, which must exist.
#[inline(always)]
pub(super) fn first_lane<S: Lanes>(bits: u32) -> usize {
    bits.trailing_zeros() as usize & (S::F32_LANES - 1)
}
