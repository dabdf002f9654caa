//! Paths of the repository and of the program, on the machine that built the tests or on another one.

use std::{
    env,
    path::{Path, PathBuf},
};

/// Returns the root of the repository: the nearest folder above the tested package that holds the program's scenes.
#[allow(
    dead_code,
    reason = "not every test program reads files of the repository"
)]
pub(crate) fn root() -> PathBuf {
    let package = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    let is_root = |folder: &&Path| folder.join("scenes/cornell.ron").exists();
    let found = package.ancestors().find(is_root).map(Path::to_owned);
    found.unwrap_or(package)
}

/// Returns the program `raysieve`: the one in the environment variable `CARGO_BIN_EXE_raysieve`, or the one that
/// `cargo test --workspace` built beside this test.
#[allow(dead_code, reason = "not every test program runs it")]
pub(crate) fn program() -> PathBuf {
    if let Some(program) = env::var_os("CARGO_BIN_EXE_raysieve") {
        return program.into();
    }
    let test = env::current_exe().expect("a test knows its own path");
    let folder = test
        .parent()
        .and_then(Path::parent)
        .expect("target/PROFILE/deps");
    let program = folder
        .join("raysieve")
        .with_extension(env::consts::EXE_EXTENSION);
    assert!(
        program.exists(),
        "{} is missing; build it by `cargo build -p raysieve-cli`",
        program.display()
    );
    program
}
