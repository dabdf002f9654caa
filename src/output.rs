//! The files that a render leaves: pictures and statistics.
//!
//! A file is written whole or not at all: under a temporary name beside its place, synced, then renamed, and its folder
//! synced. A crash, a full disk, a kill or a loss of power leaves what was there before.

use std::{
    ffi::OsStr,
    fs,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf, is_separator},
};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::{
    Error,
    layers::Layers,
    part::{Packing, Part, SOFTWARE},
    picture::Picture,
    scene::{Scene, SceneFile},
    sight::{Sight, Sighting},
    stats::Stats,
    tone::{self, Tone},
    window::overlay,
};

/// The kind of a picture's file, told by its ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureFormat {
    /// `.png`: tone-mapped, 8 bits a channel, sRGB.
    Png,
    /// `.exr`: linear sRGB, 32-bit float.
    Exr,
}

impl PictureFormat {
    /// The format that the ending of `path` names, in small or capital letters; `None` if it names neither.
    pub fn of(path: &Path) -> Option<PictureFormat> {
        let ending = path.extension()?;
        if ending.eq_ignore_ascii_case("png") {
            Some(PictureFormat::Png)
        } else if ending.eq_ignore_ascii_case("exr") {
            Some(PictureFormat::Exr)
        } else {
            None
        }
    }
}

/// How linear light becomes the eight bits of a PNG. An EXR is as the film is, and takes no look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// Brightness doubles with every stop.
    pub exposure_stops: f32,
    /// How what is brighter than the screen is shown.
    pub tone: Tone,
    /// Draws the statistics on the picture.
    pub overlay: bool,
    /// Shows a preview with less noise, where there is one, instead of what was rendered.
    pub denoise: bool,
}

/// Writes what is on a film in the format of the path's ending: a PNG of what it shows, or of the preview that the layers
/// have if the look is for that, or an EXR that is a [`part`](crate::part), with layers if there are any.
pub fn write_picture(path: &Path, part: &Part, look: Look, layers: &Layers) -> Result<(), Error> {
    match PictureFormat::of(path) {
        Some(PictureFormat::Png) => match layers.preview().filter(|_| look.denoise) {
            Some(preview) => {
                let stats = Stats {
                    denoise_ms: Some(preview.milliseconds),
                    ..part.claim.stats.clone()
                };
                write_png(path, &preview.picture, &stats, look)
            }
            None => write_png(path, &part.picture(), &part.claim.stats, look),
        },
        Some(PictureFormat::Exr) => part.write_with(path, Packing::Small, layers),
        None => Err(refused(
            path,
            "the ending says neither .png nor .exr; name one of them",
        )),
    }
}

/// Writes `picture` as a PNG, with where it came from as text chunks: program, scene, samples, seed and film hash; and that
/// it is a preview, if the statistics say so.
pub fn write_png(path: &Path, picture: &Picture, stats: &Stats, look: Look) -> Result<(), Error> {
    let mut developed = Developed {
        size: (picture.width, picture.height),
        rgba: tone::to_srgb8(picture, look.exposure_stops, look.tone),
        sight: Sight::Light,
    };
    if look.overlay {
        overlay::draw(&mut developed.rgba, picture.width, picture.height, stats);
    }
    write_developed(path, &developed, stats)
}

/// Writes false colours as a PNG, under their scale; with the statistics too if the look says so.
pub fn write_sighting(
    path: &Path,
    sighting: &Sighting,
    stats: &Stats,
    look: Look,
) -> Result<(), Error> {
    let mut developed = Developed {
        size: sighting.size,
        rgba: sighting.rgba.clone(),
        sight: sighting.sight,
    };
    let (width, height) = sighting.size;
    overlay::draw_legend(&mut developed.rgba, width, height, &sighting.legend);
    if look.overlay {
        overlay::draw(&mut developed.rgba, width, height, stats);
    }
    write_developed(path, &developed, stats)
}

/// A picture in eight bits a channel.
pub(crate) struct Developed {
    pub(crate) size: (u32, u32),
    /// Opaque, rows from the top.
    pub(crate) rgba: Vec<u8>,
    /// What it shows.
    pub(crate) sight: Sight,
}

/// Writes what has been developed as a PNG, with where it came from.
pub(crate) fn write_developed(
    path: &Path,
    developed: &Developed,
    stats: &Stats,
) -> Result<(), Error> {
    let compression = png::Compression::default();
    write_whole(path, |file| encode_png(file, developed, stats, compression))
}

