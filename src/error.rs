//! The renderer's error type. Every message is one line that names the object, the cause and the remedy.

use crate::scene::{error_line, memory::MemoryError};

/// An error of reading or rendering a scene, or of writing its image.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file is missing, cannot be read, or has the wrong type or contents.
    #[error("{file}: {problem}")]
    File {
        /// Path of the file as the user gave it.
        file: String,
        /// Cause and remedy.
        problem: String,
    },
    /// A file written by the renderer, such as a part of a render, is corrupt or was modified.
    #[error("{file}: is damaged or was modified: {problem}; render it again")]
    Damaged {
        /// Path of the file as the user gave it.
        file: String,
        /// The inconsistency that was found.
        problem: String,
    },
    /// A scene cannot be read, checked or saved.
    #[error(transparent)]
    Scene(#[from] crate::scene::Error),
    /// A render setting is out of range.
    #[error("{setting}: {problem}")]
    Setting {
        /// The setting and its value, such as `size 0x480`.
        setting: String,
        /// Cause and remedy.
        problem: String,
    },
    /// The acceleration structure over the scene's primitives exceeds its maximum depth.
    #[error("{}: the bounding volume hierarchy is too deep, because many surfaces coincide; remove duplicate surfaces", scene.display())]
    TreeTooDeep {
        /// Path of the scene file.
        scene: std::path::PathBuf,
    },
    /// Memory for the pixels of an image could not be allocated.
    #[error("size {}x{}: {problem}; choose a smaller size", size.0, size.1)]
    Memory {
        /// Width and height of the image in pixels.
        size: (u32, u32),
        /// The reason, to be put after the image's size.
        problem: String,
    },
    /// A file could not be written.
    #[error("{}: {problem}", path.display())]
    Write {
        /// Path of the file as the user gave it.
        path: std::path::PathBuf,
        /// Cause and remedy.
        problem: String,
    },
    /// The film could not be taken from the renderer without a copy, because something besides its threads holds it.
    #[error(
        "the film is still in use by another thread; render again, and report this error to the authors"
    )]
    FilmInUse,
    /// A GPU failed.
    #[error("{gpu}: {problem}")]
    Gpu {
        /// Name of the GPU, such as `NVIDIA H200 (cuda:1)`.
        gpu: String,
        /// The operation that failed, and the driver's message.
        problem: String,
    },
    /// A GPU operation or a primitive of `compaction` failed.
    #[error(transparent)]
    Compaction(#[from] compaction::Error),
}

impl Error {
    /// Returns [`Error::Damaged`] for the file at `path`.
    pub(crate) fn damaged(path: &std::path::Path, problem: &str) -> Error {
        Error::Damaged {
            file: path.display().to_string(),
            problem: problem.to_owned(),
        }
    }

    /// Returns a function that converts the reason of a failed allocation to [`Error::Memory`]. `size` is the width and
    /// height of the image in pixels.
    pub(crate) fn memory(size: (u32, u32)) -> impl Fn(MemoryError) -> Error {
        move |error| Error::Memory {
            size,
            problem: error.to_string(),
        }
    }

    /// Returns the message as [`error_line`].
    ///
    /// Messages of GPUs are returned as they are, because a kernel compiler's log has several lines.
    pub fn line(&self) -> String {
        match self {
            Error::Gpu { .. } | Error::Compaction(_) => self.to_string(),
            error => error_line(&error.to_string()),
        }
    }

    /// Returns `true` if this is the timeout of a GPU operation. Returns `false` for [`Error::Gpu`], which has only
    /// text.
    pub(crate) fn is_hang(&self) -> bool {
        matches!(self, Error::Compaction(compaction::Error::Timeout { .. }))
    }

    /// Returns the exit code of a program that ends with this error: 2 for a wrong scene, file or setting, 1 for a
    /// failure while running.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Scene(crate::scene::Error::Write { .. })
            | Error::Write { .. }
            | Error::Memory { .. }
            | Error::FilmInUse
            | Error::Gpu { .. }
            | Error::Compaction(_) => 1,
            Error::Scene(_)
            | Error::File { .. }
            | Error::Damaged { .. }
            | Error::Setting { .. }
            | Error::TreeTooDeep { .. } => 2,
        }
    }
}
