//! Measures the speedup with several GPUs as a Markdown table: each scene on 1, 2, 4, … of this machine's GPUs,
//! alternating frame by frame. `cargo run --release --example gpu_scaling -- [--size WxH] [--spp N] [--rounds N]
//! [SCENE...]`.
//!
//! The film must be the same every time. A frame's time is from the restart until the whole film is on one GPU.

use std::{error::Error, path::PathBuf};

use clap::Parser;
use compaction::cuda::devices;
use raysieve::{
    render::renderer::{BackendChoice, Renderer, Settings},
    scene::Scene,
};

/// Renders scenes on increasing numbers of GPUs
#[derive(Parser)]
struct Arguments {
    /// Scenes to render
    #[arg(default_values = ["scenes/cornell.ron", "scenes/mesh.ron"])]
    scenes: Vec<PathBuf>,
    /// Image size in pixels
    #[arg(long, default_value = "2048x2048")]
    size: String,
    /// Samples per pixel; the default takes some seconds on one GPU
    #[arg(long, default_value_t = 2048)]
    spp: u32,
    /// Number of frames to measure for each number of GPUs
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Number of paths per wave on a GPU [default: adaptive]
    #[arg(long)]
    wave_size: Option<u32>,
}

/// Measurements with one number of GPUs.
struct Case {
    /// Number of GPUs.
    gpus: usize,
    renderer: Renderer,
    /// Time of each measured frame in seconds.
    seconds: Vec<f64>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let sides = arguments.size.split_once('x');
    let (width, height) = sides.ok_or("expected a size as WIDTHxHEIGHT")?;
    let size = (width.parse()?, height.parse()?);
    let found = devices()?.len();
    let gpus = |doublings: u32| (1 << doublings).min(found);
    let mut numbers: Vec<usize> = (0..=found.ilog2() + 1).map(gpus).collect();
    numbers.dedup();
    println!("| scene | GPUs | seconds | min to max | Mpaths/s | efficiency | film_hash |");
    println!("|---|---|---|---|---|---|---|");
    for path in &arguments.scenes {
        let mut scene = Scene::load(path)?;
        scene.set_size(size);
        scene.spp = arguments.spp;
        scene.check_settings()?;
        let case = |&gpus: &usize| -> Result<Case, raysieve::Error> {
            let settings = Settings {
                backend: BackendChoice::SomeCuda((0..gpus).collect()),
                wave_size: arguments.wave_size,
                ..Settings::default()
            };
            Ok(Case {
                gpus,
                renderer: Renderer::new(&scene, &settings)?,
                seconds: Vec::new(),
            })
        };
        let mut cases: Vec<Case> = numbers.iter().map(case).collect::<Result<_, _>>()?;
        // The first round loads kernels and lets clocks rise; it is not measured.
        for round in 0..=arguments.rounds {
            for case in &mut cases {
                case.renderer.restart()?;
                while case.renderer.advance()? {}
                if round > 0 {
                    case.seconds.push(case.renderer.stats().seconds);
                }
            }
        }
        let mut film_hash = None;
        let mut alone = None;
        for case in &mut cases {
            let stats = case.renderer.finish()?;
            let expected = film_hash.get_or_insert_with(|| stats.film_hash.clone());
            if *expected != stats.film_hash {
                let (gpus, hash) = (case.gpus, stats.film_hash);
                return Err(
                    format!("film_hash is {hash} on {gpus} GPUs, expected {expected}").into(),
                );
            }
            case.seconds.sort_by(f64::total_cmp);
            let at = |place: usize| case.seconds.get(place).copied().unwrap_or(f64::NAN);
            let last = case.seconds.len().saturating_sub(1);
            let median = at(last / 2);
            let paths = stats.paths as f64;
            let alone = *alone.get_or_insert(median);
            println!(
                "| `{}` | {} | {median:.3} | {:.3} to {:.3} | {:.0} | {:.1} % | {} |",
                path.file_stem().unwrap_or_default().display(),
                case.gpus,
                at(0),
                at(last),
                paths / median / 1e6,
                100.0 * alone / (median * case.gpus as f64),
                stats.film_hash
            );
            for device in stats.devices.iter().filter(|_| case.gpus > 1) {
                let share = 100.0 * device.paths as f64 / paths;
                println!(
                    "| | {} | | | | {share:.2} % of all paths | |",
                    device.device
                );
            }
        }
    }
    Ok(())
}
