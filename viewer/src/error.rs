//! Errors of the live views. A message names the object and the cause, and the remedy where there is one.

use std::io::{self, Write};

use raysieve_scene::escaped;

/// An error of a live view: it ended the view, kept it from starting, or made one action fail.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The renderer failed, or a picture could not be written.
    #[error(transparent)]
    Render(#[from] raysieve::Error),
    /// The scene cannot be read or saved, or its settings are invalid.
    #[error(transparent)]
    Scene(#[from] raysieve_scene::Error),
    /// A setting that cannot be used.
    #[error("{setting}: {problem}")]
    Setting {
        /// Name and value of the setting, such as `--serve 0.0.0.0:80`.
        setting: String,
        /// Cause and remedy.
        problem: String,
    },
    /// A picture for whose name no file could be created.
    #[error("{}: {problem}", path.display())]
    Write {
        /// Path of the file.
        path: std::path::PathBuf,
        /// Cause and remedy.
        problem: String,
    },
    /// A window that failed after it had begun to open, or a thread that panicked. The thread is the render thread,
    /// also that of the page, or one that saves a picture.
    #[error("window: {problem}")]
    Window {
        /// Cause of the error, usually as text of the system or of a panic.
        problem: String,
    },
    /// A page that could not be served, for example because the system has no free thread. An address that cannot be
    /// used is an [`Error::Setting`].
    #[error("page: {problem}")]
    Serve {
        /// Cause of the error, usually as text of the system or of a panic.
        problem: String,
    },
}

impl Error {
    /// Returns the message on one line, with control characters escaped. Messages of GPUs are returned unchanged,
    /// because the log of a failed kernel compilation has several lines.
    pub fn line(&self) -> String {
        match self {
            Error::Render(error) => error.line(),
            error => escaped(&error.to_string()),
        }
    }

    /// Returns the exit code of a program that ends with this error: 2 for a wrong scene, file or setting, 1 otherwise.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Render(error) => error.exit_code(),
            Error::Scene(raysieve_scene::Error::Write { .. }) => 1,
            Error::Scene(_) | Error::Setting { .. } => 2,
            Error::Write { .. } | Error::Window { .. } | Error::Serve { .. } => 1,
        }
    }
}

/// Writes a line to standard error, after the program's name; failures are ignored.
pub(crate) fn report(line: &str) {
    let _ = writeln!(io::stderr(), "raysieve: {line}");
}
