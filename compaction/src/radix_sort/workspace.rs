//! The scratch memory of radix sorts.

use std::{marker::PhantomData, sync::Arc};

use cudarc::driver::{CudaContext, CudaStream};

use super::{
    Key,
    call::Views,
    onesweep::{self, NEXT_BINS},
    split,
};
use crate::{
    Result,
    cuda::{Arena, Buffer, GraphBuffers, Handover, Uses, multiprocessors},
    look_back::States,
};

/// Scratch device memory for sorts of keys of type `K`, alone or with values of type `V`, with any strategy.
///
/// It holds a copy of the keys, a copy of the values if there are any, and look-back states. These take 2 KiB for
/// every 42 KiB of 4-byte keys, but at most 64 MiB.
///
/// Create one workspace and reuse it for any number of calls on one stream, one after the other. It never needs
/// clearing. A larger capacity never takes fewer bytes.
///
/// ```no_run
/// use compaction::{cuda, radix_sort::Workspace};
///
/// let stream = cuda::open(0)?.default_stream();
/// let of_keys = Workspace::<u32>::with_capacity(&stream, 1 << 20)?;
/// let of_pairs = Workspace::<u32, f32>::with_capacity(&stream, 1 << 20)?; // serves keys alone as well
/// assert_eq!(of_keys.capacity(), of_pairs.capacity());
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Debug)]
pub struct Workspace<K, V = ()> {
    memory: Memory,
    types: PhantomData<fn(K, V)>,
}

impl<K, V> GraphBuffers for Workspace<K, V> {
    fn visit<'l>(&'l mut self, uses: &mut Uses<'l>) {
        self.memory.keys.visit(uses);
        self.memory.values.visit(uses);
        self.memory.absent.visit(uses);
        self.memory.dummy_count.visit(uses);
        let tables = &mut self.memory.tables;
        tables.onesweep.visit(uses);
        tables.counts.visit(uses);
        tables.starts.visit(uses);
        tables.next_starts.visit(uses);
        tables.finished.visit(uses);
        tables.split.visit(uses);
        tables.zeros.visit(uses);
        tables.portion_zeros.visit(uses);
    }
}

/// The buffers of a [`Workspace`], whose types do not depend on those of keys and values.
#[derive(Debug)]
struct Memory {
    /// The scratch buffer of the keys, as bytes. The last pass writes the output, the one before it this buffer, and so
    /// on.
    keys: Buffer<u8>,
    /// The scratch buffer of the values, as bytes. Empty for keys alone.
    values: Buffer<u8>,
    /// Dummies for the input, output and scratch buffer of the values, for keys alone. No kernel accesses them.
    absent: [Buffer<u8>; 3],
    /// A dummy for the device count if the host gives the count. No kernel reads it.
    dummy_count: Buffer<u64>,
    tables: Tables,
    capacity: usize,
}

/// The tables of counts, offsets and look-back states that the kernels of both strategies use.
#[derive(Debug)]
struct Tables {
    /// Onesweep: a look-back state for each bin and tile of a launch.
    onesweep: States,
    /// Onesweep: the number of keys in each bin of each pass. All are zero between calls.
    counts: Buffer<u64>,
    /// Onesweep: the output index at which each bin of each pass starts.
    starts: Buffer<u64>,
    /// Onesweep: the output index at which each bin starts in the next launch of a pass. Launches alternate between two
    /// halves.
    next_starts: Buffer<u64>,
    /// Onesweep: the number of blocks that have finished counting. Zero between calls.
    finished: Buffer<u32>,
    /// Split: a look-back state for each chunk of a launch.
    split: States,
    /// Split: for each bit, the number of keys in which it is zero.
    zeros: Buffer<u64>,
    /// Split: the number of keys with a zero in the current bit, for each launch of the pass.
    portion_zeros: Buffer<u32>,
}

/// The parts of a [`Workspace`] that a call uses.
pub(super) struct Parts<'a> {
    pub(super) capacity: usize,
    pub(super) keys: &'a mut Buffer<u8>,
    pub(super) values: &'a mut Buffer<u8>,
    pub(super) absent: [&'a mut Buffer<u8>; 3],
    pub(super) dummy_count: &'a Buffer<u64>,
    pub(super) tables: Views<'a>,
}

