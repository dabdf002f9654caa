//! Graph captures, and machines with several GPUs.

use std::sync::Arc;

use compaction::{
    cuda,
    cudarc::driver::{
        CudaContext, CudaGraph, CudaStream,
        sys::{CUgraphInstantiate_flags, CUstreamCaptureMode},
    },
};

/// Returns a graph of the work that `calls` enqueues on the stream.
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

/// Opens the first two GPUs, or returns the reason why there are not two.
#[allow(dead_code, reason = "not every test program needs two GPUs")]
pub(crate) fn two_gpus() -> Result<[Arc<CudaContext>; 2], String> {
    let open = |ordinal| cuda::open(ordinal).map_err(|error| error.to_string());
    Ok([open(0)?, open(1)?])
}
