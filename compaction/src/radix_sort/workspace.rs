//! The device memory that calls share.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, CudaViewMut};

use super::{
    Key,
    onesweep::{self, NEXT_BINS},
    split,
};
use crate::{
    Error, Result,
    cuda::{self, multiprocessors},
    layout::Shared,
    look_back::States,
};

/// What a sort needs of device memory besides its arguments: once more the keys, and the values if there are any; and 2
/// KB for 42 KB of keys, 64 MB at most.
///
/// It is made once and then used over and over, by operations on one stream, one after the other. No call has to clear
/// it. The bytes that it takes never shrink as the capacity grows.
///
/// ```no_run
/// use compaction::{cuda, radix_sort::Workspace};
///
/// let stream = cuda::open(0)?.default_stream();
/// let workspace = Workspace::for_pairs::<u32, u32>(&stream, 1 << 20)?;
/// assert_eq!(workspace.capacity(), 1 << 20);
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Debug)]
pub struct Workspace {
    /// Where every other pass writes to, in bytes.
    keys: CudaSlice<u8>,
    /// As `keys`; empty for keys alone.
    values: CudaSlice<u8>,
    /// Stand for the values where there are none; never read or written.
    absent: [CudaSlice<u8>; 3],
    /// Stands for the count where it is given.
    unread: CudaSlice<u32>,
    tables: Tables,
    capacity: usize,
    key_bytes: usize,
    value_bytes: usize,
}

/// What the kernels count in.
#[derive(Debug)]
struct Tables {
    /// A state for each tile and bin.
    onesweep: States,
    /// How many keys are in each bin of each pass; zero between calls.
    counts: CudaSlice<u64>,
    /// Where each bin of each pass starts.
    starts: CudaSlice<u64>,
    /// Where the bins of a pass start in the next portion, twice.
    next_starts: CudaSlice<u64>,
    /// How many blocks have counted; zero between calls.
    finished: CudaSlice<u32>,
    /// A state for each chunk.
    split: States,
    /// How many keys have a zero, for each bit.
    zeros: CudaSlice<u64>,
    /// How many have one in each portion.
    portion_zeros: CudaSlice<u32>,
}

/// All of [`Tables`], to be lent to kernels.
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

/// What of a [`Workspace`] a call uses.
pub(super) struct Parts<'a> {
    pub(super) capacity: usize,
    pub(super) keys: &'a mut CudaSlice<u8>,
    pub(super) values: &'a mut CudaSlice<u8>,
    pub(super) absent: [&'a mut CudaSlice<u8>; 3],
    pub(super) unread: &'a CudaSlice<u32>,
    pub(super) tables: Views<'a>,
}

