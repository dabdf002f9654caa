//! The statistics laid over the picture: on the CPU, into its bytes, so that a saved picture can carry them.

mod canvas;
mod content;
pub(super) mod figures;

use canvas::{Area, Canvas, Colour, TypeFace};
use content::{
    ACCENT, BRIGHT, Column, DIM, Group, LABEL_WIDTH, Line, PLAIN, Row, fitting_columns,
    natural_width, parts, rows,
};

use crate::{
    live::State,
    stats::{BounceStats, Stats},
};

/// Draws the statistics of a render on its picture, RGBA with rows from the top, of any size.
///
/// What does not fit is left out: columns first, then late bounces, with a line that says how many.
pub fn draw(rgba: &mut [u8], width: u32, height: u32, stats: &Stats) {
    Overlay::new(scale_for(width, height)).draw_stats(rgba, (width, height), stats, State::Done);
}

/// The size of text, in units of a screen with no scaling, that can be read when the whole picture is looked at.
pub(super) fn scale_for(width: u32, height: u32) -> f32 {
    (width.min(height) as f32 / 1080.0).max(1.0)
}

/// Draws panels in one size of text.
pub(super) struct Overlay {
    scale: f32,
    type_face: TypeFace,
}

const PANEL: Colour = [14, 17, 23];
const PANEL_OPACITY: f32 = 0.8;
/// Of what may lie over the panel.
const BOX_OPACITY: f32 = 0.95;
const TRACK: Colour = [62, 68, 80];
/// Lengths at scale 1, pixels.
const MARGIN: f32 = 9.0;
const RADIUS: f32 = 6.0;
const BAR_HEIGHT: f32 = 3.0;
const ROW_GAP: f32 = 4.0;

impl Overlay {
    pub(super) fn new(scale: f32) -> Self {
        Self {
            scale,
            type_face: TypeFace::new(scale),
        }
    }

    pub(super) fn scale(&self) -> f32 {
        self.scale
    }

    /// The statistics, in the upper left corner.
    pub(super) fn draw_stats(
        &mut self,
        rgba: &mut [u8],
        size: (u32, u32),
        stats: &Stats,
        state: State,
    ) {
        let mut canvas = Canvas::new(rgba, size.0, size.1);
        let margin = self.margin(&canvas);
        let cells = natural_width().min((canvas.width() - 4 * margin) / self.type_face.cell_width);
        let rows = self.fitted(rows(stats, state), canvas.height() - 4 * margin);
        let height: i32 = rows.iter().map(|row| self.row_height(row)).sum();
        if cells < 1 || height == 0 {
            return;
        }
        let width = cells * self.type_face.cell_width;
        let panel = Area {
            x: margin,
            y: margin,
            width: width + 2 * margin,
            height: height + 2 * margin,
        };
        canvas.panel(panel, self.pixels(RADIUS).min(margin), PANEL, PANEL_OPACITY);

        let columns = fitting_columns(cells);
        let first_rays = stats.bounces.first().map_or(0, |bounce| bounce.rays);
        let mut area = Area {
            x: 2 * margin,
            y: 2 * margin,
            width,
            height,
        };
        for row in &rows {
            area.height = self.row_height(row);
            match row {
                Row::Text(left, right) => self.text(&mut canvas, area, left, right),
                Row::Progress(progress) => self.progress(&mut canvas, area, *progress),
                Row::Groups => self.groups(&mut canvas, area, &columns),
                Row::Headings => self.cells(&mut canvas, area, "", &columns, |column| {
                    let colour = if column.colour == PLAIN {
                        DIM
                    } else {
                        column.colour
                    };
                    (colour, column.heading.to_owned())
                }),
                Row::Bounce(bounce) => {
                    self.bar(&mut canvas, area, bounce, first_rays);
                    self.figures(
                        &mut canvas,
                        area,
                        &bounce.bounce.to_string(),
                        &columns,
                        bounce,
                    );
                }
                Row::Total(total) => self.figures(&mut canvas, area, "Σ", &columns, total),
            }
            area.y += area.height;
        }
    }

