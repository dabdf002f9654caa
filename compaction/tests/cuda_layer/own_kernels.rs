//! Kernels of a stranger that use `<compaction/block.cuh>`.

use std::{fmt::Debug, sync::Arc};

use compaction::{
    Error,
    cuda::{self, In, InOut, Kernel, Launch, Nvrtc, Source},
    layout::Shared,
    look_back::TileStates,
};
use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};

use crate::common::{Gpu, assert_error};

/// Scans items in one launch, over all blocks and over each warp.
const SCAN: &str = r#"
#include <compaction/block.cuh>
extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) scan_all(
    const Item *items, u32 count, Item *before, Item *of_warp, Item *all_of_warp, Item *total, u64 *states)
{
    const TileChain chain(states);
    const u32 index = chain.tile() * BLOCK_THREADS + threadIdx.x;
    const Item item = index < count ? items[index] : Op::identity();
    const auto scan = block_scan<Op>(item);
    const Item earlier = chain.prefix<Op>(scan.total);
    const Item in_warp = warp_inclusive<Op>(item);
    const Item whole_warp = warp_fold<Op>(item);
    if (index < count) {
        before[index] = Op::combine(earlier, scan.before);
        of_warp[index] = in_warp;
        all_of_warp[index] = whole_warp;
    }
    const Item all = Op::combine(earlier, block_fold<Op>(item));
    if (chain.is_last() && threadIdx.x == 0) *total = all;
    chain.finish();
}
"#;

type ScanAll<T> = (
    In<T>,
    u32,
    InOut<T>,
    InOut<T>,
    InOut<T>,
    InOut<T>,
    InOut<u64>,
);

/// Keeps the multiples of a number, twice with the same shared memory. `kept` is the number of all of them.
const KEEP: &str = r#"
#include "compaction/block.cuh"
extern "C" __global__ void keep_multiples(
    u32 count, u32 of, u32 *multiples, u32 room, u64 *wide, u32 *kept, u64 *states)
{
    const TileChain chain(states);
    const u32 index = chain.tile() * BLOCK_THREADS + threadIdx.x;
    const bool keep = index < count && index % of == 0;
    const auto ranks = block_scan<Sum<u32>>(keep);
    const u32 before = chain.prefix<Sum<u32>>(ranks.total);
    ranked_scatter(ranks, keep, index, multiples + before, room - min(room, before));
    ranked_scatter(ranks, keep, (u64)index << 32, wide + before);
    if (chain.is_last() && threadIdx.x == 0) *kept = before + ranks.total;
    chain.finish();
}
"#;

type KeepMultiples = (
    u32,
    u32,
    InOut<u32>,
    u32,
    InOut<u64>,
    InOut<u32>,
    InOut<u64>,
);

compaction::shared! {
    /// An affine function x → a x + b of numbers modulo 2³².
    struct Affine { a: u32, b: u32 }

    /// The number of items, and their value as the digits of a number to the base 3, modulo 2³².
    struct Digits { count: u32, power: u32, value: u32 }
}

/// Operators that are not commutative.
const OPERATIONS: &str = r#"
struct Affine { u32 a, b; };
struct Compose {
    using Value = Affine;
    static __device__ Affine identity() { return {1, 0}; }
    static __device__ Affine combine(Affine left, Affine right)
    {
        return {left.a * right.a, right.a * left.b + right.b};
    }
};
struct Digits { u32 count, power, value; };
struct Append {
    using Value = Digits;
    static __device__ Digits identity() { return {0, 1, 0}; }
    static __device__ Digits combine(const Digits &left, const Digits &right)
    {
        return {left.count + right.count, left.power * right.power, left.value * right.power + right.value};
    }
};
struct Last {
    using Value = u64;
    static __device__ u64 identity() { return 0; }
    static __device__ u64 combine(u64 left, u64 right) { return right != 0 ? right : left; }
};
"#;

/// An operation in CUDA, and the same in Rust.
struct Operation<T> {
    name: &'static str,
    identity: T,
    combine: fn(T, T) -> T,
    /// Makes an item of a random number.
    item: fn(u32) -> T,
}

