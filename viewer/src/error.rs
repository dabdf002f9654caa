//! Errors of the live views. A message names the object and the cause, and the remedy where there is one.

use std::{
    fmt::Display,
    io::{self, Write},
    path::PathBuf,
};

use raysieve_scene::error_line;

/// An error that ended a live view, kept it from starting, or made one action fail.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The renderer failed, or a film could not be written as `.exr`.
    #[error(transparent)]
    Render(#[from] raysieve::Error),
    /// The scene cannot be read or saved, or its settings are invalid. Or a saved picture cannot be written under the
    /// name that the user chose.
    #[error(transparent)]
    Scene(#[from] raysieve_scene::Error),
    /// A command-line setting of the live view that cannot be used.
    #[error("{setting}: {problem}")]
    Setting {
        /// Name and value of the setting, such as `--serve 0.0.0.0:80`.
        setting: String,
        /// Cause and remedy.
        problem: String,
    },
    /// A picture, film or scene that was not saved. Either the picture could not be encoded or written to any folder,
    /// or the name or the state of the render did not allow it.
    #[error("{}: {problem}", path.display())]
    Write {
        /// Path of the file that was to be written; that of the scene if the picture could not be encoded.
        path: PathBuf,
        /// Cause and remedy.
        problem: String,
    },
    /// The render thread of the window or the page, which panicked or could not begin.
    #[error("the render thread stopped: {problem}")]
    RenderThread {
        /// Cause of the error, usually as text of a panic.
        problem: String,
    },
    /// A window that ended unexpectedly after it had begun to open, or a thread that saves a picture and panicked.
    #[error("window: {problem}")]
    Window {
        /// Cause of the error, usually as text of the system or of a panic.
        problem: String,
    },
    /// A page that could not be served, for example because the system has no free thread. An address that cannot be
    /// used is an [`Error::Setting`] instead.
    #[error("page: {problem}")]
    Serve {
        /// Cause of the error, usually as text of the system or of a panic.
        problem: String,
    },
}

impl Error {
    pub(crate) fn window(problem: impl Into<String>) -> Self {
        Self::Window {
            problem: problem.into(),
        }
    }

    /// Returns the error that a file was not saved, for this reason.
    pub(crate) fn not_saved(path: impl Into<PathBuf>, why: impl Display) -> Self {
        Self::Write {
            path: path.into(),
            problem: format!("not saved: {why}"),
        }
    }

    /// Returns the message as [`error_line`]. Messages of GPUs are an exception: they are
    /// returned unchanged, because the log of a failed kernel compilation has several lines.
    pub fn line(&self) -> String {
        match self {
            Error::Render(error) => error.line(),
            error => error_line(&error.to_string()),
        }
    }

    /// Returns the exit code of a program that ends with this error: 2 if a scene, an input file or a setting is wrong,
    /// 1 otherwise.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Render(error) => error.exit_code(),
            Error::Scene(raysieve_scene::Error::Write { .. }) => 1,
            Error::Scene(_) | Error::Setting { .. } => 2,
            Error::Write { .. }
            | Error::RenderThread { .. }
            | Error::Window { .. }
            | Error::Serve { .. } => 1,
        }
    }
}

/// Writes `raysieve: ` and `line` to standard error. Ignores a failure to write.
pub(crate) fn report(line: &str) {
    let _ = writeln!(io::stderr(), "raysieve: {line}");
}
