//! An SVG chart under construction. `cargo run --example scaling` and `gallery` draw with it too.

/// Color of a chart's titles and legend.
const TEXT: &str = "#cdd3db";
/// Color of a chart's notes and axis labels.
const FAINT_TEXT: &str = "#8e97a4";
/// Color of a chart's grid lines.
const RULE: &str = "#3e4450";

/// An SVG chart under construction, on a dark background. Positions and lengths are in pixels, counted from the upper
/// left corner: x to the right, y down. Special characters in texts are escaped.
#[derive(Clone, Debug)]
pub(crate) struct Svg(String);

impl Svg {
    /// Creates an empty chart of this width and height in pixels.
    pub(crate) fn new(width: u32, height: u32) -> Svg {
        Svg(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"{width}\" height=\"{height}\" rx=\"6\" \
             fill=\"#0e1117\"/>\n"
        ))
    }

    /// Draws a line of text in the primary color. The text begins at `x`, and `y` is its baseline.
    pub(crate) fn title(&mut self, x: f64, y: f64, text: &str) {
        self.text(x, y, TEXT, "start", text);
    }

    /// Draws a line of text in the secondary color. The text begins at `x`, and `y` is its baseline.
    pub(crate) fn note(&mut self, x: f64, y: f64, text: &str) {
        self.text(x, y, FAINT_TEXT, "start", text);
    }

    fn text(&mut self, x: f64, y: f64, color: &str, anchor: &str, text: &str) {
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        let attributes = format!("fill=\"{color}\" text-anchor=\"{anchor}\"");
        self.0 += &format!("<text x=\"{x:.2}\" y=\"{y}\" {attributes}>{text}</text>\n");
    }

    /// Draws a legend entry: a square of the color whose left edge is at `x`, followed by the label `word` with its
    /// baseline at `y`.
    pub(crate) fn key(&mut self, x: f64, y: f64, color: &str, word: &str) {
        self.0 += &format!(
            "<rect x=\"{x}\" y=\"{}\" width=\"9\" height=\"9\" fill=\"{color}\"/>",
            y - 8.0
        );
        self.title(x + 13.0, y, word);
    }

    /// Draws a horizontal grid line of `width` pixels from (`x`, `y`) to the right, and the label `value` to its left.
    pub(crate) fn level(&mut self, x: f64, y: f64, width: f64, value: &str) {
        self.0 += &format!("<path d=\"M{x} {y}h{width}\" stroke=\"{RULE}\" stroke-width=\"0.5\"/>");
        self.value(x - 6.0, y + 4.0, value);
    }

    /// Draws the right-aligned label `value`, which ends at `x`; `y` is its baseline.
    pub(crate) fn value(&mut self, x: f64, y: f64, value: &str) {
        self.text(x, y, FAINT_TEXT, "end", value);
    }

    /// Draws the label `value` of a place on the horizontal axis, centered at `x`; `y` is its baseline. Draws no tick
    /// mark.
    pub(crate) fn tick(&mut self, x: f64, y: f64, value: &str) {
        self.text(x, y, FAINT_TEXT, "middle", value);
    }

    /// Draws a filled rectangle whose upper left corner is (`x`, `y`).
    pub(crate) fn bar(&mut self, x: f64, y: f64, width: f64, height: f64, color: &str) {
        self.0 += &format!(
            "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" fill=\"{color}\"/>\n"
        );
    }

    /// Draws a line of 1.5 pixels' width through these points, given as (x, y).
    pub(crate) fn line(&mut self, points: impl IntoIterator<Item = (f64, f64)>, color: &str) {
        let points = points.into_iter().map(|(x, y)| format!("{x:.2},{y:.2}"));
        let points: Vec<String> = points.collect();
        self.0 += &format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"1.5\"/>\n",
            points.join(" ")
        );
    }

    /// Returns the complete text of the SVG file.
    pub(crate) fn finish(self) -> String {
        self.0 + "</svg>\n"
    }
}
