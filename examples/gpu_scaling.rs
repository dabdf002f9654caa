//! What more GPUs are worth: each scene by 1, 2, 4 … of this machine's, frame after frame in turn, as a Markdown table.
//! `cargo run --release --example gpu_scaling -- [--size WxH] [--spp N] [--rounds N] [SCENE...]`. The film must be the same
//! every time. A frame's time is from "begin again" to the whole film on one GPU.

use std::{error::Error, path::PathBuf};

use clap::Parser;
use compaction::cuda::devices;
use raysieve::{
    renderer::{BackendChoice, Renderer, Settings},
    scene::Scene,
};

/// Renders scenes by more and more GPUs.
#[derive(Parser)]
struct Arguments {
    /// Scenes to render
    #[arg(default_values = ["scenes/cornell.ron", "scenes/mesh.ron"])]
    scenes: Vec<PathBuf>,
    /// Of the picture, pixels
    #[arg(long, default_value = "2048x2048")]
    size: String,
    /// Samples a pixel; by default some seconds of one GPU
    #[arg(long, default_value_t = 2048)]
    spp: u32,
    /// Frames by each number of GPUs that are measured
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Paths in flight on a GPU, instead of what it is fastest with
    #[arg(long)]
    wave_size: Option<u32>,
}

/// What so many GPUs did.
struct Case {
    gpus: usize,
    renderer: Renderer,
    seconds: Vec<f64>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let sides = arguments.size.split_once('x');
    let (width, height) = sides.ok_or("a size is WIDTHxHEIGHT")?;
    let size = (width.parse()?, height.parse()?);
    let found = devices()?.len();
    let gpus = |doublings: u32| (1 << doublings).min(found);
    let mut numbers: Vec<usize> = (0..=found.ilog2() + 1).map(gpus).collect();
    numbers.dedup();
    println!("| scene | GPUs | seconds | least to most | Mpaths/s | of linear | film_hash |");
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
        // The first round is to load kernels and to let clocks rise.
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
                return Err(format!("film_hash is {hash} by {gpus} GPUs, not {expected}").into());
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
