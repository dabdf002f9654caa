//! Tests of reductions on a GPU.

use compaction::{
    Count, CountWord, Error,
    cuda::{download, uninitialised, upload, zeroed},
    reduce::{ArgReduce, Extreme, Operator, Reduce, Workspace, cpu},
};
use rand::RngExt;

use crate::{
    cases::{Data, Number, assert_same, items, naive},
    common::{Gpu, assert_error, lengths, times},
    devices::capture,
    guarded::Guarded,
    random::seeded,
};

fn reduction<T: Number, W: CountWord>(gpu: &Gpu, operator: Operator) -> Reduce<T, W> {
    Reduce::new(&gpu.compiler, &gpu.context, operator).unwrap()
}

/// Reduces items that start `start` items into a guarded allocation, to an output between guard items.
fn reduce<T: Number>(gpu: &Gpu, reduction: &Reduce<T>, items: &[T], start: usize) -> T {
    let stream = &gpu.stream;
    let device_items = Guarded::new(stream, start, items);
    let mut out = Guarded::<T>::room(stream, 1, 1);
    let mut workspace = Workspace::with_capacity(stream, items.len()).unwrap();
    let view = device_items.view();
    reduction
        .items(stream, &view, Count::All, out.view_mut(), &mut workspace)
        .unwrap();
    workspace.check(stream).unwrap();
    out.read(stream)[0]
}

pub(crate) fn reduces_everything(gpu: &Gpu) {
    fn all<T: Number>(gpu: &Gpu) {
        let reductions: Vec<_> = Operator::ALL
            .iter()
            .map(|&operator| reduction::<T, u32>(gpu, operator))
            .collect();
        super::each_case::<T>(|operator, items, expected, case| {
            let known = reductions.iter().find(|each| each.operator() == operator);
            let got = reduce(gpu, known.unwrap(), items, 0);
            assert_same(&[got], &[expected], case);
        });
    }
    all::<u32>(gpu);
    all::<i32>(gpu);
    all::<u64>(gpu);
    all::<i64>(gpu);
    all::<f32>(gpu);
    all::<f64>(gpu);
}

/// Sums numbers that need rounding.
pub(crate) fn gives_the_bits_of_the_cpu(gpu: &Gpu) {
    fn all<T: Number>(gpu: &Gpu, make: impl Fn(f64) -> T) {
        let sum = reduction::<T, u32>(gpu, Operator::Sum);
        for len in super::sizes() {
            let mut random = seeded(len as u64);
            let mut item = || make((random.random::<u64>() as i64 as f64) * 1e-12);
            let items: Vec<T> = (0..len).map(|_| item()).collect();
            let expected = cpu::items(Operator::Sum, &items);
            for start in [0, 1] {
                let got = reduce(gpu, &sum, &items, start);
                assert_same(&[got], &[expected], &format!("{len} {}", T::NAME));
            }
        }
        // More segments than warps.
        for len in lengths([(1 << 26) + 12_345]) {
            let items = vec![make(0.1); len];
            let got = reduce(gpu, &sum, &items, 0);
            let expected = cpu::items(Operator::Sum, &items);
            assert_same(&[got], &[expected], &format!("{len} {}", T::NAME));
        }
    }
    all::<f32>(gpu, |number| number as f32);
    all::<f64>(gpu, |number| number);
}

pub(crate) fn finds_every_extreme(gpu: &Gpu) {
    fn all<T: Number, W: CountWord>(gpu: &Gpu) {
        let new = |extreme| ArgReduce::<T, W>::new(&gpu.compiler, &gpu.context, extreme).unwrap();
        let (min, max) = (new(Extreme::Min), new(Extreme::Max));
        super::each_arg_case::<T>(|extreme, items, expected, case| {
            let stream = &gpu.stream;
            let arg = match extreme {
                Extreme::Min => &min,
                Extreme::Max => &max,
            };
            let device_items = Guarded::new(stream, 3, items);
            let mut index = Guarded::<W>::room(stream, 1, 1);
            let mut value = Guarded::<T>::room(stream, 1, 1);
            let mut workspace = Workspace::with_capacity(stream, items.len()).unwrap();
            let (index_out, value_out) = (index.view_mut(), value.view_mut());
            arg.items(
                stream,
                device_items.view(),
                Count::All,
                index_out,
                value_out,
                &mut workspace,
            )
            .unwrap();
            let (index, value) = (index.read(stream)[0], value.read(stream)[0]);
            let identity = cpu::items(extreme.operator(), &[]);
            let (expected_index, expected_value) = match expected {
                Some((index, item)) => (W::from_len(index).unwrap(), item),
                None => (W::from_len(usize::MAX).unwrap_or(largest()), identity),
            };
            assert_eq!(index, expected_index, "{case}");
            assert_same(&[value], &[expected_value], case);
        });
    }
    all::<u32, u32>(gpu);
    all::<i32, u64>(gpu);
    all::<i64, u32>(gpu);
    all::<f32, u32>(gpu);
    all::<f64, u64>(gpu);
}

