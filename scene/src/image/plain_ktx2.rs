//! Decodes KTX2 files that hold plain or block-compressed texels of a Vulkan format, instead of Basis Universal.
//!
//! The crate `ktx2` reads the container, `ruzstd` and `flate2` decompress it, and `bcdec_rs` decodes BC1 to BC7.

use std::io::Read;

use exr::prelude::f16;
use ktx2::{Header, Reader, SupercompressionScheme};

use crate::{memory, memory::vec_with_capacity, scene::Texels};

/// Byte offset of the Vulkan format in a KTX2 file. The format is 0 for Basis Universal.
const FORMAT: usize = 12;
/// Memory in bytes that decompression may need besides its input and output.
const WINDOW_BYTES: u64 = 1 << 27;

/// Returns whether a KTX2 file names a Vulkan format, so that it does not hold a Basis Universal image. The caller has
/// checked that it is a KTX2 file.
pub(super) fn is_plain(bytes: &[u8]) -> bool {
    let format = bytes.get(FORMAT..FORMAT + 4);
    format.is_some_and(|format| format != [0; 4])
}

/// The way in which texels are stored.
#[derive(Clone, Copy)]
enum Layout {
    /// Numbers of this type, one per channel, in 1 to 4 channels per texel.
    Numbers(Number, usize),
    /// Bytes in the order blue, green, red and alpha. There are 4 channels, or 3 without alpha.
    Reversed(usize),
    /// Blocks of 4 by 4 texels.
    Blocks(Block),
}

/// The type of a channel.
#[derive(Clone, Copy)]
enum Number {
    U8,
    U16,
    F16,
    F32,
}

/// A block-compressed format.
#[derive(Clone, Copy)]
enum Block {
    /// BC1; its alpha counts only if this is `true`.
    Bc1(bool),
    Bc2,
    Bc3,
    Bc4,
    Bc5,
    /// BC6H, whose half floats have a sign if this is `true`.
    Bc6(bool),
    Bc7,
}

impl Layout {
    /// Returns the layout of a `VkFormat`, or `None` if it is not supported. Formats that differ only in their transfer
    /// function have one layout, because the texture defines the encoding.
    fn of(format: u32) -> Option<Layout> {
        use Layout::{Blocks, Numbers, Reversed};
        Some(match format {
            9 | 15 => Numbers(Number::U8, 1),
            16 | 22 => Numbers(Number::U8, 2),
            23 | 29 => Numbers(Number::U8, 3),
            30 | 36 => Reversed(3),
            37 | 43 => Numbers(Number::U8, 4),
            44 | 50 => Reversed(4),
            70 => Numbers(Number::U16, 1),
            77 => Numbers(Number::U16, 2),
            84 => Numbers(Number::U16, 3),
            91 => Numbers(Number::U16, 4),
            76 => Numbers(Number::F16, 1),
            83 => Numbers(Number::F16, 2),
            90 => Numbers(Number::F16, 3),
            97 => Numbers(Number::F16, 4),
            100 => Numbers(Number::F32, 1),
            103 => Numbers(Number::F32, 2),
            106 => Numbers(Number::F32, 3),
            109 => Numbers(Number::F32, 4),
            131 | 132 => Blocks(Block::Bc1(false)),
            133 | 134 => Blocks(Block::Bc1(true)),
            135 | 136 => Blocks(Block::Bc2),
            137 | 138 => Blocks(Block::Bc3),
            139 => Blocks(Block::Bc4),
            141 => Blocks(Block::Bc5),
            143 => Blocks(Block::Bc6(false)),
            144 => Blocks(Block::Bc6(true)),
            145 | 146 => Blocks(Block::Bc7),
            _ => return None,
        })
    }

    /// Returns the number of bytes of an image of `width` by `height` texels.
    fn bytes(self, width: u32, height: u32) -> u64 {
        let texels = u64::from(width) * u64::from(height);
        let blocks = u64::from(width.div_ceil(4)) * u64::from(height.div_ceil(4));
        match self {
            Layout::Numbers(number, channels) => texels * (number.bytes() * channels) as u64,
            Layout::Reversed(channels) => texels * channels as u64,
            Layout::Blocks(block) => blocks * block.bytes() as u64,
        }
    }
}

impl Number {
    /// Returns the size of a number in bytes.
    fn bytes(self) -> usize {
        match self {
            Number::U8 => 1,
            Number::U16 | Number::F16 => 2,
            Number::F32 => 4,
        }
    }
}

impl Block {
    /// Returns the size of a block in bytes.
    fn bytes(self) -> usize {
        match self {
            Block::Bc1(_) | Block::Bc4 => 8,
            Block::Bc2 | Block::Bc3 | Block::Bc5 | Block::Bc6(_) | Block::Bc7 => 16,
        }
    }
}

