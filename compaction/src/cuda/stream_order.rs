//! The order of a call on one stream after uses of its buffers on other streams.

use std::{ops::Range, sync::Arc};

use cudarc::driver::{
    CudaContext, CudaEvent, CudaStream, DevicePtr, DevicePtrMut, DeviceSlice, DriverError,
    SyncOnDrop, sys::CUstreamCaptureStatus,
};

use super::recording::{self, AddressRange, Place};
use crate::error::{Error, Result};

/// The buffers that one call on a stream uses, and the order of the call after other uses of them.
///
/// The home of a buffer is the stream that it was allocated on, which also frees it. A call on the home needs nothing
/// from the driver. For a call on another stream, that stream first waits for the home, and when this value is dropped
/// after the call, the home waits for that stream. So the home orders all uses of a buffer.
///
/// If cudarc tracks the buffer by events, the call waits for these events and records them instead.
///
/// ```
/// use compaction::{cuda::{GraphBuffers, Uses}, cudarc::driver::CudaSlice};
///
/// struct Hits(CudaSlice<u32>);
///
/// impl GraphBuffers for Hits {
///     fn visit<'l>(&'l mut self, uses: &mut Uses<'l>) {
///         uses.write::<u32, _>(&mut self.0);
///     }
/// }
/// ```
#[derive(Debug)]
pub struct Uses<'l> {
    stream: &'l CudaStream,
    /// The homes that wait for the stream when this value is dropped.
    homes: Vec<Arc<CudaStream>>,
    /// The events of cudarc to record on the stream when this value is dropped.
    events: Vec<&'l CudaEvent>,
    /// Whether work on the stream becomes part of a graph; `None` until the driver was asked.
    is_captured: Option<bool>,
    /// The address ranges of the buffers, if they are collected.
    ranges: Option<Vec<AddressRange>>,
    /// The place of the current buffer among the arguments of the call.
    place: Place,
    /// The first reason why the call must not be made, with the place of the buffer.
    problem: Option<(Place, Problem)>,
}

/// A reason why a buffer cannot be used on a stream.
#[derive(Debug)]
enum Problem {
    ForeignContext,
    ForeignStream,
    Driver(DriverError),
}

impl<'l> Uses<'l> {
    /// Begins a call on a stream. Collects address ranges if [`Graph::record`](super::Graph::record) records the call.
    pub(super) fn new(stream: &'l CudaStream) -> Self {
        Self {
            stream,
            homes: Vec::new(),
            events: Vec::new(),
            is_captured: None,
            ranges: recording::is_recording(stream).then(Vec::new),
            place: Place::default(),
            problem: None,
        }
    }

    /// Begins a call whose address ranges are collected in `ranges`, which is emptied first.
    pub(super) fn collecting(stream: &'l CudaStream, mut ranges: Vec<AddressRange>) -> Self {
        let mut uses = Self::new(stream);
        ranges.clear();
        uses.ranges = Some(ranges);
        uses
    }

    /// Begins the argument at this position, counted from 1, for errors.
    pub(super) fn begin_argument(&mut self, position: usize) {
        self.place = Place {
            argument: position,
            ..Place::default()
        };
    }

    /// Begins the argument for a kernel's parameter of this name, for errors.
    pub(crate) fn begin_parameter(&mut self, name: &'static str) {
        self.place = Place {
            parameter: Some(name),
            ..Place::default()
        };
    }

    /// Begins this field of a struct of buffers, for errors.
    #[doc(hidden)]
    pub fn begin_field(&mut self, name: &'static str) {
        self.place.field = Some(name);
    }

    /// Visits the argument at this position, counted from 1, or a part of an argument.
    pub(super) fn within_argument(&mut self, position: usize, visit: impl FnOnce(&mut Self)) {
        if self.place.argument > 0 {
            return visit(self);
        }
        self.begin_argument(position);
        visit(self);
        self.place = Place::default();
    }

