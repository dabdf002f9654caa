//! Predicts the efficiency of renders on 1 to 10,000 GPUs with the model of docs/benchmarks/scaling.md.
//!
//! `cargo run --example scaling` reads docs/scaling.ron, prints the tables and draws docs/scaling.svg. `cargo run
//! --example scaling -- --measure SCENE WIDTHxHEIGHT` measures those inputs that a CPU can.

#[path = "../../cli/src/bench/svg.rs"]
#[allow(dead_code, reason = "the programs that draw charts share it")]
mod svg;

use std::{
    env, fs,
    path::Path,
    time::{Duration, Instant},
};

use raysieve::{
    render::{
        part::{Packing, Part, SamplePosition, Samples},
        renderer::{BackendChoice, Renderer, Settings},
    },
    scene::Scene,
};
use raysieve_viewer::chart::{ENDED, MISSES, SURVIVORS};
use serde::Deserialize;

use svg::Svg;

const INPUTS: &str = "docs/scaling.ron";
const CHART: &str = "docs/scaling.svg";
/// Numbers of GPUs in the table.
const GPUS: [u32; 9] = [1, 2, 4, 8, 64, 512, 1000, 4096, 10_000];
/// Amounts of work: hours on one GPU, name and color in the chart.
const WORKS: [(f64, &str, &str); 3] = [
    (10.0, "10 hours of a GPU", MISSES),
    (240.0, "10 days", ENDED),
    (8760.0, "a year", SURVIVORS),
];

/// Inputs of the model, see docs/scaling.ron for units and meanings.
#[derive(Deserialize)]
struct Inputs {
    measured: Measured,
    assumed: Assumed,
    measured_gpus: Vec<(u32, f64)>,
}

#[derive(Deserialize)]
struct Measured {
    start: f64,
    first_wave: f64,
    paths_per_second: f64,
    scene_read: f64,
    scene_bytes: f64,
    part_bytes: f64,
    checkpoint_bytes: f64,
    part_write: f64,
    part_merge: f64,
}

#[derive(Deserialize)]
struct Assumed {
    storage: f64,
    large_scene: f64,
    gpus_per_node: u32,
    task_starts: f64,
    job_delay: f64,
    part_time: f64,
    checkpoint_every: f64,
    fan_in: u32,
}

/// The options of how a render is organised.
#[derive(Clone, Copy)]
struct Options {
    /// The scene is read once per node instead of once per GPU.
    once_a_node: bool,
    /// Parts are merged by a tree of jobs instead of one job.
    tree: bool,
    /// Size of the scene's files in bytes.
    scene_bytes: f64,
}

/// Time of a render by cause, in seconds.
struct Times {
    /// Number of parts (not a time).
    parts: u32,
    /// Rendering.
    work: f64,
    /// Starting tasks and jobs in the cluster.
    job_start: f64,
    /// Starting processes and the first waves.
    start: f64,
    /// Reading the scene.
    scene: f64,
    /// Writing parts and checkpoints.
    files: f64,
    /// Merging parts.
    merge: f64,
}

impl Times {
    /// Returns the total time in seconds.
    fn whole(&self) -> f64 {
        self.work + self.job_start + self.start + self.scene + self.files + self.merge
    }

    /// Returns the efficiency, 0..=1: the time of ideal linear scaling over the predicted time.
    fn efficiency(&self, gpu_seconds: f64, gpus: u32) -> f64 {
        gpu_seconds / f64::from(gpus) / self.whole()
    }
}

impl Inputs {
    /// Predicts a render of `gpu_seconds` of work on one GPU by this number of GPUs.
    fn times(&self, gpu_seconds: f64, gpus: u32, options: Options) -> Times {
        let (measured, assumed) = (&self.measured, &self.assumed);
        let count = f64::from(gpus);
        // As many parts per GPU as keep each below the desired time.
        let rounds = (gpu_seconds / count / assumed.part_time).ceil().max(1.0);
        let parts = rounds * count;
        let readers = if options.once_a_node {
            f64::from(gpus.div_ceil(assumed.gpus_per_node))
        } else {
            count
        };
        let checkpoints = (gpu_seconds / count / assumed.checkpoint_every).floor();
        let checkpoint = measured.checkpoint_bytes * count / assumed.storage;
        let written = measured.part_write + measured.part_bytes * count / assumed.storage;
        // Files written while the GPU waits.
        let files = checkpoints * checkpoint + rounds * written;
        let (levels, group) = if options.tree {
            tree(parts, f64::from(assumed.fan_in))
        } else {
            (1.0, parts)
        };
        let alone = gpus == 1 && rounds == 1.0;
        let (job_start, merge) = if alone {
            (0.0, 0.0)
        } else {
            (
                count / assumed.task_starts + assumed.job_delay * (1.0 + levels),
                levels * (group * measured.part_merge + measured.part_write),
            )
        };
        Times {
            parts: parts as u32,
            work: gpu_seconds / count,
            job_start,
            start: rounds * (measured.start + measured.first_wave),
            scene: rounds * measured.scene_read + options.scene_bytes * readers / assumed.storage,
            files,
            merge,
        }
    }
}

