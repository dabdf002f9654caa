//! Images of a region of a film.

use std::{io, path::Path};

use exr::{
    image::{AnyChannel, AnyChannels, Encoding, FlatSamples, Image, Layer},
    math::Vec2,
    meta::{
        attribute::{AttributeValue, IntegerBounds, Text},
        header::LayerAttributes,
    },
};

use super::{Look, PictureFormat, unknown_format, write_rows};
use crate::{
    Error,
    film::picture::Picture,
    inspect::aovs::{Aov, Aovs},
    render::{
        part::{Part, SOFTWARE},
        region::Region,
    },
    scene::{atomic_file::write_whole, memory},
};

/// Writes a region of a film in the format of the path's extension. Its pixels equal those of the whole image.
///
/// A PNG has the size of the region, and an alpha channel if `aovs` contains alpha. An EXR has the region as data
/// window in the display window of the whole image, with the requested AOVs. It contains no film and is not a part.
///
/// # Errors
/// [`Error::Scene`] if the file cannot be written, [`Error::File`] for another extension.
pub fn write_region(
    path: &Path,
    part: &Part,
    region: Region,
    look: Look,
    aovs: &Aovs,
) -> Result<(), Error> {
    match PictureFormat::of(path) {
        Some(PictureFormat::Png) => write_png(path, part, region, look, aovs),
        Some(PictureFormat::Exr) => write_exr(path, part, region, aovs),
        None => Err(unknown_format(path)),
    }
}

fn write_png(
    path: &Path,
    part: &Part,
    region: Region,
    look: Look,
    aovs: &Aovs,
) -> Result<(), Error> {
    let width = part.header.identity.size.0;
    let rows = |rows: std::ops::Range<u32>| {
        let band = Region {
            y: region.y + rows.start,
            height: rows.end - rows.start,
            ..region
        };
        let pixels = band.pixels(width).map(|pixel| part.pixel(pixel).into());
        Picture {
            width: region.width,
            height: band.height,
            pixels: pixels.collect(),
        }
    };
    let alpha: Option<Vec<f32>> = aovs.alpha().map(|alpha| {
        let pixels = region.pixels(width);
        pixels.map(|pixel| alpha[pixel as usize]).collect()
    });
    let size = (region.width, region.height);
    write_rows(path, size, rows, alpha.as_deref(), &part.header.stats, look)
}

fn write_exr(path: &Path, part: &Part, region: Region, aovs: &Aovs) -> Result<(), Error> {
    let (width, height) = part.header.identity.size;
    let pixels = region.pixels(width);
    let channel = |name: &str, value: &dyn Fn(u32) -> f32| {
        let values = pixels.clone().map(value).collect();
        AnyChannel::new(text(name), FlatSamples::F32(values))
    };
    let colors = ["R", "G", "B"].into_iter().enumerate();
    let mut channels: Vec<AnyChannel<FlatSamples>> = colors
        .map(|(number, name)| channel(name, &|pixel| part.pixel(pixel)[number]))
        .collect();
    for &aov in &aovs.requested {
        for (number, name) in aov.channels().iter().enumerate() {
            channels.push(channel(name, &|pixel| match aov {
                Aov::Samples => part.samples_of(pixel) as f32,
                _ => aovs.value(aov, number, pixel),
            }));
        }
    }
    let stats = &part.header.stats;
    let texts = [
        ("scene", stats.scene.clone()),
        ("samples", stats.spp.to_string()),
        ("seed", stats.seed.to_string()),
        ("crop", region.to_string()),
    ];
    let texts = texts.map(|(name, value)| (text(name), AttributeValue::Text(text(&value))));
    let attributes = LayerAttributes {
        software_name: Some(text(SOFTWARE)),
        layer_position: Vec2(region.x as i32, region.y as i32),
        other: texts.into_iter().collect(),
        ..LayerAttributes::default()
    };
    let mut image = Image::from_layer(Layer::new(
        (region.width as usize, region.height as usize),
        attributes,
        Encoding::SMALL_LOSSLESS,
        AnyChannels::sort(channels.into()),
    ));
    image.attributes.display_window =
        IntegerBounds::from_dimensions((width as usize, height as usize));
    Ok(write_whole(path, |file| {
        use exr::image::write::WritableImage;
        let writer = match memory::is_limited() {
            true => image.write().non_parallel(),
            false => image.write(),
        };
        writer.to_buffered(file).map_err(io::Error::other)
    })?)
}

fn text(text: &str) -> Text {
    Text::from_slice_unchecked(text.as_bytes())
}