/// Returns the largest word, where the type is `u32`.
fn largest<W: CountWord>() -> W {
    W::from_len(u32::MAX as usize).unwrap()
}

pub(crate) fn takes_views_that_start_anywhere(gpu: &Gpu) {
    fn all<T: Number>(gpu: &Gpu) {
        let sum = reduction::<T, u32>(gpu, Operator::Sum);
        for start in 0..17 {
            for len in lengths([0, 1, 3, 130, 8191, 8193 + start, 300_000]) {
                let items = items::<T>(len, Data::Random, &mut seeded(len as u64));
                let expected = cpu::items(Operator::Sum, &items);
                let case = format!("{len} {} from {start}", T::NAME);
                assert_same(&[reduce(gpu, &sum, &items, start)], &[expected], &case);
            }
        }
    }
    all::<u32>(gpu);
    all::<f32>(gpu);
    all::<f64>(gpu);
}

pub(crate) fn reads_its_count_from_the_device(gpu: &Gpu) {
    for capacity in lengths([0, 1, 33_333, 40_000, (1 << 25) + 3]) {
        reads_its_count::<u32>(gpu, capacity);
        reads_its_count::<u64>(gpu, capacity);
    }
}

fn reads_its_count<W: CountWord>(gpu: &Gpu, capacity: usize) {
    let stream = &gpu.stream;
    let sum = reduction::<f32, W>(gpu, Operator::Sum);
    let items: Vec<f32> = (0..capacity)
        .map(|item| (item % 1000) as f32 * 0.1)
        .collect();
    let device_items = upload(stream, &items).unwrap();
    let mut workspace = Workspace::with_capacity(stream, capacity).unwrap();
    // Some counts exceed the number of items and must be clamped. The low 32 bits of the last one are 0. The largest
    // number of blocks belongs to 2²⁵ items.
    let counts = [
        0,
        1,
        100,
        8193,
        capacity.saturating_sub(1),
        capacity.saturating_sub(7),
        capacity,
        capacity + 1,
        u32::MAX as usize,
        1 << 40,
    ];
    for count in counts {
        let Some(word) = W::from_len(count) else {
            continue;
        };
        let device_count = upload(stream, &[W::from_len(7).unwrap(), word]).unwrap();
        let counted = Count::Device(device_count.slice(1..));
        let mut out = zeroed(stream, 1).unwrap();
        sum.items(stream, &device_items, counted, &mut out, &mut workspace)
            .unwrap();
        let expected = cpu::items(Operator::Sum, &items[..count.min(capacity)]);
        let case = format!("{count} of {capacity}");
        assert_same(&download(stream, &out).unwrap(), &[expected], &case);
        let report = workspace.check(stream);
        assert_eq!(report.is_err(), count > capacity, "{case}");
        if let Err(error) = report {
            let told = count;
            assert!(
                matches!(error, Error::CountTooLarge { what: "reduce", count, .. } if count == told),
                "{error}"
            );
        }
    }
}

pub(crate) fn starts_from_an_initial_value(gpu: &Gpu) {
    for (operator, expected) in [
        (Operator::Sum, 107.0),
        (Operator::Min, 3.0),
        (Operator::Max, 100.0),
    ] {
        let reduction = reduction::<f32, u32>(gpu, operator).initial(100.0);
        assert_same(
            &[reduce(gpu, &reduction, &[3.0, 4.0], 0)],
            &[expected],
            operator.name(),
        );
        assert_same(
            &[reduce(gpu, &reduction, &[], 0)],
            &[100.0],
            operator.name(),
        );
    }
}

/// Enqueues calls of many lengths with one workspace before it reads the results. Halfway, the epochs start again.
pub(crate) fn reuses_a_workspace(gpu: &Gpu) {
    let stream = &gpu.stream;
    let max_len = lengths([1 << 22, 40_000])[0];
    let items = items::<u32>(max_len, Data::Random, &mut seeded(3));
    let prefixes = naive(Operator::Sum, &items, true);
    let device_items = upload(stream, &items).unwrap();
    let sum = reduction::<u32, u32>(gpu, Operator::Sum);
    let mut workspace = Workspace::with_capacity(stream, max_len).unwrap();
    let mut random = seeded(4);
    let calls = times(5000);
    let mut out = zeroed::<u32>(stream, calls).unwrap();
    let mut lens = Vec::new();
    for call in 0..calls {
        if call == calls / 2 {
            workspace.age(stream, 4).unwrap();
        }
        let magnitude = random.random_range(0..12);
        let len = 1 + random.random_range(0..max_len >> magnitude);
        let (view, result) = (device_items.slice(..len), out.slice_mut(call..call + 1));
        sum.items(stream, view, Count::All, result, &mut workspace)
            .unwrap();
        lens.push(len);
    }
    for (got, len) in download(stream, &out).unwrap().into_iter().zip(lens) {
        assert_eq!(got, prefixes[len - 1], "{len}");
    }
}

