//! Tests of the window on a virtual display, drawn by a software Vulkan driver and controlled by keys and mouse. They are
//! ignored, with the reason, if the required tools are missing.

mod desktop;
mod drop;

use std::{fs, thread, time::Duration};

use compaction::cuda::devices;
use desktop::{Desktop, eventually, missing, raysieve};
use image::RgbImage;
use libtest_mimic::{Arguments, Trial};

/// A scene lit from all sides, so that few samples suffice.
const SCENE: &str = r#"(
    size: (480, 360), spp: 4, max_bounces: 2,
    camera: (origin: (0, 1, 5), target: (0, 0.5, 0), fov: 40),
    sky: (0.4, 0.5, 0.6),
    materials: {
        "red": Diffuse(albedo: (0.7, 0.2, 0.1)),
        "white": Diffuse(albedo: (0.7, 0.7, 0.7)),
    },
    objects: [
        Sphere(center: (-0.6, 0.8, 0), radius: 0.8, material: "red"),
        Box(center: (1, 0.4, 0), half_size: (0.3, 0.4, 0.3), rotate_y: 20, material: "white"),
        Quad(corner: (-3, 0, 3), edge_u: (6, 0, 0), edge_v: (0, 0, -6), material: "white"),
    ],
)"#;

fn main() {
    let arguments = Arguments {
        test_threads: Some(1),
        ..Arguments::from_args()
    };
    let missing = missing();
    if let Some(missing) = &missing {
        eprintln!("skipped: {missing}");
    }
    let on_a_desktop = |name: &str, body: fn()| match missing.clone() {
        None => test(name, body),
        // With `--ignored`, the test fails and states the reason.
        Some(missing) => Trial::test(name, move || Err(missing.into()))
            .with_kind("no display")
            .with_ignored_flag(true),
    };
    let trials = vec![
        test(
            "without_a_display_the_picture_is_written",
            without_a_display_the_picture_is_written,
        ),
        on_a_desktop(
            "the_window_shows_the_picture_it_saves",
            the_window_shows_the_picture_it_saves,
        ),
        match is_emulated() {
            true => on_a_desktop(
                "a_window_saves_its_picture_when_all_gpus_fail",
                a_window_saves_its_picture_when_all_gpus_fail,
            ),
            false => Trial::test("a_window_saves_its_picture_when_all_gpus_fail", || {
                Err("no emulated GPUs, see emulator/run".into())
            })
            .with_kind("no emulated GPUs")
            .with_ignored_flag(true),
        },
        on_a_desktop("keys_change_what_is_shown", keys_change_what_is_shown),
        on_a_desktop(
            "keys_held_for_another_window_are_ignored",
            keys_held_for_another_window_are_ignored,
        ),
        on_a_desktop(
            "a_denoised_preview_is_marked_and_not_saved",
            a_denoised_preview_is_marked_and_not_saved,
        ),
        on_a_desktop(
            "pause_stops_and_restart_restarts_the_render",
            pause_stops_and_restart_restarts_the_render,
        ),
        on_a_desktop(
            "the_mouse_moves_the_camera_and_home_restores_it",
            the_mouse_moves_the_camera_and_home_restores_it,
        ),
        on_a_desktop(
            "a_camera_flies_while_keys_are_held",
            a_camera_flies_while_keys_are_held,
        ),
        on_a_desktop(
            "a_click_shows_a_path_until_the_camera_moves",
            a_click_shows_a_path_until_the_camera_moves,
        ),
        on_a_desktop(
            "messages_do_not_cover_other_panels",
            messages_do_not_cover_other_panels,
        ),
        on_a_desktop(
            "the_camera_can_be_printed_saved_and_undone",
            the_camera_can_be_printed_saved_and_undone,
        ),
        on_a_desktop(
            "scene_errors_are_shown_over_the_picture",
            scene_errors_are_shown_over_the_picture,
        ),
        on_a_desktop("a_dropped_file_is_opened", a_dropped_file_is_opened),
        on_a_desktop(
            "the_render_follows_the_size_of_the_window",
            the_render_follows_the_size_of_the_window,
        ),
        on_a_desktop(
            "a_size_option_keeps_the_size_and_fits_the_picture",
            a_size_option_keeps_the_size_and_fits_the_picture,
        ),
        on_a_desktop("window_settings_are_saved", window_settings_are_saved),
        on_a_desktop(
            "the_overlay_scales_with_the_pixel_density",
            the_overlay_scales_with_the_pixel_density,
        ),
        on_a_desktop(
            "a_finished_window_uses_no_processor_time",
            a_finished_window_uses_no_processor_time,
        ),
        on_a_desktop(
            "quitting_in_the_middle_is_no_error",
            quitting_in_the_middle_is_no_error,
        ),
    ];
    libtest_mimic::run(&arguments, trials).exit()
}

