//! Renders each scene at a small size and compares the film's hash with `tests/golden/SCENE.hash`.
//!
//! `tests/golden/SCENE.png` shows the expected film. If the hash differs, `golden/SCENE.png` in the target folder shows
//! the expected image, the difference by FLIP (Andersson et al. 2020), and the actual image. If the change is intended,
//! `UPDATE_GOLDEN=1 cargo test --test golden` replaces the expected files; that run fails all the same.

use std::{
    env,
    fs::{self, File},
    io::BufWriter,
    path::{Path, PathBuf},
};

use image::{RgbImage, codecs::png::PngEncoder};
use libtest_mimic::{Arguments, Trial};
use nv_flip::{DEFAULT_PIXELS_PER_DEGREE, FlipImageRgb8, FlipPool, flip, magma_lut};
use raysieve::{
    inspect::aovs::Aovs,
    render::{
        output::{self, Look},
        renderer::{BackendChoice, Renderer, Settings},
        stats::Stats,
    },
    scene::{Image, Scene, Texels},
};

/// Width and height of the renders in pixels.
const SIZE: (u32, u32) = (128, 128);
/// Samples per pixel of the renders.
const SPP: u32 = 16;
/// Largest size of a golden image in bytes; each version stays in the repository's history.
const MAX_BYTES: u64 = 64 << 10;
/// Scenes of `tests/scenes` that cover features missing from the gallery in `scenes`.
const MORE: [&str; 7] = [
    "bodies",
    "extended",
    "fog",
    "milk",
    "nested",
    "orthographic",
    "smoke",
];
/// The command that accepts the current films.
const UPDATE: &str = "UPDATE_GOLDEN=1 cargo test --test golden";

fn main() {
    let mut scenes = stems("scenes", "ron");
    scenes.extend(MORE.map(str::to_owned));
    scenes.sort();
    let mut trials: Vec<Trial> = scenes
        .iter()
        .map(|scene| {
            let scene = scene.clone();
            Trial::test(format!("{scene}_matches_golden"), move || {
                Ok(matches_golden(&scene)?)
            })
        })
        .collect();
    trials.push(Trial::test(
        "every_scene_has_its_golden_hash_and_image",
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

/// Renders a scene and compares it with the golden files; the error describes the difference.
fn matches_golden(scene: &str) -> Result<(), String> {
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
            "{} was replaced: check it, then run the test without UPDATE_GOLDEN",
            golden_picture.display()
        ));
    }
    let missing = |path: &Path| format!("{} is missing: {UPDATE}", path.display());
    let expected_hash = fs::read_to_string(&golden_hash).map_err(|_| missing(&golden_hash))?;
    let expected = read(&golden_picture).ok_or_else(|| missing(&golden_picture))?;
    let actual = read(&actual).ok_or_else(|| format!("{} is damaged", actual.display()))?;
    let bytes = fs::metadata(&golden_picture)
        .map_err(|error| error.to_string())?
        .len();
    if bytes > MAX_BYTES {
        return Err(format!(
            "{} has {bytes} bytes; at most {MAX_BYTES} are allowed",
            golden_picture.display()
        ));
    }
    let same_film = expected_hash.trim() == stats.film_hash;
    if same_film && expected == actual {
        return Ok(());
    }
    let what = if same_film {
        "the film is unchanged but its image is not: the tone mapping differs".to_owned()
    } else {
        format!(
            "film_hash {}, expected {}",
            stats.film_hash,
            expected_hash.trim()
        )
    };
    Err(format!(
        "{scene}: {what}\n{}\nif the change is intended: {UPDATE}",
        difference(scene, &expected, &actual)?
    ))
}

/// Renders a scene on the CPU to a PNG file and returns the statistics.
fn render(scene: &str, picture: &Path) -> Result<Stats, String> {
    let render = || {
        // The path is relative to the repository's root, so that the PNG contains no machine-specific path.
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
        output::write_picture(
            picture,
            &part,
            Look::default(),
            &Aovs::default(),
            &|_, _| {},
        )?;
        Ok(part.header.stats)
    };
    render().map_err(|error: raysieve::Error| error.to_string())
}

/// Reads a PNG with the renderer's own reader, or returns `None` if it is missing or damaged. The readers of the crate
/// `image` would be compiled again for this test program.
fn read(path: &Path) -> Option<RgbImage> {
    let image = Image::open(path).ok()?;
    let Texels::Bytes(texels) = image.texels else {
        return None;
    };
    let colors = texels.into_iter().flat_map(|[r, g, b, _]| [r, g, b]);
    RgbImage::from_raw(image.width, image.height, colors.collect())
}

/// Writes the expected image, the difference and the actual image side by side; returns a description of the
/// difference.
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
    let file = File::create(&path).map_err(|error| error.to_string())?;
    panels
        .write_with_encoder(PngEncoder::new(BufWriter::new(file)))
        .map_err(|error| error.to_string())?;
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

/// Returns the folder `golden` in the target folder, for images of failed comparisons.
fn artefacts() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("golden");
    fs::create_dir_all(&folder).expect("a folder in the target folder");
    folder
}

/// Returns the sorted names, without extension, of the files in `folder` whose extension is `ending`.
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
