//! Files that are written whole or not at all.
//!
//! The content goes to a temporary file in the same folder, which is synced and renamed; then the folder is synced.
//! After a crash, a full disk, a kill or a loss of power, the file has either its previous content or all of the new
//! one.

use std::{
    ffi::OsStr,
    fs,
    io::{self, BufWriter, Seek, SeekFrom, Write},
    path::{Path, PathBuf, is_separator},
};

use xxhash_rust::xxh3::xxh3_64;

use crate::Error;

/// Checks, before a render, that its output file can be written: the folder exists and is writable, and the path is
/// neither a folder nor too long. Removes temporary files that killed processes left for this path.
///
/// # Errors
/// [`Error::File`] with the cause and the remedy.
pub fn check_place(path: &Path) -> Result<(), Error> {
    let target = through_links(path);
    clear_unfinished(path);
    check_folder(folder_of(path))
        .and_then(|()| check_file(path))
        .and_then(|()| check_folder(folder_of(&target)))
        .and_then(|()| check_beside(&target))
        .map_err(|problem| refused(path, &problem))
}

fn check_folder(folder: &Path) -> Result<(), String> {
    let name = folder.display();
    match fs::metadata(folder) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(format!("{name} is a file, not a folder; name another")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(format!(
            "the folder {name} does not exist; make it or name another"
        )),
        Err(error) => Err(format!("the folder {name}: {error}; name another")),
    }
}

fn check_file(path: &Path) -> Result<(), String> {
    let names_folder = path
        .as_os_str()
        .as_encoded_bytes()
        .last()
        .is_some_and(|&last| is_separator(last.into()));
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err("this is a folder; name a file in it".to_owned()),
        Ok(found) if !found.is_file() => Err("this is not a regular file; name another".to_owned()),
        Ok(_) => fs::OpenOptions::new()
            .write(true)
            .open(path)
            .map(drop)
            .map_err(|error| format!("the file is not writable: {error}; name another")),
        Err(_) if names_folder => {
            Err("this is the path of a folder; remove the slash at its end".to_owned())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(format!("{error}; name another")),
    }
}

fn check_beside(target: &Path) -> Result<(), String> {
    let folder = folder_of(target).display();
    unfinished_beside(target)
        .map(drop)
        .map_err(|error| format!("the folder {folder} is not writable: {error}; name another"))
}

fn refused(path: &Path, problem: &str) -> Error {
    Error::File {
        file: path.display().to_string(),
        problem: problem.to_owned(),
    }
}

fn not_written(path: &Path, error: &io::Error) -> Error {
    Error::Write {
        path: path.to_owned(),
        problem: format!("not written: {error}; {}", write_remedy(error)),
        is_full: is_full_disk(error),
    }
}

/// Returns whether a file was not written because the disk, or the user's share of it, is full.
pub fn is_full_disk(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

/// Returns what users can do about a file that was not written because of `error`, for the end of a message.
pub fn write_remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        _ if is_full_disk(error) => "free some space or name another place",
        io::ErrorKind::FileTooLarge => "allow larger files (ulimit -f) or name another place",
        _ => "name another place",
    }
}

/// A temporary file while its content is written.
///
/// It remembers the first error, because some encoders pass errors on as text, without the kind by which a full disk is
/// recognised.
pub struct TemporaryFile<'a> {
    file: &'a mut fs::File,
    first_error: Option<io::Error>,
}

impl TemporaryFile<'_> {
    /// Remembers a copy of the error of `result` if it is the first, and returns `result`.
    fn noting<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result
            && error.kind() != io::ErrorKind::Interrupted
        {
            self.first_error
                .get_or_insert_with(|| match error.raw_os_error() {
                    Some(code) => io::Error::from_raw_os_error(code),
                    None => io::Error::new(error.kind(), error.to_string()),
                });
        }
        result
    }
}

impl Write for TemporaryFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes);
        self.noting(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.file.flush();
        self.noting(flushed)
    }
}

impl Seek for TemporaryFile<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let reached = self.file.seek(to);
        self.noting(reached)
    }
}

/// Writes a file atomically: `path` never contains a partial file, not even after a loss of power. `write` writes the
/// content to a temporary file, which then replaces the file at `path`.
///
/// # Errors
/// [`Error::Write`]. The previous file is then unchanged, unless only the final sync of its folder failed.
pub fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<TemporaryFile>) -> io::Result<()>,
) -> Result<(), Error> {
    replace(path, write, || Ok(())).map(drop)
}

/// Writes a file like [`write_whole`], but calls `may` just before the temporary file is renamed to `path`. If `may`
/// fails, the previous file stays and its error is returned as [`Error::Write`].
///
/// Returns the metadata of the new file as written, because another process may replace it at once.
pub fn replace(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<TemporaryFile>) -> io::Result<()>,
    may: impl FnOnce() -> io::Result<()>,
) -> Result<fs::Metadata, Error> {
    let target = through_links(path);
    let written = unfinished_beside(&target).and_then(|mut unfinished| {
        write_content(unfinished.as_file_mut(), write)?;
        if let Ok(old) = fs::metadata(&target) {
            unfinished.as_file().set_permissions(old.permissions())?;
        }
        // Without this, a loss of power could leave the new name without content.
        unfinished.as_file().sync_all()?;
        let made = unfinished.as_file().metadata()?;
        may()?;
        unfinished.persist(&target)?;
        sync_folder(folder_of(&target))?;
        Ok(made)
    });
    written.map_err(|error| not_written(path, &error))
}

