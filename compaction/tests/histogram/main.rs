//! Tests of `histogram`: the CPU against naive loops, and the GPU against the CPU.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/devices.rs"]
mod devices;
#[path = "../common/guarded.rs"]
mod guarded;
#[path = "../common/random.rs"]
mod random;
#[path = "../common/spills.rs"]
mod spills;

use std::{ops::Range, sync::Arc};

use compaction::{
    Count, CountWord,
    cuda::{Nvrtc, download, upload, zeroed},
    histogram::{BinKey, Histogram, Sample, Workspace, cpu},
};
use rand::RngExt;

use crate::{
    common::{Gpu, Share, Tests, add_tests, assert_error, is_short, lengths},
    devices::capture,
    guarded::Guarded,
    random::{Random, seeded},
};

fn main() {
    let tests = Tests::new();
    add_tests!(tests;
        test "" self {
            the_cpu_counts_like_naive_loops, bins_of_integers_are_even, the_cpu_refuses_invalid_arguments,
        }
        nvrtc_shared "" self { kernels_compile_with_few_spills }
        gpu "cuda_" self {
            equals_the_cpu, counts_equal_items, counters_wrap_around, takes_views_that_start_anywhere,
            reads_its_count_from_the_device, divides_any_bounds_into_cells, replays_a_captured_call, refuses_invalid_arguments,
        }
    )
    .run()
}

/// Numbers of bins around the limits of the kinds of counters.
const BINS: [usize; 9] = [1, 2, 255, 256, 257, 4096, 4097, 12_289, 65_536];

/// Lengths around the vectors that a block loads at a time.
const LENGTHS: [usize; 7] = [0, 1, 15, 33, 8193, 40_000, 5_000_003];

/// Random items: normal ones, and few that lie in no bin of usual ranges.
trait Draw: Sample {
    fn draw(random: &mut Random) -> Self;
    /// A range that most items are in.
    fn range() -> Range<Self::Level>;
}
macro_rules! integers {
    ($($integer:ident),+) => {$(
        impl Draw for $integer {
            fn draw(random: &mut Random) -> Self {
                random.random::<u64>() as $integer
            }
            fn range() -> Range<i64> {
                $integer::MIN.into()..i64::from($integer::MAX) - 5
            }
        }
    )+};
}
integers!(u8, u16, u32, i8, i16, i32);
macro_rules! floats {
    ($($float:ident),+) => {$(
        impl Draw for $float {
            fn draw(random: &mut Random) -> Self {
                match random.random_range(0..100) {
                    0 => $float::NAN,
                    1 => $float::INFINITY,
                    2 => -0.0,
                    3 => 0.0,
                    4 => 1e30,
                    _ => random.random::<$float>() * 3.0 - 1.0,
                }
            }
            fn range() -> Range<$float> {
                -0.0..1.7
            }
        }
    )+};
}
floats!(f32, f64);

fn draw<T: Draw>(len: usize, random: &mut Random) -> Vec<T> {
    (0..len).map(|_| T::draw(random)).collect()
}

fn the_cpu_counts_like_naive_loops() {
    let items = draw::<f64>(200_000, &mut seeded(1));
    let mut counts = vec![0_u32; 17];
    cpu::even(&items, 0.0..1.7, &mut counts).unwrap();
    let mut expected = vec![0; 17];
    for item in items.iter().filter(|&&item| (0.0..1.7).contains(&item)) {
        expected[((item * (17.0 / 1.7)) as usize).min(16)] += 1;
    }
    assert_eq!(counts, expected);

    let bounds = [-0.5, 0.0, 0.0, 0.25, 1e29];
    let mut counts = vec![0_u64; 4];
    cpu::bounds(&items, &bounds, &mut counts).unwrap();
    let naive = bounds.windows(2).map(|ends| {
        items
            .iter()
            .filter(|&&item| item >= ends[0] && item < ends[1])
            .count() as u64
    });
    assert!(naive.eq(counts));

    let keys = draw::<u16>(100_000, &mut seeded(2));
    let mut counts = vec![0_u32; 40_000];
    cpu::keys(&keys, &mut counts).unwrap();
    let mut expected = vec![0; 1 << 16];
    keys.iter().for_each(|&key| expected[usize::from(key)] += 1);
    assert_eq!(counts, expected[..40_000]);
}

