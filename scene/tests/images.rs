//! Tests of the HDR image readers: Radiance files of every orientation and encoding, OpenEXR files with several layers,
//! and PFM files.

use std::{fs, path::Path};

use exr::{
    image::{AnyChannel, AnyChannels, Encoding, FlatSamples, Image as Exr, Layer, Layers},
    meta::{
        attribute::{Chromaticities, EnvironmentMap, IntegerBounds},
        header::{ImageAttributes, LayerAttributes},
    },
    prelude::{Compression, SmallVec, Vec2, WritableImage, f16},
};
use glam::{Mat3, Vec3};
use raysieve::scene::{Image, Light, Scene, Texels};
use tempfile::TempDir;

/// Width and height of the images in pixels.
const SIZE: (usize, usize) = (16, 8);

/// Returns the color of texel (x, y): red grows to the right, green downwards. RGBE represents it exactly.
fn color(x: usize, y: usize) -> [f32; 3] {
    let blue = if (x + y).is_multiple_of(2) {
        0.25
    } else {
        0.75
    };
    [(x + 1) as f32 / 8.0, (y + 1) as f32 / 8.0, blue]
}

/// Decodes an image of [`SIZE`] with floating-point texels.
fn decode(bytes: &[u8], case: &str) -> Vec<[f32; 4]> {
    let image = Image::decode(bytes).unwrap_or_else(|problem| panic!("{case}: {problem}"));
    assert_eq!((image.width, image.height), (16, 8), "{case}");
    match image.texels {
        Texels::Floats(texels) => texels,
        other => panic!("{case}: {}", matches!(other, Texels::Bytes(_))),
    }
}

/// Asserts that each texel of the encoded image `bytes` is `of` applied to its [`color`]. `case` names the image in
/// failures.
fn expect(bytes: &[u8], case: &str, of: impl Fn([f32; 3]) -> [f32; 3]) {
    for (number, texel) in decode(bytes, case).into_iter().enumerate() {
        let (x, y) = (number % SIZE.0, number / SIZE.0);
        let [r, g, b] = of(color(x, y));
        let expected = [r, g, b, 1.0];
        let difference = texel.iter().zip(expected).map(|(is, due)| (is - due).abs());
        assert!(
            difference.fold(0.0, f32::max) < 2e-3,
            "{case}: {texel:?} at ({x}, {y}), expected {expected:?}"
        );
    }
}

/// Encodes a color as RGBE: three bytes and a shared exponent.
fn rgbe([r, g, b]: [f32; 3]) -> [u8; 4] {
    let exponent = r.max(g).max(b).log2().floor() as i32 + 1;
    let byte = |part: f32| (part * 256.0 / 2.0_f32.powi(exponent)).round() as u8;
    [byte(r), byte(g), byte(b), (exponent + 128) as u8]
}

/// Returns a Radiance file with this first line, format line and size line.
fn hdr(first: &str, format: &str, size: &str, texels: &[u8]) -> Vec<u8> {
    let mut bytes = format!("{first}\n# made by hand\n{format}EXPOSURE=1\n\n{size}\n").into_bytes();
    bytes.extend(texels);
    bytes
}

