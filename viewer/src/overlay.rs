//! The overlay: panels with statistics, keys, messages, a legend or a path, drawn over a picture.
//!
//! The overlay is drawn on the CPU into the picture's bytes, so that saved pictures can contain it. `content` selects
//! the rows of the statistics panel (`row`) and puts them into words, `columns` draws its tables, and `plots` its
//! graphical parts. `export` writes the figures to files. `fitted` is the area of a picture in a window, and `pixels`
//! describes single pixels.

pub(crate) mod canvas;
pub(crate) mod colors;
mod columns;
mod content;
mod entry;
mod export;
mod head;
pub(crate) mod format;
pub(crate) mod fitted;
mod legend;
pub(crate) mod pixels;
#[cfg(test)]
mod tests;
mod plots;
mod row;

use canvas::{Area, Canvas, TypeFace, cells};
use colors::{Color, DIM, PANEL};
use columns::Scales;
use columns::{NATURAL_WIDTH, full_width};
use content::{Form, describe};
use plots::{BAR_HEIGHT, GRAPH_HEIGHT, ROW_GAP};
use row::{Line, Row, Table, length};

pub(crate) use export::figures_as;
pub use export::{FigureFormat, export};
use std::ops::Deref;

use serde::{Deserialize, Serialize};

use crate::session::{DisplayFrame, Recent, State};
use raysieve::{
    inspect::debug_view::Legend,
    render::{
        output::{DisplayImage, Look},
        stats::Stats,
    },
};

/// Draws the statistics of a complete render onto its picture: RGBA bytes, rows from the top, any size.
///
/// Omits columns that do not fit the width. Omits late bounces that do not fit the height, and states their number. If
/// no bounce fits, draws only lines of text, or nothing onto a tiny picture.
pub fn draw(rgba: &mut [u8], width: u32, height: u32, stats: &Stats) {
    with_figures(stats, |figures| {
        let size = (width, height);
        let figures = Figures {
            detail: Detail::for_picture(size),
            ..*figures
        };
        Overlay::new(scale_for(width, height)).draw_stats(rgba, size, &figures);
    });
}

/// Calls `work` with the figures of a complete render, for one sample of every pixel.
fn with_figures<R>(stats: &Stats, work: impl FnOnce(&Figures<'_>) -> R) -> R {
    let [width, height] = stats.size;
    let recent = Recent::of(stats, f64::from(width) * f64::from(height));
    work(&Figures {
        stats,
        recent: &recent,
        size: (width, height),
        state: State::Done,
        detail: Detail::Full,
        units: Units::PerSample,
        denoises: false,
    })
}

/// Draws the statistics onto an image that is to be written to a file. Does nothing unless `look.overlay` is set.
pub fn annotate(image: &mut DisplayImage, stats: &Stats, look: Look) {
    if look.overlay {
        let (width, height) = image.size;
        draw(&mut image.rgba, width, height, stats);
    }
}

/// Draws the legend of a debug view into the lower left corner of its image. On a small image, draws only the bar with its
/// numbers, and on a tiny one nothing.
pub fn draw_legend(image: &mut DisplayImage, legend: &Legend) {
    let (width, height) = image.size;
    let mut overlay = Overlay::new(scale_for(width, height));
    overlay.draw_legend(&mut image.rgba, image.size, legend);
}

/// Amount of statistics that a panel displays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// The settings, speed, noise and progress of the render, warnings, and one bar per bounce.
    Short,
    /// The contents of `Short`, except that a table of bounces and stages replaces the bars. Adds the devices, graphs of
    /// the speed and of the stages, and a comparison of compaction strategies. The panel covers little of a picture.
    Full,
    /// The contents of `Full` with all columns, for a region of its own: in one table if the region is wide enough, and
    /// otherwise in two, of rays and of times. Graphs are taller if there is room.
    Everything,
}

/// Maximum share of a picture's width that a panel with all columns covers.
const MAX_WIDE_SHARE: f64 = 0.52;

impl Detail {
    /// Returns the amount for a panel over a picture of this width and height that is saved: everything if the panel
    /// leaves about half of the picture free.
    pub(crate) fn for_picture((width, height): (u32, u32)) -> Self {
        let wide = panel_width(Self::Everything, scale_for(width, height));
        if wide <= MAX_WIDE_SHARE * f64::from(width) {
            Self::Everything
        } else {
            Self::Full
        }
    }

    /// Returns the maximum width of a panel in characters.
    fn widest(self) -> i32 {
        match self {
            Self::Short | Self::Full => NATURAL_WIDTH,
            Self::Everything => full_width(),
        }
    }
}

