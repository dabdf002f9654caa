//! What the rooms' workspaces and calls have in common.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, CudaView, sys::CUdevice_attribute};

use crate::{Error, Result, cuda, look_back::Control, select::Count};

/// Words of the head, before the states.
const CONTROL_WORDS: usize = size_of::<Control>() / size_of::<u64>();

/// A [`Control`] with the states behind it, as `look_back.cuh` explains them.
#[derive(Debug)]
pub(crate) struct States {
    pub(crate) words: CudaSlice<u64>,
    last_epoch: u32,
}

impl States {
    /// This many states, for epochs from 1 to `last_epoch`.
    pub(crate) fn new(stream: &Arc<CudaStream>, states: usize, last_epoch: u32) -> Result<Self> {
        let mut states = Self {
            words: cuda::zeroed(stream, CONTROL_WORDS + states)?,
            last_epoch,
        };
        states.set_epoch(stream, 1)?;
        Ok(states)
    }

    /// Makes them as old as if all but this many of their epochs were used up.
    pub(crate) fn age(&mut self, stream: &Arc<CudaStream>, epochs_left: u32) -> Result<()> {
        let left = epochs_left.clamp(1, self.last_epoch);
        self.set_epoch(stream, self.last_epoch + 1 - left)
    }

    fn set_epoch(&mut self, stream: &Arc<CudaStream>, epoch: u32) -> Result<()> {
        let control = Control {
            ticket: u64::from(epoch) << 32,
            state_count: (self.words.len() - CONTROL_WORDS) as u64,
            ..Control::default()
        };
        let control: &[u64] = bytemuck::cast_slice(std::slice::from_ref(&control));
        stream
            .memcpy_htod(control, &mut self.words.slice_mut(..control.len()))
            .map_err(Error::driver("set up a workspace"))
    }
}

/// What a call of a room counts its items by.
pub(crate) struct Counted<'a> {
    /// Where the device reads how many items there are.
    pub(crate) count: CudaView<'a, u32>,
    /// The most that there may be.
    pub(crate) capacity: u32,
}

/// How errors name what a call was given.
pub(crate) struct Names {
    /// The operation.
    pub(crate) room: &'static str,
    /// What the items are counted by.
    pub(crate) input: &'static str,
    /// The count's word.
    pub(crate) count: &'static str,
}

impl<'a> Counted<'a> {
    /// Refuses a count that is more than the `len` items that there are, or than the workspace's `room`.
    pub(crate) fn new(
        names: &Names,
        len: usize,
        count: Count<'a>,
        room: u32,
        no_limit: &'a CudaSlice<u32>,
    ) -> Result<Self> {
        let capacity = match &count {
            Count::Given(items) => *items as usize,
            Count::All | Count::Device(_) => len,
        };
        if capacity > len {
            return Err(Error::LengthMismatch {
                what: names.input,
                expected: capacity,
                got: len,
            });
        }
        let capacity = u32::try_from(capacity).map_err(|_| Error::TooLong {
            what: names.input,
            len: capacity,
            max: u32::MAX as usize,
        })?;
        if room < capacity {
            return Err(Error::WorkspaceTooSmall {
                what: names.room,
                needed: capacity as usize,
                got: room as usize,
            });
        }
        let count = match count {
            Count::All | Count::Given(_) => no_limit.slice(..),
            Count::Device(count) if !count.is_empty() => count,
            Count::Device(_) => {
                return Err(Error::LengthMismatch {
                    what: names.count,
                    expected: 1,
                    got: 0,
                });
            }
        };
        // Without a count on the device nothing limits it there, and the capacity is the count.
        Ok(Self { count, capacity })
    }
}

/// Refuses an output with less room than may be written.
pub(crate) fn check_room(what: &'static str, got: usize, needed: usize) -> Result<()> {
    if got < needed {
        return Err(Error::OutputTooShort { what, needed, got });
    }
    Ok(())
}

/// How many multiprocessors a GPU has.
pub(crate) fn multiprocessors(context: &Arc<CudaContext>) -> Result<u32> {
    let count = context
        .attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
        .map_err(Error::driver("ask the device for its multiprocessors"))?;
    Ok(count.max(1) as u32)
}
