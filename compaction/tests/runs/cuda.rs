//! Tests of runs on a GPU: views, counts in device memory, reused workspaces, graphs, long inputs.

use compaction::{
    Count, CountWord, Error,
    cuda::{download, uninitialised, upload, zeroed},
    runs::{Operator, ReduceByKey, RunLengths, ScanByKey, Unique, Workspace, cpu},
};
use rand::RngExt;

use crate::{
    Lengths,
    backends::{Backend, Cuda},
    cases::{Data, Number, assert_same, items},
    common::{Gpu, assert_error, lengths, times},
    devices::capture,
    random::seeded,
};

pub(crate) fn finds_all_runs(gpu: &Gpu) {
    super::finds_runs(&Backend::Cuda(&Cuda::new(gpu)));
}

pub(crate) fn reduces_all_runs(gpu: &Gpu) {
    super::reduces_runs(&Backend::Cuda(&Cuda::new(gpu)));
}

pub(crate) fn scans_all_runs(gpu: &Gpu) {
    super::scans_runs(&Backend::Cuda(&Cuda::new(gpu)));
}

/// Adds numbers that need rounding.
pub(crate) fn gives_the_bits_of_the_cpu(gpu: &Gpu) {
    fn all<V: Number>(gpu: &Gpu, make: impl Fn(f64) -> V) {
        let cuda = Cuda::new(gpu);
        super::each_case::<u32>(|keys, case| {
            let mut random = seeded(keys.len() as u64);
            let mut value = || make((random.random::<u64>() as i64 as f64) * 1e-12);
            let values: Vec<V> = keys.iter().map(|_| value()).collect();
            let reduce =
                |backend: Backend<'_>| backend.reduce_by_key(Operator::Sum, keys, &values).1;
            assert_same(&reduce(Backend::Cuda(&cuda)), &reduce(Backend::Cpu), case);
            for inclusive in [false, true] {
                let scan = |backend: Backend<'_>| {
                    backend.scan_by_key(Operator::Sum, keys, &values, inclusive)
                };
                assert_same(&scan(Backend::Cuda(&cuda)), &scan(Backend::Cpu), case);
            }
        });
    }
    all::<f32>(gpu, |number| number as f32);
    all::<f64>(gpu, |number| number);
}

pub(crate) fn takes_views_that_start_anywhere(gpu: &Gpu) {
    let mut cuda = Cuda::new(gpu);
    for start in 0..5 {
        for out_start in [0, 1, 2, 3] {
            cuda.starts = (start, out_start);
            let backend = Backend::Cuda(&cuda);
            for len in lengths([1, 5, 4096, 8193, 20_000 + start]) {
                let case = format!("{len} from {start} to {out_start}");
                let keys = Lengths::UpTo(7).keys::<u32>(len, &mut seeded(1));
                let values = items::<f32>(len, Data::Random, &mut seeded(2));
                assert_eq!(backend.unique(&keys), Backend::Cpu.unique(&keys), "{case}");
                assert_eq!(
                    backend.run_lengths(&keys),
                    Backend::Cpu.run_lengths(&keys),
                    "{case}"
                );
                let pairs = |backend: &Backend<'_>| backend.unique_by_key(&keys, &values);
                assert_eq!(pairs(&backend), pairs(&Backend::Cpu), "{case}");
                let sums =
                    |backend: &Backend<'_>| backend.reduce_by_key(Operator::Sum, &keys, &values);
                assert_eq!(sums(&backend), sums(&Backend::Cpu), "{case}");
                let scan = |backend: &Backend<'_>| {
                    backend.scan_by_key(Operator::Sum, &keys, &values, true)
                };
                assert_eq!(scan(&backend), scan(&Backend::Cpu), "{case}");
            }
        }
    }
}

pub(crate) fn reads_its_count_from_the_device(gpu: &Gpu) {
    for capacity in lengths([0, 1, 8193, 30_000, (1 << 22) + 3]) {
        reads_its_count::<u32>(gpu, capacity);
        reads_its_count::<u64>(gpu, capacity);
    }
}

