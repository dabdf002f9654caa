//! The program's errors. Each message is one line with the object, the cause and, where there is one, the remedy.

use raysieve_scene::{error_line, escaped};

/// The reason for which the program exits with a code other than 0 or 130.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The command line is wrong. The text is the whole message.
    #[error("{0}")]
    Usage(String),
    /// A file or farm folder that is missing, cannot be read, or cannot be used for this command.
    #[error("{file}: {problem}")]
    File {
        /// Path of the file or folder, usually as the user gave it.
        file: String,
        /// Description of the problem with the file or folder and, where there is one, the remedy.
        problem: String,
    },
    /// Rendering the same samples again gave another result, in `verify` or `bench`, or a file to be verified is
    /// damaged.
    #[error("{file}: verification failed: {problem}")]
    VerificationFailed {
        /// Path of the image to be verified, or of the scene that `bench` measured, as the user gave it.
        file: String,
        /// The expected and the actual result, or a description of the damage.
        problem: String,
    },
    /// A benchmark in which at least one strategy is slower than in the baseline.
    #[error("slower than in {file}: {problem}")]
    Slower {
        /// Path of the baseline, the file of `--compare`, as the user gave it.
        file: String,
        /// The slower strategies with their scenes, and by how much they are slower.
        problem: String,
    },
    /// An option or a setting whose value cannot be used.
    #[error("{setting}: {problem}")]
    Setting {
        /// Name and value of the setting, such as `size 0x480`.
        setting: String,
        /// Description of the problem with the value and, where there is one, the remedy.
        problem: String,
    },
    /// A file, a folder or the standard output that cannot be written.
    #[error("{}: {problem}", path.display())]
    Write {
        /// Path of the file or folder, or the words "the standard output".
        path: std::path::PathBuf,
        /// The reason why the file, folder or output was not written and, where there is one, the remedy.
        problem: String,
    },
    /// An image that could not be written, whose render was saved in another file.
    #[error(
        "{error}; the render is saved, and raysieve merge {} -o {} writes the image",
        saved.display(), picture.display()
    )]
    Rescued {
        /// The reason why the image was not written.
        error: Box<Error>,
        /// Path of the .exr that contains the render.
        saved: std::path::PathBuf,
        /// Path of the image.
        picture: std::path::PathBuf,
    },
    /// A farm, a render on many machines, failed or could not be submitted.
    #[error("{what}: {problem}")]
    Farm {
        /// The image with its part or merge that failed, or the program of Slurm that failed, with or without its
        /// arguments.
        what: String,
        /// The reason for the failure and, where there is one, the remedy.
        problem: String,
    },
    /// The handler for Ctrl-C and other signals could not be installed. The text is the reason.
    #[error("the handler for Ctrl-C could not be installed: {0}")]
    Signals(String),
    /// A frame of a sequence could not be rendered.
    #[error("frame {number} of {count}: {error}")]
    Frame {
        /// Position of the frame in the sequence, from 1 on.
        number: usize,
        /// Number of frames of the sequence.
        count: usize,
        /// The reason.
        error: Box<Error>,
    },
    /// The scene cannot be read or saved or is invalid, or a render setting such as its size is out of range. Also: an
    /// output file cannot be written or has an unusable path.
    #[error(transparent)]
    Scene(#[from] raysieve_scene::Error),
    /// The render failed, a file such as a part or checkpoint cannot be read or is damaged, or a render setting is out
    /// of range.
    #[error(transparent)]
    Render(#[from] raysieve::Error),
    /// The window, or the web page of `--serve`, failed or could not be opened.
    #[error(transparent)]
    Viewer(raysieve_viewer::Error),
}

impl From<raysieve_viewer::Error> for Error {
    fn from(error: raysieve_viewer::Error) -> Error {
        match error {
            raysieve_viewer::Error::Render(error) => Error::Render(error),
            raysieve_viewer::Error::Scene(error) => Error::Scene(error),
            error => Error::Viewer(error),
        }
    }
}

impl Error {
    /// Returns the message without a prefix such as `raysieve: `, as [`error_line`]. A message is not shortened if it
    /// contains a command to be copied.
    ///
    /// Messages of GPUs and of the crate `compaction` are returned unchanged, because the log of a failed kernel
    /// compilation has several lines.
    pub(crate) fn line(&self) -> String {
        match self {
            Error::Render(error) => error.line(),
            Error::Viewer(error) => error.line(),
            Error::Frame {
                number,
                count,
                error,
            } => format!("frame {number} of {count}: {}", error.line()),
            error @ Error::Rescued { .. } => escaped(&error.to_string()),
            error => error_line(&error.to_string()),
        }
    }

    /// Returns whether a file was not written because the disk or the user's disk quota is full. Returns `false` for
    /// errors inside [`Error::Frame`] or [`Error::Rescued`], and for the standard output.
    pub(crate) fn is_full_disk(&self) -> bool {
        match self {
            Error::Scene(error) | Error::Render(raysieve::Error::Scene(error)) => {
                matches!(error, raysieve_scene::Error::Write { is_full: true, .. })
            }
            _ => false,
        }
    }

    /// Returns the exit code: 2 for wrong usage, an invalid scene or file, a missing GPU, or an output path that cannot
    /// be used, and 1 for other failures.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Error::Usage(_) | Error::File { .. } | Error::Setting { .. } => 2,
            Error::Scene(raysieve_scene::Error::Write { .. }) => 1,
            Error::Scene(_) => 2,
            Error::VerificationFailed { .. }
            | Error::Slower { .. }
            | Error::Write { .. }
            | Error::Farm { .. }
            | Error::Signals(_) => 1,
            Error::Frame { error, .. } | Error::Rescued { error, .. } => error.exit_code(),
            Error::Render(error) => error.exit_code(),
            Error::Viewer(error) => error.exit_code(),
        }
    }
}
