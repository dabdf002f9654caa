//! Reads OpenEXR images: the first layer with colors, or with luminance. `luminance_chroma` reads those with chroma.

use std::io::{BufRead, Seek};

use exr::{
    math::Vec2,
    meta::{
        MetaData,
        attribute::{Chromaticities, EnvironmentMap},
        header::Header,
    },
    prelude::{ReadChannels, ReadLayers, ReadSpecificChannel, Text, read},
};

use glam::{DMat3, DVec2, DVec3};

use super::{Decoded, check_size, damaged, luminance_chroma};
use crate::{
    color::{SRGB, rgb_to_srgb, rgb_to_xyz},
    error::excerpt,
    memory,
    scene::{Image, Texels},
};

/// The names of the channels that an image is read from.
#[derive(Debug)]
enum Channels {
    /// Names of the red, green and blue channels.
    Colors([Text; 3]),
    /// Name of a single channel, whose values become grey.
    Grey(Text),
}

/// Decodes a file of `bytes` bytes, which limit the size that it may declare. Returns its display window.
///
/// Texels outside the data window are transparent if the image has alpha, and black otherwise. Fails with a one-line
/// message if the file is invalid or too large.
pub(super) fn decode(mut reader: impl BufRead + Seek, bytes: u64) -> Result<Decoded, String> {
    let meta = MetaData::read_from_buffered(&mut reader, false);
    let headers = meta.map_err(|error| damaged(&error.to_string()))?.headers;
    let mut channels_of_all = headers.iter().flat_map(|header| &header.channels.list);
    if channels_of_all.any(|channel| channel.sampling != Vec2(1, 1)) {
        rewind(&mut reader)?;
        return with_luminance(luminance_chroma::decode(reader, bytes, luminances)?);
    }
    let (header, channels) = channels(&headers)?;
    let shown = header.shared_attributes.display_window;
    let side = |side: usize| u32::try_from(side).unwrap_or(u32::MAX);
    let (width, height) = (side(shown.size.0), side(shown.size.1));
    // The decoder allocates the data windows of all layers, not only what is shown.
    check_size(width, height, 16, bytes)?;
    for layer in &headers {
        check_size(
            side(layer.layer_size.0),
            side(layer.layer_size.1),
            16,
            bytes,
        )?;
    }
    rewind(&mut reader)?;
    let to_srgb = match (&channels, &header.shared_attributes.chromaticities) {
        (Channels::Colors(_), Some(primaries)) => chromaticities(primaries)?,
        _ => None,
    };
    let is_cube = header.own_attributes.environment_map == Some(EnvironmentMap::Cube);
    let offset = header.own_attributes.layer_position - shown.position;
    let alpha = alpha_of(&channels);
    let has_alpha = header.channels.find_index_of_channel(&alpha).is_some();
    let nothing = [0.0, 0.0, 0.0, if has_alpha { 0.0 } else { 1.0 }];
    let make = move || vec![nothing; shown.size.area()];
    let put = move |texels: &mut Vec<[f32; 4]>, stored: Vec2<usize>, texel: [f32; 4]| {
        let at = stored.to_i32() + offset;
        let [Ok(x), Ok(y)] = [usize::try_from(at.0), usize::try_from(at.1)] else {
            return;
        };
        if x < shown.size.0 && y < shown.size.1 {
            texels[y * shown.size.0 + x] = texel;
        }
    };
    let reading = read().no_deep_data().largest_resolution_level();
    let texels = match channels {
        Channels::Colors([red, green, blue]) => {
            let of = reading.specific_channels().required(red).required(green);
            let of = of.required(blue).optional(alpha, 1.0);
            let layer = of.collect_pixels(
                move |_, _| make(),
                move |texels, at, (r, g, b, a)| {
                    put(texels, at, [r, g, b, a]);
                },
            );
            let image = layer.first_valid_layer().all_attributes();
            let image = match memory::is_limited() {
                true => image.non_parallel(),
                false => image,
            };
            let image = image.from_buffered(reader);
            image.map(|image| image.layer_data.channel_data.pixels)
        }
        Channels::Grey(grey) => {
            let of = reading.specific_channels().required(grey);
            let of = of.optional(alpha, 1.0);
            let layer = of.collect_pixels(
                move |_, _| make(),
                move |texels, at, (y, a)| {
                    put(texels, at, [y, y, y, a]);
                },
            );
            let image = layer.first_valid_layer().all_attributes();
            let image = match memory::is_limited() {
                true => image.non_parallel(),
                false => image,
            };
            let image = image.from_buffered(reader);
            image.map(|image| image.layer_data.channel_data.pixels)
        }
    };
    let mut texels = texels.map_err(|error| damaged(&error.to_string()))?;
    if let Some(to_srgb) = to_srgb {
        convert(&mut texels, to_srgb);
    }
    Ok(Decoded {
        image: Image {
            width,
            height,
            texels: Texels::Floats(texels),
        },
        is_cube,
    })
}

/// Returns to the start of a file.
fn rewind(reader: &mut impl Seek) -> Result<(), String> {
    let rewound = reader.rewind();
    rewound.map_err(|error| format!("cannot be read: {error}"))
}

