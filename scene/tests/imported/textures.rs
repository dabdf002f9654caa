//! Tests of scenes with many textures, and of textures of patterns.

use std::{fmt::Write, time::Duration};

use image::GrayImage;
use raysieve_scene::Surface;

use super::{assert_noted, load_with_picture, pbrt::world, thread_time::thread_time};

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

#[test]
fn patterns_of_pbrt_without_a_counterpart_have_their_mean() {
    let albedo = |class: &str, values: &str| {
        let texture = format!("Texture \"t\" \"spectrum\" \"{class}\" {values}");
        let material = "Material \"diffuse\" \"texture reflectance\" \"t\"";
        let scene = world(&format!("{texture}\n{material}\nShape \"sphere\"")).unwrap();
        let Surface::Diffuse { albedo, .. } = scene.materials[0] else {
            panic!("{:?}", scene.materials);
        };
        (albedo.x, scene)
    };
    let inputs = "\"rgb inside\" [1 1 1] \"rgb outside\" [0.5 0.5 0.5]";
    let (dots, scene) = albedo("dots", inputs);
    // Half of the unit squares have a dot of radius 0.35.
    assert!((dots - 0.596).abs() < 1e-3, "{dots}");
    assert_noted(
        &scene,
        "approximated: textures of type `dots` by their mean",
    );
    let inputs =
        "\"integer dimension\" 3 \"rgb tex1\" [0.75 0.75 0.75] \"rgb tex2\" [0.25 0.25 0.25]";
    let (board, scene) = albedo("checkerboard", inputs);
    assert!((board - 0.5).abs() < 1e-6, "{board}");
    assert_noted(&scene, "checkerboards in three dimensions");
}