/// Units of the ray counts and times in the table of bounces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Units {
    /// Rays and time for one sample of every pixel. Times are medians of the last seconds.
    #[default]
    PerSample,
    /// Rays and time since the start of the film.
    Total,
}

impl Units {
    pub(crate) fn next(self) -> Self {
        match self {
            Self::PerSample => Self::Total,
            Self::Total => Self::PerSample,
        }
    }

    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::PerSample => "per sample of every pixel",
            Self::Total => "total since the start",
        }
    }
}

/// The content of a statistics panel: the figures of a render, and which of them to display.
pub(crate) struct Figures<'a> {
    pub(crate) stats: &'a Stats,
    pub(crate) recent: &'a Recent,
    /// Requested width and height of the picture in pixels; that of `stats` may be a smaller preview.
    pub(crate) size: (u32, u32),
    pub(crate) state: State,
    pub(crate) detail: Detail,
    pub(crate) units: Units,
    /// Whether a denoised picture is wanted, although perhaps none is displayed yet.
    pub(crate) denoises: bool,
}

impl<'a> Figures<'a> {
    /// Returns the figures of a frame, whose statistics to display are `stats`.
    pub(crate) fn of(frame: &'a DisplayFrame, stats: &'a Stats, units: Units) -> Self {
        Self {
            stats,
            recent: &frame.recent,
            size: frame.size,
            state: frame.state,
            detail: Detail::Full,
            units,
            denoises: false,
        }
    }

    /// Returns the factor from counts since the start of the film to counts for one sample of every pixel; `None` for
    /// [`Units::Total`], and 0 before the first path.
    fn factor(&self) -> Option<f64> {
        let pixels = f64::from(self.size.0) * f64::from(self.size.1);
        let factor = match self.stats.paths {
            0 => 0.0,
            paths => pixels / paths as f64,
        };
        (self.units == Units::PerSample).then_some(factor)
    }

    /// Returns the displayed numbers of paths and of rays per second: averages over a complete render, otherwise recent.
    fn speeds(&self) -> (f64, f64) {
        match self.state {
            State::Done => (self.stats.paths_per_second, self.stats.rays_per_second),
            _ => (self.recent.paths_per_second, self.recent.rays_per_second),
        }
    }

    /// Returns the fraction of launched lanes that had a ray; `None` if it is not known for the strategy in use.
    fn busy(&self) -> Option<f64> {
        let lane_use = self.recent.total.lane_use;
        (self.recent.is_measured && lane_use > 0.0).then_some(lane_use)
    }
}

/// Returns the text scale for a picture of this width and height in pixels: its shorter side divided by 1080, but at
/// least 1. At scale 1, a character is 7 pixels wide.
pub(crate) fn scale_for(width: u32, height: u32) -> f32 {
    (width.min(height) as f32 / 1080.0).max(1.0)
}

/// Returns the width in pixels of a region with the whole statistics panel, at this text scale.
pub(crate) fn panel_width(detail: Detail, scale: f32) -> f64 {
    f64::from(scale * (detail.widest() as f32 * 7.0 + 4.0 * MARGIN))
}

/// A painter of the overlay's panels (statistics, keys, messages, legend, path) at one text scale.
pub(crate) struct Overlay {
    pub(crate) scale: f32,
    type_face: TypeFace,
}

/// A drawn statistics panel.
#[derive(Clone, Debug)]
pub(crate) struct StatsPanel {
    pub(crate) area: Area,
    /// Rows of the panel that have content, from the top.
    pub(crate) rows: Vec<StatsRow>,
}

/// A row of a drawn statistics panel.
#[derive(Clone, Debug)]
pub(crate) struct StatsRow {
    pub(crate) area: Area,
    /// Content of the row in words, with full figures. It is complete also if the row was cut.
    pub(crate) text: String,
}

/// Opacity of the statistics panel and of legends, in 0..=1.
const PANEL_OPACITY: f32 = 0.86;
/// Margin around and inside panels, in pixels at scale 1.
const MARGIN: f32 = 9.0;
/// Radius of the corners of panels, in pixels at scale 1.
const RADIUS: f32 = 6.0;

impl Default for Overlay {
    fn default() -> Self {
        Self::new(1.0)
    }
}

impl Overlay {
    pub(crate) fn new(scale: f32) -> Self {
        let type_face = TypeFace::new(scale);
        Self { scale, type_face }
    }

