//! `radix_sort`: one body over all strategies and backends, against the standard library's stable sort.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/guarded.rs"]
mod guarded;
#[path = "../common/random.rs"]
mod random;
#[path = "../common/spills.rs"]
mod spills;

mod cuda;
mod huge;

use std::{ops::Range, sync::Arc};

use compaction::{
    cuda::Nvrtc,
    radix_sort::{Key, Order, RadixSort, Strategy, TILE_ITEMS, cpu},
};

use crate::{
    common::{Tests, is_short, lengths, times},
    cuda::Cuda,
    random::Random,
};

const TILE: usize = TILE_ITEMS as usize;

/// Around every border that an implementation has.
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

/// How often bits of random keys are cleared, as CUB's tests reduce entropy: 0 keeps them all.
const REDUCTIONS: &[u32] = &[0, 1, 3, 9, 15];

const BOTH: [Order; 2] = [Order::Ascending, Order::Descending];

/// What computes.
pub(crate) enum Backend<'a> {
    Cpu,
    Cuda(&'a Cuda<'a>),
}

/// A key that tests can make of bits.
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
                // Both zeros, both infinities and NaNs of both signs come often.
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

fn draw<K: FromBits>(len: usize, reductions: u32, random: &mut Random) -> Vec<K> {
    let mut bits = || (0..reductions).fold(random.next(), |bits, _| bits & random.next());
    (0..len).map(|_| K::from_bits(bits())).collect()
}

/// Keys of the type of this number.
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
/// Types of keys.
const KINDS: usize = 10;

fn main() {
    Tests::new()
        .test("strategies_are_known_by_their_names", names)
        .test(
            "floats_are_in_their_total_order",
            floats_are_in_their_total_order,
        )
        .test("the_cpu_sorts", || sorts(&Backend::Cpu))
        .test("the_cpu_sorts_windows_of_bits", || {
            sorts_windows(&Backend::Cpu)
        })
        .test("the_cpu_sorts_in_random_cases", || {
            random_cases(&Backend::Cpu, 300)
        })
        .test(
            "the_cpu_refuses_what_does_not_fit",
            refuses_what_does_not_fit,
        )
        .nvrtc("kernels_compile_with_few_spills", compile_with_few_spills)
        .gpu("cuda_sorts", cuda::sorts)
        .gpu("cuda_sorts_windows_of_bits", cuda::sorts_windows)
        .gpu("cuda_sorts_in_random_cases", cuda::random_cases)
        .gpu("cuda_sorts_many_keys", cuda::sorts_many_keys)
        .gpu(
            "cuda_takes_views_that_start_anywhere",
            cuda::starts_anywhere,
        )
        .gpu(
            "cuda_reads_its_count_from_the_device",
            cuda::counts_on_the_device,
        )
        .gpu(
            "cuda_reports_a_count_that_says_too_much",
            cuda::reports_too_much,
        )
        .gpu("cuda_uses_a_workspace_over_and_over", cuda::over_and_over)
        .gpu("cuda_sorts_on_two_streams_at_once", cuda::two_streams)
        .gpu("cuda_replays_a_captured_sort", cuda::replays)
        .gpu(
            "cuda_refuses_what_does_not_fit",
            cuda::refuses_what_does_not_fit,
        )
        .huge("huge_around_two_to_the_31", huge::around_two_to_the_31)
        .huge("huge_past_two_to_the_32", huge::past_two_to_the_32)
        .huge("huge_bins_past_two_to_the_32", huge::few_bins)
        .run()
}

fn names() {
    for &strategy in Strategy::ALL {
        assert_eq!(strategy.to_string().parse(), Ok(strategy));
    }
    assert_eq!(Strategy::default(), Strategy::ALL[0]);
    let error = "bubble".parse::<Strategy>().unwrap_err().to_string();
    for strategy in Strategy::ALL {
        assert!(error.contains(strategy.name()), "{error}");
    }
}

fn floats_are_in_their_total_order() {
    let mut keys = draw::<f32>(5000, 0, &mut Random(11));
    let mut out = vec![0.0; keys.len()];
    cpu::keys(Order::Ascending, 0..32, &keys, &mut out).unwrap();
    keys.sort_by(f32::total_cmp);
    let bits = |keys: &[f32]| keys.iter().map(|key| key.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&out), bits(&keys));
}

