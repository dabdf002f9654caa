//! Tests of KTX2 files that hold texels of a Vulkan format instead of Basis Universal.

use std::io::Write;

use flate2::{Compression, write::ZlibEncoder};
use raysieve::scene::{Image, Texels};

/// Width and height of the images in texels. Neither is a multiple of a block's side.
const SIZE: (u32, u32) = (6, 5);
/// Formats of Vulkan.
const R8G8B8_UNORM: u32 = 23;
const R8G8B8_SRGB: u32 = 29;
const B8G8R8A8_UNORM: u32 = 44;
const R8G8B8A8_UNORM: u32 = 37;
const R16_UNORM: u32 = 70;
const R16G16B16A16_SFLOAT: u32 = 97;
const BC5_UNORM: u32 = 141;
const BC7_SRGB: u32 = 146;
const ASTC_4X4: u32 = 157;

/// The supercompression of a KTX2 file, with its number in the header.
#[derive(Clone, Copy, PartialEq)]
enum Scheme {
    None = 0,
    Zstandard = 2,
    Zlib = 3,
}

/// Returns a KTX2 file with one image of [`SIZE`] and these texels.
fn ktx2(format: u32, scheme: Scheme, texels: &[u8]) -> Vec<u8> {
    let stored = match scheme {
        Scheme::None => texels.to_vec(),
        Scheme::Zstandard => zstandard(texels),
        Scheme::Zlib => {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(texels).unwrap();
            encoder.finish().unwrap()
        }
    };
    // The descriptor: its size, and a basic block without samples.
    let mut descriptor = Vec::new();
    for word in [28u32, 0, 2 | 24 << 16, 0, 0, 0, 0] {
        descriptor.extend(word.to_le_bytes());
    }
    let header = 80 + 24;
    let data = header + descriptor.len();
    let mut bytes = b"\xabKTX 20\xbb\r\n\x1a\n".to_vec();
    for word in [format, 1, SIZE.0, SIZE.1, 0, 0, 1, 1, scheme as u32] {
        bytes.extend(word.to_le_bytes());
    }
    for word in [header as u32, descriptor.len() as u32, 0, 0] {
        bytes.extend(word.to_le_bytes());
    }
    for word in [0, 0, data as u64, stored.len() as u64, texels.len() as u64] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend(descriptor);
    bytes.extend(stored);
    bytes
}

/// Returns a Zstandard frame with one block that is not compressed.
fn zstandard(bytes: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0xa0];
    frame.extend((bytes.len() as u32).to_le_bytes());
    let block = 1 | (bytes.len() as u32) << 3;
    frame.extend(&block.to_le_bytes()[..3]);
    frame.extend(bytes);
    frame
}

/// Decodes a file, and panics with the error if that fails.
fn decode(bytes: &[u8]) -> Image {
    Image::decode(bytes).unwrap_or_else(|problem| panic!("{problem}"))
}

/// Returns an image of [`SIZE`] with these texels.
fn image(texels: Texels) -> Image {
    let (width, height) = SIZE;
    Image {
        width,
        height,
        texels,
    }
}

/// Returns the color of each texel, row by row.
fn colors() -> Vec<[u8; 4]> {
    let place = |at: u32| [at % SIZE.0, at / SIZE.0];
    let color = |[x, y]: [u32; 2]| [40 * x as u8, 50 * y as u8, 9, 200];
    (0..SIZE.0 * SIZE.1).map(place).map(color).collect()
}

#[test]
fn plain_texels_are_read_with_every_supercompression() {
    let rgba = colors();
    let rgb: Vec<u8> = rgba.iter().flat_map(|&[r, g, b, _]| [r, g, b]).collect();
    let opaque: Vec<[u8; 4]> = rgba.iter().map(|&[r, g, b, _]| [r, g, b, 255]).collect();
    let bgra: Vec<u8> = rgba.iter().flat_map(|&[r, g, b, a]| [b, g, r, a]).collect();
    for scheme in [Scheme::None, Scheme::Zstandard, Scheme::Zlib] {
        for format in [R8G8B8_UNORM, R8G8B8_SRGB] {
            assert_eq!(
                decode(&ktx2(format, scheme, &rgb)),
                image(Texels::Bytes(opaque.clone()))
            );
        }
        let found = decode(&ktx2(R8G8B8A8_UNORM, scheme, rgba.as_flattened()));
        assert_eq!(found, image(Texels::Bytes(rgba.clone())));
        let found = decode(&ktx2(B8G8R8A8_UNORM, scheme, &bgra));
        assert_eq!(found, image(Texels::Bytes(rgba.clone())));
    }
}

