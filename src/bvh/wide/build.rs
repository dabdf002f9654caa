//! The tree for vectors from the tree that the GPU reads.

use bytemuck::{Zeroable, cast};
use glam::Vec3;
use obvhs::Boundable;
use pulp::f32x8;
use rayon::prelude::*;

use super::tree::{LANES, OTHERS, PACKET, Packet, Tree, WideNode};
use crate::{
    bvh::Node,
    primitive::{Primitive, TRIANGLE},
};

/// By which part of their areas the common box of two packets may be larger than both.
const SPREAD: f32 = 0.5;

#[derive(Clone, Copy)]
struct Bounds {
    low: Vec3,
    high: Vec3,
}

impl Bounds {
    const NONE: Bounds = Bounds {
        low: Vec3::INFINITY,
        high: Vec3::NEG_INFINITY,
    };

    fn of(primitive: &Primitive) -> Bounds {
        let bounds = primitive.aabb();
        Bounds {
            low: bounds.min.into(),
            high: bounds.max.into(),
        }
    }

    fn union(self, other: Bounds) -> Bounds {
        Bounds {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
        }
    }

    fn area(self) -> f32 {
        let size = self.high - self.low;
        size.x * size.y + size.y * size.z + size.z * size.x
    }
}

/// What becomes a child.
#[derive(Clone, Copy)]
enum Part {
    /// The parts of this node of the tree that it is made from.
    Node(u32),
    /// Primitives.
    Packet {
        positions: [u32; LANES],
        count: u8,
        triangles: bool,
    },
}

type Parts = Vec<(Bounds, Part)>;

impl Tree {
    /// The tree of these nodes.
    pub(super) fn new(nodes: &[Node], primitives: &[Primitive], extent: f32) -> Option<Tree> {
        let mut tree = Tree {
            nodes: Vec::new(),
            packets: Vec::new(),
            extent,
            waiting: 0,
        };
        let parts = gathered(nodes, primitives)?;
        tree.lay_out(parts, primitives);
        Some(tree)
    }

    fn lay_out(&mut self, parts: Vec<Parts>, primitives: &[Primitive]) {
        let mut packets = Vec::new();
        // For each node from which parts it is made, and its children's words.
        let mut made = vec![(0, [0; LANES])];
        // Nodes whose children have no words yet, and how many children wait on the way there.
        let mut ways = vec![(0, 0)];
        while let Some((node, waiting)) = ways.pop() {
            let from: usize = made[node].0;
            let waiting: usize = waiting + parts[from].len();
            self.waiting = self.waiting.max(waiting);
            for (slot, &(_, part)) in parts[from].iter().enumerate() {
                made[node].1[slot] = match part {
                    Part::Node(from) => {
                        let child = made.len();
                        made.push((from as usize, [0; LANES]));
                        ways.push((child, waiting));
                        child as u32
                    }
                    Part::Packet {
                        positions,
                        triangles,
                        ..
                    } => {
                        packets.push(positions);
                        PACKET | if triangles { 0 } else { OTHERS } | (packets.len() - 1) as u32
                    }
                };
            }
        }
        let node = |&(from, children): &(usize, _)| WideNode::new(&parts[from], children);
        let packet = |&positions: &_| Packet::new(positions, primitives);
        self.nodes = made.par_iter().map(node).collect();
        self.packets = packets.par_iter().map(packet).collect();
    }
}

impl WideNode {
    /// No ray meets any of these.
    const EMPTY: WideNode = WideNode {
        planes: [[splat(f32::INFINITY); 3], [splat(f32::NEG_INFINITY); 3]],
        children: [0; LANES],
        held: 0,
    };

    fn new(parts: &Parts, children: [u32; LANES]) -> WideNode {
        let mut node = WideNode {
            children,
            ..WideNode::EMPTY
        };
        for (slot, (bounds, _)) in parts.iter().enumerate() {
            node.held |= 1 << slot;
            for axis in 0..3 {
                set(&mut node.planes[0][axis], slot, bounds.low[axis]);
                set(&mut node.planes[1][axis], slot, bounds.high[axis]);
            }
        }
        node
    }
}

const fn splat(x: f32) -> f32x8 {
    f32x8(x, x, x, x, x, x, x, x)
}

fn set(vector: &mut f32x8, lane: usize, value: f32) {
    let mut lanes: [f32; LANES] = cast(*vector);
    lanes[lane] = value;
    *vector = cast(lanes);
}

impl Packet {
    fn new(positions: [u32; LANES], primitives: &[Primitive]) -> Packet {
        let mut packet = Packet {
            corners: [[f32x8::zeroed(); 3]; 3],
            positions: cast(positions),
        };
        for (lane, position) in positions.into_iter().enumerate() {
            let Primitive { a, b, c, .. } = primitives[position as usize];
            for (corner, vertex) in packet.corners.iter_mut().zip([a, b, c]) {
                for (axis, along) in corner.iter_mut().enumerate() {
                    set(along, lane, vertex[axis]);
                }
            }
        }
        packet
    }
}

