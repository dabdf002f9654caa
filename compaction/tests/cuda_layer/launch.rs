//! Tests of kernels on a GPU, and of buffers, timelines, readbacks and graphs.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    time::Instant,
};

use compaction::{
    Error,
    cuda::{
        self, Archive, Cache, Compiler, Graph, In, InOut, Launch, Nvrtc, Origin, Readback, Source,
        Target, Timeline,
    },
    cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode},
};

use crate::{
    common::Gpu,
    parcels::{BY, Move, Parcel, Vec3, move_parcels, moved, parcel},
};

pub(crate) fn every_field_of_a_struct_survives_a_round_trip(gpu: &Gpu) {
    check_moves(gpu, &gpu.compiler);
}

fn check_moves(gpu: &Gpu, compiler: &Compiler) {
    let kernel = compiler
        .load(&gpu.context, &move_parcels())
        .unwrap()
        .kernel::<Move>("move_parcels")
        .unwrap();
    let parcels: Vec<_> = (0..1000).map(parcel).collect();
    let input = cuda::upload(&gpu.stream, &parcels).unwrap();
    let mut output = cuda::zeroed::<Parcel>(&gpu.stream, 1000).unwrap();
    // The last item lies behind the count and keeps its value.
    kernel
        .launch(
            &gpu.stream,
            Launch::covering(999, 128),
            (input.as_view(), output.as_view_mut(), 999, BY),
        )
        .unwrap();
    let mut expected: Vec<_> = parcels.iter().map(|&parcel| moved(parcel, BY)).collect();
    expected[999] = Parcel::default();
    assert_eq!(cuda::download(&gpu.stream, &output).unwrap(), expected);
    assert_eq!(cuda::download(&gpu.stream, &input).unwrap(), parcels);
}

pub(crate) fn a_launch_of_zero_blocks_does_nothing(gpu: &Gpu) {
    let kernel = gpu
        .compiler
        .load(&gpu.context, &move_parcels())
        .unwrap()
        .kernel::<Move>("move_parcels")
        .unwrap();
    let empty = cuda::upload::<Parcel>(&gpu.stream, &[]).unwrap();
    let mut output = cuda::zeroed::<Parcel>(&gpu.stream, 0).unwrap();
    kernel
        .launch(
            &gpu.stream,
            Launch::covering(0, 128),
            (empty.as_view(), output.as_view_mut(), 0, BY),
        )
        .unwrap();
    gpu.stream.synchronize().unwrap();
    let refused = kernel.launch(
        &gpu.stream,
        Launch::covering(1, 4096),
        (empty.as_view(), output.as_view_mut(), 0, BY),
    );
    let message = refused.unwrap_err().to_string();
    assert!(
        message.starts_with("launch \"move_parcels\" over 1 items: CUDA_ERROR_INVALID_VALUE ("),
        "{message}"
    );
}

pub(crate) fn a_kernel_loads_only_with_its_declared_types(gpu: &Gpu) {
    let module = gpu.compiler.load(&gpu.context, &move_parcels()).unwrap();
    let declared = "it declares move_parcels(const Parcel *, Parcel *, u32, Vec3)";
    let message = module
        .kernel::<(In<Parcel>, u32)>("move_parcels")
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("no kernel move_parcels(const Parcel *, u32)")
            && message.ends_with(declared),
        "{message}"
    );
    assert!(
        module
            .kernel::<Move>("other")
            .unwrap_err()
            .to_string()
            .ends_with(declared)
    );
}

pub(crate) fn shipped_kernels_run_on_this_gpu(gpu: &Gpu) {
    let Ok(nvrtc) = Nvrtc::find() else {
        return eprintln!("skipped: no NVRTC to make PTX with");
    };
    if cuda::driver_version() < Some(nvrtc.version()) {
        return eprintln!("skipped: the driver is older than {nvrtc:?} and knows none of its PTX");
    }
    for targets in [Archive::TARGETS.as_slice(), &[Target::Ptx(75)]] {
        let archive = Archive::build(&[move_parcels()], targets, &nvrtc).unwrap();
        let compiler = Compiler::new()
            .cache(Cache::off())
            .nvrtc(None)
            .shipped(&archive.to_bytes());
        let module = compiler.load(&gpu.context, &move_parcels()).unwrap();
        assert_eq!(module.origin(), Origin::Shipped);
        check_moves(gpu, &compiler);
    }
}

const COUNT_UP: &str = "extern \"C\" __global__ void count_up(u32 *counter) { counter[0] += 1; }";

