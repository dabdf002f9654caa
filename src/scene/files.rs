//! The files of a scene, and whether they have changed since they were read.

use std::{
    cell::RefCell,
    fs::{self, Metadata},
    path::{Path, PathBuf},
    time::SystemTime,
};

/// A file that was looked for while a scene was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SceneFile {
    /// Its path, as the scene's and the names in its files make it.
    pub path: PathBuf,
    /// What it was like then; `None` if it was not there.
    as_read: Option<Print>,
}

/// What tells a file from the one that was there before.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Print {
    modified: Option<SystemTime>,
    bytes: u64,
    /// Of a file that was renamed over another.
    number: u64,
}

impl SceneFile {
    fn new(path: &Path) -> SceneFile {
        SceneFile {
            path: path.to_owned(),
            as_read: Print::of(path),
        }
    }

    /// Whether it is another one by now, has gone, or has come.
    pub fn has_changed(&self) -> bool {
        Print::of(&self.path) != self.as_read
    }
}

impl Print {
    fn of(path: &Path) -> Option<Print> {
        let data = fs::metadata(path).ok()?;
        Some(Print {
            modified: data.modified().ok(),
            bytes: data.len(),
            number: number(&data),
        })
    }
}

#[cfg(unix)]
fn number(data: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(data)
}

#[cfg(not(unix))]
fn number(_: &Metadata) -> u64 {
    0
}

thread_local! {
    /// What this thread has looked for, while somebody wants to know.
    static FOUND: RefCell<Option<Vec<SceneFile>>> = const { RefCell::new(None) };
}

/// Notes a file that is about to be read, on the thread that reads the scene.
pub(super) fn note(path: &Path) {
    FOUND.with_borrow_mut(|found| {
        if let Some(found) = found
            && !found.iter().any(|file| file.path == path)
        {
            found.push(SceneFile::new(path));
        }
    });
}

/// What `read` gives, and the files that it looked for, whether they are there or not.
pub(super) fn noting<T>(read: impl FnOnce() -> T) -> (T, Vec<SceneFile>) {
    FOUND.set(Some(Vec::new()));
    let given = read();
    (given, FOUND.take().unwrap_or_default())
}
