//! The device memory of `kernels/look_back.cuh`: the head of a workspace, and the states of its tiles.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};

use crate::{
    CountWord, Error, Result,
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
        pub(crate) overrun_capacity: u64,
        pub(crate) selected: [u64; 2],
        pub(crate) unused: [u64; 8],
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
    last_epoch: u32,
}

impl States {
    /// Room for states of so many words together.
    pub(crate) fn new(stream: &Arc<CudaStream>, words: usize) -> Result<Self> {
        Self::with_epochs(stream, words, LAST_EPOCH)
    }

    /// As [`new`](Self::new), for a kernel with fewer epochs.
    pub(crate) fn with_epochs(
        stream: &Arc<CudaStream>,
        words: usize,
        last_epoch: u32,
    ) -> Result<Self> {
        let mut states = Self {
            words: cuda::zeroed(stream, CONTROL_WORDS.saturating_add(words))?,
            last_epoch,
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
        let left = epochs_left.clamp(1, self.last_epoch);
        self.set_epoch(stream, self.last_epoch + 1 - left)
    }

    /// Reports a count on the device that said too much to a call since the last report. This waits.
    pub(crate) fn check_overrun(
        &mut self,
        stream: &Arc<CudaStream>,
        what: &'static str,
    ) -> Result<()> {
        let words = cuda::download(stream, &self.words.slice(..CONTROL_WORDS))?;
        let control: Control = bytemuck::pod_read_unaligned(bytemuck::cast_slice(&words));
        if control.overrun == 0 {
            return Ok(());
        }
        let reported = Control {
            overrun: 0,
            ..control
        };
        self.set_control(stream, reported)?;
        Err(Error::CountTooLarge {
            what,
            count: control.overrun.to_len(),
            capacity: control.overrun_capacity.to_len(),
        })
    }

    fn set_epoch(&mut self, stream: &Arc<CudaStream>, epoch: u32) -> Result<()> {
        let control = Control {
            ticket: u64::from(epoch) << 32,
            state_count: self.len() as u64,
            ..Control::default()
        };
        self.set_control(stream, control)
    }

    fn set_control(&mut self, stream: &Arc<CudaStream>, control: Control) -> Result<()> {
        let control: &[u64] = bytemuck::cast_slice(std::slice::from_ref(&control));
        stream
            .memcpy_htod(control, &mut self.words.slice_mut(..control.len()))
            .map_err(Error::driver("set up a workspace"))
    }
}
