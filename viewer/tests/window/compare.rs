//! Tests of the comparison with another image, and of the render of a region.

use std::fs;

use image::{GrayImage, RgbImage};
use libtest_mimic::Trial;

use crate::{
    denoiser::{PROGRAM_VARIABLE, black_denoiser},
    desktop::{BARE, Desktop, SCENE, differing_pixels, raysieve},
    program::add_tests,
};

pub(crate) fn add(trials: &mut Vec<Trial>, possible: &Result<(), String>) {
    add_tests!(
        trials, if possible.clone() =>
        another_image_is_shown_beside_the_picture_and_as_error_map,
        a_transparent_background_is_shown_and_saved_as_such,
        a_region_is_rendered_alone,
    );
}

/// Returns a part of a picture of 480 × 360 pixels, from its row 60 on, where there are no labels.
fn columns(shot: &RgbImage, from: u32, to: u32) -> RgbImage {
    image::imageops::crop_imm(shot, from, 60, to - from, 200).to_image()
}

fn another_image_is_shown_beside_the_picture_and_as_error_map() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("scene.ron"), SCENE).unwrap();
    for name in ["other.exr", "other.png"] {
        let mut command = raysieve(folder.path());
        let rendered = command
            .args(["scene.ron", "--seed", "7", "-o", name])
            .output();
        assert!(rendered.unwrap().status.success());
    }
    let other = image::open(folder.path().join("other.png"))
        .unwrap()
        .to_rgb8();
    let compared = folder.path().join("other.exr");
    let desktop = Desktop::open_bare(SCENE, &["--compare", compared.to_str().unwrap()]);
    desktop.until_title("scene.ron – 4 samples");
    let bare = desktop.save();
    assert!(differing_pixels(&bare, &other) > 10_000);
    let is_split = |shot: &RgbImage, at: u32| {
        columns(shot, 0, at - 10) == columns(&bare, 0, at - 10)
            && columns(shot, at + 10, 480) == columns(&other, at + 10, 480)
    };
    desktop.until_shown("half of each picture", |shot| is_split(shot, 240));
    desktop.drag("1", -120, 0);
    desktop.until_shown("the line where it was dragged", |shot| is_split(shot, 120));
    assert!(desktop.save() == bare, "the camera has not moved");

    desktop.press(&["X"]);
    desktop.until_shown("the error map left of the line", |shot| {
        let map = columns(shot, 0, 110);
        let is_dark = map.pixels().filter(|pixel| pixel.0[0] < 80).count();
        map != columns(&bare, 0, 110) && is_dark > 15_000
    });
    // The label left of the line, of 9 characters, names the map. It is even where it has no text.
    desktop.until_shown("the name of the map", |shot| {
        let label = image::imageops::crop_imm(shot, 40, 11, 9, 2).to_image();
        label
            .pixels()
            .all(|pixel| (10..40).contains(&pixel.0[1]) && pixel.0[0] < pixel.0[2])
    });
    desktop.press(&["x"]);
    desktop.until_shown("the error map alone", |shot| {
        columns(shot, 130, 480) != columns(&other, 130, 480)
    });
    let map = desktop.save();
    assert!(differing_pixels(&map, &bare) > 50_000, "the map is saved");
    desktop.press(&["X"]);
    desktop.until_same(&bare, "the picture alone");
}

