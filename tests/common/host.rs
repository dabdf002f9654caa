//! Compiles kernels with the host's C++ compiler, so that device functions can be tested without a device.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use compaction::cuda::Source;
use raysieve::stages::sources;
use xxhash_rust::xxh3::xxh3_64;

/// Definitions of CUDA's keywords and intrinsics for a host compiler.
const CUDA_WORDS: &str = include_str!("cuda_words.hpp");

/// Compiler options. No multiplication and addition is fused, as in Rust and in CUDA with `--fmad=false`.
const OPTIONS: &[&str] = &["-std=c++17", "-O2", "-ffp-contract=off", "-w"];

/// Returns the sources of all kernels whose threads are independent. Kernels built on blocks and warps are tested
/// against their CPU specifications in `compaction`.
pub(crate) fn stage_sources() -> impl Iterator<Item = Source> {
    let of_stages = |source: &Source| source.path().starts_with("kernels/");
    sources().into_iter().filter(of_stages)
}

/// The C++ compiler of this machine.
#[derive(Clone, Debug)]
pub(crate) struct HostCompiler {
    /// Output of `c++ --version`.
    version: Vec<u8>,
}

impl HostCompiler {
    /// Finds the compiler `c++`. `Err` holds the reason if there is none.
    pub(crate) fn find() -> Result<HostCompiler, String> {
        match Command::new("c++").arg("--version").output() {
            Ok(output) if output.status.success() => Ok(HostCompiler {
                version: output.stdout,
            }),
            Ok(output) => Err(format!("c++ --version: {}", output.status)),
            Err(error) => Err(format!("no C++ compiler: c++: {error}")),
        }
    }

    /// Compiles a program, unless an identical one exists already, and returns its path.
    ///
    /// Its text is `before`, then each of the files with its headers in a namespace named after its first kernel, then
    /// `after`.
    pub(crate) fn build(
        &self,
        before: &str,
        sources: impl IntoIterator<Item = Source>,
        after: &str,
    ) -> PathBuf {
        let mut text = format!("{CUDA_WORDS}{before}");
        for source in sources {
            let name = source.kernel_names().next().unwrap();
            // C functions and macros are global: they ignore namespaces.
            let body = source.text().unwrap().replace("extern \"C\" ", "");
            text += &format!("namespace {name} {{\n{body}}}\n#undef KERNEL\n");
        }
        text += &format!("#line 1 \"the program\"\n{after}");
        let made_of = [&self.version, text.as_bytes(), OPTIONS.concat().as_bytes()].concat();
        let programs = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let program = programs.join(format!("host-{:016x}", xxh3_64(&made_of)));
        if !program.exists() {
            fs::create_dir_all(programs).unwrap();
            self.compile(&text, &program);
        }
        program
    }

    /// Compiles the text to an executable at `program`, which appears only when it is complete.
    fn compile(&self, text: &str, program: &Path) {
        let folder = tempfile::tempdir_in(program.parent().unwrap()).unwrap();
        let (file, compiled) = (folder.path().join("host.cpp"), folder.path().join("host"));
        fs::write(&file, text).unwrap();
        let output = Command::new("c++")
            .args(OPTIONS)
            .args([Path::new("-o"), &compiled, &file])
            .output()
            .unwrap();
        let output_text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{output_text}");
        fs::rename(compiled, program).unwrap();
    }
}
