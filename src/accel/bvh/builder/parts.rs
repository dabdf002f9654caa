//! Builds a BVH over primitives in parallel.
//!
//! The primitives are sorted along a Morton curve (Morton 1966; Lauterbach et al. 2009) and cut into equal parts, each
//! of which gets a binary tree. Only the lower branches of these trees are kept: the tree above all branches is built
//! anew with more effort, so that the cuts do not show. The tree does not depend on the number of threads.

use bytemuck::zeroed_vec;
use obvhs::{aabb::Aabb, bvh2::Bvh2};
use rayon::prelude::*;

use super::{
    clusters::Builder,
    collapse::{Binary, BinaryRef, CompressedTree, Costs, InnerNode, collapse},
    curve::along_the_curve,
    source::Source,
};

/// Number of primitives per part, unless there would be too many parts.
const PART: usize = 1 << 14;
/// Maximum number of parts.
const MAX_PARTS: usize = 256;
/// Number of branches per part, unless there would be too many.
const BRANCHES: usize = 64;
/// Largest number of primitives for which trees are built with [`Effort::FULL`], in up to 0.7 s of processor time.
const FEW_PRIMITIVES: usize = 1 << 17;
/// Maximum number of branches of all parts.
const MAX_BRANCHES: usize = 4096;

/// The effort for improving a tree by reinserting its nodes, see [`Builder::build`].
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    /// Fraction of the nodes in the tree of each part that the first pass of a round reinserts, 0..=1.
    of_parts: f32,
    /// Fraction of the nodes in the tree above all branches that the first pass of a round reinserts, 0..=1. All rays
    /// traverse that tree.
    above: f32,
    /// Number of rounds of reinsertion; 0 reinserts nothing.
    rounds: u32,
}

impl Effort {
    /// The effort for few primitives, with the fastest traversal. Building takes 5 µs of processor time per primitive.
    pub(crate) const FULL: Effort = Effort {
        of_parts: 1.0,
        above: 1.0,
        rounds: 4,
    };
    /// The effort for many primitives. Building takes 1 µs of processor time per primitive.
    pub(crate) const FAST: Effort = Effort {
        of_parts: 0.1,
        above: 1.0,
        rounds: 1,
    };
    /// No reinsertion, which bounds the depth of the tree.
    pub(crate) const NONE: Effort = Effort {
        of_parts: 0.0,
        above: 0.0,
        rounds: 0,
    };

    /// Returns the effort for a scene with this number of primitives.
    pub(crate) fn for_scene(primitive_count: usize) -> Effort {
        if primitive_count <= FEW_PRIMITIVES {
            Effort::FULL
        } else {
            Effort::FAST
        }
    }

    /// Returns whether this is [`Effort::FULL`].
    pub(crate) fn is_full(self) -> bool {
        self.rounds == Effort::FULL.rounds
    }
}

/// Builds a wide BVH over at least one primitive with this effort.
pub(crate) fn build(source: &Source, effort: Effort) -> CompressedTree {
    let order = along_the_curve(source.count(), PART, |index| source.bounds(index));
    let part_count = order.len().div_ceil(PART).min(MAX_PARTS);
    let part_size = order.len().div_ceil(part_count);
    let wanted = BRANCHES.min(MAX_BRANCHES / part_count);
    // Each part gets as many places as it has primitives, one more than it has inner nodes. Then follow those above.
    let mut inner_nodes: Vec<InnerNode> = zeroed_vec(order.len() + MAX_BRANCHES);
    let (of_parts, of_above) = inner_nodes.split_at_mut(order.len());
    let of_part =
        |builder: &mut Builder,
         (number, (part, inner_nodes)): (usize, (&[u32], &mut [InnerNode]))| {
            let boxes: Vec<Aabb> = part.iter().map(|&index| source.bounds(index)).collect();
            let tree = builder.build(&boxes, effort.of_parts, effort.rounds);
            let mut binary = Binary::new(source, inner_nodes, number * part_size);
            let branch = |root: u32| Branch {
                bounds: *tree.nodes[root as usize].aabb(),
                subtree: binary.add(
                    tree,
                    root,
                    |leaf| BinaryRef::primitive(part[leaf as usize]),
                    |leaf| {
                        let is_instance = source.is_instance(part[leaf as usize]);
                        Costs::of_primitive(&boxes[leaf as usize], is_instance)
                    },
                ),
            };
            branches(tree, wanted)
                .into_iter()
                .map(branch)
                .collect::<Vec<Branch>>()
        };
    let branches: Vec<Vec<Branch>> = order
        .par_chunks(part_size)
        .zip(of_parts.par_chunks_mut(part_size))
        .enumerate()
        .map_init(Builder::default, of_part)
        .collect();
    let branches = branches.concat();
    let boxes: Vec<Aabb> = branches.iter().map(|branch| branch.bounds).collect();
    let mut builder = Builder::default();
    let above = builder.build(&boxes, effort.above, effort.rounds);
    let subtree = |branch: u32| branches[branch as usize].subtree;
    let (root, _) = Binary::new(source, of_above, order.len()).add(
        above,
        0,
        |branch| subtree(branch).0,
        |branch| subtree(branch).1,
    );
    drop(builder);
    let above = order.len();
    drop(order);
    collapse(source, inner_nodes, above, root)
}

/// A lower branch of a part's tree.
#[derive(Clone)]
struct Branch {
    /// The box around it.
    bounds: Aabb,
    /// The part's root in the binary tree, and the costs of tracing rays through it.
    subtree: (BinaryRef, Costs),
}

/// Returns the roots of up to `wanted` subtrees that cover a tree, always splitting the one with the largest box.
fn branches(tree: &Bvh2, wanted: usize) -> Vec<u32> {
    let area = |&index: &u32| tree.nodes[index as usize].aabb().half_area();
    let mut roots = vec![0];
    while roots.len() < wanted {
        let inner = roots
            .iter_mut()
            .filter(|root| !tree.nodes[**root as usize].is_leaf());
        let Some(largest) = inner.max_by(|a, b| area(a).total_cmp(&area(b))) else {
            break;
        };
        let first = tree.nodes[*largest as usize].first_index;
        *largest = first;
        roots.push(first + 1);
    }
    roots
}
