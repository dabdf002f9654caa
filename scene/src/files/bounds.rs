//! The folders whose files a model may name by paths with `..`.
//!
//! A model may come from an untrusted source, so its files must lie where the user keeps the scene: in the folder of the
//! opened file, or in the repository that contains it. Models of many collections share textures in that way.

use std::{
    cell::RefCell,
    env,
    path::{Component, Path, PathBuf},
};

thread_local! {
    /// Path of the file that this thread opens as a scene or model; empty outside of [`opening`].
    static OPENED: RefCell<PathBuf> = RefCell::default();
}

/// Calls `read`, while `path` is the path of the file that the user opened. Calls must not be nested.
pub(crate) fn opening<T>(path: &Path, read: impl FnOnce() -> T) -> T {
    OPENED.set(path.to_owned());
    let result = read();
    OPENED.take();
    result
}

/// The folders whose files a model may name: its own, that of the opened file, and the repository around that one.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    /// Folders as absolute paths without symbolic links.
    folders: Vec<PathBuf>,
}

impl Bounds {
    /// Returns the bounds of a model in `folder`. Call it on the thread that loads the scene.
    pub(crate) fn of_model(folder: &Path) -> Bounds {
        let opened = OPENED.with_borrow(|path| path.parent().map(here));
        let opened = opened.and_then(|folder| folder.canonicalize().ok());
        let repository = opened.as_deref().and_then(repository);
        let own = here(folder).canonicalize().ok();
        Bounds {
            folders: [own, opened, repository].into_iter().flatten().collect(),
        }
    }

    /// Returns whether a model may name this file. Symbolic links count as what they refer to, and a file that does not
    /// exist by the folder where it would be.
    pub(crate) fn contain(&self, path: &Path) -> bool {
        let mut existing = here(path);
        let mut missing = Vec::new();
        let found = loop {
            if let Ok(found) = existing.canonicalize() {
                break found;
            }
            let mut parts = existing.components();
            match parts.next_back() {
                Some(Component::Normal(part)) => missing.push(part.to_owned()),
                _ => return false,
            }
            existing = here(parts.as_path());
        };
        let found = missing
            .iter()
            .rev()
            .fold(found, |path, part| path.join(part));
        self.folders.iter().any(|folder| found.starts_with(folder))
    }
}

/// Returns the path, or that of the current folder if it is empty.
fn here(path: &Path) -> PathBuf {
    match path.as_os_str().is_empty() {
        true => PathBuf::from("."),
        false => path.to_owned(),
    }
}

/// Returns the folder of the version control that contains `folder`, or `folder` itself. A repository of the whole home
/// folder or of all files does not count, because it contains more than a project.
fn repository(folder: &Path) -> Option<PathBuf> {
    const MARKS: [&str; 3] = [".git", ".hg", ".svn"];
    let is_marked = |folder: &&Path| MARKS.iter().any(|mark| folder.join(mark).exists());
    let found = folder.ancestors().find(is_marked)?;
    let home = env::home_dir().and_then(|home| home.canonicalize().ok());
    let is_too_large = found.parent().is_none() || home.is_some_and(|home| home.starts_with(found));
    (!is_too_large).then(|| found.to_owned())
}