    /// Draws the statistics panel into the upper left corner of a picture: RGBA bytes, `size` (width, height) in pixels.
    /// Omits what does not fit. Returns the area of the panel and its rows in words; draws nothing and returns `None` if
    /// no row is left.
    pub(crate) fn draw_stats(
        &mut self,
        rgba: &mut [u8],
        size: (u32, u32),
        figures: &Figures<'_>,
    ) -> Option<StatsPanel> {
        let (region, margin) = (Area::of(size), self.margin(size));
        let widest = figures.detail.widest();
        let cells = widest.min((region.width - 4 * margin) / self.type_face.cell_width);
        let rows = self.fitted(figures, cells, region.height - 4 * margin);
        let height = self.height_of(&rows);
        if cells < 1 || height == 0 {
            return None;
        }
        let width = cells * self.type_face.cell_width;
        let panel = (region.columns(margin, width + 2 * margin)).rows(margin, height + 2 * margin);
        let mut drawing = Drawing::new(self, rgba, size, panel);
        let scales = Scales::of(&rows);
        let mut area = region.columns(2 * margin, width).rows(2 * margin, height);
        let mut drawn = Vec::new();
        for row in &rows {
            area.height = drawing.row_height(row);
            drawing.row(area, row, &scales);
            let text = describe(row);
            if !text.is_empty() {
                drawn.push(StatsRow { area, text });
            }
            area.y += area.height;
        }
        Some(StatsPanel {
            area: panel,
            rows: drawn,
        })
    }

    fn line_height(&self) -> i32 {
        self.type_face.line_height
    }

    fn pixels(&self, length: f32) -> i32 {
        (length * self.scale).round() as i32
    }

    /// Returns the margin around and inside panels on a picture of this width and height in pixels: `MARGIN` times the
    /// scale, but at most 1/32 of the shorter side.
    fn margin(&self, (width, height): (u32, u32)) -> i32 {
        self.pixels(MARGIN).min(width.min(height) as i32 / 32)
    }

    /// Returns the width and height in pixels of the region that these figures need on a picture of this size. With
    /// [`Detail::Everything`], the width is that of a single table, and the height suffices for two narrower ones.
    pub(crate) fn stats_size(&self, size: (u32, u32), figures: &Figures<'_>) -> (i32, i32) {
        let around = 4 * self.margin(size);
        let forms = Form::of(figures.detail, NATURAL_WIDTH);
        let heights = forms
            .iter()
            .map(|form| self.height_of(&content::rows(figures, *form)));
        (
            figures.detail.widest() * self.type_face.cell_width + around,
            heights.max().unwrap_or(0) + around,
        )
    }

    /// Returns the width in pixels of a region with this number of characters per line on a picture of this size.
    pub(crate) fn cells_width(&self, size: (u32, u32), cells: i32) -> i32 {
        cells * self.type_face.cell_width + 4 * self.margin(size)
    }

    /// Returns the height in pixels of a region with this number of lines of text on a picture of this size.
    pub(crate) fn lines_height(&self, size: (u32, u32), lines: i32) -> i32 {
        lines * self.line_height() + 4 * self.margin(size)
    }

    fn height_of(&self, rows: &[Row<'_>]) -> i32 {
        rows.iter().map(|row| self.row_height(row)).sum()
    }

    fn row_height(&self, row: &Row<'_>) -> i32 {
        match row {
            Row::Progress(_) => self.pixels(BAR_HEIGHT + 2.0 * ROW_GAP),
            Row::Bounce(Table::Times, _) => self.line_height(),
            Row::Bounce(..) | Row::Strategy(..) => self.line_height() + self.pixels(ROW_GAP),
            Row::Bar(_) => self.pixels(BAR_HEIGHT + ROW_GAP / 2.0),
            Row::Graph(_, scale) | Row::StageGraph(_, scale) => {
                self.line_height() + self.pixels(GRAPH_HEIGHT * scale + ROW_GAP)
            }
            _ => self.type_face.line_height,
        }
    }

    /// Returns the rows of a panel of `cells` characters that fit into a height of `room` pixels: those of the first
    /// form that fits. If none does, removes graphs, then additional text, then compared strategies, then late bounces,
    /// whose number a row states, and then the last rows. If no bounce fits, keeps only rows of text.
    fn fitted<'a>(&self, figures: &Figures<'a>, cells: i32, room: i32) -> Vec<Row<'a>> {
        let forms = Form::of(figures.detail, cells);
        let mut rows = Vec::new();
        for form in forms {
            rows = content::rows(figures, form);
            if self.height_of(&rows) <= room {
                return rows;
            }
        }
        let removable: [fn(&Row<'_>) -> bool; 4] = [
            |row| matches!(row, Row::StageGraph(..)),
            |row| matches!(row, Row::Graph(..)),
            |row| matches!(row, Row::Extra(..)),
            |row| matches!(row, Row::StrategyHeadings | Row::Strategy(..)),
        ];
        for is_removable in removable {
            if self.height_of(&rows) > room {
                rows.retain(|row| !is_removable(row));
            }
        }
        let is_bounce = |row: &Row<'_>| matches!(row, Row::Bounce(..));
        let bounces = rows.iter().filter(|row| is_bounce(row)).count();
        let line = self.line_height();
        let fits = self.height_of(&rows) <= room;
        let room_for_bounces = if fits { room } else { room - line };
        let mut left_out = 0;
        while self.height_of(&rows) > room_for_bounces
            && let Some(last) = rows.iter().rposition(is_bounce)
        {
            rows.remove(last);
            left_out += 1;
        }
        if left_out == bounces && bounces > 0 {
            rows.retain(|row| matches!(row, Row::Text(..)));
        } else if left_out > 0 {
            let note = Row::Text(vec![(DIM, format!("… {left_out} more"))], Line::new());
            let total = rows.iter().position(|row| matches!(row, Row::Total(..)));
            rows.insert(total.unwrap_or(rows.len()), note);
        }
        while self.height_of(&rows) > room && rows.pop().is_some() {}
        rows
    }
}

