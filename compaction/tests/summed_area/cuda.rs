//! What only a GPU does: views, a workspace that lives long, graphs.

use compaction::{
    Error,
    cuda::{download, upload, zeroed},
    cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode},
    summed_area::{Strategy, SummedArea, Workspace},
};

use crate::{Backend, Number, Random, common::Gpu, items, naive, uneven};

/// A GPU, and where the views of items and of the output start in their buffers.
struct Cuda<'a>(&'a Gpu, (usize, usize));

const ROOM: usize = 64;

impl Cuda<'_> {
    fn made<T: Number>(&self, strategy: Strategy) -> SummedArea<T> {
        SummedArea::new(&self.0.compiler, &self.0.context, strategy).unwrap()
    }
}

impl Backend for Cuda<'_> {
    fn tables<T: Number>(&self, items: &[T], size: (usize, usize)) -> Vec<(String, Vec<T>)> {
        let Self(Gpu { stream, .. }, (start, out_start)) = *self;
        let guard = T::whole(0xa5a5);
        let device_size = (size.0 as u32, size.1 as u32);
        let table = |&strategy: &Strategy| {
            let mut all = vec![guard; start];
            all.extend_from_slice(items);
            let device_items = upload(stream, &all).unwrap();
            let mut out = upload(stream, &vec![guard; out_start + items.len() + ROOM]).unwrap();
            let mut workspace = Workspace::with_capacity(stream, strategy, device_size).unwrap();
            let mut out_view = out.slice_mut(out_start..);
            let made = self.made::<T>(strategy);
            let view = device_items.slice(start..);
            made.table(stream, &view, device_size, &mut out_view, &mut workspace)
                .unwrap();
            let mut out = download(stream, &out).unwrap();
            let behind = out.split_off(out_start + items.len());
            let table = out.split_off(out_start);
            assert!(
                out.iter().chain(&behind).all(|&item| item == guard),
                "written beside the table"
            );
            (strategy.to_string(), table)
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

pub(crate) fn makes_a_table_of_ones_its_areas(gpu: &Gpu) {
    super::a_table_of_ones_is_its_areas(&Cuda(gpu, (0, 0)));
}

pub(crate) fn gives_the_same_bits_in_every_run(gpu: &Gpu) {
    let (width, height) = (3000, 2500);
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
    for _ in 0..10 {
        assert!(
            Cuda(gpu, (0, 0)).tables(&items, (width, height)) == first,
            "another run, other bits"
        );
    }
}

pub(crate) fn takes_views_that_start_anywhere(gpu: &Gpu) {
    for start in [0, 1, 2, 3, 5, 16] {
        for out_start in [0, 1, 2, 3, 4] {
            for size in [(128, 64), (131, 70), (256, 3)] {
                super::sums_table::<u32>(&Cuda(gpu, (start, out_start)), size);
                super::sums_table::<f64>(&Cuda(gpu, (start, out_start)), size);
            }
        }
    }
}

/// All calls are on the stream before the first result is read.
pub(crate) fn uses_a_workspace_over_and_over(gpu: &Gpu) {
    fn calls<T: Number>(gpu: &Gpu, strategy: Strategy, calls: usize) {
        let stream = &gpu.stream;
        let most = (3000, 700);
        let items = items::<T>(most.0 * most.1, 5);
        let device_items = upload(stream, &items).unwrap();
        let made = Cuda(gpu, (0, 0)).made::<T>(strategy);
        let mut workspace =
            Workspace::with_capacity(stream, strategy, (most.0 as u32, most.1 as u32)).unwrap();
        let mut random = Random(8);
        let mut results = Vec::new();
        for _ in 0..calls {
            let magnitude = (random.below(8), random.below(8));
            let size = (
                random.below(most.0 >> magnitude.0),
                random.below(most.1 >> magnitude.1),
            );
            let len = size.0 * size.1;
            let mut out = zeroed::<T>(stream, len).unwrap();
            let (view, mut out_view) = (device_items.slice(..len), out.as_view_mut());
            let device_size = (size.0 as u32, size.1 as u32);
            made.table(stream, &view, device_size, &mut out_view, &mut workspace)
                .unwrap();
            results.push((size, out));
        }
        for (call, (size, out)) in results.into_iter().enumerate() {
            let expected = naive(&items[..size.0 * size.1], size.0);
            assert!(
                download(stream, &out).unwrap() == expected,
                "call {call}, {size:?} {}, {strategy}",
                T::NAME
            );
        }
    }
    calls::<u32>(gpu, Strategy::SinglePass, 1000);
    calls::<u64>(gpu, Strategy::SinglePass, 200);
    calls::<f32>(gpu, Strategy::ScanTranspose, 50);
}

/// States of the first epoch, left by a large call, must not pass for new ones when the epochs begin again.
pub(crate) fn survives_its_last_epoch(gpu: &Gpu) {
    let stream = &gpu.stream;
    let made = Cuda(gpu, (0, 0)).made::<u64>(Strategy::SinglePass);
    let mut workspace =
        Workspace::with_capacity(stream, Strategy::SinglePass, (3000, 700)).unwrap();
    for call in 0..12 {
        if call == 3 {
            workspace.age(stream, 4).unwrap();
        }
        let size = if (3..7).contains(&call) {
            (5, 2)
        } else {
            (3000, 700)
        };
        let items = items::<u64>(size.0 * size.1, call);
        let device_items = upload(stream, &items).unwrap();
        let mut out = zeroed::<u64>(stream, items.len()).unwrap();
        let (view, mut out_view) = (device_items.as_view(), out.as_view_mut());
        let device_size = (size.0 as u32, size.1 as u32);
        made.table(stream, &view, device_size, &mut out_view, &mut workspace)
            .unwrap();
        assert!(
            download(stream, &out).unwrap() == naive(&items, size.0),
            "call {call}"
        );
    }
}

pub(crate) fn replays_a_captured_table(gpu: &Gpu) {
    let (stream, size) = (&gpu.stream, (1000_u32, 300));
    let len = 300_000;
    for &strategy in Strategy::ALL {
        let made = Cuda(gpu, (0, 0)).made::<u32>(strategy);
        let mut workspace = Workspace::with_capacity(stream, strategy, size).unwrap();
        let mut device_items = zeroed::<u32>(stream, len).unwrap();
        let mut out = zeroed::<u32>(stream, len).unwrap();
        stream
            .begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
            .unwrap();
        let (view, mut out_view) = (device_items.as_view(), out.as_view_mut());
        made.table(stream, &view, size, &mut out_view, &mut workspace)
            .unwrap();
        let graph = stream
            .end_capture(CUgraphInstantiate_flags(0))
            .unwrap()
            .unwrap();
        for replay in 0..50 {
            let items = items::<u32>(len, replay);
            stream.memcpy_htod(&items, &mut device_items).unwrap();
            graph.launch().unwrap();
            assert!(
                download(stream, &out).unwrap() == naive(&items, 1000),
                "replay {replay}, {strategy}"
            );
        }
    }
}

pub(crate) fn refuses_what_does_not_fit(gpu: &Gpu) {
    let stream = &gpu.stream;
    let items = zeroed::<u32>(stream, 128 * 130).unwrap();
    let mut out = zeroed::<u32>(stream, 128 * 130).unwrap();
    for &strategy in Strategy::ALL {
        let made = Cuda(gpu, (0, 0)).made::<u32>(strategy);
        let mut workspace = Workspace::with_capacity(stream, strategy, (128, 64)).unwrap();
        let mut call = |size, len: usize, room: usize| {
            let mut out = out.slice_mut(..room);
            made.table(stream, &items.slice(..len), size, &mut out, &mut workspace)
        };
        let error = call((128, 64), 100, 128 * 64).unwrap_err();
        assert!(
            matches!(
                error,
                Error::LengthMismatch {
                    expected: 8192,
                    got: 100,
                    ..
                }
            ),
            "{error}"
        );
        let error = call((10, 10), 100, 99).unwrap_err();
        assert!(
            matches!(
                error,
                Error::OutputTooShort {
                    needed: 100,
                    got: 99,
                    ..
                }
            ),
            "{error}"
        );
        let error = call((128, 130), 128 * 130, 128 * 130).unwrap_err();
        assert!(
            matches!(
                error,
                Error::WorkspaceTooSmall {
                    needed: 16640,
                    got: 8192,
                    ..
                }
            ),
            "{error}"
        );
        call((128, 64), 8192, 8192).unwrap();
    }
}
