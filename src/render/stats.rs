//! Statistics of a render: ray counts, times and noise.

mod wave_times;

use std::collections::HashMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

pub use self::wave_times::{GroupBounce, WaveGroup, WaveTimes};
pub use crate::backend::{MemoryStats, WaveStats};
use crate::{
    render::region::Region,
    scene::limits::DEFAULT_ROULETTE,
    stages::{
        Stage,
        wave::{Report, counts},
    },
};

/// Returns the `roulette` of files that were written when it could not be set.
fn roulette_of_old_files() -> u32 {
    DEFAULT_ROULETTE
}

/// The statistics of a render, as `--stats` writes them and the overlay displays them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stats {
    /// Path of the scene file, as it was given.
    pub scene: String,
    /// `cpu` or `cuda`; both, separated by `; `, if parts of different backends were merged.
    pub backend: String,
    /// Name of the CPU or GPU; several are separated by `; `.
    pub device: String,
    /// Width and height in pixels.
    pub size: [u32; 2],
    /// The part of the picture that is rendered, if not all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crop: Option<Region>,
    /// Number of samples that every rendered pixel has.
    pub spp: u32,
    /// Samples on the film as text, such as `0..64`; see [`Samples`](crate::render::part::Samples).
    pub sample_range: String,
    /// Seed of the random numbers.
    pub seed: u32,
    /// First scattering event at which Russian roulette may end a path, counted from 1; 0 if never.
    #[serde(default = "roulette_of_old_files")]
    pub roulette: u32,
    /// Limit to which the radiance of indirect light is clamped per sample; `None` without clamping. Clamping makes the
    /// picture darker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clamp_indirect: Option<f32>,
    /// Name of the compaction strategy.
    pub compaction: String,
    /// Whether hits are sorted by kind of material before shading: `on`, `off`, or both, separated by `; `, if devices
    /// differ.
    #[serde(default)]
    pub sort_hits: String,
    /// Speed of a wave with sorted hits relative to one without, if both were measured; `None` for several devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sort_hits_gain: Option<f64>,
    /// Time spent rendering in seconds, without loading and pauses; the sum for merged parts.
    pub seconds: f64,
    /// Number of camera paths traced, which is the number of samples over all pixels.
    pub paths: u64,
    /// Number of rays traced, including shadow rays.
    pub rays: u64,
    /// Camera paths per second: `paths / seconds`.
    pub paths_per_second: f64,
    /// Rays per second: `rays / seconds`.
    pub rays_per_second: f64,
    /// Number of samples that were not added to the film because they were negative, not finite or too bright.
    pub rejected_samples: u64,
    /// Adaptive sampling: the target error and the progress towards it; `None` without adaptive sampling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<NoiseStats>,
    /// Time that denoising took in milliseconds, if the displayed or written picture is denoised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denoise_ms: Option<f64>,
    /// Hash of the film's integers in hexadecimal. Renders with equal hashes have equal films.
    pub film_hash: String,
    /// Counts and times of each bounce; entry 0 is for camera rays.
    pub bounces: Vec<BounceStats>,
    /// The devices that rendered: the CPU, or each GPU.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<DeviceStats>,
    /// Memory in bytes by kind; `None` for merged parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryStats>,
    /// Size and number of the waves; `None` for merged parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waves: Option<WaveStats>,
    /// Stage times in groups of waves, for medians. Not part of files.
    #[serde(skip)]
    pub wave_times: WaveTimes,
}

/// The state of adaptive sampling.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NoiseStats {
    /// Target error, relative to the sum of a pixel's value and [`NoiseStats::dark`].
    #[serde(alias = "wanted")]
    pub target: f32,
    /// Radiance added to a pixel's value when its relative error is computed, summed over the channels.
    pub dark: f32,
    /// Estimated error of the picture, averaged over the pixels; `None` before there are enough samples.
    pub estimated: Option<f64>,
    /// Number of pixels that have not reached the target error.
    #[serde(alias = "unfinished")]
    pub unconverged_pixels: u32,
    /// Average number of samples per pixel.
    pub mean_samples: f64,
    /// Maximum number of samples of a pixel.
    #[serde(alias = "most_samples")]
    pub max_samples: u32,
    /// Number of completed sampling rounds.
    pub round: u32,
    /// Hash of the per-pixel noise estimates, in hexadecimal; empty during the render.
    #[serde(default, alias = "ledger_hash")]
    pub pixel_stats_hash: String,
}

