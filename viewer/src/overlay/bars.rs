//! The graphical parts of the overlay: bars of ray counts and times, the progress bar, and the graph of the speed.

use super::{
    Overlay,
    canvas::{Area, Canvas, Colour},
    columns::{STAGES, parts},
    content::{ACCENT, DIM, PLAIN},
    entry::Entry,
    format,
};
use raysieve::render::stats::BounceStats;

/// Background colour of bars and of the graph.
pub(super) const TRACK: Colour = [62, 68, 80];
/// Height of the bars of ray counts in pixels at scale 1. The progress bar is one pixel thinner. The bars of times
/// depend on the line height instead.
pub(super) const BAR_HEIGHT: f32 = 3.0;
/// Unit of the vertical spacing around bars, in pixels at scale 1.
pub(super) const ROW_GAP: f32 = 4.0;
/// Height of the graph in pixels at scale 1, without its heading.
pub(super) const GRAPH_HEIGHT: f32 = 28.0;
/// Line width of the graph in pixels at scale 1.
pub(super) const GRAPH_LINE: f32 = 1.5;

/// Opacity of the area below the graph's line, in 0..=1.
const GRAPH_OPACITY: f32 = 0.3;

/// Number of points in the full width of the graph.
const GRAPH_POINTS: usize = 100;

impl Overlay {
    /// Draws a thin progress bar over the width of `area`. `progress` is clamped to 0..=1, and 1 is a full bar.
    pub(super) fn progress(&self, canvas: &mut Canvas<'_>, area: Area, progress: f64) {
        let line = Area {
            y: area.y + self.pixels(ROW_GAP),
            height: self.pixels(BAR_HEIGHT - 1.0).max(1),
            ..area
        };
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
            parts(bounce).map(|(rays, colour)| (rays as f64 / whole, colour)),
        );
    }

    /// Draws a stacked bar of the stages' times. The full width of `area` stands for `longest` microseconds.
    pub(super) fn times(&self, canvas: &mut Canvas<'_>, area: Area, entry: &Entry, longest: f64) {
        let gap = self.pixels(ROW_GAP);
        let bar = Area {
            y: area.y + gap,
            height: (area.height - 2 * gap).max(1),
            ..area
        };
        canvas.fill(bar, TRACK, 0.45);
        let times = entry.times.0.into_iter().zip(STAGES);
        let whole = longest.max(f64::MIN_POSITIVE);
        stacked(
            canvas,
            bar,
            times.map(|(time, (_, colour))| (time / whole, colour)),
        );
    }

    /// Draws a graph of `rate_history` (rays per second, at most 100 values, the newest last), scaled from 0 to its
    /// peak, below a heading with the peak. A point stands for at least a tenth of a second of rendering. Fewer than
    /// 100 points are right-aligned.
    pub(super) fn graph(&mut self, canvas: &mut Canvas<'_>, area: Area, rate_history: &[f32]) {
        let heading = Area {
            height: self.line_height(),
            ..area
        };
        let peak = rate_history.iter().copied().fold(0.0, f32::max);
        let left = vec![(DIM, "Mrays/s, last 10 s".to_owned())];
        let right = vec![
            (DIM, "peak ".to_owned()),
            (PLAIN, format::millions(f64::from(peak))),
        ];
        self.text(canvas, heading, &left, &right);
        let plot = Area {
            y: heading.y + heading.height,
            height: self.pixels(GRAPH_HEIGHT),
            ..area
        };
        canvas.fill(plot, TRACK, 0.3);
        let line = self.pixels(GRAPH_LINE).max(1);
        let missing = GRAPH_POINTS.saturating_sub(rate_history.len());
        let edge = |point: usize| {
            plot.x + (f64::from(plot.width) * point as f64 / GRAPH_POINTS as f64).round() as i32
        };
        for (point, &rate) in (missing..).zip(rate_history) {
            let part = if peak > 0.0 { rate / peak } else { 0.0 };
            let height = (part * (plot.height - line) as f32).round() as i32;
            let top = plot.y + plot.height - height - line;
            let x = edge(point);
            let column = Area {
                x,
                width: edge(point + 1) - x,
                y: top,
                height: line,
            };
            canvas.fill(column, ACCENT, 1.0);
            let below = Area {
                y: top + line,
                height,
                ..column
            };
            canvas.fill(below, ACCENT, GRAPH_OPACITY);
        }
    }
}

/// Fills an area from the left with adjacent pieces, given as fractions of its width and colours. Cuts off what exceeds
/// the width.
fn stacked(canvas: &mut Canvas<'_>, area: Area, parts: impl IntoIterator<Item = (f64, Colour)>) {
    let (mut sum, mut x) = (0.0, 0);
    for (part, colour) in parts {
        sum += part;
        // Rounded up, so that the smallest part is visible.
        let end = (f64::from(area.width) * sum - 1e-6).ceil() as i32;
        let end = end.clamp(x, area.width);
        let piece = Area {
            x: area.x + x,
            width: end - x,
            ..area
        };
        canvas.fill(piece, colour, 1.0);
        x = end;
    }
}
