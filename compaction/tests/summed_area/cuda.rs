//! Tests that only apply to a GPU: views, reused workspaces, graphs.

use std::sync::Arc;

use compaction::{
    Error,
    cuda::{download, uninitialised, upload, zeroed},
    cudarc::driver::{
        CudaStream,
        sys::{CUgraphInstantiate_flags, CUstreamCaptureMode},
    },
    summed_area::{Strategy, SummedArea, Workspace},
};
use rand::RngExt;

use crate::{
    Backend, Number, assert_table,
    common::{Gpu, assert_error, is_short, times},
    guarded::Guarded,
    items, naive,
    random::seeded,
    uneven,
};

/// A GPU, and the offsets of the views of input and output in their buffers, in items.
struct Cuda<'a>(&'a Gpu, (usize, usize));

impl Cuda<'_> {
    fn compiled<T: Number>(&self, strategy: Strategy) -> SummedArea<T> {
        SummedArea::new(&self.0.compiler, &self.0.context, strategy).unwrap()
    }
}

impl Backend for Cuda<'_> {
    fn tables<T: Number>(&self, items: &[T], size: (usize, usize)) -> Vec<(String, Vec<T>)> {
        let Self(Gpu { stream, .. }, (start, out_start)) = *self;
        let device_size = (size.0 as u32, size.1 as u32);
        let table = |&strategy: &Strategy| {
            let device_items = Guarded::new(stream, start, items);
            let mut out = Guarded::<T>::room(stream, out_start, items.len());
            let mut workspace = Workspace::for_strategy(stream, strategy, device_size).unwrap();
            let (view, mut out_view) = (device_items.view(), out.view_mut());
            self.compiled::<T>(strategy)
                .table(stream, &view, device_size, &mut out_view, &mut workspace)
                .unwrap();
            (strategy.to_string(), out.read(stream))
        };
        Strategy::ALL.iter().map(table).collect()
    }
}

pub(crate) fn sums_every_table(gpu: &Gpu) {
    super::sums_every_table(&Cuda(gpu, (0, 0)));
}

pub(crate) fn sums_large_tables(gpu: &Gpu) {
    super::sums_large_tables(&Cuda(gpu, (0, 0)));
}

pub(crate) fn sums_random_tables(gpu: &Gpu) {
    super::sums_random_tables(&Cuda(gpu, (0, 0)));
}

pub(crate) fn sums_ones_to_areas(gpu: &Gpu) {
    super::sums_ones_to_areas(&Cuda(gpu, (0, 0)));
}

pub(crate) fn gives_the_same_bits_in_every_run(gpu: &Gpu) {
    let (width, height) = if is_short() { (300, 130) } else { (3000, 2500) };
    let items = uneven(width * height);
    let wide: Vec<f64> = items.iter().map(|&item| f64::from(item)).collect();
    let positive: Vec<f64> = wide.iter().map(|item| item.abs()).collect();
    let (expected, magnitude) = (naive(&wide, width), naive(&positive, width));
    let first = Cuda(gpu, (0, 0)).tables(&items, (width, height));
    for (strategy, got) in &first {
        for ((&got, expected), magnitude) in got.iter().zip(&expected).zip(&magnitude) {
            let error = (f64::from(got) - expected).abs();
            assert!(
                error <= 100.0 * f64::from(f32::EPSILON) * magnitude,
                "{strategy}: {got}, {expected}"
            );
        }
    }
    for _ in 0..times(10) {
        assert!(
            Cuda(gpu, (0, 0)).tables(&items, (width, height)) == first,
            "the bits differ between runs"
        );
    }
}

pub(crate) fn takes_views_that_start_anywhere(gpu: &Gpu) {
    for start in [0, 1, 2, 3, 5, 16] {
        for out_start in [0, 1, 2, 3, 4].into_iter().take(times(500)) {
            for size in [(128, 64), (131, 70), (256, 3)] {
                super::sums_table::<u32>(&Cuda(gpu, (start, out_start)), size);
                super::sums_table::<f64>(&Cuda(gpu, (start, out_start)), size);
            }
        }
    }
}

