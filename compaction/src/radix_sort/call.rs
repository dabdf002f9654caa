//! The checked arguments of a sort on a GPU, as passed to the strategies.

use std::ops::Range;

use bytemuck::Pod;
use cudarc::driver::{CudaView, CudaViewMut};

use crate::{
    Result,
    arguments::ItemCount,
    cuda::{self, Buffer},
};

/// The checked arguments of a sort, as passed to the strategy.
pub(super) struct SortCall<'a> {
    pub(super) bits: Range<u32>,
    /// Number of bits of a key, of which `bits` is a part.
    pub(super) key_bits: u32,
    pub(super) item_count: ItemCount<'a>,
    pub(super) keys: SortBuffers<'a>,
    pub(super) values: SortBuffers<'a>,
}

/// The input, output and scratch buffers of the keys, or of the values, as bytes. Passes alternate between output and
/// scratch.
pub(super) struct SortBuffers<'a> {
    pub(super) input: CudaView<'a, u8>,
    out: CudaViewMut<'a, u8>,
    /// The scratch buffer of the keys, or of the values. The last pass writes the output, the pass before it this
    /// buffer, and so on. A sort of one pass does not use it.
    scratch: CudaViewMut<'a, u8>,
}

impl<'a> SortBuffers<'a> {
    pub(super) fn new<T: Pod>(
        input: &'a CudaView<'_, T>,
        out: &'a mut CudaViewMut<'_, T>,
        scratch: &'a mut Buffer<u8>,
    ) -> Result<Self> {
        Ok(Self {
            input: cuda::reinterpret(input.slice(..))?,
            out: cuda::reinterpret_mut(out)?,
            scratch: scratch.as_view_mut(),
        })
    }

    /// Groups the buffers of values that the first pass makes. `absent` is a dummy.
    pub(super) fn without_input<T: Pod>(
        absent: &'a CudaView<'_, u8>,
        out: &'a mut CudaViewMut<'_, T>,
        scratch: &'a mut Buffer<u8>,
    ) -> Result<Self> {
        Ok(Self {
            input: absent.slice(..),
            out: cuda::reinterpret_mut(out)?,
            scratch: scratch.as_view_mut(),
        })
    }

    /// Returns the buffer that the first pass reads if there is no input. `after` is the number of passes that follow.
    pub(super) fn source(&mut self, after: u32) -> CudaViewMut<'_, u8> {
        match after % 2 {
            0 => self.scratch.slice_mut(..),
            _ => self.out.slice_mut(..),
        }
    }

    /// Returns (input, output) of a pass. `first` is whether it is the first pass, and `after` the number of passes
    /// that follow.
    pub(super) fn pass(
        &mut self,
        first: bool,
        after: u32,
    ) -> (CudaView<'_, u8>, CudaViewMut<'_, u8>) {
        let (from, to) = match after % 2 {
            0 => (self.scratch.slice(..), self.out.slice_mut(..)),
            _ => (self.out.slice(..), self.scratch.slice_mut(..)),
        };
        (if first { self.input.slice(..) } else { from }, to)
    }
}

/// Mutable views of the tables of a workspace, to be passed to kernels.
pub(super) struct Views<'a> {
    pub(super) onesweep: CudaViewMut<'a, u64>,
    pub(super) counts: CudaViewMut<'a, u64>,
    pub(super) starts: CudaViewMut<'a, u64>,
    pub(super) next_starts: CudaViewMut<'a, u64>,
    pub(super) finished: CudaViewMut<'a, u32>,
    pub(super) split: CudaViewMut<'a, u64>,
    pub(super) zeros: CudaViewMut<'a, u64>,
    pub(super) portion_zeros: CudaViewMut<'a, u32>,
}