impl<K: Key, V> Workspace<K, V> {
    /// Creates a workspace for sorts of up to `items` keys, alone or with values of type `V`.
    ///
    /// A value has 4 or 8 bytes, and another size does not compile. The default `()` stands for no values.
    ///
    /// ```no_run
    /// use compaction::{cuda, radix_sort::Workspace};
    ///
    /// let workspace = Workspace::<u64>::with_capacity(&cuda::open(0)?.default_stream(), 1000)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfMemory`](crate::Error::OutOfMemory).
    pub fn with_capacity(stream: &Arc<CudaStream>, items: usize) -> Result<Self> {
        Self::in_arena(&mut Arena::allocating(stream), items)
    }

    /// Creates a workspace like [`with_capacity`](Self::with_capacity), with its memory from an [`Arena`].
    ///
    /// ```no_run
    /// # use compaction::{cuda::{self, Arena}, radix_sort::Workspace};
    /// # let stream = cuda::open(0)?.default_stream();
    /// let workspace = Workspace::<u32, f32>::in_arena(&mut Arena::allocating(&stream), 1 << 20)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfMemory`](crate::Error::OutOfMemory), or
    /// [`Error::MemoryTooSmall`](crate::Error::MemoryTooSmall) if the arena has too little memory.
    pub fn in_arena(arena: &mut Arena, items: usize) -> Result<Self> {
        const {
            assert!(
                matches!(size_of::<V>(), 0 | 4 | 8),
                "a value has 4 or 8 bytes"
            )
        };
        Ok(Self {
            memory: Memory::new(arena, items, size_of::<K>(), size_of::<V>())?,
            types: PhantomData,
        })
    }

    /// Returns the number of bytes that an [`Arena`] needs for a workspace. Allocates nothing.
    ///
    /// ```no_run
    /// # use compaction::{cuda, radix_sort::Workspace};
    /// let bytes = Workspace::<u32, f32>::bytes_for(&cuda::open(0)?, 1 << 20)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::MemoryTooSmall`](crate::Error::MemoryTooSmall) if the bytes exceed the address space, and
    /// [`Error::Driver`](crate::Error::Driver) if the GPU cannot be queried.
    pub fn bytes_for(context: &Arc<CudaContext>, items: usize) -> Result<usize> {
        Arena::measure(context, |arena| Self::in_arena(arena, items))
    }

    /// Waits for the stream and reports a device count that was too large in the sorts since the last check.
    ///
    /// ```no_run
    /// use compaction::{Count, cuda, radix_sort::{Order, RadixSort, Strategy, Workspace}};
    ///
    /// let context = cuda::open(0)?;
    /// let stream = context.default_stream();
    /// let sort = RadixSort::<u32>::new(&cuda::Compiler::new(), &context, Order::Ascending, Strategy::Onesweep)?;
    /// let mut workspace = Workspace::<u32>::with_capacity(&stream, 2)?;
    ///
    /// let keys = cuda::upload(&stream, &[2_u32, 1])?;
    /// let mut out = cuda::zeroed::<u32>(&stream, 2)?;
    /// let too_many = cuda::upload(&stream, &[3_u32])?;
    /// let count = Count::on_device(&too_many);
    /// sort.keys(&stream, &keys, count, &mut out, &mut workspace)?;
    /// assert!(workspace.check(&stream).is_err());
    /// assert_eq!(cuda::download(&stream, &out)?, [1, 2]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::CountTooLarge`](crate::Error::CountTooLarge) if a device count exceeded the number of keys; the
    /// sort then processed all keys of the buffer. Otherwise returns the errors of
    /// [`cuda::download`](crate::cuda::download).
    pub fn check(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        let tables = &mut self.memory.tables;
        tables.onesweep.check_overrun(stream, "radix_sort")?;
        tables.split.check_overrun(stream, "radix_sort")
    }

