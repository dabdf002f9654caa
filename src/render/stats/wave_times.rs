//! Times of a render's stages in groups of waves, from which medians and quartiles are computed.

use std::sync::Arc;

use crate::stages::{
    Stage,
    wave::{Report, counts},
};

/// The counts and stage times of a render by one compaction strategy, in groups of waves.
///
/// A group covers about a whole number of samples of every pixel, so that groups are comparable. Single slow waves, such
/// as the first one on a GPU, do not change the medians over groups. All values compare equal, because times are not part
/// of what a render computes.
#[derive(Clone, Debug, Default)]
pub struct WaveTimes {
    groups: Arc<Vec<WaveGroup>>,
    /// Group of the waves after the last complete one.
    filling: WaveGroup,
    /// Number of paths from which on a group is complete, as a multiple of the number of pixels; 0 counts as 1.
    samples: u64,
    /// Whether the film also has samples by another strategy.
    pub(super) is_partial: bool,
}

impl PartialEq for WaveTimes {
    fn eq(&self, _: &WaveTimes) -> bool {
        true
    }
}

/// The summed counts and times of consecutive waves.
#[derive(Clone, Debug, Default)]
pub struct WaveGroup {
    /// Number of camera paths.
    pub paths: f64,
    /// The bounces up to the last one that has a ray.
    pub bounces: Vec<GroupBounce>,
}

/// The counts and times of one bounce in a [`WaveGroup`].
#[derive(Clone, Copy, Debug, Default)]
pub struct GroupBounce {
    /// Number of rays, without shadow rays.
    pub rays: f64,
    /// Number of lanes launched for the rays; 0 if they were not counted.
    pub lanes: f64,
    /// Times of the stages in milliseconds, in the order of [`Stage::OF_BOUNCE`].
    pub milliseconds: [f64; Stage::OF_BOUNCE.len()],
}

impl GroupBounce {
    fn add(&mut self, other: &GroupBounce) {
        self.rays += other.rays;
        self.lanes += other.lanes;
        for (sum, time) in self.milliseconds.iter_mut().zip(other.milliseconds) {
            *sum += time;
        }
    }
}

impl WaveGroup {
    fn add(&mut self, other: &WaveGroup) {
        self.paths += other.paths;
        let bounces = self.bounces.len().max(other.bounces.len());
        self.bounces.resize_with(bounces, Default::default);
        for (sum, bounce) in self.bounces.iter_mut().zip(&other.bounces) {
            sum.add(bounce);
        }
    }
}

/// Maximum number of groups. When it is reached, neighbors are merged in pairs.
const MAX_GROUPS: usize = 64;

impl WaveTimes {
    /// Returns the complete groups, the oldest first: at most 64.
    pub fn groups(&self) -> &[WaveGroup] {
        &self.groups
    }

    /// Returns whether the film also has samples by another strategy, whose times are not included.
    pub fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// Removes all groups.
    pub(super) fn clear(&mut self) {
        *self = WaveTimes::default();
    }

    /// Adds a wave of a film with this number of pixels. Times are multiplied by `time_share`.
    pub(super) fn add(&mut self, report: &Report, time_share: f64, pixels: u64) {
        let count = |place: usize| report.counts.get(place).copied().unwrap_or(0);
        let max = report.counts.len() / counts::PER_BOUNCE;
        let reached = (0..max).take_while(|&bounce| count(counts::rays(bounce as u32)) > 0);
        let mut bounces: Vec<GroupBounce> = reached
            .map(|bounce| GroupBounce {
                rays: f64::from(count(counts::rays(bounce as u32))),
                lanes: report.lanes.get(bounce).map_or(0.0, |&lanes| lanes as f64),
                ..GroupBounce::default()
            })
            .collect();
        let mut row = 0;
        for &(stage, milliseconds) in &report.times {
            // Each bounce begins with its intersect stage.
            row += usize::from(stage == Stage::Intersect);
            let place = Stage::OF_BOUNCE.iter().position(|&known| known == stage);
            if let (Some(row), Some(place)) = (row.checked_sub(1), place)
                && let Some(bounce) = bounces.get_mut(row)
            {
                bounce.milliseconds[place] += milliseconds * time_share;
            }
        }
        self.filling.add(&WaveGroup {
            paths: f64::from(count(counts::rays(0))),
            bounces,
        });
        let wanted = self.samples.max(1).saturating_mul(pixels.max(1));
        if self.filling.paths >= wanted as f64 {
            let groups = Arc::make_mut(&mut self.groups);
            groups.push(std::mem::take(&mut self.filling));
            if groups.len() == MAX_GROUPS {
                merge_pairs(groups);
                self.samples = 2 * self.samples.max(1);
            }
        }
    }
}

/// Replaces each pair of neighbors by their sum. Expects an even number of groups.
fn merge_pairs(groups: &mut Vec<WaveGroup>) {
    let merged = groups.chunks_exact(2).map(|pair| {
        let mut sum = pair[0].clone();
        sum.add(&pair[1]);
        sum
    });
    *groups = merged.collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(paths: u32, compact_ms: f64) -> Report {
        Report {
            counts: vec![paths, paths, 0, 0, paths / 2, 0, 0, 0, 0],
            lanes: vec![u64::from(paths); 2],
            times: vec![
                (Stage::Generate, 1.0),
                (Stage::Intersect, 2.0),
                (Stage::Compact, compact_ms),
                (Stage::Intersect, 1.0),
            ],
        }
    }

    #[test]
    fn groups_contain_whole_samples_and_stay_few() {
        let mut times = WaveTimes::default();
        for wave in 0..1000 {
            times.add(&report(50, f64::from(wave)), 0.5, 100);
        }
        let groups = times.groups();
        assert!(groups.len() >= MAX_GROUPS / 2 && groups.len() < MAX_GROUPS);
        assert!(groups.iter().all(|group| group.paths % 100.0 == 0.0));
        let all: f64 = groups.iter().map(|group| group.paths).sum();
        assert!(all > 45_000.0, "waves are missing: {all} paths");
        assert_eq!(groups[0].bounces.len(), 2);
        assert_eq!(groups[0].bounces[1].milliseconds[1], 0.0);
        let first = &groups[0].bounces[0];
        let waves = groups[0].paths / 50.0;
        assert_eq!(first.milliseconds[0], waves);
        assert_eq!(first.milliseconds[1], (waves * (waves - 1.0) / 2.0) * 0.5);
    }
}
