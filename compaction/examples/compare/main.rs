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

use std::{error::Error, fs, path::PathBuf};

use table::Case;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The command line options.
struct Options {
    log2_sizes: Vec<u32>,
    percents: Vec<u32>,
    folder: PathBuf,
}

fn main() -> Result<()> {
    let options = options()?;
    let mut rows = Vec::new();
    let mut gpu = match gpu::Gpu::new() {
        Ok(gpu) => Some(gpu),
        Err(error) => {
            println!("GPU skipped: {error}");
            None
        }
    };
    table::print_head();
    for case in cases(&options) {
        for row in cpu::rows(&case)? {
            row.print();
            rows.push(row);
        }
        if let Some(gpu) = &mut gpu {
            for row in gpu.rows(&case)? {
                row.print();
                rows.push(row);
            }
        }
    }
    fs::create_dir_all(&options.folder)?;
    let csv = options.folder.join("compare.csv");
    let svg = options.folder.join("compare.svg");
    fs::write(&csv, table::csv(&rows))?;
    fs::write(&svg, plot::svg(&rows))?;
    println!("{}, {}", csv.display(), svg.display());
    Ok(())
}

/// Returns each size, and a slightly smaller one that is not a power of two.
fn cases(options: &Options) -> Vec<Case> {
    let mut cases = Vec::new();
    for &log2 in &options.log2_sizes {
        for items in [1_usize << log2, (1 << log2) - 3] {
            for (number, &percent) in options.percents.iter().enumerate() {
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

fn options() -> Result<Options> {
    let mut options = Options {
        log2_sizes: (10..=28).step_by(2).collect(),
        percents: vec![50],
        folder: PathBuf::from("target/compare"),
    };
    let mut args = std::env::args().skip(1);
    while let Some(name) = args.next() {
        let value = args.next().ok_or(format!("{name}: a value is missing"))?;
        let numbers = || {
            value
                .split(',')
                .map(str::parse)
                .collect::<std::result::Result<Vec<u32>, _>>()
        };
        match name.as_str() {
            "--sizes" => options.log2_sizes = numbers()?,
            "--keep" => options.percents = numbers()?,
            "--out" => options.folder = PathBuf::from(value),
            _ => {
                return Err(
                    format!("{name}: unknown option; expected --sizes, --keep or --out").into(),
                );
            }
        }
    }
    match options
        .log2_sizes
        .iter()
        .find(|&&log2| !(2..=31).contains(&log2))
    {
        Some(log2) => Err(format!("--sizes {log2}: must be 2 to 31").into()),
        None => Ok(options),
    }
}
