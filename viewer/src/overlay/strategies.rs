//! The comparison of compaction strategies as a table.

use super::{
    Overlay,
    canvas::{Area, Canvas},
    colors::{ACCENT, BRIGHT, Color, DIM, PLAIN},
    columns::{ColumnSize, UNKNOWN, fitting, known},
    content::Row,
    format,
};
use crate::session::{Comparison, StrategyComparison};

/// A column of the table: its heading, its size, and the text of its cells.
type Column = (&'static str, ColumnSize, fn(&StrategyComparison) -> String);

/// Width in characters of the first column, which contains the names.
const NAME_WIDTH: i32 = 21;

static COLUMNS: [Column; 5] = [
    ("against off", (24, 5), |row| match row.comparison {
        Comparison::Baseline => "baseline".to_owned(),
        Comparison::NotEnoughData => "not enough rounds yet".to_owned(),
        Comparison::Difference(difference) => format::short_difference(difference),
    }),
    ("Mrays/s", (8, 1), |row| {
        let rate = row.rays_per_second;
        known(rate > 0.0, rate, format::millions)
    }),
    ("busy", (8, 3), |row| {
        known(row.lane_use > 0.0, row.lane_use, format::percent)
    }),
    ("compact", (8, 4), |row| {
        let time = row.compact_us;
        known(time > 0.0, time, format::microseconds)
    }),
    ("pays", (12, 2), |row| {
        let text = format::pays(row.pays);
        let text = text.as_deref().and_then(|text| text.strip_prefix("pays "));
        text.unwrap_or(UNKNOWN).replace("before bounce", "before")
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

impl Overlay {
    pub(super) fn strategy_headings(&mut self, canvas: &mut Canvas<'_>, area: Area) {
        let title = "strategies, in turns";
        self.strategy_cells(canvas, area, DIM, title, |(heading, ..)| {
            (*heading).to_owned()
        });
    }

    /// Draws the texts of a strategy's row. The fastest strategies are highlighted, and the one in use is marked.
    pub(super) fn strategy_texts(
        &mut self,
        canvas: &mut Canvas<'_>,
        area: Area,
        row: &StrategyComparison,
    ) {
        let color = match (row.is_fastest, row.is_current) {
            (true, _) => ACCENT,
            (false, true) => BRIGHT,
            (false, false) => PLAIN,
        };
        let mark = if row.is_current { "›" } else { "" };
        let name = format!("{mark}{}", row.strategy);
        self.strategy_cells(canvas, area, color, &name, |(_, _, text)| text(row));
    }

    /// Draws a row in one color: a name, left-aligned, and the text of each column, right-aligned.
    fn strategy_cells(
        &mut self,
        canvas: &mut Canvas<'_>,
        area: Area,
        color: Color,
        name: &str,
        text: impl Fn(&Column) -> String,
    ) {
        let cell = self.type_face.cell_width;
        let cells = area.width / cell;
        let name: String = name.chars().take(cells as usize).collect();
        canvas.text(&mut self.type_face, area.x, area.y, color, &name);
        let columns = fitting(
            COLUMNS.iter().collect(),
            |column| column.1,
            cells - NAME_WIDTH,
        );
        let mut x = area.x + NAME_WIDTH * cell;
        for (column, width) in columns {
            let width = width * cell;
            self.right_text(canvas, area.columns(x, width), color, &text(column));
            x += width;
        }
    }
}
