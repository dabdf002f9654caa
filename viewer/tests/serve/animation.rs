//! Tests of animated models, which the page plays, pauses and shows at a time.

use std::{fs, thread, time::Duration};

use image::RgbImage;
use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::{
    browser::has_browser,
    chromium::{PHONE, browse},
    gltf::Gltf,
    program::add_tests,
    server::{Program, SCENE},
    viewer::Viewer,
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials,
        an_animation_is_shown_at_a_time_and_plays,
        edits_survive_a_change_of_the_time,
        a_chosen_animation_has_its_own_length,
        an_animation_without_viewers_stands_still,
        a_saved_scene_file_tells_the_time_that_it_lacks,
    );
    let possible = has_browser();
    add_tests!(trials, if possible => a_phone_plays_and_scrubs_an_animation);
}

const SMALL: [&str; 4] = ["--size", "160x120", "--spp", "4"];

/// Returns the number of pixels that are clearly red.
fn red_pixels(picture: &RgbImage) -> usize {
    let is_red = |[red, green, _]: [u8; 3]| red > 60 && u16::from(red) > 2 * u16::from(green);
    picture.pixels().filter(|pixel| is_red(pixel.0)).count()
}

/// Requests a time in seconds, and returns the picture at it, which satisfies `is_wanted`.
fn seek(viewer: &mut Viewer, seconds: f64, is_wanted: impl Fn(&RgbImage) -> bool) -> RgbImage {
    viewer.send(&format!(r#"{{"seek":{seconds}}}"#));
    let text = format!("time {seconds:.2} of 2 s");
    viewer.wait_for_status(|status| status["animation"]["text"] == *text);
    viewer.wait_for_still(is_wanted)
}

fn an_animation_is_shown_at_a_time_and_plays() {
    let program = Program::start_model(&Gltf::shrinking().text(), &SMALL);
    let mut viewer = Viewer::join(&program);
    let status = viewer.wait_for_status(|status| status["state"] == "done");
    let expected = json!({ "time": null, "seconds": 2.0, "playing": false, "text": "rest pose, animation of 2 s" });
    assert_eq!(status["animation"], expected);
    let large = red_pixels(&viewer.still());
    seek(&mut viewer, 2.0, |picture| 20 * red_pixels(picture) < large);
    // The sides have half of their length.
    let halves = 3 * large..5 * large;
    seek(&mut viewer, 1.25, |picture| {
        halves.contains(&(16 * red_pixels(picture)))
    });
    let scene = program.get("/scene.ron", &[]);
    assert!(scene.text().contains("time: 1.25"), "{}", scene.text());
    // Times beyond the end are moved to it.
    viewer.send(r#"{"seek":99}"#);
    viewer.wait_for_status(|status| status["animation"]["time"] == 2.0);

    viewer.send(r#"{"act":"play-animation"}"#);
    viewer.wait_for_message("animation plays: 2 s in a loop");
    let is_at = |from: f64, to: f64| {
        move |status: &Value| {
            let time = status["animation"]["time"].as_f64().unwrap();
            status["animation"]["playing"] == true && (from..to).contains(&time)
        }
    };
    for (from, to) in [(0.1, 1.0), (1.0, 1.9), (0.1, 1.0)] {
        viewer.wait_for_status(is_at(from, to));
    }
    // The camera can be moved meanwhile.
    viewer.send(r#"{"turn":[0.2,0]}"#);
    viewer.send(r#"{"seek":0.5}"#);
    viewer.wait_for_status(is_at(0.5, 1.9));
    viewer.send(r#"{"act":"play-animation"}"#);
    viewer.wait_for_message("animation paused: time ");
    viewer.wait_for_status(|status| status["state"] == "done");
    viewer.send(r#"{"seek":"soon"}"#);
    viewer.wait_for_close().expect("an invalid request");
}

fn edits_survive_a_change_of_the_time() {
    let program = Program::start_model(&Gltf::shrinking().text(), &SMALL);
    let mut viewer = Viewer::join(&program);
    let home = viewer.still();
    viewer.select(&json!({ "material": 0 }));
    viewer.send(r#"{"edit":[{"material":0},"base_color",[0.05,0.05,0.8],false]}"#);
    let blue = viewer.wait_for_still(|picture| red_pixels(picture) == 0);
    seek(&mut viewer, 0.5, |picture| {
        red_pixels(picture) == 0 && *picture != blue
    });
    assert_eq!(viewer.editor["can_undo"], true);
    seek(&mut viewer, 0.0, |picture| *picture == blue);
    viewer.send(r#"{"act":"undo"}"#);
    viewer.wait_for_still(|picture| *picture == home);
    seek(&mut viewer, 0.5, |picture| {
        red_pixels(picture) > 0 && *picture != home
    });
}

fn a_chosen_animation_has_its_own_length() {
    let mut model = Gltf::shrinking();
    let mut short = model.json["animations"][0].clone();
    let times = model.floats("SCALAR", &[[0.0], [0.75]]);
    short["name"] = json!("hop");
    short["samplers"][0]["input"] = json!(times);
    let animations = model.json["animations"].as_array_mut().unwrap();
    animations.push(short);
    let arguments = [&SMALL[..], &["--animation", "hop"]].concat();
    let program = Program::start_model(&model.text(), &arguments);
    let mut viewer = Viewer::join(&program);
    let status = viewer.wait_for_status(|status| status["state"] == "done");
    assert_eq!(status["animation"]["text"], "time 0.00 of 0.75 s");

    // Without a choice all play, and the longest counts.
    let program = Program::start_model(&model.text(), &SMALL);
    let mut viewer = Viewer::join(&program);
    let status = viewer.wait_for_status(|status| status["state"] == "done");
    assert_eq!(status["animation"]["seconds"], 2.0);

    let still = Program::start(&["--spp", "4"]);
    let mut viewer = Viewer::join(&still);
    viewer.wait_for_status(|status| status["animation"].is_null());
    viewer.send(r#"{"act":"play-animation"}"#);
    viewer.wait_for_message("scene.ron has no animation to play; open an animated glTF file");
}

fn an_animation_without_viewers_stands_still() {
    let program = Program::start_model(&Gltf::shrinking().text(), &SMALL);
    let mut viewer = Viewer::join(&program);
    viewer.send(r#"{"act":"play-animation"}"#);
    viewer.wait_for_message("animation plays");
    drop(viewer);
    thread::sleep(Duration::from_secs(2));
    let before = program.processor_time();
    thread::sleep(Duration::from_secs(2));
    let used = program.processor_time() - before;
    assert!(used < Duration::from_millis(500), "{used:?}");
    // It goes on where it would be.
    let mut viewer = Viewer::join(&program);
    let first = viewer.wait_for_status(|status| status["animation"]["playing"] == true);
    viewer.wait_for_status(|status| status["animation"]["time"] != first["animation"]["time"]);
}

fn a_phone_plays_and_scrubs_an_animation() {
    let program = Program::start_model(&Gltf::shrinking().text(), &SMALL);
    browse(PHONE, async |browser| {
        browser.open(&program.url).await;
        browser
            .wait_for_text("#time-text", "rest pose, animation of 2 s")
            .await;
        browser.click("#play").await;
        browser.wait_for_text("#play", "Pause animation").await;
        let time = "return document.getElementById('time').valueAsNumber";
        browser
            .until(time, |time| time.as_f64().unwrap() > 1.0)
            .await;
        browser
            .until(time, |time| time.as_f64().unwrap() < 1.0)
            .await;
        browser.click("#play").await;
        browser.wait_for_text("#play", "Play animation").await;
        // The slider has the focus of the keyboard: End, then one frame back.
        browser.run("document.getElementById('time').focus()").await;
        browser.press("\u{e010}").await;
        browser
            .wait_for_text("#time-text", "time 2.00 of 2 s")
            .await;
        browser.press("\u{e012}").await;
        browser
            .wait_for_text("#time-text", "time 1.96 of 2 s")
            .await;
        // All of it is within the width of the screen, and large enough for a finger.
        let fits = "return ['play', 'time'].every((id) => {
            const box = document.getElementById(id).getBoundingClientRect();
            return box.left >= 0 && box.right <= innerWidth && box.height >= 40;
        })";
        assert_eq!(browser.run(fits).await, true);
    });
    let still = Program::start(&["--spp", "4"]);
    browse(PHONE, async |browser| {
        browser.open(&still.url).await;
        browser.wait_for_text("#state", "done").await;
        let shown = "return document.getElementById('animation').checkVisibility()";
        assert_eq!(browser.run(shown).await, false);
    });
}

fn a_saved_scene_file_tells_the_time_that_it_lacks() {
    let program = Program::start(&["--spp", "4"]);
    let mut viewer = Viewer::join(&program);
    viewer.wait_for_status(|status| status["animation"].is_null());
    let folder = program.folder.path();
    fs::write(folder.join("model.gltf"), Gltf::shrinking().text()).unwrap();
    let model = "objects: [\n        Model(file: \"model.gltf\"),";
    let scene = SCENE.replace("objects: [", model);
    fs::write(folder.join("scene.ron"), &scene).unwrap();
    viewer.wait_for_status(|status| status["animation"]["seconds"] == 2.0);
    seek(&mut viewer, 1.5, |_| true);
    viewer.send(r#"{"act":"print-camera"}"#);
    viewer.wait_for_message("// --time 1.5\ncamera: (");
    viewer.send(r#"{"act":"save-camera"}"#);
    viewer.wait_for_message("saved to scene.ron, without the time; --time 1.5 shows it");
    assert_eq!(fs::read_to_string(folder.join("scene.ron")).unwrap(), scene);
    // A file without an animation is shown, whatever the time was.
    fs::write(folder.join("scene.ron"), SCENE).unwrap();
    viewer.wait_for_status(|status| status["animation"].is_null());
    viewer.wait_for_message("scene.ron reloaded");
}
