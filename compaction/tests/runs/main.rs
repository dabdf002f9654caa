//! Tests of `runs`: the CPU and the GPU, checked against naive loops and against each other.

#[path = "../scan/cases.rs"]
#[allow(dead_code, reason = "the tests of scan use the rest")]
mod cases;
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/devices.rs"]
mod devices;
#[path = "../common/functions.rs"]
mod functions;
#[path = "../common/guarded.rs"]
mod guarded;
#[path = "../common/item_types.rs"]
mod item_types;
#[path = "../common/random.rs"]
mod random;
#[path = "../common/spills.rs"]
mod spills;

mod backends;
mod cuda;
mod own_operator;

use std::sync::Arc;

use compaction::{
    cuda::Nvrtc,
    layout::Shared,
    runs::{Operator, ReduceByKey, RunLengths, ScanByKey, Unique, UniqueByKey},
};
use rand::RngExt;

use crate::{
    backends::Backend,
    cases::{Data, Number, assert_same, items},
    common::{Share, Tests, add_tests, is_short, lengths},
    item_types::{Bytes7, Words3, Words16},
    random::{Random, seeded},
};

/// Lengths around a quad, a row, a warp's share and a tile, for tiles of 1,024 to 8,192 items.
const SIZES: &[usize] = &[
    0,
    1,
    2,
    3,
    4,
    5,
    31,
    127,
    128,
    129,
    511,
    513,
    1023,
    1024,
    1025,
    2049,
    4095,
    4096,
    4097,
    8191,
    8192,
    8193,
    10_000,
    40_000,
    (1 << 16) + 1,
    300_000,    // more tiles than one look-back reads at once
    140 * 4096, // more tiles than a group
    (1 << 20) + 3,
];

/// The distribution of the lengths of runs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Lengths {
    /// All items are one run.
    Endless,
    /// Every run has this many items.
    Fixed(usize),
    /// 1 to this many items.
    UpTo(usize),
}

const LENGTHS: &[Lengths] = &[
    Lengths::Endless,
    Lengths::Fixed(1),
    Lengths::Fixed(8),
    Lengths::Fixed(4096),
    Lengths::UpTo(3),
    Lengths::UpTo(100),
    Lengths::UpTo(30_000),
];

impl Lengths {
    /// Returns for each item the number of its run. Numbers of adjacent runs differ in one byte only, sometimes in the
    /// last one.
    fn numbers(self, len: usize, random: &mut Random) -> Vec<u32> {
        let mut numbers = Vec::with_capacity(len);
        let mut run = 0_u32;
        while numbers.len() < len {
            let left = len - numbers.len();
            let items = match self {
                Self::Endless => left,
                Self::Fixed(items) => items,
                Self::UpTo(most) => random.random_range(1..=most),
            };
            numbers.extend(std::iter::repeat_n(run, items.min(left)));
            run += 1;
        }
        numbers
    }

    /// Returns keys in runs of these lengths.
    pub(crate) fn keys<K: Shared>(self, len: usize, random: &mut Random) -> Vec<K> {
        let numbers = self.numbers(len, random);
        let key = |number: u32| {
            let mut key = K::zeroed();
            let bytes = bytemuck::bytes_of_mut(&mut key);
            // Another byte changes with each run.
            let place = number as usize % bytes.len();
            bytes[place] = 1 + (number % 255) as u8;
            key
        };
        numbers.into_iter().map(key).collect()
    }
}

fn main() {
    let tests = Tests::new();
    add_tests!(tests;
        test "the_cpu_" self {
            finds_all_runs, reduces_all_runs, scans_all_runs,
        }
        nvrtc_shared "" self { kernels_compile_with_few_spills }
        gpu "cuda_" cuda {
            finds_all_runs, reduces_all_runs, scans_all_runs, gives_the_bits_of_the_cpu, takes_views_that_start_anywhere,
            reads_its_count_from_the_device, starts_from_an_initial_value, reuses_a_workspace, survives_epoch_wraparound,
            replays_captured_calls, refuses_invalid_arguments,
        }
        test "own_operators_" own_operator { the_cpu_keeps_the_order }
        gpu "cuda_own_operators_" own_operator { agrees_with_the_cpu }
        huge "huge_" cuda { finds_runs_past_32_bits }
    )
    .run()
}

