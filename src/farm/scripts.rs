//! The jobs as shell: what a part's job runs, what a merge runs, and both as scripts for sbatch.
//!
//! Slurm and Kubernetes run the same lines. A person may run them too.

use std::ops::Range;

use raysieve::Error;

use super::{folder::Folder, plan::Plan};

/// A file of the folder.
pub(super) struct Script {
    pub(super) name: String,
    pub(super) text: String,
}

/// The file of a part, in the folder. It is the part's checkpoint until it is whole.
pub(super) fn part_file(part: u32) -> String {
    format!("parts/{part:05}.exr")
}

/// Tasks of an array that scripts name, which know nothing of a cluster: as many as have logs of one length.
pub(super) const MOST_TASKS: u32 = 10_u32.pow(LOG_DIGITS);
/// Digits of the number in the name of a log.
const LOG_DIGITS: u32 = 5;

/// The logs of an array, in the folder, as sbatch names them: of those tasks of a level that come from `first` on, `most`
/// at most, which is a power of ten.
pub(super) fn logs_of_array(stem: &str, first: u32, most: u32) -> String {
    let own = most.ilog10();
    let width = (LOG_DIGITS - own) as usize;
    let before = match first / most {
        0 if width == 0 => String::new(),
        number => format!("{number:0width$}"),
    };
    match own {
        0 => format!("logs/{stem}{before}.log"),
        own => format!("logs/{stem}{before}%{own}a.log"),
    }
}

/// The log of a part's job, in the folder.
pub(super) fn part_log(part: u32) -> String {
    format!("logs/{part:0width$}.log", width = LOG_DIGITS as usize)
}

/// One level of merging: so many jobs, each of which merges so many files of the level before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Level {
    /// 1 for the first.
    number: u32,
    /// Files that there are.
    files: u32,
    /// Files that a job takes, the last one what is left.
    group: u32,
    /// Parts that are in a whole file of this level.
    parts_each: u64,
}

impl Level {
    pub(super) fn jobs(self) -> u32 {
        self.files.div_ceil(self.group)
    }

    pub(super) fn is_last(self) -> bool {
        self.jobs() == 1
    }

    /// Of the names of its script, logs and jobs.
    pub(super) fn stem(self) -> String {
        if self.is_last() {
            "merge".to_owned()
        } else {
            format!("merge-{}", self.number)
        }
    }

    pub(super) fn script_name(self) -> String {
        format!("{}.sh", self.stem())
    }

    /// The logs of its jobs, in the folder.
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

/// How the parts become one: in as few levels as there can be, and groups of a level as large as those of the others.
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

/// A word as the shell takes it. No word has a control letter.
pub(super) fn quoted(word: &str) -> String {
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), |word| word.into_owned())
}

