//! Each scene, small, gives the film that it gave before: `tests/golden/SCENE.hash`, to the bit.
//!
//! `tests/golden/SCENE.png` shows that film. Where the hash differs, `golden/SCENE.png` in the target folder shows what
//! was expected, the difference as FLIP sees it (Andersson et al. 2020), and what came. If what came is right:
//! `UPDATE_GOLDEN=1 cargo test --test golden` makes it what is expected, and fails all the same.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use image::RgbImage;
use libtest_mimic::{Arguments, Trial};
use nv_flip::{DEFAULT_PIXELS_PER_DEGREE, FlipImageRgb8, FlipPool, flip, magma_lut};
use raysieve::{
    layers::Layers,
    output::{self, Look},
    renderer::{BackendChoice, Renderer, Settings},
    scene::Scene,
    stats::Stats,
};

const SIZE: (u32, u32) = (128, 128);
const SPP: u32 = 16;
/// Golden pictures stay in the repository for ever.
const MAX_BYTES: u64 = 64 << 10;
/// Of `tests/scenes`: what no scene of the gallery shows.
const MORE: [&str; 1] = ["orthographic"];
const UPDATE: &str = "UPDATE_GOLDEN=1 cargo test --test golden";

fn main() {
    let mut scenes = stems("scenes", "ron");
    scenes.extend(MORE.map(str::to_owned));
    scenes.sort();
    let mut trials: Vec<Trial> = scenes
        .iter()
        .map(|scene| {
            let scene = scene.clone();
            Trial::test(format!("{scene}_is_as_it_was"), move || {
                Ok(is_as_it_was(&scene)?)
            })
        })
        .collect();
    trials.push(Trial::test(
        "every_golden_film_has_its_scene_and_its_picture",
        move || {
            assert!(!scenes.is_empty());
            assert_eq!(stems("tests/golden", "hash"), scenes);
            assert_eq!(stems("tests/golden", "png"), scenes);
            Ok(())
        },
    ));
    trials.push(Trial::test("every_scene_is_in_the_gallery", || {
        let readme = fs::read_to_string("scenes/README.md")?;
        for scene in stems("scenes", "ron") {
            let shown = [
                format!("gallery/{scene}.png"),
                format!("gallery/{scene}.svg"),
            ];
            for file in shown {
                let there = Path::new("scenes").join(&file).exists();
                if !there || !readme.contains(&format!("({file})")) {
                    return Err(format!(
                        "scenes/README.md does not show {file}: cargo run --release --example gallery {scene}"
                    )
                    .into());
                }
            }
        }
        Ok(())
    }));
    libtest_mimic::run(&Arguments::from_args(), trials).exit()
}

/// Renders the scene and compares.
fn is_as_it_was(scene: &str) -> Result<(), String> {
    let golden = Path::new("tests/golden").join(scene);
    let (golden_hash, golden_picture) =
        (golden.with_extension("hash"), golden.with_extension("png"));
    let actual = artefacts().join(format!("{scene}.actual.png"));
    let stats = render(scene, &actual)?;
    if env::var_os("UPDATE_GOLDEN").is_some() {
        let hash = fs::write(&golden_hash, format!("{}\n", stats.film_hash));
        hash.and(fs::copy(&actual, &golden_picture).map(drop))
            .map_err(|error| error.to_string())?;
        return Err(format!(
            "{} is made anew: look at it, then test without UPDATE_GOLDEN",
            golden_picture.display()
        ));
    }
    let missing = |path: &Path| format!("{} is missing: {UPDATE}", path.display());
    let expected_hash = fs::read_to_string(&golden_hash).map_err(|_| missing(&golden_hash))?;
    let expected = image::open(&golden_picture)
        .map_err(|_| missing(&golden_picture))?
        .into_rgb8();
    let actual = image::open(&actual)
        .map_err(|error| error.to_string())?
        .into_rgb8();
    let bytes = fs::metadata(&golden_picture)
        .map_err(|error| error.to_string())?
        .len();
    if bytes > MAX_BYTES {
        return Err(format!(
            "{} has {bytes} bytes, {MAX_BYTES} are allowed",
            golden_picture.display()
        ));
    }
    let same_film = expected_hash.trim() == stats.film_hash;
    if same_film && expected == actual {
        return Ok(());
    }
    let what = if same_film {
        "the film is as it was, its picture is not: the tone mapping differs".to_owned()
    } else {
        format!(
            "film_hash {}, expected {}",
            stats.film_hash,
            expected_hash.trim()
        )
    };
    Err(format!(
        "{scene}: {what}\n{}\nif it is right: {UPDATE}",
        difference(scene, &expected, &actual)?
    ))
}

