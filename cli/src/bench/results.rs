//! The results of a benchmark, and their JSON file.

use std::{fs, io::Read, path::Path};

use crate::error::Error;
use raysieve::{
    render::{
        output,
        part::SOFTWARE,
        stats::{BounceStats, Stats, break_even},
    },
    stages::Stage,
};
use serde::{Deserialize, Serialize};

/// The results of a benchmark, as stored in the file of `--json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Results {
    /// Name and version of the program that measured the results.
    pub(super) software: String,
    /// The measured scenes, in the order of the command line.
    pub(super) scenes: Vec<SceneResults>,
}

/// The results of one scene: what was rendered, and the times of each strategy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SceneResults {
    /// Path of the scene as the user gave it.
    pub(super) scene: String,
    /// Hash of the scene's content, 32 hexadecimal digits.
    pub(super) scene_hash: String,
    /// The backend: `cpu` or `cuda`.
    pub(super) backend: String,
    /// Name of the processor with its number of threads, or names of the GPUs.
    pub(super) device: String,
    /// Width and height of the image in pixels.
    pub(super) size: [u32; 2],
    /// Samples per pixel of each frame.
    pub(super) spp: u32,
    /// Seed of the random numbers.
    pub(super) seed: u32,
    /// Maximum number of bounces of a path.
    pub(super) max_bounces: u32,
    /// Hash of the film, hexadecimal. All strategies have the same film.
    pub(super) film_hash: String,
    /// Number of camera paths in a frame.
    pub(super) paths: u64,
    /// Number of rays in a frame, including shadow rays.
    pub(super) rays: u64,
    /// The comparison with the image of `--reference`, or `None` without that option.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reference: Option<ReferenceError>,
    /// The times of each strategy, in the order of the tables.
    pub(super) strategies: Vec<Timing>,
}

/// The error of a scene's image against a reference image. All strategies have the same image.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ReferenceError {
    /// Path of the reference image as the user gave it.
    pub(super) file: String,
    /// The relative mean squared error, see
    /// [`relative_squared_error`](raysieve::film::picture::relative_squared_error).
    pub(super) squared_error: f64,
}

/// The times of one strategy in one scene.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Timing {
    /// Name of the strategy, such as `look-back`, `sort-hits` or `megakernel`.
    pub(super) strategy: String,
    /// Time of each measured frame in seconds, in the order of the rounds.
    pub(super) seconds: Vec<f64>,
    /// Ray counts of each bounce in a frame, and the time of each stage in milliseconds per frame, as a median over the
    /// rounds. All times are 0 for the megakernel.
    pub(super) bounces: Vec<BounceStats>,
}

/// Maximum size of a results file in bytes, 64 MiB. A larger file contains something else.
const MAX_BYTES: u64 = 1 << 26;

impl Results {
    /// Returns results of this version of the program that contain no scene.
    pub(super) fn new() -> Results {
        Results {
            software: SOFTWARE.to_owned(),
            scenes: Vec::new(),
        }
    }

    /// Returns text that names the measured scenes with the number of rounds of each, or that says that no round was
    /// measured.
    pub(super) fn extent(&self) -> String {
        let scenes = self.scenes.iter();
        let rounds: Vec<String> = scenes
            .map(|scene| match scene.rounds() {
                1 => format!("{}: 1 round", scene.scene),
                rounds => format!("{}: {rounds} rounds", scene.scene),
            })
            .collect();
        if rounds.is_empty() {
            return "before the first round was measured, so nothing is written".to_owned();
        }
        format!("measured {}", rounds.join(", "))
    }

    /// Writes the results to the JSON file at `path`, atomically.
    pub(super) fn write(&self, path: &Path) -> Result<(), Error> {
        Ok(output::write_json(path, self)?)
    }

    /// Reads results from the file at `path`, which [`Results::write`] wrote.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be read, is not a regular file or larger than 64 MiB, or does not contain
    /// plausible results.
    pub(super) fn read(path: &Path) -> Result<Results, Error> {
        let refused = |problem: String| Error::File {
            file: path.display().to_string(),
            problem,
        };
        // Reading a pipe could block forever.
        if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            return Err(refused(
                "is not a regular file; name a file that raysieve bench --json wrote".to_owned(),
            ));
        }
        let mut text = Vec::new();
        fs::File::open(path)
            .and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut text))
            .map_err(|error| refused(format!("cannot be read: {error}")))?;
        let results = if text.len() as u64 > MAX_BYTES {
            Err(format!("more than {} MiB", MAX_BYTES >> 20))
        } else {
            serde_json::from_slice::<Results>(&text).map_err(|error| error.to_string())
        };
        results
            .and_then(|results| results.check().map(|()| results))
            .map_err(|problem| {
                refused(format!(
                    "does not contain benchmark results: {problem}; name a file that raysieve bench --json wrote"
                ))
            })
    }

    /// Returns an error message if there is no scene, or if [`SceneResults::check`] rejects one.
    fn check(&self) -> Result<(), String> {
        if self.scenes.is_empty() {
            return Err("no scene".to_owned());
        }
        self.scenes
            .iter()
            .enumerate()
            .try_for_each(|(number, scene)| {
                scene
                    .check()
                    .map_err(|problem| format!("scene {}: {problem}", number + 1))
            })
    }
}

impl SceneResults {
    /// Returns the times of the strategy with this name, or `None` if it was not measured.
    pub(super) fn timing(&self, strategy: &str) -> Option<&Timing> {
        self.strategies
            .iter()
            .find(|timing| timing.strategy == strategy)
    }

