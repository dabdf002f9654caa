//! Tests of calls whose buffers belong to another stream than that of the call.

use std::sync::Arc;

use compaction::{
    Count,
    cuda::{self, Graph, In, InOut, Kernel, Launch, Readback, Source},
    cudarc::driver::{
        CudaStream,
        sys::{CUgraphInstantiate_flags, CUstreamCaptureMode},
    },
    select::{Select, Strategy, Workspace},
};

use crate::common::{Gpu, assert_error};

/// The slow kernel computes for milliseconds before it reads `from`, and again before it writes `to`.
const SLOW: &str = r#"extern "C" __global__ void slow(const u32 *from, u32 *to, u32 rounds)
{
    u32 before = 1, after = 1;
    for (u32 round = 0; round < rounds; round++) before = 1664525 * before + 1013904223;
    const u32 read = *from + (before == 7 ? 1 : 0);
    for (u32 round = 0; round < rounds; round++) after = 1664525 * after + read;
    *to = read + (after == 7 ? 1 : 0);
}"#;

type Slow = (In<u32>, InOut<u32>, u32);

fn slow(gpu: &Gpu) -> Kernel<Slow> {
    let source = Source::new("kernels/slow.cu", SLOW).kernel::<Slow>("slow");
    let module = gpu.compiler.load(&gpu.context, &source).unwrap();
    module.kernel("slow").unwrap()
}

/// Calls `test` with two streams of one GPU: of one handle of the context or of two, whose buffers cudarc tracks or not.
fn for_pairs_of_streams(gpu: &Gpu, test: impl Fn(&Arc<CudaStream>, &Arc<CudaStream>)) {
    let (tracking, untracked) = (
        &gpu.context,
        &cuda::open_for_calls_of_this_crate(0).unwrap(),
    );
    assert!(tracking.is_event_tracking() && !untracked.is_event_tracking());
    for [first, second] in [
        [untracked, untracked],
        [tracking, tracking],
        [untracked, tracking],
        [tracking, untracked],
    ] {
        let (first_stream, second_stream) =
            (first.new_stream().unwrap(), second.new_stream().unwrap());
        test(&first_stream, &second_stream);
        test(&first_stream, &second.default_stream());
    }
}

pub(crate) fn calls_are_ordered_after_those_of_the_home_of_a_buffer(gpu: &Gpu) {
    let slow = slow(gpu);
    let once = Launch::blocks(1, 1);
    for_pairs_of_streams(gpu, |home, other| {
        let seven = cuda::upload(home, &[7_u32]).unwrap();
        let mut there = cuda::zeroed::<u32>(home, 1).unwrap();
        let mut here = cuda::zeroed::<u32>(other, 1).unwrap();
        let args = (seven.as_view(), there.as_view_mut(), 1 << 22);
        slow.launch(home, once, args).unwrap();
        let args = (there.as_view(), here.as_view_mut(), 1 << 22);
        slow.launch(other, once, args).unwrap();
        // The home waits until the buffer was read.
        cuda::overwrite(home, &[8], &mut there).unwrap();
        assert_eq!(cuda::download(other, &here).unwrap(), [7]);
        assert_eq!(cuda::download(other, &there).unwrap(), [8]);

        // It also waits before it frees the buffer.
        let args = (there.as_view(), here.as_view_mut(), 1 << 22);
        slow.launch(other, once, args).unwrap();
        drop(there);
        let again = cuda::upload(home, &[9_u32; 4]).unwrap();
        let mut readback = Readback::<u32>::new(home.context(), 1).unwrap();
        readback.post(home, &here).unwrap();
        assert_eq!(readback.wait().unwrap(), [8]);
        assert_eq!(cuda::download(home, &again).unwrap(), [9; 4]);
    });
}

/// Safe code cannot make a copy of cudarc overtake a call of this crate.
pub(crate) fn copies_of_cudarc_are_ordered_with_calls(gpu: &Gpu) {
    let context = cuda::open(0).unwrap();
    let (home, other) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    let (slow, once) = (slow(gpu), Launch::blocks(1, 1));
    let mut from = cuda::upload(&home, &[7_u32]).unwrap();
    let mut to = cuda::zeroed::<u32>(&home, 1).unwrap();
    let args = (from.as_view(), to.as_view_mut(), 1 << 22);
    slow.launch(&home, once, args).unwrap();
    // Waits until the kernel has read the buffer.
    other.memcpy_htod(&[8_u32], &mut from).unwrap();
    let mut copied = cuda::zeroed::<u32>(&other, 1).unwrap();
    other.memcpy_dtod(&to, &mut copied).unwrap();
    // The kernel waits until the buffer was copied.
    let args = (from.as_view(), to.as_view_mut(), 0);
    slow.launch(&home, once, args).unwrap();
    assert_eq!(cuda::download(&home, &copied).unwrap(), [7]);
    assert_eq!(cuda::download(&home, &to).unwrap(), [8]);
}