    /// A list of keys and what they do, at the lower edge.
    pub(super) fn draw_keys(&mut self, rgba: &mut [u8], size: (u32, u32), keys: &[(&str, &str)]) {
        let widest = |column: &[usize]| column.iter().copied().max().unwrap_or(0);
        let left = widest(
            &keys
                .iter()
                .map(|(key, _)| key.chars().count())
                .collect::<Vec<_>>(),
        );
        let right = widest(
            &keys
                .iter()
                .map(|(_, what)| what.chars().count())
                .collect::<Vec<_>>(),
        );
        let lines = keys.iter().map(|(key, what)| {
            vec![
                (ACCENT, format!("{key:<left$}  ")),
                (PLAIN, (*what).to_owned()),
            ]
        });
        let lines: Vec<Line> = lines.collect();
        let mut canvas = Canvas::new(rgba, size.0, size.1);
        let cells = (left + 2 + right) as i32;
        let top = canvas.height() - self.margin(&canvas) - self.box_height(&canvas, lines.len());
        self.text_box(&mut canvas, top, cells, &lines);
    }

    /// One line at the lower edge, or above so many lines of keys.
    pub(super) fn draw_message(
        &mut self,
        rgba: &mut [u8],
        size: (u32, u32),
        message: &str,
        keys: usize,
    ) {
        let mut canvas = Canvas::new(rgba, size.0, size.1);
        let margin = self.margin(&canvas);
        let below = if keys > 0 {
            self.box_height(&canvas, keys) + margin
        } else {
            0
        };
        let top = canvas.height() - below - margin - self.box_height(&canvas, 1);
        self.text_box(
            &mut canvas,
            top,
            message.chars().count() as i32,
            &[vec![(BRIGHT, message.to_owned())]],
        );
    }

    fn box_height(&self, canvas: &Canvas<'_>, lines: usize) -> i32 {
        lines as i32 * self.type_face.line_height + 2 * self.margin(canvas)
    }

    /// Lines on a panel of their own, centred from left to right.
    fn text_box(&mut self, canvas: &mut Canvas<'_>, top: i32, cells: i32, lines: &[Line]) {
        let margin = self.margin(canvas);
        let cells = cells.min((canvas.width() - 4 * margin) / self.type_face.cell_width);
        let width = cells * self.type_face.cell_width;
        let x = (canvas.width() - width) / 2;
        let height = self.box_height(canvas, lines.len());
        let panel = Area {
            x: x - margin,
            y: top,
            width: width + 2 * margin,
            height,
        };
        canvas.panel(panel, self.pixels(RADIUS).min(margin), PANEL, BOX_OPACITY);
        for (line, y) in lines
            .iter()
            .zip((top + margin..).step_by(self.type_face.line_height as usize))
        {
            self.text(
                canvas,
                Area {
                    x,
                    y,
                    width,
                    height: self.type_face.line_height,
                },
                line,
                &Line::new(),
            );
        }
    }

    fn pixels(&self, length: f32) -> i32 {
        (length * self.scale).round() as i32
    }

    /// Around a panel and again within it; narrower on a small picture.
    fn margin(&self, canvas: &Canvas<'_>) -> i32 {
        self.pixels(MARGIN)
            .min(canvas.width().min(canvas.height()) / 32)
    }

    fn row_height(&self, row: &Row<'_>) -> i32 {
        match row {
            Row::Progress(_) => self.pixels(BAR_HEIGHT + 2.0 * ROW_GAP),
            Row::Bounce(_) => self.type_face.line_height + self.pixels(ROW_GAP),
            _ => self.type_face.line_height,
        }
    }

