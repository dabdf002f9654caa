//! `raysieve verify`: renders the samples of an image again and compares the result with the image, bit by bit.

use std::{
    hash::{BuildHasher, RandomState},
    path::{Path, PathBuf},
};

use crate::error::Error;
use raysieve::render::part::{PartFile, PartHeader, Portion, SOFTWARE};
use raysieve_scene::Scene;

use crate::{
    arguments::Verify,
    backend_line,
    headless::print_notes,
    note, print_result,
    progress::{PROGRESS_STEPS, progress_bar, with_reading_line},
};

/// Runs `raysieve verify`: renders the samples of the image again on this machine, and compares film and image bit by
/// bit.
///
/// Returns `Ok` if all compared pixels are identical and the rest of the file is undamaged. With `--pixels`, only some
/// pixels are compared.
///
/// # Errors
/// [`Error::VerificationFailed`] with the first pixel that differs, or with the damage if the file is damaged. Other
/// errors mean that the comparison was not possible, or that its result could not be printed.
pub(crate) fn verify(arguments: &Verify) -> Result<(), Error> {
    let path = &arguments.picture;
    let failed = |problem| Error::VerificationFailed {
        file: path.display().to_string(),
        problem,
    };
    let found = PartFile::read(path).map_err(|error| match error {
        raysieve::Error::Damaged { problem, .. } => failed(problem),
        error => error.into(),
    })?;
    let header = found.header.clone();
    let scene = scene(arguments, &header)?;
    if header.identity.software != SOFTWARE {
        note(&format!(
            "{} was rendered by {}, and this is {SOFTWARE}, whose samples may differ",
            path.display(),
            header.identity.software
        ));
    }
    let mut renderer = arguments.machine.renderer_on(&scene, None)?;
    note(&backend_line(&renderer));

    let (width, height) = header.identity.size;
    let (portion, compared) = portion(arguments, width * height);
    let progress = progress_bar(PROGRESS_STEPS);
    let difference = found.verify(&mut renderer, portion, |done| {
        progress.set_position((done * PROGRESS_STEPS as f64) as u64);
    });
    print_notes(&mut renderer, |line| progress.suspend(|| note(line)));
    progress.finish_and_clear();
    let difference = difference?;
    if let Some(difference) = difference {
        return Err(failed(format!(
            "{} of {compared} differ, the first at x {}, y {}: expected {}, found {}",
            difference.count, difference.x, difference.y, difference.expected, difference.found
        )));
    }
    // Checks the rest of the file, including the film of the pixels that were not rendered again.
    found.into_part(path).map_err(|error| match error {
        raysieve::Error::Damaged { problem, .. } => failed(problem),
        error => error.into(),
    })?;
    print_result(&format!(
        "{} verified: {compared}, {} of {}, film_hash {}\n",
        path.display(),
        samples_text(&header),
        scene.path.display(),
        header.stats.film_hash
    ))
}

/// Returns text about the samples of the image: their range, such as `samples 0..64`. After adaptive sampling, the text
/// is such as `16 to 1024 samples per pixel`.
fn samples_text(header: &PartHeader) -> String {
    match &header.stats.noise {
        Some(noise) if noise.max_samples > header.stats.spp => format!(
            "{} to {} samples per pixel",
            header.stats.spp, noise.max_samples
        ),
        _ => format!("samples {}", header.samples),
    }
}

/// Returns the pixels to render again, and text that describes them for messages. These are all `pixel_count` pixels of
/// the image or, with `--pixels`, a random selection of at least one.
fn portion(arguments: &Verify, pixel_count: u32) -> (Portion, String) {
    let Some(part) = arguments.pixels else {
        return (Portion::Whole, format!("{pixel_count} pixels"));
    };
    let pixels = ((f64::from(pixel_count) * part).ceil() as u32).clamp(1, pixel_count);
    // The seed is unpredictable, so that an image cannot be prepared to pass.
    let random = || RandomState::new().hash_one(()) as u32;
    let pick = arguments.pick.unwrap_or_else(random);
    let words = format!("{pixels} of {pixel_count} pixels (--pick {pick})");
    (Portion::Some { pixels, pick }, words)
}

/// Loads the scene of the image, and applies size, samples and other settings that the image records. The path comes
/// from the command line or, without one there, from the image.
///
/// # Errors
/// If the scene does not exist, cannot be read, or does not have the hash that the image records.
fn scene(arguments: &Verify, header: &PartHeader) -> Result<Scene, Error> {
    let picture = arguments.picture.display();
    let path = match &arguments.scene {
        Some(path) => path.clone(),
        None => {
            let path = PathBuf::from(&header.stats.scene);
            if !path.exists() {
                return Err(Error::File {
                    file: picture.to_string(),
                    problem: format!(
                        "its scene {:?} does not exist here; use raysieve verify {picture} SCENE",
                        header.stats.scene
                    ),
                });
            }
            path
        }
    };
    let mut scene =
        with_reading_line(&path, || Scene::load_with(&path, &arguments.load_options()))?;
    scene.set_size(header.identity.size);
    let hash = scene.hash();
    if hash != header.identity.scene_hash {
        return Err(another_scene(&path, &arguments.picture));
    }
    scene.seed = header.identity.seed;
    scene.max_bounces = header.identity.max_bounces;
    scene.roulette = header.identity.roulette;
    scene.clamp_indirect = header.identity.clamp_indirect;
    scene.spp = header.samples.max_samples();
    scene.check_settings()?;
    Ok(scene)
}

/// Returns the error for a scene whose hash is not the one that the image records.
fn another_scene(scene: &Path, picture: &Path) -> Error {
    let picture = picture.display();
    Error::File {
        file: scene.display().to_string(),
        problem: format!(
            "is not the scene of {picture}, or it or one of its files has changed; use raysieve verify {picture} SCENE \
             with the original scene, and with the same options of model, camera and light, such as --time and --env"
        ),
    }
}