    /// Adds a buffer that the call reads. The call then comes after earlier writes of the buffer on other streams.
    /// Returns the buffer's device address.
    ///
    /// ```
    /// # use compaction::{cuda::Uses, cudarc::driver::CudaSlice};
    /// fn visit<'l>(buffer: &'l CudaSlice<u32>, uses: &mut Uses<'l>) {
    ///     uses.read::<u32>(buffer);
    /// }
    /// ```
    pub fn read<T>(&mut self, buffer: &'l impl DevicePtr<T>) -> u64 {
        let (home, bytes) = (buffer.stream(), buffer.num_bytes());
        let address = if self.needs_no_order(home) || !self.can_order(home) {
            address(buffer)
        } else {
            let (address, mut guard) = buffer.device_ptr(self.stream);
            self.order(home, take_event(&mut guard));
            address
        };
        self.used(address, bytes, false)
    }

    /// Adds a buffer that the call may write. The call then comes after earlier uses of the buffer on other streams.
    /// Returns the buffer's device address.
    ///
    /// ```
    /// # use compaction::{cuda::Uses, cudarc::driver::CudaSlice};
    /// fn visit<'l>(buffer: &'l mut CudaSlice<u32>, uses: &mut Uses<'l>) {
    ///     uses.write::<u32, _>(buffer);
    /// }
    /// ```
    pub fn write<T, B: DevicePtr<T> + DevicePtrMut<T>>(&mut self, buffer: &'l mut B) -> u64 {
        let bytes = DeviceSlice::<T>::num_bytes(buffer);
        let home = DeviceSlice::<T>::stream(buffer);
        let address = if self.needs_no_order(home) || !self.can_order(home) {
            address(buffer)
        } else {
            let home = home.clone();
            let (address, mut guard) = buffer.device_ptr_mut(self.stream);
            self.order(&home, take_event(&mut guard));
            address
        };
        self.used(address, bytes, true)
    }

    /// Returns whether a buffer of this home can be used at once: on its home, and without events of cudarc.
    fn needs_no_order(&self, home: &CudaStream) -> bool {
        !is_managed(home) && home == self.stream
    }

    /// Returns whether the call can be ordered after other uses of a buffer of this home. A captured call cannot,
    /// because a graph does not wait for work outside it.
    fn can_order(&mut self, home: &CudaStream) -> bool {
        let stream = self.stream;
        if home.context() != stream.context() {
            self.fail(Problem::ForeignContext);
            return false;
        }
        let is_captured = *self.is_captured.get_or_insert_with(|| is_captured(stream));
        if home != stream && (is_captured || self::is_captured(home)) {
            self.fail(Problem::ForeignStream);
        }
        !is_captured && self.problem.is_none()
    }

    /// Orders the call after other uses of a buffer: by the buffer's event, for which cudarc has made the stream wait,
    /// or else through its home.
    fn order(&mut self, home: &Arc<CudaStream>, event: Option<&'l CudaEvent>) {
        match event.filter(|_| is_managed(home)) {
            Some(event) => self.events.push(event),
            None if **home == *self.stream || self.homes.contains(home) => {}
            None => match self.stream.join(home) {
                Ok(()) => self.homes.push(home.clone()),
                Err(error) => self.fail(Problem::Driver(error)),
            },
        }
    }

    fn fail(&mut self, problem: Problem) {
        let place = self.place;
        self.problem.get_or_insert((place, problem));
    }

    fn used(&mut self, begin: u64, bytes: usize, is_written: bool) -> u64 {
        if let Some(ranges) = &mut self.ranges {
            ranges.push(AddressRange {
                begin,
                end: begin + bytes as u64,
                is_written,
                place: self.place,
            });
        }
        begin
    }

