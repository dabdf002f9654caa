//! What a render counted and how long it took; no drawing.

use serde::{Deserialize, Serialize};

use crate::wave::{Report, Stage, counts};

/// The figures of a render, as `--stats` writes them and the overlay shows them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stats {
    /// The scene's file, as it was given.
    pub scene: String,
    /// `cpu` or `cuda`; both where parts of either were merged.
    pub backend: String,
    /// The processor's or the graphics card's name.
    pub device: String,
    /// Width and height, pixels.
    pub size: [u32; 2],
    /// Samples that every pixel has.
    pub spp: u32,
    /// Which samples those are, such as `0..64`: see [`Samples`](crate::part::Samples).
    pub sample_range: String,
    /// The seed of every random number.
    pub seed: u32,
    /// What indirect light is clamped to, if it is: the picture is darker than it would be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clamp_indirect: Option<f32>,
    /// The strategy of the sieve.
    pub compaction: String,
    /// Whether hits are ordered by the kind of material before they are shaded: `on` or `off`; both where devices differ.
    #[serde(default)]
    pub partition: String,
    /// Where both were tried: how many times as fast a wave is that orders them. Of several devices each has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition_gain: Option<f64>,
    /// Time spent rendering, without loading and without pauses; of merged parts the sum.
    pub seconds: f64,
    /// Camera paths traced: samples over all pixels.
    pub paths: u64,
    /// Rays traced, shadow rays among them.
    pub rays: u64,
    /// `paths / seconds`.
    pub paths_per_second: f64,
    /// `rays / seconds`.
    pub rays_per_second: f64,
    /// Samples that were not finite, or too bright for the film, and therefore not added.
    pub rejected_samples: u64,
    /// Where pixels get samples until they are good: what was wanted, and what there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<NoiseStats>,
    /// Where a preview with less noise is shown, or written: milliseconds that it took to `denoise` the picture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denoise_ms: Option<f64>,
    /// Hash of the film's integers, in hexadecimal digits: two renders are equal if it is equal.
    pub film_hash: String,
    /// One row per bounce, the camera's rays first.
    pub bounces: Vec<BounceStats>,
    /// Who traced them: the CPU, or each GPU.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<DeviceStats>,
}

/// How noisy a picture is whose pixels get samples until they are good.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NoiseStats {
    /// Error that is good enough, relative to what a pixel shows and [`NoiseStats::dark`].
    pub wanted: f32,
    /// What darkness is compared with: radiance, three channels together.
    pub dark: f32,
    /// Estimated error of the picture, the mean of its pixels'; none before there were enough samples for an estimate.
    pub estimated: Option<f64>,
    /// Pixels that are not good enough yet.
    pub unfinished: u32,
    /// Samples of a pixel, in the mean.
    pub mean_samples: f64,
    /// Samples that some pixel has, and none has more.
    pub most_samples: u32,
    /// Rounds of samples after which pixels were judged.
    pub round: u32,
    /// Hash of what is known of each pixel; empty while it is rendered.
    #[serde(default)]
    pub ledger_hash: String,
}

/// What one of several that render together did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceStats {
    /// The processor's name, or a graphics card's and its number.
    pub device: String,
    /// Camera paths that it traced, of those on the film.
    pub paths: u64,
    /// Those over all seconds of the render: its share of `paths_per_second`.
    pub paths_per_second: f64,
    /// Of several: whether it orders hits by the kind of material, `on` or `off`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub partition: String,
    /// Where it tried both: how many times as fast a wave is that orders them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition_gain: Option<f64>,
    /// Whether it failed, or is suspected, and the others had to go on without it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
}

impl DeviceStats {
    /// Devices of these names, before they have done anything.
    pub fn of(names: &[String]) -> Vec<DeviceStats> {
        let device = |name: &String| DeviceStats {
            device: name.clone(),
            ..DeviceStats::default()
        };
        names.iter().map(device).collect()
    }
}

/// One bounce, summed over all paths.
///
/// `rays = hits + misses`, `hits = ended + survivors`, and the next bounce's `rays` are this one's `survivors`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BounceStats {
    /// 0 for the camera's rays.
    pub bounce: u32,
    /// Rays that went into the bounce.
    pub rays: u64,
    /// Rays that hit a surface.
    pub hits: u64,
    /// Rays that left the scene.
    pub misses: u64,
    /// Paths that ended at their hit: absorbed, out of bounces, or by roulette.
    pub ended: u64,
    /// Paths that go on to the next bounce.
    pub survivors: u64,
    /// Rays sent towards a light.
    pub shadow_rays: u64,
    /// Lanes launched for the rays: more than those where some had none. 0 where nobody counted.
    #[serde(default)]
    pub lanes: u64,
    /// Time of the stages, milliseconds; `compact_ms` is both sieves, and the partition where there is
    /// one.
    pub intersect_ms: f64,
    /// See `intersect_ms`.
    pub shade_ms: f64,
    /// See `intersect_ms`.
    pub shadow_ms: f64,
    /// See `intersect_ms`.
    pub compact_ms: f64,
}