#[test]
fn radiance_files_of_every_orientation_and_encoding_are_read() {
    const RGBE: &str = "FORMAT=32-bit_rle_rgbe\n";
    let flat = |columns: bool, place: &dyn Fn(usize, usize) -> (usize, usize)| {
        let (stretches, each) = if columns { (16, 8) } else { (8, 16) };
        let texels =
            (0..stretches).flat_map(|stretch| (0..each).map(move |along| (stretch, along)));
        let texels = texels.map(|(stretch, along)| place(stretch, along));
        let texels = texels.flat_map(|(x, y)| rgbe(color(x, y)));
        texels.collect::<Vec<u8>>()
    };
    let rows = flat(false, &|y, x| (x, y));
    for (size, texels) in [
        ("-Y 8 +X 16", rows.clone()),
        ("+Y 8 +X 16", flat(false, &|y, x| (x, 7 - y))),
        ("-Y 8 -X 16", flat(false, &|y, x| (15 - x, y))),
        ("+Y 8 -X 16", flat(false, &|y, x| (15 - x, 7 - y))),
        ("+X 16 -Y 8", flat(true, &|x, y| (x, y))),
        ("-X 16 -Y 8", flat(true, &|x, y| (15 - x, y))),
        ("+X 16 +Y 8", flat(true, &|x, y| (x, 7 - y))),
        ("-X 16 +Y 8", flat(true, &|x, y| (15 - x, 7 - y))),
    ] {
        expect(&hdr("#?RADIANCE", RGBE, size, &texels), size, |color| color);
    }
    let size = "-Y 8 +X 16";
    expect(&hdr("#?RGBE", RGBE, size, &rows), "another name", |color| {
        color
    });
    expect(&hdr("#?RADIANCE", "", size, &rows), "no format", |color| {
        color
    });
    let mut returns = hdr("#?RADIANCE", RGBE, size, &[]);
    returns = String::from_utf8(returns)
        .unwrap()
        .replace('\n', "\r\n")
        .into_bytes();
    returns.extend(&rows);
    expect(&returns, "lines of another system", |color| color);

    // The old run-length encoding (repeat counts after RGB of 1, 1, 1) and the new one, channel by channel.
    let (mut old, mut new) = (Vec::new(), Vec::new());
    for y in 0..8 {
        let texel = rgbe(color(0, y));
        old.extend(texel);
        old.extend([1, 1, 1, 15]);
        new.extend([2, 2, 0, 16]);
        texel.iter().for_each(|&byte| new.extend([128 + 16, byte]));
    }
    let old = decode(&hdr("#?RADIANCE", RGBE, size, &old), "old runs");
    assert_eq!(
        old,
        decode(&hdr("#?RADIANCE", RGBE, size, &new), "new runs")
    );
    assert!(old.iter().enumerate().all(|(number, texel)| {
        let [r, g, b] = color(0, number / 16);
        [r, g, b, 1.0]
            .iter()
            .zip(texel)
            .all(|(due, is)| (due - is).abs() < 2e-3)
    }));

    // White under daylight.
    let white: Vec<u8> = rgbe([0.9505, 1.0, 1.089]).repeat(128);
    let xyz = hdr("#?RADIANCE", "FORMAT=32-bit_rle_xyze\n", size, &white);
    for texel in decode(&xyz, "XYZ") {
        assert!(
            texel.iter().all(|part| (part - 1.0).abs() < 2e-2),
            "{texel:?}"
        );
    }
}

#[test]
fn errors_of_a_radiance_file_name_the_problem() {
    for (file, problem) in [
        (
            "#?RADIANCE\n",
            "ends within its header; save it again with another program",
        ),
        (
            "#?RADIANCE\n\n",
            "ends within its header; save it again with another program",
        ),
        (
            "#?RADIANCE\nFORMAT=16-bit\n\n-Y 1 +X 1\n",
            "is of the format `16-bit`, expected 32-bit_rle_rgbe or 32-bit_rle_xyze",
        ),
        (
            "#?RADIANCE\n\n-Y 1 +Y 1\n",
            "found `-Y 1 +Y 1`, expected its size, such as `-Y 512 +X 1024`",
        ),
        (
            "#?RADIANCE\n\n-Y 1 +X -1\n",
            "found `-Y 1 +X -1`, expected its size, such as `-Y 512 +X 1024`",
        ),
        (
            "#?RADIANCE\n\n-Y 0 +X 9\n",
            "has no pixels; expected a width and height of at least 1",
        ),
        (
            "#?RADIANCE\n\n+X 60000 -Y 60000\n",
            "declares 60000x60000 texels, but the limit is 65536 per side and 4225024 in a file of 30 bytes; export it again",
        ),
    ] {
        assert_eq!(
            Image::decode(file.as_bytes()).unwrap_err().to_string(),
            problem
        );
    }
    let short = Image::decode(b"#?RADIANCE\n\n-Y 8 +X 16\n\0\0")
        .unwrap_err()
        .to_string();
    assert!(short.starts_with("cannot be decoded: "), "{short}");
}

/// Builds an OpenEXR layer with these channels, each given by its name and the component of [`color`] that it holds.
fn layer(
    channels: &[(&str, usize)],
    half: bool,
    compression: Compression,
) -> Layer<AnyChannels<FlatSamples>> {
    let list: SmallVec<[AnyChannel<FlatSamples>; 4]> = channels
        .iter()
        .map(|&(name, part)| {
            let at = (0..SIZE.0 * SIZE.1).map(|at| color(at % SIZE.0, at / SIZE.0)[part]);
            let samples = match half {
                true => FlatSamples::F16(at.map(f16::from_f32).collect()),
                false => FlatSamples::F32(at.collect()),
            };
            AnyChannel::new(name, samples)
        })
        .collect();
    let encoding = Encoding {
        compression,
        ..Encoding::FAST_LOSSLESS
    };
    let name = channels.iter().map(|channel| channel.0).collect::<String>();
    let attributes = LayerAttributes::named(name.as_str());
    Layer::new(SIZE, attributes, encoding, AnyChannels::sort(list))
}

