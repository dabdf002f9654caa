//! The files that a scene is read from: opens them, resolves their names, reads lines and records what was read.

pub(crate) mod bounds;
pub(crate) mod foreign;
pub(crate) mod lines;
pub(crate) mod progress;
pub(crate) mod record;
pub(crate) mod relative_paths;

use std::{
    fs,
    io::{self, Read, Seek},
    path::{Component, Path, PathBuf},
};

use self::bounds::Bounds;
use crate::error::{escaped, excerpt};

/// Opens a regular file whose extension, in any letter case, is one of `types` (lower case, without the dot). Reading
/// begins at its start.
///
/// The path is first added to the files of [`record`](record::record), even if opening it then fails. Pipes and devices
/// are refused, because reading them may never end.
///
/// # Errors
/// A one-line message, without the file's name, if the file is missing, unreadable, not regular or has another
/// extension. The same if its first bytes are those of a Git LFS pointer, a web page or an unsupported format.
pub(crate) fn open_regular_file(path: &Path, types: &[&str]) -> Result<fs::File, String> {
    record::record(path);
    let cannot = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => "does not exist; check the path".to_owned(),
        io::ErrorKind::PermissionDenied => {
            "cannot be read: permission denied; check its permissions".to_owned()
        }
        _ => format!("cannot be read: {error}"),
    };
    let kind = fs::metadata(path).map_err(cannot)?;
    let names: Vec<String> = types.iter().map(|name| format!(".{name}")).collect();
    let wanted = match names.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        names => names.concat(),
    };
    if kind.is_dir() {
        return Err(format!("is a folder; expected a {wanted} file"));
    }
    if !kind.is_file() {
        return Err(format!("is not a regular file; expected a {wanted} file"));
    }
    let found = file_type(path);
    if !types.contains(&found.as_str()) {
        return Err(match foreign::by_extension(&found) {
            Some(problem) => problem.to_owned(),
            None => format!("has an unsupported file extension; expected a {wanted} file"),
        });
    }
    let mut file = fs::File::open(path).map_err(cannot)?;
    let mut start = Vec::new();
    let first = file.by_ref().take(foreign::START_BYTES as u64);
    { first }.read_to_end(&mut start).map_err(cannot)?;
    file.rewind().map_err(cannot)?;
    match foreign::by_content(&start) {
        // The caller unpacks it.
        _ if found == "gz" && foreign::is_gzip(&start) => Ok(file),
        Some(problem) => Err(problem.to_owned()),
        None => Ok(file),
    }
}

/// Returns whether there is a file at `path` that is only a pointer of Git LFS to the file itself.
pub(crate) fn is_lfs_pointer(path: &Path) -> bool {
    let mut start = Vec::new();
    let is_file = fs::metadata(path).is_ok_and(|kind| kind.is_file());
    is_file
        && fs::File::open(path)
            .and_then(|file| {
                file.take(foreign::START_BYTES as u64)
                    .read_to_end(&mut start)
            })
            .is_ok()
        && foreign::is_lfs_pointer(&start)
}

/// Fails unless a model may name the file `path`, which is `name` relative to the model's folder. Names without `..` are
/// always allowed.
///
/// # Errors
/// A one-line message that quotes the name.
pub(crate) fn check_bounds(bounds: &Bounds, name: &Path, path: &Path) -> Result<(), String> {
    let leaves = name.components().any(|part| part == Component::ParentDir);
    if !leaves || bounds.contain(path) {
        return Ok(());
    }
    Err(format!(
        "refers to the file `{}`, which is outside of the folder of the opened file and of its repository; copy it into the \
         model's folder",
        excerpt(&name.to_string_lossy())
    ))
}

/// Converts a file name found in a model or a scene of another renderer to a relative path, which may contain `..`;
/// backslashes become slashes.
///
/// # Errors
/// A one-line message that quotes the name, if it is empty, too long or absolute, or contains control characters or a
/// colon.
pub(crate) fn relative_path(name: &str) -> Result<PathBuf, String> {
    const MAX_PATH_BYTES: usize = 4096;
    let refused = |why: &str| Err(format!("refers to the file `{}`, {why}", excerpt(name)));
    if name.is_empty() || name.len() > MAX_PATH_BYTES || name.contains(char::is_control) {
        return refused("which is not a valid file name");
    }
    // Some Windows programs write backslashes.
    let path = PathBuf::from(name.replace('\\', "/"));
    if name.contains(':') {
        return refused("expected a file in the model's folder; copy or download it there");
    }
    let is_relative = path.components().all(|part| {
        matches!(
            part,
            Component::Normal(_) | Component::CurDir | Component::ParentDir
        )
    });
    match is_relative {
        true => Ok(path),
        false => refused("which is an absolute path; expected a path from the folder of the file"),
    }
}

/// Adds the size of an included file to the `total` of all, in bytes. A file counts as often as it is included, and as at
/// least 2 MiB.
///
/// # Errors
/// A one-line message if the total exceeds 64 GiB, as it does when a few small files include each other many times.
pub(crate) fn count_included(total: &mut u64, bytes: u64) -> Result<(), String> {
    const MAX_BYTES: u64 = 64 << 30;
    const MIN_BYTES: u64 = 2 << 20;
    *total = total.saturating_add(bytes.max(MIN_BYTES));
    match *total > MAX_BYTES {
        true => Err(format!(
            "more than {} files, or {} GiB, are included; merge some",
            MAX_BYTES / MIN_BYTES,
            MAX_BYTES >> 30
        )),
        false => Ok(()),
    }
}

/// Returns a file's extension in lower case without the dot, or an empty string if there is none.
pub(crate) fn file_type(path: &Path) -> String {
    path.extension()
        .map(|name| name.to_string_lossy().to_lowercase())
        .unwrap_or_default()
}

/// Formats a path for a message on one line: control characters are escaped, and bytes that are not UTF-8 are replaced.
pub(crate) fn display_path(path: &Path) -> String {
    escaped(&path.display().to_string())
}
