//! Builds a BVH over primitives in parallel.
//!
//! The primitives are sorted along a Morton curve (Morton 1966; Lauterbach et al. 2009) and cut into equal parts, each
//! of which gets a binary tree. Only the lower branches of these trees are kept: the tree above all branches is built
//! anew with more effort, so that the cuts do not show. The tree does not depend on the number of threads. Imports
//! `bvh`, `primitive`, `clusters`, `collapse`.

use glam::UVec3;
use obvhs::{Boundable, aabb::Aabb, bvh2::Bvh2};
use rayon::prelude::*;

use super::{
    clusters::Builder,
    collapse::{Binary, collapse},
};
use crate::accel::{bvh::CompressedTree, primitive::Primitive};

/// Number of primitives per part, unless there would be too many parts.
const PART: usize = 1 << 14;
/// Maximum number of parts.
const MAX_PARTS: usize = 256;
/// Number of branches per part, unless there would be too many.
const BRANCHES: usize = 64;
/// Maximum number of branches of all parts.
const MAX_BRANCHES: usize = 4096;

/// Fractions of nodes, 0..=1, that are reinserted to improve the tree.
#[derive(Clone, Copy)]
pub(crate) struct Reinserted {
    /// Fraction in the trees of the parts.
    of_parts: f32,
    /// Fraction in the tree above the branches, which all rays traverse.
    above: f32,
}

impl Reinserted {
    /// The default effort.
    pub(crate) const SOME: Reinserted = Reinserted {
        of_parts: 0.1,
        above: 1.0,
    };
    /// No reinsertion, which bounds the depth of the tree.
    pub(crate) const NONE: Reinserted = Reinserted {
        of_parts: 0.0,
        above: 0.0,
    };
}

/// Builds a wide BVH over at least one primitive.
pub(crate) fn build(primitives: &[Primitive], reinserted: Reinserted) -> CompressedTree {
    let order = along_the_curve(primitives);
    let part_count = order.len().div_ceil(PART).min(MAX_PARTS);
    let wanted = BRANCHES.min(MAX_BRANCHES / part_count);
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

/// Returns the indices of items in the order in which a Morton curve visits their box centres.
pub(super) fn along_the_curve<T: Boundable + Sync>(items: &[T]) -> Vec<u32> {
    // A part is sorted by one thread.
    let items = items.par_iter().with_min_len(PART);
    let middle = |item: &T| item.aabb().center();
    let all = items
        .clone()
        .map(|item| Aabb::new(middle(item), middle(item)))
        .reduce(Aabb::empty, |all, one| all.union(&one));
    // 21 bits per axis with equal steps, so that flat sets are sorted by the axes in which they extend.
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

/// Inserts two zero bits after each of the lowest 21 bits.
fn spread(bits: u32) -> u64 {
    let x = u64::from(bits & 0x1f_ffff);
    let x = (x | x << 32) & 0x001f_0000_0000_ffff;
    let x = (x | x << 16) & 0x001f_0000_ff00_00ff;
    let x = (x | x << 8) & 0x100f_00f0_0f00_f00f;
    let x = (x | x << 4) & 0x10c3_0c30_c30c_30c3;
    (x | x << 2) & 0x1249_2492_4924_9249
}
