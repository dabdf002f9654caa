//! `radix_sort`: one body over all strategies and backends, against the standard library's stable sort.

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/guarded.rs"]
mod guarded;
#[path = "../common/random.rs"]
mod random;

mod cuda;

use std::{ops::Range, sync::Arc};

use compaction::{
    Error,
    cuda::{Nvrtc, Target},
    radix_sort::{self, Key, Order, Strategy, TILE_ITEMS, cpu},
};

use crate::{common::Tests, cuda::Cuda, random::Random};

const TILE: usize = TILE_ITEMS as usize;

/// Around every border that an implementation has.
const SIZES: &[usize] = &[
    0,             // nothing
    1,             // one key
    33,            // a warp, and one more
    511,           // a warp's share of a tile
    513,           //
    TILE / 2 + 1,  // a tile of wide keys
    TILE - 1,      // a tile
    TILE,          //
    TILE + 1,      //
    (1 << 14) + 1, // where the CPU begins to use threads
    9 * TILE + 5,  // several tiles
    (1 << 20) + 3, // more tiles than one look back reads at once
];

/// How often bits of random keys are cleared, as CUB's tests reduce entropy: 0 keeps them all.
const REDUCTIONS: &[u32] = &[0, 1, 3, 9];

/// What computes.
pub(crate) enum Backend<'a> {
    Cpu,
    Cuda(&'a Cuda<'a>),
}

/// A key that tests can make of bits.
pub(crate) trait FromBits: Key + PartialEq + std::fmt::Debug {
    fn from_bits(bits: u64) -> Self;
}
impl FromBits for u32 {
    fn from_bits(bits: u64) -> Self {
        bits as u32
    }
}
impl FromBits for u64 {
    fn from_bits(bits: u64) -> Self {
        bits
    }
}
impl FromBits for i32 {
    fn from_bits(bits: u64) -> Self {
        bits as i32
    }
}
impl FromBits for f32 {
    fn from_bits(bits: u64) -> Self {
        // Both zeros, both infinities and NaNs of both signs come often.
        match bits >> 60 {
            0 => 0.0,
            1 => -0.0,
            2 => f32::INFINITY,
            3 => f32::NEG_INFINITY,
            4 => f32::NAN,
            5 => -f32::NAN,
            _ => f32::from_bits(bits as u32),
        }
    }
}

fn draw<K: FromBits>(len: usize, reductions: u32, random: &mut Random) -> Vec<K> {
    let mut bits = || (0..reductions).fold(random.next(), |bits, _| bits & random.next());
    (0..len).map(|_| K::from_bits(bits())).collect()
}

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
            random_cases(&Backend::Cpu, 100)
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
        .gpu("cuda_uses_a_workspace_over_and_over", cuda::over_and_over)
        .gpu("cuda_replays_a_captured_sort", cuda::replays)
        .gpu(
            "cuda_refuses_what_does_not_fit",
            cuda::refuses_what_does_not_fit,
        )
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
    cpu::keys(&keys, 0..32, Order::Ascending, &mut out).unwrap();
    keys.sort_by(f32::total_cmp);
    let bits = |keys: &[f32]| keys.iter().map(|key| key.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&out), bits(&keys));
}

fn sorts(backend: &Backend<'_>) {
    let mut random = Random(1);
    for &len in SIZES {
        for &reductions in REDUCTIONS {
            for order in [Order::Ascending, Order::Descending] {
                sorts_keys::<u32>(backend, &draw(len, reductions, &mut random), 0..32, order);
                sorts_keys::<u64>(backend, &draw(len, reductions, &mut random), 0..64, order);
                sorts_keys::<i32>(backend, &draw(len, reductions, &mut random), 0..32, order);
                sorts_keys::<f32>(backend, &draw(len, reductions, &mut random), 0..32, order);
            }
        }
        sorts_keys::<u32>(backend, &vec![0x1234_5678; len], 0..32, Order::Ascending);
        sorts_keys::<u32>(backend, &vec![u32::MAX; len], 0..32, Order::Ascending);
    }
}

