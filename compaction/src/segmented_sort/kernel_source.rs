//! The kernels of the segmented sort: their parameters, tiles and scratch memory.

use std::marker::PhantomData;

use super::{KEYS, Key, Order};
use crate::{
    CountWord,
    cuda::{In, InOut, Kernel, Source},
    radix_sort::SortTypes,
    scratch::{Operation, Sizes},
};

/// Threads per block of all kernels.
pub(super) const BLOCK_THREADS: u32 = 256;
/// Items of the longest segment that a warp sorts, as in the kernel.
pub(super) const SHORT: usize = 256;
/// The largest number of segments of a warp.
pub(super) const MAX_WARP_SEGMENTS: usize = 32;
/// The smallest number of segments of a warp, which sorts so many at a time.
pub(super) const MIN_WARP_SEGMENTS: usize = 4;
/// Number of warps per multiprocessor from which a warp takes more segments.
pub(super) const ENOUGH_WARPS: usize = 32;
/// Blocks per multiprocessor of the kernels for long segments, which stride over the list of chunks.
pub(super) const BLOCKS_PER_MULTIPROCESSOR: u32 = 8;
/// Alignment of the parts of the scratch memory in bytes.
pub(super) const ALIGN: usize = 256;
/// Size of an entry in the list of chunks in bytes.
pub(super) const CHUNK_BYTES: usize = 24;

/// The parameters of the kernel `segmented_sort_short`: `(keys, values, item_count, offsets, length, count, capacity,
/// is_given, warp_segments, keys_out, values_out, list, list_capacity, workspace)`. `length` is that of all segments,
/// or 0 for segments between offsets.
pub(super) type Short<W> = (
    In<u8>,
    In<u8>,
    u64,
    In<W>,
    u64,
    In<u32>,
    u64,
    u32,
    u32,
    InOut<u8>,
    InOut<u8>,
    InOut<u64>,
    u64,
    InOut<u64>,
);
/// The parameters of the kernel `segmented_sort_tiles`: `(keys, values, is_last, keys_out, values_out, keys_scratch,
/// values_scratch, list, list_capacity, workspace)`. `is_last` is 1 in the last launch of a call, and 0 in the others.
pub(super) type Tiles = (
    In<u8>,
    In<u8>,
    u32,
    InOut<u8>,
    InOut<u8>,
    InOut<u8>,
    InOut<u8>,
    InOut<u64>,
    u64,
    InOut<u64>,
);
/// The parameters of the kernel `segmented_sort_merge`: `(round, is_last, keys_out, values_out, keys_scratch,
/// values_scratch, list, list_capacity, workspace)`. It merges runs of 2^round tiles.
pub(super) type Merge = (
    u32,
    u32,
    InOut<u8>,
    InOut<u8>,
    InOut<u8>,
    InOut<u8>,
    InOut<u64>,
    u64,
    InOut<u64>,
);

/// Returns the items per thread that sorts a tile in shared memory. An odd number avoids bank conflicts.
const fn items_per_thread(key_bytes: usize, value_bytes: usize) -> u32 {
    // An entry in shared memory also has an index if there are values.
    match (key_bytes, value_bytes) {
        (1 | 2 | 4, 0) | (1 | 2, _) => 15,
        (8, 0) | (4, _) => 7,
        _ => 3,
    }
}

/// Returns the items of a tile that a block sorts.
pub(super) const fn tile_items(key_bytes: usize, value_bytes: usize) -> usize {
    (BLOCK_THREADS * items_per_thread(key_bytes, value_bytes)) as usize
}

/// Returns the largest number of chunks in the list: a segment that is not short has one chunk more than whole tiles.
pub(super) const fn list_capacity(items: usize, tile_items: usize) -> usize {
    items / tile_items + items / (SHORT + 1) + 1
}

/// Returns the number of rounds of merges that sort as many items.
pub(super) fn merge_rounds(items: usize, tile_items: usize) -> u32 {
    let tiles = items.div_ceil(tile_items).max(1);
    tiles.next_power_of_two().ilog2()
}

/// The operation of a [`Workspace`] of this module.
#[doc(hidden)]
#[derive(Debug)]
pub struct Sorting<K, V>(PhantomData<(K, V)>);

impl<K: Key, V: 'static> Operation for Sorting<K, V> {
    const NAME: &'static str = "segmented_sort";
    const UNITS: &'static str = KEYS;

    /// The number of chunks and of finished blocks; the list of chunks, and copies of keys and values.
    fn sizes(items: usize) -> Sizes {
        let [list, keys, values] = part_bytes::<K>(items, size_of::<V>());
        Sizes {
            zeroed_words: 2,
            bytes: list
                .saturating_add(keys)
                .saturating_add(values)
                .saturating_add(2 * ALIGN),
        }
    }
}

/// Returns the sizes of the list of chunks and of the copies of keys and values.
pub(super) fn part_bytes<K>(items: usize, value_bytes: usize) -> [usize; 3] {
    let chunks = list_capacity(items, tile_items(size_of::<K>(), value_bytes));
    [
        chunks.saturating_mul(CHUNK_BYTES),
        items.saturating_mul(size_of::<K>()),
        items.saturating_mul(value_bytes),
    ]
    .map(|bytes| bytes.saturating_add(ALIGN - 1) / ALIGN * ALIGN)
}

/// The loaded kernels for one size of values.
#[derive(Debug)]
pub(super) struct Kernels<W: CountWord> {
    pub(super) tile_items: usize,
    pub(super) short: Kernel<Short<W>>,
    pub(super) tiles: Kernel<Tiles>,
    pub(super) merge: Kernel<Merge>,
}

/// Returns the kernel file for keys of type `K`, offsets of type `W`, and values of a size in bytes.
pub(super) fn source<K: Key, W: CountWord>(order: Order, value_bytes: usize) -> Source {
    let text = include_str!("../../kernels/segmented_sort.cu");
    let source = Source::new("compaction/kernels/segmented_sort.cu", text)
        .constant("BLOCK_THREADS", BLOCK_THREADS)
        .constant(
            "ITEMS_PER_THREAD",
            items_per_thread(size_of::<K>(), value_bytes),
        )
        .kernel::<Short<W>>("segmented_sort_short")
        .kernel::<Tiles>("segmented_sort_tiles")
        .kernel::<Merge>("segmented_sort_merge");
    SortTypes::of::<K, W>(value_bytes as u32).declare(source, order)
}
