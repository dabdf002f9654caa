//! Tests of opening, resizing, pausing and closing the window, and of the settings that it keeps.

use std::{fs, thread, time::Duration};

use compaction::cuda::devices;
use libtest_mimic::Trial;
use raysieve::render::part::Part;

use crate::{
    desktop::{Desktop, SCENE, differing_pixels, eventually, raysieve},
    program::add_tests,
};

pub(crate) fn add(trials: &mut Vec<Trial>, possible: &Result<(), String>) {
    add_tests!(
        trials, if possible.clone() =>
        keys_held_for_another_window_are_ignored,
        pause_stops_and_restart_restarts_the_render,
        a_dropped_file_is_opened,
        a_file_that_cannot_be_opened_is_watched_beside_the_displayed_scene,
        the_picture_keeps_the_size_of_the_scene,
        a_picture_is_saved_elsewhere_if_the_folder_is_gone,
        more_samples_continue_the_film,
        a_size_option_keeps_the_size_and_fits_the_picture,
        window_settings_are_saved,
        a_finished_window_uses_no_processor_time,
        quitting_with_a_moved_camera_asks_once,
        escape_closes_the_list_of_keys,
        quitting_during_a_render_is_no_error,
        a_destroyed_window_ends_the_program_with_one_line,
    );
    let emulated = possible.clone().and_then(|()| has_emulated_gpus());
    add_tests!(
        trials, if emulated.clone() =>
        a_window_saves_its_picture_when_all_gpus_fail,
        a_window_saves_the_complete_film_when_all_gpus_fail_during_a_comparison,
        a_window_continues_on_the_cpu_when_the_gpu_fails,
        a_window_keeps_the_complete_film_on_the_cpu_when_the_gpu_fails_during_a_comparison,
    );
    add_tests!(trials, without_a_display_the_picture_is_written);
}

fn without_a_display_the_picture_is_written() {
    for dead_display in [None, Some(":9999")] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("scene.ron"), SCENE).unwrap();
        let mut command = raysieve(folder.path());
        command
            .args(["scene.ron", "--spp", "1"])
            .envs(dead_display.map(|display| ("DISPLAY", display)));
        let output = command.output().unwrap();
        let output_text = String::from_utf8_lossy(&output.stderr).into_owned()
            + &String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{}: {output_text}", output.status);
        let why = if dead_display.is_some() {
            "X server"
        } else {
            "DISPLAY"
        };
        assert!(
            output_text.lines().any(|line| line.contains(why)),
            "{why:?} is missing in: {output_text}"
        );
        assert!(!output_text.contains("panicked"), "{output_text}");
        let picture = image::open(folder.path().join("scene.png")).expect("the picture is written");
        assert_eq!((picture.width(), picture.height()), (480, 360));
    }
}

/// Returns `Ok` if several emulated GPUs are available that can be made to fail.
fn has_emulated_gpus() -> Result<(), String> {
    let is_emulated =
        devices().is_ok_and(|found| found.len() > 1 && found[0].name.starts_with("Emulated"));
    is_emulated
        .then_some(())
        .ok_or_else(|| "no emulated GPUs; see emulator/README.md".to_owned())
}

fn a_window_saves_its_picture_when_all_gpus_fail() {
    let small = SCENE.replace("(480, 360)", "(160, 120)");
    let failure = [
        ("EMULATED_ALL_FALL", "1"),
        ("EMULATED_FAILURES", "1:1500"),
        ("EMULATED_DELAYS", "0:1000,1:1000,2:1000"),
        ("CUDA_VISIBLE_DEVICES", "0,1,2"),
    ];
    let arguments = [
        "--backend",
        "cuda:all",
        "--spp",
        "1000000",
        "--size",
        "160x120",
        "--keep-every",
        "50ms",
        "--wave-size",
        "2048",
    ];
    let mut desktop = Desktop::open_with(&small, &arguments, &failure);
    // Nobody can be asked about the changed material.
    desktop.press(&["bracketright", "bracketright"]);
    assert_eq!(desktop.until_ended().code(), Some(1));
    let messages = desktop.errors();
    assert!(
        messages.lines().any(|line| line
            == "raysieve: scene.ron: materials changed and not saved; scene.unsaved.ron contains them"),
        "{messages}"
    );
    let kept = fs::read_to_string(desktop.folder().join("scene.unsaved.ron")).unwrap();
    assert_ne!(kept, small);
    assert_eq!(desktop.scene(), small);
    let last = messages.lines().last().unwrap_or_default();
    assert!(
        last.ends_with("the changed view is saved in scene.unfinished.exr"),
        "{messages}"
    );
}

