//! Denoising by Intel's Open Image Denoise (OIDN), whose program `oidnDenoise` runs as a process of its own.
//!
//! The program is part of OIDN's releases and of the Python package `pyoidn`, and runs on the CPU or on a GPU. A
//! process needs neither bindings nor unsafe code, and its failure does not end the render. Albedo and normal of the
//! first hit guide it, which a file in the portable float map format (PFM) passes.

use std::{
    env,
    ffi::OsString,
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use glam::Vec3;

use crate::{
    Error,
    film::picture::Picture,
    inspect::aovs::{Aov, Aovs},
    stages::Preview,
};

/// Environment variable with the path of the program `oidnDenoise`.
pub const PROGRAM_VARIABLE: &str = "RAYSIEVE_OIDN";
/// Name of the program in the folders of `PATH`.
const PROGRAM: &str = "oidnDenoise";
/// AOVs that [`Oidn::denoise`] reads.
pub const GUIDES: [Aov; 2] = [Aov::Albedo, Aov::Normal];
/// Python program that prints the folder of the package `pyoidn`, if it is installed.
const PRINT_PACKAGE: &str = "import importlib.util as u; s = u.find_spec('pyoidn'); \
     print(s.submodule_search_locations[0] if s else '')";
/// The remedy for a missing program.
const REMEDY: &str = "download Open Image Denoise from https://www.openimagedenoise.org and add its folder bin to PATH, \
     or run `pip install pyoidn`; plain --denoise (key n) needs neither";

/// The program `oidnDenoise` on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Oidn {
    program: PathBuf,
}

impl Oidn {
    /// Finds the program: the one in the environment variable [`PROGRAM_VARIABLE`], in the folders of `PATH`, or in the
    /// package `pyoidn` of the active Python environment or of `python3`.
    ///
    /// # Errors
    /// [`Error::Setting`] that says how to install it, if it is in none of these places.
    pub fn find() -> Result<Oidn, Error> {
        if let Some(named) = env::var_os(PROGRAM_VARIABLE) {
            let program = PathBuf::from(named);
            return match program.is_file() {
                true => Ok(Oidn { program }),
                false => Err(unavailable(format!(
                    "{PROGRAM_VARIABLE} is {}, which is not a file; {REMEDY}",
                    program.display()
                ))),
            };
        }
        let path = env::var_os("PATH").unwrap_or_default();
        let on_path = env::split_paths(&path).map(|folder| folder.join(PROGRAM));
        let found = on_path.chain(in_python_package()).find(|one| one.is_file());
        found
            .map(|program| Oidn { program })
            .ok_or_else(|| unavailable(format!("{PROGRAM} was not found; {REMEDY}")))
    }

