//! Tests of machines with and without a driver or a compiler, by running a copy of this program in another environment.

use std::{path::Path, process::Command, sync::Arc};

use compaction::{
    Error,
    cuda::{self, Compiler, Nvrtc, Source},
};

/// Environment variable that makes a copy of this program answer one question about its environment and exit.
pub(crate) const QUESTION: &str = "CUDA_LAYER_ASK";

/// Runs a copy of this program in another environment and returns its answer to the question "nvrtc", "nvrtc for 7.0"
/// or "devices".
fn ask_copy(question: &str, environment: &[(&str, &Path)]) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    for variable in [
        "COMPACTION_NVRTC",
        "VIRTUAL_ENV",
        "CONDA_PREFIX",
        "CUDA_HOME",
        "CUDA_PATH",
        "LD_LIBRARY_PATH",
    ] {
        command.env_remove(variable);
    }
    let output = command
        .env(QUESTION, question)
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Checks that `devices` returns GPUs, or an error with a reason of one line.
pub(crate) fn a_missing_driver_is_reported() {
    match cuda::devices() {
        Ok(devices) => assert!(
            !devices.is_empty() && devices.iter().all(|device| device.memory_bytes > 0),
            "{devices:?}"
        ),
        Err(Error::NoDevice { reason }) => {
            assert!(!reason.is_empty() && !reason.contains('\n'), "{reason}");
            assert!(matches!(cuda::open(0), Err(Error::NoDevice { .. })));
        }
        Err(other) => panic!("{other}"),
    }
}

/// Builds libraries that answer like a driver: one for CUDA 11.4, and one for 12.2 without a GPU.
pub(crate) fn old_drivers_and_missing_gpus_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("driver.c");
    let library = folder.path().join("libcuda.so");
    let code = "int cuDriverGetVersion(int *version) { *version = VERSION; return 0; }\n\
                int cuInit(unsigned flags) { return 100; }\n\
                int cuGetErrorString(int error, const char **text) { *text = \"no CUDA-capable device is detected\"; return 0; }\n";
    std::fs::write(&source, code).unwrap();
    for (version, reason) in [
        (
            "11040",
            "no CUDA device: the driver knows CUDA 11.4; CUDA 12.2, driver 535, is needed",
        ),
        (
            "12020",
            "no CUDA device: the driver says CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected)",
        ),
    ] {
        let version = format!("-DVERSION={version}");
        match Command::new("cc")
            .args(["-shared", "-fPIC", &version, "-o"])
            .args([&library, &source])
            .status()
        {
            Ok(status) => assert!(status.success()),
            Err(error) => return eprintln!("skipped: no C compiler: {error}"),
        }
        assert_eq!(
            ask_copy("devices", &[("LD_LIBRARY_PATH", folder.path())]),
            format!("Err({reason:?})\n")
        );
    }
}

pub(crate) fn a_broken_or_forbidden_nvrtc_is_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("libnvrtc.so.12");
    std::fs::write(&file, "no library").unwrap();
    let answer = ask_copy("nvrtc", &[("COMPACTION_NVRTC", &file)]);
    assert!(
        answer.starts_with(&format!("Err(\"COMPACTION_NVRTC: {}: ", file.display())),
        "{answer}"
    );
    assert_eq!(
        ask_copy("nvrtc", &[("COMPACTION_NVRTC", Path::new("off"))]),
        "Err(\"COMPACTION_NVRTC=off\")\n"
    );
}

