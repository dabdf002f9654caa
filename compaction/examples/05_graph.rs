//! Runs the sieve of Eratosthenes as a CUDA graph: each round leaves its count in device memory, where the next one
//! reads it.
//!
//! `cargo run -p compaction --example 05_graph`

use std::{error::Error, sync::Arc};

use compaction::{
    Count,
    cuda::{self, Graph},
    cudarc::driver::CudaContext,
    select::{Predicate, SelectIf, Strategy, Workspace, cpu},
};

/// Primes whose multiples are removed, one per round.
const PRIMES: [u32; 6] = [2, 3, 5, 7, 11, 13];

fn main() -> Result<(), Box<dyn Error>> {
    // Numbers below 17² that none of these primes divides are prime.
    let numbers: Vec<u32> = (2..289).collect();
    let (mut left, mut counts) = (numbers.clone(), vec![numbers.len()]);
    for prime in PRIMES {
        let stays = |&n: &u32| u8::from(n == prime || n % prime != 0);
        let flags: Vec<_> = left.iter().map(stays).collect();
        counts.push(cpu::in_place(Strategy::LookBack, &mut left, &flags)?);
        left.truncate(counts[counts.len() - 1]);
    }
    println!("CPU {counts:?} left, the last {:?}", left.last());
    match cuda::open(0) {
        Ok(context) => println!("GPU {:?} left", on_the_gpu(&context, &numbers)?),
        Err(none) => println!("GPU skipped: {none}"),
    }
    Ok(())
}

fn on_the_gpu(context: &Arc<CudaContext>, numbers: &[u32]) -> Result<Vec<u32>, Box<dyn Error>> {
    // Recording needs a non-default stream. Everything is compiled and allocated before.
    let (stream, compiler) = (context.new_stream()?, cuda::Compiler::new());
    let text = "bool keep(u32 n, u32 prime) { return n == prime || n % prime; }";
    let keep = Predicate::new("keep.cuh", text);
    let mut select = SelectIf::<u32, u32, u32>::with_parameters(&compiler, context, &keep, 2)?;
    let mut workspace = Workspace::with_capacity(&stream, 287)?;
    let mut counts = cuda::upload(&stream, &[287_u32; PRIMES.len() + 1])?;
    let (mut left, mut next) = (cuda::upload(&stream, numbers)?, cuda::zeroed(&stream, 287)?);

    let mut graph = Graph::record(&stream, || {
        for (round, prime) in PRIMES.into_iter().enumerate() {
            select.set_parameters(prime);
            let (before, after) = counts.split_at_mut(round + 1);
            let count = Count::on_device(before.slice(round..));
            select.items(&stream, &left, count, &mut next, after, &mut workspace)?;
            std::mem::swap(&mut left, &mut next);
        }
        Ok::<(), compaction::Error>(())
    })?;
    graph.launch(&mut (left, next, &mut counts, workspace))?;
    // This is the only call that waits for the GPU.
    Ok(cuda::download(&stream, &counts)?)
}
