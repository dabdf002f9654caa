//! The panel of properties: buttons, sliders with numbers, and swatches of colours.

use super::{
    BOX_OPACITY, Line, Overlay, PANEL, RADIUS,
    canvas::{Area, Canvas, Colour},
    content::{ACCENT, BRIGHT, DIM, PLAIN, WARNING},
    cut,
};

/// A row of the panel.
pub(crate) enum PropertyRow {
    /// Buttons side by side. Each is as wide as its share of the text; a button without an action is a title.
    Buttons(Vec<String>),
    /// A line of text that does nothing.
    Note(String),
    /// A line about a value that was refused.
    Warning(String),
    /// A number.
    Slider {
        label: String,
        /// Number with its unit, or the text that is being typed.
        value: String,
        /// Filled share of the slider, in 0..=1.
        filled: f32,
        state: RowState,
    },
    /// A colour.
    Swatch {
        label: String,
        colour: Colour,
        state: RowState,
    },
}

/// The state of a row that is displayed by its colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowState {
    Plain,
    /// Keys change the row.
    Selected,
    /// A value is being typed into the row.
    Typing,
}

/// A panel of properties that has been drawn.
#[derive(Default)]
pub(crate) struct DrawnProperties {
    /// Area of the panel; empty if it was not drawn.
    pub(crate) panel: Option<Area>,
    /// Areas that react to the pointer, each with its row and, in a row of buttons, the button.
    pub(crate) targets: Vec<(Area, usize, usize)>,
    /// First row below the fixed rows that was drawn.
    pub(crate) first: usize,
}

/// Width in characters of a panel over a picture; a narrower region reduces it.
const CELLS: i32 = 46;
/// Width in characters of a panel in a region of its own; a narrower region reduces it.
const CELLS_ALONE: i32 = 80;
/// Colour of the region around a panel that has a region of its own.
const AROUND: Colour = [24, 26, 30];
/// Share of the panel's width that labels take.
const LABEL_SHARE: f32 = 0.46;
/// Space between rows in pixels at scale 1.
const GAP: f32 = 5.0;
/// Width of the scroll bar in pixels at scale 1.
const SCROLL_BAR: f32 = 4.0;
/// Colour of sliders and buttons.
const TRACK: Colour = [48, 54, 65];
/// Colour of the filled part of a slider.
const FILLED: Colour = [66, 98, 138];

impl Overlay {
    /// Draws a panel of rows along the right edge of a region, as high as its rows or the region. If the panel `is_alone`
    /// there, it covers what was drawn in the region before. The first `fixed` rows do not scroll; of the others, those
    /// from `first` on are drawn as far as they fit.
    pub(crate) fn draw_properties(
        &mut self,
        rgba: &mut [u8],
        size: (u32, u32),
        (region, is_alone): (Area, bool),
        rows: &[PropertyRow],
        (fixed, first): (usize, usize),
    ) -> DrawnProperties {
        let mut canvas = Canvas::new(rgba, size.0, size.1);
        let margin = self.margin(&canvas);
        let cell = self.type_face.cell_width;
        let cells = if is_alone { CELLS_ALONE } else { CELLS };
        let cells = cells.min((region.width - 4 * margin) / cell);
        let step = self.line_height() + self.pixels(GAP);
        let room = ((region.height - 4 * margin) / step).max(0) as usize;
        if cells < 8 || room <= fixed {
            return DrawnProperties::default();
        }
        let scrolling = rows.len().saturating_sub(fixed);
        let fitting = (room - fixed).min(scrolling);
        let first = first.min(scrolling - fitting);
        let shown = rows.len().min(fixed + fitting) as i32;
        let width = cells * cell;
        let panel = Area {
            x: region.x + region.width - width - 3 * margin,
            y: region.y + margin,
            width: width + 2 * margin,
            height: shown * step + 2 * margin,
        };
        if is_alone {
            canvas.fill(region, AROUND, 1.0);
        }
        canvas.panel(panel, self.pixels(RADIUS).min(margin), PANEL, BOX_OPACITY);
        let mut area = Area {
            x: panel.x + margin,
            y: panel.y + margin,
            width,
            height: self.line_height(),
        };
        let mut targets = Vec::new();
        let numbers = (0..fixed).chain(fixed + first..fixed + first + fitting);
        for number in numbers {
            if let Some(row) = rows.get(number) {
                self.property_row(&mut canvas, area, row, |area, button| {
                    targets.push((area, number, button));
                });
            }
            area.y += step;
        }
        if fitting < scrolling {
            let track = Area {
                x: panel.x + panel.width - self.pixels(SCROLL_BAR) - 1,
                y: panel.y + margin + fixed as i32 * step,
                width: self.pixels(SCROLL_BAR).max(1),
                height: fitting as i32 * step,
            };
            canvas.fill(track, TRACK, 1.0);
            let share = |rows: usize| track.height * rows as i32 / scrolling as i32;
            let bar = Area {
                y: track.y + share(first),
                height: share(fitting).max(1),
                ..track
            };
            canvas.fill(bar, DIM, 1.0);
        }
        DrawnProperties {
            panel: Some(panel),
            targets,
            first,
        }
    }