/// Each bin of integers begins at `b * width / bins`, rounded up.
fn bins_of_integers_are_even() {
    let all: Vec<u8> = (0..=255).collect();
    for bins in [1, 2, 3, 7, 100, 255, 256, 300] {
        let mut counts = vec![0_u32; bins];
        cpu::even(&all, 0..256, &mut counts).unwrap();
        let begin = |bin: usize| (bin * 256).div_ceil(bins);
        for (bin, &count) in counts.iter().enumerate() {
            assert_eq!(count as usize, begin(bin + 1) - begin(bin), "{bins} bins");
        }
    }
    let mut counts = [0_u32; 3];
    cpu::even(
        &[i32::MIN, -1, 0, i32::MAX],
        i32::MIN.into()..1 << 31,
        &mut counts,
    )
    .unwrap();
    assert_eq!(counts, [1, 2, 1]);
}

fn the_cpu_refuses_invalid_arguments() {
    let mut out = [7_u32; 2];
    assert_error(
        cpu::even(&[1.0_f32], 1.0..1.0, &mut out),
        "the range of histogram: 1.0..1.0, where a range of a finite width is possible",
    );
    assert_error(
        cpu::even(&[1.0_f32], 0.0..f32::INFINITY, &mut out),
        "0.0..inf",
    );
    assert_error(cpu::even(&[1.0_f32], f32::NAN..1.0, &mut out), "NaN..1.0");
    assert_error(
        cpu::even(&[1_u8], 0..(1 << 32) + 1, &mut out),
        "the range of histogram: 0..4294967297, where a range at most 2^32 wide is possible",
    );
    assert_error(
        cpu::bounds(&[1_u8], &[1, 2], &mut out),
        "the bounds of histogram: 2, where 3 to 3 are possible",
    );
    assert_error(
        cpu::keys(&[1_u8], &mut [0_u32; 0]),
        "the bins of histogram: 0, where 1 to 16777216 are possible",
    );
    assert_eq!(out, [7; 2]);
}

fn kernels_compile_with_few_spills(nvrtc: &Arc<Nvrtc>, share: Share) {
    let sources = [
        Histogram::<f32>::sources(),
        Histogram::<u8>::sources(),
        Histogram::<i32, u64>::sources(),
        Histogram::<f64>::sources(),
    ]
    .concat();
    // The compiler calls the search in the bounds as a function, and then saves registers.
    spills::compile_with_spills_up_to(64, &[75, 80, 90, 120], nvrtc, share, &sources);
}

/// A GPU histogram with its workspace, and where its views start in their buffers.
struct Case<'a, T: Sample, W: CountWord> {
    gpu: &'a Gpu,
    histogram: Histogram<T, W>,
    workspace: Workspace,
    start: usize,
}

impl<'a, T: Draw, W: CountWord> Case<'a, T, W> {
    fn new(gpu: &'a Gpu, bins: usize) -> Self {
        Self {
            gpu,
            histogram: Histogram::new(&gpu.compiler, &gpu.context, bins).unwrap(),
            workspace: Workspace::new(&gpu.stream).unwrap(),
            start: 0,
        }
    }

    fn even(&mut self, items: &[T], range: Range<T::Level>) {
        let stream = &self.gpu.stream;
        let device = Guarded::new(stream, self.start, items);
        let mut out = Guarded::<W>::room(stream, self.start, self.histogram.bins());
        self.histogram
            .even(
                stream,
                device.view(),
                Count::All,
                range.clone(),
                out.view_mut(),
                &mut self.workspace,
            )
            .unwrap();
        let mut expected = vec![W::of_len(0); self.histogram.bins()];
        cpu::even(items, range, &mut expected).unwrap();
        self.check(&out.read(stream), &expected, items.len());
    }