/// Enqueues tables of many sizes with one workspace and stream, all before the first is read.
fn queue<T: Number>(
    gpu: &Gpu,
    stream: &Arc<CudaStream>,
    strategy: Strategy,
    calls: usize,
    max_size: (usize, usize),
) -> impl FnOnce() {
    let items = items::<T>(max_size.0 * max_size.1, 5);
    let device_items = upload(stream, &items).unwrap();
    let compiled = Cuda(gpu, (0, 0)).compiled::<T>(strategy);
    let mut workspace =
        Workspace::for_strategy(stream, strategy, (max_size.0 as u32, max_size.1 as u32)).unwrap();
    let mut random = seeded(8);
    let mut results = Vec::new();
    for _ in 0..calls {
        let magnitude = (random.random_range(0..8), random.random_range(0..8));
        let size = (
            random.random_range(0..max_size.0 >> magnitude.0),
            random.random_range(0..max_size.1 >> magnitude.1),
        );
        let len = size.0 * size.1;
        let mut out = zeroed::<T>(stream, len).unwrap();
        let (view, mut out_view) = (device_items.slice(..len), out.as_view_mut());
        let device_size = (size.0 as u32, size.1 as u32);
        compiled
            .table(stream, &view, device_size, &mut out_view, &mut workspace)
            .unwrap();
        results.push((size, out));
    }
    let stream = stream.clone();
    move || {
        for (call, (size, out)) in results.into_iter().enumerate() {
            let case = format!("call {call}, {strategy}");
            let expected = naive(&items[..size.0 * size.1], size.0);
            assert_table(&case, size, &download(&stream, &out).unwrap(), &expected);
        }
    }
}

/// Maximum size (width, height) of the tables in the queue.
const MAX: (usize, usize) = (3000, 700);

pub(crate) fn reuses_a_workspace(gpu: &Gpu) {
    let stream = &gpu.stream;
    queue::<u32>(gpu, stream, Strategy::SinglePass, times(10_000), (700, 300))();
    queue::<u32>(gpu, stream, Strategy::SinglePass, times(1000), MAX)();
    queue::<u64>(gpu, stream, Strategy::SinglePass, times(200), MAX)();
    queue::<f32>(gpu, stream, Strategy::ScanTranspose, times(50), MAX)();
}

/// Checks that blocks which wait for others do not prevent those from running.
pub(crate) fn works_on_two_streams_at_once(gpu: &Gpu) {
    let other = gpu.context.new_stream().unwrap();
    for &strategy in Strategy::ALL {
        let streams = [&gpu.stream, &other];
        let queued = streams.map(|stream| queue::<u32>(gpu, stream, strategy, times(200), MAX));
        queued.into_iter().for_each(|check| check());
    }
}

/// Sums a table of ones, which is filled by doubling copies, and compares places with their areas.
pub(crate) fn sums_a_table_past_32_bits(gpu: &Gpu) {
    let stream = &gpu.stream;
    for (width, height) in [
        (65_537_u32, 65_539_u32),
        (3, 1_431_655_767),
        (2_147_483_646, 3),
    ] {
        let len = width as usize * height as usize;
        let mut items = uninitialised::<u32>(stream, len).unwrap();
        stream
            .memcpy_htod(&[1; 1024], &mut items.slice_mut(..1024))
            .unwrap();
        let mut filled = 1024;
        while filled < len {
            let more = filled.min(len - filled);
            let (done, mut rest) = items.split_at_mut(filled);
            stream
                .memcpy_dtod(&done.slice(..more), &mut rest.slice_mut(..more))
                .unwrap();
            filled += more;
        }
        let mut out = uninitialised::<u32>(stream, len).unwrap();
        // For a narrow table, scan-transpose has more blocks than a test has time for.
        let strategies = if width > 3 && height > 3 {
            Strategy::ALL
        } else {
            &[Strategy::SinglePass]
        };
        for &strategy in strategies {
            stream.memset_zeros(&mut out).unwrap();
            let compiled = Cuda(gpu, (0, 0)).compiled::<u32>(strategy);
            let mut workspace = Workspace::for_strategy(stream, strategy, (width, height)).unwrap();
            let (view, mut out_view) = (items.as_view(), out.as_view_mut());
            compiled
                .table(
                    stream,
                    &view,
                    (width, height),
                    &mut out_view,
                    &mut workspace,
                )
                .unwrap();
            let mut random = seeded(len as u64);
            let looks = (0..200).map(|_| random.random_range(0..len));
            for at in looks.chain([0, len / 2, len - 1]) {
                let got = download(stream, &out.slice(at..at + 1)).unwrap()[0];
                let (x, y) = (at % width as usize + 1, at / width as usize + 1);
                assert_eq!(
                    got,
                    (x * y) as u32,
                    "({x}, {y}) of {width} × {height}, {strategy}"
                );
            }
        }
    }
}

