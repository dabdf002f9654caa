//! Tests of the messages over the picture, and of how Escape removes them.

use std::{
    thread,
    time::{Duration, Instant},
};

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
        a_later_problem_does_not_replace_an_earlier_one,
        long_messages_leave_most_of_the_picture_visible,
        messages_stay_while_the_window_is_minimised,
        escape_after_a_message_has_vanished_does_not_quit,
        only_a_visible_question_is_answered,
        escape_cancels_the_question_and_never_answers_it,
        closing_a_minimised_window_shows_the_question,
        a_dropped_file_discards_unsaved_changes_only_the_second_time,
        an_unsupported_dropped_file_is_reported_at_once,
    );
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

fn a_later_problem_does_not_replace_an_earlier_one() {
    let missing = "no denoiser ".repeat(30);
    let (desktop, bare) = desktop_with_problem(&missing);
    let first = desktop.still();
    desktop.drop_file("no scene.txt", "nothing");
    desktop.until_shown("another problem", |shot| {
        differing_pixels(shot, &first) > 1_000
    });
    desktop.press(&["Escape"]);
    desktop.until_same(&first, "the first problem");
    desktop.press(&["Escape"]);
    desktop.until_same(&bare, "the picture alone");
    let errors = desktop.errors();
    for text in ["no denoiser", "no scene.txt"] {
        let lines = errors.lines().filter(|line| line.contains(text));
        assert_eq!(lines.count(), 1, "{errors}");
    }
}

fn long_messages_leave_most_of_the_picture_visible() {
    let missing = "no denoiser ".repeat(200);
    let (desktop, bare) = desktop_with_problem(&missing);
    let upper = |shot: &RgbImage| image::imageops::crop_imm(shot, 0, 0, 480, 240).to_image();
    assert!(upper(&desktop.shot()) == upper(&bare));
    assert!(
        desktop.errors().contains(missing.trim_end()),
        "{}",
        desktop.errors()
    );
    desktop.press(&["Escape"]);
    desktop.until_same(&bare, "the picture alone");

    // A message is printed if it is too long for the window.
    let nothing = "nothing to compare with; start raysieve with --compare";
    desktop.press(&["x"]);
    desktop.until_shown("a message", |shot| *shot != bare);
    assert!(!desktop.errors().contains(nothing));
    desktop.resize(160, 120);
    eventually("it is printed", || {
        desktop.errors().contains(nothing).then_some(())
    });
}

fn messages_stay_while_the_window_is_minimised() {
    let mut desktop = Desktop::bare();
    let bare = desktop.still();
    desktop.press(&["x"]);
    desktop.until_shown("a message", |shot| *shot != bare);
    desktop.iconify();
    // The message would have disappeared after five seconds.
    thread::sleep(Duration::from_secs(8));
    desktop.activate();
    desktop.find_window();
    // The window is restored at a place from which it then moves.
    thread::sleep(Duration::from_secs(1));
    desktop.until_shown("the message", |shot| {
        note_pixels(shot) > note_pixels(&bare) + 50
    });
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

fn escape_cancels_the_question_and_never_answers_it() {
    let (mut desktop, asks) = moved();
    // An empty list stands for the close button. After other input, here a message, Escape asks again.
    let requests = [&["q"][..], &[], &["x", "Escape", "Escape"]];
    // Each request has words of its own.
    let mut questions = Vec::new();
    for keys in requests {
        match keys {
            [] => desktop.close(),
            keys => desktop.press(keys),
        }
        let what = format!("a question after {keys:?}");
        desktop.until_shown(&what, &asks);
        let question = desktop.still();
        assert!(!questions.contains(&question), "the words of {what}");
        questions.push(question);
        desktop.press(&["Escape"]);
        desktop.until_shown("no question", |shot| !asks(shot));
        // Further ones do nothing.
        for _ in 0..3 {
            desktop.press(&["Escape"]);
            thread::sleep(Duration::from_millis(500));
            assert!(!asks(&desktop.shot()), "after {what}");
        }
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
    // Neither question answers the other one.
    desktop.until_asked(|| desktop.press(&["q"]));
    assert!(desktop.ended().is_none());
    desktop.until_asked(|| desktop.drop_file("other.ron", &other));
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

fn closing_a_minimised_window_shows_the_question() {
    let (mut desktop, asks) = moved();
    desktop.iconify();
    desktop.close();
    desktop.find_window();
    thread::sleep(Duration::from_secs(1));
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