/// The statistics of one device: its share of the paths, and whether it failed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceStats {
    /// Name of the CPU, or name and number of the GPU.
    pub device: String,
    /// Number of camera paths on the film that this device traced.
    pub paths: u64,
    /// Camera paths that this device traced, divided by the time of the whole render in seconds; its share of
    /// [`Stats::paths_per_second`].
    pub paths_per_second: f64,
    /// Whether this device sorts hits by kind of material, `on` or `off`; empty if there is only one device.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sort_hits: String,
    /// Speed of a wave with sorted hits relative to one without, if this device measured both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sort_hits_gain: Option<f64>,
    /// Whether the device failed or is suspected, so that the others continued without it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
}

impl DeviceStats {
    /// Creates statistics with zero counts, one for each of these device names.
    pub fn of(names: &[String]) -> Vec<DeviceStats> {
        let device = |name: &String| DeviceStats {
            device: name.clone(),
            ..DeviceStats::default()
        };
        names.iter().map(device).collect()
    }
}

/// The statistics of one bounce, summed over all paths.
///
/// `rays = hits + scattered + misses`, `hits + scattered = ended + survivors`, and the next bounce's `rays` are this one's
/// `survivors`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BounceStats {
    /// Number of the bounce; 0 for camera rays.
    pub bounce: u32,
    /// Number of rays traced in the bounce.
    pub rays: u64,
    /// Number of rays that hit a surface.
    pub hits: u64,
    /// Number of the bounce's rays that scattered in a medium before they reached a surface.
    #[serde(default)]
    pub scattered: u64,
    /// Number of rays that left the scene.
    pub misses: u64,
    /// Number of paths that ended where they hit or scattered: absorbed, at the bounce limit, or by Russian roulette.
    pub ended: u64,
    /// Number of paths that continue to the next bounce.
    pub survivors: u64,
    /// Number of shadow rays traced in the bounce.
    pub shadow_rays: u64,
    /// Number of lanes launched for the rays, including lanes without a ray; 0 if they were not counted.
    #[serde(default)]
    pub lanes: u64,
    /// Time of each stage in milliseconds, as `NAME_ms` in files. `compact_ms` is for both compactions and the sorting
    /// of hits.
    #[serde(flatten)]
    pub times: StageTimes,
}

/// The time of each stage in [`Stage::OF_BOUNCE`], in milliseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StageTimes([f64; Stage::OF_BOUNCE.len()]);

/// The end of the name that the time of a stage has in files; the label of the stage is before it.
const MILLISECONDS: &str = "_ms";

impl StageTimes {
    /// Creates times from a function of the stage.
    pub fn from_fn(time: impl FnMut(Stage) -> f64) -> StageTimes {
        StageTimes(Stage::OF_BOUNCE.map(time))
    }

    /// Returns the time of a stage; 0 for stages that are not in [`Stage::OF_BOUNCE`].
    pub fn of(&self, stage: Stage) -> f64 {
        StageTimes::place(stage).map_or(0.0, |place| self.0[place])
    }

    /// Returns the time of a stage for changes; `None` for stages that are not in [`Stage::OF_BOUNCE`].
    pub fn of_mut(&mut self, stage: Stage) -> Option<&mut f64> {
        StageTimes::place(stage).map(|place| &mut self.0[place])
    }

    /// Returns the sum of all times.
    pub fn total(&self) -> f64 {
        self.0.iter().sum()
    }

    fn place(stage: Stage) -> Option<usize> {
        Stage::OF_BOUNCE.iter().position(|&known| known == stage)
    }
}

impl Serialize for StageTimes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let named = Stage::OF_BOUNCE.iter().zip(&self.0);
        serializer
            .collect_map(named.map(|(stage, time)| (stage.label().to_owned() + MILLISECONDS, time)))
    }
}

impl<'de> Deserialize<'de> for StageTimes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<StageTimes, D::Error> {
        // The map also holds the other fields of the bounce.
        let fields = HashMap::<String, serde_json::Value>::deserialize(deserializer)?;
        let mut times = StageTimes::default();
        for (time, stage) in times.0.iter_mut().zip(Stage::OF_BOUNCE) {
            let name = stage.label().to_owned() + MILLISECONDS;
            let value = fields.get(&name).and_then(serde_json::Value::as_f64);
            *time = value.ok_or_else(|| D::Error::custom(format!("missing number `{name}`")))?;
        }
        Ok(times)
    }
}