impl BounceStats {
    /// Adds another's counts and times.
    pub fn add(&mut self, other: &BounceStats) {
        let counts = [
            (&mut self.rays, other.rays),
            (&mut self.hits, other.hits),
            (&mut self.misses, other.misses),
            (&mut self.ended, other.ended),
            (&mut self.survivors, other.survivors),
            (&mut self.shadow_rays, other.shadow_rays),
            (&mut self.lanes, other.lanes),
        ];
        for (count, more) in counts {
            *count = count.saturating_add(more);
        }
        self.intersect_ms += other.intersect_ms;
        self.shade_ms += other.shade_ms;
        self.shadow_ms += other.shadow_ms;
        self.compact_ms += other.compact_ms;
    }

    /// Part of the rays that does not go on, 0 of none.
    pub fn removed(&self) -> f64 {
        if self.rays == 0 {
            return 0.0;
        }
        1.0 - self.survivors as f64 / self.rays as f64
    }
}

impl Stats {
    /// Empty rows, one per bounce.
    pub fn rows(max_bounces: u32) -> Vec<BounceStats> {
        (0..=max_bounces)
            .map(|bounce| BounceStats {
                bounce,
                ..BounceStats::default()
            })
            .collect()
    }

    /// How the queue is sieved, in a few words.
    pub fn sieve(&self) -> String {
        let ordered = match self.partition.as_str() {
            "on" => ", hits by material",
            "" | "off" => "",
            _ => ", hits by material in part",
        };
        format!("{}{ordered}", self.compaction)
    }

    /// Forgets all counts and times.
    pub fn clear(&mut self) {
        self.bounces = Stats::rows(self.bounces.len() as u32 - 1);
        self.rejected_samples = 0;
        for device in &mut self.devices {
            device.paths = 0;
        }
    }

    /// Adds what a wave of this device counted, and this part of its stages' times.
    pub fn add(&mut self, device: &str, report: &Report, time_share: f64) {
        self.change(device, report, time_share, u64::saturating_add);
    }

    /// Takes back what was added for a wave whose film has been lost.
    pub fn withdraw(&mut self, device: &str, report: &Report, time_share: f64) {
        self.change(device, report, -time_share, u64::saturating_sub);
    }

    /// Says which devices order hits by the kind of material, and what they found that to be worth.
    pub(crate) fn set_partitions<'a>(
        &mut self,
        partitions: impl Iterator<Item = (&'a str, bool, Option<f64>)>,
    ) {
        let word = |orders: bool| if orders { "on" } else { "off" };
        let all: Vec<_> = partitions.collect();
        self.partition_gain = None;
        if let [(_, orders, gain)] = all[..] {
            self.partition = word(orders).to_owned();
            self.partition_gain = gain;
            return;
        }
        let some = |wanted: bool| all.iter().any(|&(_, orders, _)| orders == wanted);
        let words = [true, false].into_iter().filter(|&wanted| some(wanted));
        self.partition = words.map(word).collect::<Vec<_>>().join("; ");
        for (name, orders, gain) in all {
            let device = self.device(name);
            (device.partition, device.partition_gain) = (word(orders).to_owned(), gain);
        }
    }

    /// A device has failed, and the others go on without it; or it has not.
    pub fn set_failed(&mut self, device: &str, failed: bool) {
        self.device(device).failed = failed;
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
            row.misses = row.rays - row.hits;
            row.ended = row.hits - row.survivors;
            row.lanes += report.lanes.get(row.bounce as usize).unwrap_or(&0);
        }
        let mut row = 0;
        for &(stage, milliseconds) in times.by_ref() {
            // A bounce begins with its rays.
            row += usize::from(stage == Stage::Intersect);
            let Some(bounce) = row.checked_sub(1).and_then(|row| self.bounces.get_mut(row)) else {
                continue;
            };
            let time = match stage {
                Stage::Intersect => &mut bounce.intersect_ms,
                Stage::Sieve => &mut bounce.compact_ms,
                Stage::Shade => &mut bounce.shade_ms,
                Stage::Shadow => &mut bounce.shadow_ms,
                Stage::Generate | Stage::Accumulate | Stage::Megakernel => continue,
            };
            // What is taken back may have been rounded otherwise.
            *time = (*time + milliseconds * time_share).max(0.0);
        }
    }

    /// Adds what was counted for other samples of the same picture, and the time that they took.
    pub fn add_part(&mut self, other: &Stats) {
        for (row, more) in self.bounces.iter_mut().zip(&other.bounces) {
            row.add(more);
        }
        let names = [
            (&mut self.backend, &other.backend),
            (&mut self.device, &other.device),
            (&mut self.compaction, &other.compaction),
            (&mut self.partition, &other.partition),
        ];
        for (names, more) in names {
            for name in more.split("; ") {
                if !names.split("; ").any(|known| known == name) {
                    names.push_str("; ");
                    names.push_str(name);
                }
            }
        }
        if self.partition_gain != other.partition_gain {
            self.partition_gain = None;
        }
        for more in &other.devices {
            let device = self.device(&more.device);
            device.paths = device.paths.saturating_add(more.paths);
            device.failed |= more.failed;
        }
        self.rejected_samples = self.rejected_samples.saturating_add(other.rejected_samples);
        self.settle(self.seconds + other.seconds);
    }

    /// All bounces as one.
    pub fn total(&self) -> BounceStats {
        let mut total = BounceStats::default();
        for row in &self.bounces {
            total.add(row);
        }
        total
    }

    /// Sums up the rows, over so many seconds.
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
