//! Split: one bit a pass, each a stable partition.

use std::sync::Arc;

use cudarc::driver::CudaStream;

use super::{Key, Order, key::declare, key_bits, sort::Call, workspace::Views};
use crate::{
    CountWord, Error, Result,
    cuda::{In, InOut, Kernel, Launch, Module, Source},
};

/// Threads of a block.
const THREADS: u32 = 256;
/// Items that a block orders at a time: 16 a thread, four words of flags.
const TILE_ITEMS: u32 = 16 * THREADS;
/// Blocks that run on a multiprocessor at once.
const BLOCKS_PER_MULTIPROCESSOR: u32 = 4;
/// Items that are moved in one launch: as many as the kernel counts in 32 bits.
const PORTION_ITEMS: u32 = 1 << 31;
/// Bits of the widest key, and one that none has.
pub(super) const BITS: usize = 65;

/// The chunks, hence blocks, of a launch.
pub(super) fn chunks(items: usize, multiprocessors: u32) -> u32 {
    let most = BLOCKS_PER_MULTIPROCESSOR * multiprocessors;
    let tiles = items.div_ceil(TILE_ITEMS as usize);
    tiles.clamp(1, most as usize) as u32
}

/// The launches of a pass.
pub(super) fn portions(items: usize) -> usize {
    items.div_ceil(PORTION_ITEMS as usize).max(1)
}

/// `(keys, count, capacity, is given, zeros, workspace)`
type Zeros = (In<u8>, In<u32>, u64, u32, InOut<u64>, InOut<u64>);
/// `(keys, values, count, capacity, is given, portion, its index, bit, zeros, those of portions, keys out, values out,
/// workspace)`
type Move = (
    In<u8>,
    In<u8>,
    In<u32>,
    u64,
    u32,
    u64,
    u32,
    u32,
    In<u64>,
    InOut<u32>,
    InOut<u8>,
    InOut<u8>,
    InOut<u64>,
);

pub(super) fn source<K: Key, W: CountWord>(order: Order, value_bytes: u32) -> Source {
    let source = Source::new(
        "compaction/kernels/radix_sort_split.cu",
        include_str!("../../kernels/radix_sort_split.cu"),
    )
    .constant("BLOCK_THREADS", THREADS)
    .constant("BLOCKS_PER_MULTIPROCESSOR", BLOCKS_PER_MULTIPROCESSOR)
    .constant("PORTION_ITEMS", PORTION_ITEMS)
    .kernel::<Zeros>("radix_sort_zeros")
    .kernel::<Move>("radix_sort_split");
    declare::<K, W>(source, order, value_bytes)
}

/// The compiled kernels.
#[derive(Debug)]
pub(super) struct Split {
    zeros: Kernel<Zeros>,
    split: Kernel<Move>,
    multiprocessors: u32,
}

impl Split {
    pub(super) fn of(module: &Module, multiprocessors: u32) -> Result<Self> {
        Ok(Self {
            zeros: module.kernel("radix_sort_zeros")?,
            split: module.kernel("radix_sort_split")?,
            multiprocessors,
        })
    }

    pub(super) fn launch<K: Key>(
        &self,
        stream: &Arc<CudaStream>,
        mut call: Call<'_>,
        mut tables: Views<'_>,
    ) -> Result<()> {
        let items = call.counted.capacity;
        if portions(items) > 1 {
            stream
                .memset_zeros(&mut tables.zeros)
                .map_err(Error::driver("clear the counts of radix_sort"))?;
            let args = (
                call.keys.input.slice(..),
                call.counted.count.slice(..),
                call.counted.capacity as u64,
                call.counted.is_given.into(),
                tables.zeros.slice_mut(..),
                tables.split.slice_mut(..),
            );
            let blocks = BLOCKS_PER_MULTIPROCESSOR * self.multiprocessors;
            self.zeros
                .launch(stream, Launch::blocks(blocks, THREADS), args)?;
        }
        // By no bits, everything is copied: by one that no key has.
        let bits = match &call.bits {
            bits if bits.is_empty() => key_bits::<K>()..key_bits::<K>() + 1,
            bits => bits.clone(),
        };
        for bit in bits.clone() {
            let after = bits.end - 1 - bit;
            self.pass(
                stream,
                &mut call,
                &mut tables,
                bit,
                bit == bits.start,
                after,
            )?;
        }
        Ok(())
    }

    /// Orders by one bit, when so many come after it.
    fn pass(
        &self,
        stream: &Arc<CudaStream>,
        call: &mut Call<'_>,
        tables: &mut Views<'_>,
        bit: u32,
        first: bool,
        after: u32,
    ) -> Result<()> {
        let (keys_in, mut keys_out) = call.keys.pass(first, after);
        let (values_in, mut values_out) = call.values.pass(first, after);
        let items = call.counted.capacity;
        for portion in 0..portions(items) {
            let begin = portion * PORTION_ITEMS as usize;
            let args = (
                keys_in.slice(..),
                values_in.slice(..),
                call.counted.count.slice(..),
                call.counted.capacity as u64,
                call.counted.is_given.into(),
                begin as u64,
                portion as u32,
                bit,
                tables.zeros.slice(..),
                tables.portion_zeros.slice_mut(..),
                keys_out.slice_mut(..),
                values_out.slice_mut(..),
                tables.split.slice_mut(..),
            );
            let here = (items - begin).min(PORTION_ITEMS as usize);
            let blocks = chunks(here, self.multiprocessors);
            self.split
                .launch(stream, Launch::blocks(blocks, THREADS), args)?;
        }
        Ok(())
    }
}
