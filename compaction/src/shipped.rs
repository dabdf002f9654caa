//! Compiled kernels of the default strategies for common types, which the feature `shipped` builds in.
//!
//! A [`Compiler`](crate::cuda::Compiler) finds them by itself. So a program that uses these operations needs NVRTC
//! neither at the first run nor later. The feature adds 9 MB to the program.
//!
//! | operation | types |
//! |---|---|
//! | [`Select`] by `look-back`, also in place | indices; items of 4, 8 and 16 bytes; counts of `u32` and `u64` |
//! | [`Partition`] | the same |
//! | [`Classes`] | 2, 4, 8, 16, 32, 64, 128 and 256 classes |
//! | [`Scan`] by sum, with all strategies | `u32`, `i32`, `u64`, `f32`, `f64`; counts of `u32` |
//! | [`SummedArea`] with all strategies | `u32`, `i32`, `u64`, `f32`, `f64` |
//! | [`RadixSort`] by `onesweep`, in both directions | keys `u32`, `i32`, `u64`, `f32`, alone or with values of 4 bytes; counts of `u32`; argsort of `u32` and `f32` |
//! | [`Reduce`] by sum, minimum and maximum, [`ArgReduce`], [`SegmentedReduce`] by sum | `u32`, `i32`, `u64`, `f32`, `f64`; counts of `u32` |
//! | [`Unique`], [`RunLengths`], [`UniqueByKey`] | items, keys and values of 4 and 8 bytes; counts of `u32` |
//! | [`ReduceByKey`] and [`ScanByKey`] by sum | keys of 4 bytes; values `u32`, `i32`, `u64`, `f32`, `f64`; counts of `u32` |
//! | [`Histogram`] | `u8`, `u16`, `u32`, `f32`; counts of `u32` |
//! | [`SegmentedSort`] in ascending order | keys `u32`, `f32`, alone or with values of 4 bytes; counts of `u32` |
//! | [`Gather`] and [`Scatter`] | items of 4, 8 and 16 bytes; indices of `u32` |
//!
//! Items of 8 bytes are aligned to 4 or 8, and those of 16 bytes to 4. Those of the runs are aligned to 4.

use std::collections::HashSet;

use crate::{
    CountWord, Result,
    cuda::{self, Source},
    gather::{Gather, Scatter},
    histogram::{Histogram, Sample},
    layout::Shared,
    partition::{Classes, Partition},
    radix_sort::{self, Key, Order, RadixSort},
    reduce::{ArgReduce, Extreme, Reduce},
    runs::{ReduceByKey, RunLengths, ScanByKey, Unique, UniqueByKey},
    scan::{Item, Operator, Scan},
    segmented_reduce::SegmentedReduce,
    segmented_sort::SegmentedSort,
    select::{self, Select},
    summed_area::SummedArea,
};

crate::shared! {
    /// Plain data of 8 bytes, aligned to 4.
    struct Item8 {
        words: [u32; 2],
    }
    /// Plain data of 16 bytes, aligned to 4.
    struct Item16 {
        words: [u32; 4],
    }
}

/// The archive of compiled kernels. A [`Compiler`](cuda::Compiler) has it by itself.
pub const ARCHIVE: &[u8] = cuda::SHIPPED;

/// The numbers of classes whose kernels are in [`ARCHIVE`].
const CLASSES: [u32; 8] = [2, 4, 8, 16, 32, 64, 128, 256];

/// Returns the kernel files that are compiled into [`ARCHIVE`].
///
/// ```
/// use compaction::{cuda::Archive, shipped};
///
/// let archive = Archive::open(shipped::ARCHIVE)?;
/// assert!(archive.missing(&shipped::sources()?)?.is_empty());
/// # Ok::<(), compaction::Error>(())
/// ```
///
/// # Errors
///
/// Returns the errors of the operations, which occur only if this list is wrong.
pub fn sources() -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    of_items::<u32>(&mut sources)?;
    of_items::<Item8>(&mut sources)?;
    of_items::<u64>(&mut sources)?;
    of_items::<Item16>(&mut sources)?;
    for classes in CLASSES {
        sources.extend(Classes::sources(classes)?);
    }
    of_numbers::<u32>(&mut sources);
    of_numbers::<i32>(&mut sources);
    of_numbers::<u64>(&mut sources);
    of_numbers::<f32>(&mut sources);
    of_numbers::<f64>(&mut sources);
    for order in [Order::Ascending, Order::Descending] {
        of_keys::<u32>(order, &mut sources);
        of_keys::<i32>(order, &mut sources);
        of_keys::<u64>(order, &mut sources);
        of_keys::<f32>(order, &mut sources);
        argsorts::<u32>(order, &mut sources);
        argsorts::<f32>(order, &mut sources);
    }
    of_segments::<u32>(&mut sources);
    of_segments::<f32>(&mut sources);
    of_runs::<u32>(&mut sources);
    of_runs::<Item8>(&mut sources);
    of_samples::<u8>(&mut sources);
    of_samples::<u16>(&mut sources);
    of_samples::<u32>(&mut sources);
    of_samples::<f32>(&mut sources);
    // Some operations share a file.
    let mut seen = HashSet::new();
    let mut distinct = Vec::new();
    for source in sources {
        if seen.insert(source.text()?) {
            distinct.push(source);
        }
    }
    Ok(distinct)
}

