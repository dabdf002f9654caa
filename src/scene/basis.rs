//! Basis Universal textures in KTX2 files (`KHR_texture_basisu`), by the crate `basisu`.

use basisu::{DecodeFlags, TargetFormat, Transcoder};

use super::memory;

/// How every KTX2 file begins.
pub(super) const MAGIC: &[u8] = b"\xabKTX 20\xbb\r\n\x1a\n";
/// Of a block of 4 by 4 texels before it is decoded, at most.
const BLOCK_BYTES: u64 = 16;

/// A number of the file's header.
fn word<const BYTES: usize>(bytes: &[u8], at: usize) -> Result<u64, String> {
    let word = at.checked_add(BYTES).and_then(|end| bytes.get(at..end));
    let word = word.ok_or("ends within its header; the file is cut off")?;
    Ok(word
        .iter()
        .rev()
        .fold(0, |word, &byte| word << 8 | u64::from(byte)))
}

/// Width and height that a file declares.
pub(super) fn size(bytes: &[u8]) -> Result<(u32, u32), String> {
    Ok((word::<4>(bytes, 20)? as u32, word::<4>(bytes, 24)? as u32))
}

/// The texels of its largest image, of a size that is allowed.
pub(super) fn decode(bytes: &[u8]) -> Result<Vec<[u8; 4]>, String> {
    const NUMBERS: usize = 28;
    const LEVELS: usize = 80;
    const LEVEL_BYTES: usize = 24;
    let (width, height) = size(bytes)?;
    let [depth, layers, faces, levels] = [0, 1, 2, 3].map(|at| word::<4>(bytes, NUMBERS + 4 * at));
    if depth? > 0 || layers? > 1 || faces? > 1 {
        return Err("is a cube or holds several images; expected a single one".to_owned());
    }
    // What the crate makes room for before it looks further.
    let blocks = u64::from(width.div_ceil(4)) * u64::from(height.div_ceil(4));
    for level in 0..levels?.min(32) as usize {
        let unpacked = word::<8>(bytes, LEVELS + LEVEL_BYTES * level + 16)?;
        if unpacked > blocks * BLOCK_BYTES {
            return Err(format!(
                "declares {unpacked} bytes for {width}x{height} texels; save it again by another program"
            ));
        }
    }
    memory::check(blocks * 16 * 8)?;
    let wrong = |error: basisu::Error| {
        format!(
            "is no Basis texture that can be decoded ({error:?}); save it again, as PNG or JPEG if need be"
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