impl BounceStats {
    /// Returns the time of a stage in milliseconds; 0 for stages that are not in [`Stage::OF_BOUNCE`].
    pub fn time(&self, stage: Stage) -> f64 {
        self.times.of(stage)
    }

    /// Returns the sum of the times of all stages in milliseconds.
    pub fn total_ms(&self) -> f64 {
        self.times.total()
    }

    /// Adds the counts and times of another bounce.
    pub fn add(&mut self, other: &BounceStats) {
        let counts = [
            (&mut self.rays, other.rays),
            (&mut self.hits, other.hits),
            (&mut self.scattered, other.scattered),
            (&mut self.misses, other.misses),
            (&mut self.ended, other.ended),
            (&mut self.survivors, other.survivors),
            (&mut self.shadow_rays, other.shadow_rays),
            (&mut self.lanes, other.lanes),
        ];
        for (count, more) in counts {
            *count = count.saturating_add(more);
        }
        for (time, more) in self.times.0.iter_mut().zip(other.times.0) {
            *time += more;
        }
    }

    /// Returns the fraction of the rays that do not continue to the next bounce; 0 if there are no rays.
    pub fn removed(&self) -> f64 {
        if self.rays == 0 {
            return 0.0;
        }
        1.0 - self.survivors as f64 / self.rays as f64
    }
}

impl Stats {
    /// Returns an empty entry for each bounce from 0 to `max_bounces`.
    pub fn rows(max_bounces: u32) -> Vec<BounceStats> {
        (0..=max_bounces)
            .map(|bounce| BounceStats {
                bounce,
                ..BounceStats::default()
            })
            .collect()
    }

    /// Returns the name of the compaction strategy, with a remark if hits are sorted by material.
    pub fn compaction_text(&self) -> String {
        let ordered = match self.sort_hits.as_str() {
            "on" => ", sorted hits",
            "" | "off" => "",
            _ => ", hits sorted on some devices",
        };
        format!("{}{ordered}", self.compaction)
    }

    /// Resets the counts and times of all bounces and devices, and the number of rejected samples, to 0.
    pub fn clear(&mut self) {
        self.bounces = Stats::rows(self.bounces.len() as u32 - 1);
        self.rejected_samples = 0;
        self.wave_times.clear();
        for device in &mut self.devices {
            device.paths = 0;
        }
    }

    /// Removes the times of single waves, because the following waves use another compaction strategy.
    pub(crate) fn begin_strategy(&mut self) {
        let has_samples = self.bounces.first().is_some_and(|bounce| bounce.rays > 0);
        self.wave_times.clear();
        self.wave_times.is_partial = has_samples;
    }

    /// Adds the counts and times of a wave that the device of this name rendered. Stage times are multiplied by
    /// `time_share`: 1 divided by the number of devices that render at the same time.
    pub fn add(&mut self, device: &str, report: &Report, time_share: f64) {
        self.change(device, report, time_share, u64::saturating_add);
        let pixels = self.size.map(u64::from).iter().product();
        self.wave_times.add(report, time_share, pixels);
    }

    /// Subtracts the counts and times that [`Stats::add`] added for a wave whose samples were lost because the device
    /// failed.
    pub(crate) fn withdraw(&mut self, device: &str, report: &Report, time_share: f64) {
        self.change(device, report, -time_share, u64::saturating_sub);
    }

    /// Records for each device its name, whether it sorts hits by kind of material, and the relative speed of doing so,
    /// if measured.
    pub(crate) fn set_sort_hits_states<'a>(
        &mut self,
        sort_hits_states: impl Iterator<Item = (&'a str, bool, Option<f64>)>,
    ) {
        let word = |orders: bool| if orders { "on" } else { "off" };
        let all: Vec<_> = sort_hits_states.collect();
        self.sort_hits_gain = None;
        if let [(_, orders, gain)] = all[..] {
            self.sort_hits = word(orders).to_owned();
            self.sort_hits_gain = gain;
            return;
        }
        let some = |wanted: bool| all.iter().any(|&(_, orders, _)| orders == wanted);
        let words = [true, false].into_iter().filter(|&wanted| some(wanted));
        self.sort_hits = words.map(word).collect::<Vec<_>>().join("; ");
        for (name, orders, gain) in all {
            let device = self.device(name);
            (device.sort_hits, device.sort_hits_gain) = (word(orders).to_owned(), gain);
        }
    }