    /// Draws a row, and calls `target` with each area that reacts to the pointer and the number of its button.
    fn property_row(
        &mut self,
        canvas: &mut Canvas<'_>,
        area: Area,
        row: &PropertyRow,
        mut target: impl FnMut(Area, usize),
    ) {
        let cell = self.type_face.cell_width;
        match row {
            PropertyRow::Note(text) => {
                self.text(canvas, area, &vec![(DIM, text.clone())], &Line::new());
            }
            PropertyRow::Warning(text) => {
                self.text(canvas, area, &vec![(WARNING, text.clone())], &Line::new());
            }
            PropertyRow::Buttons(labels) => {
                let mut free = area.width - labels.len() as i32 * cell;
                let lengths = labels.iter().map(|label| label.chars().count() as i32);
                let total = lengths.sum::<i32>().max(1);
                let spread = (free - total * cell).max(0) / labels.len().max(1) as i32;
                let mut x = area.x;
                for (number, label) in labels.iter().enumerate() {
                    let length = (label.chars().count() as i32 * cell).min(free.max(0));
                    let button = Area {
                        x,
                        width: length + spread,
                        ..area
                    };
                    canvas.fill(button, TRACK, 1.0);
                    let text = Area {
                        x: x + spread / 2,
                        width: length,
                        ..area
                    };
                    self.text(canvas, text, &vec![(BRIGHT, label.clone())], &Line::new());
                    target(button, number);
                    x += button.width + cell;
                    free -= length;
                }
            }
            PropertyRow::Slider {
                label,
                value,
                filled,
                state,
            } => {
                let slider = self.labelled(canvas, area, label, *state);
                canvas.fill(slider, TRACK, 1.0);
                let is_typing = *state == RowState::Typing;
                if !is_typing {
                    let width = (slider.width as f32 * filled.clamp(0.0, 1.0)).round() as i32;
                    canvas.fill(Area { width, ..slider }, FILLED, 1.0);
                }
                let text = Area {
                    width: slider.width - cell / 2,
                    ..slider
                };
                let colour = if is_typing { ACCENT } else { BRIGHT };
                let room = text.width / cell;
                let value = match value.chars().count() as i32 > room {
                    true => cut(value, room),
                    false => value.clone(),
                };
                let value = vec![(colour, value)];
                let empty = Line::new();
                let (left, right) = if is_typing {
                    (&value, &empty)
                } else {
                    (&empty, &value)
                };
                // The right text needs a distance of two characters to the left one.
                let text = match is_typing {
                    true => text,
                    false => Area {
                        x: text.x - 2 * cell,
                        width: text.width + 2 * cell,
                        ..text
                    },
                };
                self.text(canvas, text, left, right);
                target(slider, 0);
            }
            PropertyRow::Swatch {
                label,
                colour,
                state,
            } => {
                let swatch = self.labelled(canvas, area, label, *state);
                canvas.fill(swatch, *colour, 1.0);
                target(swatch, 0);
            }
        }
    }

    /// Draws the label of a row, and returns the area for its value.
    fn labelled(
        &mut self,
        canvas: &mut Canvas<'_>,
        area: Area,
        label: &str,
        state: RowState,
    ) -> Area {
        let cell = self.type_face.cell_width;
        let width = ((area.width / cell) as f32 * LABEL_SHARE) as i32 * cell;
        let colour = if state == RowState::Plain {
            PLAIN
        } else {
            ACCENT
        };
        let text = Area {
            width: width - cell,
            ..area
        };
        self.text(
            canvas,
            text,
            &vec![(colour, label.to_owned())],
            &Line::new(),
        );
        Area {
            x: area.x + width,
            width: area.width - width,
            ..area
        }
    }
}
