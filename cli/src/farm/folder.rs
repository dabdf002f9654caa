//! The folder next to the image that contains the plan, scripts, parts and logs of a farm: `box.farm` for `box.exr`.

use std::{
    fs::{self, DirEntry, File, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
};

use crate::error::Error;
use raysieve_scene::atomic_file;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    plan::{Plan, absolute_path, script_text},
    scripts::{Script, part_file, part_log},
};

/// The folder of a farm. The value only holds paths; the folder may not exist yet.
pub(super) struct Folder {
    path: PathBuf,
    /// Path of the final image as the user gave it.
    pub(super) picture: PathBuf,
}

/// The Slurm jobs of the last submission, stored in `jobs.json`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Jobs {
    /// Job arrays that render parts; empty if no part was missing.
    pub(super) parts: Vec<Array>,
    /// Job arrays of each level of merging, in the order of the levels.
    pub(super) merges: Vec<Vec<Array>>,
}

/// A Slurm job array. A level with more tasks than an array may have is split into several arrays.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Array {
    /// Slurm's job ID.
    pub(super) job: String,
    /// Number of the part or merge that the array's task 0 stands for.
    pub(super) first: u32,
}

impl Jobs {
    /// Returns the job IDs of all arrays.
    pub(super) fn all(&self) -> Vec<&str> {
        let merges = self.merges.iter().flatten();
        let all = self.parts.iter().chain(merges);
        all.map(|array| array.job.as_str()).collect()
    }
}

/// Name of the file with the [`Plan`].
const PLAN: &str = "farm.json";
/// Name of the file with the [`Jobs`].
const JOBS: &str = "jobs.json";

impl Folder {
    /// Returns the folder of the image at this path.
    pub(super) fn beside(picture: &Path) -> Folder {
        Folder {
            path: picture.with_extension("farm"),
            picture: picture.to_owned(),
        }
    }

    /// Returns the path of the folder, relative if the image's path is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the absolute path of the folder, for scripts.
    ///
    /// # Errors
    /// If the path is not UTF-8 or contains control characters.
    pub(super) fn absolute(&self) -> Result<String, Error> {
        script_text(&absolute_path(&self.path)?)
    }

    /// Returns the path of the image relative to the folder, such as `../box.exr`.
    pub(super) fn picture_from_here(&self) -> Result<String, Error> {
        let name = self.picture.file_name().unwrap_or_default();
        script_text(&Path::new("..").join(name))
    }

    /// Reads the stored plan; `None` if the folder does not exist or is blank.
    ///
    /// # Errors
    /// If the folder contains other files but no plan.
    pub(super) fn plan(&self) -> Result<Option<Plan>, Error> {
        match (self.read(PLAN)?, fs::symlink_metadata(&self.path)) {
            (None, Ok(_)) if !self.is_blank() => {
                Err(self.error("exists and is not the folder of a farm; move it away"))
            }
            (plan, _) => Ok(plan),
        }
    }

    /// Returns whether the folder contains nothing but temporary files, as after a failure to write the plan.
    fn is_blank(&self) -> bool {
        let is_nothing = |entry: io::Result<DirEntry>| {
            entry.is_ok_and(|entry| atomic_file::is_unfinished(&entry.file_name()))
        };
        fs::read_dir(&self.path).is_ok_and(|mut entries| entries.all(is_nothing))
    }

    /// Creates the folder and locks it while the returned file is held; `None` if another process holds the lock.
    ///
    /// Without effect on file systems that do not support locks.
    pub(super) fn lock(&self) -> Result<Option<File>, Error> {
        self.create_dir("")?;
        let Ok(folder) = File::open(&self.path) else {
            return Err(self.error("cannot be opened; name another path"));
        };
        match folder.try_lock() {
            Err(TryLockError::WouldBlock) => Ok(None),
            _ => Ok(Some(folder)),
        }
    }

    /// Creates the folder (for an empty `name`) or a subfolder unless it exists.
    fn create_dir(&self, name: &str) -> Result<(), Error> {
        let path = self.path.join(name);
        match fs::create_dir(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(Error::Write {
                path,
                problem: format!("cannot be created: {error}; name another path"),
            }),
            _ => Ok(()),
        }
    }

    /// Reads the jobs of the last submission; `None` if nothing was submitted.
    pub(super) fn jobs(&self) -> Result<Option<Jobs>, Error> {
        self.read(JOBS)
    }

    /// Reads a JSON file of the folder; `None` if it does not exist.
    fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Error> {
        let path = self.path.join(name);
        let refused = |problem: String| Error::File {
            file: path.display().to_string(),
            problem,
        };
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(None),
            Err(error) => return Err(refused(format!("cannot be read: {error}"))),
        };
        serde_json::from_slice(&text).map(Some).map_err(|error| {
            refused(format!(
                "is damaged: {error}; move the folder away to start again"
            ))
        })
    }

    /// Returns the path of a part's file.
    pub(super) fn part(&self, part: u32) -> PathBuf {
        self.path.join(part_file(part))
    }

    /// Returns the path of the log of a part's job.
    pub(super) fn log_of_part(&self, part: u32) -> PathBuf {
        self.path.join(part_log(part))
    }

    /// Appends a line to the existing logs of these parts, so that the last line is no longer an error of an earlier job.
    pub(super) fn mark_logs_resubmitted(&self, parts: &[u32]) {
        for &part in parts {
            let log = File::options().append(true).open(self.log_of_part(part));
            // A failure only makes the displayed progress less precise.
            let _ = log.and_then(|mut log| log.write_all(b"to be submitted again\n"));
        }
    }

    /// Creates the folder with its subfolders, and writes the plan and the scripts.
    ///
    /// The plan is written first, so that the same command can continue after an interruption.
    pub(super) fn write(&self, plan: &Plan, scripts: &[Script]) -> Result<(), Error> {
        self.create_dir("")?;
        self.write_json(PLAN, plan)?;
        for folder in ["parts", "merged", "logs"] {
            self.create_dir(folder)?;
        }
        for script in scripts {
            self.write_file(&script.name, script.text.as_bytes())?;
        }
        Ok(())
    }

    /// Writes the jobs of this submission, in place of those of the last one.
    pub(super) fn write_jobs(&self, jobs: &Jobs) -> Result<(), Error> {
        self.write_json(JOBS, jobs)
    }

    fn write_json<T: Serialize>(&self, name: &str, content: &T) -> Result<(), Error> {
        let mut text = serde_json::to_vec_pretty(content).map_err(|error| Error::Write {
            path: self.path.join(name),
            problem: format!("not written: {error}"),
        })?;
        text.push(b'\n');
        self.write_file(name, &text)
    }

    fn write_file(&self, name: &str, text: &[u8]) -> Result<(), Error> {
        Ok(atomic_file::write_whole(&self.path.join(name), |file| {
            file.write_all(text)
        })?)
    }

    /// Returns an error about the folder; `problem` follows its path.
    pub(super) fn error(&self, problem: &str) -> Error {
        Error::File {
            file: self.path.display().to_string(),
            problem: problem.to_owned(),
        }
    }

    /// Returns the command that continues this farm, quoted for a shell.
    pub(super) fn command(&self) -> String {
        let picture = self.picture.display().to_string();
        let quoted = shlex::try_quote(&picture).map_or(picture.clone(), |text| text.into_owned());
        format!("raysieve farm -o {quoted}")
    }
}
