//! Small results on their way from the device to the host.

use std::{sync::Arc, time::Duration};

use cudarc::driver::{
    CudaContext, CudaEvent, CudaStream, CudaView, DeviceSlice, PinnedHostSlice, sys::CUevent_flags,
};

use super::{kernel::check_stream, patience::complete};
use crate::{
    error::{Error, Result},
    layout::Shared,
};

/// Items copied to the host behind the work of a stream. Only reading waits.
///
/// A mailbox posts outside of graph captures.
///
/// ```no_run
/// use compaction::cuda::{self, Mailbox};
///
/// let context = cuda::open(0)?;
/// let stream = context.default_stream();
/// let mut mailbox = Mailbox::<u32>::new(&context, 1)?;
///
/// let count = cuda::upload(&stream, &[3_u32])?; // as an operation leaves it
/// mailbox.post(&stream, count.as_view())?;
/// // More work for the stream and for this thread; then, once the count is wanted:
/// assert_eq!(mailbox.wait()?, [3]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Debug)]
pub struct Mailbox<T: Shared> {
    /// Page-locked, so that the copy needs no host thread.
    items: PinnedHostSlice<T>,
    /// How many of them the last post copies.
    posted: usize,
    arrived: CudaEvent,
}

impl<T: Shared> Mailbox<T> {
    /// A mailbox for up to `len` items.
    ///
    /// ```no_run
    /// use compaction::cuda::{self, Mailbox};
    ///
    /// let mailbox = Mailbox::<u32>::new(&cuda::open(0)?, 1)?;
    /// assert!(mailbox.wait()?.is_empty());
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`], or [`Error::Driver`] if the host has not so much memory to lock.
    pub fn new(context: &Arc<CudaContext>, len: usize) -> Result<Self> {
        let max = isize::MAX as usize / size_of::<T>().max(1) - 1;
        if len > max {
            return Err(Error::OutOfRange {
                what: "the items of a mailbox",
                got: len,
                least: 0,
                most: max,
            });
        }
        // SAFETY: the memory is not read before a copy has filled it, and any bits are a valid `T`. Without flags it is
        // cached by the CPU, which reads it. There is always room for one item: the driver locks no empty memory.
        let items = unsafe { context.alloc_pinned_with_flags(len.max(1), 0) };
        let items = items.map_err(Error::driver(format!(
            "lock {} bytes of host memory",
            len * size_of::<T>()
        )))?;
        let arrived = context
            .new_event(Some(CUevent_flags::CU_EVENT_DISABLE_TIMING))
            .map_err(Error::driver("make an event"))?;
        Ok(Self {
            items,
            posted: 0,
            arrived,
        })
    }

    /// Copies the items once the stream comes to it. A later post replaces them.
    ///
    /// ```no_run
    /// # use compaction::cuda::{self, Mailbox};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// let mut mailbox = Mailbox::<u32>::new(&context, 4)?;
    /// let counts = cuda::upload(&stream, &[3_u32, 1, 4, 1])?;
    /// mailbox.post(&stream, counts.as_view())?;
    /// mailbox.post(&stream, counts.slice(..2))?;
    /// assert_eq!(mailbox.wait()?, [3, 1]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutputTooShort`] for more items than there is room; as [`Kernel::launch`](super::Kernel::launch) for a
    /// foreign buffer.
    pub fn post(&mut self, stream: &Arc<CudaStream>, items: CudaView<'_, T>) -> Result<()> {
        if items.len() > self.items.len() {
            return Err(Error::OutputTooShort {
                what: "mailbox",
                needed: items.len(),
                got: self.items.len(),
            });
        }
        check_stream(stream, DeviceSlice::stream(&items), || {
            "what is posted".to_owned()
        })?;
        let posting = || Error::driver(format!("post {} bytes to the host", items.num_bytes()));
        // Orders the copy behind an earlier one that came by another stream.
        stream.wait(&self.arrived).map_err(posting())?;
        self.posted = 0;
        if !items.is_empty() {
            // cudarc copies as much as the destination holds, so it gets no more than the items.
            let room = &mut self.items.as_mut_slice().map_err(posting())?[..items.len()];
            stream.memcpy_dtoh(&items, room).map_err(posting())?;
        }
        self.arrived.record(stream).map_err(posting())?;
        self.posted = items.len();
        Ok(())
    }

    /// Whether the items that were posted last are here.
    ///
    /// ```no_run
    /// # use compaction::cuda::{self, Mailbox};
    /// let mailbox = Mailbox::<u32>::new(&cuda::open(0)?, 1)?;
    /// assert!(mailbox.has_arrived()?); // nothing was posted
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Driver`] for what failed on the stream before.
    pub fn has_arrived(&self) -> Result<bool> {
        self.arrived
            .try_is_complete()
            .map_err(Error::driver("ask for what was posted"))
    }

    /// The items that were posted last, as soon as they are here; none before the first post.
    ///
    /// ```no_run
    /// # use compaction::cuda::{self, Mailbox};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let mut mailbox = Mailbox::<u32>::new(&context, 1)?;
    /// mailbox.post(&stream, cuda::upload(&stream, &[7_u32])?.as_view())?;
    /// assert_eq!(mailbox.wait()?, [7]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Driver`], also for what failed on the stream before.
    pub fn wait(&self) -> Result<&[T]> {
        self.arrived
            .synchronize()
            .map_err(Error::driver("wait for what was posted"))?;
        self.posted()
    }

    /// The same, but waits for so long at most, not counting the time in which the process is suspended. A mailbox that
    /// something never comes to must not be dropped, which would wait for ever.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use compaction::cuda::{self, Mailbox};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let mut mailbox = Mailbox::<u32>::new(&context, 1)?;
    /// mailbox.post(&stream, cuda::upload(&stream, &[7_u32])?.as_view())?;
    /// assert_eq!(mailbox.wait_for(Duration::from_secs(30))?, [7]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Hangs`] if it takes longer; as [`Mailbox::wait`].
    pub fn wait_for(&self, patience: Duration) -> Result<&[T]> {
        complete(&self.arrived, "wait for what was posted", patience)?;
        self.posted()
    }

    fn posted(&self) -> Result<&[T]> {
        let items = self
            .items
            .as_slice()
            .map_err(Error::driver("read what was posted"))?;
        Ok(&items[..self.posted])
    }
}

impl<T: Shared> Drop for Mailbox<T> {
    fn drop(&mut self) {
        // The memory is freed next, and a copy may be on its way into it. A failed stream copies no more.
        let _ = self.arrived.synchronize();
    }
}
