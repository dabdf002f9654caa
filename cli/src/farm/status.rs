//! The progress of a farm, read from its files, the logs of Slurm's jobs, and Slurm's queue.

use std::{
    fs,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
    thread,
    time::{Duration, Instant, SystemTime},
};

use crate::error::Error;
use raysieve::render::part::PartHeader;

use super::{
    folder::{Folder, Jobs},
    plan::{Plan, Progress},
    scripts::levels,
    slurm::{Queue, Task},
};
use crate::{
    arguments::Engine,
    headless::{PROGRESS_STEPS, progress_bar},
    note, print_result,
};

/// Minimum pause between two updates of the displayed progress.
const MIN_PAUSE: Duration = Duration::from_secs(1);
/// Minimum ratio of a pause to the update before it, so that updates take at most a tenth of the time.
const PAUSE_FACTOR: u32 = 9;

/// Shows the progress of the farm on standard error until the image is complete.
///
/// # Errors
/// If a part or merge has failed and no job is waiting or running. Where the queue is unknown, because squeue
/// fails or the jobs were submitted by hand, the first error at the end of a log counts, even if its job would be
/// repeated. Failed pods of Kubernetes are not noticed, because they write no logs to the folder.
pub(super) fn follow(plan: &Plan, folder: &Folder) -> Result<(), Error> {
    let bar = progress_bar(PROGRESS_STEPS);
    let total = plan.samples(0..plan.parts).len() as f64;
    let mut survey = Survey::new(plan);
    let mut reported = Failures::new();
    if plan.engine == Engine::Slurm
        && folder.jobs()?.is_none()
        && plan.finished(&folder.picture).is_none()
    {
        note(&format!(
            "no jobs were submitted by raysieve; waiting for jobs submitted by hand; to submit them, run {}",
            folder.command()
        ));
    }
    loop {
        let begun = Instant::now();
        if let Some(header) = plan.finished(&folder.picture) {
            bar.finish_and_clear();
            return print_finished(folder, &header);
        }
        // The queue is read before the files, so that the files of jobs that have ended are complete.
        let jobs = folder.jobs()?;
        let queue = queue(plan, jobs.as_ref());
        survey.update(plan, folder);
        let position = survey.pairs() as f64 / total * PROGRESS_STEPS as f64;
        bar.set_position(position as u64);
        bar.set_message(message(&queue, jobs.as_ref()));

        let failures = match (&queue, &jobs) {
            (Some(queue), Some(jobs)) => survey.failed_jobs(plan, folder, queue, jobs),
            _ => survey.failed_logs(plan, folder),
        };
        let is_alive = queue.as_ref().is_some_and(Queue::is_alive);
        // The image may have been completed since the check above.
        if !failures.is_empty() && !is_alive && plan.finished(&folder.picture).is_none() {
            bar.finish_and_clear();
            return Err(failed(folder, &failures));
        }
        for (what, why) in &failures {
            if !reported.iter().any(|(before, _)| before == what) {
                bar.suspend(|| note(&format!("{what} failed: {why}; the others continue")));
            }
        }
        reported = failures;
        thread::sleep(MIN_PAUSE.max(begun.elapsed() * PAUSE_FACTOR));
    }
}

/// Prints the line that reports a complete image.
pub(super) fn print_finished(folder: &Folder, header: &PartHeader) -> Result<(), Error> {
    print_result(&format!(
        "{} contains samples {}, film_hash {}\n",
        folder.picture.display(),
        header.samples,
        header.stats.film_hash
    ))
}

/// Reads Slurm's queue. Returns `None` without Slurm jobs or if squeue fails; the progress then comes from the files
/// alone.
fn queue(plan: &Plan, jobs: Option<&Jobs>) -> Option<Queue> {
    match plan.engine {
        Engine::Slurm => jobs.and_then(|jobs| Queue::read(jobs).ok()),
        Engine::Kubernetes => None,
    }
}

