//! Tests of `radix_sort`: one test body for all strategies and backends, checked against the standard library's stable
//! sort.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/guarded.rs"]
mod guarded;
#[path = "../common/random.rs"]
mod random;
#[path = "../common/spills.rs"]
mod spills;

mod argsort;
mod cuda;
mod huge;

use std::{ops::Range, sync::Arc};

use compaction::{
    cuda::Nvrtc,
    radix_sort::{Key, Order, RadixSort, Strategy, TILE_ITEMS, cpu},
};
use rand::RngExt;

use crate::{
    common::{Share, Tests, add_tests, assert_names_are_parsed, is_short, lengths, times},
    cuda::Cuda,
    random::{Random, seeded},
};

const TILE: usize = TILE_ITEMS as usize;

/// Lengths around every limit of an implementation.
const SIZES: &[usize] = &[
    0,             // nothing
    1,             // one key
    33,            // a warp, and one more
    28 * 32 - 1,   // a warp's share of a tile
    28 * 32 + 1,   //
    TILE / 2 + 1,  // a tile of wide keys
    TILE - 1,      // a tile
    TILE,          //
    TILE + 1,      //
    (1 << 14) + 1, // where the CPU begins to use threads
    3 * TILE + 5,  // several tiles
    (1 << 20) + 3, // more tiles than one look back reads at once
];

/// Numbers of entropy reductions of random keys, as in CUB's tests: each clears about half of the set bits; 0 clears
/// none.
const REDUCTIONS: &[u32] = &[0, 1, 3, 9, 15];

const ORDERS: [Order; 2] = [Order::Ascending, Order::Descending];

/// The implementation under test.
pub(crate) enum Backend<'a> {
    Cpu,
    Cuda(&'a Cuda<'a>),
}

/// A key type that can be made from random bits.
pub(crate) trait FromBits: Key + PartialEq + std::fmt::Debug {
    fn from_bits(bits: u64) -> Self;
}
macro_rules! from_bits {
    ($($integer:ident),+) => {$(
        impl FromBits for $integer {
            fn from_bits(bits: u64) -> Self {
                bits as $integer
            }
        }
    )+};
}
from_bits!(u8, u16, u32, u64, i8, i16, i32, i64);

macro_rules! floats_from_bits {
    ($($float:ident of $integer:ident),+) => {$(
        impl FromBits for $float {
            fn from_bits(bits: u64) -> Self {
                // Both zeros, both infinities and NaNs of both signs occur often.
                match bits >> 60 {
                    0 => 0.0,
                    1 => -0.0,
                    2 => $float::INFINITY,
                    3 => $float::NEG_INFINITY,
                    4 => $float::NAN,
                    5 => -$float::NAN,
                    _ => $float::from_bits(bits as $integer),
                }
            }
        }
    )+};
}
floats_from_bits!(f32 of u32, f64 of u64);

/// Returns random keys, after this number of entropy reductions.
fn draw<K: FromBits>(len: usize, reductions: u32, random: &mut Random) -> Vec<K> {
    let mut bits = || {
        (0..reductions).fold(random.random::<u64>(), |bits, _| {
            bits & random.random::<u64>()
        })
    };
    (0..len).map(|_| K::from_bits(bits())).collect()
}

/// Sorts random keys of the type with this number.
fn sorts_type(
    backend: &Backend<'_>,
    kind: usize,
    len: usize,
    reductions: u32,
    order: Order,
    random: &mut Random,
) {
    fn sorts<K: FromBits>(
        backend: &Backend<'_>,
        (len, reductions, order): (usize, u32, Order),
        random: &mut Random,
    ) {
        let keys = draw::<K>(len, reductions, random);
        sorts_keys(backend, &keys, 0..8 * size_of::<K>() as u32, order);
    }
    let case = (len, reductions, order);
    match kind % KINDS {
        0 => sorts::<u32>(backend, case, random),
        1 => sorts::<u64>(backend, case, random),
        2 => sorts::<i32>(backend, case, random),
        3 => sorts::<f32>(backend, case, random),
        4 => sorts::<i64>(backend, case, random),
        5 => sorts::<f64>(backend, case, random),
        6 => sorts::<u8>(backend, case, random),
        7 => sorts::<u16>(backend, case, random),
        8 => sorts::<i8>(backend, case, random),
        _ => sorts::<i16>(backend, case, random),
    }
}
/// Number of key types.
const KINDS: usize = 10;

