//! The tables of the statistics panel, with as many columns as fit: those of bounces, with one row per bounce, the legends
//! of their bars, and the comparison of strategies.

use super::{
    Drawing,
    canvas::Area,
    colors::{ACCENT, BRIGHT, Color, DIM, PLAIN, parsed},
    entry::Entry,
    format::{self, UNKNOWN},
    row::{Line, Row, Table, key_width},
};
use crate::{
    chart,
    session::{Comparison, MeasuredTimes, Pays, StrategyComparison},
};
use raysieve::{render::stats::BounceStats, stages::Stage};

pub(super) struct Column {
    pub(super) heading: &'static str,
    /// Color in which a bar displays the column's quantity; `None` if no bar does.
    pub(super) color: Option<Color>,
    size: ColumnSize,
    /// The one of two tables that has the column.
    table: Table,
    pub(super) cell: Cell,
}

/// The minimum width of a column in characters, including the space before the text, and its rank of importance. If the
/// picture is too narrow, the columns of lowest rank are omitted first.
pub(super) type ColumnSize = (i32, u8);

/// The content of a column's cells. Numbers are right-aligned.
pub(super) enum Cell {
    /// A number of rays.
    Count(fn(&Entry) -> u64),
    /// The time of a stage.
    Stage(Stage),
    /// A number, formatted by this function.
    Figure(fn(&Entry) -> String),
    /// A stacked bar of the stages' times.
    Times,
}

impl Column {
    /// Returns the text of a cell; `None` for a bar.
    pub(super) fn text(&self, entry: &Entry) -> Option<String> {
        match self.cell {
            Cell::Count(rays) => Some(format::count(rays(entry))),
            Cell::Stage(stage) => Some(time(entry, entry.times.median.of(stage))),
            Cell::Figure(figure) => Some(figure(entry)),
            Cell::Times => None,
        }
    }
}

const SURVIVORS: Color = parsed(chart::SURVIVORS);
const ENDED: Color = parsed(chart::ENDED);
const MISSES: Color = parsed(chart::MISSES);

/// Labels and colors of the stages, in the order of [`Stage::OF_BOUNCE`].
pub(super) const STAGES: [(&str, Color); Stage::OF_BOUNCE.len()] = {
    let mut stages = [("", [0; 3]); Stage::OF_BOUNCE.len()];
    let mut index = 0;
    while index < stages.len() {
        let stage = Stage::OF_BOUNCE[index];
        stages[index] = (stage.label(), stage_color(stage));
        index += 1;
    }
    stages
};

/// Labels and colors of the parts of a bar of rays.
pub(super) const RAYS: [(&str, Color); 3] =
    [("survive", SURVIVORS), ("end", ENDED), ("miss", MISSES)];

const fn stage_color(stage: Stage) -> Color {
    parsed(chart::stage_color(stage))
}

const fn column(table: Table, heading: &'static str, size: ColumnSize, cell: Cell) -> Column {
    Column {
        heading,
        color: None,
        size,
        table,
        cell,
    }
}

/// Creates a column with a number of rays.
const fn count(heading: &'static str, size: ColumnSize, rays: fn(&Entry) -> u64) -> Column {
    column(Table::Rays, heading, size, Cell::Count(rays))
}

/// Creates a column with the number of rays in a part of a bar.
const fn part(name: &'static str, size: ColumnSize, of: Color, rays: fn(&Entry) -> u64) -> Column {
    Column {
        color: Some(of),
        ..count(name, size, rays)
    }
}

/// Creates the column of a stage's time.
const fn stage(stage: Stage, size: ColumnSize) -> Column {
    Column {
        color: Some(stage_color(stage)),
        ..column(Table::Times, stage.label(), size, Cell::Stage(stage))
    }
}

/// Returns a time as text, or a dash if times are not known.
fn time(entry: &Entry, microseconds: f64) -> String {
    known(entry.has_times, microseconds, format::microseconds)
}

pub(super) fn known(is_known: bool, value: f64, format: fn(f64) -> String) -> String {
    match is_known {
        true => format(value),
        false => UNKNOWN.to_owned(),
    }
}

