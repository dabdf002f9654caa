//! Chapter 3: compaction.
//!
//! # What it is, and why GPUs need it
//!
//! ```text
//! flags      0  1  1  0  0  1
//! items      a  b  c  d  e  f
//! items   →  b  c  f              count → 3
//! ```
//!
//! On one thread it is `items.retain(…)`. On a GPU it is what keeps the warps full. Take a path tracer: a thread for each
//! light path, and after some bounces three of four paths have ended. If the dead stay where they are, every warp still
//! runs for its last live lane. So the live ones, or rather their indices, are moved together after each bounce, and
//! fewer warps go on, all of them full: a *wavefront* (S. Laine, T. Karras and T. Aila, "Megakernels Considered Harmful",
//! High Performance Graphics 2013).
//!
//! ```text
//! warps of 4    [a . . d] [. . g .] [. j . .] [m n . .]     4 warps run for 6 paths
//! compacted     [a d g j] [m n    ]                         2
//! ```
//!
//! # Scan, then scatter
//!
//! A survivor's place is the number of survivors before it: the [scan](super::scan) of the flags.
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
//! All methods that keep the order do this. They differ in how many of the places ever reach memory. The times are for
//! the indices of 2²⁴ flags of which half are set, k of n; 17 MB in and 34 MB out.
//!
//! 1. **`scan-scatter`**, 2007, does it to the letter: every item's rank is written by one launch and read by another, 4
//!    bytes each way for a flag of one. 10n + 4k bytes, 201 µs. (Harris, Sengupta and Owens, GPU Gems 3, chapter 39; the
//!    first on GPUs was D. Horn, "Stream Reduction Operations for GPGPU Applications", GPU Gems 2, 2005.)
//! 2. **`sequences`**, 2009: flags are so much smaller than ranks that it is cheaper to read them twice. Each warp takes a
//!    run of items and only *counts*; the counts are scanned, one for thousands of items; then each warp goes through its
//!    run again and ranks as it moves. 2n + 4k bytes, 36 µs. (M. Billeter, O. Olsson and U. Assarsson, "Efficient Stream
//!    Compaction on Wide SIMD Many-Core Architectures", High Performance Graphics 2009.)
//! 3. **`count-scan-scatter`**, 2014, says the same in the words of a later GPU, and in a few lines: the barrier itself
//!    counts (`__syncthreads_count`), ballots rank. The same bytes, but an item a thread where `sequences` loads 16 at
//!    once: 138 µs. (D. Spataro, cuStreamComp.)
//! 4. **`look-back`**, 2016: one pass, as in the [scan](super::scan), over counts instead of sums. A block reads its flags
//!    once, learns what is before them while it holds them, and writes. n + 4k bytes, one launch, 25 µs: the default.
//!
//! Two give something up:
//!
//! * **`atomic`** gives up the order. A block reserves room by one atomic addition, and nobody waits for anybody: 23 µs.
//!   Two runs give two orders. Where the order decides results, as in a sum of floats, they are not repeatable either.
//! * **`hole-filling`** gives up the order for few moves. With k survivors, those among the first k places stay; the holes
//!   between them are as many as the survivors behind:
//!
//!   ```text
//!   flags      1  0  1  1  0  1  1       five survive: holes at 1 and 4, survivors behind at 5 and 6
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
//!   It is for wide items [in place](crate::select::Select::in_place) of which few go: no more move than go.
//!
//! # Which to use
//!
//! | you want | use |
//! |---|---|
//! | survivors in order, the same in every run | `look-back`, the default |
//! | the last few percent, and any order will do | `atomic` |
//! | wide items in their own buffer, few of them dead | `hole-filling` |
//! | to know what compaction gains | `off`: everything stays in place |
//! | to compare | `cargo run --release -p compaction --example compare` |
//!
//! And *what* to move:
//!
//! * **Indices** ([`Select::indices`](crate::select::Select::indices)) if the items are wide and read once or twice before
//!   the next round: 4 bytes a survivor, and the items stay where they are.
//! * **Items** ([`Select::items`](crate::select::Select::items)) if they are narrow, such as the indices of the round
//!   before.
//! * **Columns** ([`select_columns`](crate::select_columns)) if a struct of arrays is read often after. Memory comes in
//!   sectors of 32 bytes: where survivors are scattered and three of ten live, columns of 4 bytes touch 94 % of the
//!   sectors, columns of 16 bytes 51 %. Fields that move together belong into one wide column.
//! * A **[predicate](crate::select::SelectIf)** if the flag would be computed from the item anyway: no flags are written
//!   or read.
//!
//! Next: [`order`](super::order).
