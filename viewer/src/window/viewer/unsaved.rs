//! Asks before unsaved changes of the scene are lost.

use std::path::PathBuf;

use super::{Viewer, name};
use crate::window::message::Request;
use raysieve_scene::Scene;

/// A request to close the window.
#[derive(Clone, Copy)]
pub(in crate::window) enum QuitRequest {
    /// The key `q`.
    Key,
    /// Escape, which cancels a question instead of answering it.
    Escape,
    /// The close button of the window, or what does the same.
    CloseButton,
}

impl Viewer {
    /// Returns whether the window may close now. With unsaved changes, asks and returns `false`, unless the user sees
    /// that question already. Escape never closes a window with unsaved changes, and after it has removed a question, it
    /// asks again only after other input.
    pub(in crate::window) fn may_quit(&mut self, request: QuitRequest) -> bool {
        let answer = match request {
            QuitRequest::Key => "q again quits without saving, Escape cancels",
            QuitRequest::CloseButton => "closing again quits without saving, Escape cancels",
            QuitRequest::Escape => "q quits without saving, Escape cancels",
        };
        if matches!(request, QuitRequest::Escape) {
            return match self.unsaved_changes() {
                Some(_) if self.view.has_cancelled() => false,
                Some(what) => {
                    self.ask(Request::Quit, &what, answer);
                    false
                }
                None => true,
            };
        }
        self.may_discard(Request::Quit, answer)
    }

    /// Returns whether the changes of the scene may be lost now. Asks about unsaved ones and returns `false`, unless the
    /// user sees the question about this request already. `answer` tells how to answer it.
    fn may_discard(&mut self, request: Request, answer: &str) -> bool {
        match self.unsaved_changes() {
            Some(what) => self.ask(request, &what, answer),
            None => true,
        }
    }

    /// Returns what has changed and is not saved, and how it can be saved; `None` if nothing has.
    fn unsaved_changes(&self) -> Option<String> {
        let is_saved = self.saved_state.as_ref() == Some(&self.session.edit_state());
        self.session.unsaved_changes().filter(|_| !is_saved)
    }

    /// Asks about unsaved changes. Returns whether the user sees the question about this request already.
    fn ask(&mut self, request: Request, what: &str, answer: &str) -> bool {
        let is_visible = self.screen.is_visible();
        if self.view.ask(request, format!("{what}; {answer}")) && is_visible {
            return true;
        }
        if !is_visible {
            self.screen.uncover();
        }
        self.screen.refresh();
        false
    }

    /// Opens a scene or model file that was dropped on the window, and displays a message. The current scene stays
    /// until the file is loaded. If it has unsaved changes, asks to drop the file again.
    pub(in crate::window) fn open_file(&mut self, path: PathBuf) {
        if let Err(problem) = Scene::check_name(&path) {
            self.view.withdraw_question();
            return self.say_problem(format!("{}: {problem}", path.display()));
        }
        let answer = format!(
            "dropping {} again opens it without saving, Escape cancels",
            name(&path)
        );
        if !self.may_discard(Request::Open(path.clone()), &answer) {
            return;
        }
        self.view.withdraw_question();
        if let Some(message) = self.session.open_file(path) {
            self.say(message);
        }
    }
}
