//! The window's message.

use std::time::{Duration, Instant};

/// The displayed message, if any, and when the last one disappeared by itself.
#[derive(Default)]
pub(super) struct MessageSlot {
    message: Option<Message>,
    /// Time at which the last message disappeared by itself; `None` if there was none, or other input has followed.
    expired: Option<Instant>,
}

/// A message to the user.
struct Message {
    text: String,
    kind: MessageKind,
    /// Time at which the message disappears by itself.
    until: Instant,
}

/// The kind of a message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageKind {
    /// A note, such as the effect of a key.
    Note,
    /// A problem, which is marked as an error and displayed longer.
    Problem,
    /// A note about the inspected path, which is removed when the user hides the path.
    PathNote,
}

/// Minimum display time of a message.
const MESSAGE_TIME: Duration = Duration::from_secs(3);
/// Minimum display time of a problem.
const PROBLEM_TIME: Duration = Duration::from_secs(10);
/// Display time of a message per character, if that exceeds the minimum.
const CHARACTER_TIME: Duration = Duration::from_millis(60);
/// Time after a message has disappeared by itself during which Escape counts as dismissing it.
const ESCAPE_GRACE: Duration = Duration::from_secs(1);

impl MessageSlot {
    /// Displays a message from `now` on, in place of the previous one, for 60 ms per character, but at least three
    /// seconds. A problem stays at least ten seconds.
    pub(super) fn show(&mut self, text: String, kind: MessageKind, now: Instant) {
        let reading = CHARACTER_TIME * text.chars().count().try_into().unwrap_or(u32::MAX);
        let shortest = match kind {
            MessageKind::Problem => PROBLEM_TIME,
            MessageKind::Note | MessageKind::PathNote => MESSAGE_TIME,
        };
        self.message = Some(Message {
            text,
            kind,
            until: now + shortest.max(reading),
        });
    }

    /// Displays a note about the inspected path from `now` on, as [`show`](Self::show), unless a problem is displayed.
    pub(super) fn show_path_note(&mut self, text: String, now: Instant) {
        let is_problem = |message: &Message| message.kind == MessageKind::Problem;
        if !self.message.as_ref().is_some_and(is_problem) {
            self.show(text, MessageKind::PathNote, now);
        }
    }

    /// Returns the displayed text, and whether it is marked as an error; `None` if there is no message.
    pub(super) fn text(&self) -> Option<(&str, bool)> {
        let message = self.message.as_ref()?;
        Some((&message.text, message.kind == MessageKind::Problem))
    }

    /// Returns the time at which the message disappears by itself; `None` if there is no message.
    pub(super) fn until(&self) -> Option<Instant> {
        self.message.as_ref().map(|message| message.until)
    }

    /// Removes the message if its display time is over at `now`. Returns whether one was removed.
    pub(super) fn expire(&mut self, now: Instant) -> bool {
        let expired = self.message.take_if(|message| message.until <= now);
        if expired.is_some() {
            self.expired = Some(now);
        }
        expired.is_some()
    }

    /// Handles Escape at `now`: removes the message. Returns `false` if there is none, unless the last one disappeared
    /// by itself within the last second and no other input has followed. Escape was then meant for that one.
    pub(super) fn escape(&mut self, now: Instant) -> bool {
        let expired = self.expired.take();
        let is_late = expired.is_some_and(|at| now.saturating_duration_since(at) < ESCAPE_GRACE);
        self.close() || is_late
    }

    /// Removes the message. Returns whether there was one.
    pub(super) fn close(&mut self) -> bool {
        self.message.take().is_some()
    }

    /// Removes the message if it is about the inspected path.
    pub(super) fn close_path_note(&mut self) {
        self.message
            .take_if(|message| message.kind == MessageKind::PathNote);
    }

    /// Handles input: an Escape after it is no longer attributed to a message that has disappeared. Call it after
    /// [`escape`](Self::escape).
    pub(super) fn forget_expired(&mut self) {
        self.expired = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_soon_after_a_message_has_disappeared_is_meant_for_it() {
        let begin = Instant::now();
        let at = |tenths: u64| begin + Duration::from_millis(100 * tenths);
        // Returns a place whose message has disappeared by itself after three seconds.
        let expired = || {
            let mut slot = MessageSlot::default();
            slot.show("saved".to_owned(), MessageKind::Note, begin);
            assert!(!slot.expire(at(29)) && slot.expire(at(30)));
            slot
        };
        let mut soon = expired();
        assert!(soon.escape(at(39)), "it is taken as meant for the message");
        assert!(!soon.escape(at(39)), "another one is not");
        assert!(!expired().escape(at(40)), "a second later, it is not");
        let mut used = expired();
        used.forget_expired();
        assert!(!used.escape(at(31)), "after other input, it is not");

        let mut closed = MessageSlot::default();
        closed.show("saved".to_owned(), MessageKind::Note, begin);
        assert!(closed.escape(at(10)), "it removes a message");
        assert!(!closed.escape(at(10)), "which was not late");
    }

    #[test]
    fn notes_about_paths_do_not_replace_problems() {
        let now = Instant::now();
        let mut slot = MessageSlot::default();
        slot.show("not saved".to_owned(), MessageKind::Problem, now);
        slot.show_path_note("floor: l edits it".to_owned(), now);
        assert_eq!(slot.text(), Some(("not saved", true)));

        slot.show("saved".to_owned(), MessageKind::Note, now);
        slot.show_path_note("floor: l edits it".to_owned(), now);
        assert_eq!(slot.text(), Some(("floor: l edits it", false)));
        slot.close_path_note();
        assert_eq!(slot.text(), None, "it is removed with the path");
    }
}
