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
    chart::survival,
    layers::Layers,
    output::{self, Look},
    renderer::{BackendChoice, Renderer, Settings},
    scene::Scene,
};

/// Renders the scenes of `scenes/` for their gallery.
#[derive(Parser)]
struct Arguments {
    /// Scenes to render, such as cornell [default: all]
    scenes: Vec<String>,
    /// As of `raysieve --backend`
    #[arg(long, default_value_t)]
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
    let stats = &part.claim.stats;
    let name = stem(path);
    let picture = format!("scenes/gallery/{name}.png");
    output::write_picture(picture.as_ref(), &part, look, &Layers::default())?;
    fs::write(format!("scenes/gallery/{name}.svg"), survival(&name, stats))?;
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

/// `many_lights` is "Many lights", and `gltf_model` is "glTF model".
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