/// Returns an OpenEXR file with these layers.
fn written(layers: &[Layer<AnyChannels<FlatSamples>>]) -> Vec<u8> {
    written_in(None, layers)
}

/// Returns an OpenEXR file with these layers and this attribute.
fn written_in(
    chromaticities: Option<Chromaticities>,
    layers: &[Layer<AnyChannels<FlatSamples>>],
) -> Vec<u8> {
    let mut file = std::io::Cursor::new(Vec::new());
    let layers: Layers<_> = layers.iter().cloned().collect();
    let bounds = IntegerBounds::from_dimensions(SIZE);
    let attributes = ImageAttributes {
        chromaticities,
        ..ImageAttributes::new(bounds)
    };
    let image = Exr::from_layers(attributes, layers);
    image.write().to_buffered(&mut file).unwrap();
    file.into_inner()
}

#[test]
fn exr_prefers_rgb_and_falls_back_to_other_channels() {
    let rgb = [("R", 0), ("G", 1), ("B", 2)];
    let plain = Compression::Uncompressed;
    for compression in [
        plain,
        Compression::RLE,
        Compression::ZIP1,
        Compression::ZIP16,
        Compression::PIZ,
        Compression::PXR24,
    ] {
        for half in [false, true] {
            let case = format!("{compression:?}, half: {half}");
            expect(
                &written(&[layer(&rgb, half, compression)]),
                &case,
                |color| color,
            );
        }
    }
    let depth = || layer(&[("Z", 0)], false, plain);
    let grey = |part: usize| move |color: [f32; 3]| [color[part]; 3];
    let named = [
        ("beauty.R", 0),
        ("beauty.G", 1),
        ("beauty.B", 2),
        ("depth.Z", 0),
    ];
    let colors = layer(&rgb, false, plain);
    expect(&written(&[depth(), colors]), "behind depth", |color| color);
    expect(
        &written(&[layer(&named, false, plain)]),
        "of a name",
        |color| color,
    );
    expect(
        &written(&[layer(&[("Y", 1)], true, plain)]),
        "luminance",
        grey(1),
    );
    expect(
        &written(&[layer(&[("rough", 2)], true, plain)]),
        "one",
        grey(2),
    );
    let luminance = [("A", 0), ("Y", 1)];
    let texels = decode(&written(&[layer(&luminance, false, plain)]), "with alpha");
    assert_eq!(texels[18], [0.25, 0.25, 0.25, 0.375]);
    let none = written(&[layer(&[("U", 0), ("V", 1)], false, plain)]);
    assert_eq!(
        Image::decode(&none).unwrap_err().to_string(),
        "has no colors: its first channels are U, V, expected R, G and B, or Y"
    );
}

/// The expected colors follow from the published matrix from ACEScg to linear sRGB, with the adaptation of Bradford.
#[test]
fn exr_colors_of_other_primaries_become_srgb() {
    let colors = || layer(&[("R", 0), ("G", 1), ("B", 2)], false, Compression::ZIP16);
    let point = |x, y| Vec2(x, y);
    let acescg = Chromaticities {
        red: point(0.713, 0.293),
        green: point(0.165, 0.83),
        blue: point(0.128, 0.044),
        white: point(0.32168, 0.33767),
    };
    let matrix = Mat3::from_cols_array(&[
        1.70505, -0.13026, -0.02400, -0.62179, 1.14080, -0.12897, -0.08326, -0.01055, 1.15297,
    ]);
    expect(&written_in(Some(acescg), &[colors()]), "ACEScg", |color| {
        (matrix * Vec3::from_array(color)).to_array()
    });
    // Luminance has no primaries.
    let grey = layer(&[("Y", 1)], false, Compression::ZIP16);
    let grey = written_in(Some(acescg), &[grey]);
    expect(&grey, "luminance", |color| [color[1]; 3]);
    let srgb = Chromaticities {
        red: point(0.64, 0.33),
        green: point(0.3, 0.6),
        blue: point(0.15, 0.06),
        white: point(0.3127, 0.329),
    };
    assert_eq!(
        decode(&written_in(Some(srgb), &[colors()]), "sRGB"),
        decode(&written(&[colors()]), "plain")
    );
    for absurd in [
        Chromaticities {
            green: srgb.red,
            ..srgb
        },
        Chromaticities {
            white: point(0.3, 0.0),
            ..srgb
        },
        Chromaticities {
            red: point(f32::NAN, 0.3),
            ..srgb
        },
    ] {
        let error = Image::decode(&written_in(Some(absurd), &[colors()]))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("`chromaticities` spans no colors"),
            "{error}"
        );
    }
}

