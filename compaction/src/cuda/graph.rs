//! CUDA graphs: recorded work of a stream that is launched as a whole.

use std::{cell::RefCell, collections::HashSet, mem, ops::Range, ptr, sync::Arc};

use cudarc::driver::{
    CudaEvent, CudaFunction, CudaGraph, CudaStream, DriverError,
    sys::{self, CUgraphInstantiate_flags, CUresult, CUstreamCaptureMode},
};

use super::{
    graph_buffers::GraphBuffers,
    stream_order::{AddressRange, Place, Uses},
};
use crate::error::{Error, Result};

/// A CUDA graph recorded from calls on a stream, launched as a whole.
///
/// Launching a graph takes one call instead of one per kernel, and leaves less time between the kernels.
///
/// A graph stores addresses and borrows nothing, so that its buffers can be used between launches. Each launch is given
/// the buffers again, as [`GraphBuffers`], and checks that they include all memory that the graph uses. So a graph cannot
/// use a buffer that was dropped or replaced. Buffer contents may change between launches; kernel arguments passed by
/// value are fixed.
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

/// Kernels and events that a graph refers to.
#[derive(Debug, Default)]
struct Kept {
    functions: Vec<CudaFunction>,
    events: Vec<Arc<CudaEvent>>,
}

/// Memory that a graph uses.
#[derive(Debug)]
struct Used {
    range: AddressRange,
    /// The name of the buffer in the words of the caller: `the output of select`.
    name: String,
}

/// A recording in progress: the calls of this crate on the stream so far.
struct Recording {
    stream: Arc<CudaStream>,
    /// The number of calls, each of which is one node of the graph.
    nodes: usize,
    used: Vec<Used>,
    kept: Kept,
    /// The names of the memory of the present call of an operation.
    call: Option<CallNames>,
}

/// The names of the buffers of a call with their addresses, and the name of its workspace, which is all other memory.
type CallNames = (Vec<(String, Range<u64>)>, String);

impl Recording {
    /// Returns the name of memory that a launch uses. `describe` names a buffer by its place if no operation has named
    /// it.
    fn name(&self, range: &AddressRange, describe: &impl Fn(Place) -> String) -> String {
        let Some((buffers, workspace)) = &self.call else {
            return describe(range.place);
        };
        let has_range = |(_, addresses): &&(String, Range<u64>)| {
            addresses.start <= range.begin && range.end <= addresses.end
        };
        let buffer = buffers.iter().find(has_range);
        buffer.map_or(workspace, |(name, _)| name).clone()
    }
}

/// The call of an operation during which the memory of its launches has names, if it is recorded. The names end when
/// this is dropped.
#[must_use = "launches have the names of the call while this lives"]
#[derive(Debug)]
pub(crate) struct NamedCall {
    is_recorded: bool,
}

impl Drop for NamedCall {
    fn drop(&mut self) {
        if self.is_recorded {
            RECORDINGS.with_borrow_mut(|recordings| {
                if let Some(recording) = recordings.last_mut() {
                    recording.call = None;
                }
            });
        }
    }
}

/// Begins the call of an operation on a stream. If this thread records it into a graph, `names` returns the names of its
/// memory. An operation that another one calls has the names of that one.
pub(crate) fn name_recorded(stream: &CudaStream, names: impl FnOnce() -> CallNames) -> NamedCall {
    let is_recorded = is_recording(stream)
        && RECORDINGS.with_borrow_mut(|recordings| match recordings.last_mut() {
            Some(recording) if recording.call.is_none() => {
                recording.call = Some(names());
                true
            }
            _ => false,
        });
    NamedCall { is_recorded }
}

thread_local! {
    /// The recordings of this thread, the innermost last.
    static RECORDINGS: RefCell<Vec<Recording>> = const { RefCell::new(Vec::new()) };
}

/// Returns whether this thread records a graph on the stream.
pub(super) fn is_recording(stream: &CudaStream) -> bool {
    RECORDINGS.with_borrow(|recordings| {
        recordings
            .last()
            .is_some_and(|recording| *recording.stream == *stream)
    })
}

/// Adds a launch on the stream of the innermost recording, with the memory that it uses. `describe` names the buffer at a
/// place of the launch.
pub(super) fn record_launch(
    function: &CudaFunction,
    ranges: Vec<AddressRange>,
    describe: impl Fn(Place) -> String,
) {
    record_node(ranges, describe, |kept| {
        kept.functions.push(function.clone())
    });
}

/// Adds the clearing or copying of memory on the stream of the innermost recording. `describe` names the buffer at a
/// place of the call.
pub(super) fn record_memory(ranges: Vec<AddressRange>, describe: impl Fn(Place) -> String) {
    record_node(ranges, describe, |_| {});
}

/// Adds the recording of an event, if this thread records a graph on the stream.
pub(super) fn record_event(stream: &CudaStream, event: &Arc<CudaEvent>) {
    if is_recording(stream) {
        let no_buffer = |_| String::new();
        record_node(Vec::new(), no_buffer, |kept| {
            kept.events.push(event.clone())
        });
    }
}

fn record_node(
    ranges: Vec<AddressRange>,
    describe: impl Fn(Place) -> String,
    keep: impl FnOnce(&mut Kept),
) {
    RECORDINGS.with_borrow_mut(|recordings| {
        if let Some(recording) = recordings.last_mut() {
            recording.nodes += 1;
            for range in ranges.into_iter().filter(|range| range.begin < range.end) {
                let name = recording.name(&range, &describe);
                recording.used.push(Used { range, name });
            }
            keep(&mut recording.kept);
        }
    });
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
        RECORDINGS.with_borrow_mut(|recordings| {
            recordings.push(Recording {
                stream: stream.clone(),
                nodes: 0,
                used: Vec::new(),
                kept: Kept::default(),
                call: None,
            });
        });
        Ok(Self(stream))
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
        let recording = RECORDINGS.with_borrow_mut(Vec::pop);
        (stream.end_capture(INSTANTIATE), recording)
    }
}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        // The recorded work is discarded.
        RECORDINGS.with_borrow_mut(Vec::pop);
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
    /// [`Error::NotRecordable`] for the default stream, and if something else than this crate has put work on the stream,
    /// because a launch could not check the memory of that work. The capture ends in any case, even if `enqueue` panics.
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
        let recording = || Error::driver("record a graph");
        let capture = Capture::begin(stream).map_err(recording())?;
        let enqueued = enqueue();
        let (graph, recorded) = capture.end();
        enqueued?;
        let lost = DriverError(CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        let graph = graph
            .and_then(|graph| graph.ok_or(lost))
            .map_err(recording())?;
        let nodes = count_nodes(&graph).map_err(recording())?;
        let Some(mut recorded) = recorded.filter(|recorded| recorded.nodes == nodes) else {
            return Err(E::from(Error::NotRecordable {
                what: "work that this crate did not enqueue".to_owned(),
                remedy: "capture the stream with cudarc, and launch the graph with cudarc",
            }));
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
