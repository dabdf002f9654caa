//! Slurm's own programs: sbatch, squeue, scancel, scontrol.

use std::{
    collections::HashMap,
    io,
    process::{Command, Output, Stdio},
};

use raysieve::Error;

use super::{
    folder::{Array, Folder, Jobs},
    plan::Plan,
    scripts::{MOST_TASKS, array, levels, logs_of_array},
};
use crate::signals::Signals;

/// Submits the parts that are missing, and what merges them all behind them. `None` if a signal came meanwhile: then, as
/// after an error, what was submitted is withdrawn.
pub(super) fn submit(
    plan: &Plan,
    folder: &Folder,
    missing: &[u32],
    signals: &Signals,
) -> Result<Option<Jobs>, Error> {
    let mut submission = Submission {
        folder,
        most: most_tasks()?,
        jobs: Jobs::default(),
        signals,
    };
    // Before any of them can have said anything.
    folder.go_on_in_logs(missing);
    let submitted = submission.all(plan, missing);
    let jobs = submission.jobs;
    if matches!(submitted, Ok(true)) {
        return Ok(Some(jobs));
    }
    let mut withdrawn = jobs.all();
    if !withdrawn.is_empty() {
        withdrawn.insert(0, "scancel");
        let words = withdrawn.join(" ");
        if let Err(error) = ask(&withdrawn, None) {
            let reason = submitted.err().unwrap_or(error);
            return Err(Error::Farm {
                what: words,
                problem: format!(
                    "did not work, do it by hand: what was submitted has no end: {reason}"
                ),
            });
        }
    }
    submitted.map(|_| None)
}

/// What is submitted one after the other.
struct Submission<'a> {
    folder: &'a Folder,
    /// Tasks of an array.
    most: u32,
    /// So far.
    jobs: Jobs,
    signals: &'a Signals,
}

impl Submission<'_> {
    /// `false` if a signal came.
    fn all(&mut self, plan: &Plan, missing: &[u32]) -> Result<bool, Error> {
        if !self.arrays("part.sh", "", missing, &[])? {
            return Ok(false);
        }
        for level in levels(plan) {
            let before = self.jobs.merges.last().unwrap_or(&self.jobs.parts);
            let before: Vec<&str> = before.iter().map(|array| array.job.as_str()).collect();
            let after = format!("--dependency=afterok:{}", before.join(":"));
            let after: &[&str] = match before[..] {
                [] => &[],
                _ => &[&after, "--kill-on-invalid-dep=yes"],
            };
            let script = level.script_name();
            self.jobs.merges.push(Vec::new());
            let goes_on = if level.is_last() {
                self.job(0, &[after, &[&script]].concat())?
            } else {
                let tasks: Vec<u32> = (0..level.jobs()).collect();
                self.arrays(&script, &format!("{}-", level.stem()), &tasks, after)?
            };
            if !goes_on {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Submits these tasks of a script, in as many arrays as it takes, each of which is told what its task 0 is. Their logs
    /// begin with `stem`. `false` if a signal came.
    fn arrays(
        &mut self,
        script: &str,
        stem: &str,
        tasks: &[u32],
        more: &[&str],
    ) -> Result<bool, Error> {
        let most = self.most;
        for tasks in tasks.chunk_by(|one, next| one / most == next / most) {
            let first = tasks[0] / most * most;
            let own: Vec<u32> = tasks.iter().map(|task| task - first).collect();
            let [own, logs] = [
                format!("--array={}", array(&own)),
                format!("--output={}", logs_of_array(stem, first, most)),
            ];
            let told = first.to_string();
            if !self.job(
                first,
                &[&[own.as_str(), &logs], more, &[script, &told]].concat(),
            )? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// One job of the parts, or of the last level of merging that has begun. `false` if a signal came.
    fn job(&mut self, first: u32, words: &[&str]) -> Result<bool, Error> {
        let job = sbatch(self.folder, words)?;
        let level = self.jobs.merges.last_mut();
        let place = level.unwrap_or(&mut self.jobs.parts);
        place.push(Array { job, first });
        // Known as soon as it is there, so that nobody submits it twice, whatever ends this.
        self.folder.write_jobs(&self.jobs)?;
        Ok(!self.signals.have_come())
    }
}

/// The number of the job.
fn sbatch(folder: &Folder, words: &[&str]) -> Result<String, Error> {
    let words = [&["sbatch", "--parsable"], words].concat();
    let said = ask(&words, Some(folder))?;
    // With several clusters, its name follows.
    let job = said.trim().split(';').next().unwrap_or_default();
    if job.is_empty() || !job.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Error::Farm {
            what: words.join(" "),
            problem: format!("said {:?}, which is no number of a job", said.trim()),
        });
    }
    Ok(job.to_owned())
}

/// Tasks of an array: as many as the cluster allows, and a power of ten, so that the tasks of several arrays have the logs
/// that those of one would have.
fn most_tasks() -> Result<u32, Error> {
    let config = ask(&["scontrol", "show", "config"], None)?;
    let most = config.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        (name.trim() == "MaxArraySize").then(|| value.trim().parse::<u32>().ok())?
    });
    match most.map(u32::checked_ilog10) {
        Some(Some(digits)) => Ok(10_u32.pow(digits).min(MOST_TASKS)),
        Some(None) => Err(Error::Farm {
            what: "scontrol show config".to_owned(),
            problem: "this cluster runs no arrays (MaxArraySize is 0); ask who runs it".to_owned(),
        }),
        None => Ok(MOST_TASKS),
    }
}

