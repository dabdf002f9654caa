//! Saves under a name that the user chooses in a dialog of the desktop.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    sync::{Mutex, Once},
};

use log::{Level, LevelFilter, Log, Metadata, Record};
use rfd::{AsyncFileDialog, FileHandle};
use winit::window::Window;

use super::save::Displayed;
use crate::{
    Error,
    session::{RequestedFilm, SceneToSave, lock},
};
use raysieve::render::output::PictureFormat;
use raysieve_scene::atomic_file::{folder_of, write_whole};

/// The things that can be saved: the displayed picture, the film and the scene.
pub(super) struct Savable {
    pub(super) displayed: Displayed,
    /// The film; `None` unless it is to be saved.
    pub(super) film: Option<RequestedFilm>,
    pub(super) scene: SceneToSave,
}

/// The name that a user has chosen; `None` if the user has cancelled the dialog. The error is the reason why no dialog
/// could be opened, as text.
pub(super) type Choice = Result<Option<PathBuf>, String>;

/// A dialog that is open, or about to be.
pub(super) struct Dialog(std::pin::Pin<Box<dyn Future<Output = Option<FileHandle>> + Send>>);

impl Dialog {
    /// Creates a dialog that proposes a name after the scene, in the folder of its file. Some systems require that this
    /// is called on the main thread.
    pub(super) fn new(scene: &Path, parent: &Window) -> Self {
        keep_problems();
        let folder = fs::canonicalize(folder_of(scene)).unwrap_or_default();
        let name = scene.file_stem().unwrap_or(scene.as_os_str());
        let dialog = AsyncFileDialog::new()
            .set_title("Save as")
            .set_directory(folder)
            .set_file_name(format!("{}.png", name.to_string_lossy()))
            .add_filter("Picture (PNG)", &["png"])
            .add_filter("Light with all layers (OpenEXR)", &["exr"])
            .add_filter("Scene", &["ron"])
            .set_parent(parent);
        Self(Box::pin(dialog.save_file()))
    }

    /// Waits until the user has chosen a name or cancelled the dialog.
    pub(super) fn path(self) -> Choice {
        lock(&PROBLEMS).clear();
        let chosen = pollster::block_on(self.0);
        let problems = lock(&PROBLEMS);
        let has_failed = problems.last().is_some_and(|last| last.starts_with(FAILED));
        match (chosen, problems.first()) {
            (Some(file), _) => Ok(Some(file.path().to_owned())),
            (None, Some(first)) if has_failed => Err(first.clone()),
            (None, _) => Ok(None),
        }
    }
}

impl Savable {
    /// Saves the picture as `.png`, the film as `.exr`, or the scene as `.ron`. Returns the message about it.
    ///
    /// # Errors
    /// If the file cannot be written, or its name has another ending.
    pub(super) fn save_to(self, path: &Path) -> Result<String, Error> {
        let refused = |problem: String| Error::Write {
            path: path.to_owned(),
            problem,
        };
        let scene = self.scene.path().to_owned();
        let is_scene = |path: &Path| match (fs::canonicalize(path), fs::canonicalize(&scene)) {
            (Ok(one), Ok(other)) => one == other,
            _ => false,
        };
        let saved = path.display();
        match PictureFormat::of(path) {
            _ if is_scene(path) => Err(refused(
                "not saved: this is the scene itself; K saves camera and materials to it"
                    .to_owned(),
            )),
            Some(PictureFormat::Png) => {
                let png = self.displayed.png()?;
                write_whole(path, |file| file.write_all(&png))?;
                Ok(format!("picture saved to {saved}"))
            }
            Some(PictureFormat::Exr) => {
                let film = self
                    .film
                    .ok_or_else(|| refused("not saved: no film".to_owned()))?;
                film.write(path)?;
                Ok(format!("light with all layers saved to {saved}"))
            }
            None if path
                .extension()
                .is_some_and(|ending| ending.eq_ignore_ascii_case("ron")) =>
            {
                let folder = |path: &Path| fs::canonicalize(folder_of(path)).ok();
                if self.scene.names_files() && folder(path) != folder(&scene) {
                    return Err(refused(format!(
                        "not saved: the scene names other files relative to its folder; save it in {}",
                        folder_of(&scene).display()
                    )));
                }
                let text = self.scene.text(path)?;
                write_whole(path, |file| file.write_all(text.as_bytes()))?;
                Ok(format!("scene saved to {saved}"))
            }
            None => Err(refused(
                "not saved: expected a name that ends in .png, .exr or .ron".to_owned(),
            )),
        }
    }
}

/// Problems that the dialog library has reported since the dialog was opened. It reports them only to the log: a
/// missing dialog otherwise looks like a cancelled one.
static PROBLEMS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Beginning of the last problem if no dialog could be opened. Without it, another kind of dialog was opened.
const FAILED: &str = "Failed to save file";

/// A log that keeps the problems of the dialog library.
struct ProblemLog;

impl Log for ProblemLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() == Level::Error && metadata.target().starts_with("rfd")
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            lock(&PROBLEMS).push(record.args().to_string());
        }
    }

    fn flush(&self) {}
}

/// Makes [`PROBLEMS`] receive the problems of dialogs, unless the program has a log of its own.
fn keep_problems() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if log::set_logger(&ProblemLog).is_ok() {
            log::set_max_level(LevelFilter::Error);
        }
    });
}
