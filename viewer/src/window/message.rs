//! The window's messages.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use crate::{error::report, session::add_problem};
use raysieve_scene::escaped;

/// The displayed messages, and when the last one disappeared by itself. Their time passes only while the window is
/// visible.
///
/// Problems are kept until the user has seen them: no note replaces a problem, and an earlier problem is displayed again
/// after a later one.
#[derive(Default)]
pub(super) struct Messages {
    /// Problems, the newest last. Only the newest is displayed, and only its time passes.
    problems: Vec<Message>,
    note: Option<Message>,
    /// Question about what the user is about to do. It stays until the user answers it or does something else.
    question: Option<Question>,
    /// Whether Escape has removed the question, and no other input has followed.
    is_cancelled: bool,
    /// Name that is being typed; `None` if none is.
    prompt: Option<Prompt>,
    /// Time since which the window is hidden; `None` while it is visible.
    hidden: Option<Instant>,
    /// Time at which the last message disappeared by itself; `None` if there was none, or other input has followed.
    expired: Option<Instant>,
}

/// A message to the user.
struct Message {
    text: String,
    kind: MessageKind,
    /// Whether the text has been printed.
    is_printed: bool,
    /// Time at which the message disappears by itself, unless the window is hidden before.
    until: Instant,
}

/// The name of a file that is being typed, as it is displayed.
pub(super) struct Prompt {
    /// The name so far, and what can be done with it.
    pub(super) text: String,
    /// Reason why nothing can be saved under the name; `None` if there is none.
    pub(super) problem: Option<String>,
}

/// A request about which the user is asked, because it would lose unsaved changes.
#[derive(Debug, PartialEq)]
pub(super) enum Request {
    /// Quits the program.
    Quit,
    /// Opens this file.
    Open(PathBuf),
}

/// A question that the user answers by a second request.
struct Question {
    request: Request,
    text: String,
    /// Whether the question has been drawn.
    is_drawn: bool,
}

/// The kind of a message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageKind {
    /// A note, such as the effect of a key.
    Note,
    /// A note that has also been printed to standard output.
    PrintedNote,
    /// A problem, which is marked as an error, displayed longer, and not replaced by other messages. It is also printed
    /// to standard error.
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

impl Message {
    /// Displays the message from `now` on.
    fn begin(&mut self, now: Instant) {
        let length = self.text.chars().count().try_into().unwrap_or(u32::MAX);
        let shortest = match self.kind {
            MessageKind::Problem => PROBLEM_TIME,
            _ => MESSAGE_TIME,
        };
        self.until = now + shortest.max(CHARACTER_TIME * length);
    }

    /// Prints the text to standard error, unless it has been printed.
    fn print(&mut self) {
        if !std::mem::replace(&mut self.is_printed, true) {
            let lines: Vec<_> = self.text.lines().map(escaped).collect();
            report(&lines.join("\n"));
        }
    }

    /// Returns the text to display: shortened by `shorten` if it is too long, and then printed as a whole.
    fn draw(&mut self, shorten: &impl Fn(&str) -> Option<String>) -> String {
        match shorten(&self.text) {
            Some(short) => {
                self.print();
                short
            }
            None => self.text.clone(),
        }
    }
}

impl Messages {
    /// Displays a message from `now` on, for 60 ms per character, but at least three seconds. A problem stays at least
    /// ten seconds. A problem is displayed before earlier problems, and in place of an equal one. A note replaces the
    /// previous note.
    pub(super) fn show(&mut self, text: String, kind: MessageKind, now: Instant) {
        let mut message = Message {
            text,
            kind,
            is_printed: kind == MessageKind::PrintedNote,
            until: now,
        };
        message.begin(self.hidden.unwrap_or(now));
        match kind {
            MessageKind::Problem => {
                message.print();
                add_problem(&mut self.problems, message, |problem| &problem.text);
            }
            _ => self.note = Some(message),
        }
    }

    /// Displays a question about a request until [`withdraw`](Self::withdraw) or Escape removes it. Returns whether a
    /// question about that request has been drawn already, so that the user has answered it.
    pub(super) fn ask(&mut self, request: Request, text: String) -> bool {
        self.is_cancelled = false;
        let mut last = self.question.take();
        let last = last.take_if(|last| last.request == request);
        let is_drawn = last.is_some_and(|last| last.is_drawn);
        self.question = Some(Question {
            request,
            text,
            is_drawn,
        });
        is_drawn
    }

    /// Removes the question, because the user did something else.
    pub(super) fn withdraw(&mut self) {
        self.question = None;
        self.is_cancelled = false;
    }

    /// Returns whether Escape has removed the question, and neither another question nor
    /// [`withdraw`](Self::withdraw) has followed.
    pub(super) fn has_cancelled(&self) -> bool {
        self.is_cancelled
    }

    /// Displays a name that is being typed; `None` removes it.
    pub(super) fn set_prompt(&mut self, prompt: Option<Prompt>) {
        self.prompt = prompt;
    }