pub(super) static COLUMNS: [Column; 15] = {
    use Cell::Figure;
    use Table::{Rays, Times};
    [
        count("rays", (6, 20), |of| of.counts.rays),
        part("survive", (10, 19), SURVIVORS, |of| of.counts.survivors),
        part("end", (7, 18), ENDED, |of| of.counts.ended),
        part("miss", (7, 17), MISSES, |of| of.counts.misses),
        count("sh.rays", (9, 7), |of| of.counts.shadow_rays),
        column(Rays, "busy", (8, 14), Figure(busy)),
        column(Rays, "ns/ray", (8, 9), Figure(ns_per_ray)),
        stage(Stage::Intersect, (12, 12)),
        stage(Stage::Shade, (9, 11)),
        stage(Stage::Shadow, (9, 10)),
        stage(Stage::Compact, (10, 15)),
        column(Times, "saved", (9, 8), Figure(saved)),
        column(Times, "time", (8, 16), Figure(total)),
        column(Times, "±", (7, 6), Figure(spread)),
        column(Times, "", (14, 13), Cell::Times),
    ]
};

fn busy(entry: &Entry) -> String {
    known(entry.lane_use > 0.0, entry.lane_use, format::percent)
}

fn ns_per_ray(entry: &Entry) -> String {
    let ns = entry.ns_per_ray.map(format::three_digits);
    ns.unwrap_or(UNKNOWN.to_owned())
}

fn saved(entry: &Entry) -> String {
    let saved = entry.saved_us.map(format::signed_microseconds);
    saved.unwrap_or(UNKNOWN.to_owned())
}

fn total(entry: &Entry) -> String {
    time(entry, entry.times.median.total())
}

fn spread(entry: &Entry) -> String {
    let MeasuredTimes { median, spread } = &entry.times;
    spread.map_or(String::new(), |spread| {
        let half = (spread.high.total() - spread.low.total()) / 2.0;
        format::spread(median.total(), half)
    })
}

/// Width in characters of the first column, which contains the bounce numbers.
pub(super) const LABEL_WIDTH: i32 = 2;

/// Width in characters of a table with its most important columns.
pub(super) const NATURAL_WIDTH: i32 = 73;

/// Returns the minimum width in characters of the table with all columns.
pub(super) fn full_width() -> i32 {
    LABEL_WIDTH + COLUMNS.iter().map(|column| column.size.0).sum::<i32>()
}

/// Returns the numbers of a bounce's rays that survived, ended and missed, with their colors, in the order of the
/// stacked bar.
pub(super) fn parts(bounce: &BounceStats) -> [(u64, Color); 3] {
    [
        (bounce.survivors, SURVIVORS),
        (bounce.ended, ENDED),
        (bounce.misses, MISSES),
    ]
}

/// Returns the columns of a table that is `cells` characters wide, each with its width in characters; see [`fitting`].
pub(super) fn fitting_columns(table: Table, cells: i32) -> Vec<(&'static Column, i32)> {
    let columns = COLUMNS.iter();
    let columns = columns.filter(|column| table == Table::Whole || column.table == table);
    fitting(columns.collect(), |column| column.size, cells - LABEL_WIDTH)
}

/// Returns the columns that fit into this number of characters, each with its width in characters. Omits columns of the
/// lowest rank until the rest fits, possibly all, and distributes spare width equally.
pub(super) fn fitting<C: Copy>(
    mut columns: Vec<C>,
    size: fn(C) -> ColumnSize,
    cells: i32,
) -> Vec<(C, i32)> {
    let width = |column: C| size(column).0;
    let mut free = cells - columns.iter().copied().map(width).sum::<i32>();
    while free < 0
        && let Some(first_to_go) = (0..columns.len()).min_by_key(|&index| size(columns[index]).1)
    {
        free += width(columns.remove(first_to_go));
    }
    let spread = free.max(0) / (columns.len() as i32).max(1);
    let columns = columns.into_iter();
    columns
        .map(|column| (column, width(column) + spread))
        .collect()
}