impl Workspace {
    /// A workspace for sorts of up to `items` keys alone.
    ///
    /// ```no_run
    /// use compaction::{cuda, radix_sort::Workspace};
    ///
    /// let workspace = Workspace::for_keys::<u64>(&cuda::open(0)?.default_stream(), 1000)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn for_keys<K: Key>(stream: &Arc<CudaStream>, items: usize) -> Result<Self> {
        Self::new::<K>(stream, items, 0)
    }

    /// A workspace for sorts of up to `items` keys, with values of `V`'s size or less, or alone.
    ///
    /// ```no_run
    /// use compaction::{cuda, radix_sort::Workspace};
    ///
    /// let workspace = Workspace::for_pairs::<f32, u32>(&cuda::open(0)?.default_stream(), 1000)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn for_pairs<K: Key, V: Shared>(stream: &Arc<CudaStream>, items: usize) -> Result<Self> {
        Self::new::<K>(stream, items, size_of::<V>())
    }

    fn new<K: Key>(stream: &Arc<CudaStream>, items: usize, value_bytes: usize) -> Result<Self> {
        let bytes = |each: usize| cuda::uninitialised(stream, items.saturating_mul(each));
        let byte = || cuda::zeroed(stream, 1);
        let states = onesweep::states(items, size_of::<K>() as u32, value_bytes as u32);
        let chunks = split::chunks(items, multiprocessors(stream.context())?);
        Ok(Self {
            keys: bytes(size_of::<K>())?,
            values: bytes(value_bytes)?,
            absent: [byte()?, byte()?, byte()?],
            unread: cuda::zeroed(stream, 1)?,
            tables: Tables {
                onesweep: States::new(stream, states)?,
                counts: cuda::zeroed(stream, onesweep::bins::<K>())?,
                starts: cuda::zeroed(stream, onesweep::bins::<K>())?,
                next_starts: cuda::zeroed(stream, NEXT_BINS)?,
                finished: cuda::zeroed(stream, 1)?,
                split: States::new(stream, chunks as usize)?,
                zeros: cuda::zeroed(stream, split::BITS)?,
                portion_zeros: cuda::zeroed(stream, split::portions(items))?,
            },
            capacity: items,
            key_bytes: size_of::<K>(),
            value_bytes,
        })
    }

    /// Whether the sorts since the last check had as many keys as a count on the device said, after all that the stream
    /// has to do before: this waits.
    ///
    /// ```no_run
    /// use compaction::{cuda, radix_sort::{Order, RadixSort, Strategy, Workspace}, select::Count};
    ///
    /// let context = cuda::open(0)?;
    /// let stream = context.default_stream();
    /// let sort = RadixSort::<u32>::new(&cuda::Compiler::new(), &context, Strategy::Onesweep, Order::Ascending)?;
    /// let mut workspace = Workspace::for_keys::<u32>(&stream, 2)?;
    ///
    /// let keys = cuda::upload(&stream, &[2_u32, 1])?;
    /// let mut out = cuda::zeroed::<u32>(&stream, 2)?;
    /// let too_many = cuda::upload(&stream, &[3_u32])?;
    /// let count = Count::Device(too_many.as_view());
    /// sort.keys(&stream, &keys.as_view(), count, &mut out.as_view_mut(), &mut workspace)?;
    /// assert!(workspace.check(&stream).is_err());
    /// assert_eq!(cuda::download(&stream, &out)?, [1, 2]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::CountTooLarge`] if a sort since the last check was told by the device of more keys than there were: it
    /// took as many as there were. Else those of [`cuda::download`].
    pub fn check(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        self.tables.onesweep.check_overrun(stream, "radix_sort")?;
        self.tables.split.check_overrun(stream, "radix_sort")
    }

    /// The most keys that it can be used for, see [the example](Self).
    ///
    /// ```no_run
    /// # use compaction::{cuda::{self, Compiler}, radix_sort::{Order, RadixSort, Strategy, Workspace}, select::Count};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// assert_eq!(Workspace::for_keys::<u32>(&stream, 1000)?.capacity(), 1000);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Makes it as old as if all but this many of its epochs were used up. For tests of what comes then.
    #[doc(hidden)]
    pub fn age(&mut self, stream: &Arc<CudaStream>, epochs_left: u32) -> Result<()> {
        self.tables.onesweep.age(stream, epochs_left)?;
        self.tables.split.age(stream, epochs_left)
    }

    /// Refuses a sort of other keys, or of larger values than there is room for.
    pub(super) fn parts<K: Key>(&mut self, value_bytes: usize) -> Result<Parts<'_>> {
        if self.key_bytes != size_of::<K>() {
            return Err(Error::LengthMismatch {
                what: "the bytes of a key in the workspace of radix_sort",
                expected: size_of::<K>(),
                got: self.key_bytes,
            });
        }
        if value_bytes > self.value_bytes {
            return Err(Error::LengthMismatch {
                what: "the bytes of a value in the workspace of radix_sort",
                expected: value_bytes,
                got: self.value_bytes,
            });
        }
        let tables = &mut self.tables;
        Ok(Parts {
            capacity: self.capacity,
            keys: &mut self.keys,
            values: &mut self.values,
            absent: self.absent.each_mut(),
            unread: &self.unread,
            tables: Views {
                onesweep: tables.onesweep.words.as_view_mut(),
                counts: tables.counts.as_view_mut(),
                starts: tables.starts.as_view_mut(),
                next_starts: tables.next_starts.as_view_mut(),
                finished: tables.finished.as_view_mut(),
                split: tables.split.words.as_view_mut(),
                zeros: tables.zeros.as_view_mut(),
                portion_zeros: tables.portion_zeros.as_view_mut(),
            },
        })
    }
}
