//! CUDA graphs: recorded work of a stream that is launched as a whole.

use std::{mem, sync::Arc};

use cudarc::driver::{
    CudaGraph, CudaStream, DriverError,
    sys::{CUgraphInstantiate_flags, CUresult, CUstreamCaptureMode},
};

use crate::error::{Error, Result};

/// A CUDA graph recorded from calls on a stream, launched as a whole.
///
/// Launching a graph takes one call instead of one per kernel, and leaves less time between the kernels.
///
/// A graph stores the addresses of its buffers and does not keep the buffers alive, as with [`CudaGraph`], which it
/// wraps: they must exist at each launch. Buffer contents may change between launches; kernel arguments passed by value
/// are fixed.
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

// SAFETY: a driver graph belongs to a context and to no thread. It must not be used by two threads at once: launching
// takes `&mut self`, and nothing else uses it.
unsafe impl Send for Graph {}

/// The flags of a graph. This one has no effect on graphs without allocations. No flags at all is a value that older
/// versions of cudarc cannot name.
const INSTANTIATE: CUgraphInstantiate_flags =
    CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;

/// A stream capture in progress. Dropping it ends the capture, also after a panic, because an open capture would leave
/// the stream unusable.
struct Capture<'a>(&'a Arc<CudaStream>);

impl Capture<'_> {
    /// Ends the capture and returns the graph, or `None` if the driver returns none.
    fn end(self) -> std::result::Result<Option<CudaGraph>, DriverError> {
        let stream = self.0;
        mem::forget(self);
        stream.end_capture(INSTANTIATE)
    }
}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        // The recorded work is discarded.
        let _ = self.0.end_capture(INSTANTIATE);
    }
}

impl Graph {
    /// Records the work that `enqueue` puts on the stream, without executing it. `stream` must not be the default
    /// stream.
    ///
    /// ```no_run
    /// # use compaction::cuda::{self, Graph};
    /// # let context = cuda::open(0)?;
    /// # let stream = context.new_stream()?;
    /// # let counter = cuda::zeroed::<u32>(&stream, 1)?;
    /// // A call that waits for the device cannot be recorded.
    /// assert!(Graph::record(&stream, || cuda::download(&stream, &counter).map(drop)).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of `enqueue`, and [`Error::Driver`] if one of its calls cannot be part of a graph. The
    /// capture ends in any case, even if `enqueue` panics.
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

    /// Enqueues the recorded work on the stream that was recorded, and returns at once.
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
    /// Returns [`Error::Driver`] if the driver reports an error.
    pub fn launch(&mut self) -> Result<()> {
        self.0.launch().map_err(Error::driver("launch a graph"))
    }
}