/// Waits until the program ends because all GPUs have failed, and checks that it has saved its film.
fn until_failed(desktop: &mut Desktop) {
    assert_eq!(desktop.until_ended().code(), Some(1));
    let messages = desktop.errors();
    let last = messages.lines().last().unwrap_or_default();
    assert!(
        last.starts_with("raysieve: Emulated GPU (cuda:")
            && last.contains("LAUNCH_FAILED")
            && last.contains(" are saved in scene.unfinished.exr; continue with: "),
        "{messages}"
    );
}

/// While strategies are compared, the complete film is set aside. It is restored although no GPU works any more.
fn a_window_saves_the_complete_film_when_all_gpus_fail_during_a_comparison() {
    let small = SCENE.replace("(480, 360)", "(48, 36)");
    let failure = [
        ("EMULATED_ALL_FALL", "1"),
        ("EMULATED_FAILURES", "1:400"),
        ("CUDA_VISIBLE_DEVICES", "0,1,2"),
    ];
    let arguments = ["--backend", "cuda:all"];
    let mut desktop = Desktop::open_with(&small, &arguments, &failure);
    desktop.until_title("scene.ron – 4 samples");
    desktop.press(&["c"]);
    until_failed(&mut desktop);
    let saved = Part::read(&desktop.folder().join("scene.unfinished.exr")).unwrap();
    let mut command = raysieve(desktop.folder());
    let rendered = command
        .args(["scene.ron", "--backend", "cpu", "-o", "rendered.exr"])
        .output();
    assert!(rendered.unwrap().status.success());
    let rendered = Part::read(&desktop.folder().join("rendered.exr")).unwrap();
    assert_eq!(saved.header.samples, rendered.header.samples);
    assert!(saved.film == rendered.film);
}

/// Waits until the program reports that the CPU does this after a failure of the GPU, and checks that it does so once.
fn until_on_cpu(desktop: &Desktop, what: &str) {
    eventually("the CPU takes over", || {
        let messages = desktop.errors();
        messages.contains("; the CPU ").then_some(())
    });
    let messages = desktop.errors();
    let lines: Vec<&str> = (messages.lines())
        .filter(|line| line.contains("; the CPU "))
        .collect();
    assert!(
        matches!(lines[..], [line] if line.starts_with("raysieve: Emulated GPU") && line.contains(what)),
        "{messages}"
    );
}

/// The picture is that of a render without a failure, and the scene can be edited further.
fn a_window_continues_on_the_cpu_when_the_gpu_fails() {
    let small = SCENE.replace("(480, 360)", "(48, 36)");
    let failure = [
        ("EMULATED_ALL_FALL", "1"),
        ("EMULATED_FAILURES", "0:600"),
        ("EMULATED_DELAYS", "0:2000"),
        ("CUDA_VISIBLE_DEVICES", "0,1,2"),
    ];
    let samples = ["--spp", "300"];
    let arguments = ["--keep-every", "20ms", "--wave-size", "256"];
    let mut desktop = Desktop::open_with(&small, &[&samples[..], &arguments].concat(), &failure);
    until_on_cpu(&desktop, "; the CPU continues ");
    desktop.until_title("scene.ron – 300 samples");
    let mut command = raysieve(desktop.folder());
    let rendered = command
        .args(["scene.ron", "--backend", "cpu", "-o", "rendered.png"])
        .args(samples)
        .output();
    assert!(rendered.unwrap().status.success());
    let rendered = image::open(desktop.folder().join("rendered.png")).unwrap();
    let saved = desktop.save();
    assert!(saved == rendered.to_rgb8());
    desktop.press(&["bracketright", "bracketright"]);
    desktop.until_saved("the edited scene", |picture| *picture != saved);
    until_on_cpu(&desktop, "; the CPU continues ");
    desktop.until_asked(|| desktop.press(&["q"]));
    desktop.press(&["q"]);
    assert_eq!(desktop.until_ended().code(), Some(0));
}

fn a_window_keeps_the_complete_film_on_the_cpu_when_the_gpu_fails_during_a_comparison() {
    let small = SCENE.replace("(480, 360)", "(48, 36)");
    let failure = [
        ("EMULATED_ALL_FALL", "1"),
        ("EMULATED_FAILURES", "0:600"),
        ("CUDA_VISIBLE_DEVICES", "0,1,2"),
    ];
    let desktop = Desktop::open_with(&small, &[], &failure);
    desktop.until_title("scene.ron – 4 samples");
    let complete = desktop.save();
    desktop.press(&["c"]);
    until_on_cpu(&desktop, "the CPU continues from 4 samples per pixel");
    desktop.until_title("scene.ron – 4 samples");
    assert!(desktop.save() == complete);
}

