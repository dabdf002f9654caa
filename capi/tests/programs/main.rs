//! Programs in C, C++ and Python that use the library through its headers and its module. On a machine without a GPU,
//! those that need one are reported as ignored.
//!
//! The Python is that of the environment variable `RAYSIEVE_PYTHON`, which must have NumPy. Without the variable it is
//! `python3`, and the tests are reported as ignored if that, or its NumPy where they need it, is missing.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use compaction::cuda;
use libtest_mimic::{Arguments, Failed, Trial};

/// A way to compile a program: a name, a compiler and its options.
type Language = (&'static str, &'static str, &'static [&'static str]);

const C: Language = ("c", "cc", &["-std=c11", "-D_POSIX_C_SOURCE=200809L"]);
const CPP_17: Language = (
    "cpp17",
    "c++",
    &[
        "-x",
        "c++",
        "-std=c++17",
        "-Wpedantic",
        "-Wshadow",
        "-Wconversion",
    ],
);
const CPP_20: Language = (
    "cpp20",
    "c++",
    &[
        "-x",
        "c++",
        "-std=c++20",
        "-Wpedantic",
        "-Wshadow",
        "-Wconversion",
    ],
);
const NO_EXCEPTIONS: Language = (
    "no_exceptions",
    "c++",
    &["-x", "c++", "-std=c++17", "-fno-exceptions"],
);

/// C with checks of addresses, leaks and undefined behaviour.
const SANITIZED: Language = (
    "sanitized",
    "cc",
    &[
        "-std=c11",
        "-D_POSIX_C_SOURCE=200809L",
        "-fsanitize=address,undefined",
        "-fno-sanitize-recover=all",
    ],
);

/// The program that runs without NVRTC.
const KERNELS: &str = "tests/c/kernels.c";

/// The programs of the tests and the examples, the backends on which each runs, and its languages. A program receives
/// the name of its backend.
const PROGRAMS: [(&str, &[&str], &[Language]); 18] = [
    ("tests/c/select.c", &["cuda"], &[C]),
    ("tests/c/select.c", &["cpu"], &[C, SANITIZED]),
    ("tests/c/operations.c", &["cuda"], &[C]),
    ("tests/c/operations.c", &["cpu"], &[C, SANITIZED]),
    ("tests/c/aggregates.c", &["cuda"], &[C]),
    ("tests/c/aggregates.c", &["cpu"], &[C, SANITIZED]),
    ("tests/c/segments.c", &["cuda"], &[C]),
    ("tests/c/segments.c", &["cpu"], &[C, SANITIZED]),
    ("tests/c/errors.c", &["cuda"], &[C]),
    ("tests/c/errors.c", &["cpu"], &[C, SANITIZED]),
    ("tests/c/threads.c", &["cuda"], &[C]),
    ("tests/c/threads.c", &["cpu"], &[C, SANITIZED]),
    ("tests/c/graph.c", &["cuda"], &[C]),
    ("tests/c/devices.c", &["cuda"], &[C]),
    ("tests/c/contexts.c", &["cuda"], &[C]),
    (KERNELS, &["cuda"], &[C]),
    (
        "tests/c/wrapper.cpp",
        &["cpu", "cuda"],
        &[CPP_17, CPP_20, NO_EXCEPTIONS],
    ),
    ("examples/hits.c", &["cuda"], &[C, CPP_17]),
];

fn main() {
    let arguments = Arguments::from_args();
    let has_gpu = cuda::open(0).is_ok();
    name_library_as_loaded();
    let mut trials = Vec::new();
    for (source, backends, languages) in PROGRAMS {
        let program = Path::new(source).file_stem().unwrap().to_string_lossy();
        for &backend in backends {
            for &language in languages {
                let name = format!("{backend}_{program}_{}", language.0);
                let run = {
                    let name = name.clone();
                    move || run(&name, language, source, backend)
                };
                let trial = Trial::test(name, run);
                trials.push(match backend {
                    "cuda" if !has_gpu => trial.with_kind("no GPU").with_ignored_flag(true),
                    _ => trial,
                });
            }
        }
    }
    for (name, file, backend, import) in [
        ("cpu_arrays_python", "arrays.py", "cpu", "sys"),
        ("cuda_arrays_python", "arrays.py", "cuda", "sys"),
        ("cpu_numpy_python", "numpy_arrays.py", "cpu", "numpy"),
    ] {
        let trial = Trial::test(name, move || run_python(file, backend));
        trials.push(if backend == "cuda" && !has_gpu {
            trial.with_kind("no GPU").with_ignored_flag(true)
        } else if !python_has(import) {
            trial.with_kind("no Python for it").with_ignored_flag(true)
        } else {
            trial
        });
    }
    trials.push(Trial::test("installation_is_found", installation_is_found));
    libtest_mimic::run(&arguments, trials).exit();
}