pub(crate) fn a_copy_is_ordered_recorded_and_as_long_as_its_source(gpu: &Gpu) {
    let (slow, once) = (slow(gpu), Launch::blocks(1, 1));
    for_pairs_of_streams(gpu, |home, other| {
        let from = cuda::upload(home, &[7_u32, 5]).unwrap();
        let mut to = cuda::zeroed::<u32>(home, 2).unwrap();
        let mut out = cuda::zeroed::<u32>(other, 2).unwrap();
        let args = (from.as_view(), to.as_view_mut(), 1 << 22);
        slow.launch(home, once, args).unwrap();
        cuda::copy(other, &to, &mut out).unwrap();
        cuda::clear(home, &mut to).unwrap();
        assert_eq!(cuda::download(other, &out).unwrap(), [7, 0]);
        assert_error(
            cuda::copy(home, &from.slice(..1), &mut to),
            "the items to copy to a buffer: 1 instead of 2",
        );
    });
    let stream = gpu.context.new_stream().unwrap();
    let from = cuda::upload(&stream, &[7_u32, 5]).unwrap();
    let mut to = cuda::zeroed::<u32>(&stream, 2).unwrap();
    let mut graph = Graph::record(&stream, || cuda::copy(&stream, &from, &mut to)).unwrap();
    assert_error(
        graph.launch(&mut &from),
        "the graph writes the buffer to copy to, which",
    );
    graph.launch(&mut (&from, &mut to)).unwrap();
    assert_eq!(cuda::download(&stream, &to).unwrap(), [7, 5]);
}

pub(crate) fn operations_accept_buffers_of_other_streams(gpu: &Gpu) {
    let select = Select::new(&gpu.compiler, &gpu.context, Strategy::LookBack).unwrap();
    for_pairs_of_streams(gpu, |home, other| {
        let flags = cuda::upload(home, &[1_u8; 100]).unwrap();
        let mut workspace = Workspace::with_capacity(home, 100).unwrap();
        let mut out = cuda::zeroed::<u32>(other, 100).unwrap();
        let mut selected = cuda::zeroed::<u32>(other, 1).unwrap();
        let all = Count::All;
        select
            .indices(other, &flags, all, &mut out, &mut selected, &mut workspace)
            .unwrap();
        assert_eq!(workspace.read(other, &selected).unwrap(), 100);
    });
}

pub(crate) fn a_captured_call_refuses_buffers_of_other_streams(gpu: &Gpu) {
    let slow = slow(gpu);
    let select = Select::new(&gpu.compiler, &gpu.context, Strategy::LookBack).unwrap();
    let once = Launch::blocks(1, 1);
    for_pairs_of_streams(gpu, |home, other| {
        if other.cu_stream().is_null() {
            return; // The default stream cannot be captured.
        }
        let there = cuda::zeroed::<u32>(home, 1).unwrap();
        let mut here = cuda::zeroed::<u32>(other, 1).unwrap();
        let flags = cuda::zeroed::<u8>(other, 1).unwrap();
        let mut selected = cuda::zeroed::<u32>(other, 1).unwrap();
        let mut workspace = Workspace::with_capacity(home, 1).unwrap();
        home.synchronize().unwrap();
        other
            .begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
            .unwrap();
        let refused = slow.launch(other, once, (there.as_view(), here.as_view_mut(), 0));
        let (all, out) = (Count::All, &mut here);
        let selection = select.indices(other, &flags, all, out, &mut selected, &mut workspace);
        let upload = cuda::overwrite(other, &[1], &mut here);
        let download = cuda::download(other, &here);
        let discarded = other.end_capture(CUgraphInstantiate_flags(0));
        assert!(discarded.is_ok());
        assert_error(
            refused,
            "argument \"from\" of kernel \"slow\": on another stream while a graph is being captured",
        );
        assert_error(selection, "the workspace of select: on another stream");
        assert_error(upload, "an upload cannot be recorded into a graph");
        assert_error(download, "a download cannot be recorded into a graph");
        assert_eq!(cuda::download(other, &here).unwrap(), [0]);
    });
}
