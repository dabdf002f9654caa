//! What only a GPU does: views, counts on the device, a workspace that lives long, graphs.

use compaction::{
    Error, Strategy,
    cuda::{download, upload, zeroed},
    cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode},
    select::{Count, TILE_ITEMS, Workspace},
};

use crate::{
    Eight, Three,
    backends::{Backend, Cuda, behind},
    cases::{Mask, Random, check},
    common::Gpu,
    selects_indices, selects_items,
};

const TILE: usize = TILE_ITEMS as usize;
const GUARD: u32 = 0xdead_beef;

pub(crate) fn keeps_what_is_flagged(gpu: &Gpu) {
    super::keeps_what_is_flagged(&Backend::Cuda(&Cuda::new(gpu)));
}

pub(crate) fn keeps_items_of_every_size(gpu: &Gpu) {
    super::keeps_items_of_every_size(&Backend::Cuda(&Cuda::new(gpu)));
}

pub(crate) fn keeps_many_items(gpu: &Gpu) {
    super::keeps_many_items(&Backend::Cuda(&Cuda::new(gpu)));
}

pub(crate) fn takes_views_that_start_anywhere(gpu: &Gpu) {
    let mut random = Random(4);
    let mut cuda = Cuda::new(gpu);
    for start in [1, 2, 3, 4, 5, 7, 8, 11, 12, 15, 16, 33] {
        cuda.start = start;
        for len in [0, 1, 3, 130, TILE - 1, TILE, TILE + 1, 5 * TILE + 2] {
            for mask in [Mask::All, Mask::Random(50)] {
                let flags = mask.flags(len, &mut random);
                let backend = Backend::Cuda(&cuda);
                selects_indices(&backend, &flags, mask);
                selects_items::<u32>(&backend, &flags, mask);
                selects_items::<Three>(&backend, &flags, mask);
                selects_items::<Eight>(&backend, &flags, mask);
            }
        }
    }
}

pub(crate) fn reads_its_count_from_the_device(gpu: &Gpu) {
    let (stream, cuda) = (&gpu.stream, Cuda::new(gpu));
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
        for &strategy in Strategy::ALL {
            let device_count = upload(stream, &[GUARD, count as u32]).unwrap();
            let mut out = upload(stream, &vec![GUARD; capacity]).unwrap();
            let mut selected = upload(stream, &[GUARD]).unwrap();
            cuda.select(strategy)
                .indices(
                    stream,
                    &device_flags.as_view(),
                    Count::Device(device_count.slice(1..)),
                    &mut out.as_view_mut(),
                    &mut selected.as_view_mut(),
                    &mut workspace,
                )
                .unwrap();
            let len = count.min(capacity);
            let out = download(stream, &out).unwrap();
            let selected = download(stream, &selected).unwrap()[0];
            let case = format!("a count of {count} on the device, {strategy}");
            check(
                strategy,
                &all[..len],
                &flags[..len],
                (&out[..len], selected),
                GUARD,
                &case,
            );
            assert!(
                out[len..].iter().all(|&word| word == GUARD),
                "{case}: behind the count"
            );
        }
    }
}

/// All calls are on the stream before the first result is read.
pub(crate) fn uses_a_workspace_over_and_over(gpu: &Gpu) {
    const CALLS: usize = 1000;
    let (stream, cuda) = (&gpu.stream, Cuda::new(gpu));
    let most = 12 * TILE;
    let mut random = Random(6);
    let flags = Mask::Random(30).flags(2 * most, &mut random);
    let device_flags = upload(stream, &flags).unwrap();
    let mut workspace = cuda.workspace(most);
    let mut selected = upload(stream, &vec![GUARD; CALLS]).unwrap();
    let mut calls = Vec::new();
    for call in 0..CALLS {
        // Every fourth call is another strategy's, on the same workspace.
        let strategy = if call % 4 == 3 {
            Strategy::Atomic
        } else {
            Strategy::LookBack
        };
        let magnitude = random.below(12);
        let len = random.below((most >> magnitude) + 1);
        let start = random.below(most);
        let mut out = upload(stream, &vec![GUARD; len]).unwrap();
        cuda.select(strategy)
            .indices(
                stream,
                &device_flags.slice(start..start + len),
                Count::Given(len as u32),
                &mut out.as_view_mut(),
                &mut selected.slice_mut(call..call + 1),
                &mut workspace,
            )
            .unwrap();
        calls.push((strategy, start, len, out));
    }
    let selected = download(stream, &selected).unwrap();
    for (call, (strategy, start, len, out)) in calls.into_iter().enumerate() {
        let out = download(stream, &out).unwrap();
        let all: Vec<u32> = (0..len as u32).collect();
        let case = format!("call {call}, {len} items, {strategy}");
        check(
            strategy,
            &all,
            &flags[start..start + len],
            (&out, selected[call]),
            GUARD,
            &case,
        );
    }
}