/// Compiles a program with warnings as errors, links it with the library, and runs it. It must print `done`.
fn run(
    name: &str,
    (_, compiler, flags): Language,
    source: &str,
    backend: &str,
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
        None => "-DNO_DRIVER",
    });
    expect(&mut compile)?;
    let mut command = Command::new(&program);
    command.arg(backend).env("EMULATED_DEVICES", "2");
    if source == KERNELS {
        command
            .env("COMPACTION_NVRTC", "off")
            .env("COMPACTION_CACHE", "off");
    }
    let output = expect(&mut command)?;
    match output.ends_with("done\n") {
        true => Ok(()),
        false => Err(format!("{name} printed:\n{output}").into()),
    }
}

/// Returns the Python of the tests.
fn python() -> OsString {
    env::var_os("RAYSIEVE_PYTHON").unwrap_or_else(|| "python3".into())
}

/// Returns whether the Python of the tests has the module, or must have it because the environment names the Python.
fn python_has(module: &str) -> bool {
    let mut probe = Command::new(python());
    probe.arg("-c").arg(format!("import {module}"));
    env::var_os("RAYSIEVE_PYTHON").is_some()
        || probe.output().is_ok_and(|output| output.status.success())
}

/// Runs a test of the Python module. It must print `done`.
fn run_python(file: &str, backend: &str) -> Result<(), Failed> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut python = Command::new(python());
    python
        .args(["-B", "-W", "error"])
        .arg(root.join("tests/python").join(file))
        .arg(backend)
        .env("PYTHONPATH", root.join("python"))
        .env_remove("COMPACTION_LIBRARY")
        .env("LD_LIBRARY_PATH", library_path());
    match expect(&mut python)?.ends_with("done\n") {
        true => Ok(()),
        false => Err("the test of the Python module did not finish".into()),
    }
}

/// Installs the library and compiles a program with the flags of its file for pkg-config, shared and static.
fn installation_is_found() -> Result<(), Failed> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let prefix = folder.join("prefix");
    expect(
        Command::new(root.join("install"))
            .arg(&prefix)
            .arg(library_folder()),
    )?;
    let package = fs::read_to_string(prefix.join("lib/pkgconfig/compaction.pc"))?;
    let field = |name: &str| {
        let value = package.lines().find_map(|line| line.strip_prefix(name));
        let value = value.expect("the file for pkg-config has the field");
        let prefix = prefix.to_string_lossy();
        value
            .replace("${includedir}", "${prefix}/include")
            .replace("${libdir}", "${prefix}/lib")
            .replace("${prefix}", &prefix)
    };
    let shared = [field("Cflags:"), field("Libs:")].join(" ");
    let library = prefix.join("lib/libcompaction.a");
    let linked = [
        field("Cflags:"),
        library.display().to_string(),
        field("Libs.private:"),
    ]
    .join(" ");
    for (name, flags) in [("shared", shared), ("static", linked)] {
        let program = folder.join(format!("installed_{name}"));
        let mut compile = Command::new("cc");
        compile
            .current_dir(root)
            .args(["-DNO_DRIVER", "-Itests/driver", "tests/c/select.c", "-o"])
            .arg(&program)
            .args(flags.split_whitespace());
        expect(&mut compile)?;
        let mut run = Command::new(&program);
        expect(run.arg("cpu").env("LD_LIBRARY_PATH", prefix.join("lib")))?;
    }
    Ok(())
}

/// Links the name by which programs load the library to the library under test, as `capi/install` does.
fn name_library_as_loaded() {
    let version = env!("CARGO_PKG_VERSION_MINOR");
    let name = library_folder().join(format!("libcompaction.so.0.{version}"));
    let _ = fs::remove_file(&name);
    std::os::unix::fs::symlink("libcompaction_capi.so", &name).unwrap();
}

/// Returns the folders in which programs search for libraries, the library under test first.
fn library_path() -> OsString {
    let others = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let folders = [library_folder()]
        .into_iter()
        .chain(env::split_paths(&others));
    env::join_paths(folders).expect("no folder contains a colon")
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