fn a_transparent_background_is_shown_and_saved_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let scene = SCENE.replacen("objects", "background: Transparent,\n    objects", 1);
    fs::write(folder.path().join("scene.ron"), &scene).unwrap();
    let mut command = raysieve(folder.path());
    let rendered = command.args(["scene.ron", "-o", "other.png"]).output();
    assert!(rendered.unwrap().status.success());
    let other = folder.path().join("other.png");
    let denoiser = black_denoiser(folder.path());
    let desktop = Desktop::open_all(
        &scene,
        &["--compare", other.to_str().unwrap(), "--denoise=oidn"],
        &[(PROGRAM_VARIABLE, denoiser.to_str().unwrap())],
        BARE,
    );
    desktop.until_title("scene.ron – 4 samples");
    desktop.press(&["Escape", "x"]);
    let other = image::open(other).unwrap();
    let other = other.as_rgba8().expect("a picture with alpha");
    let alpha: Vec<u8> = other.pixels().map(|pixel| pixel.0[3]).collect();
    let alpha = GrayImage::from_raw(480, 360, alpha).unwrap();
    // Without labels and a legend, transparent pixels are those of `bare`, and opaque ones are black.
    let has_black_objects = |shot: &RgbImage, bare: Option<&RgbImage>| {
        let upper = columns(shot, 0, 480);
        let both = columns(bare.unwrap_or(shot), 0, 480);
        let alpha = image::imageops::crop_imm(&alpha, 0, 60, 480, 200).to_image();
        let mut pixels = upper.pixels().zip(both.pixels()).zip(alpha.pixels());
        pixels.all(|((pixel, bare), alpha)| match alpha.0 {
            [0] => pixel == bare,
            [255] => pixel.0.iter().all(|&value| value < 8),
            _ => true,
        })
    };
    desktop.until_shown("black denoised objects from the start", |shot| {
        has_black_objects(shot, None)
    });
    desktop.press(&["N", "Escape"]);
    desktop.until_shown("a checkerboard in the background", |shot| {
        let background = shot.pixels().zip(alpha.pixels());
        let mut background = background.filter(|(_, alpha)| alpha.0 == [0]);
        background.all(|(pixel, _)| [[102; 3], [153; 3]].contains(&pixel.0))
    });
    let bare = desktop.still();
    desktop.save();
    let saved = |name: &str| image::open(desktop.folder().join(name)).unwrap();
    assert!(saved("scene-001.png").as_rgba8() == Some(other));

    // Without a line, labels and a legend.
    desktop.press(&["x"]);
    desktop.until_shown("the same image right of a line", |shot| {
        differing_pixels(shot, &bare) > 300
            && columns(shot, 0, 230) == columns(&bare, 0, 230)
            && columns(shot, 250, 480) == columns(&bare, 250, 480)
    });
    desktop.press(&["x"]);
    desktop.until_same(&bare, "the picture alone");
    for (key, what) in [("X", "no error"), ("N", "black denoised objects")] {
        desktop.press(&[key]);
        desktop.until_shown(what, |shot| has_black_objects(shot, Some(&bare)));
        desktop.save();
        let name = if key == "X" {
            "scene-002.png"
        } else {
            "scene-003.png"
        };
        let saved = saved(name);
        let saved = saved.as_rgba8().expect("a picture with alpha").pixels();
        let mut upper = saved.zip(alpha.pixels()).take(480 * 260);
        assert!(
            upper.all(|(saved, alpha)| saved.0[3] == alpha.0[0]),
            "{what}"
        );
        desktop.press(&[key]);
    }
}

fn a_region_is_rendered_alone() {
    let desktop = Desktop::open_bare(SCENE, &["--spp", "1000000"]);
    desktop.press(&["o"]);
    desktop.drag("1", 80, 60);
    // The outline is at the corners of the region, which begins in the middle of the window.
    desktop.until_shown("the outline of the region", |shot| {
        let bright = |x: u32, y: u32| {
            let around = image::imageops::crop_imm(shot, x - 6, y - 6, 12, 12).to_image();
            around
                .pixels()
                .any(|pixel| pixel.0.iter().all(|&part| part > 250))
        };
        bright(240, 180) && bright(320, 240)
    });
    let inside = |shot: &RgbImage| image::imageops::crop_imm(shot, 250, 190, 60, 40).to_image();
    let outside = |shot: &RgbImage| image::imageops::crop_imm(shot, 20, 20, 200, 140).to_image();
    let first = desktop.shot();
    desktop.until_shown("other samples in the region", |shot| {
        inside(shot) != inside(&first)
    });
    let second = desktop.shot();
    assert!(
        outside(&second) == outside(&first),
        "the rest stays as it is"
    );
    desktop.press(&["O"]);
    desktop.until_shown("other samples in the whole picture", |shot| {
        outside(shot) != outside(&second)
    });
}
