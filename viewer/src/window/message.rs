//! The window's messages.

use std::time::{Duration, Instant};

/// The displayed messages, and when the last one disappeared by itself.
///
/// A problem has a place of its own, so that no note replaces a problem that the user has not seen.
#[derive(Default)]
pub(super) struct Messages {
    problem: Option<Message>,
    note: Option<Message>,
    /// Question about what the user is about to do. It stays until the user answers it or does something else.
    question: Option<Question>,
    /// Time at which the last message disappeared by itself; `None` if there was none, or other input has followed.
    expired: Option<Instant>,
}

/// A message to the user.
struct Message {
    text: String,
    /// Whether the message is about the inspected path.
    is_of_path: bool,
    /// Time at which the message disappears by itself.
    until: Instant,
}

/// A question that the user answers by a second request.
struct Question {
    text: String,
    /// Whether the question has been drawn.
    is_drawn: bool,
}

/// The kind of a message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageKind {
    /// A note, such as the effect of a key.
    Note,
    /// A problem, which is marked as an error, displayed longer, and not replaced by notes.
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

impl Messages {
    /// Displays a message from `now` on, for 60 ms per character, but at least three seconds. A problem stays at least
    /// ten seconds. A problem replaces the previous problem, and a note the previous note.
    pub(super) fn show(&mut self, text: String, kind: MessageKind, now: Instant) {
        let reading = CHARACTER_TIME * text.chars().count().try_into().unwrap_or(u32::MAX);
        let (place, shortest) = match kind {
            MessageKind::Problem => (&mut self.problem, PROBLEM_TIME),
            MessageKind::Note | MessageKind::PathNote => (&mut self.note, MESSAGE_TIME),
        };
        *place = Some(Message {
            text,
            is_of_path: kind == MessageKind::PathNote,
            until: now + shortest.max(reading),
        });
    }

    /// Displays a question until [`withdraw`](Self::withdraw) or Escape removes it.
    pub(super) fn ask(&mut self, text: String) {
        self.question = Some(Question {
            text,
            is_drawn: false,
        });
    }

    /// Returns whether a question is displayed and has been drawn, so that the user can answer it.
    pub(super) fn is_asking(&self) -> bool {
        self.question
            .as_ref()
            .is_some_and(|question| question.is_drawn)
    }

    /// Removes the question, because the user did something else.
    pub(super) fn withdraw(&mut self) {
        self.question = None;
    }

    /// Records that the displayed texts have been drawn.
    pub(super) fn mark_drawn(&mut self) {
        if let Some(question) = &mut self.question {
            question.is_drawn = true;
        }
    }

    /// Returns the displayed texts from top to bottom, each with whether it is marked as an error, like a question.
    pub(super) fn texts(&self) -> impl Iterator<Item = (&str, bool)> {
        let problem = self.problem.iter().map(|problem| (&*problem.text, true));
        let note = self.note.iter().map(|note| (&*note.text, false));
        let question = self.question.iter();
        (problem.chain(note)).chain(question.map(|question| (&*question.text, true)))
    }

    /// Returns the time at which the next message disappears by itself; `None` if there is no message.
    pub(super) fn until(&self) -> Option<Instant> {
        let messages = self.problem.iter().chain(&self.note);
        messages.map(|message| message.until).min()
    }

    /// Removes the messages whose display time is over at `now`. Returns whether one was removed.
    pub(super) fn expire(&mut self, now: Instant) -> bool {
        let mut has_expired = false;
        for place in [&mut self.problem, &mut self.note] {
            has_expired |= place.take_if(|message| message.until <= now).is_some();
        }
        if has_expired {
            self.expired = Some(now);
        }
        has_expired
    }

    /// Handles Escape at `now`: removes the question or, without one, all messages. Returns `false` if there is none,
    /// unless the last one disappeared by itself within the last second and no other input has followed. Escape was
    /// then meant for that one.
    pub(super) fn escape(&mut self, now: Instant) -> bool {
        let expired = self.expired.take();
        let is_late = expired.is_some_and(|at| now.saturating_duration_since(at) < ESCAPE_GRACE);
        self.question.take().is_some() || self.close() || is_late
    }

    /// Removes all messages. Returns whether there was one.
    pub(super) fn close(&mut self) -> bool {
        let messages = [self.problem.take(), self.note.take()];
        messages.iter().any(Option::is_some)
    }

    /// Removes the note if it is about the inspected path.
    pub(super) fn close_path_note(&mut self) {
        self.note.take_if(|note| note.is_of_path);
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
        // Returns messages of which one has disappeared by itself after three seconds.
        let expired = || {
            let mut messages = Messages::default();
            messages.show("saved".to_owned(), MessageKind::Note, begin);
            assert!(!messages.expire(at(29)) && messages.expire(at(30)));
            messages
        };
        let mut soon = expired();
        assert!(soon.escape(at(39)), "it is taken as meant for the message");
        assert!(!soon.escape(at(39)), "another one is not");
        assert!(!expired().escape(at(40)), "a second later, it is not");
        let mut used = expired();
        used.forget_expired();
        assert!(!used.escape(at(31)), "after other input, it is not");

        let mut closed = Messages::default();
        closed.show("saved".to_owned(), MessageKind::Note, begin);
        assert!(closed.escape(at(10)), "it removes a message");
        assert!(!closed.escape(at(10)), "which was not late");
    }

    #[test]
    fn a_problem_is_displayed_beside_later_notes() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut messages = Messages::default();
        messages.show("not saved".to_owned(), MessageKind::Problem, begin);
        messages.show("orbit mode".to_owned(), MessageKind::Note, begin);
        let selected = "floor: l edits it";
        messages.show(selected.to_owned(), MessageKind::PathNote, at(1));
        let texts = |messages: &Messages| -> Vec<(String, bool)> {
            let texts = messages.texts();
            texts
                .map(|(text, is_problem)| (text.to_owned(), is_problem))
                .collect()
        };
        let problem = ("not saved".to_owned(), true);
        assert_eq!(
            texts(&messages),
            [problem.clone(), (selected.to_owned(), false)]
        );
        messages.close_path_note();
        assert_eq!(texts(&messages), [problem], "the note goes with the path");

        messages.show("fly mode".to_owned(), MessageKind::Note, at(2));
        assert_eq!(messages.until(), Some(at(5)), "the note goes first");
        assert!(messages.expire(at(5)));
        assert_eq!(messages.until(), Some(at(10)));
        messages.show("orbit mode".to_owned(), MessageKind::Note, at(6));
        assert!(messages.escape(at(7)), "it removes both");
        assert_eq!(texts(&messages), []);
        assert!(!messages.escape(at(7)), "neither disappeared by itself");
    }
}