pub(crate) fn replays_a_captured_call(gpu: &Gpu) {
    let stream = &gpu.stream;
    let len = lengths([300_000, 40_000])[0];
    let sum = reduction::<u32, u32>(gpu, Operator::Sum);
    let mut workspace = Workspace::with_capacity(stream, len).unwrap();
    let mut device_items = zeroed::<u32>(stream, len).unwrap();
    let mut count = zeroed::<u32>(stream, 1).unwrap();
    let mut out = zeroed::<u32>(stream, 1).unwrap();
    let graph = capture(stream, || {
        let counted = Count::on_device(&count);
        sum.items(stream, &device_items, counted, &mut out, &mut workspace)
            .unwrap();
    });
    let mut random = seeded(7);
    for _ in 0..times(1000) {
        let items = items::<u32>(len, Data::Random, &mut random);
        let len = random.random_range(0..len + 1);
        stream.memcpy_htod(&items, &mut device_items).unwrap();
        stream.memcpy_htod(&[len as u32], &mut count).unwrap();
        graph.launch().unwrap();
        let expected = cpu::items(Operator::Sum, &items[..len]);
        assert_eq!(download(stream, &out).unwrap(), [expected]);
    }
}

pub(crate) fn refuses_invalid_arguments(gpu: &Gpu) {
    let stream = &gpu.stream;
    let sum = reduction::<u32, u32>(gpu, Operator::Sum);
    let items = zeroed::<u32>(stream, 8).unwrap();
    let mut out = upload(stream, &[7_u32]).unwrap();
    let mut workspace = Workspace::with_capacity(stream, 7).unwrap();
    let mut call = |count: Count<'_>, room: usize| {
        let out = out.slice_mut(..room);
        sum.items(stream, &items, count, out, &mut workspace)
    };
    assert_error(
        call(Count::Given(9), 1),
        "the count given to reduce: 9, where 0 to 8",
    );
    assert_error(
        call(Count::Given(7), 0),
        "the output of reduce: room for 0 items",
    );
    assert_error(call(Count::Device(items.slice(8..)), 1), "0 instead of 1");
    assert_error(
        call(Count::All, 1),
        "the items of reduce: a workspace for 7 is used for 8",
    );
    assert_eq!(download(stream, &out).unwrap(), [7]);
}

/// Reduces more than 2³² items, all 0 but a few.
pub(crate) fn reduces_past_32_bits(gpu: &Gpu) {
    let stream = &gpu.stream;
    let max_len = (1_usize << 32) + 5;
    let mut items = uninitialised::<u32>(stream, max_len).unwrap();
    stream.memset_zeros(&mut items).unwrap();
    let ones = [0, 1 << 31, (1 << 32) - 1, 1 << 32, max_len - 1];
    for at in ones {
        stream
            .memcpy_htod(&[1], &mut items.slice_mut(at..at + 1))
            .unwrap();
    }
    let mut workspace = Workspace::with_capacity(stream, max_len).unwrap();
    let sum = reduction::<u32, u64>(gpu, Operator::Sum);
    let max = ArgReduce::<u32, u64>::new(&gpu.compiler, &gpu.context, Extreme::Max).unwrap();
    let (mut out, mut index) = (zeroed(stream, 1).unwrap(), zeroed(stream, 1).unwrap());
    for len in [1 << 31, (1 << 32) - 1, 1 << 32, max_len] {
        let view = items.slice(..len);
        sum.items(stream, &view, Count::All, &mut out, &mut workspace)
            .unwrap();
        let expected = ones.iter().filter(|&&at| at < len).count();
        assert_eq!(download(stream, &out).unwrap(), [expected as u32], "{len}");
    }
    let rest = items.slice(1 + (1 << 31)..);
    max.items(
        stream,
        rest,
        Count::All,
        &mut index,
        &mut out,
        &mut workspace,
    )
    .unwrap();
    assert_eq!(download(stream, &index).unwrap(), [(1_u64 << 31) - 2]);
    stream
        .memcpy_htod(&[2], &mut items.slice_mut(max_len - 2..max_len - 1))
        .unwrap();
    max.items(
        stream,
        &items,
        Count::All,
        &mut index,
        &mut out,
        &mut workspace,
    )
    .unwrap();
    assert_eq!(download(stream, &index).unwrap(), [max_len as u64 - 2]);
    assert_eq!(download(stream, &out).unwrap(), [2]);
}
