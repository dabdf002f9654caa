//! Tests of textures (mapping, filtering, normal maps) and of the image formats that can be read.

#[path = "common/mod.rs"]
mod common;

use std::{fs, path::PathBuf};

use common::{on_cpu, render, scene};
use glam::{DVec3, Vec3};
use image::{DynamicImage, ImageBuffer, Luma, Rgb, Rgba, RgbaImage};
use raysieve::{
    scene::color::srgb_value,
    scene::{Image, Scene, Texels},
};

/// A temporary folder for images, deleted at the end of the test.
struct Images(tempfile::TempDir);

impl Images {
    fn new() -> Images {
        Images(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Saves an image and returns the scene text of a texture of it.
    fn save(&self, name: &str, image: impl Into<DynamicImage>) -> String {
        image.into().save(self.path(name)).unwrap();
        self.written(name)
    }

    /// Returns an image's path as a string in scene text.
    fn written(&self, name: &str) -> String {
        format!("{:?}", self.path(name).to_str().unwrap())
    }
}

/// Returns a scene of one 1 m square that exactly fills the image, lit only by a sky of radiance 1.
fn wall(material: &str, pixels: u32, spp: u32) -> Scene {
    scene(&format!(
        r#"(
            size: ({pixels}, {pixels}), spp: {spp}, max_bounces: 1, sky: (1, 1, 1),
            camera: (origin: (0, 0, 10), target: (0, 0, 0), fov: 5.724810452),
            materials: {{ "wall": {material} }},
            objects: [Quad(corner: (-0.5, -0.5, 0), edge_u: (1, 0, 0), edge_v: (0, 1, 0), material: "wall")],
        )"#
    ))
}

/// Returns an image of 4 × 4 different texels.
fn colors() -> RgbaImage {
    RgbaImage::from_fn(4, 4, |x, y| {
        Rgba([
            (17 * x + 60) as u8,
            (63 * y) as u8,
            (255 - 11 * (x + 4 * y)) as u8,
            255,
        ])
    })
}

/// Returns the linear color of an sRGB texel.
fn decoded(texel: &Rgba<u8>) -> Vec3 {
    let [r, g, b, _] = texel.0;
    Vec3::from_array([r, g, b].map(|byte| srgb_value(f64::from(byte) / 255.0)))
}

/// Returns the center pixel of each block of 3 × 3 pixels, row by row.
fn middles(scene: &Scene) -> Vec<Vec3> {
    let (picture, stats) = render(scene, &on_cpu());
    assert_eq!(stats.rejected_samples, 0);
    let side = picture.width as usize;
    let middle = (1..side).step_by(3);
    middle
        .clone()
        .flat_map(|y| middle.clone().map(move |x| (x, y)))
        .map(|(x, y)| picture.pixels[y * side + x])
        .collect()
}

#[test]
fn a_checker_seen_face_on_shows_exactly_its_texels() {
    let images = Images::new();
    let file = images.save("checker.png", colors());
    for material in [
        format!("Diffuse(albedo: Texture(file: {file}, filter: Nearest))"),
        format!("Emissive(radiance: Texture(file: {file}, filter: Nearest))"),
        format!("Mirror(reflectance: Texture(file: {file}, filter: Nearest))"),
    ] {
        let found = middles(&wall(&material, 12, 5));
        for (texel, found) in colors().pixels().zip(found) {
            // The film quantises to 2⁻³², and the mean rounds once.
            assert!(
                (decoded(texel) - found).abs().max_element() < 1e-7,
                "{texel:?}: {found}"
            );
        }
    }
}

#[test]
fn wrap_scale_rotate_and_offset_place_the_image_as_documented() {
    let images = Images::new();
    let file = images.save("checker.png", colors());
    let seen = |more: &str| {
        middles(&wall(
            &format!("Diffuse(albedo: Texture(file: {file}, filter: Nearest, {more}))"),
            12,
            1,
        ))
    };
    let texel = |x: i32, y: i32, wrap: fn(i32) -> i32| {
        decoded(colors().get_pixel(wrap(x) as u32, wrap(y) as u32))
    };
    let repeat: fn(i32) -> i32 = |at| at.rem_euclid(4);
    let mirror: fn(i32) -> i32 = |at| {
        let there = at.rem_euclid(8);
        if there > 3 { 7 - there } else { there }
    };
    let clamp: fn(i32) -> i32 = |at| at.clamp(0, 3);
    // Position in the image, in texels, of the center of the wall's field (x, y).
    type Place = fn(i32, i32) -> (i32, i32);
    type Wrapped = fn(i32) -> i32;
    let cases: [(&str, Place, Wrapped); 7] = [
        ("", |x, y| (x, y), repeat),
        ("offset: (0.5, 0.25)", |x, y| (x + 2, y + 1), repeat),
        (
            "offset: (-0.5, 1.75), wrap: Mirror",
            |x, y| (x - 2, y + 7),
            mirror,
        ),
        (
            "offset: (-0.75, 2), wrap: Clamp",
            |x, y| (x - 3, y + 8),
            clamp,
        ),
        // A field covers half as many texels, and its center lies inside a texel.
        (
            "scale: 2, offset: (0.125, 0.125)",
            |x, y| (2 * x + 1, 2 * y + 1),
            repeat,
        ),
        (
            "scale: (-1, 1), wrap: (Repeat, Clamp)",
            |x, y| (-1 - x, y),
            repeat,
        ),
        // Rotating the coordinates counter-clockwise turns the image clockwise.
        ("rotate: 90", |x, y| (y, -1 - x), repeat),
    ];
    for (more, place, wrap) in cases {
        for (number, found) in (0..).zip(seen(more)) {
            let (x, y) = place(number % 4, number / 4);
            let expected = texel(x, y, wrap);
            assert!(
                (expected - found).abs().max_element() < 1e-6,
                "{more}: field {number}: {found}, expected {expected}"
            );
        }
    }
}

/// Compares a rendered bilinear texture with an interpolation in `f64`, averaged over each pixel.
#[test]
fn a_bilinear_texture_interpolates_its_texels() {
    let images = Images::new();
    let file = images.save("checker.png", colors());
    let material = format!("Diffuse(albedo: Texture(file: {file}, encoding: Linear))");
    let (pixels, spp) = (20, 256);
    let (picture, _) = render(&wall(&material, pixels, spp), &on_cpu());
    let texel = |x: i32, y: i32| {
        let [r, g, b, _] = colors()
            .get_pixel(x.rem_euclid(4) as u32, y.rem_euclid(4) as u32)
            .0;
        DVec3::new(f64::from(r), f64::from(g), f64::from(b)) / 255.0
    };
    let value = |u: f64, v: f64| {
        let (x, y) = (4.0 * u - 0.5, 4.0 * v - 0.5);
        let (left, top) = (x.floor(), y.floor());
        let row = |y| {
            let x = left as i32;
            texel(x, y).lerp(texel(x + 1, y), 4.0 * u - 0.5 - left)
        };
        row(top as i32).lerp(row(top as i32 + 1), y - top)
    };
    const STEPS: u32 = 32;
    for (number, found) in (0..).zip(&picture.pixels) {
        let (x, y) = (number % pixels, number / pixels);
        let at = |pixel: u32, step: u32| {
            (f64::from(pixel) + (f64::from(step) + 0.5) / f64::from(STEPS)) / f64::from(pixels)
        };
        let places = (0..STEPS * STEPS).map(|step| (at(x, step % STEPS), at(y, step / STEPS)));
        let sum: DVec3 = places.map(|(u, v)| value(u, v)).sum();
        let expected = sum / f64::from(STEPS * STEPS);
        let difference = (found.as_dvec3() - expected).abs().max_element();
        assert!(
            difference < 2e-3,
            "pixel {x} {y}: {found}, expected {expected}"
        );
    }
}

#[test]
fn every_image_format_is_read() {
    let images = Images::new();
    let grey = ImageBuffer::from_fn(3, 2, |x, y| Luma([(40 * x + 90 * y) as u8]));
    let wide = ImageBuffer::from_fn(3, 2, |x, y| Rgb([x as u16 * 9000, 65535, y as u16]));
    let floats = ImageBuffer::from_fn(3, 2, |x, y| Rgb([x as f32 * 8.0, 0.5, y as f32]));
    let transparent = ImageBuffer::from_pixel(3, 2, Rgba([1_u8, 2, 3, 4]));
    images.save("grey.png", grey.clone());
    images.save("wide.png", wide);
    images.save("floats.exr", floats.clone());
    images.save("floats.hdr", floats);
    images.save("grey.jpg", grey);
    images.save("transparent.webp", transparent);
    let open = |name: &str| {
        let image = Image::open(&images.path(name)).unwrap();
        assert_eq!((image.width, image.height), (3, 2));
        let bytes = fs::read(images.path(name)).unwrap();
        assert_eq!(Image::decode(&bytes).unwrap(), image);
        image.texels
    };
    let Texels::Bytes(grey) = open("grey.png") else {
        panic!("8 bits")
    };
    assert_eq!(grey[5], [170, 170, 170, 255]);
    let Texels::Words(wide) = open("wide.png") else {
        panic!("16 bits")
    };
    assert_eq!(wide[4], [9000, 65535, 1, 65535]);
    for name in ["floats.exr", "floats.hdr"] {
        let Texels::Floats(floats) = open(name) else {
            panic!("floats")
        };
        assert_eq!(floats[5], [16.0, 0.5, 1.0, 1.0], "{name}");
    }
    let Texels::Bytes(lossy) = open("grey.jpg") else {
        panic!("8 bits")
    };
    assert!(lossy[5][0].abs_diff(170) < 8 && lossy[5][0] == lossy[5][2]);
    let Texels::Bytes(transparent) = open("transparent.webp") else {
        panic!("8 bits")
    };
    assert_eq!(transparent[0], [1, 2, 3, 4]);
}

#[test]
fn damaged_and_oversized_images_are_refused() {
    let images = Images::new();
    images.save("whole.png", colors());
    let whole = fs::read(images.path("whole.png")).unwrap();
    let refused = |bytes: &[u8]| Image::decode(bytes).unwrap_err().to_string();
    for end in [0, 7, 8, 30, 40, whole.len() / 2, whole.len() - 20] {
        let problem = refused(&whole[..end]);
        let expected = if end < 8 {
            "is not an image in a supported format"
        } else {
            "cannot be decoded"
        };
        assert!(problem.starts_with(expected), "{end}: {problem}");
    }
    // Replaces width and height in the PNG header, and its checksum.
    let mut bomb = whole.clone();
    bomb[16..24].copy_from_slice(&[0, 0, 255, 255, 0, 0, 255, 255]);
    let checksum = crc32(&bomb[12..29]);
    bomb[29..33].copy_from_slice(&checksum.to_be_bytes());
    assert_eq!(
        refused(&bomb),
        format!(
            "declares 65535x65535 texels, but the limit is 65536 per side and {} in a file of {} bytes; export it again",
            (1 << 22) + 1024 * whole.len(),
            whole.len()
        )
    );
    let broken = ImageBuffer::from_fn(3, 2, |x, y| {
        Rgb([if x == 1 && y == 1 { f32::NAN } else { 0.5 }, 0.5, 0.5])
    });
    images.save("broken.exr", broken);
    assert_eq!(
        Image::open(&images.path("broken.exr"))
            .unwrap_err()
            .to_string(),
        "the texel in column 2 of row 2 is [NaN, 0.5, 0.5, 1.0]; expected finite numbers"
    );
}

/// Returns the CRC-32 checksum as PNG defines it.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        })
    })
}

