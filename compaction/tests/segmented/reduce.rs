//! Tests of `segmented_reduce`.

use std::sync::Arc;

use compaction::{
    Count, CountWord,
    cuda::{Nvrtc, download, upload, zeroed},
    layout::Shared,
    segmented_reduce::{Item, Operator, SegmentedReduce, Workspace, cpu},
};
use rand::RngExt;

use crate::{
    Case, cases,
    common::{Gpu, Share, assert_error, is_short},
    devices::capture,
    guarded::Guarded,
    random::{Random, seeded},
    spills,
};

/// Returns random items: any bits for integers, and numbers of several magnitudes, zeros and few NaNs for floats.
trait Draw: Item {
    fn draw(random: &mut Random) -> Self;
    fn bits(self) -> u64;
}
macro_rules! integers {
    ($($integer:ident),+) => {$(
        impl Draw for $integer {
            fn draw(random: &mut Random) -> Self {
                random.random::<u64>() as $integer
            }
            fn bits(self) -> u64 {
                self as u64
            }
        }
    )+};
}
integers!(u32, i32, u64, i64);
macro_rules! floats {
    ($($float:ident),+) => {$(
        impl Draw for $float {
            fn draw(random: &mut Random) -> Self {
                let value = random.random::<$float>() - 0.5;
                match random.random_range(0..2000) {
                    0 => $float::NAN,
                    1 => $float::INFINITY,
                    2..100 => -0.0,
                    100..200 => value * 1e9,
                    _ => value,
                }
            }
            fn bits(self) -> u64 {
                if self.is_nan() { u64::MAX } else { u64::from(self.to_bits()) }
            }
        }
    )+};
}
floats!(f32, f64);

fn draw<T: Draw>(len: usize, random: &mut Random) -> Vec<T> {
    (0..len).map(|_| T::draw(random)).collect()
}

#[track_caller]
fn assert_same<T: Draw>(got: &[T], expected: &[T], case: &str) {
    let wrong = (got.iter().zip(expected)).position(|(got, want)| got.bits() != want.bits());
    assert!(
        wrong.is_none() && got.len() == expected.len(),
        "{case}: segment {wrong:?} is wrong"
    );
}

fn on_the_cpu<T: Item>(operator: Operator, items: &[T], offsets: &[u32]) -> Vec<T> {
    let mut out = vec![T::zeroed(); offsets.len().saturating_sub(1)];
    cpu::by_offsets(operator, items, offsets, &mut out).unwrap();
    out
}

/// Adds in the order that the module documents, written independently of it.
fn documented_sum(items: &[f32]) -> f32 {
    let of_chunk = |items: &[f32]| {
        let mut sums: Vec<f32> = (0..32)
            .map(|lane| items.iter().skip(lane).step_by(32).fold(0.0, |a, b| a + b))
            .collect();
        while sums.len() > 1 {
            sums = sums.chunks(2).map(|pair| pair[0] + pair[1]).collect();
        }
        sums[0]
    };
    if items.len() <= 1024 {
        return of_chunk(items);
    }
    documented_sum(&items.chunks(1024).map(of_chunk).collect::<Vec<_>>())
}

pub(crate) fn adds_in_the_documented_order() {
    let mut random = seeded(1);
    for case in cases(&mut random) {
        let offsets = case.offsets(3);
        let items = draw::<f32>(*offsets.last().unwrap() as usize + 9, &mut random);
        let expected: Vec<f32> = offsets
            .windows(2)
            .map(|ends| documented_sum(&items[ends[0] as usize..ends[1] as usize]))
            .collect();
        assert_same(
            &on_the_cpu(Operator::Sum, &items, &offsets),
            &expected,
            case.name,
        );
    }
}

pub(crate) fn equals_naive_loops() {
    let mut random = seeded(2);
    for case in cases(&mut random) {
        let offsets = case.offsets(0);
        let items = draw::<i32>(*offsets.last().unwrap() as usize, &mut random);
        for &operator in Operator::ALL {
            let expected: Vec<i32> = offsets
                .windows(2)
                .map(|ends| {
                    let items = items[ends[0] as usize..ends[1] as usize].iter().copied();
                    match operator {
                        Operator::Sum => items.fold(0, i32::wrapping_add),
                        Operator::Min => items.min().unwrap_or(i32::MAX),
                        Operator::Max => items.max().unwrap_or(i32::MIN),
                    }
                })
                .collect();
            assert_same(
                &on_the_cpu(operator, &items, &offsets),
                &expected,
                case.name,
            );
        }
    }
    let mut minima = [0.0_f32; 3];
    cpu::of_length(
        Operator::Min,
        &[0.0, -0.0, f32::NAN, 1.0, f32::NAN, f32::NAN, 7.0],
        2,
        &mut minima,
    )
    .unwrap();
    assert_eq!(
        minima.map(f32::to_bits),
        [-0.0, 1.0, f32::INFINITY].map(f32::to_bits)
    );
}