    /// Returns an error if the call must not be made. `name` returns the name of the buffer at a place, and `doing`
    /// that of the call.
    pub(super) fn check(
        &mut self,
        name: impl FnOnce(Place) -> String,
        doing: impl FnOnce() -> String,
    ) -> Result<()> {
        let Some((place, problem)) = self.problem.take() else {
            return Ok(());
        };
        let what = name(place);
        Err(match problem {
            Problem::ForeignContext => Error::ForeignContext { what },
            Problem::ForeignStream => Error::ForeignStream { what },
            Problem::Driver(error) => Error::driver(doing())(error),
        })
    }

    /// Returns the address ranges of the buffers, if they are collected.
    pub(super) fn take_ranges(&mut self) -> Option<Vec<AddressRange>> {
        self.ranges.take()
    }
}

impl Drop for Uses<'_> {
    fn drop(&mut self) {
        let mut homes = self.homes.iter();
        let ordered = homes
            .try_for_each(|home| home.join(self.stream))
            .and_then(|()| {
                let mut events = self.events.iter();
                events.try_for_each(|event| event.record(self.stream))
            });
        if ordered.is_err() {
            // Waiting orders the call as well. If that fails too, so has the context, and nothing runs any more.
            let _ = self.stream.synchronize();
        }
    }
}

/// Returns [`Error::ForeignContext`] or [`Error::ForeignStream`] if a call on `stream` cannot use a buffer of the
/// stream `home`. `what` names the buffer in the words of the caller.
pub(crate) fn check_usable(
    stream: &CudaStream,
    home: &CudaStream,
    what: impl FnOnce() -> String,
) -> Result<()> {
    if home == stream {
        return Ok(());
    }
    if home.context() != stream.context() {
        return Err(Error::ForeignContext { what: what() });
    }
    if is_captured(stream) || is_captured(home) {
        return Err(Error::ForeignStream { what: what() });
    }
    Ok(())
}

/// Returns [`Error::ForeignContext`] unless `stream` belongs to `context`. `what` names the object that was created for
/// `context`.
pub(crate) fn check_context(
    stream: &CudaStream,
    context: &Arc<CudaContext>,
    what: impl FnOnce() -> String,
) -> Result<()> {
    if context != stream.context() {
        return Err(Error::ForeignContext { what: what() });
    }
    Ok(())
}

/// Returns the device address of a buffer, and orders nothing.
pub(super) fn address<T>(buffer: &impl DevicePtr<T>) -> u64 {
    let home = buffer.stream();
    if !is_managed(home) {
        let (address, mut guard) = buffer.device_ptr(home);
        take_event(&mut guard);
        return address;
    }
    // cudarc makes the stream that it is given wait. That must not be a stream whose work is captured into a graph.
    let context = home.context();
    let waiting = match context.per_thread_stream() {
        stream if stream == *home => context.default_stream(),
        stream => stream,
    };
    let (address, mut guard) = buffer.device_ptr(&waiting);
    take_event(&mut guard);
    address
}

/// Returns the device addresses of a buffer, and orders nothing.
pub(crate) fn addresses<T>(buffer: &impl DevicePtr<T>) -> Range<u64> {
    let begin = address(buffer);
    begin..begin + buffer.num_bytes() as u64
}

/// Returns whether work on a stream becomes part of a graph. A stream that cannot say so has failed, and fails later.
pub(super) fn is_captured(stream: &CudaStream) -> bool {
    let status = stream.capture_status();
    status.is_ok_and(|status| status != CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE)
}

/// Returns whether cudarc orders the uses of a stream's tracked buffers by events.
fn is_managed(home: &CudaStream) -> bool {
    home.context().is_managing_stream_synchronization()
}

/// Takes the event that cudarc would record, so that the guard does nothing. Returns `None` for a buffer without
/// events.
fn take_event<'l>(guard: &mut SyncOnDrop<'l>) -> Option<&'l CudaEvent> {
    match guard {
        SyncOnDrop::Record(target) => target.take().map(|(event, _)| event),
        SyncOnDrop::Sync(_) => None,
    }
}