#[test]
fn the_scene_hash_depends_on_texels_and_not_on_file_names() {
    let images = Images::new();
    let material = |file: &str| format!("Diffuse(albedo: Texture(file: {file}))");
    let hash = |material: &str| wall(material, 4, 1).hash();
    let first = hash(&material(&images.save("first.png", colors())));
    assert_eq!(hash(&material(&images.save("second.png", colors()))), first);
    let mut other = colors();
    other.get_pixel_mut(3, 1).0[2] ^= 1;
    assert_ne!(hash(&material(&images.save("other.png", other))), first);
    let file = images.written("first.png");
    for more in [
        "filter: Nearest",
        "wrap: Clamp",
        "scale: 2",
        "encoding: Linear",
    ] {
        let changed = hash(&format!("Diffuse(albedo: Texture(file: {file}, {more}))"));
        assert_ne!(changed, first, "{more}");
    }
}

#[test]
fn an_image_used_twice_is_stored_once() {
    let images = Images::new();
    let file = images.save("checker.png", colors());
    let scene = scene(&format!(
        r#"(
            camera: (origin: (0, 0, 10), target: (0, 0, 0), fov: 6),
            materials: {{
                "a": Diffuse(albedo: Texture(file: {file})),
                "b": Mirror(reflectance: Texture(file: {file}, scale: 3)),
                "c": Diffuse(albedo: Texture(file: {file})),
            }},
            objects: [Sphere(center: (0, 0, 0), radius: 1, material: "a")],
        )"#
    ));
    assert_eq!((scene.images.len(), scene.textures.len()), (1, 2));
}

