//! Tests that only apply to a GPU: views, counts in device memory, reused workspaces, graphs, long inputs.

use std::sync::Arc;

use compaction::{
    Count, CountWord, Error,
    cuda::{download, reinterpret, uninitialised, upload, zeroed},
    cudarc::driver::{
        CudaSlice, CudaStream, CudaView,
        sys::{CUgraphInstantiate_flags, CUstreamCaptureMode},
    },
    scan::{Operator, Scan, Strategy, Workspace},
};
use rand::RngExt;

use crate::{
    backends::{Backend, Cuda, check_guards, guards},
    cases::{Data, LARGE, Number, assert_same, items, naive},
    common::{Gpu, assert_error, is_short, lengths, times},
    random::{Random, seeded},
};

/// Items of 4 bytes in a tile of block sums, which is half a tile of look-back.
const TILE: usize = 4096;

fn cuda(gpu: &Gpu) -> Cuda<'_> {
    Cuda::new(gpu)
}

pub(crate) fn scans_everything(gpu: &Gpu) {
    super::scans_everything(&Backend::Cuda(&cuda(gpu)));
}

/// Tests the kernel for long inputs with all lengths.
pub(crate) fn look_ahead_scans_everything(gpu: &Gpu) {
    super::scans_everything(&Backend::Cuda(&look_ahead(gpu)));
}

/// Returns look-back with the kernel for long inputs at every length.
fn look_ahead(gpu: &Gpu) -> Cuda<'_> {
    let mut cuda = cuda(gpu);
    cuda.look_ahead_from = Some(0);
    cuda.strategies = &[Strategy::LookBack];
    cuda
}

pub(crate) fn scans_random_cases(gpu: &Gpu) {
    super::scans_random_cases(&Backend::Cuda(&cuda(gpu)));
    super::scans_random_cases(&Backend::Cuda(&look_ahead(gpu)));
}

pub(crate) fn scans_many_items(gpu: &Gpu) {
    super::scans_many_items(&Backend::Cuda(&cuda(gpu)));
}

pub(crate) fn sums_floats_accurately(gpu: &Gpu) {
    super::sums_floats_accurately(&Backend::Cuda(&cuda(gpu)));
}

/// Returns floats whose sums need rounding.
fn uneven<T: Number>(len: usize, make: impl Fn(f64) -> T) -> Vec<T> {
    let mut random = seeded(len as u64);
    (0..len)
        .map(|_| make((random.random::<u64>() as i64 as f64) * 1e-12))
        .collect()
}

pub(crate) fn gives_the_bits_of_the_cpu(gpu: &Gpu) {
    fn all<T: Number>(gpu: &Gpu, make: impl Fn(f64) -> T) {
        for len in lengths([
            1,
            5,
            130,
            TILE / 2 + 3,
            TILE + 7,
            50 * TILE + 1,
            (1 << 22) + 9,
            TILE * TILE + 5,
        ]) {
            let items = uneven(len, &make);
            for inclusive in [false, true] {
                let scan = |backend: &Backend<'_>, strategy| {
                    backend.scan(strategy, Operator::Sum, &items, inclusive)
                };
                let expected = scan(&Backend::Cpu, Strategy::Raking);
                for strategy in [Strategy::BlockSums, Strategy::Raking] {
                    let got = scan(&Backend::Cuda(&cuda(gpu)), strategy);
                    assert_same(&got, &expected, &format!("{len} {}, {strategy}", T::NAME));
                }
            }
        }
    }
    all::<f32>(gpu, |number| number as f32);
    all::<f64>(gpu, |number| number);
}

pub(crate) fn gives_the_same_bits_in_every_run(gpu: &Gpu) {
    let len = if is_short() { 40_000 } else { (1 << 22) + 333 };
    let items = uneven(len, |number| number as f32);
    for &strategy in Strategy::ALL {
        let run = || Backend::Cuda(&cuda(gpu)).scan(strategy, Operator::Sum, &items, true);
        let first = run();
        for _ in 0..times(10) {
            assert_same(&run(), &first, &format!("{strategy}, again"));
        }
    }
}