fn count_up(gpu: &Gpu) -> cuda::Kernel<(InOut<u32>,)> {
    let source = Source::new("kernels/count_up.cu", COUNT_UP).kernel::<(InOut<u32>,)>("count_up");
    gpu.compiler
        .load(&gpu.context, &source)
        .unwrap()
        .kernel("count_up")
        .unwrap()
}

pub(crate) fn a_timeline_has_a_time_between_marks(gpu: &Gpu) {
    let kernel = count_up(gpu);
    let mut counter = cuda::zeroed(&gpu.stream, 1).unwrap();
    let mut timeline = Timeline::new(&gpu.context, 1).unwrap();
    assert!(timeline.milliseconds().unwrap().is_empty());
    for marks in [2, 4, 3] {
        timeline.restart();
        let begun = Instant::now();
        for _ in 0..marks {
            timeline.mark(&gpu.stream).unwrap();
            for _ in 0..100 {
                kernel
                    .launch(&gpu.stream, Launch::blocks(1, 1), (counter.as_view_mut(),))
                    .unwrap();
            }
        }
        let times = timeline.milliseconds().unwrap();
        // The clocks of GPU and host differ a little.
        let passed = 1000.0 * begun.elapsed().as_secs_f32() + 1.0;
        assert_eq!(times.len(), marks - 1);
        assert!(
            times.iter().all(|&time| time > 0.0) && times.iter().sum::<f32>() < passed,
            "{times:?} in {passed} ms"
        );
    }
}

pub(crate) fn a_readback_returns_the_last_post(gpu: &Gpu) {
    let kernel = count_up(gpu);
    let mut counter = cuda::zeroed::<u32>(&gpu.stream, 2).unwrap();
    let mut readback = Readback::new(&gpu.context, 1).unwrap();
    assert!(readback.wait().unwrap().is_empty());
    for round in 1..=3 {
        for _ in 0..50 {
            kernel
                .launch(&gpu.stream, Launch::blocks(1, 1), (counter.as_view_mut(),))
                .unwrap();
        }
        readback.post(&gpu.stream, counter.slice(..1)).unwrap();
        assert_eq!(readback.wait().unwrap(), [50 * round]);
    }
    let message = readback
        .post(&gpu.stream, counter.as_view())
        .unwrap_err()
        .to_string();
    assert_eq!(
        message,
        "the readback buffer: room for 1 items where up to 2 may be written; make it longer"
    );
}

pub(crate) fn a_captured_launch_repeats(gpu: &Gpu) {
    let kernel = count_up(gpu);
    let mut counter = cuda::zeroed::<u32>(&gpu.stream, 1).unwrap();
    gpu.stream
        .begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
        .unwrap();
    for _ in 0..5 {
        kernel
            .launch(
                &gpu.stream,
                Launch::covering(1, 32).shared_bytes(64),
                (counter.as_view_mut(),),
            )
            .unwrap();
    }
    let graph = gpu
        .stream
        .end_capture(CUgraphInstantiate_flags(0))
        .unwrap()
        .unwrap();
    assert_eq!(cuda::download(&gpu.stream, &counter).unwrap(), [0]);
    for _ in 0..3 {
        graph.launch().unwrap();
    }
    // The 32 threads add to the same word without synchronisation, so each launch adds 1 to 32.
    let counted = cuda::download(&gpu.stream, &counter).unwrap()[0];
    assert!((15..=15 * 32).contains(&counted), "{counted}");
}

/// Checks that the stream works as before and can be recorded again after a panic in `enqueue`.
pub(crate) fn a_panic_ends_the_recording(gpu: &Gpu) {
    let kernel = count_up(gpu);
    let mut counter = cuda::zeroed::<u32>(&gpu.stream, 1).unwrap();
    let mut count = || {
        let once = Launch::covering(1, 1);
        kernel.launch(&gpu.stream, once, (counter.as_view_mut(),))
    };
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        Graph::record(&gpu.stream, || {
            count()?;
            resume_unwind(Box::new("no reason"));
            #[expect(unreachable_code, reason = "tells the compiler the type of errors")]
            Ok::<(), Error>(())
        })
    }));
    assert!(unwound.is_err());
    count().unwrap();
    let mut graph = Graph::record(&gpu.stream, &mut count).unwrap();
    graph.launch(&mut counter).unwrap();
    assert_eq!(cuda::download(&gpu.stream, &counter).unwrap(), [2]);
}

