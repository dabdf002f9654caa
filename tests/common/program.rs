//! The program as its users run it: what tests of it share. No GPU and no display is shown to it.
#![allow(
    dead_code,
    unused_macros,
    unused_imports,
    reason = "not every test program needs all of it"
)]

use std::{
    env,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use libtest_mimic::Trial;

/// Makes tests of functions, each under its own name.
macro_rules! add_tests {
    ($trials:expr, $($test:ident),+ $(,)?) => {
        $($trials.push(libtest_mimic::Trial::test(stringify!($test), || { $test(); Ok(()) }));)+
    };
}
pub(crate) use add_tests;

/// A test that counts as ignored where the machine lacks what it needs.
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

/// The program, without a GPU and a display, in a folder.
pub(crate) fn raysieve(folder: &Path) -> Command {
    let mut command = Command::new(program());
    without_gpu_and_display(&mut command)
        .current_dir(folder)
        .stdin(Stdio::null());
    command
}

pub(crate) fn without_gpu_and_display(command: &mut Command) -> &mut Command {
    command
        .env("CUDA_VISIBLE_DEVICES", "")
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
}

/// Where the tests run may not be where they were built.
pub(crate) fn program() -> PathBuf {
    env::var_os("CARGO_BIN_EXE_raysieve").map_or_else(
        || PathBuf::from(env!("CARGO_BIN_EXE_raysieve")),
        PathBuf::from,
    )
}

/// A scene of the repository.
pub(crate) fn scene(name: &str) -> PathBuf {
    let root = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    root.join("scenes").join(name)
}

/// An empty folder that goes away.
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

/// The spheres, small, with few samples: a fraction of a second.
pub(crate) fn small_render(folder: &Path, more: &[&str]) -> Output {
    let mut command = raysieve(folder);
    command
        .arg(scene("spheres.ron"))
        .args(["--backend", "cpu", "--size", "48x32", "--spp", "3"]);
    command.args(more).output().expect("the program starts")
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("the program prints UTF-8")
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("the program prints UTF-8")
}

#[track_caller]
pub(crate) fn assert_done(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
}

/// That the program refused: with this exit code, one last line that holds all of `told`, and no result.
#[track_caller]
pub(crate) fn assert_refused(output: &Output, exit_code: i32, told: &[&str]) {
    let said = stderr(output);
    assert_eq!(output.status.code(), Some(exit_code), "{said}");
    assert_eq!(
        said.matches("raysieve: ").count(),
        1,
        "one error, told once: {said}"
    );
    let error = said.lines().last().unwrap_or_default();
    assert!(
        error.starts_with("raysieve: "),
        "the error is the last line: {said}"
    );
    for part in told {
        assert!(error.contains(part), "{error:?} should tell {part:?}");
    }
}

/// The names in a folder, sorted.
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

/// Mounts so much memory as `disk` in a namespace of its own, then runs a script there.
pub(crate) fn disk(folder: &Path, size: &str, script: &str) -> Command {
    let script =
        format!("mkdir disk && mount -t tmpfs -o size={size} none disk && cd disk && {script}");
    let mut command = Command::new("unshare");
    without_gpu_and_display(&mut command).current_dir(folder);
    command.args(["--map-root-user", "--mount", "sh", "-c", &script, "sh"]);
    command
}

/// Whether [`disk`] works here.
pub(crate) fn mounting() -> Result<(), String> {
    match disk(folder().path(), "64k", "true").output() {
        Ok(tried) if tried.status.success() => Ok(()),
        Ok(tried) => Err(String::from_utf8_lossy(&tried.stderr).trim().to_owned()),
        Err(error) => Err(format!("unshare: {error}")),
    }
}
