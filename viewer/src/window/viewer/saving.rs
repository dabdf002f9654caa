//! Saves what the window displays, on threads of its own, and opens scenes, models and images to compare with. Asks before
//! unsaved changes of the scene are lost.

use std::{
    io::Write,
    path::{Path, PathBuf},
    sync::Arc,
    thread::{self, JoinHandle, ThreadId},
};

use super::{Viewer, name};
use crate::{
    Error,
    overlay::FigureFormat,
    saved_picture::SavedPicture,
    session::{Action, Change, EditState, spawn},
    window::{
        Wake,
        layout::Placement,
        save_as::{
            Choice, Dialog, Proposal, Purpose, check_name, in_full, is_same_file, offered_endings,
            proposed_name, save_numbered, with_ending,
        },
        view::{Answer, NamePrompt, Pending, Question},
    },
};
use raysieve::{film::picture::comparison::ComparisonImage, render::output::PictureFormat};
use raysieve_scene::{
    Image, Scene,
    atomic_file::{folder_of, write_whole},
    catch_panics::panic_text,
    escaped,
};

/// The message about a saved file, and the camera and edits if a new scene file contains all of them; or why nothing was
/// saved.
pub(super) type SaveResult = Result<(String, Option<EditState>), Error>;

impl Viewer {
    /// Returns a copy of what is displayed, to save it; `None` before the first frame.
    fn displayed(&self) -> Option<SavedPicture> {
        let (frame, image) = (self.view.frame.clone()?, self.view.debug_image.clone());
        let units = (self.view.settings.statistics == Placement::Overlay)
            .then_some(self.view.settings.units);
        Some(SavedPicture::new(&self.session, frame, image, units))
    }

    /// Saves the picture or the debug image, never denoised, as a numbered PNG next to the scene, on a thread of its
    /// own. Does nothing before the first frame.
    pub(super) fn save(&mut self) {
        if let Some(displayed) = self.displayed() {
            self.save_by(move || Ok((save_numbered(&displayed)?, None)));
        }
    }

    /// Copies the displayed figures to the clipboard. Does nothing before the first frame.
    pub(super) fn copy_figures(&mut self, format: FigureFormat) {
        if let Some(text) = self.view.figures_text(&self.session, format) {
            self.screen.context().copy_text(text);
            let name = match format {
                FigureFormat::Csv => "CSV",
                FigureFormat::Json => "JSON",
            };
            self.say(format!("figures copied as {name}; F saves them to a file"));
        }
    }

    /// Asks for the name of a file to save to; see [`ask`](Self::ask).
    pub(super) fn ask_name(&mut self, proposal: Proposal) {
        let proposed = proposed_name(&self.session.scene.path, proposal);
        self.ask(Purpose::Save, proposed);
    }

    /// Asks for a file to open; see [`ask`](Self::ask).
    pub(super) fn ask_to_open(&mut self) {
        self.ask(Purpose::Open, name(&self.session.scene.path));
    }

    /// Opens a dialog for the name of a file unless one is open, and displays a message. `Wake::Chosen` follows. Lets the
    /// user type the name in the window instead if no dialog could be opened before.
    fn ask(&mut self, purpose: Purpose, proposed: String) {
        if self.view.prompt.is_some() {
            return;
        }
        if self.has_no_dialog {
            return self.ask_typed_name(purpose, proposed);
        }
        // The dialog may be behind the window, and some desktops take seconds to open it or to report that they cannot.
        self.say(match purpose {
            Purpose::Save => "choose a name in the dialog",
            Purpose::Open => "choose a file in the dialog",
        });
        if self.asks_name {
            return;
        }
        let wake = self.wake.clone();
        let dialog = Dialog::new(
            purpose,
            &self.session.scene.path,
            proposed,
            &self.screen.window,
        );
        let ask = move || drop(wake.send_event(Wake::Chosen(purpose, dialog.path())));
        match spawn("dialog", ask) {
            Ok(_) => self.asks_name = true,
            Err(error) => self.say_problem(format!("cannot ask for a name: {error}")),
        }
    }

    /// Saves to the file that the user has chosen, or opens it. If no dialog could be opened, lets the user type the name
    /// in the window.
    pub(in crate::window) fn finish_dialog(&mut self, purpose: Purpose, choice: Choice) {
        self.asks_name = false;
        match (choice, purpose) {
            (Choice::Cancelled, Purpose::Save) => self.say("nothing saved".to_owned()),
            (Choice::Cancelled, Purpose::Open) => self.say("nothing opened".to_owned()),
            (Choice::Path(path), Purpose::Save) => self.save_to(path),
            (Choice::Path(path), Purpose::Open) => self.open_file(path),
            (Choice::NoDialog(proposed), _) => {
                self.has_no_dialog = true;
                self.say("no dialog: install xdg-desktop-portal or zenity to get one".to_owned());
                self.ask_typed_name(purpose, proposed);
            }
        }
    }