/// For each node the parts that it becomes a node of. `None` if a node stands before its parent.
fn gathered(nodes: &[Node], primitives: &[Primitive]) -> Option<Vec<Parts>> {
    let mut depths = vec![0; nodes.len()];
    let mut levels: Vec<Vec<usize>> = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        let depth = depths[index];
        if depth == levels.len() {
            levels.push(Vec::new());
        }
        levels.get_mut(depth)?.push(index);
        for child in children(node) {
            if child <= index {
                return None;
            }
            *depths.get_mut(child)? = depth + 1;
        }
    }
    let mut all: Vec<Parts> = vec![Parts::new(); nodes.len()];
    let mut bounds = vec![Bounds::NONE; nodes.len()];
    for level in levels.iter().rev() {
        let parts = |&index: &usize| parts_of(&nodes[index], primitives, &all, &bounds);
        let made: Vec<Parts> = level.par_iter().map(parts).collect();
        for (&index, parts) in level.iter().zip(made) {
            let join = |bounds: Bounds, &(part, _): &(Bounds, Part)| bounds.union(part);
            bounds[index] = parts.iter().fold(Bounds::NONE, join);
            all[index] = parts;
        }
    }
    Some(all)
}

/// Numbers of the nodes below a node.
fn children(node: &Node) -> impl Iterator<Item = usize> {
    let base = node.child_base as usize;
    base..base + (node.exponents >> 24).count_ones() as usize
}

/// A node's leaves, put together where that costs less, and its children, opened, the largest first, while there is room.
fn parts_of(node: &Node, primitives: &[Primitive], all: &[Parts], bounds: &[Bounds]) -> Parts {
    let imask = node.exponents >> 24;
    let mut below = children(node);
    let mut parts = Parts::new();
    for (slot, meta) in node.meta.into_iter().enumerate() {
        let meta = u32::from(meta);
        if imask >> slot & 1 == 1 {
            let child = below.next().unwrap_or_default();
            match all[child][..] {
                [only] => parts.push(only),
                _ => parts.push((bounds[child], Part::Node(child as u32))),
            }
            continue;
        }
        let first = node.primitive_base + (meta & 31);
        let count = (meta >> 5).count_ones();
        if count == 0 {
            continue;
        }
        let (mut around, mut triangles) = (Bounds::NONE, true);
        let mut positions = [first; LANES];
        for (slot, position) in positions.iter_mut().zip(first..first + count) {
            let primitive = &primitives[position as usize];
            *slot = position;
            around = around.union(Bounds::of(primitive));
            triangles &= primitive.kind == TRIANGLE;
        }
        let leaf = Part::Packet {
            positions,
            count: count as u8,
            triangles,
        };
        parts.push((around, leaf));
    }
    put_together(&mut parts);
    open(&mut parts, all);
    parts
}

/// Puts packets together, those first whose common box is least larger than both: a packet costs the same whether it is
/// full or not, and a ray meets a box by its area.
fn put_together(parts: &mut Parts) {
    loop {
        let mut best: Option<(f32, usize, usize)> = None;
        for second in 1..parts.len() {
            for first in 0..second {
                let Some(_) = joined(&parts[first].1, &parts[second].1) else {
                    continue;
                };
                let (a, b) = (parts[first].0, parts[second].0);
                let growth = a.union(b).area() - a.area() - b.area();
                if best.is_none_or(|(least, ..)| growth < least) {
                    best = Some((growth, first, second));
                }
            }
        }
        let Some((growth, first, second)) = best else {
            return;
        };
        if growth > SPREAD * (parts[first].0.area() + parts[second].0.area()) {
            return;
        }
        let (bounds, part) = parts.swap_remove(second);
        if let Some(joined) = joined(&parts[first].1, &part) {
            parts[first] = (parts[first].0.union(bounds), joined);
        }
    }
}

fn joined(a: &Part, b: &Part) -> Option<Part> {
    let (
        &Part::Packet {
            mut positions,
            count,
            triangles,
        },
        &Part::Packet {
            positions: added,
            count: more,
            triangles: too,
        },
    ) = (a, b)
    else {
        return None;
    };
    if triangles != too || usize::from(count + more) > LANES {
        return None;
    }
    let (first, end) = (usize::from(count), usize::from(count + more));
    positions[first..end].copy_from_slice(&added[..end - first]);
    Some(Part::Packet {
        positions,
        count: count + more,
        triangles,
    })
}

/// Puts the parts of a child in its place, of the largest that fits, as long as one does.
fn open(parts: &mut Parts, all: &[Parts]) {
    loop {
        let room = LANES + 1 - parts.len();
        let fitting = parts
            .iter()
            .enumerate()
            .filter_map(|(slot, (bounds, part))| match part {
                Part::Node(child) if all[*child as usize].len() <= room => {
                    Some((slot, *child, bounds.area()))
                }
                _ => None,
            });
        let Some((slot, child, _)) = fitting.max_by(|a, b| a.2.total_cmp(&b.2)) else {
            return;
        };
        parts.swap_remove(slot);
        parts.extend_from_slice(&all[child as usize]);
        put_together(parts);
    }
}