/// Writes the content of a temporary file. An error is that of the file if it had one, and otherwise that of `write`.
fn write_content(
    file: &mut fs::File,
    write: impl FnOnce(&mut BufWriter<TemporaryFile>) -> io::Result<()>,
) -> io::Result<()> {
    let file = TemporaryFile {
        file,
        first_error: None,
    };
    let mut buffered = BufWriter::with_capacity(1 << 20, file);
    let written = write(&mut buffered).and_then(|()| buffered.flush());
    // The buffer is dropped without another attempt to write it.
    let (file, _) = buffered.into_parts();
    written.map_err(|error| file.first_error.unwrap_or(error))
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    match fs::File::open(folder) {
        Ok(folder) => folder.sync_all(),
        // A folder may be writable but not readable.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Creates and locks a temporary file in the folder of `target`. The file is removed when the returned value is
/// dropped, unless it is renamed before.
fn unfinished_beside(target: &Path) -> io::Result<tempfile::NamedTempFile> {
    let prefix = unfinished_prefix(target);
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(TEMPORARY_SUFFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The permissions of a new file; the umask applies.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    loop {
        let unfinished = builder
            .tempfile_in(folder_of(target))
            .map_err(without_temporary_path)?;
        // The lock keeps other processes from removing the file as a leftover; one may have done so before it was
        // locked.
        let locked = unfinished.as_file().try_lock();
        if !matches!(locked, Err(fs::TryLockError::WouldBlock)) && !is_removed(&unfinished)? {
            return Ok(unfinished);
        }
    }
}

/// Returns an error of the crate `tempfile` without the path of the temporary file, which means nothing to users.
fn without_temporary_path(error: io::Error) -> io::Error {
    let text = error.to_string();
    match text.split_once(" at path ") {
        Some((cause, _)) => io::Error::new(error.kind(), cause),
        None => error,
    }
}

#[cfg(unix)]
fn is_removed(unfinished: &tempfile::NamedTempFile) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    Ok(unfinished.as_file().metadata()?.nlink() == 0)
}

/// Returns whether another process has deleted the temporary file. On this platform open files cannot be deleted, so it
/// is always `false`.
#[cfg(not(unix))]
fn is_removed(_: &tempfile::NamedTempFile) -> io::Result<bool> {
    Ok(false)
}

/// Removes temporary files that killed processes left for this path. Files that are locked, or cannot be locked, stay.
/// Errors are ignored.
pub fn clear_unfinished(path: &Path) {
    let target = through_links(path);
    let prefix = unfinished_prefix(&target);
    for entry in fs::read_dir(folder_of(&target))
        .into_iter()
        .flatten()
        .flatten()
    {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_file && name.starts_with(&prefix) && name.ends_with(TEMPORARY_SUFFIX) {
            // Leftovers are harmless.
            let _ = remove_if_left(&entry.path());
        }
    }
}

fn remove_if_left(path: &Path) -> io::Result<()> {
    // Network file systems lock only files opened for writing.
    let unfinished = fs::OpenOptions::new().write(true).open(path)?;
    unfinished.try_lock()?;
    fs::remove_file(path)
}

/// Returns whether a file name is that of a temporary file that this module creates.
pub fn is_unfinished(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with(TEMPORARY_PREFIX) && name.ends_with(TEMPORARY_SUFFIX)
}

/// Start of the name of every temporary file. A hash of the target's file name follows.
const TEMPORARY_PREFIX: &str = ".raysieve-";
/// End of the name of every temporary file.
const TEMPORARY_SUFFIX: &str = ".tmp";

/// Returns the start of the names of a target's temporary files. It contains a hash instead of the target's name, so
/// that the names are never too long.
fn unfinished_prefix(target: &Path) -> String {
    let name = target.file_name().unwrap_or_default();
    format!(
        "{TEMPORARY_PREFIX}{:016x}-",
        xxh3_64(name.as_encoded_bytes())
    )
}

/// Returns the path that symbolic links at `path` lead to, even if no file exists there, so that renaming replaces the
/// file and not the link. After 40 links, as in a cycle, returns `path` itself.
pub fn through_links(path: &Path) -> PathBuf {
    // The limit of Linux, which also ends cycles.
    const MAX_LINKS: u32 = 40;
    let mut target = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&target) {
            Ok(next) => target = folder_of(&target).join(next),
            Err(_) => return target,
        }
    }
    path.to_owned()
}

/// Returns the folder that contains `path`: `.` for a bare file name, and `path` itself for a root.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
        None => path,
    }
}