/// Converts the colors of an image of luminance and chroma to linear sRGB. Fails if its primaries span no colors.
fn with_luminance(mut colors: luminance_chroma::Colors) -> Result<Decoded, String> {
    let primaries = colors.primaries.as_ref().map(chromaticities).transpose()?;
    if let Some(to_srgb) = primaries.flatten() {
        convert(&mut colors.texels, to_srgb);
    }
    let (width, height) = colors.size;
    Ok(Decoded {
        image: Image {
            width,
            height,
            texels: Texels::Floats(colors.texels),
        },
        is_cube: false,
    })
}

/// Returns the weights of red, green and blue in the luminance of colors with these primaries, or with those of sRGB.
fn luminances(primaries: Option<&Chromaticities>) -> DVec3 {
    let to_xyz = rgb_to_xyz(primaries.map_or(SRGB, points));
    let weights = to_xyz.row(1);
    weights / weights.element_sum()
}

/// Converts the finite texels of an image.
fn convert(texels: &mut [[f32; 4]], to_srgb: DMat3) {
    let is_finite = |texel: &&mut [f32; 4]| texel.iter().all(|value| value.is_finite());
    for texel in texels.iter_mut().filter(is_finite) {
        let [red, green, blue, alpha] = *texel;
        let color = to_srgb * DVec3::new(red.into(), green.into(), blue.into());
        *texel = color.as_vec3().extend(alpha).to_array();
    }
}

/// Returns the chromaticities of red, green, blue and white.
fn points(of: &Chromaticities) -> [DVec2; 4] {
    let point = |Vec2(x, y): Vec2<f32>| DVec2::new(x.into(), y.into());
    [of.red, of.green, of.blue, of.white].map(point)
}

/// Returns the conversion of colors with these primaries and white point to linear sRGB; `None` if they are those of
/// sRGB. Fails if they span no colors.
fn chromaticities(of: &Chromaticities) -> Result<Option<DMat3>, String> {
    let found = points(of);
    let is_srgb = found
        .iter()
        .zip(SRGB)
        .all(|(found, own)| found.distance(own) < 1e-3);
    if is_srgb {
        return Ok(None);
    }
    let [red, green, blue, white] = found;
    let area = (green - red).perp_dot(blue - red).abs();
    let conversion = rgb_to_srgb(found);
    match area > 1e-3 && white.y > 1e-3 && conversion.is_finite() {
        true => Ok(Some(conversion)),
        false => Err(
            "its attribute `chromaticities` spans no colors; correct it, or remove it from the file".to_owned(),
        ),
    }
}

/// Chooses the layer and the channels to read.
///
/// The order of preference is: R, G and B; Y (luminance); R, G and B with a prefix, such as `beauty.R`; a single
/// channel. Deep layers are skipped. Fails if no layer has such channels.
fn channels(headers: &[Header]) -> Result<(&Header, Channels), String> {
    let flat = || headers.iter().filter(|header| !header.deep);
    let has = |header: &Header, name: &Text| header.channels.find_index_of_channel(name).is_some();
    let colors = |prefix: &str| ["R", "G", "B"].map(|name| text(&format!("{prefix}{name}")));
    let all = |header: &Header, prefix: &str| colors(prefix).iter().all(|name| has(header, name));
    if let Some(header) = flat().find(|header| all(header, "")) {
        return Ok((header, Channels::Colors(colors(""))));
    }
    if let Some(header) = flat().find(|header| has(header, &text("Y"))) {
        return Ok((header, Channels::Grey(text("Y"))));
    }
    for header in flat() {
        let names = header.channels.list.iter();
        let mut names = names.map(|channel| channel.name.to_string());
        let prefix = names.find_map(|name| {
            let prefix = name.strip_suffix("B")?;
            all(header, prefix).then(|| prefix.to_owned())
        });
        if let Some(prefix) = prefix {
            return Ok((header, Channels::Colors(colors(&prefix))));
        }
    }
    if let Some(header) = flat().find(|header| header.channels.list.len() == 1) {
        let name = header.channels.list[0].name.clone();
        return Ok((header, Channels::Grey(name)));
    }
    if headers.iter().all(|header| header.deep) {
        return Err("is a deep image, which has several depths per pixel; flatten it".to_owned());
    }
    let names = headers.iter().flat_map(|header| &header.channels.list);
    let names: Vec<String> = names
        .take(4)
        .map(|channel| excerpt(&channel.name.to_string()))
        .collect();
    Err(format!(
        "has no colors: its first channels are {}, expected R, G and B, or Y",
        names.join(", ")
    ))
}

/// Returns the name of the alpha channel in the layer of `channels`; the image need not have that channel.
fn alpha_of(channels: &Channels) -> Text {
    let name = match channels {
        Channels::Colors([red, ..]) => red.to_string(),
        Channels::Grey(grey) => grey.to_string(),
    };
    let prefix = name.rfind('.').map_or("", |dot| &name[..=dot]);
    text(&format!("{prefix}A"))
}

/// Converts a channel name to the type of the crate `exr`; a name that it cannot represent becomes empty.
fn text(name: &str) -> Text {
    Text::new_or_none(name).unwrap_or_default()
}
