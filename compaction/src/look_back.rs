//! The device memory of `kernels/look_back.cuh`: the head of a workspace, and the states of its tiles.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};

use crate::{
    Error, Result,
    cuda::{self, Source},
};

/// Epochs go from 1 to this. A tile's state has 30 bits for its epoch.
pub(crate) const LAST_EPOCH: u32 = (1 << 30) - 1;

crate::shared! {
    /// The head of a workspace, as `look_back.cuh` explains it.
    pub(crate) struct Control {
        pub(crate) ticket: u64,
        pub(crate) finished: u64,
        pub(crate) state_count: u64,
        pub(crate) appended: u64,
        pub(crate) overrun: u64,
        pub(crate) unused: [u64; 11],
    }
}

/// Words of the head, before the tiles' states.
pub(crate) const CONTROL_WORDS: usize = size_of::<Control>() / size_of::<u64>();

/// Says to a kernel file that includes `look_back.cuh` what it has to know.
pub(crate) fn declare(source: Source) -> Source {
    source
        .constant("LAST_EPOCH", LAST_EPOCH)
        .shared::<Control>()
}

/// A `Control`, and a word for each tile's state, or each half of it.
#[derive(Debug)]
pub(crate) struct States {
    pub(crate) words: CudaSlice<u64>,
}

impl States {
    /// Room for states of so many words together.
    pub(crate) fn new(stream: &Arc<CudaStream>, words: usize) -> Result<Self> {
        let mut states = Self {
            words: cuda::zeroed(stream, CONTROL_WORDS.saturating_add(words))?,
        };
        states.set_epoch(stream, 1)?;
        Ok(states)
    }

    /// The words that the states have together.
    pub(crate) fn len(&self) -> usize {
        self.words.len() - CONTROL_WORDS
    }

    /// Makes them as old as if all but this many epochs were used up.
    pub(crate) fn age(&mut self, stream: &Arc<CudaStream>, epochs_left: u32) -> Result<()> {
        self.set_epoch(stream, LAST_EPOCH + 1 - epochs_left.clamp(1, LAST_EPOCH))
    }

    fn set_epoch(&mut self, stream: &Arc<CudaStream>, epoch: u32) -> Result<()> {
        let control = Control {
            ticket: u64::from(epoch) << 32,
            state_count: self.len() as u64,
            ..Control::default()
        };
        let control: &[u64] = bytemuck::cast_slice(std::slice::from_ref(&control));
        stream
            .memcpy_htod(control, &mut self.words.slice_mut(..control.len()))
            .map_err(Error::driver("set up a workspace"))
    }
}
