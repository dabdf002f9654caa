//! Tests of `summed_area`: one test body for all strategies and backends, checked against a naive loop.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/guarded.rs"]
mod guarded;
#[path = "../common/random.rs"]
mod random;
#[path = "../common/spills.rs"]
mod spills;

mod cuda;

use std::{fmt::Debug, sync::Arc};

use compaction::{
    Error,
    cuda::Nvrtc,
    scan::Item,
    summed_area::{Strategy, SummedArea, cpu},
};
use rand::RngExt;

use crate::{
    common::{Share, Tests, add_tests, assert_error, assert_names_are_parsed, is_short, times},
    random::seeded,
};

fn main() {
    let tests = Tests::new()
        .test("the_specification_sums_every_table", || {
            sums_every_table(&Specification)
        })
        .test("the_cpu_sums_every_table", || sums_every_table(&Cpu))
        .test("the_cpu_sums_random_tables", || sums_random_tables(&Cpu))
        .test("the_cpu_sums_large_tables", || sums_large_tables(&Cpu))
        .test("the_cpu_sums_ones_to_areas", || sums_ones_to_areas(&Cpu));
    add_tests!(tests;
        test "" self {
            names_are_parsed, the_cpu_gives_the_bits_of_the_specification, the_cpu_refuses_invalid_sizes,
        }
        nvrtc_shared "" self { kernels_compile_with_few_spills }
        gpu "cuda_" cuda {
            sums_every_table, sums_large_tables, sums_random_tables, works_on_two_streams_at_once,
            sums_ones_to_areas, gives_the_same_bits_in_every_run,
            takes_views_that_start_anywhere, reuses_a_workspace, survives_epoch_wraparound,
            replays_a_captured_table, refuses_invalid_arguments,
        }
        huge "huge_" cuda { sums_a_table_past_32_bits }
    )
    .run()
}

fn names_are_parsed() {
    assert_names_are_parsed(Strategy::ALL);
}

/// Sizes (width, height) around the limits of tiles, of a group of 16 tiles, and of the transposed squares.
const SIZES: &[(usize, usize)] = &[
    (0, 0),
    (0, 5),
    (5, 0),
    (1, 1),
    (1, 300),
    (300, 1),
    (31, 33),
    (64, 64),
    (127, 65),
    (128, 64),
    (129, 63),
    (256, 128),
    (1000, 70),
    (70, 1000),
    (2048, 5),
    (2049, 1025),
    (5, 1030),
    (4100, 66),
];

/// Sizes (width, height) with many more tiles than a GPU runs at once.
const LARGE: &[(usize, usize)] = &[
    (4096, 4096),
    (1, (1 << 20) + 3),
    ((1 << 20) + 3, 1),
    (5000, 3001),
];

/// Compares random sizes and types with the naive loop.
fn sums_random_tables(backend: &impl Backend) {
    for seed in 0..times(300) as u64 {
        let mut random = seeded(seed);
        let magnitude = random.random_range(0..12);
        let width = 1 + random.random_range(0..2 << magnitude);
        let height = 1 + random.random_range(0..(1 << 18) / width);
        match random.random_range(0..4) {
            0 => sums_table::<u32>(backend, (width, height)),
            1 => sums_table::<u64>(backend, (width, height)),
            2 => sums_table::<f32>(backend, (width, height)),
            _ => sums_table::<f64>(backend, (width, height)),
        }
    }
}

/// An item type in which sums of small whole numbers are exact.
trait Number: Item + Debug {
    fn whole(number: u64) -> Self;
    fn add(self, other: Self) -> Self;
}

macro_rules! numbers {
    ($($number:ident, $add:expr);+) => {$(
        impl Number for $number {
            fn whole(number: u64) -> Self {
                number as $number
            }
            fn add(self, other: Self) -> Self {
                $add(self, other)
            }
        }
    )+};
}
numbers!(u32, u32::wrapping_add; u64, u64::wrapping_add; i32, i32::wrapping_add; i64, i64::wrapping_add; f32, |a, b| a + b; f64, |a, b| a + b);

/// Returns whole numbers, small enough that all sums of a floating-point table are exact.
fn items<T: Number>(len: usize, seed: u64) -> Vec<T> {
    let mut random = seeded(seed);
    let bits = if T::whole(u64::MAX) == T::whole(u64::MAX - 1) {
        1
    } else {
        40
    };
    (0..len)
        .map(|_| T::whole(random.random::<u64>() >> (64 - bits)))
        .collect()
}

/// Computes the table naively: sums each row, and adds the sums above.
fn naive<T: Number>(items: &[T], width: usize) -> Vec<T> {
    let mut out = items.to_vec();
    for at in 0..out.len() {
        if at % width > 0 {
            out[at] = out[at - 1].add(out[at]);
        }
    }
    for at in width..out.len() {
        out[at] = out[at - width].add(out[at]);
    }
    out
}

