//! How far a farm has come: by its files, and by what Slurm says of its jobs.

use std::{
    fs,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
    thread,
    time::{Duration, Instant, SystemTime},
};

use raysieve::{Error, part::Claim};

use super::{
    folder::{Folder, Jobs},
    plan::{Plan, Progress},
    scripts::levels,
    slurm::{Queue, Task},
};
use crate::{
    cli::Engine,
    headless::{PROGRESS_STEPS, progress_bar},
    note, say,
};

/// Between two looks.
const PAUSE: Duration = Duration::from_secs(1);
/// The part of the time that looking may take, the other way round.
const SPARING: u32 = 9;

/// Follows the farm until its picture is there, or nothing is left that could make it.
pub(super) fn follow(plan: &Plan, folder: &Folder) -> Result<(), Error> {
    let bar = progress_bar(PROGRESS_STEPS);
    let total = plan.samples(0..plan.parts).len() as f64;
    let mut survey = Survey::new(plan);
    let mut told = Failures::new();
    if plan.engine == Engine::Slurm
        && folder.jobs()?.is_none()
        && plan.finished(&folder.picture).is_none()
    {
        note(&format!(
            "nothing was submitted by raysieve, which {} does; waiting for what somebody submits by hand",
            folder.command()
        ));
    }
    loop {
        let begun = Instant::now();
        if let Some(claim) = plan.finished(&folder.picture) {
            bar.finish_and_clear();
            return tell(folder, &claim);
        }
        // Before the files: what a job that has ended wrote is there then.
        let jobs = folder.jobs()?;
        let queue = queue(plan, jobs.as_ref());
        survey.look(plan, folder);
        let position = survey.pairs() as f64 / total * PROGRESS_STEPS as f64;
        bar.set_position(position as u64);
        bar.set_message(message(&queue, jobs.as_ref()));

        let failures = match (&queue, &jobs) {
            (Some(queue), Some(jobs)) => survey.failed_jobs(plan, folder, queue, jobs),
            _ => survey.failed_logs(plan, folder),
        };
        let is_alive = queue.as_ref().is_some_and(Queue::is_alive);
        // The picture may have come between the two looks.
        if !failures.is_empty() && !is_alive && plan.finished(&folder.picture).is_none() {
            bar.finish_and_clear();
            return Err(hopeless(folder, &failures));
        }
        for (what, why) in &failures {
            if !told.iter().any(|(before, _)| before == what) {
                bar.suspend(|| note(&format!("{what} failed: {why}; the others go on")));
            }
        }
        told = failures;
        thread::sleep(PAUSE.max(begun.elapsed() * SPARING));
    }
}

/// Says that the picture is there.
pub(super) fn tell(folder: &Folder, claim: &Claim) -> Result<(), Error> {
    say(&format!(
        "{} has samples {}, film_hash {}\n",
        folder.picture.display(),
        claim.samples,
        claim.stats.film_hash
    ))
}

/// `None` if Slurm has nothing to do with it or cannot be asked: the files tell as well, if less.
fn queue(plan: &Plan, jobs: Option<&Jobs>) -> Option<Queue> {
    match plan.engine {
        Engine::Slurm => jobs.and_then(|jobs| Queue::read(jobs).ok()),
        Engine::Kubernetes => None,
    }
}

fn message(queue: &Option<Queue>, jobs: Option<&Jobs>) -> String {
    let (Some(queue), Some(Jobs { parts, .. })) = (queue, jobs) else {
        return String::new();
    };
    if parts.is_empty() {
        return String::new();
    }
    let count = |wanted: Task| queue.tasks(parts).filter(|task| *task == wanted).count();
    format!("{} run, {} wait ", count(Task::Runs), count(Task::Waits))
}

/// What failed, and why.
type Failures = Vec<(String, String)>;

fn hopeless(folder: &Folder, failures: &Failures) -> Error {
    let more = match failures.len() {
        0 | 1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    let (what, why) = failures.first().map_or(("", ""), |(what, why)| (what, why));
    Error::Farm {
        what: format!("{}: {what}{more} failed", folder.picture.display()),
        problem: format!(
            "{why}; what is whole is kept: when that is put right, go on by {}",
            folder.command()
        ),
    }
}

/// What changes when a file is written again.
type Stamp = (SystemTime, u64);

/// How far the parts have come.
pub(super) struct Survey {
    parts: Vec<Progress>,
    /// Of the files that this was read from.
    stamps: Vec<Option<Stamp>>,
    /// (pixel, sample) pairs of each part.
    lengths: Vec<u64>,
}

impl Survey {
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

    /// Reads what has been written since.
    pub(super) fn look(&mut self, plan: &Plan, folder: &Folder) {
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

    /// The parts that are not whole.
    pub(super) fn missing(&self) -> Vec<u32> {
        let parts = (0..).zip(&self.parts);
        let missing = parts.filter(|(_, progress)| **progress != Progress::Whole);
        missing.map(|(part, _)| part).collect()
    }

    /// What is wrong with the first file that is no part of this render.
    pub(super) fn wrong(&self) -> Option<&str> {
        self.parts.iter().find_map(|progress| match progress {
            Progress::Wrong(problem) => Some(problem.as_str()),
            _ => None,
        })
    }

    /// (pixel, sample) pairs that are done.
    fn pairs(&self) -> u64 {
        let done = |(progress, length): (&Progress, &u64)| match progress {
            Progress::Whole => *length,
            Progress::Begun(pairs) => *pairs,
            Progress::Wrong(_) => 0,
        };
        self.parts.iter().zip(&self.lengths).map(done).sum()
    }

    /// By what Slurm says.
    fn failed_jobs(&self, plan: &Plan, folder: &Folder, queue: &Queue, jobs: &Jobs) -> Failures {
        let failed = |task: Option<Task>, log: &Path| match task {
            Some(Task::Failed(state)) => Some(format!("{state}: {}", last_words(log))),
            None => Some(last_words(log)),
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
        // What has been merged already counts as done, and is forgotten when Slurm likes.
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

    /// By the logs alone: a render that cannot go on says so with its last line.
    fn failed_logs(&self, plan: &Plan, folder: &Folder) -> Failures {
        let refused = |log: &Path| {
            let line = last_line(log).ok().flatten()?;
            let is_error =
                line.starts_with("raysieve: ") && !line.starts_with("raysieve: interrupted");
            is_error.then(|| last_words(log))
        };
        let missing = self.missing();
        if !missing.is_empty() {
            return self.failures(&missing, |part| refused(&folder.log_of_part(part)));
        }
        levels(plan)
            .into_iter()
            .flat_map(|level| level.logs())
            .find_map(|log| refused(&folder.path().join(log)))
            .map(|why| ("the merge".to_owned(), why))
            .into_iter()
            .collect()
    }

    /// Parts whose files are wrong, and those that `why` knows a reason of.
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

/// The last line of a log, and where it is.
fn last_words(log: &Path) -> String {
    match last_line(log) {
        Ok(Some(line)) => {
            let line = line.strip_prefix("raysieve: ").unwrap_or(&line);
            format!("{line} (the end of {})", log.display())
        }
        Ok(None) => format!("{} is empty", log.display()),
        Err(error) => format!("{}: {error}", log.display()),
    }
}

/// `None` if it says nothing.
fn last_line(log: &Path) -> io::Result<Option<String>> {
    /// As far back as a line may begin.
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
