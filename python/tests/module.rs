//! Runs the tests of the Python module, `test_*.py`, by pytest on the module that Cargo built.
//!
//! The Python is that of the environment variable `RAYSIEVE_PYTHON`, which must have NumPy and pytest. Without the
//! variable it is `python3`, and the test is reported as ignored if that lacks one of them.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    let arguments = Arguments::from_args();
    let chosen = env::var_os("RAYSIEVE_PYTHON");
    let is_chosen = chosen.is_some();
    let python = PathBuf::from(chosen.unwrap_or_else(|| "python3".into()));
    let mut probe = Command::new(&python);
    probe.args(["-c", "import numpy, pytest"]);
    let is_ready = is_chosen || probe.output().is_ok_and(|output| output.status.success());
    let trial = Trial::test("module_passes_its_tests", move || run_pytest(&python));
    let trial = match is_ready {
        true => trial,
        false => trial
            .with_kind("no numpy and pytest for python3")
            .with_ignored_flag(true),
    };
    libtest_mimic::run(&arguments, vec![trial]).exit();
}

/// Puts the package and the module that Cargo built into a folder, and tests them there.
fn run_pytest(python: &Path) -> Result<(), Failed> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python");
    let package = folder.join("raysieve");
    fs::create_dir_all(&package)?;
    for entry in fs::read_dir(root.join("raysieve"))? {
        let file = entry?;
        if file.file_type()?.is_file() {
            fs::copy(file.path(), package.join(file.file_name()))?;
        }
    }
    let program = env::current_exe()?;
    let built = program.with_file_name("lib_raysieve.so");
    fs::copy(&built, package.join("_raysieve.abi3.so"))
        .map_err(|error| format!("{}: {error}", built.display()))?;
    let output = Command::new(python)
        .args(["-B", "-m", "pytest", "-q", "-p", "no:cacheprovider"])
        .arg(root.join("tests"))
        .current_dir(&folder)
        .env("PYTHONPATH", &folder)
        .env("RAYSIEVE_SCENES", root.join("../scenes"))
        .env("RAYSIEVE_README", root.join("README.md"))
        .output()
        .map_err(|error| format!("{}: {error}", python.display()))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )
        .into()),
    }
}
