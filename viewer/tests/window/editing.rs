//! Tests of the panel of properties in the window, by mouse and keys.

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
        properties_are_edited_in_a_small_window,
    );
}

/// Row of the panel, from its title, with its height in pixels.
const ROW: u32 = 20;

/// Upper edge of the panel's first row in pixels.
const TOP: u32 = 18;

/// Returns the middle of a row of the panel in pixels from the top.
fn row(number: u32) -> u32 {
    TOP + number * ROW + 7
}

fn a_lamp_is_dimmed_and_saved_by_mouse() {
    let scene = SCENE.replace(
        "\"red\": Diffuse(albedo: (0.7, 0.2, 0.1)),",
        "\"red\": Emissive(radiance: (0.7, 0.2, 0.1)), // lamp",
    );
    let desktop = Desktop::open(&scene, &[]);
    desktop.until_title("scene.ron – 4 samples");
    let home = desktop.save();
    desktop.press(&["l"]);
    // The panel covers the figures, and the picture stays visible.
    let picture = |shot: &RgbImage| {
        image::imageops::crop_imm(shot, 0, (shot.height() - 360) / 2, 480, 360).to_image()
    };
    desktop.until_shown("the whole picture beside the panel", |shot| {
        picture(shot) == home
    });
    let (width, height) = desktop.shot().dimensions();
    let below =
        |shot: &RgbImage| image::imageops::crop_imm(shot, 480, 300, width, height).to_image();
    // A click selects the lamp and shows a path; a second one hides the path. Its description is below the panel.
    for what in ["a path", "no path"] {
        let before = below(&desktop.shot());
        desktop.click(150, 230);
        desktop.until_shown(what, |shot| differing_pixels(&below(shot), &before) > 1_000);
    }
    desktop.until_shown("the picture without the path", |shot| picture(shot) == home);
    let before = below(&desktop.still());
    desktop.press(&["i"]);
    desktop.until_shown("the pixel described below the panel", |shot| {
        picture(shot) == home && differing_pixels(&below(shot), &before) > 1_000
    });
    desktop.press(&["i"]);
    desktop.until_shown("no description", |shot| below(shot) == before);
    // The first property is the strength. Its slider is in the right half of the panel.
    let at = |share: f64| width - 18 - (260.0 * (1.0 - share)) as u32;
    // The list of keys takes the place of the panel, which a click then does not reach.
    let beside =
        |shot: &RgbImage| image::imageops::crop_imm(shot, 480, 0, width, height).to_image();
    let panel = beside(&desktop.still());
    desktop.press(&["question"]);
    desktop.until_shown("the list of keys", |shot| {
        differing_pixels(&beside(shot), &panel) > 10_000
    });
    desktop.click(at(0.5), row(2));
    desktop.press(&["Escape"]);
    // The message about the saved picture, below the picture, may have disappeared in the meantime.
    desktop.until_shown("the panel again", |shot| {
        beside(shot) == panel && picture(shot) == home
    });
    let message = |shot: &RgbImage| image::imageops::crop_imm(shot, 0, 440, 480, 72).to_image();
    let before = message(&desktop.still());
    desktop.click(at(0.5), row(2));
    desktop.press(&["2", "period", "8", "x"]);
    desktop.until_shown("how typing ends", |shot| {
        differing_pixels(&message(shot), &before) > 500
    });
    desktop.press(&["Return", "k"]);
    let printed = |text: &str| {
        eventually(text, || desktop.output().contains(text).then_some(()));
    };
    printed("\"red\": Emissive(radiance: (2.8, 0.8, 0.4)),");
    desktop.until_saved("a brighter picture", |picture| {
        differing_pixels(picture, &home) > 10_000
    });
    desktop.until_title("scene.ron – 4 samples");
    let bright = desktop.save();
    // A drag to the left end turns the lamp off, in one step.
    desktop.drag_from((at(0.5), row(2)), (at(0.1), row(2)));
    desktop.drag_from((at(0.5), row(2)), (at(0.0) - 40, row(2)));
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
    // A click in the picture sets the number, selects what is there, and returns the keys to the window.
    desktop.click(at(0.5), row(2));
    desktop.press(&["7"]);
    desktop.click(300, 20);
    desktop.press(&["k"]);
    printed("\"red\": Emissive(radiance: (7, 2, 1)),");
    // A click on the name of the part lists all parts, of which the camera is the fifth.
    desktop.click_visibly(at(0.0), row(0));
    desktop.click_visibly(at(0.0), row(6));
    desktop.click_visibly(at(0.5), row(2));
    desktop.press(&["7", "0", "Return", "k"]);
    printed("fov: 70");
    // A refused number gets an explanation below its row, until the next input, such as an undo.
    let panel = |shot: &RgbImage| {
        let panel = image::imageops::crop_imm(shot, 480, 0, width - 480, 200).to_image();
        let is_warning = |pixel: &&image::Rgb<u8>| pixel.0[0] > 220 && pixel.0[2] < 150;
        panel.pixels().filter(is_warning).count()
    };
    let plain = panel(&desktop.still());
    let refused = [
        &["7", "0", "0", "0"][..],
        &["7", "minus", "minus"],
        &["minus", "5"],
    ];
    for text in refused {
        desktop.click(at(0.5), row(2));
        desktop.press(text);
        desktop.press(&["Return"]);
        desktop.until_shown("an explanation", |shot| panel(shot) > plain + 100);
        // It stays longer than a message.
        thread::sleep(Duration::from_secs(4));
        assert!(panel(&desktop.shot()) > plain + 100);
        desktop.press(&["u"]);
        desktop.until_shown("no explanation", |shot| panel(shot) < plain + 50);
        desktop.press(&["ctrl+y"]);
    }
    desktop.press(&["k"]);
    eventually("the angle is as before the refused numbers", || {
        let output = desktop.output();
        (output.matches("fov: 70").count() == 2).then_some(())
    });
}

