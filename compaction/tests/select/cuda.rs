//! Tests that only apply to a GPU: views, counts in device memory, reused workspaces, graphs.

use std::fmt::Debug;

use bytemuck::Pod;
use compaction::{
    Count, Error,
    cuda::{download, upload, zeroed},
    cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode},
    select::{Select, Strategy, TILE_ITEMS, Workspace},
};
use rand::RngExt;

use crate::{
    Eight, Three,
    backends::{Backend, Cuda},
    cases::check,
    common::{Gpu, assert_error, is_short, lengths, times},
    portions::reads_a_count,
    random::{Mask, seeded},
    selects_in_place, selects_indices, selects_items, sizes,
};

const TILE: usize = TILE_ITEMS as usize;
/// Value of words that a call must not write.
const GUARD: u32 = 0xdead_beef;

pub(crate) fn keeps_flagged_items(gpu: &Gpu) {
    super::keeps_flagged_items(&Backend::Cuda(&Cuda::new(gpu)));
}

pub(crate) fn keeps_many_items(gpu: &Gpu) {
    super::keeps_many_items(&Backend::Cuda(&Cuda::new(gpu)));
}

pub(crate) fn takes_views_that_start_anywhere(gpu: &Gpu) {
    let mut random = seeded(4);
    let mut cuda = Cuda::new(gpu);
    for start in [1, 2, 3, 4, 5, 7, 8, 11, 12, 15, 16, 33] {
        (cuda.start, cuda.shift) = (start, start % 17);
        for len in lengths([0, 1, 3, 130, TILE - 1, TILE, TILE + 1, 5 * TILE + 2]) {
            for mask in [Mask::All, Mask::Random(50)] {
                let flags = mask.flags(len, &mut random);
                let backend = Backend::Cuda(&cuda);
                selects_indices::<u32>(&backend, &flags, mask);
                selects_items::<u32>(&backend, &flags, mask);
                selects_items::<Three>(&backend, &flags, mask);
                selects_items::<Eight>(&backend, &flags, mask);
                selects_items::<u8>(&backend, &flags, mask);
                selects_items::<sizes::Bytes16>(&backend, &flags, mask);
                selects_in_place::<sizes::Bytes6>(&backend, &flags, mask);
            }
        }
    }
}

pub(crate) fn reads_its_count_from_the_device(gpu: &Gpu) {
    let capacity = 9 * TILE + 5;
    // The last two counts exceed the number of flags and must be clamped.
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
    let cuda = Cuda::new(gpu);
    for count in counts {
        reads_a_count::<u32>(&cuda, capacity, count);
    }
}

/// Enqueues all calls before the first result is read.
pub(crate) fn reuses_a_workspace(gpu: &Gpu) {
    let calls_made = times(10_000);
    let (stream, cuda) = (&gpu.stream, Cuda::new(gpu));
    let max_len = 6 * TILE;
    let mut random = seeded(6);
    let flags = Mask::Random(30).flags(2 * max_len, &mut random);
    let device_flags = upload(stream, &flags).unwrap();
    let mut workspace = cuda.workspace(max_len);
    let mut selected = upload(stream, &vec![GUARD; calls_made]).unwrap();
    let mut calls = Vec::new();
    for call in 0..calls_made {
        // Every other call uses another strategy with the same workspace.
        let strategy = match call % 2 {
            0 => Strategy::LookBack,
            _ => Strategy::ALL[call / 2 % Strategy::ALL.len()],
        };
        let magnitude = random.random_range(0..12);
        let len = random.random_range(0..(max_len >> magnitude) + 1);
        let start = random.random_range(0..max_len);
        let mut out = upload(stream, &vec![GUARD; len]).unwrap();
        cuda.select(strategy)
            .indices(
                stream,
                device_flags.slice(start..start + len),
                Count::Given(len as u32),
                &mut out,
                selected.slice_mut(call..call + 1),
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
            (&out, selected[call] as usize),
            GUARD,
            &case,
        );
    }
}

