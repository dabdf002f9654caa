//! Items on their way from one GPU's memory to another's.

use std::{mem::ManuallyDrop, sync::Arc, time::Duration};

use cudarc::driver::{
    CudaContext, CudaEvent, CudaSlice, CudaStream, CudaView, DevicePtr, DeviceSlice, DriverError,
    result,
    sys::{self, CUevent_flags},
};

use super::{kernel::check_stream, memory::refused, patience::complete};
use crate::{
    error::{Error, Result},
    layout::Shared,
};

/// Items copied from one GPU to another behind the work of the first one's stream, which goes on at once: over the link
/// between the two where there is one, else by the driver through the host's memory.
///
/// Neither stream ever waits for the other, only the host for either. So a GPU that fails takes no other one with it.
///
/// ```no_run
/// use compaction::cuda::{self, Crossing};
///
/// let here = cuda::open(0)?.default_stream();
/// let there = cuda::open(1)?.default_stream();
/// let mut crossing = Crossing::<u32>::new(&there, &here, 3)?;
///
/// let counts = cuda::upload(&there, &[3_u32, 1, 4])?; // as an operation leaves it
/// crossing.post(&there, &[counts.as_view()])?;
/// // More work for the stream and for this thread; then, once the counts are wanted:
/// assert_eq!(cuda::download(&here, &crossing.wait()?)?, [3, 1, 4]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Debug)]
pub struct Crossing<T: Shared> {
    /// Where they arrive. Allocated by itself and not from a pool, so that the first GPU sees this memory of the other
    /// and no more.
    items: ManuallyDrop<CudaSlice<T>>,
    /// How many of them the last post copies.
    posted: usize,
    arrived: CudaEvent,
    to: Arc<CudaStream>,
}

const WAITING: &str = "wait for what crosses to another GPU";

impl<T: Shared> Crossing<T> {
    /// A way for up to `len` items at a time, from the GPU of one stream to that of another, to be read there on that
    /// stream. Both may be of one GPU.
    ///
    /// ```no_run
    /// # use compaction::cuda::{self, Crossing};
    /// # let (here, there) = (cuda::open(0)?.default_stream(), cuda::open(1)?.default_stream());
    /// let crossing = Crossing::<u32>::new(&there, &here, 3)?;
    /// assert_eq!(crossing.wait()?.len(), 0);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`] with the bytes asked for and free.
    pub fn new(from: &Arc<CudaStream>, to: &Arc<CudaStream>, len: usize) -> Result<Self> {
        let arrived = from
            .context()
            .new_event(Some(CUevent_flags::CU_EVENT_DISABLE_TIMING))
            .map_err(Error::driver("make an event"))?;
        reach(from.context(), to.context());
        let bytes = len.saturating_mul(size_of::<T>()).max(1);
        to.context()
            .bind_to_thread()
            // SAFETY: any bits are a valid `T`, which is plain data, and nobody reads them before a copy has come.
            .and_then(|()| unsafe { result::malloc_sync(bytes) })
            .map_err(|error| refused(to, bytes, error))
            .map(|address| Self {
                // SAFETY: the allocation is live, has room for so many items, and nobody else frees it.
                items: ManuallyDrop::new(unsafe { to.upgrade_device_ptr(address, len) }),
                posted: 0,
                arrived,
                to: to.clone(),
            })
    }