fn properties_are_edited_in_a_small_window() {
    let material = "\"red\": Principled(base_color: (0.7, 0.2, 0.1)),";
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
    desktop.until_shown("where it is saved", |shot| *shot != home);
    desktop.until_same(&home, "the picture alone");
    desktop.press(&["l"]);
    desktop.until_shown("the panel over the picture", |shot| {
        differing_pixels(shot, &home) > 50_000
    });
    let panel = desktop.still();
    // The wheel over the labels scrolls.
    desktop.point_at(200, 200);
    desktop.wheel_back(9);
    desktop.until_shown("further properties", |shot| {
        differing_pixels(shot, &panel) > 3_000
    });
    desktop.wheel_forward(9);
    desktop.until_same(&panel, "the first properties");
    // The wheel over a slider changes it: here the metallic part.
    desktop.point_at(400, row(3));
    desktop.wheel_forward(5);
    desktop.press(&["k"]);
    eventually("the edit is printed", || {
        desktop.output().contains("metallic: 0.").then_some(())
    });
    // A click on the swatch shows sliders of hue, saturation and value.
    desktop.until_title("scene.ron – 4 samples");
    desktop.click_visibly(400, row(2));
    desktop.click(400, row(3));
    desktop.press(&["1", "2", "0", "Return"]);
    desktop.press(&["k"]);
    eventually("a green is printed", || {
        let output = desktop.output();
        let color = output.rsplit_once("base_color: (")?.1;
        let channels = color.split(')').next()?.split(", ");
        let channels: Vec<f64> = channels
            .filter_map(|channel| channel.parse().ok())
            .collect();
        (channels[1] > 0.6 && channels[0] < 0.2).then_some(())
    });
    desktop.press(&["u", "u"]);
    desktop.press(&["l"]);
    desktop.until_same(&home, "the picture alone, without edits");
}
