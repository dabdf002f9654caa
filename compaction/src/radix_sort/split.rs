//! The split strategy: one bit per pass, where each pass is a stable partition.

use std::sync::Arc;

use cudarc::driver::CudaStream;

use super::{
    Order,
    call::{SortCall, Views},
    kernel_source::{Moved, SortTypes},
};
use crate::policies::split::{BLOCKS_PER_MULTIPROCESSOR, THREADS};
use crate::{
    Result,
    arguments::Input,
    cuda::{self, In, InOut, Kernel, Launch, Module, Source, kernel_params},
};

/// Items per tile of `radix_sort_split`: 16 per thread.
const TILE_ITEMS: u32 = 16 * THREADS;
/// The largest number of items per launch of `radix_sort_split`, which counts in 32 bits. The items of one launch are a
/// portion.
const PORTION_ITEMS: u32 = 1 << 31;
/// Number of bits for which zeros are counted: those of the widest key, and one more that is zero in every key.
pub(super) const BITS: usize = 65;

/// Returns the number of chunks of a launch over `items` items. One block processes each chunk.
pub(super) fn chunks(items: usize, multiprocessors: u32) -> u32 {
    let max_blocks = BLOCKS_PER_MULTIPROCESSOR * multiprocessors;
    let tiles = items.div_ceil(TILE_ITEMS as usize);
    tiles.clamp(1, max_blocks as usize) as u32
}

/// Returns the number of launches of each pass over `items` items, at least 1.
pub(super) fn portions(items: usize) -> usize {
    items.div_ceil(PORTION_ITEMS as usize).max(1)
}

kernel_params! {
    /// The parameters of the kernel `radix_sort_zeros`, which adds to `zeros[bit]` the number of keys in which the bit
    /// is zero.
    struct Zeros<'a> {
        keys: In<u8>,
        input: Input<'static>,
        zeros: InOut<u64>,
        workspace: InOut<u64>,
    }

    /// The parameters of the kernel `radix_sort_split`.
    struct SplitParams<'a> {
        moved: Moved<'static>,
        input: Input<'static>,
        split: Split,
        zeros: In<u64>,
        portion_zeros: InOut<u32>,
        workspace: InOut<u64>,
    }

    /// The parameters of the kernel `radix_sort_indices`, which writes the indices of the keys.
    struct MakeIndices<'a> {
        input: Input<'static>,
        indices: InOut<u8>,
        workspace: InOut<u64>,
    }
}

crate::shared! {
    /// The bit of a pass, and the keys of a launch. `kernels/radix_sort_split.cu` documents the fields.
    struct Split {
        first: u64,
        number: u32,
        bit: u32,
    }
}

pub(super) fn source(order: Order, types: SortTypes) -> Source {
    let source = Source::new(
        "compaction/kernels/radix_sort_split.cu",
        include_str!("../../kernels/radix_sort_split.cu"),
    )
    .constant("BLOCK_THREADS", THREADS)
    .constant("BLOCKS_PER_MULTIPROCESSOR", BLOCKS_PER_MULTIPROCESSOR)
    .constant("PORTION_ITEMS", PORTION_ITEMS)
    .kernel::<Zeros<'static>>("radix_sort_zeros")
    .kernel::<SplitParams<'static>>("radix_sort_split");
    let source = match types.makes_indices {
        true => source
            .define("MAKES_INDICES", "")
            .kernel::<MakeIndices<'static>>("radix_sort_indices"),
        false => source,
    };
    types.declare(source, order)
}

/// The loaded kernels of split: `radix_sort_zeros` counts the zeros of every bit, and `radix_sort_split` partitions by
/// one bit.
#[derive(Debug)]
pub(super) struct SplitKernels {
    zeros: Kernel<Zeros<'static>>,
    split: Kernel<SplitParams<'static>>,
    /// The kernel that makes the values of an argsort, and `None` if the values are given.
    indices: Option<Kernel<MakeIndices<'static>>>,
    multiprocessors: u32,
}

impl SplitKernels {
    pub(super) fn of(module: &Module, multiprocessors: u32, types: SortTypes) -> Result<Self> {
        let indices = types.makes_indices;
        Ok(Self {
            indices: indices
                .then(|| module.kernel("radix_sort_indices"))
                .transpose()?,
            zeros: module.kernel("radix_sort_zeros")?,
            split: module.kernel("radix_sort_split")?,
            multiprocessors,
        })
    }

    pub(super) fn launch(
        &self,
        stream: &Arc<CudaStream>,
        mut call: SortCall<'_>,
        mut tables: Views<'_>,
    ) -> Result<()> {
        let items = call.item_count.capacity;
        if portions(items) > 1 {
            cuda::clear(stream, &mut tables.zeros)?;
            let args = Zeros {
                keys: call.keys.input.slice(..),
                input: call.item_count.input(),
                zeros: tables.zeros.slice_mut(..),
                workspace: tables.split.slice_mut(..),
            };
            let blocks = BLOCKS_PER_MULTIPROCESSOR * self.multiprocessors;
            self.zeros
                .launch(stream, Launch::blocks(blocks, THREADS), args)?;
        }
        // An empty range of bits copies the keys, by sorting by a bit that is zero in every key.
        let bits = match &call.bits {
            bits if bits.is_empty() => call.key_bits..call.key_bits + 1,
            bits => bits.clone(),
        };
        if let Some(make_indices) = &self.indices {
            let args = MakeIndices {
                input: call.item_count.input(),
                indices: call.values.source(bits.end - 1 - bits.start),
                workspace: tables.split.slice_mut(..),
            };
            let blocks = chunks(items, self.multiprocessors);
            make_indices.launch(stream, Launch::blocks(blocks, THREADS), args)?;
        }
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

    /// Enqueues the launches of the pass over bit `bit`, one for each portion of the keys. `after` is the number of
    /// passes that follow.
    fn pass(
        &self,
        stream: &Arc<CudaStream>,
        call: &mut SortCall<'_>,
        tables: &mut Views<'_>,
        bit: u32,
        first: bool,
        after: u32,
    ) -> Result<()> {
        let (keys_in, mut keys_out) = call.keys.pass(first, after);
        let has_input = first && self.indices.is_none();
        let (values_in, mut values_out) = call.values.pass(has_input, after);
        let items = call.item_count.capacity;
        for portion in 0..portions(items) {
            let begin = portion * PORTION_ITEMS as usize;
            let moved = Moved {
                keys_in: keys_in.slice(..),
                values_in: values_in.slice(..),
                keys_out: keys_out.slice_mut(..),
                values_out: values_out.slice_mut(..),
            };
            let split = Split {
                first: begin as u64,
                number: portion as u32,
                bit,
            };
            let args = SplitParams {
                moved,
                input: call.item_count.input(),
                split,
                zeros: tables.zeros.slice(..),
                portion_zeros: tables.portion_zeros.slice_mut(..),
                workspace: tables.split.slice_mut(..),
            };
            let here = (items - begin).min(PORTION_ITEMS as usize);
            let blocks = chunks(here, self.multiprocessors);
            self.split
                .launch(stream, Launch::blocks(blocks, THREADS), args)?;
        }
        Ok(())
    }
}
