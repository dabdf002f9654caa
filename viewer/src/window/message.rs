//! The window's messages.

use std::time::{Duration, Instant};

use egui::{
    Align2, Area, Context, Frame, Id, Label, Order, Rect, RichText, ScrollArea, Ui, Vec2,
    WidgetInfo, WidgetType,
};

use super::theme::color;
use crate::{
    error::report,
    overlay::colors::{BRIGHT, Color, WARNING},
    session::add_problem,
};
use raysieve_scene::escaped;

/// The displayed messages. Their time passes only while the window is visible.
///
/// Problems are kept until the user has seen them: no note replaces a problem, and all problems are displayed.
#[derive(Default)]
pub(super) struct Messages {
    /// Problems, the newest last.
    problems: Vec<Message>,
    note: Option<Message>,
    /// Time since which the window is hidden; `None` while it is visible.
    hidden: Option<Instant>,
    /// Width and height in points of the last display.
    size: Vec2,
}

struct Message {
    text: String,
    /// Time at which the message disappears by itself, unless the window is hidden before.
    until: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageKind {
    /// A note, such as the effect of a key.
    Note,
    /// A problem, which is marked as an error, displayed longer, and not replaced by other messages. It is also printed
    /// to standard error.
    Problem,
}

/// A line with its color, which is displayed with the messages as long as the window passes it to [`Messages::show`].
pub(super) type Line = (Color, String);

/// Minimum display time of a message.
const MESSAGE_TIME: Duration = Duration::from_secs(3);
/// Minimum display time of a problem.
const PROBLEM_TIME: Duration = Duration::from_secs(10);
/// Display time of a message per character, if that exceeds the minimum.
const CHARACTER_TIME: Duration = Duration::from_millis(60);

/// Maximum height of the messages, as a fraction of that of the picture's region.
const MAX_SHARE: f32 = 0.34;

/// Minimum room for messages in points of height, which is two lines of text.
const MIN_HEIGHT: f32 = 34.0;

/// Distance in points between the messages and the edges of the picture's region.
const MARGIN: f32 = 9.0;

impl Messages {
    /// Adds a message from `now` on, for 60 ms per character, but at least three seconds. A problem stays at least ten
    /// seconds, is printed to standard error, and replaces an equal one. A note replaces the previous note.
    pub(super) fn add(&mut self, text: String, kind: MessageKind, now: Instant) {
        let length = text.chars().count().try_into().unwrap_or(u32::MAX);
        let shortest = match kind {
            MessageKind::Problem => PROBLEM_TIME,
            MessageKind::Note => MESSAGE_TIME,
        };
        let begin = self.hidden.unwrap_or(now);
        let message = Message {
            until: begin + shortest.max(CHARACTER_TIME.saturating_mul(length)),
            text,
        };
        match kind {
            MessageKind::Problem => {
                let lines: Vec<_> = message.text.lines().map(escaped).collect();
                report(&lines.join("\n"));
                add_problem(&mut self.problems, message, |problem| &problem.text);
            }
            MessageKind::Note => self.note = Some(message),
        }
    }

    /// Returns whether a message is displayed that disappears by itself.
    pub(super) fn has_timed(&self) -> bool {
        self.note.is_some() || !self.problems.is_empty()
    }

    /// Stops the time of the messages while the window is not visible.
    pub(super) fn set_visible(&mut self, is_visible: bool, now: Instant) {
        if !is_visible {
            self.hidden.get_or_insert(now);
        } else if let Some(since) = self.hidden.take() {
            for message in self.problems.iter_mut().chain(&mut self.note) {
                message.until += now - since;
            }
        }
    }

    /// Returns the time at which the next message disappears by itself; `None` if there is no message, or the window is
    /// hidden.
    pub(super) fn until(&self) -> Option<Instant> {
        let messages = self.problems.iter().chain(&self.note);
        let until = messages.map(|message| message.until).min();
        until.filter(|_| self.hidden.is_none())
    }

    /// Removes the messages whose display time is over at `now`. Returns whether one was removed.
    pub(super) fn expire(&mut self, now: Instant) -> bool {
        let has_expired = self.until().is_some_and(|until| until <= now);
        if has_expired {
            self.note.take_if(|note| note.until <= now);
            self.problems.retain(|problem| problem.until > now);
        }
        has_expired
    }

    /// Removes all messages. Returns whether there was one.
    pub(super) fn close(&mut self) -> bool {
        let had_note = self.note.take().is_some();
        let had_problem = !self.problems.is_empty();
        self.problems.clear();
        had_note || had_problem
    }

    /// Displays the problems, the note and further lines at the lower edge of `region`, or at its upper edge if
    /// `at_top`. Long ones can be scrolled, and each problem has a button that removes it.
    pub(super) fn show(&mut self, context: &Context, region: Rect, at_top: bool, lines: &[Line]) {
        if lines.is_empty() && !self.has_timed() {
            return;
        }
        let room = region.shrink(MARGIN.min(region.width() / 32.0));
        let (pivot, place) = match at_top {
            false => (Align2::CENTER_BOTTOM, room.center_bottom()),
            true => (Align2::CENTER_TOP, room.center_top()),
        };
        let area = Area::new(Id::new("messages"))
            .order(Order::Foreground)
            .pivot(pivot)
            .fixed_pos(place)
            .constrain(false);
        let shown = area.show(context, |ui| {
            let frame = Frame::window(ui.style()).inner_margin(6);
            frame.show(ui, |ui| {
                ui.set_max_width((room.width() - 14.0).max(20.0));
                ui.spacing_mut().item_spacing.y = 2.0;
                let height = (MAX_SHARE * region.height()).max(MIN_HEIGHT);
                if !self.problems.is_empty() {
                    let scroll = ScrollArea::vertical()
                        .id_salt("problems")
                        .max_height(height);
                    scroll.show(ui, |ui| self.show_problems(ui));
                }
                let scroll = ScrollArea::vertical().id_salt("notes").max_height(height);
                scroll.show(ui, |ui| self.show_notes(ui, lines));
            });
        });
        // The place follows from the size in the pass before.
        let size = shown.response.rect.size();
        if std::mem::replace(&mut self.size, size) != size {
            context.request_discard("the messages have another size");
        }
    }

    fn show_problems(&mut self, ui: &mut Ui) {
        let mut closed = None;
        for (place, problem) in self.problems.iter().enumerate().rev() {
            ui.horizontal_top(|ui| {
                let close = ui.small_button("×").on_hover_text("remove this problem");
                close.widget_info(|| {
                    WidgetInfo::labeled(WidgetType::Button, true, "remove the problem")
                });
                if close.clicked() {
                    closed = Some(place);
                }
                let text = RichText::new(&problem.text).color(color(WARNING));
                ui.add(Label::new(text).wrap().selectable(true));
            });
        }
        if let Some(closed) = closed {
            self.problems.remove(closed);
        }
    }

    fn show_notes(&self, ui: &mut Ui, lines: &[Line]) {
        if let Some(note) = &self.note {
            let text = RichText::new(&note.text).color(color(BRIGHT));
            ui.add(Label::new(text).wrap().selectable(true));
        }
        for (line, text) in lines {
            ui.add(Label::new(RichText::new(text).color(color(*line))).wrap());
        }
    }
}