const COMPOSE: Operation<Affine> = Operation {
    name: "Compose",
    identity: Affine { a: 1, b: 0 },
    combine: |left, right| Affine {
        a: left.a.wrapping_mul(right.a),
        b: right.a.wrapping_mul(left.b).wrapping_add(right.b),
    },
    item: |number| Affine {
        a: number | 1,
        b: number,
    },
};

const APPEND: Operation<Digits> = Operation {
    name: "Append",
    identity: Digits {
        count: 0,
        power: 1,
        value: 0,
    },
    combine: |left, right| Digits {
        count: left.count + right.count,
        power: left.power.wrapping_mul(right.power),
        value: left
            .value
            .wrapping_mul(right.power)
            .wrapping_add(right.value),
    },
    item: |number| Digits {
        count: 1,
        power: 3,
        value: number % 3,
    },
};

fn source<T: Shared>(block_threads: u32, operation: &str) -> Source {
    let source = Source::new("scan_all.cu", format!("{OPERATIONS}{SCAN}"))
        .constant("BLOCK_THREADS", block_threads)
        .define("Item", T::NAME)
        .define("Op", operation)
        .kernel::<ScanAll<T>>("scan_all");
    TileStates::declare(source)
}

impl<T: Shared + PartialEq + Debug> Operation<T> {
    /// Compares a kernel's results with a loop, for few and for many blocks.
    fn check(&self, gpu: &Gpu) {
        for block_threads in [32, 96, 1024] {
            let source = source::<T>(block_threads, self.name);
            let module = gpu.compiler.load(&gpu.context, &source).unwrap();
            let kernel = module.kernel("scan_all").unwrap();
            let mut states = TileStates::with_capacity::<T>(&gpu.stream, 300).unwrap();
            let mut counts = vec![1, 31, 33, 2 * block_threads, 7 * block_threads + 5];
            if block_threads == 32 {
                counts.push(300 * block_threads - 1); // several groups of tiles
            }
            for count in counts {
                self.check_count(gpu, &kernel, block_threads, count, &mut states);
            }
        }
    }

    fn check_count(
        &self,
        gpu: &Gpu,
        kernel: &Kernel<ScanAll<T>>,
        block_threads: u32,
        count: u32,
        states: &mut TileStates,
    ) {
        let stream = &gpu.stream;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(count.into());
        let items: Vec<T> = (0..count).map(|_| (self.item)(random.random())).collect();
        let device = cuda::upload(stream, &items).unwrap();
        let mut outputs = [(); 3].map(|()| cuda::zeroed::<T>(stream, items.len()).unwrap());
        let mut total = cuda::zeroed::<T>(stream, 1).unwrap();
        let [before, of_warp, all_of_warp] = &mut outputs;
        let args = (
            device.as_view(),
            count,
            before.as_view_mut(),
            of_warp.as_view_mut(),
            all_of_warp.as_view_mut(),
            total.as_view_mut(),
            states.as_view_mut(),
        );
        let launch = Launch::covering(count, block_threads);
        kernel.launch(stream, launch, args).unwrap();
        let [before, of_warp, all_of_warp] =
            outputs.map(|output| cuda::download(stream, &output).unwrap());

        let what = format!("{} of {count} in blocks of {block_threads}", self.name);
        let fold = |items: &[T]| items.iter().copied().fold(self.identity, self.combine);
        let mut earlier = self.identity;
        for (at, &item) in items.iter().enumerate() {
            assert_eq!(before[at], earlier, "{what}: {at}");
            earlier = (self.combine)(earlier, item);
            let first = at / 32 * 32;
            let warp = &items[first..items.len().min(first + 32)];
            assert_eq!(of_warp[at], fold(&warp[..=at - first]), "{what}: {at}");
            assert_eq!(all_of_warp[at], fold(warp), "{what}: {at}");
        }
        assert_eq!(cuda::download(stream, &total).unwrap(), [earlier], "{what}");
    }
}

