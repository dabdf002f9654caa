//! Chapter 1: what a GPU is, and what costs time on it.
//!
//! # Threads
//!
//! A *kernel* is a function that very many threads run at once, each with a number of its own. The host puts it onto a
//! *stream*, a queue that the GPU works off in order, and goes on: this is a *launch*. A launch says how many threads
//! there are, in three layers:
//!
//! ```text
//! grid    block 0            block 1            block 2  …    begin in any order, as places become free
//! block   warp 0  warp 1  …                                   share a small, fast memory; can wait for one another
//! warp    32 threads: lanes                                   step together; see one another's registers
//! ```
//!
//! A GPU has many *multiprocessors* (an H200 has 132), and each runs a few blocks at a time. Blocks that wait for memory
//! cost nothing while others have work, so a GPU wants far more threads than it can run at once.
//!
//! What follows from this shapes every method of this crate:
//!
//! * **Within a warp, asking is cheap.** A *ballot* gives every lane one bit of every other. A lane's rank among those
//!   that have something to write is two instructions:
//!
//!   ```
//!   let flags = [0, 1, 1, 0, 0, 1, 0, 1];                // of lanes 0 to 7
//!   let ballot = (0..8).fold(0_u32, |word, lane| word | flags[lane] << lane);
//!   let rank = |lane: u32| (ballot & ((1 << lane) - 1)).count_ones();
//!   assert_eq!([rank(1), rank(2), rank(5), rank(7)], [0, 1, 2, 3]);
//!   ```
//!
//! * **Within a block, a barrier** makes all threads wait for the last one, and costs far less than a launch.
//! * **Between blocks there is no barrier.** A block cannot wait for all others, since those that have not begun wait for
//!   its place. The end of a launch is the only point where everybody is done. Methods differ most in how they live with
//!   this: with several launches, or by waiting only for blocks that have begun.
//! * **A lane that does nothing costs as much as one that works**: a warp takes as long as its slowest lane. So dead items
//!   are worth moving out of the way, which is what [compaction](super::select) is for.
//!
//! # Three prices
//!
//! * **A launch.** An empty kernel between two events reads 4.5 to 5.5 µs on an H200, more than the whole work on 2²⁰
//!   flags. Up to about 2²⁰ items the number of launches decides.
//! * **Bytes.** From some 2²⁴ items on nothing but memory traffic counts, and the yardstick is a copy of as many bytes:
//!   2²⁸ words of 4 bytes are copied in 508 µs. Memory comes in *sectors* of 32 bytes, so neighbours should read
//!   neighbours: 32 lanes that read 32 words in a row fetch 4 sectors, and 32 that read every eighth word fetch 32.
//! * **Waiting.** When the host reads a result, the stream runs empty, and the GPU idles until the host has reacted. So
//!   this crate leaves counts in device memory, where the [next call](super::call) reads them.
//!
//! Next: [`scan`](super::scan).
