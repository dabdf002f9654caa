//! The legend of a debug view, in the lower left corner: a title, a color bar with numbers, and a note.

use super::{
    Drawing, Line, Overlay,
    canvas::Area,
    colors::{BRIGHT, DIM, PLAIN},
};
use raysieve::inspect::debug_view::Legend;

/// Minimum width of the legend in characters; a narrower picture reduces it.
const CELLS: i32 = 44;
/// Width in characters of a legend that has only a bar; a narrower picture reduces it.
const SMALL_CELLS: i32 = 18;
/// Height of the color bar in pixels at scale 1.
const BAR_HEIGHT: f32 = 12.0;

/// Maximum share of a picture that a whole legend covers, as its inverse. A smaller form covers the same share at most.
const MAX_SHARE: i64 = 6;

/// The lines and the place of a legend.
struct Form {
    panel: Area,
    /// Width of the text and of the bar in characters.
    cells: i32,
    title: Vec<String>,
    has_bar: bool,
    note: Vec<String>,
}

impl Overlay {
    /// Draws the legend into the lower left corner of a picture: RGBA bytes, `size` (width, height) in pixels. If the
    /// legend would cover much of the picture, draws only the bar with its numbers, or nothing if even that would.
    /// Returns the area of its panel; `None` if nothing is drawn.
    pub(crate) fn draw_legend(
        &mut self,
        rgba: &mut [u8],
        size: (u32, u32),
        legend: &Legend,
    ) -> Option<Area> {
        let forms = self.legend_forms(size, legend)?;
        let form = forms.into_iter().find(|form| {
            let covered = i64::from(form.panel.width) * i64::from(form.panel.height);
            covered * MAX_SHARE <= i64::from(size.0) * i64::from(size.1)
        })?;
        let margin = self.margin(size);
        let (line, bar_height) = (self.line_height(), self.pixels(BAR_HEIGHT));
        let (panel, width) = (form.panel, form.cells * self.type_face.cell_width);
        let mut drawing = Drawing::new(self, rgba, size, panel);
        let mut area = (panel.columns(panel.x + margin, width)).rows(panel.y + margin, line);
        for text in form.title {
            drawing.text(area, &vec![(BRIGHT, text)], &Line::new());
            area.y += line;
        }
        if form.has_bar {
            drawing.color_bar(area, legend, bar_height);
            area.y += bar_height + line;
        }
        for text in form.note {
            drawing.text(area, &vec![(DIM, text)], &Line::new());
            area.y += line;
        }
        Some(panel)
    }

    /// Returns the whole legend and its smaller form; `None` if the picture is too narrow for a character.
    fn legend_forms(&self, size: (u32, u32), legend: &Legend) -> Option<[Form; 2]> {
        let (picture, margin) = (Area::of(size), self.margin(size));
        let cell = self.type_face.cell_width;
        let room = (picture.width - 4 * margin) / cell;
        if room < 1 {
            return None;
        }
        let longest = [&legend.title, &legend.note].map(|text| text.chars().count() as i32);
        let wanted = longest.into_iter().fold(CELLS, i32::max);
        let has_bar = !legend.bar.is_empty();
        let form = |cells: i32, title: Vec<String>, note: Vec<String>| {
            let lines = (title.len() + note.len()) as i32 * self.line_height();
            let scale = match has_bar {
                true => self.pixels(BAR_HEIGHT) + self.line_height(),
                false => 0,
            };
            let height = lines + scale + 2 * margin;
            let columns = picture.columns(margin, cells * cell + 2 * margin);
            Form {
                panel: columns.rows(picture.height - height - margin, height),
                cells,
                title,
                has_bar,
                note,
            }
        };
        let whole = wanted.min(room);
        let lines = |text: &str| wrapped(text, whole as usize);
        let small = SMALL_CELLS.min(room);
        let title = match has_bar {
            true => Vec::new(),
            false => wrapped(&legend.title, small as usize),
        };
        Some([
            form(whole, lines(&legend.title), lines(&legend.note)),
            form(small, title, Vec::new()),
        ])
    }
}

impl Drawing<'_> {
    /// Draws the color bar over the width of `area`, `bar_height` pixels high, with its numbers below.
    fn color_bar(&mut self, area: Area, legend: &Legend, bar_height: i32) {
        let cell = self.type_face.cell_width;
        for column in 0..area.width {
            let place = column as f32 / (area.width - 1).max(1) as f32;
            let line = area.columns(area.x + column, 1).rows(area.y, bar_height);
            self.canvas.fill(line, color_at(&legend.bar, place), 1.0);
        }
        for (place, number) in &legend.ticks {
            let width = number.chars().count() as i32 * cell;
            let middle = area.x + (place * area.width as f32) as i32;
            let x = (middle - width / 2).clamp(area.x, (area.x + area.width - width).max(area.x));
            self.write(x, area.y + bar_height, PLAIN, number);
        }
    }
}

/// Returns the color at `place` in 0..=1, interpolated linearly between the evenly spaced colors of `bar`, which is
/// not empty.
fn color_at(bar: &[[u8; 3]], place: f32) -> [u8; 3] {
    let along = place * (bar.len() - 1) as f32;
    let (low, high) = (along.floor() as usize, along.ceil() as usize);
    let part = along - along.floor();
    let mix = |channel: usize| {
        let (from, to) = (f32::from(bar[low][channel]), f32::from(bar[high][channel]));
        (from + (to - from) * part).round() as u8
    };
    [mix(0), mix(1), mix(2)]
}

/// Wraps a text into lines of at most `room` characters, at spaces or, within longer words, anywhere; `room` is at
/// least 1.
fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let word: Vec<char> = word.chars().collect();
        let last = lines.len() - 1;
        let length = lines[last].chars().count();
        if length > 0 && length + 1 + word.len() <= room {
            lines[last].push(' ');
        } else if length > 0 {
            lines.push(String::new());
        }
        for (place, piece) in word.chunks(room).enumerate() {
            if place > 0 {
                lines.push(String::new());
            }
            lines
                .last_mut()
                .into_iter()
                .for_each(|line| line.extend(piece));
        }
    }
    lines
}