/// CUB's windows: from none, a third or three quarters of the bits to all of them; and odd ones.
fn sorts_windows(backend: &Backend<'_>) {
    let mut random = Random(2);
    for len in [100, TILE + 3, 3 * TILE + 1] {
        for order in [Order::Ascending, Order::Descending] {
            for bits in windows(32) {
                sorts_keys::<u32>(backend, &draw(len, 0, &mut random), bits.clone(), order);
                sorts_keys::<f32>(backend, &draw(len, 0, &mut random), bits, order);
            }
            for bits in windows(64) {
                sorts_keys::<u64>(backend, &draw(len, 0, &mut random), bits, order);
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
    windows.extend([3..4, 5..14, bits - 1..bits]);
    windows
}

fn random_cases(backend: &Backend<'_>, cases: u64) {
    for seed in 0..cases {
        let mut random = Random(seed);
        let magnitude = random.below(19);
        let len = random.below(2 << magnitude);
        let reductions = REDUCTIONS[random.below(REDUCTIONS.len())];
        let order = [Order::Ascending, Order::Descending][random.below(2)];
        match random.below(4) {
            0 => sorts_keys::<u32>(backend, &draw(len, reductions, &mut random), 0..32, order),
            1 => sorts_keys::<i32>(backend, &draw(len, reductions, &mut random), 0..32, order),
            2 => sorts_keys::<f32>(backend, &draw(len, reductions, &mut random), 0..32, order),
            _ => sorts_keys::<u64>(backend, &draw(len, reductions, &mut random), 0..64, order),
        }
    }
}

/// Keys alone, and keys with their indices, which show that equal ones keep their order.
fn sorts_keys<K: FromBits>(backend: &Backend<'_>, keys: &[K], bits: Range<u32>, order: Order) {
    let values: Vec<u32> = (0..keys.len() as u32).collect();
    match backend {
        Backend::Cpu => {
            let mut out = vec![K::zeroed(); keys.len()];
            cpu::keys(keys, bits.clone(), order, &mut out).unwrap();
            check("cpu", keys, &bits, order, &out, None);
            let mut values_out = vec![0; keys.len()];
            cpu::pairs(
                keys,
                &values,
                bits.clone(),
                order,
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
                let (out, values_out) = cuda.pairs(strategy, keys, &values, &bits, order);
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
    values: Option<&[u32]>,
) {
    let case = format!(
        "{what}, {} {}, bits {bits:?}, {order:?}",
        keys.len(),
        K::NAME
    );
    let number = |index: &u32| {
        let ordered = keys[*index as usize].ordered();
        let ordered = if order == Order::Descending {
            !ordered
        } else {
            ordered
        };
        // Only the window's bits, wherever they stand.
        let above = |bit| u64::MAX.checked_shl(bit).unwrap_or(0);
        ordered & above(bits.start) & !above(bits.end)
    };
    let mut expected: Vec<u32> = (0..keys.len() as u32).collect();
    expected.sort_by_key(number);
    let bytes = |key: &K| bytemuck::bytes_of(key).to_vec();
    let wrong = expected
        .iter()
        .zip(out)
        .position(|(&index, got)| bytes(&keys[index as usize]) != bytes(got));
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

fn refuses_what_does_not_fit() {
    let mut out = [7_u32; 3];
    let error = cpu::keys(&[1_u32; 4], 0..32, Order::Ascending, &mut out).unwrap_err();
    assert!(
        matches!(
            error,
            Error::OutputTooShort {
                needed: 4,
                got: 3,
                ..
            }
        ),
        "{error}"
    );
    let error = cpu::keys(&[1_u32; 3], 0..33, Order::Ascending, &mut out).unwrap_err();
    assert!(
        matches!(
            error,
            Error::TooLong {
                len: 33,
                max: 32,
                ..
            }
        ),
        "{error}"
    );
    let error = cpu::keys(
        &[1_u32; 3],
        Range { start: 9, end: 8 },
        Order::Ascending,
        &mut out,
    )
    .unwrap_err();
    assert!(
        matches!(
            error,
            Error::LengthMismatch {
                expected: 9,
                got: 8,
                ..
            }
        ),
        "{error}"
    );
    let error = cpu::pairs(
        &[1_u32; 3],
        &[1; 2],
        0..32,
        Order::Ascending,
        &mut out,
        &mut [0; 3],
    )
    .unwrap_err();
    assert!(
        matches!(
            error,
            Error::LengthMismatch {
                expected: 3,
                got: 2,
                ..
            }
        ),
        "{error}"
    );
    assert_eq!(out, [7; 3]);
}

/// For every architecture that this NVRTC knows among those supported.
fn compile_with_few_spills(nvrtc: &Arc<Nvrtc>) {
    let sources = Strategy::ALL.iter().flat_map(|&strategy| {
        [false, true].into_iter().flat_map(move |values| {
            [
                radix_sort::source::<u32>(strategy, Order::Ascending, values),
                radix_sort::source::<u64>(strategy, Order::Descending, values),
                radix_sort::source::<f32>(strategy, Order::Descending, values),
            ]
        })
    });
    let sources: Vec<_> = sources.collect();
    for capability in [75, 80, 86, 90, 120] {
        for source in &sources {
            let Some(target) = nvrtc.target(capability) else {
                continue;
            };
            let compiled = nvrtc
                .compile(source, target)
                .unwrap_or_else(|error| panic!("{error}"));
            if let Target::Cubin(_) = target {
                for kernel in compiled.usage() {
                    // Two blocks of onesweep fit on a multiprocessor with 64 registers a thread. Their few spills cost less
                    // than fewer warps do: example order_speed, 384 threads with 128 registers.
                    assert!(kernel.spill_store_bytes <= 128, "{kernel:?} for {target}");
                }
            }
        }
    }
}
