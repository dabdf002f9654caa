//! Tests of what the window displays: the picture, the overlay, messages and debug views.

use image::RgbImage;
use libtest_mimic::Trial;

use crate::{
    desktop::{Desktop, SCENE, differing_pixels, eventually},
    program::add_tests,
};

pub(crate) fn add(trials: &mut Vec<Trial>, possible: &Result<(), String>) {
    add_tests!(
        trials, if possible.clone() =>
        figures_are_beside_the_picture_until_h_moves_them,
        hints_cover_no_figures_and_disappear_with_any_input,
        small_pictures_are_enlarged_by_a_whole_factor,
        strategies_are_compared_after_the_last_sample,
        the_table_has_one_unit,
        tooltips_cover_no_figures,
        arrow_keys_stay_in_an_open_menu,
        pixels_can_be_magnified_and_described,
        a_description_covers_neither_figures_nor_its_pixel,
        text_has_the_size_that_keys_select,
        keys_change_what_is_shown,
        a_denoised_preview_is_marked_and_not_saved,
        messages_do_not_cover_other_panels,
        messages_are_over_the_list_of_keys,
        scene_errors_are_shown_over_the_picture,
        the_overlay_scales_with_the_pixel_density,
        a_large_monitor_without_a_scale_has_large_text,
    );
}

/// Returns the part of the window that contains the picture of [`SCENE`], whose upper left corner is at `x`.
fn picture_at(shot: &RgbImage, x: u32) -> RgbImage {
    image::imageops::crop_imm(shot, x, (shot.height() - 360) / 2, 480, 360).to_image()
}

/// Returns the part of the window to the right of the picture.
fn panel(shot: &RgbImage) -> RgbImage {
    image::imageops::crop_imm(shot, 480, 0, shot.width() - 480, shot.height()).to_image()
}

fn figures_are_beside_the_picture_until_h_moves_them() {
    let desktop = Desktop::rendered();
    // Tooltips of the figures cover the picture if there is no room below them.
    desktop.point_at(5, 505);
    let bare = desktop.save();
    assert_eq!(bare.dimensions(), (480, 360));
    desktop.until_shown("the whole picture, with figures beside it", |shot| {
        picture_at(shot, 0) == bare && brightness(&panel(shot)) > 25.0
    });
    let middle = (desktop.shot().width() - 480) / 2;

    desktop.press(&["h"]);
    let covered = desktop.save();
    let all = differing_pixels(&covered, &bare);
    assert!(all > 40_000, "the statistics cover only {all} pixels");
    // A render that ends soon has no graph of its speed, and covers less.
    desktop.until_shown("figures over the picture", |shot| {
        differing_pixels(&picture_at(shot, middle), &bare) > 15_000
    });

    desktop.press(&["h"]);
    assert!(desktop.save() == bare);
    desktop.until_shown("the picture above the short form", |shot| {
        let mut rows = 0..shot.height() - 360;
        rows.any(|y| *image::imageops::crop_imm(shot, middle, y, 480, 360).to_image() == *bare)
            && picture_at(shot, middle) != bare
    });

    desktop.press(&["h"]);
    let below = |shot: &RgbImage| image::imageops::crop_imm(shot, middle, 440, 480, 70).to_image();
    desktop.until_shown("a message below the picture alone", |shot| {
        let below = below(shot);
        picture_at(shot, middle) == bare && below.pixels().any(|pixel| *pixel != below[(0, 0)])
    });
    desktop.until_shown("the picture alone", |shot| {
        let border = image::imageops::crop_imm(shot, 0, 0, middle, shot.height()).to_image();
        let is_border = |area: &RgbImage| area.pixels().all(|pixel| *pixel == border[(0, 0)]);
        picture_at(shot, middle) == bare && is_border(&border) && is_border(&below(shot))
    });
}

fn hints_cover_no_figures_and_disappear_with_any_input() {
    let mut desktop = Desktop::rendered();
    let hinted = desktop.still();
    desktop.press(&["Escape"]);
    desktop.until_shown("the window without hints", |shot| {
        differing_pixels(shot, &hinted) > 1_000
    });
    let without = desktop.still();
    // They cover the space around the figures, or else the picture.
    let around = image::Rgb([24, 26, 30]);
    let is_free = |(x, y, hinted): (u32, u32, &image::Rgb<u8>)| {
        let without = *without.get_pixel(x, y);
        x < 480 || without == *hinted || without == around
    };
    assert!(hinted.enumerate_pixels().all(is_free));
    desktop.press(&["q"]);
    assert_eq!(desktop.until_ended().code(), Some(0));

    let desktop = Desktop::rendered();
    desktop.click_with("3", 100, 100);
    let lower = |shot: &RgbImage| image::imageops::crop_imm(shot, 0, 440, 480, 72).to_image();
    desktop.until_shown("the window without hints", |shot| {
        lower(shot) == lower(&without)
    });
}