/// The implementation under test: computes a table of the given type with every strategy it has.
trait Backend {
    fn tables<T: Number>(&self, items: &[T], size: (usize, usize)) -> Vec<(String, Vec<T>)>;
}

/// The sequential specification.
struct Specification;
/// The parallel CPU implementation.
struct Cpu;

impl Backend for Specification {
    fn tables<T: Number>(&self, items: &[T], size: (usize, usize)) -> Vec<(String, Vec<T>)> {
        vec![(
            "specification".to_owned(),
            cpu::specification(items, size.0),
        )]
    }
}

impl Backend for Cpu {
    fn tables<T: Number>(&self, items: &[T], size: (usize, usize)) -> Vec<(String, Vec<T>)> {
        let mut out = vec![T::whole(77); items.len() + 9];
        cpu::table(items, size, &mut out).unwrap();
        assert_eq!(
            out[items.len()..],
            [T::whole(77); 9],
            "items behind the table are overwritten"
        );
        out.truncate(items.len());
        vec![("CPU".to_owned(), out)]
    }
}

/// Returns all sizes, or in short tests those of at most 40,000 items.
fn sizes(of: &[(usize, usize)]) -> impl Iterator<Item = (usize, usize)> {
    let max_items = if is_short() { 40_000 } else { usize::MAX };
    of.iter()
        .copied()
        .filter(move |size| size.0 * size.1 <= max_items)
}

fn sums_every_table(backend: &impl Backend) {
    for size in sizes(SIZES) {
        sums_table::<u32>(backend, size);
        sums_table::<i32>(backend, size);
        sums_table::<i64>(backend, size);
        sums_table::<u64>(backend, size);
        sums_table::<f32>(backend, size);
        sums_table::<f64>(backend, size);
    }
}

fn sums_large_tables(backend: &impl Backend) {
    for size in sizes(LARGE) {
        sums_table::<u32>(backend, size);
        sums_table::<f64>(backend, size);
    }
}

/// Computes a table with all strategies, and compares with the naive loop.
fn sums_table<T: Number>(backend: &impl Backend, size: (usize, usize)) {
    let items = items::<T>(size.0 * size.1, size.0 as u64);
    let expected = naive(&items, size.0);
    for (strategy, got) in backend.tables(&items, size) {
        assert_table(&strategy, size, &got, &expected);
    }
}

fn assert_table<T: Number>(case: &str, size: (usize, usize), got: &[T], expected: &[T]) {
    assert_eq!(got.len(), expected.len());
    if let Some(at) = (0..got.len()).find(|&at| got[at] != expected[at]) {
        let place = (at % size.0, at / size.0);
        panic!(
            "{case}: {size:?} {}: at {place:?} {:?}, not {:?}",
            T::NAME,
            got[at],
            expected[at]
        );
    }
}

/// Checks that a table of ones contains the area above and to the left of each place.
fn sums_ones_to_areas(backend: &impl Backend) {
    let size = if is_short() { (133, 217) } else { (1337, 517) };
    for (strategy, got) in backend.tables(&vec![1_u32; size.0 * size.1], size) {
        for (at, got) in got.into_iter().enumerate() {
            assert_eq!(
                got as usize,
                (at % size.0 + 1) * (at / size.0 + 1),
                "{strategy}"
            );
        }
    }
}

/// Returns floats whose sums need rounding.
fn uneven(len: usize) -> Vec<f32> {
    let mut random = seeded(3);
    (0..len)
        .map(|_| (random.random::<u64>() as i64 as f32) * 1e-12)
        .collect()
}

fn the_cpu_gives_the_bits_of_the_specification() {
    for size in [(33, 7), (1025, 700), (3, 50_001), (50_001, 3)] {
        let items = uneven(size.0 * size.1);
        let mut out = vec![0.0; items.len()];
        cpu::table(&items, size, &mut out).unwrap();
        assert!(out == cpu::specification(&items, size.0), "{size:?}");
    }
}

fn the_cpu_refuses_invalid_sizes() {
    let mut out = [7_u32; 5];
    assert_error(cpu::table(&[1; 7], (2, 3), &mut out), "7 instead of 6");
    assert_error(
        cpu::table(&[1; 6], (2, 3), &mut out),
        "room for 5 items where up to 6 may",
    );
    let error = cpu::table(&[1; 6], (usize::MAX, 3), &mut out).unwrap_err();
    assert!(matches!(error, Error::LengthMismatch { .. }), "{error}");
    assert_eq!(out, [7; 5]);
}

fn kernels_compile_with_few_spills(nvrtc: &Arc<Nvrtc>, share: Share) {
    let sources = [
        SummedArea::<u32>::sources(),
        SummedArea::<f32>::sources(),
        SummedArea::<f64>::sources(),
    ];
    spills::compile_with_few_spills(&[75, 90, 120], nvrtc, share, &sources.concat());
}
