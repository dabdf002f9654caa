//! Tests of scenes with many textures.

use std::{fmt::Write, time::Instant};

use image::GrayImage;

use super::load_with_picture;

/// Returns the shorter of two times in seconds that a scene with this number of different textures takes to load.
fn seconds(textures: usize) -> f64 {
    let mut text = String::from("WorldBegin\n");
    for number in 0..textures {
        writeln!(
            text,
            "Texture \"t\" \"float\" \"imagemap\" \"string filename\" \"picture.png\" \"float uscale\" {}",
            number + 1
        )
        .unwrap();
    }
    text += "Shape \"sphere\"";
    let loaded = |_| {
        let start = Instant::now();
        let scene = load_with_picture("scene.pbrt", &text, GrayImage::new(4, 4));
        assert!(scene.textures.len() >= textures, "{}", scene.textures.len());
        start.elapsed().as_secs_f64()
    };
    (0..2).map(loaded).fold(f64::INFINITY, f64::min)
}

#[test]
fn time_for_textures_grows_linearly() {
    let (few, many) = (seconds(10_000), seconds(80_000));
    // 64 times as long if each texture were compared with all others, and 8 times otherwise.
    assert!(many < 24.0 * few, "{few} s for 10,000, {many} s for 80,000");
}