/// Writes the statistics as JSON.
pub fn write_stats(path: &Path, stats: &Stats) -> Result<(), Error> {
    write_json(path, stats)
}

/// Writes what it is given as JSON, whole or not at all.
pub fn write_json(path: &Path, what: &impl Serialize) -> Result<(), Error> {
    write_whole(path, |file| {
        serde_json::to_writer_pretty(&mut *file, what)?;
        file.write_all(b"\n")
    })
}

/// Finds before the render what would keep its file from being written after it: a folder that is missing or sealed, a
/// name that is a folder or too long, a file that may not be written. What a process left there that was killed is cleared
/// away.
pub fn check_place(path: &Path) -> Result<(), Error> {
    let target = through_links(path);
    clear_unfinished(path);
    check_folder(folder_of(path))
        .and_then(|()| check_file(path))
        .and_then(|()| check_folder(folder_of(&target)))
        .and_then(|()| check_beside(&target))
        .map_err(|problem| refused(path, &problem))
}

/// Finds before the render that its file would take the place of one that the scene is made of.
pub fn check_apart(path: &Path, scene: &Scene) -> Result<(), Error> {
    // What is not there yet is nobody's.
    let Ok(target) = fs::canonicalize(path) else {
        return Ok(());
    };
    let is_read = |file: &SceneFile| fs::canonicalize(&file.path).is_ok_and(|read| read == target);
    if !scene.files.iter().any(is_read) {
        return Ok(());
    }
    Err(Error::File {
        file: path.display().to_string(),
        problem: format!(
            "is read by the scene {}, and what is written would take its place; name another file to write",
            scene.path.display()
        ),
    })
}

fn check_folder(folder: &Path) -> Result<(), String> {
    let name = folder.display();
    match fs::metadata(folder) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(format!("{name} is a file, not a folder; name another")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(format!(
            "the folder {name} does not exist; make it or name another"
        )),
        Err(error) => Err(format!("the folder {name}: {error}; name another")),
    }
}

fn check_file(path: &Path) -> Result<(), String> {
    let names_folder = path
        .as_os_str()
        .as_encoded_bytes()
        .last()
        .is_some_and(|&last| is_separator(last.into()));
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err("this is a folder; name a file in it".to_owned()),
        Ok(found) if !found.is_file() => Err("this is not a plain file; name another".to_owned()),
        Ok(_) => fs::OpenOptions::new()
            .write(true)
            .open(path)
            .map(drop)
            .map_err(|error| format!("the file may not be written: {error}; name another")),
        Err(_) if names_folder => {
            Err("this names a folder; leave out the stroke at its end".to_owned())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(format!("{error}; name another")),
    }
}

fn check_beside(target: &Path) -> Result<(), String> {
    let folder = folder_of(target).display();
    unfinished_beside(target)
        .map(drop)
        .map_err(|error| format!("the folder {folder} may not be written: {error}; name another"))
}

fn refused(path: &Path, problem: &str) -> Error {
    Error::File {
        file: path.display().to_string(),
        problem: problem.to_owned(),
    }
}

fn not_written(path: &Path, error: &io::Error) -> Error {
    let remedy = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space or name another place"
        }
        io::ErrorKind::FileTooLarge => "allow larger files (ulimit -f) or name another place",
        _ => "name another place",
    };
    Error::Write {
        path: path.to_owned(),
        problem: format!("not written: {error}; {remedy}"),
    }
}

/// The bytes of a PNG, in more or less time.
pub(crate) fn encode_png(
    file: &mut impl Write,
    developed: &Developed,
    stats: &Stats,
    compression: png::Compression,
) -> io::Result<()> {
    let (pixels, _) = developed.rgba.as_chunks::<4>();
    let rgb = pixels
        .iter()
        .flat_map(|&[red, green, blue, _]| [red, green, blue]);
    let rgb: Vec<u8> = rgb.collect();

    let (width, height) = developed.size;
    let mut encoder = png::Encoder::new(file, width, height);
    encoder.set_compression(compression);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
    let texts = [
        ("Software", SOFTWARE.to_owned()),
        ("scene", stats.scene.clone()),
        ("samples", stats.spp.to_string()),
        ("sample_range", stats.sample_range.clone()),
        ("seed", stats.seed.to_string()),
        ("film_hash", stats.film_hash.clone()),
    ];
    let is_light = developed.sight == Sight::Light;
    let view = (!is_light).then(|| ("view", developed.sight.name().to_owned()));
    let preview = ("preview", "denoised".to_owned());
    let preview = stats.denoise_ms.filter(|_| is_light).map(|_| preview);
    for (name, text) in texts.into_iter().chain(view).chain(preview) {
        encoder.add_itxt_chunk(name.to_owned(), text)?;
    }
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&rgb)?;
    writer.finish()?;
    Ok(())
}

