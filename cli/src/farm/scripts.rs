//! Shell code of the jobs: the command of a part, the command of a merge, and the scripts for sbatch.
//!
//! Slurm and Kubernetes run the same commands, and users can run the scripts by hand.

use std::ops::Range;

use crate::error::Error;

use super::{
    folder::{Folder, LOG_DIGITS, Script},
    plan::Plan,
};

/// Maximum number of tasks of a job array, even if the cluster allows more. Task numbers must fit into the
/// [`LOG_DIGITS`] digits in the names of logs.
pub(super) const MAX_TASKS: u32 = 10_u32.pow(LOG_DIGITS);

/// Returns the pattern of log paths for sbatch's `--output`, such as `logs/%5a.log`. The pattern is for an array whose
/// task 0 is the part or merge number `first`. `stem` begins the file names.
///
/// `max` is the maximum number of tasks of an array, a power of ten. `first` is a multiple of `max`.
pub(super) fn logs_of_array(stem: &str, first: u32, max: u32) -> String {
    let own = max.ilog10();
    let width = (LOG_DIGITS - own) as usize;
    let before = match first / max {
        0 if width == 0 => String::new(),
        number => format!("{number:0width$}"),
    };
    match own {
        0 => format!("logs/{stem}{before}.log"),
        own => format!("logs/{stem}{before}%{own}a.log"),
    }
}

/// A level of merging. Each of its jobs merges a group of consecutive files, which are parts on level 1, and otherwise
/// output files of the level before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Level {
    /// Number of the level, counted from 1.
    number: u32,
    /// Number of input files of the level.
    files: u32,
    /// Number of input files that each job merges. The last job merges the remaining ones, which may be fewer.
    group: u32,
    /// Number of parts that each output file of this level contains. The last output file may contain fewer.
    parts_each: u64,
}

impl Level {
    /// Returns the number of jobs of the level, which is also the number of its output files.
    pub(super) fn jobs(self) -> u32 {
        self.files.div_ceil(self.group)
    }

    /// Returns whether the level is the last, whose single job writes the final image. The first level is also the last
    /// if one job can merge all parts.
    pub(super) fn is_last(self) -> bool {
        self.jobs() == 1
    }

    /// Returns the beginning of the names of the level's script, logs and jobs: `merge` for the last level, and
    /// otherwise `merge-` with the level's number, such as `merge-1`.
    pub(super) fn stem(self) -> String {
        if self.is_last() {
            "merge".to_owned()
        } else {
            format!("merge-{}", self.number)
        }
    }

    /// Returns the file name of the level's script, such as `merge-1.sh`.
    pub(super) fn script_name(self) -> String {
        format!("{}.sh", self.stem())
    }

    /// Yields the path of the log of each job of the level, in the order of the jobs, relative to the farm's folder.
    pub(super) fn logs(self) -> impl Iterator<Item = String> {
        (0..self.jobs()).map(move |job| {
            if self.is_last() {
                "logs/merge.log".to_owned()
            } else {
                format!(
                    "logs/{}-{job:0width$}.log",
                    self.stem(),
                    width = LOG_DIGITS as usize
                )
            }
        })
    }
}

/// Returns the levels of merging, in order, at least one. There are as few as `fan_in` allows. All use the same group
/// size, the smallest that needs no further level.
pub(super) fn levels(plan: &Plan) -> Vec<Level> {
    let count = (1..).find(|&levels| u64::from(plan.fan_in).pow(levels) >= plan.parts.into());
    let count = count.unwrap_or(1);
    let group = (2..=plan.fan_in)
        .find(|&group| u64::from(group).pow(count) >= plan.parts.into())
        .unwrap_or(plan.fan_in);
    let mut levels: Vec<Level> = Vec::new();
    let (mut files, mut parts_each) = (plan.parts, 1);
    for number in 1..=count {
        parts_each *= u64::from(group);
        let level = Level {
            number,
            files,
            group,
            parts_each,
        };
        files = level.jobs();
        levels.push(level);
    }
    levels
}

/// Quotes a word for the shell. The word must not contain control characters.
pub(super) fn quoted(word: &str) -> String {
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), |word| word.into_owned())
}

