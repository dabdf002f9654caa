//! Chapter 4: partitions and sorting.
//!
//! # Partition: compaction that keeps the rejected items
//!
//! ```text
//! flags      0  1  1  0  0  1
//! items      a  b  c  d  e  f
//! items   →  b  c  f  a  d  e        count → 3
//! ```
//!
//! The output index of a rejected item is the number of all selected items plus the number of rejected items before it.
//! The latter needs no extra work: items before it that are not selected are rejected. The former is known only after
//! all flags are counted, so a [`Partition`](crate::partition::Partition) counts and then moves, in one launch, and
//! reads the flags twice.
//!
//! # Classes: more than two groups
//!
//! With a small key instead of a flag, each class has its own count and its own scan. A path tracer can sort its hits
//! by material in this way, so that the threads of a warp run the same code and read the same textures.
//!
//! ```text
//! keys       2  0  1  0  2  0
//! indices →  1  3  5 │ 2 │ 0  4      each class in input order
//! starts  →  0  3  4  6              start of each class, and the end
//! ```
//!
//! [`Classes`](crate::partition::Classes) handles up to 256 classes in one launch, with a table of counts that has a
//! row for each chunk of the input (S. Ashkiani, A. Davidson, U. Meyer and J. D. Owens, "GPU Multisplit", PPoPP 2016).
//!
//! # Radix sort: partitions, lowest digit first
//!
//! A partition is *stable*: equal items keep their order. To sort by two digits, partition by the lower digit and then
//! by the higher one; items with equal higher digits remain in the order of the lower one.
//!
//! **`split`**, the oldest method, sorts by one bit at a time: 32 partitions in two parts (GPU Gems 3, chapter 39).
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
//! Each of the 32 passes reads the keys twice and writes them once: 384n bytes for n keys of 4 bytes.
//!
//! **`onesweep`**, 2022, is the default. It sorts by 8 bits at a time, in four passes with 256 classes each. The start
//! of each class does not depend on the order of the keys, so one launch counts for all four passes in advance. Each
//! pass then reads and writes every key once, and a block finds the number of earlier keys of each class by look-back,
//! for 256 classes side by side. This moves 4n + 4 · 8n = 36n bytes. (A. Adinets and D. Merrill, "Onesweep: A Faster
//! Least Significant Digit Radix Sort for GPUs", arXiv 2206.01784, 2022.) For 2²⁴ keys it sorts 44.3 billion keys per
//! second, and `split` 4.1.
//!
//! # Which to use
//!
//! | input | use |
//! |---|---|
//! | flags | [`Partition`](crate::partition::Partition) |
//! | up to 256 classes | [`Classes`](crate::partition::Classes): one launch, and indices for any payload |
//! | numbers | [`RadixSort`](crate::radix_sort::RadixSort) with `onesweep`, limited to the [bits](crate::radix_sort::RadixSort::bits) that differ |
//! | wide records | [`argsort`](crate::radix_sort::RadixSort::argsort) of their keys, followed by a [`Gather`](crate::gather::Gather) |
//! | records without such keys | [`MergeSort`](crate::merge_sort::MergeSort) by a comparison in CUDA C++ |
//! | only the largest or smallest numbers matter | [`TopK`](crate::top_k::TopK) |
//! | many short sequences | [`SegmentedSort`](crate::segmented_sort::SegmentedSort) |
//!
//! Next: [`table`](super::table).
