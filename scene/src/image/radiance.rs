//! Reads Radiance HDR images in all eight scanline orders, with RGB or CIE XYZ primaries.
//!
//! The crate `image` decodes the scanlines. It supports only `-Y +X` and RGB, so this module gives it such a header,
//! and applies the orientation and the primaries of the file afterwards.

use std::io::{BufRead, Cursor, Read};

use glam::{DVec3, Vec3};
use image::{DynamicImage, codecs::hdr::HdrDecoder};

use super::{check_size, damaged};
use crate::{color::xyz_to_rgb, error::excerpt};

/// The first bytes of every Radiance file. The name of a program follows, which is not checked.
pub(super) const MAGIC: &[u8] = b"#?";
/// Maximum length of a file's header in bytes.
const MAX_HEADER_BYTES: u64 = 1 << 20;

/// The header of a file: size, primaries and orientation.
struct Header {
    /// Whether texels are CIE XYZ instead of RGB.
    xyz: bool,
    /// Width in texels.
    width: u32,
    /// Height in texels.
    height: u32,
    /// Whether each scanline of the file is a column of the image; otherwise it is a row.
    by_columns: bool,
    /// Whether the file begins with the bottom row; otherwise it begins with the top one.
    from_bottom: bool,
    /// Whether the file begins with the rightmost column; otherwise it begins with the leftmost one.
    from_right: bool,
}

/// Decodes a file of `bytes` bytes, which limit the size that it may declare. Returns width, height and texels in
/// linear sRGB, row by row from the top left. Fails with a one-line message if the file is invalid or too large.
pub(super) fn decode(
    mut reader: impl BufRead,
    bytes: u64,
) -> Result<(u32, u32, Vec<[f32; 4]>), String> {
    let header = read_header(&mut reader)?;
    let Header { width, height, .. } = header;
    check_size(width, height, 16, bytes)?;
    let (stretches, each) = match header.by_columns {
        true => (width, height),
        false => (height, width),
    };
    let plain = format!("#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y {stretches} +X {each}\n");
    let decoded = HdrDecoder::new(Cursor::new(plain).chain(reader))
        .and_then(DynamicImage::from_decoder)
        .map_err(|error| damaged(&error.to_string()))?;
    let decoded = decoded.into_rgb32f().into_raw();
    let mut texels = vec![[0.0; 4]; decoded.len() / 3];
    for (number, color) in decoded.as_chunks::<3>().0.iter().enumerate() {
        let (stretch, along) = (number as u32 / each, number as u32 % each);
        let (mut x, mut y) = match header.by_columns {
            true => (stretch, along),
            false => (along, stretch),
        };
        if header.from_right {
            x = width - 1 - x;
        }
        if header.from_bottom {
            y = height - 1 - y;
        }
        let color = Vec3::from_array(*color);
        let color = match header.xyz {
            true => xyz_to_rgb(DVec3::from(color)).as_vec3(),
            false => color,
        };
        texels[y as usize * width as usize + x as usize] = color.extend(1.0).to_array();
    }
    Ok((width, height, texels))
}

/// Reads and parses the header, up to and including the line with size and orientation. Fails if it is malformed or
/// longer than 1 MiB.
fn read_header(reader: &mut impl BufRead) -> Result<Header, String> {
    let mut reader = reader.take(MAX_HEADER_BYTES);
    let mut line = Vec::new();
    let mut next = || -> Result<String, String> {
        line.clear();
        let read = reader.read_until(b'\n', &mut line);
        match read.map_err(|error| format!("cannot be read: {error}"))? {
            0 => Err("ends within its header; save it again with another program".to_owned()),
            _ => Ok(String::from_utf8_lossy(&line).trim().to_owned()),
        }
    };
    let mut xyz = false;
    loop {
        let line = next()?;
        if line.is_empty() {
            break;
        }
        let Some(format) = line.strip_prefix("FORMAT=") else {
            continue;
        };
        xyz = match format.trim() {
            "32-bit_rle_rgbe" => false,
            "32-bit_rle_xyze" => true,
            other => {
                return Err(format!(
                    "is of the format `{}`, expected 32-bit_rle_rgbe or 32-bit_rle_xyze",
                    excerpt(other)
                ));
            }
        };
    }
    let line = next()?;
    let wrong = || {
        format!(
            "found `{}`, expected its size, such as `-Y 512 +X 1024`",
            excerpt(&line)
        )
    };
    let words: Vec<&str> = line.split_whitespace().collect();
    let &[outer, stretches, inner, each] = &words[..] else {
        return Err(wrong());
    };
    let number = |word: &str| word.parse::<u32>().map_err(|_| wrong());
    let (stretches, each) = (number(stretches)?, number(each)?);
    // `+Y` begins at the bottom, `-X` at the right.
    let of = |y: &str, x: &str| (y == "+Y", x == "-X");
    let (by_columns, width, height) = match (outer, inner) {
        ("-Y" | "+Y", "+X" | "-X") => (false, each, stretches),
        ("+X" | "-X", "-Y" | "+Y") => (true, stretches, each),
        _ => return Err(wrong()),
    };
    let (from_bottom, from_right) = match by_columns {
        true => of(inner, outer),
        false => of(outer, inner),
    };
    Ok(Header {
        xyz,
        width,
        height,
        by_columns,
        from_bottom,
        from_right,
    })
}
