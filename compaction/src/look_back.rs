//! Device memory of the decoupled look-back of `kernels/look_back.cuh`: a control header, followed by the tile states.

use std::sync::Arc;

use cudarc::driver::CudaStream;

use crate::{
    CountWord, Error, Result,
    cuda::{self, Arena, Buffer, GraphBuffers, Handover, Source, Uses},
};

/// The number of the last epoch. Each launch has an epoch, counted from 1, which a tile state stores in 30 bits, so
/// that states of earlier launches need no clearing.
///
/// A launch in the last epoch clears the states, and the epochs start again at 1.
pub(crate) const LAST_EPOCH: u32 = (1 << 30) - 1;

crate::shared! {
    /// The header of a workspace: ticket counter, error report, and sums that one launch leaves for the next. `Control`
    /// in `kernels/look_back.cuh` documents the fields.
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

/// Size of the header of a workspace in 8-byte words. The tile states follow the header.
pub(crate) const CONTROL_WORDS: usize = size_of::<Control>() / size_of::<u64>();

/// Adds to a kernel source the definitions that `look_back.cuh` needs: the constant [`LAST_EPOCH`], and the layout
/// check of [`Control`]. The kernel file itself includes the header.
pub(crate) fn declare(source: Source) -> Source {
    source
        .constant("LAST_EPOCH", LAST_EPOCH)
        .shared::<Control>()
}

/// The header ([`Control`]) and the tile states of a workspace, in one device buffer of 8-byte words.
#[derive(Debug)]
pub(crate) struct States {
    pub(crate) words: Buffer<u64>,
    last_epoch: u32,
}

impl GraphBuffers for States {
    fn visit<'l>(&'l mut self, uses: &mut Uses<'l>) {
        self.words.visit(uses);
    }
}

impl States {
    /// Allocates a header and `words` 8-byte words of tile states, with epochs up to [`LAST_EPOCH`].
    pub(crate) fn new(arena: &mut Arena, words: usize) -> Result<Self> {
        Self::with_epochs(arena, words, LAST_EPOCH)
    }

    /// Allocates a header and `words` 8-byte words of tile states, with epochs from 1 to `last_epoch`.
    pub(crate) fn with_epochs(arena: &mut Arena, words: usize, last_epoch: u32) -> Result<Self> {
        let mut states = Self {
            words: arena.zeroed(CONTROL_WORDS.saturating_add(words))?,
            last_epoch,
        };
        if arena.has_memory() {
            states.set_epoch(arena.stream(), 1)?;
        }
        Ok(states)
    }

    /// Uses the buffer on another stream from now on.
    pub(crate) fn hand_over(&mut self, handover: &Handover) -> Result<()> {
        self.words.hand_over(handover)
    }

    /// Returns the number of 8-byte words that are allocated for tile states, without the header. The state of a tile
    /// takes one word or more.
    pub(crate) fn len(&self) -> usize {
        self.words.len() - CONTROL_WORDS
    }

    /// Sets the launch counter (epoch) so that it wraps around after `epochs_left` more launches. That number is
    /// clamped to the range from 1 to the number of epochs. Also clears the rest of the header, such as the error
    /// report. For tests.
    pub(crate) fn age(&mut self, stream: &Arc<CudaStream>, epochs_left: u32) -> Result<()> {
        let left = epochs_left.clamp(1, self.last_epoch);
        self.set_epoch(stream, self.last_epoch + 1 - left)
    }

    /// Waits for the stream and returns [`Error::CountTooLarge`] if a call since the last check read a device count
    /// larger than its buffer.
    ///
    /// The report is then cleared. `what` names the operation in the error.
    pub(crate) fn check_overrun(
        &mut self,
        stream: &Arc<CudaStream>,
        what: &'static str,
    ) -> Result<()> {
        let words = cuda::download(stream, &self.words.as_view().slice(..CONTROL_WORDS))?;
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

    /// Enqueues the reset of the header, with the next launch in epoch `epoch`.
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
        cuda::overwrite(
            stream,
            control,
            &mut self.words.as_view_mut().slice_mut(..control.len()),
        )
    }
}
