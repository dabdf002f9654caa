//! The device memory that calls share.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};

use super::TILE_ITEMS;
use crate::{Result, cuda, look_back::States};

/// What an operation needs of device memory besides its arguments: 8 bytes for 4,096 items.
///
/// It is made once and then used over and over, by operations on one stream, one after the other. No call has to clear
/// it. The bytes that it takes never shrink as the capacity grows.
#[derive(Debug)]
pub struct Workspace {
    pub(super) states: States,
    /// The device's count for calls whose count is given: it limits nothing.
    pub(super) no_limit: CudaSlice<u32>,
    capacity: u32,
}

impl Workspace {
    /// A workspace for operations on up to `items` items.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn with_capacity(stream: &Arc<CudaStream>, items: u32) -> Result<Self> {
        // The smallest call still has a tile, to say that there is nothing.
        let tiles = items.div_ceil(TILE_ITEMS).max(1);
        Ok(Self {
            states: States::new(stream, tiles as usize)?,
            no_limit: cuda::upload(stream, &[u32::MAX])?,
            capacity: items,
        })
    }

    /// Makes it as old as if all but this many of its 2³⁰ - 1 epochs were used up. For tests of what comes then.
    #[doc(hidden)]
    pub fn age(&mut self, stream: &Arc<CudaStream>, epochs_left: u32) -> Result<()> {
        self.states.age(stream, epochs_left)
    }

    /// The most items that it can be used for.
    pub fn capacity(&self) -> u32 {
        self.capacity
    }
}
