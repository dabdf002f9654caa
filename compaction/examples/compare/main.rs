//! Times all ways to scan and to compact, on the CPU and on a GPU, for powers of two and for lengths slightly below
//! them.
//!
//! `cargo run --release -p compaction --example compare -- [--sizes 10,16,22,28] [--keep 50] [--out FOLDER]`
//!
//! A time is the median of many after a warm-up, measured by events on a GPU and by the clock on the CPU. The calls
//! alternate between buffers that together exceed the cache. The share relates a method to a copy of the bytes that the
//! method must move, timed in the same run. The rows are also written to `compare.csv`, and those with the largest kept
//! share to `compare.svg`.

mod cpu;
mod gpu;
mod plot;
mod table;

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Parser;

use table::Case;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Times all ways to scan and to compact, on the CPU and on a GPU.
#[derive(Parser)]
struct Options {
    /// Numbers of items, as powers of two.
    #[arg(long, value_delimiter = ',', default_value = "10,12,14,16,18,20,22,24,26,28", value_parser = clap::value_parser!(u32).range(2..=31))]
    sizes: Vec<u32>,
    /// Shares of items that are kept, in percent.
    #[arg(long, value_delimiter = ',', default_value = "50", value_parser = clap::value_parser!(u32).range(0..=100))]
    keep: Vec<u32>,
    /// The folder for `compare.csv` and `compare.svg`.
    #[arg(long, default_value = "target/compare")]
    out: PathBuf,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("compare: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<()> {
    let mut rows = Vec::new();
    let mut gpu = match gpu::Gpu::new() {
        Ok(gpu) => Some(gpu),
        Err(error) => {
            println!("GPU skipped: {error}");
            None
        }
    };
    table::print_head();
    for case in cases(options) {
        for row in cpu::rows(&case)? {
            row.print();
            rows.push(row);
        }
        let Some(gpu) = &mut gpu else { continue };
        match gpu.rows(&case) {
            Ok(measured) => {
                for row in measured {
                    row.print();
                    rows.push(row);
                }
            }
            Err(error) if table::is_out_of_memory(&*error) => {
                println!("GPU skipped with {} items: {error}", case.items);
            }
            Err(error) => return Err(error),
        }
    }
    let write = |path: &Path, text: String| {
        fs::write(path, text)
            .map_err(|error| format!("{} cannot be written: {error}", path.display()))
    };
    fs::create_dir_all(&options.out)
        .map_err(|error| format!("{} cannot be made: {error}", options.out.display()))?;
    let csv = options.out.join("compare.csv");
    let svg = options.out.join("compare.svg");
    write(&csv, table::csv(&rows))?;
    write(&svg, plot::svg(&rows))?;
    println!("{}, {}", csv.display(), svg.display());
    Ok(())
}

/// Returns each size, and a slightly smaller one that is not a power of two.
fn cases(options: &Options) -> Vec<Case> {
    let mut cases = Vec::new();
    for &log2 in &options.sizes {
        for items in [1_usize << log2, (1 << log2) - 3] {
            for (number, &percent) in options.keep.iter().enumerate() {
                cases.push(Case {
                    items,
                    percent,
                    is_first: number == 0,
                });
            }
        }
    }
    cases
}
