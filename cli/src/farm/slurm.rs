//! Submission to Slurm, and the state of submitted jobs, by Slurm's programs sbatch, squeue, scancel and scontrol.

use std::{
    collections::HashMap,
    io,
    process::{Command, Output, Stdio},
};

use crate::error::Error;

use super::{
    folder::{Array, Folder, Jobs},
    plan::Plan,
    scripts::{MAX_TASKS, array_ranges, levels, logs_of_array},
};
use crate::signals::Signals;

/// Submits jobs that render the parts `missing`, and jobs that merge all parts afterwards. The numbers in `missing` are
/// ascending and counted from 0. Returns the submitted jobs, or `None` if SIGINT, SIGTERM or SIGHUP arrived.
///
/// After a signal or an error, the jobs submitted so far are cancelled. If that fails too, the error contains the
/// scancel command to run by hand.
pub(super) fn submit(
    plan: &Plan,
    folder: &Folder,
    missing: &[u32],
    signals: &Signals,
) -> Result<Option<Jobs>, Error> {
    let mut submission = Submission {
        folder,
        max_tasks: max_tasks()?,
        jobs: Jobs::default(),
        signals,
    };
    // Done before any new job can write to its log.
    folder.mark_logs_resubmitted(missing);
    let submitted = submission.submit_all(plan, missing);
    let jobs = submission.jobs;
    if matches!(submitted, Ok(true)) {
        return Ok(Some(jobs));
    }
    let mut withdrawn = jobs.all();
    if !withdrawn.is_empty() {
        withdrawn.insert(0, "scancel");
        let words = withdrawn.join(" ");
        if let Err(error) = run(&withdrawn, None) {
            let reason = submitted.err().unwrap_or(error);
            return Err(Error::Farm {
                what: words,
                problem: format!(
                    "failed, run it by hand to cancel the jobs of an incomplete submission: {reason}"
                ),
            });
        }
    }
    submitted.map(|_| None)
}

/// A submission to Slurm in progress: a series of calls of sbatch. Each job is recorded in `jobs` and in the farm's
/// folder as soon as its ID is known. Dropping a submission cancels no jobs.
struct Submission<'a> {
    folder: &'a Folder,
    /// Maximum number of tasks of a job array, a power of ten.
    max_tasks: u32,
    /// The jobs that this submission has submitted so far, without those of earlier submissions.
    jobs: Jobs,
    signals: &'a Signals,
}

impl Submission<'_> {
    /// Submits jobs for the parts `missing` and for all merges. Returns `false` if a signal interrupted the submission.
    /// After that or an error, the caller must cancel the jobs submitted so far.
    fn submit_all(&mut self, plan: &Plan, missing: &[u32]) -> Result<bool, Error> {
        if !self.submit_arrays("part.sh", "", missing, &[])? {
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
                self.submit_job(0, &[after, &[&script]].concat())?
            } else {
                let tasks: Vec<u32> = (0..level.jobs()).collect();
                self.submit_arrays(&script, &format!("{}-", level.stem()), &tasks, after)?
            };
            if !goes_on {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Submits the tasks `tasks` of a script, in as many job arrays as needed. Returns `false` if a signal interrupted
    /// the submission.
    ///
    /// Task numbers are those of parts or merges, ascending and counted from 0. The script of each array receives the
    /// number of the array's task 0 as its argument. `stem` begins the names of the logs, and `more` are further
    /// options of sbatch.
    fn submit_arrays(
        &mut self,
        script: &str,
        stem: &str,
        tasks: &[u32],
        more: &[&str],
    ) -> Result<bool, Error> {
        let max = self.max_tasks;
        for tasks in tasks.chunk_by(|one, next| one / max == next / max) {
            let first = tasks[0] / max * max;
            let own: Vec<u32> = tasks.iter().map(|task| task - first).collect();
            let [own, logs] = [
                format!("--array={}", array_ranges(&own)),
                format!("--output={}", logs_of_array(stem, first, max)),
            ];
            let first_argument = first.to_string();
            if !self.submit_job(
                first,
                &[&[own.as_str(), &logs], more, &[script, &first_argument]].concat(),
            )? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Submits one job or job array for the parts or the current level of merging, and records the job ID. `first` is
    /// the number of the part or merge of task 0, and `words` are the arguments of sbatch. Returns `false` if a signal
    /// has arrived, although the job was submitted.
    fn submit_job(&mut self, first: u32, words: &[&str]) -> Result<bool, Error> {
        let job = sbatch(self.folder, words)?;
        let level = self.jobs.merges.last_mut();
        let place = level.unwrap_or(&mut self.jobs.parts);
        place.push(Array { job, first });
        // Stored at once, so that the job is not submitted twice if this process is killed.
        self.folder.write_jobs(&self.jobs)?;
        Ok(!self.signals.were_received())
    }
}

/// Runs sbatch with the arguments `words` and the farm's folder as working directory. Returns the ID of the submitted
/// job.
///
/// # Errors
/// [`Error::Farm`] if sbatch is missing, fails, or prints no job ID.
fn sbatch(folder: &Folder, words: &[&str]) -> Result<String, Error> {
    let words = [&["sbatch", "--parsable"], words].concat();
    let output = run(&words, Some(folder))?;
    // With several clusters, the output is `ID;CLUSTER`.
    let job = output.trim().split(';').next().unwrap_or_default();
    if job.is_empty() || !job.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Error::Farm {
            what: words.join(" "),
            problem: format!("printed {:?}, which is not a job ID", output.trim()),
        });
    }
    Ok(job.to_owned())
}

/// Returns the maximum number of tasks of a job array: the largest power of ten that the cluster allows, at most
/// [`MAX_TASKS`]. If the cluster's configuration states no limit, returns [`MAX_TASKS`].
///
/// Because the number is a power of ten, the logs of several arrays have the same names as those of a single array.
///
/// # Errors
/// [`Error::Farm`] if the cluster does not allow job arrays, or scontrol fails.
fn max_tasks() -> Result<u32, Error> {
    let config = run(&["scontrol", "show", "config"], None)?;
    let max = config.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        (name.trim() == "MaxArraySize").then(|| value.trim().parse::<u32>().ok())?
    });
    match max.map(u32::checked_ilog10) {
        Some(Some(digits)) => Ok(10_u32.pow(digits).min(MAX_TASKS)),
        Some(None) => Err(Error::Farm {
            what: "scontrol show config".to_owned(),
            problem: "this cluster allows no job arrays (MaxArraySize is 0); ask its administrator"
                .to_owned(),
        }),
        None => Ok(MAX_TASKS),
    }
}

