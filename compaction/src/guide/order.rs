//! Chapter 4: partitions and sorting.
//!
//! # Partition: a compaction that keeps the rest
//!
//! ```text
//! flags      0  1  1  0  0  1
//! items      a  b  c  d  e  f
//! items   →  b  c  f  a  d  e        count → 3
//! ```
//!
//! A rejected item's place is the number of all selected, plus the rejected before it. The second is no extra work: of i
//! items before, those that are not selected are rejected. The first is known only when all flags are counted, so a
//! [`Partition`](crate::partition::Partition) counts and moves in one launch, and reads the flags twice.
//!
//! # Classes: many piles at once
//!
//! With a small key instead of a flag, each class has its own count and its own scan. So a path tracer sorts its hits by
//! material: threads of a warp then run the same code and read the same textures.
//!
//! ```text
//! keys       2  0  1  0  2  0
//! indices →  1  3  5 │ 2 │ 0  4      each class in its order
//! starts  →  0  3  4  6              where each begins, and the end
//! ```
//!
//! [`Classes`](crate::partition::Classes) does up to 256 in one launch, by a table of counts, a row for each chunk of the
//! input (S. Ashkiani, A. Davidson, U. Meyer and J. D. Owens, "GPU Multisplit", PPoPP 2016).
//!
//! # Radix sort: partitions, lowest digit first
//!
//! A partition is *stable*: equals keep their order. So to sort by two digits, partition by the lower one, then by the
//! higher one; what the second finds equal is still in the order of the first.
//!
//! **`split`**, the oldest, takes a bit at a time: 32 partitions in two (GPU Gems 3, chapter 39).
//!
//! ```
//! use compaction::partition::cpu;
//!
//! let mut keys = [5_u32, 2, 7, 0, 3];
//! for bit in 0..3 {
//!     let (unsorted, zeros) = (keys, keys.map(|key| u8::from(key >> bit & 1 == 0)));
//!     cpu::items(&unsorted, &zeros, &mut keys)?;
//! }
//! assert_eq!(keys, [0, 2, 3, 5, 7]);
//! # Ok::<(), compaction::Error>(())
//! ```
//!
//! Each of the 32 passes reads the keys twice and writes them once: 384n bytes for keys of 4 bytes.
//!
//! **`onesweep`**, 2022, is the default. It takes 8 bits at a time, hence four passes of 256 classes. Where each class
//! begins does not depend on the order of the keys, so all four passes are counted ahead in one launch; then each pass
//! reads and writes every key once, and a block learns how many of each class are before it by looking back, for 256
//! classes side by side: 4n + 4 · 8n = 36n bytes. (A. Adinets and D. Merrill, "Onesweep: A Faster Least Significant Digit
//! Radix Sort for GPUs", arXiv 2206.01784, 2022.) At 2²⁴ keys it sorts 44.3 billion keys a second, `split` 4.1.
//!
//! # Which to use
//!
//! | you have | use |
//! |---|---|
//! | a flag | [`Partition`](crate::partition::Partition) |
//! | up to 256 classes | [`Classes`](crate::partition::Classes): one launch, and indices for any payload |
//! | numbers | [`RadixSort`](crate::radix_sort::RadixSort), `onesweep`, over no more [bits](crate::radix_sort::RadixSort::bits) than differ |
//! | wide records | [pairs](crate::radix_sort::RadixSort::pairs) of key and index, then one gather |
//!
//! Next: [`table`](super::table).