    fn bounds(&mut self, items: &[T], bounds: &[T::Level]) {
        let stream = &self.gpu.stream;
        let device = Guarded::new(stream, self.start, items);
        let bound_view = Guarded::new(stream, self.start, bounds);
        let mut out = Guarded::<W>::room(stream, self.start, self.histogram.bins());
        let (view, count) = (device.view(), Count::Given(W::of_len(items.len())));
        self.histogram
            .bounds(
                stream,
                view,
                count,
                bound_view.view(),
                out.view_mut(),
                &mut self.workspace,
            )
            .unwrap();
        let mut expected = vec![W::of_len(0); self.histogram.bins()];
        cpu::bounds(items, bounds, &mut expected).unwrap();
        self.check(&out.read(stream), &expected, items.len());
    }

    fn keys(&mut self, items: &[T])
    where
        T: BinKey,
    {
        let stream = &self.gpu.stream;
        let device = Guarded::new(stream, self.start, items);
        let mut out = Guarded::<W>::room(stream, self.start, self.histogram.bins());
        self.histogram
            .keys(
                stream,
                device.view(),
                Count::All,
                out.view_mut(),
                &mut self.workspace,
            )
            .unwrap();
        let mut expected = vec![W::of_len(0); self.histogram.bins()];
        cpu::keys(items, &mut expected).unwrap();
        self.check(&out.read(stream), &expected, items.len());
    }

    fn check(&self, got: &[W], expected: &[W], len: usize) {
        let wrong = got
            .iter()
            .zip(expected)
            .position(|(got, expected)| got != expected);
        let bins = self.histogram.bins();
        assert!(
            wrong.is_none(),
            "{len} {}: bin {wrong:?} of {bins} is wrong",
            T::NAME
        );
    }
}

fn equals<T: Draw, W: CountWord>(gpu: &Gpu, len: usize, bins: usize, random: &mut Random) {
    let items = draw::<T>(len, random);
    let mut case = Case::<T, W>::new(gpu, bins);
    case.even(&items, T::range());
    let mut bounds: Vec<T::Level> = draw::<T>(bins + 1, random)
        .into_iter()
        .map(T::level)
        .collect();
    bounds.retain(|bound| bound.partial_cmp(bound).is_some());
    bounds.sort_by(|left, right| left.partial_cmp(right).unwrap());
    bounds.resize(bins + 1, *bounds.last().unwrap());
    case.bounds(&items, &bounds);
}

fn equals_the_cpu(gpu: &Gpu) {
    let mut random = seeded(3);
    for len in lengths(LENGTHS) {
        for bins in BINS {
            equals::<f32, u32>(gpu, len, bins, &mut random);
            Case::<u16, u32>::new(gpu, bins).keys(&draw(len, &mut random));
            if is_short() {
                continue;
            }
            equals::<u8, u32>(gpu, len, bins, &mut random);
            equals::<i16, u64>(gpu, len, bins, &mut random);
            equals::<u32, u32>(gpu, len, bins, &mut random);
            equals::<i32, u64>(gpu, len, bins, &mut random);
            equals::<f64, u64>(gpu, len, bins, &mut random);
            Case::<u8, u64>::new(gpu, bins).keys(&draw(len, &mut random));
            Case::<u32, u32>::new(gpu, bins).keys(&draw(len, &mut random));
        }
    }
    // Widths with and without a shift.
    let mut case = Case::<i32, u32>::new(gpu, 7);
    let items = draw::<i32>(10_000, &mut random);
    for range in [
        i32::MIN.into()..1 << 31,
        -7..14 * 4,
        0..7,
        0..1,
        -5..(1 << 32) - 5,
        100..101,
    ] {
        case.even(&items, range);
    }
}

