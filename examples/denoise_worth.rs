//! Prints the benefit and the cost of denoising as a Markdown table: `cargo run --release --example denoise_worth --
//! [--backend cuda] [--size WxH] [--reference N] [SCENE...]`.
//!
//! For each scene and number of samples it prints the errors of the image, of the denoised image, and of the image
//! denoised by Open Image Denoise where that is installed. All are against a reference of another seed. The time is that
//! of the stage, or of the process of Open Image Denoise. Error is `noise::mean_difference`. Squared error
//! is `film::picture::relative_squared_error`. FLIP is the mean perceptual difference (Andersson et al. 2020) with the
//! scene's exposure and tone curve.

use std::{error::Error, fs, path::PathBuf};

use clap::Parser;
use nv_flip::{DEFAULT_PIXELS_PER_DEGREE, FlipImageRgb8, FlipPool, flip};
use raysieve::{
    adaptive::noise_estimate::mean_difference,
    film::picture::{Picture, relative_squared_error, tone},
    inspect::aovs::Aovs,
    render::{
        oidn::{GUIDES, Oidn},
        output::{Look, write_png},
        renderer::{BackendChoice, Renderer, Settings},
    },
    scene::Scene,
    stages::Preview,
};

/// Compares denoised images with the originals
#[derive(Parser)]
struct Arguments {
    /// Scenes to render
    #[arg(default_values = ["scenes/cornell.ron", "scenes/spheres.ron", "scenes/mesh.ron", "scenes/rough_glass.ron"])]
    scenes: Vec<PathBuf>,
    /// Backend to render with
    #[arg(long, default_value = "auto")]
    backend: BackendChoice,
    /// Image size in pixels
    #[arg(long, default_value = "1920x1080")]
    size: String,
    /// Samples per pixel
    #[arg(long, value_delimiter = ',', default_values_t = [2, 4, 16, 64, 256])]
    spp: Vec<u32>,
    /// Samples per pixel of the reference
    #[arg(long, default_value_t = 16_384)]
    reference: u32,
    /// Number of times that the stage is timed
    #[arg(long, default_value_t = 21)]
    rounds: usize,
    /// Folder for the images and denoised images, as PNG
    #[arg(long)]
    keep: Option<PathBuf>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let (width, height) = arguments
        .size
        .split_once('x')
        .ok_or("expected a size as WIDTHxHEIGHT")?;
    let size = (width.parse()?, height.parse()?);
    if let Some(folder) = &arguments.keep {
        fs::create_dir_all(folder)?;
    }
    let settings = Settings {
        backend: arguments.backend.clone(),
        ..Settings::default()
    };
    let oidn = Oidn::find().map_err(|error| eprintln!("skipped: {}", error.line()));
    println!("| scene | samples | denoiser | error % | squared | FLIP | ms | min to max |");
    println!("|---|---:|---|---:|---:|---:|---:|---|");
    for path in &arguments.scenes {
        let mut scene = Scene::load(path)?;
        scene.set_size(size);
        let name = path.file_stem().unwrap_or_default().display().to_string();
        let truth = render(&mut scene, arguments.reference, 1, &settings)?.picture()?;
        for &spp in &arguments.spp {
            let mut renderer = render(&mut scene, spp, 2, &settings)?;
            let picture = renderer.picture()?;
            let rounds = 0..arguments.rounds.max(1);
            let own = rounds.clone().map(|_| {
                let preview = renderer.preview()?;
                preview.ok_or_else(|| "a denoised image needs two samples".into())
            });
            let own = own.collect::<Result<Vec<Preview>, Box<dyn Error>>>()?;
            let by_oidn = match &oidn {
                Ok(oidn) => {
                    let guides = Aovs::trace(&scene, renderer.trees(), &GUIDES)?;
                    let denoised = rounds.map(|_| oidn.denoise(&picture, &guides));
                    denoised.collect::<Result<Vec<Preview>, _>>()?
                }
                Err(()) => Vec::new(),
            };
            let plain = Preview {
                picture: picture.clone(),
                milliseconds: 0.0,
            };
            for (denoiser, previews) in [("none", &vec![plain]), ("own", &own), ("oidn", &by_oidn)]
            {
                let Some(Preview { picture, .. }) = previews.last() else {
                    continue;
                };
                let mut times: Vec<f64> = previews.iter().map(|one| one.milliseconds).collect();
                times.sort_by(f64::total_cmp);
                println!(
                    "| {name} | {spp} | {denoiser} | {:.2} | {:.5} | {:.4} | {:.3} | {:.3} to {:.3} |",
                    100.0 * mean_difference(picture, &truth),
                    relative_squared_error(picture, &truth),
                    seen_error(picture, &truth, &scene),
                    times[times.len() / 2],
                    times[0],
                    times[times.len() - 1],
                );
            }
            if let Some(folder) = &arguments.keep {
                let look = Look {
                    exposure_stops: scene.exposure_stops,
                    tone: scene.tone,
                    ..Look::default()
                };
                let stats = renderer.stats();
                let file = |what: &str| folder.join(format!("{name}-{spp}-{what}.png"));
                write_png(&file("picture"), &picture, &stats, look, &|_, _| {})?;
                for (what, previews) in [("preview", &own), ("oidn", &by_oidn)] {
                    if let Some(preview) = previews.last() {
                        write_png(&file(what), &preview.picture, &stats, look, &|_, _| {})?;
                    }
                }
            }
        }
    }
    Ok(())
}

/// Renders a scene with this number of samples and seed.
fn render(
    scene: &mut Scene,
    spp: u32,
    seed: u32,
    settings: &Settings,
) -> Result<Renderer, raysieve::Error> {
    (scene.spp, scene.seed) = (spp, seed);
    scene.check_settings()?;
    let mut renderer = Renderer::new(scene, settings)?;
    renderer.keep_for_previews();
    while renderer.advance()? {}
    Ok(renderer)
}

/// Returns the mean FLIP error of an image as displayed.
fn seen_error(picture: &Picture, truth: &Picture, scene: &Scene) -> f64 {
    let image = |picture: &Picture| {
        let rgba = tone::to_srgb8(picture, scene.exposure_stops, scene.tone);
        let pixels = rgba.chunks_exact(4);
        let rgb: Vec<u8> = pixels
            .flat_map(|pixel| [pixel[0], pixel[1], pixel[2]])
            .collect();
        FlipImageRgb8::with_data(picture.width, picture.height, &rgb)
    };
    let map = flip(image(truth), image(picture), DEFAULT_PIXELS_PER_DEGREE);
    f64::from(FlipPool::from_image(&map).mean())
}
