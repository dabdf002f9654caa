//! Asks before unsaved changes of the scene are lost.

use super::Viewer;
use crate::{
    session::Change,
    window::view::{Answer, Pending, Question},
};

impl Viewer {
    /// Quits as by a key or, if `by_button`, as by the close button of the window. With unsaved changes, asks first, unless
    /// the user sees that question already.
    pub(in crate::window) fn quit(&mut self, by_button: bool) {
        // Only the button can be pressed by mistake while another question is displayed.
        let is_other = |question: &Question| question.pending != Pending::Quit;
        if by_button || !self.view.question.as_ref().is_some_and(is_other) {
            self.quits |= self.may_discard(Pending::Quit);
        }
    }

    /// Returns whether the changes of the scene may be lost now. Asks about unsaved ones and returns `false`, unless the
    /// user sees the question about the same already.
    pub(super) fn may_discard(&mut self, pending: Pending) -> bool {
        let Some(text) = self.session.unsaved_changes() else {
            return true;
        };
        let is_visible = self.screen.is_visible();
        let is_answered = self
            .view
            .question
            .take()
            .is_some_and(|question| question.is_shown && question.pending == pending);
        if is_answered && is_visible {
            return true;
        }
        let path = &self.session.scene.path;
        self.view.question = Some(Question {
            pending,
            text,
            can_save: path.extension().is_some_and(|ending| ending == "ron"),
            is_shown: false,
        });
        if !is_visible {
            self.screen.uncover();
        }
        self.screen.refresh_soon();
        false
    }

    /// Carries out the answer to the question about unsaved changes, if there is one.
    pub(super) fn answer(&mut self, answer: Answer) {
        let Some(question) = self.view.question.take() else {
            return;
        };
        if answer == Answer::Cancel {
            return;
        }
        if answer == Answer::Save {
            self.session.act(Change::SaveCamera);
            // A failure is reported as a problem.
            if self.session.unsaved_changes().is_some() {
                return;
            }
        }
        match question.pending {
            Pending::Quit => self.quits = true,
            Pending::Open(path) => self.session.open_file(path),
        }
    }
}
