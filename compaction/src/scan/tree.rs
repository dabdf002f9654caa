//! The order in which `block-sums`, `raking` and the CPU add floating-point sums. Twin: `Tile` in
//! `kernels/scan_tile.cuh`.
//!
//! ```text
//! item ─ lane (16 bytes, one by one) ─ row (32 lanes, Hillis and Steele) ─ warp (4 rows) ─ tile (8 warps) ─ level
//! ```
//!
//! The tile totals of a level are the items of the next level, until one tile holds them all.

use super::{LANE_BYTES, LEVEL_ROWS, level_tile_items};
use crate::{
    monoid::{Item, Monoid},
    parallel,
};

const WARP_THREADS: usize = 32;

/// Writes to `out` the prefixes of `items`, or of its own contents if `items` is `None`, in parallel over tiles.
pub(super) fn scan<T: Item, M: Monoid<T>>(items: Option<&[T]>, out: &mut [T], inclusive: bool) {
    match LANE_BYTES as usize / size_of::<T>() {
        2 => scan_level::<T, M, 2>(items, out, inclusive),
        _ => scan_level::<T, M, 4>(items, out, inclusive),
    }
}

/// Scans one level: `LANE` items per lane, and recursively the totals of the tiles.
fn scan_level<T: Item, M: Monoid<T>, const LANE: usize>(
    items: Option<&[T]>,
    out: &mut [T],
    inclusive: bool,
) {
    let tile_items = level_tile_items::<T>() as usize;
    let mut totals = vec![M::lower(M::IDENTITY)];
    if out.len() > tile_items {
        let tiles = items.unwrap_or(out).chunks(tile_items);
        totals = parallel::map(tiles, |_, tile| M::lower(fold_tile::<T, M, LANE>(tile)));
        scan_level::<T, M, LANE>(None, &mut totals, false);
    }
    let tiles = out.chunks_mut(tile_items).zip(totals);
    parallel::for_each(tiles, |number, (tile, before)| {
        if let Some(items) = items {
            tile.copy_from_slice(&items[number * tile_items..][..tile.len()]);
        }
        scan_tile::<T, M, LANE>(tile, M::lift(before), inclusive);
    });
}

/// Returns the inclusive prefixes within each lane of a row, as `lanes[item][lane]`. Places behind the last item count
/// as the identity.
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

/// Returns the total of a tile, whose lanes have `LANE` items each.
fn fold_tile<T: Item, M: Monoid<T>, const LANE: usize>(tile: &[T]) -> M::Value {
    let row_items = WARP_THREADS * LANE;
    let mut total = M::IDENTITY;
    for rows in tile.chunks(LEVEL_ROWS as usize * row_items) {
        let mut warp = M::IDENTITY;
        for row in rows.chunks(row_items) {
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

/// Scans a tile in place, starting from the prefix `before`. A lane has `LANE` items.
fn scan_tile<T: Item, M: Monoid<T>, const LANE: usize>(
    tile: &mut [T],
    before: M::Value,
    inclusive: bool,
) {
    let row_items = WARP_THREADS * LANE;
    let mut total = M::IDENTITY;
    for rows in tile.chunks_mut(LEVEL_ROWS as usize * row_items) {
        let mut warp = M::IDENTITY;
        for row in rows.chunks_mut(row_items) {
            let lanes = load_row::<T, M, LANE>(row);
            let sums = inclusive_lanes::<T, M>(lanes[LANE - 1]);
            for (lane, vector) in row.chunks_mut(LANE).enumerate() {
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
                for (item, prefix) in vector.iter_mut().zip(prefixes) {
                    *item = M::lower(prefix);
                }
            }
            warp = M::combine(warp, sums[WARP_THREADS - 1]);
        }
        total = M::combine(total, warp);
    }
}

/// Returns the inclusive prefixes over the 32 lanes of a warp, combined in the order of `warp_inclusive` in
/// `kernels/warp.cuh`.
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