/// What becomes of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    Waits,
    Runs,
    Done,
    /// As Slurm names it.
    Failed(&'static str),
}

/// What Slurm knows of a farm's jobs. It forgets those that ended some minutes ago.
pub(super) struct Queue {
    /// By job and number in its array, if it is one.
    tasks: HashMap<(String, Option<u32>), Task>,
}

impl Queue {
    /// Asks Slurm.
    pub(super) fn read(jobs: &Jobs) -> Result<Queue, Error> {
        let all = jobs.all().join(",");
        let list = format!("--jobs={all}");
        let words = [
            "squeue",
            "--noheader",
            "--array",
            "--states=all",
            &list,
            "--format=%F|%K|%T",
        ];
        let said = match ask(&words, None) {
            Ok(said) => said,
            Err(Error::Farm { problem, .. }) if problem.contains("Invalid job id") => String::new(),
            Err(error) => return Err(error),
        };
        let tasks = said.lines().filter_map(|line| {
            let mut words = line.trim().split('|');
            let (job, task, state) = (words.next()?, words.next()?, words.next()?);
            Some(((job.to_owned(), task.parse().ok()), Task::of(state)))
        });
        Ok(Queue {
            tasks: tasks.collect(),
        })
    }

    /// `None` if Slurm knows nothing of it, or no more.
    pub(super) fn task(&self, job: &str, number: Option<u32>) -> Option<Task> {
        self.tasks.get(&(job.to_owned(), number)).copied()
    }

    /// The same, by its number in a level whose tasks are in these arrays.
    pub(super) fn task_of(&self, arrays: &[Array], number: u32) -> Option<Task> {
        let array = arrays.iter().rev().find(|array| array.first <= number)?;
        self.task(&array.job, Some(number - array.first))
    }

    /// The tasks of some arrays.
    pub(super) fn tasks(&self, arrays: &[Array]) -> impl Iterator<Item = Task> {
        let is_of = |job: &String| arrays.iter().any(|array| array.job == *job);
        let of_arrays = self.tasks.iter().filter(move |((job, _), _)| is_of(job));
        of_arrays.map(|(_, &task)| task)
    }

    /// Whether any of them may still come to something.
    pub(super) fn is_alive(&self) -> bool {
        let alive = |task: &Task| matches!(task, Task::Waits | Task::Runs);
        self.tasks.values().any(alive)
    }
}

impl Task {
    fn of(state: &str) -> Task {
        let failed = FAILED.into_iter().find(|failed| *failed == state);
        match (failed, state) {
            (Some(state), _) => Task::Failed(state),
            (None, "COMPLETED") => Task::Done,
            (None, "RUNNING" | "COMPLETING" | "SUSPENDED" | "STOPPED" | "STAGE_OUT") => Task::Runs,
            // Held, configured, queued again, moved to another cluster: all of it goes on.
            (None, _) => Task::Waits,
        }
    }
}

/// States that a task does not leave by itself.
const FAILED: [&str; 9] = [
    "BOOT_FAIL",
    "CANCELLED",
    "DEADLINE",
    "FAILED",
    "NODE_FAIL",
    "OUT_OF_MEMORY",
    "PREEMPTED",
    "REVOKED",
    "TIMEOUT",
];

/// Refuses to go on while what was submitted before is still in the queue: two jobs would render one part.
pub(super) fn check_idle(folder: &Folder) -> Result<(), Error> {
    let Some(jobs) = folder.jobs()? else {
        return Ok(());
    };
    if !Queue::read(&jobs)?.is_alive() {
        return Ok(());
    }
    Err(folder.refused(&format!(
        "is in the queue already; follow it by {} --status, or end it by scancel {}",
        folder.command(),
        jobs.all().join(" ")
    )))
}

/// What a program of Slurm prints, run in the folder.
fn ask(words: &[&str], folder: Option<&Folder>) -> Result<String, Error> {
    let [program, arguments @ ..] = words else {
        return Ok(String::new());
    };
    let failed = |problem: String| Error::Farm {
        what: (*program).to_owned(),
        problem,
    };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    if let Some(folder) = folder {
        command.current_dir(folder.path());
    }
    // Ctrl-C is this process's own affair: what was submitted has a number then.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().map_err(|error| {
        match error.kind() {
        io::ErrorKind::NotFound => failed(
            "is not here; submit from a machine of the cluster, or print the scripts with --dry-run"
                .to_owned(),
        ),
        _ => failed(error.to_string()),
    }
    })?;
    if status.success() {
        return Ok(String::from_utf8_lossy(&stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&stderr);
    let lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let said = lines.collect::<Vec<_>>().join("; ");
    let said = said.replace(char::is_control, " ");
    Err(failed(if said.is_empty() {
        format!("failed: {status}")
    } else {
        said
    }))
}
