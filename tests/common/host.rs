//! Kernel files through a host's C++ compiler: the device's functions without a device.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use raysieve::stages::sources;
use tempfile::TempDir;

/// CUDA's words, for a host.
const CUDA_WORDS: &str = include_str!("cuda_words.hpp");

/// No product and sum becomes one operation, as in Rust and as by `--fmad=false`.
const OPTIONS: &[&str] = &["-std=c++17", "-O2", "-ffp-contract=off", "-w", "-o"];

/// A C++ compiler of this machine.
#[derive(Clone, Debug)]
pub(crate) struct HostCompiler;

impl HostCompiler {
    /// The one that is called `c++`.
    pub(crate) fn find() -> Result<HostCompiler, String> {
        match Command::new("c++").arg("--version").output() {
            Ok(output) if output.status.success() => Ok(HostCompiler),
            Ok(output) => Err(format!("c++ --version: {}", output.status)),
            Err(error) => Err(format!("no C++ compiler: c++: {error}")),
        }
    }

    /// Builds a program: `before`, each stage's file with its headers and its checks in a namespace of its name, `after`.
    pub(crate) fn build(&self, before: &str, after: &str) -> HostProgram {
        let mut text = format!("{CUDA_WORDS}{before}");
        for source in sources() {
            let stem = Path::new(source.path()).file_stem().unwrap();
            let stem = stem.to_str().unwrap();
            // The sieve is made of blocks and warps: its twin is the specification in `compaction`.
            if stem != "select" {
                text += &format!("namespace {stem} {{\n{}}}\n", source.text().unwrap());
            }
        }
        text += &format!("#line 1 \"the program\"\n{after}");
        let folder = tempfile::tempdir().unwrap();
        let (file, program) = (folder.path().join("host.cpp"), folder.path().join("host"));
        fs::write(&file, text).unwrap();
        let compiled = Command::new("c++")
            .args(OPTIONS)
            .args([&program, &file])
            .output()
            .unwrap();
        assert!(
            compiled.status.success(),
            "{}",
            String::from_utf8_lossy(&compiled.stderr)
        );
        HostProgram {
            path: program,
            _folder: folder,
        }
    }
}

/// A program that was built, for as long as it is needed.
pub(crate) struct HostProgram {
    pub(crate) path: PathBuf,
    _folder: TempDir,
}
