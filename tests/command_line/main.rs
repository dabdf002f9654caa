//! The program as its users run it. No GPU and no display is shown to it.

mod bench;
mod checkpoint;
mod files;
mod inspect;
mod interrupt;
mod parts;
mod usage;

use std::{
    env,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use libtest_mimic::{Arguments, Trial};

fn main() {
    let mut trials = Vec::new();
    usage::add(&mut trials);
    files::add(&mut trials);
    interrupt::add(&mut trials);
    parts::add(&mut trials);
    checkpoint::add(&mut trials);
    bench::add(&mut trials);
    inspect::add(&mut trials);
    libtest_mimic::run(&Arguments::from_args(), trials).exit()
}

/// Makes tests of functions, each under its own name.
macro_rules! add_tests {
    ($trials:expr, $($test:ident),+ $(,)?) => {
        $($trials.push(libtest_mimic::Trial::test(stringify!($test), || { $test(); Ok(()) }));)+
    };
}
use add_tests;

/// A test that counts as ignored where the machine lacks what it needs.
fn add_if(trials: &mut Vec<Trial>, possible: Result<(), String>, name: &str, test: fn()) {
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
fn raysieve(folder: &Path) -> Command {
    let mut command = Command::new(program());
    without_gpu_and_display(&mut command)
        .current_dir(folder)
        .stdin(Stdio::null());
    command
}

fn without_gpu_and_display(command: &mut Command) -> &mut Command {
    command
        .env("CUDA_VISIBLE_DEVICES", "")
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
}

/// Where the tests run may not be where they were built.
fn program() -> PathBuf {
    env::var_os("CARGO_BIN_EXE_raysieve").map_or_else(
        || PathBuf::from(env!("CARGO_BIN_EXE_raysieve")),
        PathBuf::from,
    )
}

/// A scene of the repository.
fn scene(name: &str) -> PathBuf {
    let root = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    root.join("scenes").join(name)
}

/// An empty folder that goes away.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder for the test")
}

/// Runs the program in `folder` with `arguments`.
fn run<A: AsRef<OsStr>>(folder: &Path, arguments: impl IntoIterator<Item = A>) -> Output {
    raysieve(folder)
        .args(arguments)
        .output()
        .expect("the program starts")
}

/// The spheres, small, with few samples: a fraction of a second.
fn small_render(folder: &Path, more: &[&str]) -> Output {
    let mut command = raysieve(folder);
    command
        .arg(scene("spheres.ron"))
        .args(["--backend", "cpu", "--size", "48x32", "--spp", "3"]);
    command.args(more).output().expect("the program starts")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("the program prints UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("the program prints UTF-8")
}

#[track_caller]
fn assert_done(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
}

/// That the program refused: with this exit code, one last line that holds all of `told`, and no result.
#[track_caller]
fn assert_refused(output: &Output, exit_code: i32, told: &[&str]) {
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
fn names(folder: &Path) -> Vec<String> {
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
