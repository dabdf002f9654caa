//! Opens scenes and models, and images to compare with.

use std::{path::PathBuf, sync::Arc, thread};

use super::{Viewer, name};
use crate::window::{
    Wake,
    save_as::{Dialog, Purpose},
    view::Pending,
};
use raysieve::film::picture::comparison::ComparisonImage;
use raysieve_scene::{Image, Scene, escaped};

impl Viewer {
    /// Opens a dialog for a file to open, unless a dialog is open. `Wake::Chosen` follows. Lets the user type a name in
    /// the window instead if no dialog could be opened before.
    pub(super) fn ask_to_open(&mut self) {
        if self.view.prompt.is_some() {
            return;
        }
        let scene = self.session.scene().path.clone();
        if self.has_no_dialog {
            return self.ask_typed_name(Purpose::Open, name(&scene));
        }
        let dialog = Dialog::to_open(&scene, &self.screen.window);
        self.show_dialog(dialog, "choose a file in the dialog");
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
            self.open_now(path);
        }
    }

    /// Opens a scene or model file, and displays a message. Unsaved changes of the current scene are lost.
    pub(super) fn open_now(&mut self, path: PathBuf) {
        if let Some(message) = self.session.open_file(path) {
            self.say(message);
        }
    }

    /// Reads an image on a thread of its own, to compare the picture with it. `Wake::Compared` follows.
    fn open_image(&mut self, path: PathBuf) {
        let wake = self.wake.clone();
        let read = move || drop(wake.send_event(Wake::Compared(ComparisonImage::open(&path))));
        let thread = thread::Builder::new().name("image".to_owned()).spawn(read);
        if let Err(error) = thread {
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
}
