//! The newest messages to the users of the page.

use std::time::{Duration, Instant};

/// The last note and the last problem, each with its number since the start; 0 and an empty text before the first.
/// Both are displayed, so that no note replaces a problem that nobody has seen.
#[derive(Default)]
pub(super) struct UserMessages {
    note: (u64, String),
    problem: (u64, String),
    /// Time at which the problem was first sent to a viewer; `None` before.
    problem_sent: Option<Instant>,
}

/// Time after which a note removes a problem that was sent, so that viewers who join later do not receive it. The page
/// displays a problem at least as long.
const PROBLEM_TIME: Duration = Duration::from_secs(10);

impl UserMessages {
    /// Replaces the note and the problem by those that are given. A note also removes a problem that viewers have had
    /// for ten seconds at `now`.
    pub(super) fn add(&mut self, note: Option<String>, problem: Option<String>, now: Instant) {
        if let Some(note) = note {
            self.note = (self.note.0 + 1, note);
            let is_old = |sent: Instant| now.saturating_duration_since(sent) >= PROBLEM_TIME;
            if self.problem_sent.is_some_and(is_old) {
                self.problem.1.clear();
            }
        }
        if let Some(problem) = problem {
            self.problem = (self.problem.0 + 1, problem);
            self.problem_sent = None;
        }
    }

    /// Records that both messages are sent to a viewer at `now`.
    pub(super) fn mark_sent(&mut self, now: Instant) {
        self.problem_sent.get_or_insert(now);
    }

    /// Returns the number of notes and the last one.
    pub(super) fn note(&self) -> (u64, &str) {
        (self.note.0, &self.note.1)
    }

    /// Returns the number of problems and the last one. The text is empty if a note has removed it.
    pub(super) fn problem(&self) -> (u64, &str) {
        (self.problem.0, &self.problem.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_removes_only_a_problem_that_was_displayed() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut messages = UserMessages::default();
        messages.mark_sent(at(0));
        let (note, problem) = ("saved".to_owned(), "not saved".to_owned());
        messages.add(Some(note.clone()), Some(problem.clone()), at(20));
        messages.add(Some(note.clone()), None, at(100));
        assert_eq!(messages.problem(), (1, "not saved"), "nobody has seen it");

        messages.mark_sent(at(100));
        messages.mark_sent(at(109));
        messages.add(Some(note.clone()), None, at(109));
        assert_eq!(messages.problem(), (1, "not saved"), "it is displayed");
        messages.add(Some(note.clone()), None, at(110));
        assert_eq!(
            (messages.note(), messages.problem()),
            ((4, "saved"), (1, ""))
        );

        messages.add(None, Some(problem), at(111));
        messages.add(Some(note), None, at(130));
        assert_eq!(messages.problem(), (2, "not saved"), "it is another one");
    }
}
