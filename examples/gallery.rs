//! The gallery: renders every scene of `scenes/` into a picture and a chart of what became of its rays, and writes
//! `scenes/README.md` around them.
//!
//! From the repository's root: `cargo run --release --example gallery`, with `-- --backend cuda` for a GPU, and with names
//! of scenes for some of them only. Any backend gives the same files. Where there is no cargo, the program itself does it
//! from a folder with `scenes/` and `assets/` in it.

use std::{
    error::Error,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use clap::Parser;
use raysieve::{
    layers::Layers,
    output::{self, Look},
    renderer::{BackendChoice, Renderer, Settings},
    scene::Scene,
    stats::Stats,
};

/// Renders the scenes of `scenes/` for their gallery.
#[derive(Parser)]
struct Arguments {
    /// Scenes to render, such as cornell [default: all]
    scenes: Vec<String>,
    /// auto, cpu, cuda or cuda:N
    #[arg(long, default_value = "auto", value_parser = backend)]
    backend: BackendChoice,
    /// Samples a pixel, as a multiple of the scene's own
    #[arg(long, default_value_t = 1.0)]
    quality: f64,
}

/// Pictures are as large as they may be within these sides.
const LARGEST: (u32, u32) = (640, 400);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let mut scenes: Vec<PathBuf> = fs::read_dir("scenes")?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    scenes.retain(|path| path.extension().is_some_and(|ending| ending == "ron"));
    scenes.sort();
    fs::create_dir_all("scenes/gallery")?;
    let known = |name: &String| scenes.iter().any(|path| stem(path) == *name);
    if let Some(unknown) = arguments.scenes.iter().find(|name| !known(name)) {
        return Err(format!("there is no scenes/{unknown}.ron").into());
    }
    for path in &scenes {
        if arguments.scenes.is_empty() || arguments.scenes.contains(&stem(path)) {
            render(path, &arguments)?;
        }
    }
    fs::write("scenes/README.md", readme(&scenes)?)?;
    Ok(())
}