/// Tests the offsets of CUB's tests, and one for each place in a vector on either side.
pub(crate) fn takes_views_that_start_anywhere(gpu: &Gpu) {
    fn all<T: Number>(mut cuda: Cuda<'_>, random: &mut Random) {
        let starts = [0, 1, 3, 4, 7, 8, 11, 12, 16, random.random_range(0..65)];
        for start in starts.into_iter().take(times(10)) {
            for out_start in [0, 1, 2, 3, start].into_iter().take(times(500)) {
                cuda.starts = (start, out_start);
                for len in [0, 1, 130, TILE, 8192, 8192 + random.random_range(0..64)] {
                    super::scans::<T>(&Backend::Cuda(&cuda), Operator::Sum, len, Data::Random);
                }
            }
        }
    }
    all::<u32>(cuda(gpu), &mut seeded(4));
    all::<f64>(cuda(gpu), &mut seeded(5));
    all::<u32>(look_ahead(gpu), &mut seeded(6));
    all::<f64>(look_ahead(gpu), &mut seeded(7));
}

pub(crate) fn reads_its_count_from_the_device(gpu: &Gpu) {
    reads_its_count::<u32>(&cuda(gpu), 9 * TILE + 5);
    reads_its_count::<u32>(&look_ahead(gpu), 9 * TILE + 5);
    reads_its_count::<u64>(&cuda(gpu), 9 * TILE + 5);
    reads_its_count::<u64>(&look_ahead(gpu), 9 * TILE + 5);
    reads_its_count::<u32>(&cuda(gpu), 0);
    for capacity in lengths([LARGE]) {
        reads_its_count::<u32>(&cuda(gpu), capacity);
    }
}

fn reads_its_count<W: CountWord>(cuda: &Cuda<'_>, capacity: usize) {
    let stream = &cuda.gpu.stream;
    let items = items::<u32>(capacity, Data::Random, &mut seeded(5));
    let device_items = upload(stream, &items).unwrap();
    // Some counts exceed the number of items and must be clamped. The low 32 bits of the last one are 0.
    let counts = [
        0,
        1,
        100,
        TILE,
        TILE + 1,
        capacity.saturating_sub(1),
        capacity,
        capacity + 1,
        u32::MAX as usize,
        1 << 40,
    ];
    let counts = counts.into_iter().filter_map(W::from_len);
    for &strategy in cuda.strategies {
        let scan = cuda.compiled::<u32, W>(Operator::Sum, strategy);
        let mut workspace = Workspace::for_strategy(stream, strategy, capacity).unwrap();
        for word in counts.clone() {
            let count = word.to_len();
            let device_count = upload(stream, &[W::from_len(7).unwrap(), word]).unwrap();
            for inclusive in [false, true] {
                let mut out = upload(stream, &guards::<u32>(capacity)).unwrap();
                let counted = Count::Device(device_count.slice(1..));
                let (view, mut out_view) = (device_items.as_view(), out.as_view_mut());
                let call = if inclusive {
                    Scan::inclusive
                } else {
                    Scan::exclusive
                };
                call(&scan, stream, &view, counted, &mut out_view, &mut workspace).unwrap();
                let out = download(stream, &out).unwrap();
                let len = count.min(capacity);
                let expected = naive(Operator::Sum, &items[..len], inclusive);
                assert_same(
                    &out[..len],
                    &expected,
                    &format!("a count of {count}, {strategy}"),
                );
                check_guards(&out[len..]);
                let report = workspace.check(stream);
                assert_eq!(report.is_err(), count > capacity, "{count} of {capacity}");
                if let Err(error) = report {
                    let given_count = count;
                    assert!(
                        matches!(error, Error::CountTooLarge { count, .. } if count == given_count),
                        "{error}"
                    );
                }
                workspace.check(stream).unwrap();
            }
        }
    }
}

/// Enqueues calls of any length with one workspace and stream, all before the first result is read.
struct Queued<'a, T: Number> {
    stream: &'a Arc<CudaStream>,
    items: Vec<T>,
    /// Offset and output buffer of each call.
    calls: Vec<(usize, CudaSlice<T>)>,
    what: String,
}