/// The stored region (data window) may be smaller or larger than the shown one (display window).
#[test]
fn exr_is_cropped_and_padded_to_its_display_window() {
    let mut stored = layer(&[("R", 0), ("G", 1), ("B", 2)], false, Compression::ZIP16);
    stored.attributes.layer_position = Vec2(4, -2);
    let texels = decode(&written(&[stored]), "window");
    for (number, texel) in texels.iter().enumerate() {
        let (x, y) = (number % SIZE.0, number / SIZE.0);
        let [r, g, b] = match (x, y) {
            (4.., ..6) => color(x - 4, y + 2),
            _ => [0.0; 3],
        };
        assert_eq!(*texel, [r, g, b, 1.0], "({x}, {y})");
    }
}

/// Returns a PFM file of [`SIZE`] with this scale, whose values are divided by the scale's magnitude.
fn pfm(scale: f32) -> Vec<u8> {
    let mut bytes = format!("PF\n16 8\n{scale:?}\n").into_bytes();
    for number in 0..SIZE.0 * SIZE.1 {
        // Rows begin at the bottom.
        let (x, y) = (number % SIZE.0, SIZE.1 - 1 - number / SIZE.0);
        for value in color(x, y) {
            let value = value / scale.abs();
            bytes.extend(match scale < 0.0 {
                true => value.to_le_bytes(),
                false => value.to_be_bytes(),
            });
        }
    }
    bytes
}

#[test]
fn pfm_files_of_both_byte_orders_are_read() {
    for scale in [-1.0, 1.0, -2.5, 0.5] {
        expect(&pfm(scale), &scale.to_string(), |color| color);
    }
    let mut grey = b"Pf 16 8 -1 ".to_vec();
    grey.extend([0.5_f32; 128].iter().flat_map(|value| value.to_le_bytes()));
    expect(&grey, "grey", |_| [0.5; 3]);
}

#[test]
fn damaged_pfm_files_are_refused() {
    let whole = pfm(-1.0);
    for (bytes, problem) in [
        (&whole[..whole.len() - 1], "cut off"),
        (&whole[..9], "ends within its header"),
        (&whole[..3], "ends within its header"),
        (b"PF\n16 wide\n-1\n", "expected its width and height"),
        (b"PF\n16 8\n0\n", "expected a number other than 0"),
        (b"PF\n60000 60000\n-1\n", "the limit is"),
        (b"PF\n0 8\n-1\n", "has no pixels"),
        (
            &[b"PF\n", &[b'1'; 99][..]].concat(),
            "not one of a PFM image",
        ),
    ] {
        let error = Image::decode(bytes).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }
    let mut infinite = whole;
    let last = infinite.len() - 4;
    infinite[last..].copy_from_slice(&f32::INFINITY.to_le_bytes());
    let error = Image::decode(&infinite).unwrap_err().to_string();
    assert!(error.contains("column 16 of row 1"), "{error}");
}

/// Returns the point of the cube from -1 to 1 that a texel shows, as the documentation of OpenEXR places the faces: below
/// each other, each with `SIDE` texels, of which the outer ones lie at the edges of the cube.
fn cube_point(face: usize, column: usize, row: usize) -> Vec3 {
    let along = |at: usize| 2.0 * at as f32 / (SIDE - 1) as f32 - 1.0;
    let (right, up) = (along(column), -along(row));
    match face {
        0 => Vec3::new(1.0, up, right),
        1 => Vec3::new(-1.0, up, -right),
        2 => Vec3::new(right, 1.0, up),
        3 => Vec3::new(right, -1.0, -up),
        4 => Vec3::new(-right, up, 1.0),
        _ => Vec3::new(right, up, -1.0),
    }
}

/// Width of a face of a cube map in texels.
const SIDE: usize = 5;

