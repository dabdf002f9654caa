//! Builds the tree for SIMD traversal from a binary tree, into which [`split`](super::split) turns the CWBVH.
//!
//! The binary tree is collapsed at the least cost to nodes of up to one child per lane, and packets of up to one
//! primitive per lane.

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;

use super::{
    split::{Bounds, NodeRef, Nodes, SplitTree},
    tree::{INSTANCE_LEAF, OTHERS, PACKET, Packet, WideNode, WideTree},
};
use crate::accel::{
    primitive::Primitive,
    vectors::{Lanes, MAX_LANES},
};

/// A wide node that is still to be created.
struct Planned {
    /// The binary node that it is made from.
    part: NodeRef,
    /// Index of the first of its children that are nodes.
    first_node: u32,
    /// Index of the first of its children that are packets.
    first_packet: u32,
}

impl<S: Lanes> WideTree<S> {
    /// Builds the tree from the nodes of a CWBVH. Returns `None` if a child comes before its parent or does not exist, or
    /// if a node stands for an unknown instance.
    ///
    /// `primitives` are those of the whole scene. `extent` is the largest absolute coordinate in metres, or 0 for a
    /// mesh.
    pub(super) fn new(nodes: Nodes, primitives: &[Primitive], extent: f32) -> Option<WideTree<S>> {
        let mut tree = WideTree {
            nodes: Vec::new(),
            packets: Vec::new(),
            extent,
            stack_height: 0,
        };
        tree.lay_out(&SplitTree::of(nodes, primitives, S::F32_LANES as u8)?);
        Some(tree)
    }

    /// Creates nodes and packets from a binary tree: lists them, and then fills them in parallel. Also computes the
    /// height of the traversal stack.
    fn lay_out(&mut self, binary: &SplitTree) {
        let planned = |part| Planned {
            part,
            first_node: 0,
            first_packet: 0,
        };
        let Some(root) = binary.root else {
            self.nodes
                .push(WideNode::new([].into_iter(), &[0; MAX_LANES]));
            return;
        };
        let mut nodes = vec![planned(root)];
        let mut packets = Vec::new();
        let mut children = Vec::with_capacity(MAX_LANES);
        // Nodes whose children are still missing, with the number of stack entries on the way there.
        let mut to_visit = vec![(0, 0)];
        while let Some((node, waiting)) = to_visit.pop() {
            children.clear();
            binary.share_out(nodes[node].part, binary.lanes, &mut children);
            let waiting: usize = waiting + children.len();
            self.stack_height = self.stack_height.max(waiting);
            nodes[node].first_node = nodes.len() as u32;
            nodes[node].first_packet = packets.len() as u32;
            for &part in &children {
                if binary.instance(part).is_some() {
                    continue;
                }
                if binary.is_packet(part) {
                    packets.push(part);
                } else {
                    to_visit.push((nodes.len(), waiting));
                    nodes.push(planned(part));
                }
            }
        }
        let node = |parts: &mut Vec<NodeRef>, planned: &Planned| {
            parts.clear();
            binary.share_out(planned.part, binary.lanes, parts);
            let (mut next_node, mut next_packet) = (planned.first_node, planned.first_packet);
            let mut words = [0; MAX_LANES];
            for (word, &part) in words.iter_mut().zip(&*parts) {
                if let Some(index) = binary.instance(part) {
                    *word = PACKET | OTHERS | INSTANCE_LEAF | index;
                } else if binary.is_packet(part) {
                    *word = PACKET | binary.kind_bit(part) | next_packet;
                    next_packet += 1;
                } else {
                    *word = next_node;
                    next_node += 1;
                }
            }
            WideNode::new(parts.iter().map(|&part| binary.bounds(part)), &words)
        };
        let packet = |positions: &mut Vec<u32>, &part: &NodeRef| {
            positions.clear();
            binary.positions(part, positions);
            Packet::new(positions, binary.primitives)
        };
        self.nodes = nodes.par_iter().map_init(Vec::new, node).collect();
        self.packets = packets.par_iter().map_init(Vec::new, packet).collect();
    }
}

impl<S: Lanes> WideNode<S> {
    /// Builds a node from its children's boxes and child words, see [`PACKET`]. Unused lanes get empty boxes.
    fn new(boxes: impl Iterator<Item = Bounds>, words: &[u32; MAX_LANES]) -> WideNode<S> {
        let mut node = WideNode {
            planes: [[S::f32s::zeroed(); 3]; 2],
            children: S::u32s::zeroed(),
            child_mask: 0,
        };
        let [smallest, largest] = &mut node.planes;
        for axis in 0..3 {
            lanes_mut(&mut smallest[axis]).fill(f32::INFINITY);
            lanes_mut(&mut largest[axis]).fill(f32::NEG_INFINITY);
        }
        lanes_mut(&mut node.children).copy_from_slice(&words[..S::F32_LANES]);
        for (slot, Bounds { low, high }) in boxes.enumerate() {
            node.child_mask |= 1 << slot;
            for axis in 0..3 {
                lanes_mut(&mut smallest[axis])[slot] = low[axis];
                lanes_mut(&mut largest[axis])[slot] = high[axis];
            }
        }
        node
    }
}

impl<S: Lanes> Packet<S> {
    /// Builds a packet of the primitives at these indices: at least one, and at most one per lane. Unused lanes repeat
    /// the first.
    fn new(positions: &[u32], primitives: &[Primitive]) -> Packet<S> {
        let mut packet = Packet {
            corners: [[S::f32s::zeroed(); 3]; 3],
            positions: S::u32s::zeroed(),
        };
        let all = lanes_mut(&mut packet.positions);
        all.fill(positions[0]);
        all[..positions.len()].copy_from_slice(positions);
        for lane in 0..S::F32_LANES {
            let position = packet.position(lane);
            let Primitive { a, b, c, .. } = primitives[position as usize];
            for (corner, vertex) in packet.corners.iter_mut().zip([a, b, c]) {
                for (axis, along) in corner.iter_mut().enumerate() {
                    lanes_mut(along)[lane] = vertex[axis];
                }
            }
        }
        packet
    }
}

/// Returns the lanes of a vector as a mutable slice.
fn lanes_mut<V: Pod, T: Pod>(vector: &mut V) -> &mut [T] {
    bytemuck::cast_slice_mut(std::slice::from_mut(vector))
}
