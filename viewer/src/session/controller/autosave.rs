//! Keeps unsaved edits in a file while the scene is open, so that they survive a crash of the program, of the display
//! or of the machine. The file goes when the edits are saved, undone or discarded.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use super::{
    Session,
    saving::{EditState, UnsavedChanges, free_path, unsaved_names, write_refusal},
};
use crate::{error::report, session::lock};
use raysieve_scene::escaped;

/// Maximum time from an edit until it is in the file, apart from the time for writing. Further edits do not delay it.
const DELAY: Duration = Duration::from_secs(3);

/// Number of names for unsaved changes that are looked for when a scene is opened.
const SEARCHED_NAMES: u32 = 9;

/// The schedule for writing unsaved edits, and the thread that writes them.
#[derive(Default)]
pub(super) struct Autosave {
    /// Time at which the file must be brought up to date; `None` if nothing has changed since.
    due: Option<Instant>,
    /// Thread that writes or removes the file; `None` before the first.
    writing: Option<JoinHandle<()>>,
    file: Arc<Mutex<EditsFile>>,
}

/// The file with the unsaved edits of a session.
#[derive(Default)]
pub(crate) struct EditsFile {
    /// Path of the file, and that of the scene's file; `None` if there is no such file.
    written: Option<(PathBuf, PathBuf)>,
    /// Whether a failure has been reported.
    has_reported: bool,
}

impl EditsFile {
    /// Removes the file, because its edits are saved or discarded.
    pub(crate) fn remove(&mut self) {
        if let Some((path, _)) = self.written.take() {
            // The user may have removed it.
            let _ = fs::remove_file(path);
        }
    }

    /// Returns the path of the file for the edits of the scene at `scene`: of the present one, or a free one. A file with
    /// the edits of another scene is removed, because they have been discarded.
    pub(super) fn path(&mut self, scene: &Path) -> Result<PathBuf, crate::Error> {
        if let Some((path, _)) = self.written.as_ref().filter(|(_, of)| of == scene) {
            return Ok(path.clone());
        }
        self.remove();
        free_path(scene)
    }

    /// Writes the changes in place of earlier ones, or removes the file if there are none. Reports the first failure to
    /// standard error.
    fn update(&mut self, changes: Option<UnsavedChanges>) {
        let Some(changes) = changes else {
            return self.remove();
        };
        let scene = changes.scene_path().to_owned();
        let written = self.path(&scene).and_then(|path| {
            changes.write(&path)?;
            Ok(path)
        });
        match written {
            Ok(path) => self.written = Some((path, scene)),
            Err(error) if !self.has_reported => {
                self.has_reported = true;
                let scene = scene.display();
                let line = format!("{scene}: unsaved edits are not kept for a crash: {error}");
                report(&escaped(&line));
            }
            Err(_) => {}
        }
    }
}

impl Session {
    /// Notes that the scene or the camera has changed, or has been saved.
    pub(crate) fn note_change(&mut self) {
        let due = Instant::now() + DELAY;
        self.autosave.due.get_or_insert(due);
    }

    /// Writes the unsaved edits to a file next to the scene if that is due at `now`, on a thread of its own. Removes the
    /// file if there are none, or if they are those of the state `saved`. A camera that was only moved is not worth a
    /// file. Returns the time of the next call; `None` if there is none before the next change.
    pub(crate) fn keep_edits(
        &mut self,
        saved: Option<&EditState>,
        now: Instant,
    ) -> Option<Instant> {
        let due = self.autosave.due?;
        if now < due {
            return Some(due);
        }
        let is_writing = |writing: &JoinHandle<()>| !writing.is_finished();
        if self.autosave.writing.as_ref().is_some_and(is_writing) {
            self.autosave.due = Some(now + DELAY);
            return self.autosave.due;
        }
        self.autosave.due = None;
        let is_possible = self.has_edits() && write_refusal(&self.scene.path).is_none();
        let changes = match is_possible {
            true => self.changes_to_keep(saved),
            false => None,
        };
        let file = self.autosave.file.clone();
        let writing = thread::Builder::new()
            .name("autosave".to_owned())
            .spawn(move || lock(&file).update(changes));
        self.autosave.writing = writing.ok();
        None
    }

    /// Ends the writing of unsaved edits, and returns their file.
    pub(crate) fn take_edits_file(&mut self) -> EditsFile {
        if let Some(writing) = self.autosave.writing.take() {
            // After a panic, the file is as it was before.
            let _ = writing.join();
        }
        std::mem::take(&mut lock(&self.autosave.file))
    }

    /// Returns a message about the edits of the scene that an earlier session has kept; `None` if there are none.
    pub(crate) fn kept_edits(&self) -> Option<String> {
        let names = unsaved_names(&self.scene.path).take(SEARCHED_NAMES as usize);
        let found: Vec<_> = names
            .filter(|name| name.is_file())
            .map(|name| name.display().to_string())
            .collect();
        let (verb, them) = match found.len() {
            0 => return None,
            1 => ("contains", "it"),
            _ => ("contain", "them"),
        };
        Some(format!(
            "{} {verb} edits that were not saved; open {them} to go on, or delete {them}",
            found.join(", ")
        ))
    }
}
