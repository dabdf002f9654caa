//! Draws the tables of bounces, and the legends of bars.

use super::{
    Overlay,
    bars::ROW_GAP,
    canvas::{Area, Canvas},
    colors::{Color, DIM, PLAIN},
    columns::{Cell, Column, LABEL_WIDTH, Table, fitting_columns},
    content::{Line, Row, key_width},
    entry::Entry,
};

/// The values that full bars of a panel stand for.
pub(super) struct Scales {
    /// Number of rays of bounce 0 in the units of the rows; 0 without bounces.
    pub(super) first_rays: u64,
    /// Time in microseconds of the slowest displayed bounce; 0 without bounces.
    pub(super) longest: f64,
}

impl Scales {
    /// Returns the values for the rows of a panel.
    pub(super) fn of(rows: &[Row<'_>]) -> Self {
        let first_rays = rows.iter().find_map(|row| match row {
            Row::Bounce(_, entry) => Some(entry.counts.rays),
            Row::Bar(bounce) => Some(bounce.rays),
            _ => None,
        });
        Self {
            first_rays: first_rays.unwrap_or(0),
            longest: rows.iter().fold(0.0, |longest, row| match row {
                Row::Bounce(_, entry) => entry.times.total().max(longest),
                _ => longest,
            }),
        }
    }
}

impl Overlay {
    /// Draws a title at the left, and labels with their colors at the right.
    pub(super) fn legend(
        &mut self,
        canvas: &mut Canvas<'_>,
        area: Area,
        title: &str,
        keys: &[(&str, Color)],
    ) {
        let cell = self.type_face.cell_width;
        self.text(canvas, area, &vec![(DIM, title.to_owned())], &Line::new());
        let used: i32 = keys.iter().map(|(label, _)| key_width(label)).sum();
        // Without a title, the labels begin at the left edge.
        let mut x = match title {
            "" => area.x,
            _ => area.x + area.width - (used - 1) * cell,
        };
        for &(label, color) in keys {
            self.swatch(canvas, x, area.y, color);
            canvas.text(&mut self.type_face, x + 2 * cell, area.y, DIM, label);
            x += key_width(label) * cell;
        }
    }

    /// Draws a square of a color, about as wide as a character, into the character cell whose upper left corner is
    /// (`x`, `y`).
    pub(super) fn swatch(&self, canvas: &mut Canvas<'_>, x: i32, y: i32, color: Color) {
        let side = self.pixels(8.0);
        let area = Area {
            x: x + self.pixels(2.0),
            y: y + (self.line_height() - side) / 2,
            width: side,
            height: side,
        };
        canvas.fill(area, color, 1.0);
    }

    pub(super) fn headings(&mut self, canvas: &mut Canvas<'_>, area: Area, table: Table) {
        self.cells(
            canvas,
            area,
            (table, ""),
            |overlay, canvas, area, column| {
                let cell = overlay.type_face.cell_width;
                let x = area.x + area.width - column.heading.chars().count() as i32 * cell;
                canvas.text(&mut overlay.type_face, x, area.y, DIM, column.heading);
                if let Some(color) = column.color {
                    overlay.swatch(canvas, x - 2 * cell, area.y, color);
                }
            },
        );
    }

    /// Draws a row of a table with a label in its first column. A full bar of times stands for `longest` microseconds.
    pub(super) fn table_row(
        &mut self,
        canvas: &mut Canvas<'_>,
        area: Area,
        (table, label): (Table, &str),
        entry: &Entry,
        longest: f64,
    ) {
        self.cells(
            canvas,
            area,
            (table, label),
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

    /// Draws a row of a table: a label, right-aligned in the first column, and every other cell by a call of `draw` with
    /// its area and column.
    fn cells(
        &mut self,
        canvas: &mut Canvas<'_>,
        area: Area,
        (table, label): (Table, &str),
        draw: impl Fn(&mut Self, &mut Canvas<'_>, Area, &'static Column),
    ) {
        let cell = self.type_face.cell_width;
        let label_x = area.x + (LABEL_WIDTH - label.chars().count() as i32) * cell;
        canvas.text(&mut self.type_face, label_x, area.y, DIM, label);
        let mut x = area.x + LABEL_WIDTH * cell;
        for (column, width) in fitting_columns(table, area.width / cell) {
            let width = width * cell;
            draw(self, canvas, Area { x, width, ..area }, column);
            x += width;
        }
    }

    /// Returns the height in pixels of the gap around bars.
    pub(super) fn bar_gap(&self) -> i32 {
        self.pixels(ROW_GAP)
    }
}
