//! Records which files a scene was read from, so that a change of one of them can be detected.

use std::{
    cell::RefCell,
    fs::{self, Metadata},
    path::{Path, PathBuf},
    time::SystemTime,
};

/// A file that was opened, or looked for and not found, while a scene was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SceneFile {
    /// The file's path: the folder of the file that names it, joined with the name. It is relative if the scene's path
    /// was.
    pub path: PathBuf,
    /// Metadata of the file when it was read; `None` if it did not exist or could not be inspected.
    as_read: Option<FileStamp>,
}

/// Metadata of a file. A file counts as unchanged if its metadata is equal.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FileStamp {
    /// Time of the last modification; `None` if the system does not report one.
    modified: Option<SystemTime>,
    /// Size of the file in bytes.
    bytes: u64,
    /// Inode number of the file, which changes if another file is renamed over this one; 0 on systems other than Unix.
    inode: u64,
}

impl SceneFile {
    /// Creates the record of a path, with the current metadata of its file if it exists.
    fn new(path: &Path) -> SceneFile {
        SceneFile {
            path: path.to_owned(),
            as_read: FileStamp::of(path),
        }
    }

    /// Returns `true` if the file was modified, replaced, deleted or created since the scene was read, judged by its
    /// metadata.
    pub fn has_changed(&self) -> bool {
        FileStamp::of(&self.path) != self.as_read
    }
}

impl FileStamp {
    /// Returns the current metadata of the file at `path`, or `None` if it does not exist or cannot be inspected.
    fn of(path: &Path) -> Option<FileStamp> {
        let data = fs::metadata(path).ok()?;
        Some(FileStamp {
            modified: data.modified().ok(),
            bytes: data.len(),
            inode: inode(&data),
        })
    }
}

#[cfg(unix)]
fn inode(data: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(data)
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> u64 {
    0
}

thread_local! {
    /// The files that this thread has looked for since [`recording`] began; `None` outside of [`recording`].
    static RECORDED: RefCell<Option<Vec<SceneFile>>> = const { RefCell::new(None) };
}

/// Adds a file that is about to be read to the files that [`recording`] returns, with its current metadata. A path that
/// was added before is not added again.
///
/// Does nothing unless the call is made, on the same thread, from within [`recording`].
pub(crate) fn record(path: &Path) {
    RECORDED.with_borrow_mut(|files| {
        if let Some(files) = files
            && !files.iter().any(|file| file.path == path)
        {
            files.push(SceneFile::new(path));
        }
    });
}

/// Calls `read` and returns its result with the files that it passed to [`record`] on this thread, existing or not.
///
/// Calls must not be nested: the inner one would discard the files of the outer one.
pub(crate) fn recording<T>(read: impl FnOnce() -> T) -> (T, Vec<SceneFile>) {
    RECORDED.set(Some(Vec::new()));
    let result = read();
    (result, RECORDED.take().unwrap_or_default())
}
