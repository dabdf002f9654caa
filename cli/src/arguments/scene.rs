//! Options that override settings of the scene or select samples.

use std::{ops::Range, path::Path};

use crate::error::Error;
use clap::Args;
use raysieve::render::part::{SamplePosition, Samples};
use raysieve_scene::{LoadOptions, Scene, SceneLoader, SettingOverrides};

use super::values::{clamp, max_bounces, roulette, size};
use crate::progress::with_reading_line;

/// Options that override settings of the scene: size, bounces, clamping and seed. `--spp` is not among them, because
/// not every command has it.
#[derive(Args, Clone, Debug)]
pub(super) struct SceneArguments {
    /// Image size in pixels, such as 1920x1080 [default: the scene's]
    #[arg(long, value_name = "WxH", value_parser = size, help_heading = "Rendering")]
    pub(super) size: Option<(u32, u32)>,

    /// Maximum number of bounces (scatterings) of a path, 0 to 4096; 0 shows only directly visible emission [default:
    /// the scene's]
    #[arg(long, value_name = "N", value_parser = max_bounces, help_heading = "Rendering")]
    max_bounces: Option<u32>,

    /// First bounce after which a path that carries little light may end at random (Russian roulette), 1 to 4096, or 0
    /// for never; does not change the expected image [default: the scene's, otherwise 5]
    #[arg(long, value_name = "N", value_parser = roulette, help_heading = "Rendering")]
    roulette: Option<u32>,

    /// Maximum radiance, 1e-6 to 1e6, of each contribution of indirect light to a sample, to remove fireflies; makes
    /// the image darker [default: the scene's, otherwise no limit]
    #[arg(long, value_name = "RADIANCE", value_parser = clamp, help_heading = "Rendering")]
    clamp_indirect: Option<f32>,

    /// Seed of the random numbers; another seed gives different noise [default: the scene's]
    #[arg(long, value_name = "N", help_heading = "Rendering")]
    seed: Option<u32>,
}

impl SceneArguments {
    /// Loads the scene at `path` as `options` selects it, and applies the options that the command line gives. `spp` is
    /// the number of samples per pixel; `None` keeps the scene's number.
    ///
    /// # Errors
    /// If the scene cannot be read or is invalid, lacks what `options` selects, or if a setting is out of range.
    pub(super) fn load(
        &self,
        path: &Path,
        options: &LoadOptions,
        spp: Option<u32>,
    ) -> Result<Scene, Error> {
        self.load_frame(&mut SceneLoader::new(path), path, options, spp)
    }

    /// Loads the scene at `path` like [`SceneArguments::load`], by a loader that has perhaps loaded other frames of it.
    pub(super) fn load_frame(
        &self,
        loader: &mut SceneLoader,
        path: &Path,
        options: &LoadOptions,
        spp: Option<u32>,
    ) -> Result<Scene, Error> {
        let mut scene = with_reading_line(path, || loader.load(options))?;
        scene.apply_overrides(&self.changes(spp))?;
        Ok(scene)
    }

    /// Returns the options that the command line gives, and `spp`, as overrides of a scene's settings. Each `None`,
    /// also for `spp`, keeps the scene's setting.
    pub(super) fn changes(&self, spp: Option<u32>) -> SettingOverrides {
        SettingOverrides {
            size: self.size,
            spp,
            max_bounces: self.max_bounces,
            roulette: self.roulette,
            clamp_indirect: self.clamp_indirect,
            seed: self.seed,
        }
    }
}

/// A range of samples whose ends may be omitted, as in `--samples A..B`.
#[derive(Clone, Copy, Debug)]
pub(super) struct SampleRange {
    /// First sample of the range, inclusive. `None` stands for sample 0.
    pub(super) start: Option<SamplePosition>,
    /// End of the range, exclusive. `None` stands for the scene's number of samples per pixel.
    pub(super) end: Option<SamplePosition>,
}

impl SampleRange {
    /// Returns the samples of the range in an image of `pixel_count` pixels. An omitted start is sample 0, and an
    /// omitted end is the number of samples per pixel of `scene`.
    ///
    /// # Errors
    /// [`Error::Setting`] if the range is empty or contains samples after sample 2³² − 1. Also if the pixel of its
    /// start or end is not below `pixel_count`.
    pub(super) fn of(&self, scene: &Scene, pixel_count: u32) -> Result<Samples, Error> {
        let place = |sample| SamplePosition { sample, pixel: 0 };
        samples_between(
            self.start.unwrap_or(place(0)),
            self.end.unwrap_or(place(scene.spp.into())),
            pixel_count,
        )
    }
}

/// Parses a range of samples such as `0..16`, start inclusive and end exclusive. Either or both may be omitted, as in
/// `16..`. Does not check that the range is not empty.
///
/// A start or end such as `37+1234` lies before pixel 1234 of sample 37. Samples and pixels are counted from 0, pixels
/// row by row from the top.
pub(super) fn sample_range(text: &str) -> Result<SampleRange, String> {
    let place = |text: &str| match text {
        "" => Some(None),
        text => text.parse().ok().map(Some),
    };
    let range = text
        .split_once("..")
        .and_then(|(start, end)| Some((place(start)?, place(end)?)));
    match range {
        Some((start, end)) => Ok(SampleRange { start, end }),
        None => Err("expected two sample numbers, such as 0..16".to_owned()),
    }
}

/// Parses a range of samples such as `0..16`, start inclusive and end exclusive. Neither may be omitted.
pub(super) fn closed_sample_range(text: &str) -> Result<Range<SamplePosition>, String> {
    match sample_range(text)? {
        SampleRange {
            start: Some(start),
            end: Some(end),
        } => Ok(start..end),
        _ => Err("expected a range with both ends, such as 0..16".to_owned()),
    }
}

/// Returns the samples from `start`, inclusive, to `end`, exclusive, in an image of `pixel_count` pixels.
///
/// # Errors
/// [`Error::Setting`] if the range is empty or contains samples after sample 2³² − 1. Also if the pixel of `start` or
/// `end` is not below `pixel_count`.
pub(super) fn samples_between(
    start: SamplePosition,
    end: SamplePosition,
    pixel_count: u32,
) -> Result<Samples, Error> {
    let problem = match Samples::new(start..end, pixel_count) {
        Some(samples) if !samples.is_empty() => return Ok(samples),
        _ if start >= end => {
            "expected a range whose end is after its start, such as 0..16".to_owned()
        }
        _ => {
            format!(
                "sample numbers are 0 to 4294967295, and this image has pixels 0 to {}",
                pixel_count - 1
            )
        }
    };
    Err(Error::Setting {
        setting: format!("--samples {start}..{end}"),
        problem,
    })
}

/// Returns an [`Error::File`] that names both hashes if the scene does not have the hash `expected`.
pub(super) fn check_hash(scene: &Scene, expected: &str) -> Result<(), Error> {
    let found = scene.hash();
    if found == expected {
        return Ok(());
    }
    Err(Error::File {
        file: scene.path.display().to_string(),
        problem: format!(
            "has scene_hash {found}, expected {expected}: the scene or its files have changed; restore them, or render \
             the changed scene from the start"
        ),
    })
}