fn finds_all_runs() {
    finds_runs(&Backend::Cpu);
}

fn reduces_all_runs() {
    reduces_runs(&Backend::Cpu);
}

fn scans_all_runs() {
    scans_runs(&Backend::Cpu);
}

/// Calls `check` with keys of each length and distribution.
fn each_case<K: Shared>(check: impl Fn(&[K], &str)) {
    let sizes = SIZES.iter().copied();
    let sizes =
        sizes.filter(|&len| !is_short() || [0, 1, 5, 129, 4097, 8193, 40_000].contains(&len));
    for len in lengths(sizes) {
        for (number, &runs) in LENGTHS.iter().enumerate() {
            // Long inputs take long: each has two of the distributions.
            if len > 40_000 && (number + len) % LENGTHS.len() > 1 {
                continue;
            }
            let keys = runs.keys(len, &mut seeded(len as u64));
            check(&keys, &format!("{len} {} in runs of {runs:?}", K::NAME));
        }
    }
}

/// Returns the first index and the length of each run.
fn naive_runs<K: Shared>(keys: &[K]) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for at in 0..keys.len() {
        let same = at > 0 && bytemuck::bytes_of(&keys[at]) == bytemuck::bytes_of(&keys[at - 1]);
        match runs.last_mut() {
            Some((_, length)) if same => *length += 1,
            _ => runs.push((at, 1)),
        }
    }
    runs
}

fn assert_bytes<T: Shared>(got: &[T], expected: &[T], case: &str) {
    assert_eq!(got.len(), expected.len(), "{case}");
    let bytes = |item: &T| bytemuck::bytes_of(item).to_vec();
    let wrong = (0..got.len()).find(|&at| bytes(&got[at]) != bytes(&expected[at]));
    assert_eq!(wrong, None, "{case}");
}

/// Tests unique items and run lengths of keys of many sizes.
fn finds_runs(backend: &Backend<'_>) {
    fn all<K: Shared + Send + Sync, V: Number>(backend: &Backend<'_>) {
        each_case::<K>(|keys, case| {
            let runs = naive_runs(keys);
            let firsts: Vec<K> = runs.iter().map(|&(first, _)| keys[first]).collect();
            assert_bytes(&backend.unique(keys), &firsts, case);

            let (got, lengths) = backend.run_lengths(keys);
            let expected: Vec<u32> = runs.iter().map(|&(_, length)| length as u32).collect();
            assert_bytes(&got, &firsts, case);
            assert_bytes(&lengths, &expected, case);

            let values = items::<V>(keys.len(), Data::AnyBits, &mut seeded(3));
            let (got, got_values) = backend.unique_by_key(keys, &values);
            let expected: Vec<V> = runs.iter().map(|&(first, _)| values[first]).collect();
            assert_bytes(&got, &firsts, case);
            assert_bytes(&got_values, &expected, case);
        });
    }
    all::<u32, u32>(backend);
    all::<u8, f64>(backend);
    all::<f64, u32>(backend);
    all::<Words3, u64>(backend);
    all::<Words3, i64>(backend);
    all::<Bytes7, u32>(backend);
    all::<Words16, u32>(backend);
}

/// Combines the values of each run naively.
fn naive_sums<K: Shared, V: Number>(operator: Operator, keys: &[K], values: &[V]) -> Vec<V> {
    let runs = naive_runs(keys).into_iter();
    let sum = |(first, length): (usize, usize)| {
        let prefixes = cases::naive(operator, &values[first..first + length], true);
        prefixes[length - 1]
    };
    runs.map(sum).collect()
}

