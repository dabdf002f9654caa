//! Tests of the radix sort on a GPU.

use std::{ops::Range, sync::Arc};

use compaction::{
    Count, CountWord, Error,
    cuda::{self, download, upload, zeroed},
    cudarc::driver::{
        CudaSlice, CudaStream,
        sys::{CUgraphInstantiate_flags, CUstreamCaptureMode},
    },
    radix_sort::{Order, RadixSort, Strategy, Workspace},
};
use rand::RngExt;

use crate::{
    Backend, FromBits, TILE, check,
    common::{Gpu, is_short, lengths, times},
    draw,
    guarded::Guarded,
    random::seeded,
    sorts_keys,
};

/// A GPU with its compiled kernels.
pub(crate) struct Cuda<'a> {
    gpu: &'a Gpu,
    /// Number of items before every view in its buffer.
    start: usize,
}

impl<'a> Cuda<'a> {
    fn new(gpu: &'a Gpu) -> Self {
        Self { gpu, start: 0 }
    }

    fn sort<K: FromBits>(
        &self,
        order: Order,
        strategy: Strategy,
        bits: &Range<u32>,
    ) -> RadixSort<K> {
        // The compiler caches what it has compiled.
        let sort = RadixSort::new(&self.gpu.compiler, &self.gpu.context, order, strategy).unwrap();
        sort.bits(bits.clone()).unwrap()
    }

    pub(crate) fn keys<K: FromBits>(
        &self,
        strategy: Strategy,
        keys: &[K],
        bits: &Range<u32>,
        order: Order,
    ) -> Vec<K> {
        let (stream, len) = (&self.gpu.stream, keys.len());
        let input = Guarded::new(stream, self.start, keys);
        let mut out = Guarded::<K>::room(stream, self.start, len);
        self.sort(order, strategy, bits)
            .keys(
                stream,
                input.view(),
                Count::Given(len as u32),
                out.view_mut(),
                &mut Workspace::<K>::with_capacity(stream, len).unwrap(),
            )
            .unwrap();
        out.read(stream)
    }

    /// Sorts keys and values; the values are indices.
    pub(crate) fn pairs<K: FromBits, V: CountWord>(
        &self,
        strategy: Strategy,
        keys: &[K],
        values: &[V],
        bits: &Range<u32>,
        order: Order,
    ) -> (Vec<K>, Vec<usize>) {
        let (stream, len) = (&self.gpu.stream, keys.len());
        let (input, values) = (
            Guarded::new(stream, self.start, keys),
            Guarded::new(stream, self.start, values),
        );
        let mut out = Guarded::<K>::room(stream, self.start, len);
        let mut values_out = Guarded::<V>::room(stream, self.start, len);
        self.sort(order, strategy, bits)
            .pairs(
                stream,
                input.view(),
                values.view(),
                Count::Given(len as u32),
                out.view_mut(),
                values_out.view_mut(),
                &mut Workspace::<K, V>::with_capacity(stream, len).unwrap(),
            )
            .unwrap();
        let values = values_out.read(stream);
        let indices = values.into_iter().map(CountWord::to_len).collect();
        (out.read(stream), indices)
    }
}

pub(crate) fn sorts(gpu: &Gpu) {
    super::sorts(&Backend::Cuda(&Cuda::new(gpu)));
}

pub(crate) fn sorts_windows_of_bits(gpu: &Gpu) {
    super::sorts_windows(&Backend::Cuda(&Cuda::new(gpu)));
}

pub(crate) fn sorts_in_random_cases(gpu: &Gpu) {
    super::random_cases(&Backend::Cuda(&Cuda::new(gpu)), 300);
}

/// Sorts more tiles than any GPU runs at once.
pub(crate) fn sorts_many_keys(gpu: &Gpu) {
    let len = if is_short() { 40_000 } else { (1 << 23) + 3 };
    let keys = draw::<u32>(len, 0, &mut seeded(3));
    sorts_keys(
        &Backend::Cuda(&Cuda::new(gpu)),
        &keys,
        0..32,
        Order::Ascending,
    );
}