/// Returns the name of a Vulkan format for a message.
fn format_name(format: u32) -> String {
    match format {
        147..=156 => "ETC2".to_owned(),
        157..=184 => "ASTC".to_owned(),
        _ => format!("number {format} of Vulkan"),
    }
}

/// Decodes mip level 0 of a single 2D image to RGBA, row by row from the top. The values are returned as stored; the
/// texture defines their encoding. The caller has checked the declared size against the limits.
///
/// One channel becomes grey, and a missing alpha 1. Two channels become a normal map: the blue is that of the unit
/// vector with this red and green. With floating-point channels it is 0.
///
/// # Errors
/// A one-line message without the file's name, if the file is damaged, its format is not supported, memory does not
/// suffice, or a number is not finite.
pub(super) fn decode(bytes: &[u8]) -> Result<Texels, String> {
    let damaged = |what: &str| {
        format!("cannot be decoded as KTX2: {what}; save it again with another program")
    };
    let reader = Reader::new(bytes).map_err(|error| damaged(&format!("{error:?}")))?;
    let Header {
        format,
        pixel_width: width,
        pixel_height: height,
        pixel_depth,
        layer_count,
        face_count,
        supercompression_scheme: scheme,
        ..
    } = reader.header();
    if pixel_depth > 0 || layer_count > 1 || face_count > 1 {
        return Err(
            "is a cube map, a volume or an array of images; expected a single 2D image".to_owned(),
        );
    }
    let format = format.map_or(0, |format| format.value());
    let layout = Layout::of(format).ok_or_else(|| {
        format!(
            "is a KTX2 image of the format {}, which is not supported; save it with RGBA8, BC7 or Basis Universal",
            format_name(format)
        )
    })?;
    let level = reader
        .levels()
        .next()
        .ok_or_else(|| damaged("it has no level"))?;
    let size = layout.bytes(width, height);
    memory::check(size + WINDOW_BYTES)?;
    let mut stored = vec_with_capacity(size as usize)?;
    let read = match scheme {
        None => level.data.take(size).read_to_end(&mut stored),
        Some(SupercompressionScheme::Zstandard) => ruzstd::StreamingDecoder::new(level.data)
            .map_err(std::io::Error::other)
            .and_then(|decoder| decoder.take(size).read_to_end(&mut stored)),
        Some(SupercompressionScheme::ZLIB) => flate2::read::ZlibDecoder::new(level.data)
            .take(size)
            .read_to_end(&mut stored),
        Some(scheme) => {
            return Err(damaged(&format!(
                "its supercompression {scheme:?} is unknown"
            )));
        }
    };
    read.map_err(|error| damaged(&crate::error::excerpt(&error.to_string())))?;
    if (stored.len() as u64) < size {
        let found = stored.len();
        return Err(damaged(&format!(
            "it has {found} bytes, and {width}x{height} texels need {size}"
        )));
    }
    texels(layout, width as usize, height as usize, &stored)
}

/// Converts `stored`, which has as many bytes as the image needs, to RGBA. Fails if memory does not suffice or a number
/// is not finite.
fn texels(layout: Layout, width: usize, height: usize, stored: &[u8]) -> Result<Texels, String> {
    Ok(match layout {
        Layout::Numbers(Number::U8, channels) => {
            Texels::Bytes(quads(stored, channels, u8::MAX, blue_byte)?)
        }
        Layout::Reversed(channels) => {
            let mut texels = quads(stored, channels, u8::MAX, blue_byte)?;
            texels.iter_mut().for_each(|texel| texel.swap(0, 2));
            Texels::Bytes(texels)
        }
        Layout::Numbers(Number::U16, channels) => {
            let words: Vec<u16> = numbers(stored, u16::from_le_bytes)?;
            Texels::Words(quads(&words, channels, u16::MAX, blue_word)?)
        }
        Layout::Numbers(Number::F16, channels) => {
            let floats = numbers(stored, |bytes| f16::from_le_bytes(bytes).to_f32())?;
            Texels::Floats(quads(&floats, channels, 1.0, |_, _| 0.0)?)
        }
        Layout::Numbers(Number::F32, channels) => {
            let floats = numbers(stored, f32::from_le_bytes)?;
            Texels::Floats(quads(&floats, channels, 1.0, |_, _| 0.0)?)
        }
        Layout::Blocks(Block::Bc6(signed)) => {
            let decode = |block: &[u8]| {
                let mut rgb = [0.0; 48];
                bcdec_rs::bc6h_float(block, &mut rgb, 12, signed);
                let texel = |at: usize| [rgb[3 * at], rgb[3 * at + 1], rgb[3 * at + 2], 1.0];
                std::array::from_fn(texel)
            };
            Texels::Floats(blocks(stored, 16, width, height, decode)?)
        }
        Layout::Blocks(block) => {
            let decode = |bytes: &[u8]| decode_block(block, bytes);
            Texels::Bytes(blocks(stored, block.bytes(), width, height, decode)?)
        }
    })
}

