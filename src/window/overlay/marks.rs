//! What the overlay draws that is no text: bars, the line of progress, the graph.

use super::{
    Overlay,
    canvas::{Area, Canvas, Colour},
    columns::{Entry, STAGES, parts},
    content::{ACCENT, DIM, PLAIN},
    figures,
};
use crate::stats::BounceStats;

const TRACK: Colour = [62, 68, 80];
/// Lengths at scale 1, pixels.
pub(super) const BAR_HEIGHT: f32 = 3.0;
pub(super) const ROW_GAP: f32 = 4.0;
/// Of the graph itself, below its heading.
pub(super) const GRAPH_HEIGHT: f32 = 28.0;
const GRAPH_LINE: f32 = 1.5;

/// Of the graph below its line.
const GRAPH_OPACITY: f32 = 0.3;

/// Points of a graph's whole width.
const GRAPH_POINTS: usize = 100;

impl Overlay {
    /// A thin line that fills.
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

    /// What became of the bounce's rays, against the rays of the first; it fills the area.
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

    /// The times of the stages, against those of the bounce that takes longest.
    pub(super) fn times(&self, canvas: &mut Canvas<'_>, area: Area, entry: &Entry, longest: f64) {
        let gap = self.pixels(ROW_GAP);
        let bar = Area {
            y: area.y + gap,
            height: (area.height - 2 * gap).max(1),
            ..area
        };
        canvas.fill(bar, TRACK, 0.45);
        let times = entry.recent.times();
        let whole = longest.max(f64::MIN_POSITIVE);
        stacked(
            canvas,
            bar,
            std::array::from_fn::<_, 4, _>(|stage| (times[stage] / whole, STAGES[stage].1)),
        );
    }

    /// Rays a second over the last ten seconds, from zero to the most.
    pub(super) fn graph(&mut self, canvas: &mut Canvas<'_>, area: Area, course: &[f32]) {
        let heading = Area {
            height: self.line_height(),
            ..area
        };
        let most = course.iter().copied().fold(0.0, f32::max);
        let left = vec![(DIM, "Mrays/s over the last 10 s".to_owned())];
        let right = vec![
            (DIM, "most ".to_owned()),
            (PLAIN, figures::millions(f64::from(most))),
        ];
        self.text(canvas, heading, &left, &right);
        let plot = Area {
            y: heading.y + heading.height,
            height: self.pixels(GRAPH_HEIGHT),
            ..area
        };
        canvas.fill(plot, TRACK, 0.3);
        let line = self.pixels(GRAPH_LINE).max(1);
        let missing = GRAPH_POINTS.saturating_sub(course.len());
        let edge = |point: usize| {
            plot.x + (f64::from(plot.width) * point as f64 / GRAPH_POINTS as f64).round() as i32
        };
        for (point, &rate) in (missing..).zip(course) {
            let part = if most > 0.0 { rate / most } else { 0.0 };
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

/// Parts of the area's width, side by side.
fn stacked<const PARTS: usize>(canvas: &mut Canvas<'_>, area: Area, parts: [(f64, Colour); PARTS]) {
    let (mut sum, mut x) = (0.0, 0);
    for (part, colour) in parts {
        sum += part;
        // Rounded up, so that the least part shows.
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