/// Indices, and then from these the items, by a count that never leaves the device.
pub(crate) fn replays_a_captured_chain(gpu: &Gpu) {
    let (stream, cuda) = (&gpu.stream, Cuda::new(gpu));
    let len = 20 * TILE + 11;
    let mut random = Random(7);
    for strategy in [Strategy::LookBack, Strategy::Atomic] {
        let select = cuda.select(strategy);
        let mut workspace = cuda.workspace(len);
        let mut first_flags = zeroed::<u8>(stream, len).unwrap();
        let mut second_flags = zeroed::<u8>(stream, len).unwrap();
        let mut queue = zeroed::<u32>(stream, len).unwrap();
        let mut out = zeroed::<u32>(stream, len).unwrap();
        let mut counts = zeroed::<u32>(stream, 2).unwrap();
        let (mut first, mut second) = counts.split_at_mut(1);

        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        stream.begin_capture(mode).unwrap();
        let all = Count::Given(len as u32);
        let flags = first_flags.as_view();
        select
            .indices(
                stream,
                &flags,
                all,
                &mut queue.as_view_mut(),
                &mut first,
                &mut workspace,
            )
            .unwrap();
        let kept = Count::Device(first.as_view());
        let flags = second_flags.as_view();
        let (items, mut out_view) = (queue.as_view(), out.as_view_mut());
        select
            .items(
                stream,
                &items,
                &flags,
                kept,
                &mut out_view,
                &mut second,
                &mut workspace,
            )
            .unwrap();
        let graph = stream
            .end_capture(CUgraphInstantiate_flags(0))
            .unwrap()
            .unwrap();

        for replay in 0..200 {
            let host_first = Mask::Random(random.below(101)).flags(len, &mut random);
            let host_second = Mask::Random(random.below(101)).flags(len, &mut random);
            stream.memcpy_htod(&host_first, &mut first_flags).unwrap();
            stream.memcpy_htod(&host_second, &mut second_flags).unwrap();
            graph.launch().unwrap();
            let queue = download(stream, &queue).unwrap();
            let out = download(stream, &out).unwrap();
            let counts = download(stream, &counts).unwrap();

            let case = format!("replay {replay}, {strategy}");
            let expected = host_first.iter().filter(|&&flag| flag != 0).count();
            assert_eq!(counts[0] as usize, expected, "{case}");
            let queue = &queue[..expected];
            let mut kept = Vec::new();
            for (item, flag) in queue.iter().zip(&host_second) {
                if *flag != 0 {
                    kept.push(*item);
                }
            }
            let mut got = out[..counts[1] as usize].to_vec();
            if strategy == Strategy::Atomic {
                got.sort_unstable();
                kept.sort_unstable();
            }
            assert!(got == kept, "{case}");
        }
    }
}

/// States of the first epoch, left by a large call, must not pass for new ones when the epochs begin again.
pub(crate) fn survives_its_last_epoch(gpu: &Gpu) {
    let (stream, cuda) = (&gpu.stream, Cuda::new(gpu));
    let len = 150 * TILE + 1;
    let all: Vec<u32> = (0..len as u32).collect();
    let mut random = Random(8);
    let mut workspace = cuda.workspace(len);
    for call in 0..12 {
        if call == 3 {
            workspace.age(stream, 4).unwrap();
        }
        // Small calls use the old epochs up; large ones come before and after.
        let len = if (3..7).contains(&call) { 5 } else { len };
        let flags = Mask::Random(10 * call + 5).flags(len, &mut random);
        let device_flags = upload(stream, &flags).unwrap();
        let mut out = upload(stream, &vec![GUARD; len]).unwrap();
        let mut selected = upload(stream, &[GUARD]).unwrap();
        cuda.select(Strategy::LookBack)
            .indices(
                stream,
                &device_flags.as_view(),
                Count::Given(len as u32),
                &mut out.as_view_mut(),
                &mut selected.as_view_mut(),
                &mut workspace,
            )
            .unwrap();
        let out = download(stream, &out).unwrap();
        let selected = download(stream, &selected).unwrap()[0];
        let case = format!("call {call}");
        check(
            Strategy::LookBack,
            &all[..len],
            &flags,
            (&out, selected),
            GUARD,
            &case,
        );
    }
}

pub(crate) fn refuses_what_does_not_fit(gpu: &Gpu) {
    let (stream, cuda) = (&gpu.stream, Cuda::new(gpu));
    let select = cuda.select(Strategy::LookBack);
    let flags = upload(stream, &behind(0, &[1_u8; 8])).unwrap();
    let items = zeroed::<u32>(stream, 7).unwrap();
    let word = zeroed::<u32>(stream, 1).unwrap();
    let mut selected = zeroed::<u32>(stream, 1).unwrap();
    let mut out = zeroed::<u32>(stream, 8).unwrap();
    let mut small = Workspace::with_capacity(stream, 7).unwrap();
    let mut workspace = Workspace::with_capacity(stream, 8).unwrap();
    let mut indices = |count: Count<'_>, room: usize, counts: usize, workspace: &mut Workspace| {
        let (mut out, mut selected) = (out.slice_mut(..room), selected.slice_mut(..counts));
        select.indices(
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
    for count in [Count::Given(8), Count::Device(word.as_view())] {
        let error = indices(count, 7, 1, &mut workspace).unwrap_err();
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
    }
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
    // A given count needs room and workspace for itself alone.
    indices(Count::Given(7), 7, 1, &mut small).unwrap();

    let error = select
        .items(
            stream,
            &items.as_view(),
            &flags.as_view(),
            Count::Given(7),
            &mut out.as_view_mut(),
            &mut selected.as_view_mut(),
            &mut workspace,
        )
        .unwrap_err();
    assert!(
        matches!(
            error,
            Error::LengthMismatch {
                expected: 8,
                got: 7,
                ..
            }
        ),
        "{error}"
    );
}
