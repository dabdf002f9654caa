//! Top k: the k largest or smallest keys, sorted, with their indices.
//!
//! ```text
//! keys        31  41  59  26  53  41      k = 3, descending
//!
//! keys    →   59  53  41
//! indices →    2   4   1                  of equal keys, the first ones
//! ```
//!
//! On the CPU, [`cpu`] writes into slices; on a GPU, a [`TopK`] enqueues the operation on a stream. CUB:
//! `DeviceTopK::MaxPairs` and `MinPairs` over a counting iterator, but sorted and in a fixed order.
//!
//! The result is the beginning of what [`argsort`](crate::radix_sort::RadixSort::argsort) gives: stable, floats as by
//! [`f32::total_cmp`], where NaN is larger than infinity. Both backends give the same bits in every run.
//!
//! A radix select finds the last key of the result, by one launch for each digit of 8 bits, from the highest on, which
//! counts the keys that agree with it so far (T. Alabi, J. D. Blanchard, B. Gordon and R. Steinbach, "Fast k-Selection
//! Algorithms for Graphics Processing Units", JEA 2012). Another launch keeps these keys in order, and one more
//! sorts up to 512 of them, or a radix sort sorts more. For n keys of 4 bytes and small k, a call moves 20n bytes,
//! where a sort moves 68n.
//!
//! To select values with the keys, gather them by the indices with a [`Gather`](crate::gather::Gather).
//!
//! Example: [`TopK`].

pub mod cpu;
#[cfg(feature = "cuda")]
mod gpu;
#[cfg(feature = "cuda")]
mod workspace;

use crate::arguments::{ArgumentNames, argument_names};

pub use crate::radix_sort::{Key, Order};
#[cfg(feature = "cuda")]
pub use gpu::TopK;
#[cfg(feature = "cuda")]
pub use workspace::Workspace;

const NAMES: ArgumentNames = argument_names!("top_k", "keys");