/// Renders with and without a color texture beside the flat normal map.
#[test]
fn a_flat_normal_map_changes_no_bit() {
    let images = Images::new();
    let flat = images.save(
        "flat.exr",
        ImageBuffer::from_pixel(2, 2, Rgb([0.5_f32, 0.5, 1.0])),
    );
    let tilted = images.save(
        "tilted.exr",
        ImageBuffer::from_pixel(2, 2, Rgb([0.7_f32, 0.5, 0.9])),
    );
    let hash = |normal: &str| {
        let scene = lit_by_a_lamp(&format!("Diffuse(albedo: (0.8, 0.6, 0.4){normal})"));
        render(&scene, &on_cpu()).1.film_hash
    };
    let none = hash("");
    assert_eq!(hash(&format!(", normal: Texture(file: {flat})")), none);
    assert_eq!(
        hash(&format!(", normal: Texture(file: {tilted}, factor: 0)")),
        none
    );
    assert_ne!(hash(&format!(", normal: Texture(file: {tilted})")), none);
}

/// Returns a wall lit by a small, distant lamp on its right.
fn lit_by_a_lamp(material: &str) -> Scene {
    scene(&format!(
        r#"(
            size: (8, 8), spp: 64, max_bounces: 1,
            camera: (origin: (0, 0, 10), target: (0, 0, 0), fov: 2),
            materials: {{ "wall": {material}, "lamp": Emissive(radiance: (1000, 1000, 1000)) }},
            objects: [
                Quad(corner: (-0.5, -0.5, 0), edge_u: (1, 0, 0), edge_v: (0, 1, 0), material: "wall"),
                Sphere(center: (60, 0, 80), radius: 1, material: "lamp"),
            ],
        )"#
    ))
}

