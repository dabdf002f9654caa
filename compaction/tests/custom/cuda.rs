//! Tests of user-defined operators on a GPU.

use compaction::{
    Count, Error,
    cuda::{download, upload, zeroed},
    custom::{CustomOperator, CustomReduce, CustomScan, Workspace, cpu},
    layout::Shared,
};
use rand::RngExt;

use crate::{
    OTHER_TYPES,
    common::{Gpu, assert_error, lengths, times},
    devices::capture,
    flag_count,
    functions::{Affine, Function, Rounded},
    guarded::Guarded,
    random::seeded,
    sizes,
};

/// The results of all calls on the same items: exclusive and inclusive prefixes, the total, and the reduction.
struct Results<A> {
    exclusive: Vec<A>,
    inclusive: Vec<A>,
    total: A,
    reduced: A,
}

fn run<A: Shared, I: Shared>(
    gpu: &Gpu,
    operator: &CustomOperator<A>,
    initial: A,
    items: &[I],
) -> Results<A> {
    let stream = &gpu.stream;
    let scan = CustomScan::<A, I>::new(&gpu.compiler, &gpu.context, operator).unwrap();
    let scan = scan.initial(initial);
    let reduce = CustomReduce::<A, I>::new(&gpu.compiler, &gpu.context, operator).unwrap();
    let reduce = reduce.initial(initial);
    let mut workspace = Workspace::with_capacity(stream, items.len()).unwrap();
    let device_items = Guarded::new(stream, 1, items);
    let mut out = Guarded::<A>::room(stream, 1, items.len());
    let mut total = Guarded::<A>::room(stream, 1, 1);
    let mut reduced = Guarded::<A>::room(stream, 1, 1);
    scan.inclusive(
        stream,
        device_items.view(),
        Count::All,
        out.view_mut(),
        &mut workspace,
    )
    .unwrap();
    let inclusive = out.read(stream);
    scan.exclusive_with_total(
        stream,
        device_items.view(),
        Count::All,
        out.view_mut(),
        total.view_mut(),
        &mut workspace,
    )
    .unwrap();
    reduce
        .items(
            stream,
            device_items.view(),
            Count::All,
            reduced.view_mut(),
            &mut workspace,
        )
        .unwrap();
    workspace.check(stream).unwrap();
    Results {
        exclusive: out.read(stream),
        inclusive,
        total: total.read(stream)[0],
        reduced: reduced.read(stream)[0],
    }
}

pub(crate) fn combines_functions(gpu: &Gpu) {
    let affine = Affine::operator();
    for len in sizes() {
        let functions = Affine::random(len);
        let initial = Affine::random(1)[0];
        let got = run(gpu, &affine, initial, &functions);
        let mut before = initial;
        for (at, function) in functions.into_iter().enumerate() {
            assert_eq!(got.exclusive[at], before, "{at} of {len}");
            before = before.then(function);
            assert_eq!(got.inclusive[at], before, "{at} of {len}");
        }
        assert_eq!((got.total, got.reduced), (before, before), "{len}");
    }
}

/// Composes functions of `f32`, which rounds.
pub(crate) fn gives_the_bits_of_the_cpu(gpu: &Gpu) {
    let operator = Rounded::operator();
    let identity = Rounded::IDENTITY;
    for len in sizes() {
        let functions = Rounded::random(len);
        let initial = Rounded::random(1)[0];
        let got = run(gpu, &operator, initial, &functions);
        let mut out = functions.clone();
        let bytes = |functions: &[Rounded]| bytemuck::cast_slice::<Rounded, u8>(functions).to_vec();
        let total = cpu::exclusive(
            identity,
            |item| item,
            Rounded::then,
            initial,
            &functions,
            &mut out,
        );
        assert!(bytes(&got.exclusive) == bytes(&out), "exclusive, {len}");
        assert_eq!(
            bytes(&[got.total]),
            bytes(&[total.unwrap()]),
            "total, {len}"
        );
        cpu::inclusive(
            identity,
            |item| item,
            Rounded::then,
            initial,
            &functions,
            &mut out,
        )
        .unwrap();
        assert!(bytes(&got.inclusive) == bytes(&out), "inclusive, {len}");
        let reduced = cpu::reduce(identity, |item| item, Rounded::then, &functions);
        assert_eq!(
            bytes(&[got.reduced]),
            bytes(&[initial.then(reduced)]),
            "{len}"
        );
    }
}

