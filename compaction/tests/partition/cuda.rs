//! Tests that only apply to a GPU: views, counts in device memory, reused workspaces, graphs.

use std::sync::Arc;

use compaction::{
    Count, CountWord,
    cuda::{Compiler, download, upload, zeroed},
    cudarc::driver::{CudaContext, CudaSlice, CudaStream},
    partition::{Classes, Partition, Workspace},
};
use rand::RngExt;

use crate::{
    CLASS_TILE, Keys, TILE, all,
    backends::{Backend, Cuda},
    check, check_classes,
    common::{Gpu, assert_error, is_short, lengths, times},
    devices::capture,
    item_types::{Bytes7, Words3, Words16},
    partitions_classes, partitions_indices, partitions_items,
    random::{Mask, Random, seeded},
    some,
};

/// Value of words that a call must not write.
const GUARD: u32 = 0xdead_beef;

pub(crate) fn puts_selected_first(gpu: &Gpu) {
    super::puts_selected_first(&Backend::Cuda(&Cuda::new(gpu)));
}

pub(crate) fn groups_by_class(gpu: &Gpu) {
    super::groups_by_class(&Backend::Cuda(&Cuda::new(gpu)));
}

pub(crate) fn writes_words_of_every_width(gpu: &Gpu) {
    super::writes_words_of_every_width(&Backend::Cuda(&Cuda::new(gpu)));
}

pub(crate) fn partitions_into_three(gpu: &Gpu) {
    super::partitions_into_three(&Backend::Cuda(&Cuda::new(gpu)));
}

pub(crate) fn partitions_in_random_cases(gpu: &Gpu) {
    super::random_cases(&Backend::Cuda(&Cuda::new(gpu)), 400);
}

/// Tests the offsets of CUB's alignment tests, and others.
pub(crate) fn takes_views_that_start_anywhere(gpu: &Gpu) {
    let mut random = seeded(4);
    let mut cuda = Cuda::new(gpu);
    let lens = [
        0,
        1,
        3,
        130,
        TILE - 1,
        TILE + 1,
        CLASS_TILE + 1,
        5 * TILE + 2,
    ];
    for (turn, start) in [1, 2, 3, 4, 7, 8, 11, 12, 16, 33].into_iter().enumerate() {
        cuda.start = start;
        for len in some(&lens, turn) {
            let flags = Mask::Random(50).flags(len, &mut random);
            let backend = Backend::Cuda(&cuda);
            partitions_indices::<u32, u32>(&backend, &flags);
            partitions_indices::<u64, u64>(&backend, &flags);
            partitions_items::<u32, u32>(&backend, &flags);
            partitions_items::<u8, u32>(&backend, &flags);
            partitions_items::<Bytes7, u32>(&backend, &flags);
            partitions_items::<Words3, u64>(&backend, &flags);
            partitions_items::<Words16, u32>(&backend, &flags);
            let keys = Keys::Uniform.draw(len, &mut random);
            partitions_classes::<u32, u32>(&backend, 256, &keys);
            partitions_classes::<u64, u32>(&backend, 256, &keys);
        }
    }
}

/// Checks that a device count larger than the buffer is clamped, and reported once.
pub(crate) fn reads_its_count_from_the_device(gpu: &Gpu) {
    let counts = [0, 1, 100, TILE, TILE + 1, CAPACITY - 1, CAPACITY];
    let too_many = [CAPACITY + 1, u32::MAX as usize];
    counted_by::<u32>(gpu, counts.into_iter().chain(too_many));
    counted_by::<u64>(gpu, counts.into_iter().chain(too_many).chain([1 << 33]));
}

/// Number of items of the buffers in [`counted_by`].
const CAPACITY: usize = 9 * TILE + 5;