fn test(name: &str, body: fn()) -> Trial {
    Trial::test(name, move || {
        body();
        Ok(())
    })
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
        let said = String::from_utf8_lossy(&output.stderr).into_owned()
            + &String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{}: {said}", output.status);
        let why = if dead_display.is_some() {
            "X server"
        } else {
            "DISPLAY"
        };
        assert!(
            said.lines().any(|line| line.contains(why)),
            "{why:?} is in no line of: {said}"
        );
        assert!(!said.contains("panicked"), "{said}");
        let picture = image::open(folder.path().join("scene.png")).expect("the picture is written");
        assert_eq!((picture.width(), picture.height()), (480, 360));
    }
}

fn the_window_shows_the_picture_it_saves() {
    let desktop = Desktop::open(SCENE, &[]);
    desktop.until_title("scene.ron – 4 samples");
    let full = desktop.save();
    assert_eq!(full.dimensions(), (480, 360));
    desktop.until_same(&full, "the picture with the statistics");

    desktop.press(&["h"]);
    let short = desktop.save();
    desktop.until_same(&short, "the picture with a few figures");
    desktop.press(&["h"]);
    let bare = desktop.save();
    desktop.until_same(&bare, "the picture alone");
    let [all, few] = [&full, &short].map(|shown| differing_pixels(shown, &bare));
    assert!(all > 40_000, "the statistics cover only {all} pixels");
    assert!(
        (5_000..all / 2).contains(&few),
        "a few cover {few} of {all}"
    );

    desktop.press(&["h"]);
    desktop.until_same(&full, "the statistics again");
}

/// Returns whether several emulated GPUs are available that can be made to fail.
fn is_emulated() -> bool {
    devices().is_ok_and(|found| found.len() > 1 && found[0].name.starts_with("Emulated"))
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
    assert_eq!(desktop.until_ended().code(), Some(1));
    let said = desktop.errors();
    let last = said.lines().last().unwrap_or_default();
    assert!(
        last.starts_with("raysieve: Emulated GPU (cuda:")
            && last.contains("LAUNCH_FAILED")
            && last.contains(" are saved in scene.unfinished.exr; continue with: "),
        "{said}"
    );
}