fn keys_held_for_another_window_are_ignored() {
    let mut desktop = Desktop::rendered();
    desktop.repeat_keys();
    // Whether the window is busy until the key is released.
    for is_busy in [false, true] {
        desktop.iconify();
        if is_busy {
            desktop.suspend();
        }
        desktop.key_down("q");
        desktop.activate();
        // Long enough for repetitions, which the display begins to send after 0.66 seconds.
        thread::sleep(Duration::from_millis(900));
        desktop.key_up("q");
        desktop.resume();
        assert!(desktop.ended().is_none());
    }
    // The window receives later key presses.
    desktop.press(&["k"]);
    eventually("the camera is printed", || {
        desktop.output().contains("camera: ").then_some(())
    });
    desktop.press(&["q"]);
    assert!(desktop.until_ended().success(), "{}", desktop.errors());
}

fn pause_stops_and_restart_restarts_the_render() {
    let desktop = Desktop::open(SCENE, &["--spp", "100000"]);
    let samples = || {
        desktop
            .title()
            .split(' ')
            .find_map(|word| word.parse::<u32>().ok())
            .unwrap_or(0)
    };
    eventually("some samples are there", || (samples() >= 8).then_some(()));
    desktop.press(&["space"]);
    desktop.until_title("paused");
    // The window is drawn shortly after its title changes.
    let picture = desktop.still();
    let held = samples();
    // Each picture takes longer than a sample.
    for _ in 0..3 {
        assert!(desktop.save() == desktop.save());
    }
    assert_eq!(samples(), held);
    desktop.until_same(&picture, "the same while it is paused");

    desktop.press(&["r"]);
    eventually("the render restarts and pauses", || {
        (samples() < held).then_some(())
    });
    assert!(desktop.title().contains("paused"), "{}", desktop.title());
    desktop.press(&["space"]);
    eventually("it goes on", || (samples() > held).then_some(()));
}

