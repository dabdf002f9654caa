//! Reads OpenEXR images of luminance and chroma, of which every second row and column has chroma.
//!
//! The channel Y is luminance, RY is (R − Y) / Y, and BY is (B − Y) / Y. The crate `exr` refuses files with channels of
//! fewer samples, but its functions for compressed blocks work for them. So this module reads the header and the blocks.

use std::io::{BufRead, Read};

use exr::{
    compression::Compression,
    io::Data,
    math::Vec2,
    meta::{
        BlockDescription,
        attribute::{
            ChannelDescription, ChannelList, Chromaticities, IntegerBounds, LineOrder, SampleType,
            Text,
        },
        header::Header,
    },
    prelude::f16,
};
use glam::{DVec3, Vec3};

use super::{check_size, damaged};
use crate::memory;

/// Bits of the version field for tiles, deep data and several parts.
const OTHER_KINDS: u32 = 0x200 | 0x800 | 0x1000;
/// Largest size of a text or a value in the header in bytes.
const MAX_BYTES: u64 = 1 << 20;
/// Largest number of attributes in the header.
const MAX_ATTRIBUTES: u32 = 1 << 12;

/// Kinds of compression for which the functions of `exr` are right if channels have fewer samples.
const READ: [Compression; 6] = [
    Compression::Uncompressed,
    Compression::RLE,
    Compression::ZIP1,
    Compression::ZIP16,
    Compression::PIZ,
    Compression::PXR24,
];

/// The properties of an image that the header of its file contains.
struct Description {
    channels: Vec<ChannelDescription>,
    compression: Compression,
    stored: IntegerBounds,
    shown: IntegerBounds,
    primaries: Option<Chromaticities>,
}

/// An image of luminance and chroma, converted to red, green and blue.
pub(super) struct Colors {
    /// Width and height of the display window in texels.
    pub(super) size: (u32, u32),
    /// Texels with alpha. Those outside the data window are transparent if the image has alpha, and black otherwise.
    pub(super) texels: Vec<[f32; 4]>,
    /// Primaries of the colors; `None` for those of sRGB.
    pub(super) primaries: Option<Chromaticities>,
}

/// Decodes a file of `bytes` bytes, which limit the size that it may declare. `luminances` returns the weights of red,
/// green and blue in Y for the primaries of the file.
///
/// Fails with a one-line message if it is invalid or too large, or has other channels with fewer samples.
pub(super) fn decode(
    mut reader: impl BufRead,
    bytes: u64,
    luminances: impl Fn(Option<&Chromaticities>) -> DVec3,
) -> Result<Colors, String> {
    let described = description(&mut reader).map_err(|error| damaged(&error))?;
    let described = described.ok_or(
        "has channels with fewer samples than pixels, but not Y, RY and BY; save it with red, green and blue",
    )?;
    let Description {
        stored,
        shown,
        compression,
        ..
    } = &described;
    if !READ.contains(compression) {
        return Err(format!(
            "is an image of luminance and chroma with {compression}, which is not read; save it with ZIP"
        ));
    }
    let side = |side: usize| u32::try_from(side).unwrap_or(u32::MAX);
    for size in [stored.size, shown.size] {
        check_size(side(size.0), side(size.1), 16, bytes)?;
    }
    let is_odd = |number: i64| number.rem_euclid(2) != 0;
    let Vec2(x, y) = stored.position;
    let Vec2(width, height) = stored.size;
    if [x.into(), y.into(), width as i64, height as i64]
        .into_iter()
        .any(is_odd)
    {
        return Err(
            "is an image of luminance and chroma with an odd size; save it with red, green and blue".to_owned(),
        );
    }
    let mut planes = Planes::new(&described)?;
    planes
        .read(&mut reader, described.compression)
        .map_err(|error| damaged(&error))?;
    let weights = luminances(described.primaries.as_ref()).as_vec3();
    let nothing = [
        0.0,
        0.0,
        0.0,
        if planes.alpha.is_empty() { 1.0 } else { 0.0 },
    ];
    let mut texels = memory::filled(nothing, shown.size.area())?;
    for (row, line) in texels.chunks_exact_mut(shown.size.0).enumerate() {
        let row = row as i64 + i64::from(shown.position.1) - i64::from(y);
        for (column, texel) in line.iter_mut().enumerate() {
            let column = column as i64 + i64::from(shown.position.0) - i64::from(x);
            if (0..width as i64).contains(&column) && (0..height as i64).contains(&row) {
                *texel = planes.texel(column as usize, row as usize, weights);
            }
        }
    }
    Ok(Colors {
        size: (side(shown.size.0), side(shown.size.1)),
        texels,
        primaries: described.primaries,
    })
}