fn reads_its_count<W: CountWord>(gpu: &Gpu, capacity: usize) {
    let stream = &gpu.stream;
    let encode = RunLengths::<u32, W>::new(&gpu.compiler, &gpu.context).unwrap();
    let sums = ReduceByKey::<u32, f32, W>::new(&gpu.compiler, &gpu.context, Operator::Sum).unwrap();
    let keys = Lengths::UpTo(40).keys::<u32>(capacity, &mut seeded(4));
    let values: Vec<f32> = (0..capacity)
        .map(|item| (item % 100) as f32 * 0.1)
        .collect();
    let (device_keys, device_values) = (
        upload(stream, &keys).unwrap(),
        upload(stream, &values).unwrap(),
    );
    let mut workspace = Workspace::with_capacity(stream, capacity).unwrap();
    let mut for_pairs = Workspace::with_capacity(stream, capacity).unwrap();
    // Some counts exceed the number of items and must be clamped. The low 32 bits of the last one are 0.
    let counts = [
        0,
        1,
        4097,
        capacity.saturating_sub(1),
        capacity,
        capacity + 1,
        1 << 40,
    ];
    for count in counts {
        let Some(word) = W::from_len(count) else {
            continue;
        };
        let len = count.min(capacity);
        let device_count = upload(stream, &[W::from_len(7).unwrap(), word]).unwrap();
        let counted = || Count::Device(device_count.slice(1..));
        let mut keys_out = zeroed::<u32>(stream, capacity).unwrap();
        let mut lengths = zeroed::<W>(stream, capacity).unwrap();
        let mut sums_out = zeroed::<f32>(stream, capacity).unwrap();
        let mut runs = zeroed::<W>(stream, 1).unwrap();
        encode
            .items(
                stream,
                &device_keys,
                counted(),
                &mut keys_out,
                &mut lengths,
                &mut runs,
                &mut workspace,
            )
            .unwrap();
        let report = workspace.check(stream);
        assert_eq!(report.is_err(), count > capacity, "{count} of {capacity}");
        if let Err(error) = report {
            let told = count;
            assert!(
                matches!(error, Error::CountTooLarge { what: "an operation on runs", count, .. } if count == told),
                "{error}"
            );
        }
        let (mut expected, mut expected_lengths) = (vec![0; capacity], vec![W::zeroed(); capacity]);
        let expected_runs =
            cpu::run_lengths(&keys[..len], &mut expected, &mut expected_lengths).unwrap();
        assert_eq!(workspace.read(stream, &runs).unwrap(), expected_runs);
        assert_eq!(
            download(stream, &keys_out).unwrap(),
            expected,
            "{count} of {capacity}"
        );
        assert_eq!(
            download(stream, &lengths).unwrap(),
            expected_lengths,
            "{count} of {capacity}"
        );

        sums.pairs(
            stream,
            &device_keys,
            &device_values,
            counted(),
            &mut keys_out,
            &mut sums_out,
            &mut runs,
            &mut for_pairs,
        )
        .unwrap();
        let mut expected_sums = vec![0.0; capacity];
        let (keys, values) = (&keys[..len], &values[..len]);
        cpu::reduce_by_key(
            Operator::Sum,
            keys,
            values,
            &mut expected,
            &mut expected_sums,
        )
        .unwrap();
        assert_eq!(
            download(stream, &runs).unwrap(),
            [W::from_len(expected_runs).unwrap()]
        );
        assert_eq!(
            download(stream, &sums_out).unwrap(),
            expected_sums,
            "{count} of {capacity}"
        );
    }
}

pub(crate) fn starts_from_an_initial_value(gpu: &Gpu) {
    let stream = &gpu.stream;
    let keys = upload(stream, b"aaab").unwrap();
    let values = upload(stream, &[3_u32, 1, 4, 1]).unwrap();
    let mut out = zeroed(stream, 4).unwrap();
    let mut workspace = Workspace::with_capacity(stream, 4).unwrap();
    let scan = ScanByKey::<u8, u32>::new(&gpu.compiler, &gpu.context, Operator::Sum).unwrap();
    let scan = scan.initial(100);
    scan.exclusive(stream, &keys, &values, Count::All, &mut out, &mut workspace)
        .unwrap();
    assert_eq!(download(stream, &out).unwrap(), [100, 103, 104, 100]);
    scan.inclusive(stream, &keys, &values, Count::All, &mut out, &mut workspace)
        .unwrap();
    assert_eq!(download(stream, &out).unwrap(), [103, 104, 108, 101]);
}

