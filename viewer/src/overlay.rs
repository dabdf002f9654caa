//! The overlay: panels with statistics, keys, messages, a legend or a path, drawn over a picture.
//!
//! The overlay is drawn on the CPU into the picture's bytes, so that saved pictures can contain it. `content` selects
//! the rows of the statistics panel, `columns` defines its table, and `bars` draws its graphical parts. `fitted` is the
//! area of a picture in a window, `pixels` displays values of single pixels, and `properties` draws the values that
//! users edit. Imports `session` for the data to display, and `chart` for colours.

pub(crate) mod canvas;
mod columns;
mod content;
mod description;
mod entry;
mod export;
pub(crate) mod format;
pub(crate) mod fitted;
mod legend;
mod bars;
mod path;
pub(crate) mod pixels;
pub(crate) mod properties;
#[cfg(test)]
mod tests;
mod messages;
mod plots;
mod scrub_bar;
mod wipe;

use bars::{BAR_HEIGHT, GRAPH_HEIGHT, ROW_GAP};
use canvas::{Area, Canvas, Colour, TypeFace};
use columns::{Cell, Column, LABEL_WIDTH, STAGES, fitting_columns, natural_width};
use content::{DIM, Line, PLAIN, Row, length, rows};
use description::describe;
use entry::Entry;

pub use export::{FigureFormat, export};
pub(crate) use export::{figures_as, to_csv, to_json};
pub(crate) use scrub_bar::{BAR_HEIGHT as SCRUB_BAR_HEIGHT, ScrubBar};
use serde::{Deserialize, Serialize};

use crate::session::{Recent, State};
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
        Overlay::new(scale_for(width, height)).draw_stats(rgba, size, Area::of(size), figures);
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
    Overlay::new(scale_for(width, height)).draw_legend(
        &mut image.rgba,
        (width, height),
        (Area::of((width, height)), true),
        legend,
        &[],
    );
}

/// Amount of statistics that a panel displays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// The settings, speed, noise and progress of the render, warnings, and one bar per bounce.
    Short,
    /// The contents of `Short`, except that a table of bounces and stages replaces the bars. Adds the devices, a graph
    /// of the speed, and a comparison of compaction strategies.
    Full,
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
    /// Returns the other units.
    pub(crate) fn next(self) -> Self {
        match self {
            Self::PerSample => Self::Total,
            Self::Total => Self::PerSample,
        }
    }

    /// Returns the label of the table.
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

impl Figures<'_> {
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
        let is_known = self.recent.is_measured && self.recent.lane_use > 0.0;
        is_known.then_some(self.recent.lane_use)
    }
}

/// Returns the text scale for a picture of this width and height in pixels: its shorter side divided by 1080, but at
/// least 1. At scale 1, a character is 7 pixels wide.
pub(crate) fn scale_for(width: u32, height: u32) -> f32 {
    (width.min(height) as f32 / 1080.0).max(1.0)
}

/// Returns the width in pixels of a region with the whole statistics panel, at this text scale.
pub(crate) fn panel_width(scale: f32) -> f64 {
    f64::from(scale * (natural_width() as f32 * 7.0 + 4.0 * MARGIN))
}

/// A painter of the overlay's panels (statistics, keys, messages, legend, path) at one text scale.
pub(crate) struct Overlay {
    scale: f32,
    type_face: TypeFace,
}

/// A drawn statistics panel.
#[derive(Clone, Debug)]
pub(crate) struct StatsPanel {
    /// Area of the panel.
    pub(crate) area: Area,
    /// Rows of the panel that have content, from the top.
    pub(crate) rows: Vec<StatsRow>,
}

/// A row of a drawn statistics panel.
#[derive(Clone, Debug)]
pub(crate) struct StatsRow {
    /// Area of the row.
    pub(crate) area: Area,
    /// Content of the row in words, with full figures. It is complete also if the row was cut.
    pub(crate) text: String,
}

/// Background colour of panels.
const PANEL: Colour = [14, 17, 23];
/// Opacity of the statistics panel and of legends, in 0..=1.
const PANEL_OPACITY: f32 = 0.86;
/// Opacity of the panels of keys, messages and paths, in 0..=1. It is higher because these may overlap the statistics
/// panel.
const BOX_OPACITY: f32 = 0.95;
/// Margin around and inside panels, in pixels at scale 1.
const MARGIN: f32 = 9.0;
/// Radius of the corners of panels, in pixels at scale 1.
const RADIUS: f32 = 6.0;

