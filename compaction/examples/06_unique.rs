//! Removes repeated numbers from a sorted list on a GPU: `cargo run -p compaction --example 06_unique`

use compaction::{Count, Result, cuda, runs};

fn main() -> Result<()> {
    let context = cuda::open(0)?;
    let stream = context.default_stream();
    let unique = runs::Unique::<u32>::new(&cuda::Compiler::new(), &context)?;
    let items = cuda::upload(&stream, &[1, 1, 2, 5, 5, 5, 9])?;
    let mut workspace = runs::Workspace::with_capacity(&stream, items.len())?;
    let mut out = cuda::zeroed(&stream, items.len())?;
    let mut count = cuda::zeroed(&stream, 1)?;
    unique.items(
        &stream,
        &items,
        Count::All,
        &mut out,
        &mut count,
        &mut workspace,
    )?;
    let count = workspace.read(&stream, &count)?;
    println!("{:?}", cuda::download(&stream, &out.slice(..count))?);
    Ok(())
}
