//! Selects the even numbers among ten, on the CPU and on a GPU.
//!
//! `cargo run -p compaction --example 01_select`

use compaction::{
    Count, Error, Result, cuda,
    select::{Select, Strategy, Workspace, cpu},
};

fn main() -> Result<()> {
    let numbers = [31_u32, 41, 59, 26, 53, 58, 97, 93, 23, 84];
    let flags = numbers.map(|number| u8::from(number % 2 == 0));
    println!("numbers  {numbers:?}");

    let mut kept = [0; 10];
    let count = cpu::items(Strategy::LookBack, &numbers, &flags, &mut kept)? as usize;
    println!("CPU      {:?}", &kept[..count]);

    match on_the_gpu(&numbers, &flags) {
        Ok(kept) => println!("GPU      {kept:?}"),
        Err(error @ Error::NoDevice { .. }) => println!("GPU      skipped: {error}"),
        Err(error) => return Err(error),
    }
    Ok(())
}

fn on_the_gpu(numbers: &[u32], flags: &[u8]) -> Result<Vec<u32>> {
    let context = cuda::open(0)?;
    let stream = context.default_stream();
    let select = Select::new(&cuda::Compiler::new(), &context, Strategy::LookBack)?;
    let mut workspace = Workspace::with_capacity(&stream, numbers.len())?;

    let device_numbers = cuda::upload(&stream, numbers)?;
    let device_flags = cuda::upload(&stream, flags)?;
    let mut kept = cuda::zeroed(&stream, numbers.len())?;
    let mut count = cuda::zeroed(&stream, 1)?;
    select.items(
        &stream,
        &device_numbers,
        &device_flags,
        Count::Given(numbers.len() as u32),
        &mut kept,
        &mut count,
        &mut workspace,
    )?;
    let count = cuda::download(&stream, &count)?[0] as usize;
    cuda::download(&stream, &kept.slice(..count))
}
