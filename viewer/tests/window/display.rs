//! Tests of what the window displays: the picture, the overlay, messages and debug views.

use std::{thread, time::Duration};

use image::RgbImage;
use libtest_mimic::Trial;

use crate::{
    desktop::{Desktop, SCENE, differing_pixels, eventually},
    program::add_tests,
};

pub(crate) fn add(trials: &mut Vec<Trial>, possible: &Result<(), String>) {
    add_tests!(
        trials, if possible.clone() =>
        the_window_shows_the_picture_it_saves,
        keys_change_what_is_shown,
        a_denoised_preview_is_marked_and_not_saved,
        messages_do_not_cover_other_panels,
        scene_errors_are_shown_over_the_picture,
        the_overlay_scales_with_the_pixel_density,
    );
}

fn the_window_shows_the_picture_it_saves() {
    let desktop = Desktop::rendered();
    let full = desktop.save();
    assert_eq!(full.dimensions(), (480, 360));
    desktop.until_same(&full, "the picture with the statistics");

    desktop.press(&["h"]);
    let short = desktop.save();
    desktop.until_same(&short, "the picture with a few figures");
    desktop.press(&["h"]);
    let bare = desktop.save();
    desktop.until_same(&bare, "the picture alone");
    let [all, few] = [&full, &short].map(|shown| differing_pixels(shown, &bare));
    assert!(all > 40_000, "the statistics cover only {all} pixels");
    assert!(
        (5_000..all / 2).contains(&few),
        "a few cover {few} of {all}"
    );

    desktop.press(&["h"]);
    desktop.until_same(&full, "the statistics again");
}

fn keys_change_what_is_shown() {
    let desktop = Desktop::rendered();
    let full = desktop.save();

    desktop.press(&["c"]);
    desktop.until_shown("another strategy in the first line", |shot| {
        first_line(shot) != first_line(&full)
    });

    desktop.press(&["h", "h"]);
    let bare = desktop.save();
    desktop.press(&["question"]);
    desktop.until_shown("the list of keys", |shot| {
        differing_pixels(shot, &bare) > 30_000
    });
    // The list is longer than the window, so it has pages, none of which is cut off.
    let first = desktop.shot();
    assert!(
        is_same_above(&first, &bare, 4),
        "a page must lie inside the window"
    );
    desktop.press(&["F1"]);
    desktop.until_shown("the next page", |shot| {
        differing_pixels(shot, &bare) > 5_000 && differing_pixels(shot, &first) > 5_000
    });
    assert!(is_same_above(&desktop.shot(), &bare, 4));
    desktop.press(&["F1"]);
    desktop.until_same(&bare, "the picture alone");

    for _ in 0..2 {
        desktop.press(&["v"]);
        let before = desktop.shot();
        desktop.until_shown("false colours, and their scale", |shot| {
            differing_pixels(shot, &bare) > 100_000 && shot.get_pixel(12, 348).0[0] < 90
        });
        desktop.press(&["v"]);
        desktop.until_shown("the next ones", |shot| {
            differing_pixels(shot, &before) > 50_000
        });
    }
    desktop.press(&["V"]);
    desktop.until_shown("the light again", |shot| {
        differing_pixels(shot, &bare) < 30_000
    });
    desktop.until_same(&bare, "the picture alone");

    desktop.press(&["plus", "e"]);
    let bright = desktop.save();
    desktop.press(&["E", "minus", "minus", "minus"]);
    let dark = desktop.save();
    let shades = [&dark, &bare, &bright].map(brightness);
    assert!(
        1.2 * shades[0] < shades[1] && 1.2 * shades[1] < shades[2],
        "brightness {shades:?}"
    );
}

fn a_denoised_preview_is_marked_and_not_saved() {
    let desktop = Desktop::rendered();
    desktop.press(&["h"]);
    let plain = desktop.save();
    desktop.until_same(&plain, "the picture with a few figures");
    desktop.press(&["n"]);
    // The message about denoising covers the picture for a while.
    thread::sleep(Duration::from_secs(4));
    let marked = |shot: &RgbImage| {
        let changed = differing_pixels(shot, &plain);
        let warns =
            |pixel: &&image::Rgb<u8>| pixel.0[0] > 220 && pixel.0[2] < 150 && pixel.0[1] < 160;
        changed > 2_000 && shot.pixels().filter(warns).count() > 100
    };
    desktop.until_shown("a smoother picture, and what it is", marked);
    let saved = desktop.save();
    assert_eq!(
        differing_pixels(&saved, &plain),
        0,
        "the picture must not be denoised"
    );
    desktop.press(&["n"]);
    desktop.until_same(&plain, "the noisy picture");
}

