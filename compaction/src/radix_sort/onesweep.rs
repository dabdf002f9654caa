//! The onesweep strategy: one launch counts all digits in advance, and then each pass sorts by 8 bits.

use std::sync::Arc;

use cudarc::driver::CudaStream;

use super::{
    Order,
    call::{SortCall, Views},
    kernel_source::{Moved, SortTypes},
};
use crate::policies::onesweep::{
    BLOCKS_PER_MULTIPROCESSOR, COUNT_BATCH, COUNT_BLOCKS_PER_MULTIPROCESSOR, ITEMS_PER_THREAD,
    PORTION_TILES, THREADS, WINDOW,
};
use crate::{
    Result,
    arguments::Input,
    cuda::{In, InOut, Kernel, Launch, Module, Source, kernel_params},
};

/// Bits per digit, and thus per pass.
const DIGIT_BITS: u32 = 8;
/// Number of values of a digit, each of which has a bin.
const BINS: usize = 1 << DIGIT_BITS;

/// Returns the items per thread of `radix_sort_onesweep`: fewer for keys or values of more than 4 bytes.
const fn items_per_thread(key_bytes: u32, value_bytes: u32) -> u32 {
    let widest = if key_bytes > value_bytes {
        key_bytes
    } else {
        value_bytes
    };
    ITEMS_PER_THREAD / if widest > 4 { widest / 4 } else { 1 }
}

/// Returns the items per tile of `radix_sort_onesweep`. A block sorts one tile at a time.
pub(super) const fn tile_items(key_bytes: u32, value_bytes: u32) -> u32 {
    THREADS * items_per_thread(key_bytes, value_bytes)
}

/// Returns the number of look-back states, of 8 bytes each, for a sort of `items` keys: one per bin and tile of a
/// launch.
pub(super) fn states(items: usize, key_bytes: u32, value_bytes: u32) -> usize {
    let tiles = items.div_ceil(tile_items(key_bytes, value_bytes) as usize);
    tiles.min(PORTION_TILES as usize) * BINS
}

/// Returns the number of bins of all passes over keys of `key_bytes` bytes: 256 for each byte of the key.
pub(super) const fn bins(key_bytes: usize) -> usize {
    key_bytes * BINS
}

/// Length of the table that passes the start of each bin from one launch of a pass to the next. Each launch reads one
/// half and writes the other.
pub(super) const NEXT_BINS: usize = 2 * BINS;

kernel_params! {
    /// The parameters of the kernel `radix_sort_count`, which counts the digits of the bits `begin..end`.
    struct CountDigits<'a> {
        keys: In<u8>,
        input: Input<'static>,
        begin: u32,
        end: u32,
        counts: InOut<u64>,
        starts: InOut<u64>,
        finished: InOut<u32>,
        workspace: InOut<u64>,
    }

    /// The parameters of the kernels `radix_sort_onesweep` and `radix_sort_onesweep_indices`. `portion` is the index of
    /// the launch's first key, and `begin` the lowest bit of the pass's digit, of which only bits below `end` count.
    struct Sweep<'a> {
        moved: Moved<'static>,
        input: Input<'static>,
        portion: u64,
        begin: u32,
        end: u32,
        starts: In<u64>,
        next_starts: InOut<u64>,
        workspace: InOut<u64>,
    }
}

pub(super) fn source(order: Order, types: SortTypes) -> Source {
    let items = items_per_thread(types.key_bytes, types.value_bytes);
    let source = Source::new(
        "compaction/kernels/radix_sort_onesweep.cu",
        include_str!("../../kernels/radix_sort_onesweep.cu"),
    )
    .constant("BLOCK_THREADS", THREADS)
    .constant("ITEMS_PER_THREAD", items)
    .constant("BLOCKS_PER_MULTIPROCESSOR", BLOCKS_PER_MULTIPROCESSOR)
    .constant("WINDOW", WINDOW)
    .constant("DIGIT_BITS", DIGIT_BITS)
    .constant("COUNT_BATCH", COUNT_BATCH)
    .constant("PORTION_TILES", PORTION_TILES)
    .constant("WIDE", types.has_wide_counts.into())
    .kernel::<CountDigits<'static>>("radix_sort_count")
    .kernel::<Sweep<'static>>("radix_sort_onesweep");
    let source = match types.makes_indices {
        true => source
            .define("MAKES_INDICES", "")
            .kernel::<Sweep<'static>>("radix_sort_onesweep_indices"),
        false => source,
    };
    types.declare(source, order)
}

