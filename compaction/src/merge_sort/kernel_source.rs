//! The kernels of the merge sort: their parameters, levels and scratch memory.

use std::marker::PhantomData;

use super::NAMES;
pub(super) use crate::policies::merge_sort::{BLOCK_THREADS, LARGE_BLOCKS, SCAN_ITEMS};
use crate::policies::merge_sort::{MAX_CHUNKS, RANK_LANES};
use crate::{
    CountWord, Result,
    arguments::Input,
    cuda::{In, InOut, Kernel, Module, Source, kernel_params},
    layout::Shared,
    look_back,
    scratch::{Operation, Sizes},
    shared,
};

/// Size of the largest items in bytes, of which a block holds one per thread in shared memory.
const MAX_ITEM_BYTES: usize = 128;
/// Alignment of the parts of the scratch memory in bytes.
const ALIGN: usize = 256;
/// The path with which the kernel file includes the text of the comparison.
const INCLUDED: &str = "comparison";

shared! {
    /// A division of segments into buckets. `kernels/merge_sort.cu` documents the fields.
    pub(super) struct SortLevel {
        pub(super) segments: u64,
        pub(super) buckets: u32,
        pub(super) chunk_tiles: u32,
        pub(super) is_first: u64,
    }
}
shared! {
    /// The scratch memory of a level. `kernels/merge_sort.cu` documents the fields.
    pub(super) struct SortTables<'a> {
        pub(super) begins: InOut<u64>,
        pub(super) next_begins: InOut<u64>,
        pub(super) counts: InOut<u64>,
        pub(super) splitters: InOut<u8>,
        pub(super) positions: InOut<u64>,
        pub(super) buckets: InOut<u16>,
    }
}

impl SortTables<'_> {
    /// Borrows the tables for one launch.
    pub(super) fn borrow(&mut self) -> SortTables<'_> {
        SortTables {
            begins: self.begins.slice_mut(..),
            next_begins: self.next_begins.slice_mut(..),
            counts: self.counts.slice_mut(..),
            splitters: self.splitters.slice_mut(..),
            positions: self.positions.slice_mut(..),
            buckets: self.buckets.slice_mut(..),
        }
    }
}

kernel_params! {
    /// The parameters of the kernels `merge_sort_first_splitters`, `merge_sort_splitters` and `merge_sort_count`.
    pub(super) struct OfLevel<'a, T: Shared> {
        items: In<T>,
        input: Input<'static>,
        level: SortLevel,
        tables: SortTables<'static>,
        workspace: InOut<u64>,
    }

    /// The parameters of the kernel `merge_sort_scan`.
    pub(super) struct Scan<'a> {
        counts: InOut<u64>,
        entries: u64,
        workspace: InOut<u64>,
    }

    /// The parameters of the kernel `merge_sort_move`.
    pub(super) struct Move<'a, T: Shared> {
        items: In<T>,
        input: Input<'static>,
        level: SortLevel,
        tables: SortTables<'static>,
        out: InOut<T>,
        workspace: InOut<u64>,
    }

    /// The parameters of the kernel `merge_sort_buckets`. `buckets` is the number of buckets in `out`, or 0 if `items`
    /// are to be sorted as one.
    pub(super) struct Buckets<'a, T: Shared> {
        items: In<T>,
        input: Input<'static>,
        buckets: u32,
        begins: In<u64>,
        large: InOut<u64>,
        out: InOut<T>,
        scratch: InOut<T>,
        workspace: InOut<u64>,
    }

    /// The parameters of the kernel `merge_sort_large`.
    pub(super) struct Large<'a, T: Shared> {
        begins: In<u64>,
        large: In<u64>,
        out: InOut<T>,
        scratch: InOut<T>,
        workspace: InOut<u64>,
    }
}

/// The loaded kernels.
#[derive(Debug)]
pub(super) struct Kernels<T: Shared> {
    pub(super) first_splitters: Kernel<OfLevel<'static, T>>,
    pub(super) splitters: Kernel<OfLevel<'static, T>>,
    pub(super) count: Kernel<OfLevel<'static, T>>,
    pub(super) scan: Kernel<Scan<'static>>,
    pub(super) move_items: Kernel<Move<'static, T>>,
    pub(super) buckets: Kernel<Buckets<'static, T>>,
    pub(super) large: Kernel<Large<'static, T>>,
}