/// Returns the labels and colors of the bars in a table of this width that its headings do not explain: those of the
/// rays, then those of the stages.
pub(super) fn unexplained(table: Table, cells: i32) -> Vec<(&'static str, Color)> {
    let columns = fitting_columns(table, cells);
    let is_explained = |color: Color| {
        let mut headings = columns.iter();
        headings.any(|(column, _)| column.color == Some(color))
    };
    let of_bars = |keys: &[(&'static str, Color)], is_drawn: bool| {
        let all = keys.iter().all(|(_, color)| is_explained(*color));
        match is_drawn && !all {
            true => keys.to_vec(),
            false => Vec::new(),
        }
    };
    let has_times = columns
        .iter()
        .any(|(column, _)| matches!(column.cell, Cell::Times));
    let mut keys = of_bars(&RAYS, table != Table::Times);
    keys.extend(of_bars(&STAGES, has_times));
    keys
}

/// The values that full bars of a panel stand for.
pub(super) struct Scales {
    /// Number of rays of bounce 0 in the units of the rows; 0 without bounces.
    pub(super) first_rays: u64,
    /// Upper quartile of the time in microseconds of the slowest displayed bounce; 0 without bounces.
    pub(super) longest: f64,
}

impl Scales {
    pub(super) fn of(rows: &[Row<'_>]) -> Self {
        let first_rays = rows.iter().find_map(|row| match row {
            Row::Bounce(_, entry) => Some(entry.counts.rays),
            Row::Bar(bounce) => Some(bounce.rays),
            _ => None,
        });
        Self {
            first_rays: first_rays.unwrap_or(0),
            longest: rows.iter().fold(0.0, |longest, row| match row {
                Row::Bounce(_, entry) => entry.times.upper().max(longest),
                _ => longest,
            }),
        }
    }
}

impl Drawing<'_> {
    /// Draws a title at the left, and labels with their colors at the right.
    pub(super) fn legend(&mut self, area: Area, title: &str, keys: &[(&str, Color)]) {
        let cell = self.type_face.cell_width;
        self.text(area, &vec![(DIM, title.to_owned())], &Line::new());
        let used: i32 = keys.iter().map(|(label, _)| key_width(label)).sum();
        // Without a title, the labels begin at the left edge.
        let mut x = match title {
            "" => area.x,
            _ => area.x + area.width - (used - 1) * cell,
        };
        for &(label, color) in keys {
            self.swatch(x, area.y, color);
            self.write(x + 2 * cell, area.y, DIM, label);
            x += key_width(label) * cell;
        }
    }

    /// Draws a square of a color, about as wide as a character, into the character cell whose upper left corner is
    /// (`x`, `y`).
    pub(super) fn swatch(&mut self, x: i32, y: i32, color: Color) {
        let side = self.pixels(8.0);
        let square = Area::of((0, 0)).columns(x + self.pixels(2.0), side);
        let square = square.rows(y + (self.line_height() - side) / 2, side);
        self.canvas.fill(square, color, 1.0);
    }

    pub(super) fn headings(&mut self, area: Area, table: Table) {
        for (column, area) in self.columns(area, table) {
            let x = self.right_text(area, DIM, column.heading);
            if let Some(color) = column.color {
                self.swatch(x - 2 * self.type_face.cell_width, area.y, color);
            }
        }
    }

    /// Draws a row of a table with a label in its first column. A full bar of times stands for `longest` microseconds.
    pub(super) fn table_row(
        &mut self,
        area: Area,
        (table, label): (Table, &str),
        entry: &Entry,
        longest: f64,
    ) {
        let cell = self.type_face.cell_width;
        self.right_text(area.columns(area.x, LABEL_WIDTH * cell), DIM, label);
        for (column, area) in self.columns(area, table) {
            let Some(text) = column.text(entry) else {
                let bar = area.columns(area.x + cell, area.width - cell);
                let bar = bar.rows(area.y, self.line_height());
                self.times(bar, &entry.times, longest);
                continue;
            };
            self.right_text(area, PLAIN, &text);
        }
    }

    /// Returns the columns of a table that fit after the labels, each with its area in a row.
    fn columns(&self, row: Area, table: Table) -> Vec<(&'static Column, Area)> {
        let cell = self.type_face.cell_width;
        let mut x = row.x + LABEL_WIDTH * cell;
        let columns = fitting_columns(table, row.width / cell).into_iter();
        let placed = columns.map(|(column, width)| {
            let area = row.columns(x, width * cell);
            x += area.width;
            (column, area)
        });
        placed.collect()
    }

    /// Draws a text that ends at the right edge of an area. Returns the left edge of the text.
    pub(super) fn right_text(&mut self, area: Area, color: Color, text: &str) -> i32 {
        let width = text.chars().count() as i32 * self.type_face.cell_width;
        let x = area.x + area.width - width;
        self.write(x, area.y, color, text);
        x
    }

    pub(super) fn strategy_headings(&mut self, area: Area) {
        let title = "strategies, in turns";
        self.strategy_cells(area, DIM, title, |(heading, ..)| (*heading).to_owned());
    }

    /// Draws the texts of a strategy's row. The fastest strategies are highlighted, and the one in use is marked.
    pub(super) fn strategy_texts(&mut self, area: Area, row: &StrategyComparison) {
        let color = match (row.is_fastest, row.is_current) {
            (true, _) => ACCENT,
            (false, true) => BRIGHT,
            (false, false) => PLAIN,
        };
        let mark = if row.is_current { "›" } else { "" };
        let name = format!("{mark}{}", row.strategy);
        self.strategy_cells(area, color, &name, |(_, _, text)| text(row));
    }

    /// Draws a row in one color: a name, left-aligned, and the text of each column, right-aligned.
    fn strategy_cells(
        &mut self,
        area: Area,
        color: Color,
        name: &str,
        text: impl Fn(&StrategyColumn) -> String,
    ) {
        let cell = self.type_face.cell_width;
        let cells = area.width / cell;
        let name: String = name.chars().take(cells as usize).collect();
        self.write(area.x, area.y, color, &name);
        let columns = fitting(
            STRATEGY_COLUMNS.iter().collect(),
            |column| column.1,
            cells - NAME_WIDTH,
        );
        let mut x = area.x + NAME_WIDTH * cell;
        for (column, width) in columns {
            let width = width * cell;
            self.right_text(area.columns(x, width), color, &text(column));
            x += width;
        }
    }
}

/// A column of the table of strategies: its heading, its size, and the text of its cells.
pub(super) type StrategyColumn = (&'static str, ColumnSize, fn(&StrategyComparison) -> String);

/// Width in characters of the first column, which contains the names.
const NAME_WIDTH: i32 = 21;

pub(super) static STRATEGY_COLUMNS: [StrategyColumn; 5] = [
    ("against off", (24, 5), |row| match row.comparison {
        Comparison::Baseline => "baseline".to_owned(),
        Comparison::NotEnoughData => "not enough rounds yet".to_owned(),
        Comparison::Difference(difference) => format::difference(difference),
    }),
    ("Mrays/s", (8, 1), |row| {
        let rate = row.rays_per_second;
        known(rate > 0.0, rate, format::millions)
    }),
    ("busy", (8, 3), |row| {
        known(
            row.total.lane_use > 0.0,
            row.total.lane_use,
            format::percent,
        )
    }),
    ("compact", (8, 4), |row| {
        let time = row.total.times.median.of(Stage::Compact);
        known(time > 0.0, time, format::microseconds)
    }),
    ("pays", (12, 2), |row| match row.pays {
        Pays::Unknown => UNKNOWN.to_owned(),
        Pays::Everywhere => "everywhere".to_owned(),
        Pays::Nowhere => "nowhere".to_owned(),
        Pays::Before(bounce) => format!("before {bounce}"),
    }),
];

/// Returns the rows of the comparison; none before the first comparison.
pub(super) fn strategy_rows(strategies: &[StrategyComparison]) -> Vec<Row<'_>> {
    if strategies.is_empty() {
        return Vec::new();
    }
    let ends = strategies.iter().map(|entry| entry.interval[1]);
    let fastest = ends.fold(0.0, f64::max);
    let rows = strategies.iter();
    [Row::StrategyHeadings]
        .into_iter()
        .chain(rows.map(|row| Row::Strategy(row, fastest)))
        .collect()
}
