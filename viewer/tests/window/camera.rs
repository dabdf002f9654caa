//! Tests of camera movement by mouse and keys, and of the inspection of paths.

use std::time::Duration;

use image::RgbImage;
use libtest_mimic::Trial;

use crate::{
    desktop::{Desktop, SCENE, differing_pixels, eventually},
    program::add_tests,
};

pub(crate) fn add(trials: &mut Vec<Trial>, possible: &Result<(), String>) {
    add_tests!(
        trials, if possible.clone() =>
        the_mouse_moves_the_camera_and_home_restores_it,
        a_camera_flies_while_keys_are_held,
        a_click_shows_a_path_until_the_camera_moves,
        a_path_is_hidden_by_a_second_click_a_right_click_and_escape,
        the_camera_can_be_printed_saved_and_undone,
    );
}

fn the_mouse_moves_the_camera_and_home_restores_it() {
    let desktop = Desktop::bare();
    let home = desktop.save();
    let moved = |what: &str| {
        // More pixels than a message covers.
        desktop.until_shown(what, |shot| differing_pixels(shot, &home) > 40_000);
        desktop.press(&["0"]);
        desktop.until_same(&home, "the picture of the scene's own camera");
    };
    desktop.drag("1", 120, 40);
    moved("the scene turned");
    desktop.drag("3", 120, 40);
    moved("the scene moved aside");
    desktop.press(&["Right", "Right", "Up"]);
    moved("the scene turned by keys");
    desktop.press(&["shift+Left", "shift+Left", "shift+Down"]);
    moved("the scene moved aside by keys");
    desktop.press(&["Next", "Next", "Next"]);
    moved("the scene from farther away by keys");
    desktop.wheel_back(5);
    moved("the scene from farther away");
}

fn a_camera_flies_while_keys_are_held() {
    let desktop = Desktop::bare();
    let home = desktop.save();
    desktop.press(&["g"]);
    // The message disappears by itself.
    desktop.until_shown("a message", |shot| *shot != home);
    desktop.until_same(&home, "the picture alone");
    for (key, way) in [
        ("w", "nearer"),
        ("d", "to the right"),
        ("Shift+a", "to the left"),
    ] {
        desktop.hold(key, Duration::from_millis(300));
        desktop.until_shown(way, |shot| differing_pixels(shot, &home) > 40_000);
        // The camera stands still once the key is released.
        desktop.still();
        desktop.press(&["0"]);
        desktop.until_same(&home, "the picture of the scene's own camera");
    }
    desktop.press(&["g"]);
    desktop.press(&["w"]);
    desktop.until_same(&home, "the same, since w flies no more");
}

fn a_click_shows_a_path_until_the_camera_moves() {
    let desktop = Desktop::bare();
    let bare = desktop.save();
    desktop.until_same(&bare, "the picture alone");

    // A click on the sphere shows a mark, the path, and the panel with its bounces.
    desktop.click(150, 200);
    desktop.until_shown("a path", |shot| differing_pixels(shot, &bare) > 5_000);
    let path = desktop.shot();
    let mark = |shot: &RgbImage| shot.get_pixel(150, 200).0 == [240, 243, 247];
    assert!(
        mark(&path) && !mark(&bare),
        "the clicked pixel must be marked"
    );
    assert!(
        desktop.save() == bare,
        "the saved picture must not contain the path"
    );

    desktop.drag("1", 40, 0);
    desktop.until_shown("another view", |shot| {
        differing_pixels(shot, &path) > 20_000
    });
    desktop.until_idle();
    desktop.until_title("scene.ron – 4 samples");
    let moved = desktop.save();
    assert!(moved != bare);
    desktop.until_same(&moved, "the picture without the path");
}

fn a_path_is_hidden_by_a_second_click_a_right_click_and_escape() {
    let desktop = Desktop::bare();
    let bare = desktop.save();
    desktop.until_same(&bare, "the picture alone");
    let hiding: [(&str, &dyn Fn()); 3] = [
        ("a second click", &|| desktop.click(150, 200)),
        ("a right click", &|| desktop.click_with("3", 60, 60)),
        ("Escape", &|| desktop.press(&["Escape"])),
    ];
    for (what, hide) in hiding {
        desktop.click(150, 200);
        desktop.until_shown("a path", |shot| differing_pixels(shot, &bare) > 5_000);
        hide();
        desktop.until_same(&bare, what);
    }
}

fn the_camera_can_be_printed_saved_and_undone() {
    let desktop = Desktop::bare();
    let home = desktop.save();
    desktop.drag("1", 60, -20);
    desktop.until_shown("another view", |shot| differing_pixels(shot, &home) > 5_000);

    desktop.press(&["k"]);
    let printed = eventually("the camera is printed", || {
        let output = desktop.output();
        output.starts_with("camera: (origin: (").then_some(output)
    });
    desktop.press(&["K"]);
    let saved = eventually("the camera is saved", || {
        Some(desktop.scene()).filter(|scene| scene != SCENE)
    });
    let origin = printed
        .split_once("origin: ")
        .and_then(|(_, rest)| rest.split_once("), "));
    let (origin, _) = origin.expect("the camera has an origin");
    let expected = SCENE.replace("(0, 1, 5)", &format!("{origin})"));
    assert_eq!(saved, expected, "only the changed numbers are saved");

    desktop.press(&["u"]);
    desktop.until_title("scene.ron – 4 samples");
    desktop.until_shown("the view before", |shot| {
        differing_pixels(shot, &home) < 20_000
    });
    desktop.until_same(&home, "the view before, to the bit");
}
