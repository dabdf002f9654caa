//! CUDA graphs: recorded work of a stream that is launched as a whole.

use std::{collections::HashSet, mem, ptr, sync::Arc};

use cudarc::driver::{
    CudaGraph, CudaStream, DriverError,
    sys::{self, CUgraphInstantiate_flags, CUresult, CUstreamCaptureMode, CUstreamCaptureStatus},
};

use super::{
    graph_buffers::GraphBuffers,
    recording::{self, AddressRange, Kept, Place, Recording, Used},
    stream_order::Uses,
};
use crate::error::{Error, Result};

/// A CUDA graph recorded from calls on a stream, launched as a whole.
///
/// Launching a graph takes one call instead of one per kernel, and leaves less time between the kernels.
///
/// A graph stores addresses and borrows nothing, so that its buffers can be used between launches. Each launch is given
/// the buffers again, as [`GraphBuffers`], and checks that they include all memory that the graph uses. So a graph
/// cannot use a buffer that was dropped or replaced. Buffer contents may change between launches; kernel arguments
/// passed by value are fixed.
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
/// graph.launch(&mut counter)?;
/// graph.launch(&mut counter)?;
/// assert_eq!(cuda::download(&stream, &counter)?, [6400]);
///
/// let mut other = cuda::zeroed::<u32>(&stream, 1)?;
/// assert!(graph.launch(&mut other).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A program that counts how many pixels of each frame are darker than each level:
///
/// ```no_run
/// use compaction::{
///     Count,
///     cuda::{self, Graph},
///     histogram::{self, Histogram},
///     scan::{self, Operator, Scan, Strategy},
/// };
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let context = cuda::open(0)?;
///     // The default stream cannot be recorded.
///     let stream = context.new_stream()?;
///     // Operations compile their kernels here, and not during the recording.
///     let compiler = cuda::Compiler::new();
///     let histogram = Histogram::<u8>::new(&compiler, &context, 256)?;
///     let sum = Scan::<u32>::new(&compiler, &context, Operator::Sum, Strategy::LookBack)?;
///
///     let mut pixels = cuda::zeroed::<u8>(&stream, 4)?;
///     let mut counts = cuda::zeroed::<u32>(&stream, 256)?;
///     let mut darker = cuda::zeroed::<u32>(&stream, 256)?;
///     let mut workspaces = (
///         histogram::Workspace::new(&stream)?,
///         scan::Workspace::with_capacity(&stream, 256)?,
///     );
///     let mut graph = Graph::record(&stream, || {
///         histogram.keys(&stream, &pixels, Count::All, &mut counts, &mut workspaces.0)?;
///         sum.exclusive(&stream, &counts, Count::All, &mut darker, &mut workspaces.1)
///     })?;
///     for frame in [[7, 0, 200, 7], [1, 2, 3, 4]] {
///         cuda::overwrite(&stream, &frame, &mut pixels)?;
///         // A launch is given all buffers and workspaces of the recorded calls.
///         graph.launch(&mut (&pixels, &mut counts, &mut darker, &mut workspaces))?;
///         println!("{:?}", cuda::download(&stream, &darker.slice(..9))?);
///     }
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct Graph {
    graph: Launchable,
    stream: Arc<CudaStream>,
    /// The memory that the graph uses, without duplicates.
    used: Vec<Used>,
    /// The buffers of the last launch, which are known to include `used`. `None` before the first launch.
    given: Option<Vec<AddressRange>>,
    /// The buffers of a launch while they are compared, for reuse.
    compared: Vec<AddressRange>,
    /// The kernels and marks that the work of the graph refers to.
    _kept: Kept,
}

struct Launchable(CudaGraph);

impl std::fmt::Debug for Launchable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CudaGraph")
    }
}

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

impl<'a> Capture<'a> {
    fn begin(stream: &'a Arc<CudaStream>) -> std::result::Result<Self, DriverError> {
        stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
        recording::begin(stream);
        Ok(Self(stream))
    }

    /// Returns whether a call has made the capture invalid, or has failed without a result that says so: cudarc keeps
    /// errors of its waits for the next call with the context. That error is then not left there for others.
    fn is_invalid(&self) -> bool {
        let invalid = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_INVALIDATED;
        let status = self.0.capture_status();
        status.map_or(true, |status| status == invalid)
    }

    /// Ends the capture and returns the graph, or `None` if the driver returns none, with the calls of this crate.
    fn end(
        self,
    ) -> (
        std::result::Result<Option<CudaGraph>, DriverError>,
        Option<Recording>,
    ) {
        let stream = self.0;
        mem::forget(self);
        let recording = recording::end();
        (stream.end_capture(INSTANTIATE), recording)
    }
}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        // The recorded work is discarded.
        recording::end();
        let _ = self.0.end_capture(INSTANTIATE);
    }
}

