//! Adds the numbers of each segment of a buffer on a GPU.
//!
//! `cargo run -p compaction --example 10_segmented_sum`

use compaction::segmented_reduce::{Operator, SegmentedReduce, Workspace};
use compaction::{Count, Result, cuda};

fn main() -> Result<()> {
    let context = cuda::open(0)?;
    let stream = context.default_stream();
    let sum = SegmentedReduce::<f32>::new(&cuda::Compiler::new(), &context, Operator::Sum)?;
    let mut work = Workspace::with_capacity(&stream, 6)?;
    let items = cuda::upload(&stream, &[1e8_f32, 1e8, 1.0, 2.0, 3.0, 0.5])?;
    let offsets = cuda::upload(&stream, &[0_u32, 2, 5, 5, 6])?; // four segments, one of them empty
    let mut sums = cuda::zeroed(&stream, 4)?;
    sum.by_offsets(&stream, &items, &offsets, Count::All, &mut sums, &mut work)?;
    println!("{:?}", cuda::download(&stream, &sums)?); // [200000000.0, 6.0, 0.0, 0.5]
    Ok(())
}