impl Overlay {
    pub(crate) fn new(scale: f32) -> Self {
        Self {
            scale,
            type_face: TypeFace::new(scale),
        }
    }

    pub(super) fn scale(&self) -> f32 {
        self.scale
    }

    /// Draws the statistics panel into the upper left corner of a region of a picture: RGBA bytes, `size` (width,
    /// height) in pixels. Omits what does not fit. Returns the area of the panel and its rows in words; draws nothing and
    /// returns `None` if no row is left.
    pub(crate) fn draw_stats(
        &mut self,
        rgba: &mut [u8],
        size: (u32, u32),
        region: Area,
        figures: &Figures<'_>,
    ) -> Option<StatsPanel> {
        let mut canvas = Canvas::new(rgba, size.0, size.1);
        let margin = self.margin(&canvas);
        let cells = natural_width().min((region.width - 4 * margin) / self.type_face.cell_width);
        let rows = self.fitted(rows(figures), region.height - 4 * margin);
        let height: i32 = rows.iter().map(|row| self.row_height(row)).sum();
        if cells < 1 || height == 0 {
            return None;
        }
        let width = cells * self.type_face.cell_width;
        let panel = Area {
            x: region.x + margin,
            y: region.y + margin,
            width: width + 2 * margin,
            height: height + 2 * margin,
        };
        canvas.panel(panel, self.pixels(RADIUS).min(margin), PANEL, PANEL_OPACITY);

        let table = Table {
            columns: fitting_columns(cells),
            first_rays: rows
                .iter()
                .find_map(|row| match row {
                    Row::Bounce(entry) => Some(entry.counts.rays),
                    Row::Bar(bounce) => Some(bounce.rays),
                    _ => None,
                })
                .unwrap_or(0),
            longest: rows.iter().fold(0.0, |longest, row| match row {
                Row::Bounce(entry) => entry.times.total().max(longest),
                _ => longest,
            }),
        };
        let mut area = Area {
            x: panel.x + margin,
            y: panel.y + margin,
            width,
            height,
        };
        let mut drawn = Vec::new();
        for row in &rows {
            area.height = self.row_height(row);
            self.row(&mut canvas, area, row, &table);
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

    fn row(&mut self, canvas: &mut Canvas<'_>, area: Area, row: &Row<'_>, table: &Table) {
        let bar = Area {
            y: area.y + area.height - self.pixels(ROW_GAP),
            height: self.pixels(BAR_HEIGHT),
            ..area
        };
        match row {
            Row::Text(left, right) => self.text(canvas, area, left, right),
            Row::Progress(progress) => self.progress(canvas, area, *progress),
            Row::Graph(rate_history, noise) => self.graphs(canvas, area, rate_history, noise),
            Row::Strategy(left, right, strategy, fastest) => {
                self.text(canvas, area, left, right);
                self.speed(canvas, bar, strategy, *fastest);
            }
            Row::Legend(units) => self.legend(canvas, area, units.label()),
            Row::Headings => self.headings(canvas, area, table),
            Row::Bounce(entry) => {
                self.bar(canvas, bar, &entry.counts, table.first_rays);
                let number = entry.counts.bounce.to_string();
                self.table_row(canvas, area, &number, table, entry, table.longest);
            }
            Row::Bar(bounce) => self.bar(canvas, bar, bounce, table.first_rays),
            Row::Total(entry) => {
                self.table_row(canvas, area, "Σ", table, entry, entry.times.total());
            }
        }
    }

    fn line_height(&self) -> i32 {
        self.type_face.line_height
    }

    fn pixels(&self, length: f32) -> i32 {
        (length * self.scale).round() as i32
    }

    /// Returns the margin around and inside panels in pixels; see [`Self::margin_in`].
    fn margin(&self, canvas: &Canvas<'_>) -> i32 {
        self.margin_in((canvas.width(), canvas.height()))
    }

    /// Returns the margin around and inside panels on a picture of this width and height in pixels: `MARGIN` times the
    /// scale, but at most 1/32 of the shorter side.
    fn margin_in(&self, (width, height): (i32, i32)) -> i32 {
        self.pixels(MARGIN).min(width.min(height) / 32)
    }

    /// Returns the width and height in pixels of the region that these figures need on a picture of this size.
    pub(crate) fn stats_size(
        &self,
        (width, height): (u32, u32),
        figures: &Figures<'_>,
    ) -> (i32, i32) {
        let around = 4 * self.margin_in((width as i32, height as i32));
        let rows = rows(figures);
        let high = rows.iter().map(|row| self.row_height(row)).sum::<i32>();
        (
            natural_width() * self.type_face.cell_width + around,
            high + around,
        )
    }

    /// Returns the height in pixels of a region with this number of lines of text on a picture of this size.
    pub(crate) fn lines_height(&self, (width, height): (u32, u32), lines: i32) -> i32 {
        lines * self.line_height() + 4 * self.margin_in((width as i32, height as i32))
    }

    fn row_height(&self, row: &Row<'_>) -> i32 {
        match row {
            Row::Progress(_) => self.pixels(BAR_HEIGHT + 2.0 * ROW_GAP),
            Row::Bounce(_) | Row::Strategy(..) => self.line_height() + self.pixels(ROW_GAP),
            Row::Bar(_) => self.pixels(BAR_HEIGHT + ROW_GAP / 2.0),
            Row::Graph(..) => self.line_height() + self.pixels(GRAPH_HEIGHT + ROW_GAP),
            _ => self.type_face.line_height,
        }
    }

    /// Removes rows until the rest fits into a height of `room` pixels. Removes the graph first, then late bounces of
    /// the table, whose number a row states, and then the last rows. If no bounce of the table fits, keeps only rows of
    /// text.
    fn fitted<'a>(&self, mut rows: Vec<Row<'a>>, room: i32) -> Vec<Row<'a>> {
        let height_of = |rows: &[Row<'_>]| rows.iter().map(|row| self.row_height(row)).sum::<i32>();
        if height_of(&rows) > room {
            rows.retain(|row| !matches!(row, Row::Graph(..)));
        }
        let bounces = rows
            .iter()
            .filter(|row| matches!(row, Row::Bounce(_)))
            .count();
        let room_for_bounces = if height_of(&rows) <= room {
            room
        } else {
            room - self.type_face.line_height
        };
        let mut left_out = 0;
        while height_of(&rows) > room_for_bounces
            && let Some(last) = rows.iter().rposition(|row| matches!(row, Row::Bounce(_)))
        {
            rows.remove(last);
            left_out += 1;
        }
        if left_out == bounces && bounces > 0 {
            rows.retain(|row| matches!(row, Row::Text(..)));
        } else if left_out > 0 {
            let note = Row::Text(vec![(DIM, format!("… {left_out} more"))], Line::new());
            let total = rows.iter().position(|row| matches!(row, Row::Total(_)));
            rows.insert(total.unwrap_or(rows.len()), note);
        }
        while height_of(&rows) > room && rows.pop().is_some() {}
        rows
    }

    fn text(&mut self, canvas: &mut Canvas<'_>, area: Area, left: &Line, right: &Line) {
        let cell = self.type_face.cell_width;
        let (left_width, right_width, room) = (length(left), length(right), area.width / cell);
        let mut x = area.x;
        let mut free = room;
        for (colour, text) in left {
            let length = text.chars().count() as i32;
            let shown = if length <= free {
                text.clone()
            } else {
                cut(text, free)
            };
            canvas.text(&mut self.type_face, x, area.y, *colour, &shown);
            free = (free - length).max(0);
            x += length * cell;
        }
        if left_width + 2 + right_width <= room {
            let mut x = area.x + area.width - right_width * cell;
            for (colour, text) in right {
                canvas.text(&mut self.type_face, x, area.y, *colour, text);
                x += text.chars().count() as i32 * cell;
            }
        }
    }

    /// Draws the line above the table: its title, which names the units, at the left, and the stages' names and colours
    /// at the right. If both do not fit, omits the title; if the stages alone do not fit, omits them instead.
    fn legend(&mut self, canvas: &mut Canvas<'_>, area: Area, title: &str) {
        let cell = self.type_face.cell_width;
        let words: i32 = STAGES
            .iter()
            .map(|(name, _)| name.chars().count() as i32 + 3)
            .sum();
        let mut x = area.x + area.width - (words - 1) * cell;
        let left = vec![(DIM, title.to_owned())];
        if x < area.x {
            return self.text(canvas, area, &left, &Line::new());
        }
        let room = Area {
            width: x - area.x,
            ..area
        };
        if room.width >= length(&left) * cell {
            self.text(canvas, room, &left, &Line::new());
        }
        for (name, colour) in STAGES {
            self.swatch(canvas, x, area.y, colour);
            canvas.text(&mut self.type_face, x + 2 * cell, area.y, DIM, name);
            x += (name.chars().count() as i32 + 3) * cell;
        }
    }

    /// Draws a square of a colour, about as wide as a character, into the character cell whose upper left corner is
    /// (`x`, `y`).
    fn swatch(&self, canvas: &mut Canvas<'_>, x: i32, y: i32, colour: Colour) {
        let side = self.pixels(8.0);
        let area = Area {
            x: x + self.pixels(2.0),
            y: y + (self.line_height() - side) / 2,
            width: side,
            height: side,
        };
        canvas.fill(area, colour, 1.0);
    }

    fn headings(&mut self, canvas: &mut Canvas<'_>, area: Area, table: &Table) {
        self.cells(canvas, area, "", table, |overlay, canvas, area, column| {
            let cell = overlay.type_face.cell_width;
            let x = area.x + area.width - column.heading.chars().count() as i32 * cell;
            canvas.text(&mut overlay.type_face, x, area.y, DIM, column.heading);
            if let Some(colour) = column.colour {
                overlay.swatch(canvas, x - 2 * cell, area.y, colour);
            }
        });
    }

    /// Draws a row of the table with `label` in its first column. A full bar of times stands for `longest`
    /// microseconds.
    fn table_row(
        &mut self,
        canvas: &mut Canvas<'_>,
        area: Area,
        label: &str,
        table: &Table,
        entry: &Entry,
        longest: f64,
    ) {
        self.cells(
            canvas,
            area,
            label,
            table,
            |overlay, canvas, area, column| {
                let cell = overlay.type_face.cell_width;
                match column.cell {
                    Cell::Figure(figure) => {
                        let text = figure(entry);
                        let x = area.x + area.width - text.chars().count() as i32 * cell;
                        canvas.text(&mut overlay.type_face, x, area.y, PLAIN, &text);
                    }
                    Cell::Times => {
                        let bar = Area {
                            x: area.x + cell,
                            width: area.width - cell,
                            height: overlay.line_height(),
                            ..area
                        };
                        overlay.times(canvas, bar, entry, longest);
                    }
                }
            },
        );
    }

    /// Draws a row of the table: `label`, right-aligned in the first column, and every other cell by a call of `draw`
    /// with its area and column.
    fn cells(
        &mut self,
        canvas: &mut Canvas<'_>,
        area: Area,
        label: &str,
        table: &Table,
        draw: impl Fn(&mut Self, &mut Canvas<'_>, Area, &'static Column),
    ) {
        let cell = self.type_face.cell_width;
        let label_x = area.x + (LABEL_WIDTH - label.chars().count() as i32) * cell;
        canvas.text(&mut self.type_face, label_x, area.y, DIM, label);
        let mut x = area.x + LABEL_WIDTH * cell;
        for &(column, width) in &table.columns {
            let width = width * cell;
            draw(self, canvas, Area { x, width, ..area }, column);
            x += width;
        }
    }
}

/// The layout of the table of bounces: its columns, and the values that full bars stand for.
struct Table {
    /// Columns from left to right, with their widths in characters.
    columns: Vec<(&'static Column, i32)>,
    /// Number of rays of bounce 0 in the units of the rows, for which a full bar of ray counts stands; 0 without
    /// bounces.
    first_rays: u64,
    /// Time in microseconds of the slowest bounce in the table, for which a full bar of times stands; 0 without
    /// bounces.
    longest: f64,
}

/// Returns the first `length - 1` characters of a text and an ellipsis, or no text if `length` is below 1. Expects a
/// text that is longer than `length`.
fn cut(text: &str, length: i32) -> String {
    let Some(kept) = usize::try_from(length)
        .ok()
        .and_then(|length| length.checked_sub(1))
    else {
        return String::new();
    };
    text.chars().take(kept).chain(['…']).collect()
}