/// Checks that states of the first epoch, left by a large call, do not count as new when the epochs start again.
pub(crate) fn survives_epoch_wraparound(gpu: &Gpu) {
    let stream = &gpu.stream;
    let compiled = Cuda(gpu, (0, 0)).compiled::<u64>(Strategy::SinglePass);
    let max_size = if is_short() { (300, 130) } else { (3000, 700) };
    let device_max_size = (max_size.0 as u32, max_size.1 as u32);
    let mut workspace =
        Workspace::for_strategy(stream, Strategy::SinglePass, device_max_size).unwrap();
    for call in 0..12 {
        if call == 3 {
            workspace.age(stream, 4).unwrap();
        }
        let size = if (3..7).contains(&call) {
            (5, 2)
        } else {
            max_size
        };
        let items = items::<u64>(size.0 * size.1, call);
        let device_items = upload(stream, &items).unwrap();
        let mut out = zeroed::<u64>(stream, items.len()).unwrap();
        let (view, mut out_view) = (device_items.as_view(), out.as_view_mut());
        let device_size = (size.0 as u32, size.1 as u32);
        compiled
            .table(stream, &view, device_size, &mut out_view, &mut workspace)
            .unwrap();
        assert!(
            download(stream, &out).unwrap() == naive(&items, size.0),
            "call {call}"
        );
    }
}

pub(crate) fn replays_a_captured_table(gpu: &Gpu) {
    let (stream, height) = (&gpu.stream, if is_short() { 30 } else { 300 });
    let (size, len) = ((1000_u32, height), 1000 * height as usize);
    for &strategy in Strategy::ALL {
        let compiled = Cuda(gpu, (0, 0)).compiled::<u32>(strategy);
        let mut workspace = Workspace::for_strategy(stream, strategy, size).unwrap();
        let mut device_items = zeroed::<u32>(stream, len).unwrap();
        let mut out = zeroed::<u32>(stream, len).unwrap();
        stream
            .begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
            .unwrap();
        let (view, mut out_view) = (device_items.as_view(), out.as_view_mut());
        compiled
            .table(stream, &view, size, &mut out_view, &mut workspace)
            .unwrap();
        let graph = stream
            .end_capture(CUgraphInstantiate_flags(0))
            .unwrap()
            .unwrap();
        for replay in 0..times(50) {
            let items = items::<u32>(len, replay as u64);
            stream.memcpy_htod(&items, &mut device_items).unwrap();
            graph.launch().unwrap();
            assert!(
                download(stream, &out).unwrap() == naive(&items, 1000),
                "replay {replay}, {strategy}"
            );
        }
    }
}

pub(crate) fn refuses_invalid_arguments(gpu: &Gpu) {
    let stream = &gpu.stream;
    let items = zeroed::<u32>(stream, 128 * 130).unwrap();
    let mut out = zeroed::<u32>(stream, 128 * 130).unwrap();
    for &strategy in Strategy::ALL {
        let compiled = Cuda(gpu, (0, 0)).compiled::<u32>(strategy);
        let mut workspace = Workspace::for_strategy(stream, strategy, (128, 64)).unwrap();
        let mut call = |size, len: usize, room: usize| {
            let mut out = out.slice_mut(..room);
            compiled.table(stream, items.slice(..len), size, &mut out, &mut workspace)
        };
        assert_error(call((128, 64), 100, 128 * 64), "100 instead of 8192");
        assert_error(
            call((10, 10), 100, 99),
            "room for 99 items where up to 100 may",
        );
        let error = call((128, 130), 128 * 130, 128 * 130).unwrap_err();
        assert!(
            matches!(
                error,
                Error::WorkspaceTooSmall { needed, got, .. } if needed > got
            ),
            "{error}"
        );
        call((128, 64), 8192, 8192).unwrap();
        let error =
            Workspace::<f64>::for_strategy(stream, strategy, (1 << 31, 1 << 30)).unwrap_err();
        assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    }
}