/// A picture onto which an overlay draws.
struct Drawing<'a> {
    canvas: Canvas<'a>,
    overlay: &'a mut Overlay,
}

impl Deref for Drawing<'_> {
    type Target = Overlay;

    fn deref(&self) -> &Overlay {
        self.overlay
    }
}

impl<'a> Drawing<'a> {
    /// Draws a panel onto a picture: RGBA bytes, `size` (width, height) in pixels.
    fn new(overlay: &'a mut Overlay, rgba: &'a mut [u8], size: (u32, u32), panel: Area) -> Self {
        let mut canvas = Canvas::new(rgba, size.0, size.1);
        let radius = overlay.pixels(RADIUS).min(overlay.margin(size));
        canvas.panel(panel, radius, PANEL, PANEL_OPACITY);
        Self { canvas, overlay }
    }

    fn row(&mut self, area: Area, row: &Row<'_>, scales: &Scales) {
        let bar_top = area.y + area.height - self.pixels(ROW_GAP);
        let bar = area.rows(bar_top, self.pixels(BAR_HEIGHT));
        match row {
            Row::Text(left, right) | Row::Extra(left, right) => {
                self.text(area, left, right);
            }
            Row::Progress(progress) => self.progress(area, *progress),
            Row::Graph(recent, _) => self.graphs(area, recent),
            Row::StageGraph(recent, _) => self.stage_graph(area, &recent.stage_history),
            Row::StrategyHeadings => self.strategy_headings(area),
            Row::Strategy(strategy, fastest) => {
                self.strategy_texts(area, strategy);
                self.speed(bar, strategy, *fastest);
            }
            Row::Legend(title, keys) => self.legend(area, title, keys),
            Row::Headings(table) => self.headings(area, *table),
            Row::Bounce(table, entry) => {
                if *table != Table::Times {
                    self.bar(bar, &entry.counts, scales.first_rays);
                }
                let number = entry.counts.bounce.to_string();
                self.table_row(area, (*table, &number), entry, scales.longest);
            }
            Row::Bar(bounce) => self.bar(bar, bounce, scales.first_rays),
            Row::Total(table, entry) => {
                let all = entry.times.upper();
                self.table_row(area, (*table, "Σ"), entry, all);
            }
        }
    }

    /// Draws one line of text; `x` and `y` are the upper left corner of its first character cell.
    fn write(&mut self, x: i32, y: i32, color: Color, text: &str) {
        self.canvas
            .text(&mut self.overlay.type_face, x, y, color, text);
    }

    fn text(&mut self, area: Area, left: &Line, right: &Line) {
        let cell = self.type_face.cell_width;
        let (left_width, right_width, room) = (length(left), length(right), area.width / cell);
        let mut x = area.x;
        let mut free = room;
        for (color, text) in left {
            let length = cells(text);
            self.write(x, area.y, *color, &cut(text, free));
            free = (free - length).max(0);
            x += length * cell;
        }
        if left_width + 2 + right_width <= room {
            let mut x = area.x + area.width - right_width * cell;
            for (color, text) in right {
                self.write(x, area.y, *color, text);
                x += cells(text) * cell;
            }
        }
    }
}

/// Returns a text or, if it takes more than `length` cells, its beginning and an ellipsis, or nothing if `length` is below
/// 1.
fn cut(text: &str, length: i32) -> String {
    if cells(text) <= length {
        return text.to_owned();
    }
    if length < 1 {
        return String::new();
    }
    let mut free = length - 1;
    let fitting = text.chars().take_while(|character| {
        free -= cells(character.encode_utf8(&mut [0; 4]));
        free >= 0
    });
    fitting.chain(['…']).collect()
}
