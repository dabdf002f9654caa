//! Renders every scene of `scenes/` to an image and a chart of its paths per bounce, and writes `scenes/README.md`.
//!
//! Run from the repository's root: `cargo run --release --example gallery`, with `-- --backend cuda` for a GPU, and
//! with names of scenes to render only those. Any backend gives the same files. Without cargo, run the built example in
//! a folder with `scenes/` and `assets/`.

#[path = "../../cli/src/bench/svg.rs"]
#[allow(dead_code, reason = "the programs that draw charts share it")]
mod svg;

use std::{
    error::Error,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use clap::Parser;
use raysieve::{
    inspect::aovs::Aovs,
    render::{
        output::{self, Look},
        renderer::{BackendChoice, Renderer, Settings},
        stats::Stats,
    },
    scene::Scene,
};
use raysieve_viewer::{
    chart::{ENDED, MISSES, SURVIVORS},
    overlay,
};

use svg::Svg;

/// Renders the gallery of the scenes in `scenes/`
#[derive(Parser)]
struct Arguments {
    /// Scenes to render, such as cornell [default: all]
    scenes: Vec<String>,
    /// Backend to render with, as for `raysieve --backend`
    #[arg(long, default_value_t)]
    backend: BackendChoice,
    /// Samples per pixel, as a multiple of the scene's own
    #[arg(long, default_value_t = 1.0)]
    quality: f64,
}

/// Maximum width and height of the images in pixels; each is as large as fits.
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

/// Returns the name of a scene: its file name without the extension.
fn stem(path: &Path) -> String {
    path.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// Writes the image and the chart of a scene.
fn render(path: &Path, arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
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
        backend: arguments.backend.clone(),
        ..Settings::default()
    };
    let mut renderer = Renderer::new(&scene, &settings)?;
    while renderer.advance()? {}
    let part = renderer.part()?;
    let look = Look {
        exposure_stops: scene.exposure_stops,
        tone: scene.tone,
        overlay: false,
        denoise: false,
    };
    let stats = &part.header.stats;
    let name = stem(path);
    let picture = format!("scenes/gallery/{name}.png");
    output::write_picture(
        picture.as_ref(),
        &part,
        look,
        &Aovs::default(),
        &|developed, stats| overlay::annotate(developed, stats, look),
    )?;
    fs::write(format!("scenes/gallery/{name}.svg"), survival(&name, stats))?;
    println!(
        "{name}: {} samples per pixel, {:.1} s on {}, film_hash {}",
        stats.spp,
        start.elapsed().as_secs_f64(),
        stats.backend,
        stats.film_hash
    );
    Ok(())
}

/// Returns the text of `scenes/README.md`, with the comment at the head of each scene's file.
fn readme(scenes: &[PathBuf]) -> Result<String, Box<dyn Error>> {
    let mut text = "\
# Scenes

The first lines of each file say why the scene is here. The chart below an image shows what happened to its paths. For each
bounce it shows the fraction of camera rays that enter it. Of these it shows how many survive, end at a surface, or
miss the scene. Compaction removes the paths that end or miss.

`cargo run --release --example gallery` writes the images, the charts and this text. `-- --help` lists its options for scenes
and backends, and every backend gives the same files. `make.py` writes the scenes that are too long to write by hand, and the
models in `assets/models/`.
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
            "\n## {}\n\n{}\n\n[![{name}](gallery/{name}.png)]({name}.ron)\n\n![paths by bounce](gallery/{name}.svg)\n",
            title(&name),
            comment.join("\n")
        )?;
    }
    Ok(text)
}

/// Returns the heading of a scene: `many_lights` becomes "Many lights", `gltf_model` "glTF model".
fn title(name: &str) -> String {
    let words = name.replace('_', " ");
    if let Some(rest) = words.strip_prefix("gltf") {
        return format!("glTF{rest}");
    }
    let mut letters = words.chars();
    letters
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .chain(letters)
        .collect()
}

/// Returns an SVG file of 640 × 200 pixels with one bar per bounce that has rays. Its title consists of `name`, picture
/// size, samples per pixel, and rays per path including shadow rays.
///
/// A bar's height is the number of rays in the bounce, as a fraction of the camera rays. From the bottom up, its parts
/// are the rays that survived, ended at a surface, or left the scene.
fn survival(name: &str, stats: &Stats) -> String {
    const LEFT: f64 = 44.0;
    const TOP: f64 = 40.0;
    const WIDTH: f64 = 580.0;
    const HEIGHT: f64 = 120.0;
    let rows: Vec<_> = stats.bounces.iter().filter(|row| row.rays > 0).collect();
    let all = rows.first().map_or(1, |row| row.rays) as f64;
    let bar = (WIDTH / rows.len().max(1) as f64).min(48.0);
    let [width, height] = stats.size;
    let mut svg = Svg::new(640, 200);
    let rays = stats.rays as f64 / all;
    let title = format!(
        "{name}, {width} × {height}, {} {} per pixel, {rays:.2} rays per path",
        stats.spp,
        if stats.spp == 1 { "sample" } else { "samples" }
    );
    svg.title(LEFT, 18.0, &title);
    let keys = [("survive", SURVIVORS), ("end", ENDED), ("miss", MISSES)];
    for ((word, color), x) in keys.into_iter().zip([448.0, 516.0, 566.0]) {
        svg.key(x, 18.0, color, word);
    }
    for percent in [0, 50, 100] {
        let y = TOP + HEIGHT * (1.0 - f64::from(percent) / 100.0);
        svg.level(LEFT, y, WIDTH, &format!("{percent} %"));
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
        for (count, color) in parts.into_iter().filter(|(count, _)| *count > 0) {
            let part = HEIGHT * count as f64 / all;
            y -= part;
            svg.bar(x, y, bar * 0.88, part, color);
        }
        if row.bounce.is_multiple_of(every) {
            svg.tick(x + bar * 0.44, TOP + HEIGHT + 15.0, &row.bounce.to_string());
        }
    }
    svg.note(
        LEFT,
        193.0,
        &format!("bounce; film_hash {}", stats.film_hash),
    );
    svg.finish()
}