    /// Marks a device as failed.
    pub(crate) fn set_failed(&mut self, device: &str) {
        self.device(device).failed = true;
    }

    fn device(&mut self, name: &str) -> &mut DeviceStats {
        let known = self.devices.iter().position(|known| known.device == name);
        let place = known.unwrap_or_else(|| {
            self.devices.extend(DeviceStats::of(&[name.to_owned()]));
            self.devices.len() - 1
        });
        &mut self.devices[place]
    }

    fn change(
        &mut self,
        device: &str,
        report: &Report,
        time_share: f64,
        changed: fn(u64, u64) -> u64,
    ) {
        let mut times = report.times.iter();
        let count = |place: usize| u64::from(report.counts[place]);
        let device = self.device(device);
        device.paths = changed(device.paths, count(counts::rays(0)));
        for row in &mut self.bounces {
            row.rays = changed(row.rays, count(counts::rays(row.bounce)));
            row.hits = changed(row.hits, count(counts::hits(row.bounce)));
            row.shadow_rays = changed(row.shadow_rays, count(counts::shadow_rays(row.bounce)));
            row.survivors = changed(row.survivors, count(counts::survivors(row.bounce)));
            row.scattered = changed(row.scattered, count(counts::scattered(row.bounce)));
            row.misses = row.rays - row.hits - row.scattered;
            row.ended = row.hits + row.scattered - row.survivors;
            let lanes = report.lanes.get(row.bounce as usize);
            row.lanes = changed(row.lanes, lanes.copied().unwrap_or(0));
        }
        let mut row = 0;
        for &(stage, milliseconds) in times.by_ref() {
            // Each bounce begins with its intersect stage.
            row += usize::from(stage == Stage::Intersect);
            let Some(bounce) = row.checked_sub(1).and_then(|row| self.bounces.get_mut(row)) else {
                continue;
            };
            if let Some(time) = bounce.times.of_mut(stage) {
                // Subtracting may leave a rounding error below 0.
                *time = (*time + milliseconds * time_share).max(0.0);
            }
        }
    }

    /// Adds the statistics of another part of the same render.
    pub(crate) fn add_part(&mut self, other: &Stats) {
        for (row, more) in self.bounces.iter_mut().zip(&other.bounces) {
            row.add(more);
        }
        let names = [
            (&mut self.backend, &other.backend),
            (&mut self.device, &other.device),
            (&mut self.compaction, &other.compaction),
            (&mut self.sort_hits, &other.sort_hits),
        ];
        for (names, more) in names {
            for name in more.split("; ") {
                if !names.split("; ").any(|known| known == name) {
                    names.push_str("; ");
                    names.push_str(name);
                }
            }
        }
        if self.sort_hits_gain != other.sort_hits_gain {
            self.sort_hits_gain = None;
        }
        for more in &other.devices {
            let device = self.device(&more.device);
            device.paths = device.paths.saturating_add(more.paths);
            device.failed |= more.failed;
        }
        self.rejected_samples = self.rejected_samples.saturating_add(other.rejected_samples);
        (self.memory, self.waves) = (None, None);
        self.wave_times.clear();
        self.settle(self.seconds + other.seconds);
    }

    /// Returns the counts and times summed over all bounces.
    pub fn total(&self) -> BounceStats {
        let mut total = BounceStats::default();
        for row in &self.bounces {
            total.add(row);
        }
        total
    }

    /// Sets the render time to `seconds`, and computes `paths`, `rays` and all rates from it and the bounces.
    pub fn settle(&mut self, seconds: f64) {
        self.seconds = seconds;
        self.paths = self.bounces.first().map_or(0, |row| row.rays);
        self.rays = self
            .bounces
            .iter()
            .map(|row| row.rays + row.shadow_rays)
            .sum();
        let per_second = |count: u64| {
            if seconds > 0.0 {
                count as f64 / seconds
            } else {
                0.0
            }
        };
        self.paths_per_second = per_second(self.paths);
        self.rays_per_second = per_second(self.rays);
        for device in &mut self.devices {
            device.paths_per_second = per_second(device.paths);
        }
    }
}

/// Returns the first bounce from which on a method gains nothing in any bounce, given the time that it gains in each;
/// `None` if it gains time in the last one.
pub fn break_even(gains: &[f64]) -> Option<usize> {
    let gaining = gains.iter().rposition(|&gain| gain > 0.0);
    let first = gaining.map_or(0, |last| last + 1);
    (first < gains.len()).then_some(first)
}
