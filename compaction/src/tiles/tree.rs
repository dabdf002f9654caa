//! The order in which scans over tiles combine values. Twins: `kernels/by_key.cuh`, `kernels/scan_with.cu`, and for
//! tiles `kernels/ordered_look_back.cuh`.
//!
//! ```text
//! item ─ quad (4, one by one) ─ row (32 lanes, as in an inclusive scan) ─ warp (rows, one by one)
//!      ─ tile (8 warps, one by one) ─ window (32 tiles, pairwise) ─ group (4 windows, one by one) ─ all groups
//! ```
//!
//! Values of runs are cut at the first item of each run, the head.

use super::{BLOCK_THREADS, ROW_ITEMS};
use crate::fold::{Fold, fold_pairwise};

const LANES: usize = 32;
const QUAD: usize = 4;
/// Tiles of a group, whose last tile publishes an inclusive prefix.
const GROUP_TILES: usize = 4 * LANES;

/// What a sequence of items adds.
#[derive(Clone, Copy)]
pub(crate) struct Segment<V> {
    /// The number of runs that begin in the sequence.
    pub(crate) heads: usize,
    /// The combined values from the last head on, or of all items if there is no head.
    pub(crate) sum: V,
}

/// A [`Fold`] of values, cut at the heads of runs. Its items are values with whether they are heads.
pub(crate) struct Segmented<'f, F>(pub(crate) &'f F);

impl<T, F: Fold<T>> Fold<(T, bool)> for Segmented<'_, F> {
    type Value = Segment<F::Value>;
    const EXACT: bool = F::EXACT;
    const COMMUTATIVE: bool = false;

    fn identity(&self) -> Self::Value {
        Segment {
            heads: 0,
            sum: self.0.identity(),
        }
    }
    fn lift(&self, (item, is_head): (T, bool), index: usize) -> Self::Value {
        Segment {
            heads: usize::from(is_head),
            sum: self.0.lift(item, index),
        }
    }
    fn combine(&self, left: Self::Value, right: Self::Value) -> Self::Value {
        Segment {
            heads: left.heads + right.heads,
            sum: if right.heads > 0 {
                right.sum
            } else {
                self.0.combine(left.sum, right.sum)
            },
        }
    }
}

/// The combined items of a tile.
pub(crate) struct TileSums<V> {
    /// What the tile has before each quad of items.
    pub(crate) before: Vec<Segment<V>>,
    /// What the whole tile adds.
    pub(crate) total: Segment<V>,
}

/// Combines the items of a tile, in which each warp has `rows` rows.
pub(crate) fn combine_tile<T: Copy, F: Fold<T>>(
    fold: &F,
    items: impl ExactSizeIterator<Item = (T, bool)>,
    rows: usize,
) -> TileSums<F::Value> {
    let fold = &Segmented(fold);
    let mut quads = Vec::with_capacity(items.len().div_ceil(QUAD));
    for (place, item) in items.enumerate() {
        let value = fold.lift(item, 0);
        match quads.last_mut() {
            Some(quad) if place % QUAD > 0 => *quad = fold.combine(*quad, value),
            _ => quads.push(value),
        }
    }
    let mut total = fold.identity();
    if F::EXACT {
        for quad in &mut quads {
            let behind = fold.combine(total, *quad);
            *quad = std::mem::replace(&mut total, behind);
        }
        return TileSums {
            before: quads,
            total,
        };
    }
    let row_quads = ROW_ITEMS / QUAD;
    for warp in quads.chunks_mut(rows * row_quads) {
        let mut so_far = fold.identity();
        for row in warp.chunks_mut(row_quads) {
            let last = scan_row(fold, row);
            for quad in row {
                *quad = fold.combine(total, fold.combine(so_far, *quad));
            }
            so_far = fold.combine(so_far, last);
        }
        total = fold.combine(total, so_far);
    }
    debug_assert!(quads.len() <= BLOCK_THREADS * rows, "a tile has 8 warps");
    TileSums {
        before: quads,
        total,
    }
}

/// Replaces the value of each lane of a row by the combination of all lanes before it. Returns that of all lanes.
fn scan_row<I, F: Fold<I>>(fold: &F, row: &mut [F::Value]) -> F::Value {
    let mut lanes = [fold.identity(); LANES];
    lanes[..row.len()].copy_from_slice(row);
    let mut distance = 1;
    while distance < LANES {
        for lane in (distance..LANES).rev() {
            lanes[lane] = fold.combine(lanes[lane - distance], lanes[lane]);
        }
        distance *= 2;
    }
    for (lane, quad) in row.iter_mut().enumerate() {
        *quad = match lane {
            0 => fold.identity(),
            _ => lanes[lane - 1],
        };
    }
    lanes[LANES - 1]
}

/// The prefixes of tiles, which are added in order.
pub(crate) struct Prefixes<V> {
    /// What the groups before the current one add, or all tiles so far if the order does not matter.
    before: Segment<V>,
    /// The tiles of the current group.
    group: Vec<Segment<V>>,
}

impl<V: Copy + Send + Sync> Prefixes<V> {
    pub(crate) fn new(before: Segment<V>) -> Self {
        Self {
            before,
            group: Vec::new(),
        }
    }

    /// Adds a tile. Returns what all tiles before it add.
    pub(crate) fn add<T, F: Fold<T, Value = V>>(
        &mut self,
        fold: &F,
        tile: Segment<V>,
    ) -> Segment<V> {
        let fold = &Segmented(fold);
        if F::EXACT {
            let behind = fold.combine(self.before, tile);
            return std::mem::replace(&mut self.before, behind);
        }
        let windows = self.group.chunks(LANES);
        let windows = windows.map(|tiles| fold_pairwise(fold, &mut tiles.to_vec(), LANES));
        let in_group = windows.fold(fold.identity(), |left, right| fold.combine(left, right));
        let prefix = fold.combine(self.before, in_group);
        if self.group.len() == GROUP_TILES - 1 {
            self.before = fold.combine(self.before, fold.combine(in_group, tile));
            self.group.clear();
        } else {
            self.group.push(tile);
        }
        prefix
    }
}