/// Selects indices and then items by these indices, with a count that never leaves the device.
pub(crate) fn replays_a_captured_chain(gpu: &Gpu) {
    let (stream, cuda) = (&gpu.stream, Cuda::new(gpu));
    let len = if is_short() {
        4 * TILE + 1
    } else {
        20 * TILE + 11
    };
    let mut random = seeded(7);
    for &strategy in Strategy::ALL.iter().filter(|&&each| each != Strategy::Off) {
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
            .indices(stream, &flags, all, &mut queue, &mut first, &mut workspace)
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

        for replay in 0..if is_short() { 3 } else { 60 } {
            let host_first = Mask::Random(random.random_range(0..101)).flags(len, &mut random);
            let host_second = Mask::Random(random.random_range(0..101)).flags(len, &mut random);
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
            if !strategy.keeps_order() {
                got.sort_unstable();
                kept.sort_unstable();
            }
            assert!(got == kept, "{case}");
        }
    }
}

/// Checks that states of the first epoch, left by a large call, do not count as new when the epochs start again.
pub(crate) fn survives_epoch_wraparound(gpu: &Gpu) {
    let (stream, cuda) = (&gpu.stream, Cuda::new(gpu));
    let len = if is_short() {
        4 * TILE + 1
    } else {
        150 * TILE + 1
    };
    let all: Vec<u32> = (0..len as u32).collect();
    let mut random = seeded(8);
    let mut workspace = cuda.workspace(len);
    for call in 0..12 {
        if call == 3 {
            workspace.age(stream, 4).unwrap();
        }
        // Small calls use up the old epochs; large ones come before and after.
        let len = if (3..7).contains(&call) { 5 } else { len };
        let flags = Mask::Random(10 * call + 5).flags(len, &mut random);
        let device_flags = upload(stream, &flags).unwrap();
        let mut out = upload(stream, &vec![GUARD; len]).unwrap();
        let mut selected = upload(stream, &[GUARD]).unwrap();
        cuda.select(Strategy::LookBack)
            .indices(
                stream,
                &device_flags,
                Count::Given(len as u32),
                &mut out,
                &mut selected,
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
            (&out, selected as usize),
            GUARD,
            &case,
        );
    }
}

pub(crate) fn refuses_invalid_arguments(gpu: &Gpu) {
    let (stream, cuda) = (&gpu.stream, Cuda::new(gpu));
    let select = cuda.select(Strategy::LookBack);
    let flags = upload(stream, &[1_u8; 8]).unwrap();
    let items = zeroed::<u32>(stream, 7).unwrap();
    let word = zeroed::<u32>(stream, 1).unwrap();
    let mut selected = zeroed::<u32>(stream, 1).unwrap();
    let mut out = zeroed::<u32>(stream, 8).unwrap();
    let mut small = Workspace::with_capacity(stream, 7).unwrap();
    let mut workspace = Workspace::with_capacity(stream, 8).unwrap();
    let mut indices = |count: Count<'_>, room: usize, counts: usize, workspace: &mut Workspace| {
        let (mut out, mut selected) = (out.slice_mut(..room), selected.slice_mut(..counts));
        select.indices(stream, &flags, count, &mut out, &mut selected, workspace)
    };

    assert_error(
        indices(Count::Given(9), 8, 1, &mut workspace),
        "9, where 0 to 8 are possible",
    );
    assert_error(
        indices(Count::Device(word.slice(1..)), 8, 1, &mut workspace),
        "0 instead of 1",
    );
    assert_error(
        indices(Count::Given(8), 8, 0, &mut workspace),
        "room for 0 items where up to 1 may",
    );
    assert_error(
        indices(Count::Device(word.as_view()), 8, 1, &mut small),
        "a workspace for 7 is used for 8",
    );
    let error = Workspace::for_strategy(stream, Strategy::HoleFilling, usize::MAX).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    // A host count needs output and workspace only for that many items.
    indices(Count::Given(7), 7, 1, &mut small).unwrap();
    // `sequences` counts at least 16 sequences however few the items are: 64 bytes.
    for (made_for, count, is_enough) in [
        (Strategy::LookBack, 0, false),
        (Strategy::CountScanScatter, 0, false),
        (Strategy::CountScanScatter, 8, false),
        (Strategy::ScanScatter, 8, true),
    ] {
        let result = cuda.select(Strategy::Sequences).indices(
            stream,
            &flags,
            Count::Given(count),
            &mut out,
            &mut selected,
            &mut Workspace::for_strategy(stream, made_for, 2048).unwrap(),
        );
        let is_refused = matches!(result, Err(Error::WorkspaceTooSmall { got: 0, .. }));
        assert!(
            is_refused != is_enough,
            "{made_for} for {count}: {result:?}"
        );
    }

    assert_error(
        select.items(
            stream,
            &items,
            &flags,
            Count::Given(7),
            &mut out,
            &mut selected,
            &mut workspace,
        ),
        "7 instead of 8",
    );
}

