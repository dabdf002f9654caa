//! Chapter 2: prefix sums in parallel.
//!
//! # What a scan is
//!
//! ```text
//! items        3  1  4  1  5  9  2  6
//! exclusive    0  3  4  8  9 14 23 25     the sum of the items before each item
//! inclusive    3  4  8  9 14 23 25 31     the sum including the item itself
//! ```
//!
//! A scan answers the question *where may I write?* when many threads write to one buffer. If each item is the amount
//! that a thread wants to write, the exclusive sums are the offsets at which the threads begin. Compaction, sorting,
//! and building trees and queues all rely on it.
//!
//! The sum may be replaced by any *associative* operation, (a ∘ b) ∘ c = a ∘ (b ∘ c), with an identity: this crate
//! offers [sum, min and max](crate::scan::Operator). Associativity lets many threads take part, because a run of items
//! can be combined separately and then counts as one item. On one thread, a scan is a loop:
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
//! Each iteration needs the one before. Six ways to avoid this follow, oldest first; each is a
//! [`Strategy`](crate::scan::Strategy). The times are for 2²⁴ items of 4 bytes, which a copy moves in 35 µs.
//!
//! # 1. `hillis-steele`, 1986: double the distance in each step
//!
//! In step k, each item adds the value 2ᵏ places before it. After log₂ n steps, each holds its whole prefix.
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
//!     let before = sums; // all lanes read before any lane writes: hence two buffers
//!     for item in back..8 {
//!         sums[item] += before[item - back];
//!     }
//! }
//! assert_eq!(sums, [3, 4, 8, 9, 14, 23, 25, 31]);
//! ```
//!
//! This is the shortest method, and within a warp, with shuffles, it is still the standard one. But each step is a
//! launch over all items: 24 launches and n log₂ n additions, where the loop needs n. 1432 µs. (W. D. Hillis and G. L.
//! Steele, "Data Parallel Algorithms", Communications of the ACM 29, 1986.)
//!
//! # 2. `blelloch`, 1990: a tree with 2n additions
//!
//! Blelloch's scan uses a balanced tree over the items. On the way up, each node becomes the sum of its two children.
//! On the way down, each node passes its prefix to its left child, and its prefix plus the left child's sum to its
//! right child.
//!
//! ```text
//! up        31                               down       0
//!        9      22                                  0       9
//!      4   5  14   8                              0   4   9  23
//!     3 1 4 1 5 9 2 6                            0 3 4 8 9 14 23 25
//! ```
//!
//! ```
//! let mut tree = [3, 1, 4, 1, 5, 9, 2, 6]; // a node is stored at the place of its last item
//! for half in [1, 2, 4] {
//!     for right in (2 * half - 1..8).step_by(2 * half) {
//!         tree[right] += tree[right - half];
//!     }
//! }
//! tree[7] = 0; // nothing comes before the root
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
//! This takes 2n additions. With one thread per item in each of the 2 log₂ n launches, of which fewer and fewer work,
//! it is *slower* than the method before: 2311 µs. Additions are not what costs. (G. E. Blelloch, "Prefix Sums and
//! Their Applications", Carnegie Mellon University, CMU-CS-90-190, 1990.)
//!
//! # 3. `blelloch-compact`: one thread per node
//!
//! The same tree with one thread per node, so that launches shrink towards the root and no warp is mostly idle: 639 µs.
//! Two costs remain: 48 launches, and large strides, because near the root every node lies in its own sector.
//!
//! # 4. `block-sums`, 2007: the tree stays within a block
//!
//! ```text
//! tiles        3 1 4 1 │ 5  9  2  6 │  5  3  5  8      one block each
//! scanned      0 3 4 8 │ 0  5 14 16 │  0  5  8 13      in shared memory; sums 9, 22, 21
//! sums         0 9 31                                  scanned in the same way, level by level
//! result       0 3 4 8 │ 9 14 23 25 │ 31 36 39 44      each tile's offset is added to its items
//! ```
//!
//! A tile is scanned at the speed of shared memory and barriers, and one sum stands for 4,096 items: three launches up
//! to 2²⁴ items, five beyond, and 4n items of memory traffic. 77 µs. The recursion over levels removes the limit of the
//! textbook version, whose block sums must fit in one block. (M. Harris, S. Sengupta and J. D. Owens, "Parallel Prefix
//! Sum (Scan) with CUDA", GPU Gems 3, chapter 39, 2007.)
//!
//! # 5. `raking`, 2009: write only final results
//!
//! The first launch only *sums* each tile and writes one word for it. The sums are scanned. The last launch reads the
//! items again, starts from its tile's offset, and writes each result once: 3n instead of 4n items, 62 µs. Each thread
//! processes several consecutive items (it *rakes*), which saves most of the tree. (D. Merrill and A. Grimshaw,
//! "Parallel Scan for Stream Architectures", University of Virginia, CS2009-14, 2009; S. Baxter, moderngpu, 2013.)
//!
//! # 6. `look-back`, 2016: a single pass
//!
//! To reach the minimum of 2n, the items must be read once and written once. A block that has summed its tile must
//! therefore learn its offset while it still holds the items. If it waited for its neighbour's result, tiles would run
//! one after the other. Instead, every tile publishes what it knows as soon as it knows it: first its own sum (the
//! aggregate), later the sum of everything up to its end (the inclusive prefix). A block looks back only as far as
//! necessary:
//!
//! ```text
//! tile            0         1         2         3
//! own sum         9        22        21        10
//! published     all 9    all 31    own 21       ·
//!
//! Tile 3 publishes "own 10" and reads tile 2: own, 21 so far; then tile 1: all, 52, done. It publishes "all 62".
//! ```
//!
//! Waiting for another block is safe only if that block has started. Tiles are therefore assigned by an atomic counter,
//! the *ticket*, and not by block index: a block that draws a tile knows that all earlier tiles were drawn by running
//! blocks. The following code does this with threads instead of blocks:
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
//!                 continue; // not published yet: read again
//!             }
//!             before += word & 0xffff_ffff;
//!             look = if word >= ALL { 0 } else { look - 1 };
//!         }
//!         published[tile].store(ALL | (before + own), Release);
//!         // Here the block would write the tile's prefixes, each with `before` added.
//!     }
//! };
//! std::thread::scope(|threads| (0..8).for_each(|_| drop(threads.spawn(block))));
//! assert_eq!(published[tiles.len() - 1].load(Relaxed), ALL | 450_000);
//! ```
//!
//! On a GPU, a tile's state is also one word with value and status together, so no fence is needed. A warp reads 32
//! states at once. A word of the workspace counts the launches, so that states of earlier launches are recognised as
//! old and never need clearing: one launch in all. For long inputs, blocks are persistent and load their next tiles
//! while they wait. 43 µs, and 93 % of the speed of a copy at 2²⁸ items. (D. Merrill and M. Garland, "Single-pass
//! Parallel Prefix Scan with Decoupled Look-back", NVIDIA, NVR-2016-002, 2016.)
//!
//! # Which to use
//!
//! | goal | strategy |
//! |---|---|
//! | the fastest scan | `look-back`, the default |
//! | floating-point sums with the bits of the [CPU version](crate::scan::cpu) | `raking` |
//! | comparing costs | the commands in `docs/benchmarks/compaction.md` |
//!
//! Floating-point addition is not associative, so the order of additions affects the last bits.
//! [`Strategy`](crate::scan::Strategy) documents what each method guarantees. Integer sums, minima and maxima are the
//! same for all.
//!
//! Next: [`select`](super::select).
