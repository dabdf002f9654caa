//! Output files: pictures and statistics.
//!
//! Files are written atomically: to a temporary file in the same folder, which is synced and renamed, and then the
//! folder is synced. A crash, a full disk or a loss of power leaves the previous file intact.

mod crop;

use std::{
    fs,
    io::{self, Write},
    ops::Range,
    path::Path,
};

use serde::{Deserialize, Serialize};

use crate::{
    Error,
    film::picture::{
        Picture,
        tone::{self, Tone},
        transparency::{is_opaque, to_rgba8},
    },
    inspect::{
        aovs::Aovs,
        debug_view::{DebugImage, DebugView},
    },
    render::{
        part::{Packing, Part, SOFTWARE},
        stats::Stats,
    },
    scene::{Scene, SceneFile, atomic_file::write_whole},
};

pub use crop::write_region;

/// The format of a picture file, determined by its extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureFormat {
    /// `.png`: tone-mapped sRGB with 8 bits per channel.
    Png,
    /// `.exr`: linear sRGB as 32-bit floats.
    Exr,
}

impl PictureFormat {
    /// Returns the format for the extension of `path`, ignoring case; `None` if it is neither `png` nor `exr`.
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

/// Display settings for converting a picture to 8-bit sRGB. EXR files store linear light and ignore them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// Exposure in stops; 0 leaves the picture as it is, and each stop doubles the brightness.
    pub exposure_stops: f32,
    /// Tone curve.
    pub tone: Tone,
    /// Whether whoever writes the picture draws the statistics onto it, by an [`Annotate`].
    pub overlay: bool,
    /// Whether to use the denoised picture if there is one.
    pub denoise: bool,
}

/// A function that draws on a picture before it is encoded, such as statistics or the legend of a debug view.
pub type Annotate<'a> = &'a dyn Fn(&mut DisplayImage, &Stats);

/// Writes a film in the format of the path's extension.
///
/// An EXR is a [`part`](crate::render::part) with the requested AOVs. A PNG shows the picture, or the denoised one if
/// `look` asks for it and `aovs` contains it. If `aovs` contains alpha, a PNG without an overlay has an alpha channel,
/// by which its colors are not premultiplied.
///
/// A PNG with an overlay, or of a denoised picture without alpha, is converted as a whole and passed to `annotate`.
/// Other files are written in bands of a few rows, so that no copy of the whole picture is needed.
pub fn write_picture(
    path: &Path,
    part: &Part,
    look: Look,
    aovs: &Aovs,
    annotate: Annotate<'_>,
) -> Result<(), Error> {
    match PictureFormat::of(path) {
        Some(PictureFormat::Png) => match aovs.preview().filter(|_| look.denoise) {
            Some(preview) => {
                let stats = Stats {
                    denoise_ms: Some(preview.milliseconds),
                    ..part.header.stats.clone()
                };
                if look.overlay || aovs.alpha().is_none() {
                    return write_png(path, &preview.picture, &stats, look, annotate);
                }
                let rows = |rows| preview.picture.rows(rows);
                let size = part.header.identity.size;
                write_rows(path, size, rows, aovs.alpha(), &stats, look)
            }
            None if look.overlay => {
                let mut picture = Picture::default();
                picture.fill(part.header.identity.size, |pixel| part.pixel(pixel).into())?;
                write_png(path, &picture, &part.header.stats, look, annotate)
            }
            None => {
                let rows = |rows| part.picture_rows(rows);
                write_rows(
                    path,
                    part.header.identity.size,
                    rows,
                    aovs.alpha(),
                    &part.header.stats,
                    look,
                )
            }
        },
        Some(PictureFormat::Exr) => part.write_with(path, Packing::Small, aovs),
        None => Err(unknown_format(path)),
    }
}

/// Returns the error for a path whose extension names no format of pictures.
fn unknown_format(path: &Path) -> Error {
    Error::File {
        file: path.display().to_string(),
        problem: "unknown file type; expected a name that ends in .png or .exr".to_owned(),
    }
}