impl<T: Shared> Kernels<T> {
    pub(super) fn of(module: &Module) -> Result<Self> {
        Ok(Self {
            first_splitters: module.kernel("merge_sort_first_splitters")?,
            splitters: module.kernel("merge_sort_splitters")?,
            count: module.kernel("merge_sort_count")?,
            scan: module.kernel("merge_sort_scan")?,
            move_items: module.kernel("merge_sort_move")?,
            buckets: module.kernel("merge_sort_buckets")?,
            large: module.kernel("merge_sort_large")?,
        })
    }
}

/// Returns the items per thread that sorts a bucket, for items of this size. An odd number avoids bank conflicts.
const fn items_per_thread(bytes: usize) -> u32 {
    match bytes {
        0..=4 => 15,
        5..=8 => 7,
        9..=12 => 5,
        13..=20 => 3,
        _ => 1,
    }
}

/// Returns the items per thread that moves items to buckets, for items of this size.
const fn move_items(bytes: usize) -> u32 {
    match bytes {
        0..=4 => 16,
        5..=64 => 64 / bytes as u32,
        _ => 1,
    }
}

/// Returns the number of bits of the number of a bucket within its segment, for items of this size. A block holds the
/// splitters of a segment in shared memory.
const fn bucket_bits(bytes: usize) -> u32 {
    match bytes {
        0..=8 => 9,
        9..=32 => 8,
        33..=64 => 7,
        _ => 6,
    }
}

/// Returns the number of blocks of `merge_sort_first_splitters`, which ranks as many samples as a block sorts items.
pub(super) const fn first_splitter_blocks<T>() -> usize {
    tile_items(size_of::<T>()) / (BLOCK_THREADS / RANK_LANES) as usize
}

/// Returns the largest number of items that a block sorts in shared memory.
const fn tile_items(bytes: usize) -> usize {
    (BLOCK_THREADS * items_per_thread(bytes)) as usize
}

/// Returns the mean number of items of a bucket. Few buckets have more items than a tile.
const fn bucket_items(bytes: usize) -> usize {
    tile_items(bytes) * 8 / 15
}

/// The levels of a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) levels: u32,
    capacity: usize,
    buckets: usize,
    max_buckets: usize,
    move_tile: usize,
}

impl Plan {
    /// Plans a call with up to `capacity` items of type `T`.
    pub(super) fn of<T>(capacity: usize) -> Self {
        let bytes = size_of::<T>();
        let max_buckets = 1 << bucket_bits(bytes);
        let (mut levels, mut buckets) = (0, 1);
        if capacity > tile_items(bytes) {
            let wanted = capacity.div_ceil(bucket_items(bytes));
            let holds = |buckets: usize, levels| {
                buckets.checked_pow(levels).is_none_or(|all| all >= wanted)
            };
            levels = (1..)
                .find(|&levels| holds(max_buckets, levels))
                .unwrap_or(1);
            buckets = (1..max_buckets)
                .find(|&buckets| holds(buckets, levels))
                .unwrap_or(max_buckets);
        }
        Self {
            levels,
            capacity,
            buckets,
            max_buckets,
            move_tile: (BLOCK_THREADS * move_items(bytes)) as usize,
        }
    }

    /// Returns the division of level `number`. The segments of the last one differ in size, so it may have half as many
    /// more buckets.
    pub(super) fn level(&self, number: u32) -> SortLevel {
        let is_last = number + 1 == self.levels;
        let buckets = match is_last && number > 0 {
            true => (self.buckets + self.buckets / 2 + 1).min(self.max_buckets),
            false => self.buckets,
        };
        SortLevel {
            segments: self.buckets.pow(number) as u64,
            buckets: buckets as u32,
            chunk_tiles: self.capacity.div_ceil(self.move_tile * MAX_CHUNKS) as u32,
            is_first: (number == 0).into(),
        }
    }