/// Compares the brightness with Lambert's cosine law for the normal that the map encodes.
#[test]
fn a_normal_map_turns_the_surface_towards_the_light() {
    let images = Images::new();
    let brightness = |(right, up, away): (f32, f32, f32), more: &str| {
        let texel = Rgb([right, up, away].map(|part| 0.5 + 0.5 * part));
        let file = images.save("normal.exr", ImageBuffer::from_pixel(1, 1, texel));
        let normal = format!("normal: Texture(file: {file}{more})");
        let scene = lit_by_a_lamp(&format!("Diffuse(albedo: (1, 1, 1), {normal})"));
        let (picture, _) = render(&scene, &on_cpu());
        let sum: f32 = picture.pixels.iter().map(|pixel| pixel.x).sum();
        sum / picture.pixels.len() as f32
    };
    // The lamp lies in the direction (0.6, 0, 0.8).
    let to_light = DVec3::new(0.6, 0.0, 0.8);
    let irradiance = |normal: DVec3| 1000.0 * (1.0 / 10_000.0) * normal.normalize().dot(to_light);
    for (map, more, normal) in [
        ((0.0, 0.0, 1.0), "", DVec3::Z),
        ((0.6, 0.0, 0.8), "", to_light),
        ((-0.6, 0.0, 0.8), "", DVec3::new(-0.6, 0.0, 0.8)),
        ((0.0, 0.6, 0.8), "", DVec3::new(0.0, 0.6, 0.8)),
        ((0.6, 0.0, 0.8), ", factor: 0.5", DVec3::new(0.3, 0.0, 0.8)),
    ] {
        let (found, expected) = (f64::from(brightness(map, more)), irradiance(normal));
        assert!(
            (found - expected).abs() < 0.02 * expected,
            "{map:?}{more}: {found}, expected {expected}"
        );
    }
}