/// Decodes a block of 4 by 4 texels to RGBA, row by row. The values of BC4 become grey, and those of BC5 are x and y of
/// a unit vector, whose z becomes blue; both are opaque.
///
/// BC6H, which holds floating-point numbers, must not be passed: it would be decoded as BC5.
fn decode_block(block: Block, bytes: &[u8]) -> [[u8; 4]; 16] {
    let mut rgba = [0; 64];
    match block {
        Block::Bc1(_) => bcdec_rs::bc1(bytes, &mut rgba, 16),
        Block::Bc2 => bcdec_rs::bc2(bytes, &mut rgba, 16),
        Block::Bc3 => bcdec_rs::bc3(bytes, &mut rgba, 16),
        Block::Bc7 => bcdec_rs::bc7(bytes, &mut rgba, 16),
        Block::Bc4 => {
            let mut grey = [0; 16];
            bcdec_rs::bc4(bytes, &mut grey, 4, false);
            return grey.map(|grey| [grey, grey, grey, u8::MAX]);
        }
        Block::Bc5 | Block::Bc6(_) => {
            let mut pairs = [0; 32];
            bcdec_rs::bc5(bytes, &mut pairs, 8, false);
            return std::array::from_fn(|at| {
                let (x, y) = (pairs[2 * at], pairs[2 * at + 1]);
                [x, y, blue_byte(x, y), u8::MAX]
            });
        }
    }
    std::array::from_fn(|at| {
        let mut texel = [0, 1, 2, 3].map(|channel| rgba[4 * at + channel]);
        if let Block::Bc1(false) = block {
            texel[3] = u8::MAX;
        }
        texel
    })
}

/// Decodes blocks of 4 by 4 texels with `decode`, and returns the texels of an image of `width` by `height`. Texels
/// outside the image are dropped. Each block has `block_bytes` bytes. Fails if memory does not suffice.
fn blocks<T: Copy + Default>(
    stored: &[u8],
    block_bytes: usize,
    width: usize,
    height: usize,
    decode: impl Fn(&[u8]) -> [[T; 4]; 16],
) -> Result<Vec<[T; 4]>, String> {
    let mut texels = vec_with_capacity(width * height)?;
    texels.resize(width * height, [T::default(); 4]);
    let across = width.div_ceil(4);
    for (number, block) in stored.chunks_exact(block_bytes).enumerate() {
        let (left, top) = (number % across * 4, number / across * 4);
        for (at, texel) in decode(block).into_iter().enumerate() {
            let (x, y) = (left + at % 4, top + at / 4);
            if x < width && y < height {
                texels[y * width + x] = texel;
            }
        }
    }
    Ok(texels)
}

/// Converts all numbers of `N` bytes with `convert`. Fails if memory does not suffice.
fn numbers<T, const N: usize>(
    stored: &[u8],
    convert: impl Fn([u8; N]) -> T,
) -> Result<Vec<T>, String> {
    let mut numbers = vec_with_capacity(stored.len() / N)?;
    numbers.extend(stored.as_chunks::<N>().0.iter().copied().map(convert));
    Ok(numbers)
}

/// Expands texels of 1 to 4 channels to RGBA. `one` is the alpha of an opaque texel. `blue` computes the third channel
/// from two. Fails if memory does not suffice.
fn quads<T: Copy>(
    values: &[T],
    channels: usize,
    one: T,
    blue: impl Fn(T, T) -> T,
) -> Result<Vec<[T; 4]>, String> {
    let mut texels = vec_with_capacity(values.len() / channels)?;
    let texel = |texel: &[T]| match *texel {
        [grey] => [grey, grey, grey, one],
        [x, y] => [x, y, blue(x, y), one],
        [r, g, b] => [r, g, b, one],
        _ => [texel[0], texel[1], texel[2], texel[3]],
    };
    texels.extend(values.chunks_exact(channels).map(texel));
    Ok(texels)
}

/// Returns the blue, 0.5..=1, of a normal map with this red and green, 0..=1. They encode −1..=1.
fn blue(x: f32, y: f32) -> f32 {
    let (x, y) = (2.0 * x - 1.0, 2.0 * y - 1.0);
    0.5 + 0.5 * (1.0 - x * x - y * y).max(0.0).sqrt()
}

/// Returns [`blue`] for bytes.
fn blue_byte(x: u8, y: u8) -> u8 {
    (blue(f32::from(x) / 255.0, f32::from(y) / 255.0) * 255.0).round() as u8
}

/// Returns [`blue`] for 16-bit numbers.
fn blue_word(x: u16, y: u16) -> u16 {
    (blue(f32::from(x) / 65535.0, f32::from(y) / 65535.0) * 65535.0).round() as u16
}