    /// Returns the number of keys that was passed at creation: the longest possible input.
    ///
    /// ```no_run
    /// # use compaction::{cuda, radix_sort::Workspace};
    /// # let stream = cuda::open(0)?.default_stream();
    /// assert_eq!(Workspace::<u32>::with_capacity(&stream, 1000)?.capacity(), 1000);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn capacity(&self) -> usize {
        self.memory.capacity
    }

    /// Returns the size of the workspace in bytes of device memory.
    ///
    /// ```no_run
    /// # use compaction::{cuda, radix_sort::Workspace};
    /// # let stream = cuda::open(0)?.default_stream();
    /// let of_keys = Workspace::<u32>::with_capacity(&stream, 1 << 20)?;
    /// let of_pairs = Workspace::<u32, u32>::with_capacity(&stream, 1 << 20)?;
    /// assert_eq!(of_pairs.bytes(), of_keys.bytes() + (4 << 20));
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn bytes(&self) -> usize {
        self.memory.bytes()
    }

    /// Uses the workspace on another stream from now on. Does nothing if it is used there already.
    ///
    /// ```no_run
    /// # use compaction::{cuda::{self, Handover}, radix_sort::Workspace};
    /// # let context = cuda::open(0)?;
    /// # let mut workspace = Workspace::<u32>::with_capacity(&context.default_stream(), 1000)?;
    /// # let stream = context.new_stream().map_err(compaction::Error::driver("make a stream"))?;
    /// // SAFETY: no work was enqueued yet.
    /// workspace.hand_over(&unsafe { Handover::to(&stream) })?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::ForeignContext`](crate::Error::ForeignContext) if the stream belongs to another context.
    pub fn hand_over(&mut self, handover: &Handover) -> Result<()> {
        self.memory.hand_over(handover)
    }

    /// Sets the launch counters (epochs) so that they wrap around after `epochs_left` more launches. That number is
    /// clamped to the range from 1 to the number of epochs. For tests.
    #[doc(hidden)]
    pub fn age(&mut self, stream: &Arc<CudaStream>, epochs_left: u32) -> Result<()> {
        let tables = &mut self.memory.tables;
        tables.onesweep.age(stream, epochs_left)?;
        tables.split.age(stream, epochs_left)
    }

    /// Borrows all parts of the workspace, for one call.
    pub(super) fn parts(&mut self) -> Parts<'_> {
        self.memory.parts()
    }
}

impl Memory {
    fn new(arena: &mut Arena, items: usize, key_bytes: usize, value_bytes: usize) -> Result<Self> {
        let states = onesweep::states(items, key_bytes as u32, value_bytes as u32);
        let bins = onesweep::bins(key_bytes);
        let chunks = split::chunks(items, multiprocessors(arena.stream().context())?);
        Ok(Self {
            keys: arena.uninitialised(items.saturating_mul(key_bytes))?,
            values: arena.uninitialised(items.saturating_mul(value_bytes))?,
            absent: [arena.zeroed(1)?, arena.zeroed(1)?, arena.zeroed(1)?],
            dummy_count: arena.zeroed(1)?,
            tables: Tables {
                onesweep: States::new(arena, states)?,
                counts: arena.zeroed(bins)?,
                starts: arena.zeroed(bins)?,
                next_starts: arena.zeroed(NEXT_BINS)?,
                finished: arena.zeroed(1)?,
                split: States::new(arena, chunks as usize)?,
                zeros: arena.zeroed(split::BITS)?,
                portion_zeros: arena.zeroed(split::portions(items))?,
            },
            capacity: items,
        })
    }

    fn hand_over(&mut self, handover: &Handover) -> Result<()> {
        for bytes in self
            .absent
            .iter_mut()
            .chain([&mut self.keys, &mut self.values])
        {
            bytes.hand_over(handover)?;
        }
        let tables = &mut self.tables;
        for table in [
            &mut self.dummy_count,
            &mut tables.counts,
            &mut tables.starts,
            &mut tables.next_starts,
            &mut tables.zeros,
        ] {
            table.hand_over(handover)?;
        }
        tables.finished.hand_over(handover)?;
        tables.portion_zeros.hand_over(handover)?;
        tables.onesweep.hand_over(handover)?;
        tables.split.hand_over(handover)
    }

    fn bytes(&self) -> usize {
        let absent: usize = self.absent.iter().map(Buffer::num_bytes).sum();
        let tables = &self.tables;
        let counts = [
            &tables.counts,
            &tables.starts,
            &tables.next_starts,
            &tables.zeros,
        ];
        let counts: usize = counts.iter().map(|table| table.num_bytes()).sum();
        let states = tables.onesweep.words.num_bytes() + tables.split.words.num_bytes();
        let words = tables.finished.num_bytes() + tables.portion_zeros.num_bytes();
        let held = self.keys.num_bytes() + self.values.num_bytes() + self.dummy_count.num_bytes();
        absent + counts + states + words + held
    }

    fn parts(&mut self) -> Parts<'_> {
        let tables = &mut self.tables;
        Parts {
            capacity: self.capacity,
            keys: &mut self.keys,
            values: &mut self.values,
            absent: self.absent.each_mut(),
            dummy_count: &self.dummy_count,
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
        }
    }
}