/// Returns shell code that sets `$@` to the command that renders part `$part`, counted from 0, and `$file` to the path
/// of that part's file.
///
/// The code must run with the farm's folder as working directory. The code exits with 2 if the program's version is not
/// that of the plan. If the program cannot be run, the code exits with the shell's error code.
pub(super) fn set_render(plan: &Plan) -> String {
    let Plan {
        software,
        seed,
        max_bounces,
        roulette,
        spp,
        parts,
        ..
    } = plan;
    let program = quoted(&plan.program);
    let (width, height) = plan.size;
    let clamp = plan
        .clamp_indirect
        .map_or(String::new(), |max| format!(" --clamp-indirect {max}"));
    let words = |words: &[String]| -> String {
        words
            .iter()
            .map(|word| format!(" {}", quoted(word)))
            .collect()
    };
    let [model, machine] = [&plan.model, &plan.machine].map(|own| words(own));
    format!(
        "\
file=parts/$(printf %05d \"$part\").exr
version=$({program} --version) || exit
if [ \"$version\" != {} ]; then
    echo \"raysieve: this machine has $version, and the parts are rendered by {software}: use that version everywhere\" >&2
    exit 2
fi
set -- {program} {} --size {width}x{height} --seed {seed} --max-bounces {max_bounces} --roulette {roulette}{clamp}{model} \\
    --samples \"$(({spp} * part / {parts}))..$(({spp} * (part + 1) / {parts}))\" --scene-hash {} \\
    --checkpoint \"$file\" --every {}s -o \"$file\"{machine}
",
        quoted(software),
        quoted(&plan.scene),
        plan.scene_hash,
        plan.every_seconds
    )
}

/// Returns shell code that sets `$@` to the `raysieve merge` command of one job of the level. The code must run with
/// the farm's folder as working directory.
///
/// For all levels but the last, `$job` must contain the number of the job, counted from 0. The last level has a single
/// job and does not use `$job`. The code also overwrites the variables `next` and `end`, and `last` except at the last
/// level.
///
/// # Errors
/// For the last level, if the image's name is not UTF-8 or contains control characters.
pub(super) fn set_merge(plan: &Plan, folder: &Folder, level: Level) -> Result<String, Error> {
    let Plan {
        spp,
        parts,
        scene_hash,
        ..
    } = plan;
    let program = quoted(&plan.program);
    let Level {
        number,
        files,
        group,
        parts_each,
        ..
    } = level;
    let below = match number {
        1 => "parts/".to_owned(),
        number => format!("merged/{}-", number - 1),
    };
    let (bounds, samples, target) = if level.is_last() {
        (
            format!("next=0\nend={files}"),
            format!("0..{spp}"),
            quoted(&folder.picture_from_here()?),
        )
    } else {
        (
            format!(
                "next=$(({group} * job))\nend=$((next + {group}))\n[ \"$end\" -le {files} ] || end={files}\n\
                 last=$(({parts_each} * (job + 1)))\n[ \"$last\" -le {parts} ] || last={parts}"
            ),
            format!("\"$(({spp} * ({parts_each} * job) / {parts}))..$(({spp} * last / {parts}))\""),
            format!("\"merged/{number}-$(printf %05d \"$job\").exr\""),
        )
    };
    Ok(format!(
        "\
{bounds}
set --
while [ \"$next\" -lt \"$end\" ]; do
    set -- \"$@\" \"{below}$(printf %05d \"$next\").exr\"
    next=$((next + 1))
done
set -- {program} merge \"$@\" --samples {samples} --scene-hash {scene_hash} -o {target}
"
    ))
}

/// Returns the scripts for sbatch: one for the parts, and one for each level of merging.
///
/// # Errors
/// If the image's name is not UTF-8 or contains control characters.
pub(super) fn for_slurm(plan: &Plan, folder: &Folder) -> Result<Vec<Script>, Error> {
    let mut scripts = vec![part_script(plan, folder)];
    for level in levels(plan) {
        scripts.push(merge_script(plan, folder, level)?);
    }
    Ok(scripts)
}

/// Returns the script of the job arrays that render the parts. Each task renders one part. It queues itself again
/// shortly before the time limit if the part has a file, and after a failure that a repetition may avoid.
fn part_script(plan: &Plan, folder: &Folder) -> Script {
    let Plan {
        parts,
        gpus_per_task,
        cpus_per_task,
        ..
    } = plan;
    let mut options = vec![
        format!("--array=0-{}", parts - 1),
        format!("--output={}", logs_of_array("", 0, MAX_TASKS)),
        format!("--signal=B:USR1@{}", lead_seconds(plan)),
    ];
    options.extend(gpus_per_task.map(|count| format!("--gpus-per-task={count}")));
    options.extend(cpus_per_task.map(|count| format!("--cpus-per-task={count}")));
    options.extend(plan.time_seconds.map(time_option));
    let head = sbatch_lines(plan, folder, "", options);
    let set_render = set_render(plan);
    Script {
        name: "part.sh".to_owned(),
        text: format!(
            "\
#!/bin/sh
# Renders one of {parts} parts. To submit all parts by hand, in this folder: sbatch part.sh; some parts:
# sbatch --array=3,7 part.sh. If arrays are limited to 1000 tasks, for parts 1000 to 1999:
# sbatch --array=0-999 --output=logs/01%3a.log part.sh 1000
{head}
part=$((${{1:-0}} + SLURM_ARRAY_TASK_ID))
{set_render}
# USR1 arrives before the time limit: the render saves its samples, and continues when the job is started again. TERM comes
# from scancel or from preemption, and Slurm sends it to the render too.
ended=
trap 'ended=time; kill -TERM \"$render\"' USR1
trap 'ended=told' TERM INT HUP
\"$@\" &
render=$!
wait \"$render\"
code=$?
while kill -0 \"$render\" 2>/dev/null; do
    wait \"$render\"
    code=$?
done
[ \"$code\" -ne 0 ] || exit 0
again=
if [ \"$ended\" = time ] && [ -e \"$file\" ]; then again=yes; fi
# The render failed, for example because all GPUs failed, or was killed, by a user or for lack of memory: try again.
if [ -z \"$ended\" ] && {{ [ \"$code\" -eq 1 ] || [ \"$code\" -gt 128 ]; }} && [ \"${{SLURM_RESTART_COUNT:-0}}\" -lt {MAX_RESTARTS} ]; then again=yes; fi
if [ -n \"$again\" ]; then
    echo \"part.sh: the render ended with exit code $code; the part is queued again and continues from $file\" >&2
    scontrol requeue \"$SLURM_JOB_ID\" && sleep 60
fi
exit \"$code\"
"
        ),
    }
}

/// Number of restarts of a job from which on a part that failed or was killed is not queued again. Restarts after the
/// time limit or a preemption count too, but are not limited.
const MAX_RESTARTS: u32 = 5;

/// Returns the script for the jobs of one level of merging.
///
/// # Errors
/// Those of [`set_merge`].
fn merge_script(plan: &Plan, folder: &Folder, level: Level) -> Result<Script, Error> {
    let stem = level.stem();
    let (options, job, what) = if level.is_last() {
        (
            vec!["--output=logs/merge.log".to_owned()],
            "",
            "all remaining files into the image",
        )
    } else {
        (
            vec![
                format!("--array=0-{}", level.jobs() - 1),
                format!(
                    "--output={}",
                    logs_of_array(&format!("{stem}-"), 0, MAX_TASKS)
                ),
            ],
            "job=$((${1:-0} + SLURM_ARRAY_TASK_ID))\n",
            "one group of files per task",
        )
    };
    let head = sbatch_lines(plan, folder, &format!("-{stem}"), options);
    let set_merge = set_merge(plan, folder, level)?;
    Ok(Script {
        name: level.script_name(),
        text: format!(
            "\
#!/bin/sh
# Merges {what}. By hand, in this folder: sbatch --dependency=afterok:JOB --kill-on-invalid-dep=yes {stem}.sh
{head}
{job}{set_merge}
exec \"$@\"
"
        ),
    })
}

/// Returns the `#SBATCH` lines of a script, one per option: common ones, then `options`, such as `--array=0-9`, then
/// those of `--partition`, `--account` and `--sbatch`. `suffix` is appended to the name of the job.
fn sbatch_lines(plan: &Plan, folder: &Folder, suffix: &str, options: Vec<String>) -> String {
    let name = format!("--job-name={}{suffix}", job_name(folder));
    let common = ["--ntasks=1", "--requeue", "--open-mode=append"].map(str::to_owned);
    let own = [name].into_iter().chain(common).chain(options);
    let lines: Vec<String> = own
        .chain(plan.sbatch.iter().cloned())
        .map(|option| format!("#SBATCH {option}\n"))
        .collect();
    lines.concat()
}

/// Returns the name of the farm's jobs: `raysieve-`, followed by the image's name in lower case. Characters other than
/// ASCII letters and digits become dashes, and at most 30 are used.
pub(super) fn job_name(folder: &Folder) -> String {
    // With all suffixes, a name in Kubernetes may have 63 characters.
    const MAX_LETTERS: usize = 30;
    let stem = folder.picture.file_stem().unwrap_or_default();
    let stem = stem.to_string_lossy().to_ascii_lowercase();
    let letters = stem
        .chars()
        .map(|letter| {
            if letter.is_ascii_alphanumeric() {
                letter
            } else {
                '-'
            }
        })
        .take(MAX_LETTERS);
    let letters: String = letters.collect();
    format!("raysieve-{letters}")
        .trim_end_matches('-')
        .to_owned()
}

/// Returns the sbatch option for a time limit in seconds, such as `--time=2:00:00` for 7200.
fn time_option(seconds: u64) -> String {
    format!(
        "--time={}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}

/// Returns how many seconds before its time limit the job of a part is asked to save its samples and stop: a tenth of
/// the limit, 10 to 120. Returns 120 without `--time`.
fn lead_seconds(plan: &Plan) -> u64 {
    const MAX: u64 = 120;
    const MIN: u64 = 10;
    plan.time_seconds
        .map_or(MAX, |seconds| (seconds / 10).clamp(MIN, MAX))
}

/// Formats ascending numbers for sbatch's `--array`, such as `0-3,7`.
pub(super) fn array_ranges(numbers: &[u32]) -> String {
    let mut runs: Vec<Range<u32>> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some(run) if run.end == number => run.end += 1,
            _ => runs.push(number..number + 1),
        }
    }
    let words = runs.iter().map(|run| match run.end - run.start {
        1 => run.start.to_string(),
        _ => format!("{}-{}", run.start, run.end - 1),
    });
    words.collect::<Vec<_>>().join(",")
}
