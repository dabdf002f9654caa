//! Tests of the messages over the picture, and of how Escape removes them.

use std::{thread, time::Duration};

use image::RgbImage;
use libtest_mimic::Trial;

use crate::{
    denoiser::PROGRAM_VARIABLE,
    desktop::{BARE, Desktop, SCENE, differing_pixels, eventually, problem_pixels},
    program::add_tests,
};

pub(crate) fn add(trials: &mut Vec<Trial>, possible: &Result<(), String>) {
    add_tests!(
        trials, if possible.clone() =>
        a_problem_stays_beside_later_messages,
        all_problems_are_displayed_until_escape_or_their_button_removes_them,
        long_messages_leave_most_of_the_picture_visible,
        messages_stay_while_the_window_is_minimized,
        escape_never_quits,
        only_a_visible_question_is_answered,
        escape_cancels_the_question,
        closing_a_minimized_window_shows_the_question,
        a_dropped_file_discards_unsaved_changes_only_the_second_time,
        an_unsupported_dropped_file_is_reported_at_once,
    );
}

/// Returns the number of pixels in the color of other messages, which the test scene does not contain.
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

/// Opens a window whose program for denoising does not exist, and asks for it. Returns the window with that problem, which
/// contains the name `missing`, and the picture before it.
fn desktop_with_problem(missing: &str) -> (Desktop, RgbImage) {
    let desktop = Desktop::open_all(SCENE, &[], &[(PROGRAM_VARIABLE, missing)], BARE);
    desktop.press(&["Escape"]);
    desktop.until_title("scene.ron – 4 samples");
    let bare = desktop.still();
    desktop.press(&["N"]);
    desktop.until_shown("a problem", |shot| problem_pixels(shot) > 500);
    (desktop, bare)
}

fn all_problems_are_displayed_until_escape_or_their_button_removes_them() {
    let (desktop, bare) = desktop_with_problem("no denoiser");
    let first = desktop.still();
    desktop.drop_file("no scene.txt", "nothing");
    desktop.until_shown("another problem", |shot| {
        differing_pixels(shot, &first) > 1_000 && problem_pixels(shot) > 500
    });
    let errors = desktop.errors();
    for text in ["no denoiser", "no scene.txt"] {
        let lines = errors.lines().filter(|line| line.contains(text));
        assert_eq!(lines.count(), 1, "{errors}");
    }
    // The newest is the uppermost, and its button is at its left.
    let both = desktop.still();
    let button = both.enumerate_pixels().find(|(_, y, pixel)| {
        *y > 200 && pixel.0.iter().all(|&channel| (55..70).contains(&channel))
    });
    let (x, y, _) = button.expect("a button");
    desktop.point_at(x + 4, y + 6);
    desktop.click(x + 4, y + 6);
    desktop.until_shown("the first problem alone", |shot| {
        problem_pixels(shot).abs_diff(problem_pixels(&first)) < 100
    });
    desktop.point_at(5, 5);
    desktop.press(&["Escape"]);
    desktop.point_at(240, 100);
    desktop.until_same(&bare, "the picture alone");
}

fn long_messages_leave_most_of_the_picture_visible() {
    let missing = "no denoiser ".repeat(200);
    let (desktop, bare) = desktop_with_problem(&missing);
    let upper = |shot: &RgbImage| image::imageops::crop_imm(shot, 0, 0, 480, 240).to_image();
    assert!(upper(&desktop.shot()) == upper(&bare));
    // An error line shows the middle of a very long text by three dots.
    let errors = desktop.errors();
    assert!(errors.contains(&missing[..96]), "{errors}");
    desktop.press(&["Escape"]);
    desktop.until_same(&bare, "the picture alone");
}

fn messages_stay_while_the_window_is_minimized() {
    let mut desktop = Desktop::bare();
    let bare = desktop.still();
    // On a busy machine, a message may disappear before the window is minimized or after it is restored. One that does not
    // stay disappears in every attempt.
    eventually("a message stays", || {
        desktop.press(&["x"]);
        desktop.until_shown("a message", |shot| *shot != bare);
        desktop.iconify();
        // The message would have disappeared after five seconds.
        thread::sleep(Duration::from_secs(8));
        desktop.activate();
        desktop.find_window();
        let stays = note_pixels(&desktop.shot()) > note_pixels(&bare) + 50;
        desktop.until_same(&bare, "the picture alone");
        stays.then_some(())
    });
}

/// Opens a window whose camera has been moved. Returns it with a test of screenshots, which tells whether the window
/// asks about the change.
fn moved() -> (Desktop, impl Fn(&RgbImage) -> bool) {
    let desktop = Desktop::bare();
    desktop.turn();
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
    assert!(asks(&desktop.shot()), "the question stays");
    // Other keys do nothing, and after Escape it is asked again.
    desktop.press(&["t", "Escape"]);
    desktop.until_shown("no question", |shot| !asks(shot));
    desktop.press(&["q"]);
    desktop.until_shown("another question", &asks);
    assert!(desktop.ended().is_none());
    desktop.close();
    assert_eq!(desktop.until_ended().code(), Some(0));
}

fn escape_cancels_the_question() {
    let (mut desktop, asks) = moved();
    // An empty list stands for the close button.
    for keys in [&["q"][..], &[]] {
        match keys {
            [] => desktop.close(),
            keys => desktop.press(keys),
        }
        let what = format!("a question after {keys:?}");
        desktop.until_shown(&what, &asks);
        desktop.press(&["Escape"]);
        desktop.until_shown("no question", |shot| !asks(shot));
    }
    desktop.press(&["q"]);
    desktop.until_shown("a question", &asks);
    desktop.close();
    assert_eq!(desktop.until_ended().code(), Some(0));
}

fn a_dropped_file_discards_unsaved_changes_only_the_second_time() {
    let (mut desktop, asks) = moved();
    let other = SCENE.replace("spp: 4", "spp: 5");
    desktop.drop_file("other.ron", &other);
    desktop.until_shown("a question", &asks);
    // The key that quits does not answer this question.
    desktop.press(&["q"]);
    assert!(asks(&desktop.shot()) && desktop.ended().is_none());
    assert!(
        desktop.title().contains("scene.ron – 4"),
        "{}",
        desktop.title()
    );
    desktop.drop_file("other.ron", &other);
    desktop.until_title("other.ron – 5 samples");
}

fn an_unsupported_dropped_file_is_reported_at_once() {
    let (desktop, _) = moved();
    desktop.drop_file("notes.txt", "text");
    eventually("the file is refused", || {
        desktop.errors().contains("notes.txt: ").then_some(())
    });
    assert!(!desktop.errors().contains("again"), "{}", desktop.errors());
}

fn closing_a_minimized_window_shows_the_question() {
    let (mut desktop, asks) = moved();
    desktop.iconify();
    desktop.close();
    desktop.find_window();
    desktop.until_shown("the question", &asks);
    assert!(desktop.ended().is_none());
    desktop.press(&["q"]);
    assert_eq!(desktop.until_ended().code(), Some(0));
}

fn escape_never_quits() {
    let mut desktop = Desktop::rendered();
    // The first removes the hints, and the second a message about the first.
    desktop.press(&["Escape"; 6]);
    desktop.press(&["k"]);
    eventually("the camera is printed", || {
        desktop.output().contains("camera: ").then_some(())
    });
    desktop.press(&["q"]);
    assert_eq!(desktop.until_ended().code(), Some(0));
}