pub(crate) fn offsets_beyond_the_items_count_as_their_end_on_the_cpu() {
    let mut out = [0; 3];
    cpu::by_offsets(Operator::Sum, &[1, 2, 4], &[1_u32, 2, 9, 7], &mut out).unwrap();
    assert_eq!(out, [2, 4, 0]);
}

pub(crate) fn refuses_invalid_arguments_on_the_cpu() {
    let (items, mut out) = ([1_u32; 6], [7; 2]);
    let mut by_offsets =
        |offsets: &[u32]| cpu::by_offsets(Operator::Sum, &items, offsets, &mut out);
    assert_error(
        by_offsets(&[0, 3, 2]),
        "an offset of segmented_reduce: 2, where 3 to 6 are possible",
    );
    assert_error(
        by_offsets(&[0, 1, 2, 3]),
        "the output of segmented_reduce: room for 2 items where up to 3 may be written; make it longer",
    );
    assert_error(
        cpu::of_length(Operator::Sum, &items, 0, &mut out),
        "the segment length of segmented_reduce: 0, where 1 to",
    );
    assert_eq!(out, [7; 2]);
}

pub(crate) fn kernels_compile_with_few_spills(nvrtc: &Arc<Nvrtc>, share: Share) {
    let sources = [
        SegmentedReduce::<u32>::sources(Operator::Sum),
        SegmentedReduce::<f64, u64>::sources(Operator::Max),
        SegmentedReduce::<f32>::sources(Operator::Min),
    ]
    .concat();
    spills::compile_with_few_spills(&[75, 80, 90, 120], nvrtc, share, &sources);
}

/// Reduces on the GPU, in views that start `start` items into their buffers.
pub(crate) fn on_the_gpu<T: Shared, W: CountWord, V: Shared>(
    gpu: &Gpu,
    reduce: &SegmentedReduce<T, W, V>,
    items: &[T],
    offsets: &[u32],
    start: usize,
) -> Vec<V> {
    let stream = &gpu.stream;
    let words = offsets.iter().map(|&offset| W::of_len(offset as usize));
    let words = Guarded::new(stream, start, &words.collect::<Vec<W>>());
    let items = Guarded::new(stream, start, items);
    let segments = offsets.len() - 1;
    let mut out = Guarded::<V>::room(stream, start, segments);
    let mut workspace = Workspace::with_capacity(stream, items.view().len()).unwrap();
    // The second call shows that the first one left the workspace as it was.
    for count in [Count::All, Count::Given(W::of_len(segments))] {
        let (items, words) = (items.view(), words.view());
        let out = out.view_mut();
        reduce
            .by_offsets(stream, items, words, count, out, &mut workspace)
            .unwrap();
    }
    workspace.check(stream).unwrap();
    out.read(stream)
}

fn equals<T: Draw, W: CountWord>(
    gpu: &Gpu,
    operator: Operator,
    case: &Case,
    start: usize,
    random: &mut Random,
) {
    let offsets = case.offsets(5);
    let items = draw::<T>(*offsets.last().unwrap() as usize + 7, random);
    let reduce = SegmentedReduce::<T, W>::new(&gpu.compiler, &gpu.context, operator).unwrap();
    let got = on_the_gpu(gpu, &reduce, &items, &offsets, start);
    let name = format!("{} of {} by {operator}", case.name, T::NAME);
    assert_same(&got, &on_the_cpu(operator, &items, &offsets), &name);
}

