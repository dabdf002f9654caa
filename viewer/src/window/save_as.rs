//! Dialogs of the desktop for files to save or to open, the names under which something can be saved, and pictures that are
//! saved under numbered names.

use std::{
    ffi::OsString,
    fs::{self, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{
        Once,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use log::{Level, LevelFilter, Log, Metadata, Record};
use rfd::{AsyncFileDialog, FileHandle};
use winit::window::Window;

use crate::{Error, overlay::FigureFormat, saved_picture::SavedPicture, session::SceneToSave};
use raysieve::render::output::PictureFormat;
use raysieve_scene::{
    Scene,
    atomic_file::{check_place, folder_of},
    can_save_view,
};

/// Returns whether both paths are those of one existing file.
pub(super) fn is_same_file(one: &Path, other: &Path) -> bool {
    match (fs::canonicalize(one), fs::canonicalize(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

/// What a dialog chooses a file for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Save,
    Open,
}

/// The outcome of a dialog.
pub(super) enum Choice {
    /// The user has chosen the file at this path.
    Path(PathBuf),
    Cancelled,
    /// No dialog with this proposed name could be opened.
    NoDialog(String),
}

/// A dialog that is open, or about to be.
pub(super) struct Dialog {
    proposed: String,
    answer: std::pin::Pin<Box<dyn Future<Output = Option<FileHandle>> + Send>>,
}

impl Dialog {
    /// Creates a dialog for a file in the folder of the scene's file. It proposes a name to save to. Some systems require
    /// that this is called on the main thread.
    pub(super) fn new(purpose: Purpose, scene: &Path, proposed: String, parent: &Window) -> Self {
        notice_failures();
        let dialog = AsyncFileDialog::new()
            .set_directory(fs::canonicalize(folder_of(scene)).unwrap_or_default())
            .set_parent(parent);
        if purpose == Purpose::Open {
            let dialog = dialog.set_title("Open a scene, a model, or an image to compare with");
            let answer = Box::pin(dialog.pick_file());
            return Self { proposed, answer };
        }
        let (kinds, endings): (_, &[_]) = match Scene::foreign_format(scene) {
            None => (", scene (.ron)", &["png", "exr", "ron", "csv", "json"]),
            Some(_) => ("", &["png", "exr", "csv", "json"]),
        };
        // The dialog does not tell which filter was selected, so several would seem to select the format.
        let filter =
            format!("Picture (.png), light with all layers (.exr){kinds} or figures (.csv, .json)");
        let dialog = dialog
            .set_title(format!("Save as {}", offered_endings(scene)))
            .set_file_name(&proposed)
            .add_filter(filter, endings);
        let answer = Box::pin(dialog.save_file());
        Self { proposed, answer }
    }

    /// Waits until the user has chosen a path or cancelled the dialog, and blocks the thread meanwhile. Returns
    /// [`Choice::NoDialog`] if the dialog library has logged that none could be opened.
    pub(super) fn path(self) -> Choice {
        HAS_FAILED.store(false, Relaxed);
        match pollster::block_on(self.answer) {
            Some(file) => Choice::Path(file.path().to_owned()),
            None if HAS_FAILED.load(Relaxed) => Choice::NoDialog(self.proposed),
            None => Choice::Cancelled,
        }
    }
}

/// What a dialog proposes to save.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Proposal {
    Picture,
    /// A new scene file. Scenes of other renderers cannot be written, so that a picture is proposed instead.
    Scene,
    Figures,
}

/// Returns the name that is proposed for a file, after the file of the scene.
pub(super) fn proposed_name(scene: &Path, proposal: Proposal) -> String {
    let stem = scene.file_stem().unwrap_or(scene.as_os_str());
    let stem = stem.to_string_lossy();
    let is_own_format = Scene::foreign_format(scene).is_none();
    match proposal {
        Proposal::Figures => format!("{stem}.csv"),
        Proposal::Scene if is_own_format && can_save_view(scene) => format!("{stem}-edited.ron"),
        Proposal::Scene if is_own_format => format!("{stem}.ron"),
        Proposal::Picture | Proposal::Scene => format!("{stem}.png"),
    }
}

/// Returns the list of endings under which a picture, the film, the scene at this path or the figures can be saved, for
/// people.
pub(super) fn offered_endings(scene: &Path) -> &'static str {
    match Scene::foreign_format(scene) {
        None => ".png, .exr, .ron, .csv or .json",
        Some(_) => ".png, .exr, .csv or .json",
    }
}

/// Returns `path`, with the extension `.png` if it has none.
///
/// # Errors
/// If the extension is added and the file exists, because the dialog has not asked whether to replace it.
pub(super) fn with_ending(path: PathBuf) -> Result<PathBuf, Error> {
    if path.extension().is_some() {
        return Ok(path);
    }
    let path = path.with_extension("png");
    match path.exists() {
        false => Ok(path),
        true => {
            let why = "the file exists; to replace it, save with the ending .png";
            Err(Error::not_saved(path, why))
        }
    }
}

/// Checks whether something can be saved under a chosen name, before it is written.
///
/// # Errors
/// If the name has another ending than `.png`, `.exr`, `.ron`, `.csv` and `.json`, or the folder cannot be written. Also if the scene is
/// to be saved, and cannot be written or names other files relative to another folder.
pub(super) fn check_name(path: &Path, scene: &SceneToSave) -> Result<(), Error> {
    let own = scene.path();
    let is_scene = path
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("ron"));
    if is_scene {
        scene.check_target(path)?;
        let folder = |path: &Path| fs::canonicalize(folder_of(path)).ok();
        if scene.names_files() && folder(path) != folder(own) {
            let folder = folder_of(own).display();
            let why =
                format!("the scene names other files relative to its folder; save it in {folder}");
            return Err(Error::not_saved(path, why));
        }
    } else if PictureFormat::of(path).is_none() && FigureFormat::of(path).is_none() {
        let why = format!("expected a name that ends in {}", offered_endings(own));
        return Err(Error::not_saved(path, why));
    }
    Ok(check_place(path)?)
}

/// Whether no dialog could be opened. The library reports this only to the log: a missing dialog otherwise looks like a
/// cancelled one.
static HAS_FAILED: AtomicBool = AtomicBool::new(false);

/// Beginnings of the messages if no kind of dialog could be opened.
const FAILED: [&str; 2] = ["Failed to save file", "Failed to pick file"];

/// A log that notices the failures of the dialog library.
struct FailureLog;

impl Log for FailureLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() == Level::Error && metadata.target().starts_with("rfd")
    }

    fn log(&self, record: &Record<'_>) {
        let text = record.args().to_string();
        let is_failure = FAILED.iter().any(|failed| text.starts_with(failed));
        if self.enabled(record.metadata()) && is_failure {
            HAS_FAILED.store(true, Relaxed);
        }
    }

    fn flush(&self) {}
}

