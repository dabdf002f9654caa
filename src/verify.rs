//! `raysieve verify`: a picture's samples, rendered again.

use std::path::{Path, PathBuf};

use raysieve::{
    Error,
    part::{Claim, Found, Part, SOFTWARE},
    renderer::Renderer,
    scene::Scene,
};

use crate::{
    backend_line,
    cli::Verify,
    headless::{PROGRESS_STEPS, progress_bar},
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
    let mut renderer = arguments.machine.renderer(&scene)?;
    note(&backend_line(&renderer));
    let expected = render(&mut renderer, &claim)?;

    let (width, height) = claim.identity.size;
    let pixels: Vec<u32> = (0..width * height).collect();
    if let Some(difference) = found.difference(&expected, &pixels) {
        let problem = format!(
            "{} of {} pixels differ, the first at x {}, y {}: expected {}, found {}",
            difference.count,
            pixels.len(),
            difference.x,
            difference.y,
            difference.expected,
            difference.found
        );
        return Err(refuted(problem));
    }
    found.into_part(path).map_err(|error| match error {
        Error::Damaged { problem, .. } => refuted(problem),
        error => error,
    })?;
    say(&format!(
        "{} holds: {} pixels, samples {} of {}, film_hash {}\n",
        path.display(),
        pixels.len(),
        claim.samples,
        scene.path.display(),
        claim.stats.film_hash
    ))
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
    let mut scene = Scene::load(&path)?;
    let hash = scene.hash();
    if hash != claim.identity.scene_hash {
        return Err(another_scene(&path, &arguments.picture));
    }
    scene.size = claim.identity.size;
    scene.seed = claim.identity.seed;
    scene.max_bounces = claim.identity.max_bounces;
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

/// The samples that the picture claims.
fn render(renderer: &mut Renderer, claim: &Claim) -> Result<Part, Error> {
    let progress = progress_bar(PROGRESS_STEPS);
    let mut rendered: Option<Part> = None;
    let mut before = 0.0;
    for stretch in claim.samples.each() {
        renderer.set_samples(&stretch)?;
        let share = stretch.len() as f64 / claim.samples.len() as f64;
        while renderer.advance()? {
            let done = before + share * renderer.progress();
            progress.set_position((done * PROGRESS_STEPS as f64) as u64);
        }
        before += share;
        let part = renderer.part()?;
        match &mut rendered {
            None => rendered = Some(part),
            Some(rendered) => rendered.add(&part).map_err(|problem| Error::Setting {
                setting: format!("samples {stretch}"),
                problem,
            })?,
        }
    }
    progress.finish_and_clear();
    rendered.ok_or_else(|| Error::Setting {
        setting: "samples".to_owned(),
        problem: "there are none in the picture".to_owned(),
    })
}