/// Partitions with each of these counts in device memory.
fn counted_by<W: CountWord>(gpu: &Gpu, counts: impl Iterator<Item = usize>) {
    let (stream, cuda) = (&gpu.stream, Cuda::new(gpu));
    let classes = Classes::new(&gpu.compiler, &gpu.context, 256).unwrap();
    let flags = Mask::Random(50).flags(CAPACITY, &mut seeded(5));
    let device_flags = upload(stream, &flags).unwrap();
    let mut workspace = cuda.workspace(CAPACITY);
    for count in counts {
        let case = format!("a count of {count} on the device in {}", W::NAME);
        let expected_error = format!("says {count} items, but there were {CAPACITY}");
        let len = count.min(CAPACITY);
        let words = [W::zeroed(), W::from_len(count).unwrap()];
        let device_count = upload(stream, &words).unwrap();
        let device_count = || Count::Device(device_count.slice(1..));

        let mut out = upload(stream, &vec![GUARD; CAPACITY]).unwrap();
        let mut selected = zeroed::<W>(stream, 1).unwrap();
        cuda.partition
            .indices(
                stream,
                &device_flags,
                device_count(),
                &mut out,
                &mut selected,
                &mut workspace,
            )
            .unwrap();
        if count > len {
            assert_error(workspace.read(stream, &selected), &expected_error);
        }
        let selected = workspace.read(stream, &selected).unwrap();
        let got = download(stream, &out).unwrap();
        check(
            &case,
            &all::<u32>(len),
            &flags[..len],
            (&got[..len], selected),
        );
        let behind = |word: &u32| *word == GUARD;
        assert!(got[len..].iter().all(behind), "{case}: behind the count");

        let mut out = upload(stream, &vec![GUARD; CAPACITY]).unwrap();
        let mut starts = zeroed::<W>(stream, 257).unwrap();
        classes
            .indices(
                stream,
                &device_flags,
                device_count(),
                &mut out,
                &mut starts,
                &mut workspace,
            )
            .unwrap();
        if count > len {
            assert_error(workspace.read_starts(stream, &starts), &expected_error);
        }
        let starts = workspace.read_starts(stream, &starts).unwrap();
        let got = download(stream, &out).unwrap();
        check_classes(&case, 256, &flags[..len], &got[..len], &starts);
        assert!(got[len..].iter().all(behind), "{case}: behind the count");
    }
}

/// A call whose result is checked later.
struct Call {
    start: usize,
    len: usize,
    by_class: bool,
    out: CudaSlice<u32>,
    counts: CudaSlice<u32>,
}

