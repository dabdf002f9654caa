//! The order of boxes along a Morton curve (Morton 1966), which keeps near boxes together.

use glam::UVec3;
use obvhs::aabb::Aabb;
use rayon::prelude::*;

/// Returns the indices of `count` items in the order in which a Morton curve visits the centers of their `bounds`.
/// Threads share the work if there are more than `min_len` items, and each then gets at least so many.
pub(super) fn along_the_curve(
    count: usize,
    min_len: usize,
    bounds: impl Fn(u32) -> Aabb + Sync,
) -> Vec<u32> {
    let items = (0..count as u32).into_par_iter().with_min_len(min_len);
    let middle = |item: u32| bounds(item).center();
    let all = items
        .clone()
        .map(|item| Aabb::new(middle(item), middle(item)))
        .reduce(Aabb::empty, |all, one| all.union(&one));
    // 21 bits per axis with equal steps, so that flat sets are sorted by the axes in which they extend.
    let longest = f64::from(all.diagonal().max_element().max(f32::MIN_POSITIVE));
    let (low, steps) = (all.min.as_dvec3(), f64::from((1 << 21) - 1) / longest);
    let coded = items.map(|item| {
        let UVec3 { x, y, z } = ((middle(item).as_dvec3() - low) * steps).as_uvec3();
        let code = spread(x) | spread(y) << 1 | spread(z) << 2;
        (code, item)
    });
    if count > min_len {
        let mut coded: Vec<(u64, u32)> = coded.collect();
        coded.par_sort_unstable();
        let sorted = coded.into_par_iter().with_min_len(min_len);
        return sorted.map(|(_, item)| item).collect();
    }
    // Few items leave room for most of the code next to their numbers.
    let bits = count.next_power_of_two().ilog2();
    let packed = coded.map(|(code, item)| code << 1 >> bits << bits | u64::from(item));
    let mut packed: Vec<u64> = packed.collect();
    packed.sort_unstable();
    let number = |packed: u64| packed as u32 & ((1 << bits) - 1);
    packed.into_iter().map(number).collect()
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