#[test]
fn wide_texels_are_read() {
    let count = SIZE.0 * SIZE.1;
    let words: Vec<u16> = (0..count).map(|at| at as u16 * 2000).collect();
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let grey = words
        .iter()
        .map(|&word| [word, word, word, 65535])
        .collect();
    assert_eq!(
        decode(&ktx2(R16_UNORM, Scheme::None, &bytes)),
        image(Texels::Words(grey))
    );
    // The half floats 1, 2, 0.5 and 1.
    let halves = [0x3c00u16, 0x4000, 0x3800, 0x3c00].map(u16::to_le_bytes);
    let bytes = halves.as_flattened().repeat(count as usize);
    let expected = vec![[1.0, 2.0, 0.5, 1.0]; count as usize];
    let found = decode(&ktx2(R16G16B16A16_SFLOAT, Scheme::Zlib, &bytes));
    assert_eq!(found, image(Texels::Floats(expected)));
}

/// Returns a block of BC7 in mode 6 whose texels all have this color. Each channel must be even.
fn bc7_block(color: [u8; 4]) -> [u8; 16] {
    let mut block = 1u128 << 6;
    let mut at = 7;
    for channel in color {
        for _ in 0..2 {
            block |= u128::from(channel >> 1) << at;
            at += 7;
        }
    }
    block.to_le_bytes()
}

#[test]
fn block_compressed_texels_are_read() {
    // Two blocks across and two down.
    let blocks = [
        [200, 0, 0, 254],
        [0, 100, 0, 254],
        [0, 0, 50, 254],
        [20, 40, 60, 80],
    ];
    let bytes: Vec<u8> = blocks.into_iter().flat_map(bc7_block).collect();
    let block_of = |at: u32| (at % SIZE.0 / 4 + at / SIZE.0 / 4 * 2) as usize;
    let texels = (0..SIZE.0 * SIZE.1).map(|at| blocks[block_of(at)]);
    let expected = image(Texels::Bytes(texels.collect()));
    for scheme in [Scheme::None, Scheme::Zstandard] {
        assert_eq!(decode(&ktx2(BC7_SRGB, scheme, &bytes)), expected);
    }
}

/// The blue of a normal map with two channels follows from its red and green.
#[test]
fn two_channels_are_a_normal_map() {
    for (x, y, z) in [(128u8, 128u8, 255u8), (218, 128, 218), (255, 128, 128)] {
        let channel = |value: u8| [value, value, 0, 0, 0, 0, 0, 0];
        let block = [channel(x), channel(y)].concat();
        let image = decode(&ktx2(BC5_UNORM, Scheme::None, &block.repeat(4)));
        let Texels::Bytes(texels) = image.texels else {
            panic!("expected bytes");
        };
        for [r, g, b, a] in texels {
            assert_eq!([r, g, a], [x, y, 255]);
            assert!(b.abs_diff(z) <= 4, "{b}, expected {z}");
        }
    }
}

#[test]
fn unsupported_formats_are_named() {
    let problem = Image::decode(&ktx2(ASTC_4X4, Scheme::None, &[0; 64]))
        .unwrap_err()
        .to_string();
    let expected = "is a KTX2 image of the format ASTC, which is not supported; save it with RGBA8, BC7 or Basis Universal";
    assert_eq!(problem, expected);
}

/// A truncated file is an error. A damaged one may decode to another image, but must not panic.
#[test]
fn damaged_files_are_errors() {
    let rgba = colors();
    for scheme in [Scheme::None, Scheme::Zstandard, Scheme::Zlib] {
        let bytes = ktx2(R8G8B8A8_UNORM, scheme, rgba.as_flattened());
        for end in 0..bytes.len() - 12 {
            let problem = Image::decode(&bytes[..end]).unwrap_err().to_string();
            assert!(
                !problem.contains("Basis") && !problem.contains('\n'),
                "{problem}"
            );
        }
        for at in 0..bytes.len() {
            for bits in [0x01, 0x80, 0xff] {
                let mut changed = bytes.clone();
                changed[at] ^= bits;
                let _ = Image::decode(&changed);
            }
        }
    }
    let blocks = ktx2(BC7_SRGB, Scheme::None, &[7; 64]);
    for value in 0..=255 {
        let mut changed = blocks.clone();
        let end = changed.len();
        changed[end - 64..].fill(value);
        let _ = Image::decode(&changed);
    }
    let short = ktx2(R8G8B8A8_UNORM, Scheme::None, &rgba.as_flattened()[..100]);
    assert_eq!(
        Image::decode(&short).unwrap_err().to_string(),
        "cannot be decoded as KTX2: it has 100 bytes, and 6x5 texels need 120; save it again with another program"
    );
}