    /// Returns `color` without noise. `guides` are AOVs of the same scene and size, which contain [`GUIDES`].
    ///
    /// The time of the result is that of the whole process. The bits depend on the version of OIDN and on the device
    /// that it selects, unlike those of a film.
    ///
    /// # Errors
    /// [`Error::Setting`] if a temporary file cannot be written, or if the program fails.
    pub fn denoise(&self, color: &Picture, guides: &Aovs) -> Result<Preview, Error> {
        let began = Instant::now();
        let failed =
            |problem: String| unavailable(format!("{}: {problem}", self.program.display()));
        let of_files = |error: io::Error| failed(format!("cannot exchange images: {error}"));
        let folder = tempfile::tempdir().map_err(of_files)?;
        let file = |name: &str| folder.path().join(name);
        let size = (color.width, color.height);
        let guide = |aov: Aov| {
            move |pixel: usize| {
                let channel = |number| guides.value(aov, number, pixel as u32);
                Vec3::new(channel(0), channel(1), channel(2))
            }
        };
        write_pfm(&file("color.pfm"), size, |pixel| color.pixels[pixel]).map_err(of_files)?;
        write_pfm(&file("albedo.pfm"), size, guide(Aov::Albedo)).map_err(of_files)?;
        write_pfm(&file("normal.pfm"), size, guide(Aov::Normal)).map_err(of_files)?;
        let output = Command::new(&self.program)
            .current_dir(folder.path())
            .args([
                "--hdr",
                "color.pfm",
                "--alb",
                "albedo.pfm",
                "--nrm",
                "normal.pfm",
            ])
            .args(["--output", "denoised.pfm"])
            .stdin(Stdio::null())
            .output()
            .map_err(|error| failed(format!("cannot be started: {error}")))?;
        if !output.status.success() {
            let log = String::from_utf8_lossy(&output.stderr).into_owned()
                + &String::from_utf8_lossy(&output.stdout);
            let last = log.lines().rfind(|line| !line.trim().is_empty());
            let last = last.unwrap_or("no message").trim();
            return Err(failed(format!("{}: {last}", output.status)));
        }
        let bytes = fs::read(file("denoised.pfm")).map_err(of_files)?;
        let pixels = read_pfm(&bytes, size)
            .ok_or_else(|| failed("wrote an image of another size or format".to_owned()))?;
        Ok(Preview {
            picture: Picture {
                pixels,
                ..color.clone()
            },
            milliseconds: began.elapsed().as_secs_f64() * 1e3,
        })
    }
}

/// Returns the error for a program that is missing or failed.
fn unavailable(problem: String) -> Error {
    Error::Setting {
        setting: "denoise oidn".to_owned(),
        problem,
    }
}

/// Returns the path of the program in the package `pyoidn`; `None` without Python or without the package.
fn in_python_package() -> Option<PathBuf> {
    let environment = env::var_os("VIRTUAL_ENV");
    let python = environment.map_or_else(
        || OsString::from("python3"),
        |folder| PathBuf::from(folder).join("bin/python").into(),
    );
    let output = Command::new(python)
        .args(["-c", PRINT_PACKAGE])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let folder = String::from_utf8(output.stdout).ok()?;
    let folder = folder.trim();
    (!folder.is_empty()).then(|| Path::new(folder).join("oidn/bin").join(PROGRAM))
}

/// Writes an RGB image as a PFM file: a text header, then rows from the bottom as little-endian floats.
fn write_pfm(
    path: &Path,
    (width, height): (u32, u32),
    pixel: impl Fn(usize) -> Vec3,
) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    write!(file, "PF\n{width} {height}\n-1.0\n")?;
    for row in (0..height as usize).rev() {
        for column in 0..width as usize {
            for channel in pixel(row * width as usize + column).to_array() {
                file.write_all(&channel.to_le_bytes())?;
            }
        }
    }
    file.flush()
}

/// Parses a little-endian RGB image of this size from the contents of a PFM file, whose rows go from the bottom up.
/// Returns its pixels row by row from the top, or `None` if the contents are anything else.
fn read_pfm(bytes: &[u8], (width, height): (u32, u32)) -> Option<Vec<Vec3>> {
    let mut rest = bytes;
    let mut header = [""; 3];
    for line in &mut header {
        let end = rest.iter().position(|&byte| byte == b'\n')?;
        *line = str::from_utf8(&rest[..end]).ok()?.trim();
        rest = &rest[end + 1..];
    }
    let [kind, size, scale] = header;
    let is_little_endian = scale.parse().is_ok_and(|scale: f32| scale < 0.0);
    if kind != "PF" || size != format!("{width} {height}") || !is_little_endian {
        return None;
    }
    let row_bytes = 12 * width as usize;
    if rest.len() != row_bytes * height as usize {
        return None;
    }
    let number = |bytes: &[u8]| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    let rows = rest.chunks_exact(row_bytes.max(1)).rev();
    let pixels = rows.flat_map(|row| row.chunks_exact(12));
    let pixels = pixels.map(|pixel| Vec3::from_array([0, 4, 8].map(|at| number(&pixel[at..]))));
    Some(pixels.collect())
}
