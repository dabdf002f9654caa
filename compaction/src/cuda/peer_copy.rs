//! Asynchronous copies of device data from one GPU to another.

use std::{mem::ManuallyDrop, sync::Arc, time::Duration};

use cudarc::driver::{
    CudaContext, CudaEvent, CudaSlice, CudaStream, CudaView, DeviceSlice, DriverError, result,
    sys::{self, CUevent_flags},
};

use super::{
    memory::{allocation_error, check_not_captured},
    stream_order::{Uses, address},
    timeout::{is_complete, wait_for_event},
};
use crate::{
    error::{Error, Result},
    layout::Shared,
};

/// A buffer on one GPU for items copied from another GPU. The copies run in stream order and do not block the source
/// stream.
///
/// The copy goes over the link between the GPUs if they have one, and otherwise through host memory.
///
/// Neither stream waits for the other; only the host waits for each of them. Therefore a GPU that fails does not affect
/// the other one.
///
/// ```no_run
/// use compaction::cuda::{self, PeerCopy};
///
/// let here = cuda::open(0)?.default_stream();
/// let there = cuda::open(1)?.default_stream();
/// let mut peer_copy = PeerCopy::<u32>::new(&there, &here, 3)?;
///
/// let counts = cuda::upload(&there, &[3_u32, 1, 4])?; // as an operation leaves it
/// peer_copy.post(&there, &[counts.as_view()])?;
/// // More work for the stream and for this thread, and then, when the counts are needed:
/// assert_eq!(cuda::download(&here, &peer_copy.wait()?)?, [3, 1, 4]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Debug)]
pub struct PeerCopy<T: Shared> {
    /// The buffer on the destination GPU. It is not allocated from a memory pool, so that the source GPU gets access to
    /// this buffer alone.
    items: ManuallyDrop<CudaSlice<T>>,
    /// The number of items of the last [`post`](PeerCopy::post), whose copy may still be running; 0 before the first
    /// one.
    posted: usize,
    /// The event that completes when the last post's copy has finished.
    arrived: CudaEvent,
    /// The stream on the destination GPU that uses the items.
    to: Arc<CudaStream>,
}

const WAITING: &str = "wait for a copy between GPUs";

impl<T: Shared> PeerCopy<T> {
    /// Creates a buffer for up to `len` items on the GPU of stream `to`, to be filled from the GPU of stream `from`.
    ///
    /// Both streams may belong to the same GPU.
    ///
    /// ```no_run
    /// # use compaction::cuda::{self, PeerCopy};
    /// # let (here, there) = (cuda::open(0)?.default_stream(), cuda::open(1)?.default_stream());
    /// let peer_copy = PeerCopy::<u32>::new(&there, &here, 3)?;
    /// assert_eq!(peer_copy.wait()?.len(), 0);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutOfMemory`] with the requested, free and total bytes, and [`Error::Driver`] if the driver
    /// reports another error.
    pub fn new(from: &Arc<CudaStream>, to: &Arc<CudaStream>, len: usize) -> Result<Self> {
        let arrived = from
            .context()
            .new_event(Some(CUevent_flags::CU_EVENT_DISABLE_TIMING))
            .map_err(Error::driver("make an event"))?;
        enable_peer_access(from.context(), to.context());
        let bytes = len.saturating_mul(size_of::<T>()).max(1);
        to.context()
            .bind_to_thread()
            // SAFETY: any bits are a valid `T`, which is plain data, and nobody reads them before a copy has come.
            .and_then(|()| unsafe { result::malloc_sync(bytes) })
            .map_err(|error| allocation_error(to, bytes, error))
            .map(|address| Self {
                // SAFETY: the allocation is live, has room for so many items, and nobody else frees it.
                items: ManuallyDrop::new(unsafe { to.upgrade_device_ptr(address, len) }),
                posted: 0,
                arrived,
                to: to.clone(),
            })
    }