pub(crate) fn out_of_memory_errors_report_free_memory(gpu: &Gpu) {
    match cuda::uninitialised::<u64>(&gpu.stream, 1 << 44) {
        Err(Error::OutOfMemory { asked, free, total }) => {
            assert!(asked == 1 << 47 && free <= total && total > 0)
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(
        cuda::uninitialised::<u64>(&gpu.stream, usize::MAX),
        Err(Error::OutOfMemory { .. })
    ));
    assert_eq!(
        cuda::download(&gpu.stream, &cuda::upload(&gpu.stream, &[7_u8]).unwrap()).unwrap(),
        [7]
    );
}

pub(crate) fn empty_buffers_are_valid(gpu: &Gpu) {
    let empty = cuda::uninitialised::<Parcel>(&gpu.stream, 0).unwrap();
    assert_eq!(empty.len(), 0);
    assert!(cuda::download(&gpu.stream, &empty).unwrap().is_empty());
}

pub(crate) fn reinterpret_needs_whole_aligned_items(gpu: &Gpu) {
    let mut bytes = cuda::upload(&gpu.stream, &(0..24_u8).collect::<Vec<_>>()).unwrap();
    let words = cuda::reinterpret::<u8, u32>(bytes.slice(4..12)).unwrap();
    assert_eq!(
        cuda::download(&gpu.stream, &words).unwrap(),
        [0x0706_0504, 0x0b0a_0908]
    );
    assert!(matches!(
        cuda::reinterpret::<u8, u32>(bytes.slice(2..10)),
        Err(Error::Reinterpret { bytes: 8, .. })
    ));
    assert!(matches!(
        cuda::reinterpret::<u8, u32>(bytes.slice(4..10)),
        Err(Error::Reinterpret { bytes: 6, .. })
    ));
    let mut view = bytes.as_view_mut();
    let mut triples = cuda::reinterpret_mut::<u8, Vec3>(&mut view).unwrap();
    gpu.stream.memset_zeros(&mut triples).unwrap();
    assert_eq!(cuda::download(&gpu.stream, &bytes).unwrap(), [0; 24]);
}

pub(crate) fn a_missing_device_is_named(_: &Gpu) {
    let count = cuda::devices().unwrap().len();
    let message = cuda::open(count).unwrap_err().to_string();
    assert!(
        message.starts_with(&format!(
            "no CUDA device: there is no device {count}, only device"
        )),
        "{message}"
    );
}

pub(crate) fn registers_and_occupancy_are_those_of_the_kernel(gpu: &Gpu) {
    let kernel = count_up(gpu);
    assert!((1..=255).contains(&kernel.registers().unwrap()));
    let (small, large) = (
        kernel.occupancy(128, 0).unwrap(),
        kernel.occupancy(1024, 0).unwrap(),
    );
    assert!(
        small > large && large >= 1,
        "{small} blocks of 128, {large} of 1024"
    );
}

const REVERSE: &str = r#"extern "C" __global__ void reverse(u32 *items, u32 item_count) {
    extern __shared__ u32 held[];
    for (u32 item = threadIdx.x; item < item_count; item += blockDim.x) held[item] = items[item];
    __syncthreads();
    for (u32 item = threadIdx.x; item < item_count; item += blockDim.x) items[item] = held[item_count - 1 - item];
}"#;

/// Launches a block with more than the 48 KB of shared memory that need no allowance.
pub(crate) fn a_kernel_can_have_more_shared_memory_than_48_kb(gpu: &Gpu) {
    let source = Source::new("kernels/reverse.cu", REVERSE).kernel::<(InOut<u32>, u32)>("reverse");
    let kernel = gpu
        .compiler
        .load(&gpu.context, &source)
        .unwrap()
        .kernel::<(InOut<u32>, u32)>("reverse")
        .unwrap();
    // Every GPU from compute capability 7.5 on offers 64 KB per block.
    let items: Vec<u32> = (0..16 << 10).collect();
    let mut buffer = cuda::upload(&gpu.stream, &items).unwrap();
    let launch = Launch::blocks(1, 256).shared_bytes(64 << 10);
    let refused = kernel.launch(&gpu.stream, launch, (buffer.as_view_mut(), 16 << 10));
    let message = refused.unwrap_err().to_string();
    assert!(message.contains("launch \"reverse\""), "{message}");
    kernel.allow_shared_bytes(64 << 10).unwrap();
    kernel
        .launch(&gpu.stream, launch, (buffer.as_view_mut(), 16 << 10))
        .unwrap();
    let reversed: Vec<u32> = items.into_iter().rev().collect();
    assert_eq!(cuda::download(&gpu.stream, &buffer).unwrap(), reversed);

    let message = kernel.allow_shared_bytes(1 << 30).unwrap_err().to_string();
    assert!(
        message.starts_with("kernel \"reverse\" asks for 1073741824 bytes"),
        "{message}"
    );
}
