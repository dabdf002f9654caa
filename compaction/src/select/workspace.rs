//! The device memory that calls share.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, CudaView};

use super::{BLOCK_THREADS, IN_PLACE_LEAST_ITEMS, MOST_SEQUENCES, SECTION_ITEMS, TILE_ITEMS};
use crate::{
    Error, Result, Strategy, cuda,
    look_back::{CONTROL_WORDS, Control, LAST_EPOCH},
};

/// What an operation needs of device memory besides its arguments: 8 bytes for 8,192 items by the default.
///
/// It is made once and then used over and over, by operations on one stream, one after the other. No call has to clear
/// it. The bytes that it takes never shrink as the capacity grows.
#[derive(Debug)]
pub struct Workspace {
    /// A [`Control`], and a state for each tile.
    pub(super) words: CudaSlice<u64>,
    /// What the strategies of several launches hand from one to the next.
    pub(super) scratch: CudaSlice<u32>,
    /// Stands for what a kernel does not read: the count where it is given, the items where indices are selected.
    pub(super) unread: CudaSlice<u32>,
    capacity: u32,
}

impl Workspace {
    /// A workspace for operations on up to `items` items, by any strategy, also in place: some 4 bytes an item.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn with_capacity(stream: &Arc<CudaStream>, items: u32) -> Result<Self> {
        let scratch = Strategy::ALL.iter().map(|&each| scratch_words(each, items));
        Self::sized(
            stream,
            items,
            IN_PLACE_LEAST_ITEMS,
            scratch.max().unwrap_or(0),
        )
    }

    /// A workspace for operations on up to `items` items that are not in place, by this strategy, and by those that need
    /// no more: the default, `atomic` and `off` need the least.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn for_strategy(stream: &Arc<CudaStream>, strategy: Strategy, items: u32) -> Result<Self> {
        Self::sized(stream, items, TILE_ITEMS, scratch_words(strategy, items))
    }

    fn sized(
        stream: &Arc<CudaStream>,
        items: u32,
        tile_items: u32,
        scratch: usize,
    ) -> Result<Self> {
        // The smallest call still has a tile, to say that there is nothing.
        let states = items.div_ceil(tile_items).max(1);
        let mut workspace = Self {
            words: cuda::zeroed(stream, CONTROL_WORDS + states as usize)?,
            scratch: cuda::uninitialised(stream, scratch)?,
            unread: cuda::zeroed(stream, 1)?,
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
        self.set_control(
            stream,
            Control {
                ticket: u64::from(epoch) << 32,
                state_count: self.states() as u64,
                ..Control::default()
            },
        )
    }

    fn set_control(&mut self, stream: &Arc<CudaStream>, control: Control) -> Result<()> {
        let control: &[u64] = bytemuck::cast_slice(std::slice::from_ref(&control));
        stream
            .memcpy_htod(control, &mut self.words.slice_mut(..control.len()))
            .map_err(Error::driver("set up a workspace"))
    }

    /// The count that an operation left in `selected[0]`, after all that its stream has to do before: this waits.
    ///
    /// # Errors
    ///
    /// [`Error::CountTooLarge`] if an operation since the last read was told by the device of more items than there
    /// were: it took as many as there were, and the next read gives what it selected of these. Else those of
    /// [`cuda::download`].
    pub fn read(
        &mut self,
        stream: &Arc<CudaStream>,
        selected: &CudaView<'_, u32>,
    ) -> Result<usize> {
        let selected = cuda::download(stream, selected)?;
        let control = cuda::download(stream, &self.words.slice(..CONTROL_WORDS))?;
        let control: Control = bytemuck::pod_read_unaligned(bytemuck::cast_slice(&control));
        if control.overrun != 0 {
            let overrun = control.overrun;
            self.set_control(
                stream,
                Control {
                    overrun: 0,
                    ..control
                },
            )?;
            return Err(Error::CountTooLarge {
                what: "select",
                count: (overrun >> 32) as usize,
                capacity: overrun as u32 as usize,
            });
        }
        selected
            .first()
            .map(|&count| count as usize)
            .ok_or(Error::OutputTooShort {
                what: "the count that select writes",
                needed: 1,
                got: 0,
            })
    }

    /// The most items that it can be used for.
    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    /// The most items that it can be used for by a strategy.
    pub(super) fn capacity_for(&self, strategy: Strategy) -> u32 {
        let whole = scratch_words(strategy, self.capacity).max(1);
        let share = self.scratch.len() as u64 * u64::from(self.capacity) / whole as u64;
        match scratch_words(strategy, self.capacity) {
            0 => self.capacity,
            _ => self.capacity.min(share as u32),
        }
    }

    /// Tiles that it has states for.
    pub(super) fn states(&self) -> usize {
        self.words.len() - CONTROL_WORDS
    }
}

/// Words of 4 bytes that the launches of a strategy hand on, for as many items.
pub(super) fn scratch_words(strategy: Strategy, items: u32) -> usize {
    let items = items as usize;
    match strategy {
        Strategy::LookBack | Strategy::Atomic | Strategy::Off => 0,
        // The blocks' counts.
        Strategy::CountScanScatter => items.div_ceil(BLOCK_THREADS as usize),
        Strategy::Sequences => MOST_SEQUENCES as usize,
        // Every item's rank, and the sections' sums.
        Strategy::ScanScatter => items + items.div_ceil(SECTION_ITEMS as usize),
        // The holes, and the survivors before each tile.
        Strategy::HoleFilling => items / 2 + items.div_ceil(TILE_ITEMS as usize),
    }
}