/// Adds the kernel files that select, partition, gather and scatter items with the size and alignment of `T`, or select
/// and partition their indices. Selections use the default strategy.
fn of_items<T: Shared>(sources: &mut Vec<Source>) -> Result<()> {
    counted_by::<T, u32>(sources)?;
    counted_by::<T, u64>(sources)?;
    sources.extend(Partition::sources::<T>());
    sources.extend(Gather::<T>::sources());
    sources.extend(Scatter::<T>::sources());
    Ok(())
}

/// Adds the kernel files of the default strategy that select items with the size and alignment of `T`, to another
/// buffer and in place, with counts of type `W`.
fn counted_by<T: Shared, W: CountWord>(sources: &mut Vec<Source>) -> Result<()> {
    let strategy = select::Strategy::default();
    sources.extend(Select::sources::<T, W>(strategy));
    sources.extend(Select::sources_in_place::<T, W>(strategy)?);
    Ok(())
}

/// Adds the kernel files of sums and summed-area tables of items of type `T`, for all strategies, those of
/// reductions, and those of sums of segments and by keys of 4 bytes. Counts have 32 bits.
fn of_numbers<T: Item>(sources: &mut Vec<Source>) {
    sources.extend(Scan::<T>::sources(Operator::Sum));
    sources.extend(SummedArea::<T>::sources());
    for &operator in Operator::ALL {
        sources.extend(Reduce::<T>::sources(operator));
    }
    sources.extend(SegmentedReduce::<T>::sources(Operator::Sum));
    sources.extend(ReduceByKey::<u32, T>::sources(Operator::Sum));
    sources.extend(ScanByKey::<u32, T>::sources(Operator::Sum));
    for &extreme in Extreme::ALL {
        sources.extend(ArgReduce::<T>::sources(extreme));
    }
}

/// Adds the kernel files of unique items and run lengths, for items or keys of the size of `K`. Counts have 32 bits.
fn of_runs<K: Shared>(sources: &mut Vec<Source>) {
    sources.extend(Unique::<K>::sources());
    sources.extend(RunLengths::<K>::sources());
    sources.extend(UniqueByKey::<K, u32>::sources());
    sources.extend(UniqueByKey::<K, Item8>::sources());
}

/// Adds the kernel files of histograms of items of type `T`. Counts have 32 bits.
fn of_samples<T: Sample>(sources: &mut Vec<Source>) {
    sources.extend(Histogram::<T>::sources());
}

/// Adds the kernel files that sort segments of keys of type `K` in ascending order, alone and with values of 4 bytes.
/// Counts have 32 bits.
fn of_segments<K: Key>(sources: &mut Vec<Source>) {
    sources.extend(SegmentedSort::<K>::sources(Order::Ascending));
    sources.extend(SegmentedSort::<K>::sources_pairs::<u32>(Order::Ascending));
}

/// Adds the kernel files of argsorts of keys of type `K` by the default strategy. Counts and indices have 32 bits.
fn argsorts<K: Key>(order: Order, sources: &mut Vec<Source>) {
    let strategy = radix_sort::Strategy::default();
    sources.extend(RadixSort::<K>::sources_argsort::<u32>(order, strategy));
}

/// Adds the kernel files of the default strategy that sort keys of type `K`, alone and with values of 4 bytes. Counts
/// have 32 bits.
fn of_keys<K: Key>(order: Order, sources: &mut Vec<Source>) {
    let strategy = radix_sort::Strategy::default();
    sources.extend(RadixSort::<K>::sources(order, strategy));
    sources.extend(RadixSort::<K>::sources_pairs::<u32>(order, strategy));
}
