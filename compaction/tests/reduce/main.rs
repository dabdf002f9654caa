//! Tests of `reduce`: the CPU and the GPU, checked against a naive loop and against each other.

#[path = "../scan/cases.rs"]
#[allow(dead_code, reason = "the tests of scan use the rest")]
mod cases;
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

mod cuda;

use std::sync::Arc;

use compaction::{
    cuda::Nvrtc,
    reduce::{ArgReduce, Extreme, Operator, Reduce, cpu},
};
use rand::RngExt;

use crate::{
    cases::{Data, Number, SIZES, assert_same, items, naive},
    common::{Share, Tests, add_tests, assert_names_are_parsed, lengths},
    random::seeded,
};

/// Lengths in addition to those of scans: around a segment of a warp, a block, and what one thread combines.
const MORE_SIZES: &[usize] = &[
    1023,
    1025,
    (1 << 15) + 1,
    (1 << 18) + 5,
    256 * 8192 + 1,
    4 << 20,
];

fn main() {
    let tests = Tests::new();
    add_tests!(tests;
        test "" self {
            names_are_parsed, the_cpu_reduces_everything, the_cpu_finds_every_extreme,
            the_cpu_sums_floats_accurately,
        }
        nvrtc_shared "" self { kernels_compile_with_few_spills }
        gpu "cuda_" cuda {
            reduces_everything, gives_the_bits_of_the_cpu, finds_every_extreme, takes_views_that_start_anywhere,
            reads_its_count_from_the_device, starts_from_an_initial_value, reuses_a_workspace, replays_a_captured_call,
            refuses_invalid_arguments,
        }
        huge "huge_" cuda { reduces_past_32_bits }
    )
    .run()
}

fn names_are_parsed() {
    assert_names_are_parsed(Extreme::ALL);
}

fn sizes() -> Vec<usize> {
    lengths(SIZES.iter().chain(MORE_SIZES).copied())
}

/// Calls `check` with items of each length and distribution, and the expected result.
fn each_case<T: Number>(check: impl Fn(Operator, &[T], T, &str)) {
    for &operator in Operator::ALL {
        for len in sizes() {
            for data in [Data::Constant, Data::Random, Data::AnyBits] {
                // Sums of arbitrary floats depend on their order.
                if T::FLOAT && operator == Operator::Sum && data == Data::AnyBits {
                    continue;
                }
                let items = items::<T>(len, data, &mut seeded(len as u64 + 1));
                let before = naive::<T>(operator, &[T::ZERO], false)[0];
                let expected = naive(operator, &items, true).last().copied();
                let case = format!("{operator} of {len} {} {data:?}", T::NAME);
                check(operator, &items, expected.unwrap_or(before), &case);
            }
        }
    }
}

fn the_cpu_reduces_everything() {
    fn all<T: Number>() {
        each_case::<T>(|operator, items, expected, case| {
            assert_same(&[cpu::items(operator, items)], &[expected], case);
        });
    }
    all::<u32>();
    all::<i32>();
    all::<u64>();
    all::<i64>();
    all::<f32>();
    all::<f64>();
}

/// Returns the extreme of the items and its smallest index, by comparing them one after the other.
fn naive_arg<T: Number>(extreme: Extreme, items: &[T]) -> Option<(usize, T)> {
    let mut best: Option<(usize, T)> = None;
    for (index, &item) in items.iter().enumerate() {
        let is_better = |best: T| match extreme {
            Extreme::Min => item.below(best),
            Extreme::Max => best.below(item),
        };
        if !item.is_not_a_number() && best.is_none_or(|(_, best)| is_better(best)) {
            best = Some((index, item));
        }
    }
    best
}

/// Calls `check` with items of each length and distribution, and the expected result.
fn each_arg_case<T: Number>(check: impl Fn(Extreme, &[T], Option<(usize, T)>, &str)) {
    for &extreme in Extreme::ALL {
        for len in sizes() {
            for data in [Data::Constant, Data::Random, Data::AnyBits] {
                let items = items::<T>(len, data, &mut seeded(len as u64 + 2));
                let expected = naive_arg(extreme, &items);
                let case = format!("arg {extreme} of {len} {} {data:?}", T::NAME);
                check(extreme, &items, expected, &case);
            }
        }
    }
    let nans = vec![T::NOT_A_NUMBER.unwrap_or(T::LOWEST); 3];
    for &extreme in Extreme::ALL {
        check(extreme, &nans, naive_arg(extreme, &nans), "only NaN");
    }
}

fn the_cpu_finds_every_extreme() {
    fn all<T: Number>() {
        each_arg_case::<T>(|extreme, items, expected, case| {
            assert_same_arg(cpu::arg(extreme, items), expected, case);
        });
    }
    all::<u32>();
    all::<i32>();
    all::<f32>();
    all::<f64>();
}

fn assert_same_arg<T: Number>(got: Option<(usize, T)>, expected: Option<(usize, T)>, case: &str) {
    let bits = |found: Option<(usize, T)>| {
        found.map(|(index, item)| (index, bytemuck::bytes_of(&item).to_vec()))
    };
    assert_eq!(bits(got), bits(expected), "{case}");
}

/// Checks that the error of a sum grows with the logarithm of the number of items.
fn the_cpu_sums_floats_accurately() {
    let mut random = seeded(9);
    let items: Vec<f32> = (0..(1 << 20) + 77)
        .map(|_| random.random_range(0..1 << 24) as f32 * 1e-7)
        .collect();
    let expected: f64 = items.iter().map(|&item| f64::from(item)).sum();
    let got = f64::from(cpu::items(Operator::Sum, &items));
    // 4 items of a vector, 8 rows, 5 levels of a warp, 8 warps, a block, 5 levels and 8 warps.
    let roundings = 39.0 * 0.5 * f64::from(f32::EPSILON);
    assert!(
        (got - expected).abs() < roundings * expected,
        "{got}, {expected}"
    );
}

fn kernels_compile_with_few_spills(nvrtc: &Arc<Nvrtc>, share: Share) {
    let sources = [
        Reduce::<u32>::sources(Operator::Sum),
        Reduce::<f32, u64>::sources(Operator::Sum),
        Reduce::<f64>::sources(Operator::Sum),
        Reduce::<f64>::sources(Operator::Min),
        ArgReduce::<u32>::sources(Extreme::Min),
        ArgReduce::<f32, u64>::sources(Extreme::Max),
        ArgReduce::<f64>::sources(Extreme::Min),
    ];
    spills::compile_with_few_spills(&[75, 90, 120], nvrtc, share, &sources.concat());
}
