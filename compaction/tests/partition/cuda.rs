//! What only a GPU does: views, counts on the device, a workspace that lives long, graphs.

use std::sync::Arc;

use compaction::{
    Error,
    cuda::{download, upload, zeroed},
    cudarc::driver::{
        CudaSlice, CudaStream,
        sys::{CUgraphInstantiate_flags, CUstreamCaptureMode},
    },
    partition::{Classes, Workspace},
    select::Count,
};

use crate::{
    CLASS_TILE, Keys, Sixteen, TILE, Three,
    backends::{Backend, Cuda},
    check, check_classes,
    common::Gpu,
    partitions_classes, partitions_indices, partitions_items,
    random::{Mask, Random},
};

const GUARD: u32 = 0xdead_beef;

pub(crate) fn puts_selected_first(gpu: &Gpu) {
    super::puts_selected_first(&Backend::Cuda(&Cuda::new(gpu)));
}

pub(crate) fn orders_classes(gpu: &Gpu) {
    super::orders_classes(&Backend::Cuda(&Cuda::new(gpu)));
}

pub(crate) fn random_cases(gpu: &Gpu) {
    super::random_cases(&Backend::Cuda(&Cuda::new(gpu)), 200);
}

pub(crate) fn starts_anywhere(gpu: &Gpu) {
    let mut random = Random(4);
    let mut cuda = Cuda::new(gpu);
    for start in [1, 2, 3, 4, 7, 8, 11, 12, 16, 33] {
        cuda.start = start;
        for len in [
            0,
            1,
            3,
            130,
            TILE - 1,
            TILE + 1,
            CLASS_TILE + 1,
            5 * TILE + 2,
        ] {
            let flags = Mask::Random(50).flags(len, &mut random);
            let backend = Backend::Cuda(&cuda);
            partitions_indices(&backend, &flags);
            partitions_items::<u32>(&backend, &flags);
            partitions_items::<Three>(&backend, &flags);
            partitions_items::<Sixteen>(&backend, &flags);
            partitions_classes(&backend, 256, &Keys::Uniform.draw(len, &mut random));
        }
    }
}

pub(crate) fn counts_on_the_device(gpu: &Gpu) {
    let (stream, cuda) = (&gpu.stream, Cuda::new(gpu));
    let classes = Classes::new(&gpu.compiler, &gpu.context, 256).unwrap();
    let capacity = 9 * TILE + 5;
    let flags = Mask::Random(50).flags(capacity, &mut Random(5));
    let device_flags = upload(stream, &flags).unwrap();
    let all: Vec<u32> = (0..capacity as u32).collect();
    let mut workspace = cuda.workspace(capacity);
    // The last two are more than there are flags: as many as there are flags then.
    let counts = [
        0,
        1,
        100,
        TILE,
        TILE + 1,
        capacity - 1,
        capacity,
        capacity + 1,
        u32::MAX as usize,
    ];
    for count in counts {
        let case = format!("a count of {count} on the device");
        let device_count = upload(stream, &[GUARD, count as u32]).unwrap();
        let mut out = upload(stream, &vec![GUARD; capacity]).unwrap();
        let mut selected = upload(stream, &[GUARD; 257]).unwrap();
        let len = count.min(capacity);
        cuda.partition
            .indices(
                stream,
                &device_flags.as_view(),
                Count::Device(device_count.slice(1..)),
                &mut out.as_view_mut(),
                &mut selected.as_view_mut(),
                &mut workspace,
            )
            .unwrap();
        let got = download(stream, &out).unwrap();
        let got_selected = download(stream, &selected).unwrap()[0];
        check(
            &case,
            &all[..len],
            &flags[..len],
            (&got[..len], got_selected),
        );
        assert!(
            got[len..].iter().all(|&word| word == GUARD),
            "{case}: behind the count"
        );

        let mut out = upload(stream, &vec![GUARD; capacity]).unwrap();
        classes
            .indices(
                stream,
                &device_flags.as_view(),
                Count::Device(device_count.slice(1..)),
                &mut out.as_view_mut(),
                &mut selected.as_view_mut(),
                &mut workspace,
            )
            .unwrap();
        let got = download(stream, &out).unwrap();
        let starts = download(stream, &selected).unwrap();
        check_classes(&case, 256, &flags[..len], &got[..len], &starts);
        assert!(
            got[len..].iter().all(|&word| word == GUARD),
            "{case}: behind the count"
        );
    }
}

/// A call whose result is looked at later.
struct Call {
    start: usize,
    len: usize,
    by_class: bool,
    out: CudaSlice<u32>,
    counts: CudaSlice<u32>,
}