    /// Copies the items, one view behind the other, once `from` comes to it. They replace those of the last post, so this
    /// waits for whatever the other stream has been given so far.
    ///
    /// ```no_run
    /// # use compaction::cuda::{self, Crossing};
    /// # let (here, there) = (cuda::open(0)?.default_stream(), cuda::open(1)?.default_stream());
    /// # let mut crossing = Crossing::<u32>::new(&there, &here, 3)?;
    /// let (some, one) = (cuda::upload(&there, &[3_u32, 1])?, cuda::upload(&there, &[4_u32])?);
    /// crossing.post(&there, &[some.as_view(), one.as_view()])?;
    /// assert_eq!(cuda::download(&here, &crossing.wait()?)?, [3, 1, 4]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutputTooShort`] for more items than there is room; [`Error::ForeignContext`] if `from` is of another GPU
    /// than the crossing; [`Error::Driver`], also for what failed on either stream before; as
    /// [`Kernel::launch`](super::Kernel::launch) for a foreign buffer.
    pub fn post(&mut self, from: &Arc<CudaStream>, views: &[CudaView<'_, T>]) -> Result<()> {
        let len = views.iter().map(CudaView::len).sum();
        if len > self.items.len() {
            return Err(Error::OutputTooShort {
                what: "crossing",
                needed: len,
                got: self.items.len(),
            });
        }
        if self.arrived.context() != from.context() {
            return Err(Error::ForeignContext {
                what: "a crossing from one GPU to another".to_owned(),
            });
        }
        for view in views {
            check_stream(from, view.stream(), || "what is to cross".to_owned())?;
        }
        let crossing = || Error::driver(format!("copy {} items to another GPU", len));
        self.to.synchronize().map_err(crossing())?;
        self.posted = 0;
        self.copy(from, views).map_err(crossing())?;
        self.arrived.record(from).map_err(crossing())?;
        self.posted = len;
        Ok(())
    }

    fn copy(
        &self,
        from: &Arc<CudaStream>,
        views: &[CudaView<'_, T>],
    ) -> std::result::Result<(), DriverError> {
        let (mut target, _) = self.items.device_ptr(&self.to);
        from.context().bind_to_thread()?;
        for view in views.iter().filter(|view| view.num_bytes() > 0) {
            let (source, _) = view.device_ptr(from);
            // SAFETY: both ranges are live memory of these contexts, the target has room for all items, and nobody uses
            // it: its own stream is done with it, and `wait` gives it to no one before the copy has ended.
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

    /// Whether the items that were posted last are there.
    ///
    /// ```no_run
    /// # use compaction::cuda::{self, Crossing};
    /// # let (here, there) = (cuda::open(0)?.default_stream(), cuda::open(1)?.default_stream());
    /// # let crossing = Crossing::<u32>::new(&there, &here, 3)?;
    /// assert!(crossing.has_arrived()?); // nothing was posted
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Driver`] for what failed on the first stream before.
    pub fn has_arrived(&self) -> Result<bool> {
        self.arrived
            .try_is_complete()
            .map_err(Error::driver("ask for what crosses to another GPU"))
    }

    /// The items that were posted last, as soon as they are there, for the other stream; none before the first post.
    ///
    /// ```no_run
    /// # use compaction::cuda::{self, Crossing};
    /// # let (here, there) = (cuda::open(0)?.default_stream(), cuda::open(1)?.default_stream());
    /// # let mut crossing = Crossing::<u32>::new(&there, &here, 3)?;
    /// crossing.post(&there, &[cuda::upload(&there, &[7_u32])?.as_view()])?;
    /// assert_eq!(cuda::download(&here, &crossing.wait()?)?, [7]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Driver`] for what failed on the first stream before.
    pub fn wait(&self) -> Result<CudaView<'_, T>> {
        self.arrived.synchronize().map_err(Error::driver(WAITING))?;
        Ok(self.items.slice(..self.posted))
    }

    /// The same, but waits for so long at most, not counting the time in which the process is suspended. A crossing on
    /// which something never arrives must not be dropped, which would wait for ever.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use compaction::cuda::{self, Crossing};
    /// # let (here, there) = (cuda::open(0)?.default_stream(), cuda::open(1)?.default_stream());
    /// # let mut crossing = Crossing::<u32>::new(&there, &here, 3)?;
    /// crossing.post(&there, &[cuda::upload(&there, &[7_u32])?.as_view()])?;
    /// assert_eq!(crossing.wait_for(Duration::from_secs(30))?.len(), 1);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Hangs`] if it takes longer; as [`Crossing::wait`].
    pub fn wait_for(&self, patience: Duration) -> Result<CudaView<'_, T>> {
        complete(&self.arrived, WAITING, patience)?;
        Ok(self.items.slice(..self.posted))
    }
}

impl<T: Shared> Drop for Crossing<T> {
    fn drop(&mut self) {
        // A copy may be on its way, or a kernel at it. Streams that failed do no more.
        let _ = self.arrived.synchronize();
        let _ = self.to.synchronize();
        // SAFETY: taken once, here.
        let address = unsafe { ManuallyDrop::take(&mut self.items) }.leak();
        if self.to.context().bind_to_thread().is_ok() {
            // SAFETY: it was allocated by `malloc_sync`, and nobody uses it any more. What cannot be freed is lost with
            // its context.
            let _ = unsafe { result::free_sync(address) };
        }
    }
}

/// Lets one GPU write straight into the other's memory, where it can. Else the driver goes through the host.
fn reach(from: &Arc<CudaContext>, to: &Arc<CudaContext>) {
    if from == to || from.bind_to_thread().is_err() {
        return;
    }
    let mut can = 0;
    // SAFETY: the pointer is to a live integer, and both devices and contexts are live. A second call is refused, which
    // changes nothing.
    unsafe {
        let asked = sys::cuDeviceCanAccessPeer(&mut can, from.cu_device(), to.cu_device());
        if asked.result().is_ok() && can != 0 {
            let _ = sys::cuCtxEnablePeerAccess(to.cu_ctx(), 0).result();
        }
    }
}