/// Writes a picture as a PNG. Text chunks record the program, scene, samples, seed and film hash, and whether the
/// picture is denoised.
pub fn write_png(
    path: &Path,
    picture: &Picture,
    stats: &Stats,
    look: Look,
    annotate: Annotate<'_>,
) -> Result<(), Error> {
    let mut image = DisplayImage {
        size: (picture.width, picture.height),
        rgba: tone::to_srgb8(picture, look.exposure_stops, look.tone),
        debug_view: DebugView::Light,
    };
    annotate(&mut image, stats);
    write_image(path, &image, stats)
}

/// Writes a picture as a PNG by [`encode_rows`], atomically.
fn write_rows(
    path: &Path,
    size: (u32, u32),
    rows: impl Fn(Range<u32>) -> Picture,
    alpha: Option<&[f32]>,
    stats: &Stats,
    look: Look,
) -> Result<(), Error> {
    let compression = png::Compression::default();
    Ok(write_whole(path, |file| {
        encode_rows(file, size, rows, alpha, stats, look, compression)
    })?)
}

/// Encodes a picture as a PNG like [`write_png`], without an overlay.
///
/// `alpha` is the alpha of each pixel, row by row from the top, by which the picture is premultiplied. The PNG then has
/// an alpha channel, and its colors are not premultiplied. With `None`, it has no alpha channel.
///
/// # Errors
/// If `file` cannot be written, or the picture is empty.
pub fn encode_picture(
    file: &mut impl Write,
    picture: &Picture,
    alpha: Option<&[f32]>,
    stats: &Stats,
    look: Look,
    compression: png::Compression,
) -> io::Result<()> {
    let (size, rows) = ((picture.width, picture.height), |rows| picture.rows(rows));
    encode_rows(file, size, rows, alpha, stats, look, compression)
}

/// Encodes a picture as a PNG by [`encode_picture`], with the compression of files.
///
/// # Errors
/// Those of [`encode_picture`].
pub fn encode_picture_as_png(
    file: &mut impl Write,
    picture: &Picture,
    alpha: Option<&[f32]>,
    stats: &Stats,
    look: Look,
) -> io::Result<()> {
    let compression = png::Compression::default();
    encode_picture(file, picture, alpha, stats, look, compression)
}

/// Encodes a picture by [`encode_picture`]. `rows` returns a range of its rows.
fn encode_rows(
    file: &mut impl Write,
    size: (u32, u32),
    rows: impl Fn(Range<u32>) -> Picture,
    alpha: Option<&[f32]>,
    stats: &Stats,
    look: Look,
    compression: png::Compression,
) -> io::Result<()> {
    let band = BAND_PIXELS.checked_div(size.0).unwrap_or(1).max(1);
    let color_type = match alpha {
        Some(_) => png::ColorType::Rgba,
        None => png::ColorType::Rgb,
    };
    let light = DebugView::Light;
    let mut writer = png_writer(file, size, color_type, light, stats, compression)?;
    let mut stream = writer.stream_writer_with_size(PNG_CHUNK_BYTES)?;
    for top in (0..size.1).step_by(band as usize) {
        let end = (top + band).min(size.1);
        let pixels = top as usize * size.0 as usize..end as usize * size.0 as usize;
        let alpha = alpha.map(|alpha| alpha.get(pixels).unwrap_or_default());
        let rgba = to_rgba8(&rows(top..end), alpha, look.exposure_stops, look.tone);
        match alpha {
            Some(_) => stream.write_all(&rgba)?,
            None => stream.write_all(&without_alpha(&rgba))?,
        }
    }
    stream.finish()?;
    Ok(writer.finish()?)
}

/// Number of pixels that are converted and encoded at a time.
const BAND_PIXELS: u32 = 1 << 18;
/// Maximum size in bytes of the chunks in which a PNG that is written in bands stores its compressed pixels.
const PNG_CHUNK_BYTES: usize = 1 << 20;

/// Writes a debug image as a PNG, whatever the extension of `path`. `annotate` draws its legend, and receives `stats`,
/// which the text chunks record too, see [`write_image`].
pub fn write_debug_image(
    path: &Path,
    debug_image: &DebugImage,
    stats: &Stats,
    annotate: Annotate<'_>,
) -> Result<(), Error> {
    let mut image = debug_image.to_image();
    annotate(&mut image, stats);
    write_image(path, &image, stats)
}

