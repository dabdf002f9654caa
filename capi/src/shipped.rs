//! The kernels that the library contains, so that it needs no NVRTC for common types.

use compaction::{
    CountWord,
    cuda::Source,
    layout::Shared,
    partition::{Classes, Partition},
    radix_sort::{Key, Order, RadixSort},
    scan::{Item, Operator, Scan},
    select::{self, Select},
    summed_area::SummedArea,
};

use crate::types::{Item8, Item16};

/// The archive of compiled kernels, written by `cargo run -p compaction-capi --example ship_kernels`.
pub const ARCHIVE: &[u8] = include_bytes!("../kernels/shipped.bin");

/// The numbers of classes for which kernels of partitions are compiled into [`ARCHIVE`]. Other numbers, up to 256, need
/// NVRTC.
const CLASSES: [u32; 8] = [2, 4, 8, 16, 32, 64, 128, 256];

/// Returns the kernel files that are compiled into [`ARCHIVE`]: those of the default strategies for common types.
///
/// # Errors
///
/// Returns the errors of the operations, which occur only if this list is wrong.
pub fn sources() -> compaction::Result<Vec<Source>> {
    let mut sources = Vec::new();
    of_items::<u32>(&mut sources)?;
    of_items::<Item8>(&mut sources)?;
    of_items::<Item16>(&mut sources)?;
    for classes in CLASSES {
        sources.extend(Classes::sources(classes)?);
    }
    of_numbers::<u32>(&mut sources);
    of_numbers::<i32>(&mut sources);
    of_numbers::<u64>(&mut sources);
    of_numbers::<f32>(&mut sources);
    of_numbers::<f64>(&mut sources);
    of_keys::<u32>(&mut sources);
    of_keys::<i32>(&mut sources);
    of_keys::<u64>(&mut sources);
    of_keys::<f32>(&mut sources);
    Ok(sources)
}

/// Adds the kernel files that select and partition items with the size and alignment of `T`, or their indices.
/// Selections use the default strategy.
fn of_items<T: Shared>(sources: &mut Vec<Source>) -> compaction::Result<()> {
    counted_by::<T, u32>(sources)?;
    counted_by::<T, u64>(sources)?;
    sources.extend(Partition::sources::<T>());
    Ok(())
}

/// Adds the kernel files of the default strategy that select items with the size and alignment of `T`, to another
/// buffer and in place, with counts of type `W`.
fn counted_by<T: Shared, W: CountWord>(sources: &mut Vec<Source>) -> compaction::Result<()> {
    let strategy = select::Strategy::default();
    sources.extend(Select::sources::<T, W>(strategy));
    sources.extend(Select::sources_in_place::<T, W>(strategy)?);
    Ok(())
}

/// Adds the kernel files of sums and summed-area tables of items of type `T`, for all strategies. Sums have counts of
/// 32 bits.
fn of_numbers<T: Item>(sources: &mut Vec<Source>) {
    sources.extend(Scan::<T>::sources(Operator::Sum));
    sources.extend(SummedArea::<T>::sources());
}

/// Adds the kernel files of the default strategy that sort keys of type `K` in ascending order, alone and with values
/// of 4 bytes. Counts have 32 bits.
fn of_keys<K: Key>(sources: &mut Vec<Source>) {
    let strategy = compaction::radix_sort::Strategy::default();
    sources.extend(RadixSort::<K>::sources(Order::Ascending, strategy));
    sources.extend(RadixSort::<K>::sources_pairs::<u32>(
        Order::Ascending,
        strategy,
    ));
}
