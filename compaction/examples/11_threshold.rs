//! Keeps the numbers above a threshold that may change from call to call, on a GPU.
//!
//! `cargo run -p compaction --example 11_threshold`

use compaction::select::{Predicate, SelectIf, Workspace};
use compaction::{Count, Result, cuda};

fn main() -> Result<()> {
    let (context, compiler) = (cuda::open(0)?, cuda::Compiler::new());
    let stream = context.default_stream();
    let above = Predicate::new("above.cuh", "bool keep(f32 x, f32 min) { return x > min; }");
    let mut select = SelectIf::<f32, u32, f32>::with_parameters(&compiler, &context, &above, 0.5)?;
    let mut work = Workspace::with_capacity(&stream, 5)?;
    let x = cuda::upload(&stream, &[0.9_f32, 0.1, 0.6, 0.5, 0.7])?;
    let (mut out, mut count) = (cuda::zeroed(&stream, 5)?, cuda::zeroed::<u32>(&stream, 1)?);
    for threshold in [0.5, 0.65] {
        select.set_parameters(threshold); // compiles nothing
        select.items(&stream, &x, Count::All, &mut out, &mut count, &mut work)?;
        let kept = work.read(&stream, &count)?;
        println!("{:?}", cuda::download(&stream, &out.slice(..kept))?); // [0.9, 0.6, 0.7], [0.9, 0.7]
    }
    Ok(())
}
