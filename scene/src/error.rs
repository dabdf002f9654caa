//! Errors of reading, checking and editing a scene, and the formatting of quoted text in them.

use glam::DVec3;

/// An error of reading, rendering or saving a scene. Its message is one line: the object, the cause and, where there is
/// one, the remedy.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A scene, model, material library or output file that is missing, cannot be accessed, has invalid content or is
    /// of another type than expected.
    #[error("{file}: {problem}")]
    File {
        /// Path of the file as the user gave it.
        file: String,
        /// Cause and remedy on one line, without the path.
        problem: String,
    },
    /// A mistake in the text of a RON scene file. Also a mesh, model or image that the text names, if it is missing,
    /// cannot be read or has invalid content.
    #[error("{file}:{line}:{column}: {object}: {problem}")]
    Scene {
        /// Path of the scene file as the user gave it, also if the mistake is in a file that it names.
        file: String,
        /// Line number in the scene file, counted from 1.
        line: usize,
        /// Column in that line, in characters, counted from 1.
        column: usize,
        /// Name of the faulty object, such as `material "glass"` or `object 3 (Sphere)`, counted from 1.
        object: String,
        /// Cause on one line: the value in the file and the expected one.
        problem: String,
    },
    /// A render setting that is out of range, such as an image size of 0.
    #[error("{setting}: {problem}")]
    Setting {
        /// Name and value of the setting, such as `size 0x480`.
        setting: String,
        /// Cause on one line, such as `must be at least 1x1 pixel`.
        problem: String,
    },
    /// A scene in memory with a wrong value: a number out of range, an index of something that does not exist, or lists
    /// that do not belong together. See [`Scene::check`](crate::Scene::check).
    #[error("{object}: {problem}")]
    Invalid {
        /// Name of the faulty object, such as ``materials[3] `glass` `` or `meshes[0]`.
        object: String,
        /// The field with its value and what was expected, on one line.
        problem: String,
    },
    /// A file that could not be written. It keeps its old content, unless only the final sync of its folder failed.
    #[error("{}: {problem}", path.display())]
    Write {
        /// Path of the file as the user gave it.
        path: std::path::PathBuf,
        /// Cause and remedy on one line, without the path.
        problem: String,
        /// Whether the disk, or the user's share of it, is full, so that a later attempt may succeed.
        is_full: bool,
    },
}

impl Error {
    /// Returns the error's message as [`error_line`].
    pub fn line(&self) -> String {
        error_line(&self.to_string())
    }
}

/// Largest number of characters of an error's line, besides the name of the program before it.
const MAX_LINE: usize = 288;
/// Stands for the middle of a line that was cut out.
const CUT: &str = " ... ";

/// Returns an error's message as one line: control characters, which file names may contain, are escaped. Of a message
/// of more than 288 characters, start and end remain, which name the object and the remedy.
pub fn error_line(text: &str) -> String {
    let line = escaped(text);
    let count = line.chars().count();
    if count <= MAX_LINE {
        return line;
    }
    let kept = MAX_LINE - CUT.len();
    let start: String = line.chars().take(kept / 2).collect();
    let end: String = line.chars().skip(count - (kept - kept / 2)).collect();
    start + CUT + &end
}

/// Formats a point for a message, with very large and very small coordinates in scientific notation.
pub(crate) fn point_text(point: DVec3) -> String {
    let [x, y, z] = point.to_array().map(|coordinate| {
        let size = coordinate.abs();
        match size == 0.0 || (1e-4..1e9).contains(&size) {
            true => coordinate.to_string(),
            false => format!("{coordinate:e}"),
        }
    });
    format!("[{x}, {y}, {z}]")
}

/// Escapes the control characters of `text` as Rust does (a line feed as `\n`), so that it fits on one line.
pub fn escaped(text: &str) -> String {
    text.chars()
        .flat_map(|c| {
            if c.is_control() {
                c.escape_debug().collect()
            } else {
                vec![c]
            }
        })
        .collect()
}

/// Shortens text for a message to at most 48 characters on one line, followed by `...` if more was cut off. White space
/// is collapsed to single spaces, and control characters are escaped.
pub(crate) fn excerpt(text: &str) -> String {
    const MAX_CHARS: usize = 48;
    shortened(text, MAX_CHARS)
}

/// Shortens the error text of a library like [`excerpt`], but to at most 160 characters, and only after a whole word.
pub(crate) fn sentence(text: &str) -> String {
    const MAX_CHARS: usize = 160;
    let short = shortened(text, MAX_CHARS);
    let is_whole = short.chars().count() <= MAX_CHARS;
    match short.rsplit_once(' ') {
        Some((words, _)) if !is_whole => format!("{words} ..."),
        _ => short,
    }
}

/// Shortens text to at most `max_chars` characters on one line, like [`excerpt`].
fn shortened(text: &str, max_chars: usize) -> String {
    // Bounds the work: the text may be as long as the file.
    let start: String = text.trim_start().chars().take(4 * max_chars).collect();
    let one_line = start.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut start: String = escaped(&one_line).chars().take(max_chars + 1).collect();
    if start.chars().count() > max_chars {
        start = start.chars().take(max_chars).chain("...".chars()).collect();
    }
    start
}