pub(crate) fn collective_functions_combine_numbers(gpu: &Gpu) {
    macro_rules! check {
        ($($name:literal: $identity:expr, $combine:expr, $item:expr;)+) => {
            $(Operation { name: $name, identity: $identity, combine: $combine, item: $item }.check(gpu);)+
        };
    }
    // Floats are small whole numbers and halves, whose sums are exact in any order.
    check! {
        "Sum<i32>": 0, i32::wrapping_add, |number| number as i32;
        "Sum<u64>": 0, u64::wrapping_add, |number| u64::from(number) << 20;
        "Sum<f32>": 0.0, |left: f32, right| left + right, |number| (number % 8) as f32 - 4.5;
        "Min<i64>": i64::MAX, i64::min, |number| i64::from(number as i32) << 20;
        "Min<f64>": f64::INFINITY, f64::min, |number| f64::from(number as i32) - 0.5;
        "Max<u32>": 0, u32::max, |number| number;
        "Max<f32>": f32::NEG_INFINITY, f32::max, |number| -0.5 - number as f32;
    }
}

pub(crate) fn collective_functions_keep_the_order(gpu: &Gpu) {
    COMPOSE.check(gpu);
    APPEND.check(gpu);
    let last = Operation {
        name: "Last",
        identity: 0,
        combine: |left, right| if right != 0 { right } else { left },
        item: |number| u64::from(number) * u64::from(number % 5 == 0),
    };
    last.check(gpu);
}

/// Compares two runs of sums that round, with blocks in any order.
pub(crate) fn a_tile_chain_gives_the_same_bits_in_every_run(gpu: &Gpu) {
    let stream = &gpu.stream;
    let module = gpu
        .compiler
        .load(&gpu.context, &source::<f32>(32, "Sum<f32>"));
    let kernel: Kernel<ScanAll<f32>> = module.unwrap().kernel("scan_all").unwrap();
    let count = 300 * 32;
    let fractions: Vec<f32> = (0..count).map(|number| 1.0 / (number + 1) as f32).collect();
    let items = cuda::upload(stream, &fractions).unwrap();
    let mut states = TileStates::with_capacity::<f32>(stream, 300).unwrap();
    let [first, second] = [(); 2].map(|()| {
        let [mut sums, mut unused, mut unused_too] =
            [(); 3].map(|()| cuda::zeroed::<f32>(stream, fractions.len()).unwrap());
        let mut total = cuda::zeroed::<f32>(stream, 1).unwrap();
        let args = (
            items.as_view(),
            count,
            sums.as_view_mut(),
            unused.as_view_mut(),
            unused_too.as_view_mut(),
            total.as_view_mut(),
            states.as_view_mut(),
        );
        let launch = Launch::covering(count, 32);
        kernel.launch(stream, launch, args).unwrap();
        cuda::download(stream, &sums).unwrap()
    });
    let bits = |sums: Vec<f32>| sums.into_iter().map(f32::to_bits).collect::<Vec<_>>();
    assert_eq!(bits(first), bits(second));
}

fn keep_source(block_threads: u32) -> Source {
    let source = TileStates::declare(Source::new("keep_multiples.cu", KEEP))
        .constant("BLOCK_THREADS", block_threads);
    source.kernel::<KeepMultiples>("keep_multiples")
}

pub(crate) fn ranked_scatter_writes_in_order_and_into_a_short_output(gpu: &Gpu) {
    let stream = &gpu.stream;
    for block_threads in [32, 256, 1024] {
        let module = gpu.compiler.load(&gpu.context, &keep_source(block_threads));
        let kernel: Kernel<KeepMultiples> = module.unwrap().kernel("keep_multiples").unwrap();
        let mut states = TileStates::with_capacity::<u32>(stream, 200).unwrap();
        for (count, of) in [(1, 1), (5 * block_threads, 1), (5000, 7), (6000, 6001)] {
            let expected: Vec<u32> = (0..count).step_by(of as usize).collect();
            for room in [0, 1, expected.len() / 2, expected.len(), 2 * expected.len()] {
                let mut out = cuda::upload(stream, &vec![u32::MAX; room + 1]).unwrap();
                let mut wide = cuda::zeroed::<u64>(stream, expected.len()).unwrap();
                let mut kept = cuda::zeroed::<u32>(stream, 1).unwrap();
                let args = (
                    count,
                    of,
                    out.as_view_mut(),
                    room as u32,
                    wide.as_view_mut(),
                    kept.as_view_mut(),
                    states.as_view_mut(),
                );
                let launch = Launch::covering(count, block_threads);
                kernel.launch(stream, launch, args).unwrap();
                let mut written = expected[..room.min(expected.len())].to_vec();
                written.resize(room + 1, u32::MAX);
                assert_eq!(cuda::download(stream, &out).unwrap(), written);
                let kept = cuda::download(stream, &kept).unwrap();
                assert_eq!(kept, [expected.len() as u32]);
                let shifted: Vec<u64> =
                    expected.iter().map(|&each| u64::from(each) << 32).collect();
                assert_eq!(cuda::download(stream, &wide).unwrap(), shifted);
            }
        }
    }
}