impl<'a, T: Number> Queued<'a, T> {
    fn new(
        cuda: &Cuda<'_>,
        stream: &'a Arc<CudaStream>,
        strategy: Strategy,
        calls: usize,
        max_len: usize,
    ) -> Self {
        let mut random = seeded(6);
        let items = items::<T>(2 * max_len, Data::Random, &mut random);
        let device_items = upload(stream, &items).unwrap();
        let scan = cuda.compiled::<T, u32>(Operator::Sum, strategy);
        let mut workspace = Workspace::for_strategy(stream, strategy, max_len).unwrap();
        let call = |_| {
            let magnitude = random.random_range(0..12);
            let len = random.random_range(0..(max_len >> magnitude) + 1);
            let start = random.random_range(0..max_len);
            let mut out = upload(stream, &guards::<T>(len)).unwrap();
            let view = device_items.slice(start..start + len);
            let mut out_view = out.as_view_mut();
            scan.exclusive(stream, &view, Count::All, &mut out_view, &mut workspace)
                .unwrap();
            (start, out)
        };
        Self {
            stream,
            calls: (0..calls).map(call).collect(),
            what: format!("{} by {strategy}", T::NAME),
            items,
        }
    }

    fn check(self) {
        for (call, (start, out)) in self.calls.into_iter().enumerate() {
            let expected = naive(Operator::Sum, &self.items[start..start + out.len()], false);
            let case = format!("call {call}, {} {}", out.len(), self.what);
            assert_same(&download(self.stream, &out).unwrap(), &expected, &case);
        }
    }
}

pub(crate) fn reuses_a_workspace(gpu: &Gpu) {
    let max_len = lengths([600 * TILE, 9 * TILE])[0];
    let (cuda, look_ahead, stream) = (cuda(gpu), look_ahead(gpu), &gpu.stream);
    let look_back = Strategy::LookBack;
    Queued::<u32>::new(
        &cuda,
        stream,
        look_back,
        times(10_000),
        max_len.min(100 * TILE),
    )
    .check();
    Queued::<u32>::new(
        &look_ahead,
        stream,
        look_back,
        times(10_000),
        max_len.min(100 * TILE),
    )
    .check();
    Queued::<u64>::new(&cuda, stream, look_back, times(400), max_len).check();
    Queued::<f64>::new(&look_ahead, stream, look_back, times(400), max_len).check();
    for &strategy in Strategy::ALL {
        Queued::<f32>::new(&cuda, stream, strategy, times(50), max_len).check();
    }
}

/// Checks that persistent blocks which wait for others do not prevent those from running.
pub(crate) fn works_on_two_streams_at_once(gpu: &Gpu) {
    let max_len = lengths([LARGE, 9 * TILE])[0];
    let other = gpu.context.new_stream().unwrap();
    for cuda in [cuda(gpu), look_ahead(gpu)] {
        for &strategy in cuda.strategies {
            let calls = times(100);
            let queue = |stream| Queued::<u32>::new(&cuda, stream, strategy, calls, max_len);
            let queued = [&gpu.stream, &other].map(queue);
            queued.into_iter().for_each(Queued::check);
        }
    }
}

/// Compares with look-back, whose order of additions is the same because the tiles are the same.
pub(crate) fn look_ahead_gives_the_same_bits(gpu: &Gpu) {
    fn all<T: Number>(gpu: &Gpu, make: impl Fn(f64) -> T) {
        for len in lengths([5, 9 * TILE + 5, (1 << 23) + 5]) {
            let items = uneven(len, &make);
            let scan = |cuda: Cuda<'_>| {
                let backend = Backend::Cuda(&cuda);
                backend.scan(Strategy::LookBack, Operator::Sum, &items, true)
            };
            let mut back = cuda(gpu);
            back.look_ahead_from = Some(usize::MAX);
            assert_same(
                &scan(look_ahead(gpu)),
                &scan(back),
                &format!("{len} {}", T::NAME),
            );
        }
    }
    all::<f32>(gpu, |number| number as f32);
    all::<f64>(gpu, |number| number);
}

/// Checks that states of the first epoch, left by a large call, do not count as new when the epochs start again.
pub(crate) fn survives_epoch_wraparound(gpu: &Gpu) {
    survives(&cuda(gpu));
    survives(&look_ahead(gpu));
}

