//! Keeps unsaved edits in a file while the scene is open, so that they survive a crash of the program, of the display
//! or of the machine. The file goes when the edits are saved, undone or discarded.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    thread::JoinHandle,
    time::{Duration, Instant, SystemTime},
};

use super::{
    Session,
    saving::{UnsavedChanges, write_refusal},
};
use crate::{
    Error,
    error::report,
    session::{
        events::EventSender,
        lock,
        render_thread::{Ended, has_failed},
        spawn,
    },
};
use raysieve_scene::{atomic_file::replace, can_save_view, error_line, escaped};

/// Time from an edit until its writing begins, unless another write is running. Further edits do not delay it.
const DELAY: Duration = Duration::from_secs(3);

/// Pause after a write, as a multiple of its duration: the edits of a large model take long to write.
const PAUSE: u32 = 10;

/// Number of names for unsaved edits that are looked for when a scene is opened.
const SEARCHED_NAMES: usize = 9;

/// The schedule for writing unsaved edits, and the thread that writes them.
#[derive(Default)]
pub(super) struct Autosave {
    /// Whether there was a change since the last write began.
    has_changed: bool,
    /// Time of the next look at the changes and at the last write; `None` if there is nothing to do.
    due: Option<Instant>,
    /// Earliest time of the next write.
    rests_until: Option<Instant>,
    /// Thread that writes or removes the file. It returns whether it has succeeded, and its duration.
    writing: Option<JoinHandle<(bool, Duration)>>,
    file: Arc<Mutex<AutosaveFile>>,
}

/// The file with the unsaved edits of a session.
#[derive(Default)]
struct AutosaveFile {
    /// `None` if no file was written.
    written: Option<WrittenFile>,
    /// Whether a failure has been reported since the last success.
    has_reported: bool,
}

struct WrittenFile {
    path: PathBuf,
    scene: PathBuf,
    mark: FileMark,
}

/// The size, time and number of a file, which differ once another file has replaced it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FileMark {
    bytes: u64,
    modified: Option<SystemTime>,
    /// Number of the file in its file system; 0 on systems without such numbers.
    number: u64,
}

impl FileMark {
    fn of(metadata: &fs::Metadata) -> FileMark {
        #[cfg(unix)]
        let number = std::os::unix::fs::MetadataExt::ino(metadata);
        #[cfg(not(unix))]
        let number = 0;
        FileMark {
            bytes: metadata.len(),
            modified: metadata.modified().ok(),
            number,
        }
    }

    /// Returns the mark of the file at `path`; `None` if there is none.
    fn at(path: &Path) -> Option<FileMark> {
        fs::metadata(path).ok().as_ref().map(FileMark::of)
    }
}

impl AutosaveFile {
    /// Removes the file, because its edits are saved or discarded. `open` is the path of the scene that is open.
    fn remove(&mut self, open: &Path) {
        self.forget_unless_own(open);
        if let Some(WrittenFile { path, .. }) = self.written.take() {
            // The user may have removed it.
            let _ = fs::remove_file(path);
        }
    }

    /// Forgets the file if it is no longer as the viewer has written it, or if it is the scene that is open now. It
    /// then belongs to the user, and is neither overwritten nor removed.
    fn forget_unless_own(&mut self, open: &Path) {
        self.written.take_if(|written| {
            let mark = Some(written.mark);
            FileMark::at(&written.path) != mark || FileMark::at(open) == mark
        });
    }