/// Returns the text beside the progress bar: the numbers of running and waiting parts. Empty if they are not known.
fn message(queue: &Option<Queue>, jobs: Option<&Jobs>) -> String {
    let (Some(queue), Some(Jobs { parts, .. })) = (queue, jobs) else {
        return String::new();
    };
    if parts.is_empty() {
        return String::new();
    }
    let count = |state: Task| queue.tasks(parts).filter(|task| *task == state).count();
    format!(
        "{} running, {} waiting ",
        count(Task::Runs),
        count(Task::Waits)
    )
}

/// The parts and merges that failed, as (name, reason). A name is, for example, "part 3".
type Failures = Vec<(String, String)>;

/// Returns the error of a farm that cannot complete: the first failure, the number of other failures, and how to
/// continue.
fn failed(folder: &Folder, failures: &Failures) -> Error {
    let more = match failures.len() {
        0 | 1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    let (what, why) = failures.first().map_or(("", ""), |(what, why)| (what, why));
    Error::Farm {
        what: format!("{}: {what}{more} failed", folder.picture.display()),
        problem: format!(
            "{why}; complete parts are kept: fix the problem, then continue with {}",
            folder.command()
        ),
    }
}

/// The modification time and the size in bytes of a file. A file whose stamp has not changed is not read again.
type Stamp = (SystemTime, u64);

/// The progress of all parts, as read from their files.
pub(super) struct Survey {
    parts: Vec<Progress>,
    /// The stamp of each part's file when the file was last read, or `None` if there was no file.
    stamps: Vec<Option<Stamp>>,
    /// The number of (pixel, sample) pairs of each complete part.
    lengths: Vec<u64>,
}

impl Survey {
    /// Creates a survey in which no part has begun. Reads no file.
    pub(super) fn new(plan: &Plan) -> Survey {
        let parts = 0..plan.parts;
        Survey {
            parts: vec![Progress::Begun(0); plan.parts as usize],
            stamps: vec![None; plan.parts as usize],
            lengths: parts
                .map(|part| plan.samples(part..part + 1).len())
                .collect(),
        }
    }

    /// Reads the headers of the parts' files that have changed since the last update.
    pub(super) fn update(&mut self, plan: &Plan, folder: &Folder) {
        let places = (0..).zip(self.parts.iter_mut().zip(&mut self.stamps));
        for (part, (progress, stamp)) in places {
            let file = folder.part(part);
            let found = fs::metadata(&file).ok();
            let found = found.and_then(|found| Some((found.modified().ok()?, found.len())));
            if found.is_none() || found != *stamp {
                *progress = plan.progress(part, &file);
                *stamp = found;
            }
        }
    }

    /// Returns the numbers of the parts that are not complete, ascending.
    pub(super) fn missing(&self) -> Vec<u32> {
        let parts = (0..).zip(&self.parts);
        let missing = parts.filter(|(_, progress)| **progress != Progress::Whole);
        missing.map(|(part, _)| part).collect()
    }

    /// Returns the error message for the first file that is not a part of this render, or `None` if there is no such
    /// file.
    pub(super) fn wrong(&self) -> Option<&str> {
        self.parts.iter().find_map(|progress| match progress {
            Progress::Wrong(problem) => Some(problem.as_str()),
            _ => None,
        })
    }

    /// Returns the number of (pixel, sample) pairs that are done in all parts together.
    fn pairs(&self) -> u64 {
        let done = |(progress, length): (&Progress, &u64)| match progress {
            Progress::Whole => *length,
            Progress::Begun(pairs) => *pairs,
            Progress::Wrong(_) => 0,
        };
        self.parts.iter().zip(&self.lengths).map(done).sum()
    }

    /// Returns the failures of the missing parts, according to Slurm's queue. If no part is missing, returns the first
    /// failure of a merge. The task of a missing part counts as failed if Slurm has forgotten it.
    fn failed_jobs(&self, plan: &Plan, folder: &Folder, queue: &Queue, jobs: &Jobs) -> Failures {
        let failed = |task: Option<Task>, log: &Path| match task {
            Some(Task::Failed(state)) => Some(format!("{state}: {}", log_end(log))),
            None => Some(log_end(log)),
            Some(_) => None,
        };
        let of_parts = |part: u32| {
            let task = queue.task_of(&jobs.parts, part);
            let was_submitted = !jobs.parts.is_empty();
            was_submitted.then(|| failed(task, &folder.log_of_part(part)))?
        };
        let missing = self.missing();
        if !missing.is_empty() {
            return self.failures(&missing, of_parts);
        }
        // Slurm may have forgotten the tasks of completed merges, so only the last merge fails by its absence.
        let merges = levels(plan).into_iter().zip(&jobs.merges);
        merges
            .flat_map(|(level, arrays)| {
                (0..).zip(level.logs()).map(move |(number, log)| {
                    let task = match &arrays[..] {
                        [array] if level.is_last() => queue.task(&array.job, None),
                        arrays => queue.task_of(arrays, number),
                    };
                    (task, log, level.is_last())
                })
            })
            .filter(|(task, _, is_last)| task.is_some() || *is_last)
            .find_map(|(task, log, _)| failed(task, &folder.path().join(log)))
            .map(|why| ("the merge".to_owned(), why))
            .into_iter()
            .collect()
    }

    /// Returns the failures according to the logs alone. A job has failed if the last line of its log is an error
    /// message of raysieve.
    fn failed_logs(&self, plan: &Plan, folder: &Folder) -> Failures {
        let reason = |log: &Path| {
            let line = last_line(log).ok().flatten()?;
            let is_error =
                line.starts_with("raysieve: ") && !line.starts_with("raysieve: interrupted");
            is_error.then(|| log_end(log))
        };
        let missing = self.missing();
        if !missing.is_empty() {
            return self.failures(&missing, |part| reason(&folder.log_of_part(part)));
        }
        levels(plan)
            .into_iter()
            .flat_map(|level| level.logs())
            .find_map(|log| reason(&folder.path().join(log)))
            .map(|why| ("the merge".to_owned(), why))
            .into_iter()
            .collect()
    }

    /// Returns the failures among the parts `missing`. A part has failed if its file is wrong, or if `why` returns a
    /// reason for its number.
    fn failures(&self, missing: &[u32], why: impl Fn(u32) -> Option<String>) -> Failures {
        let of_part = |&part: &u32| {
            let why = match &self.parts[part as usize] {
                Progress::Wrong(problem) => Some(problem.clone()),
                _ => why(part),
            };
            Some((format!("part {part}"), why?))
        };
        missing.iter().filter_map(of_part).collect()
    }
}

/// Returns text about the end of a log: its last line and its path, or the reason why it cannot be read.
fn log_end(log: &Path) -> String {
    match last_line(log) {
        Ok(Some(line)) => {
            let line = line.strip_prefix("raysieve: ").unwrap_or(&line);
            format!("{line} (the end of {})", log.display())
        }
        Ok(None) => format!("{} is empty", log.display()),
        Err(error) => format!("{}: {error}", log.display()),
    }
}

/// Returns the last line of a file that is not blank, or `None` if there is no such line. Searches only the end of the
/// file.
fn last_line(log: &Path) -> io::Result<Option<String>> {
    /// Number of bytes at the end of the file that are searched.
    const TAIL: u64 = 4096;
    let mut file = fs::File::open(log)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut tail = Vec::new();
    file.take(TAIL).read_to_end(&mut tail)?;
    let tail = String::from_utf8_lossy(&tail);
    let mut lines = tail.lines().map(str::trim).rev();
    let last = lines.find(|line| !line.is_empty());
    Ok(last.map(|line| line.replace(char::is_control, " ")))
}
