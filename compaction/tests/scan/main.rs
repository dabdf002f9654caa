//! Tests of `scan`: one test body for all strategies and backends, checked against a naive loop.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/guarded.rs"]
mod guarded;
#[path = "../common/random.rs"]
mod random;
#[path = "../common/spills.rs"]
mod spills;

mod backends;
mod cases;
mod cuda;

use std::sync::Arc;

use compaction::{
    cuda::Nvrtc,
    scan::{Operator, Scan, Strategy, cpu},
};
use rand::RngExt;

use crate::{
    backends::Backend,
    cases::{Data, LARGE, Number, SIZES, assert_same, items, naive},
    common::{
        Share, Tests, add_tests, assert_error, assert_names_are_parsed, is_short, lengths, times,
    },
    random::seeded,
};

fn main() {
    let tests = Tests::new()
        .test("the_specification_equals_the_naive_loop", || {
            scans_everything(&Backend::Specification)
        })
        .test("the_cpu_scans_everything", || {
            scans_everything(&Backend::Cpu)
        })
        .test("the_cpu_scans_many_items", || {
            scans_many_items(&Backend::Cpu)
        })
        .test("the_cpu_scans_random_cases", || {
            scans_random_cases(&Backend::Cpu)
        })
        .test("the_cpu_sums_floats_accurately", || {
            sums_floats_accurately(&Backend::Cpu)
        });
    add_tests!(tests;
        test "" self {
            names_are_parsed, the_cpu_refuses_a_short_output, scans_of_two_parts_combine_to_that_of_the_whole,
        }
        nvrtc_shared "" self { kernels_compile_with_few_spills }
        gpu "cuda_" cuda {
            scans_everything, look_ahead_scans_everything, scans_many_items, scans_random_cases, sums_floats_accurately,
            gives_the_bits_of_the_cpu, gives_the_same_bits_in_every_run, takes_views_that_start_anywhere,
            reads_its_count_from_the_device, reuses_a_workspace, survives_epoch_wraparound,
            replays_a_captured_scan, works_on_two_streams_at_once, look_ahead_gives_the_same_bits,
            refuses_invalid_arguments,
        }
        huge "huge_" cuda { scans_past_32_bits }
    )
    .run()
}

fn names_are_parsed() {
    assert_names_are_parsed(Strategy::ALL);
    assert_names_are_parsed(Operator::ALL);
}

/// Tests every type, operator and length, exclusive and inclusive.
fn scans_everything(backend: &Backend<'_>) {
    fn all<T: Number>(backend: &Backend<'_>) {
        for &operator in Operator::ALL {
            for &len in SIZES {
                for data in [Data::Constant, Data::Random, Data::AnyBits] {
                    // Sums of arbitrary floats depend on their order.
                    if !(T::FLOAT && operator == Operator::Sum && data == Data::AnyBits) {
                        scans::<T>(backend, operator, len, data);
                    }
                }
            }
        }
    }
    if is_short() {
        for len in [0, 1, 2, 33, 129, 1337, 4097, 8193, 10_000] {
            scans::<u32>(backend, Operator::Sum, len, Data::Random);
            scans::<f32>(backend, Operator::Min, len, Data::AnyBits);
            scans::<f64>(backend, Operator::Sum, len, Data::Random);
        }
        return;
    }
    all::<u32>(backend);
    all::<i32>(backend);
    all::<u64>(backend);
    all::<i64>(backend);
    all::<f32>(backend);
    all::<f64>(backend);
}

/// Scans many items: on a GPU more tiles than it runs at once, otherwise two million.
fn scans_many_items(backend: &Backend<'_>) {
    let len = match backend {
        Backend::Cuda(_) => LARGE,
        _ => 2 << 20,
    };
    for len in lengths([len]) {
        scans::<u32>(backend, Operator::Sum, len, Data::Random);
        scans::<u64>(backend, Operator::Min, len, Data::Random);
        scans::<f64>(backend, Operator::Sum, len, Data::Random);
        scans::<f32>(backend, Operator::Max, len, Data::AnyBits);
    }
}

/// Scans with all strategies, and compares with the naive loop.
fn scans<T: Number>(backend: &Backend<'_>, operator: Operator, len: usize, data: Data) {
    let items = items::<T>(len, data, &mut seeded(len as u64 + 1));
    for inclusive in [false, true] {
        let expected = naive(operator, &items, inclusive);
        for &strategy in backend.strategies() {
            let got = backend.scan(strategy, operator, &items, inclusive);
            let kind = if inclusive { "inclusive" } else { "exclusive" };
            let case = format!(
                "{kind} {operator} of {len} {} {data:?}, {strategy}",
                T::NAME
            );
            assert_same(&got, &expected, &case);
        }
    }
}

