//! Tests of scenes with many textures.

use std::{fmt::Write, time::Duration};

use image::GrayImage;

use super::{load_with_picture, thread_time::thread_time};

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
    let before = thread_time();
    let scene = load_with_picture("scene.pbrt", &text, GrayImage::new(4, 4));
    assert!(scene.textures.len() >= TEXTURES, "{}", scene.textures.len());
    // Minutes if each texture were compared with all others, and seconds otherwise.
    if let (Some(before), Some(after)) = (before, thread_time()) {
        let took = after - before;
        assert!(took < Duration::from_secs(20), "{took:?}");
    }
}
