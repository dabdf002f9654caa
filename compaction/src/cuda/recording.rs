//! The recording of a graph: the calls of this crate on a stream, and the memory that they use.

use std::{cell::RefCell, ops::Range, sync::Arc};

use cudarc::driver::{CudaEvent, CudaFunction, CudaStream};

/// A range of device addresses that a call uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AddressRange {
    /// The address of the first byte.
    pub(super) begin: u64,
    /// The address behind the last byte.
    pub(super) end: u64,
    /// Whether the call may write to the range.
    pub(super) is_written: bool,
    /// The place of the buffer among the arguments of the call.
    pub(super) place: Place,
}

/// The place of a buffer among the arguments of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// The position of the argument, counted from 1, or 0 outside of any argument and for one with a name.
    pub(super) argument: usize,
    /// The name of the kernel's parameter, if Rust declares it.
    pub(super) parameter: Option<&'static str>,
    /// The field of the argument that is the buffer, if the argument is a struct.
    pub(super) field: Option<&'static str>,
}

/// Kernels and events that a graph refers to.
#[derive(Debug, Default)]
pub(super) struct Kept {
    functions: Vec<CudaFunction>,
    events: Vec<Arc<CudaEvent>>,
}

/// Memory that a graph uses.
#[derive(Debug)]
pub(super) struct Used {
    pub(super) range: AddressRange,
    /// The name of the buffer in the words of the caller: `the output of select`.
    pub(super) name: String,
}

/// A recording in progress: the calls of this crate on the stream so far.
pub(super) struct Recording {
    stream: Arc<CudaStream>,
    /// The number of calls, each of which is one node of the graph.
    pub(super) nodes: usize,
    pub(super) used: Vec<Used>,
    pub(super) kept: Kept,
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

/// Begins the call of an operation on a stream. If this thread records it into a graph, `names` returns the names of
/// its memory. An operation that another one calls has the names of that one.
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

/// Begins the recording of a graph on a stream by this thread.
pub(super) fn begin(stream: &Arc<CudaStream>) {
    RECORDINGS.with_borrow_mut(|recordings| {
        recordings.push(Recording {
            stream: stream.clone(),
            nodes: 0,
            used: Vec::new(),
            kept: Kept::default(),
            call: None,
        });
    });
}

/// Ends the innermost recording of this thread.
pub(super) fn end() -> Option<Recording> {
    RECORDINGS.with_borrow_mut(Vec::pop)
}

/// Returns whether this thread records a graph on the stream.
pub(super) fn is_recording(stream: &CudaStream) -> bool {
    RECORDINGS.with_borrow(|recordings| {
        recordings
            .last()
            .is_some_and(|recording| *recording.stream == *stream)
    })
}

/// Adds a launch on the stream of the innermost recording, with the memory that it uses. `describe` names the buffer at
/// a place of the launch.
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
