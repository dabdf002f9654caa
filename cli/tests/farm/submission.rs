//! Tests of submissions that are interrupted or run twice, with scripts in place of Slurm's programs.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use libtest_mimic::Trial;

use crate::{
    add_tests, assert_done, assert_refused, raysieve,
    scripts::{farm, scene_folder},
    signal, stderr, stdout,
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials,
        interrupted_submission_is_cancelled,
        concurrent_submission_is_refused,
        status_without_a_submission_is_refused,
        refused_submission_leaves_nothing_and_says_what_to_do,
    );
}

/// Script in place of sbatch. It appends its arguments to `called`, and the job ID is the number of the line. Jobs fail
/// before the next is submitted, and the second submission takes as long as the file `slow` exists.
const SBATCH: &str = "#!/bin/sh
echo sbatch \"$@\" >>\"$CALLED\"
number=$(grep -c sbatch \"$CALLED\")
while [ \"$number\" -eq 2 ] && [ -e \"$CALLED.slow\" ]; do sleep 0.05; done
[ ! -e logs/00001.log ] || echo gone >>logs/00001.log
echo \"$number\"
";
/// Script in place of other programs of Slurm. It appends its name and arguments to `called`.
const NOTED: &str = "#!/bin/sh\necho \"${0##*/}\" \"$@\" >>\"$CALLED\"\n";

/// Returns a command for the program with the scripts in `bin` as Slurm, which log their arguments to `called`.
fn submit(folder: &Path) -> Command {
    let bin = folder.join("bin");
    fs::create_dir_all(&bin).unwrap();
    for (name, text) in [
        ("sbatch", SBATCH),
        ("scancel", NOTED),
        ("squeue", NOTED),
        ("scontrol", "#!/bin/sh\n"),
    ] {
        let program = bin.join(name);
        fs::write(&program, text).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = [bin].into_iter().chain(env::split_paths(&path));
    let mut command = raysieve(folder);
    command
        .args(["farm", "box.ron", "--parts", "3", "-o", "out.exr"])
        .env("PATH", env::join_paths(folders).unwrap())
        .env("CALLED", folder.join("called"));
    command
}

/// Starts a submission and returns while its second job is being submitted.
fn slow(folder: &Path) -> Child {
    fs::write(folder.join("called.slow"), "").unwrap();
    let mut command = submit(folder);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let start = Instant::now();
    while called(folder).lines().count() < 2 {
        assert!(start.elapsed() < Duration::from_secs(60), "no second job");
        thread::sleep(Duration::from_millis(20));
    }
    child.unwrap()
}

/// Returns the logged calls of Slurm's programs.
fn called(folder: &Path) -> String {
    fs::read_to_string(folder.join("called")).unwrap_or_default()
}

/// Waits until all threads of a program sleep. Then the program has handled the signals that were sent before.
fn wait_until_idle(child: &Child) {
    let start = Instant::now();
    // The threads are not read at the same moment, so several readings in a row must agree.
    let mut idle = 0;
    while idle < 5 {
        assert!(start.elapsed() < Duration::from_secs(60), "never idle");
        let tasks = fs::read_dir(format!("/proc/{}/task", child.id())).unwrap();
        let sleeps = |task: fs::DirEntry| {
            // A thread that has ended in the meantime has nothing left to do.
            let stat = fs::read_to_string(task.path().join("stat"));
            stat.is_ok_and(|stat| {
                stat.rsplit_once(") ")
                    .is_some_and(|(_, state)| state.starts_with('S'))
            })
        };
        idle = if tasks.flatten().all(sleeps) {
            idle + 1
        } else {
            0
        };
        thread::sleep(Duration::from_millis(20));
    }
}

fn interrupted_submission_is_cancelled() {
    let folder = scene_folder();
    let folder = folder.path();
    let child = slow(folder);
    // The first job is already stored in the folder.
    let jobs = fs::read_to_string(folder.join("out.farm/jobs.json")).unwrap();
    assert!(jobs.contains("\"job\": \"1\""), "{jobs}");
    signal(&child, "INT");
    wait_until_idle(&child);
    fs::remove_file(folder.join("called.slow")).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert_eq!(
        stderr(&output),
        "raysieve: interrupted; the submitted jobs are cancelled\n"
    );
    assert!(
        called(folder).ends_with("scancel 1 2\n"),
        "{}",
        called(folder)
    );
    // The next submission continues. The line of a job stays the last one of its log, however soon it fails.
    let log = folder.join("out.farm/logs/00001.log");
    fs::write(&log, "killed\n").unwrap();
    let output = submit(folder).output().unwrap();
    assert_done(&output);
    assert!(
        stdout(&output).starts_with("3 of 3 parts: job "),
        "{}",
        stdout(&output)
    );
    assert_eq!(
        fs::read_to_string(log).unwrap(),
        "killed\nto be submitted again\ngone\ngone\n"
    );
}

fn concurrent_submission_is_refused() {
    let folder = scene_folder();
    let folder = folder.path();
    let first = slow(folder);
    let second = submit(folder).output().unwrap();
    assert_refused(
        &second,
        2,
        &[
            "out.farm",
            "another raysieve process",
            "raysieve farm -o out.exr --status",
        ],
    );
    fs::remove_file(folder.join("called.slow")).unwrap();
    let first = first.wait_with_output().unwrap();
    assert_done(&first);
    assert_eq!(
        stdout(&first).lines().take(2).collect::<Vec<_>>(),
        ["3 of 3 parts: job 1", "merge: job 2"]
    );
}

fn status_without_a_submission_is_refused() {
    let folder = scene_folder();
    let output = farm(folder.path(), &["box.ron", "-o", "out.exr", "--status"]);
    assert_refused(
        &output,
        2,
        &["out.farm does not exist: nothing was submitted", "--status"],
    );
}

fn refused_submission_leaves_nothing_and_says_what_to_do() {
    let cases = [
        (
            "scontrol",
            "scontrol: error: resolve_ctls_from_dns_srv: res_nsearch error: Unknown host\n\
             scontrol: fatal: Could not establish a configuration source",
            "scontrol: Could not establish a configuration source; submit from a machine that reaches",
        ),
        (
            "sbatch",
            "sbatch: error: invalid partition specified: gpus\n\
             sbatch: error: Batch job submission failed: Invalid partition name specified",
            "sbatch: Invalid partition name specified; choose one that sinfo lists with --partition",
        ),
        (
            "sbatch",
            "sbatch: error: slurm_receive_msg: Socket timed out on send/recv operation",
            "Socket timed out on send/recv operation; try again, or print",
        ),
        (
            "sbatch",
            "sbatch: error: strange",
            "sbatch: strange; correct the options of the jobs, or print the scripts with --dry-run",
        ),
    ];
    for (program, said, expected) in cases {
        let folder = scene_folder();
        let folder = folder.path();
        let mut command = submit(folder);
        let script = format!("#!/bin/sh\necho '{said}' >&2\nexit 1\n");
        fs::write(folder.join("bin").join(program), script).unwrap();
        let output = command.output().unwrap();
        assert_refused(&output, 1, &[expected]);
        assert!(!folder.join("out.farm").exists(), "{said}");
        // A folder that was there before stays.
        assert_done(&submit(folder).output().unwrap());
        let mut command = submit(folder);
        let script = format!("#!/bin/sh\necho '{said}' >&2\nexit 1\n");
        fs::write(folder.join("bin").join(program), script).unwrap();
        assert_refused(&command.output().unwrap(), 1, &[expected]);
        assert!(folder.join("out.farm/farm.json").exists(), "{said}");
    }
}