/// Many bounds are found by cells of equal width, or of equal width in the bits of floats.
fn divides_any_bounds_into_cells(gpu: &Gpu) {
    let bins = 12_289;
    let mut random = seeded(9);
    let part = |bound: usize| bound as f32 / bins as f32;
    let inf = f32::INFINITY;
    let shapes: [&dyn Fn(usize) -> f32; 9] = [
        &part,
        &|bound| part(bound) - 0.5,
        &|bound| (60.0 * part(bound) - 50.0).exp2(),
        &|bound| -(-20.0 * part(bound)).exp2(),
        &|bound| {
            if bound == 0 {
                -inf
            } else {
                1.0 - 1.0 / bound as f32
            }
        },
        &|bound| if bound == bins { inf } else { part(bound) },
        &|bound| {
            if bound == bins {
                f32::MAX
            } else {
                -f32::MAX * (0.5 - part(bound))
            }
        },
        &|bound| if bound < 7000 { -0.0 } else { part(bound) },
        &|_| 0.5,
    ];
    let len = if is_short() { 60_000 } else { 1_000_000 };
    for shape in shapes {
        let mut bounds: Vec<f32> = (0..=bins).map(shape).collect();
        bounds.sort_by(f32::total_cmp);
        let mut items = draw::<f32>(len, &mut random);
        for item in &mut items {
            // Half of the items are bounds, or just below them.
            match random.random_range(0..4) {
                0 => *item = bounds[random.random_range(0..=bins)],
                1 => *item = bounds[random.random_range(0..=bins)].next_down(),
                _ => {}
            }
        }
        Case::<f32, u32>::new(gpu, bins).bounds(&items, &bounds);
        let bounds: Vec<f64> = bounds.into_iter().map(f64::from).collect();
        let items: Vec<f64> = items.into_iter().map(f64::from).collect();
        Case::<f64, u32>::new(gpu, bins).bounds(&items, &bounds);
    }
    let items = draw::<i32>(len, &mut random);
    for width in [1, 3, 100_000, 400_000] {
        let mut bounds: Vec<i64> = (0..=bins as i64)
            .map(|bound| width * (bound - 5000))
            .collect();
        bounds[bins] = i64::from(i32::MAX) + 1;
        Case::<i32, u32>::new(gpu, bins).bounds(&items, &bounds);
    }
}

fn counts_equal_items(gpu: &Gpu) {
    for bins in BINS {
        let len = if is_short() { 40_000 } else { 20_000_000 };
        let last = (bins - 1).min(40_000) as u16;
        Case::<u16, u32>::new(gpu, bins).keys(&vec![last; len]);
        let alternating: Vec<u16> = (0..len)
            .map(|item| if item % 3 == 0 { 0 } else { last })
            .collect();
        Case::<u16, u32>::new(gpu, bins).keys(&alternating);
    }
}

/// Counts so many items in two bins of one word that its counters of 16 bits wrap around.
fn counters_wrap_around(gpu: &Gpu) {
    let len = if is_short() { 420_000 } else { 60_000_000 };
    let bins = if is_short() { 12_289 } else { 65_535 };
    for period in [1, 2, 3, 7] {
        let odd = |item: usize| u16::from(!item.is_multiple_of(period));
        let items: Vec<u16> = (0..len).map(|item| 4 + odd(item)).collect();
        Case::<u16, u32>::new(gpu, bins).keys(&items);
        let last: Vec<u16> = items.iter().map(|&item| (bins - 6) as u16 + item).collect();
        Case::<u16, u64>::new(gpu, bins).keys(&last);
    }
}

fn takes_views_that_start_anywhere(gpu: &Gpu) {
    let mut random = seeded(5);
    for start in [1, 2, 3, 7, 16] {
        let mut bytes = Case::<u8, u32>::new(gpu, 256);
        bytes.start = start;
        let mut floats = Case::<f32, u32>::new(gpu, 256);
        floats.start = start;
        for len in [0, 1, 5, 14, 17, 31, 33, 10_001] {
            bytes.keys(&draw(len, &mut random));
            floats.even(&draw(len, &mut random), 0.0..1.0);
        }
    }
}

