//! SVG charts: the survival chart of a render, a drawing type for other charts, and the colors that charts, overlay
//! and page share.

use raysieve::{render::stats::Stats, stages::Stage};

/// Color (`#rrggbb`) of paths that continue to the next bounce, in charts, the overlay and the page. The color is
/// from the color-blind-safe palette of Okabe & Ito (2008).
pub const SURVIVORS: &str = "#009e73";
/// Color (`#rrggbb`) of paths that ended at a surface, in charts, the overlay and the page.
pub const ENDED: &str = "#e69f00";
/// Color (`#rrggbb`) of rays that left the scene, in charts, the overlay and the page.
pub const MISSES: &str = "#56b4e9";

/// Colors (`#rrggbb`) of the stages in the overlay and the page, in the order of [`Stage::OF_BOUNCE`].
///
/// Any two differ by at least 16 (CIEDE2000), also with simulated protanopia, deuteranopia and tritanopia.
///
/// In this crate, a new stage whose time is measured needs only a color here: bars and legends iterate over the
/// stages.
pub const STAGES: [&str; Stage::OF_BOUNCE.len()] = ["#2a7fd0", "#d55e00", "#e8b4d4", "#6e6e6e"];

/// Returns the color (`#rrggbb`) of a stage from [`STAGES`].
///
/// # Panics
///
/// Panics if the stage is not in [`Stage::OF_BOUNCE`].
pub const fn stage_color(stage: Stage) -> &'static str {
    let mut index = 0;
    while index < STAGES.len() {
        if Stage::OF_BOUNCE[index] as usize == stage as usize {
            return STAGES[index];
        }
        index += 1;
    }
    panic!("a stage without a color")
}

/// Color of a displayed path's segments between two vertices.
pub(crate) const PATH: &str = "#ffd56e";
/// Color of the last segment of a displayed path that left the scene.
pub(crate) const MISSED: &str = "#98a1ae";
/// Color of a displayed path's unblocked shadow rays.
pub(crate) const LIGHT: &str = "#56b4e9";
/// Color of a displayed path's blocked shadow rays.
pub(crate) const BLOCKED: &str = "#d55e00";

/// Color of a chart's titles and legend.
const TEXT: &str = "#cdd3db";
/// Color of a chart's notes and axis labels.
const FAINT_TEXT: &str = "#8e97a4";
/// Color of a chart's grid lines.
const RULE: &str = "#3e4450";

/// An SVG chart under construction, on a dark background. Positions and lengths are in pixels, counted from the upper
/// left corner: x to the right, y down. Special characters in texts are escaped.
#[derive(Clone, Debug)]
pub struct Svg(String);