/// Every size with every type, and each with some of the others' reductions and both orders.
fn sorts(backend: &Backend<'_>) {
    let mut random = Random(1);
    let mut cases = 0;
    let reductions = if is_short() { &[0, 9] } else { REDUCTIONS };
    for len in lengths(SIZES.iter().copied()) {
        for &reductions in reductions {
            for order in BOTH {
                // Where each takes long, they go round the types.
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
        for order in BOTH {
            sorts_keys::<u32>(backend, &ascending, 0..32, order);
        }
    }
}

/// CUB's windows: from none, a third or three quarters of the bits to all of them; and odd ones.
fn sorts_windows(backend: &Backend<'_>) {
    let mut random = Random(2);
    for len in lengths([100, TILE + 3, 3 * TILE + 1]) {
        if is_short() {
            for bits in windows(32) {
                sorts_keys::<f32>(backend, &draw(len, 0, &mut random), bits, BOTH[len % 2]);
            }
            continue;
        }
        for order in BOTH {
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

fn windows(bits: u32) -> Vec<Range<u32>> {
    let ends = [0, bits / 3, 3 * bits / 4, bits];
    let pairs = ends
        .into_iter()
        .flat_map(|start| ends.map(|end| start..end));
    let mut windows: Vec<_> = pairs.filter(|window| window.start <= window.end).collect();
    windows.extend([3..4, 5..bits.min(14), bits - 1..bits]);
    windows
}

/// Random lengths, types, orders and windows.
fn random_cases(backend: &Backend<'_>, cases: usize) {
    for seed in 0..times(cases) as u64 {
        let mut random = Random(seed);
        let magnitude = random.below(if is_short() { 15 } else { 19 });
        let len = random.below(2 << magnitude);
        let reductions = REDUCTIONS[random.below(REDUCTIONS.len())];
        let order = BOTH[random.below(2)];
        match random.below(2) {
            0 => sorts_type(
                backend,
                random.below(KINDS),
                len,
                reductions,
                order,
                &mut random,
            ),
            _ => {
                let start = random.below(33) as u32;
                let end = start + random.below(33 - start as usize) as u32;
                let keys = draw::<i32>(len, reductions, &mut random);
                sorts_keys(backend, &keys, start..end, order);
            }
        }
    }
}

/// Keys alone, and keys with their indices, which show that equal ones keep their order. The indices have 4 bytes, or 8
/// if the keys have.
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

/// Against the standard library's stable sort by the window's bits. `values` are the sorted indices.
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
    let number = |&index: &usize| {
        let ordered = keys[index].ordered();
        let ordered = if order == Order::Descending {
            !ordered
        } else {
            ordered
        };
        // Only the window's bits, wherever they stand.
        let above = |bit| u64::MAX.checked_shl(bit).unwrap_or(0);
        ordered & above(bits.start) & !above(bits.end)
    };
    let mut expected: Vec<usize> = (0..keys.len()).collect();
    expected.sort_by_key(number);
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

/// By an error that names the object, and the output stays as it is.
fn refuses_what_does_not_fit() {
    let mut out = [7_u32; 3];
    let mut keys = |keys: &[u32], start, end| {
        let error = cpu::keys(Order::Ascending, Range { start, end }, keys, &mut out);
        error.unwrap_err().to_string()
    };
    assert_eq!(
        keys(&[1; 4], 0, 32),
        "the output of radix_sort: room for 3 items where up to 4 may be written"
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
        "the output of radix_sort: room for 2 items where up to 3 may be written"
    );
    assert_eq!((out, values_out), ([7; 3], [7; 3]));
}

fn compile_with_few_spills(nvrtc: &Arc<Nvrtc>) {
    let sources = Strategy::ALL.iter().flat_map(|&strategy| {
        [
            RadixSort::<u32>::sources(Order::Ascending, strategy),
            RadixSort::<u32>::sources_pairs::<u32>(Order::Ascending, strategy),
            RadixSort::<f64>::sources_pairs::<f64>(Order::Descending, strategy),
        ]
    });
    let sources: Vec<_> = sources.flatten().collect();
    // With fewer registers a thread spills, with fewer threads a multiprocessor idles, which costs more.
    spills::compile_with_spills_up_to(128, &[75, 80, 86, 90, 120], nvrtc, &sources);
}