/// The state of a task of a Slurm job array, or of a single job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// The task is queued, held, or in any other state from which it can start.
    Waits,
    /// The task is running, suspended, or about to end.
    Runs,
    /// The task ended successfully.
    Done,
    /// The task ended without success. The text is Slurm's name of the state, such as `TIMEOUT`.
    Failed(&'static str),
}

/// The states of a farm's tasks as squeue reported them. Slurm forgets tasks some minutes after they end.
pub(super) struct Queue {
    /// States by (job ID, number in the array, counted from 0). The number is `None` for a job that is not an array.
    tasks: HashMap<(String, Option<u32>), Task>,
}

impl Queue {
    /// Runs squeue for the jobs of a submission. The queue is empty if Slurm has forgotten all of them.
    ///
    /// # Errors
    /// [`Error::Farm`] if squeue is missing, or fails for another reason.
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
        let output = match run(&words, None) {
            Ok(output) => output,
            Err(Error::Farm { problem, .. }) if problem.contains("Invalid job id") => String::new(),
            Err(error) => return Err(error),
        };
        let tasks = output.lines().filter_map(|line| {
            let mut words = line.trim().split('|');
            let (job, task, state) = (words.next()?, words.next()?, words.next()?);
            Some(((job.to_owned(), task.parse().ok()), Task::of(state)))
        });
        Ok(Queue {
            tasks: tasks.collect(),
        })
    }

    /// Returns the state of the task with this number in the array `job`, or of the job itself if `number` is `None`.
    ///
    /// Returns `None` if Slurm does not know the task or has forgotten it.
    pub(super) fn task(&self, job: &str, number: Option<u32>) -> Option<Task> {
        self.tasks.get(&(job.to_owned(), number)).copied()
    }

    /// Returns the state of the task that processes a part or merge. `number` is the number of the part or of the merge
    /// in its level, counted from 0. `arrays` are the arrays of the parts or of that level.
    ///
    /// Returns `None` if Slurm does not know the task or has forgotten it.
    pub(super) fn task_of(&self, arrays: &[Array], number: u32) -> Option<Task> {
        let array = arrays.iter().rev().find(|array| array.first <= number)?;
        self.task(&array.job, Some(number - array.first))
    }

    /// Yields the states of all tasks in these arrays that Slurm still knows, in any order.
    pub(super) fn tasks(&self, arrays: &[Array]) -> impl Iterator<Item = Task> {
        let is_of = |job: &String| arrays.iter().any(|array| array.job == *job);
        let of_arrays = self.tasks.iter().filter(move |((job, _), _)| is_of(job));
        of_arrays.map(|(_, &task)| task)
    }

    /// Returns whether any task of the submission, for a part or a merge, was waiting or running when the queue was
    /// read.
    pub(super) fn is_alive(&self) -> bool {
        let alive = |task: &Task| matches!(task, Task::Waits | Task::Runs);
        self.tasks.values().any(alive)
    }
}

