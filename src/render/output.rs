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

/// Writes a film in the format of the path's extension, in bands of a few rows, so that no copy of the whole picture is
/// needed. A PNG with an overlay is drawn as a whole, and only then is `annotate` called. A PNG shows the picture, or
/// the denoised one if `look` asks for it and `aovs` contains it. If `aovs` contains alpha, a PNG without an overlay
/// has an alpha channel, by which its colors are not premultiplied. An EXR is a [`part`](crate::render::part) with the
/// requested AOVs.
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

/// Writes a picture as a PNG like [`write_png`], without an overlay. `rows` returns a range of its rows, premultiplied
/// by `alpha` if that is given.
fn write_rows(
    path: &Path,
    size: (u32, u32),
    rows: impl Fn(Range<u32>) -> Picture,
    alpha: Option<&[f32]>,
    stats: &Stats,
    look: Look,
) -> Result<(), Error> {
    let compression = png::Compression::default();
    let band = (BAND_PIXELS / size.0).max(1);
    Ok(write_whole(path, |file| {
        let color_type = match alpha {
            Some(_) => png::ColorType::Rgba,
            None => png::ColorType::Rgb,
        };
        let light = DebugView::Light;
        let mut writer = png_writer(file, size, color_type, light, stats, compression)?;
        let mut stream = writer.stream_writer_with_size(PNG_CHUNK_BYTES)?;
        for top in (0..size.1).step_by(band as usize) {
            let end = (top + band).min(size.1);
            let mut rows = rows(top..end);
            let alpha = alpha.map(|alpha| {
                let pixels = top as usize * size.0 as usize..end as usize * size.0 as usize;
                &alpha[pixels]
            });
            rows.divide(alpha.unwrap_or_default());
            let mut rgba = tone::to_srgb8(&rows, look.exposure_stops, look.tone);
            match alpha {
                Some(alpha) => {
                    set_alpha(&mut rgba, alpha);
                    stream.write_all(&rgba)?;
                }
                None => stream.write_all(&without_alpha(&rgba))?,
            }
        }
        stream.finish()?;
        Ok(writer.finish()?)
    })?)
}

/// Number of pixels that are converted and encoded at a time.
const BAND_PIXELS: u32 = 1 << 18;
/// Maximum size in bytes of the chunks in which a PNG that is written in bands stores its compressed pixels.
const PNG_CHUNK_BYTES: usize = 1 << 20;

/// Writes a debug image as a PNG. Its legend is left to `annotate`.
pub fn write_debug_image(
    path: &Path,
    debug_image: &DebugImage,
    stats: &Stats,
    annotate: Annotate<'_>,
) -> Result<(), Error> {
    let mut image = DisplayImage {
        size: debug_image.size,
        rgba: debug_image.rgba.clone(),
        debug_view: debug_image.debug_view,
    };
    annotate(&mut image, stats);
    write_image(path, &image, stats)
}

/// An image in 8-bit sRGB, ready to be displayed or written as a PNG.
pub struct DisplayImage {
    /// Width and height in pixels.
    pub size: (u32, u32),
    /// Opaque RGBA, rows from the top.
    pub rgba: Vec<u8>,
    /// Debug view that the image displays, or [`DebugView::Light`].
    pub debug_view: DebugView,
}

/// Writes an image as a PNG file, atomically. Text chunks record the scene, samples, seed and film hash from `stats`.
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

/// Encodes an image as a PNG. Text chunks record the scene, samples, seed and film hash from `stats`.
pub fn encode_png(
    file: &mut impl Write,
    image: &DisplayImage,
    stats: &Stats,
    compression: png::Compression,
) -> io::Result<()> {
    let (size, color_type) = (image.size, png::ColorType::Rgb);
    let mut writer = png_writer(file, size, color_type, image.debug_view, stats, compression)?;
    writer.write_image_data(&without_alpha(&image.rgba))?;
    writer.finish()?;
    Ok(())
}

/// Returns the colours of pixels in RGBA as RGB.
fn without_alpha(rgba: &[u8]) -> Vec<u8> {
    let (pixels, _) = rgba.as_chunks::<4>();
    let rgb = pixels
        .iter()
        .flat_map(|&[red, green, blue, _]| [red, green, blue]);
    rgb.collect()
}

/// Sets the alpha of pixels in RGBA, linear in 8 bits. Pixels of alpha 0 become black.
fn set_alpha(rgba: &mut [u8], alpha: &[f32]) {
    let (pixels, _) = rgba.as_chunks_mut::<4>();
    for (pixel, &alpha) in pixels.iter_mut().zip(alpha) {
        pixel[3] = (alpha * 255.0).round() as u8;
        if pixel[3] == 0 {
            *pixel = [0; 4];
        }
    }
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
