//! Checkpoints: a long render writes down its film from time to time, and goes on from there when it is started again.
//!
//! A checkpoint is a [`part`](crate::part): an EXR that can be looked at, verified and merged as well. It is replaced as
//! a whole, so that at any instant there is either the last one or the one before.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

use crate::{
    Error,
    output::{clear_unfinished, through_links},
    part::{Claim, Packing, Part, Samples},
    renderer::Renderer,
};

/// So much longer than it takes to write a checkpoint the render goes on at least before the next.
const SPACING: u32 = 9;

/// The file where a render writes down how far it has come.
pub struct Checkpoint {
    path: PathBuf,
    every: Duration,
    /// Until the next.
    pause: Duration,
    written_at: Instant,
    /// What it holds, and of how many paths.
    held: Option<(Samples, u64)>,
    /// The file as this render left it; `None` if there was none.
    stamp: Option<Stamp>,
}

/// What changes when somebody else writes a file.
type Stamp = (SystemTime, u64);

/// How a render begins that has a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// There is no checkpoint yet.
    Anew,
    /// The render goes on after these samples.
    After(Samples),
    /// The checkpoint was damaged, is kept under another name, and the render begins anew.
    Damaged {
        /// Where it is now.
        kept: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

impl Checkpoint {
    /// Lets the renderer go on from the checkpoint at `path`, if there is one. From then on a checkpoint is due `every`
    /// so often, or less often where writing would take more than a tenth of the time.
    ///
    /// # Errors
    /// [`Error::File`] if the file is no checkpoint of this render; it stays as it is.
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
                renderer.check_resume(&part.claim).map_err(|difference| {
                    not_used(path, &format!("is of another render: it {difference}"))
                })?;
                renderer.resume(&part)?;
                checkpoint.held = Some(held(&part));
                Beginning::After(part.claim.samples)
            }
            Err(Error::Damaged { problem, .. }) => {
                let kept = keep_aside(path).map_err(|error| {
                    not_used(
                        path,
                        &format!("is damaged ({problem}) and cannot be kept aside: {error}"),
                    )
                })?;
                checkpoint.stamp = None;
                Beginning::Damaged { kept, problem }
            }
            Err(error) => return Err(error),
        };
        Ok((checkpoint, beginning))
    }

    /// Whether it is time to write one.
    pub fn is_due(&self) -> bool {
        self.written_at.elapsed() >= self.pause
    }

    /// From one to the next.
    pub fn pause(&self) -> Duration {
        self.pause
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes down how far the renderer has come, unless the file says so already.
    ///
    /// # Errors
    /// [`Error::Write`], also if somebody else has written the file meanwhile. The last checkpoint stays.
    pub fn write(&mut self, renderer: &mut Renderer) -> Result<(), Error> {
        let begun = Instant::now();
        let written = self.write_part(renderer);
        self.pause = self.every.max(begun.elapsed() * SPACING);
        self.written_at = Instant::now();
        written
    }

    /// Whether the file is as this render left it, or gone.
    fn check_own(&self) -> io::Result<()> {
        let found = stamp(&self.path)?;
        if found.is_some() && found != self.stamp {
            return Err(io::Error::other(
                "another program has changed the file since",
            ));
        }
        Ok(())
    }

    fn write_part(&mut self, renderer: &mut Renderer) -> Result<(), Error> {
        let part = renderer.part()?;
        let held = held(&part);
        if part.claim.samples.is_empty() || self.held.as_ref() == Some(&held) {
            return Ok(());
        }
        // Before it is encoded, which takes a while, and again right before it gets its name.
        self.check_own().map_err(|error| Error::Write {
            path: self.path.clone(),
            problem: format!("not written: {error}; name another checkpoint"),
        })?;
        let made = part.replace(&self.path, Packing::Fast, || self.check_own())?;
        // Of the file that was made: another may have taken its place by now.
        self.stamp = stamp_of(&made).ok();
        self.held = Some(held);
        Ok(())
    }
}

/// What is told of a film: where pixels get samples until they are good, those that all have are soon all there.
fn held(part: &Part) -> (Samples, u64) {
    let Claim { samples, stats, .. } = &part.claim;
    (samples.clone(), stats.paths)
}

fn not_used(path: &Path, problem: &str) -> Error {
    Error::File {
        file: path.display().to_string(),
        problem: format!("{problem}; name another checkpoint, or move this one away to begin anew"),
    }
}

/// `None` if there is no file.
fn stamp(path: &Path) -> io::Result<Option<Stamp>> {
    match fs::metadata(path) {
        Ok(found) => stamp_of(&found).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn stamp_of(found: &fs::Metadata) -> io::Result<Stamp> {
    Ok((found.modified()?, found.len()))
}

/// Renames a file to the first free of `NAME.damaged`, `NAME.damaged-2`, and so on.
fn keep_aside(path: &Path) -> io::Result<PathBuf> {
    let file = through_links(path);
    let mut number = 1;
    loop {
        let ending = match number {
            1 => "damaged".to_owned(),
            number => format!("damaged-{number}"),
        };
        let aside = file.with_added_extension(ending);
        match fs::symlink_metadata(&aside) {
            Ok(_) => number += 1,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::rename(&file, &aside)?;
                return Ok(aside);
            }
            Err(error) => return Err(error),
        }
    }
}
