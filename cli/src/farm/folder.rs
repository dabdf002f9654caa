//! The folder next to the image that contains the plan, scripts, parts and logs of a farm: `box.farm` for `box.exr`.

use std::{
    fs::{self, DirEntry, File, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
};

use crate::error::Error;
use raysieve_scene::atomic_file;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::plan::{Plan, absolute_path, script_text};

/// The paths of a farm: its folder and its image. The folder may not exist yet.
pub(super) struct Folder {
    /// Path of the folder, which is relative if the image's path is.
    path: PathBuf,
    /// Path of the final image, as the user gave it.
    pub(super) picture: PathBuf,
}

/// A script for sbatch, or a manifest for kubectl, in the farm's folder.
pub(super) struct Script {
    /// Name of the file in the farm's folder, such as `part.sh`.
    pub(super) name: String,
    /// Whole content of the file.
    pub(super) text: String,
}

/// The Slurm jobs of the last submission, stored in `jobs.json`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Jobs {
    /// The job arrays that render parts. Empty if no part was missing at the submission.
    pub(super) parts: Vec<Array>,
    /// The job arrays of each level of merging, in the order of the levels. Entry 0 is for level 1.
    pub(super) merges: Vec<Vec<Array>>,
}

/// A Slurm job array, or the single job of the last merge. If the parts, or the merges of a level, exceed the cluster's
/// limit for an array, they are split into several arrays.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Array {
    /// The job ID that Slurm assigned, as decimal digits.
    pub(super) job: String,
    /// Number of the part or merge that task 0 of the array processes. Parts are counted from 0, and merges from 0
    /// within their level.
    pub(super) first: u32,
}

impl Jobs {
    /// Returns the Slurm job IDs of all arrays: those of the parts, then those of each level of merging.
    pub(super) fn all(&self) -> Vec<&str> {
        let merges = self.merges.iter().flatten();
        let all = self.parts.iter().chain(merges);
        all.map(|array| array.job.as_str()).collect()
    }
}

/// Name of the file in the folder that contains the [`Plan`].
const PLAN: &str = "farm.json";
/// Name of the file in the folder that contains the [`Jobs`].
const JOBS: &str = "jobs.json";
/// Minimum number of decimal digits of a part or merge in the name of its log. Numbers from 100,000 on have six.
pub(super) const LOG_DIGITS: u32 = 5;

impl Folder {
    /// Returns the folder that belongs to the image at the path `picture`: `box.farm` for `box.exr`.
    pub(super) fn beside(picture: &Path) -> Folder {
        Folder {
            path: picture.with_extension("farm"),
            picture: picture.to_owned(),
        }
    }

    /// Returns the path of the folder, which is relative if the image's path is.
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
    ///
    /// # Errors
    /// If the image's name is not UTF-8 or contains control characters.
    pub(super) fn picture_from_here(&self) -> Result<String, Error> {
        let name = self.picture.file_name().unwrap_or_default();
        script_text(&Path::new("..").join(name))
    }

    /// Reads the plan stored in the folder. Returns `None` if the folder does not exist, or contains nothing but
    /// temporary files.
    ///
    /// # Errors
    /// [`Error::File`] if the folder contains other files but no plan, if the path is not a folder, or if the plan is
    /// damaged.
    pub(super) fn plan(&self) -> Result<Option<Plan>, Error> {
        match (self.read(PLAN)?, fs::symlink_metadata(&self.path)) {
            (None, Ok(_)) if !self.is_blank() => {
                Err(self.error("exists and is not the folder of a farm; move it away"))
            }
            (plan, _) => Ok(plan),
        }
    }

    /// Returns whether the folder exists and contains nothing but temporary files, as after a failure to write the
    /// plan.
    fn is_blank(&self) -> bool {
        let is_nothing = |entry: io::Result<DirEntry>| {
            entry.is_ok_and(|entry| atomic_file::is_unfinished(&entry.file_name()))
        };
        fs::read_dir(&self.path).is_ok_and(|mut entries| entries.all(is_nothing))
    }

