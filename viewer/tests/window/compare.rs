//! Tests of the comparison with another image, and of the render of a region.

use std::fs;

use image::RgbImage;
use libtest_mimic::Trial;

use crate::{
    desktop::{Desktop, SCENE, differing_pixels, raysieve},
    program::add_tests,
};

pub(crate) fn add(trials: &mut Vec<Trial>, possible: &Result<(), String>) {
    add_tests!(
        trials, if possible.clone() =>
        another_image_is_shown_beside_the_picture_and_as_error_map,
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
    assert_eq!(desktop.save(), bare, "the camera has not moved");

    desktop.press(&["X"]);
    desktop.until_shown("the error map left of the line", |shot| {
        let map = columns(shot, 0, 110);
        let is_dark = map.pixels().filter(|pixel| pixel.0[0] < 80).count();
        map != columns(&bare, 0, 110) && is_dark > 15_000
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
    assert_eq!(outside(&second), outside(&first), "the rest stays as it is");
    desktop.press(&["O"]);
    desktop.until_shown("other samples in the whole picture", |shot| {
        outside(shot) != outside(&second)
    });
}
