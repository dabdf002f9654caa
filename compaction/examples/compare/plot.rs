//! The plot of time over size, both logarithmic.
//!
//! Each operation has a panel, and each method a line, dashed for the CPU.

use std::fmt::Write;

use crate::table::Row;

const WIDTH: f64 = 960.0;
const PANEL_HEIGHT: f64 = 480.0;
const MARGIN: f64 = 60.0;
/// Width of the margin for the names of the lines.
const LEGEND: f64 = 260.0;

/// A line in a panel.
struct Line {
    name: String,
    on_cpu: bool,
    /// Points as (log₂ of the items, log₁₀ of the microseconds).
    points: Vec<(f64, f64)>,
}

/// Returns an SVG of the rows for powers of two with the largest kept share.
pub(crate) fn svg(rows: &[Row]) -> String {
    let percent = rows.iter().filter_map(|row| row.percent).max();
    let shown = |row: &&Row| {
        row.items.is_power_of_two() && (row.percent.is_none() || row.percent == percent)
    };
    let mut works: Vec<&str> = Vec::new();
    for row in rows.iter().filter(shown) {
        if !works.contains(&row.work) {
            works.push(row.work);
        }
    }
    let height = PANEL_HEIGHT * works.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (panel, work) in works.into_iter().enumerate() {
        let rows = rows.iter().filter(shown).filter(|row| row.work == work);
        let top = PANEL_HEIGHT * panel as f64;
        let _ = writeln!(svg, "<g transform=\"translate(0 {top})\">");
        draw(&mut svg, work, &lines(rows));
        svg.push_str("</g>\n");
    }
    svg.push_str("</svg>\n");
    svg
}

fn draw(svg: &mut String, work: &str, lines: &[Line]) {
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
    let y = |log10: f64| {
        PANEL_HEIGHT - MARGIN - (log10 - low) / (high - low) * (PANEL_HEIGHT - 2.0 * MARGIN)
    };
    let _ = writeln!(
        svg,
        "<text x=\"{MARGIN}\" y=\"{:.1}\" font-size=\"16\">{work}</text>",
        MARGIN - 20.0
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
            PANEL_HEIGHT - MARGIN + 18.0,
        );
    }
    for (number, line) in lines.iter().enumerate() {
        let hue = 360 * number / lines.len().max(1);
        let dashes = if line.on_cpu {
            " stroke-dasharray=\"5 3\""
        } else {
            ""
        };
        let path: Vec<_> = line
            .points
            .iter()
            .map(|&(log2, log10)| format!("{:.1},{:.1}", x(log2), y(log10)))
            .collect();
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"hsl({hue} 70% 42%)\" stroke-width=\"1.6\"{dashes}/>\
             <text x=\"{:.1}\" y=\"{:.1}\" fill=\"hsl({hue} 70% 42%)\">{}</text>",
            path.join(" "),
            WIDTH - LEGEND + 12.0,
            MARGIN + 16.0 * number as f64,
            line.name,
        );
    }
}

/// Groups the rows into one line for each machine and method.
fn lines<'a>(rows: impl Iterator<Item = &'a Row>) -> Vec<Line> {
    let mut lines = Vec::<Line>::new();
    for row in rows {
        let name = format!("{} {}", row.machine, row.method);
        let point = ((row.items as f64).log2(), row.microseconds.log10());
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push(point),
            None => lines.push(Line {
                on_cpu: row.machine == "CPU",
                name,
                points: vec![point],
            }),
        }
    }
    lines
}