    /// Returns the texts to draw from top to bottom, each with whether it is marked as an error. `shorten` returns what
    /// is displayed of a text that is too long, which is then printed as a whole. The question, which is the last, is
    /// never shortened, and counts as drawn.
    pub(super) fn draw(&mut self, shorten: impl Fn(&str) -> Option<String>) -> Vec<(String, bool)> {
        let mut texts = Vec::new();
        let earlier = self.problems.len().saturating_sub(1);
        if let Some(problem) = self.problems.last_mut() {
            texts.push((problem.draw(&shorten), true));
        }
        if earlier > 0 {
            let s = if earlier == 1 { "" } else { "s" };
            texts.push((format!("Escape: {earlier} earlier problem{s}"), true));
        }
        if let Some(note) = &mut self.note {
            texts.push((note.draw(&shorten), false));
        }
        if let Some(Prompt { text, problem }) = &self.prompt {
            texts.extend(problem.iter().map(|problem| (problem.clone(), true)));
            texts.push((text.clone(), false));
        }
        if let Some(question) = &mut self.question {
            question.is_drawn = true;
            texts.push((question.text.clone(), true));
        }
        texts
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
            for message in self.problems.last_mut().into_iter().chain(&mut self.note) {
                message.until += now - since;
            }
        }
    }

    /// Returns the time at which the next message disappears by itself; `None` if there is no message, or the window is
    /// hidden.
    pub(super) fn until(&self) -> Option<Instant> {
        let messages = self.problems.last().into_iter().chain(&self.note);
        let until = messages.map(|message| message.until).min();
        until.filter(|_| self.hidden.is_none())
    }

    /// Removes the messages whose display time is over at `now`. Returns whether one was removed.
    pub(super) fn expire(&mut self, now: Instant) -> bool {
        let has_expired = self.until().is_some_and(|until| until <= now);
        if has_expired {
            let is_over = |message: &mut Message| message.until <= now;
            self.note.take_if(is_over);
            if self.problems.last_mut().is_some_and(is_over) {
                self.close_problem(now);
            }
            self.expired = Some(now);
        }
        has_expired
    }

    /// Handles Escape at `now`: removes the question or, without one, messages as [`close`](Self::close) does. Returns
    /// `false` if there is none. In the second after a message has disappeared by itself, Escape was meant for that one,
    /// unless other input has followed. It then removes nothing.
    pub(super) fn escape(&mut self, now: Instant) -> bool {
        let expired = self.expired.take();
        let is_late = expired.is_some_and(|at| now.saturating_duration_since(at) < ESCAPE_GRACE);
        let has_cancelled = self.question.take().is_some();
        self.is_cancelled |= has_cancelled;
        has_cancelled || is_late || self.close(now)
    }

    /// Removes the note and the displayed problem; `now` begins the time of an earlier problem. Returns whether there was
    /// one.
    pub(super) fn close(&mut self, now: Instant) -> bool {
        let had_note = self.note.take().is_some();
        self.close_problem(now) || had_note
    }

    /// Displays the next earlier problem instead of the newest one. Returns whether there was one.
    fn close_problem(&mut self, now: Instant) -> bool {
        let closed = self.problems.pop();
        if let Some(next) = self.problems.last_mut() {
            next.begin(self.hidden.unwrap_or(now));
        }
        closed.is_some()
    }

    /// Removes the note if it is about the inspected path.
    pub(super) fn close_path_note(&mut self) {
        self.note.take_if(|note| note.kind == MessageKind::PathNote);
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

    /// Returns the displayed texts, and whether each is marked as an error.
    fn drawn(messages: &mut Messages) -> Vec<(String, bool)> {
        messages.draw(|_| None)
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
        let problem = ("not saved".to_owned(), true);
        assert_eq!(
            drawn(&mut messages),
            [problem.clone(), (selected.to_owned(), false)]
        );
        messages.close_path_note();
        assert_eq!(
            drawn(&mut messages),
            [problem],
            "the note goes with the path"
        );

        messages.show("fly mode".to_owned(), MessageKind::Note, at(2));
        assert_eq!(messages.until(), Some(at(5)), "the note goes first");
        assert!(messages.expire(at(5)));
        assert_eq!(messages.until(), Some(at(10)));
        messages.show("orbit mode".to_owned(), MessageKind::Note, at(6));
        messages.forget_expired();
        assert!(messages.escape(at(7)), "it removes both");
        assert_eq!(drawn(&mut messages), []);
        assert!(!messages.escape(at(7)), "neither disappeared by itself");
    }

    #[test]
    fn earlier_problems_are_displayed_one_after_the_other() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut messages = Messages::default();
        for problem in ["first", "second", "first", "third"] {
            messages.show(problem.to_owned(), MessageKind::Problem, begin);
        }
        let texts = |messages: &mut Messages| {
            let texts = drawn(messages).into_iter();
            texts.map(|(text, _)| text).collect::<Vec<_>>()
        };
        assert_eq!(
            texts(&mut messages),
            ["third", "Escape: 2 earlier problems"]
        );
        assert!(messages.expire(at(10)));
        assert_eq!(texts(&mut messages), ["first", "Escape: 1 earlier problem"]);
        assert!(messages.escape(at(10)), "it was meant for the third");
        assert_eq!(texts(&mut messages), ["first", "Escape: 1 earlier problem"]);
        assert!(messages.escape(at(15)));
        assert_eq!(texts(&mut messages), ["second"]);
        assert_eq!(messages.until(), Some(at(25)), "its time begins again");
    }

    #[test]
    fn time_counts_only_while_the_window_is_visible() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut messages = Messages::default();
        messages.show("orbit mode".to_owned(), MessageKind::Note, begin);
        messages.set_visible(false, at(2));
        messages.show("not saved".to_owned(), MessageKind::Problem, at(50));
        assert_eq!(messages.until(), None);
        assert!(!messages.expire(at(99)));
        messages.set_visible(false, at(99));
        messages.set_visible(true, at(100));
        assert!(!messages.expire(at(100)));
        assert!(messages.expire(at(101)));
        assert_eq!(messages.until(), Some(at(110)));
    }
}