/// Reads the header. Returns `None` for an image without Y, RY and BY with the usual numbers of samples.
fn description(reader: &mut impl BufRead) -> Result<Option<Description>, String> {
    let cut_off = |error: std::io::Error| format!("{error}; the file is cut off");
    let mut start = [0; 8];
    reader.read_exact(&mut start).map_err(cut_off)?;
    let [.., a, b, c, d] = start;
    if u32::from_le_bytes([a, b, c, d]) & OTHER_KINDS != 0 {
        return Ok(None);
    }
    let word = |reader: &mut dyn BufRead| -> Result<Vec<u8>, String> {
        let mut word = Vec::new();
        let mut limited = reader.take(MAX_BYTES);
        limited.read_until(0, &mut word).map_err(cut_off)?;
        match word.pop() {
            Some(0) => Ok(word),
            _ => Err("the header has no end".to_owned()),
        }
    };
    let (mut channels, mut compression) = (Vec::new(), None);
    let (mut stored, mut shown, mut primaries) = (None, None, None);
    for _ in 0..MAX_ATTRIBUTES {
        let name = word(reader)?;
        if name.is_empty() {
            break;
        }
        word(reader)?;
        let mut size = [0; 4];
        reader.read_exact(&mut size).map_err(cut_off)?;
        let size = u64::from(u32::from_le_bytes(size));
        let mut value = Vec::new();
        let read = reader.take(size).read_to_end(&mut value).map_err(cut_off)?;
        if read as u64 != size || size > MAX_BYTES {
            return Err("an attribute of the header is too long".to_owned());
        }
        let value = &mut value.as_slice();
        let invalid = |error: exr::error::Error| error.to_string();
        match name.as_slice() {
            b"channels" => {
                while value.first().is_some_and(|&byte| byte != 0) {
                    channels.push(ChannelDescription::read(value).map_err(invalid)?);
                }
            }
            b"compression" => compression = Some(Compression::read(value).map_err(invalid)?),
            b"dataWindow" => stored = Some(IntegerBounds::read(value).map_err(invalid)?),
            b"displayWindow" => shown = Some(IntegerBounds::read(value).map_err(invalid)?),
            b"chromaticities" => primaries = Some(Chromaticities::read(value).map_err(invalid)?),
            _ => {}
        }
    }
    let sampling = |name: &str| {
        let channel = channels.iter().find(|channel| channel.name.eq(name))?;
        Some((channel.sampling, channel.sample_type))
    };
    let is_real = |kind: SampleType| kind != SampleType::U32;
    let has = |name: &str, wanted: usize| {
        sampling(name).is_some_and(|(each, kind)| each == Vec2(wanted, wanted) && is_real(kind))
    };
    // The other channels, if there are any, are skipped, which takes the sizes of their samples.
    let are_usual = channels.iter().all(|channel| {
        let is_chroma = ["RY", "BY"].iter().any(|name| channel.name.eq(name));
        channel.sampling == if is_chroma { Vec2(2, 2) } else { Vec2(1, 1) }
    });
    let is_wanted = has("Y", 1) && has("RY", 2) && has("BY", 2) && are_usual;
    let (Some(compression), Some(stored), Some(shown), true) =
        (compression, stored, shown, is_wanted)
    else {
        return Ok(None);
    };
    Ok(Some(Description {
        channels,
        compression,
        stored,
        shown,
        primaries,
    }))
}

/// The channels of the stored region, row by row from the top.
struct Planes {
    stored: IntegerBounds,
    channels: Vec<ChannelDescription>,
    luminance: Vec<f32>,
    /// Red and blue chroma, of every second row and column.
    chroma: [Vec<f32>; 2],
    /// Empty without alpha.
    alpha: Vec<f32>,
}

impl Planes {
    /// Allocates the channels. Fails if memory does not suffice.
    fn new(described: &Description) -> Result<Planes, String> {
        let area = described.stored.size.area();
        let has_alpha = described
            .channels
            .iter()
            .any(|channel| channel.name.eq("A"));
        Ok(Planes {
            stored: described.stored,
            channels: described.channels.clone(),
            luminance: memory::filled(0.0, area)?,
            chroma: [
                memory::filled(0.0, area / 4)?,
                memory::filled(0.0, area / 4)?,
            ],
            alpha: memory::filled(1.0, if has_alpha { area } else { 0 })?,
        })
    }

