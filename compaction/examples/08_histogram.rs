//! Counts the numbers in each of eight bins on a GPU.
//!
//! `cargo run -p compaction --example 08_histogram`

use compaction::histogram::{Histogram, Workspace};
use compaction::{Count, Result, cuda};

fn main() -> Result<()> {
    let context = cuda::open(0)?;
    let stream = context.default_stream();
    let histogram = Histogram::<f32>::new(&cuda::Compiler::new(), &context, 8)?;
    let mut work = Workspace::new(&stream)?;
    let squares: Vec<f32> = (0..1000).map(|i| (i as f32 / 1000.0).powi(2)).collect();
    let items = cuda::upload(&stream, &squares)?;
    let mut bins = cuda::zeroed::<u32>(&stream, 8)?;
    histogram.even(&stream, &items, Count::All, 0.0..1.0, &mut bins, &mut work)?;
    println!("{:?}", cuda::download(&stream, &bins)?); // [354, 146, 113, 95, 83, 76, 69, 64]
    Ok(())
}
