//! Times the operations of `compaction` beside those of CUB in one process, and prints tables in Markdown.
//!
//! ```sh
//! cargo run --release -p compaction-capi --example beside_cub            # everything
//! cargo run --release -p compaction-capi --example beside_cub -- scan sort --sizes 20,24
//! ```
//!
//! CUB's calls are in `docs/peers/cub`. The first run compiles them with `nvcc`; where there is none, the tables contain
//! the other columns. The calls of `compaction`, a copy of the same bytes, CUB's call and the copy again take turns. Each
//! turn uses other buffers, so that no input stays in the GPU's cache. A time is the median between two events around a
//! call. Results of both libraries are compared up to 2²⁴ items.

mod bench;
mod inputs;
mod peer;
mod rows;

use std::{error::Error, path::PathBuf};

use clap::Parser;
use compaction::cuda;

use bench::Bench;
use rows::GROUPS;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Times the operations of `compaction` beside those of CUB.
#[derive(Parser)]
struct Options {
    /// The operations to time; without any, all of them.
    #[arg(value_parser = GROUPS.iter().map(|group| group.name).collect::<Vec<_>>())]
    operations: Vec<String>,
    /// Sizes as powers of two.
    #[arg(long, value_delimiter = ',', default_value = "20,24,28", value_parser = clap::value_parser!(u32).range(8..=30))]
    sizes: Vec<u32>,
    /// The folder with CUB's calls.
    #[arg(long, default_value = "docs/peers/cub")]
    peers: PathBuf,
    /// The folder for compiled calls of CUB.
    #[arg(long, default_value = "target/cub")]
    compiled: PathBuf,
}

fn main() {
    if let Err(error) = run(&Options::parse()) {
        eprintln!("beside_cub: {error}");
        std::process::exit(1);
    }
}

fn run(options: &Options) -> Result<()> {
    // SAFETY: all buffers and all copies are on the stream of the bench.
    let context = match unsafe { cuda::open_untracked(0) } {
        Ok(context) => context,
        Err(error) => {
            println!("skipped: {error}");
            return Ok(());
        }
    };
    println!("{}", cuda::devices()?[0].name);
    for group in GROUPS {
        if !options.operations.is_empty()
            && !options.operations.iter().any(|wanted| wanted == group.name)
        {
            continue;
        }
        let peer = match peer::Peer::open(group.name, &options.peers, &options.compiled) {
            Ok(peer) => peer,
            Err(error) => {
                println!("\n{}: without CUB, because {error}", group.name);
                None
            }
        };
        let mut bench = Bench::new(&context, peer)?;
        bench.print_head(group.title);
        for &log2_items in &options.sizes {
            (group.rows)(&mut bench, log2_items)?;
        }
    }
    Ok(())
}
