//! The files that a render leaves: pictures and statistics.
//!
//! A file is written whole or not at all: under a temporary name beside its place, synced, then renamed. A crash, a
//! full disk or a kill leaves what was there before.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf, is_separator},
};

use exr::{
    image::{Encoding, Image, Layer, SpecificChannels, write::WritableImage},
    math::Vec2,
    meta::{
        attribute::{AttributeValue, Text},
        header::LayerAttributes,
    },
};

use crate::{Error, picture::Picture, stats::Stats, tone, window::overlay};

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

/// How linear light becomes the eight bits of a PNG. An EXR is as the film is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Look {
    /// Brightness doubles with every stop.
    pub exposure_stops: f32,
    /// Draws the statistics on the picture.
    pub overlay: bool,
}

/// Writes `picture` in the format of the path's ending, with where it came from: program, scene, samples, seed and
/// film hash, as text chunks of a PNG or attributes of an EXR.
pub fn write_picture(
    path: &Path,
    picture: &Picture,
    stats: &Stats,
    look: Look,
) -> Result<(), Error> {
    let format = PictureFormat::of(path).ok_or_else(|| {
        refused(
            path,
            "the ending says neither .png nor .exr; name one of them",
        )
    })?;
    let bytes = match format {
        PictureFormat::Png => png_bytes(picture, stats, look),
        PictureFormat::Exr => exr_bytes(picture, stats),
    };
    bytes
        .and_then(|bytes| write_whole(path, &bytes))
        .map_err(|error| not_written(path, &error))
}

/// Writes the statistics as JSON.
pub fn write_stats(path: &Path, stats: &Stats) -> Result<(), Error> {
    serde_json::to_vec_pretty(stats)
        .map_err(io::Error::from)
        .and_then(|mut json| {
            json.push(b'\n');
            write_whole(path, &json)
        })
        .map_err(|error| not_written(path, &error))
}

/// Finds before the render what would keep its file from being written after it: a folder that is missing or sealed, a
/// name that is a folder or too long, a file that may not be written.
pub fn check_place(path: &Path) -> Result<(), Error> {
    check_folder(folder_of(path))
        .and_then(|()| check_file(path))
        .and_then(|()| check_beside(&through_links(path)))
        .map_err(|problem| refused(path, &problem))
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
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            "free some space or name another place"
        }
        _ => "name another place",
    };
    Error::Write {
        path: path.to_owned(),
        problem: format!("not written: {error}; {remedy}"),
    }
}

/// Where a picture came from, as name and text.
fn provenance(stats: &Stats) -> [(&'static str, String); 4] {
    [
        ("scene", stats.scene.clone()),
        ("samples", stats.spp.to_string()),
        ("seed", stats.seed.to_string()),
        ("film_hash", stats.film_hash.clone()),
    ]
}

const SOFTWARE: &str = concat!("raysieve ", env!("CARGO_PKG_VERSION"));

fn png_bytes(picture: &Picture, stats: &Stats, look: Look) -> io::Result<Vec<u8>> {
    let mut rgba = tone::to_srgb8(picture, look.exposure_stops);
    if look.overlay {
        overlay::draw(&mut rgba, picture.width, picture.height, stats);
    }
    let rgb: Vec<u8> = rgba
        .chunks_exact(4)
        .flat_map(|pixel| [pixel[0], pixel[1], pixel[2]])
        .collect();

    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, picture.width, picture.height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
    encoder.add_itxt_chunk("Software".to_owned(), SOFTWARE.to_owned())?;
    for (name, text) in provenance(stats) {
        encoder.add_itxt_chunk(name.to_owned(), text)?;
    }
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&rgb)?;
    writer.finish()?;
    Ok(bytes)
}

fn exr_bytes(picture: &Picture, stats: &Stats) -> io::Result<Vec<u8>> {
    let width = picture.width as usize;
    let channels = SpecificChannels::rgb(|position: Vec2<usize>| {
        let pixel = picture.pixels[position.y() * width + position.x()];
        (pixel.x, pixel.y, pixel.z)
    });
    let text = |text: &str| Text::from_slice_unchecked(text.as_bytes());
    let attributes = LayerAttributes {
        software_name: Some(text(SOFTWARE)),
        other: provenance(stats)
            .map(|(name, value)| (text(name), AttributeValue::Text(text(&value))))
            .into(),
        ..LayerAttributes::default()
    };
    let size = (width, picture.height as usize);
    let image = Image::from_layer(Layer::new(
        size,
        attributes,
        Encoding::SMALL_LOSSLESS,
        channels,
    ));

    let mut bytes = io::Cursor::new(Vec::new());
    image
        .write()
        .to_buffered(&mut bytes)
        .map_err(io::Error::other)?;
    Ok(bytes.into_inner())
}

fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let target = through_links(path);
    let mut unfinished = unfinished_beside(&target)?;
    unfinished.write_all(bytes)?;
    if let Ok(old) = fs::metadata(&target) {
        unfinished.as_file().set_permissions(old.permissions())?;
    }
    // Else a loss of power could leave the new name with no content.
    unfinished.as_file().sync_all()?;
    unfinished.persist(&target)?;
    Ok(())
}

/// A new file in the target's folder, which vanishes unless it is renamed.
fn unfinished_beside(target: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".raysieve-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As any new file: the umask takes away what the user wants taken away.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder_of(target))
}

/// The file itself where `path` is a symbolic link to it, so that renaming does not replace the link.
fn through_links(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
        None => path,
    }
}