pub(crate) fn equals_the_cpu(gpu: &Gpu) {
    let mut random = seeded(3);
    for case in cases(&mut random) {
        equals::<f32, u32>(gpu, Operator::Sum, &case, 0, &mut random);
        if is_short() {
            continue;
        }
        for &operator in Operator::ALL {
            equals::<u32, u32>(gpu, operator, &case, 0, &mut random);
            equals::<i32, u32>(gpu, operator, &case, 0, &mut random);
            equals::<u64, u32>(gpu, operator, &case, 0, &mut random);
            equals::<i64, u32>(gpu, operator, &case, 0, &mut random);
            equals::<f32, u32>(gpu, operator, &case, 0, &mut random);
            equals::<f64, u32>(gpu, operator, &case, 0, &mut random);
        }
    }
    // So long that the sums of chunks have sums of chunks, and those too.
    let levels = Case {
        name: "three levels",
        lengths: vec![5, (1 << 20) + 1025, 3],
    };
    equals::<f32, u32>(gpu, Operator::Sum, &levels, 0, &mut random);
}

pub(crate) fn counts_in_64_bits(gpu: &Gpu) {
    let mut random = seeded(4);
    for case in cases(&mut random)
        .iter()
        .skip(if is_short() { 8 } else { 0 })
    {
        equals::<f64, u64>(gpu, Operator::Sum, case, 0, &mut random);
    }
}

pub(crate) fn reduces_equal_lengths(gpu: &Gpu) {
    let stream = &gpu.stream;
    let mut random = seeded(5);
    let len = if is_short() { 5_000 } else { 500_000 };
    let host = draw::<f32>(len, &mut random);
    let items = upload(stream, &host).unwrap();
    let reduce = SegmentedReduce::<f32>::new(&gpu.compiler, &gpu.context, Operator::Sum).unwrap();
    let mut workspace = Workspace::with_capacity(stream, len).unwrap();
    for length in [1, 2, 8, 9, 63, 64, 65, 1000, 1024, 1025, 4099, len, len + 1] {
        let segments = len / length;
        let mut out = Guarded::<f32>::room(stream, 1, segments);
        reduce
            .of_length(
                stream,
                &items,
                Count::All,
                length,
                out.view_mut(),
                &mut workspace,
            )
            .unwrap();
        let mut expected = vec![0.0; segments];
        cpu::of_length(Operator::Sum, &host, length, &mut expected).unwrap();
        assert_same(&out.read(stream), &expected, &format!("of {length}"));
    }
}

pub(crate) fn takes_views_that_start_anywhere(gpu: &Gpu) {
    let mut random = seeded(6);
    for (start, case) in cases(&mut random).iter().enumerate().skip(4) {
        equals::<u32, u32>(gpu, Operator::Max, case, start, &mut random);
    }
}

/// Checks the first segments for several counts, and that the room behind them is unchanged. `expected` has the results
/// of all segments.
pub(crate) fn counts_on_the_device<T: Shared, V: Shared>(
    gpu: &Gpu,
    reduce: &SegmentedReduce<T, u32, V>,
    host: &[T],
    offsets: &[u32],
    expected: &[V],
) {
    let stream = &gpu.stream;
    let (items, offsets) = (
        upload(stream, host).unwrap(),
        upload(stream, offsets).unwrap(),
    );
    let all = expected.len() as u32;
    let mut workspace = Workspace::with_capacity(stream, host.len()).unwrap();
    for count in [0, 1, 33, all - 1, all, all + 1, u32::MAX] {
        let device_count = upload(stream, &[count]).unwrap();
        let mut out = Guarded::<V>::room(stream, 0, expected.len());
        let untouched = out.read(stream);
        let counted = Count::on_device(&device_count);
        let room = out.view_mut();
        reduce
            .by_offsets(stream, &items, &offsets, counted, room, &mut workspace)
            .unwrap();
        let segments = expected.len().min(count as usize);
        let expected = [&expected[..segments], &untouched[segments..]].concat();
        let bytes = bytemuck::cast_slice::<V, u8>;
        assert!(bytes(&out.read(stream)) == bytes(&expected), "{count}");
        assert_eq!(workspace.check(stream).is_err(), count > all, "{count}");
    }
}

pub(crate) fn reads_its_count_from_the_device(gpu: &Gpu) {
    let case = Case {
        name: "counted",
        lengths: (0..300).map(|segment| segment % 70 * 3).collect(),
    };
    let offsets = case.offsets(0);
    let host = draw::<u32>(*offsets.last().unwrap() as usize, &mut seeded(7));
    let expected = on_the_cpu(Operator::Sum, &host, &offsets);
    let reduce = SegmentedReduce::new(&gpu.compiler, &gpu.context, Operator::Sum).unwrap();
    counts_on_the_device(gpu, &reduce, &host, &offsets, &expected);
}