fn small_pictures_are_enlarged_by_a_whole_factor() {
    let desktop = Desktop::open(&SCENE.replace("(480, 360)", "(64, 48)"), &[]);
    desktop.until_title("scene.ron – 4 samples");
    let small = desktop.save();
    assert_eq!(small.dimensions(), (64, 48));
    let large = image::imageops::resize(&small, 512, 384, image::imageops::FilterType::Nearest);
    desktop.until_shown("the picture eight times as large", |shot| {
        let y = (shot.height() - 384) / 2;
        *image::imageops::crop_imm(shot, 0, y, 512, 384).to_image() == *large
    });
}

fn strategies_are_compared_after_the_last_sample() {
    let desktop = Desktop::rendered();
    let before = desktop.save();
    let alone = panel(&desktop.still());
    desktop.press(&["c"]);
    desktop.until_title("4 samples, comparing strategies");
    desktop.until_title("scene.ron – 4 samples – ");
    assert!(desktop.save() == before, "the film is restored");
    let compared = panel(&desktop.still());
    assert!(differing_pixels(&compared, &alone) > 2_000);
    // A second press ends a comparison.
    desktop.press(&["c"]);
    desktop.until_title("4 samples, comparing strategies");
    desktop.press(&["c"]);
    desktop.until_title("scene.ron – 4 samples – ");
    assert!(desktop.save() == before);
}

fn the_table_has_one_unit() {
    let desktop = Desktop::rendered();
    desktop.press(&["Escape"]);
    let per_sample = panel(&desktop.still());
    desktop.press(&["U"]);
    desktop.until_shown("totals", |shot| {
        differing_pixels(&panel(shot), &per_sample) > 500
    });
    desktop.press(&["U"]);
    desktop.until_shown("figures per sample", |shot| panel(shot) == per_sample);
}

fn tooltips_cover_no_figures() {
    let desktop = Desktop::rendered();
    desktop.press(&["Escape"]);
    desktop.point_at(240, 20);
    let before = desktop.still();
    desktop.point_at(700, 170);
    // The tooltip is below the panel of 300 pixels or, if a slow render has graphs, beside it.
    desktop.until_shown("a tooltip that covers no figures", |shot| {
        let is_clear = is_same_above(shot, &before, 300) || panel(shot) == panel(&before);
        differing_pixels(shot, &before) > 5_000 && is_clear
    });
}

fn arrow_keys_stay_in_an_open_menu() {
    let desktop = Desktop::rendered();
    desktop.press(&["Escape"]);
    desktop.click_visibly(507, 16);
    // There are eight groups, of which the fourth is that of files. Its last item prints the camera.
    desktop.press(&["Down"; 12]);
    desktop.press(&["Right", "Right", "Up", "Return"]);
    eventually("the printed camera", || {
        desktop.output().contains("camera: (").then_some(())
    });
}

fn pixels_can_be_magnified_and_described() {
    let desktop = Desktop::bare();
    let bare = desktop.save();
    desktop.until_same(&bare, "the picture alone");
    desktop.point_at(150, 200);
    desktop.key_down("ctrl");
    desktop.wheel_forward(10);
    desktop.key_up("ctrl");
    let at = bare.get_pixel(150, 200);
    desktop.until_shown("the pixel at the pointer as a square", |shot| {
        let square = image::imageops::crop_imm(shot, 148, 198, 4, 4).to_image();
        let even = square.pixels().all(|pixel| pixel == at);
        even && differing_pixels(shot, &bare) > 50_000
    });
    let magnified = desktop.still();
    assert!(desktop.save() == bare, "the saved picture is not magnified");
    desktop.key_down("ctrl");
    desktop.wheel_forward(10);
    desktop.key_up("ctrl");
    desktop.until_shown("values in the pixels", |shot| {
        differing_pixels(shot, &magnified) > 20_000
    });
    desktop.press(&["Z"]);
    desktop.until_same(&bare, "the whole picture");

    desktop.press(&["i"]);
    desktop.until_shown("what is in the pixel", |shot| {
        (2_000..100_000).contains(&differing_pixels(shot, &bare))
    });
    let one = desktop.still();
    desktop.point_at(300, 100);
    desktop.until_shown("what is in another", |shot| {
        differing_pixels(shot, &one) > 200
    });
    desktop.press(&["i"]);
    desktop.until_same(&bare, "the picture alone");
}