/// The loaded kernels of onesweep: `radix_sort_count` counts all digits, and `radix_sort_onesweep` sorts by one digit.
/// `radix_sort_onesweep_indices` is the first pass of an argsort.
#[derive(Debug)]
pub(super) struct Onesweep {
    count: Kernel<CountDigits<'static>>,
    first_sweep: Kernel<Sweep<'static>>,
    sweep: Kernel<Sweep<'static>>,
    multiprocessors: u32,
    tile_items: u32,
}

impl Onesweep {
    pub(super) fn of(module: &Module, multiprocessors: u32, types: SortTypes) -> Result<Self> {
        let first_sweep = match types.makes_indices {
            true => "radix_sort_onesweep_indices",
            false => "radix_sort_onesweep",
        };
        Ok(Self {
            count: module.kernel("radix_sort_count")?,
            first_sweep: module.kernel(first_sweep)?,
            sweep: module.kernel("radix_sort_onesweep")?,
            multiprocessors,
            tile_items: tile_items(types.key_bytes, types.value_bytes),
        })
    }

    pub(super) fn launch(
        &self,
        stream: &Arc<CudaStream>,
        mut call: SortCall<'_>,
        mut tables: Views<'_>,
    ) -> Result<()> {
        let (begin, end) = (call.bits.start, call.bits.end);
        let counters = (call.item_count.capacity as u64).div_ceil((COUNT_BATCH * THREADS).into());
        let max_blocks = COUNT_BLOCKS_PER_MULTIPROCESSOR * self.multiprocessors;
        let blocks = counters.clamp(1, max_blocks.into()) as u32;
        let args = CountDigits {
            keys: call.keys.input.slice(..),
            input: call.item_count.input(),
            begin,
            end,
            counts: tables.counts.slice_mut(..),
            starts: tables.starts.slice_mut(..),
            finished: tables.finished.slice_mut(..),
            workspace: tables.onesweep.slice_mut(..),
        };
        self.count
            .launch(stream, Launch::blocks(blocks, THREADS), args)?;

        let passes = (end - begin).div_ceil(DIGIT_BITS).max(1);
        for pass in 0..passes {
            self.pass(stream, &mut call, &mut tables, pass, passes - 1 - pass)?;
        }
        Ok(())
    }

    /// Enqueues the launches of pass `pass`, one for each portion of the keys. `after` is the number of passes that
    /// follow.
    fn pass(
        &self,
        stream: &Arc<CudaStream>,
        call: &mut SortCall<'_>,
        tables: &mut Views<'_>,
        pass: u32,
        after: u32,
    ) -> Result<()> {
        let (keys_in, mut keys_out) = call.keys.pass(pass == 0, after);
        let (values_in, mut values_out) = call.values.pass(pass == 0, after);
        let bins = pass as usize * BINS;
        let tiles = (call.item_count.capacity as u64)
            .div_ceil(self.tile_items.into())
            .max(1);
        for first_tile in (0..tiles).step_by(PORTION_TILES as usize) {
            let portion = (first_tile / u64::from(PORTION_TILES)) as usize;
            // Each launch reads what the launch before wrote.
            let (even, odd) = tables.next_starts.split_at_mut(BINS);
            let (from, to) = if portion.is_multiple_of(2) {
                (odd, even)
            } else {
                (even, odd)
            };
            let starts = match portion {
                0 => tables.starts.slice(bins..bins + BINS),
                _ => from.slice(..),
            };
            let moved = Moved {
                keys_in: keys_in.slice(..),
                values_in: values_in.slice(..),
                keys_out: keys_out.slice_mut(..),
                values_out: values_out.slice_mut(..),
            };
            let args = Sweep {
                moved,
                input: call.item_count.input(),
                portion: first_tile * u64::from(self.tile_items),
                begin: call.bits.start + pass * DIGIT_BITS,
                end: call.bits.end,
                starts,
                next_starts: to,
                workspace: tables.onesweep.slice_mut(..),
            };
            let blocks = (tiles - first_tile).min(PORTION_TILES.into()) as u32;
            let kernel = if pass == 0 {
                &self.first_sweep
            } else {
                &self.sweep
            };
            kernel.launch(stream, Launch::blocks(blocks, THREADS), args)?;
        }
        Ok(())
    }
}
