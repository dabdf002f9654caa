//! Tuning constants of the kernels, by operation: threads of a block, items of a thread, blocks of a multiprocessor, and
//! the lengths from which another kernel is faster.
//!
//! They were measured on an H200, and serve all GPUs. A kernel file that distinguishes architectures does so itself. Results
//! do not depend on them, except for the order of floating-point additions where a module says so.

/// Stream compaction: [`select`](crate::select).
pub(crate) mod select {
    /// Threads per block of all kernels of this module.
    pub(crate) const BLOCK_THREADS: u32 = 512;
    /// The largest number of sequences into which `sequences` cuts the items, one per warp: the number of warps that the
    /// largest current GPUs run at once.
    pub(crate) const MAX_SEQUENCES: u32 = 8192;
    /// Number of items of a launch from which `look-back` uses the kernel with tiles of twice the length.
    pub(crate) const MANY_ITEMS: u32 = 1 << 22;
    /// Number of items of a launch from which `select_if_many_look_back` is faster than `select_if_look_back`: there are
    /// more blocks than a GPU runs at once.
    pub(crate) const MANY_TESTED_ITEMS: u32 = 1 << 23;
}

/// Stream compaction of columns: [`select_columns`](crate::select_columns).
pub(crate) mod select_columns {
    /// Threads per block of both kernels: `select_columns`, and `select_columns_portion` for a portion of the items of a
    /// call that counts by `u64`.
    pub(crate) const BLOCK_THREADS: u32 = 256;
    /// The largest number of bytes of items that a thread holds in registers between reading and writing them.
    pub(crate) const BATCH_BYTES: u32 = 128;
}

/// Partition: [`partition`](crate::partition).
pub(crate) mod partition {
    /// Threads per block of all kernels of `Partition`.
    pub(crate) const BLOCK_THREADS: u32 = 256;
    /// Blocks per multiprocessor of `Partition`: enough to keep it busy, and few enough that each block
    /// can read all counts.
    pub(crate) const BLOCKS_PER_MULTIPROCESSOR: u32 = 4;
    /// The largest number of class bits for which a warp ranks items by ballots, one per bit. With more bits, the warp uses
    /// masks in shared memory.
    pub(crate) const MAX_VOTES: u32 = 5;
}

/// Scans: [`scan`](crate::scan). `LANE_BYTES`, `LEVEL_ROWS` and `LOOK_BACK_ROWS` determine the order of floating-point
/// additions.
pub(crate) mod scan {
    /// Threads per block of all kernels but `scan_look_ahead`, the kernel for long inputs.
    pub(crate) const BLOCK_THREADS: u32 = 256;
    /// Bytes of consecutive items that a thread loads at once: one 16-byte vector. The vectors of a warp's 32 threads are a
    /// row of a tile.
    pub(crate) const LANE_BYTES: u32 = 16;
    /// Rows of a tile, of 32 vectors each, that each warp processes in `block-sums` and `raking`.
    pub(crate) const LEVEL_ROWS: u32 = 4;
    /// Rows of a tile, of 32 vectors each, that each warp processes in `look-back`.
    pub(crate) const LOOK_BACK_ROWS: u32 = 8;
    /// Number of tiles that a block of `scan_look_ahead` holds in its ring buffer in shared memory.
    pub(crate) const RING_TILES: u32 = 6;
    /// Threads per block of `scan_look_ahead`: 256 that sum tiles, 256 that write prefixes, one warp that loads tiles, and
    /// one that looks back.
    pub(crate) const LOOK_AHEAD_THREADS: u32 = 2 * BLOCK_THREADS + 2 * 32;
    /// Number of tiles of an input from which `scan_look_ahead` is faster than `scan_look_back`.
    pub(crate) const LOOK_AHEAD_MIN_TILES: usize = 1024;
}

/// Operations on runs, and custom scans. `THREAD_BYTES` and `MAX_ROWS` determine the order of floating-point additions.
pub(crate) mod tiles {
    /// Threads per block of all kernels.
    pub(crate) const BLOCK_THREADS: usize = 256;
    /// Bytes of the items that a thread holds in registers, unless four items are larger.
    pub(crate) const THREAD_BYTES: usize = 128;
    /// The largest number of rows of each warp.
    pub(crate) const MAX_ROWS: usize = 8;
    /// The largest number of bytes of an item that a block stages in shared memory, so that it writes whole lines.
    pub(crate) const MAX_STAGED_BYTES: usize = 32;
}

