//! Bars of the overlay: of ray counts, of times, and of the progress.

use super::{
    Overlay,
    canvas::{Area, Canvas},
    colors::{ACCENT, BRIGHT, Color},
    columns::{STAGES, parts},
    entry::Entry,
};
use raysieve::render::stats::BounceStats;

/// Background color of bars and of graphs.
pub(super) const TRACK: Color = [62, 68, 80];
/// Height of the bars of ray counts in pixels at scale 1. The progress bar is one pixel thinner. The bars of times
/// depend on the line height instead.
pub(super) const BAR_HEIGHT: f32 = 3.0;
/// Unit of the vertical spacing around bars, in pixels at scale 1.
pub(super) const ROW_GAP: f32 = 4.0;
/// Height of the graph in pixels at scale 1, without its heading.
pub(super) const GRAPH_HEIGHT: f32 = 28.0;
/// Line width of the graph in pixels at scale 1.
pub(super) const GRAPH_LINE: f32 = 1.5;

impl Overlay {
    /// Draws a thin progress bar over the width of `area`. `progress` is clamped to 0..=1, and 1 is a full bar.
    pub(super) fn progress(&self, canvas: &mut Canvas<'_>, area: Area, progress: f64) {
        let height = self.pixels(BAR_HEIGHT - 1.0).max(1);
        let line = area.rows(area.y + self.pixels(ROW_GAP), height);
        canvas.fill(line, TRACK, 1.0);
        let width = (f64::from(area.width) * progress.clamp(0.0, 1.0)).round() as i32;
        canvas.fill(Area { width, ..line }, ACCENT, 1.0);
    }

    /// Draws a stacked bar of the bounce's surviving, ended and missed rays. The full width of `area` stands for
    /// `first_rays` rays.
    pub(super) fn bar(
        &self,
        canvas: &mut Canvas<'_>,
        area: Area,
        bounce: &BounceStats,
        first_rays: u64,
    ) {
        canvas.fill(area, TRACK, 0.45);
        let whole = first_rays.max(1) as f64;
        stacked(
            canvas,
            area,
            parts(bounce).map(|(rays, color)| (rays as f64 / whole, color)),
        );
    }

    /// Draws a stacked bar of the stages' times, with a thin line over it from the lower to the upper quartile of their
    /// sum. The full width of `area` stands for `longest` microseconds.
    pub(super) fn times(&self, canvas: &mut Canvas<'_>, area: Area, entry: &Entry, longest: f64) {
        let gap = self.pixels(ROW_GAP);
        let bar = area.rows(area.y + gap, (area.height - 2 * gap).max(1));
        canvas.fill(bar, TRACK, 0.45);
        let times = entry.times.0.into_iter().zip(STAGES);
        let whole = longest.max(f64::MIN_POSITIVE);
        stacked(
            canvas,
            bar,
            times.map(|(time, (_, color))| (time / whole, color)),
        );
        if let Some(spread) = &entry.spread {
            let place = |time: f64| {
                let part = (time / whole).clamp(0.0, 1.0);
                (f64::from(bar.width) * part).round() as i32
            };
            let [low, high] = spread.total_us.map(place);
            let interval = bar.columns(bar.x + low, (high - low).max(1));
            let line = interval.rows(bar.y + bar.height / 2, self.pixels(1.0).max(1));
            canvas.fill(line, BRIGHT, 1.0);
        }
    }
}

/// Fills an area from the left with adjacent pieces, given as fractions of its width and colors. Cuts off what exceeds
/// the width.
fn stacked(canvas: &mut Canvas<'_>, area: Area, parts: impl IntoIterator<Item = (f64, Color)>) {
    let (mut sum, mut x) = (0.0, 0);
    for (part, color) in parts {
        sum += part;
        // Rounded up, so that the smallest part is visible.
        let end = (f64::from(area.width) * sum - 1e-6).ceil() as i32;
        let end = end.clamp(x, area.width);
        canvas.fill(area.columns(area.x + x, end - x), color, 1.0);
        x = end;
    }
}
