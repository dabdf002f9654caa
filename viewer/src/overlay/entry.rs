//! The rows of the table of bounces, which the overlay draws and the export writes.

use super::Figures;
use crate::session::{MeasuredTimes, RecentBounce, StageTimes};
use raysieve::{render::stats::BounceStats, stages::Stage};

/// The figures of one bounce, or of all bounces together, in the units of the table.
#[derive(Clone, Debug, Default)]
pub(super) struct Entry {
    pub(super) counts: BounceStats,
    /// Times of the stages; all 0 if `has_times` is not set. Without quartiles if they are sums since the start of the
    /// film.
    pub(super) times: MeasuredTimes,
    /// Whether the times, the use of lanes and what depends on them are those of the strategy in use.
    pub(super) has_times: bool,
    /// Fraction of launched lanes that had a ray; 0 if lanes were not counted.
    pub(super) lane_use: f64,
    /// Time of all stages in nanoseconds per ray, counting shadow rays; `None` without rays or times.
    pub(super) ns_per_ray: Option<f64>,
    /// Time in microseconds that compaction saves in the other stages; `None` if it is not known.
    pub(super) saved_us: Option<f64>,
}

impl Entry {
    /// Creates the figures of a bounce from counts since the start of the film and recent times.
    fn new(figures: &Figures<'_>, stats: &BounceStats, recent: &RecentBounce) -> Self {
        let factor = figures.factor();
        let scaled =
            |count: u64| factor.map_or(count, |factor| (count as f64 * factor).round() as u64);
        let has_times = match factor {
            Some(_) => figures.recent.is_measured,
            None => !figures.recent.is_mixed,
        };
        let since_start = Stage::OF_BOUNCE.map(|stage| 1e3 * stats.time(stage));
        let times = match factor {
            _ if !has_times => MeasuredTimes::default(),
            Some(_) => recent.times,
            None => MeasuredTimes {
                median: StageTimes(since_start),
                spread: None,
            },
        };
        let total = times.median.total();
        let rays = (stats.rays + stats.shadow_rays) as f64 * factor.unwrap_or(1.0);
        let is_known = has_times && rays > 0.0 && total > 0.0;
        Self {
            counts: BounceStats {
                rays: scaled(stats.rays),
                hits: scaled(stats.hits),
                scattered: scaled(stats.scattered),
                survivors: scaled(stats.survivors),
                ended: scaled(stats.ended),
                misses: scaled(stats.misses),
                shadow_rays: scaled(stats.shadow_rays),
                ..stats.clone()
            },
            times,
            has_times,
            lane_use: if has_times { recent.lane_use } else { 0.0 },
            ns_per_ray: is_known.then(|| 1e3 * total / rays),
            saved_us: recent.saved_us.filter(|_| factor.is_some()),
        }
    }
}

/// Yields the figures of each displayed bounce.
pub(super) fn entries<'a>(figures: &'a Figures<'_>) -> impl Iterator<Item = Entry> + 'a {
    let bounces = figures.stats.bounces.iter().zip(&figures.recent.bounces);
    bounces
        .take(figures.recent.rows)
        .map(|(stats, recent)| Entry::new(figures, stats, recent))
}

/// Returns the figures of all bounces together: sums of counts and times, and the use of lanes over all bounces.
pub(super) fn total(figures: &Figures<'_>) -> Entry {
    Entry::new(figures, &figures.stats.total(), &figures.recent.total)
}
