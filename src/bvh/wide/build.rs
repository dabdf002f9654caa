//! The tree for vectors from the tree that the GPU reads.

use bytemuck::{Zeroable, cast};
use glam::Vec3;
use obvhs::Boundable;
use pulp::f32x8;

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
        self.nodes.push(WideNode::EMPTY);
        // Parts that become nodes, where, and how many children wait on the way there.
        let mut ways = vec![(0, 0, 0)];
        while let Some((from, to, waiting)) = ways.pop() {
            let waiting: usize = waiting + parts[from].len();
            self.waiting = self.waiting.max(waiting);
            let mut node = WideNode::EMPTY;
            for (slot, &(bounds, part)) in parts[from].iter().enumerate() {
                node.held |= 1 << slot;
                node.children[slot] = match part {
                    Part::Node(from) => {
                        let to = self.nodes.len();
                        self.nodes.push(WideNode::EMPTY);
                        ways.push((from as usize, to, waiting));
                        to as u32
                    }
                    Part::Packet {
                        positions,
                        triangles,
                        ..
                    } => {
                        let number = self.packets.len() as u32;
                        self.packets.push(Packet::new(positions, primitives));
                        PACKET | if triangles { 0 } else { OTHERS } | number
                    }
                };
                for axis in 0..3 {
                    set(&mut node.planes[0][axis], slot, bounds.low[axis]);
                    set(&mut node.planes[1][axis], slot, bounds.high[axis]);
                }
            }
            self.nodes[to] = node;
        }
    }
}

impl WideNode {
    /// No ray meets any of these.
    const EMPTY: WideNode = WideNode {
        planes: [[splat(f32::INFINITY); 3], [splat(f32::NEG_INFINITY); 3]],
        children: [0; LANES],
        held: 0,
    };
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

/// For each node the parts that it becomes a node of: its leaves put together where that costs less, and children opened,
/// the largest first, while there is room.
fn gathered(nodes: &[Node], primitives: &[Primitive]) -> Option<Vec<Parts>> {
    let mut all: Vec<Parts> = vec![Parts::new(); nodes.len()];
    let mut bounds = vec![Bounds::NONE; nodes.len()];
    for index in (0..nodes.len()).rev() {
        let node = &nodes[index];
        let imask = node.exponents >> 24;
        let mut parts = Parts::new();
        for (slot, meta) in node.meta.into_iter().enumerate() {
            let meta = u32::from(meta);
            if imask >> slot & 1 == 1 {
                let rank = (imask & ((1 << slot) - 1)).count_ones();
                let child = (node.child_base + rank) as usize;
                // Children stand behind their parents.
                if child <= index || child >= nodes.len() {
                    return None;
                }
                match all[child][..] {
                    [only] => parts.push(only),
                    _ => parts.push((bounds[child], Part::Node(child as u32))),
                }
            } else {
                let first = node.primitive_base + (meta & 31);
                let count = (meta >> 5).count_ones();
                if count == 0 {
                    continue;
                }
                let mut leaf = (
                    Bounds::NONE,
                    Part::Packet {
                        positions: [first; LANES],
                        count: count as u8,
                        triangles: true,
                    },
                );
                for offset in 0..count {
                    let primitive = &primitives[(first + offset) as usize];
                    leaf.0 = leaf.0.union(Bounds::of(primitive));
                    if let Part::Packet {
                        positions,
                        triangles,
                        ..
                    } = &mut leaf.1
                    {
                        positions[offset as usize] = first + offset;
                        *triangles &= primitive.kind == TRIANGLE;
                    }
                }
                parts.push(leaf);
            }
        }
        put_together(&mut parts);
        open(&mut parts, &all);
        bounds[index] = parts
            .iter()
            .fold(Bounds::NONE, |bounds, &(part, _)| bounds.union(part));
        all[index] = parts;
    }
    Some(all)
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
