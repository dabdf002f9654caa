//! Tests of the messages over the picture.

use image::RgbImage;
use libtest_mimic::Trial;

use crate::{
    denoiser::PROGRAM_VARIABLE,
    desktop::{BARE, Desktop, SCENE},
    program::add_tests,
};

pub(crate) fn add(trials: &mut Vec<Trial>, possible: &Result<(), String>) {
    add_tests!(trials, if possible.clone() => a_problem_stays_beside_later_messages);
}

/// Returns the number of pixels in the colour of problems, which the test scene does not contain.
fn problem_pixels(shot: &RgbImage) -> usize {
    let is_problem = |pixel: &&image::Rgb<u8>| pixel.0[0] > 220 && pixel.0[2] < 150;
    shot.pixels().filter(is_problem).count()
}

/// Returns the number of pixels in the colour of other messages, which the test scene does not contain.
fn note_pixels(shot: &RgbImage) -> usize {
    let is_note = |pixel: &&image::Rgb<u8>| pixel.0.iter().all(|&channel| channel > 225);
    shot.pixels().filter(is_note).count()
}

fn a_problem_stays_beside_later_messages() {
    // The name is long, so that the problem is displayed for more than 20 seconds.
    let missing = "no denoiser ".repeat(30);
    let desktop = Desktop::open_all(SCENE, &[], &[(PROGRAM_VARIABLE, &missing)], BARE);
    desktop.press(&["Escape"]);
    desktop.until_title("scene.ron – 4 samples");
    let bare = desktop.still();
    let in_bare = (problem_pixels(&bare), note_pixels(&bare));
    let shows_problem = |shot: &RgbImage| problem_pixels(shot) > in_bare.0 + 500;
    let shows_note = |shot: &RgbImage| note_pixels(shot) > in_bare.1 + 50;
    desktop.press(&["N"]);
    desktop.until_shown("a problem", shows_problem);
    assert!(!shows_note(&desktop.shot()));
    // There is nothing to compare with.
    desktop.press(&["x"]);
    desktop.until_shown("a message", shows_note);
    assert!(shows_problem(&desktop.shot()), "the problem stays");
    desktop.press(&["Escape"]);
    desktop.until_same(&bare, "the picture alone");
}
