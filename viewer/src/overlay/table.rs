//! Draws the tables of bounces, and the legends of bars.

use super::{
    Overlay,
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
        let square = Area::of((0, 0)).columns(x + self.pixels(2.0), side);
        let square = square.rows(y + (self.line_height() - side) / 2, side);
        canvas.fill(square, color, 1.0);
    }

    pub(super) fn headings(&mut self, canvas: &mut Canvas<'_>, area: Area, table: Table) {
        for (column, area) in self.columns(area, table) {
            let x = self.right_text(canvas, area, DIM, column.heading);
            if let Some(color) = column.color {
                self.swatch(canvas, x - 2 * self.type_face.cell_width, area.y, color);
            }
        }
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
        let cell = self.type_face.cell_width;
        self.right_text(canvas, area.columns(area.x, LABEL_WIDTH * cell), DIM, label);
        for (column, area) in self.columns(area, table) {
            match column.cell {
                Cell::Figure(figure) => drop(self.right_text(canvas, area, PLAIN, &figure(entry))),
                Cell::Times => {
                    let bar = area.columns(area.x + cell, area.width - cell);
                    let bar = bar.rows(area.y, self.line_height());
                    self.times(canvas, bar, entry, longest);
                }
            }
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
    pub(super) fn right_text(
        &mut self,
        canvas: &mut Canvas<'_>,
        area: Area,
        color: Color,
        text: &str,
    ) -> i32 {
        let width = text.chars().count() as i32 * self.type_face.cell_width;
        let x = area.x + area.width - width;
        canvas.text(&mut self.type_face, x, area.y, color, text);
        x
    }
}
