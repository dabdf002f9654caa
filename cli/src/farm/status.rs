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
    plan::{PartState, Plan},
    scripts::levels,
    slurm::{Queue, Task},
};
use crate::{
    arguments::Engine,
    note, print_result,
    progress::{PROGRESS_STEPS, progress_bar},
};

/// Minimum pause between two updates of the displayed progress.
const MIN_PAUSE: Duration = Duration::from_secs(1);
/// Minimum ratio of a pause to the update before it, so that updates take at most a tenth of the time.
const PAUSE_FACTOR: u32 = 9;

/// Shows the progress of the farm on standard error until the image is complete, and then prints the image's samples
/// and film hash.
///
/// # Errors
/// [`Error::Farm`] if a part or merge has failed and no job is waiting or running.
///
/// If the queue is unknown, because squeue fails or jobs were submitted by hand, a log that ends with an error counts
/// as a failure, even if its job will be repeated. Failures of Kubernetes pods are not detected, because pods write no
/// logs to the folder.
pub(super) fn follow(plan: &Plan, folder: &Folder) -> Result<(), Error> {
    let bar = progress_bar(PROGRESS_STEPS);
    let total = plan.samples(0..plan.parts).len() as f64;
    let mut survey = Survey::new(plan);
    let mut reported = Failures::new();
    if plan.engine == Engine::Slurm
        && folder.jobs()?.is_none()
        && plan.complete_image(&folder.picture).is_none()
    {
        note(&format!(
            "no jobs were submitted by raysieve; waiting for jobs submitted by hand; to submit them, run {}",
            folder.command()
        ));
    }
    loop {
        let begun = Instant::now();
        if let Some(header) = plan.complete_image(&folder.picture) {
            bar.finish_and_clear();
            return print_finished(folder, &header);
        }
        // The queue is read before the files, so that the files of jobs that have ended are complete.
        let jobs = folder.jobs()?;
        let queue = queue(plan, jobs.as_ref());
        survey.update(plan, folder);
        let position = survey.pairs_done() as f64 / total * PROGRESS_STEPS as f64;
        bar.set_position(position as u64);
        bar.set_message(message(&queue, jobs.as_ref()));

        let failures = match (&queue, &jobs) {
            (Some(queue), Some(jobs)) => survey.failed_jobs(plan, folder, queue, jobs),
            _ => survey.failed_logs(plan, folder),
        };
        let is_alive = queue.as_ref().is_some_and(Queue::is_alive);
        // The image may have been completed since the check above.
        if !failures.is_empty() && !is_alive && plan.complete_image(&folder.picture).is_none() {
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

/// Prints the line that reports a complete image with its samples and film hash.
pub(super) fn print_finished(folder: &Folder, header: &PartHeader) -> Result<(), Error> {
    print_result(&format!(
        "{} contains samples {}, film_hash {}\n",
        folder.picture.display(),
        header.samples,
        header.stats.film_hash
    ))
}

/// Reads Slurm's queue. Returns `None` for Kubernetes, if raysieve has submitted no jobs, or if squeue fails. The
/// progress then comes from the files alone.
fn queue(plan: &Plan, jobs: Option<&Jobs>) -> Option<Queue> {
    match plan.engine {
        Engine::Slurm => jobs.and_then(|jobs| Queue::read(jobs).ok()),
        Engine::Kubernetes => None,
    }
}

/// Returns the text beside the progress bar, such as "3 running, 61 waiting ": the numbers of running and waiting
/// parts. Returns an empty text if they are not known, or if the submission contained no part.
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

/// The parts and merges that failed, as (name, reason). Names are "part 3", counted from 0, and "the merge".
type Failures = Vec<(String, String)>;

/// Returns the [`Error::Farm`] of a farm that cannot complete. The error names the first failure, the number of other
/// failures, and the command that continues.
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

/// The states of all parts, as read from their files.
pub(super) struct Survey {
    /// The state of each part, by the number of the part from 0.
    parts: Vec<PartState>,
    /// The stamp of each part's file when the file was last read, or `None` if there was no file then.
    stamps: Vec<Option<Stamp>>,
    /// The number of (pixel, sample) pairs of each part when the part is complete.
    lengths: Vec<u64>,
}

impl Survey {
    /// Creates a survey in which all parts are incomplete without any sample. Reads no file.
    pub(super) fn new(plan: &Plan) -> Survey {
        let parts = 0..plan.parts;
        Survey {
            parts: vec![PartState::Incomplete(0); plan.parts as usize],
            stamps: vec![None; plan.parts as usize],
            lengths: parts
                .map(|part| plan.samples(part..part + 1).len())
                .collect(),
        }
    }

    /// Reads the headers of those part files that have changed since the last update.
    pub(super) fn update(&mut self, plan: &Plan, folder: &Folder) {
        let places = (0..).zip(self.parts.iter_mut().zip(&mut self.stamps));
        for (part, (progress, stamp)) in places {
            let file = folder.part(part);
            let found = fs::metadata(&file).ok();
            let found = found.and_then(|found| Some((found.modified().ok()?, found.len())));
            if found.is_none() || found != *stamp {
                *progress = plan.part_state(part, &file);
                *stamp = found;
            }
        }
    }

    /// Returns the numbers of the parts that are not complete, ascending and counted from 0. Parts with an invalid file
    /// are among them.
    pub(super) fn missing(&self) -> Vec<u32> {
        let parts = (0..).zip(&self.parts);
        let missing = parts.filter(|(_, progress)| **progress != PartState::Complete);
        missing.map(|(part, _)| part).collect()
    }

    /// Returns the error message about the first part whose file is invalid, or `None` if there is no such file.
    pub(super) fn invalid(&self) -> Option<&str> {
        self.parts.iter().find_map(|progress| match progress {
            PartState::Invalid(problem) => Some(problem.as_str()),
            _ => None,
        })
    }

    /// Returns the number of (pixel, sample) pairs that the files of all parts contain together. Invalid and damaged
    /// files count as 0.
    fn pairs_done(&self) -> u64 {
        let done = |(progress, length): (&PartState, &u64)| match progress {
            PartState::Complete => *length,
            PartState::Incomplete(pairs) => *pairs,
            PartState::Invalid(_) => 0,
        };
        self.parts.iter().zip(&self.lengths).map(done).sum()
    }

    /// Returns the failures of the missing parts, according to Slurm's queue. If no part is missing, returns only the
    /// first failure of a merge.
    ///
    /// The task of a missing part, or of the last merge, also counts as failed if Slurm has forgotten that task.
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

    /// Returns the failures of the missing parts according to their logs. If no part is missing, returns only the first
    /// failure of a merge.
    ///
    /// A job has failed if the last line of its log is an error message of raysieve, other than about an interruption.
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

    /// Returns the failures among the parts `missing`. A part has failed if its file is invalid, or if `why` returns a
    /// reason for the number of the part.
    fn failures(&self, missing: &[u32], why: impl Fn(u32) -> Option<String>) -> Failures {
        let of_part = |&part: &u32| {
            let why = match &self.parts[part as usize] {
                PartState::Invalid(problem) => Some(problem.clone()),
                _ => why(part),
            };
            Some((format!("part {part}"), why?))
        };
        missing.iter().filter_map(of_part).collect()
    }
}

/// Returns text about the end of a log: the last line that is not blank and the log's path, or the reason why the log
/// cannot be read.
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

/// Returns the last line that is not blank among the last 4096 bytes of the file `log`, without white space at its
/// ends. Spaces replace its control characters. Returns `None` if there is no such line.
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
