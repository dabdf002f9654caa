//! What of a scene the command line may say otherwise, and which samples of it are wanted.

use std::path::Path;

use clap::Args;
use raysieve::{
    Error,
    part::{Place, Samples},
    scene::{Changes, Scene},
};

use super::values::{clamp, size};
use crate::headless::reading;

/// What of a scene the command line may say otherwise, but for its samples.
#[derive(Args, Clone, Debug)]
pub(super) struct SceneArguments {
    /// Picture size in pixels, such as 1920x1080 [default: the scene's]
    #[arg(long, value_name = "WxH", value_parser = size, help_heading = "Rendering")]
    pub(super) size: Option<(u32, u32)>,

    /// Times that a path may scatter; 0 shows only what the camera sees shine [default: the scene's]
    #[arg(long, value_name = "N", help_heading = "Rendering")]
    max_bounces: Option<u32>,

    /// Most that light scattered more than once may add to a sample, against bright specks; the picture gets darker by
    /// what is cut off [default: the scene's, else no limit]
    #[arg(long, value_name = "RADIANCE", value_parser = clamp, help_heading = "Rendering")]
    clamp_indirect: Option<f32>,

    /// Seed of all random numbers: another seed, other noise [default: the scene's]
    #[arg(long, value_name = "N", help_heading = "Rendering")]
    seed: Option<u32>,
}

impl SceneArguments {
    /// The scene, with what is said here otherwise, and so many samples.
    pub(super) fn load(&self, path: &Path, spp: Option<u32>) -> Result<Scene, Error> {
        let mut scene = reading(path, || Scene::load(path))?;
        scene.change(&self.changes(spp))?;
        Ok(scene)
    }

    /// What is said here, and so many samples.
    pub(super) fn changes(&self, spp: Option<u32>) -> Changes {
        Changes {
            size: self.size,
            spp,
            max_bounces: self.max_bounces,
            clamp_indirect: self.clamp_indirect,
            seed: self.seed,
        }
    }
}

/// Where samples begin and end; what is left open is where the scene's do.
#[derive(Clone, Copy, Debug)]
pub(super) struct SampleRange {
    pub(super) start: Option<Place>,
    pub(super) end: Option<Place>,
}

impl SampleRange {
    /// These samples of the scene.
    pub(super) fn of(&self, scene: &Scene, pixel_count: u32) -> Result<Samples, Error> {
        let place = |sample| Place { sample, pixel: 0 };
        samples_between(
            self.start.unwrap_or(place(0)),
            self.end.unwrap_or(place(scene.spp.into())),
            pixel_count,
        )
    }
}

pub(super) fn samples_between(
    start: Place,
    end: Place,
    pixel_count: u32,
) -> Result<Samples, Error> {
    let problem = match Samples::new(start..end, pixel_count) {
        Some(samples) if !samples.is_empty() => return Ok(samples),
        _ if start >= end => "a range ends after it begins, such as 0..16".to_owned(),
        _ => {
            format!(
                "samples have the numbers 0 to 4294967295, and a picture the pixels 0 to {}",
                pixel_count - 1
            )
        }
    };
    Err(Error::Setting {
        setting: format!("--samples {start}..{end}"),
        problem,
    })
}

/// Whether the scene is the one that was asked for.
pub(super) fn check_hash(scene: &Scene, expected: &str) -> Result<(), Error> {
    let found = scene.hash();
    if found == expected {
        return Ok(());
    }
    Err(Error::File {
        file: scene.path.display().to_string(),
        problem: format!(
            "has scene_hash {found}, not {expected}: it or its files have changed since; put back what was there, or \
             render what is there now anew"
        ),
    })
}
