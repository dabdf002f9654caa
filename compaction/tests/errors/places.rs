//! Calls with one invalid argument.

use std::{cell::Cell, sync::Arc};

use bytemuck::Pod;
use compaction::{
    Result,
    cuda::{self, Compiler},
    cudarc::driver::{
        CudaContext, CudaSlice, CudaStream,
        sys::{CUgraphInstantiate_flags, CUstreamCaptureMode},
    },
};

use crate::calls::Call;

/// What is wrong with a call.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Fault {
    /// The argument of this name is in another context.
    Context(&'static str),
    /// The kernels are loaded in another context.
    Kernels,
    /// The argument of this name is on another stream, and the stream of the call is captured.
    Capture(&'static str),
    /// The argument of this name has one item less than it needs.
    Length(&'static str),
}

/// Where the arguments of a call are, and how long they are.
pub(crate) struct Places<'a> {
    /// The stream of the call, and another one.
    streams: &'a [Arc<CudaStream>; 2],
    fault: Fault,
    is_captured: Cell<bool>,
}

impl<'a> Places<'a> {
    pub(crate) fn new(streams: &'a [Arc<CudaStream>; 2], fault: Fault) -> Self {
        Self {
            streams,
            fault,
            is_captured: Cell::new(false),
        }
    }

    pub(crate) fn compiler(&self) -> Compiler {
        Compiler::new()
    }

    /// Returns the context for the kernels.
    pub(crate) fn context(&self) -> &Arc<CudaContext> {
        self.streams[usize::from(self.fault == Fault::Kernels)].context()
    }

    /// Returns the stream for the argument of this name.
    pub(crate) fn at(&self, argument: &'static str) -> &Arc<CudaStream> {
        let is_elsewhere =
            [Fault::Context(argument), Fault::Capture(argument)].contains(&self.fault);
        &self.streams[usize::from(is_elsewhere)]
    }

    /// Returns a buffer of `len` zeros for the argument of this name.
    pub(crate) fn zeros<T: Pod>(&self, argument: &'static str, len: usize) -> CudaSlice<T> {
        let missing = usize::from(self.fault == Fault::Length(argument));
        cuda::zeroed(self.at(argument), len - missing).unwrap()
    }

    /// Returns the stream of the call, when all arguments are there.
    pub(crate) fn stream(&self) -> &Arc<CudaStream> {
        let stream = &self.streams[0];
        if matches!(self.fault, Fault::Capture(_)) && !self.is_captured.replace(true) {
            let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
            stream.begin_capture(mode).unwrap();
        }
        stream
    }

    /// Asserts that the call returns an error that names the argument and ends with `reason`.
    #[track_caller]
    pub(crate) fn check(&self, call: &Call, argument: &str, reason: &str) {
        let result = (call.run)(self);
        if self.is_captured.get() {
            let nothing = self.streams[0].end_capture(CUgraphInstantiate_flags(0));
            assert!(nothing.is_ok(), "{}: {argument}", call.operation);
        }
        let operation = call.operation;
        let name = match argument {
            "" => operation.to_owned(),
            "count" => format!("the count that {operation} reads"),
            "selected" => format!("the count that {operation} writes"),
            _ => format!("the {argument} of {operation}"),
        };
        assert_eq!(error_of(result), format!("{name}: {reason}"));
    }
}

#[track_caller]
fn error_of(result: Result<()>) -> String {
    match result {
        Ok(()) => "no error".to_owned(),
        Err(error) => error.to_string(),
    }
}
