//! Runs of equal adjacent items: unique items, run lengths, and values combined or scanned by key.
//!
//! ```text
//! keys           a  a  b  c  c  c
//! values         3  1  4  1  5  9
//!
//! unique      →  a  b  c               count → 3
//! run lengths →  2  1  3
//! sum by key  →  4  4 15
//! scan by key →  3  4  4  1  6 15      the inclusive sums within each run
//! ```
//!
//! Sort the input first, by [`RadixSort`](crate::radix_sort::RadixSort) for example, to bring all equal keys together.
//! Two keys are equal if their bytes are equal: -0 differs from +0, and equal NaNs are equal.
//!
//! | goal | GPU | CPU | CUB |
//! |---|---|---|---|
//! | keep the first item of each run | [`Unique`] | [`cpu::unique`] | `DeviceSelect::Unique` |
//! | keep the first key of each run and its value | [`UniqueByKey`] | [`cpu::unique_by_key`] | `DeviceSelect::UniqueByKey` |
//! | find the key and the length of each run | [`RunLengths`] | [`cpu::run_lengths`] | `DeviceRunLengthEncode::Encode` |
//! | combine the values of each run | [`ReduceByKey`] | [`cpu::reduce_by_key`] | `DeviceReduce::ReduceByKey` |
//! | combine every prefix of each run | [`ScanByKey`] | [`cpu::exclusive_scan_by_key`], [`cpu::inclusive_scan_by_key`] | `DeviceScan::…ByKey` |
//!
//! Outputs have room for as many items as the input, as if each run had one item. A shorter output is an
//! [error](crate::Error::OutputTooShort).
//!
//! [`ReduceByKey::with_operator`] and [`ScanByKey::with_operator`] take a
//! [`CustomOperator`](crate::custom::CustomOperator) instead of a sum, minimum or maximum.
//!
//! All backends give the same bits, except for NaN payloads. For floating-point sums, the order of additions depends on
//! the indices of the items of a run only, and not on the GPU.
//!
//! On a GPU, each operation is one launch with the single pass of [`select`](crate::select): a block finds the heads of
//! the runs in its tile, and decoupled look-back (Merrill and Garland 2016) yields the number of runs before the tile
//! and what the last of them has so far. It reads each item once.
//!
//! Example: [`06_unique`].
//!
//! [`06_unique`]: https://github.com/raysieve/raysieve/blob/main/compaction/examples/06_unique.rs

mod cpu_chunks;
#[cfg(feature = "cuda")]
mod by_key;
pub mod cpu;
#[cfg(feature = "cuda")]
mod kernel_source;
#[cfg(feature = "cuda")]
mod lengths;
#[cfg(feature = "cuda")]
mod scan_by_key;
#[cfg(feature = "cuda")]
mod unique;
#[cfg(feature = "cuda")]
mod workspace;

use crate::{
    Result,
    arguments::{ArgumentNames, argument_names, check_len},
};

pub use crate::monoid::{Item, Operator};
#[cfg(feature = "cuda")]
pub use by_key::ReduceByKey;
#[cfg(feature = "cuda")]
pub use lengths::RunLengths;
#[cfg(feature = "cuda")]
pub use scan_by_key::ScanByKey;
#[cfg(feature = "cuda")]
pub use unique::{Unique, UniqueByKey};
#[cfg(feature = "cuda")]
pub use workspace::Workspace;

/// Builds the [`PairNames`] of an operation.
macro_rules! pair_names {
    ($operation:literal) => {
        PairNames {
            keys: argument_names!($operation, "keys"),
            values: concat!("the values of ", $operation),
        }
    };
}
/// The name of the operations that share a [`Workspace`], in its errors.
#[cfg(feature = "cuda")]
const ANY: ArgumentNames = argument_names!("an operation on runs", "keys");

const UNIQUE: ArgumentNames = argument_names!("unique", "items");
const LENGTHS: ArgumentNames = argument_names!("run_lengths", "items");
const UNIQUE_BY_KEY: PairNames = pair_names!("unique_by_key");
const REDUCE_BY_KEY: PairNames = pair_names!("reduce_by_key");
const SCAN_BY_KEY: PairNames = pair_names!("scan_by_key");

/// Descriptions of the arguments of an operation on keys and values, as they appear in error messages.
struct PairNames {
    keys: ArgumentNames,
    /// The values: `the values of unique_by_key`.
    values: &'static str,
}

impl PairNames {
    /// Returns [`Error::LengthMismatch`](crate::Error::LengthMismatch) unless there are as many values as keys.
    fn check_values(&self, keys: usize, values: usize) -> Result<()> {
        check_len(self.values, values, keys)
    }
}
