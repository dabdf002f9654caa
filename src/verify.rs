//! `raysieve verify`: a picture's samples, rendered again.

use std::{
    hash::{BuildHasher, RandomState},
    path::{Path, PathBuf},
};

use raysieve::{
    Error,
    part::{Claim, Found, Portion, SOFTWARE},
    scene::Scene,
};

use crate::{
    again::{self, Again, Legacy},
    backend_line,
    cli::Verify,
    headless::{PROGRESS_STEPS, progress_bar, reading, tell_notes},
    note, say,
};

/// Compares every bit of the picture with what this machine renders.
pub(crate) fn verify(arguments: &Verify) -> Result<(), Error> {
    let path = &arguments.picture;
    let refuted = |problem| Error::Refuted {
        file: path.display().to_string(),
        problem,
    };
    let found = Found::read(path).map_err(|error| match error {
        Error::Damaged { problem, .. } => refuted(problem),
        error => error,
    })?;
    let claim = found.claim.clone();
    let scene = scene(arguments, &claim)?;
    if claim.identity.software != SOFTWARE {
        note(&format!(
            "{} is by {}, this is {SOFTWARE}: it may take other samples",
            path.display(),
            claim.identity.software
        ));
    }
    let again = Again::read()?;
    let make = |left: &[_]| arguments.machine.renderer_on(&scene, left);
    let (mut renderer, _again) = again::renderer(again, arguments.machine.backend(), make)?;
    note(&backend_line(&renderer));

    let (width, height) = claim.identity.size;
    let (portion, compared) = portion(arguments, width * height);
    let progress = progress_bar(PROGRESS_STEPS);
    let difference = found.verify(&mut renderer, portion, |done| {
        progress.set_position((done * PROGRESS_STEPS as f64) as u64);
    });
    tell_notes(&mut renderer, |line| progress.suspend(|| note(line)));
    progress.finish_and_clear();
    if difference.is_err() && renderer.has_fallen() {
        again::go_on(&mut renderer, Legacy::default());
    }
    let difference = difference?;
    if let Some(difference) = difference {
        return Err(refuted(format!(
            "{} of {compared} differ, the first at x {}, y {}: expected {}, found {}",
            difference.count, difference.x, difference.y, difference.expected, difference.found
        )));
    }
    // What else can be told without rendering: of the pixels that were not compared too.
    found.into_part(path).map_err(|error| match error {
        Error::Damaged { problem, .. } => refuted(problem),
        error => error,
    })?;
    say(&format!(
        "{} holds: {compared}, {} of {}, film_hash {}\n",
        path.display(),
        samples_in_words(&claim),
        scene.path.display(),
        claim.stats.film_hash
    ))
}

/// Which samples there are, where pixels have different numbers of them too.
fn samples_in_words(claim: &Claim) -> String {
    match &claim.stats.noise {
        Some(noise) if noise.most_samples > claim.stats.spp => format!(
            "{} to {} samples a pixel",
            claim.stats.spp, noise.most_samples
        ),
        _ => format!("samples {}", claim.samples),
    }
}

/// What to render again, and that in words.
fn portion(arguments: &Verify, pixel_count: u32) -> (Portion, String) {
    let Some(part) = arguments.pixels else {
        return (Portion::Whole, format!("{pixel_count} pixels"));
    };
    let pixels = ((f64::from(pixel_count) * part).ceil() as u32).clamp(1, pixel_count);
    // Nobody can know beforehand which pixels will be asked for.
    let by_chance = || RandomState::new().hash_one(()) as u32;
    let pick = arguments.pick.unwrap_or_else(by_chance);
    let words = format!("{pixels} of {pixel_count} pixels (--pick {pick})");
    (Portion::Some { pixels, pick }, words)
}

/// The scene that the picture shows, with its settings.
fn scene(arguments: &Verify, claim: &Claim) -> Result<Scene, Error> {
    let picture = arguments.picture.display();
    let path = match &arguments.scene {
        Some(path) => path.clone(),
        None => {
            let path = PathBuf::from(&claim.stats.scene);
            if !path.exists() {
                return Err(Error::File {
                    file: picture.to_string(),
                    problem: format!(
                        "its scene {:?} does not exist here; name it: raysieve verify {picture} SCENE",
                        claim.stats.scene
                    ),
                });
            }
            path
        }
    };
    let mut scene = reading(&path, || Scene::load(&path))?;
    scene.set_size(claim.identity.size);
    let hash = scene.hash();
    if hash != claim.identity.scene_hash {
        return Err(another_scene(&path, &arguments.picture));
    }
    scene.seed = claim.identity.seed;
    scene.max_bounces = claim.identity.max_bounces;
    scene.clamp_indirect = claim.identity.clamp_indirect;
    scene.spp = claim.samples.of_any_pixel();
    scene.check_settings()?;
    Ok(scene)
}

fn another_scene(scene: &Path, picture: &Path) -> Error {
    let picture = picture.display();
    Error::File {
        file: scene.display().to_string(),
        problem: format!(
            "is not the scene that {picture} shows, or it or its meshes have changed since; name that one: raysieve \
             verify {picture} SCENE"
        ),
    }
}