fn keys_change_what_is_shown() {
    let desktop = Desktop::open(SCENE, &[]);
    desktop.until_title("scene.ron – 4 samples");
    let full = desktop.save();

    desktop.press(&["c"]);
    desktop.until_shown("another strategy in the first line", |shot| {
        first_line(shot) != first_line(&full)
    });

    desktop.press(&["h", "h"]);
    let bare = desktop.save();
    desktop.press(&["question"]);
    desktop.until_shown("the list of keys", |shot| {
        differing_pixels(shot, &bare) > 30_000
    });
    // The list is longer than the window, so it has pages, none of which is cut off.
    let first = desktop.shot();
    assert!(is_same_above(&first, &bare, 4), "a page lies in the window");
    desktop.press(&["F1"]);
    desktop.until_shown("the next page", |shot| {
        differing_pixels(shot, &bare) > 5_000 && differing_pixels(shot, &first) > 5_000
    });
    assert!(is_same_above(&desktop.shot(), &bare, 4));
    desktop.press(&["F1"]);
    desktop.until_same(&bare, "the picture alone");

    for _ in 0..2 {
        desktop.press(&["v"]);
        let before = desktop.shot();
        desktop.until_shown("false colours, and their scale", |shot| {
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

fn keys_held_for_another_window_are_ignored() {
    let mut desktop = Desktop::open(SCENE, &[]);
    desktop.until_title("scene.ron – 4 samples");
    desktop.iconify();
    desktop.key_down("q");
    desktop.activate();
    desktop.key_up("q");
    // The window receives later key presses.
    desktop.press(&["k"]);
    eventually("the camera is told", || {
        desktop.output().contains("camera: ").then_some(())
    });
    desktop.press(&["q"]);
    assert!(desktop.until_ended().success(), "{}", desktop.errors());
}

fn a_denoised_preview_is_marked_and_not_saved() {
    let desktop = Desktop::open(SCENE, &[]);
    desktop.until_title("scene.ron – 4 samples");
    desktop.press(&["h"]);
    let plain = desktop.save();
    desktop.until_same(&plain, "the picture with a few figures");
    desktop.press(&["n"]);
    // The message about denoising covers the picture for a while.
    thread::sleep(Duration::from_secs(4));
    let marked = |shot: &RgbImage| {
        let changed = differing_pixels(shot, &plain);
        let warns =
            |pixel: &&image::Rgb<u8>| pixel.0[0] > 220 && pixel.0[2] < 150 && pixel.0[1] < 160;
        changed > 2_000 && shot.pixels().filter(warns).count() > 100
    };
    desktop.until_shown("a smoother picture, and what it is", marked);
    let saved = desktop.save();
    assert_eq!(differing_pixels(&saved, &plain), 0, "the picture as it is");
    desktop.press(&["n"]);
    desktop.until_same(&plain, "the picture as it is");
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
    thread::sleep(Duration::from_millis(500));
    let held = samples();
    let picture = desktop.shot();
    thread::sleep(Duration::from_millis(700));
    assert_eq!(samples(), held);
    desktop.until_same(&picture, "the same while it is paused");

    desktop.press(&["r"]);
    eventually("it begins again and holds", || {
        (samples() < held).then_some(())
    });
    assert!(desktop.title().contains("paused"), "{}", desktop.title());
    desktop.press(&["space"]);
    eventually("it goes on", || (samples() > held).then_some(()));
}

fn the_mouse_moves_the_camera_and_home_restores_it() {
    let desktop = Desktop::open(SCENE, &[]);
    desktop.until_title("scene.ron – 4 samples");
    desktop.press(&["h", "h"]);
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
    let desktop = Desktop::open(SCENE, &[]);
    desktop.until_title("scene.ron – 4 samples");
    desktop.press(&["h", "h"]);
    let home = desktop.save();
    desktop.press(&["g"]);
    // The message disappears by itself.
    desktop.until_shown("what is said", |shot| *shot != home);
    desktop.until_same(&home, "the picture alone");
    for (key, way) in [
        ("w", "nearer"),
        ("d", "to the right"),
        ("Shift+a", "to the left"),
    ] {
        desktop.hold(key, Duration::from_millis(300));
        desktop.until_shown(way, |shot| differing_pixels(shot, &home) > 40_000);
        thread::sleep(Duration::from_secs(1));
        desktop.until_title("scene.ron – 4 samples");
        let there = desktop.shot();
        thread::sleep(Duration::from_millis(300));
        assert!(desktop.shot() == there, "it stands still");
        desktop.press(&["0"]);
        desktop.until_same(&home, "the picture of the scene's own camera");
    }
    desktop.press(&["g"]);
    desktop.press(&["w"]);
    desktop.until_same(&home, "the same, since w flies no more");
}

fn a_click_shows_a_path_until_the_camera_moves() {
    let desktop = Desktop::open(SCENE, &[]);
    desktop.until_title("scene.ron – 4 samples");
    desktop.press(&["h", "h"]);
    let bare = desktop.save();
    desktop.until_same(&bare, "the picture alone");

    // A click on the sphere shows a mark, the path, and the panel with its bounces.
    desktop.click(150, 200);
    desktop.until_shown("a path", |shot| differing_pixels(shot, &bare) > 5_000);
    let path = desktop.shot();
    let mark = |shot: &RgbImage| shot.get_pixel(150, 200).0 == [240, 243, 247];
    assert!(mark(&path) && !mark(&bare), "the pixel is marked");
    assert_eq!(desktop.save(), bare, "a path is not saved with the picture");

    desktop.drag("1", 40, 0);
    desktop.until_shown("another view", |shot| {
        differing_pixels(shot, &path) > 20_000
    });
    // The title is updated at long intervals.
    thread::sleep(Duration::from_secs(1));
    desktop.until_title("scene.ron – 4 samples");
    let moved = desktop.save();
    assert_ne!(moved, bare);
    desktop.until_same(&moved, "the picture without the path");
}

fn messages_do_not_cover_other_panels() {
    let desktop = Desktop::open(SCENE, &[]);
    desktop.until_title("scene.ron – 4 samples");
    desktop.press(&["h", "h"]);
    let bare = desktop.save();
    desktop.until_shown("where it is saved", |shot| *shot != bare);
    desktop.until_same(&bare, "the picture alone");
    desktop.click(150, 200);
    desktop.until_shown("a path", |shot| differing_pixels(shot, &bare) > 5_000);
    let path = desktop.still();
    // The description of the path is in the lower right corner.
    let figures = |shot: &RgbImage| image::imageops::crop_imm(shot, 280, 290, 190, 60).to_image();
    assert_ne!(figures(&path), figures(&bare));
    desktop.press(&["g"]);
    desktop.until_shown("that it flies", |shot| {
        differing_pixels(shot, &path) > 1_000
    });
    assert_eq!(figures(&desktop.shot()), figures(&path));

    // The legend is placed beside or above it.
    desktop.until_same(&path, "the path alone");
    desktop.press(&["v"]);
    desktop.until_shown("false colours", |shot| {
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
    assert!(others.count() < 60, "the figures stand there as before");
}

fn the_camera_can_be_printed_saved_and_undone() {
    let desktop = Desktop::open(SCENE, &[]);
    desktop.until_title("scene.ron – 4 samples");
    desktop.press(&["h", "h"]);
    let home = desktop.save();
    desktop.drag("1", 60, -20);
    desktop.until_shown("another view", |shot| differing_pixels(shot, &home) > 5_000);

    desktop.press(&["k"]);
    let told = eventually("the camera is told", || {
        let output = desktop.output();
        output.starts_with("camera: (origin: (").then_some(output)
    });
    desktop.press(&["K"]);
    let kept = eventually("the camera is kept", || {
        Some(desktop.scene()).filter(|scene| scene != SCENE)
    });
    let origin = told
        .split_once("origin: ")
        .and_then(|(_, rest)| rest.split_once("), "));
    let (origin, _) = origin.expect("it has an origin");
    let expected = SCENE.replace("(0, 1, 5)", &format!("{origin})"));
    assert_eq!(kept, expected, "only the numbers that changed");

    desktop.press(&["u"]);
    desktop.until_title("scene.ron – 4 samples");
    desktop.until_shown("the view before", |shot| {
        differing_pixels(shot, &home) < 20_000
    });
    desktop.until_same(&home, "the view before, to the bit");
}

fn scene_errors_are_shown_over_the_picture() {
    let desktop = Desktop::open(SCENE, &[]);
    desktop.until_title("scene.ron – 4 samples");
    desktop.press(&["h", "h"]);
    let bare = desktop.save();
    desktop.until_shown("where it is saved", |shot| *shot != bare);
    desktop.until_same(&bare, "the picture alone");
    desktop.write_scene(&SCENE.replace("albedo", "albeda"));
    desktop.until_shown("what is wrong, over the picture", |shot| {
        (2_000..100_000).contains(&differing_pixels(shot, &bare))
    });
    // The file may be read before it is complete.
    eventually("it is what is wrong", || {
        desktop.errors().contains("did you mean").then_some(())
    });
    let told = desktop.still();
    // Longer than a message is displayed.
    thread::sleep(Duration::from_secs(4));
    desktop.until_same(&told, "it still");
    assert_eq!(desktop.errors().matches("did you mean").count(), 1);
    desktop.write_scene(SCENE);
    desktop.until_same(&bare, "the picture alone again");
    desktop.write_scene(&SCENE.replace("(0.7, 0.2, 0.1)", "(0.1, 0.2, 0.7)"));
    desktop.until_shown("another colour", |shot| {
        differing_pixels(shot, &bare) > 10_000
    });
}

fn a_dropped_file_is_opened() {
    let desktop = Desktop::open(SCENE, &[]);
    desktop.until_title("scene.ron – 4 samples");
    let other = SCENE
        .replace("(0, 1, 5)", "(2, 1, 5)")
        .replace("spp: 4", "spp: 5");
    desktop.drop_file("no scene.txt", "nothing");
    eventually("it is refused in one line", || {
        desktop.errors().contains("no scene.txt").then_some(())
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
}

fn the_render_follows_the_size_of_the_window() {
    let desktop = Desktop::open(SCENE, &[]);
    desktop.until_title("scene.ron – 4 samples");
    for step in 0..40 {
        desktop.resize_on_the_way(300 + step * 7, 500 - step * 5);
    }
    for size in [(700, 300), (300, 500), (480, 360)] {
        desktop.resize(size.0, size.1);
        eventually("a picture in the window's size", || {
            (desktop.save().dimensions() == size).then_some(())
        });
        desktop.until_title("scene.ron – 4 samples");
        desktop.until_same(&desktop.save(), &format!("a picture of {size:?} pixels"));
    }
}

fn a_size_option_keeps_the_size_and_fits_the_picture() {
    let desktop = Desktop::open(SCENE, &["--size", "240x160"]);
    desktop.until_title("scene.ron – 4 samples");
    desktop.press(&["h", "h"]);
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
    desktop.press(&["h", "h"]);
    desktop.resize(700, 300);
    eventually("a picture in the window's size", || {
        (desktop.save().dimensions() == (700, 300)).then_some(())
    });
    close(desktop);
    assert!(kept.exists());
    let desktop = open();
    desktop.until_shown("a window of that size", |shot| {
        shot.dimensions() == (700, 300)
    });
    let bare = desktop.save();
    desktop.until_same(&bare, "the picture without statistics");
    close(desktop);

    // Invalid settings produce one line of output.
    fs::write(&kept, "(statistics: many").unwrap();
    let desktop = open();
    assert_eq!(desktop.save().dimensions(), (480, 360));
    desktop.press(&["h"]);
    fs::remove_file(&kept).unwrap();
    fs::create_dir(&kept).unwrap();
    let said = close(desktop);
    let lines: Vec<&str> = said
        .lines()
        .filter(|line| line.contains("window.ron"))
        .collect();
    assert_eq!(lines.len(), 2, "{said}");
    assert!(
        lines[0].contains("invalid settings") && lines[1].contains("not written"),
        "{said}"
    );
}

/// At twice the pixel density, the window shows the same at twice the size.
fn the_overlay_scales_with_the_pixel_density() {
    let covered = |scale: &str| {
        let variable = [("WINIT_X11_SCALE_FACTOR", scale)];
        let desktop = Desktop::open_with(SCENE, &["--size", "400x300"], &variable);
        desktop.until_title("scene.ron – 4 samples");
        desktop.resize(1000, 750);
        desktop.until_shown("a window of this size", |shot| {
            shot.dimensions() == (1000, 750)
        });
        thread::sleep(Duration::from_millis(500));
        let full = desktop.shot();
        desktop.press(&["h", "h"]);
        desktop.until_shown("the picture alone", |shot| {
            differing_pixels(shot, &full) > 10_000
        });
        thread::sleep(Duration::from_millis(500));
        differing_pixels(&desktop.shot(), &full)
    };
    let [once, twice] = ["1", "2"].map(covered);
    assert!(2 * twice > 5 * once, "{once} pixels, then {twice}");
}

fn a_finished_window_uses_no_processor_time() {
    let mut desktop = Desktop::open(SCENE, &[]);
    desktop.until_title("scene.ron – 4 samples");
    thread::sleep(Duration::from_millis(500));
    let before = desktop.processor_seconds();
    thread::sleep(Duration::from_secs(2));
    let spent = desktop.processor_seconds() - before;
    assert!(
        spent < 0.1,
        "{spent} s of processor in 2 s with nothing to do"
    );
    desktop.close();
    let status = desktop.until_ended();
    assert_eq!(status.code(), Some(0), "{}", desktop.errors());
}

fn quitting_in_the_middle_is_no_error() {
    for key in ["q", "Escape"] {
        let mut desktop = Desktop::open(SCENE, &["--spp", "100000"]);
        desktop.until_title("of 100000 samples");
        desktop.press(&[key]);
        let status = desktop.until_ended();
        assert_eq!(status.code(), Some(0), "{key}: {}", desktop.errors());
    }
}

/// Returns the number of differing pixels; all of them if the sizes differ.
fn differing_pixels(one: &RgbImage, other: &RgbImage) -> usize {
    if one.dimensions() != other.dimensions() {
        return one.pixels().len();
    }
    one.pixels()
        .zip(other.pixels())
        .filter(|(one, other)| one != other)
        .count()
}

/// Returns whether this many rows from the top are equal.
fn is_same_above(one: &RgbImage, other: &RgbImage, rows: u32) -> bool {
    let rows = |picture: &RgbImage| {
        image::imageops::crop_imm(picture, 0, 0, picture.width(), rows).to_image()
    };
    rows(one) == rows(other)
}

fn first_line(picture: &RgbImage) -> Vec<u8> {
    // The first line of the statistics: the scene and the strategy.
    image::imageops::crop_imm(picture, 0, 0, picture.width(), 34)
        .to_image()
        .into_raw()
}

/// Returns the mean of all bytes.
fn brightness(picture: &RgbImage) -> f64 {
    picture.iter().map(|&byte| f64::from(byte)).sum::<f64>() / picture.len() as f64
}