fn survives(cuda: &Cuda<'_>) {
    let stream = &cuda.gpu.stream;
    let scan = cuda.compiled::<u64, u32>(Operator::Sum, Strategy::LookBack);
    let max_len = lengths([600 * TILE, 9 * TILE])[0];
    let mut workspace = Workspace::for_strategy(stream, Strategy::LookBack, max_len).unwrap();
    for call in 0..12 {
        if call == 3 {
            workspace.age(stream, 4).unwrap();
        }
        // Small calls use up the old epochs; large ones come before and after.
        let len = if (3..7).contains(&call) { 5 } else { max_len };
        let items = items::<u64>(len, Data::Random, &mut seeded(call));
        let device_items = upload(stream, &items).unwrap();
        let mut out = zeroed::<u64>(stream, len).unwrap();
        let (view, mut out_view) = (device_items.as_view(), out.as_view_mut());
        scan.inclusive(stream, &view, Count::All, &mut out_view, &mut workspace)
            .unwrap();
        let expected = naive(Operator::Sum, &items, true);
        assert_same(
            &download(stream, &out).unwrap(),
            &expected,
            &format!("call {call}"),
        );
    }
}

pub(crate) fn replays_a_captured_scan(gpu: &Gpu) {
    let len = lengths([20 * TILE + 11, 9 * TILE])[0];
    replays(&cuda(gpu), len);
    replays(&look_ahead(gpu), len);
}

fn replays(cuda: &Cuda<'_>, len: usize) {
    let stream = &cuda.gpu.stream;
    let mut random = seeded(7);
    for &strategy in cuda.strategies {
        let scan = cuda.compiled::<u32, u32>(Operator::Sum, strategy);
        let mut workspace = Workspace::for_strategy(stream, strategy, len).unwrap();
        let mut device_items = zeroed::<u32>(stream, len).unwrap();
        let mut count = zeroed::<u32>(stream, 1).unwrap();
        let mut out = zeroed::<u32>(stream, len).unwrap();

        stream
            .begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
            .unwrap();
        let (view, mut out_view) = (device_items.as_view(), out.as_view_mut());
        let counted = Count::Device(count.as_view());
        scan.exclusive(stream, &view, counted, &mut out_view, &mut workspace)
            .unwrap();
        let graph = stream
            .end_capture(CUgraphInstantiate_flags(0))
            .unwrap()
            .unwrap();

        for replay in 0..times(100) {
            let items = items::<u32>(len, Data::Random, &mut random);
            let len = random.random_range(0..len + 1);
            stream.memcpy_htod(&items, &mut device_items).unwrap();
            stream.memcpy_htod(&[len as u32], &mut count).unwrap();
            graph.launch().unwrap();
            let out = download(stream, &out).unwrap();
            let expected = naive(Operator::Sum, &items[..len], false);
            assert_same(
                &out[..len],
                &expected,
                &format!("replay {replay}, {strategy}"),
            );
        }
    }
}

/// Scans items that are 1 at every 1,024th place and 0 elsewhere, so that a few samples can check the prefixes.
pub(crate) fn scans_past_32_bits(gpu: &Gpu) {
    long::<u32>(gpu, Strategy::ALL, 1);
    long::<u64>(gpu, &[Strategy::LookBack, Strategy::Raking], 1);
    // Float sums are exact up to 2²⁴.
    long::<f32>(gpu, &[Strategy::LookBack, Strategy::BlockSums], 0x3f80_0000);
}

