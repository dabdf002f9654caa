//! The device memory that calls share.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, CudaViewMut};

use super::{DIGIT_BITS, Key, SPLIT_ITEMS};
use crate::{
    Error, Result,
    cuda::{self, multiprocessors},
    look_back::States,
};

/// Threads of a block of onesweep.
pub(super) const ONESWEEP_THREADS: u32 = 512;
/// Keys of 4 bytes of a thread of onesweep.
pub(super) const ITEMS_PER_THREAD: u32 = 16;

/// Threads of a block of split.
pub(super) const SPLIT_THREADS: u32 = 256;
/// Blocks of split that run on a multiprocessor at once.
pub(super) const SPLIT_BLOCKS: u32 = 4;

/// A tile of keys has the same bytes whatever the key.
pub(super) const fn items_per_thread<K: Key>() -> u32 {
    ITEMS_PER_THREAD * 4 / size_of::<K>() as u32
}

pub(super) const fn tile_items<K: Key>() -> u32 {
    ONESWEEP_THREADS * items_per_thread::<K>()
}

/// The chunks, hence blocks, of a pass of split.
pub(super) fn split_chunks(items: u32, multiprocessors: u32) -> u32 {
    let tiles = items.div_ceil(SPLIT_THREADS * SPLIT_ITEMS);
    tiles.clamp(1, SPLIT_BLOCKS * multiprocessors)
}

/// What a sort needs of device memory besides its arguments: once more the keys, and the values if there are any, and
/// 2 KB for 32 KB of keys.
///
/// It is made once and then used over and over, by operations on one stream, one after the other. No call has to clear
/// it. The bytes that it takes never shrink as the capacity grows.
#[derive(Debug)]
pub struct Workspace {
    /// Where every other pass writes to, in words.
    pub(super) keys: CudaSlice<u32>,
    /// As `keys`; empty for keys alone.
    pub(super) values: CudaSlice<u32>,
    /// Stands for the values where there are none; never read or written.
    pub(super) absent: [CudaSlice<u32>; 3],
    /// The device's count for calls whose count is given: it limits nothing.
    pub(super) no_limit: CudaSlice<u32>,
    pub(super) tables: Tables,
    capacity: u32,
    key_bytes: usize,
    pairs: bool,
}

/// What the kernels count in.
#[derive(Debug)]
pub(super) struct Tables {
    /// A state for each tile and bin.
    onesweep: States,
    /// A state for each chunk.
    split: States,
    /// How many keys are in each bin of each pass; zero between calls.
    counts: CudaSlice<u32>,
    /// Where each bin of each pass starts.
    starts: CudaSlice<u32>,
    /// How many blocks have counted, zero between calls; and how many keys have a zero, which nobody reads.
    finished: CudaSlice<u32>,
}

/// All of [`Tables`], to be lent to kernels.
pub(super) struct Views<'a> {
    pub(super) onesweep: CudaViewMut<'a, u64>,
    pub(super) split: CudaViewMut<'a, u64>,
    pub(super) counts: CudaViewMut<'a, u32>,
    pub(super) starts: CudaViewMut<'a, u32>,
    pub(super) finished: CudaViewMut<'a, u32>,
}

impl Tables {
    pub(super) fn views(&mut self) -> Views<'_> {
        Views {
            onesweep: self.onesweep.words.as_view_mut(),
            split: self.split.words.as_view_mut(),
            counts: self.counts.as_view_mut(),
            starts: self.starts.as_view_mut(),
            finished: self.finished.as_view_mut(),
        }
    }
}

impl Workspace {
    /// A workspace for sorts of up to `items` keys alone.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn for_keys<K: Key>(stream: &Arc<CudaStream>, items: u32) -> Result<Self> {
        Self::new::<K>(stream, items, false)
    }

    /// A workspace for sorts of up to `items` keys, with values or alone.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn for_pairs<K: Key>(stream: &Arc<CudaStream>, items: u32) -> Result<Self> {
        Self::new::<K>(stream, items, true)
    }

    fn new<K: Key>(stream: &Arc<CudaStream>, items: u32, pairs: bool) -> Result<Self> {
        let key_words = items as usize * (size_of::<K>() / 4);
        let states = (items.div_ceil(tile_items::<K>()) as usize) << DIGIT_BITS;
        let chunks = split_chunks(items, multiprocessors(stream.context())?) as usize;
        let bins = size_of::<K>() << DIGIT_BITS;
        let word = || cuda::zeroed(stream, 1);
        Ok(Self {
            keys: cuda::uninitialised(stream, key_words)?,
            values: cuda::uninitialised(stream, if pairs { items as usize } else { 0 })?,
            absent: [word()?, word()?, word()?],
            no_limit: cuda::upload(stream, &[u32::MAX])?,
            tables: Tables {
                onesweep: States::new(stream, states)?,
                split: States::new(stream, chunks)?,
                counts: cuda::zeroed(stream, bins)?,
                starts: cuda::zeroed(stream, bins)?,
                finished: cuda::zeroed(stream, 2)?,
            },
            capacity: items,
            key_bytes: size_of::<K>(),
            pairs,
        })
    }

    /// Makes it as old as if all but this many of its epochs were used up. For tests of what comes then.
    #[doc(hidden)]
    pub fn age(&mut self, stream: &Arc<CudaStream>, epochs_left: u32) -> Result<()> {
        self.tables.onesweep.age(stream, epochs_left)?;
        self.tables.split.age(stream, epochs_left)
    }

    /// The most keys that it can be used for.
    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Refuses a sort of wider keys, or of values where there is no room for them. Returns the capacity.
    pub(super) fn check<K: Key>(&self, pairs: bool) -> Result<u32> {
        if self.key_bytes != size_of::<K>() {
            return Err(Error::LengthMismatch {
                what: "the bytes of a key in the workspace of radix_sort",
                expected: size_of::<K>(),
                got: self.key_bytes,
            });
        }
        if pairs && !self.pairs {
            return Err(Error::WorkspaceTooSmall {
                what: "the values of radix_sort",
                needed: self.capacity as usize,
                got: 0,
            });
        }
        Ok(self.capacity)
    }
}