    /// Returns the number of slots of a level.
    pub(super) fn slots(&self, level: &SortLevel) -> usize {
        level.segments as usize + self.capacity / (self.move_tile * level.chunk_tiles as usize)
    }

    /// Returns the number of buckets of the last level, or 0 without levels.
    pub(super) fn last_buckets(&self) -> usize {
        match self.levels {
            0 => 0,
            levels => {
                let level = self.level(levels - 1);
                level.segments as usize * level.buckets as usize
            }
        }
    }
}

/// The operation of a [`Workspace`](super::Workspace) of this module.
#[doc(hidden)]
#[derive(Debug)]
pub struct Merging<T>(PhantomData<T>);

impl<T: 'static> Operation for Merging<T> {
    const NAME: &'static str = "merge_sort";
    const UNITS: &'static str = NAMES.input;

    fn sizes(items: usize) -> Sizes {
        let [_, counts, ..] = scratch_bytes::<T>(items);
        let tile_bytes = (BLOCK_THREADS * SCAN_ITEMS) as usize * size_of::<u64>();
        Sizes {
            // A look-back state of `u64` for each tile of counts.
            zeroed_words: 2 * (counts / tile_bytes + 1),
            bytes: (scratch_bytes::<T>(items).into_iter()).fold(0, usize::saturating_add),
        }
    }
}

/// Returns the sizes of the parts of the scratch memory in bytes: a copy of the items, and the tables of a level in the
/// order counts, begins, next begins, splitters, positions and buckets. They do not shrink as the number of items
/// grows.
pub(super) fn scratch_bytes<T>(items: usize) -> [usize; 7] {
    let bytes = size_of::<T>();
    let max_buckets = 1 << bucket_bits(bytes);
    // The levels have at most four times as many buckets as would be needed at the mean size.
    let buckets = (4 * items.div_ceil(bucket_items(bytes))).saturating_add(max_buckets);
    let move_tile = (BLOCK_THREADS * move_items(bytes)) as usize;
    let chunks = (items / move_tile).min(MAX_CHUNKS) + 1;
    [
        items.saturating_mul(bytes),
        (chunks * max_buckets).saturating_add(buckets) * size_of::<u64>(),
        (buckets + 1) * size_of::<u64>(),
        (buckets + 1) * size_of::<u64>(),
        buckets * bytes,
        buckets * size_of::<u64>(),
        items.saturating_mul(size_of::<u16>()),
    ]
    .map(|part| part.saturating_add(ALIGN - 1) / ALIGN * ALIGN)
}

/// Returns the kernel file with the text of a comparison, which errors name `path`.
pub(super) fn source<T: Shared, W: CountWord>(path: &str, comparison: &str) -> Source {
    const {
        assert!(
            size_of::<T>() <= MAX_ITEM_BYTES,
            "an item has at most 128 bytes"
        )
    };
    let bytes = size_of::<T>();
    let text = include_str!("../../kernels/merge_sort.cu");
    let source = Source::new("compaction/kernels/merge_sort.cu", text)
        .header_shown_as(INCLUDED, path.to_owned(), comparison.to_owned())
        .define("Item", T::NAME)
        .define("Word", W::NAME)
        .constant("BLOCK_THREADS", BLOCK_THREADS)
        .constant("ITEMS_PER_THREAD", items_per_thread(bytes))
        .constant("MOVE_ITEMS", move_items(bytes))
        .constant("SCAN_ITEMS", SCAN_ITEMS)
        .constant("BUCKET_BITS", bucket_bits(bytes))
        .constant("BUCKET_ITEMS", bucket_items(bytes) as u32)
        .constant("RANK_LANES", RANK_LANES)
        .kernel::<OfLevel<'static, T>>("merge_sort_first_splitters")
        .kernel::<OfLevel<'static, T>>("merge_sort_splitters")
        .kernel::<OfLevel<'static, T>>("merge_sort_count")
        .kernel::<Scan<'static>>("merge_sort_scan")
        .kernel::<Move<'static, T>>("merge_sort_move")
        .kernel::<Buckets<'static, T>>("merge_sort_buckets")
        .kernel::<Large<'static, T>>("merge_sort_large");
    look_back::declare(source)
}