/// Makes [`HAS_FAILED`] follow the dialogs, unless the program has a log of its own.
fn notice_failures() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if log::set_logger(&FailureLog).is_ok() {
            log::set_max_level(LevelFilter::Error);
        }
    });
}

/// Writes the picture, or the debug image, in its own size and without denoising. The name is `<scene>-001.png`, or has
/// the first free number. The folder is that of the scene file or, if that cannot be written, the current folder or the
/// user's folder of pictures or home folder. Returns the message about the saved picture.
///
/// # Errors
/// If the picture cannot be encoded, or [`Error::Write`] if none of the folders can be written. No file remains then.
pub(super) fn save_numbered(picture: &SavedPicture) -> Result<String, Error> {
    let (scene, png) = (picture.scene(), &picture.png(png::Compression::default())?);
    let own = folder_of(scene).to_owned();
    let current = std::env::current_dir().ok();
    let others = [current, dirs::picture_dir(), dirs::home_dir()];
    let mut problems: Vec<(PathBuf, io::Error)> = Vec::new();
    for folder in [Some(own)].into_iter().chain(others).flatten() {
        if problems.iter().any(|(tried, _)| *tried == folder) {
            continue;
        }
        match write_in(&folder, scene, png) {
            Ok(name) => {
                let why = problems.first().map_or(String::new(), |(tried, error)| {
                    let tried = in_full(tried);
                    format!(", because {} cannot be written: {error}", tried.display())
                });
                return Ok(format!(
                    "picture saved to {}{why}",
                    in_full(&folder).join(name).display()
                ));
            }
            Err(error) => problems.push((folder, error)),
        }
    }
    let tried: Vec<_> = problems
        .iter()
        .map(|(folder, error)| format!("{}: {error}", folder.display()))
        .collect();
    Err(Error::Write {
        path: name(scene, 1).into(),
        problem: format!(
            "not saved ({}); free some space or make a folder writable, then press s again",
            tried.join("; ")
        ),
    })
}

pub(super) fn in_full(folder: &Path) -> PathBuf {
    fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned())
}

/// Writes a file into a folder, under the first free name for a picture of this scene, and returns that name.
fn write_in(folder: &Path, scene: &Path, png: &[u8]) -> io::Result<OsString> {
    let mut number = 1_u32;
    let (name, mut file) = loop {
        let name = name(scene, number);
        let path = folder.join(&name);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => break (name, file),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error),
        }
    };
    let written = file.write_all(png).and_then(|()| file.sync_all());
    written.inspect_err(|_| {
        let _ = fs::remove_file(folder.join(&name));
    })?;
    Ok(name)
}

/// Returns the name of picture `number` of a scene.
fn name(scene: &Path, number: u32) -> OsString {
    let mut name = scene.file_stem().unwrap_or(scene.as_os_str()).to_owned();
    name.push(format!("-{number:03}.png"));
    name
}
