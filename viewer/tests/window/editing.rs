//! Tests of the editor in the window, by mouse and keys.

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
        a_lamp_is_dimmed_and_saved_by_mouse,
        colors_are_edited_in_a_small_window,
        figures_stay_visible_above_the_editor,
    );
}

/// Distance in pixels from the right edge of the window to the middle of the tool "Save as" of an editor over the picture.
pub(crate) const SAVE_AS: u32 = 224;
/// Vertical position in pixels of the tools of an editor over the picture.
pub(crate) const TOOLS: u32 = 42;
/// Distance in pixels from the right edge of the window to the number beside a slider.
pub(crate) const NUMBER: u32 = 126;

/// Returns the vertical position in pixels of a value of an editor over the picture, counted from 0.
pub(crate) fn row(number: u32) -> u32 {
    72 + 20 * number
}

/// Returns the text of the scene with a lamp.
fn lamp() -> String {
    SCENE.replace(
        "\"red\": Diffuse(albedo: (0.7, 0.2, 0.1)),",
        "\"red\": Emissive(radiance: (0.7, 0.2, 0.1)), // lamp",
    )
}

fn a_lamp_is_dimmed_and_saved_by_mouse() {
    let scene = lamp();
    // The editor covers nothing of the scene but its right part.
    let settings = "(statistics: off, size: Some((900, 360)))";
    let desktop = Desktop::open_all(&scene, &[], &[], settings);
    desktop.press(&["Escape"]);
    desktop.until_title("scene.ron – 4 samples");
    let home = desktop.save();
    desktop.press(&["l"]);
    // A click selects the lamp.
    desktop.click(210 + 150, 230);
    let slider = |share: f64| 900 - 254 + (110.0 * share) as u32;
    let number = 900 - NUMBER;
    let printed = |text: &str| {
        eventually(text, || desktop.output().contains(text).then_some(()));
    };
    desktop.click_visibly(number, row(0));
    desktop.press(&["2", "period", "8", "Return", "k"]);
    printed("\"red\": Emissive(radiance: (2.8, 0.8, 0.4)),");
    desktop.until_saved("a brighter picture", |picture| {
        differing_pixels(picture, &home) > 10_000
    });
    desktop.until_title("scene.ron – 4 samples");
    let bright = desktop.save();
    // Drags to the left, the second one beyond the end, turn the lamp off. Each is one step.
    desktop.drag_from((slider(0.5), row(0)), (slider(0.2), row(0)));
    desktop.drag_from((slider(0.5), row(0)), (slider(0.0) - 40, row(0)));
    desktop.press(&["k"]);
    printed("\"red\": Emissive(radiance: (0, 0, 0)),");
    desktop.press(&["ctrl+z", "ctrl+z"]);
    desktop.until_saved("both drags are undone", |picture| *picture == bright);
    desktop.press(&["ctrl+shift+z", "ctrl+y"]);
    desktop.press(&["u", "u", "u"]);
    desktop.until_saved("all edits are undone", |picture| *picture == home);
    desktop.press(&["ctrl+y"]);
    desktop.until_saved("the first edit is redone", |picture| *picture == bright);
    desktop.press(&["K"]);
    let expected = scene.replace("(0.7, 0.2, 0.1)", "(2.8, 0.8, 0.4)");
    eventually("the lamp is saved", || {
        (desktop.scene() == expected).then_some(())
    });
    // A click in the picture sets the number, and returns the keys to the window.
    desktop.click_visibly(number, row(0));
    desktop.press(&["7"]);
    desktop.click_visibly(210 + 20, 20);
    desktop.press(&["k"]);
    printed("\"red\": Emissive(radiance: (7, 2, 1)),");
    refused_numbers_are_explained(&desktop);
}