pub(crate) fn takes_views_that_start_anywhere(gpu: &Gpu) {
    let mut random = seeded(4);
    let mut cuda = Cuda::new(gpu);
    let starts: &[usize] = if is_short() { &[1] } else { &[1, 2, 3, 7, 16] };
    for &start in starts {
        cuda.start = start;
        for len in lengths([1, 130, TILE + 1, 5 * TILE + 2]) {
            let backend = Backend::Cuda(&cuda);
            sorts_keys::<u32>(
                &backend,
                &draw(len, 0, &mut random),
                0..32,
                Order::Ascending,
            );
            sorts_keys::<u64>(
                &backend,
                &draw(len, 0, &mut random),
                0..64,
                Order::Ascending,
            );
            sorts_keys::<u8>(&backend, &draw(len, 0, &mut random), 0..8, Order::Ascending);
        }
    }
}

pub(crate) fn reads_its_count_from_the_device(gpu: &Gpu) {
    counts_by::<u32>(gpu);
    counts_by::<u64>(gpu);
}

fn counts_by<W: CountWord>(gpu: &Gpu) {
    let stream = &gpu.stream;
    let capacity = 3 * TILE + 5;
    let keys = draw::<u32>(capacity, 0, &mut seeded(5));
    let input = upload(stream, &keys).unwrap();
    let mut workspace = Workspace::<u32>::with_capacity(stream, capacity).unwrap();
    for &strategy in Strategy::ALL {
        let sort =
            RadixSort::<u32, W>::new(&gpu.compiler, &gpu.context, Order::Ascending, strategy)
                .unwrap();
        for count in [
            0,
            1,
            TILE,
            TILE + 1,
            capacity,
            capacity + 1,
            u32::MAX as usize,
            1 << 40, // whose low bits are 0
        ] {
            let Some(word) = W::from_len(count) else {
                continue;
            };
            let device_count = upload(stream, &[word]).unwrap();
            let mut out = upload(stream, &vec![7; capacity]).unwrap();
            let (view, count_view) = (input.as_view(), Count::Device(device_count.as_view()));
            sort.keys(stream, &view, count_view, &mut out, &mut workspace)
                .unwrap();
            let out = download(stream, &out).unwrap();
            let len = count.min(capacity);
            check(
                strategy.name(),
                &keys[..len],
                &(0..32),
                Order::Ascending,
                &out[..len],
                None,
            );
            assert!(
                out[len..].iter().all(|&key| key == 7),
                "behind a count of {count}"
            );
        }
    }
}

/// Sorts keys once alone, and once with their indices.
pub(crate) fn reports_a_count_that_is_too_large(gpu: &Gpu) {
    let stream = &gpu.stream;
    let input = upload(stream, &[3_u32, 1, 2]).unwrap();
    for &strategy in Strategy::ALL {
        let sort =
            RadixSort::<u32>::new(&gpu.compiler, &gpu.context, Order::Ascending, strategy).unwrap();
        let mut workspace = Workspace::<u32>::with_capacity(stream, 3).unwrap();
        for (given_count, is_too_much) in [(3_u32, false), (4, true), (u32::MAX, true), (2, false)]
        {
            let count = upload(stream, &[given_count]).unwrap();
            let mut out = zeroed::<u32>(stream, 3).unwrap();
            let (view, count) = (input.as_view(), Count::Device(count.as_view()));
            sort.keys(stream, &view, count, &mut out, &mut workspace)
                .unwrap();
            match workspace.check(stream) {
                Err(Error::CountTooLarge {
                    what: "radix_sort",
                    count,
                    capacity: 3,
                }) => assert!(is_too_much && count == given_count as usize),
                checked => assert!(
                    !is_too_much && checked.is_ok(),
                    "{given_count}: {checked:?}"
                ),
            }
            workspace.check(stream).unwrap();
        }
    }
}

