//! Centred panels of text: the list of keys, and messages.

use crate::session::ControlHelp;

use super::{
    BOX_OPACITY, Line, Overlay, PANEL, RADIUS,
    canvas::{Area, Canvas},
    content::{ACCENT, BRIGHT, DIM, PLAIN, WARNING, length},
};

/// Number of characters between two columns of the list of keys.
const GAP: i32 = 3;
/// Minimum width in characters of the descriptions in the list of keys.
const MIN_ROOM: usize = 8;

/// A page of the list of keys that has been drawn.
pub(crate) struct KeyPage {
    /// Number of the drawn page, from 0.
    pub(crate) page: usize,
    /// Number of pages of the list.
    pub(crate) pages: usize,
    /// Area of the page's panel.
    pub(crate) panel: Area,
}

impl Overlay {
    /// Draws page `page` (from 0) of a list of keys and their effects, in groups with headings, on a panel at the lower
    /// edge; the last page if `page` is too large. The lowest `reserved` pixels of the picture remain free, but at most
    /// half of its height. A list that is too long is split into as many columns as fit side by side, and then into pages.
    pub(crate) fn draw_keys(
        &mut self,
        rgba: &mut [u8],
        size: (u32, u32),
        (keys, page): (&[ControlHelp], usize),
        reserved: i32,
    ) -> KeyPage {
        let mut canvas = Canvas::new(rgba, size.0, size.1);
        let margin = self.margin(&canvas);
        let cells = (canvas.width() - 4 * margin) / self.type_face.cell_width;
        let entries = entries(keys, cells);
        let height = canvas.height() - reserved.clamp(0, canvas.height() / 2);
        let max_lines = ((height - 4 * margin) / self.type_face.line_height).max(1) as usize;
        let width = entries.iter().flatten().map(length).max().unwrap_or(0);
        let fitting = ((cells + GAP) / (width + GAP)).max(1) as usize;
        let mut columns = into_columns(&entries, max_lines);
        if columns.len() > fitting {
            // Leaves a line free for the page number.
            columns = into_columns(&entries, (max_lines - 1).max(1));
        }
        let pages = columns.len().div_ceil(fitting);
        let page = page.min(pages.saturating_sub(1));
        let shown: Vec<_> = columns.chunks(fitting).nth(page).unwrap_or(&[]).to_vec();
        let mut lines = side_by_side(&shown, width);
        if pages > 1 {
            let number = page + 1;
            let next = if number < pages { "next page" } else { "hide" };
            lines.push(vec![
                (DIM, format!("{number} of {pages}: ")),
                (ACCENT, "?".to_owned()),
                (DIM, format!(" {next}")),
            ]);
        }
        let across = shown.len() as i32 * (width + GAP) - GAP;
        let sides = (canvas.width(), canvas.height());
        let top = height - margin - self.box_height(sides, lines.len());
        let panel = self.text_panel(sides, Area::of(size), top, across.max(1), lines.len());
        self.draw_lines(&mut canvas, panel, &lines);
        KeyPage { page, pages, panel }
    }

    /// Draws messages on one panel at the lower edge of a region, or higher if the panel would overlap the `taken`
    /// areas and there is room. Each message has a flag that marks it as an error. Wraps long lines. Returns the
    /// panel's area; `None` if there are no messages.
    pub(crate) fn draw_messages(
        &mut self,
        rgba: &mut [u8],
        size: (u32, u32),
        region: Area,
        messages: &[(&str, bool)],
        taken: &[Area],
    ) -> Option<Area> {
        let (panel, lines) = self.message_panel(size, region, messages, taken)?;
        self.draw_lines(&mut Canvas::new(rgba, size.0, size.1), panel, &lines);
        Some(panel)
    }

