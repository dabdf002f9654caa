//! Shared helpers of tests that run the program as users do, without a GPU and a display.
#![allow(
    dead_code,
    unused_macros,
    unused_imports,
    reason = "not every test program needs all of it"
)]

#[path = "paths.rs"]
mod paths;

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::Duration,
};

use libtest_mimic::Trial;

pub(crate) use paths::program;

/// Adds functions to a list of tests, each under its own name. With `if CONDITION =>`, the tests are ignored where the
/// condition is `Err`, as in [`add_if`].
macro_rules! add_tests {
    ($trials:expr, if $possible:expr => $($test:ident),+ $(,)?) => {
        $($crate::program::add_if($trials, $possible, stringify!($test), $test);)+
    };
    ($trials:expr, $($test:ident),+ $(,)?) => {
        $($trials.push(libtest_mimic::Trial::test(stringify!($test), || { $test(); Ok(()) }));)+
    };
}
pub(crate) use add_tests;

/// Adds a test that is reported as ignored if the machine lacks what it needs; the `Err` of `possible` says what.
pub(crate) fn add_if(
    trials: &mut Vec<Trial>,
    possible: Result<(), String>,
    name: &str,
    test: fn(),
) {
    let ignored = possible.is_err();
    if let Err(reason) = &possible {
        eprintln!("skipped: {name}: {reason}");
    }
    let body = move || {
        possible?;
        test();
        Ok(())
    };
    trials.push(Trial::test(name, body).with_ignored_flag(ignored));
}

/// Returns a command for the program in a folder, without a GPU and a display.
pub(crate) fn raysieve(folder: &Path) -> Command {
    let mut command = Command::new(program());
    without_gpu_and_display(&mut command)
        .current_dir(folder)
        .stdin(Stdio::null());
    command
}

/// Hides GPUs and displays from a command.
pub(crate) fn without_gpu_and_display(command: &mut Command) -> &mut Command {
    command
        .env("CUDA_VISIBLE_DEVICES", "")
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
}

/// Returns the path of a scene of the repository, such as `spheres.ron`.
pub(crate) fn scene(name: &str) -> PathBuf {
    paths::root().join("scenes").join(name)
}

/// Creates an empty temporary folder, which is removed when the value is dropped.
pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder for the test")
}

/// Runs the program in `folder` with `arguments`.
pub(crate) fn run<A: AsRef<OsStr>>(
    folder: &Path,
    arguments: impl IntoIterator<Item = A>,
) -> Output {
    raysieve(folder)
        .args(arguments)
        .output()
        .expect("the program starts")
}

/// Renders the scene `spheres` at 48×32 pixels with 3 samples, which takes a fraction of a second. `more` are further
/// arguments.
pub(crate) fn small_render(folder: &Path, more: &[&str]) -> Output {
    let mut command = raysieve(folder);
    command
        .arg(scene("spheres.ron"))
        .args(["--backend", "cpu", "--size", "48x32", "--spp", "3"]);
    command.args(more).output().expect("the program starts")
}

/// Returns the standard output as text.
pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("the program prints UTF-8")
}

/// Returns the standard error output as text.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("the program prints UTF-8")
}

/// Asserts that the program succeeded.
#[track_caller]
pub(crate) fn assert_done(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
}

/// Asserts that the program failed with this exit code and one error, on the last line, that contains all texts in
/// `expected`.
#[track_caller]
pub(crate) fn assert_refused(output: &Output, exit_code: i32, expected: &[&str]) {
    let messages = stderr(output);
    assert_eq!(output.status.code(), Some(exit_code), "{messages}");
    assert_eq!(
        messages.matches("raysieve: ").count(),
        1,
        "one error, printed once: {messages}"
    );
    let error = messages.lines().last().unwrap_or_default();
    assert!(
        error.starts_with("raysieve: "),
        "the error is the last line: {messages}"
    );
    for part in expected {
        assert!(error.contains(part), "{error:?} should contain {part:?}");
    }
}

/// Sends a signal, such as `INT`, to a running program.
#[track_caller]
pub(crate) fn signal(child: &Child, name: &str) {
    // The shell has `kill` on systems without such a program.
    let kill = format!("kill -{name} {}", child.id());
    let status = Command::new("sh").args(["-c", &kill]).status();
    assert!(status.expect("a shell").success(), "{kill}");
}

/// Returns the processor time that a running program has used. Linux counts it in steps of 10 ms.
#[track_caller]
pub(crate) fn processor_time(child: &Child) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).expect("the program runs");
    // The name of the program may contain spaces.
    let (_, fields) = stat.rsplit_once(") ").expect("a name");
    let ticks = fields.split(' ').skip(11).take(2);
    let ticks: u64 = ticks
        .map(|ticks| ticks.parse::<u64>().expect("a number"))
        .sum();
    Duration::from_millis(10 * ticks)
}

/// Returns the names in a folder, sorted.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let mut names: Vec<String> = entries
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}

/// Returns a command that mounts a file system of limited `size` as `disk` in its own namespace and runs a script
/// there.
pub(crate) fn disk(folder: &Path, size: &str, script: &str) -> Command {
    let script =
        format!("mkdir disk && mount -t tmpfs -o size={size} none disk && cd disk && {script}");
    let mut command = Command::new("unshare");
    without_gpu_and_display(&mut command).current_dir(folder);
    command.args(["--map-root-user", "--mount", "sh", "-c", &script, "sh"]);
    command
}

/// Returns whether [`disk`] works on this machine, otherwise the reason.
pub(crate) fn mounting() -> Result<(), String> {
    match disk(folder().path(), "64k", "true").output() {
        Ok(tried) if tried.status.success() => Ok(()),
        Ok(tried) => Err(String::from_utf8_lossy(&tried.stderr).trim().to_owned()),
        Err(error) => Err(format!("unshare: {error}")),
    }
}
