//! The device memory that calls share.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};

use super::{CLASS_TILE_ITEMS, TILE_ITEMS};
use crate::{
    Result, cuda,
    states::{States, multiprocessors},
};

/// Epochs of [`Partition`](super::Partition) go from 1 to this: a chunk's state has 30 bits for its epoch.
pub(super) const LAST_EPOCH: u32 = (1 << 30) - 1;
/// Bits of a count in the table of [`Classes`](super::Classes).
pub(super) const CHUNK_BITS: u32 = 20;
/// Epochs of [`Classes`](super::Classes) go from 1 to this: they have the other bits of the table's words.
pub(super) const LAST_CLASS_EPOCH: u32 = (1 << (32 - CHUNK_BITS)) - 1;
/// Words of a row of that table, at most.
const MOST_BINS: usize = 256;

/// Enough blocks to keep a multiprocessor busy, and few enough that each can read all the counts.
pub(super) const BLOCKS_PER_MULTIPROCESSOR: u32 = 4;

/// The chunks, hence blocks, of a partition in two.
pub(super) fn two_way_chunks(items: u32, multiprocessors: u32) -> u32 {
    let tiles = items.div_ceil(TILE_ITEMS);
    tiles.clamp(1, BLOCKS_PER_MULTIPROCESSOR * multiprocessors)
}

/// The chunks, hence blocks, of a partition into classes: one for every multiprocessor, and more where the counts would
/// not fit into their bits.
pub(super) fn class_chunks(items: u32, multiprocessors: u32) -> u32 {
    const MOST_TILES: u32 = ((1 << CHUNK_BITS) - 1) / CLASS_TILE_ITEMS;
    let tiles = items.div_ceil(CLASS_TILE_ITEMS);
    tiles
        .clamp(1, multiprocessors)
        .max(tiles.div_ceil(MOST_TILES))
}

/// What a partition needs of device memory besides its arguments: on an H200 about 150 KB, and more from 2²⁷ items on.
///
/// It is made once and then used over and over, by operations on one stream, one after the other. No call has to clear
/// it. The bytes that it takes never shrink as the capacity grows.
#[derive(Debug)]
pub struct Workspace {
    /// A state for each chunk of a partition in two.
    pub(super) flags: States,
    /// The table of a partition into classes, two words in a state.
    pub(super) classes: States,
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
        let multiprocessors = multiprocessors(stream.context())?;
        let chunks = two_way_chunks(items, multiprocessors) as usize;
        let rows = class_chunks(items, multiprocessors) as usize;
        Ok(Self {
            flags: States::new(stream, chunks, LAST_EPOCH)?,
            classes: States::new(stream, rows * MOST_BINS / 2, LAST_CLASS_EPOCH)?,
            no_limit: cuda::upload(stream, &[u32::MAX])?,
            capacity: items,
        })
    }

    /// Makes it as old as if all but this many of its epochs were used up. For tests of what comes then.
    #[doc(hidden)]
    pub fn age(&mut self, stream: &Arc<CudaStream>, epochs_left: u32) -> Result<()> {
        self.flags.age(stream, epochs_left)?;
        self.classes.age(stream, epochs_left)
    }

    /// The most items that it can be used for.
    pub fn capacity(&self) -> u32 {
        self.capacity
    }
}