/// Reductions: [`reduce`](crate::reduce). All but `RESIDENT_BLOCKS` determine the order of floating-point additions.
pub(crate) mod reduce {
    /// Threads per block of all kernels.
    pub(crate) const BLOCK_THREADS: u32 = 256;
    /// Resident blocks per multiprocessor for which the kernels are compiled.
    pub(crate) const RESIDENT_BLOCKS: u32 = 4;
    /// The largest number of blocks of a launch. With more items, each warp combines several segments.
    pub(crate) const MAX_BLOCKS: u32 = 4096;
    /// The largest number of bytes of a vector that a lane loads at once, unless one item is larger.
    pub(crate) const LANE_BYTES: usize = 16;
    /// The largest number of vectors of a lane in a segment: the loads that a lane has in flight.
    pub(crate) const LANE_ROWS: usize = 8;
}

/// Reductions of segments: [`segmented_reduce`](crate::segmented_reduce).
pub(crate) mod segmented_reduce {
    /// Threads per block. Warps work independently of each other.
    pub(crate) const BLOCK_THREADS: u32 = 256;
    /// The largest number of slots of a warp, each with one chunk. It is limited by the lanes of a warp.
    pub(crate) const MAX_WARP_SLOTS: u64 = 32;
    /// The smallest number of slots of a warp, which are reduced at a time.
    pub(crate) const MIN_WARP_SLOTS: u64 = 8;
    /// Number of warps per multiprocessor from which a warp takes more slots.
    pub(crate) const ENOUGH_WARPS: u64 = 512;
}

/// Histograms: [`histogram`](crate::histogram).
pub(crate) mod histogram {
    /// Threads per block.
    pub(crate) const THREADS: u32 = 1024;
    /// The number of cells between the lowest and the highest of many bounds.
    pub(crate) const CELLS: u32 = 1 << 14;
    /// The largest number of packed bins: a group of their bounds has a number of 15 bits.
    pub(crate) const MOST_PACKED: usize = 120_000;
    /// The largest number of blocks per multiprocessor, which then has as many threads as it can have.
    pub(crate) const BLOCKS_PER_MULTIPROCESSOR: u32 = 2;
    /// Bytes of items per thread for which a grid gets another block.
    pub(crate) const THREAD_BYTES: usize = 16;
    /// Bytes of the counters of a block up to which bins have several counters.
    pub(crate) const REPLICATED_BYTES: u32 = 32 << 10;
    /// Bytes of shared memory for a sample of the bounds.
    pub(crate) const SAMPLE_BYTES: u32 = 32 << 10;
    /// Number of bins up to which the totals are in the workspace, so that a call is one launch.
    pub(crate) const MOST_TOTALS: usize = 1024;
}

/// Gather and scatter: [`gather`](crate::gather).
pub(crate) mod gather {
    /// Threads per block.
    pub(crate) const BLOCK_THREADS: u32 = 256;
    /// Parts of items that a thread copies at a time, as in the kernel.
    pub(crate) const BATCH: u32 = 8;
    /// The largest number of blocks per multiprocessor. They stride over the items.
    pub(crate) const BLOCKS_PER_MULTIPROCESSOR: u32 = 64;
}

