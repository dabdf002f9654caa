//! Chapter 1: what a GPU is, and what costs time on it.
//!
//! # Threads
//!
//! A *kernel* is a function that many threads run at once, each with its own index. The host enqueues it on a *stream*,
//! which the GPU executes in order, and continues: this is a *launch*. A launch states how many threads there are, in
//! three levels:
//!
//! ```text
//! grid    block 0            block 1            block 2  …    start in any order, as resources become free
//! block   warp 0  warp 1  …                                   share a small, fast memory; can wait for one another
//! warp    32 threads: lanes                                   run in lockstep; can read one another's registers
//! ```
//!
//! A GPU has many *multiprocessors* (an H200 has 132), and each runs a few blocks at a time. Blocks that wait for
//! memory cost nothing while other blocks have work, so a GPU needs far more threads than it can execute at once.
//!
//! These facts shape every method of this crate:
//!
//! * **Within a warp, communication is cheap.** A *ballot* gives every lane one bit from each lane. The rank of a lane
//!   among those that have something to write takes two instructions:
//!
//!   ```
//!   let flags = [0, 1, 1, 0, 0, 1, 0, 1];                // of lanes 0 to 7
//!   let ballot = (0..8).fold(0_u32, |word, lane| word | flags[lane] << lane);
//!   let rank = |lane: u32| (ballot & ((1 << lane) - 1)).count_ones();
//!   assert_eq!([rank(1), rank(2), rank(5), rank(7)], [0, 1, 2, 3]);
//!   ```
//!
//! * **Within a block there is a barrier**, which makes all threads wait for the last one, and which costs far less
//!   than a launch.
//! * **Between blocks there is no barrier.** A block cannot wait for all others, because those that have not started
//!   wait for its resources. All blocks are finished only at the end of a launch. Methods differ most in how they
//!   handle this: with several launches, or by waiting only for blocks that have started.
//! * **An idle lane costs as much as a working one**, because a warp takes as long as its slowest lane. It is therefore
//!   worth moving dead items out of the way, which is the purpose of [compaction](super::select).
//!
//! # Three costs
//!
//! * **Launches.** An empty kernel takes 4.5 to 5.5 µs on an H200, more than all the work on 2²⁰ flags. Up to about 2²⁰
//!   items, the number of launches decides.
//! * **Bytes.** From about 2²⁴ items on, only memory traffic counts, and the reference is a copy of the same bytes: 2²⁸
//!   words of 4 bytes take 508 µs. Memory is read in *sectors* of 32 bytes, so neighbouring lanes should read
//!   neighbouring words: 32 lanes that read 32 consecutive words fetch 4 sectors, and 32 lanes that read every eighth
//!   word fetch 32.
//! * **Waiting.** When the host reads a result, the stream runs empty, and the GPU idles until the host has reacted.
//!   Therefore this crate leaves counts in device memory, where the [next call](super::call) reads them.
//!
//! Next: [`scan`](super::scan).
