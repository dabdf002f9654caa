//! Asynchronous copies of small results from the device to the host.

use std::{sync::Arc, time::Duration};

use cudarc::driver::{CudaContext, CudaEvent, CudaStream, DeviceSlice, result, sys::CUevent_flags};

use super::{
    IntoView,
    memory::check_not_captured,
    pinned::Pinned,
    stream_order::Uses,
    timeout::{is_complete, wait_for_event},
};
use crate::{
    error::{Error, Result},
    layout::Shared,
};

/// A page-locked host buffer that receives copies of device items in stream order.
///
/// [`post`](Self::post) enqueues a copy and does not wait. [`wait`](Self::wait) and dropping the readback wait for the
/// copy. Do not post during a graph capture.
///
/// ```no_run
/// use compaction::cuda::{self, Readback};
///
/// let context = cuda::open(0)?;
/// let stream = context.default_stream();
/// let mut readback = Readback::<u32>::new(&context, 1)?;
///
/// let count = cuda::upload(&stream, &[3_u32])?; // as an operation leaves it
/// readback.post(&stream, &count)?;
/// // More work for the stream and for this thread, and then, when the count is needed:
/// assert_eq!(readback.wait()?, [3]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Debug)]
pub struct Readback<T: Shared> {
    items: Pinned<T>,
    /// The number of items of the last [`post`](Readback::post), whose copy may still be running; 0 before the first
    /// one.
    posted: usize,
    /// The event that completes when the last post's copy has finished.
    arrived: CudaEvent,
}

impl<T: Shared> Readback<T> {
    /// Creates a readback buffer with room for `len` items. A post may copy fewer.
    ///
    /// ```no_run
    /// use compaction::cuda::{self, Readback};
    ///
    /// let readback = Readback::<u32>::new(&cuda::open(0)?, 1)?;
    /// assert!(readback.wait()?.is_empty());
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfRange`] if `len` items fill `isize::MAX` bytes or more, and [`Error::Driver`] if the host
    /// cannot lock that much memory.
    pub fn new(context: &Arc<CudaContext>, len: usize) -> Result<Self> {
        let max = isize::MAX as usize / size_of::<T>().max(1) - 1;
        if len > max {
            return Err(Error::OutOfRange {
                what: "the items of a readback buffer",
                got: len,
                min: 0,
                max,
            });
        }
        let items = Pinned::zeroed(context, len).map_err(Error::driver(format!(
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

    /// Enqueues a copy of the items to the host buffer on `stream`, and returns at once. The copy comes after those of
    /// earlier posts, on any stream, and replaces their items.
    ///
    /// ```no_run
    /// # use compaction::cuda::{self, Readback};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// let mut readback = Readback::<u32>::new(&context, 4)?;
    /// let counts = cuda::upload(&stream, &[3_u32, 1, 4, 1])?;
    /// readback.post(&stream, &counts)?;
    /// readback.post(&stream, counts.slice(..2))?;
    /// assert_eq!(readback.wait()?, [3, 1]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutputTooShort`] if there are more items than the buffer holds, and the errors of
    /// [`Kernel::launch`](super::Kernel::launch) for a buffer of another context or stream.
    pub fn post<'a>(
        &mut self,
        stream: &Arc<CudaStream>,
        items: impl IntoView<'a, T>,
    ) -> Result<()> {
        let items = items.into_view();
        if items.len() > self.items.len() {
            return Err(Error::OutputTooShort {
                what: "the readback buffer",
                needed: items.len(),
                got: self.items.len(),
            });
        }
        let posting = || Error::driver(format!("post {} bytes to the host", items.num_bytes()));
        check_not_captured(stream, "a readback")?;
        // Orders the copy after an earlier one from another stream.
        stream.wait(&self.arrived).map_err(posting())?;
        self.posted = 0;
        let mut uses = Uses::new(stream);
        let address = uses.read::<T>(&items);
        let name = |_| "the buffer to read back".to_owned();
        uses.check(name, || "post items to the host".to_owned())?;
        if !items.is_empty() {
            let room = &mut self.items.as_mut_slice()[..items.len()];
            // SAFETY: the view has as many items as `room`, any bits are a valid `T`, and the stream, which is current,
            // is of the view's context. `drop` and all readers of `room` wait for the copy.
            unsafe { result::memcpy_dtoh_async(room, address, stream.cu_stream()) }
                .map_err(posting())?;
        }
        self.arrived.record(stream).map_err(posting())?;
        self.posted = items.len();
        Ok(())
    }

    /// Returns whether the copy of the last [`post`](Self::post) has finished, or `true` before the first post. Does
    /// not wait.
    ///
    /// ```no_run
    /// # use compaction::cuda::{self, Readback};
    /// let readback = Readback::<u32>::new(&cuda::open(0)?, 1)?;
    /// assert!(readback.has_arrived()?); // nothing was posted
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::Driver`] for earlier failures on the stream.
    pub fn has_arrived(&self) -> Result<bool> {
        is_complete(&self.arrived).map_err(Error::driver("ask for the state of a readback"))
    }

    /// Waits for the copy of the last [`post`](Self::post) and returns its items on the host. The slice is empty before
    /// the first post.
    ///
    /// ```no_run
    /// # use compaction::cuda::{self, Readback};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let mut readback = Readback::<u32>::new(&context, 1)?;
    /// readback.post(&stream, &cuda::upload(&stream, &[7_u32])?)?;
    /// assert_eq!(readback.wait()?, [7]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::Driver`], also for earlier failures on the stream.
    pub fn wait(&self) -> Result<&[T]> {
        self.arrived
            .synchronize()
            .map_err(Error::driver("wait for a readback"))?;
        Ok(self.posted())
    }

    /// Waits for the last post's copy for at most `timeout` and returns its items.
    ///
    /// Time in which the process is suspended does not count. After a timeout, do not drop the buffer: dropping it
    /// waits without a limit.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use compaction::cuda::{self, Readback};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// # let mut readback = Readback::<u32>::new(&context, 1)?;
    /// readback.post(&stream, &cuda::upload(&stream, &[7_u32])?)?;
    /// assert_eq!(readback.wait_for(Duration::from_secs(30))?, [7]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::Timeout`] after `timeout`, and the errors of [`wait`](Self::wait).
    pub fn wait_for(&self, timeout: Duration) -> Result<&[T]> {
        wait_for_event(&self.arrived, "wait for a readback", timeout)?;
        Ok(self.posted())
    }

    /// Returns the items of the last post, whose copy must have finished.
    fn posted(&self) -> &[T] {
        &self.items.as_slice()[..self.posted]
    }
}

impl<T: Shared> Drop for Readback<T> {
    fn drop(&mut self) {
        // The memory is freed next, and a copy into it may still be running. A failed stream copies nothing more.
        let _ = self.arrived.synchronize();
    }
}