fn reads_its_count_from_the_device(gpu: &Gpu) {
    let stream = &gpu.stream;
    let host = draw::<u8>(9_000, &mut seeded(6));
    let items = upload(stream, &host).unwrap();
    let mut workspace = Workspace::new(stream).unwrap();
    for bins in [256, 5000] {
        let histogram = Histogram::<u8>::new(&gpu.compiler, &gpu.context, bins).unwrap();
        for count in [0, 1, 8_191, 9_000, 9_001, u32::MAX] {
            let device_count = upload(stream, &[count]).unwrap();
            let mut out = zeroed::<u32>(stream, bins).unwrap();
            let counted = Count::on_device(&device_count);
            histogram
                .keys(stream, &items, counted, &mut out, &mut workspace)
                .unwrap();
            let mut expected = vec![0_u32; bins];
            cpu::keys(&host[..9_000.min(count as usize)], &mut expected).unwrap();
            assert_eq!(download(stream, &out).unwrap(), expected, "{count}");
            assert_eq!(workspace.check(stream).is_err(), count > 9_000, "{count}");
        }
    }
}

fn replays_a_captured_call(gpu: &Gpu) {
    let stream = &gpu.stream;
    let mut random = seeded(7);
    let mut items = zeroed::<f32>(stream, 20_000).unwrap();
    let mut workspace = Workspace::new(stream).unwrap();
    for bins in [100, 5000] {
        let histogram = Histogram::<f32>::new(&gpu.compiler, &gpu.context, bins).unwrap();
        let mut out = zeroed::<u32>(stream, bins).unwrap();
        let graph = capture(stream, || {
            histogram
                .even(
                    stream,
                    &items,
                    Count::All,
                    0.0..1.0,
                    &mut out,
                    &mut workspace,
                )
                .unwrap();
        });
        for _ in 0..3 {
            let host = draw::<f32>(20_000, &mut random);
            stream.memcpy_htod(&host, &mut items).unwrap();
            graph.launch().unwrap();
            let mut expected = vec![0_u32; bins];
            cpu::even(&host, 0.0..1.0, &mut expected).unwrap();
            assert_eq!(download(stream, &out).unwrap(), expected);
        }
    }
}

fn refuses_invalid_arguments(gpu: &Gpu) {
    let stream = &gpu.stream;
    let new = |bins| Histogram::<f32>::new(&gpu.compiler, &gpu.context, bins);
    assert_error(
        new(0),
        "the bins of histogram: 0, where 1 to 16777216 are possible",
    );
    let histogram = new(4).unwrap();
    let items = zeroed::<f32>(stream, 8).unwrap();
    let bounds = zeroed::<f32>(stream, 4).unwrap();
    let mut out = upload(stream, &[7_u32; 4]).unwrap();
    let mut workspace = Workspace::new(stream).unwrap();
    let mut even = |count: Count<'_>, range: Range<f32>, room: usize| {
        let out = out.slice_mut(..room);
        histogram.even(stream, &items, count, range, out, &mut workspace)
    };
    assert_error(
        even(Count::All, 2.0..1.0, 4),
        "the range of histogram: 2.0..1.0",
    );
    assert_error(
        even(Count::Given(9), 0.0..1.0, 4),
        "the count given to histogram: 9",
    );
    assert_error(
        even(Count::All, 0.0..1.0, 3),
        "the output of histogram: room for 3 items where up to 4 may be written; make it longer",
    );
    assert_error(
        histogram.bounds(
            stream,
            &items,
            Count::All,
            &bounds,
            &mut out,
            &mut workspace,
        ),
        "the bounds of histogram: 4, where 5 to 5 are possible",
    );
    assert_eq!(download(stream, &out).unwrap(), [7; 4]);
}
