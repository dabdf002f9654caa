//! Everything that can go wrong, each in one line: the object, the cause, what to do.

/// Why a scene could not be read or rendered.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file that is missing, cannot be read, or is not of the kind that is needed.
    #[error("{file}: {problem}")]
    File {
        /// The file, as it was given.
        file: String,
        /// The cause and what to do.
        problem: String,
    },
    /// A part of a render that is not as it was written.
    #[error("{file}: is damaged or was altered: {problem}; render it again")]
    Damaged {
        /// The file, as it was given.
        file: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A picture, or a scene's film, that another render of the same samples does not confirm.
    #[error("{file}: does not hold: {problem}")]
    Refuted {
        /// The file, as it was given.
        file: String,
        /// What was expected and what was found.
        problem: String,
    },
    /// Strategies that take longer than they did when the file was measured.
    #[error("slower than in {file}: {problem}")]
    Slower {
        /// The file, as it was given.
        file: String,
        /// Which, and by how much.
        problem: String,
    },
    /// Something in a scene's text, or in a mesh that it names.
    #[error("{file}:{line}:{column}: {object}: {problem}")]
    Scene {
        /// The scene's file, as it was given.
        file: String,
        /// From 1.
        line: usize,
        /// In characters, from 1.
        column: usize,
        /// What is wrong there, such as `material "glass"` or `object 3 (Sphere)`.
        object: String,
        /// What was found, and what was expected.
        problem: String,
    },
    /// A setting that a scene cannot be rendered with.
    #[error("{setting}: {problem}")]
    Setting {
        /// The setting and its value, such as `size 0x480`.
        setting: String,
        /// The cause and what to do.
        problem: String,
    },
    /// Primitives that lie so that no tree of bounded depth holds them.
    #[error("{}: its surfaces lie so close together that no tree over them is shallow enough; leave out doubled surfaces", scene.display())]
    TreeTooDeep {
        /// The scene's file.
        scene: std::path::PathBuf,
    },
    /// What was asked for on the command line.
    #[error("{0}")]
    Usage(String),
    /// A file that could not be written.
    #[error("{}: {problem}", path.display())]
    Write {
        /// The file, as it was given.
        path: std::path::PathBuf,
        /// The cause and what to do.
        problem: String,
    },
    /// A render on many machines that did not come to its end, or did not begin.
    #[error("{what}: {problem}")]
    Farm {
        /// The part, job or program.
        what: String,
        /// The cause and what to do.
        problem: String,
    },
    /// The system does not let the program listen to Ctrl-C.
    #[error("Ctrl-C cannot be listened to: {0}")]
    Signals(String),
    /// A window that failed while it was open.
    #[error("window: {problem}")]
    Window {
        /// The cause.
        problem: String,
    },
    /// A page that could not be served.
    #[error("page: {problem}")]
    Serve {
        /// The cause.
        problem: String,
    },
    /// One of several GPUs.
    #[error("{gpu}: {problem}")]
    Gpu {
        /// Such as `NVIDIA H200 (cuda:1)`.
        gpu: String,
        /// What was being done, and what the driver says.
        problem: String,
        /// Whether another process may go on with the others: this one, or nothing of its GPUs, cannot.
        leaves_others: bool,
    },
    /// The GPU, or the sieve on it.
    #[error(transparent)]
    Compaction(#[from] compaction::Error),
}

impl Error {
    pub(crate) fn damaged(path: &std::path::Path, problem: &str) -> Error {
        Error::Damaged {
            file: path.display().to_string(),
            problem: problem.to_owned(),
        }
    }

    /// All of it in one line, whatever letters the names in it have. Only what a compiler says of a kernel has several.
    pub fn line(&self) -> String {
        match self {
            Error::Gpu { .. } | Error::Compaction(_) => self.to_string(),
            error => escaped(&error.to_string()),
        }
    }

    /// Whether a GPU has not done in time what it was given.
    pub(crate) fn is_hang(&self) -> bool {
        matches!(self, Error::Compaction(compaction::Error::Hangs { .. }))
    }

    /// What the process ends with: 2 for wrong usage or a wrong scene, 1 for a render that failed.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::File { .. }
            | Error::Damaged { .. }
            | Error::Scene { .. }
            | Error::Setting { .. }
            | Error::TreeTooDeep { .. }
            | Error::Usage(_) => 2,
            Error::Refuted { .. }
            | Error::Slower { .. }
            | Error::Write { .. }
            | Error::Farm { .. }
            | Error::Signals(_)
            | Error::Window { .. }
            | Error::Serve { .. }
            | Error::Gpu { .. }
            | Error::Compaction(_) => 1,
        }
    }
}

/// A text on one line, whatever characters it holds.
pub(crate) fn escaped(text: &str) -> String {
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
