//! Chapter 3: stream compaction.
//!
//! # What it is, and why GPUs need it
//!
//! ```text
//! flags      0  1  1  0  0  1
//! items      a  b  c  d  e  f
//! items   →  b  c  f              count → 3
//! ```
//!
//! On one thread, compaction is `items.retain(…)`. On a GPU, it keeps the warps full. An example is a path tracer with
//! one thread per light path, in which three of four paths have ended after some bounces. If dead paths stay where they
//! are, every warp still runs for its last live lane. Therefore the indices of the live paths are compacted after each
//! bounce, and fewer warps continue, all of them full: a *wavefront* path tracer (S. Laine, T. Karras and T. Aila,
//! "Megakernels Considered Harmful", High Performance Graphics 2013).
//!
//! ```text
//! warps of 4    [a . . d] [. . g .] [. j . .] [m n . .]     4 warps run for 6 paths
//! compacted     [a d g j] [m n    ]                         2
//! ```
//!
//! # Scan, then scatter
//!
//! The output index of a survivor is the number of survivors before it: the exclusive [scan](super::scan) of the flags.
//!
//! ```
//! use compaction::scan::{Operator, cpu::exclusive};
//!
//! let (items, flags) = (['a', 'b', 'c', 'd', 'e', 'f'], [0, 1, 1, 0, 0, 1]);
//! let mut places = [0; 6];
//! exclusive(Operator::Sum, &flags, &mut places)?;
//! assert_eq!(places, [0, 0, 1, 2, 2, 2]);
//!
//! let mut out = ['.'; 6];
//! for item in (0..6).filter(|&item| flags[item] != 0) {
//!     out[places[item] as usize] = items[item];
//! }
//! assert_eq!(out, ['b', 'c', 'f', '.', '.', '.']);
//! # Ok::<(), compaction::Error>(())
//! ```
//!
//! All methods that keep the order compute these indices. They differ in how many of them are written to memory. The
//! times are for the indices of n = 2²⁴ flags of which half are set; k is the number of survivors. The input has 17 MB
//! and the output 34 MB.
//!
//! 1. **`scan-scatter`**, 2007, writes every item's rank in one launch and reads it in another, with 4 bytes each way
//!    for a flag of one byte. 10n + 4k bytes, 201 µs. (Harris, Sengupta and Owens, GPU Gems 3, chapter 39. The first
//!    compaction on GPUs was D. Horn, "Stream Reduction Operations for GPGPU Applications", GPU Gems 2, 2005.)
//! 2. **`sequences`**, 2009: flags are so much smaller than ranks that reading them twice is cheaper. Each warp takes a
//!    run of items and only *counts*. The counts are scanned, one for thousands of items. Then each warp reads its run
//!    again and ranks the survivors while it moves them. 2n + 4k bytes, 36 µs. (M. Billeter, O. Olsson and U.
//!    Assarsson, "Efficient Stream Compaction on Wide SIMD Many-Core Architectures", High Performance Graphics 2009.)
//! 3. **`count-scan-scatter`**, 2014, is a short version of the same idea for later GPUs: the barrier itself counts
//!    (`__syncthreads_count`), and ballots rank. It moves the same bytes, but with one item per thread where
//!    `sequences` loads 16 at once: 138 µs. (D. Spataro, cuStreamComp.)
//! 4. **`look-back`**, 2016: a single pass, as in the [scan](super::scan), over counts instead of sums. A block reads
//!    its flags once, finds its offset while it holds them, and writes. n + 4k bytes, one launch, 25 µs: the default.
//!
//! Two strategies give up the order:
//!
//! * **`atomic`** reserves output space with one atomic addition per block, and no block waits for another: 23 µs. Two
//!   runs give two orders. Results that depend on the order, such as a sum of floats, are then not repeatable.
//! * **`hole-filling`** moves few items. With k survivors, those among the first k places stay, and there are as many
//!   holes between them as survivors behind them:
//!
//!   ```text
//!   flags      1  0  1  1  0  1  1       five survivors: holes at 1 and 4, survivors behind at 5 and 6
//!   items      a  b  c  d  e  f  g
//!   items   →  a  g  c  d  f             the last fills the first hole
//!   ```
//!
//!   ```
//!   let (mut items, flags) = (*b"abcdefg", [1, 0, 1, 1, 0, 1, 1]);
//!   let kept = flags.iter().sum();
//!   let holes = (0..kept).filter(|&item| flags[item] == 0);
//!   let movers = (kept..7).rev().filter(|&item| flags[item] == 1);
//!   for (hole, mover) in holes.zip(movers).collect::<Vec<_>>() {
//!       items[hole] = items[mover];
//!   }
//!   assert_eq!(&items[..kept], b"agcdf");
//!   ```
//!
//!   It suits [in-place](crate::select::Select::in_place) compaction of wide items of which few are removed: it moves
//!   at most as many items as it removes.
//!
//! # Which to use
//!
//! | goal | use |
//! |---|---|
//! | survivors in order, the same in every run | `look-back`, the default |
//! | the last few percent of speed, in any order | `atomic` |
//! | wide items in their own buffer, few of them dead | `hole-filling` |
//! | measuring what compaction gains | `off`, which leaves all items in place |
//! | comparing the strategies | `cargo run --release -p compaction --example compare` |
//!
//! Also choose *what* to move:
//!
//! * **Indices** ([`Select::indices`](crate::select::Select::indices)) if the items are wide and read once or twice
//!   before the next round: 4 bytes per survivor, and the items stay where they are.
//! * **Items** ([`Select::items`](crate::select::Select::items)) if they are narrow, such as the indices of the
//!   previous round.
//! * **Columns** ([`select_columns`](crate::select_columns)) if a struct of arrays is read often afterwards. Memory is
//!   read in sectors of 32 bytes. If survivors are scattered and three of ten items survive, columns of 4 bytes touch
//!   94 % of the sectors, and columns of 16 bytes 51 %. Fields that move together belong in one wide column.
//! * A **[predicate](crate::select::SelectIf)** if the flag would be computed from the item anyway: then no flags are
//!   written or read.
//!
//! Next: [`order`](super::order).