/// Returns the number of nodes of a graph.
fn count_nodes(graph: &CudaGraph) -> std::result::Result<usize, DriverError> {
    let mut count = 0;
    // SAFETY: the graph lives, and the pointers are null and to a live integer, by which the driver returns the number.
    unsafe { sys::cuGraphGetNodes(graph.cu_graph(), ptr::null_mut(), &mut count) }.result()?;
    Ok(count)
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
    /// Returns the errors of `enqueue`; [`Error::Driver`] if one of its calls cannot be part of a graph; and
    /// [`Error::NotRecordable`] for the default stream, and if something else than this crate has put work on the
    /// stream, because a launch could not check the memory of that work. The capture ends in any case, even if
    /// `enqueue` panics. After such work of cudarc, another thread that uses the same handle of the context at that
    /// moment can be given the driver's error instead, because cudarc keeps it for whoever calls next.
    pub fn record<E: From<Error>>(
        stream: &Arc<CudaStream>,
        enqueue: impl FnOnce() -> std::result::Result<(), E>,
    ) -> std::result::Result<Self, E> {
        if stream.cu_stream().is_null() {
            return Err(E::from(Error::NotRecordable {
                what: "work on the default stream".to_owned(),
                remedy: "use a stream of `context.new_stream()`",
            }));
        }
        let failed = || Error::driver("record a graph");
        let capture = Capture::begin(stream).map_err(failed())?;
        let not_recordable = || Error::NotRecordable {
            what: "work that this crate did not enqueue".to_owned(),
            remedy: "capture the stream with cudarc, and launch the graph with cudarc",
        };
        let enqueued = enqueue();
        let is_invalid = capture.is_invalid();
        let (graph, recorded) = capture.end();
        // cudarc's own functions wait for events of their buffers, which a capture does not survive.
        if is_invalid {
            return Err(E::from(not_recordable()));
        }
        enqueued?;
        let lost = DriverError(CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        let graph = graph
            .and_then(|graph| graph.ok_or(lost))
            .map_err(failed())?;
        let nodes = count_nodes(&graph).map_err(failed())?;
        let Some(mut recorded) = recorded.filter(|recorded| recorded.nodes == nodes) else {
            return Err(E::from(not_recordable()));
        };
        let mut known = HashSet::new();
        recorded
            .used
            .retain(|Used { range, .. }| known.insert((range.begin, range.end, range.is_written)));
        Ok(Self {
            graph: Launchable(graph),
            stream: stream.clone(),
            used: recorded.used,
            given: None,
            compared: Vec::new(),
            _kept: recorded.kept,
        })
    }

    /// Enqueues the recorded work on the stream that was recorded, and returns at once. `buffers` are all buffers and
    /// workspaces that the recorded calls used, in any order; further ones are allowed.
    ///
    /// A launch with the same buffers as the one before takes little time for the check.
    ///
    /// ```no_run
    /// # use compaction::{cuda::Graph, cudarc::driver::CudaSlice, select::Workspace};
    /// # fn again(
    /// #     graph: &mut Graph, flags: &CudaSlice<u8>, out: &mut CudaSlice<u32>, workspace: &mut Workspace,
    /// # ) -> compaction::Result<()> {
    /// for _ in 0..100 {
    ///     graph.launch(&mut (flags, &mut *out, &mut *workspace))?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::NotGiven`] if the graph uses memory that is not in `buffers`, or writes a buffer that is only
    /// given for reading; the errors of [`Kernel::launch`](super::Kernel::launch) for buffers of other streams and
    /// contexts; and [`Error::Driver`] if the driver reports an error.
    pub fn launch(&mut self, buffers: &mut impl GraphBuffers) -> Result<()> {
        let mut uses = Uses::collecting(&self.stream, mem::take(&mut self.compared));
        buffers.visit(&mut uses);
        let launching = || "launch a graph".to_owned();
        let name = |place: Place| match place.argument {
            0 => "a buffer for the launch of a graph".to_owned(),
            position => format!("buffer {position} for the launch of a graph"),
        };
        uses.check(name, launching)?;
        let given = uses.take_ranges().unwrap_or_default();
        if self.given.as_ref() != Some(&given) {
            check_given(&self.used, &given)?;
            self.given.get_or_insert_default().clone_from(&given);
        }
        self.compared = given;
        let launched = self.graph.0.launch();
        launched.map_err(Error::driver(launching()))
    }
}

/// Returns [`Error::NotGiven`] unless each used range is part of a given one, which is for writing if needed.
fn check_given(used: &[Used], given: &[AddressRange]) -> Result<()> {
    let is_given = |Used { range, .. }: &&Used| {
        given.iter().any(|buffer| {
            let includes = buffer.begin <= range.begin && range.end <= buffer.end;
            includes && (buffer.is_written || !range.is_written)
        })
    };
    match used.iter().find(|used| !is_given(used)) {
        None => Ok(()),
        Some(Used { range, name }) => Err(Error::NotGiven {
            what: name.clone(),
            is_written: range.is_written,
        }),
    }
}