impl DebugImage {
    /// Returns a copy of the debug image without its legend.
    pub fn to_image(&self) -> DisplayImage {
        DisplayImage {
            size: self.size,
            rgba: self.rgba.clone(),
            debug_view: self.debug_view,
        }
    }
}

/// An image in 8-bit sRGB, ready to be displayed or written as a PNG.
pub struct DisplayImage {
    /// Width and height in pixels.
    pub size: (u32, u32),
    /// RGBA, rows from the top, not premultiplied by alpha.
    pub rgba: Vec<u8>,
    /// Debug view that the image displays, or [`DebugView::Light`].
    pub debug_view: DebugView,
}

/// Writes an image as a PNG file, atomically. Text chunks record the program, the debug view if the image is one, and
/// the scene, samples, seed and film hash from `stats`.
pub fn write_image(path: &Path, image: &DisplayImage, stats: &Stats) -> Result<(), Error> {
    let compression = png::Compression::default();
    Ok(write_whole(path, |file| {
        encode_png(file, image, stats, compression)
    })?)
}

/// Writes the statistics as pretty-printed JSON, atomically.
pub fn write_stats(path: &Path, stats: &Stats) -> Result<(), Error> {
    write_json(path, stats)
}

/// Writes a value as pretty-printed JSON, atomically.
pub fn write_json(path: &Path, what: &impl Serialize) -> Result<(), Error> {
    write_whole(path, |file| {
        serde_json::to_writer_pretty(&mut *file, what)?;
        file.write_all(b"\n")
    })?;
    Ok(())
}

/// Checks before a render that its output path does not name a file that the scene was read from.
pub fn check_apart(path: &Path, scene: &Scene) -> Result<(), Error> {
    // A file that does not exist yet cannot be part of the scene.
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
            "is part of the scene {} and would be overwritten; name another output file",
            scene.path.display()
        ),
    })
}

/// Encodes an image as a PNG, which has an alpha channel unless all pixels are opaque. Text chunks record the program,
/// the debug view if the image is one, and the scene, samples, seed and film hash from `stats`.
pub fn encode_png(
    file: &mut impl Write,
    image: &DisplayImage,
    stats: &Stats,
    compression: png::Compression,
) -> io::Result<()> {
    let (color_type, data) = match is_opaque(&image.rgba) {
        true => (png::ColorType::Rgb, &without_alpha(&image.rgba)),
        false => (png::ColorType::Rgba, &image.rgba),
    };
    let (size, debug_view) = (image.size, image.debug_view);
    let mut writer = png_writer(file, size, color_type, debug_view, stats, compression)?;
    writer.write_image_data(data)?;
    writer.finish()?;
    Ok(())
}

/// Returns the colors of pixels in RGBA as RGB.
fn without_alpha(rgba: &[u8]) -> Vec<u8> {
    let (pixels, _) = rgba.as_chunks::<4>();
    let rgb = pixels
        .iter()
        .flat_map(|&[red, green, blue, _]| [red, green, blue]);
    rgb.collect()
}

/// Writes the start of a PNG with text chunks, and returns the writer of its pixels.
fn png_writer<W: Write>(
    file: W,
    (width, height): (u32, u32),
    color_type: png::ColorType,
    debug_view: DebugView,
    stats: &Stats,
    compression: png::Compression,
) -> io::Result<png::Writer<W>> {
    let mut encoder = png::Encoder::new(file, width, height);
    encoder.set_compression(compression);
    encoder.set_color(color_type);
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
    let is_light = debug_view == DebugView::Light;
    let view = (!is_light).then(|| ("view", debug_view.name().to_owned()));
    let preview = ("preview", "denoised".to_owned());
    let preview = stats.denoise_ms.filter(|_| is_light).map(|_| preview);
    for (name, text) in texts.into_iter().chain(view).chain(preview) {
        encoder.add_itxt_chunk(name.to_owned(), text)?;
    }
    Ok(encoder.write_header()?)
}