    /// Without the late bounces, then without the table, then without the last lines, for which there is no room.
    fn fitted<'a>(&self, mut rows: Vec<Row<'a>>, room: i32) -> Vec<Row<'a>> {
        let height_of = |rows: &[Row<'_>]| rows.iter().map(|row| self.row_height(row)).sum::<i32>();
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
        if left_out == bounces {
            rows.retain(|row| matches!(row, Row::Text(..)));
        } else if left_out > 0 {
            let note = Row::Text(vec![(DIM, format!("… {left_out} more"))], Line::new());
            rows.insert(rows.len() - 1, note);
        }
        while height_of(&rows) > room && rows.pop().is_some() {}
        rows
    }

    fn text(&mut self, canvas: &mut Canvas<'_>, area: Area, left: &Line, right: &Line) {
        let cell = self.type_face.cell_width;
        let width_of = |line: &Line| {
            line.iter()
                .map(|(_, text)| text.chars().count() as i32)
                .sum::<i32>()
        };
        let (left_width, right_width, room) = (width_of(left), width_of(right), area.width / cell);
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

    fn progress(&self, canvas: &mut Canvas<'_>, area: Area, progress: f64) {
        let line = Area {
            y: area.y + self.pixels(ROW_GAP),
            height: self.pixels(BAR_HEIGHT - 1.0).max(1),
            ..area
        };
        canvas.fill(line, TRACK, 1.0);
        let width = (f64::from(area.width) * progress.clamp(0.0, 1.0)).round() as i32;
        canvas.fill(Area { width, ..line }, ACCENT, 1.0);
    }

    /// The groups' names, above their columns.
    fn groups(&mut self, canvas: &mut Canvas<'_>, area: Area, columns: &[(&'static Column, i32)]) {
        let name = |group: Group| {
            let is_there = columns.iter().any(|(column, _)| column.group == group);
            if is_there {
                vec![(DIM, group.name().to_owned())]
            } else {
                Line::new()
            }
        };
        self.text(canvas, area, &name(Group::Rays), &name(Group::Time));
    }

    fn figures(
        &mut self,
        canvas: &mut Canvas<'_>,
        area: Area,
        label: &str,
        columns: &[(&'static Column, i32)],
        bounce: &BounceStats,
    ) {
        self.cells(canvas, area, label, columns, |column| {
            (column.colour, (column.figure)(bounce))
        });
    }

    /// A line of the table, every cell right-aligned.
    fn cells(
        &mut self,
        canvas: &mut Canvas<'_>,
        area: Area,
        label: &str,
        columns: &[(&'static Column, i32)],
        text_of: impl Fn(&'static Column) -> (Colour, String),
    ) {
        let cell = self.type_face.cell_width;
        let label_x = area.x + (LABEL_WIDTH - label.chars().count() as i32) * cell;
        canvas.text(&mut self.type_face, label_x, area.y, DIM, label);
        let mut right = LABEL_WIDTH;
        for &(column, width) in columns {
            right += width;
            let (colour, text) = text_of(column);
            let x = area.x + (right - text.chars().count() as i32) * cell;
            canvas.text(&mut self.type_face, x, area.y, colour, &text);
        }
    }

    /// What became of the bounce's rays, against the rays of the first.
    fn bar(&self, canvas: &mut Canvas<'_>, area: Area, bounce: &BounceStats, first_rays: u64) {
        let height = self.pixels(BAR_HEIGHT);
        let bar = Area {
            y: area.y + self.type_face.line_height,
            height,
            ..area
        };
        canvas.fill(bar, TRACK, 0.45);
        let end_of = |rays: u64| {
            (f64::from(area.width) * rays as f64 / first_rays.max(1) as f64).ceil() as i32
        };
        let (mut rays, mut x) = (0, 0);
        for (part, colour) in parts(bounce) {
            rays += part;
            let end = end_of(rays).min(area.width);
            canvas.fill(
                Area {
                    x: area.x + x,
                    width: end - x,
                    ..bar
                },
                colour,
                1.0,
            );
            x = end;
        }
    }
}

/// The first characters of `text`, and a sign that there were more.
fn cut(text: &str, length: i32) -> String {
    let Some(kept) = usize::try_from(length)
        .ok()
        .and_then(|length| length.checked_sub(1))
    else {
        return String::new();
    };
    text.chars().take(kept).chain(['…']).collect()
}