    /// Writes the changes in place of earlier ones or, without any, to a file with a free name in the folder of the
    /// scene. Earlier changes of another scene are removed, because they have been discarded.
    ///
    /// Returns the path of the file, and the end of a message about the changes that it lacks; empty if it has all.
    ///
    /// # Errors
    /// If the file cannot be written.
    fn write(&mut self, changes: &UnsavedChanges) -> Result<(PathBuf, String), Error> {
        let scene = changes.scene_path();
        self.forget_unless_own(scene);
        if self
            .written
            .as_ref()
            .is_some_and(|file| file.scene != scene)
        {
            self.remove(scene);
        }
        let own = self
            .written
            .as_ref()
            .map(|file| (file.path.clone(), Some(file.mark)));
        let free = unsaved_names(scene).map(|name| (name, None));
        let mut places = own.into_iter().chain(free);
        loop {
            let place = places.find(|(path, mark)| FileMark::at(path) == *mark);
            let Some((path, mark)) = place else {
                return Err(Error::not_saved(scene, "no name is free in its folder"));
            };
            let (text, without) = changes.text(&path);
            let written = replace(
                &path,
                |file| file.write_all(text.as_bytes()),
                || match FileMark::at(&path) == mark {
                    true => Ok(()),
                    false => Err(io::ErrorKind::AlreadyExists.into()),
                },
            );
            match written {
                Ok(metadata) => {
                    self.written = Some(WrittenFile {
                        path: path.clone(),
                        scene: scene.to_owned(),
                        mark: FileMark::of(&metadata),
                    });
                    return Ok((path, without));
                }
                // Another program has written there meanwhile.
                Err(_) if FileMark::at(&path) != mark => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Writes the changes like [`write`](Self::write), and reports it to standard error. Prints the changes to standard
    /// output if the file cannot be written, or cannot contain all of them.
    fn keep(&mut self, changes: &UnsavedChanges) {
        let path = changes.scene_path();
        let changed = format!(
            "{}: {} changed and not saved",
            path.display(),
            changes.words
        );
        let written = self.write(changes);
        let printed = "they are printed as scene text";
        let line = match &written {
            Ok((target, without)) if without.is_empty() => {
                format!("{changed}; {} contains them", target.display())
            }
            Ok((target, without)) => {
                let kept = target.display();
                format!("{changed}; they are kept in {kept}{without}, and {printed}")
            }
            Err(_) => format!("{changed}; {printed}"),
        };
        if !written.is_ok_and(|(_, without)| without.is_empty()) {
            // Standard output may be closed.
            let _ = writeln!(io::stdout(), "{}", changes.text);
        }
        report(&escaped(&line));
    }

    /// Returns a message about the files with unsaved edits of the scene at `path` besides this one; `None` if there are
    /// none.
    fn message_about_others(&self, path: &Path) -> Option<String> {
        let own = self.written.as_ref().map(|written| written.mark);
        let is_other = |name: &PathBuf| {
            let mark = FileMark::at(name).filter(|_| name.is_file());
            mark.is_some() && mark != own
        };
        let found: Vec<_> = unsaved_names(path)
            .take(SEARCHED_NAMES)
            .filter(is_other)
            .map(|name| name.display().to_string())
            .collect();
        let (verb, them) = match found.len() {
            0 => return None,
            1 => ("contains", "it"),
            _ => ("contain", "them"),
        };
        let without = match can_save_view(path) {
            true => "",
            false => " (comments at its end list edits that it cannot apply)",
        };
        Some(format!(
            "{} {verb} edits that were not saved; open {them} to go on, or delete {them}{without}",
            found.join(", ")
        ))
    }

    /// Writes the changes, or removes the file if there are none. `open` is the path of the scene that is open. Reports
    /// the first failure after a success to standard error and to the users. Returns whether it has succeeded.
    fn update(
        &mut self,
        changes: Option<UnsavedChanges>,
        open: &Path,
        events: &EventSender,
    ) -> bool {
        let Some(changes) = changes else {
            self.remove(open);
            return true;
        };
        let written = self.write(&changes);
        if let Err(error) = &written
            && !self.has_reported
        {
            let scene = open.display();
            let problem = error_line(&format!("{scene}: cannot back up unsaved edits: {error}"));
            report(&problem);
            events.problem(problem);
        }
        self.has_reported = written.is_err();
        written.is_ok()
    }
}

/// Returns the names of files for unsaved changes of the scene whose file is at `path`, in the order of their use.
fn unsaved_names(path: &Path) -> impl Iterator<Item = PathBuf> {
    (1..=MAX_UNSAVED).map(|number| match number {
        1 => path.with_extension("unsaved.ron"),
        _ => path.with_extension(format!("unsaved-{number}.ron")),
    })
}

/// Maximum number of files with unsaved changes of one scene.
const MAX_UNSAVED: u32 = 999;

impl Session {
    /// Schedules the writing of unsaved edits, after a change of the scene or the camera, or after a save.
    pub(crate) fn schedule_autosave(&mut self) {
        self.autosave.has_changed = true;
        let due = Instant::now() + DELAY;
        self.autosave.due.get_or_insert(due);
    }

    /// Writes the unsaved edits to a file next to the scene if that is due at `now`, on a thread of its own. Removes the
    /// file if there are none. A camera that was only moved is not worth a file. Returns the time of the next call; `None`
    /// if there is none before the next change.
    pub(crate) fn autosave_if_due(&mut self, now: Instant) -> Option<Instant> {
        let due = self.autosave.due?;
        if now < due {
            return Some(due);
        }
        self.autosave.due = self.autosave(now);
        self.autosave.due
    }

    /// Does what is due, and returns the time of the next call; `None` if there is nothing to do before the next change.
    fn autosave(&mut self, now: Instant) -> Option<Instant> {
        let is_writing = |writing: &mut JoinHandle<(bool, Duration)>| !writing.is_finished();
        if self.autosave.writing.as_mut().is_some_and(is_writing) {
            return Some(now + DELAY);
        }
        if let Some(writing) = self.autosave.writing.take() {
            // After a panic, the file is as it was before.
            let (is_written, duration) = writing.join().unwrap_or_default();
            self.autosave.has_changed |= !is_written;
            self.autosave.rests_until = Some(now + duration * PAUSE);
        }
        if !self.autosave.has_changed {
            return None;
        }
        let rests_until = self.autosave.rests_until;
        if let Some(end) = rests_until.filter(|&end| now < end) {
            return Some(end);
        }
        let changes = match write_refusal(&self.scene.path) {
            None => self.edits_to_keep(),
            Some(_) => None,
        };
        let (file, open) = (self.autosave.file.clone(), self.scene.path.clone());
        let events = self.events.clone();
        let writing = spawn("autosave", move || {
            let start = Instant::now();
            (lock(&file).update(changes, &open, &events), start.elapsed())
        });
        self.autosave.has_changed = writing.is_err();
        self.autosave.writing = writing.ok();
        Some(now + DELAY)
    }

    /// Keeps the changes `unsaved` in a file, ends the render thread after the current wave, and returns the renderer. If
    /// an error has ended the render before, returns that error together with the renderer.
    ///
    /// Without `unsaved`, a file with edits is removed. But if the render has failed, all unsaved changes are kept.
    ///
    /// # Errors
    /// [`Error::Window`] if the render thread panicked; the renderer is lost then.
    pub(crate) fn finish(mut self, unsaved: Option<UnsavedChanges>) -> Result<Ended, Error> {
        let mut file = self.take_autosave_file();
        let if_failed = match unsaved {
            // The user may not wait for the end of the render.
            Some(unsaved) => {
                file.keep(&unsaved);
                return self.render.finish();
            }
            None => self.changes_to_keep(),
        };
        let ended = self.render.finish();
        match if_failed.filter(|_| has_failed(&ended)) {
            Some(changes) => file.keep(&changes),
            None => file.remove(&self.scene.path),
        }
        ended
    }

    /// Ends the writing of unsaved edits, and returns their file.
    fn take_autosave_file(&mut self) -> AutosaveFile {
        if let Some(writing) = self.autosave.writing.take() {
            // After a panic, the file is as it was before.
            let _ = writing.join();
        }
        std::mem::take(&mut lock(&self.autosave.file))
    }

    /// Returns a message about the edits of the scene that an earlier session has left in files; `None` if there are
    /// none.
    pub(crate) fn earlier_autosaves_message(&self) -> Option<String> {
        lock(&self.autosave.file).message_about_others(&self.scene.path)
    }

    /// Reports a problem about the edits of an opened scene that an earlier session has left in files, if there are any.
    /// Searches on a thread of its own, because the files can be locked while edits are written.
    pub(super) fn report_earlier_autosaves(&self) {
        let (file, open) = (self.autosave.file.clone(), self.scene.path.clone());
        let events = self.events.clone();
        // Without a free thread, only the message is lost.
        let _ = spawn("earlier autosaves", move || {
            let mut file = lock(&file);
            file.forget_unless_own(&open);
            if let Some(message) = file.message_about_others(&open) {
                events.problem(message);
            }
        });
    }
}
