//! Checkpoints: a long render saves its film from time to time, and continues from it when it is started again.
//!
//! A checkpoint is a [`part`](crate::render::part), an EXR that can also be viewed, verified and merged. It is replaced
//! atomically.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

use crate::{
    Error,
    render::{
        part::{Packing, Part, PartHeader, Samples},
        renderer::Renderer,
    },
    scene::atomic_file::{clear_unfinished, folder_of, through_links},
};

/// Minimum ratio of the time between two checkpoints to the time for writing one.
const SPACING: u32 = 9;

/// The file to which a render saves its film, with the schedule for writing it.
pub struct Checkpoint {
    path: PathBuf,
    /// Minimum time from one checkpoint to the next.
    every: Duration,
    /// Time from one checkpoint to the next; it grows if writing takes long.
    pause: Duration,
    /// Time of the last write, or of the start.
    written_at: Instant,
    /// Samples in the file, and the number of their paths; `None` if this render has neither read nor written it.
    held: Option<(Samples, u64)>,
    /// Stamp of the file as this render last saw it; `None` if there was no file.
    stamp: Option<Stamp>,
}

/// Modification time and length of a file, which change when another process writes it.
type Stamp = (SystemTime, u64);

/// The way in which a render with a checkpoint begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// There was no checkpoint, so the render starts from the beginning.
    Anew,
    /// The render continues after these samples.
    After(Samples),
    /// The checkpoint was damaged and has been renamed, so the render starts from the beginning. Of such files, the last
    /// three are kept.
    Damaged {
        /// New path of the damaged file.
        kept: PathBuf,
        /// Number of older ones that were removed.
        removed: usize,
        /// Description of the damage.
        problem: String,
    },
}

impl Checkpoint {
    /// Returns the samples and the number of paths in the file, or `None` if this render has neither read nor written
    /// it.
    pub fn held(&self) -> Option<&(Samples, u64)> {
        self.held.as_ref()
    }

    /// Restores the renderer from the checkpoint at `path`, if there is one. Later checkpoints are due after `every`,
    /// or less often if writing would take more than a tenth of the time.
    ///
    /// # Errors
    /// [`Error::File`] if the file is not a checkpoint of this render; it then stays unchanged.
    pub fn begin(
        path: &Path,
        every: Duration,
        renderer: &mut Renderer,
    ) -> Result<(Checkpoint, Beginning), Error> {
        clear_unfinished(path);
        let stamp = stamp(path).map_err(|error| not_used(path, &error.to_string()))?;
        let mut checkpoint = Checkpoint {
            path: path.to_owned(),
            every,
            pause: every,
            written_at: Instant::now(),
            held: None,
            stamp,
        };
        if stamp.is_none() {
            return Ok((checkpoint, Beginning::Anew));
        }
        let beginning = match Part::read(path) {
            Ok(part) => {
                renderer.check_resume(&part.header).map_err(|difference| {
                    not_used(path, &format!("is of another render: it {difference}"))
                })?;
                renderer.resume(&part)?;
                checkpoint.held = Some(samples_and_paths(&part));
                Beginning::After(part.header.samples)
            }
            Err(Error::Damaged { problem, .. }) => {
                let (kept, removed) = keep_aside(path).map_err(|error| {
                    not_used(
                        path,
                        &format!("is damaged ({problem}) and cannot be renamed: {error}"),
                    )
                })?;
                checkpoint.stamp = None;
                Beginning::Damaged {
                    kept,
                    removed,
                    problem,
                }
            }
            Err(error) => return Err(error),
        };
        Ok((checkpoint, beginning))
    }

    /// Returns whether enough time has passed since the last checkpoint to write another one.
    pub fn is_due(&self) -> bool {
        self.written_at.elapsed() >= self.pause
    }

    /// Returns the time from one checkpoint to the next: `every`, or nine times the duration of the last write if that
    /// is longer.
    pub fn pause(&self) -> Duration {
        self.pause
    }

    /// Returns the path of the checkpoint file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a checkpoint, unless there are no samples yet or the file already contains the same ones. The next one is
    /// due after [`Checkpoint::pause`], which this write can lengthen, and also if it fails.
    ///
    /// # Errors
    /// [`Error::Write`], also if another process has written the file; the previous checkpoint stays. Otherwise the
    /// error of [`Renderer::part`], which collects the samples.
    pub fn write(&mut self, renderer: &mut Renderer) -> Result<(), Error> {
        let begun = Instant::now();
        let written = self.write_part(renderer);
        self.pause = self.every.max(begun.elapsed() * SPACING);
        self.written_at = Instant::now();
        written
    }