pub(crate) fn nvrtc_is_found_in_toolkits_and_python_environments(nvrtc: &Arc<Nvrtc>) {
    if !nvrtc.path().is_absolute() {
        return eprintln!("skipped: the system's loader finds NVRTC before any other place");
    }
    let home = tempfile::tempdir().unwrap();
    let wheel = "lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib";
    let newer_wheel = "lib/python3.13/site-packages/nvidia/cu13/lib";
    for (variable, folder) in [
        ("CUDA_HOME", "lib64"),
        ("CUDA_PATH", "targets/x86_64-linux/lib"),
        ("CONDA_PREFIX", "lib"),
        ("CONDA_PREFIX", wheel),
        ("VIRTUAL_ENV", wheel),
        ("VIRTUAL_ENV", newer_wheel),
        ("HOME", &format!(".local/{wheel}")),
        ("CUDA_PATH", "bin"),
        ("CUDA_PATH", "bin/x64"),
        ("VIRTUAL_ENV", "Lib/site-packages/nvidia/cuda_nvrtc/bin"),
        ("VIRTUAL_ENV", "Lib/site-packages/nvidia/cu13/bin/x86_64"),
        (
            "ProgramFiles",
            "NVIDIA GPU Computing Toolkit/CUDA/v12.8/bin",
        ),
    ] {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        // NVRTC must be found beside a broken library.
        std::fs::write(folder.join("libnvrtc.so.99"), "no library").unwrap();
        let library = if folder.ends_with("bin") || folder.parent().unwrap().ends_with("bin") {
            folder.join("nvrtc64_120_0.dll") // as on Windows
        } else {
            folder.join("libnvrtc.so.12")
        };
        std::os::unix::fs::symlink(nvrtc.path(), &library).unwrap();
        let answer = ask_copy("nvrtc", &[("HOME", home.path()), (variable, root.path())]);
        assert_eq!(answer, format!("Ok({library:?})\n"), "by {variable}");
    }
}

/// Builds two libraries that answer like NVRTC: one of CUDA 13, which knows no GPU before 7.5, and one of CUDA 12.
pub(crate) fn the_next_nvrtc_is_used_if_the_first_does_not_know_the_gpu() {
    if Nvrtc::find().is_ok_and(|nvrtc| !nvrtc.path().is_absolute()) {
        return eprintln!("skipped: the system's loader finds NVRTC before any other place");
    }
    let root = tempfile::tempdir().unwrap();
    let source = root.path().join("nvrtc.c");
    let code = "int nvrtcVersion(int *major, int *minor) { *major = MAJOR; *minor = 0; return 0; }\n\
                int nvrtcGetNumSupportedArchs(int *count) { *count = 1; return 0; }\n\
                int nvrtcGetSupportedArchs(int *first) { *first = FIRST; return 0; }\n\
                const char *nvrtcGetErrorString(int status) { return \"\"; }\n";
    let others = [
        "CreateProgram",
        "DestroyProgram",
        "CompileProgram",
        "GetProgramLogSize",
        "GetProgramLog",
        "GetPTXSize",
        "GetPTX",
        "GetCUBINSize",
        "GetCUBIN",
    ];
    let others = others.map(|name| format!("int nvrtc{name}(void) {{ return 1; }}\n"));
    std::fs::write(&source, format!("{code}{}", others.concat())).unwrap();
    let build = |folder: &str, major: u32, first: u32| {
        let folder = root.path().join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        let library = folder.join(format!("libnvrtc.so.{major}"));
        let compiler = Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .args([&library, &source])
            .args([format!("-DMAJOR={major}"), format!("-DFIRST={first}")])
            .status();
        compiler.ok().map(|status| {
            assert!(status.success());
            library
        })
    };
    let newer = build("toolkit/lib64", 13, 75);
    let older = build("python/lib", 12, 50);
    let (Some(newer), Some(older)) = (newer, older) else {
        return eprintln!("skipped: no C compiler");
    };
    let (toolkit, python) = (root.path().join("toolkit"), root.path().join("python"));
    let environment = [
        ("HOME", root.path()),
        ("CUDA_HOME", &toolkit),
        ("VIRTUAL_ENV", &python),
    ];
    let driver_is_old = cuda::driver_version().is_some_and(|(major, _)| major < 13);
    if !driver_is_old {
        assert_eq!(ask_copy("nvrtc", &environment), format!("Ok({newer:?})\n"));
    }
    assert_eq!(
        ask_copy("nvrtc for 7.0", &environment),
        format!("Ok({older:?})\n")
    );
    std::fs::remove_file(older).unwrap();
    let answer = ask_copy("nvrtc for 7.0", &environment);
    assert!(
        answer.starts_with("Ok") || answer.contains("does not know compute capability 7.0"),
        "{answer}"
    );
}

pub(crate) fn old_gpus_are_refused_in_one_line() {
    let nothing = Source::new("nothing.cu", "");
    for (capability, words) in [(61, "6.1"), (52, "5.2"), (35, "3.5")] {
        let error = Compiler::new().image(&nothing, capability).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "the GPU has compute capability {words}; the kernels need 7.0 or newer (Volta, 2017)"
            )
        );
    }
}
