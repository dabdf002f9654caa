//! Errors of reading, checking and editing a scene, and the formatting of quoted text in them. Imports nothing.

/// Why a scene cannot be read, rendered or saved. Each is one line: the object, the cause, the remedy.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file that is missing, cannot be read, or is not of the expected type.
    #[error("{file}: {problem}")]
    File {
        /// Path of the file as the user gave it.
        file: String,
        /// Cause and remedy.
        problem: String,
    },
    /// A mistake in the text of a scene file, or in a mesh that the text names.
    #[error("{file}:{line}:{column}: {object}: {problem}")]
    Scene {
        /// Path of the scene file as the user gave it.
        file: String,
        /// Line number, counted from 1.
        line: usize,
        /// Column in characters, counted from 1.
        column: usize,
        /// The faulty object, such as `material "glass"` or `object 3 (Sphere)`.
        object: String,
        /// What was found, and what was expected.
        problem: String,
    },
    /// A render setting that is out of range, such as an image size of 0.
    #[error("{setting}: {problem}")]
    Setting {
        /// Name and value of the setting, such as `size 0x480`.
        setting: String,
        /// Cause and remedy.
        problem: String,
    },
    /// A file that cannot be written. Its old content is still there.
    #[error("{}: {problem}", path.display())]
    Write {
        /// Path of the file as the user gave it.
        path: std::path::PathBuf,
        /// Cause and remedy.
        problem: String,
    },
}

impl Error {
    /// Returns the message on one line. Control characters, which file names may contain, are escaped.
    pub fn line(&self) -> String {
        escaped(&self.to_string())
    }
}

/// Escapes the control characters of `text`, so that it fits on one line.
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

/// Shortens text to at most 48 characters on one line for a message; `...` marks a cut and control characters are
/// escaped.
pub(crate) fn excerpt(text: &str) -> String {
    const MAX_CHARS: usize = 48;
    // Bounds the work: the text may be as long as the file.
    let start: String = text.trim_start().chars().take(4 * MAX_CHARS).collect();
    let one_line = start.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut start: String = escaped(&one_line).chars().take(MAX_CHARS + 1).collect();
    if start.chars().count() > MAX_CHARS {
        start = start.chars().take(MAX_CHARS).chain("...".chars()).collect();
    }
    start
}
