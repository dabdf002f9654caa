//! A tree over many primitives, built by all cores: of parts that lie together, joined under one tree.
//!
//! The primitives are sorted along a Morton curve (Morton 1966; Lauterbach et al. 2009) and cut into parts of the same
//! number; each part gets a tree of its own, and the parts' boxes get one whose leaves are then replaced by the parts' roots.
//! How many threads there are does not matter to the tree.

use glam::{UVec3, Vec3};
use obvhs::{Boundable, BvhBuildParams, aabb::Aabb};
use rayon::prelude::*;

use crate::{
    bvh::{self, Grown, Node, Tree},
    math::greater,
    primitive::Primitive,
};

/// Primitives of a part.
const PART: usize = 1 << 16;
/// With fewer a tree is built at once: rays are some tenth slower through one that is joined.
const JOINED_FROM: usize = 1 << 21;

/// Builds a tree. `None` if the primitives lie so that more groups than `stack_size` would wait.
pub(crate) fn build(primitives: &[Primitive], stack_size: u32) -> Option<Tree> {
    let grown = if primitives.len() < JOINED_FROM {
        bvh::grow(primitives, BvhBuildParams::medium_build())
    } else {
        joined(primitives)
    };
    let waiting = bvh::most_waiting(&grown.nodes);
    if waiting > stack_size {
        return None;
    }
    let extent = primitives
        .par_iter()
        .map(bvh::reach)
        .reduce(|| 0.0, greater);
    let ordered = grown
        .order
        .par_iter()
        .map(|&index| primitives[index as usize])
        .collect();
    Some(Tree {
        nodes: grown.nodes,
        primitives: ordered,
        extent,
        waiting,
    })
}

/// A part's box.
struct PartBox(Aabb);

impl Boundable for PartBox {
    fn aabb(&self) -> Aabb {
        self.0
    }
}

fn joined(primitives: &[Primitive]) -> Grown {
    let order = along_the_curve(primitives);
    let parts: Vec<(Grown, Aabb)> = order
        .par_chunks(PART)
        .map(|part| {
            let gathered: Vec<Primitive> = part
                .iter()
                .map(|&index| primitives[index as usize])
                .collect();
            let mut grown = bvh::grow(&gathered, BvhBuildParams::medium_build());
            for index in &mut grown.order {
                *index = part[*index as usize];
            }
            let bounds = gathered.iter().fold(Aabb::empty(), |bounds, primitive| {
                bounds.union(&primitive.aabb())
            });
            (grown, bounds)
        })
        .collect();
    let boxes: Vec<PartBox> = parts.iter().map(|&(_, bounds)| PartBox(bounds)).collect();
    let above = bvh::grow(
        &boxes,
        BvhBuildParams {
            max_prims_per_leaf: 1,
            ..BvhBuildParams::medium_build()
        },
    );
    join(&above, parts.into_iter().map(|(part, _)| part).collect())
}

/// The numbers of the primitives in the order in which a Morton curve meets their middles.
fn along_the_curve(primitives: &[Primitive]) -> Vec<u32> {
    let middle = |primitive: &Primitive| {
        let bounds = primitive.aabb();
        Vec3::from((bounds.min + bounds.max) * 0.5)
    };
    let (low, high) = primitives
        .par_iter()
        .map(|primitive| (middle(primitive), middle(primitive)))
        .reduce(
            || (Vec3::INFINITY, Vec3::NEG_INFINITY),
            |(low, high), (other_low, other_high)| (low.min(other_low), high.max(other_high)),
        );
    // 21 bits an axis.
    let steps = ((1 << 21) as f32 - 1.0) / (high - low).max(Vec3::splat(f32::MIN_POSITIVE));
    let mut coded: Vec<(u64, u32)> = primitives
        .par_iter()
        .enumerate()
        .map(|(number, primitive)| {
            let UVec3 { x, y, z } = ((middle(primitive) - low) * steps).as_uvec3();
            let code = spread(x) | spread(y) << 1 | spread(z) << 2;
            (code, number as u32)
        })
        .collect();
    coded.par_sort_unstable();
    coded.par_iter().map(|&(_, number)| number).collect()
}

/// 21 bits, each with two zeros behind it.
fn spread(bits: u32) -> u64 {
    let x = u64::from(bits & 0x1f_ffff);
    let x = (x | x << 32) & 0x001f_0000_0000_ffff;
    let x = (x | x << 16) & 0x001f_0000_ff00_00ff;
    let x = (x | x << 8) & 0x100f_00f0_0f00_f00f;
    let x = (x | x << 4) & 0x10c3_0c30_c30c_30c3;
    (x | x << 2) & 0x1249_2492_4924_9249
}

/// A tree whose leaves are the roots of parts, one each.
fn join(above: &Grown, parts: Vec<Grown>) -> Grown {
    let node_count = parts.iter().map(|part| part.nodes.len()).sum::<usize>();
    let mut nodes: Vec<Node> = Vec::with_capacity(node_count + above.nodes.len());
    nodes.push(Node::default());
    // Nodes of the tree above, and where they go; and the parts, with where their roots go.
    let mut ways = vec![(0, 0)];
    let mut roots = vec![0; parts.len()];
    while let Some((from, to)) = ways.pop() {
        let mut node: Node = above.nodes[from];
        let imask = node.exponents >> 24;
        let (children, primitives) = (node.child_base, node.primitive_base);
        node.child_base = nodes.len() as u32;
        let mut all = 0;
        for slot in 0..8 {
            let meta = u32::from(node.meta[slot]);
            if meta == 0 {
                continue;
            }
            let at = nodes.len();
            nodes.push(Node::default());
            if imask >> slot & 1 == 1 {
                let rank = (imask & ((1 << slot) - 1)).count_ones();
                ways.push(((children + rank) as usize, at));
            } else {
                let part = above.order[(primitives + (meta & 31)) as usize];
                roots[part as usize] = at;
            }
            all |= 1 << slot;
            node.meta[slot] = 0b0010_0000 | (24 + slot as u8);
        }
        node.exponents = node.exponents & 0x00ff_ffff | all << 24;
        nodes[to] = node;
    }
    let mut order = Vec::with_capacity(parts.iter().map(|part| part.order.len()).sum());
    for (part, root) in parts.into_iter().zip(roots) {
        // The root stands where it is a child; the others follow one another.
        let rest = nodes.len() as u32;
        let first = order.len() as u32;
        let mut moved = part.nodes.iter().map(|node| Node {
            child_base: (node.child_base + rest).wrapping_sub(1),
            primitive_base: node.primitive_base + first,
            ..*node
        });
        nodes[root] = moved.next().unwrap_or_default();
        nodes.extend(moved);
        order.extend_from_slice(&part.order);
    }
    Grown { nodes, order }
}
