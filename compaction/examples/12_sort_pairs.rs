//! Sorts keys together with their values on a GPU.
//!
//! `cargo run -p compaction --example 12_sort_pairs`

use compaction::radix_sort::{Order, RadixSort, Strategy, Workspace};
use compaction::{Count, Result, cuda};

fn main() -> Result<()> {
    let (context, compiler) = (cuda::open(0)?, cuda::Compiler::new());
    let stream = context.default_stream();
    let sort = RadixSort::<u32>::new(&compiler, &context, Order::Ascending, Strategy::default())?;
    let mut work = Workspace::<u32, f32>::with_capacity(&stream, 4)?;
    let keys = cuda::upload(&stream, &[30_u32, 10, 20, 10])?;
    let values = cuda::upload(&stream, &[3.0_f32, 1.0, 2.0, 1.5])?;
    let (all, mut k, mut v) = (Count::All, keys.clone(), values.clone());
    sort.pairs(&stream, &keys, &values, all, &mut k, &mut v, &mut work)?;
    println!("{:?}", cuda::download(&stream, &k)?); // [10, 10, 20, 30]
    println!("{:?}", cuda::download(&stream, &v)?); // [1.0, 1.5, 2.0, 3.0]
    Ok(())
}