/// Enqueues calls of many lengths with one workspace before it reads the results.
pub(crate) fn reuses_a_workspace(gpu: &Gpu) {
    let stream = &gpu.stream;
    let max_len = lengths([1 << 22, 40_000])[0];
    let keys = Lengths::UpTo(9).keys::<u32>(max_len, &mut seeded(3));
    let device_keys = upload(stream, &keys).unwrap();
    let unique = Unique::<u32>::new(&gpu.compiler, &gpu.context).unwrap();
    let mut workspace = Workspace::with_capacity(stream, max_len).unwrap();
    let calls = times(3000);
    let mut out = zeroed::<u32>(stream, max_len).unwrap();
    let mut runs = zeroed::<u32>(stream, calls).unwrap();
    let mut random = seeded(4);
    let mut lens = Vec::new();
    for call in 0..calls {
        let magnitude = random.random_range(0..12);
        let len = 1 + random.random_range(0..max_len >> magnitude);
        let (view, count) = (device_keys.slice(..len), runs.slice_mut(call..call + 1));
        unique
            .items(stream, view, Count::All, &mut out, count, &mut workspace)
            .unwrap();
        lens.push(len);
    }
    let mut before = vec![0];
    before.extend((0..max_len).scan(0, |runs, at| {
        *runs += u32::from(at == 0 || keys[at] != keys[at - 1]);
        Some(*runs)
    }));
    for (got, len) in download(stream, &runs).unwrap().into_iter().zip(lens) {
        assert_eq!(got, before[len], "{len}");
    }
}

/// Checks that states of the first epoch, left by a large call, do not count as new when the epochs start again.
pub(crate) fn survives_epoch_wraparound(gpu: &Gpu) {
    let stream = &gpu.stream;
    let max_len = lengths([1 << 21, 40_000])[0];
    let sums = ReduceByKey::<u32, f64>::new(&gpu.compiler, &gpu.context, Operator::Sum).unwrap();
    let mut workspace = Workspace::with_capacity(stream, max_len).unwrap();
    for call in 0..12 {
        if call == 3 {
            workspace.age(stream, 4).unwrap();
        }
        // Small calls use up the old epochs; large ones come before and after.
        let len = if (3..7).contains(&call) { 5 } else { max_len };
        let keys = Lengths::UpTo(20_000).keys::<u32>(len, &mut seeded(call));
        let values = items::<f64>(len, Data::Random, &mut seeded(call));
        let (device_keys, device_values) = (
            upload(stream, &keys).unwrap(),
            upload(stream, &values).unwrap(),
        );
        let (mut keys_out, mut sums_out) =
            (zeroed(stream, len).unwrap(), zeroed(stream, len).unwrap());
        let mut runs = zeroed::<u32>(stream, 1).unwrap();
        sums.pairs(
            stream,
            &device_keys,
            &device_values,
            Count::All,
            &mut keys_out,
            &mut sums_out,
            &mut runs,
            &mut workspace,
        )
        .unwrap();
        let (mut expected_keys, mut expected) = (vec![0; len], vec![0.0; len]);
        let operator = Operator::Sum;
        cpu::reduce_by_key(operator, &keys, &values, &mut expected_keys, &mut expected).unwrap();
        assert_eq!(
            download(stream, &sums_out).unwrap(),
            expected,
            "call {call}"
        );
    }
}

pub(crate) fn replays_captured_calls(gpu: &Gpu) {
    let stream = &gpu.stream;
    let len = lengths([300_000, 40_000])[0];
    let unique = Unique::<u32>::new(&gpu.compiler, &gpu.context).unwrap();
    let scan = ScanByKey::<u32, u32>::new(&gpu.compiler, &gpu.context, Operator::Sum).unwrap();
    let mut workspace = Workspace::with_capacity(stream, len).unwrap();
    let mut for_pairs = Workspace::with_capacity(stream, len).unwrap();
    let mut device_keys = zeroed::<u32>(stream, len).unwrap();
    let mut count = zeroed::<u32>(stream, 1).unwrap();
    let (mut out, mut runs) = (
        zeroed::<u32>(stream, len).unwrap(),
        zeroed::<u32>(stream, 1).unwrap(),
    );
    let mut prefixes = zeroed::<u32>(stream, len).unwrap();
    let graph = capture(stream, || {
        let counted = || Count::on_device(&count);
        unique
            .items(
                stream,
                &device_keys,
                counted(),
                &mut out,
                &mut runs,
                &mut workspace,
            )
            .unwrap();
        scan.inclusive(
            stream,
            &device_keys,
            &device_keys,
            counted(),
            &mut prefixes,
            &mut for_pairs,
        )
        .unwrap();
    });
    let mut random = seeded(7);
    for _ in 0..times(300) {
        let keys = Lengths::UpTo(50).keys::<u32>(len, &mut random);
        let len = random.random_range(0..len + 1);
        stream.memcpy_htod(&keys, &mut device_keys).unwrap();
        stream.memcpy_htod(&[len as u32], &mut count).unwrap();
        graph.launch().unwrap();
        let expected = Backend::Cpu.unique(&keys[..len]);
        let runs = download(stream, &runs).unwrap()[0] as usize;
        assert_eq!(download(stream, &out.slice(..runs)).unwrap(), expected);
        let keys = &keys[..len];
        let expected = Backend::Cpu.scan_by_key(Operator::Sum, keys, keys, true);
        assert_eq!(download(stream, &prefixes.slice(..len)).unwrap(), expected);
    }
}