fn main() {
    let tests = Tests::new()
        .test("the_cpu_sorts", || sorts(&Backend::Cpu))
        .test("the_cpu_sorts_windows_of_bits", || {
            sorts_windows(&Backend::Cpu)
        })
        .test("the_cpu_sorts_in_random_cases", || {
            random_cases(&Backend::Cpu, 300)
        });
    add_tests!(tests;
        test "" self { names_are_parsed, floats_are_in_their_total_order, the_cpu_refuses_invalid_arguments }
        test "" argsort { the_cpu_argsorts }
        gpu "cuda_" argsort { argsorts, argsorts_a_count_from_the_device }
        nvrtc_shared "" self { kernels_compile_with_few_spills }
        gpu "cuda_" cuda {
            sorts, sorts_windows_of_bits, sorts_in_random_cases, sorts_many_keys,
            takes_views_that_start_anywhere, reads_its_count_from_the_device,
            reports_a_count_that_is_too_large, reuses_a_workspace, sorts_on_two_streams_at_once,
            replays_a_captured_sort, refuses_invalid_arguments,
        }
        huge "huge_" huge { around_two_to_the_31, past_two_to_the_32, few_bins }
    )
    .run()
}

fn names_are_parsed() {
    assert_names_are_parsed(Strategy::ALL);
    assert_eq!(Strategy::default(), Strategy::ALL[0]);
}

fn floats_are_in_their_total_order() {
    let mut keys = draw::<f32>(5000, 0, &mut seeded(11));
    let mut out = vec![0.0; keys.len()];
    cpu::keys(Order::Ascending, 0..32, &keys, &mut out).unwrap();
    keys.sort_by(f32::total_cmp);
    let bits = |keys: &[f32]| keys.iter().map(|key| key.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&out), bits(&keys));
}

/// Tests every length with every type, and each with some entropy reductions and both orders.
fn sorts(backend: &Backend<'_>) {
    let mut random = seeded(1);
    let mut cases = 0;
    let reductions = if is_short() { &[0, 9] } else { REDUCTIONS };
    for len in lengths(SIZES.iter().copied()) {
        for &reductions in reductions {
            for order in ORDERS {
                // Long cases alternate between the types.
                let kinds = if is_short() || len > 1 << 18 {
                    1
                } else {
                    KINDS
                };
                for kind in 0..kinds {
                    sorts_type(backend, cases + kind, len, reductions, order, &mut random);
                }
                cases += 1;
            }
        }
        if is_short() {
            continue;
        }
        for key in [0, 0x1234_5678, u32::MAX] {
            sorts_keys::<u32>(backend, &vec![key; len], 0..32, Order::Ascending);
        }
        let ascending: Vec<u32> = (0..len as u32).collect();
        for order in ORDERS {
            sorts_keys::<u32>(backend, &ascending, 0..32, order);
        }
    }
}

