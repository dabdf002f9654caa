//! The search for NVRTC on this machine.

use std::{
    env,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Names of the NVRTC library that the system's loader is asked for: the name without a version, then the newest
/// version first. All later 11.x releases keep the name of 11.2.
const NAMES: &[&str] = if cfg!(windows) {
    &[
        "nvrtc64_130_0.dll",
        "nvrtc64_120_0.dll",
        "nvrtc64_112_0.dll",
    ]
} else {
    &[
        "libnvrtc.so",
        "libnvrtc.so.13",
        "libnvrtc.so.12",
        "libnvrtc.so.11.2",
    ]
};

/// Folders of libraries in a CUDA toolkit, a Conda environment or a wheel, relative to its root: those of Linux, then
/// those of Windows up to CUDA 12 and since.
const LIBRARY_FOLDERS: [&str; 5] = ["lib64", "lib", "bin", "bin/x64", "bin/x86_64"];

/// Yields names and paths of NVRTC libraries, in the order of [`Nvrtc::find`](super::Nvrtc::find). Python runs only if
/// the first ones do not serve.
pub(super) fn candidates() -> impl Iterator<Item = PathBuf> {
    NAMES
        .iter()
        .map(PathBuf::from)
        .chain(in_known_folders())
        .chain(std::iter::once_with(in_python_packages).flatten())
}

/// Returns the paths of the NVRTC libraries that exist in known folders, without running Python. Folders named by
/// `CUDA_HOME`, `CUDA_PATH`, `VIRTUAL_ENV` and `CONDA_PREFIX` come first.
fn in_known_folders() -> Vec<PathBuf> {
    let named = |names: [&str; 2]| {
        names
            .into_iter()
            .filter_map(env::var_os)
            .map(PathBuf::from)
            .collect::<Vec<_>>()
    };
    let user = env::home_dir().map(|home| home.join(".local"));
    let installed = children(Path::new("/usr/local"), |name| name.starts_with("cuda"));
    let windows = env::var_os("ProgramFiles").map_or_else(Vec::new, |programs| {
        let toolkits = Path::new(&programs).join("NVIDIA GPU Computing Toolkit/CUDA");
        children(&toolkits, |name| name.starts_with('v'))
    });
    let toolkits =
        |roots: Vec<PathBuf>| roots.into_iter().flat_map(|root| toolkit(&root)).collect();
    let environments = |prefixes: Vec<PathBuf>| {
        prefixes
            .into_iter()
            .flat_map(|prefix| environment(&prefix))
            .collect()
    };
    let paths: [Vec<PathBuf>; 7] = [
        toolkits(named(["CUDA_HOME", "CUDA_PATH"])),
        environments(named(["VIRTUAL_ENV", "CONDA_PREFIX"])),
        environments(user.into_iter().collect()),
        toolkits(installed),
        toolkits(vec!["/opt/cuda".into()]),
        toolkits(windows),
        environments(vec!["/usr/local".into(), "/usr".into()]),
    ];
    paths.concat()
}

/// Returns the paths of the NVRTC libraries in a CUDA toolkit installed at `root`.
fn toolkit(root: &Path) -> Vec<PathBuf> {
    let targets = children(&root.join("targets"), |_| true);
    LIBRARY_FOLDERS
        .iter()
        .map(|folder| root.join(folder))
        .chain(targets.iter().map(|target| target.join("lib")))
        .flat_map(libraries)
        .collect()
}

/// Returns the paths of the NVRTC libraries in a Python environment: those of its wheels, and those that Conda puts in
/// `lib`, or in `Library/bin` on Windows.
fn environment(prefix: &Path) -> Vec<PathBuf> {
    let lib = prefix.join("lib");
    let versions = children(&lib, |name| name.starts_with("python3"));
    let packages = versions
        .iter()
        .flat_map(|version| [version.join("site-packages"), version.join("dist-packages")])
        .chain([prefix.join("Lib/site-packages")]);
    let mut found: Vec<_> = packages.flat_map(|packages| wheels(&packages)).collect();
    found.extend(libraries(lib));
    found.extend(toolkit(&prefix.join("Library")));
    found
}

/// Returns the paths of the NVRTC libraries in the package folders of the `python3` or `python` on `PATH`. Runs it,
/// because only Python itself knows these folders.
fn in_python_packages() -> Vec<PathBuf> {
    let ask =
        "import site, sys; print(*site.getsitepackages(), site.getusersitepackages(), sep='\\n')";
    let run = |python: &str| {
        let command = Command::new(python)
            .args(["-c", ask])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output();
        let output = command.ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let answer = run("python3").or_else(|| run("python")).unwrap_or_default();
    answer
        .lines()
        .flat_map(|packages| wheels(Path::new(packages)))
        .collect()
}

/// Returns the paths of the NVRTC libraries that exist in a Python package folder: in `nvidia/cuda_nvrtc` up to CUDA
/// 12, and in `nvidia/cu13` since.
fn wheels(packages: &Path) -> Vec<PathBuf> {
    children(&packages.join("nvidia"), |name| name.starts_with("cu"))
        .into_iter()
        .flat_map(|package| toolkit(&package))
        .collect()
}

/// Returns the paths of the NVRTC libraries in a folder, the highest version first: `libnvrtc.so.12`, or
/// `nvrtc64_120_0.dll` on Windows.
fn libraries(folder: PathBuf) -> Vec<PathBuf> {
    children(&folder, |name| {
        let is_dll = name.starts_with("nvrtc64_") && name.ends_with("_0.dll");
        name.starts_with("libnvrtc.so") || is_dll
    })
}

/// Returns the paths in a folder whose file names satisfy `name`, in descending alphabetical order.
///
/// Of versions with equally many digits, the highest comes first. Others may be out of order: `3.9` comes before
/// `3.12`.
fn children(folder: &Path, name: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut children: Vec<_> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.file_name().and_then(OsStr::to_str).is_some_and(&name))
        .collect();
    children.sort_unstable_by(|a, b| b.cmp(a));
    children
}

/// Returns the folders of CUDA's headers that belong to an NVRTC library: those of its toolkit or environment, and of
/// the wheels beside its own. For a library that the system's loader found, these are the folders of installed
/// toolkits.
pub(super) fn header_folders(library: &Path) -> Vec<PathBuf> {
    let above = library.ancestors().skip(1).take(4);
    let beside = above
        .clone()
        .flat_map(|folder| children(folder, |name| name.starts_with("cu")));
    let named = ["CUDA_HOME", "CUDA_PATH"]
        .into_iter()
        .filter_map(env::var_os);
    let mut roots: Vec<PathBuf> = Vec::new();
    if library.is_absolute() {
        roots.extend(above.map(Path::to_owned).chain(beside));
    } else {
        roots.extend(named.map(PathBuf::from));
        roots.extend(["/usr/local/cuda", "/opt/cuda", "/usr"].map(PathBuf::from));
    }
    let mut folders: Vec<PathBuf> = Vec::new();
    for root in roots {
        for folder in [root.join("include"), root.join("include/cccl")] {
            let has_headers = ["cuda_fp16.h", "nv/target", "cuda"]
                .iter()
                .any(|header| folder.join(header).exists());
            if has_headers && !folders.contains(&folder) {
                folders.push(folder);
            }
        }
    }
    folders
}
