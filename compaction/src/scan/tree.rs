//! The tree by which `block-sums`, `raking` and the CPU combine floating-point sums. Twin: `Tile` in `kernels/scan.cu`.
//!
//! ```text
//! item ─ lane (16 bytes, one by one) ─ row (32 lanes, as Hillis and Steele) ─ warp (4 rows) ─ tile (8 warps) ─ level
//! ```
//!
//! A level's tile totals are the items of the next level, until one tile holds them all.

use rayon::prelude::*;

use super::{BLOCK_THREADS, LANE_BYTES, LEVEL_ROWS, level_tile_items};
use crate::monoid::{Item, Monoid};

const WARP_THREADS: usize = 32;
const BLOCK_WARPS: usize = BLOCK_THREADS as usize / WARP_THREADS;

/// Writes the prefixes of `items`, read one tile at a time on as many threads as there are.
pub(super) fn scan<T: Item, M: Monoid<T>>(items: &[T], out: &mut [T], inclusive: bool) {
    match LANE_BYTES as usize / size_of::<T>() {
        2 => scan_level::<T, M, 2>(items, out, inclusive),
        _ => scan_level::<T, M, 4>(items, out, inclusive),
    }
}

fn scan_level<T: Item, M: Monoid<T>, const LANE: usize>(
    items: &[T],
    out: &mut [T],
    inclusive: bool,
) {
    let tile_items = level_tile_items::<T>() as usize;
    let tiles = items.par_chunks(tile_items);
    if items.len() <= tile_items {
        scan_tile::<T, M, LANE>(items, M::IDENTITY, out, inclusive);
        return;
    }
    let totals: Vec<T> = tiles
        .clone()
        .map(|tile| M::lower(fold_tile::<T, M, LANE>(tile)))
        .collect();
    let mut before = totals.clone();
    scan_level::<T, M, LANE>(&totals, &mut before, false);
    let parts = out.par_chunks_mut(tile_items).zip(before);
    tiles.zip(parts).for_each(|(tile, (part, before))| {
        scan_tile::<T, M, LANE>(tile, M::lift(before), part, inclusive);
    });
}

/// The lanes of a row: `lanes[item][lane]`, behind the last item the identity.
fn load_row<T: Item, M: Monoid<T>, const LANE: usize>(
    row: &[T],
) -> [[M::Value; WARP_THREADS]; LANE] {
    let mut lanes = [[M::IDENTITY; WARP_THREADS]; LANE];
    let (vectors, rest) = row.as_chunks::<LANE>();
    for (lane, vector) in vectors.iter().take(WARP_THREADS).enumerate() {
        for item in 0..LANE {
            lanes[item][lane] = M::lift(vector[item]);
        }
    }
    for (item, &value) in rest.iter().enumerate() {
        lanes[item][vectors.len()] = M::lift(value);
    }
    for item in 1..LANE {
        let (done, rest) = lanes.split_at_mut(item);
        for (sum, value) in done[item - 1].iter().zip(&mut rest[0]) {
            *value = M::combine(*sum, *value);
        }
    }
    lanes
}

/// The items of a tile, by warps and their rows.
fn warps<T, const LANE: usize>(tile: &[T]) -> impl Iterator<Item = std::slice::Chunks<'_, T>> {
    let row_items = WARP_THREADS * LANE;
    let warps = tile.chunks(LEVEL_ROWS as usize * row_items);
    debug_assert!(warps.len() <= BLOCK_WARPS);
    warps.map(move |warp| warp.chunks(row_items))
}

fn fold_tile<T: Item, M: Monoid<T>, const LANE: usize>(tile: &[T]) -> M::Value {
    let mut total = M::IDENTITY;
    for rows in warps::<T, LANE>(tile) {
        let mut warp = M::IDENTITY;
        for row in rows {
            let mut sums = load_row::<T, M, LANE>(row)[LANE - 1];
            let mut width = WARP_THREADS;
            while width > 1 {
                width /= 2;
                for lane in 0..width {
                    sums[lane] = M::combine(sums[2 * lane], sums[2 * lane + 1]);
                }
            }
            warp = M::combine(warp, sums[0]);
        }
        total = M::combine(total, warp);
    }
    total
}

fn scan_tile<T: Item, M: Monoid<T>, const LANE: usize>(
    tile: &[T],
    before: M::Value,
    out: &mut [T],
    inclusive: bool,
) {
    let mut out = out.chunks_mut(WARP_THREADS * LANE);
    let mut total = M::IDENTITY;
    for rows in warps::<T, LANE>(tile) {
        let mut warp = M::IDENTITY;
        for (row, out) in rows.zip(&mut out) {
            let lanes = load_row::<T, M, LANE>(row);
            let sums = inclusive_lanes::<T, M>(lanes[LANE - 1]);
            for (lane, out) in out.chunks_mut(LANE).take(WARP_THREADS).enumerate() {
                let below = if lane == 0 {
                    M::IDENTITY
                } else {
                    sums[lane - 1]
                };
                let base = M::combine(total, M::combine(warp, below));
                let mut prefixes = [before; LANE];
                let mut exclusive = base;
                for item in 0..LANE {
                    let with_item = M::combine(base, lanes[item][lane]);
                    let own = if inclusive { with_item } else { exclusive };
                    prefixes[item] = M::combine(before, own);
                    exclusive = with_item;
                }
                for (out, prefix) in out.iter_mut().zip(prefixes) {
                    *out = M::lower(prefix);
                }
            }
            warp = M::combine(warp, sums[WARP_THREADS - 1]);
        }
        total = M::combine(total, warp);
    }
}

/// `warp_inclusive` of `kernels/warp.cuh`.
fn inclusive_lanes<T, M: Monoid<T>>(
    mut lanes: [M::Value; WARP_THREADS],
) -> [M::Value; WARP_THREADS] {
    let mut distance = 1;
    while distance < WARP_THREADS {
        let before = lanes;
        for lane in distance..WARP_THREADS {
            lanes[lane] = M::combine(before[lane - distance], before[lane]);
        }
        distance *= 2;
    }
    lanes
}
