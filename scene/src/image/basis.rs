//! Decodes Basis Universal textures in KTX2 files (`KHR_texture_basisu`) with the crate `basisu`.
//!
//! The header is checked first, so that a damaged file cannot make the decoder allocate too much memory.

use basisu::{DecodeFlags, TargetFormat, Transcoder};

use crate::memory;

/// The 12-byte identifier at the start of every KTX2 file.
pub(crate) const MAGIC: &[u8] = b"\xabKTX 20\xbb\r\n\x1a\n";
/// Largest encoded size of a block of 4 by 4 texels, in bytes.
const BLOCK_BYTES: u64 = 16;

/// Reads a little-endian number of `BYTES` bytes (at most 8) at byte offset `at`.
///
/// # Errors
/// A one-line message if the file ends before the number does.
fn word<const BYTES: usize>(bytes: &[u8], at: usize) -> Result<u64, String> {
    let word = at.checked_add(BYTES).and_then(|end| bytes.get(at..end));
    let word = word.ok_or("ends within its header; the file is truncated")?;
    Ok(word
        .iter()
        .rev()
        .fold(0, |word, &byte| word << 8 | u64::from(byte)))
}

/// Returns the width and height in texels that the header of a KTX2 file declares, not yet checked. Fails if the file
/// is too short.
pub(crate) fn size(bytes: &[u8]) -> Result<(u32, u32), String> {
    Ok((word::<4>(bytes, 20)? as u32, word::<4>(bytes, 24)? as u32))
}

/// Decodes mip level 0 of a single 2D image to RGBA texels, row by row from the top. The values are returned as stored;
/// the texture defines their encoding.
///
/// The caller has checked the declared size against the limits.
///
/// # Errors
/// A one-line message without the file's name.
pub(crate) fn decode(bytes: &[u8]) -> Result<Vec<[u8; 4]>, String> {
    const COUNTS: usize = 28;
    const LEVELS: usize = 80;
    const LEVEL_BYTES: usize = 24;
    let (width, height) = size(bytes)?;
    let [depth, layers, faces, levels] = [0, 1, 2, 3].map(|at| word::<4>(bytes, COUNTS + 4 * at));
    if depth? > 0 || layers? > 1 || faces? > 1 {
        return Err(
            "is a cube map, a volume or an array of images; expected a single 2D image".to_owned(),
        );
    }
    // `basisu` allocates the declared sizes before it reads the data.
    let blocks = u64::from(width.div_ceil(4)) * u64::from(height.div_ceil(4));
    for level in 0..levels?.min(32) as usize {
        let unpacked = word::<8>(bytes, LEVELS + LEVEL_BYTES * level + 16)?;
        if unpacked > blocks * BLOCK_BYTES {
            return Err(format!(
                "declares {unpacked} bytes for {width}x{height} texels, which is too many; save it again with another program"
            ));
        }
    }
    memory::check(blocks * 16 * 8)?;
    let wrong = |error: basisu::Error| {
        format!(
            "cannot be decoded as a Basis texture ({error:?}); save it again, for example as PNG or JPEG"
        )
    };
    let texture = Transcoder::new(bytes).map_err(wrong)?;
    let texels = texture
        .transcode(0, TargetFormat::Rgba32, DecodeFlags::NONE)
        .map_err(wrong)?;
    let texels = texels.as_chunks::<4>().0.to_vec();
    if texels.len() as u64 == u64::from(width) * u64::from(height) {
        Ok(texels)
    } else {
        Err(wrong(basisu::Error::InvalidData))
    }
}
