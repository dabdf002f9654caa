//! The plot: time over size, both in powers, a line for each method.

use std::fmt::Write;

use crate::table::Row;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 600.0;
const MARGIN: f64 = 60.0;
/// For the names beside the lines.
const LEGEND: f64 = 260.0;

/// A line of the plot.
struct Line {
    name: String,
    /// (log₂ of the items, log₁₀ of the microseconds)
    points: Vec<(f64, f64)>,
}

/// An SVG of the powers of two among the rows.
pub(crate) fn svg(rows: &[Row]) -> String {
    let lines = lines(rows);
    let points = || lines.iter().flat_map(|line| &line.points);
    let left = points().map(|point| point.0).fold(f64::MAX, f64::min);
    let right = points().map(|point| point.0).fold(left + 1.0, f64::max);
    let low = points()
        .map(|point| point.1)
        .fold(f64::MAX, f64::min)
        .floor();
    let high = points()
        .map(|point| point.1)
        .fold(low + 1.0, f64::max)
        .ceil();
    let x = |log2: f64| MARGIN + (log2 - left) / (right - left) * (WIDTH - MARGIN - LEGEND);
    let y = |log10: f64| HEIGHT - MARGIN - (log10 - low) / (high - low) * (HEIGHT - 2.0 * MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for power in low as i32..=high as i32 {
        let at = y(f64::from(power));
        let _ = writeln!(
            svg,
            "<path d=\"M{MARGIN} {at:.1}H{:.1}\" stroke=\"#ddd\"/><text x=\"{:.1}\" y=\"{at:.1}\" \
             text-anchor=\"end\">10^{power} µs</text>",
            WIDTH - LEGEND,
            MARGIN - 4.0,
        );
    }
    for power in (left.ceil() as i32..=right as i32).step_by(2) {
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">2^{power}</text>",
            x(f64::from(power)),
            HEIGHT - MARGIN + 18.0,
        );
    }
    for (number, line) in lines.iter().enumerate() {
        let hue = 360 * number / lines.len().max(1);
        let path: Vec<_> = line
            .points
            .iter()
            .map(|&(log2, log10)| format!("{:.1},{:.1}", x(log2), y(log10)))
            .collect();
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"hsl({hue} 70% 42%)\" stroke-width=\"1.6\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" fill=\"hsl({hue} 70% 42%)\">{}</text>",
            path.join(" "),
            WIDTH - LEGEND + 12.0,
            MARGIN + 16.0 * number as f64,
            line.name,
        );
    }
    svg.push_str("</svg>\n");
    svg
}

/// The rows of the largest share kept, by machine, work and method.
fn lines(rows: &[Row]) -> Vec<Line> {
    let percent = rows.iter().map(|row| row.percent).max();
    let mut lines = Vec::<Line>::new();
    for row in rows {
        if Some(row.percent) != percent || !row.items.is_power_of_two() {
            continue;
        }
        let name = format!("{} {} {}", row.machine, row.work, row.method);
        let point = ((row.items as f64).log2(), row.microseconds.log10());
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push(point),
            None => lines.push(Line {
                name,
                points: vec![point],
            }),
        }
    }
    lines
}
