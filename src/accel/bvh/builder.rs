//! Builds a BVH over a list of primitives, a scene or a mesh.
//!
//! `parts` sorts the primitives along a `curve` and has `clusters` build binary trees over parts of them. `collapse`
//! turns these into one wide tree.

mod clusters;
mod collapse;
mod curve;
pub(crate) mod parts;
mod quantize;
pub(super) mod shares;
pub(crate) mod source;

use glam::Vec3;
use obvhs::{Boundable, aabb::Aabb};
use rayon::prelude::*;

use self::{collapse::CompressedTree, parts::Effort, source::Source};
use super::Node;
use crate::{
    accel::primitive::{INSTANCE, PAIRED, Primitive, SPHERE},
    math::max_f32,
};

/// A BVH and the primitives in the order of its leaves.
pub struct Tree {
    /// Nodes, the root first; every node comes before its children.
    pub nodes: Vec<Node>,
    /// Primitives in the order of the leaves.
    pub primitives: Vec<Primitive>,
    /// Largest absolute coordinate of any primitive, in the units of the tree's space, which determines the slack.
    pub extent: f32,
    /// Maximum number of stack entries that a traversal needs.
    pub stack_height: u32,
}

impl Boundable for Primitive {
    fn aabb(&self) -> Aabb {
        match self.kind_bits {
            SPHERE => {
                let radius = Vec3::splat(self.b.x);
                Aabb::new((self.a - radius).into(), (self.a + radius).into())
            }
            INSTANCE => Aabb::new(self.a.into(), self.b.into()),
            _ => Aabb::from_points(&[self.a.into(), self.b.into(), self.c.into()]),
        }
    }
}

/// Returns the largest absolute coordinate of a primitive's bounding box, in the units of the primitive.
pub(crate) fn reach(primitive: &Primitive) -> f32 {
    let bounds = primitive.aabb();
    bounds.min.abs().max(bounds.max.abs()).max_element()
}

/// Builds a BVH over at least one primitive, in parallel. The tree does not depend on the number of threads.
///
/// Returns `None` if a traversal would need more than `stack_size` stack entries.
pub fn build(primitives: &[Primitive], stack_size: u32) -> Option<Tree> {
    let effort = Effort::for_scene(primitives.len());
    build_from(&Source::List(primitives), effort, stack_size)
}

/// Builds a BVH over the primitives of `source`, at least one. Uses less effort if the tree would need more than
/// `stack_size` stack entries, and returns `None` if even a tree without reinsertion needs more.
pub(crate) fn build_from(source: &Source, effort: Effort, stack_size: u32) -> Option<Tree> {
    // Reinsertion prefers deep trees where boxes are nested; without it the depth is bounded by the passes of
    // clustering.
    let less = effort.is_full().then_some(Effort::FAST);
    let efforts = [Some(effort), less, Some(Effort::NONE)];
    let (CompressedTree { nodes, order }, waiting) = efforts
        .into_iter()
        .flatten()
        .map(|effort| {
            let grown = parts::build(source, effort);
            let waiting = max_stack_height(&grown.nodes);
            (grown, waiting)
        })
        .find(|&(_, waiting)| waiting <= stack_size)?;
    let primitives: Vec<Primitive> = (0..order.len())
        .into_par_iter()
        .map(|position| {
            let mut primitive = source.primitive(order[position]);
            // The primitives may come from another tree.
            primitive.kind_bits &= !PAIRED;
            let next = order.get(position + 1);
            if next.is_some_and(|&next| source.is_pair(order[position], next)) {
                primitive.kind_bits |= PAIRED;
            }
            primitive
        })
        .collect();
    let extent = primitives.par_iter().map(reach).reduce(|| 0.0, max_f32);
    Some(Tree {
        nodes,
        primitives,
        extent,
        stack_height: waiting,
    })
}

/// Returns the maximum number of stack entries: one for each node on the path with child nodes left to visit.
fn max_stack_height(nodes: &[Node]) -> u32 {
    let mut max_height = 0;
    let mut to_visit = vec![(0, 0)];
    while let Some((index, waiting)) = to_visit.pop() {
        max_height = max_height.max(waiting);
        let node: &Node = &nodes[index];
        let children = (node.exponents >> 24).count_ones();
        let waiting = waiting + u32::from(children > 1);
        to_visit.extend((0..children).map(|child| ((node.child_base + child) as usize, waiting)));
    }
    max_height
}
