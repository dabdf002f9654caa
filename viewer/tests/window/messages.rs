//! Tests of the messages over the picture, and of how Escape removes them.

use std::{
    thread,
    time::{Duration, Instant},
};

use image::RgbImage;
use libtest_mimic::Trial;

use crate::{
    denoiser::PROGRAM_VARIABLE,
    desktop::{BARE, Desktop, SCENE, eventually},
    program::add_tests,
};

pub(crate) fn add(trials: &mut Vec<Trial>, possible: &Result<(), String>) {
    add_tests!(
        trials, if possible.clone() =>
        a_problem_stays_beside_later_messages,
        escape_after_a_message_has_vanished_does_not_quit,
        only_a_visible_question_is_answered,
        closing_a_minimised_window_shows_the_question,
    );
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

/// Opens a window whose camera has been moved. Returns it with a test of screenshots, which tells whether the window
/// asks about the change.
fn moved() -> (Desktop, impl Fn(&RgbImage) -> bool) {
    let desktop = Desktop::bare();
    desktop.press(&["Right"]);
    thread::sleep(Duration::from_secs(1));
    desktop.until_title("scene.ron – 4 samples");
    let before = problem_pixels(&desktop.still());
    (desktop, move |shot| problem_pixels(shot) > before + 200)
}

fn only_a_visible_question_is_answered() {
    let (mut desktop, asks) = moved();
    desktop.press(&["q"]);
    desktop.until_shown("a question", &asks);
    // A message of the program joins the question, and disappears after some seconds.
    let asking = desktop.still();
    desktop.write_scene(&SCENE.replace("spp: 4", "spp: 5"));
    desktop.until_title("scene.ron – 5 samples");
    let notes = note_pixels(&asking);
    desktop.until_shown("a message", |shot| note_pixels(shot) > notes + 50);
    desktop.until_shown("no message", |shot| note_pixels(shot) <= notes);
    thread::sleep(Duration::from_secs(4));
    assert!(asks(&desktop.shot()), "the question stays");
    // After anything else, it is asked again.
    for other in ["t", "Escape"] {
        desktop.press(&[other]);
        desktop.until_shown("no question", |shot| !asks(shot));
        desktop.press(&["q"]);
        desktop.until_shown("another question", &asks);
        assert!(desktop.ended().is_none());
    }
    desktop.close();
    assert_eq!(desktop.until_ended().code(), Some(0));
}

fn closing_a_minimised_window_shows_the_question() {
    let (mut desktop, asks) = moved();
    desktop.iconify();
    desktop.close();
    desktop.find_window();
    desktop.until_shown("the question", &asks);
    assert!(desktop.ended().is_none());
    desktop.press(&["q"]);
    assert_eq!(desktop.until_ended().code(), Some(0));
}

/// Time after a message has vanished during which Escape is meant for the message.
const GRACE: Duration = Duration::from_secs(1);

/// Tries again if Escape arrives too late on a busy machine, and quits.
fn escape_after_a_message_has_vanished_does_not_quit() {
    eventually("an Escape within a second", || {
        let mut desktop = Desktop::bare();
        let last_seen = let_message_vanish(&desktop);
        // The second key shows whether the program goes on.
        desktop.press(&["Escape", "k"]);
        let goes_on = eventually("Escape is handled", || {
            let has_ended = desktop.ended().is_some();
            let goes_on = desktop.output().contains("camera: ");
            (goes_on || has_ended).then_some(goes_on)
        });
        if !goes_on {
            let elapsed = last_seen.elapsed();
            assert!(elapsed >= GRACE, "Escape has quit after {elapsed:?}");
            return None;
        }
        // The first one removes the message about the camera.
        desktop.press(&["Escape", "Escape"]);
        assert_eq!(desktop.until_ended().code(), Some(0));
        Some(())
    });
}

/// Lets the window show a message until it vanishes by itself. Returns a time at which it was still shown.
fn let_message_vanish(desktop: &Desktop) -> Instant {
    let bare = desktop.still();
    // There is nothing to compare with.
    desktop.press(&["x"]);
    desktop.until_shown("a message", |shot| *shot != bare);
    let mut last_seen = Instant::now();
    eventually("the message vanishes", || {
        let asked = Instant::now();
        let has_vanished = desktop.shot() == bare;
        if !has_vanished {
            last_seen = asked;
        }
        has_vanished.then_some(())
    });
    last_seen
}