/// Returns the number of levels of a merge tree, and of files that each of its jobs merges.
fn tree(parts: f64, fan_in: f64) -> (f64, f64) {
    let levels = (parts.ln() / fan_in.ln()).ceil().max(1.0);
    (levels, parts.powf(1.0 / levels).ceil())
}

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> Outcome {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => predict(),
        ["--measure", scene, size] => measure(scene, size),
        _ => Err("cargo run --example scaling [-- --measure SCENE WIDTHxHEIGHT]".into()),
    }
}

/// Prints the tables and draws the chart.
fn predict() -> Outcome {
    let inputs: Inputs = ron::from_str(&fs::read_to_string(INPUTS)?)?;
    let small = Options {
        once_a_node: true,
        tree: true,
        scene_bytes: inputs.measured.scene_bytes,
    };
    let large = Options {
        scene_bytes: inputs.assumed.large_scene,
        ..small
    };
    println!("Efficiency, %:\n");
    let names = WORKS.map(|(_, name, _)| name);
    println!("| GPUs | {} |", names.join(" | "));
    println!("|---:|{}", "---:|".repeat(WORKS.len()));
    for gpus in GPUS {
        let cells = WORKS.map(|(hours, ..)| {
            let times = inputs.times(hours * 3600.0, gpus, small);
            format!("{:.1}", 100.0 * times.efficiency(hours * 3600.0, gpus))
        });
        println!("| {gpus} | {} |", cells.join(" | "));
    }
    let (hours, name, _) = WORKS[1];
    println!("\nWhere the time goes, {name}, seconds:\n");
    println!(
        "| GPUs | scene, merge | parts | work | engine | start | scene | files | merge | of linear, % |"
    );
    println!("|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    let variants = [
        ("small, tree", small),
        (
            "small, one job",
            Options {
                tree: false,
                ..small
            },
        ),
        ("large once a node, tree", large),
        (
            "large for each GPU, tree",
            Options {
                once_a_node: false,
                ..large
            },
        ),
    ];
    for gpus in [64, 1000, 10_000] {
        for (what, options) in variants {
            let times = inputs.times(hours * 3600.0, gpus, options);
            println!(
                "| {gpus} | {what} | {} | {:.0} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} |",
                times.parts,
                times.work,
                times.job_start,
                times.start,
                times.scene,
                times.files,
                times.merge,
                100.0 * times.efficiency(hours * 3600.0, gpus)
            );
        }
    }
    let paths = hours * 3600.0 * inputs.measured.paths_per_second;
    println!(
        "\n{name} are {:.0} samples per pixel of 2048², at {:.0} million paths per second.",
        paths / f64::from(2048 * 2048),
        inputs.measured.paths_per_second / 1e6
    );
    for (gpus, found) in &inputs.measured_gpus {
        println!(
            "measured on one host: {gpus} GPUs, {:.1} % of linear",
            100.0 * found
        );
    }
    fs::write(CHART, chart(&inputs, small))?;
    println!("\n{CHART} is drawn.");
    Ok(())
}