/// Writes a file whole or not at all: a name never has half a content, not even after a loss of power.
///
/// # Errors
/// [`Error::Write`]: what was there before is there still.
pub fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&mut fs::File>) -> io::Result<()>,
) -> Result<(), Error> {
    replace(path, write, || Ok(())).map(drop)
}

/// As [`write_whole`], if `may` says so when all is written and only its name is missing. What the new file is like then:
/// by the time that anybody could ask for it, it may have been replaced.
pub(crate) fn replace(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&mut fs::File>) -> io::Result<()>,
    may: impl FnOnce() -> io::Result<()>,
) -> Result<fs::Metadata, Error> {
    let target = through_links(path);
    let written = unfinished_beside(&target).and_then(|mut unfinished| {
        let mut file = BufWriter::with_capacity(1 << 20, unfinished.as_file_mut());
        write(&mut file)?;
        file.flush()?;
        drop(file);
        if let Ok(old) = fs::metadata(&target) {
            unfinished.as_file().set_permissions(old.permissions())?;
        }
        // Else a loss of power could leave the new name with no content, and then the folder with the old name.
        unfinished.as_file().sync_all()?;
        let made = unfinished.as_file().metadata()?;
        may()?;
        unfinished.persist(&target)?;
        sync_folder(folder_of(&target))?;
        Ok(made)
    });
    written.map_err(|error| not_written(path, &error))
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    match fs::File::open(folder) {
        Ok(folder) => folder.sync_all(),
        // A folder that may be written but not listed.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// A new file in the target's folder, which vanishes unless it is renamed.
fn unfinished_beside(target: &Path) -> io::Result<tempfile::NamedTempFile> {
    let prefix = unfinished_prefix(target);
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(UNFINISHED);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As any new file: the umask takes away what the user wants taken away.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    loop {
        let unfinished = builder.tempfile_in(folder_of(target))?;
        // So that nobody takes it for what is left of a process that was killed; who did before it was locked has removed it.
        let locked = unfinished.as_file().try_lock();
        if !matches!(locked, Err(fs::TryLockError::WouldBlock)) && !is_removed(&unfinished)? {
            return Ok(unfinished);
        }
    }
}

#[cfg(unix)]
fn is_removed(unfinished: &tempfile::NamedTempFile) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    Ok(unfinished.as_file().metadata()?.nlink() == 0)
}

/// What is open cannot be removed.
#[cfg(not(unix))]
fn is_removed(_: &tempfile::NamedTempFile) -> io::Result<bool> {
    Ok(false)
}

/// Removes what a process left that was killed while it wrote this file. What another still writes stays, and so does what
/// cannot be locked, of which nobody knows.
pub(crate) fn clear_unfinished(path: &Path) {
    let target = through_links(path);
    let prefix = unfinished_prefix(&target);
    for entry in fs::read_dir(folder_of(&target))
        .into_iter()
        .flatten()
        .flatten()
    {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_file && name.starts_with(&prefix) && name.ends_with(UNFINISHED) {
            // One that stays harms nobody.
            let _ = remove_if_left(&entry.path());
        }
    }
}

fn remove_if_left(path: &Path) -> io::Result<()> {
    // Network file systems lock only what may be written.
    let unfinished = fs::OpenOptions::new().write(true).open(path)?;
    unfinished.try_lock()?;
    fs::remove_file(path)
}

/// Whether a file of this name is what a process left that was killed while it wrote another.
pub fn is_unfinished(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with(BEGUN) && name.ends_with(UNFINISHED)
}

const BEGUN: &str = ".raysieve-";
const UNFINISHED: &str = ".tmp";

/// Short, so that it fits where the target's own name does.
fn unfinished_prefix(target: &Path) -> String {
    let name = target.file_name().unwrap_or_default();
    format!("{BEGUN}{:016x}-", xxh3_64(name.as_encoded_bytes()))
}

/// The file itself where `path` is a symbolic link to it, also if it is yet to be made, so that renaming does not replace
/// the link.
pub(crate) fn through_links(path: &Path) -> PathBuf {
    // As many as Linux follows; a ring of links has no end.
    const MOST_LINKS: u32 = 40;
    let mut target = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&target) {
            Ok(next) => target = folder_of(&target).join(next),
            Err(_) => return target,
        }
    }
    path.to_owned()
}

/// Where a file is, or is to be.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
        None => path,
    }
}
