//! Computes square roots and keeps the small ones, in one kernel of its own on a GPU.
//!
//! `cargo run -p compaction --example 13_own_kernel`

use compaction::cuda::{self, Compiler, In, InOut, Launch, Source};
use compaction::{Result, look_back::TileStates};

const KERNEL: &str = r#"
#include <compaction/block.cuh>

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) small_roots(
    const f32 *numbers, u32 count, f32 max, f32 *roots, u32 *kept, u64 *states)
{
    const TileChain chain(states);
    const u32 index = chain.tile() * BLOCK_THREADS + threadIdx.x;
    const f32 root = index < count ? sqrtf(numbers[index]) : max;
    const auto ranks = block_scan<Sum<u32>>(root < max);     // among the numbers of this block
    const u32 before = chain.prefix<Sum<u32>>(ranks.total);  // small roots of all earlier blocks
    ranked_scatter(ranks, root < max, root, roots + before);
    if (chain.is_last() && threadIdx.x == 0) *kept = before + ranks.total;
    chain.finish();
}
"#;

type SmallRoots = (In<f32>, u32, f32, InOut<f32>, InOut<u32>, InOut<u64>);
const BLOCK_THREADS: u32 = 256;

fn main() -> Result<()> {
    let context = cuda::open(0)?;
    let stream = context.default_stream();
    let source = Source::new("small_roots.cu", KERNEL)
        .constant("BLOCK_THREADS", BLOCK_THREADS)
        .kernel::<SmallRoots>("small_roots");
    let module = Compiler::new().load(&context, &TileStates::declare(source))?;
    let small_roots = module.kernel::<SmallRoots>("small_roots")?;

    let count = 100_000_u32;
    let numbers: Vec<f32> = (0..count).map(|number| number as f32).collect();
    let numbers = cuda::upload(&stream, &numbers)?;
    let mut roots = cuda::zeroed::<f32>(&stream, count as usize)?;
    let mut kept = cuda::zeroed::<u32>(&stream, 1)?;
    let launch = Launch::covering(count, BLOCK_THREADS);
    let mut states = TileStates::with_capacity::<u32>(&stream, 1000)?; // of up to 1000 blocks
    let (from, states) = (numbers.as_view(), states.as_view_mut());
    let (to, kept_count) = (roots.as_view_mut(), kept.as_view_mut());
    small_roots.launch(
        &stream,
        launch,
        (from, count, 100.0, to, kept_count, states),
    )?;
    let kept = cuda::download(&stream, &kept)?[0] as usize;
    let roots = cuda::download(&stream, &roots.slice(..kept))?;
    println!("{kept} roots, in order: {}", roots.is_sorted()); // 10000 roots, in order: true
    Ok(())
}