    /// Saves under a name that the user has chosen, as its ending asks for. The scene's own file gets camera and edits, as
    /// by `K`. Does nothing before the first frame.
    fn save_to(&mut self, path: PathBuf) {
        let Some(displayed) = self.displayed() else {
            return;
        };
        let path = match with_ending(path) {
            Ok(path) => path,
            Err(error) => return self.say_problem(error.to_string()),
        };
        if is_same_file(&path, &self.session.scene.path) {
            return self.act(Action::Render(Change::SaveCamera));
        }
        let scene = self.session.scene_to_save();
        if let Err(error) = check_name(&path, &scene) {
            return self.say_problem(error.to_string());
        }
        let figures = FigureFormat::of(&path)
            .and_then(|format| self.view.figures_text(&self.session, format));
        let (format, saved) = (PictureFormat::of(&path), path.display().to_string());
        let to = path.clone();
        let write = move |bytes: &[u8]| write_whole(&to, |file| file.write_all(bytes));
        if let Some(figures) = figures {
            return self.save_by(move || {
                write(figures.as_bytes())?;
                Ok((format!("figures saved to {saved}"), None))
            });
        }
        match format {
            Some(PictureFormat::Png) => self.save_by(move || {
                write(&displayed.png(png::Compression::default())?)?;
                Ok((format!("picture saved to {saved}"), None))
            }),
            Some(PictureFormat::Exr) => {
                let film = self.session.request_film();
                self.save_by(move || {
                    film.write(&path)?;
                    Ok((format!("light with all layers saved to {saved}"), None))
                });
            }
            None => {
                let state = self.session.edit_state();
                self.save_by(move || {
                    let (text, without) = scene.text(&path)?;
                    write(text.as_bytes())?;
                    let state = without.is_empty().then_some(state);
                    Ok((format!("scene saved to {saved}{without}"), state))
                });
            }
        }
    }

    /// Saves something on a thread of its own, which sends `Wake::Saved` at its end.
    fn save_by(&mut self, save: impl FnOnce() -> SaveResult + Send + 'static) {
        let wake = self.wake.clone();
        let save = move || {
            let saved = save();
            let _ = wake.send_event(Wake::Saved(thread::current().id()));
            saved
        };
        match spawn("save", save) {
            Ok(save) => self.saves.push(save),
            Err(error) => self.say_problem(format!("cannot save: {error}")),
        }
    }

    /// Displays the result of the saving thread with this id, and joins the thread. Must be called when the thread has
    /// sent its id, just before it ends.
    pub(in crate::window) fn report_save(&mut self, thread: ThreadId) {
        let mut saves = self.saves.iter();
        let Some(place) = saves.position(|save| save.thread().id() == thread) else {
            return;
        };
        let saved = joined(self.saves.swap_remove(place));
        match saved {
            Ok((message, state)) => {
                state
                    .into_iter()
                    .for_each(|state| self.session.record_saved(state));
                self.say(message);
            }
            Err(error) => self.say_problem(error.to_string()),
        }
    }

    /// Lets the user type the name of a file.
    pub(super) fn ask_typed_name(&mut self, purpose: Purpose, proposed: String) {
        let scene = &self.session.scene.path;
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
        let is_own = is_same_file(&path, &self.session.scene.path);
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

    /// Opens a scene or model file, and displays a message. The current scene stays until the file is loaded. If it has
    /// unsaved changes, asks first. An image is compared with the picture instead.
    pub(in crate::window) fn open_file(&mut self, path: PathBuf) {
        if Image::is_named(&path) {
            return self.open_image(path);
        }
        if let Err(problem) = Scene::check_name(&path) {
            return self.say_problem(format!("{}: {problem}", path.display()));
        }
        if self.may_discard(Pending::Open(path.clone())) {
            self.session.open_file(path);
        }
    }

    /// Reads an image on a thread of its own, to compare the picture with it. `Wake::Compared` follows.
    fn open_image(&mut self, path: PathBuf) {
        let wake = self.wake.clone();
        let read = move || drop(wake.send_event(Wake::Compared(ComparisonImage::open(&path))));
        if let Err(error) = spawn("image", read) {
            self.say_problem(format!("cannot read the image: {error}"));
        }
    }

    /// Compares the picture side by side with an image that was read, or displays why it could not be read.
    pub(in crate::window) fn compare(&mut self, image: Result<ComparisonImage, raysieve::Error>) {
        match image {
            Ok(image) => {
                let image = Arc::new(image);
                let file = escaped(&name(image.path()));
                self.session.compare_with(image.clone());
                self.view.show_wipe(&image);
                self.update_debug_image();
                self.say(format!(
                    "compared with {file}: x ends that, X shows the error"
                ));
            }
            Err(error) => self.say_problem(error.to_string()),
        }
    }

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

/// Waits for a saving thread, and returns its result; a panic counts as an [`Error::Window`].
pub(super) fn joined(save: JoinHandle<SaveResult>) -> SaveResult {
    save.join()
        .unwrap_or_else(|panic| Err(Error::window(panic_text(&*panic))))
}

/// Endings of files that can be opened, for people.
const OPENED: &str = ".ron, .xml, .pbrt, .glb, .gltf, .obj or .ply, or an image to compare with";

/// Returns whether a file or folder is at `path`, or may be.
fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