    /// Returns the beginning and the end of a text that takes more than a quarter of the height of a region of a picture of
    /// this size, with a line about the rest between them. Returns `None` if the text is not too long.
    pub(crate) fn shortened(&self, size: (u32, u32), region: Area, text: &str) -> Option<String> {
        let room = self.room(self.margin_in((size.0 as i32, size.1 as i32)), region);
        let more = wrapped("… more in the terminal …", room);
        let max_lines = region.height / 4 / self.type_face.line_height;
        let max_lines = (max_lines.max(0) as usize).max(more.len() + 1);
        let lines: Vec<_> = text.lines().flat_map(|line| wrapped(line, room)).collect();
        if lines.len() <= max_lines {
            return None;
        }
        // The remedy of a problem is at its end.
        let shown = max_lines - more.len();
        let (begin, end) = (shown.div_ceil(2), lines.len() - shown / 2);
        Some([&lines[..begin], &more, &lines[end..]].concat().join("\n"))
    }

    /// Returns whether [`draw_messages`](Self::draw_messages) has room for these messages in a region of a picture of
    /// this size, with a margin around them and without overlapping the `taken` areas.
    pub(crate) fn fits_messages(
        &self,
        size: (u32, u32),
        region: Area,
        messages: &[(&str, bool)],
        taken: &[Area],
    ) -> bool {
        let margin = self.margin_in((size.0 as i32, size.1 as i32));
        let panel = self.message_panel(size, region, messages, taken);
        panel.is_some_and(|(panel, _)| {
            panel.y >= region.y + margin && !taken.iter().any(|area| area.meets(&panel))
        })
    }

    /// Returns the height in pixels of a region in which [`draw_messages`](Self::draw_messages) has room for these
    /// messages. The region has the width of `region`, and the picture this size.
    pub(crate) fn messages_height(
        &self,
        size: (u32, u32),
        region: Area,
        messages: &[(&str, bool)],
    ) -> i32 {
        let margin = self.margin_in((size.0 as i32, size.1 as i32));
        let panel = self.message_panel(size, region, messages, &[]);
        panel.map_or(0, |(panel, _)| panel.height + 2 * margin)
    }

    /// Returns the area and the lines of a panel of messages; see [`draw_messages`](Self::draw_messages).
    fn message_panel(
        &self,
        size: (u32, u32),
        region: Area,
        messages: &[(&str, bool)],
        taken: &[Area],
    ) -> Option<(Area, Vec<Line>)> {
        let size = (size.0 as i32, size.1 as i32);
        let margin = self.margin_in(size);
        let lines = self.message_lines(margin, region, messages);
        let longest = lines.iter().map(length).max()?;
        let top = region.y + region.height - margin - self.box_height(size, lines.len());
        let panel = self.text_panel(size, region, top, longest, lines.len());
        Some((panel.above(taken, margin), lines))
    }

    /// Wraps messages for a panel in a region. Each message has a flag that marks it as an error.
    fn message_lines(&self, margin: i32, region: Area, messages: &[(&str, bool)]) -> Vec<Line> {
        let room = self.room(margin, region);
        let lines = messages.iter().flat_map(|(message, is_wrong)| {
            let colour = if *is_wrong { WARNING } else { BRIGHT };
            let lines = message.lines().flat_map(move |line| wrapped(line, room));
            lines.map(move |line| vec![(colour, line)])
        });
        lines.collect()
    }

    /// Returns the number of characters in a line of a message in a region.
    fn room(&self, margin: i32, region: Area) -> usize {
        ((region.width - 4 * margin) / self.type_face.cell_width).max(1) as usize
    }

    /// Returns the height in pixels of a panel with this number of lines on a picture of this size.
    pub(super) fn box_height(&self, size: (i32, i32), lines: usize) -> i32 {
        lines as i32 * self.type_face.line_height + 2 * self.margin_in(size)
    }

    /// Returns the area of a panel, horizontally centred in a region, for `lines` lines of `cells` characters, or of
    /// fewer if the region is narrower. Its upper edge is at `top` in pixels. The picture has this `size`.
    fn text_panel(
        &self,
        size: (i32, i32),
        region: Area,
        top: i32,
        cells: i32,
        lines: usize,
    ) -> Area {
        let margin = self.margin_in(size);
        let cells = cells.min((region.width - 4 * margin) / self.type_face.cell_width);
        let width = cells * self.type_face.cell_width + 2 * margin;
        Area {
            x: region.x + (region.width - width) / 2,
            y: top,
            width,
            height: self.box_height(size, lines),
        }
    }

