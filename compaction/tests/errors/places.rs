//! Calls with one invalid argument.

use std::{ops::Deref, sync::Arc, thread::panicking};

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
}

/// The stream of a call, which is captured in some tests. The capture ends before the arguments are dropped.
pub(crate) struct CallStream<'a> {
    stream: &'a Arc<CudaStream>,
    is_captured: bool,
}

impl Deref for CallStream<'_> {
    type Target = Arc<CudaStream>;

    fn deref(&self) -> &Arc<CudaStream> {
        self.stream
    }
}

impl Drop for CallStream<'_> {
    fn drop(&mut self) {
        if self.is_captured {
            let captured = self.stream.end_capture(CUgraphInstantiate_flags(0));
            assert!(captured.is_ok() || panicking());
        }
    }
}

impl<'a> Places<'a> {
    pub(crate) fn new(streams: &'a [Arc<CudaStream>; 2], fault: Fault) -> Self {
        Self { streams, fault }
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
    pub(crate) fn stream(&self) -> CallStream<'_> {
        let stream = &self.streams[0];
        let is_captured = matches!(self.fault, Fault::Capture(_));
        if is_captured {
            let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
            stream.begin_capture(mode).unwrap();
        }
        CallStream {
            stream,
            is_captured,
        }
    }

    /// Asserts that the call returns an error that names the argument and ends with `reason`.
    #[track_caller]
    pub(crate) fn check(&self, call: &Call, argument: &str, reason: &str) {
        let result = (call.run)(self);
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
