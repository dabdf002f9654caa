//! Ranks scores from the highest to the lowest on a GPU.
//!
//! `cargo run -p compaction --example 09_argsort`

use compaction::radix_sort::{Order, RadixSort, Strategy, Workspace};
use compaction::{Count, Result, cuda};

fn main() -> Result<()> {
    let context = cuda::open(0)?;
    let stream = context.default_stream();
    let compiler = cuda::Compiler::new();
    let sort = RadixSort::<f32>::new(&compiler, &context, Order::Descending, Strategy::default())?;
    let mut work = Workspace::<f32, u32>::with_capacity(&stream, 5)?;
    let keys = cuda::upload(&stream, &[0.25_f32, 3.0, -1.0, 3.0, 0.5])?;
    let (mut out, mut order) = (cuda::zeroed(&stream, 5)?, cuda::zeroed(&stream, 5)?);
    sort.argsort(&stream, &keys, Count::All, &mut out, &mut order, &mut work)?;
    println!("{:?}", cuda::download(&stream, &order)?); // [1, 3, 4, 0, 2]
    println!("{:?}", cuda::download(&stream, &out)?); // [3.0, 3.0, 0.5, 0.25, -1.0]
    Ok(())
}