fn messages_do_not_cover_other_panels() {
    let desktop = Desktop::rendered();
    desktop.press(&["h", "h"]);
    let bare = desktop.save();
    desktop.until_shown("where it is saved", |shot| *shot != bare);
    desktop.until_same(&bare, "the picture alone");
    desktop.click(150, 200);
    desktop.until_shown("a path", |shot| differing_pixels(shot, &bare) > 5_000);
    let path = desktop.still();
    // The description of the path is in the lower right corner.
    let figures = |shot: &RgbImage| image::imageops::crop_imm(shot, 280, 290, 190, 60).to_image();
    assert_ne!(figures(&path), figures(&bare));
    desktop.press(&["g"]);
    desktop.until_shown("that it flies", |shot| {
        differing_pixels(shot, &path) > 1_000
    });
    assert_eq!(figures(&desktop.shot()), figures(&path));

    // The legend is placed beside or above it.
    desktop.until_same(&path, "the path alone");
    desktop.press(&["v"]);
    desktop.until_shown("false colours", |shot| {
        differing_pixels(shot, &path) > 100_000
    });
    let shot = desktop.shot();
    // The panel is translucent.
    let words = |shot: &RgbImage| -> Vec<bool> {
        let figures = figures(shot);
        figures.pixels().map(|pixel| pixel.0[0] > 140).collect()
    };
    let (now, before) = (words(&shot), words(&path));
    let others = now
        .iter()
        .zip(&before)
        .filter(|(now, before)| now != before);
    assert!(
        others.count() < 60,
        "the path's description must stay uncovered"
    );
}

fn scene_errors_are_shown_over_the_picture() {
    let desktop = Desktop::rendered();
    desktop.press(&["h", "h"]);
    let bare = desktop.save();
    desktop.until_shown("where it is saved", |shot| *shot != bare);
    desktop.until_same(&bare, "the picture alone");
    desktop.write_scene(&SCENE.replace("albedo", "albeda"));
    desktop.until_shown("what is wrong, over the picture", |shot| {
        (2_000..100_000).contains(&differing_pixels(shot, &bare))
    });
    // The file may be read before it is complete.
    eventually("the error is reported", || {
        desktop.errors().contains("did you mean").then_some(())
    });
    let with_error = desktop.still();
    // Longer than a message is displayed.
    thread::sleep(Duration::from_secs(4));
    desktop.until_same(&with_error, "the error stays");
    assert_eq!(desktop.errors().matches("did you mean").count(), 1);
    desktop.write_scene(SCENE);
    desktop.until_same(&bare, "the picture alone again");
    desktop.write_scene(&SCENE.replace("(0.7, 0.2, 0.1)", "(0.1, 0.2, 0.7)"));
    desktop.until_shown("another colour", |shot| {
        differing_pixels(shot, &bare) > 10_000
    });
}

/// Twice the pixel density doubles the width and height of the overlay, in pixels.
fn the_overlay_scales_with_the_pixel_density() {
    let covered = |scale: &str| {
        let variable = [("WINIT_X11_SCALE_FACTOR", scale)];
        let desktop = Desktop::open_with(SCENE, &["--size", "400x300"], &variable);
        desktop.until_title("scene.ron – 4 samples");
        desktop.resize(1000, 750);
        desktop.until_shown("a window of this size", |shot| {
            shot.dimensions() == (1000, 750)
        });
        thread::sleep(Duration::from_millis(500));
        let full = desktop.shot();
        desktop.press(&["h", "h"]);
        desktop.until_shown("the picture alone", |shot| {
            differing_pixels(shot, &full) > 10_000
        });
        thread::sleep(Duration::from_millis(500));
        differing_pixels(&desktop.shot(), &full)
    };
    let [once, twice] = ["1", "2"].map(covered);
    assert!(2 * twice > 5 * once, "{once} pixels, then {twice}");
}

/// Returns whether this many rows from the top are equal.
fn is_same_above(one: &RgbImage, other: &RgbImage, rows: u32) -> bool {
    let rows = |picture: &RgbImage| {
        image::imageops::crop_imm(picture, 0, 0, picture.width(), rows).to_image()
    };
    rows(one) == rows(other)
}

/// Returns the pixels of the first line of the statistics, which shows the scene and the strategy.
fn first_line(picture: &RgbImage) -> Vec<u8> {
    image::imageops::crop_imm(picture, 0, 0, picture.width(), 34)
        .to_image()
        .into_raw()
}

/// Returns the mean of all bytes.
fn brightness(picture: &RgbImage) -> f64 {
    picture.iter().map(|&byte| f64::from(byte)).sum::<f64>() / picture.len() as f64
}
