//! What was measured, and its file.

use std::{fs, io::Read, path::Path};

use raysieve::{
    Error, output,
    part::SOFTWARE,
    stats::{BounceStats, Stats},
};
use serde::{Deserialize, Serialize};

/// Of all scenes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Results {
    /// The program and its version.
    pub(super) software: String,
    pub(super) scenes: Vec<SceneResults>,
}

/// Of one scene: what was rendered, and how long it took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SceneResults {
    /// The scene's file, as it was given.
    pub(super) scene: String,
    /// Of what it shows, in hexadecimal digits.
    pub(super) scene_hash: String,
    /// `cpu` or `cuda`.
    pub(super) backend: String,
    /// The processor's name and its threads, or the graphics card's name.
    pub(super) device: String,
    /// Width and height, pixels.
    pub(super) size: [u32; 2],
    /// Samples a pixel.
    pub(super) spp: u32,
    pub(super) seed: u32,
    pub(super) max_bounces: u32,
    /// The same by every strategy.
    pub(super) film_hash: String,
    /// Camera paths of a frame.
    pub(super) paths: u64,
    /// Rays of a frame, shadow rays among them.
    pub(super) rays: u64,
    pub(super) strategies: Vec<Timing>,
}

/// Of one strategy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Timing {
    pub(super) strategy: String,
    /// Of every frame, in the order of the rounds.
    pub(super) seconds: Vec<f64>,
    /// Counts, and the medians of the stages' times over the rounds; as in the statistics of a render.
    pub(super) bounces: Vec<BounceStats>,
}

/// A file that is longer holds something else.
const MOST_BYTES: u64 = 1 << 26;

impl Results {
    pub(super) fn new() -> Results {
        Results {
            software: SOFTWARE.to_owned(),
            scenes: Vec::new(),
        }
    }

    /// How much was measured, in words.
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
        format!("measured are {}", rounds.join(", "))
    }

    /// Whole or not at all.
    pub(super) fn write(&self, path: &Path) -> Result<(), Error> {
        output::write_json(path, self)
    }

    /// What [`Results::write`] wrote.
    pub(super) fn read(path: &Path) -> Result<Results, Error> {
        let refused = |problem: String| Error::File {
            file: path.display().to_string(),
            problem,
        };
        // A pipe would hang.
        if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            return Err(refused(
                "is no plain file; name one that raysieve bench --json wrote".to_owned(),
            ));
        }
        let mut text = Vec::new();
        fs::File::open(path)
            .and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut text))
            .map_err(|error| refused(format!("cannot be read: {error}")))?;
        let results = if text.len() as u64 > MOST_BYTES {
            Err(format!("more than {} MiB", MOST_BYTES >> 20))
        } else {
            serde_json::from_slice::<Results>(&text).map_err(|error| error.to_string())
        };
        results
            .and_then(|results| results.check().map(|()| results))
            .map_err(|problem| {
                refused(format!(
                    "holds no results of a bench: {problem}; name a file that raysieve bench --json wrote"
                ))
            })
    }

    /// Whether it could have been measured.
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
    /// The strategy of this name.
    pub(super) fn timing(&self, strategy: &str) -> Option<&Timing> {
        self.strategies
            .iter()
            .find(|timing| timing.strategy == strategy)
    }

    /// Frames of each strategy.
    pub(super) fn rounds(&self) -> usize {
        self.strategies
            .first()
            .map_or(0, |timing| timing.seconds.len())
    }

    fn check(&self) -> Result<(), String> {
        let names = self.strategies.iter().map(|timing| &timing.strategy);
        let words = [
            &self.scene,
            &self.scene_hash,
            &self.backend,
            &self.device,
            &self.film_hash,
        ];
        if names
            .chain(words)
            .any(|word| word.chars().any(char::is_control))
        {
            return Err("a name with control characters".to_owned());
        }
        if self.strategies.is_empty() {
            return Err("no strategy".to_owned());
        }
        self.strategies.iter().try_for_each(Timing::check)
    }
}

impl Timing {
    /// Of a frame, seconds.
    pub(super) fn median(&self) -> f64 {
        median(&self.seconds)
    }

    /// Median of what the frames are off the median, seconds.
    pub(super) fn deviation(&self) -> f64 {
        let median = self.median();
        let off: Vec<f64> = self
            .seconds
            .iter()
            .map(|time| (time - median).abs())
            .collect();
        self::median(&off)
    }

    /// The shortest and the longest frame, seconds.
    pub(super) fn range(&self) -> (f64, f64) {
        let least = self.seconds.iter().copied().fold(f64::INFINITY, f64::min);
        (least, self.seconds.iter().copied().fold(0.0, f64::max))
    }

    /// What the frames are off their median, over it: two standard deviations of a normal distribution.
    pub(super) fn noise(&self) -> f64 {
        3.0 * self.deviation() / self.median()
    }

    /// Whether the times of stages are known: a megakernel has none.
    pub(super) fn has_stages(&self) -> bool {
        self.bounces.iter().any(|row| Timing::bounce_ms(row) > 0.0)
    }

    /// All stages of a bounce, milliseconds.
    pub(super) fn bounce_ms(row: &BounceStats) -> f64 {
        row.intersect_ms + row.shade_ms + row.shadow_ms + row.compact_ms
    }

    /// The first bounce from which on every one takes less time than in `other`, of those that rays go into.
    pub(super) fn faster_from(&self, other: &Timing) -> Option<u32> {
        let both = self.bounces.iter().zip(&other.bounces);
        let both: Vec<_> = both.filter(|(row, _)| row.rays > 0).collect();
        if !(self.has_stages() && other.has_stages()) {
            return None;
        }
        let faster = both
            .iter()
            .rev()
            .take_while(|(own, other)| Timing::bounce_ms(own) < Timing::bounce_ms(other));
        faster.last().map(|(own, _)| own.bounce)
    }

    fn check(&self) -> Result<(), String> {
        let strategy = &self.strategy;
        let times = self.bounces.iter().flat_map(|row| {
            [
                row.intersect_ms,
                row.shade_ms,
                row.shadow_ms,
                row.compact_ms,
            ]
        });
        if self.seconds.is_empty() {
            return Err(format!("{strategy}: no frame"));
        }
        if !self.seconds.iter().all(|time| (1e-9..1e9).contains(time)) {
            return Err(format!("{strategy}: a frame that took no time, or no end"));
        }
        if !times.into_iter().all(|time| (0.0..1e12).contains(&time)) {
            return Err(format!(
                "{strategy}: a stage that took less than no time, or no end"
            ));
        }
        Ok(())
    }
}

/// The middle one, or the mean of both in the middle; of at least one.
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

/// Row by row the medians of the stages' times; the counts are the same in every frame.
pub(super) fn typical(frames: &[Stats]) -> Vec<BounceStats> {
    let mut rows = frames
        .first()
        .map_or(Vec::new(), |frame| frame.bounces.clone());
    for (place, row) in rows.iter_mut().enumerate() {
        let of = |time: fn(&BounceStats) -> f64| {
            let times: Vec<f64> = frames
                .iter()
                .map(|frame| time(&frame.bounces[place]))
                .collect();
            // To a nanosecond: else the last digit might not come back from the file.
            (median(&times) * 1e6).round() / 1e6
        };
        row.intersect_ms = of(|row| row.intersect_ms);
        row.shade_ms = of(|row| row.shade_ms);
        row.shadow_ms = of(|row| row.shadow_ms);
        row.compact_ms = of(|row| row.compact_ms);
    }
    rows
}
