//! The newest messages to the users of the page.

use std::time::{Duration, Instant};

use super::messages::UserMessage;
use crate::session::{Message, add_problem};

/// The last note and the last problems. All are displayed, so that no message replaces a problem that nobody has seen.
#[derive(Default)]
pub(super) struct UserMessages {
    /// Number of notes since the start, and the last one; an empty text before the first.
    note: (u64, Message),
    /// Number of problems since the start.
    count: u64,
    /// The last problems, the newest last.
    problems: Vec<Problem>,
}

/// A problem that the page displays.
struct Problem {
    /// Number of the problem since the start, from 1.
    number: u64,
    message: Message,
    /// Time at which the problem was first sent to a viewer; `None` before.
    sent: Option<Instant>,
}

/// Time after which a message removes a problem that was sent, so that viewers who join later do not receive it. The page
/// displays a problem at least as long.
const PROBLEM_TIME: Duration = Duration::from_secs(10);

impl UserMessages {
    /// Replaces the note if there is one, and adds problems. Removes problems that viewers have had for ten seconds at
    /// `now`.
    pub(super) fn add(&mut self, note: Option<Message>, problems: Vec<Message>, now: Instant) {
        let is_old = |sent: Instant| now.saturating_duration_since(sent) >= PROBLEM_TIME;
        self.problems
            .retain(|problem| !problem.sent.is_some_and(is_old));
        if let Some(note) = note {
            self.note = (self.note.0 + 1, note);
        }
        for message in problems {
            self.count += 1;
            let problem = Problem {
                number: self.count,
                message,
                sent: None,
            };
            add_problem(&mut self.problems, problem, |problem| {
                problem.message.for_keyboard()
            });
        }
    }

    /// Records that all messages are sent to a viewer at `now`.
    pub(super) fn mark_sent(&mut self, now: Instant) {
        for problem in &mut self.problems {
            problem.sent.get_or_insert(now);
        }
    }

    /// Returns the number of notes and the last one.
    pub(super) fn note(&self) -> UserMessage {
        user_message(self.note.0, &self.note.1)
    }

    /// Returns the last problems, the newest last, each with its number.
    pub(super) fn problems(&self) -> Vec<UserMessage> {
        let problems = self.problems.iter();
        problems
            .map(|problem| user_message(problem.number, &problem.message))
            .collect()
    }
}

fn user_message(number: u64, message: &Message) -> UserMessage {
    let touch = message.for_touch().map(str::to_owned);
    (number, message.for_keyboard().clone(), touch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_problems_that_were_displayed_are_removed() {
        let all = |number, text: &str| (number, text.to_owned(), None);
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut messages = UserMessages::default();
        messages.mark_sent(at(0));
        let (note, problem) = (Message::from("saved"), Message::from("not saved"));
        messages.add(Some(note.clone()), vec![problem.clone()], at(20));
        messages.add(Some(note.clone()), Vec::new(), at(100));
        assert_eq!(
            messages.problems(),
            [all(1, "not saved")],
            "nobody has seen it"
        );

        messages.mark_sent(at(100));
        messages.add(None, vec!["no image".into()], at(105));
        messages.mark_sent(at(109));
        messages.add(Some(note.clone()), Vec::new(), at(109));
        let both = [all(1, "not saved"), all(2, "no image")];
        assert_eq!(messages.problems(), both, "they are displayed");
        messages.add(Some(note.clone()), Vec::new(), at(110));
        assert_eq!(messages.note(), all(4, "saved"));
        assert_eq!(messages.problems(), [all(2, "no image")]);

        let problems = vec![problem, "no image".into()];
        messages.add(None, problems, at(111));
        let both = [all(3, "not saved"), all(4, "no image")];
        assert_eq!(messages.problems(), both, "an equal one is new");
    }
}