#[test]
fn a_cube_map_surrounds_the_scene() {
    let (width, height) = (SIDE, 6 * SIDE);
    let channel = |name: &str, part: usize| {
        let value = |at: usize| {
            let (row, column) = (at / width, at % width);
            cube_point(row / SIDE, column, row % SIDE)[part] * 0.5 + 0.5
        };
        AnyChannel::new(
            name,
            FlatSamples::F32((0..width * height).map(value).collect()),
        )
    };
    let write = |environment_map: Option<EnvironmentMap>, size: (usize, usize)| {
        let list: SmallVec<[AnyChannel<FlatSamples>; 4]> =
            [channel("R", 0), channel("G", 1), channel("B", 2)]
                .into_iter()
                .collect();
        let attributes = LayerAttributes {
            environment_map,
            ..LayerAttributes::named("cube")
        };
        let layer = Layer::new(
            size,
            attributes,
            Encoding::FAST_LOSSLESS,
            AnyChannels::sort(list),
        );
        let mut file = std::io::Cursor::new(Vec::new());
        Exr::from_layer(layer)
            .write()
            .to_buffered(&mut file)
            .unwrap();
        file.into_inner()
    };
    let folder = TempDir::new().unwrap();
    let load = |bytes: Vec<u8>| {
        fs::write(folder.path().join("sky.exr"), bytes).unwrap();
        let text = "(camera: (origin: (0, 0, 5), target: (0, 0, 0), fov: 40), lights: [Environment(file: \"sky.exr\")], \
                    materials: {\"clay\": Diffuse(albedo: (1, 1, 1))}, \
                    objects: [Sphere(center: (0, 0, 0), radius: 1, material: \"clay\")])";
        Scene::parse(&folder.path().join("scene.ron"), text)
    };
    let scene = load(write(Some(EnvironmentMap::Cube), (width, height))).unwrap();
    let Light::Environment(map) = &scene.lights[0] else {
        panic!("{:?}", scene.lights)
    };
    let (columns, rows) = (map.width as usize, map.radiances.len() / map.width as usize);
    assert_eq!((columns, rows), (4 * SIDE, 2 * SIDE));
    for (at, found) in map.radiances.iter().enumerate() {
        let u = ((at % columns) as f32 + 0.5) / columns as f32 * std::f32::consts::TAU;
        let v = ((at / columns) as f32 + 0.5) / rows as f32 * std::f32::consts::PI;
        let direction = Vec3::new(u.sin() * v.sin(), v.cos(), -u.cos() * v.sin());
        // Colors are linear over each face, so that interpolation does not change them.
        let expected = direction / direction.abs().max_element() * 0.5 + 0.5;
        assert!(
            found.distance(expected) < 1e-5,
            "{direction}: {found} for {expected}"
        );
    }
    // Without the attribute it is a map in latitude-longitude format, of any size.
    let scene = load(write(None, (width, height))).unwrap();
    let Light::Environment(map) = &scene.lights[0] else {
        panic!("{:?}", scene.lights)
    };
    assert_eq!(map.width as usize, width);
    let error = load(write(Some(EnvironmentMap::Cube), (height, width))).unwrap_err();
    let expected = "is a cube map of 30x5 texels; expected six squares below each other";
    assert!(error.to_string().contains(expected), "{error}");
}

#[test]
fn exr_images_of_luminance_and_chroma_have_colors() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/luminance_chroma");
    for kind in ["none", "rle", "zips", "zip", "piz", "pxr24"] {
        let bytes = fs::read(folder.join(format!("{kind}.exr"))).unwrap();
        let image = Image::decode(&bytes).unwrap_or_else(|problem| panic!("{kind}: {problem}"));
        assert_eq!((image.width, image.height), (16, 40), "{kind}");
        let Texels::Floats(texels) = &image.texels else {
            panic!("{kind}")
        };
        for (at, &[red, green, blue, alpha]) in texels.iter().enumerate() {
            let (column, row) = (at % 16, at / 16);
            let brightness = (column + 1) as f32 / 16.0 * (1.0 + (row % 8) as f32 / 8.0);
            let luminance = 0.58825 * brightness;
            let expected = match column {
                ..7 => Vec3::new(1.0, 0.5, 0.25) * brightness,
                7 => Vec3::new(1.0, 0.5, 0.25).midpoint(Vec3::splat(0.58825)) * brightness,
                _ => Vec3::splat(luminance),
            };
            let found = Vec3::new(red, green, blue);
            assert!(
                found.distance(expected) < 2e-3 * (1.0 + brightness) && alpha == 1.0,
                "{kind}, ({column}, {row}): {found} for {expected}"
            );
        }
        for length in [0, 7, 8, 60, 300, 345, 400, bytes.len() / 2, bytes.len() - 1] {
            assert!(
                Image::decode(&bytes[..length]).is_err(),
                "{kind} with {length} bytes"
            );
        }
        for at in (0..bytes.len()).step_by(7) {
            // Damage is an error or another image, but no panic and no endless loop.
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x55;
            let _ = Image::decode(&damaged);
        }
    }
    let b44 = Image::decode(&fs::read(folder.join("b44.exr")).unwrap())
        .unwrap_err()
        .to_string();
    let expected = "is an image of luminance and chroma with b44 compression, which is not read; save it with ZIP";
    assert_eq!(b44, expected);
}