/// Enqueues calls of both kinds and many lengths with one workspace.
fn queue(
    gpu: &Gpu,
    stream: &Arc<CudaStream>,
    flags: &[u8],
    calls: usize,
    random: &mut Random,
) -> Vec<Call> {
    let cuda = Cuda::new(gpu);
    let classes = Classes::new(&gpu.compiler, &gpu.context, 256).unwrap();
    let max_len = flags.len() / 2;
    let mut workspace = Workspace::with_capacity(stream, max_len).unwrap();
    let flags = upload(stream, flags).unwrap();
    let mut queued = Vec::new();
    for call in 0..calls {
        let magnitude = random.random_range(0..12);
        let len = random.random_range(0..(max_len >> magnitude) + 1);
        let start = random.random_range(0..max_len);
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

/// Checks the results of enqueued calls.
fn check_queued(stream: &Arc<CudaStream>, flags: &[u8], queued: Vec<Call>) {
    for (index, call) in queued.into_iter().enumerate() {
        let case = format!("call {index}, {} items", call.len);
        let out = download(stream, &call.out).unwrap();
        let counts = download(stream, &call.counts).unwrap();
        let flags = &flags[call.start..call.start + call.len];
        if call.by_class {
            check_classes(&case, 256, flags, &out, &counts);
        } else {
            check(
                &case,
                &all::<u32>(call.len),
                flags,
                (&out, counts[0] as usize),
            );
        }
    }
}

/// Enqueues calls long before their results are read.
pub(crate) fn reuses_a_workspace(gpu: &Gpu) {
    let mut random = seeded(6);
    let tiles = if is_short() { 4 } else { 40 };
    let flags = Mask::Random(30).flags(tiles * TILE, &mut random);
    let queued = queue(gpu, &gpu.stream, &flags, times(10_000), &mut random);
    check_queued(&gpu.stream, &flags, queued);
}

/// Checks that blocks which wait for others do not prevent those from running.
pub(crate) fn runs_on_two_streams_at_once(gpu: &Gpu) {
    let items = lengths([2 << 20]).pop().unwrap_or(8 * TILE);
    let flags = Mask::Random(30).flags(items, &mut seeded(7));
    let streams = [gpu.stream.clone(), gpu.context.new_stream().unwrap()];
    std::thread::scope(|scope| {
        for (seed, stream) in (70..).zip(&streams) {
            let flags = &flags;
            scope.spawn(move || {
                let queued = queue(gpu, stream, flags, times(400), &mut seeded(seed));
                check_queued(stream, flags, queued);
            });
        }
    });
}

/// Partitions the selected items by class with a count that never leaves the device, then again with 64-bit words.
pub(crate) fn replays_a_captured_chain(gpu: &Gpu) {
    let (stream, cuda) = (&gpu.stream, Cuda::new(gpu));
    let classes = Classes::new(&gpu.compiler, &gpu.context, 20).unwrap();
    let len = lengths([60 * TILE + 11]).pop().unwrap_or(6 * TILE + 11);
    let mut random = seeded(8);
    let mut workspace = cuda.workspace(len);
    let mut flags = zeroed::<u8>(stream, len).unwrap();
    let mut keys = zeroed::<u8>(stream, len).unwrap();
    let mut first = zeroed::<u32>(stream, len).unwrap();
    let mut second = zeroed::<u32>(stream, len).unwrap();
    let mut wide = zeroed::<u64>(stream, len).unwrap();
    let mut selected = zeroed::<u32>(stream, 1).unwrap();
    let mut starts = zeroed::<u32>(stream, 21).unwrap();
    let mut wide_selected = zeroed::<u64>(stream, 1).unwrap();
    let mut wide_starts = zeroed::<u64>(stream, 21).unwrap();
    let graph = capture(stream, || {
        let (flags, keys) = (flags.as_view(), keys.as_view());
        let (mut out, mut count) = (first.as_view_mut(), selected.as_view_mut());
        cuda.partition
            .indices(
                stream,
                &flags,
                Count::All,
                &mut out,
                &mut count,
                &mut workspace,
            )
            .unwrap();
        let count = || Count::Device(selected.as_view());
        let (mut out, mut starts_out) = (second.as_view_mut(), starts.as_view_mut());
        classes
            .indices(
                stream,
                &keys,
                count(),
                &mut out,
                &mut starts_out,
                &mut workspace,
            )
            .unwrap();
        let (mut out, mut count) = (wide.as_view_mut(), wide_selected.as_view_mut());
        cuda.partition
            .indices(
                stream,
                &flags,
                Count::All,
                &mut out,
                &mut count,
                &mut workspace,
            )
            .unwrap();
        let count = Count::Device(wide_selected.as_view());
        let (mut out, mut starts_out) = (wide.as_view_mut(), wide_starts.as_view_mut());
        classes
            .indices(
                stream,
                &keys,
                count,
                &mut out,
                &mut starts_out,
                &mut workspace,
            )
            .unwrap();
    });
    for replay in 0..times(50) {
        let case = format!("replay {replay}");
        let host_flags = Mask::Random(random.random_range(0..101)).flags(len, &mut random);
        let host_keys = Keys::Uniform.draw(len, &mut random);
        stream.memcpy_htod(&host_flags, &mut flags).unwrap();
        stream.memcpy_htod(&host_keys, &mut keys).unwrap();
        graph.launch().unwrap();
        let count = download(stream, &selected).unwrap()[0] as usize;
        let indices = download(stream, &first).unwrap();
        check(&case, &all::<u32>(len), &host_flags, (&indices, count));
        let keys = &host_keys[..count];
        let indices = download(stream, &second).unwrap();
        let starts_out = download(stream, &starts).unwrap();
        check_classes(&case, 20, keys, &indices[..count], &starts_out);
        let indices = download(stream, &wide).unwrap();
        let starts_out = download(stream, &wide_starts).unwrap();
        check_classes(&case, 20, keys, &indices[..count], &starts_out);
    }
}

/// Checks that states of the first epoch, left by a large call, do not count as new when the epochs start again.
pub(crate) fn survives_epoch_wraparound(gpu: &Gpu) {
    let (stream, cuda) = (&gpu.stream, Cuda::new(gpu));
    let classes = Classes::new(&gpu.compiler, &gpu.context, 256).unwrap();
    let len = lengths([150 * CLASS_TILE + 1])
        .pop()
        .unwrap_or(4 * CLASS_TILE + 1);
    let mut random = seeded(9);
    let mut workspace = cuda.workspace(len);
    for call in 0..12 {
        if call == 3 {
            workspace.age(stream, 4).unwrap();
        }
        // Small calls use up the old epochs; large ones come before and after.
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
        let selected = download(stream, &counts).unwrap()[0] as usize;
        check(
            &case,
            &all::<u32>(len),
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

pub(crate) fn refuses_invalid_arguments(gpu: &Gpu) {
    let (stream, cuda) = (&gpu.stream, Cuda::new(gpu));
    let flags = upload(stream, &[1_u8; 8]).unwrap();
    let word = zeroed::<u32>(stream, 1).unwrap();
    let mut selected = upload(stream, &[GUARD]).unwrap();
    let mut out = upload(stream, &[GUARD; 8]).unwrap();
    let (mut small, mut workspace) = (cuda.workspace(7), cuda.workspace(8));
    let mut indices = |count: Count<'_>, room: usize, counts: usize, workspace: &mut Workspace| {
        let (mut out, mut selected) = (out.slice_mut(..room), selected.slice_mut(..counts));
        cuda.partition
            .indices(stream, &flags, count, &mut out, &mut selected, workspace)
    };
    assert_error(
        indices(Count::Given(9), 8, 1, &mut workspace),
        "the count given to partition: 9, where 0 to 8 are possible",
    );
    assert_error(
        indices(Count::Device(word.slice(1..)), 8, 1, &mut workspace),
        "the words of the count that partition reads: 0 instead of 1",
    );
    assert_error(
        indices(Count::Given(8), 7, 1, &mut workspace),
        "the output of partition: room for 7 items where up to 8 may be written; make it longer",
    );
    assert_error(
        indices(Count::Given(8), 8, 0, &mut workspace),
        "the words of the count that partition writes: room for 0 items where up to 1 may be written; make it longer",
    );
    assert_error(
        indices(Count::Device(word.as_view()), 8, 1, &mut small),
        "the items of partition: a workspace for 7 is used for 8",
    );
    assert_eq!(download(stream, &out).unwrap(), [GUARD; 8]);
    assert_eq!(download(stream, &selected).unwrap(), [GUARD]);

    let classes = Classes::new(&gpu.compiler, &gpu.context, 4).unwrap();
    let mut starts = zeroed::<u32>(stream, 4).unwrap();
    assert_error(
        classes.indices(
            stream,
            &flags,
            Count::Given(8),
            &mut out,
            &mut starts,
            &mut workspace,
        ),
        "the starts of partition: room for 4 items where up to 5 may be written; make it longer",
    );
    let items = zeroed::<u64>(stream, 7).unwrap();
    let mut items_out = zeroed::<u64>(stream, 8).unwrap();
    assert_error(
        cuda.partition.items(
            stream,
            &items,
            &flags,
            Count::Given(7),
            &mut items_out,
            &mut selected,
            &mut workspace,
        ),
        "the items of partition: 7 instead of 8",
    );
    // Tools that watch the driver would report the rejected call.
    if !is_short() {
        for items in [1 << 60, usize::MAX] {
            assert_error(Workspace::with_capacity(stream, items), "the GPU has no");
        }
    }
}

pub(crate) fn refuses_another_device([here, there]: &[Arc<CudaContext>; 2]) {
    let streams = [here.new_stream().unwrap(), there.new_stream().unwrap()];
    let stream = &streams[0];
    let partition = Partition::new(&Compiler::new(), here).unwrap();
    let mut elsewhere = Workspace::with_capacity(&streams[1], 8).unwrap();
    let flags = upload(stream, &[1_u8; 8]).unwrap();
    let mut out = upload(stream, &[GUARD; 8]).unwrap();
    let mut selected = zeroed::<u32>(stream, 1).unwrap();
    assert_error(
        partition.indices(
            stream,
            &flags,
            Count::All,
            &mut out,
            &mut selected,
            &mut elsewhere,
        ),
        "the workspace of partition: in another CUDA context than the stream of the call",
    );
    assert_eq!(download(stream, &out).unwrap(), [GUARD; 8]);
}
