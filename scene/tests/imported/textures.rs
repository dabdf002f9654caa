//! Tests of scenes with many textures.

use std::{
    fmt::Write,
    time::{Duration, Instant},
};

use image::GrayImage;

use super::load_with_picture;

/// Number of different textures.
const TEXTURES: usize = 80_000;

#[test]
fn many_different_textures_load_soon() {
    let mut text = String::from("WorldBegin\n");
    for number in 1..=TEXTURES {
        writeln!(
            text,
            "Texture \"t\" \"float\" \"imagemap\" \"string filename\" \"picture.png\" \"float uscale\" {number}"
        )
        .unwrap();
    }
    text += "Shape \"sphere\"";
    let start = Instant::now();
    let scene = load_with_picture("scene.pbrt", &text, GrayImage::new(4, 4));
    assert!(scene.textures.len() >= TEXTURES, "{}", scene.textures.len());
    // Minutes if each texture were compared with all others, and seconds otherwise.
    let elapsed = start.elapsed();
    assert!(elapsed < Duration::from_secs(60), "{elapsed:?}");
}