pub(crate) fn blocks_of_another_size_are_refused(gpu: &Gpu) {
    let stream = &gpu.stream;
    let module = gpu.compiler.load(&gpu.context, &keep_source(128)).unwrap();
    let kernel: Kernel<KeepMultiples> = module.kernel("keep_multiples").unwrap();
    let mut states = TileStates::with_capacity::<u32>(stream, 4).unwrap();
    let mut out = cuda::zeroed::<u32>(stream, 256).unwrap();
    let mut wide = cuda::zeroed::<u64>(stream, 256).unwrap();
    let mut kept = cuda::upload(stream, &[77_u32]).unwrap();
    let mut run = |launch| {
        let (out, kept) = (out.as_view_mut(), kept.as_view_mut());
        let args = (
            256,
            1,
            out,
            256,
            wide.as_view_mut(),
            kept,
            states.as_view_mut(),
        );
        kernel.launch(stream, launch, args)
    };
    for launch in [
        Launch::covering(256, 256),
        Launch::covering(256, 64),
        Launch::grid((2, 1, 1), (64, 2, 1)),
    ] {
        let refused = run(launch);
        assert!(matches!(
            refused,
            Err(Error::BlockSize { expected: 128, .. })
        ));
        assert_error(refused, "kernel \"keep_multiples\": blocks of (");
    }
    run(Launch::covering(0, 128)).unwrap(); // launches nothing
    run(Launch::covering(256, 128)).unwrap();
    assert_eq!(cuda::download(stream, &kept).unwrap(), [256]);
}

/// Checks that NVRTC accepts the functions for numbers and structs, without warnings.
pub(crate) fn collective_functions_compile(nvrtc: &Arc<Nvrtc>) {
    let sources = [
        source::<i32>(256, "Sum<i32>"),
        source::<f64>(256, "Max<f64>"),
        source::<u64>(32, "Last"),
        source::<Affine>(256, "Compose"),
        source::<Digits>(1024, "Append"),
        keep_source(256),
    ];
    for capability in [75, 90] {
        let target = nvrtc.target(capability).unwrap();
        for source in &sources {
            let compiled = nvrtc.compile(source, target).unwrap();
            assert!(!compiled.log.contains("warning"), "{}", compiled.log);
        }
    }
}

/// Checks texts that the emulator's C++ compiler would accept by itself.
pub(crate) fn texts_that_cuda_lacks_do_not_compile(nvrtc: &Arc<Nvrtc>) {
    let compile = |text: &str| {
        let text = format!(r#"extern "C" __global__ void test(u32 *out) {{ {text} }}"#);
        let source = Source::new("test.cu", text).kernel::<(InOut<u32>,)>("test");
        nvrtc.compile(&source, nvrtc.target(90).unwrap())
    };
    compile("out[0] = __shfl_sync(~0u, max(out[1], 2u), 0);").unwrap();
    for text in [
        "struct Pair { u32 a, b; } pair = {1, 2}; out[0] = __shfl_sync(~0u, pair, 0).a;",
        "struct One { u32 a; } one = {1}; out[0] = __shfl_xor_sync(~0u, one, 1).a;",
        "out[0] = std::max(out[1], 2u);",
        "out[0] = INFINITY > 1.0f;",
    ] {
        assert!(compile(text).is_err(), "{text}");
    }
}