fn backend(text: &str) -> Result<BackendChoice, String> {
    match text.split_once(':') {
        None if text == "auto" => Ok(BackendChoice::Auto),
        None if text == "cpu" => Ok(BackendChoice::Cpu),
        None if text == "cuda" => Ok(BackendChoice::Cuda(0)),
        Some(("cuda", number)) => number
            .parse()
            .map(BackendChoice::Cuda)
            .map_err(|_| "cuda:N expects a number".to_owned()),
        _ => Err("known are auto, cpu, cuda and cuda:N".to_owned()),
    }
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// Writes a scene's picture and chart.
fn render(path: &Path, arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let begun = Instant::now();
    let mut scene = Scene::load(path)?;
    let (width, height) = (f64::from(scene.size.0), f64::from(scene.size.1));
    let scale = (f64::from(LARGEST.0) / width).min(f64::from(LARGEST.1) / height);
    scene.size = (
        (width * scale).round() as u32,
        (height * scale).round() as u32,
    );
    scene.spp = (f64::from(scene.spp) * arguments.quality).ceil().max(1.0) as u32;
    scene.check_settings()?;
    let settings = Settings {
        backend: arguments.backend,
        ..Settings::default()
    };
    let mut renderer = Renderer::new(&scene, &settings)?;
    while renderer.advance()? {}
    let part = renderer.part()?;
    let look = Look {
        exposure_stops: scene.exposure_stops,
        tone: scene.tone,
        overlay: false,
    };
    let stats = &part.claim.stats;
    let name = stem(path);
    let picture = format!("scenes/gallery/{name}.png");
    output::write_picture(picture.as_ref(), &part, look, &Layers::default())?;
    fs::write(format!("scenes/gallery/{name}.svg"), chart(&name, stats))?;
    println!(
        "{name}: {} samples a pixel, {:.1} s on {}, film_hash {}",
        stats.spp,
        begun.elapsed().as_secs_f64(),
        stats.backend,
        stats.film_hash
    );
    Ok(())
}

/// The README of all scenes: each says in the comment at its head why it is there.
fn readme(scenes: &[PathBuf]) -> Result<String, Box<dyn Error>> {
    let mut text = "\
# Scenes

Each is here for a reason, which its file tells in its first lines. Below a picture is what became of its paths: of all
rays from the camera, those that go into each bounce, and of these the part that survives it, ends at a surface, or
leaves for the sky. The sieve removes what ends and what leaves.

Pictures, charts and this text are made by `cargo run --release --example gallery` (`-- --help` tells how to choose the
scenes and the backend); any backend makes the same. `make.py` writes the scenes that are too long to write by hand, and
the models in `assets/models/`.
"
    .to_owned();
    for path in scenes {
        let name = stem(path);
        let scene = fs::read_to_string(path)?;
        let comment: Vec<&str> = scene
            .lines()
            .map_while(|line| line.strip_prefix("//"))
            .map(str::trim)
            .collect();
        write!(
            text,
            "\n## {}\n\n{}\n\n[![{name}](gallery/{name}.png)]({name}.ron)\n\n![its paths, bounce by bounce](gallery/{name}.svg)\n",
            title(&name),
            comment.join("\n")
        )?;
    }
    Ok(text)
}

/// `many_lights` is "Many lights".
fn title(name: &str) -> String {
    let words = name.replace('_', " ");
    let mut letters = words.chars();
    letters
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .chain(letters)
        .collect()
}

/// Of the overlay: told apart by brightness and by blue against yellow.
const SURVIVORS: &str = "#48cfad";
const ENDED: &str = "#f09632";
const MISSES: &str = "#8698be";

/// A bar a bounce, as high as the part of the camera's rays that goes into it, of three parts.
fn chart(name: &str, stats: &Stats) -> String {
    const LEFT: f64 = 44.0;
    const TOP: f64 = 40.0;
    const WIDTH: f64 = 580.0;
    const HEIGHT: f64 = 120.0;
    let rows: Vec<_> = stats.bounces.iter().filter(|row| row.rays > 0).collect();
    let all = rows.first().map_or(1, |row| row.rays) as f64;
    let bar = (WIDTH / rows.len().max(1) as f64).min(48.0);
    let [width, height] = stats.size;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"640\" height=\"200\" viewBox=\"0 0 640 200\" font-family=\"sans-serif\" \
         font-size=\"11\">\n<rect width=\"640\" height=\"200\" rx=\"6\" fill=\"#0e1117\"/>\n\
         <text x=\"{LEFT}\" y=\"18\" fill=\"#cdd3db\">{name}, {width} × {height}, {} samples a pixel, {:.2} rays a path</text>\n",
        stats.spp,
        stats.rays as f64 / all
    );
    let keys = [("survive", SURVIVORS), ("end", ENDED), ("leave", MISSES)];
    for ((word, colour), x) in keys.into_iter().zip([448.0, 516.0, 566.0]) {
        svg += &format!(
            "<rect x=\"{x}\" y=\"10\" width=\"9\" height=\"9\" fill=\"{colour}\"/><text x=\"{}\" y=\"18\" fill=\"#cdd3db\">{word}</text>\n",
            x + 13.0
        );
    }
    for percent in [0, 50, 100] {
        let y = TOP + HEIGHT * (1.0 - f64::from(percent) / 100.0);
        svg += &format!(
            "<path d=\"M{LEFT} {y}h{WIDTH}\" stroke=\"#3e4450\" stroke-width=\"0.5\"/><text x=\"{}\" y=\"{}\" fill=\"#8e97a4\" \
             text-anchor=\"end\">{percent} %</text>\n",
            LEFT - 6.0,
            y + 4.0
        );
    }
    let every = (rows.len() / 16 + 1) as u32;
    for row in &rows {
        let x = LEFT + bar * f64::from(row.bounce);
        let mut y = TOP + HEIGHT;
        let parts = [
            (row.survivors, SURVIVORS),
            (row.ended, ENDED),
            (row.misses, MISSES),
        ];
        for (count, colour) in parts.into_iter().filter(|(count, _)| *count > 0) {
            let part = HEIGHT * count as f64 / all;
            y -= part;
            svg += &format!(
                "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{:.2}\" height=\"{part:.2}\" fill=\"{colour}\"/>\n",
                bar * 0.88
            );
        }
        if row.bounce.is_multiple_of(every) {
            svg += &format!(
                "<text x=\"{:.2}\" y=\"{}\" fill=\"#8e97a4\" text-anchor=\"middle\">{}</text>\n",
                x + bar * 0.44,
                TOP + HEIGHT + 15.0,
                row.bounce
            );
        }
    }
    svg + &format!(
        "<text x=\"{LEFT}\" y=\"193\" fill=\"#8e97a4\">bounce; film_hash {}</text>\n</svg>\n",
        stats.film_hash
    )
}
