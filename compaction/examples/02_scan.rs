//! Computes by a scan where each of six writers starts in a shared buffer, on the CPU and on a GPU with every
//! strategy.
//!
//! `cargo run -p compaction --example 02_scan`

use compaction::{
    Count, Error, Result, cuda,
    scan::{Operator, Scan, Strategy, Workspace, cpu},
};

fn main() -> Result<()> {
    let item_counts = [2_u32, 0, 3, 1, 0, 4];
    println!("items per writer      {item_counts:?}");

    let (mut starts, mut ends, mut maxima) = ([0; 6], [0; 6], [0; 6]);
    cpu::exclusive(Operator::Sum, &item_counts, &mut starts)?;
    println!("exclusive sum: starts {starts:?}");
    cpu::inclusive(Operator::Sum, &item_counts, &mut ends)?;
    println!("inclusive sum: ends   {ends:?}, of which the last is the size of the buffer");
    cpu::inclusive(Operator::Max, &item_counts, &mut maxima)?;
    println!("inclusive maximum     {maxima:?}");

    for &strategy in Strategy::ALL {
        match on_the_gpu(strategy, &item_counts) {
            Ok(starts) => println!("GPU {strategy:17} {starts:?}"),
            Err(error @ Error::NoDevice { .. }) => {
                println!("GPU skipped: {error}");
                break;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn on_the_gpu(strategy: Strategy, item_counts: &[u32]) -> Result<Vec<u32>> {
    let context = cuda::open(0)?;
    let stream = context.default_stream();
    let scan = Scan::<u32>::new(&cuda::Compiler::new(), &context, Operator::Sum, strategy)?;
    let mut workspace = Workspace::for_strategy(&stream, strategy, item_counts.len())?;

    let item_counts = cuda::upload(&stream, item_counts)?;
    let mut starts = cuda::zeroed::<u32>(&stream, item_counts.len())?;
    scan.exclusive(
        &stream,
        &item_counts,
        Count::All,
        &mut starts,
        &mut workspace,
    )?;
    cuda::download(&stream, &starts)
}
