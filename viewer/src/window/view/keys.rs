//! The list of keys and of the words of the figures.

use egui::{Align2, Context, Grid, RichText, Window};

use crate::{
    overlay::colors::{ACCENT, BRIGHT},
    session,
    window::theme::color,
};

#[derive(Default)]
pub(in crate::window) struct KeyList {
    is_open: bool,
    /// Scroll position in points that a key has requested; `None` leaves the position as it is.
    requested: Option<f32>,
    /// Scroll position in points when it was last displayed.
    offset: f32,
    /// Height of the visible part in points when it was last displayed.
    height: f32,
}

/// Distance in points that an arrow key scrolls.
const STEP: f32 = 30.0;

/// Width of the window in points below which keys and descriptions are not side by side.
const NARROW: f32 = 260.0;

/// Height of the window in points below which the list has no title.
const LOW: f32 = 200.0;

/// Minimum width in points of the descriptions of the keys.
const MIN_DESCRIPTION: f32 = 80.0;

impl KeyList {
    /// Displays or hides the list.
    pub(in crate::window) fn switch(&mut self) {
        self.is_open = !self.is_open;
        self.requested = Some(0.0);
    }

    /// Hides the list. Returns whether it was displayed.
    pub(super) fn close(&mut self) -> bool {
        std::mem::take(&mut self.is_open)
    }

    /// Scrolls the list by a key, named as in the table of controls. Returns `false` if the list is hidden, or the key does
    /// not scroll.
    pub(in crate::window) fn scroll(&mut self, chord: &str) -> bool {
        let page = (self.height - STEP).max(STEP);
        let to = match chord {
            "ArrowDown" => self.offset + STEP,
            "ArrowUp" => self.offset - STEP,
            "PageDown" | " " => self.offset + page,
            "PageUp" => self.offset - page,
            "Home" => 0.0,
            _ => return false,
        };
        if self.is_open {
            self.requested = Some(to.max(0.0));
        }
        self.is_open
    }

    /// Displays the list over the middle of the window, unless it is hidden.
    pub(super) fn show(&mut self, context: &Context) {
        if !self.is_open {
            return;
        }
        let room = context.content_rect().size() - egui::vec2(18.0, 18.0);
        let mut is_open = true;
        let window = Window::new("Keys")
            .open(&mut is_open)
            .collapsible(false)
            .resizable(false)
            .title_bar(room.y >= LOW)
            .max_size(room)
            .anchor(Align2::CENTER_CENTER, egui::Vec2::ZERO);
        window.show(context, |ui| {
            ui.set_max_width(room.x - 24.0);
            let mut scroll = egui::ScrollArea::vertical().max_height((room.y - 50.0).max(50.0));
            if let Some(offset) = self.requested.take() {
                scroll = scroll.vertical_scroll_offset(offset);
            }
            let shown = scroll.show(ui, |ui| list(ui, room.x));
            self.offset = shown.state.offset.y;
            self.height = shown.inner_rect.height();
        });
        self.is_open = is_open;
    }
}

/// Adds the keys and words with their descriptions, in groups with headings, to a region of this width in points.
fn list(ui: &mut egui::Ui, width: f32) {
    let controls: Vec<_> = session::controls().collect();
    let groups = controls.chunk_by(|_, next| next.heading.is_none());
    for (number, group) in groups.enumerate() {
        let heading = group.first().and_then(|control| control.heading);
        ui.heading(RichText::new(heading.unwrap_or_default()).color(color(BRIGHT)));
        if width < NARROW {
            for control in group {
                ui.label(RichText::new(control.keys).color(color(ACCENT)));
                ui.add(egui::Label::new(control.effect).wrap());
            }
        } else {
            Grid::new(number).num_columns(2).show(ui, |ui| {
                for control in group {
                    ui.label(RichText::new(control.keys).color(color(ACCENT)));
                    let taken = ui.cursor().left() - ui.min_rect().left();
                    ui.vertical(|ui| {
                        ui.set_max_width((width - taken - 40.0).max(MIN_DESCRIPTION));
                        ui.add(egui::Label::new(control.effect).wrap());
                    });
                    ui.end_row();
                }
            });
        }
        ui.add_space(6.0);
    }
}
