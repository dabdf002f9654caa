//! Questions about unsaved changes, and the name of a file that is typed.

use std::path::PathBuf;

use egui::{Align2, Context, Id, Key, Modal, Rect, RichText, TextEdit, Window};

use super::{Request, View};
use crate::{
    overlay::colors::WARNING,
    window::{save_as::Purpose, theme::color},
};

/// What is about to happen, and would lose unsaved changes.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::window) enum Pending {
    Quit,
    Open(PathBuf),
}

/// A question about unsaved changes. It stays until the user answers it.
pub(in crate::window) struct Question {
    /// What happens if the changes may be lost.
    pub(in crate::window) pending: Pending,
    /// What has changed, and how it can be saved.
    pub(in crate::window) text: String,
    /// Whether the changes can be saved to the scene's file.
    pub(in crate::window) can_save: bool,
    /// Whether the question has been displayed, so that a second request answers it.
    pub(in crate::window) is_shown: bool,
}

/// An answer to a question about unsaved changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::window) enum Answer {
    /// Saves the changes first.
    Save,
    Discard,
    /// Does not do what was requested.
    Cancel,
}

/// The name of a file while it is typed, on desktops where no dialog can be opened.
pub(in crate::window) struct NamePrompt {
    pub(in crate::window) purpose: Purpose,
    /// Name that is used if nothing is typed.
    pub(in crate::window) proposed: String,
    pub(in crate::window) typed: String,
    /// Folder of the scene's file, to which the name is relative.
    pub(in crate::window) folder: PathBuf,
    /// Endings of possible names, for people.
    pub(in crate::window) endings: String,
    /// Whether the name is that of an existing file, which the next Enter replaces.
    pub(in crate::window) replaces: bool,
    /// Reason why the name cannot be used, until it changes; `None` if there is none.
    pub(in crate::window) problem: Option<String>,
}

impl NamePrompt {
    /// Returns the path of the typed name or, if nothing is typed, of the proposed one.
    pub(in crate::window) fn path(&self) -> PathBuf {
        let typed = self.typed.trim();
        self.folder.join(match typed.is_empty() {
            true => &self.proposed,
            false => typed,
        })
    }
}

impl View {
    /// Displays the question and the prompt for a name, if there are any, over the region of the picture.
    pub(super) fn show_dialogs(&mut self, context: &Context, picture: Rect) {
        let requests = &mut self.requests;
        if let Some(prompt) = &mut self.prompt {
            show_prompt(context, picture, prompt, requests);
        }
        if let Some(question) = &mut self.question {
            question.is_shown = true;
            show_question(context, question, requests);
        }
    }
}

fn show_question(context: &Context, question: &Question, requests: &mut Vec<Request>) {
    let (discard, key) = match &question.pending {
        Pending::Quit => ("Quit without saving", " (q)"),
        Pending::Open(_) => ("Open without saving", ""),
    };
    let shown = Modal::new(Id::new("question")).show(context, |ui| {
        let width = (context.content_rect().width() - 30.0).clamp(40.0, 420.0);
        ui.set_max_width(width);
        ui.label(RichText::new(&question.text).color(color(WARNING)));
        ui.horizontal_wrapped(|ui| {
            if question.can_save && ui.button("Save").clicked() {
                requests.push(Request::Answer(Answer::Save));
            }
            if ui.button(format!("{discard}{key}")).clicked() {
                requests.push(Request::Answer(Answer::Discard));
            }
            if ui.button("Cancel (Escape)").clicked() {
                requests.push(Request::Answer(Answer::Cancel));
            }
        });
    });
    if shown.backdrop_response.clicked() {
        requests.push(Request::Answer(Answer::Cancel));
    }
}

fn show_prompt(
    context: &Context,
    picture: Rect,
    prompt: &mut NamePrompt,
    requests: &mut Vec<Request>,
) {
    let title = match prompt.purpose {
        Purpose::Save => "Save as",
        Purpose::Open => "Open",
    };
    let width = (picture.width() - 40.0).clamp(60.0, 420.0);
    let window = Window::new(title)
        .collapsible(false)
        .resizable(false)
        .anchor(
            Align2::CENTER_CENTER,
            picture.center() - context.content_rect().center(),
        );
    window.show(context, |ui| {
        ui.set_width(width);
        let field = TextEdit::singleline(&mut prompt.typed)
            .id(Id::new("file name"))
            .hint_text(prompt.proposed.clone())
            .desired_width(width)
            .char_limit(1024);
        let field = ui.add(field);
        if field.changed() {
            (prompt.replaces, prompt.problem) = (false, None);
        }
        let is_entered = field.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
        let is_cancelled = ui.input(|input| input.key_pressed(Key::Escape));
        ui.label(format!(
            "in {}, ending in {}",
            prompt.folder.display(),
            prompt.endings
        ));
        if let Some(problem) = &prompt.problem {
            ui.label(RichText::new(problem).color(color(WARNING)));
        }
        if prompt.replaces {
            ui.label(RichText::new("this file exists").color(color(WARNING)));
        }
        ui.horizontal(|ui| {
            let accept = match (prompt.purpose, prompt.replaces) {
                (Purpose::Save, true) => "Replace",
                (Purpose::Save, false) => "Save",
                (Purpose::Open, _) => "Open",
            };
            let is_accepted = ui.button(format!("{accept} (Enter)")).clicked() || is_entered;
            if ui.button("Cancel (Escape)").clicked() || is_cancelled {
                requests.push(Request::Typed(None));
            } else if is_accepted {
                requests.push(Request::Typed(Some(prompt.path())));
            }
        });
        // Everything that is typed belongs to the name.
        if !is_cancelled && context.memory(|memory| memory.focused()).is_none() {
            field.request_focus();
        }
    });
}