/// Queues calls of both kinds and many lengths, on one workspace.
fn queue(
    gpu: &Gpu,
    stream: &Arc<CudaStream>,
    flags: &[u8],
    calls: usize,
    random: &mut Random,
) -> Vec<Call> {
    let cuda = Cuda::new(gpu);
    let classes = Classes::new(&gpu.compiler, &gpu.context, 256).unwrap();
    let most = flags.len() / 2;
    let mut workspace = Workspace::with_capacity(stream, most as u32).unwrap();
    let flags = upload(stream, flags).unwrap();
    let mut queued = Vec::new();
    for call in 0..calls {
        let magnitude = random.below(12);
        let len = random.below((most >> magnitude) + 1);
        let start = random.below(most);
        let by_class = call % 2 == 1;
        let mut out = upload(stream, &vec![GUARD; len]).unwrap();
        let mut counts = upload(stream, &[GUARD; 257]).unwrap();
        let view = flags.slice(start..start + len);
        let count = Count::Given(len as u32);
        let (mut out_view, mut counts_view) = (out.as_view_mut(), counts.as_view_mut());
        let done = if by_class {
            classes.indices(
                stream,
                &view,
                count,
                &mut out_view,
                &mut counts_view,
                &mut workspace,
            )
        } else {
            cuda.partition.indices(
                stream,
                &view,
                count,
                &mut out_view,
                &mut counts_view,
                &mut workspace,
            )
        };
        done.unwrap();
        queued.push(Call {
            start,
            len,
            by_class,
            out,
            counts,
        });
    }
    queued
}

fn check_queued(stream: &Arc<CudaStream>, flags: &[u8], queued: Vec<Call>) {
    for (index, call) in queued.into_iter().enumerate() {
        let case = format!("call {index}, {} items", call.len);
        let out = download(stream, &call.out).unwrap();
        let counts = download(stream, &call.counts).unwrap();
        let flags = &flags[call.start..call.start + call.len];
        if call.by_class {
            check_classes(&case, 256, flags, &out, &counts);
        } else {
            let all: Vec<u32> = (0..call.len as u32).collect();
            check(&case, &all, flags, (&out, counts[0]));
        }
    }
}

/// All calls are on the stream before the first result is read.
pub(crate) fn over_and_over(gpu: &Gpu) {
    let mut random = Random(6);
    let flags = Mask::Random(30).flags(40 * TILE, &mut random);
    let queued = queue(gpu, &gpu.stream, &flags, 1000, &mut random);
    check_queued(&gpu.stream, &flags, queued);
}

/// Blocks that wait for others must not keep those from running.
pub(crate) fn two_streams(gpu: &Gpu) {
    let mut random = Random(7);
    let flags = Mask::Random(30).flags(2 << 20, &mut random);
    let streams = [gpu.stream.clone(), gpu.context.new_stream().unwrap()];
    let queued = streams.clone().map(|stream| {
        let queued = queue(gpu, &stream, &flags, 200, &mut random);
        (stream, queued)
    });
    for (stream, queued) in queued {
        check_queued(&stream, &flags, queued);
    }
}

/// The rejected are partitioned by class, by a count that never leaves the device.
pub(crate) fn replays(gpu: &Gpu) {
    let (stream, cuda) = (&gpu.stream, Cuda::new(gpu));
    let classes = Classes::new(&gpu.compiler, &gpu.context, 20).unwrap();
    let len = 60 * TILE + 11;
    let mut random = Random(8);
    let mut workspace = cuda.workspace(len);
    let mut flags = zeroed::<u8>(stream, len).unwrap();
    let mut keys = zeroed::<u8>(stream, len).unwrap();
    let (mut first, mut second) = (
        zeroed::<u32>(stream, len).unwrap(),
        zeroed::<u32>(stream, len).unwrap(),
    );
    let (mut selected, mut starts) = (
        zeroed::<u32>(stream, 1).unwrap(),
        zeroed::<u32>(stream, 21).unwrap(),
    );
    stream
        .begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED)
        .unwrap();
    cuda.partition
        .indices(
            stream,
            &flags.as_view(),
            Count::Given(len as u32),
            &mut first.as_view_mut(),
            &mut selected.as_view_mut(),
            &mut workspace,
        )
        .unwrap();
    classes
        .indices(
            stream,
            &keys.as_view(),
            Count::Device(selected.as_view()),
            &mut second.as_view_mut(),
            &mut starts.as_view_mut(),
            &mut workspace,
        )
        .unwrap();
    let graph = stream
        .end_capture(CUgraphInstantiate_flags(0))
        .unwrap()
        .unwrap();
    let all: Vec<u32> = (0..len as u32).collect();
    for replay in 0..50 {
        let case = format!("replay {replay}");
        let host_flags = Mask::Random(random.below(101)).flags(len, &mut random);
        let host_keys = Keys::Uniform.draw(len, &mut random);
        stream.memcpy_htod(&host_flags, &mut flags).unwrap();
        stream.memcpy_htod(&host_keys, &mut keys).unwrap();
        graph.launch().unwrap();
        let count = download(stream, &selected).unwrap()[0];
        check(
            &case,
            &all,
            &host_flags,
            (&download(stream, &first).unwrap(), count),
        );
        let count = count as usize;
        let indices = download(stream, &second).unwrap();
        let starts = download(stream, &starts).unwrap();
        check_classes(&case, 20, &host_keys[..count], &indices[..count], &starts);
    }
}

