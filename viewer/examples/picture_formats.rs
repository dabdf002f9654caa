//! Times the encoding of a page's images in several formats on one thread, for the first sample of a render and a later
//! one: `cargo run --example picture_formats -- [SCENE] [WIDTHxHEIGHT]`.

use std::{
    env,
    error::Error,
    path::Path,
    time::{Duration, Instant},
};

use image::{ExtendedColorType, ImageEncoder, codecs};
use jpeg_encoder::{ColorType, Encoder, SamplingFactor};
use raysieve::{
    film::picture::tone::to_srgb8,
    render::renderer::{Renderer, Settings},
    scene::Scene,
};

/// Number of rounds over all formats; minimum and median of each are printed.
const ROUNDS: usize = 15;

/// Samples per pixel of the images.
const SAMPLES: [u32; 2] = [1, 16];

/// An 8-bit image, with and without alpha.
struct Pixels {
    width: u32,
    height: u32,
    rgba: Vec<u8>,
    rgb: Vec<u8>,
}

/// Name and encoder of a format.
type Format = (&'static str, fn(&Pixels) -> Result<Vec<u8>, Box<dyn Error>>);

const FORMATS: [Format; 9] = [
    ("JPEG 75, 4:2:0", |pixels| {
        jpeg(pixels, 75, SamplingFactor::F_2_2)
    }),
    ("JPEG 85, 4:2:0", |pixels| {
        jpeg(pixels, 85, SamplingFactor::F_2_2)
    }),
    ("JPEG 85, 4:4:4", |pixels| {
        jpeg(pixels, 85, SamplingFactor::F_1_1)
    }),
    ("JPEG 95, 4:2:0", |pixels| {
        jpeg(pixels, 95, SamplingFactor::F_2_2)
    }),
    ("JPEG 85, 4:2:0, by `image`", |pixels| {
        let mut bytes = Vec::new();
        encode(
            codecs::jpeg::JpegEncoder::new_with_quality(&mut bytes, 85),
            pixels,
        )?;
        Ok(bytes)
    }),
    ("PNG, fastest", |pixels| {
        png(pixels, png::Compression::Fastest)
    }),
    ("PNG, fast", |pixels| png(pixels, png::Compression::Fast)),
    ("PNG, balanced", |pixels| {
        png(pixels, png::Compression::Balanced)
    }),
    ("WebP, lossless", |pixels| {
        let mut bytes = Vec::new();
        encode(codecs::webp::WebPEncoder::new_lossless(&mut bytes), pixels)?;
        Ok(bytes)
    }),
];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let path = arguments
        .first()
        .map_or("scenes/cornell.ron", String::as_str);
    let size = arguments.get(1).map_or("1920x1080", String::as_str);
    let (width, height) = size
        .split_once('x')
        .ok_or("expected a size as WIDTHxHEIGHT")?;
    for samples in SAMPLES {
        let mut scene = Scene::load(Path::new(path))?;
        scene.set_size((width.parse()?, height.parse()?));
        scene.spp = samples;
        scene.check_settings()?;
        let mut renderer = Renderer::new(&scene, &Settings::default())?;
        while renderer.advance()? {}
        let rgba = to_srgb8(&renderer.picture()?, scene.exposure_stops, scene.tone);
        let pixels = Pixels {
            width: scene.size.0,
            height: scene.size.1,
            rgb: rgba
                .chunks_exact(4)
                .flat_map(|pixel| [pixel[0], pixel[1], pixel[2]])
                .collect(),
            rgba,
        };
        println!("{path}, {size}, samples per pixel: {samples}\n");
        println!("| format | min, ms | median, ms | kB |\n|---|---:|---:|---:|");
        let mut times = vec![Vec::new(); FORMATS.len()];
        let mut lengths = [0; FORMATS.len()];
        for _ in 0..ROUNDS {
            for (place, (_, format)) in FORMATS.iter().enumerate() {
                let start = Instant::now();
                lengths[place] = format(&pixels)?.len();
                times[place].push(start.elapsed());
            }
        }
        for ((name, _), (mut times, length)) in FORMATS.iter().zip(times.into_iter().zip(lengths)) {
            times.sort();
            let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
            let (min_time, median) = (milliseconds(times[0]), milliseconds(times[ROUNDS / 2]));
            println!(
                "| {name} | {min_time:.1} | {median:.1} | {} |",
                length / 1000
            );
        }
        println!();
    }
    Ok(())
}

fn jpeg(pixels: &Pixels, quality: u8, colors: SamplingFactor) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, quality);
    encoder.set_sampling_factor(colors);
    encoder.encode(
        &pixels.rgba,
        pixels.width.try_into()?,
        pixels.height.try_into()?,
        ColorType::Rgba,
    )?;
    Ok(bytes)
}

fn png(pixels: &Pixels, compression: png::Compression) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, pixels.width, pixels.height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(compression);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&pixels.rgb)?;
    writer.finish()?;
    Ok(bytes)
}

fn encode(encoder: impl ImageEncoder, pixels: &Pixels) -> Result<(), Box<dyn Error>> {
    encoder.write_image(
        &pixels.rgb,
        pixels.width,
        pixels.height,
        ExtendedColorType::Rgb8,
    )?;
    Ok(())
}