/// The strategy `onesweep` of [`radix_sort`](crate::radix_sort).
pub(crate) mod onesweep {
    /// Threads per block of the kernels `radix_sort_count` and `radix_sort_onesweep`.
    pub(crate) const THREADS: u32 = 384;
    /// Items per thread of `radix_sort_onesweep`, for keys and values of at most 4 bytes. More would fit neither in the
    /// registers nor in the 48 KB of shared memory that every GPU offers a block.
    pub(crate) const ITEMS_PER_THREAD: u32 = 28;
    /// Blocks of `radix_sort_onesweep` per multiprocessor to compile for.
    pub(crate) const BLOCKS_PER_MULTIPROCESSOR: u32 = 2;
    /// Look-back states of earlier tiles that a thread of `radix_sort_onesweep` reads at once.
    pub(crate) const WINDOW: u32 = 4;
    /// The largest number of blocks of `radix_sort_count` per multiprocessor.
    pub(crate) const COUNT_BLOCKS_PER_MULTIPROCESSOR: u32 = 4;
    /// Keys that a thread of `radix_sort_count` loads at once.
    pub(crate) const COUNT_BATCH: u32 = 8;
    /// The largest number of tiles per launch; the items of one launch are a portion. With one state per tile and bin, this
    /// limits the states to 64 MiB for any number of keys.
    pub(crate) const PORTION_TILES: u32 = 1 << 15;
}

/// The strategy `split` of [`radix_sort`](crate::radix_sort).
pub(crate) mod split {
    /// Threads per block of the kernels `radix_sort_zeros` and `radix_sort_split`.
    pub(crate) const THREADS: u32 = 256;
    /// The largest number of blocks of both kernels per multiprocessor.
    pub(crate) const BLOCKS_PER_MULTIPROCESSOR: u32 = 4;
}

/// Top k: [`top_k`](crate::top_k).
pub(crate) mod top_k {
    /// Threads per block of both kernels.
    pub(crate) const BLOCK_THREADS: u32 = 512;
    /// Keys per thread of `top_k_select`.
    pub(crate) const ITEMS_PER_THREAD: u32 = 16;
    /// The largest number of blocks of `top_k_count` per multiprocessor.
    pub(crate) const BLOCKS_PER_MULTIPROCESSOR: u32 = 3;
    /// Bytes of keys per thread of `top_k_count` for which a grid gets another block.
    pub(crate) const THREAD_BYTES: usize = 64;
}

/// Sorts of segments: [`segmented_sort`](crate::segmented_sort).
pub(crate) mod segmented_sort {
    /// Threads per block of all kernels.
    pub(crate) const BLOCK_THREADS: u32 = 256;
    /// The largest number of segments of a warp.
    pub(crate) const MAX_WARP_SEGMENTS: usize = 16;
    /// The smallest number of segments of a warp, which sorts so many at a time.
    pub(crate) const MIN_WARP_SEGMENTS: usize = 4;
    /// Number of warps per multiprocessor from which a warp takes more segments.
    pub(crate) const ENOUGH_WARPS: usize = 32;
    /// Blocks per multiprocessor of the kernels for long segments, which take chunks one after the other.
    pub(crate) const BLOCKS_PER_MULTIPROCESSOR: usize = 8;
}

/// Merge sort: [`merge_sort`](crate::merge_sort).
pub(crate) mod merge_sort {
    /// Threads per block of all kernels.
    pub(crate) const BLOCK_THREADS: u32 = 256;
    /// Counts per thread of the kernel `merge_sort_scan`.
    pub(crate) const SCAN_ITEMS: u32 = 8;
    /// Number of threads that rank a sample in the kernel `merge_sort_first_splitters`.
    pub(crate) const RANK_LANES: u32 = 16;
    /// The largest number of blocks of the kernel `merge_sort_large`.
    pub(crate) const LARGE_BLOCKS: usize = 128;
    /// The largest number of chunks of all segments of a level, besides one more for each segment.
    pub(crate) const MAX_CHUNKS: usize = 4096;
}

/// Summed-area tables: [`summed_area`](crate::summed_area). `LANE_BYTES` and `WARP_ROWS` determine the order of
/// floating-point additions.
pub(crate) mod summed_area {
    /// Threads per block of all kernels of this module.
    pub(crate) const BLOCK_THREADS: u32 = 256;
    /// Bytes of consecutive items that a thread loads at once from one row: one 16-byte vector.
    pub(crate) const LANE_BYTES: u32 = 16;
    /// Rows of a `single-pass` tile that each warp processes.
    pub(crate) const WARP_ROWS: u32 = 8;
    /// Blocks of `single-pass` per multiprocessor to compile for. Several blocks hide the time in which tiles wait.
    pub(crate) const SINGLE_PASS_BLOCKS: u32 = 5;
}
