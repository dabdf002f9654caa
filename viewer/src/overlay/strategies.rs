//! The comparison of compaction strategies as a table.

use super::{
    Overlay,
    canvas::{Area, Canvas},
    colors::{ACCENT, BRIGHT, Color, DIM, PLAIN},
    columns::UNKNOWN,
    content::Row,
    format,
};
use crate::session::{Comparison, StrategyComparison};

/// A column of the table.
struct Column {
    heading: &'static str,
    /// Width in characters, including the space before the text.
    width: i32,
    /// Rank of importance. If the panel is too narrow, the columns of lowest rank are omitted first.
    rank: u8,
    text: fn(&StrategyComparison) -> String,
}

/// Width in characters of the first column, which contains the names.
const NAME_WIDTH: i32 = 21;

/// The columns after the names.
static COLUMNS: [Column; 5] = [
    Column {
        heading: "against off",
        width: 24,
        rank: 5,
        text: |row| match row.comparison {
            Comparison::Baseline => "baseline".to_owned(),
            Comparison::NotEnoughData => "not enough rounds yet".to_owned(),
            Comparison::Difference(difference) => format::short_difference(difference),
        },
    },
    Column {
        heading: "Mrays/s",
        width: 8,
        rank: 1,
        text: |row| match row.rays_per_second > 0.0 {
            true => format::millions(row.rays_per_second),
            false => UNKNOWN.to_owned(),
        },
    },
    Column {
        heading: "busy",
        width: 8,
        rank: 3,
        text: |row| match row.lane_use > 0.0 {
            true => format::percent(row.lane_use),
            false => UNKNOWN.to_owned(),
        },
    },
    Column {
        heading: "compact",
        width: 8,
        rank: 4,
        text: |row| match row.compact_us > 0.0 {
            true => format::microseconds(row.compact_us),
            false => UNKNOWN.to_owned(),
        },
    },
    Column {
        heading: "pays",
        width: 12,
        rank: 2,
        text: |row| {
            let text = format::pays(row.pays);
            let text = text.as_deref().and_then(|text| text.strip_prefix("pays "));
            text.unwrap_or(UNKNOWN).replace("before bounce", "before")
        },
    },
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

/// Returns the columns that fit into this width in characters.
fn fitting(cells: i32) -> Vec<&'static Column> {
    let mut columns: Vec<&Column> = COLUMNS.iter().collect();
    let mut used = NAME_WIDTH + columns.iter().map(|column| column.width).sum::<i32>();
    while used > cells
        && let Some(first_to_go) = (0..columns.len()).min_by_key(|&index| columns[index].rank)
    {
        used -= columns.remove(first_to_go).width;
    }
    columns
}

impl Overlay {
    /// Draws the headings of the comparison.
    pub(super) fn strategy_headings(&mut self, canvas: &mut Canvas<'_>, area: Area) {
        self.strategy_cells(canvas, area, ("strategies, in turns", DIM), |column| {
            (column.heading.to_owned(), DIM)
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
        self.strategy_cells(canvas, area, (&name, color), |column| {
            ((column.text)(row), color)
        });
    }

    /// Draws a row: a name, left-aligned, and the text of each column, right-aligned.
    fn strategy_cells(
        &mut self,
        canvas: &mut Canvas<'_>,
        area: Area,
        (name, color): (&str, Color),
        text: impl Fn(&Column) -> (String, Color),
    ) {
        let cell = self.type_face.cell_width;
        let columns = fitting(area.width / cell);
        let name: String = name.chars().take((area.width / cell) as usize).collect();
        canvas.text(&mut self.type_face, area.x, area.y, color, &name);
        let used = NAME_WIDTH + columns.iter().map(|column| column.width).sum::<i32>();
        let spare = (area.width / cell - used).max(0) / (columns.len() as i32).max(1);
        let mut end = area.x + NAME_WIDTH * cell;
        for column in columns {
            end += (column.width + spare) * cell;
            let (text, color) = text(column);
            let x = end - text.chars().count() as i32 * cell;
            canvas.text(&mut self.type_face, x, area.y, color, &text);
        }
    }
}