fn a_description_covers_neither_figures_nor_its_pixel() {
    let desktop = Desktop::rendered();
    desktop.point_at(150, 340);
    desktop.press(&["Escape"]);
    let plain = desktop.still();
    desktop.press(&["i"]);
    desktop.until_shown("what is in the pixel", |shot| {
        differing_pixels(shot, &plain) > 2_000
    });
    let described = desktop.still();
    let border = image::Rgb([24, 26, 30]);
    for (x, y, pixel) in plain.enumerate_pixels() {
        let is_same = described.get_pixel(x, y) == pixel;
        assert!(x < 480 || is_same || *pixel == border, "{x}, {y}");
    }
    let pointed = |shot: &RgbImage| image::imageops::crop_imm(shot, 144, 334, 12, 12).to_image();
    assert!(pointed(&described) == pointed(&plain));
}

fn text_has_the_size_that_keys_select() {
    let desktop = Desktop::rendered();
    desktop.point_at(5, 505);
    desktop.press(&["Escape"]);
    let normal = desktop.still();
    let picture = picture_at(&normal, 0);
    desktop.press(&["ctrl+minus", "ctrl+minus", "Escape"]);
    desktop.until_shown("smaller text beside the picture", |shot| {
        picture_at(shot, 0) == picture && differing_pixels(&panel(shot), &panel(&normal)) > 5_000
    });
    desktop.press(&["ctrl+0", "Escape"]);
    desktop.until_same(&normal, "text of the default size");
    desktop.press(&["F11"]);
    desktop.until_shown("a window that fills the screen", |shot| {
        shot.dimensions() == (1280, 1024)
    });
    desktop.press(&["F11"]);
    desktop.until_same(&normal, "the window before");
}