impl Svg {
    /// Creates an empty chart of this width and height in pixels.
    pub fn new(width: u32, height: u32) -> Svg {
        Svg(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"{width}\" height=\"{height}\" rx=\"6\" \
             fill=\"#0e1117\"/>\n"
        ))
    }

    /// Draws a line of text in the primary color. The text begins at `x`, and `y` is its baseline.
    pub fn title(&mut self, x: f64, y: f64, text: &str) {
        self.text(x, y, TEXT, "start", text);
    }

    /// Draws a line of text in the secondary color. The text begins at `x`, and `y` is its baseline.
    pub fn note(&mut self, x: f64, y: f64, text: &str) {
        self.text(x, y, FAINT_TEXT, "start", text);
    }

    fn text(&mut self, x: f64, y: f64, color: &str, anchor: &str, text: &str) {
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        let attributes = format!("fill=\"{color}\" text-anchor=\"{anchor}\"");
        self.0 += &format!("<text x=\"{x:.2}\" y=\"{y}\" {attributes}>{text}</text>\n");
    }

    /// Draws a legend entry: a square of the color whose left edge is at `x`, followed by the label `word` with its
    /// baseline at `y`.
    pub fn key(&mut self, x: f64, y: f64, color: &str, word: &str) {
        self.0 += &format!(
            "<rect x=\"{x}\" y=\"{}\" width=\"9\" height=\"9\" fill=\"{color}\"/>",
            y - 8.0
        );
        self.title(x + 13.0, y, word);
    }

    /// Draws a horizontal grid line of `width` pixels from (`x`, `y`) to the right, and the label `value` to its left.
    pub fn level(&mut self, x: f64, y: f64, width: f64, value: &str) {
        self.0 += &format!("<path d=\"M{x} {y}h{width}\" stroke=\"{RULE}\" stroke-width=\"0.5\"/>");
        self.value(x - 6.0, y + 4.0, value);
    }

    /// Draws the right-aligned label `value`, which ends at `x`; `y` is its baseline.
    pub fn value(&mut self, x: f64, y: f64, value: &str) {
        self.text(x, y, FAINT_TEXT, "end", value);
    }

    /// Draws the label `value` of a place on the horizontal axis, centerd at `x`; `y` is its baseline. Draws no tick
    /// mark.
    pub fn tick(&mut self, x: f64, y: f64, value: &str) {
        self.text(x, y, FAINT_TEXT, "middle", value);
    }

    /// Draws a filled rectangle whose upper left corner is (`x`, `y`).
    pub fn bar(&mut self, x: f64, y: f64, width: f64, height: f64, color: &str) {
        self.0 += &format!(
            "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" fill=\"{color}\"/>\n"
        );
    }

    /// Draws a line of 1.5 pixels' width through these points, given as (x, y).
    pub fn line(&mut self, points: impl IntoIterator<Item = (f64, f64)>, color: &str) {
        let points = points.into_iter().map(|(x, y)| format!("{x:.2},{y:.2}"));
        let points: Vec<String> = points.collect();
        self.0 += &format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"1.5\"/>\n",
            points.join(" ")
        );
    }

    /// Returns the complete text of the SVG file.
    pub fn finish(self) -> String {
        self.0 + "</svg>\n"
    }
}

/// Returns an SVG file of 640 × 200 pixels with one bar per bounce that has rays. Its title consists of `name`, picture
/// size, samples per pixel, and rays per path including shadow rays.
///
/// A bar's height is the number of rays in the bounce, as a fraction of the camera rays. From the bottom up, its parts
/// are the rays that survived, ended at a surface, or left the scene.
pub fn survival(name: &str, stats: &Stats) -> String {
    const LEFT: f64 = 44.0;
    const TOP: f64 = 40.0;
    const WIDTH: f64 = 580.0;
    const HEIGHT: f64 = 120.0;
    let rows: Vec<_> = stats.bounces.iter().filter(|row| row.rays > 0).collect();
    let all = rows.first().map_or(1, |row| row.rays) as f64;
    let bar = (WIDTH / rows.len().max(1) as f64).min(48.0);
    let [width, height] = stats.size;
    let mut svg = Svg::new(640, 200);
    let rays = stats.rays as f64 / all;
    let title = format!(
        "{name}, {width} × {height}, {} {} per pixel, {rays:.2} rays per path",
        stats.spp,
        if stats.spp == 1 { "sample" } else { "samples" }
    );
    svg.title(LEFT, 18.0, &title);
    let keys = [("survive", SURVIVORS), ("end", ENDED), ("miss", MISSES)];
    for ((word, color), x) in keys.into_iter().zip([448.0, 516.0, 566.0]) {
        svg.key(x, 18.0, color, word);
    }
    for percent in [0, 50, 100] {
        let y = TOP + HEIGHT * (1.0 - f64::from(percent) / 100.0);
        svg.level(LEFT, y, WIDTH, &format!("{percent} %"));
    }
    let every = (rows.len() / 16 + 1) as u32;
    for row in &rows {
        let x = LEFT + bar * f64::from(row.bounce);
        let mut y = TOP + HEIGHT;
        let parts = [
            (row.survivors, SURVIVORS),
            (row.ended, ENDED),
            (row.misses, MISSES),
        ];
        for (count, color) in parts.into_iter().filter(|(count, _)| *count > 0) {
            let part = HEIGHT * count as f64 / all;
            y -= part;
            svg.bar(x, y, bar * 0.88, part, color);
        }
        if row.bounce.is_multiple_of(every) {
            svg.tick(x + bar * 0.44, TOP + HEIGHT + 15.0, &row.bounce.to_string());
        }
    }
    svg.note(
        LEFT,
        193.0,
        &format!("bounce; film_hash {}", stats.film_hash),
    );
    svg.finish()
}
