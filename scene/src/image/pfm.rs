//! Reads PFM images (portable float maps), in which pbrt and Mitsuba store linear light.

use std::io::BufRead;

use super::check_size;
use crate::error::excerpt;

/// Maximum length of a word of the header in bytes.
const MAX_WORD_BYTES: usize = 32;

/// Returns whether these first bytes of a file are those of a PFM image, in color or in grey.
pub(super) fn is_pfm(begin: &[u8]) -> bool {
    matches!(begin, [b'P', b'F' | b'f', next, ..] if next.is_ascii_whitespace())
}

/// Decodes a file of `bytes` bytes, which limit the size that it may declare. Returns width, height and texels in
/// linear sRGB, row by row from the top left. Fails with a one-line message if the file is invalid or too large.
pub(super) fn decode(
    mut reader: impl BufRead,
    bytes: u64,
) -> Result<(u32, u32, Vec<[f32; 4]>), String> {
    let channels = match word(&mut reader)?.as_str() {
        "PF" => 3,
        _ => 1,
    };
    let mut side = || -> Result<u32, String> {
        let word = word(&mut reader)?;
        word.parse().map_err(|_| {
            let word = excerpt(&word);
            format!("found `{word}` in its header, expected its width and height in pixels")
        })
    };
    let (width, height) = (side()?, side()?);
    let scale = word(&mut reader)?;
    // A negative scale stands for little-endian numbers.
    let scale = match scale.parse::<f32>() {
        Ok(scale) if scale.is_normal() => scale,
        _ => {
            let scale = excerpt(&scale);
            return Err(format!(
                "found the scale `{scale}`, expected a number other than 0, such as `-1.0`"
            ));
        }
    };
    check_size(width, height, 16, bytes)?;
    let row_bytes = width as usize * channels * size_of::<f32>();
    if (row_bytes as u64).saturating_mul(u64::from(height)) > bytes {
        return Err(format!(
            "declares {width}x{height} texels, but has only {bytes} bytes; the file is cut off"
        ));
    }
    let mut texels = vec![[0.0; 4]; width as usize * height as usize];
    let mut row = vec![0; row_bytes];
    // The rows of the file begin at the bottom.
    for line in texels.chunks_exact_mut(width as usize).rev() {
        reader
            .read_exact(&mut row)
            .map_err(|error| format!("cannot be read: {error}; the file is cut off"))?;
        let values = row.as_chunks::<4>().0.iter().map(|&number| {
            let value = match scale < 0.0 {
                true => f32::from_le_bytes(number),
                false => f32::from_be_bytes(number),
            };
            value * scale.abs()
        });
        let values: Vec<f32> = values.collect();
        for (texel, color) in line.iter_mut().zip(values.chunks_exact(channels)) {
            *texel = match *color {
                [red, green, blue] => [red, green, blue, 1.0],
                _ => [color[0], color[0], color[0], 1.0],
            };
        }
    }
    Ok((width, height, texels))
}

/// Reads a word of the header and the single whitespace character after it. Fails if the file ends, or the word is
/// longer than [`MAX_WORD_BYTES`].
fn word(reader: &mut impl BufRead) -> Result<String, String> {
    let mut word = Vec::new();
    loop {
        let mut byte = [0];
        reader
            .read_exact(&mut byte)
            .map_err(|_| "ends within its header; the file is cut off".to_owned())?;
        if byte[0].is_ascii_whitespace() {
            break;
        }
        word.push(byte[0]);
        if word.len() > MAX_WORD_BYTES {
            return Err("has a header that is not one of a PFM image; save it again".to_owned());
        }
    }
    Ok(String::from_utf8_lossy(&word).into_owned())
}
