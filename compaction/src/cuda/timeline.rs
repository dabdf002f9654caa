//! GPU times between marks on a stream, measured with CUDA events.

use std::sync::Arc;

use cudarc::driver::{
    CudaContext, CudaEvent, CudaStream, DriverError,
    sys::{self, CUevent_flags, CUevent_record_flags, CUstreamCaptureStatus},
};

use super::{driver_library::elapsed_ms, recording};
use crate::error::{Error, Result};

/// A sequence of time marks on a stream, and the GPU times between consecutive marks. Setting a mark does not wait.
///
/// A mark recorded into a [`Graph`](super::Graph) is set again by each launch of the graph.
///
/// ```no_run
/// use compaction::cuda::{self, Timeline};
///
/// let context = cuda::open(0)?;
/// let stream = context.default_stream();
/// let mut timeline = Timeline::new(&context, 2)?;
///
/// timeline.mark(&stream)?;
/// let buffer = cuda::zeroed::<u32>(&stream, 1 << 28)?; // or calls of operations
/// timeline.mark(&stream)?;
/// println!("{} ms", timeline.milliseconds()?[0]);
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Debug)]
pub struct Timeline {
    context: Arc<CudaContext>,
    /// The events of all marks, in the order of the marks, followed by unused events.
    events: Vec<Arc<CudaEvent>>,
    /// The number of marks set since creation or the last [`restart`](Timeline::restart).
    marked: usize,
}

impl Timeline {
    /// Creates a timeline with events for `marks` marks. Further events are created when needed.
    ///
    /// ```no_run
    /// # use compaction::cuda::{self, Timeline};
    /// let timeline = Timeline::new(&cuda::open(0)?, 2)?;
    /// assert!(timeline.milliseconds()?.is_empty());
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::Driver`] if the driver reports an error.
    pub fn new(context: &Arc<CudaContext>, marks: usize) -> Result<Self> {
        let events = (0..marks)
            .map(|_| new_event(context))
            .collect::<Result<_>>()?;
        Ok(Self {
            context: context.clone(),
            events,
            marked: 0,
        })
    }

    /// Discards all marks, so that the next mark is the first. Does not wait.
    ///
    /// ```no_run
    /// # use compaction::cuda::{self, Timeline};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// let mut timeline = Timeline::new(&context, 2)?;
    /// for run in 0..10 {
    ///     timeline.restart();
    ///     timeline.mark(&stream)?;
    ///     timeline.mark(&stream)?;
    ///     println!("run {run}: {} ms", timeline.milliseconds()?[0]);
    /// }
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn restart(&mut self) {
        self.marked = 0;
    }

    /// Enqueues a mark on the stream. Its time is when the GPU finishes all work enqueued on the stream before.
    ///
    /// ```no_run
    /// # use compaction::cuda::{self, Timeline};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// let mut timeline = Timeline::new(&context, 0)?;
    /// timeline.mark(&stream)?;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::Driver`] if the driver reports an error.
    pub fn mark(&mut self, stream: &CudaStream) -> Result<()> {
        if self.marked == self.events.len() {
            self.events.push(new_event(&self.context)?);
        }
        let event = &self.events[self.marked];
        record(event, stream).map_err(Error::driver("mark a time"))?;
        recording::record_event(stream, event);
        self.marked += 1;
        Ok(())
    }

    /// Waits for the last mark and returns the times between consecutive marks in milliseconds. There is one value
    /// fewer than marks, and none without marks.
    ///
    /// ```no_run
    /// # use compaction::cuda::{self, Timeline};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.default_stream();
    /// let mut timeline = Timeline::new(&context, 3)?;
    /// for _ in 0..3 {
    ///     timeline.mark(&stream)?;
    /// }
    /// assert_eq!(timeline.milliseconds()?.len(), 2);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::Driver`], also for earlier failures on the stream.
    pub fn milliseconds(&self) -> Result<Vec<f32>> {
        let marks = &self.events[..self.marked];
        let reading = || Error::driver("read the time between marks");
        self.context.bind_to_thread().map_err(reading())?;
        marks
            .windows(2)
            .map(|pair| {
                pair[1].synchronize()?;
                // SAFETY: both events live, and belong to the context of the timeline.
                unsafe { elapsed_ms(pair[0].cu_event(), pair[1].cu_event()) }
            })
            .collect::<std::result::Result<_, _>>()
            .map_err(reading())
    }
}

/// Enqueues the recording of an event. During a capture, the recording becomes work of the graph.
fn record(event: &CudaEvent, stream: &CudaStream) -> std::result::Result<(), DriverError> {
    if stream.capture_status()? == CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE {
        return event.record(stream);
    }
    // During a capture, an ordinary event only orders the graph's work; an external one is recorded as work of the
    // graph.
    let as_work = CUevent_record_flags::CU_EVENT_RECORD_EXTERNAL as u32;
    // SAFETY: both are live, of a context that `capture_status` made this thread's; of two contexts the driver refuses.
    unsafe { sys::cuEventRecordWithFlags(event.cu_event(), stream.cu_stream(), as_work).result() }
}

fn new_event(context: &Arc<CudaContext>) -> Result<Arc<CudaEvent>> {
    context
        .new_event(Some(CUevent_flags::CU_EVENT_DEFAULT))
        .map(Arc::new)
        .map_err(Error::driver("make an event"))
}