/// Whether a case has values whose combination does not depend on the order.
fn is_exact<V: Number>(operator: Operator, data: Data) -> bool {
    !(V::FLOAT && operator == Operator::Sum && data == Data::AnyBits)
}

fn reduces_runs(backend: &Backend<'_>) {
    fn all<K: Shared + Send + Sync, V: Number>(backend: &Backend<'_>) {
        each_case::<K>(|keys, case| {
            for &operator in Operator::ALL {
                for data in [Data::Random, Data::AnyBits] {
                    if !is_exact::<V>(operator, data) || is_short() && data == Data::Random {
                        continue;
                    }
                    let values = items::<V>(keys.len(), data, &mut seeded(5));
                    let runs = naive_runs(keys).into_iter();
                    let firsts: Vec<K> = runs.map(|(first, _)| keys[first]).collect();
                    let (got, sums) = backend.reduce_by_key(operator, keys, &values);
                    assert_bytes(&got, &firsts, case);
                    let expected = naive_sums(operator, keys, &values);
                    assert_same(&sums, &expected, &format!("{operator} of {case}"));
                }
            }
        });
    }
    all::<u32, u32>(backend);
    all::<u8, f32>(backend);
    all::<u64, f64>(backend);
    all::<Words16, i32>(backend);
}

fn scans_runs(backend: &Backend<'_>) {
    fn all<K: Shared + Send + Sync, V: Number>(backend: &Backend<'_>) {
        each_case::<K>(|keys, case| {
            for &operator in Operator::ALL {
                for inclusive in [false, true] {
                    for data in [Data::Random, Data::AnyBits] {
                        if !is_exact::<V>(operator, data) || is_short() && data == Data::Random {
                            continue;
                        }
                        let values = items::<V>(keys.len(), data, &mut seeded(5));
                        let got = backend.scan_by_key(operator, keys, &values, inclusive);
                        let runs = naive_runs(keys).into_iter();
                        let expected: Vec<V> = runs
                            .flat_map(|(first, length)| {
                                cases::naive(operator, &values[first..first + length], inclusive)
                            })
                            .collect();
                        assert_same(&got, &expected, &format!("{operator} of {case}"));
                    }
                }
            }
        });
    }
    all::<u32, u32>(backend);
    all::<u8, f32>(backend);
    all::<u64, f64>(backend);
    all::<Words16, i32>(backend);
}

fn kernels_compile_with_few_spills(nvrtc: &Arc<Nvrtc>, share: Share) {
    let sources = [
        Unique::<u8>::sources(),
        Unique::<u32>::sources(),
        Unique::<u64, u64>::sources(),
        UniqueByKey::<u32, u32>::sources(),
        UniqueByKey::<u64, Words3, u64>::sources(),
        RunLengths::<u32>::sources(),
        RunLengths::<u64, u64>::sources(),
        ReduceByKey::<u32, u32>::sources(Operator::Sum),
        ReduceByKey::<u32, f32, u64>::sources(Operator::Sum),
        ReduceByKey::<u64, f64>::sources(Operator::Sum),
        ReduceByKey::<u8, f32>::sources(Operator::Min),
        ScanByKey::<u32, u32>::sources(Operator::Sum),
        ScanByKey::<u32, f32, u64>::sources(Operator::Sum),
        ScanByKey::<u64, f64>::sources(Operator::Max),
    ];
    spills::compile_with_few_spills(&[75, 90, 120], nvrtc, share, &sources.concat());
    let wide = [
        Unique::<Words16>::sources(),
        RunLengths::<Words16>::sources(),
        ReduceByKey::<Words16, f64>::sources(Operator::Sum),
        ScanByKey::<Words16, f64, u64>::sources(Operator::Sum),
    ];
    spills::compile_with_few_spills(&[75, 90, 120], nvrtc, share, &wide.concat());
    spills::compile_with_few_spills(&[75, 90, 120], nvrtc, share, &own_operator::sources());
}