/// Compares random lengths, operators and types with the naive loop.
fn scans_random_cases(backend: &Backend<'_>) {
    for seed in 0..times(300) as u64 {
        let mut random = seeded(seed);
        let magnitude = random.random_range(0..18);
        let len = random.random_range(0..2 << magnitude);
        let operator = Operator::ALL[random.random_range(0..3)];
        match random.random_range(0..5) {
            0 => scans::<u32>(backend, operator, len, Data::Random),
            1 => scans::<i32>(backend, operator, len, Data::Random),
            2 => scans::<u64>(backend, operator, len, Data::Random),
            3 => scans::<f32>(backend, operator, len, Data::Random),
            _ => scans::<f64>(backend, Operator::Min, len, Data::AnyBits),
        }
    }
}

/// Checks that sums of positive numbers are closer to the exact sum than the naive loop guarantees.
fn sums_floats_accurately(backend: &Backend<'_>) {
    let mut random = seeded(9);
    let len = if is_short() { 40_000 } else { (1 << 20) + 77 };
    let items: Vec<f32> = (0..len)
        .map(|_| random.random_range(0..1 << 24) as f32 * 1e-7)
        .collect();
    let wide: Vec<f64> = items.iter().map(|&item| f64::from(item)).collect();
    let expected = naive(Operator::Sum, &wide, true);
    for &strategy in backend.strategies() {
        let got = backend.scan(strategy, Operator::Sum, &items, true);
        for (at, (&got, &expected)) in got.iter().zip(&expected).enumerate() {
            let error = (f64::from(got) - expected).abs() / expected.max(1e-30);
            // The tree and the chain over its tiles cause at most 40 roundings of half a unit in the last place.
            assert!(
                error < 40.0 * 0.5 * f64::from(f32::EPSILON),
                "{strategy}: {got} at {at}, {expected}"
            );
        }
    }
}

fn the_cpu_refuses_a_short_output() {
    let mut out = [7_u32; 3];
    for scan in [cpu::exclusive, cpu::inclusive] {
        assert_error(
            scan(Operator::Sum, &[1; 4], &mut out),
            "room for 3 items where up to 4 may",
        );
        assert_eq!(out, [7; 3]);
    }
}

/// Checks that the scan of the second part continues from the total of the first.
fn scans_of_two_parts_combine_to_that_of_the_whole() {
    let mut random = seeded(11);
    for _ in 0..50 {
        let len = 1 + random.random_range(0..100_000);
        let items = items::<u64>(len, Data::Random, &mut random);
        let (mut whole, mut parts, mut exclusive) = (vec![0; len], vec![0; len], vec![0; len]);
        cpu::inclusive(Operator::Sum, &items, &mut whole).unwrap();
        cpu::exclusive(Operator::Sum, &items, &mut exclusive).unwrap();
        let split = random.random_range(0..len);
        cpu::inclusive(Operator::Sum, &items[..split], &mut parts[..split]).unwrap();
        cpu::inclusive(Operator::Sum, &items[split..], &mut parts[split..]).unwrap();
        let before = if split == 0 { 0 } else { parts[split - 1] };
        for at in 0..len {
            let part = if at < split {
                parts[at]
            } else {
                parts[at].wrapping_add(before)
            };
            assert_eq!(whole[at], part, "item {at} of {len}, split at {split}");
            assert_eq!(
                whole[at],
                exclusive[at].wrapping_add(items[at]),
                "item {at} of {len}"
            );
        }
    }
}

fn kernels_compile_with_few_spills(nvrtc: &Arc<Nvrtc>, share: Share) {
    let sources = [
        Scan::<u32>::sources(Operator::Sum),
        Scan::<i32>::sources(Operator::Max),
        Scan::<u64>::sources(Operator::Min),
        Scan::<f32>::sources(Operator::Min),
        Scan::<f32>::sources(Operator::Sum),
        Scan::<f64>::sources(Operator::Sum),
    ];
    spills::compile_with_few_spills(&[75, 90, 120], nvrtc, share, &sources.concat());
    let look_ahead_sources = [
        Scan::<u32>::sources_look_ahead(Operator::Sum),
        Scan::<u64>::sources_look_ahead(Operator::Min),
        Scan::<f32>::sources_look_ahead(Operator::Sum),
        Scan::<f64>::sources_look_ahead(Operator::Sum),
    ];
    spills::compile_with_few_spills(&[90, 120], nvrtc, share, &look_ahead_sources.concat());
}