fn keys_change_what_is_shown() {
    let desktop = Desktop::bare();
    let bare = desktop.save();
    desktop.until_same(&bare, "the picture alone");
    desktop.press(&["question"]);
    desktop.until_shown("the list of keys", |shot| {
        differing_pixels(shot, &bare) > 30_000
    });
    // The list is longer than the window, so it scrolls, and is not cut off.
    let first = desktop.still();
    assert!(
        is_same_above(&first, &bare, 4),
        "the list must lie inside the window"
    );
    desktop.press(&["Next"]);
    desktop.until_shown("further keys", |shot| {
        differing_pixels(shot, &bare) > 5_000 && differing_pixels(shot, &first) > 5_000
    });
    assert!(is_same_above(&desktop.shot(), &bare, 4));
    desktop.press(&["Home"]);
    desktop.until_same(&first, "the first keys");
    desktop.press(&["F1"]);
    desktop.until_same(&bare, "the picture alone");

    for _ in 0..2 {
        desktop.press(&["v"]);
        let before = desktop.shot();
        desktop.until_shown("false colors, and their scale", |shot| {
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

/// Returns whether two pictures are equal, except that the graphics card rounds translucent pixels differently.
fn is_similar(one: &RgbImage, other: &RgbImage) -> bool {
    let mut pairs = one.as_raw().iter().zip(other.as_raw());
    one.dimensions() == other.dimensions() && pairs.all(|(one, other)| one.abs_diff(*other) <= 2)
}

fn a_denoised_preview_is_marked_and_not_saved() {
    let settings = "(statistics: overlay, size: Some((480, 360)))";
    let desktop = Desktop::open_all(SCENE, &[], &[], settings);
    desktop.until_title("scene.ron – 4 samples");
    let plain = desktop.save();
    desktop.until_shown("the picture with the figures", |shot| {
        is_similar(shot, &plain)
    });
    desktop.press(&["n"]);
    // The message about denoising covers the picture for a while.
    desktop.until_no_message(360);
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
    desktop.until_shown("the noisy picture", |shot| is_similar(shot, &plain));
}

fn messages_do_not_cover_other_panels() {
    let desktop = Desktop::bare();
    let bare = desktop.save();
    desktop.until_shown("where it is saved", |shot| *shot != bare);
    desktop.until_same(&bare, "the picture alone");
    desktop.click(150, 200);
    desktop.until_shown("a path", |shot| differing_pixels(shot, &bare) > 5_000);
    // The message about the selected material covers the picture for a while, above the path's description.
    desktop.until_no_message(255);
    let path = desktop.still();
    // The description of the path is in the lower right corner.
    let figures = |shot: &RgbImage| image::imageops::crop_imm(shot, 280, 290, 190, 60).to_image();
    assert!(figures(&path) != figures(&bare));
    desktop.press(&["g"]);
    desktop.until_shown("that it flies", |shot| {
        differing_pixels(shot, &path) > 1_000
    });
    assert!(figures(&desktop.shot()) == figures(&path));

    // The legend is placed beside or above it.
    desktop.until_same(&path, "the path alone");
    desktop.press(&["v"]);
    desktop.until_shown("false colors", |shot| {
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

fn messages_are_over_the_list_of_keys() {
    let desktop = Desktop::bare();
    let bare = desktop.still();
    desktop.press(&["question"]);
    desktop.until_shown("the list of keys", |shot| {
        differing_pixels(shot, &bare) > 30_000
    });
    let list = desktop.still();
    // There is nothing to compare with.
    desktop.press(&["x"]);
    desktop.until_shown("the message over the list", |shot| {
        (500..20_000).contains(&differing_pixels(shot, &list))
    });
    desktop.until_same(&list, "the list alone again");
    desktop.press(&["Escape"]);
    desktop.until_same(&bare, "the window without the list");
}

fn scene_errors_are_shown_over_the_picture() {
    let desktop = Desktop::bare();
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
    // There is nothing to compare with. The error stays longer than the message about that.
    desktop.press(&["x"]);
    desktop.until_shown("a message", |shot| *shot != with_error);
    desktop.until_same(&with_error, "the error stays");
    assert_eq!(desktop.errors().matches("did you mean").count(), 1);
    desktop.write_scene(SCENE);
    desktop.until_same(&bare, "the picture alone again");
    desktop.write_scene(&SCENE.replace("(0.7, 0.2, 0.1)", "(0.1, 0.2, 0.7)"));
    desktop.until_shown("another color", |shot| {
        differing_pixels(shot, &bare) > 10_000
    });
}

/// Twice the pixel density doubles the width and height of the overlay, in pixels.
fn the_overlay_scales_with_the_pixel_density() {
    // The figures have more rows after a longer render, so only their first rows count.
    let top = |shot: &RgbImage, scale: u32| {
        image::imageops::crop_imm(shot, 0, 0, shot.width(), 60 * scale).to_image()
    };
    let covered = |scale: u32| {
        let variable = [("WINIT_X11_SCALE_FACTOR", &*scale.to_string())];
        let settings = "(statistics: overlay)";
        let desktop = Desktop::open_all(SCENE, &["--size", "400x300"], &variable, settings);
        desktop.until_title("scene.ron – 4 samples");
        desktop.resize(1000, 750);
        desktop.until_shown("a window of this size", |shot| {
            shot.dimensions() == (1000, 750)
        });
        desktop.press(&["Escape"]);
        let full = desktop.still();
        desktop.press(&["h", "h", "Escape"]);
        desktop.until_shown("the picture alone", |shot| {
            differing_pixels(shot, &full) > 10_000
        });
        differing_pixels(&top(&desktop.still(), scale), &top(&full, scale))
    };
    let [once, twice] = [1, 2].map(covered);
    assert!(2 * twice > 5 * once, "{once} pixels, then {twice}");
}

/// Windows and their text are twice as large on a monitor of twice the usual height.
fn a_large_monitor_without_a_scale_has_large_text() {
    let [usual, large] = [("1280x1024", 1), ("3840x2160", 2)].map(|(screen, scale)| {
        let desktop = Desktop::open_on_screen(screen, "(size: Some((1020, 512)))");
        desktop.until_title("scene.ron – 4 samples");
        desktop.press(&["Escape"]);
        let shot = desktop.still();
        assert_eq!(shot.dimensions(), (1020 * scale, 512 * scale));
        panel_text(&shot, scale)
    });
    let ratio = large as f64 / usual as f64;
    assert!((3.0..5.0).contains(&ratio), "{usual} and {large} pixels");
}

/// Returns the number of bright pixels in the first 60 rows of the panel beside the picture, at this scale.
fn panel_text(shot: &RgbImage, scale: u32) -> usize {
    let panel = image::imageops::crop_imm(shot, 500 * scale, 0, 520 * scale, 60 * scale);
    let panel = panel.to_image();
    panel.pixels().filter(|pixel| pixel.0[1] > 120).count()
}

/// Returns whether this many rows from the top are equal.
fn is_same_above(one: &RgbImage, other: &RgbImage, rows: u32) -> bool {
    let rows = |picture: &RgbImage| {
        image::imageops::crop_imm(picture, 0, 0, picture.width(), rows).to_image()
    };
    rows(one) == rows(other)
}

/// Returns the mean of all bytes.
fn brightness(picture: &RgbImage) -> f64 {
    picture.iter().map(|&byte| f64::from(byte)).sum::<f64>() / picture.len() as f64
}
