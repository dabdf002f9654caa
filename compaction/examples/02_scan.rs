//! Computes with a scan where each of six writers may begin in a shared buffer, on the CPU and on a GPU with every
//! strategy.
//!
//! `cargo run -p compaction --example 02_scan`

use compaction::{
    Count, Error, Result, cuda,
    scan::{Operator, Scan, Strategy, Workspace, cpu},
};

fn main() -> Result<()> {
    let made = [2_u32, 0, 3, 1, 0, 4];
    println!("each makes            {made:?}");

    let (mut begins, mut ends, mut most) = ([0; 6], [0; 6], [0; 6]);
    cpu::exclusive(Operator::Sum, &made, &mut begins)?;
    println!("it begins at          {begins:?}  the sum before each");
    cpu::inclusive(Operator::Sum, &made, &mut ends)?;
    println!("it ends at            {ends:?}  with its own; the last is the room for all");
    cpu::inclusive(Operator::Max, &made, &mut most)?;
    println!("the most until then   {most:?}  a scan by another operator");

    for &strategy in Strategy::ALL {
        match on_the_gpu(strategy, &made) {
            Ok(begins) => println!("GPU {strategy:17} {begins:?}"),
            Err(error @ Error::NoDevice { .. }) => {
                println!("GPU skipped: {error}");
                break;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn on_the_gpu(strategy: Strategy, made: &[u32]) -> Result<Vec<u32>> {
    let context = cuda::open(0)?;
    let stream = context.default_stream();
    let scan = Scan::<u32>::new(&cuda::Compiler::new(), &context, Operator::Sum, strategy)?;
    let mut workspace = Workspace::for_strategy(&stream, strategy, made.len())?;

    let made = cuda::upload(&stream, made)?;
    let mut begins = cuda::zeroed::<u32>(&stream, made.len())?;
    scan.exclusive(
        &stream,
        &made.as_view(),
        Count::All,
        &mut begins.as_view_mut(),
        &mut workspace,
    )?;
    cuda::download(&stream, &begins)
}