/// Types numbers for the field of view of a camera that the editor refuses.
fn refused_numbers_are_explained(desktop: &Desktop) {
    // A click selects the sky, two parts before the camera. The edit before may have hidden the path of an earlier click.
    desktop.until_title("scene.ron – 4 samples");
    let is_marked = |shot: &RgbImage| shot.get_pixel(210 + 20, 20).0 == [240, 243, 247];
    if !is_marked(&desktop.still()) {
        desktop.click(210 + 20, 20);
    }
    desktop.until_shown("the path of the sky", is_marked);
    desktop.press(&["m", "m"]);
    let number = 900 - NUMBER;
    desktop.click_visibly(number, row(0));
    desktop.press(&["7", "0", "Return", "k"]);
    eventually("the angle is set", || {
        desktop.output().contains("fov: 70").then_some(())
    });
    let warning = |shot: &RgbImage| {
        let editor = image::imageops::crop_imm(shot, 500, 60, 400, 120).to_image();
        let is_warning = |pixel: &&image::Rgb<u8>| pixel.0[0] > 220 && pixel.0[2] < 150;
        editor.pixels().filter(is_warning).count()
    };
    let plain = warning(&desktop.still());
    let refused = [
        &["7", "0", "0", "0"][..],
        &["7", "minus", "minus"],
        &["minus", "5"],
    ];
    for text in refused {
        desktop.click_visibly(number, row(0));
        desktop.press(text);
        desktop.press(&["Return"]);
        desktop.until_shown("an explanation", |shot| warning(shot) > plain + 100);
        // It stays longer than a message.
        thread::sleep(Duration::from_secs(4));
        assert!(warning(&desktop.shot()) > plain + 100);
        desktop.press(&["u"]);
        desktop.until_shown("no explanation", |shot| warning(shot) < plain + 50);
        desktop.press(&["ctrl+y"]);
    }
    desktop.press(&["k"]);
    eventually("the angle is as before the refused numbers", || {
        let output = desktop.output();
        (output.matches("fov: 70").count() == 2).then_some(())
    });
}

fn colors_are_edited_in_a_small_window() {
    let material = "\"red\": Principled(base_color: (0.570068, 0.2, 0.1)),";
    let scene = SCENE.replace("\"red\": Diffuse(albedo: (0.7, 0.2, 0.1)),", material);
    // The saved place is at the lower right of a larger screen than this one, of 1280 × 1024 pixels.
    let settings = "(statistics: off, size: Some((480, 360)), position: Some((1200, 1000)))";
    let desktop = Desktop::open_all(&scene, &[], &[], settings);
    let (x, y) = desktop.corner();
    assert!(
        (400..810).contains(&x) && (300..690).contains(&y),
        "the window is visible: {x}, {y}"
    );
    desktop.press(&["Escape"]);
    desktop.until_title("scene.ron – 4 samples");
    let home = desktop.save();
    desktop.press(&["l"]);
    desktop.until_shown("the editor over the picture", |shot| {
        differing_pixels(shot, &home) > 50_000
    });
    // Messages come and go in the lower part.
    let upper = |shot: &RgbImage| image::imageops::crop_imm(shot, 0, 0, 480, 240).to_image();
    // The wheel scrolls.
    desktop.point_at(200, 200);
    let editor = upper(&desktop.still());
    desktop.wheel_back(9);
    desktop.until_shown("further values", |shot| {
        differing_pixels(&upper(shot), &editor) > 3_000
    });
    desktop.wheel_forward(9);
    desktop.until_shown("the first values", |shot| upper(shot) == editor);
    // The field of green is the second one beside the swatch. Others keep all their digits.
    desktop.click_visibly(480 - 124, row(0));
    desktop.press(&["comma", "6", "Return", "k"]);
    let printed = |text: &str| {
        eventually(text, || desktop.output().contains(text).then_some(()));
    };
    printed("base_color: (0.570068, 0.6, 0.1)");
    // A click on the swatch opens a picker, which Escape closes.
    let before = upper(&desktop.still());
    desktop.click(480 - 234, row(0));
    desktop.until_shown("a color picker", |shot| {
        differing_pixels(&upper(shot), &before) > 10_000
    });
    desktop.press(&["Escape"]);
    desktop.until_shown("no picker", |shot| {
        differing_pixels(&upper(shot), &before) < 2_000
    });
    desktop.press(&["u"]);
    desktop.press(&["l"]);
    desktop.point_at(300, 20);
    desktop.until_same(&home, "the picture alone, without edits");
}

fn figures_stay_visible_above_the_editor() {
    let desktop = Desktop::rendered();
    desktop.press(&["Escape"]);
    let head = |shot: &RgbImage| image::imageops::crop_imm(shot, 490, 25, 500, 60).to_image();
    let lower = |shot: &RgbImage| image::imageops::crop_imm(shot, 490, 300, 500, 210).to_image();
    let before = desktop.still();
    desktop.press(&["l"]);
    desktop.until_shown("the editor below the figures", |shot| {
        differing_pixels(&lower(shot), &lower(&before)) > 2_000
    });
    assert_eq!(differing_pixels(&head(&desktop.shot()), &head(&before)), 0);
    desktop.press(&["l"]);
    desktop.until_same(&before, "the figures alone");
}
