//! Slurm's own programs: sbatch, squeue, scancel, scontrol.

use std::{
    collections::HashMap,
    io,
    process::{Command, Output, Stdio},
};

use raysieve::Error;

use super::{
    folder::{Folder, Jobs},
    plan::Plan,
    scripts::{array, levels},
};

/// Submits the parts that are missing, and what merges them all behind them.
pub(super) fn submit(plan: &Plan, folder: &Folder, missing: &[u32]) -> Result<Jobs, Error> {
    check_array_size(plan)?;
    let mut jobs = Jobs {
        parts: None,
        merges: Vec::new(),
    };
    let submitted = submit_all(plan, folder, missing, &mut jobs)
        // Known as soon as they are there, so that nobody submits them twice.
        .and_then(|()| folder.write_jobs(&jobs));
    if let Err(error) = submitted {
        let mut withdrawn = jobs.all();
        if !withdrawn.is_empty() {
            withdrawn.insert(0, "scancel");
            let words = withdrawn.join(" ");
            if ask(&withdrawn, None).is_err() {
                return Err(Error::Farm {
                    what: words,
                    problem: format!(
                        "did not work, do it by hand: what was submitted has no end: {error}"
                    ),
                });
            }
        }
        return Err(error);
    }
    Ok(jobs)
}

fn submit_all(plan: &Plan, folder: &Folder, missing: &[u32], jobs: &mut Jobs) -> Result<(), Error> {
    if !missing.is_empty() {
        let array = format!("--array={}", array(missing));
        let job = sbatch(folder, &[&array, "part.sh"])?;
        jobs.parts = Some(job);
    }
    for level in levels(plan) {
        let script = level.script_name();
        let job = match jobs.all().last() {
            None => sbatch(folder, &[&script])?,
            Some(before) => {
                let after = format!("--dependency=afterok:{before}");
                sbatch(folder, &[&after, "--kill-on-invalid-dep=yes", &script])?
            }
        };
        jobs.merges.push(job);
    }
    Ok(())
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

/// A cluster has a limit of its own, which sbatch does not name.
fn check_array_size(plan: &Plan) -> Result<(), Error> {
    let config = ask(&["scontrol", "show", "config"], None)?;
    let most = config.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        (name.trim() == "MaxArraySize").then(|| value.trim().parse::<u32>().ok())?
    });
    match most {
        Some(most) if plan.parts > most => Err(Error::Setting {
            setting: format!("--parts {}", plan.parts),
            problem: format!(
                "this cluster's arrays have {most} tasks at most (MaxArraySize); use no more parts, or ask who runs it"
            ),
        }),
        _ => Ok(()),
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

    /// The tasks of a job.
    pub(super) fn tasks(&self, job: &str) -> impl Iterator<Item = Task> {
        let of_job = self.tasks.iter().filter(move |((of, _), _)| of == job);
        of_job.map(|(_, &task)| task)
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