/// Enqueues all calls before the first result is read. Half-way, the epochs start again.
pub(crate) fn reuses_a_workspace(gpu: &Gpu) {
    let stream = &gpu.stream;
    let max_len = if is_short() { TILE } else { 8 * TILE };
    let calls = times(10_000);
    let mut random = seeded(6);
    let keys = draw::<u32>(2 * max_len, 0, &mut random);
    let input = upload(stream, &keys).unwrap();
    let mut workspace = Workspace::<u32>::with_capacity(stream, max_len).unwrap();
    let sorts = Strategy::ALL.iter().map(|&strategy| {
        RadixSort::<u32>::new(&gpu.compiler, &gpu.context, Order::Ascending, strategy).unwrap()
    });
    let sorts: Vec<_> = sorts.collect();
    let mut queued = Vec::new();
    for call in 0..calls {
        if call == calls / 2 {
            workspace.age(stream, 9).unwrap();
        }
        let magnitude = random.random_range(0..12);
        let len = random.random_range(0..(max_len >> magnitude) + 1);
        let start = random.random_range(0..max_len);
        let mut out = zeroed::<u32>(stream, len).unwrap();
        // Every eighth call uses the other strategy with the same workspace.
        let sort = &sorts[usize::from(call % 8 == 7)];
        let (view, count) = (input.slice(start..start + len), Count::Given(len as u32));
        sort.keys(stream, &view, count, &mut out, &mut workspace)
            .unwrap();
        queued.push((start..start + len, out));
    }
    for (range, out) in queued {
        let out = download(stream, &out).unwrap();
        check(
            "queued",
            &keys[range],
            &(0..32),
            Order::Ascending,
            &out,
            None,
        );
    }
}

/// Sorts on two streams, each with its own workspace.
pub(crate) fn sorts_on_two_streams_at_once(gpu: &Gpu) {
    let streams = [gpu.stream.clone(), gpu.context.new_stream().unwrap()];
    let max_len = if is_short() { TILE } else { 30 * TILE };
    let mut random = seeded(8);
    let keys = draw::<u32>(2 * max_len, 0, &mut random);
    let indices: Vec<u32> = (0..2 * max_len as u32).collect();
    let sort = RadixSort::<u32>::new(
        &gpu.compiler,
        &gpu.context,
        Order::Descending,
        Strategy::Onesweep,
    )
    .unwrap();
    let mut sides = streams.map(|stream| {
        let keys = upload(&stream, &keys).unwrap();
        let values = upload(&stream, &indices).unwrap();
        let workspace = Workspace::<u32, u32>::with_capacity(&stream, max_len).unwrap();
        (stream, keys, values, workspace)
    });
    let mut queued = Vec::new();
    for _ in 0..times(300) {
        for (stream, keys, values, workspace) in &mut sides {
            let len = random.random_range(0..max_len + 1);
            let start = random.random_range(0..max_len);
            let range = start..start + len;
            let mut out = zeroed::<u32>(stream, len).unwrap();
            let mut values_out = zeroed::<u32>(stream, len).unwrap();
            sort.pairs(
                stream,
                keys.slice(range.clone()),
                values.slice(..len),
                Count::All,
                &mut out,
                &mut values_out,
                workspace,
            )
            .unwrap();
            queued.push((stream.clone(), range, out, values_out));
        }
    }
    for (stream, range, out, values_out) in queued {
        let out = download(&stream, &out).unwrap();
        check(
            "two streams",
            &keys[range],
            &(0..32),
            Order::Descending,
            &out,
            Some(&to_indices(&stream, &values_out)),
        );
    }
}

fn to_indices(stream: &Arc<CudaStream>, values: &CudaSlice<u32>) -> Vec<usize> {
    let values = download(stream, values).unwrap();
    values.into_iter().map(|value| value as usize).collect()
}

pub(crate) fn replays_a_captured_sort(gpu: &Gpu) {
    let stream = &gpu.stream;
    let len = if is_short() {
        TILE + 11
    } else {
        30 * TILE + 11
    };
    let mut random = seeded(7);
    let mut workspace = Workspace::<u32, u32>::with_capacity(stream, len).unwrap();
    let indices: Vec<u32> = (0..len as u32).collect();
    let values = upload(stream, &indices).unwrap();
    for &strategy in Strategy::ALL {
        let sort =
            RadixSort::<u32>::new(&gpu.compiler, &gpu.context, Order::Ascending, strategy).unwrap();
        sort.prepare_pairs::<u32>().unwrap();
        let mut keys = zeroed::<u32>(stream, len).unwrap();
        let (mut out, mut values_out) = (
            zeroed::<u32>(stream, len).unwrap(),
            zeroed::<u32>(stream, len).unwrap(),
        );
        stream
            .begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED)
            .unwrap();
        sort.pairs(
            stream,
            &keys,
            &values,
            Count::Given(len as u32),
            &mut out,
            &mut values_out,
            &mut workspace,
        )
        .unwrap();
        let graph = stream
            .end_capture(CUgraphInstantiate_flags(0))
            .unwrap()
            .unwrap();
        for _ in 0..if is_short() { 2 } else { 20 } {
            let host_keys = draw::<u32>(len, 1, &mut random);
            stream.memcpy_htod(&host_keys, &mut keys).unwrap();
            graph.launch().unwrap();
            let out = download(stream, &out).unwrap();
            let values_out = to_indices(stream, &values_out);
            check(
                "replay",
                &host_keys,
                &(0..32),
                Order::Ascending,
                &out,
                Some(&values_out),
            );
        }
    }
}

