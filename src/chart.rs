//! Charts as SVG: what became of a render's paths, and the pieces that other charts are drawn of.

use crate::stats::Stats;

/// What became of rays, in charts, over the picture and on the page: colours by Okabe & Ito (2008), which colour-blind eyes
/// tell apart.
pub const SURVIVORS: &str = "#009e73";
/// See [`SURVIVORS`].
pub const ENDED: &str = "#e69f00";
/// See [`SURVIVORS`].
pub const MISSES: &str = "#56b4e9";

/// The stages of a bounce: other colours of the same, and grey.
pub const INTERSECT: &str = "#0072b2";
/// See [`INTERSECT`].
pub const SIEVE: &str = "#d55e00";
/// See [`INTERSECT`].
pub const SHADE: &str = "#cc79a7";
/// See [`INTERSECT`].
pub const SHADOW: &str = "#8c8c8c";

/// The lines of one path over the picture: where it went, its last ray that met nothing, rays towards lights, and those of
/// them that something blocked.
pub const PATH: &str = "#ffd56e";
/// See [`PATH`].
pub const MISSED: &str = "#98a1ae";
/// See [`PATH`].
pub const LIGHT: &str = "#56b4e9";
/// See [`PATH`].
pub const BLOCKED: &str = "#d55e00";

/// Of what is read first, and of the rest.
const TEXT: &str = "#cdd3db";
const FAINT_TEXT: &str = "#8e97a4";
const RULE: &str = "#3e4450";

/// A chart in the making, on a dark ground that is readable on any page. Places are pixels from its upper left corner.
#[derive(Clone, Debug)]
pub struct Svg(String);

impl Svg {
    /// An empty one.
    pub fn new(width: u32, height: u32) -> Svg {
        Svg(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"{width}\" height=\"{height}\" rx=\"6\" \
             fill=\"#0e1117\"/>\n"
        ))
    }

    /// A line of text.
    pub fn title(&mut self, x: f64, y: f64, text: &str) {
        let text = escaped(text);
        self.0 += &format!("<text x=\"{x}\" y=\"{y}\" fill=\"{TEXT}\">{text}</text>\n");
    }

    /// A line of text that is less in the eye.
    pub fn note(&mut self, x: f64, y: f64, text: &str) {
        let text = escaped(text);
        self.0 += &format!("<text x=\"{x}\" y=\"{y}\" fill=\"{FAINT_TEXT}\">{text}</text>\n");
    }

    /// What a colour stands for; `y` is where its word stands.
    pub fn key(&mut self, x: f64, y: f64, colour: &str, word: &str) {
        self.0 += &format!(
            "<rect x=\"{x}\" y=\"{}\" width=\"9\" height=\"9\" fill=\"{colour}\"/>",
            y - 8.0
        );
        self.title(x + 13.0, y, word);
    }

    /// A line of the scale, with its value before it.
    pub fn level(&mut self, x: f64, y: f64, width: f64, value: &str) {
        self.0 += &format!("<path d=\"M{x} {y}h{width}\" stroke=\"{RULE}\" stroke-width=\"0.5\"/>");
        self.value(x - 6.0, y + 4.0, value);
    }

    /// A value that ends at `x`.
    pub fn value(&mut self, x: f64, y: f64, value: &str) {
        let value = escaped(value);
        self.0 += &format!(
            "<text x=\"{x}\" y=\"{y}\" fill=\"{FAINT_TEXT}\" text-anchor=\"end\">{value}</text>\n"
        );
    }

    /// A value around `x`.
    pub fn tick(&mut self, x: f64, y: f64, value: &str) {
        let value = escaped(value);
        self.0 += &format!(
            "<text x=\"{x:.2}\" y=\"{y}\" fill=\"{FAINT_TEXT}\" text-anchor=\"middle\">{value}</text>\n"
        );
    }

    /// A filled rectangle.
    pub fn bar(&mut self, x: f64, y: f64, width: f64, height: f64, colour: &str) {
        self.0 += &format!(
            "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\" fill=\"{colour}\"/>\n"
        );
    }

    /// A line through these points.
    pub fn line(&mut self, points: impl IntoIterator<Item = (f64, f64)>, colour: &str) {
        let points = points.into_iter().map(|(x, y)| format!("{x:.2},{y:.2}"));
        let points: Vec<String> = points.collect();
        self.0 += &format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"/>\n",
            points.join(" ")
        );
    }

    /// The file's text.
    pub fn finish(self) -> String {
        self.0 + "</svg>\n"
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// What became of a render's paths: a bar a bounce, as high as the part of the camera's rays that goes into it, of those
/// that survive it, end at a surface, and leave for the sky.
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
        "{name}, {width} × {height}, {} samples a pixel, {rays:.2} rays a path",
        stats.spp
    );
    svg.title(LEFT, 18.0, &title);
    let keys = [("survive", SURVIVORS), ("end", ENDED), ("leave", MISSES)];
    for ((word, colour), x) in keys.into_iter().zip([448.0, 516.0, 566.0]) {
        svg.key(x, 18.0, colour, word);
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
        for (count, colour) in parts.into_iter().filter(|(count, _)| *count > 0) {
            let part = HEIGHT * count as f64 / all;
            y -= part;
            svg.bar(x, y, bar * 0.88, part, colour);
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
