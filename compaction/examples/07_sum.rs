//! Adds up a million numbers on a GPU: `cargo run -p compaction --example 07_sum`

use compaction::{Count, Result, cuda, reduce};

fn main() -> Result<()> {
    let context = cuda::open(0)?;
    let stream = context.default_stream();
    let compiler = cuda::Compiler::new();
    let sum = reduce::Reduce::<u64>::new(&compiler, &context, reduce::Operator::Sum)?;
    let items = cuda::upload(&stream, &(0..1_000_000).collect::<Vec<_>>())?;
    let mut workspace = reduce::Workspace::with_capacity(&stream, items.len())?;
    let mut out = cuda::zeroed(&stream, 1)?;
    sum.items(&stream, &items, Count::All, &mut out, &mut workspace)?;
    println!("{:?}", cuda::download(&stream, &out)?);
    Ok(())
}
