//! Programs in C and C++ that use the library through its headers. On a machine without a GPU, those that need one are
//! reported as ignored.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use compaction::cuda;
use libtest_mimic::{Arguments, Failed, Trial};

/// The programs in `tests/c`, and the backends on which each runs.
const PROGRAMS: [(&str, &[&str]); 5] = [
    ("select", &["cpu", "cuda"]),
    ("operations", &["cpu", "cuda"]),
    ("errors", &["cpu", "cuda"]),
    ("threads", &["cpu", "cuda"]),
    ("graph", &["cuda"]),
];

fn main() {
    let arguments = Arguments::from_args();
    let has_gpu = cuda::open(0).is_ok();
    let mut trials = Vec::new();
    for (program, backends) in PROGRAMS {
        let source = format!("tests/c/{program}.c");
        for &backend in backends {
            let source = source.clone();
            let name = format!("{backend}_{program}");
            let run = move || run(&name, "cc", &["-std=c11"], &source, &[backend]);
            let trial = Trial::test(format!("{backend}_{program}"), run);
            trials.push(trial.with_ignored_flag(backend == "cuda" && !has_gpu));
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// Compiles a program with warnings as errors, links it with the library, and runs it. It must print `done`.
fn run(
    name: &str,
    compiler: &str,
    flags: &[&str],
    source: &str,
    arguments: &[&str],
) -> Result<(), Failed> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let libraries = library_folder();
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut compile = Command::new(compiler);
    compile
        .current_dir(root)
        .args(flags)
        .args([
            "-O1",
            "-g",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-Iinclude",
            "-Itests/driver",
        ])
        .args(["-o".as_ref(), program.as_os_str(), source.as_ref()])
        .arg(format!("-L{}", libraries.display()))
        .arg(format!("-Wl,-rpath,{}", libraries.display()))
        .args(["-lcompaction_capi", "-pthread", "-lm"]);
    // The driver, which the emulator replaces by a library in one of these folders.
    for folder in env::split_paths(&env::var_os("LD_LIBRARY_PATH").unwrap_or_default()) {
        compile.arg(format!("-L{}", folder.display()));
    }
    compile.arg(match cuda::driver_version() {
        Some(_) => "-l:libcuda.so.1",
        None => "-Wl,--unresolved-symbols=ignore-all,-z,lazy",
    });
    expect(&mut compile)?;
    let output = expect(Command::new(&program).args(arguments))?;
    match output.ends_with("done\n") {
        true => Ok(()),
        false => Err(format!("{name} printed:\n{output}").into()),
    }
}

/// Returns the folder that contains the library under test, next to this program.
fn library_folder() -> PathBuf {
    let mut path = env::current_exe().unwrap();
    path.pop();
    path
}

/// Runs a command and returns what it printed. Returns its messages if it fails.
fn expect(command: &mut Command) -> Result<String, Failed> {
    let output = command
        .output()
        .map_err(|error| format!("{command:?}: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    let messages = String::from_utf8_lossy(&output.stderr);
    Err(format!("{command:?}: {}\n{text}{messages}", output.status).into())
}
