//! Computes the distances of points and keeps the short ones, in one kernel of its own on a GPU.
//!
//! `cargo run -p compaction --example 13_own_kernel`

use compaction::cuda::{self, Compiler, In, InOut, Launch, Source};
use compaction::{Result, look_back::TileStates};

const KERNEL: &str = r#"
#include "compaction/collective.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS) near_points(
    const f32 *x, const f32 *y, u32 count, f32 max, f32 *distances, u32 *kept, u64 *states)
{
    const TileChain chain(states);
    const u32 point = chain.tile() * BLOCK_THREADS + threadIdx.x;
    const f32 distance = point < count ? sqrtf(x[point] * x[point] + y[point] * y[point]) : max;
    const bool is_near = distance < max;
    const auto ranks = block_scan<Sum<u32>>(is_near);        // among the points of this block
    const u32 before = chain.prefix<Sum<u32>>(ranks.total);  // near points of all earlier blocks
    ranked_scatter(ranks, is_near, distance, distances + before);
    if (chain.is_last() && threadIdx.x == 0) *kept = before + ranks.total;
    chain.finish();
}
"#;

type NearPoints = (
    In<f32>,
    In<f32>,
    u32,
    f32,
    InOut<f32>,
    InOut<u32>,
    InOut<u64>,
);

const BLOCK_THREADS: u32 = 256;

fn main() -> Result<()> {
    let context = cuda::open(0)?;
    let stream = context.default_stream();
    let source = Source::new("near_points.cu", KERNEL)
        .constant("BLOCK_THREADS", BLOCK_THREADS)
        .kernel::<NearPoints>("near_points");
    let module = Compiler::new().load(&context, &TileStates::declare(source))?;
    let near_points = module.kernel::<NearPoints>("near_points")?;

    let points = 100_000_u32;
    let x: Vec<f32> = (0..points).map(|point| point as f32 / 1000.0).collect();
    let x = cuda::upload(&stream, &x)?;
    let y = cuda::zeroed::<f32>(&stream, points as usize)?;
    let mut near = cuda::zeroed::<f32>(&stream, points as usize)?;
    let mut kept = cuda::zeroed::<u32>(&stream, 1)?;
    let launch = Launch::covering(points, BLOCK_THREADS);
    let mut states = TileStates::with_capacity::<u32>(&stream, 1000)?; // of up to 1000 blocks
    let (xs, ys, states) = (x.as_view(), y.as_view(), states.as_view_mut());
    let (out, count) = (near.as_view_mut(), kept.as_view_mut());
    near_points.launch(&stream, launch, (xs, ys, points, 50.0, out, count, states))?;
    let kept = cuda::download(&stream, &kept)?[0] as usize;
    let near = cuda::download(&stream, &near.slice(..kept))?;
    println!("{kept} of {points} points, in order: {}", near.is_sorted());
    Ok(())
}