/// Draws efficiency over the number of GPUs, one curve per amount of work.
fn chart(inputs: &Inputs, options: Options) -> String {
    const LEFT: f64 = 56.0;
    const TOP: f64 = 44.0;
    const WIDTH: f64 = 560.0;
    const HEIGHT: f64 = 200.0;
    const DECADES: f64 = 4.0;
    let mut svg = Svg::new(640, 300);
    svg.title(
        LEFT,
        18.0,
        "Efficiency, by the model of docs/benchmarks/scaling.md",
    );
    let place = |gpus: f64, part: f64| {
        (
            LEFT + WIDTH * gpus.log10() / DECADES,
            TOP + HEIGHT * (1.0 - part),
        )
    };
    for percent in [0, 25, 50, 75, 100] {
        let (_, y) = place(1.0, f64::from(percent) / 100.0);
        svg.level(LEFT, y, WIDTH, &format!("{percent} %"));
    }
    for gpus in [1, 10, 100, 1000, 10_000] {
        svg.tick(
            place(gpus.into(), 0.0).0,
            TOP + HEIGHT + 16.0,
            &gpus.to_string(),
        );
    }
    for (number, (hours, name, color)) in WORKS.into_iter().enumerate() {
        let points = (0..=160).map(|step| {
            let gpus = 10_f64.powf(DECADES * f64::from(step) / 160.0).round();
            let times = inputs.times(hours * 3600.0, gpus as u32, options);
            place(gpus, times.efficiency(hours * 3600.0, gpus as u32))
        });
        svg.line(points, color);
        svg.key(LEFT + 140.0 * number as f64, 36.0, color, name);
    }
    for &(gpus, found) in &inputs.measured_gpus {
        let (x, y) = place(gpus.into(), found);
        svg.bar(x - 2.0, y - 2.0, 4.0, 4.0, "#ffffff");
    }
    svg.note(
        LEFT,
        288.0,
        "GPUs; white squares are measured, inputs are in docs/scaling.ron",
    );
    svg.finish()
}

/// Number of repetitions of each measurement. The fastest counts, because other work on the machine can only slow it
/// down.
const ROUNDS: usize = 5;

/// Runs a piece of work several times and returns the result of the fastest run with its time.
fn fastest<T>(
    mut work: impl FnMut() -> Result<T, Box<dyn std::error::Error>>,
) -> Result<(T, Duration), Box<dyn std::error::Error>> {
    let mut best: Option<(T, Duration)> = None;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let made = work()?;
        let time = start.elapsed();
        if best.as_ref().is_none_or(|(_, shortest)| time < *shortest) {
            best = Some((made, time));
        }
    }
    best.ok_or_else(|| "no round".into())
}

/// Prints the measured inputs of the model.
fn measure(path: &str, size: &str) -> Outcome {
    let (width, height) = size
        .split_once('x')
        .ok_or("expected a size as WIDTHxHEIGHT")?;
    let size = (width.parse()?, height.parse()?);
    let settings = Settings {
        backend: BackendChoice::Cpu,
        ..Settings::default()
    };
    let ((scene, mut renderer), read) = fastest(|| {
        let mut scene = Scene::load(Path::new(path))?;
        scene.set_size(size);
        let renderer = Renderer::new(&scene, &settings)?;
        Ok((scene, renderer))
    })?;
    println!(
        "// {path}, {}x{}, {}",
        size.0,
        size.1,
        renderer.backend_line()
    );
    println!("scene_read: {:.3},", read.as_secs_f64());
    println!(
        "scene_bytes: {}, // without the files that it names",
        fs::metadata(path)?.len()
    );
    let folder = tempfile::tempdir()?;
    let mut files = Vec::new();
    for sample in 0..2 {
        let place = |sample| SamplePosition { sample, pixel: 0 };
        let samples = Samples::new(
            place(sample)..place(sample + 1),
            scene.size.0 * scene.size.1,
        );
        renderer.set_samples(&samples.ok_or("a sample")?)?;
        while renderer.advance()? {}
        files.push(renderer.part()?);
    }
    let file = folder.path().join("part.exr");
    let bytes = || fs::metadata(&file).map(|found| found.len());
    files[1].write(&file, Packing::Fast)?;
    println!("checkpoint_bytes: {},", bytes()?);
    let ((), write) = fastest(|| Ok(files[1].write(&file, Packing::Small)?))?;
    println!("part_bytes: {},", bytes()?);
    println!("part_write: {:.3},", write.as_secs_f64());
    let mut merge = Duration::MAX;
    for _ in 0..ROUNDS {
        let mut sum = files[0].clone();
        let start = Instant::now();
        sum.add(&Part::read(&file)?)?;
        merge = merge.min(start.elapsed());
    }
    println!("part_merge: {:.3},", merge.as_secs_f64());
    Ok(())
}