    /// Checks that the file is unchanged since this render wrote it, or gone.
    fn check_own(&self) -> io::Result<()> {
        let found = stamp(&self.path)?;
        if found.is_some() && found != self.stamp {
            return Err(io::Error::other("another program has changed the file"));
        }
        Ok(())
    }

    /// Writes the part, unless the file already contains the same samples.
    fn write_part(&mut self, renderer: &mut Renderer) -> Result<(), Error> {
        let part = renderer.part()?;
        let held = samples_and_paths(&part);
        if part.header.samples.is_empty() || self.held.as_ref() == Some(&held) {
            return Ok(());
        }
        let is_foreign = |error: io::Error| Error::Write {
            path: self.path.clone(),
            problem: format!("not written: {error}; name another checkpoint"),
        };
        // Checked before the slow encoding, and again just before the rename.
        self.check_own().map_err(is_foreign)?;
        let replaced = part.replace(&self.path, Packing::Fast, || self.check_own());
        let made = match (replaced, self.check_own()) {
            (Ok(made), _) => made,
            (Err(_), Err(foreign)) => return Err(is_foreign(foreign)),
            (Err(error), Ok(())) => return Err(error),
        };
        // The stamp of the file as written, as another file may have replaced it by now.
        self.stamp = stamp_of(&made).ok();
        self.held = Some(held);
        Ok(())
    }
}

/// Returns the samples and the path count of a part, by which an unchanged checkpoint is recognised. With adaptive
/// sampling only the path count keeps changing.
fn samples_and_paths(part: &Part) -> (Samples, u64) {
    let PartHeader { samples, stats, .. } = &part.header;
    (samples.clone(), stats.paths)
}

/// Returns the error for a file that cannot serve as the checkpoint of this render.
fn not_used(path: &Path, problem: &str) -> Error {
    Error::File {
        file: path.display().to_string(),
        problem: format!("{problem}; name another checkpoint, or move this one away to start over"),
    }
}

/// Returns the stamp of a file; `None` if it does not exist.
fn stamp(path: &Path) -> io::Result<Option<Stamp>> {
    match fs::metadata(path) {
        Ok(found) => stamp_of(&found).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the stamp of a file with this metadata.
fn stamp_of(found: &fs::Metadata) -> io::Result<Stamp> {
    Ok((found.modified()?, found.len()))
}

/// Number of damaged checkpoints that are kept.
const MAX_DAMAGED: usize = 3;

/// Renames a damaged file to `NAME.damaged`, or to `NAME.damaged-N` with a number above those that exist, and removes
/// the oldest files of such names beyond the last three. Returns the new path, and the number of removed files.
fn keep_aside(path: &Path) -> io::Result<(PathBuf, usize)> {
    let file = through_links(path);
    let mut older = damaged_copies(&file)?;
    let number = older.last().map_or(1, |(number, _)| number + 1);
    let ending = match number {
        1 => "damaged".to_owned(),
        number => format!("damaged-{number}"),
    };
    let aside = file.with_added_extension(ending);
    fs::rename(&file, &aside)?;
    older.truncate((older.len() + 1).saturating_sub(MAX_DAMAGED));
    // One that cannot be removed only takes space.
    let removed = older
        .iter()
        .filter(|(_, path)| fs::remove_file(path).is_ok());
    Ok((aside, removed.count()))
}

/// Returns the earlier damaged checkpoints of `file` with their numbers, which increase.
fn damaged_copies(file: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut prefix = file.file_name().unwrap_or_default().to_owned();
    prefix.push(".damaged");
    let mut copies = Vec::new();
    for entry in fs::read_dir(folder_of(file))? {
        let entry = entry?;
        let name = entry.file_name();
        let rest = name
            .as_encoded_bytes()
            .strip_prefix(prefix.as_encoded_bytes());
        let rest = rest.and_then(|rest| std::str::from_utf8(rest).ok());
        let number = match rest {
            Some("") => Some(1),
            Some(rest) => rest
                .strip_prefix('-')
                .and_then(|number| number.parse().ok()),
            None => None,
        };
        copies.extend(number.map(|number| (number, entry.path())));
    }
    copies.sort_unstable();
    Ok(copies)
}