/// Tests the bit ranges of CUB's tests, which begin and end at 0, a third, three quarters or all bits, and odd ones.
fn sorts_windows(backend: &Backend<'_>) {
    let mut random = seeded(2);
    for len in lengths([100, TILE + 3, 3 * TILE + 1]) {
        if is_short() {
            for bits in windows(32) {
                sorts_keys::<f32>(backend, &draw(len, 0, &mut random), bits, ORDERS[len % 2]);
            }
            continue;
        }
        for order in ORDERS {
            for bits in windows(32) {
                sorts_keys::<u32>(backend, &draw(len, 0, &mut random), bits.clone(), order);
                sorts_keys::<f32>(backend, &draw(len, 0, &mut random), bits, order);
            }
            for bits in windows(64) {
                sorts_keys::<u64>(backend, &draw(len, 0, &mut random), bits.clone(), order);
                sorts_keys::<f64>(backend, &draw(len, 0, &mut random), bits, order);
            }
            for bits in windows(8) {
                sorts_keys::<u8>(backend, &draw(len, 0, &mut random), bits, order);
            }
        }
    }
}

/// Returns bit ranges within keys of this many bits.
fn windows(bits: u32) -> Vec<Range<u32>> {
    let ends = [0, bits / 3, 3 * bits / 4, bits];
    let pairs = ends
        .into_iter()
        .flat_map(|start| ends.map(|end| start..end));
    let mut windows: Vec<_> = pairs.filter(|window| window.start <= window.end).collect();
    windows.extend([3..4, 5..bits.min(14), bits - 1..bits]);
    windows
}

/// Tests random lengths, types, orders and bit ranges.
fn random_cases(backend: &Backend<'_>, cases: usize) {
    for seed in 0..times(cases) as u64 {
        let mut random = seeded(seed);
        let magnitude = random.random_range(0..if is_short() { 15 } else { 19 });
        let len = random.random_range(0..2 << magnitude);
        let reductions = REDUCTIONS[random.random_range(0..REDUCTIONS.len())];
        let order = ORDERS[random.random_range(0..2)];
        match random.random_range(0..2) {
            0 => sorts_type(
                backend,
                random.random_range(0..KINDS),
                len,
                reductions,
                order,
                &mut random,
            ),
            _ => {
                let start = random.random_range(0..33) as u32;
                let end = start + random.random_range(0..33 - start as usize) as u32;
                let keys = draw::<i32>(len, reductions, &mut random);
                sorts_keys(backend, &keys, start..end, order);
            }
        }
    }
}

/// Sorts keys alone, and with their indices as values, which show whether equal keys keep their order. The indices have
/// 4 bytes, or 8 for keys of 8 bytes.
fn sorts_keys<K: FromBits>(backend: &Backend<'_>, keys: &[K], bits: Range<u32>, order: Order) {
    match backend {
        Backend::Cpu => {
            let mut out = vec![K::zeroed(); keys.len()];
            cpu::keys(order, bits.clone(), keys, &mut out).unwrap();
            check("cpu", keys, &bits, order, &out, None);
            let values: Vec<usize> = (0..keys.len()).collect();
            let mut values_out = vec![0; keys.len()];
            cpu::pairs(
                order,
                bits.clone(),
                keys,
                &values,
                &mut out,
                &mut values_out,
            )
            .unwrap();
            check("cpu", keys, &bits, order, &out, Some(&values_out));
        }
        Backend::Cuda(cuda) => {
            for &strategy in Strategy::ALL {
                let out = cuda.keys(strategy, keys, &bits, order);
                check(strategy.name(), keys, &bits, order, &out, None);
                let (out, values_out) = if size_of::<K>() == 8 {
                    let values: Vec<u64> = (0..keys.len() as u64).collect();
                    cuda.pairs(strategy, keys, &values, &bits, order)
                } else {
                    let values: Vec<u32> = (0..keys.len() as u32).collect();
                    cuda.pairs(strategy, keys, &values, &bits, order)
                };
                check(strategy.name(), keys, &bits, order, &out, Some(&values_out));
            }
        }
    }
}