/// Checks that arbitrary offsets access no other memory, and that later calls with new workspaces are right.
pub(crate) fn clamps_invalid_offsets(gpu: &Gpu) {
    let stream = &gpu.stream;
    let mut random = seeded(8);
    let host = draw::<u32>(10_000, &mut random);
    let items = upload(stream, &host).unwrap();
    let reduce = SegmentedReduce::<u32>::new(&gpu.compiler, &gpu.context, Operator::Sum).unwrap();
    for _ in 0..if is_short() { 3 } else { 30 } {
        let offsets: Vec<u32> = (0..500).map(|_| random.random_range(0..20_000)).collect();
        let offsets = upload(stream, &offsets).unwrap();
        let mut out = Guarded::<u32>::room(stream, 3, 499);
        let mut workspace = Workspace::with_capacity(stream, host.len()).unwrap();
        reduce
            .by_offsets(
                stream,
                &items,
                &offsets,
                Count::All,
                out.view_mut(),
                &mut workspace,
            )
            .unwrap();
        out.read(stream);
    }
    // Offsets behind the end count as the end.
    let offsets = upload(stream, &[9_990_u32, 12_000, u32::MAX]).unwrap();
    let mut out = zeroed::<u32>(stream, 2).unwrap();
    let mut workspace = Workspace::with_capacity(stream, host.len()).unwrap();
    reduce
        .by_offsets(
            stream,
            &items,
            &offsets,
            Count::All,
            &mut out,
            &mut workspace,
        )
        .unwrap();
    let sum = host[9_990..]
        .iter()
        .fold(0, |sum: u32, &item| sum.wrapping_add(item));
    assert_eq!(download(stream, &out).unwrap(), [sum, 0]);
}

pub(crate) fn replays_a_captured_call(gpu: &Gpu) {
    let stream = &gpu.stream;
    let mut random = seeded(9);
    let case = Case {
        name: "replayed",
        lengths: vec![3, 0, 70, 5000, 1, 64],
    };
    let offsets = case.offsets(0);
    let len = *offsets.last().unwrap() as usize;
    let mut items = zeroed::<f32>(stream, len).unwrap();
    let device_offsets = upload(stream, &offsets).unwrap();
    let mut out = zeroed::<f32>(stream, 6).unwrap();
    let reduce = SegmentedReduce::<f32>::new(&gpu.compiler, &gpu.context, Operator::Sum).unwrap();
    let mut workspace = Workspace::with_capacity(stream, len).unwrap();
    let graph = capture(stream, || {
        reduce
            .by_offsets(
                stream,
                &items,
                &device_offsets,
                Count::All,
                &mut out,
                &mut workspace,
            )
            .unwrap();
    });
    for _ in 0..3 {
        let host = draw::<f32>(len, &mut random);
        stream.memcpy_htod(&host, &mut items).unwrap();
        graph.launch().unwrap();
        let expected = on_the_cpu(Operator::Sum, &host, &offsets);
        assert_same(&download(stream, &out).unwrap(), &expected, case.name);
    }
}

pub(crate) fn refuses_invalid_arguments(gpu: &Gpu) {
    let stream = &gpu.stream;
    let reduce = SegmentedReduce::<u32>::new(&gpu.compiler, &gpu.context, Operator::Sum).unwrap();
    let items = upload(stream, &[1_u32; 6]).unwrap();
    let offsets = upload(stream, &[0_u32, 2, 2, 6]).unwrap();
    let mut out = upload(stream, &[7_u32; 3]).unwrap();
    let mut workspace = Workspace::with_capacity(stream, 6).unwrap();
    let mut call = |count: Count<'_>, room: usize, workspace: &mut Workspace<u32>| {
        reduce.by_offsets(
            stream,
            &items,
            &offsets,
            count,
            out.slice_mut(..room),
            workspace,
        )
    };
    assert_error(
        call(Count::Given(4), 3, &mut workspace),
        "the count given to segmented_reduce: 4, where 0 to 3 are possible",
    );
    assert_error(
        call(Count::All, 2, &mut workspace),
        "the output of segmented_reduce: room for 2 items where up to 3 may be written; make it longer",
    );
    let mut small = Workspace::with_capacity(stream, 5).unwrap();
    assert_error(
        call(Count::All, 3, &mut small),
        "the items of segmented_reduce: a workspace for 5 is used for 6",
    );
    assert_error(
        reduce.of_length(stream, &items, Count::All, 0, &mut out, &mut workspace),
        "the segment length of segmented_reduce: 0",
    );
    assert_eq!(download(stream, &out).unwrap(), [7; 3]);
}
