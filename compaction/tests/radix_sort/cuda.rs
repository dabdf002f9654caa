//! The sorts on a GPU.

use std::ops::Range;

use compaction::{
    Error,
    cuda::{download, upload, zeroed},
    cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode},
    radix_sort::{Order, RadixSort, Strategy, Workspace},
    select::Count,
};

use crate::{
    Backend, FromBits, TILE, check, common::Gpu, draw, guarded::Guarded, random::Random, sorts_keys,
};

/// A GPU.
pub(crate) struct Cuda<'a> {
    gpu: &'a Gpu,
    /// Every view starts this many items into its buffer.
    start: usize,
}

impl<'a> Cuda<'a> {
    fn new(gpu: &'a Gpu) -> Self {
        Self { gpu, start: 0 }
    }

    fn sort<K: FromBits>(
        &self,
        strategy: Strategy,
        bits: &Range<u32>,
        order: Order,
    ) -> RadixSort<K> {
        // The compiler keeps what it compiled before.
        let sort = RadixSort::new(&self.gpu.compiler, &self.gpu.context, strategy, order).unwrap();
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
        self.sort(strategy, bits, order)
            .keys(
                stream,
                &input.view(),
                Count::Given(len as u32),
                &mut out.view_mut(),
                &mut Workspace::for_keys::<K>(stream, len as u32).unwrap(),
            )
            .unwrap();
        out.read(stream)
    }

    pub(crate) fn pairs<K: FromBits>(
        &self,
        strategy: Strategy,
        keys: &[K],
        values: &[u32],
        bits: &Range<u32>,
        order: Order,
    ) -> (Vec<K>, Vec<u32>) {
        let (stream, len) = (&self.gpu.stream, keys.len());
        let (input, values) = (
            Guarded::new(stream, self.start, keys),
            Guarded::new(stream, self.start, values),
        );
        let mut out = Guarded::<K>::room(stream, self.start, len);
        let mut values_out = Guarded::<u32>::room(stream, self.start, len);
        self.sort(strategy, bits, order)
            .pairs(
                stream,
                &input.view(),
                &values.view(),
                Count::Given(len as u32),
                &mut out.view_mut(),
                &mut values_out.view_mut(),
                &mut Workspace::for_pairs::<K>(stream, len as u32).unwrap(),
            )
            .unwrap();
        (out.read(stream), values_out.read(stream))
    }
}

pub(crate) fn sorts(gpu: &Gpu) {
    super::sorts(&Backend::Cuda(&Cuda::new(gpu)));
}

pub(crate) fn sorts_windows(gpu: &Gpu) {
    super::sorts_windows(&Backend::Cuda(&Cuda::new(gpu)));
}

pub(crate) fn random_cases(gpu: &Gpu) {
    super::random_cases(&Backend::Cuda(&Cuda::new(gpu)), 100);
}

/// More tiles than any GPU runs at once.
pub(crate) fn sorts_many_keys(gpu: &Gpu) {
    let keys = draw::<u32>((1 << 23) + 3, 0, &mut Random(3));
    sorts_keys(
        &Backend::Cuda(&Cuda::new(gpu)),
        &keys,
        0..32,
        Order::Ascending,
    );
}

pub(crate) fn starts_anywhere(gpu: &Gpu) {
    let mut random = Random(4);
    let mut cuda = Cuda::new(gpu);
    for start in [1, 2, 3, 7, 16] {
        cuda.start = start;
        for len in [1, 130, TILE + 1, 5 * TILE + 2] {
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
        }
    }
}