/// Makes `$@` the command line that renders part `$part`, in the folder.
pub(super) fn set_render(plan: &Plan) -> String {
    let Plan {
        software,
        seed,
        max_bounces,
        spp,
        parts,
        ..
    } = plan;
    let program = quoted(&plan.program);
    let (width, height) = plan.size;
    let clamp = plan
        .clamp_indirect
        .map_or(String::new(), |most| format!(" --clamp-indirect {most}"));
    let machine: String = plan
        .machine
        .iter()
        .map(|word| format!(" {}", quoted(word)))
        .collect();
    format!(
        "\
file=parts/$(printf %05d \"$part\").exr
version=$({program} --version) || exit
if [ \"$version\" != {} ]; then
    echo \"raysieve: this is $version here, and the parts are by {software}: use that one on all machines\" >&2
    exit 2
fi
set -- {program} {} --size {width}x{height} --seed {seed} --max-bounces {max_bounces}{clamp} \\
    --samples \"$(({spp} * part / {parts}))..$(({spp} * (part + 1) / {parts}))\" --scene-hash {} \\
    --checkpoint \"$file\" --every {}s -o \"$file\"{machine}
",
        quoted(software),
        quoted(&plan.scene),
        plan.scene_hash,
        plan.every_seconds
    )
}

/// Makes `$@` the command line of the job `$job` of a level of merging, in the folder.
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

/// The scripts for sbatch.
pub(super) fn for_slurm(plan: &Plan, folder: &Folder) -> Result<Vec<Script>, Error> {
    let mut scripts = vec![part_script(plan, folder)?];
    for level in levels(plan) {
        scripts.push(merge_script(plan, folder, level)?);
    }
    Ok(scripts)
}

fn part_script(plan: &Plan, folder: &Folder) -> Result<Script, Error> {
    let Plan {
        parts,
        gpus_per_task,
        cpus_per_task,
        ..
    } = plan;
    let mut options = vec![
        format!("--array=0-{}", parts - 1),
        format!("--output={}", logs_of_array("", 0, MOST_TASKS)),
        format!("--signal=B:USR1@{}", lead_seconds(plan)),
    ];
    options.extend(gpus_per_task.map(|count| format!("--gpus-per-task={count}")));
    options.extend(cpus_per_task.map(|count| format!("--cpus-per-task={count}")));
    options.extend(plan.time_seconds.map(time_option));
    let head = head(plan, folder, "", options)?;
    let set_render = set_render(plan);
    Ok(Script {
        name: "part.sh".to_owned(),
        text: format!(
            "\
#!/bin/sh
# One part of {parts}. By hand, in this folder: sbatch part.sh; of some parts alone: sbatch --array=3,7 part.sh; where an
# array has 1000 tasks at most, of parts 1000 to 1999: sbatch --array=0-999 --output=logs/01%3a.log part.sh 1000
{head}
part=$((${{1:-0}} + SLURM_ARRAY_TASK_ID))
{set_render}
# USR1 comes before the time is over: the render then writes down how far it is, and goes on when the part's turn comes
# again. TERM comes from scancel or from whoever needs the machine, and reaches the render by itself.
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
# Killed: by a person, or for want of memory. A part that this happens to again and again is given up.
if [ -z \"$ended\" ] && [ \"$code\" -gt 128 ] && [ \"${{SLURM_RESTART_COUNT:-0}}\" -lt {MOST_RESTARTS} ]; then again=yes; fi
if [ -n \"$again\" ]; then
    echo \"part.sh: the render ended with exit code $code; the part is queued again, to go on from $file\" >&2
    scontrol requeue \"$SLURM_JOB_ID\" && sleep 60
fi
exit \"$code\"
"
        ),
    })
}

/// After so many a part that is killed once more is given up.
const MOST_RESTARTS: u32 = 5;

fn merge_script(plan: &Plan, folder: &Folder, level: Level) -> Result<Script, Error> {
    let stem = level.stem();
    let (options, job, what) = if level.is_last() {
        (
            vec!["--output=logs/merge.log".to_owned()],
            "",
            "what there is then",
        )
    } else {
        (
            vec![
                format!("--array=0-{}", level.jobs() - 1),
                format!(
                    "--output={}",
                    logs_of_array(&format!("{stem}-"), 0, MOST_TASKS)
                ),
            ],
            "job=$((${1:-0} + SLURM_ARRAY_TASK_ID))\n",
            "a group of files each",
        )
    };
    let head = head(plan, folder, &format!("-{stem}"), options)?;
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

/// The lines that sbatch reads.
fn head(plan: &Plan, folder: &Folder, suffix: &str, options: Vec<String>) -> Result<String, Error> {
    let name = format!("--job-name={}{suffix}", name(folder));
    let common = ["--ntasks=1", "--requeue", "--open-mode=append"].map(str::to_owned);
    let own = [name].into_iter().chain(common).chain(options);
    let lines: Vec<String> = own
        .chain(plan.sbatch.iter().cloned())
        .map(|option| format!("#SBATCH {option}\n"))
        .collect();
    Ok(lines.concat())
}

/// Of the jobs: letters and digits of the picture's name, as any engine takes them.
pub(super) fn name(folder: &Folder) -> String {
    // So that with all that is put behind it it is one of the 63 letters that Kubernetes takes.
    const LONGEST: usize = 30;
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
        .take(LONGEST);
    let letters: String = letters.collect();
    format!("raysieve-{letters}")
        .trim_end_matches('-')
        .to_owned()
}

/// As Slurm reads a time: hours, minutes, seconds.
fn time_option(seconds: u64) -> String {
    format!(
        "--time={}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}

/// How long before the end of its time a part is told.
fn lead_seconds(plan: &Plan) -> u64 {
    const MOST: u64 = 120;
    const LEAST: u64 = 10;
    plan.time_seconds
        .map_or(MOST, |seconds| (seconds / 10).clamp(LEAST, MOST))
}

/// Numbers as sbatch takes them: `0-3,7`.
pub(super) fn array(numbers: &[u32]) -> String {
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