/// Diffuse and layered materials are shaded in blocks by the CPU, and the others one by one.
#[test]
fn a_mirrored_relief_has_the_opposite_slopes_from_behind() {
    let images = Images::new();
    let file = images.save("relief.png", colors());
    let film = |material: &str, edge_u: f32, factor: f32, mirrored: bool| {
        let relief =
            format!("normal: Texture(file: {file}, factor: {factor}), mirrored_relief: {mirrored}");
        let scene = scene(&format!(
            r#"(
                size: (16, 16), spp: 8, max_bounces: 2, sky: (0.2, 0.3, 0.4),
                lights: [Directional(direction: (0.5, -0.3, -1), irradiance: (2, 2, 2))],
                camera: (origin: (0, 0, 3), target: (0, 0, 0), fov: 20),
                materials: {{
                    "bumpy": {},
                    "plain": Diffuse(albedo: (0.2, 0.3, 0.4)),
                    "wall": {},
                }},
                objects: [
                    Quad(corner: ({}, -0.5, 0), edge_u: ({edge_u}, 0, 0), edge_v: (0, 1, 0), material: "wall"),
                    Quad(corner: (-1, -0.6, 0), edge_u: (2, 0, 0), edge_v: (0, 0, 2), material: "plain"),
                ],
            )"#,
            match material.contains("Blend") {
                true => format!("Diffuse(albedo: (0.6, 0.5, 0.4), {relief})"),
                false => "Diffuse(albedo: (0.6, 0.5, 0.4))".to_owned(),
            },
            material.replace("RELIEF", &relief),
            -0.5 * edge_u,
        ));
        render(&scene, &on_cpu()).1.film_hash
    };
    for material in [
        "Diffuse(albedo: (0.6, 0.5, 0.4), RELIEF)",
        "Principled(base_color: (0.6, 0.5, 0.4), roughness: 0.4, RELIEF)",
        "RoughConductor(preset: \"gold\", alpha: 0.3, RELIEF)",
        "Blend(first: \"plain\", second: \"bumpy\")",
        "Blend(first: \"plain\", second: \"bumpy\", RELIEF)",
        "Blend(first: \"plain\", second: \"bumpy\", by_side: true)",
    ] {
        let behind = |factor, mirrored| film(material, -1.0, factor, mirrored);
        assert_eq!(behind(1.0, true), behind(-1.0, false), "{material}");
        assert_ne!(behind(1.0, true), behind(1.0, false), "{material}");
        let before = |mirrored| film(material, 1.0, 1.0, mirrored);
        assert_eq!(before(true), before(false), "{material}");
    }
}