pub(crate) fn keeps_in_place(gpu: &Gpu) {
    let mut cuda = Cuda::new(gpu);
    super::keeps_in_place(&Backend::Cuda(&cuda));
    cuda.start = 3;
    selects_in_place::<u32>(
        &Backend::Cuda(&cuda),
        &Mask::Random(70).flags(5 * TILE + 7, &mut seeded(12)),
        Mask::Random(70),
    );
    for strategy in [Strategy::Atomic, Strategy::Sequences] {
        let error = cuda
            .select(strategy)
            .prepare_in_place::<u32, u32>()
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(strategy.name()) && error.contains("in place"),
            "{error}"
        );
    }
}

pub(crate) fn keeps_flagged_items_in_random_cases(gpu: &Gpu) {
    let mut cuda = Cuda::new(gpu);
    for seed in (1000..).take(times(400)) {
        let mut random = seeded(seed);
        let magnitude = random.random_range(0..if is_short() { 15 } else { 20 });
        let len = random.random_range(0..2 << magnitude);
        let mask = match random.random_range(0..3) {
            0 => Mask::Blocks,
            _ => Mask::Random(random.random_range(0..101)),
        };
        (cuda.start, cuda.shift) = (random.random_range(0..40), random.random_range(0..17));
        cuda.portion_tiles = [None, Some(1), Some(3), Some(100)][random.random_range(0..4)];
        let flags = mask.flags(len, &mut random);
        let backend = Backend::Cuda(&cuda);
        match random.random_range(0..8) {
            0 => selects_indices::<u32>(&backend, &flags, mask),
            1 => selects_indices::<u64>(&backend, &flags, mask),
            2 => selects_items::<f32>(&backend, &flags, mask),
            3 => selects_items::<Three>(&backend, &flags, mask),
            4 => selects_items::<sizes::Bytes7>(&backend, &flags, mask),
            5 => selects_in_place::<u64>(&backend, &flags, mask),
            6 => selects_in_place::<sizes::Bytes16>(&backend, &flags, mask),
            _ => selects_items::<u64>(&backend, &flags, mask),
        }
    }
}

/// Checks that a count that is too large is clamped, and that only the next read reports it.
pub(crate) fn reports_a_count_that_is_too_large(gpu: &Gpu) {
    let (stream, cuda) = (&gpu.stream, Cuda::new(gpu));
    let flags = upload(stream, &[1_u8; 5]).unwrap();
    let counts = upload(stream, &[9_u32, 5]).unwrap();
    let mut out = zeroed::<u32>(stream, 5).unwrap();
    let mut selected = zeroed::<u32>(stream, 1).unwrap();
    for &strategy in Strategy::ALL {
        let mut workspace = cuda.workspace(5);
        let mut select = |count: usize, workspace: &mut Workspace| {
            let count = Count::Device(counts.slice(count..count + 1));
            let (mut out, mut selected_view) = (out.as_view_mut(), selected.as_view_mut());
            cuda.select(strategy)
                .indices(
                    stream,
                    &flags,
                    count,
                    &mut out,
                    &mut selected_view,
                    workspace,
                )
                .unwrap();
            workspace.read(stream, &selected)
        };
        assert_eq!(select(1, &mut workspace).unwrap(), 5, "{strategy}");
        assert_error(select(0, &mut workspace), "says 9 items, but there were 5");
        assert_eq!(workspace.read(stream, &selected).unwrap(), 5, "{strategy}");
    }
}