    /// Creates the folder if necessary, and locks it until the returned file is dropped. Returns `None` if another
    /// process holds the lock.
    ///
    /// On file systems without locks, returns the file without locking.
    ///
    /// # Errors
    /// If the folder cannot be created or opened.
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

    /// Removes the folder with everything in it. Ignores failures.
    pub(super) fn remove(&self) {
        // A folder that remains does no harm: the next submission uses it.
        let _ = fs::remove_dir_all(&self.path);
    }

    /// Creates the subfolder `name`, or the farm's folder itself if `name` is empty. Does nothing if that folder
    /// exists.
    fn create_dir(&self, name: &str) -> Result<(), Error> {
        let path = self.path.join(name);
        match fs::create_dir(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(Error::Write {
                path,
                problem: match atomic_file::is_full_disk(&error) {
                    true => format!(
                        "cannot be created: {error}; {}",
                        atomic_file::write_remedy(&error)
                    ),
                    false => format!("cannot be created: {error}; name another path"),
                },
            }),
            _ => Ok(()),
        }
    }

    /// Reads the Slurm jobs of the last submission. Returns `None` if raysieve has submitted none for this folder.
    pub(super) fn jobs(&self) -> Result<Option<Jobs>, Error> {
        self.read(JOBS)
    }

    /// Reads the JSON file `name` in the folder. Returns `None` if the file or the folder does not exist.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be read, or is not a valid `T`.
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

    /// Returns the path of the file of part `part`, counted from 0. The file is the part's checkpoint until the part is
    /// complete.
    pub(super) fn part(&self, part: u32) -> PathBuf {
        self.path.join(format!("parts/{part:05}.exr"))
    }

    /// Returns the path of the log of the job that renders part `part`. Parts are counted from 0.
    pub(super) fn log_of_part(&self, part: u32) -> PathBuf {
        self.path.join(format!(
            "logs/{part:0width$}.log",
            width = LOG_DIGITS as usize
        ))
    }

    /// Appends a line to the existing logs of these parts, so that their last lines are no longer errors of earlier
    /// jobs. Ignores failures.
    pub(super) fn mark_logs_resubmitted(&self, parts: &[u32]) {
        for &part in parts {
            let log = File::options().append(true).open(self.log_of_part(part));
            // A failure only makes the displayed progress less precise.
            let _ = log.and_then(|mut log| log.write_all(b"to be submitted again\n"));
        }
    }

    /// Creates the folder with its subfolders, and writes the plan and the scripts. Replaces existing files.
    ///
    /// The plan is written first, because [`Folder::plan`] refuses a folder with other files but no plan. An
    /// interrupted command can therefore be repeated.
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

    /// Writes the Slurm jobs of the current submission to `jobs.json`, in place of those of the last submission.
    pub(super) fn write_jobs(&self, jobs: &Jobs) -> Result<(), Error> {
        self.write_json(JOBS, jobs)
    }

    /// Writes `content` to the JSON file `name` in the folder, atomically.
    fn write_json<T: Serialize>(&self, name: &str, content: &T) -> Result<(), Error> {
        let mut text = serde_json::to_vec_pretty(content).map_err(|error| Error::Write {
            path: self.path.join(name),
            problem: format!("not written: {error}"),
        })?;
        text.push(b'\n');
        self.write_file(name, &text)
    }

    /// Writes the file `name` in the folder, atomically.
    fn write_file(&self, name: &str, text: &[u8]) -> Result<(), Error> {
        Ok(atomic_file::write_whole(&self.path.join(name), |file| {
            file.write_all(text)
        })?)
    }

    /// Returns an [`Error::File`] about the folder. `problem` follows the folder's path in the message.
    pub(super) fn error(&self, problem: &str) -> Error {
        Error::File {
            file: self.path.display().to_string(),
            problem: problem.to_owned(),
        }
    }

    /// Returns the command that continues this farm, quoted for a shell, such as `raysieve farm -o box.exr`.
    pub(super) fn command(&self) -> String {
        let picture = self.picture.display().to_string();
        let quoted = shlex::try_quote(&picture).map_or(picture.clone(), |text| text.into_owned());
        format!("raysieve farm -o {quoted}")
    }
}
