//! Captures in contexts of cudarc that track the uses of buffers by events.
//!
//! Such a context waits for the whole GPU whenever a stream is created, which ends the captures of all other threads.
//! Therefore the test has a process of its own.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/devices.rs"]
mod devices;

use std::sync::Arc;

use common::{Gpu, Tests, add_tests};
use compaction::{
    Count,
    cuda::{self, Graph, InOut, Launch, Source},
    cudarc::driver::{CudaContext, CudaStream},
    select::{Select, Strategy, Workspace},
};

fn main() {
    let tests = Tests::new();
    add_tests!(tests; gpu "cuda_" self { calls_are_captured }).run();
}

/// cudarc's events, which it waits for by default, would end a capture.
fn calls_are_captured(gpu: &Gpu) {
    let tracking = CudaContext::new(0).unwrap();
    let new_stream = || tracking.new_stream().unwrap();
    let (stream, other) = (new_stream(), new_stream());
    graphs_are_ordered_with_other_streams(gpu, &stream, &other);
    a_capture_of_cudarc_takes_launches(gpu, &stream);
}

fn graphs_are_ordered_with_other_streams(
    gpu: &Gpu,
    stream: &Arc<CudaStream>,
    other: &Arc<CudaStream>,
) {
    let select = Select::new(&gpu.compiler, &gpu.context, Strategy::LookBack).unwrap();
    let mut flags = cuda::upload(stream, &[1_u8, 0, 1, 1]).unwrap();
    let mut out = cuda::zeroed::<u32>(stream, 4).unwrap();
    let mut selected = cuda::zeroed::<u32>(stream, 1).unwrap();
    let mut workspace = Workspace::with_capacity(stream, 4).unwrap();
    let mut graph = Graph::record(stream, || {
        select.indices(
            stream,
            &flags,
            Count::All,
            &mut out,
            &mut selected,
            &mut workspace,
        )
    })
    .unwrap();
    for round in 0..3_u32 {
        let last = u8::from(round == 1);
        other.memcpy_htod(&[1, 1, 1, last], &mut flags).unwrap();
        graph
            .launch(&mut (&mut flags, &mut out, &mut selected, &mut workspace))
            .unwrap();
        assert_eq!(other.clone_dtoh(&selected).unwrap(), [3 + u32::from(last)]);
    }
}

fn a_capture_of_cudarc_takes_launches(gpu: &Gpu, stream: &Arc<CudaStream>) {
    let code = "extern \"C\" __global__ void count_up(u32 *counter) { counter[0] += 1; }";
    let source = Source::new("kernels/count_up.cu", code).kernel::<(InOut<u32>,)>("count_up");
    let module = gpu.compiler.load(&gpu.context, &source).unwrap();
    let kernel = module.kernel::<(InOut<u32>,)>("count_up").unwrap();
    let mut counter = cuda::zeroed::<u32>(stream, 1).unwrap();
    let graph = devices::capture(stream, || {
        kernel
            .launch(stream, Launch::blocks(1, 1), (counter.as_view_mut(),))
            .unwrap();
    });
    graph.launch().unwrap();
    assert_eq!(cuda::download(stream, &counter).unwrap(), [1]);
}
