//! The device memory that calls share.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};

use super::TILE_ITEMS;
use crate::{Error, Result, cuda};

/// Epochs go from 1 to this. A tile's state has 30 bits for its epoch.
pub(super) const LAST_EPOCH: u32 = (1 << 30) - 1;

crate::shared! {
    /// The head of a workspace, as `look_back.cuh` explains it.
    pub(crate) struct Control {
        pub(crate) ticket: u64,
        pub(crate) finished: u64,
        pub(crate) state_count: u64,
        pub(crate) appended: u64,
        pub(crate) unused: [u64; 12],
    }
}

/// Words of the head, before the tiles' states.
const CONTROL_WORDS: usize = size_of::<Control>() / size_of::<u64>();

/// What an operation needs of device memory besides its arguments: 8 bytes for 4,096 items.
///
/// It is made once and then used over and over, by operations on one stream, one after the other. No call has to clear
/// it. The bytes that it takes never shrink as the capacity grows.
#[derive(Debug)]
pub struct Workspace {
    /// A [`Control`], and a state for each tile.
    pub(super) words: CudaSlice<u64>,
    /// The device's count for calls whose count is given: it limits nothing.
    pub(super) no_limit: CudaSlice<u32>,
    capacity: u32,
}

impl Workspace {
    /// A workspace for operations on up to `items` items.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn with_capacity(stream: &Arc<CudaStream>, items: u32) -> Result<Self> {
        // The smallest call still has a tile, to say that there is nothing.
        let states = items.div_ceil(TILE_ITEMS).max(1);
        let mut workspace = Self {
            words: cuda::zeroed(stream, CONTROL_WORDS + states as usize)?,
            no_limit: cuda::upload(stream, &[u32::MAX])?,
            capacity: items,
        };
        workspace.set_epoch(stream, 1)?;
        Ok(workspace)
    }

    /// Makes it as old as if all but this many of its 2³⁰ - 1 epochs were used up. For tests of what comes then.
    #[doc(hidden)]
    pub fn age(&mut self, stream: &Arc<CudaStream>, epochs_left: u32) -> Result<()> {
        self.set_epoch(stream, LAST_EPOCH + 1 - epochs_left.clamp(1, LAST_EPOCH))
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

    /// The most items that it can be used for.
    pub fn capacity(&self) -> u32 {
        self.capacity
    }
}