fn a_dropped_file_is_opened() {
    let mut desktop = Desktop::rendered();
    let other = SCENE
        .replace("(0, 1, 5)", "(2, 1, 5)")
        .replace("spp: 4", "spp: 5");
    desktop.drop_file("no scene.txt", "nothing");
    eventually("it is refused with the list of formats", || {
        let errors = desktop.errors();
        let refusal = errors.lines().find(|line| line.contains("no scene.txt"));
        refusal
            .is_some_and(|line| line.contains(".ron") && line.contains(".glb"))
            .then_some(())
    });
    desktop.drop_file("the other.ron", &other);
    desktop.until_title("the other.ron – 5 samples");
    // The new file is watched from now on, and the old one is not.
    desktop.write_scene("gone");
    desktop.drop_file("the other.ron", &other.replace("spp: 5", "spp: 6"));
    desktop.until_title("the other.ron – 6 samples");
    assert!(
        !desktop.errors().contains("scene.ron"),
        "{}",
        desktop.errors()
    );
    // A model with edits is not closed without a question either.
    desktop.drop_file("the model.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    desktop.until_title("the model.obj");
    desktop.until_asked(|| desktop.press(&["m", "bracketleft", "q"]));
    desktop.until_title("the model.obj");
    desktop.press(&["q"]);
    assert_eq!(desktop.until_ended().code(), Some(0));
}

fn a_file_that_cannot_be_opened_is_watched_beside_the_displayed_scene() {
    let desktop = Desktop::open(SCENE, &["--spp", "300"]);
    desktop.until_title("scene.ron");
    // The scene can be read, but with 300 samples per pixel its light would overflow the film.
    let bright = SCENE.replace("(0.4, 0.5, 0.6)", "(1e7, 1e7, 1e7)");
    let refusals = || {
        let errors = desktop.errors();
        errors
            .lines()
            .filter(|line| line.contains("spp 300"))
            .count()
    };
    desktop.drop_file("the other.ron", &bright);
    eventually("the scene is refused", || (refusals() == 1).then_some(()));

    desktop.write_scene("gone");
    eventually("the displayed scene is still watched", || {
        desktop.errors().contains("scene.ron:").then_some(())
    });
    desktop.write_file("the other.ron", &(bright + "\n"));
    eventually("the other is tried again", || {
        (refusals() == 2).then_some(())
    });
    desktop.write_file("the other.ron", SCENE);
    desktop.until_title("the other.ron");
}

fn the_picture_keeps_the_size_of_the_scene() {
    let desktop = Desktop::bare();
    let own = desktop.save();
    for step in 0..40 {
        desktop.resize_on_the_way(300 + step * 7, 500 - step * 5);
    }
    for size in [(700, 300), (300, 500), (960, 720)] {
        desktop.resize(size.0, size.1);
        desktop.until_shown("the window in its new size", |shot| {
            shot.dimensions() == size
        });
        assert!(desktop.save() == own, "the window has {size:?} pixels");
    }
    let twice = image::imageops::resize(&own, 960, 720, image::imageops::FilterType::Nearest);
    desktop.until_same(&twice, "the picture twice as large");

    desktop.resize(300, 500);
    desktop.until_shown("the window in its new size", |shot| {
        shot.dimensions() == (300, 500)
    });
    desktop.press(&["z"]);
    eventually("a picture in the window's size", || {
        (desktop.save().dimensions() == (300, 500)).then_some(())
    });
    desktop.until_title("scene.ron – 4 samples");
    desktop.until_same(&desktop.save(), "a picture in its own size");
    let smaller = SCENE.replace("(480, 360)", "(200, 100)");
    desktop.drop_file("the other.ron", &smaller);
    desktop.until_title("the other.ron – 4 samples");
    assert_eq!(
        desktop.save_as("the other-001.png").dimensions(),
        (200, 100)
    );
}

fn a_picture_is_saved_elsewhere_if_the_folder_is_gone() {
    let desktop = Desktop::bare();
    let folder = desktop.folder().join("elsewhere");
    fs::create_dir(&folder).unwrap();
    desktop.drop_file("elsewhere/other.ron", SCENE);
    desktop.until_title("other.ron – 4 samples");
    fs::remove_dir_all(&folder).unwrap();
    let saved = desktop.save_as("other-001.png");
    assert_eq!(saved.dimensions(), (480, 360));
    // No unfinished file remains.
    let names = fs::read_dir(desktop.folder()).unwrap();
    let names: Vec<String> = names
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert!(
        !names.iter().any(|name| name.ends_with(".tmp")),
        "{names:?}"
    );
}

fn more_samples_continue_the_film() {
    let desktop = Desktop::bare();
    desktop.press(&["b"]);
    desktop.until_title("scene.ron – 8 samples");
    let more = desktop.save();
    let eight = Desktop::open_bare(SCENE, &["--spp", "8"]);
    eight.until_title("scene.ron – 8 samples");
    assert!(eight.save() == more);
    // The samples stay after changes of the camera.
    desktop.press(&["Right"]);
    desktop.until_shown("the scene turned", |shot| {
        differing_pixels(shot, &more) > 40_000
    });
    desktop.press(&["0"]);
    desktop.until_same(&more, "eight samples of the scene's own camera");
    desktop.until_title("scene.ron – 8 samples");
}

fn a_size_option_keeps_the_size_and_fits_the_picture() {
    let desktop = Desktop::open_bare(SCENE, &["--size", "240x160"]);
    desktop.until_title("scene.ron – 4 samples");
    desktop.resize(480, 500);
    let saved = desktop.save();
    assert_eq!(saved.dimensions(), (240, 160));
    let twice = image::imageops::resize(&saved, 480, 320, image::imageops::FilterType::Nearest);
    desktop.until_shown("the picture twice as large, in the middle", |shot| {
        shot.dimensions() == (480, 500)
            && *image::imageops::crop_imm(shot, 0, 90, 480, 320).to_image() == *twice
    });
}

fn window_settings_are_saved() {
    let config = tempfile::tempdir().unwrap();
    let config = config.path();
    let kept = config.join("raysieve/window.ron");
    let open = || {
        let variable = [("XDG_CONFIG_HOME", config.to_str().unwrap())];
        let desktop = Desktop::open_with(SCENE, &[], &variable);
        desktop.until_title("scene.ron – 4 samples");
        desktop
    };
    let close = |mut desktop: Desktop| {
        desktop.press(&["q"]);
        assert_eq!(desktop.until_ended().code(), Some(0));
        desktop.errors()
    };
    // Without changes, no settings are saved.
    close(open());
    assert!(!kept.exists());
    let desktop = open();
    desktop.press(&["h", "h", "h"]);
    desktop.resize(700, 300);
    desktop.until_shown("a window of that size", |shot| {
        shot.dimensions() == (700, 300)
    });
    close(desktop);
    assert!(kept.exists());
    let desktop = open();
    desktop.until_shown("a window of that size", |shot| {
        shot.dimensions() == (700, 300)
    });
    assert_eq!(
        desktop.save().dimensions(),
        (480, 360),
        "the window's size does not change the picture's"
    );
    desktop.until_shown("the picture without statistics", |shot| {
        let border = image::imageops::crop_imm(shot, 550, 0, 150, 300).to_image();
        border.pixels().all(|pixel| *pixel == border[(0, 0)])
    });
    desktop.move_to(310, 190);
    let place = desktop.place();
    close(desktop);
    let desktop = open();
    eventually("the window opens where it was", || {
        (desktop.place() == place).then_some(())
    });
    close(desktop);

    // Invalid settings produce one line of output.
    fs::write(&kept, "(statistics: many").unwrap();
    let desktop = open();
    assert_eq!(desktop.save().dimensions(), (480, 360));
    desktop.press(&["h"]);
    fs::remove_file(&kept).unwrap();
    fs::create_dir(&kept).unwrap();
    let messages = close(desktop);
    let lines: Vec<&str> = messages
        .lines()
        .filter(|line| line.contains("window.ron"))
        .collect();
    assert_eq!(lines.len(), 2, "{messages}");
    assert!(
        lines[0].contains("invalid settings") && lines[1].contains("not written"),
        "{messages}"
    );
}

fn a_finished_window_uses_no_processor_time() {
    let mut desktop = Desktop::rendered();
    desktop.until_idle();
    let before = desktop.processor_seconds();
    thread::sleep(Duration::from_secs(2));
    let spent = desktop.processor_seconds() - before;
    assert!(
        spent < 0.1,
        "an idle window used {spent} s of processor time in 2 s"
    );
    desktop.close();
    let status = desktop.until_ended();
    assert_eq!(status.code(), Some(0), "{}", desktop.errors());
}

fn quitting_with_a_moved_camera_asks_once() {
    let mut desktop = Desktop::bare();
    desktop.turn();
    let moved = desktop.save();
    desktop.until_same(&moved, "the view without a message");
    desktop.press(&["q"]);
    desktop.until_shown("a question", |shot| *shot != moved);
    // Another key makes the next request ask again.
    desktop.press(&["Escape"]);
    desktop.until_same(&moved, "the view without a message");
    desktop.press(&["q"]);
    desktop.until_shown("a question", |shot| *shot != moved);
    desktop.press(&["q"]);
    assert_eq!(desktop.until_ended().code(), Some(0));
    // A camera that is saved, or is the scene's, needs no question.
    for keys in [["Right", "K"], ["Right", "0"]] {
        let mut desktop = Desktop::rendered();
        desktop.press(&keys);
        desktop.press(&["q"]);
        assert_eq!(desktop.until_ended().code(), Some(0), "{keys:?}");
    }
}

fn escape_closes_the_list_of_keys() {
    let mut desktop = Desktop::bare();
    let bare = desktop.save();
    desktop.until_same(&bare, "the picture alone");
    desktop.press(&["F1"]);
    desktop.until_shown("the list of keys", |shot| *shot != bare);
    desktop.press(&["Escape"]);
    desktop.until_same(&bare, "the picture alone");
    desktop.press(&["q"]);
    assert_eq!(desktop.until_ended().code(), Some(0));
}

fn quitting_during_a_render_is_no_error() {
    let mut desktop = Desktop::open(SCENE, &["--spp", "100000"]);
    desktop.until_title("of 100000 samples");
    desktop.press(&["q"]);
    let status = desktop.until_ended();
    assert_eq!(status.code(), Some(0), "{}", desktop.errors());
}

fn a_destroyed_window_ends_the_program_with_one_line() {
    let mut desktop = Desktop::rendered();
    desktop.destroy();
    assert_eq!(desktop.until_ended().code(), Some(1));
    let lines = |desktop: &Desktop| -> Vec<String> {
        let errors = desktop.errors();
        let lines = errors.lines().filter(|line| !line.starts_with("backend: "));
        lines.map(str::to_owned).collect()
    };
    let last = "raysieve: window: the display has destroyed it";
    assert_eq!(lines(&desktop), [last]);

    // Nobody can be asked about unsaved changes.
    let mut desktop = Desktop::rendered();
    let home = desktop.save();
    desktop.press(&["Right"]);
    desktop.until_saved("another view", |picture| *picture != home);
    desktop.destroy();
    assert_eq!(desktop.until_ended().code(), Some(1));
    let kept = "raysieve: scene.ron: camera changed and not saved; scene.unsaved.ron contains them";
    assert_eq!(lines(&desktop), [kept, last]);
    assert!(desktop.folder().join("scene.unsaved.ron").exists());
}
