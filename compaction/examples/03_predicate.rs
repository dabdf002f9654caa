//! Selects items by a predicate in CUDA C++, and shows the error messages for wrong predicates.
//!
//! `cargo run -p compaction --example 03_predicate`

use compaction::{
    Count, Error, Result, cuda,
    select::{Predicate, SelectIf, Strategy, Workspace, cpu},
};

compaction::shared! {
    /// A star, with the same name in Rust and in CUDA.
    struct Star { id: u32, light_years: f32 }
}

/// CUDA predicate that keeps the stars nearer than a number of light-years.
const NEAR: &str = "struct Star { u32 id; f32 light_years; };
bool keep(const Star &star, f32 max) { return star.light_years < max; }";

fn main() -> Result<()> {
    let stars = [(32349, 8.6_f32), (91262, 25.0), (37279, 11.5)];
    let stars = stars.map(|(id, light_years)| Star { id, light_years });

    let flags = stars.map(|star| u8::from(star.light_years < 12.0));
    let mut near = stars;
    let count = cpu::in_place(Strategy::LookBack, &mut near, &flags)?;
    println!("CPU {:?}", &near[..count as usize]);
    match on_the_gpu(&stars) {
        Ok(near) => println!("GPU {near:?}"),
        Err(error @ Error::NoDevice { .. }) => println!("GPU skipped: {error}"),
        Err(error) => return Err(error),
    }
    // The replacements are errors: a misspelt name, and a parameter of another type. Compiling needs no GPU.
    for (right, wrong) in [("star.light", "star.lihgt"), ("f32 max", "u32 max")] {
        let predicate = Predicate::new("near.cuh", NEAR.replace(right, wrong));
        let image = SelectIf::<Star, u32, f32>::image(&cuda::Compiler::new(), &predicate, 90);
        if let Err(error) = image {
            println!("\n{error}");
        }
    }
    Ok(())
}

fn on_the_gpu(stars: &[Star]) -> Result<Vec<Star>> {
    let context = cuda::open(0)?;
    let stream = context.default_stream();
    let predicate = Predicate::new("near.cuh", NEAR);
    let compiler = cuda::Compiler::new();
    let select =
        SelectIf::<Star, u32, f32>::with_parameters(&compiler, &context, &predicate, 12.0)?;
    let mut workspace = Workspace::with_capacity(&stream, 3)?;

    let stars = cuda::upload(&stream, stars)?;
    let mut near = cuda::zeroed::<Star>(&stream, 3)?;
    let mut kept = cuda::zeroed::<u32>(&stream, 1)?;
    let all = Count::All;
    select.items(&stream, &stars, all, &mut near, &mut kept, &mut workspace)?;
    let kept = workspace.read(&stream, &kept)?;
    cuda::download(&stream, &near.slice(..kept))
}