pub(crate) fn counts_on_the_device(gpu: &Gpu) {
    let stream = &gpu.stream;
    let capacity = 3 * TILE + 5;
    let keys = draw::<u32>(capacity, 0, &mut Random(5));
    let input = upload(stream, &keys).unwrap();
    let mut workspace = Workspace::for_keys::<u32>(stream, capacity as u32).unwrap();
    for &strategy in Strategy::ALL {
        let sort =
            RadixSort::<u32>::new(&gpu.compiler, &gpu.context, strategy, Order::Ascending).unwrap();
        for count in [
            0,
            1,
            TILE,
            TILE + 1,
            capacity,
            capacity + 1,
            u32::MAX as usize,
        ] {
            let device_count = upload(stream, &[count as u32]).unwrap();
            let mut out = upload(stream, &vec![7; capacity]).unwrap();
            let (view, count_view) = (input.as_view(), Count::Device(device_count.as_view()));
            sort.keys(
                stream,
                &view,
                count_view,
                &mut out.as_view_mut(),
                &mut workspace,
            )
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

/// All calls are on the stream before the first result is read. Half-way the epochs begin again.
pub(crate) fn over_and_over(gpu: &Gpu) {
    let stream = &gpu.stream;
    let most = 20 * TILE;
    let mut random = Random(6);
    let keys = draw::<u32>(2 * most, 0, &mut random);
    let input = upload(stream, &keys).unwrap();
    let mut workspace = Workspace::for_keys::<u32>(stream, most as u32).unwrap();
    let sorts = Strategy::ALL.iter().map(|&strategy| {
        RadixSort::<u32>::new(&gpu.compiler, &gpu.context, strategy, Order::Ascending).unwrap()
    });
    let sorts: Vec<_> = sorts.collect();
    let mut queued = Vec::new();
    for call in 0..1000 {
        if call == 500 {
            workspace.age(stream, 9).unwrap();
        }
        let magnitude = random.below(12);
        let len = random.below((most >> magnitude) + 1);
        let start = random.below(most);
        let mut out = zeroed::<u32>(stream, len).unwrap();
        // Every eighth call is the other strategy's, on the same workspace.
        let sort = &sorts[usize::from(call % 8 == 7)];
        let (view, count) = (input.slice(start..start + len), Count::Given(len as u32));
        sort.keys(stream, &view, count, &mut out.as_view_mut(), &mut workspace)
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

pub(crate) fn replays(gpu: &Gpu) {
    let stream = &gpu.stream;
    let len = 30 * TILE + 11;
    let mut random = Random(7);
    let mut workspace = Workspace::for_pairs::<u32>(stream, len as u32).unwrap();
    let indices: Vec<u32> = (0..len as u32).collect();
    let values = upload(stream, &indices).unwrap();
    for &strategy in Strategy::ALL {
        let sort =
            RadixSort::<u32>::new(&gpu.compiler, &gpu.context, strategy, Order::Ascending).unwrap();
        sort.prepare_pairs().unwrap();
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
            &keys.as_view(),
            &values.as_view(),
            Count::Given(len as u32),
            &mut out.as_view_mut(),
            &mut values_out.as_view_mut(),
            &mut workspace,
        )
        .unwrap();
        let graph = stream
            .end_capture(CUgraphInstantiate_flags(0))
            .unwrap()
            .unwrap();
        for _ in 0..20 {
            let host_keys = draw::<u32>(len, 1, &mut random);
            stream.memcpy_htod(&host_keys, &mut keys).unwrap();
            graph.launch().unwrap();
            let out = download(stream, &out).unwrap();
            let values_out = download(stream, &values_out).unwrap();
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

pub(crate) fn refuses_what_does_not_fit(gpu: &Gpu) {
    let stream = &gpu.stream;
    let sort = RadixSort::<u32>::new(
        &gpu.compiler,
        &gpu.context,
        Strategy::Onesweep,
        Order::Ascending,
    )
    .unwrap();
    let keys = zeroed::<u32>(stream, 8).unwrap();
    let mut out = zeroed::<u32>(stream, 8).unwrap();
    let mut workspace = Workspace::for_keys::<u32>(stream, 8).unwrap();
    let mut call = |count: u32, room: usize, workspace: &mut Workspace| {
        let (view, mut out) = (keys.as_view(), out.slice_mut(..room));
        sort.keys(stream, &view, Count::Given(count), &mut out, workspace)
    };
    let error = call(9, 8, &mut workspace).unwrap_err();
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
    let error = call(8, 7, &mut workspace).unwrap_err();
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
    let mut small = Workspace::for_keys::<u32>(stream, 7).unwrap();
    let error = call(8, 8, &mut small).unwrap_err();
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
    let mut wide = Workspace::for_keys::<u64>(stream, 8).unwrap();
    let error = call(8, 8, &mut wide).unwrap_err();
    assert!(
        matches!(
            error,
            Error::LengthMismatch {
                expected: 4,
                got: 8,
                ..
            }
        ),
        "{error}"
    );
    let (view, mut values) = (keys.as_view(), zeroed::<u32>(stream, 8).unwrap());
    let (mut out_view, mut values_view) = (out.as_view_mut(), values.as_view_mut());
    let error = sort
        .pairs(
            stream,
            &view,
            &view,
            Count::Given(8),
            &mut out_view,
            &mut values_view,
            &mut workspace,
        )
        .unwrap_err();
    assert!(
        matches!(
            error,
            Error::WorkspaceTooSmall {
                needed: 8,
                got: 0,
                ..
            }
        ),
        "{error}"
    );
    sort.bits(0..33).unwrap_err();
}
