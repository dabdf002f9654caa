//! Completes the nodes that stand for instances: gives them the children of their mesh's root, with boxes in the space
//! of the scene.

use std::ops::Range;

use glam::{DVec3, Vec3};
use rayon::prelude::*;

use super::{bounds, pad, support::Support};
use crate::{
    accel::{
        bvh::{INSTANCE_NODE, Node},
        primitive::Primitive,
    },
    scene,
};

/// Completes the nodes that stand for instances among the first `top_count` nodes, which are those of the scene's tree.
///
/// `roots` are the indices of the meshes' roots, and `extent` is the largest absolute coordinate of the scene.
pub(super) fn complete(
    nodes: &mut [Node],
    top_count: usize,
    primitives: &[Primitive],
    instances: &[scene::Instance],
    roots: &[u32],
    extent: f32,
) {
    let (above, meshes) = nodes.split_at_mut(top_count);
    let first = above.len();
    let roots: Vec<MeshRoot> = roots
        .par_iter()
        .map(|&root| MeshRoot::new(meshes, root as usize - first, first, primitives))
        .collect();
    above
        .par_iter_mut()
        .filter(|node| node.child_base & INSTANCE_NODE != 0)
        .for_each(|node| {
            let index = primitives[node.primitive_base as usize].material;
            let instance = &instances[index as usize];
            *node = roots[instance.mesh as usize].node_of(instance, index, extent);
        });
}

/// The root of a mesh's tree.
struct MeshRoot<'a> {
    /// The root.
    node: Node,
    /// The triangles below each of its children, by slot.
    children: [Option<Support<'a>>; 8],
}

impl MeshRoot<'_> {
    /// Finds the triangles below the children of the node at `root` among the nodes of meshes, of which the first has
    /// the index `first` in the scene's list of nodes.
    fn new<'a>(
        nodes: &[Node],
        root: usize,
        first: usize,
        primitives: &'a [Primitive],
    ) -> MeshRoot<'a> {
        let node = nodes[root];
        let imask = node.exponents >> 24;
        let mut child_nodes = node.child_base as usize - first..;
        let children = std::array::from_fn(|slot| {
            let below = if imask >> slot & 1 == 1 {
                primitives_below(nodes, child_nodes.next()?, first)
            } else {
                let begin = node.primitive_base + u32::from(node.meta[slot] & 31);
                begin..begin + (node.meta[slot] >> 5).count_ones()
            };
            let below = below.start as usize..below.end as usize;
            (!below.is_empty()).then(|| Support::new(&primitives[below]))
        });
        MeshRoot { node, children }
    }

    /// Returns the node that stands for the instance at `index`.
    fn node_of(&self, instance: &scene::Instance, index: u32, extent: f32) -> Node {
        let pad = f64::from(extent) * pad(instance);
        let boxes = self.children.each_ref().map(|child| {
            let (low, high) = bounds(instance, child.as_ref()?);
            Some((rounded_down(low - pad), rounded_up(high + pad)))
        });
        let around = boxes.iter().flatten().copied();
        let (corner, end) = around
            .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
            .unwrap_or_default();
        let mut node = Node::around(corner, end);
        let grid = node.grid();
        node.exponents |= self.node.exponents & 0xff00_0000;
        node.child_base = INSTANCE_NODE | self.node.child_base;
        node.primitive_base = index;
        node.meta = self.node.meta;
        for (slot, child) in boxes.into_iter().enumerate() {
            if let Some((low, high)) = child {
                node.set_box(grid, slot, low, high);
            }
        }
        node
    }
}

/// Returns the indices of the primitives below a node, which are adjacent. `first` is as for [`MeshRoot::new`].
fn primitives_below(nodes: &[Node], node: usize, first: usize) -> Range<u32> {
    let mut to_visit = vec![node];
    let (mut begin, mut end) = (u32::MAX, 0);
    while let Some(node) = to_visit.pop() {
        let node = &nodes[node];
        let imask = node.exponents >> 24;
        for slot in (0..8).filter(|slot| imask >> slot & 1 == 0) {
            let count = (node.meta[slot] >> 5).count_ones();
            if count > 0 {
                let position = node.primitive_base + u32::from(node.meta[slot] & 31);
                begin = begin.min(position);
                end = end.max(position + count);
            }
        }
        let child_nodes = node.child_base as usize - first..;
        to_visit.extend(child_nodes.take(imask.count_ones() as usize));
    }
    begin.min(end)..end
}

/// Returns a point of `f32` below the given one on each axis, by at most two steps.
pub(super) fn rounded_down(point: DVec3) -> Vec3 {
    point.as_vec3().map(f32::next_down)
}

/// Returns a point of `f32` above the given one on each axis, by at most two steps.
pub(super) fn rounded_up(point: DVec3) -> Vec3 {
    point.as_vec3().map(f32::next_up)
}