impl Task {
    /// Converts squeue's long name of a state, such as `PENDING`, to a [`Task`]. Unknown states count as waiting, so
    /// that a part is not submitted again while its task may still run.
    fn of(state: &str) -> Task {
        let failed = FAILED.into_iter().find(|failed| *failed == state);
        match (failed, state) {
            (Some(state), _) => Task::Failed(state),
            (None, "COMPLETED") => Task::Done,
            (None, "RUNNING" | "COMPLETING" | "SUSPENDED" | "STOPPED" | "STAGE_OUT") => Task::Runs,
            // Pending, held, configuring, requeued and so on: the task can still run.
            (None, _) => Task::Waits,
        }
    }
}

/// Slurm's names of the states in which a task has ended without success.
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

/// Checks that no job of the last submission is waiting or running, because two jobs would then render the same part.
///
/// # Errors
/// [`Error::File`] if a job is waiting or running, or if `jobs.json` is damaged. [`Error::Farm`] if squeue fails.
pub(super) fn check_idle(folder: &Folder) -> Result<(), Error> {
    let Some(jobs) = folder.jobs()? else {
        return Ok(());
    };
    if !Queue::read(&jobs)?.is_alive() {
        return Ok(());
    }
    Err(folder.error(&format!(
        "is already in the queue; show its progress with {} --status, or cancel it with scancel {}",
        folder.command(),
        jobs.all().join(" ")
    )))
}

/// Runs a program of Slurm, waits until it ends, and returns its standard output. `words` are the program and its
/// arguments. The working directory is `folder`, or that of this process if `folder` is `None`.
///
/// # Errors
/// [`Error::Farm`] with the program's name if the program is missing, cannot be started, or fails. For a failed
/// program, the text is [`last_cause`] of its standard error, or its exit status if that is blank. The advice of
/// [`remedy`], if any, follows.
fn run(words: &[&str], folder: Option<&Folder>) -> Result<String, Error> {
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
    // A process group of its own, so that Ctrl-C does not kill sbatch before it has printed the job ID.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => failed(
            "not found; submit from a machine of the cluster, or print the scripts with --dry-run"
                .to_owned(),
        ),
        _ => failed(error.to_string()),
    })?;
    if status.success() {
        return Ok(String::from_utf8_lossy(&stdout).into_owned());
    }
    let output = String::from_utf8_lossy(&stderr);
    let cause = last_cause(program, &output).unwrap_or_else(|| status.to_string());
    Err(failed(match remedy(program, &output) {
        Some(remedy) => format!("{cause}; {remedy}"),
        None => cause,
    }))
}

/// Returns the cause in the last line of `output` that is not blank, without prefixes such as `sbatch: error: `.
/// `output` is the standard error of a program of Slurm. Returns `None` if all lines are blank.
fn last_cause(program: &str, output: &str) -> Option<String> {
    let line = output
        .lines()
        .map(str::trim)
        .rfind(|line| !line.is_empty())?;
    let prefixes = [
        program,
        "error",
        "fatal",
        "Batch job submission failed",
        "slurm_load_jobs error",
    ];
    let mut cause = line;
    while let Some((head, rest)) = cause.split_once(": ")
        && prefixes.contains(&head)
    {
        cause = rest;
    }
    Some(cause.replace(char::is_control, " "))
}

/// Returns what a user can do about an error of Slurm. `output` is the standard error of the program. Returns `None`
/// for an unknown error of a program other than sbatch.
fn remedy(program: &str, output: &str) -> Option<&'static str> {
    let output = output.to_lowercase();
    let remedies = [
        (
            &[
                "configuration source",
                "slurm controller",
                "connection refused",
            ][..],
            "submit from a machine that reaches the Slurm controller, or print the scripts with --dry-run",
        ),
        (
            &["timed out", "temporarily"],
            "try again, or print the scripts with --dry-run",
        ),
        (
            &["partition"],
            "choose one that sinfo lists with --partition",
        ),
        (&["account"], "choose one of your accounts with --account"),
        (
            &["node configuration", "gres"],
            "request what a node has with --gpus-per-task and --cpus-per-task",
        ),
        (&["time limit"], "choose a shorter --time-limit"),
    ];
    let known = remedies
        .into_iter()
        .find(|(texts, _)| texts.iter().any(|text| output.contains(text)));
    known.map(|(_, remedy)| remedy).or((program == "sbatch")
        .then_some("correct the options of the jobs, or print the scripts with --dry-run"))
}
