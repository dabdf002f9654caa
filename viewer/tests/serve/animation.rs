//! Tests of animated models, which the page plays, pauses and shows at a time.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use image::RgbImage;
use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::{
    browser::has_browser,
    chromium::{PHONE, browse},
    gltf::Gltf,
    program::{add_tests, assert_done, folder, run},
    server::{Program, SCENE, TIMEOUT},
    viewer::Viewer,
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials,
        an_animation_is_shown_at_a_time_and_plays,
        edits_survive_a_change_of_the_time,
        a_chosen_animation_has_its_own_length,
        animations_are_chosen_one_after_the_other,
        alternatives_begin_with_the_first_and_others_play_at_once,
        an_animation_without_viewers_stands_still,
        a_saved_scene_file_tells_the_time_that_it_lacks,
        a_comparison_at_another_time_is_named_so,
    );
    let possible = has_browser();
    add_tests!(
        trials, if possible.clone() =>
        a_phone_plays_and_scrubs_an_animation,
        a_phone_chooses_an_animation,
    );
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
    let expected = json!({
        "time": null, "seconds": 2.0, "playing": false, "text": "rest pose, animation of 2 s", "names": ["1"], "chosen": null,
    });
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

fn a_comparison_at_another_time_is_named_so() {
    let folder = folder();
    fs::write(folder.path().join("model.gltf"), Gltf::shrinking().text()).unwrap();
    let start = [
        &["model.gltf", "--time", "0.5", "-o", "other.png"],
        &SMALL[..],
    ]
    .concat();
    assert_done(&run(folder.path(), start));
    let other = folder.path().join("other.png");
    let compare = ["--time", "0.5", "--compare", other.to_str().unwrap()];
    let arguments = [&compare[..], &SMALL].concat();
    let program = Program::start_model(&Gltf::shrinking().text(), &arguments);
    let mut viewer = Viewer::join(&program);
    let mut expect = |name: &str| {
        viewer.wait_for_status(|status| status["compared"] == name);
    };
    expect("other.png");
    let mut second = Viewer::join(&program);
    second.send(r#"{"seek":1}"#);
    expect("other.png, of another time");
    second.send(r#"{"act":"error-map"}"#);
    second.wait_for_status(|status| {
        status["legend"]["title"] == "FLIP, difference from other.png, of another time"
    });
    second.send(r#"{"seek":0.5}"#);
    expect("other.png");
    // The time that a drag chooses has a short text.
    second.send(r#"{"seek":1.2345678901}"#);
    second.wait_for_status(|status| status["animation"]["time"] == 1.235);
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
    let model = Gltf::hopping().text();
    let arguments = [&SMALL[..], &["--animation", "hop"]].concat();
    let program = Program::start_model(&model, &arguments);
    let mut viewer = Viewer::join(&program);
    let status = viewer.wait_for_status(|status| status["state"] == "done");
    assert_eq!(status["animation"]["text"], "time 0.00 of 0.75 s");

    // Without a choice all play, and the longest counts.
    let program = Program::start_model(&model, &SMALL);
    let mut viewer = Viewer::join(&program);
    let status = viewer.wait_for_status(|status| status["state"] == "done");
    assert_eq!(status["animation"]["seconds"], 2.0);

    let still = Program::start(&["--spp", "4"]);
    let mut viewer = Viewer::join(&still);
    viewer.wait_for_status(|status| status["animation"].is_null());
    for action in ["play-animation", "next-animation"] {
        viewer.send(&format!(r#"{{"act":"{action}"}}"#));
        viewer.wait_for_message("scene.ron has no animation to play; open an animated glTF file");
        viewer.send(r#"{"act":"brighter"}"#);
        viewer.wait_for_message("exposure");
    }
}

fn animations_are_chosen_one_after_the_other() {
    let program = Program::start_model(&Gltf::hopping().text(), &SMALL);
    let mut viewer = Viewer::join(&program);
    let status = viewer.wait_for_status(|status| status["state"] == "done");
    assert_eq!(status["animation"]["names"], json!(["1", "hop"]));
    assert_eq!(status["animation"]["chosen"], 0);
    let large = red_pixels(&viewer.still());
    let hop = "animation hop, 2 of 2";
    let steps = [
        (
            r#"{"act":"next-animation"}"#,
            "animation 1, 1 of 2",
            json!(0),
            2.0,
        ),
        (r#"{"act":"next-animation"}"#, hop, json!(1), 0.75),
        (
            r#"{"act":"next-animation"}"#,
            "all animations",
            Value::Null,
            2.0,
        ),
        (r#"{"animation":1}"#, hop, json!(1), 0.75),
        (r#"{"animation":null}"#, "all animations", Value::Null, 2.0),
        (r#"{"animation":1}"#, hop, json!(1), 0.75),
    ];
    for (request, message, chosen, seconds) in steps {
        viewer.send(request);
        viewer.wait_for_message(message);
        viewer.wait_for_status(|status| {
            let animation = &status["animation"];
            animation["chosen"] == chosen && animation["seconds"] == seconds
        });
    }
    viewer.send(r#"{"seek":0.75}"#);
    viewer.wait_for_status(|status| status["animation"]["text"] == "time 0.75 of 0.75 s");
    viewer.wait_for_still(|picture| 20 * red_pixels(picture) < large);
    viewer.send(r#"{"act":"print-camera"}"#);
    viewer.wait_for_message("// --animation \"hop\" --time 0.75\ncamera: (");
    let scene = program.get("/scene.ron", &[]);
    let field = "animation: \"hop\", time: 0.75";
    assert!(scene.text().contains(field), "{}", scene.text());
    // It plays on with another animation.
    viewer.send(r#"{"act":"play-animation"}"#);
    viewer.send(r#"{"animation":0}"#);
    viewer.wait_for_status(|status| {
        let animation = &status["animation"];
        animation["chosen"] == 0 && animation["time"].as_f64().unwrap() > 1.0
    });
    viewer.send(r#"{"animation":2}"#);
    viewer.wait_for_close().expect("an unknown animation");
}

fn alternatives_begin_with_the_first_and_others_play_at_once() {
    let play = r#"{"act":"play-animation"}"#;
    let names = |model: &Gltf, arguments: &[&str]| {
        let arguments = [&SMALL[..], arguments].concat();
        let program = Program::start_model(&model.text(), &arguments);
        let mut viewer = Viewer::join(&program);
        let status = viewer.wait_for_status(|status| status["state"] == "done");
        viewer.send(play);
        let message = viewer.wait_for_message("playing ");
        let playing = viewer.wait_for_status(|status| {
            status["animation"]["time"]
                .as_f64()
                .is_some_and(|time| time > 0.1)
        });
        (
            status["animation"]["chosen"].clone(),
            playing["animation"]["chosen"].clone(),
            message,
        )
    };
    let mut model = Gltf::hopping();
    let first =
        "playing animation 1, 1 of 2: 2 s in a loop; j (list Animation): the next one".to_owned();
    assert_eq!(names(&model, &[]), (json!(0), json!(0), first));
    let all = "playing all animations: 2 s in a loop; j (list Animation): the next one".to_owned();
    let chosen = ["--animation", "all"];
    assert_eq!(
        names(&model, &chosen),
        (Value::Null, Value::Null, all.clone())
    );
    // The second one moves the node that the first one scales.
    let hop = &mut model.json["animations"][1]["channels"][0]["target"]["path"];
    assert_eq!(*hop, "scale");
    *hop = json!("translation");
    assert_eq!(names(&model, &[]), (Value::Null, Value::Null, all));
}

fn an_animation_without_viewers_stands_still() {
    let program = Program::start_model(&Gltf::shrinking().text(), &SMALL);
    let mut viewer = Viewer::join(&program);
    viewer.send(r#"{"act":"play-animation"}"#);
    viewer.wait_for_message("animation plays");
    drop(viewer);
    // The program notices at once that the viewer has left, unless the machine is busy.
    let start = Instant::now();
    loop {
        let before = program.processor_time();
        thread::sleep(Duration::from_secs(2));
        let used = program.processor_time() - before;
        if used < Duration::from_millis(500) {
            break;
        }
        assert!(start.elapsed() < TIMEOUT, "{used:?}");
    }
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

fn a_phone_chooses_an_animation() {
    let program = Program::start_model(&Gltf::hopping().text(), &SMALL);
    browse(PHONE, async |browser| {
        browser.open(&program.url).await;
        browser
            .wait_for_text("#time-text", "rest pose, animation of 2 s")
            .await;
        let list = "const list = document.getElementById('animation-name');
            return [list.checkVisibility(), list.selectedOptions[0].text, list.offsetHeight >= 40]";
        let shows = |name: &str| json!([true, name, true]);
        assert_eq!(browser.run(list).await, shows("1"));
        browser.click("#animation-name option[value='1']").await;
        browser
            .wait_for_message(|text| text == "animation hop, 2 of 2")
            .await;
        browser
            .wait_for_text("#time-text", "time 0.00 of 0.75 s")
            .await;
        browser.run("document.activeElement.blur()").await;
        browser.press("j").await;
        let all = shows("all animations");
        browser.until(list, |shown| *shown == all).await;
    });
    // Nothing is to be chosen.
    let single = Program::start_model(&Gltf::shrinking().text(), &SMALL);
    browse(PHONE, async |browser| {
        browser.open(&single.url).await;
        browser.wait_for_text("#state", "done").await;
        let shown = "return ['play', 'animation-name'].map((id) => document.getElementById(id).checkVisibility())";
        assert_eq!(browser.run(shown).await, json!([true, false]));
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
    viewer.send(r#"{"act":"next-animation"}"#);
    viewer.wait_for_message("the field `animation` of each Model chooses its animation");
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