compaction::shared! {
    /// A value of 8 bytes aligned to 4.
    struct Halves {
        words: [u32; 2],
    }
}

/// Checks that invalid arguments are errors that name the object, and leave the output unchanged.
pub(crate) fn refuses_invalid_arguments(gpu: &Gpu) {
    let stream = &gpu.stream;
    let sort = RadixSort::<u32>::new(
        &gpu.compiler,
        &gpu.context,
        Order::Ascending,
        Strategy::Onesweep,
    )
    .unwrap();
    let keys = zeroed::<u32>(stream, 8).unwrap();
    let mut out = upload(stream, &[7_u32; 8]).unwrap();
    let mut workspace = Workspace::<u32>::with_capacity(stream, 8).unwrap();
    let mut keys_alone = |count: Count<'_>, room: usize, workspace: &mut Workspace<u32>| {
        let mut out = out.slice_mut(..room);
        let error = sort.keys(stream, &keys, count, &mut out, workspace);
        error.unwrap_err().to_string()
    };
    assert_eq!(
        keys_alone(Count::Given(9), 8, &mut workspace),
        "the count given to radix_sort: 9, where 0 to 8 are possible"
    );
    assert_eq!(
        keys_alone(Count::Device(keys.slice(..0)), 8, &mut workspace),
        "the words of the count that radix_sort reads: 0 instead of 1"
    );
    assert_eq!(
        keys_alone(Count::All, 7, &mut workspace),
        "the output of radix_sort: room for 7 items where up to 8 may be written; make it longer"
    );
    let mut small = Workspace::<u32>::with_capacity(stream, 7).unwrap();
    assert_eq!(
        keys_alone(Count::All, 8, &mut small),
        "the keys of radix_sort: a workspace for 7 is used for 8; make one for as many"
    );
    let mut values_out = upload(stream, &[7_u32; 8]).unwrap();
    let mut workspace = Workspace::<u32, u32>::with_capacity(stream, 8).unwrap();
    let mut pairs = |values: usize, room: usize| {
        let error = sort.pairs(
            stream,
            &keys,
            keys.slice(..values),
            Count::All,
            &mut out,
            values_out.slice_mut(..room),
            &mut workspace,
        );
        error.unwrap_err().to_string()
    };
    assert_eq!(pairs(7, 8), "the values of radix_sort: 7 instead of 8");
    assert_eq!(
        pairs(8, 7),
        "the output of radix_sort: room for 7 items where up to 8 may be written; make it longer"
    );
    assert_eq!(download(stream, &out).unwrap(), [7; 8]);
    assert_eq!(download(stream, &values_out).unwrap(), [7; 8]);

    // 8-byte values that begin at the fourth byte.
    let words = zeroed::<u32>(stream, 3).unwrap();
    let odd = cuda::reinterpret::<u32, Halves>(words.slice(1..)).unwrap();
    let mut halves_out = zeroed::<Halves>(stream, 1).unwrap();
    let mut workspace = Workspace::<u32, Halves>::with_capacity(stream, 1).unwrap();
    let error = sort.pairs(
        stream,
        keys.slice(..1),
        &odd,
        Count::All,
        out.slice_mut(..1),
        &mut halves_out,
        &mut workspace,
    );
    assert!(matches!(error, Err(Error::Reinterpret { bytes: 8, .. })));

    sort.bits(0..33).unwrap_err();
    assert!(matches!(
        Workspace::<u64, u64>::with_capacity(stream, usize::MAX),
        Err(Error::OutOfMemory { .. })
    ));
}