    /// Returns the number of measured rounds, which is the number of frames of each strategy.
    pub(super) fn rounds(&self) -> usize {
        self.strategies
            .first()
            .map_or(0, |timing| timing.seconds.len())
    }

    /// Returns an error message if a text has control characters, if there is no strategy, or if [`Timing::check`]
    /// rejects one. Also if the squared error is negative, not a number, or at least 10³⁰.
    fn check(&self) -> Result<(), String> {
        let names = self.strategies.iter().map(|timing| &timing.strategy);
        let words = [
            &self.scene,
            &self.scene_hash,
            &self.backend,
            &self.device,
            &self.film_hash,
        ];
        let reference = self.reference.iter();
        if names
            .chain(words)
            .chain(reference.clone().map(|reference| &reference.file))
            .any(|word| word.chars().any(char::is_control))
        {
            return Err("a name with control characters".to_owned());
        }
        if self.strategies.is_empty() {
            return Err("no strategy".to_owned());
        }
        if reference
            .map(|reference| reference.squared_error)
            .any(|error| !(0.0..1e30).contains(&error))
        {
            return Err("the squared error is out of range".to_owned());
        }
        self.strategies.iter().try_for_each(Timing::check)
    }
}

impl Timing {
    /// Returns the median time of a frame in seconds.
    pub(super) fn median(&self) -> f64 {
        median(&self.seconds)
    }

    /// Returns the median absolute deviation of the frame times in seconds.
    pub(super) fn deviation(&self) -> f64 {
        let median = self.median();
        let off: Vec<f64> = self
            .seconds
            .iter()
            .map(|time| (time - median).abs())
            .collect();
        self::median(&off)
    }

    /// Returns the minimum and the maximum frame time in seconds.
    pub(super) fn range(&self) -> (f64, f64) {
        let min = self.seconds.iter().copied().fold(f64::INFINITY, f64::min);
        (min, self.seconds.iter().copied().fold(0.0, f64::max))
    }

    /// Returns the noise of the frame times as a fraction: three times their median absolute deviation, divided by
    /// their median.
    ///
    /// For a normal distribution, this is two standard deviations.
    pub(super) fn noise(&self) -> f64 {
        3.0 * self.deviation() / self.median()
    }

    /// Returns whether the times of stages were measured, so that at least one of them is above 0. The megakernel has
    /// no stages.
    pub(super) fn has_stages(&self) -> bool {
        self.bounces.iter().any(|row| Timing::bounce_ms(row) > 0.0)
    }

    /// Returns the time of all stages of the bounce `row` together, in milliseconds per frame.
    pub(super) fn bounce_ms(row: &BounceStats) -> f64 {
        row.total_ms()
    }

    /// Returns the number of the first bounce from which on every bounce takes less time than with `other`. Bounces are
    /// counted from 0, and those without rays are ignored.
    ///
    /// Returns `None` if there is no such bounce, or if one of the strategies has no times of stages.
    pub(super) fn faster_from(&self, other: &Timing) -> Option<u32> {
        let both = self.bounces.iter().zip(&other.bounces);
        let both: Vec<_> = both.filter(|(row, _)| row.rays > 0).collect();
        if !(self.has_stages() && other.has_stages()) {
            return None;
        }
        let is_faster = |(own, other): &(&BounceStats, &BounceStats)| {
            Timing::bounce_ms(own) < Timing::bounce_ms(other)
        };
        let gained_by_other = both
            .iter()
            .map(|both| if is_faster(both) { 0.0 } else { 1.0 });
        let first = break_even(&gained_by_other.collect::<Vec<_>>())?;
        both.get(first).map(|(own, _)| own.bounce)
    }

    /// Returns an error message if there is no frame, if a frame time is not within 10⁻⁹ to 10⁹ seconds, or if a stage
    /// time is not within 0 to 10¹² milliseconds.
    fn check(&self) -> Result<(), String> {
        let strategy = &self.strategy;
        let times = self
            .bounces
            .iter()
            .flat_map(|row| Stage::OF_BOUNCE.map(|stage| row.time(stage)));
        if self.seconds.is_empty() {
            return Err(format!("{strategy}: no frame"));
        }
        if !self.seconds.iter().all(|time| (1e-9..1e9).contains(time)) {
            return Err(format!("{strategy}: a frame time is out of range"));
        }
        if !times.into_iter().all(|time| (0.0..1e12).contains(&time)) {
            return Err(format!("{strategy}: the time of a stage is out of range"));
        }
        Ok(())
    }
}

/// Returns the median of the values, which for an even number of values is the mean of the two in the middle.
///
/// # Panics
/// If `values` is empty.
pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        (sorted[middle - 1] + sorted[middle]) / 2.0
    }
}

/// Returns the statistics of each bounce in a typical frame: the time of each stage is the median over the frames.
/// Empty without frames.
///
/// The counts are those of the first frame, because all frames have the same counts.
pub(super) fn median_bounces(frames: &[Stats]) -> Vec<BounceStats> {
    let mut rows = frames
        .first()
        .map_or(Vec::new(), |frame| frame.bounces.clone());
    for (place, row) in rows.iter_mut().enumerate() {
        for stage in Stage::OF_BOUNCE {
            let times: Vec<f64> = frames
                .iter()
                .map(|frame| frame.bounces[place].time(stage))
                .collect();
            if let Some(time) = row.times.of_mut(stage) {
                // Rounded to a nanosecond, because the last digit might not survive the file.
                *time = (median(&times) * 1e6).round() / 1e6;
            }
        }
    }
    rows
}