/// Renders the scene on the CPU into a PNG.
fn render(scene: &str, picture: &Path) -> Result<Stats, String> {
    let render = || {
        // From the repository's root, so that the PNG tells no other path.
        let folder = if MORE.contains(&scene) {
            "tests/scenes"
        } else {
            "scenes"
        };
        let scene = Scene::load(&Path::new(folder).join(scene).with_extension("ron"))?;
        let scene = Scene {
            size: SIZE,
            spp: SPP,
            ..scene
        };
        let mut renderer = Renderer::new(
            &scene,
            &Settings {
                backend: BackendChoice::Cpu,
                ..Settings::default()
            },
        )?;
        while renderer.advance()? {}
        let part = renderer.part()?;
        output::write_picture(picture, &part, Look::default(), &Layers::default())?;
        Ok(part.claim.stats)
    };
    render().map_err(|error: raysieve::Error| error.to_string())
}

/// Writes expected, difference and actual side by side; says where, and how far they are apart.
fn difference(scene: &str, expected: &RgbImage, actual: &RgbImage) -> Result<String, String> {
    if expected.dimensions() != actual.dimensions() {
        return Err(format!(
            "{:?} pixels, expected {:?}",
            actual.dimensions(),
            expected.dimensions()
        ));
    }
    let (width, height) = expected.dimensions();
    let of = |picture: &RgbImage| FlipImageRgb8::with_data(width, height, picture);
    let errors = flip(of(expected), of(actual), DEFAULT_PIXELS_PER_DEGREE);
    let mut figures = FlipPool::from_image(&errors);
    let heat = errors.apply_color_lut(&magma_lut()).to_vec();
    let heat =
        RgbImage::from_raw(width, height, heat).ok_or("FLIP gave a picture of another size")?;

    let mut panels = RgbImage::new(3 * width, height);
    for (place, panel) in [expected, &heat, actual].into_iter().enumerate() {
        image::imageops::replace(&mut panels, panel, i64::from(width) * place as i64, 0);
    }
    let path = artefacts().join(format!("{scene}.png"));
    panels.save(&path).map_err(|error| error.to_string())?;
    let differing = expected
        .pixels()
        .zip(actual.pixels())
        .filter(|(expected, actual)| expected != actual)
        .count();
    Ok(format!(
        "{differing} of {} pixels differ; FLIP: mean {:.4}, 95th percentile {:.4}, maximum {:.4}\n\
         expected | difference | actual: {}",
        width * height,
        figures.mean(),
        figures.get_percentile(0.95, true),
        figures.max_value(),
        path.display()
    ))
}

/// `golden` in the target folder.
fn artefacts() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("golden");
    fs::create_dir_all(&folder).expect("a folder in the target folder");
    folder
}

/// The names without their ending of the files in `folder` that have it, sorted.
fn stems(folder: &str, ending: &str) -> Vec<String> {
    let entries = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .map(|entry| entry.expect("an entry").path());
    let files = entries.filter(|path| path.extension().is_some_and(|found| found == ending));
    let mut stems: Vec<String> = files
        .filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned()))
        .collect();
    stems.sort();
    stems
}