    /// Draws a panel with left-aligned lines of text. Cuts lines that are wider than the panel.
    pub(super) fn draw_lines(&mut self, canvas: &mut Canvas<'_>, panel: Area, lines: &[Line]) {
        let margin = self.margin(canvas);
        canvas.panel(panel, self.pixels(RADIUS).min(margin), PANEL, BOX_OPACITY);
        let mut area = Area {
            x: panel.x + margin,
            y: panel.y + margin,
            width: panel.width - 2 * margin,
            height: self.type_face.line_height,
        };
        for line in lines {
            self.text(canvas, area, line, &Line::new());
            area.y += area.height;
        }
    }
}

/// Formats each key and its effect as lines of at most `cells` characters in total, after the heading of its group if it
/// begins one. Key and effect have columns of their own. The column of the effect has at least `MIN_ROOM` characters,
/// even if lines then exceed `cells`.
fn entries(keys: &[ControlHelp], cells: i32) -> Vec<Vec<Line>> {
    let left = keys
        .iter()
        .map(|control| control.keys.chars().count())
        .max();
    let left = left.unwrap_or(0);
    let room = usize::try_from(cells).unwrap_or(0).saturating_sub(left + 2);
    let entry = |control: &ControlHelp| {
        let heading = control
            .heading
            .map(|heading| vec![(BRIGHT, heading.to_owned())]);
        let lines = wrapped(control.effect, room.max(MIN_ROOM))
            .into_iter()
            .enumerate();
        let line = |(number, what): (usize, String)| {
            let key = if number == 0 { control.keys } else { "" };
            vec![(ACCENT, format!("{key:<left$}  ")), (PLAIN, what)]
        };
        heading.into_iter().chain(lines.map(line)).collect()
    };
    keys.iter().map(entry).collect()
}

/// Distributes entries over columns of at most `max_lines` lines, without splitting an entry. An entry with more lines
/// gets a longer column of its own.
fn into_columns(entries: &[Vec<Line>], max_lines: usize) -> Vec<Vec<Line>> {
    let mut columns: Vec<Vec<Line>> = Vec::new();
    for entry in entries {
        match columns.last_mut() {
            Some(column) if column.len() + entry.len() <= max_lines => {
                column.extend_from_slice(entry)
            }
            _ => columns.push(entry.clone()),
        }
    }
    columns
}

/// Joins columns into lines of text. A column takes `width` characters, and `GAP` characters separate it from the next.
fn side_by_side(columns: &[Vec<Line>], width: i32) -> Vec<Line> {
    let height = columns.iter().map(Vec::len).max().unwrap_or(0);
    let line = |number: usize| {
        let mut line = Line::new();
        for (place, column) in (0..).zip(columns) {
            let missing = (place * (width + GAP) - length(&line)).max(0) as usize;
            line.push((PLAIN, " ".repeat(missing)));
            line.extend(column.get(number).cloned().unwrap_or_default());
        }
        line
    };
    (0..height).map(line).collect()
}

/// Wraps a text into lines of at most `room` characters, at spaces or, within longer words, anywhere; `room` is at
/// least 1.
pub(super) fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let mut word: Vec<char> = word.chars().collect();
        let last = lines.len() - 1;
        let length = lines[last].chars().count();
        if length > 0 && length + 1 + word.len() <= room {
            lines[last].push(' ');
        } else if length > 0 {
            lines.push(String::new());
        }
        while word.len() > room {
            let rest = word.split_off(room);
            lines
                .last_mut()
                .into_iter()
                .for_each(|line| line.extend(&word));
            lines.push(String::new());
            word = rest;
        }
        lines
            .last_mut()
            .into_iter()
            .for_each(|line| line.extend(&word));
    }
    lines
}
