//! Kernels of a stranger that use `"compaction/collective.cuh"`.

use std::fmt::Debug;

use compaction::{
    cuda::{self, In, InOut, Launch, Source},
    layout::Shared,
    look_back::TileStates,
    scan::{Item, Operator, cpu},
};

use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};

use crate::common::Gpu;

/// Scans items in one launch, after a block scan of other values in the same shared memory. Keeps the even ranks.
const KERNEL: &str = r#"
#include "compaction/collective.cuh"
extern "C" __global__ void scan_and_keep(const Item *items, u32 count, Item *sums, u32 *even, u32 *kept, u64 *states)
{
    using Add = Sum<Item>;
    const TileChain chain(states);
    const u32 index = chain.tile() * BLOCK_THREADS + threadIdx.x;
    const bool is_even = index < count && index % 2 == 0;
    const auto ranks = block_scan<Sum<u32>>(is_even);
    if (block_fold<Max<u32>>(threadIdx.x) != BLOCK_THREADS - 1) return;
    const auto scan = block_scan<Add>(Add::lift(index < count ? items[index] : Item(0)));
    const auto before = chain.prefix<Add>(scan.total);
    if (index < count) sums[index] = Add::lower(Add::combine(before, scan.before));
    const u32 evens_before = chain.tile() * BLOCK_THREADS / 2;
    ranked_scatter(ranks, is_even, index, even + evens_before);
    ranked_scatter(ranks, is_even, index, even + evens_before);
    if (chain.is_last() && threadIdx.x == 0) *kept = evens_before + ranks.total;
    chain.finish();
}
"#;

type ScanAndKeep<T> = (In<T>, u32, InOut<T>, InOut<u32>, InOut<u32>, InOut<u64>);

pub(crate) fn collective_functions_scan_and_rank(gpu: &Gpu) {
    for block_threads in [32, 96, 256, 1024] {
        scan_and_keep::<u32>(gpu, block_threads, |number| number);
        scan_and_keep::<u64>(gpu, block_threads, |number| u64::from(number) << 20);
        // Small whole numbers, whose sums are exact in any order.
        scan_and_keep::<f32>(gpu, block_threads, |number| (number % 8) as f32);
        scan_and_keep::<f64>(gpu, block_threads, f64::from);
    }
}

fn scan_and_keep<T: Item + Shared + Debug>(gpu: &Gpu, block_threads: u32, item: fn(u32) -> T) {
    let stream = gpu.stream.clone();
    let source = Source::new("scan_and_keep.cu", KERNEL)
        .constant("BLOCK_THREADS", block_threads)
        .define("Item", T::NAME)
        .kernel::<ScanAndKeep<T>>("scan_and_keep");
    let module = gpu
        .compiler
        .load(stream.context(), &TileStates::declare(source))
        .unwrap();
    let kernel = module.kernel::<ScanAndKeep<T>>("scan_and_keep").unwrap();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut states = TileStates::with_capacity::<T>(&stream, 200).unwrap();
    for count in [
        1,
        31,
        33,
        block_threads - 1,
        block_threads,
        7 * block_threads + 5,
        150 * block_threads,
    ] {
        let items: Vec<T> = (0..count)
            .map(|_| item(random.random_range(0..1 << 12)))
            .collect();
        let mut expected = items.clone();
        cpu::exclusive_in_place(Operator::Sum, &mut expected);
        let device = cuda::upload(&stream, &items).unwrap();
        let mut sums = cuda::zeroed::<T>(&stream, items.len()).unwrap();
        let mut even = cuda::zeroed::<u32>(&stream, items.len()).unwrap();
        let mut kept = cuda::zeroed::<u32>(&stream, 1).unwrap();
        let args = (
            device.as_view(),
            count,
            sums.as_view_mut(),
            even.as_view_mut(),
            kept.as_view_mut(),
            states.as_view_mut(),
        );
        kernel
            .launch(&stream, Launch::covering(count, block_threads), args)
            .unwrap();
        assert_eq!(
            cuda::download(&stream, &sums).unwrap(),
            expected,
            "{} {count}",
            T::NAME
        );
        let kept = cuda::download(&stream, &kept).unwrap()[0];
        assert_eq!(kept, count.div_ceil(2));
        let evens: Vec<u32> = (0..count).step_by(2).collect();
        assert_eq!(
            cuda::download(&stream, &even.slice(..kept as usize)).unwrap(),
            evens
        );
    }
}