/// Scans more than 2³² items and checks samples; `one` is the bit pattern of 1.
fn long<T: Number>(gpu: &Gpu, strategies: &[Strategy], one: u32) {
    let stream = &gpu.stream;
    let max_len = (1_usize << 32) + 3;
    let mut items = uninitialised::<T>(stream, max_len).unwrap();
    let mut unit = vec![T::ZERO; 1024];
    bytemuck::bytes_of_mut(&mut unit[0])[..4].copy_from_slice(&one.to_le_bytes());
    stream
        .memcpy_htod(&unit, &mut items.slice_mut(..unit.len()))
        .unwrap();
    // The pattern is doubled until it fills the buffer.
    let mut filled = unit.len();
    while filled < max_len {
        let len = filled.min(max_len - filled);
        let (done, mut rest) = items.split_at_mut(filled);
        stream
            .memcpy_dtod(&done.slice(..len), &mut rest.slice_mut(..len))
            .unwrap();
        filled += len;
    }
    let mut out = uninitialised::<T>(stream, max_len).unwrap();
    for &strategy in strategies {
        let scan = cuda(gpu).compiled::<T, u64>(Operator::Sum, strategy);
        let mut workspace = Workspace::for_strategy(stream, strategy, max_len).unwrap();
        for len in [(1 << 31) - 1, 1 << 31, (1 << 31) + 1, max_len] {
            stream.memset_zeros(&mut out).unwrap();
            let (view, mut out_view) = (items.slice(..len), out.slice_mut(..len));
            scan.inclusive(stream, &view, Count::All, &mut out_view, &mut workspace)
                .unwrap();
            let mut random = seeded(len as u64);
            let looks = (0..200).map(|_| random.random_range(0..len));
            for at in looks.chain([0, 1023, 1024, 1 << 30, len - 1]) {
                let got = download(stream, &out.slice(at..at + 1)).unwrap()[0];
                let expected = T::whole(at / 1024 + 1);
                let case = format!("prefix {at} of {len} {} by {strategy}", T::NAME);
                assert_same(&[got], &[expected], &case);
            }
            let behind = download(stream, &out.slice(len..max_len.min(len + 1))).unwrap();
            assert!(
                behind.iter().all(|&item| item == T::ZERO),
                "behind {len}, {strategy}"
            );
        }
    }
}

pub(crate) fn refuses_invalid_arguments(gpu: &Gpu) {
    let stream = &gpu.stream;
    let strategy = Strategy::Raking;
    let scan = cuda(gpu).compiled::<u32, u32>(Operator::Sum, strategy);
    let items = zeroed::<u32>(stream, 8).unwrap();
    let no_word: CudaView<'_, u32> = reinterpret(items.slice(8..)).unwrap();
    let mut out = zeroed::<u32>(stream, 8).unwrap();
    let mut workspace = Workspace::for_strategy(stream, strategy, 8).unwrap();
    let mut call = |count: Count<'_>, room: usize| {
        let mut out = out.slice_mut(..room);
        scan.exclusive(stream, &items, count, &mut out, &mut workspace)
            .unwrap_err()
    };
    let error = call(Count::Given(9), 8);
    assert!(
        matches!(
            error,
            Error::OutOfRange {
                got: 9,
                min: 0,
                max: 8,
                ..
            }
        ),
        "{error}"
    );
    let error = call(Count::Device(no_word), 8);
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
    for count in [Count::All, Count::Given(8), Count::Device(items.slice(..1))] {
        let error = call(count, 7);
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

    // A size that no GPU has.
    let error =
        Workspace::<u32>::for_strategy(stream, Strategy::HillisSteele, 1 << 50).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    assert_eq!(download(stream, &out).unwrap(), [0; 8]);

    let many = zeroed::<u32>(stream, 5 * TILE).unwrap();
    let mut out = zeroed::<u32>(stream, 5 * TILE).unwrap();
    for &strategy in Strategy::ALL {
        let scan = cuda(gpu).compiled::<u32, u32>(Operator::Sum, strategy);
        let mut small = Workspace::for_strategy(stream, strategy, TILE).unwrap();
        let (view, mut out_view) = (many.as_view(), out.as_view_mut());
        assert_error(
            scan.exclusive(stream, &view, Count::All, &mut out_view, &mut small),
            "a workspace for 4096 is used for 20480",
        );
        let mut bytes = 0;
        for items in [0, 1, TILE, TILE + 1, 100 * TILE, 101 * TILE] {
            let workspace = Workspace::<u32>::for_strategy(stream, strategy, items).unwrap();
            assert!(
                workspace.capacity() == items && workspace.bytes() >= bytes,
                "{strategy}, {items}"
            );
            bytes = workspace.bytes();
        }
    }
}
