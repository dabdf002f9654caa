//! Bars and plots of the overlay: of ray counts, of times, of the progress, of speed and times over the last seconds, of
//! noise over the samples, and of the speeds of strategies.

use super::{
    Drawing,
    canvas::{Area, Canvas},
    colors::{ACCENT, BRIGHT, Color},
    columns::{STAGES, parts},
    format,
    row::{Line, dim, plain},
};
use crate::session::{MeasuredTimes, NoisePoint, Recent, StageTimes, StrategyComparison};
use raysieve::render::stats::BounceStats;

/// Opacity of the area below the line of the graph of the speed, in 0..=1.
const GRAPH_OPACITY: f32 = 0.3;

/// Number of points in the full width of a graph over time.
const GRAPH_POINTS: usize = 100;

/// Returns the columns of a point of a graph over time.
fn columns(plot: Area, point: usize) -> Area {
    let edge = |point: usize| f64::from(plot.width) * point as f64 / GRAPH_POINTS as f64;
    let [left, right] = [point, point + 1].map(|point| plot.x + edge(point).round() as i32);
    plot.columns(left, right - left)
}

/// Distance between two graphs side by side, in characters.
const GAP: i32 = 2;

impl Drawing<'_> {
    /// Draws the graph of the speed and, if it has at least two points, that of the noise beside it.
    pub(super) fn graphs(&mut self, area: Area, recent: &Recent) {
        let (rate_history, noise) = (&recent.rate_history, &recent.noise_history);
        if noise.len() < 2 {
            return self.graph(area, rate_history);
        }
        let width = (area.width - GAP * self.type_face.cell_width) / 2;
        self.graph(area.columns(area.x, width), rate_history);
        let x = area.x + area.width - width;
        self.noise_graph(area.columns(x, width), noise);
    }

    /// Draws the heading of a graph, with texts at the left and at the right, and the background of the plot below.
    /// Returns the area of the plot.
    fn plot(&mut self, area: Area, left: &str, right: &Line) -> Area {
        let line = self.line_height();
        self.text(area.rows(area.y, line), &vec![dim(left)], right);
        let height = (area.height - line - self.pixels(ROW_GAP)).max(1);
        let plot = area.rows(area.y + line, height);
        self.canvas.fill(plot, TRACK, 0.3);
        plot
    }

    /// Draws a stacked graph of the times of the stages (at most 100 points, the newest last), scaled from 0 to the peak
    /// of their sum, below a heading with that peak. Fewer than 100 points are right-aligned.
    pub(super) fn stage_graph(&mut self, area: Area, history: &[[f32; STAGES.len()]]) {
        let sums = history.iter().map(|times| times.iter().sum::<f32>());
        let mut sorted: Vec<f32> = sums.collect();
        sorted.sort_by(f32::total_cmp);
        // A single slow point must not flatten the others.
        let usual = sorted.get(sorted.len() * 19 / 20).copied().unwrap_or(0.0);
        let height = plain(&format::microseconds(f64::from(usual)));
        let right = vec![dim("height "), height];
        let plot = self.plot(area, "time of the stages, last 10 s", &right);
        let missing = GRAPH_POINTS.saturating_sub(history.len());
        for (point, times) in (missing..).zip(history) {
            let (mut sum, mut below) = (0.0, 0);
            for (time, (_, color)) in times.iter().zip(STAGES) {
                sum += time;
                let part = if usual > 0.0 {
                    (sum / usual).min(1.0)
                } else {
                    0.0
                };
                let height = (part * plot.height as f32).round() as i32;
                let piece =
                    columns(plot, point).rows(plot.y + plot.height - height, height - below);
                self.canvas.fill(piece, color, 1.0);
                below = height;
            }
        }
    }

    /// Draws a graph of `rate_history` (rays per second, at most 100 values, the newest last), scaled from 0 to its
    /// peak, below a heading with the peak. A point stands for at least a tenth of a second of rendering. Fewer than
    /// 100 points are right-aligned.
    fn graph(&mut self, area: Area, rate_history: &[f32]) {
        let peak = rate_history.iter().copied().fold(0.0, f32::max);
        let right = vec![dim("peak "), plain(&format::millions(f64::from(peak)))];
        let plot = self.plot(area, "Mrays/s, last 10 s", &right);
        let line = self.pixels(GRAPH_LINE).max(1);
        let missing = GRAPH_POINTS.saturating_sub(rate_history.len());
        for (point, &rate) in (missing..).zip(rate_history) {
            let part = if peak > 0.0 { rate / peak } else { 0.0 };
            let height = (part * (plot.height - line) as f32).round() as i32;
            let top = plot.y + plot.height - height - line;
            let column = columns(plot, point);
            self.canvas.fill(column.rows(top, line), ACCENT, 1.0);
            self.canvas
                .fill(column.rows(top + line, height), ACCENT, GRAPH_OPACITY);
        }
    }

    /// Draws the noise over the number of samples, both on logarithmic scales, below a heading with the last values.
    /// Lines mark powers of ten. Draws nothing without points.
    fn noise_graph(&mut self, area: Area, noise: &[NoisePoint]) {
        let (Some(first), Some(last)) = (noise.first(), noise.last()) else {
            return;
        };
        let right = vec![
            plain(&format!("{:.2} %", 100.0 * last.error)),
            dim(&format!(" at {:.0}", last.samples)),
        ];
        let plot = self.plot(area, "noise by samples", &right);
        let errors = || noise.iter().map(|point| point.error);
        let (lowest, highest) = (
            errors().fold(f64::INFINITY, f64::min),
            errors().fold(0.0, f64::max),
        );
        let across = Scale::new(first.samples, last.samples);
        let down = Scale::new(lowest, highest);
        let line = self.pixels(GRAPH_LINE).max(1);
        let x = |samples: f64| f64::from(plot.x) + across.place(samples) * f64::from(plot.width);
        let y = |error: f64| {
            let room = f64::from(plot.height - 2 * line);
            f64::from(plot.y + line) + (1.0 - down.place(error)) * room
        };
        let columns = across.powers();
        let columns = columns.map(|power| plot.columns(x(power).round() as i32, 1));
        let rows = down.powers();
        let rows = rows.map(|power| plot.rows(y(power).round() as i32, 1));
        for mark in columns.chain(rows) {
            self.canvas.fill(mark, TRACK, 0.8);
        }
        let place = |point: &NoisePoint| (x(point.samples) as i32, y(point.error) as i32);
        for pair in noise.windows(2) {
            let ((left, from), (right, to)) = (place(&pair[0]), place(&pair[1]));
            let height = |x: i32| from + (to - from) * (x - left) / (right - left).max(1);
            for x in left..right {
                let (one, next) = (height(x), height(x + 1));
                let high = (next - one).abs() + line;
                let piece = plot.columns(x, 1).rows(one.min(next), high);
                self.canvas.fill(piece, ACCENT, 1.0);
            }
        }
    }

    /// Draws a bar of a strategy's speed, and a thinner one of its confidence interval over its end. The full width of
    /// `area` stands for `fastest` rays per second.
    pub(super) fn speed(&mut self, area: Area, strategy: &StrategyComparison, fastest: f64) {
        self.canvas.fill(area, TRACK, 0.45);
        let place = |rate: f64| match fastest > 0.0 {
            true => (f64::from(area.width) * (rate / fastest).clamp(0.0, 1.0)).round() as i32,
            false => 0,
        };
        let width = place(strategy.rays_per_second);
        self.canvas.fill(Area { width, ..area }, ACCENT, 0.7);
        let [low, high] = strategy.interval.map(place);
        let interval = area.columns(area.x + low, (high - low).max(1));
        let third = area.height / 3;
        if high > 0 {
            self.canvas
                .fill(interval.rows(area.y + third, third.max(1)), BRIGHT, 1.0);
        }
    }

    /// Draws a thin progress bar over the width of `area`. `progress` is clamped to 0..=1, and 1 is a full bar.
    pub(super) fn progress(&mut self, area: Area, progress: f64) {
        let height = self.pixels(BAR_HEIGHT - 1.0).max(1);
        let line = area.rows(area.y + self.pixels(ROW_GAP), height);
        self.canvas.fill(line, TRACK, 1.0);
        let width = (f64::from(area.width) * progress.clamp(0.0, 1.0)).round() as i32;
        self.canvas.fill(Area { width, ..line }, ACCENT, 1.0);
    }

    /// Draws a stacked bar of the bounce's surviving, ended and missed rays. The full width of `area` stands for
    /// `first_rays` rays.
    pub(super) fn bar(&mut self, area: Area, bounce: &BounceStats, first_rays: u64) {
        self.canvas.fill(area, TRACK, 0.45);
        let whole = first_rays.max(1) as f64;
        stacked(
            &mut self.canvas,
            area,
            parts(bounce).map(|(rays, color)| (rays as f64 / whole, color)),
        );
    }

    /// Draws a stacked bar of the stages' times, with a thin line over it from the lower to the upper quartile of their
    /// sum. The full width of `area` stands for `longest` microseconds.
    pub(super) fn times(&mut self, area: Area, times: &MeasuredTimes, longest: f64) {
        let gap = self.pixels(ROW_GAP);
        let bar = area.rows(area.y + gap, (area.height - 2 * gap).max(1));
        self.canvas.fill(bar, TRACK, 0.45);
        let MeasuredTimes { median, spread } = times;
        let whole = longest.max(f64::MIN_POSITIVE);
        let parts = median.0.into_iter().zip(STAGES);
        stacked(
            &mut self.canvas,
            bar,
            parts.map(|(time, (_, color))| (time / whole, color)),
        );
        if let Some(spread) = spread {
            let place = |times: &StageTimes| {
                let part = (times.total() / whole).clamp(0.0, 1.0);
                (f64::from(bar.width) * part).round() as i32
            };
            let (low, high) = (place(&spread.low), place(&spread.high));
            let interval = bar.columns(bar.x + low, (high - low).max(1));
            let line = interval.rows(bar.y + bar.height / 2, self.pixels(1.0).max(1));
            self.canvas.fill(line, BRIGHT, 1.0);
        }
    }
}

/// A logarithmic scale from one positive value to a larger one.
struct Scale {
    low: f64,
    decades: f64,
}

impl Scale {
    /// Creates a scale that begins with `low` and ends with `high`, both above 0.
    fn new(low: f64, high: f64) -> Self {
        let low = low.max(f64::MIN_POSITIVE);
        let decades = (high / low).log10().max(1e-6);
        Self { low, decades }
    }

    /// Returns the place of a value: 0 at the beginning of the scale, and 1 at its end.
    fn place(&self, value: f64) -> f64 {
        ((value / self.low).log10() / self.decades).clamp(0.0, 1.0)
    }

    /// Yields the powers of ten on the scale.
    fn powers(&self) -> impl Iterator<Item = f64> {
        let first = self.low.log10();
        let powers = first.ceil() as i32..=(first + self.decades).floor() as i32;
        powers.map(|power| 10_f64.powi(power))
    }
}

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
