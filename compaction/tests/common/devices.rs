//! Graphs, and machines with more than one GPU.

use std::sync::Arc;

use compaction::{
    Error, cuda,
    cudarc::driver::{
        CudaContext, CudaGraph, CudaStream,
        sys::{CUgraphInstantiate_flags, CUstreamCaptureMode},
    },
};

/// What `calls` put onto the stream, as a graph.
#[allow(dead_code, reason = "not every test program records graphs")]
pub(crate) fn capture(stream: &Arc<CudaStream>, calls: impl FnOnce()) -> CudaGraph {
    stream
        .begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED)
        .unwrap();
    calls();
    stream
        .end_capture(CUgraphInstantiate_flags(0))
        .unwrap()
        .unwrap()
}

/// Two GPUs, where there are two.
pub(crate) fn two_gpus() -> Result<[Arc<CudaContext>; 2], String> {
    let open = |ordinal| cuda::open(ordinal).map_err(|error| error.to_string());
    Ok([open(0)?, open(1)?])
}

/// The call is refused, in these words.
#[track_caller]
pub(crate) fn is_refused<T>(result: Result<T, Error>, words: &str) {
    let Err(error) = result else {
        panic!("not refused: {words}");
    };
    let text = error.to_string();
    assert!(
        text.contains(words) && !text.contains('\n'),
        "\"{text}\" does not say \"{words}\""
    );
}
