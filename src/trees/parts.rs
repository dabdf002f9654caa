//! A tree over primitives, built by all cores of parts that lie together.
//!
//! The primitives are sorted along a Morton curve (Morton 1966; Lauterbach et al. 2009) and cut into parts of the same
//! number, each of which gets a binary tree of its own. Of those only the lower branches are kept: the tree above all branches
//! is built anew, and with more effort, so that nothing is seen of where the parts were cut. How many threads there are does
//! not matter to the tree.

use glam::UVec3;
use obvhs::{Boundable, aabb::Aabb, bvh2::Bvh2};
use rayon::prelude::*;

use super::{
    clusters::Builder,
    collapse::{Binary, collapse},
};
use crate::{bvh::Grown, primitive::Primitive};

/// Primitives of a part, where there are not too many.
const PART: usize = 1 << 14;
const MOST_PARTS: usize = 256;
/// Branches of a part, where there are not too many.
const BRANCHES: usize = 64;
const MOST_BRANCHES: usize = 4096;

/// What is done for a good tree: which share of nodes is inserted again, where they cost less.
#[derive(Clone, Copy)]
pub(crate) struct Reinserted {
    of_parts: f32,
    /// Of the nodes that all rays meet.
    above: f32,
}

impl Reinserted {
    pub(crate) const SOME: Reinserted = Reinserted {
        of_parts: 0.1,
        above: 1.0,
    };
    pub(crate) const NONE: Reinserted = Reinserted {
        of_parts: 0.0,
        above: 0.0,
    };
}

/// Builds a tree over one primitive or more.
pub(crate) fn build(primitives: &[Primitive], reinserted: Reinserted) -> Grown {
    let order = along_the_curve(primitives);
    let part_count = order.len().div_ceil(PART).min(MOST_PARTS);
    let wanted = BRANCHES.min(MOST_BRANCHES / part_count);
    let of_part = |builder: &mut Builder, part: &[u32]| {
        let of = |&index: &u32| primitives[index as usize].aabb();
        let boxes: Vec<Aabb> = part.iter().map(of).collect();
        let tree = builder.build(&boxes, reinserted.of_parts);
        let roots = branches(tree, wanted);
        let of_branch = |&root: &u32| *tree.nodes[root as usize].aabb();
        let of_branches: Vec<Aabb> = roots.iter().map(of_branch).collect();
        let number = |index: u32| part[index as usize];
        (Binary::of(tree, &roots, number), of_branches)
    };
    let (branches, boxes): (Vec<Binary>, Vec<Vec<Aabb>>) = order
        .par_chunks(order.len().div_ceil(part_count))
        .map_init(Builder::default, of_part)
        .unzip();
    let mut builder = Builder::default();
    let above = builder.build(&boxes.concat(), reinserted.above);
    collapse(Binary::of(above, &[0], |index| index), branches)
}

/// The roots of so many branches of a tree, or of all that it has: those with the largest boxes are taken apart.
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

/// Numbers in the order in which a Morton curve meets the middles of what they are of.
pub(super) fn along_the_curve<T: Boundable + Sync>(items: &[T]) -> Vec<u32> {
    // A part is one thread's.
    let items = items.par_iter().with_min_len(PART);
    let middle = |item: &T| item.aabb().center();
    let all = items
        .clone()
        .map(|item| Aabb::new(middle(item), middle(item)))
        .reduce(Aabb::empty, |all, one| all.union(&one));
    // 21 bits an axis, of steps that are as long along each: what is flat is sorted by where it is wide.
    let longest = f64::from(all.diagonal().max_element().max(f32::MIN_POSITIVE));
    let (low, steps) = (all.min.as_dvec3(), f64::from((1 << 21) - 1) / longest);
    let mut coded: Vec<(u64, u32)> = items
        .enumerate()
        .map(|(number, item)| {
            let UVec3 { x, y, z } = ((middle(item).as_dvec3() - low) * steps).as_uvec3();
            let code = spread(x) | spread(y) << 1 | spread(z) << 2;
            (code, number as u32)
        })
        .collect();
    if coded.len() > PART {
        coded.par_sort_unstable();
    } else {
        coded.sort_unstable();
    }
    coded.into_iter().map(|(_, number)| number).collect()
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
