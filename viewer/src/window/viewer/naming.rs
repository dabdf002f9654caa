//! Typing the name of a file in the window, on desktops where no dialog can be opened.

use std::path::{Path, PathBuf};

use super::Viewer;
use crate::window::{
    save::in_full,
    save_as::{Choice, Purpose, check_name, is_same_file, offered_endings, with_ending},
    view::NamePrompt,
};
use raysieve_scene::atomic_file::folder_of;

/// Endings of files that can be opened, for people.
const OPENED: &str = ".ron, .xml, .pbrt, .glb, .gltf, .obj or .ply, or an image to compare with";

impl Viewer {
    /// Lets the user type the name of a file.
    pub(super) fn ask_typed_name(&mut self, purpose: Purpose, proposed: String) {
        let scene = &self.session.scene().path;
        let endings = match purpose {
            Purpose::Save => offered_endings(scene),
            Purpose::Open => OPENED,
        };
        self.view.prompt = Some(NamePrompt {
            purpose,
            proposed,
            typed: String::new(),
            folder: in_full(folder_of(scene)),
            endings: endings.to_owned(),
            replaces: false,
            problem: None,
        });
        self.screen.refresh_soon();
    }

    /// Saves or opens the file whose name was typed; `None` if the user has cancelled. If the name cannot be used, says so
    /// beside it.
    pub(super) fn finish_prompt(&mut self, path: Option<PathBuf>) {
        let Some(prompt) = &mut self.view.prompt else {
            return;
        };
        let purpose = prompt.purpose;
        let Some(path) = path else {
            self.view.prompt = None;
            return self.finish_dialog(purpose, Choice::Cancelled);
        };
        if purpose == Purpose::Open {
            match path.is_file() {
                true => {
                    self.view.prompt = None;
                    self.finish_dialog(purpose, Choice::Path(path));
                }
                false => prompt.problem = Some(format!("{} is no file", path.display())),
            }
            return;
        }
        let path = with_ending(path.clone()).unwrap_or_else(|_| path.with_extension("png"));
        // The scene's own file gets the changes, which needs no other check.
        let is_own = is_same_file(&path, &self.session.scene().path);
        let checked = match is_own {
            true => Ok(()),
            false => check_name(&path, &self.session.scene_to_save()),
        };
        match checked {
            Err(error) => prompt.problem = Some(error.to_string()),
            Ok(()) if !prompt.replaces && exists(&path) => prompt.replaces = true,
            Ok(()) => {
                self.view.prompt = None;
                self.finish_dialog(purpose, Choice::Path(path));
            }
        }
    }
}

/// Returns whether a file or folder is at `path`, or may be.
fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