/// Compares with the standard library's stable sort by the range of bits. `values` are the sorted indices.
fn check<K: FromBits>(
    what: &str,
    keys: &[K],
    bits: &Range<u32>,
    order: Order,
    out: &[K],
    values: Option<&[usize]>,
) {
    let case = format!(
        "{what}, {} {}, bits {bits:?}, {order:?}",
        keys.len(),
        K::NAME
    );
    let numbers: Vec<u64> = keys.iter().map(|key| key.ordered()).collect();
    let expected = sorted_indices(&numbers, bits, order);
    let wrong = expected
        .iter()
        .zip(out)
        .position(|(&index, got)| bytemuck::bytes_of(&keys[index]) != bytemuck::bytes_of(got));
    assert!(
        wrong.is_none() && out.len() == keys.len(),
        "{case}: key {wrong:?} is wrong"
    );
    if let Some(values) = values {
        let wrong = expected
            .iter()
            .zip(values)
            .position(|(left, right)| left != right);
        assert!(wrong.is_none(), "{case}: value {wrong:?} is wrong");
    }
}

/// Returns the order of the keys, given as [`Key::ordered`], by the standard library's stable sort.
fn sorted_indices(numbers: &[u64], bits: &Range<u32>, order: Order) -> Vec<usize> {
    // Only the bits of the range count.
    let above = |bit| u64::MAX.checked_shl(bit).unwrap_or(0);
    let mask = above(bits.start) & !above(bits.end);
    let mut indices: Vec<usize> = (0..numbers.len()).collect();
    indices.sort_by_key(|&index| match order {
        Order::Ascending => numbers[index] & mask,
        Order::Descending => !numbers[index] & mask,
    });
    indices
}

/// Checks that invalid arguments are errors that name the object, and leave the output unchanged.
fn the_cpu_refuses_invalid_arguments() {
    let mut out = [7_u32; 3];
    let mut keys = |keys: &[u32], start, end| {
        let error = cpu::keys(Order::Ascending, Range { start, end }, keys, &mut out);
        error.unwrap_err().to_string()
    };
    assert_eq!(
        keys(&[1; 4], 0, 32),
        "the output of radix_sort: room for 3 items where up to 4 may be written; make it longer"
    );
    assert_eq!(
        keys(&[1; 3], 0, 33),
        "the end of the bits of radix_sort: 33, where 0 to 32 are possible"
    );
    assert_eq!(
        keys(&[1; 3], 9, 8),
        "the end of the bits of radix_sort: 8, where 9 to 32 are possible"
    );
    assert_eq!(
        keys(&[1; 3], 40, 50),
        "the first of the bits of radix_sort: 40, where 0 to 32 are possible"
    );
    let (keys, mut values_out) = ([1_u32; 3], [7; 3]);
    let mut pairs = |values: &[i32], room: usize| {
        let values_out = &mut values_out[..room];
        let error = cpu::pairs(Order::Ascending, 0..32, &keys, values, &mut out, values_out);
        error.unwrap_err().to_string()
    };
    assert_eq!(
        pairs(&[1; 2], 3),
        "the values of radix_sort: 2 instead of 3"
    );
    assert_eq!(
        pairs(&[1; 3], 2),
        "the output of radix_sort: room for 2 items where up to 3 may be written; make it longer"
    );
    assert_eq!((out, values_out), ([7; 3], [7; 3]));
}

fn kernels_compile_with_few_spills(nvrtc: &Arc<Nvrtc>, share: Share) {
    let sources = Strategy::ALL.iter().flat_map(|&strategy| {
        [
            RadixSort::<u32>::sources(Order::Ascending, strategy),
            RadixSort::<u32>::sources_pairs::<u32>(Order::Ascending, strategy),
            RadixSort::<f64>::sources_pairs::<f64>(Order::Descending, strategy),
            RadixSort::<f32>::sources_argsort::<u32>(Order::Descending, strategy),
        ]
    });
    let sources: Vec<_> = sources.flatten().collect();
    // With fewer registers a thread would spill, and with fewer threads a multiprocessor would idle, which costs more.
    spills::compile_with_spills_up_to(128, &[75, 80, 90, 120], nvrtc, share, &sources);
}
