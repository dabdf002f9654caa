//! Chapter 2: every prefix at once.
//!
//! # What a scan is
//!
//! ```text
//! items        3  1  4  1  5  9  2  6
//! exclusive    0  3  4  8  9 14 23 25     the sum of what is before each item
//! inclusive    3  4  8  9 14 23 25 31     with the item itself
//! ```
//!
//! It answers the question that many writers of one buffer have: *where may I begin?* If the items are how much each of
//! them wants to write, the exclusive sums are where each begins, and nobody has to ask anybody else. Compaction, sorting
//! and the building of trees and queues all come down to it.
//!
//! Sum may be any operation that is *associative*, (a ∘ b) ∘ c = a ∘ (b ∘ c), with an identity to begin with: here
//! [sum, min and max](crate::scan::Operator). Associativity is what lets many threads take part: a run of items can be
//! combined by itself and counts as one item from then on. On one thread it is a loop:
//!
//! ```
//! let mut before = 0;
//! let sums = [3, 1, 4, 1, 5, 9, 2, 6].map(|item| {
//!     let sum = before;
//!     before += item;
//!     sum
//! });
//! assert_eq!(sums, [0, 3, 4, 8, 9, 14, 23, 25]);
//! ```
//!
//! Each turn needs the one before. Six ways out of this follow, oldest first; each is a
//! [`Strategy`](crate::scan::Strategy). The times are of 2²⁴ items of 4 bytes, which are copied in 35 µs.
//!
//! # 1. `hillis-steele`, 1986: everybody looks back twice as far
//!
//! In step k each item adds what is 2ᵏ places before it. After log₂ n steps it has everything.
//!
//! ```text
//! items      3  1  4  1  5  9  2  6
//! 1 back     3  4  5  5  6 14 11  8
//! 2 back     3  4  8  9 11 19 17 22
//! 4 back     3  4  8  9 14 23 25 31
//! ```
//!
//! ```
//! let mut sums = [3, 1, 4, 1, 5, 9, 2, 6];
//! for back in [1, 2, 4] {
//!     let before = sums; // all lanes read before one writes: hence two buffers
//!     for item in back..8 {
//!         sums[item] += before[item - back];
//!     }
//! }
//! assert_eq!(sums, [3, 4, 8, 9, 14, 23, 25, 31]);
//! ```
//!
//! As short as can be, and within a warp, by shuffles, still what everybody does. But each step is a launch over all
//! items: 24 launches, n log₂ n additions where the loop has n. 1432 µs. (W. D. Hillis and G. L. Steele, "Data Parallel
//! Algorithms", Communications of the ACM 29, 1986.)
//!
//! # 2. `blelloch`, 1990: no more additions than the loop, times two
//!
//! A balanced tree over the items. On the way up each node becomes the sum of its two; on the way down it hands what it
//! knows of those before it to its left, and that with the left one's sum to its right.
//!
//! ```text
//! up        31                               down       0
//!        9      22                                  0       9
//!      4   5  14   8                              0   4   9  23
//!     3 1 4 1 5 9 2 6                            0 3 4 8 9 14 23 25
//! ```
//!
//! ```
//! let mut tree = [3, 1, 4, 1, 5, 9, 2, 6]; // a node lies where the last of its items was
//! for half in [1, 2, 4] {
//!     for right in (2 * half - 1..8).step_by(2 * half) {
//!         tree[right] += tree[right - half];
//!     }
//! }
//! tree[7] = 0; // nothing is before the root
//! for half in [4, 2, 1] {
//!     for right in (2 * half - 1..8).step_by(2 * half) {
//!         let left_sum = tree[right - half];
//!         tree[right - half] = tree[right];
//!         tree[right] += left_sum;
//!     }
//! }
//! assert_eq!(tree, [0, 3, 4, 8, 9, 14, 23, 25]);
//! ```
//!
//! 2n additions. Done naively, with a thread for every item in each of the 2 log₂ n launches, of which ever fewer work, it
//! is *slower* than the method before: 2311 µs. Additions were never what costs. (G. E. Blelloch, "Prefix Sums and Their
//! Applications", Carnegie Mellon University, CMU-CS-90-190, 1990.)
//!
//! # 3. `blelloch-compact`: threads for the nodes only
//!
//! The same tree with threads numbered by nodes, so that launches shrink towards the root and no warp is mostly idle:
//! 639 µs. What is left is 48 launches, and strides: near the root every node lies in a sector of its own.
//!
//! # 4. `block-sums`, 2007: the tree stays within a block
//!
//! ```text
//! tiles        3 1 4 1 │ 5  9  2  6 │  5  3  5  8      a block each
//! by itself    0 3 4 8 │ 0  5 14 16 │  0  5  8 13      in a block's memory; sums 9, 22, 21
//! sums         0 9 31                                  scanned in the same way, level by level
//! together     0 3 4 8 │ 9 14 23 25 │ 31 36 39 44      each tile's is added to its items
//! ```
//!
//! A tile is scanned at the speed of shared memory and barriers, and one level of sums serves 4,096 tiles: three
//! launches up to 2²⁴ items, five beyond, and 4n items to and from memory. 77 µs. The recursion over levels is what
//! lifts the limit of the classic exercise, whose block sums have to fit one block. (M. Harris, S. Sengupta and J. D.
//! Owens, "Parallel Prefix Sum (Scan) with CUDA", GPU Gems 3, chapter 39, 2007.)
//!
//! # 5. `raking`, 2009: nothing is written that has to be corrected
//!
//! The first launch only *sums* each tile and writes one word for it. The sums are scanned. The last launch reads the
//! items a second time, starts from its tile's begin, and writes each result once. 3n instead of 4n: 62 µs. Threads take
//! several items in a row each (they *rake*), which saves most of the tree. (D. Merrill and A. Grimshaw, "Parallel Scan
//! for Stream Architectures", University of Virginia, CS2009-14, 2009; S. Baxter, moderngpu, 2013.)
//!
//! # 6. `look-back`, 2016: a single pass
//!
//! The items must be read once and written once: 2n. So a block that has summed its tile may not end; it has to learn what
//! is before it while it still holds the items. It could wait for its neighbour's result, but then tiles would go one
//! after the other. Instead every tile publishes what it knows as soon as it knows it, first its own sum, later the sum
//! of all up to its end; and a block looks back as far as it has to:
//!
//! ```text
//! tile            0         1         2         3
//! own sum         9        22        21        10
//! published     all 9    all 31    own 21       ·
//!
//! tile 3 publishes "own 10", looks at 2: own, 21 so far; at 1: all, 52, done. It publishes "all 62".
//! ```
//!
//! Waiting for another block is safe only if that one has begun. Tiles are therefore dealt out by a counter, the *ticket*,
//! and not by the block's number: whoever draws a tile knows that all tiles before it were drawn by blocks that run.
//! Here it is, with threads for blocks:
//!
//! ```
//! use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};
//!
//! const OWN: u64 = 1 << 32;
//! const ALL: u64 = 2 << 32;
//!
//! let items: Vec<u32> = (0..100_000).map(|item| item % 10).collect();
//! let tiles: Vec<_> = items.chunks(1024).collect();
//! let published: Vec<_> = tiles.iter().map(|_| AtomicU64::new(0)).collect();
//! let ticket = AtomicUsize::new(0);
//!
//! let block = || {
//!     while let Some((tile, items)) = Some(ticket.fetch_add(1, Relaxed)).and_then(|tile| Some((tile, tiles.get(tile)?))) {
//!         let own: u64 = items.iter().map(|&item| u64::from(item)).sum();
//!         published[tile].store(OWN | own, Release);
//!         let (mut before, mut look) = (0, tile);
//!         while look > 0 {
//!             let word = published[look - 1].load(Acquire);
//!             if word == 0 {
//!                 continue; // not yet known: look again
//!             }
//!             before += word & 0xffff_ffff;
//!             look = if word >= ALL { 0 } else { look - 1 };
//!         }
//!         published[tile].store(ALL | (before + own), Release);
//!         // Here the block writes the tile's prefixes, each with `before` added.
//!     }
//! };
//! std::thread::scope(|threads| (0..8).for_each(|_| drop(threads.spawn(block))));
//! assert_eq!(published[tiles.len() - 1].load(Relaxed), ALL | 450_000);
//! ```
//!
//! On a GPU a state is one word as well, value and status together, so that no fence is needed; a warp looks at 32 tiles at
//! once; and a word of the workspace counts the launches, so that states of an earlier one are recognised as old and
//! nobody has to clear them: one launch in all. On long inputs blocks stay, and bring their next tiles while they wait. 43 µs,
//! and 93 % of the speed of a copy at 2²⁸ items. (D. Merrill and M. Garland, "Single-pass Parallel Prefix Scan with Decoupled
//! Look-back", NVIDIA, NVR-2016-002, 2016.)
//!
//! # Which to use
//!
//! | you want | strategy |
//! |---|---|
//! | the fastest | `look-back`, the default |
//! | floating-point sums with the bits of the [CPU's](crate::scan::cpu) | `raking` |
//! | to see what the others cost | the commands in `BENCHMARKS.md` |
//!
//! Floating-point addition is not associative, so the order of additions shows in the last bits.
//! [`Strategy`](crate::scan::Strategy) says of each method what it promises; integers, minima and maxima are the same in
//! all.
//!
//! Next: [`select`](super::select).
