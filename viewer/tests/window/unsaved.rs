//! Tests of the file with unsaved edits, from which they can be restored after a crash.

use std::{fs, path::PathBuf};

use libtest_mimic::Trial;

use crate::{
    desktop::{Desktop, SCENE, eventually},
    program::add_tests,
};

pub(crate) fn add(trials: &mut Vec<Trial>, possible: &Result<(), String>) {
    add_tests!(
        trials, if possible.clone() =>
        edits_survive_a_crash_of_the_display,
        kept_edits_go_when_they_are_undone_saved_or_discarded,
        kept_edits_that_are_opened_stay,
        ctrl_c_keeps_unsaved_edits,
    );
}

/// Edits the next material in one step, and returns the path of the file that keeps the edit.
fn edit(desktop: &Desktop) -> PathBuf {
    let kept = desktop.folder().join("scene.unsaved.ron");
    desktop.press(&["m", "bracketright"]);
    eventually("the edit is kept", || kept.exists().then_some(()));
    kept
}

fn edits_survive_a_crash_of_the_display() {
    let mut desktop = Desktop::rendered();
    let kept = edit(&desktop);
    let text = fs::read_to_string(&kept).unwrap();
    assert_ne!(text, SCENE);
    desktop.kill_display();
    desktop.until_ended();
    assert_eq!(fs::read_to_string(&kept).unwrap(), text);

    desktop.restart();
    let line = "raysieve: scene.unsaved.ron contains edits that were not saved; \
                open it to go on, or delete it";
    let errors = desktop.errors();
    assert!(errors.lines().any(|found| found == line), "{errors}");
    // A session without edits leaves it.
    desktop.until_title("scene.ron – 4 samples");
    desktop.press(&["q"]);
    assert_eq!(desktop.until_ended().code(), Some(0));
    assert_eq!(fs::read_to_string(&kept).unwrap(), text);

    // Another scene is opened, then this one again, and then the file as any other. Its edits get a file of their own.
    desktop.restart();
    desktop.drop_file("other.ron", SCENE);
    desktop.until_title("other.ron – 4 samples");
    let lines = |desktop: &Desktop| {
        desktop
            .errors()
            .matches("edits that were not saved")
            .count()
    };
    assert_eq!(lines(&desktop), 1, "{}", desktop.errors());
    desktop.drop_file("scene.ron", SCENE);
    desktop.until_title("scene.ron – 4 samples");
    eventually("the edits are mentioned again", || {
        (lines(&desktop) == 2).then_some(())
    });
    desktop.drop_file("scene.unsaved.ron", &text);
    desktop.until_title("scene.unsaved.ron – 4 samples");
    desktop.press(&["bracketright", "bracketright"]);
    let other = desktop.folder().join("scene.unsaved.unsaved.ron");
    eventually("the edit is kept", || other.exists().then_some(()));
    assert_eq!(fs::read_to_string(&kept).unwrap(), text);
}

fn kept_edits_go_when_they_are_undone_saved_or_discarded() {
    let mut desktop = Desktop::rendered();
    desktop.press(&["Right"]);
    let kept = edit(&desktop);
    let gone = |how: &str| {
        eventually(&format!("the kept edit goes when it is {how}"), || {
            (!kept.exists()).then_some(())
        });
    };
    // A camera that was only moved is not worth a file.
    desktop.press(&["u"]);
    gone("undone");
    edit(&desktop);
    desktop.press(&["K"]);
    gone("saved");
    edit(&desktop);
    desktop.until_asked(|| desktop.press(&["q"]));
    assert!(desktop.ended().is_none());
    desktop.press(&["q"]);
    assert_eq!(desktop.until_ended().code(), Some(0));
    assert!(!kept.exists(), "the user has discarded it");
}

fn kept_edits_that_are_opened_stay() {
    let mut desktop = Desktop::rendered();
    let kept = edit(&desktop);
    let text = fs::read_to_string(&kept).unwrap();
    // The first time, the window asks whether the edits may be discarded.
    desktop.drop_twice("scene.unsaved.ron", &text);
    desktop.until_title("scene.unsaved.ron – 4 samples");
    // The session removes a file of its own once the opened scene has no edits any more.
    desktop.press(&["m", "bracketright"]);
    let own = desktop.folder().join("scene.unsaved.unsaved.ron");
    eventually("the edit is kept", || own.exists().then_some(()));
    desktop.press(&["u"]);
    eventually("its own file goes", || (!own.exists()).then_some(()));
    assert_eq!(fs::read_to_string(&kept).unwrap(), text);
    desktop.press(&["q"]);
    assert_eq!(desktop.until_ended().code(), Some(0));
    assert_eq!(fs::read_to_string(&kept).unwrap(), text);
}

fn ctrl_c_keeps_unsaved_edits() {
    let mut desktop = Desktop::rendered();
    desktop.press(&["Right"]);
    desktop.interrupt();
    assert_eq!(desktop.until_ended().code(), Some(130));
    let kept = desktop.folder().join("scene.unsaved.ron");
    assert!(!kept.exists(), "a camera that was only moved is not kept");

    // They are kept at once, not only after the time from an edit until its file is written.
    desktop.restart();
    desktop.until_title("scene.ron – 4 samples");
    desktop.press(&["bracketright", "bracketright", "Right"]);
    desktop.interrupt();
    assert_eq!(desktop.until_ended().code(), Some(130));
    let errors = desktop.errors();
    let line = "raysieve: scene.ron: camera and materials changed and not saved; \
                scene.unsaved.ron contains them";
    assert!(errors.lines().any(|found| found == line), "{errors}");
    assert_ne!(fs::read_to_string(kept).unwrap(), SCENE);
    assert_eq!(desktop.scene(), SCENE);
}
