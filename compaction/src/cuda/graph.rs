//! Work that a stream does again and again, launched as a whole.

use std::{mem, sync::Arc};

use cudarc::driver::{
    CudaGraph, CudaStream, DriverError,
    sys::{CUgraphInstantiate_flags, CUresult, CUstreamCaptureMode},
};

use crate::error::{Error, Result};

/// What calls put onto a stream, recorded once to be launched as a whole: one call instead of one a kernel, and less
/// time between the kernels.
///
/// A graph names the buffers that its work was given, and keeps none of them: they must be there at each launch, as with
/// [`CudaGraph`], which it wraps. What a buffer holds may change between launches; what went into a kernel by value
/// stays as it was.
///
/// ```no_run
/// use compaction::cuda::{self, Compiler, Graph, InOut, Launch, Source};
/// # let context = cuda::open(0)?;
/// # let stream = context.new_stream()?;
/// # let text = r#"extern "C" __global__ void count_up(u32 *counter) { atomicAdd(counter, 1); }"#;
/// # let source = Source::new("count.cu", text).kernel::<(InOut<u32>,)>("count_up");
/// # let count_up = Compiler::new().load(&context, &source)?.kernel::<(InOut<u32>,)>("count_up")?;
/// let mut counter = cuda::zeroed::<u32>(&stream, 1)?;
/// let mut graph = Graph::record(&stream, || {
///     for _ in 0..100 {
///         count_up.launch(&stream, Launch::blocks(1, 32), (counter.as_view_mut(),))?;
///     }
///     Ok::<(), compaction::Error>(())
/// })?;
/// assert_eq!(cuda::download(&stream, &counter)?, [0]); // recorded, not done
/// graph.launch()?;
/// graph.launch()?;
/// assert_eq!(cuda::download(&stream, &counter)?, [6400]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Graph(CudaGraph);

// SAFETY: the driver's graphs belong to a context and to no thread. They must not be used by two threads at once: what
// launches them takes `&mut self`, and nothing else uses them.
unsafe impl Send for Graph {}

/// A stream that is recorded. It ends whatever becomes of that: a panic too would leave the stream without use.
struct Capture<'a>(&'a Arc<CudaStream>);

impl Capture<'_> {
    fn end(self) -> std::result::Result<Option<CudaGraph>, DriverError> {
        let stream = self.0;
        mem::forget(self);
        stream.end_capture(CUgraphInstantiate_flags(0))
    }
}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        // What was recorded is of no use.
        let _ = self.0.end_capture(CUgraphInstantiate_flags(0));
    }
}

impl Graph {
    /// Records what `enqueue` puts onto the stream, which is not the default stream. None of it is done yet.
    ///
    /// ```no_run
    /// # use compaction::cuda::{self, Graph};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.new_stream()?;
    /// # let counter = cuda::zeroed::<u32>(&stream, 1)?;
    /// // What waits for the device cannot be recorded.
    /// assert!(Graph::record(&stream, || cuda::download(&stream, &counter).map(drop)).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of `enqueue`; [`Error::Driver`] where one of its calls cannot be part of a graph. The stream is as before, after
    /// a panic of `enqueue` too.
    pub fn record<E: From<Error>>(
        stream: &Arc<CudaStream>,
        enqueue: impl FnOnce() -> std::result::Result<(), E>,
    ) -> std::result::Result<Self, E> {
        let recording = || Error::driver("record a graph");
        stream
            .begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
            .map_err(recording())?;
        let capture = Capture(stream);
        let enqueued = enqueue();
        let graph = capture.end();
        enqueued?;
        let lost = DriverError(CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        let graph = graph
            .and_then(|graph| graph.ok_or(lost))
            .map_err(recording())?;
        Ok(Self(graph))
    }

    /// Puts all of it onto the stream that it was recorded on, and returns at once.
    ///
    /// ```no_run
    /// # use compaction::cuda::Graph;
    /// # fn again(graph: &mut Graph) -> compaction::Result<()> {
    /// graph.launch()
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Driver`].
    pub fn launch(&mut self) -> Result<()> {
        self.0.launch().map_err(Error::driver("launch a graph"))
    }
}
