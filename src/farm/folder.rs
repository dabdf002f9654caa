//! The folder beside the picture: `box.farm` for `box.exr`.

use std::{
    fs::{self, DirEntry, File, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
};

use raysieve::{Error, output};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    plan::{Plan, absolute_path, script_text},
    scripts::{Script, part_file, part_log},
};

/// Where everything of a farm is but its picture.
pub(super) struct Folder {
    path: PathBuf,
    /// As it was given.
    pub(super) picture: PathBuf,
}

/// What was submitted last.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Jobs {
    /// The arrays of the parts, if any were missing.
    pub(super) parts: Vec<Array>,
    /// Those of one level of merging after the other.
    pub(super) merges: Vec<Vec<Array>>,
}

/// An array of tasks, or as many of a level's as fit into one.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Array {
    /// Its number for Slurm.
    pub(super) job: String,
    /// What its task 0 is of its level.
    pub(super) first: u32,
}

impl Jobs {
    /// The numbers of them all.
    pub(super) fn all(&self) -> Vec<&str> {
        let merges = self.merges.iter().flatten();
        let all = self.parts.iter().chain(merges);
        all.map(|array| array.job.as_str()).collect()
    }
}

const PLAN: &str = "farm.json";
const JOBS: &str = "jobs.json";

impl Folder {
    /// That of the picture.
    pub(super) fn beside(picture: &Path) -> Folder {
        Folder {
            path: picture.with_extension("farm"),
            picture: picture.to_owned(),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// As scripts say it.
    pub(super) fn absolute(&self) -> Result<String, Error> {
        script_text(&absolute_path(&self.path)?)
    }

    /// The picture's name, as seen from the folder.
    pub(super) fn picture_from_here(&self) -> Result<String, Error> {
        let name = self.picture.file_name().unwrap_or_default();
        script_text(&Path::new("..").join(name))
    }

    /// What is under way there; `None` if nothing is.
    pub(super) fn plan(&self) -> Result<Option<Plan>, Error> {
        match (self.read(PLAN)?, fs::symlink_metadata(&self.path)) {
            (None, Ok(_)) if !self.is_blank() => {
                Err(self.refused("is there and is no farm; move it away"))
            }
            (plan, _) => Ok(plan),
        }
    }

    /// Whether it is a folder as a farm that could not even be written down leaves it.
    fn is_blank(&self) -> bool {
        let is_nothing = |entry: io::Result<DirEntry>| {
            entry.is_ok_and(|entry| output::is_unfinished(&entry.file_name()))
        };
        fs::read_dir(&self.path).is_ok_and(|mut entries| entries.all(is_nothing))
    }

    /// Keeps it for this process, while that has what is returned; `None` if another has it. Where the file system knows no
    /// locks it is everybody's.
    pub(super) fn lock(&self) -> Result<Option<File>, Error> {
        self.make("")?;
        let Ok(folder) = File::open(&self.path) else {
            return Err(self.refused("cannot be opened; name another place"));
        };
        match folder.try_lock() {
            Err(TryLockError::WouldBlock) => Ok(None),
            _ => Ok(Some(folder)),
        }
    }

    /// Makes it, or a folder in it, if it is not there.
    fn make(&self, name: &str) -> Result<(), Error> {
        let path = self.path.join(name);
        match fs::create_dir(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(Error::Write {
                path,
                problem: format!("cannot be made: {error}; name another place"),
            }),
            _ => Ok(()),
        }
    }

    /// What was submitted last; `None` if nothing was.
    pub(super) fn jobs(&self) -> Result<Option<Jobs>, Error> {
        self.read(JOBS)
    }

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
                "is not as it was written: {error}; move the folder away to begin anew"
            ))
        })
    }

    pub(super) fn part(&self, part: u32) -> PathBuf {
        self.path.join(part_file(part))
    }

    /// What a part's job said.
    pub(super) fn log_of_part(&self, part: u32) -> PathBuf {
        self.path.join(part_log(part))
    }

    /// What the jobs of these parts said before is no longer their last word. One without a log has said nothing.
    pub(super) fn go_on_in_logs(&self, parts: &[u32]) {
        for &part in parts {
            let log = File::options().append(true).open(self.log_of_part(part));
            // A log that cannot be written to only tells less.
            let _ = log.and_then(|mut log| log.write_all(b"to be submitted again\n"));
        }
    }

    /// Writes down what is to be done, and the scripts that do it. The first is the plan: with it whatever ends this is gone
    /// on from.
    pub(super) fn write(&self, plan: &Plan, scripts: &[Script]) -> Result<(), Error> {
        self.make("")?;
        self.write_json(PLAN, plan)?;
        for folder in ["parts", "merged", "logs"] {
            self.make(folder)?;
        }
        for script in scripts {
            self.write_file(&script.name, script.text.as_bytes())?;
        }
        Ok(())
    }

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
        output::write_whole(&self.path.join(name), |file| file.write_all(text))
    }

    pub(super) fn refused(&self, problem: &str) -> Error {
        Error::File {
            file: self.path.display().to_string(),
            problem: problem.to_owned(),
        }
    }

    /// The command that goes on with what is there.
    pub(super) fn command(&self) -> String {
        let picture = self.picture.display().to_string();
        let quoted = shlex::try_quote(&picture).map_or(picture.clone(), |text| text.into_owned());
        format!("raysieve farm -o {quoted}")
    }
}