    /// Enqueues a copy of the views, one after the other, on the stream `from`. The copy replaces the items of the
    /// previous post.
    ///
    /// First blocks until the destination stream has finished its work so far, which may still read the previous items.
    /// Does not wait for the copy.
    ///
    /// ```no_run
    /// # use compaction::cuda::{self, PeerCopy};
    /// # let (here, there) = (cuda::open(0)?.default_stream(), cuda::open(1)?.default_stream());
    /// # let mut peer_copy = PeerCopy::<u32>::new(&there, &here, 3)?;
    /// let (some, one) = (cuda::upload(&there, &[3_u32, 1])?, cuda::upload(&there, &[4_u32])?);
    /// peer_copy.post(&there, &[some.as_view(), one.as_view()])?;
    /// assert_eq!(cuda::download(&here, &peer_copy.wait()?)?, [3, 1, 4]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::OutputTooShort`] if there are more items than the buffer holds, and [`Error::ForeignContext`]
    /// if `from` belongs to another GPU than the buffer was created for. Returns [`Error::Driver`] also for earlier
    /// failures on either stream, and the errors of [`Kernel::launch`](super::Kernel::launch) for a view of another
    /// stream.
    pub fn post(&mut self, from: &Arc<CudaStream>, views: &[CudaView<'_, T>]) -> Result<()> {
        let len = views.iter().map(CudaView::len).sum();
        if len > self.items.len() {
            return Err(Error::OutputTooShort {
                what: "the buffer of a copy between GPUs",
                needed: len,
                got: self.items.len(),
            });
        }
        if self.arrived.context() != from.context() {
            return Err(Error::ForeignContext {
                what: "the source stream of a copy between GPUs".to_owned(),
            });
        }
        let failed = || Error::driver(format!("copy {len} items to another GPU"));
        let mut uses = Uses::new(from);
        for view in views {
            uses.read::<T>(view);
        }
        let name = |_| "a buffer to copy to another GPU".to_owned();
        uses.check(name, || "copy items to another GPU".to_owned())?;
        check_not_captured(from, "a copy to another GPU")?;
        self.to.synchronize().map_err(failed())?;
        self.posted = 0;
        self.copy(from, views).map_err(failed())?;
        self.arrived.record(from).map_err(failed())?;
        self.posted = len;
        Ok(())
    }

    /// Enqueues the copies of all views to consecutive places of the buffer on the destination GPU. They run on `from`,
    /// a stream of the source GPU.
    fn copy(
        &self,
        from: &Arc<CudaStream>,
        views: &[CudaView<'_, T>],
    ) -> std::result::Result<(), DriverError> {
        let mut target = address(&*self.items);
        from.context().bind_to_thread()?;
        for view in views.iter().filter(|view| view.num_bytes() > 0) {
            let source = address(view);
            // SAFETY: both ranges are live memory of these contexts, and the target has room for all items. The target
            // is unused: its own stream has finished with it, and `wait` lends it to no one before the copy has ended.
            unsafe {
                result::memcpy_peer_async(
                    self.to.context().cu_ctx(),
                    target,
                    from.context().cu_ctx(),
                    source,
                    view.num_bytes(),
                    from.cu_stream(),
                )
            }?;
            target += view.num_bytes() as u64;
        }
        Ok(())
    }

    /// Returns whether the copy of the last [`post`](Self::post) has finished, or `true` before the first post. Does
    /// not wait.
    ///
    /// ```no_run
    /// # use compaction::cuda::{self, PeerCopy};
    /// # let (here, there) = (cuda::open(0)?.default_stream(), cuda::open(1)?.default_stream());
    /// # let peer_copy = PeerCopy::<u32>::new(&there, &here, 3)?;
    /// assert!(peer_copy.has_arrived()?); // nothing was posted
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::Driver`] for earlier failures on the source stream.
    pub fn has_arrived(&self) -> Result<bool> {
        is_complete(&self.arrived)
            .map_err(Error::driver("ask for the state of a copy between GPUs"))
    }

    /// Blocks the calling thread until the last post's copy has finished, and returns the copied items, for use on the
    /// destination stream. No stream waits. The view is empty before the first post.
    ///
    /// ```no_run
    /// # use compaction::cuda::{self, PeerCopy};
    /// # let (here, there) = (cuda::open(0)?.default_stream(), cuda::open(1)?.default_stream());
    /// # let mut peer_copy = PeerCopy::<u32>::new(&there, &here, 3)?;
    /// peer_copy.post(&there, &[cuda::upload(&there, &[7_u32])?.as_view()])?;
    /// assert_eq!(cuda::download(&here, &peer_copy.wait()?)?, [7]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::Driver`] for earlier failures on the source stream.
    pub fn wait(&self) -> Result<CudaView<'_, T>> {
        self.arrived.synchronize().map_err(Error::driver(WAITING))?;
        Ok(self.items.slice(..self.posted))
    }

    /// Waits for the last post's copy for at most `timeout`. Otherwise like [`wait`](Self::wait).
    ///
    /// Time in which the process is suspended does not count. After a timeout, do not drop the `PeerCopy`, because
    /// dropping it waits without a limit.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use compaction::cuda::{self, PeerCopy};
    /// # let (here, there) = (cuda::open(0)?.default_stream(), cuda::open(1)?.default_stream());
    /// # let mut peer_copy = PeerCopy::<u32>::new(&there, &here, 3)?;
    /// peer_copy.post(&there, &[cuda::upload(&there, &[7_u32])?.as_view()])?;
    /// assert_eq!(peer_copy.wait_for(Duration::from_secs(30))?.len(), 1);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::Timeout`] after `timeout`, and the errors of [`wait`](Self::wait).
    pub fn wait_for(&self, timeout: Duration) -> Result<CudaView<'_, T>> {
        wait_for_event(&self.arrived, WAITING, timeout)?;
        Ok(self.items.slice(..self.posted))
    }
}

impl<T: Shared> Drop for PeerCopy<T> {
    fn drop(&mut self) {
        // A copy or a kernel may still use the memory. The errors of failed streams do not matter here.
        let _ = self.arrived.synchronize();
        let _ = self.to.synchronize();
        // SAFETY: taken once, here.
        let address = unsafe { ManuallyDrop::take(&mut self.items) }.leak();
        if self.to.context().bind_to_thread().is_ok() {
            // SAFETY: it was allocated by `malloc_sync`, and nothing uses it any more. If freeing fails, the memory is
            // released with its context.
            let _ = unsafe { result::free_sync(address) };
        }
    }
}

/// Enables direct writes from the GPU of `from` into memory of the GPU of `to`, if the hardware supports them.
/// Otherwise the driver copies through the host.
fn enable_peer_access(from: &Arc<CudaContext>, to: &Arc<CudaContext>) {
    if from == to || from.bind_to_thread().is_err() {
        return;
    }
    let mut can = 0;
    // SAFETY: the pointer is to a live integer, and both devices and contexts are live. A repeated call returns an
    // error and changes nothing.
    unsafe {
        let asked = sys::cuDeviceCanAccessPeer(&mut can, from.cu_device(), to.cu_device());
        if asked.result().is_ok() && can != 0 {
            let _ = sys::cuCtxEnablePeerAccess(to.cu_ctx(), 0).result();
        }
    }
}
