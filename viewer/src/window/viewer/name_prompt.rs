//! Typing the name of a file in the window, on desktops where no dialog can be opened.

use std::path::{Path, PathBuf};

use winit::keyboard::{Key, NamedKey};

use super::{Viewer, name};
use crate::window::{
    message::Prompt,
    save::in_full,
    save_as::{Choice, check_name, is_same_file, offered_endings, with_ending},
};
use raysieve_scene::{atomic_file::folder_of, escaped};

/// The name of a file while it is typed.
pub(super) struct NamePrompt {
    /// Name that is used if nothing is typed.
    proposed: String,
    typed: String,
    /// Folder of the scene's file, to which the name is relative.
    folder: PathBuf,
    /// Whether the next Enter replaces an existing file.
    replaces: bool,
    /// Reason why nothing can be saved under the typed name, until the name changes; `None` if there is none.
    problem: Option<String>,
}

/// Maximum number of characters of a typed name.
const MAX_TYPED: usize = 1024;

impl NamePrompt {
    /// Returns the chosen name: what is typed or, without that, the proposed name.
    fn name(&self) -> &str {
        match self.typed.trim() {
            "" => &self.proposed,
            typed => typed,
        }
    }

    /// Returns the path of the file to save, which has an ending.
    fn path(&self) -> PathBuf {
        let path = self.folder.join(self.name());
        with_ending(path.clone()).unwrap_or_else(|_| path.with_extension("png"))
    }

    /// Returns the text to display. `endings` lists the endings that are possible.
    fn text(&self, endings: &str) -> String {
        let typed = escaped(&self.typed);
        let enter = match (self.replaces, self.typed.is_empty()) {
            (true, _) => format!("{} exists: Enter replaces it", escaped(&name(&self.path()))),
            (false, true) => format!("Enter: {}", escaped(&self.proposed)),
            (false, false) => "Enter: save".to_owned(),
        };
        format!(
            "save as: {typed}_\n{enter}, Escape: cancel\nname in {}, ending in {endings}",
            escaped(&self.folder.display().to_string())
        )
    }
}

impl Viewer {
    /// Lets the user type the name of a file.
    pub(super) fn ask_typed_name(&mut self, proposed: String) {
        self.name_prompt = Some(NamePrompt {
            proposed,
            typed: String::new(),
            folder: in_full(folder_of(&self.session.scene().path)),
            replaces: false,
            problem: None,
        });
        self.show_name_prompt();
    }

    /// Passes a pressed key to the name that is being typed. Returns `false` if none is.
    pub(in crate::window) fn type_name(&mut self, key: &Key) -> bool {
        let is_text = !self.ctrl();
        let Some(prompt) = &mut self.name_prompt else {
            return false;
        };
        let replaces = std::mem::take(&mut prompt.replaces);
        let problem = prompt.problem.take();
        match key {
            Key::Named(NamedKey::Escape) => {
                self.name_prompt = None;
                self.save_as(Choice::Cancelled);
            }
            Key::Named(NamedKey::Enter) => {
                let path = prompt.path();
                // The scene's own file gets the changes, which needs no other check.
                let is_own = is_same_file(&path, &self.session.scene().path);
                let checked = match is_own {
                    true => Ok(()),
                    false => check_name(&path, &self.session.scene_to_save()),
                };
                match checked {
                    Err(error) => prompt.problem = Some(error.to_string()),
                    Ok(()) if !replaces && exists(&path) => prompt.replaces = true,
                    Ok(()) => {
                        self.name_prompt = None;
                        self.save_as(Choice::Path(path));
                    }
                }
            }
            Key::Named(NamedKey::Backspace) => drop(prompt.typed.pop()),
            Key::Named(NamedKey::Space) => prompt.add(" "),
            Key::Character(letters) if is_text => prompt.add(letters),
            _ => (prompt.replaces, prompt.problem) = (replaces, problem),
        }
        self.show_name_prompt();
        true
    }

    /// Displays the name that is being typed, or that none is any more.
    fn show_name_prompt(&mut self) {
        let endings = offered_endings(&self.session.scene().path);
        let prompt = self.name_prompt.as_ref().map(|prompt| Prompt {
            text: prompt.text(endings),
            problem: prompt.problem.as_deref().map(escaped),
        });
        self.view.set_prompt(prompt);
        self.screen.refresh();
    }
}

impl NamePrompt {
    /// Adds typed letters, as far as there is room.
    fn add(&mut self, letters: &str) {
        let room = MAX_TYPED.saturating_sub(self.typed.chars().count());
        let letters = letters.chars().filter(|letter| !letter.is_control());
        self.typed.extend(letters.take(room));
    }
}

/// Returns whether a file or folder is at `path`, or may be.
fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