/// Counts flags of one byte in words of four.
pub(crate) fn converts_items(gpu: &Gpu) {
    let count = flag_count();
    for len in sizes() {
        let mut random = seeded(len as u64);
        let flags: Vec<u8> = (0..len).map(|_| random.random_range(0..3)).collect();
        let got = run(gpu, &count, 100, &flags);
        let mut before = 100;
        for (at, &flag) in flags.iter().enumerate() {
            assert_eq!(got.exclusive[at], before, "{at} of {len}");
            before += u32::from(flag != 0);
        }
        assert_eq!((got.total, got.reduced), (before, before), "{len}");
    }
}

pub(crate) fn reads_its_count_from_the_device(gpu: &Gpu) {
    let stream = &gpu.stream;
    let affine = Affine::operator();
    let scan =
        CustomScan::<Affine, Affine, u64>::new(&gpu.compiler, &gpu.context, &affine).unwrap();
    for capacity in lengths([0, 1, 30_000, (1 << 20) + 3]) {
        let functions = Affine::random(capacity);
        let items = upload(stream, &functions).unwrap();
        let mut workspace = Workspace::with_capacity(stream, capacity).unwrap();
        for count in [0, 1, 4097, capacity, capacity + 1, 1 << 40] {
            let device_count = upload(stream, &[count as u64]).unwrap();
            let counted = Count::on_device(&device_count);
            let (mut out, mut total) = (
                zeroed(stream, capacity).unwrap(),
                zeroed(stream, 1).unwrap(),
            );
            scan.exclusive_with_total(
                stream,
                &items,
                counted,
                &mut out,
                &mut total,
                &mut workspace,
            )
            .unwrap();
            assert_eq!(
                workspace.check(stream).is_err(),
                count > capacity,
                "{count} of {capacity}"
            );
            let mut expected = vec![Affine::default(); capacity];
            let functions = &functions[..count.min(capacity)];
            let identity = affine.identity();
            let all = cpu::exclusive(
                identity,
                |item| item,
                Affine::then,
                identity,
                functions,
                &mut expected,
            );
            assert_eq!(
                download(stream, &total).unwrap(),
                [all.unwrap()],
                "{count} of {capacity}"
            );
            assert!(
                download(stream, &out).unwrap() == expected,
                "{count} of {capacity}"
            );
        }
    }
}

pub(crate) fn replays_captured_calls(gpu: &Gpu) {
    let stream = &gpu.stream;
    let len = lengths([300_000, 40_000])[0];
    let affine = Affine::operator();
    let scan = CustomScan::<Affine>::new(&gpu.compiler, &gpu.context, &affine).unwrap();
    let mut workspace = Workspace::with_capacity(stream, len).unwrap();
    let mut items = zeroed::<Affine>(stream, len).unwrap();
    let mut out = zeroed::<Affine>(stream, len).unwrap();
    let graph = capture(stream, || {
        scan.inclusive(stream, &items, Count::All, &mut out, &mut workspace)
            .unwrap();
    });
    for replay in 0..times(100) {
        let functions = Affine::random(len - replay % 2);
        stream
            .memcpy_htod(&functions, &mut items.slice_mut(..functions.len()))
            .unwrap();
        graph.launch().unwrap();
        let mut expected = functions.clone();
        let identity = affine.identity();
        cpu::inclusive(
            identity,
            |item| item,
            Affine::then,
            identity,
            &functions,
            &mut expected,
        )
        .unwrap();
        assert!(download(stream, &out.slice(..functions.len())).unwrap() == expected);
    }
}

pub(crate) fn names_what_is_missing(gpu: &Gpu) {
    let operator = |text: &str| CustomOperator::new("mine.cuh", text, 0_u32);
    let new =
        |text: &str| CustomReduce::<u32, u8>::new(&gpu.compiler, &gpu.context, &operator(text));
    assert_error(
        new("u32 add(u32 a, u32 b);"),
        "mine.cuh defines no u32 combine(u32, u32)",
    );
    assert_error(
        new("u32 combine(u32 a, u32 b);"),
        "mine.cuh defines no u32 lift(u8)",
    );
    for (text, expected) in OTHER_TYPES {
        let operator = CustomOperator::new("mine.cuh", text, 0.0_f32);
        let expected = format!("mine.cuh defines no {expected}");
        let scan = CustomScan::<f32>::new(&gpu.compiler, &gpu.context, &operator);
        assert_error(scan, &expected);
    }
    // The compiler's log says what is wrong.
    let error =
        new("u32 lift(u8 flag) { return flog; } u32 combine(u32 a, u23 b) { return a + b; }")
            .unwrap_err();
    assert!(matches!(error, Error::Compile { .. }), "{error}");
}