/// States of the first epoch, left by a large call, must not pass for new ones when the epochs begin again.
pub(crate) fn survives_its_last_epoch(gpu: &Gpu) {
    let (stream, cuda) = (&gpu.stream, Cuda::new(gpu));
    let classes = Classes::new(&gpu.compiler, &gpu.context, 256).unwrap();
    let len = 150 * CLASS_TILE + 1;
    let mut random = Random(9);
    let mut workspace = cuda.workspace(len);
    for call in 0..12 {
        if call == 3 {
            workspace.age(stream, 4).unwrap();
        }
        // Small calls use the old epochs up; large ones come before and after.
        let len = if (3..7).contains(&call) { 5 } else { len };
        let case = format!("call {call}");
        let flags = Mask::Random(10 * call % 100 + 5).flags(len, &mut random);
        let device_flags = upload(stream, &flags).unwrap();
        let mut out = upload(stream, &vec![GUARD; len]).unwrap();
        let mut counts = upload(stream, &[GUARD; 257]).unwrap();
        let (mut out_view, mut counts_view) = (out.as_view_mut(), counts.as_view_mut());
        let (view, count) = (device_flags.as_view(), Count::Given(len as u32));
        cuda.partition
            .indices(
                stream,
                &view,
                count,
                &mut out_view,
                &mut counts_view,
                &mut workspace,
            )
            .unwrap();
        let all: Vec<u32> = (0..len as u32).collect();
        let selected = download(stream, &counts).unwrap()[0];
        check(
            &case,
            &all,
            &flags,
            (&download(stream, &out).unwrap(), selected),
        );
        let (mut out_view, mut counts_view) = (out.as_view_mut(), counts.as_view_mut());
        classes
            .indices(
                stream,
                &view,
                Count::Given(len as u32),
                &mut out_view,
                &mut counts_view,
                &mut workspace,
            )
            .unwrap();
        let starts = download(stream, &counts).unwrap();
        check_classes(
            &case,
            256,
            &flags,
            &download(stream, &out).unwrap(),
            &starts,
        );
    }
}

pub(crate) fn refuses_what_does_not_fit(gpu: &Gpu) {
    let (stream, cuda) = (&gpu.stream, Cuda::new(gpu));
    let flags = upload(stream, &[1_u8; 8]).unwrap();
    let word = zeroed::<u32>(stream, 1).unwrap();
    let mut selected = zeroed::<u32>(stream, 1).unwrap();
    let mut out = zeroed::<u32>(stream, 8).unwrap();
    let mut small = cuda.workspace(7);
    let mut workspace = cuda.workspace(8);
    let mut indices = |count: Count<'_>, room: usize, counts: usize, workspace: &mut Workspace| {
        let (mut out, mut selected) = (out.slice_mut(..room), selected.slice_mut(..counts));
        cuda.partition.indices(
            stream,
            &flags.as_view(),
            count,
            &mut out,
            &mut selected,
            workspace,
        )
    };
    let error = indices(Count::Given(9), 8, 1, &mut workspace).unwrap_err();
    assert!(
        matches!(
            error,
            Error::LengthMismatch {
                expected: 9,
                got: 8,
                ..
            }
        ),
        "{error}"
    );
    let error = indices(Count::Device(word.slice(1..)), 8, 1, &mut workspace).unwrap_err();
    assert!(
        matches!(
            error,
            Error::LengthMismatch {
                expected: 1,
                got: 0,
                ..
            }
        ),
        "{error}"
    );
    let error = indices(Count::Given(8), 7, 1, &mut workspace).unwrap_err();
    assert!(
        matches!(
            error,
            Error::OutputTooShort {
                needed: 8,
                got: 7,
                ..
            }
        ),
        "{error}"
    );
    let error = indices(Count::Given(8), 8, 0, &mut workspace).unwrap_err();
    assert!(
        matches!(
            error,
            Error::OutputTooShort {
                needed: 1,
                got: 0,
                ..
            }
        ),
        "{error}"
    );
    let error = indices(Count::Device(word.as_view()), 8, 1, &mut small).unwrap_err();
    assert!(
        matches!(
            error,
            Error::WorkspaceTooSmall {
                needed: 8,
                got: 7,
                ..
            }
        ),
        "{error}"
    );
    indices(Count::Given(7), 7, 1, &mut small).unwrap();

    let classes = Classes::new(&gpu.compiler, &gpu.context, 4).unwrap();
    let mut starts = zeroed::<u32>(stream, 4).unwrap();
    let error = classes
        .indices(
            stream,
            &flags.as_view(),
            Count::Given(8),
            &mut out.as_view_mut(),
            &mut starts.as_view_mut(),
            &mut workspace,
        )
        .unwrap_err();
    assert!(
        matches!(
            error,
            Error::OutputTooShort {
                needed: 5,
                got: 4,
                ..
            }
        ),
        "{error}"
    );
}