    /// Reads the blocks of lines, which may be in any order.
    fn read(&mut self, reader: &mut impl BufRead, compression: Compression) -> Result<(), String> {
        let Vec2(width, height) = self.stored.size;
        let lines = compression.scan_lines_per_block();
        let blocks = height.div_ceil(lines);
        let invalid = |error: exr::error::Error| error.to_string();
        let cut_off = |error: std::io::Error| format!("{error}; the file is cut off");
        // The table of the positions of the blocks, which are in the file one after another.
        let table = 8 * blocks as u64;
        let skipped = std::io::copy(&mut reader.take(table), &mut std::io::sink());
        if skipped.map_err(cut_off)? != table {
            return Err("the file is cut off".to_owned());
        }
        for _ in 0..blocks {
            let first = i32::read_le(reader).map_err(invalid)?;
            let row = i64::from(first) - i64::from(self.stored.position.1);
            let row = usize::try_from(row)
                .ok()
                .filter(|row| *row < height && row % lines == 0);
            let row = row.ok_or("a block of lines is outside of the image")?;
            let rows = lines.min(height - row);
            let bytes: usize = (row..row + rows).map(|row| self.line_bytes(row)).sum();
            let size = u32::read_le(reader).map_err(invalid)?;
            let mut packed = Vec::new();
            let read = reader
                .take(size.into())
                .read_to_end(&mut packed)
                .map_err(cut_off)?;
            if read != size as usize || read > bytes {
                return Err("a block of lines has a wrong size".to_owned());
            }
            // The crate takes this number times the area for the size of a block.
            let list = ChannelList {
                list: self.channels.iter().cloned().collect(),
                bytes_per_pixel: bytes / (width * rows),
                uniform_sample_type: None,
            };
            let mut header = Header::new(Text::from("yc"), self.stored.size, list.list.clone());
            header = header.with_encoding(
                compression,
                BlockDescription::ScanLines,
                LineOrder::Unspecified,
            );
            header.channels = list;
            let section = IntegerBounds {
                position: Vec2(self.stored.position.0, first),
                size: Vec2(width, rows),
            };
            let unpacked = compression
                .decompress_image_section_from_le(&header, packed, section, false)
                .map_err(invalid)?;
            let mut values = unpacked.as_slice();
            for row in row..row + rows {
                self.store_line(row, &mut values).map_err(invalid)?;
            }
        }
        Ok(())
    }

    /// Returns the number of bytes of a line of all channels.
    fn line_bytes(&self, row: usize) -> usize {
        let channels = self.channels.iter();
        let here = channels.filter(|channel| row.is_multiple_of(channel.sampling.1));
        let bytes = here.map(|channel| {
            let samples = self.stored.size.0 / channel.sampling.0;
            samples * channel.sample_type.bytes_per_sample()
        });
        bytes.sum()
    }

    /// Stores a line of all channels, in the byte order of the machine.
    fn store_line(&mut self, row: usize, values: &mut &[u8]) -> exr::error::UnitResult {
        let width = self.stored.size.0;
        for channel in &self.channels {
            if !row.is_multiple_of(channel.sampling.1) {
                continue;
            }
            let name = channel.name.to_string();
            let samples = width / channel.sampling.0;
            let first = row / channel.sampling.1 * samples;
            let mut skipped = Vec::new();
            let line = match name.as_str() {
                "Y" => &mut self.luminance[first..first + samples],
                "RY" => &mut self.chroma[0][first..first + samples],
                "BY" => &mut self.chroma[1][first..first + samples],
                "A" => &mut self.alpha[first..first + samples],
                _ => {
                    skipped.resize(samples, 0.0);
                    &mut skipped
                }
            };
            for value in line {
                *value = match channel.sample_type {
                    SampleType::F16 => f16::read_ne(values)?.to_f32(),
                    SampleType::F32 => f32::read_ne(values)?,
                    SampleType::U32 => u32::read_ne(values)? as f32,
                };
            }
        }
        Ok(())
    }

    /// Returns the color of a texel, by the `weights` of red, green and blue in the luminance. Chroma is interpolated
    /// linearly.
    fn texel(&self, column: usize, row: usize, weights: Vec3) -> [f32; 4] {
        let Vec2(width, height) = self.stored.size;
        let at = row * width + column;
        let luminance = self.luminance[at];
        let between = |at: usize, count: usize| (at / 2, at.div_ceil(2).min(count / 2 - 1));
        let (left, right) = between(column, width);
        let (upper, lower) = between(row, height);
        let [red, blue] = [0, 1].map(|channel| {
            let chroma =
                |column: usize, row: usize| self.chroma[channel][row * (width / 2) + column];
            let upper = (chroma(left, upper) + chroma(right, upper)) / 2.0;
            let lower = (chroma(left, lower) + chroma(right, lower)) / 2.0;
            (1.0 + (upper + lower) / 2.0) * luminance
        });
        let green = (luminance - red * weights.x - blue * weights.z) / weights.y;
        let alpha = self.alpha.get(at).copied().unwrap_or(1.0);
        [red, green, blue, alpha]
    }
}