/// Runs two streams with their own workspaces and host threads, both with more blocks than the GPU runs at once.
pub(crate) fn works_on_two_streams_at_once(gpu: &Gpu) {
    let len = if is_short() { 40_000 } else { 1 << 22 };
    std::thread::scope(|scope| {
        for seed in [21, 22] {
            let stream = gpu.context.new_stream().unwrap();
            scope.spawn(move || {
                let own = Gpu {
                    context: gpu.context.clone(),
                    stream,
                    compiler: gpu.compiler.clone(),
                };
                calls_over_and_over(&own, len, seed);
            });
        }
    });
}

fn calls_over_and_over(gpu: &Gpu, len: usize, seed: u64) {
    let calls_made = times(10_000);
    let (stream, cuda) = (&gpu.stream, Cuda::new(gpu));
    let flags = Mask::Random(40).flags(len, &mut seeded(seed));
    let expected = flags.iter().filter(|&&flag| flag != 0).count() as u32;
    let device_flags = upload(stream, &flags).unwrap();
    let mut workspace = cuda.workspace(len);
    let mut out = upload(stream, &vec![GUARD; len]).unwrap();
    let mut selected = upload(stream, &vec![GUARD; calls_made]).unwrap();
    for call in 0..calls_made {
        cuda.select(Strategy::LookBack)
            .indices(
                stream,
                &device_flags,
                Count::Given(len as u32),
                &mut out,
                selected.slice_mut(call..call + 1),
                &mut workspace,
            )
            .unwrap();
    }
    let selected = download(stream, &selected).unwrap();
    assert!(selected.iter().all(|&count| count == expected));
    let all: Vec<u32> = (0..len as u32).collect();
    let out = download(stream, &out).unwrap();
    let case = format!("stream {seed}");
    check(
        Strategy::LookBack,
        &all,
        &flags,
        (&out, expected as usize),
        GUARD,
        &case,
    );
}

/// Tests buffers passed by reference, flags of `bool`, and item types that CUDA has no name for.
pub(crate) fn takes_flags_of_bool_and_items_of_any_plain_type(gpu: &Gpu) {
    fn keeps<T: Pod + PartialEq + Debug>(gpu: &Gpu, item: impl Fn(u8) -> T) {
        let stream = &gpu.stream;
        let select = Select::new(&gpu.compiler, &gpu.context, Strategy::LookBack).unwrap();
        let mut workspace = Workspace::with_capacity(stream, 100).unwrap();
        let host_flags: Vec<bool> = (0..100).map(|index| index % 3 == 1).collect();
        let host_items: Vec<T> = (0..100).map(item).collect();
        let flags = stream.clone_htod(&host_flags).unwrap();
        let items = upload(stream, &host_items).unwrap();
        let mut out = zeroed::<T>(stream, 100).unwrap();
        let mut count = zeroed::<u32>(stream, 1).unwrap();
        let all = Count::All;
        select
            .items(
                stream,
                &items,
                &flags,
                all,
                &mut out,
                &mut count,
                &mut workspace,
            )
            .unwrap();
        let kept = workspace.read(stream, &count).unwrap();
        let pairs = host_items.iter().zip(&host_flags);
        let expected: Vec<T> = pairs
            .filter_map(|(&item, &flag)| flag.then_some(item))
            .collect();
        assert_eq!(download(stream, &out.slice(..kept)).unwrap(), expected);
    }
    keeps(gpu, |index| [f32::from(index), 0.5, -1.0]);
    keeps(gpu, u128::from);
    keeps(gpu, half::f16::from);
}