pub(crate) fn refuses_invalid_arguments(gpu: &Gpu) {
    let stream = &gpu.stream;
    let unique = Unique::<u32>::new(&gpu.compiler, &gpu.context).unwrap();
    let items = zeroed::<u32>(stream, 8).unwrap();
    let mut out = upload(stream, &[7_u32; 8]).unwrap();
    let mut runs = upload(stream, &[7_u32]).unwrap();
    let mut workspace = Workspace::with_capacity(stream, 7).unwrap();
    let mut call = |count: Count<'_>, room: usize, words: usize| {
        let (out, runs) = (out.slice_mut(..room), runs.slice_mut(..words));
        unique.items(stream, &items, count, out, runs, &mut workspace)
    };
    assert_error(
        call(Count::Given(9), 8, 1),
        "the count given to unique: 9, where 0 to 8",
    );
    assert_error(
        call(Count::Given(7), 6, 1),
        "the output of unique: room for 6 items where up to 7",
    );
    assert_error(
        call(Count::Given(7), 7, 0),
        "the words of the count that unique writes",
    );
    assert_error(
        call(Count::Device(items.slice(8..)), 8, 1),
        "0 instead of 1",
    );
    assert_error(call(Count::All, 8, 1), "a workspace for 7 is used for 8");
    assert_eq!(download(stream, &out).unwrap(), [7; 8]);
    assert_eq!(download(stream, &runs).unwrap(), [7]);

    let sums = ReduceByKey::<u32, u32>::new(&gpu.compiler, &gpu.context, Operator::Sum).unwrap();
    let mut workspace = Workspace::with_capacity(stream, 8).unwrap();
    let mut sums_out = zeroed::<u32>(stream, 8).unwrap();
    let values = items.slice(..7);
    assert_error(
        sums.pairs(
            stream,
            &items,
            values,
            Count::All,
            &mut out,
            &mut sums_out,
            &mut runs,
            &mut workspace,
        ),
        "the values of reduce_by_key: 7 instead of 8",
    );
}

/// Finds runs among more than 2³² keys, all 0 but a few.
pub(crate) fn finds_runs_past_32_bits(gpu: &Gpu) {
    let stream = &gpu.stream;
    let len = (1_usize << 32) + 5;
    let mut keys = uninitialised::<u8>(stream, len).unwrap();
    stream.memset_zeros(&mut keys).unwrap();
    for at in [1 << 31, (1 << 32) - 1, (1 << 32) + 1] {
        stream
            .memcpy_htod(&[1], &mut keys.slice_mut(at..at + 1))
            .unwrap();
    }
    let encode = RunLengths::<u8, u64>::new(&gpu.compiler, &gpu.context).unwrap();
    let mut workspace = Workspace::with_capacity(stream, len).unwrap();
    let mut keys_out = uninitialised::<u8>(stream, len).unwrap();
    let mut lengths = uninitialised::<u64>(stream, len).unwrap();
    let mut runs = zeroed::<u64>(stream, 1).unwrap();
    encode
        .items(
            stream,
            &keys,
            Count::All,
            &mut keys_out,
            &mut lengths,
            &mut runs,
            &mut workspace,
        )
        .unwrap();
    assert_eq!(workspace.read(stream, &runs).unwrap(), 7);
    assert_eq!(
        download(stream, &keys_out.slice(..7)).unwrap(),
        [0, 1, 0, 1, 0, 1, 0]
    );
    let expected = [1 << 31, 1, (1 << 31) - 2, 1, 1, 1, 3];
    assert_eq!(download(stream, &lengths.slice(..7)).unwrap(), expected);
}
