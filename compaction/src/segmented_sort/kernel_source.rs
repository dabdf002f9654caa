//! The kernels of the segmented sort: their parameters, tiles and scratch memory.

use std::marker::PhantomData;

use super::{KEYS, Key, Order};
pub(super) use crate::policies::segmented_sort::{
    BLOCK_THREADS, BLOCKS_PER_MULTIPROCESSOR, ENOUGH_WARPS, MAX_WARP_SEGMENTS, MIN_WARP_SEGMENTS,
};
use crate::{
    CountWord,
    arguments::Input,
    cuda::{In, InOut, Kernel, Source, kernel_params},
    radix_sort::SortTypes,
    scratch::{Operation, Sizes},
    shared,
};

/// Items of the longest segment that a warp sorts, as in the kernel.
pub(super) const SHORT: usize = 256;
/// Alignment of the parts of the scratch memory in bytes.
pub(super) const ALIGN: usize = 256;
/// Size of an entry in a list of chunks in bytes.
const CHUNK_BYTES: usize = 24;
/// The largest number of rounds of merges.
const MAX_ROUNDS: usize = 64;
/// Number of words in the workspace that describe the lists: five counters, and one for each round.
const LIST_WORDS: usize = 5 + MAX_ROUNDS;

shared! {
    /// The input and output of a call, as bytes. Without values, nothing accesses theirs.
    pub(super) struct SortBuffers<'a> {
        pub(super) keys: In<u8>,
        pub(super) values: In<u8>,
        pub(super) keys_out: InOut<u8>,
        pub(super) values_out: InOut<u8>,
    }
}
shared! {
    /// Room for as many keys and values as the output, as bytes.
    pub(super) struct ScratchBuffers<'a> {
        pub(super) keys: InOut<u8>,
        pub(super) values: InOut<u8>,
    }
}
shared! {
    /// The segments of a call. `kernels/segmented_sort.cu` documents the fields.
    pub(super) struct SegmentRange {
        pub(super) items: u64,
        pub(super) length: u64,
        pub(super) warp_segments: u64,
    }
}
shared! {
    /// Memory for the lists of chunks. `kernels/segmented_sort.cu` documents the fields.
    pub(super) struct ListRoom<'a> {
        pub(super) chunks: InOut<u64>,
        pub(super) several: u64,
        pub(super) single: u64,
    }
}

impl SortBuffers<'_> {
    /// Borrows the buffers for one launch.
    pub(super) fn borrow(&mut self) -> SortBuffers<'_> {
        SortBuffers {
            keys: self.keys.slice(..),
            values: self.values.slice(..),
            keys_out: self.keys_out.slice_mut(..),
            values_out: self.values_out.slice_mut(..),
        }
    }
}

impl ListRoom<'_> {
    /// Borrows the memory for one launch.
    pub(super) fn borrow(&mut self) -> ListRoom<'_> {
        ListRoom {
            chunks: self.chunks.slice_mut(..),
            several: self.several,
            single: self.single,
        }
    }
}

kernel_params! {
    /// The parameters of the kernel `segmented_sort_short`.
    pub(super) struct Short<'a, W: CountWord> {
        buffers: SortBuffers<'static>,
        offsets: In<W>,
        range: SegmentRange,
        input: Input<'static>,
        room: ListRoom<'static>,
        workspace: InOut<u64>,
    }

    /// The parameters of the kernel `segmented_sort_long`.
    pub(super) struct Long<'a> {
        buffers: SortBuffers<'static>,
        scratch: ScratchBuffers<'static>,
        room: ListRoom<'static>,
        workspace: InOut<u64>,
    }
}

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

/// Returns the largest numbers of chunks in the lists: of segments with several chunks, and others. A segment has at
/// most twice as many chunks as whole tiles, and a chunk is listed only if the segment is not short.
pub(super) const fn list_capacities(items: usize, tile_items: usize) -> [usize; 2] {
    [2 * (items / tile_items), items / (SHORT + 1)]
}

/// The operation of a [`Workspace`] of this module.
#[doc(hidden)]
#[derive(Debug)]
pub struct Sorting<K, V>(PhantomData<(K, V)>);

impl<K: Key, V: 'static> Operation for Sorting<K, V> {
    const NAME: &'static str = "segmented_sort";
    const UNITS: &'static str = KEYS;

    /// The counters of the lists of chunks; the lists, and copies of keys and values.
    fn sizes(items: usize) -> Sizes {
        let [list, keys, values] = part_bytes::<K>(items, size_of::<V>());
        Sizes {
            zeroed_words: LIST_WORDS,
            bytes: list
                .saturating_add(keys)
                .saturating_add(values)
                .saturating_add(2 * ALIGN),
        }
    }
}

/// Returns the sizes of the lists of chunks and of the copies of keys and values.
pub(super) fn part_bytes<K>(items: usize, value_bytes: usize) -> [usize; 3] {
    let [several, single] = list_capacities(items, tile_items(size_of::<K>(), value_bytes));
    [
        (several + single + 1).saturating_mul(CHUNK_BYTES),
        items.saturating_mul(size_of::<K>()),
        items.saturating_mul(value_bytes),
    ]
    .map(|bytes| bytes.saturating_add(ALIGN - 1) / ALIGN * ALIGN)
}

/// The loaded kernels for one size of values.
#[derive(Debug)]
pub(super) struct Kernels<W: CountWord> {
    pub(super) short: Kernel<Short<'static, W>>,
    pub(super) long: Kernel<Long<'static>>,
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
        .constant("MAX_ROUNDS", MAX_ROUNDS as u32)
        .constant("LIST_WORDS", LIST_WORDS as u32)
        .kernel::<Short<'static, W>>("segmented_sort_short")
        .kernel::<Long<'static>>("segmented_sort_long");
    SortTypes::of::<K, W>(value_bytes as u32).declare(source, order)
}
