//! Saves what the window displays, on threads of its own.

use std::{
    io::Write,
    path::PathBuf,
    thread::{self, JoinHandle, ThreadId},
};

use super::Viewer;
use crate::{
    Error,
    overlay::FigureFormat,
    saved_picture::SavedPicture,
    session::{Action, Change, EditState},
    window::{
        Wake,
        layout::Placement,
        save::save_numbered,
        save_as::{
            Choice, Dialog, Proposal, Purpose, check_name, is_same_file, proposed_name, with_ending,
        },
    },
};
use raysieve::render::output::PictureFormat;
use raysieve_scene::{atomic_file::write_whole, catch_panics::panic_text};

/// The message about a saved file, and the camera and edits if a new scene file contains all of them; or why nothing was
/// saved.
pub(super) type SaveResult = Result<(String, Option<EditState>), Error>;

impl Viewer {
    /// Returns a copy of what is displayed, to save it; `None` before the first frame.
    fn displayed(&self) -> Option<SavedPicture> {
        let (frame, image) = (self.view.frame.clone()?, self.view.debug_image.clone());
        let units = (self.view.placement == Placement::Overlay).then_some(self.view.units);
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

    /// Opens a dialog for the name of a file unless one is open, and displays a message. `Wake::Chosen` follows. Lets the
    /// user type the name in the window instead if no dialog could be opened before.
    pub(super) fn ask_name(&mut self, proposal: Proposal) {
        if self.view.prompt.is_some() {
            return;
        }
        let scene = &self.session.scene().path;
        let proposed = proposed_name(scene, proposal);
        if self.has_no_dialog {
            return self.ask_typed_name(Purpose::Save, proposed);
        }
        let dialog = Dialog::to_save(scene, &proposed, &self.screen.window);
        self.show_dialog(dialog, "choose a name in the dialog");
    }

    /// Shows a dialog unless one is open, and displays a message about it. `Wake::Chosen` follows.
    pub(super) fn show_dialog(&mut self, dialog: Dialog, message: &str) {
        // The dialog may be behind the window, and some desktops take seconds to open it or to report that they cannot.
        self.say(message.to_owned());
        if self.asks_name {
            return;
        }
        let (wake, purpose) = (self.wake.clone(), dialog.purpose);
        let asked = thread::Builder::new().name("dialog".to_owned());
        match asked.spawn(move || drop(wake.send_event(Wake::Chosen(purpose, dialog.path())))) {
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
        if is_same_file(&path, &self.session.scene().path) {
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
        let save = thread::Builder::new()
            .name("save".to_owned())
            .spawn(move || {
                let saved = save();
                let _ = wake.send_event(Wake::Saved(thread::current().id()));
                saved
            });
        match save {
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
                self.saved_state = state.or(self.saved_state.take());
                self.session.schedule_autosave();
                self.say(message);
            }
            Err(error) => self.say_problem(error.to_string()),
        }
    }
}

/// Waits for a saving thread, and returns its result; a panic counts as an [`Error::Window`].
pub(super) fn joined(save: JoinHandle<SaveResult>) -> SaveResult {
    save.join().unwrap_or_else(|panic| {
        Err(Error::Window {
            problem: panic_text(&*panic),
        })
    })
}
