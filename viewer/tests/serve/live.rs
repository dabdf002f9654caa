//! Tests of what viewers receive and can change.

use std::{
    fs,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use image::RgbImage;
use libtest_mimic::Trial;
use raysieve::{
    inspect::path_record::Inspector,
    render::renderer::{BackendChoice, Renderer, Settings},
    scene::Scene,
    wave::Stage,
};
use serde_json::Value;
use tungstenite::{Message, protocol::frame::coding::CloseCode};

use crate::{
    add_tests,
    program::{ENDLESS, PATIENCE, Program, SCENE, folder, raysieve},
    viewer::{Heard, Viewer, difference},
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials,
        pictures_follow_the_pointer_and_home_restores_the_view,
        a_still_picture_is_sent_losslessly,
        status_statistics_equal_stats_json,
        every_control_is_accepted,
        all_viewers_see_changes_of_one,
        debug_views_have_a_legend_and_can_be_left,
        materials_can_be_edited_undone_and_saved,
        a_camera_flies_and_focuses,
        a_click_shows_the_path_of_a_sample_until_the_view_changes,
        a_click_shows_the_last_path_of_its_pixel_with_adaptive_sampling,
        a_denoised_preview_is_marked_and_not_saved,
        a_viewer_can_reconnect_during_a_render,
        a_paused_render_sends_its_picture_to_new_viewers,
        a_stalled_viewer_slows_no_other_and_uses_bounded_memory,
        a_flood_of_commands_is_merged,
        an_invalid_message_disconnects_only_its_viewer,
    );
}

/// Difference below which pictures show the same view: more than JPEG artefacts and noise, less than another view.
const ALIKE: f64 = 6.0;

fn pictures_follow_the_pointer_and_home_restores_the_view() {
    let program = Program::start(&["--spp", "16"]);
    let mut viewer = Viewer::join(&program);
    let home = still(&mut viewer);
    assert_eq!(home.dimensions(), (160, 120));
    let motions = [
        r#"{"turn":[0.25,-0.05]}"#,
        r#"{"pan":[0.3,0.1]}"#,
        r#"{"dolly":5}"#,
        r#"{"zoom":0.5}"#,
        r#"{"act":"turn-left"}"#,
        r#"{"act":"pan-up"}"#,
        r#"{"act":"nearer"}"#,
    ];
    for motion in motions {
        viewer.say(motion);
        let moved = still_that(&mut viewer, |picture| *picture != home);
        assert_eq!(moved.dimensions(), (160, 120), "{motion}");
        viewer.say(r#"{"act":"home"}"#);
        // Bit for bit.
        still_that(&mut viewer, |picture| *picture == home);
    }
    // The scene follows the pointer by the same distance.
    viewer.say(r#"{"pan":[0.25,0]}"#);
    let moved = still_that(&mut viewer, |picture| *picture != home);
    let shifted = |x: u32, y: u32| (home.get_pixel(x, y), moved.get_pixel(x + 30, y));
    let (mut alike, mut all) = (0, 0);
    for (x, y) in (20..110).flat_map(|x| (50..90).map(move |y| (x, y))) {
        let (from, to) = shifted(x, y);
        all += 1;
        alike += u32::from(from.0.iter().zip(to.0).all(|(a, b)| a.abs_diff(b) < 40));
    }
    assert!(
        alike * 10 > all * 8,
        "{alike} of {all} pixels went with the hand"
    );
}

/// Returns the picture after the render has completed.
pub(crate) fn still(viewer: &mut Viewer) -> RgbImage {
    still_that(viewer, |_| true)
}

/// Returns the first lossless picture that is as wanted.
pub(crate) fn still_that(viewer: &mut Viewer, is_wanted: impl Fn(&RgbImage) -> bool) -> RgbImage {
    let begun = Instant::now();
    loop {
        let (picture, is_exact) = viewer.picture();
        if is_exact && is_wanted(&picture) {
            return picture;
        }
        assert!(begun.elapsed() < PATIENCE);
    }
}

fn a_still_picture_is_sent_losslessly() {
    let program = Program::start(&["--exposure", "0.5", "--tone", "agx"]);
    let mut viewer = Viewer::join(&program);
    let seen = still(&mut viewer);
    let saved = program.get("/picture.png", &[]);
    assert_eq!(saved.header("content-type"), Some("image/png"));
    assert_eq!(
        saved.header("content-disposition"),
        Some("attachment; filename=\"scene.png\"")
    );
    let saved = image::load_from_memory(&saved.body).unwrap().into_rgb8();
    let folder = folder();
    let headless = [
        "scene.ron",
        "--backend",
        "cpu",
        "--exposure",
        "0.5",
        "--tone",
        "agx",
        "-o",
        "a.png",
    ];
    assert!(
        raysieve(folder.path())
            .args(headless)
            .output()
            .unwrap()
            .status
            .success()
    );
    let written = image::open(folder.path().join("a.png"))
        .unwrap()
        .into_rgb8();
    assert!(seen == written, "what is seen is what would be written");
    assert!(saved == written, "what is saved is what would be written");
}

fn a_denoised_preview_is_marked_and_not_saved() {
    let program = Program::start(&["--spp", "8"]);
    let mut viewer = Viewer::join(&program);
    let plain = still(&mut viewer);
    let saved = || {
        image::load_from_memory(&program.get("/picture.png", &[]).body)
            .unwrap()
            .into_rgb8()
    };
    assert!(saved() == plain);
    viewer.say(r#"{"act":"denoise"}"#);
    let status = viewer.status_that(|status| status["stats"]["denoise_ms"].is_f64());
    assert_eq!(status["denoise"], true);
    let preview = still_that(&mut viewer, |picture| *picture != plain);
    assert!(difference(&preview, &plain) < ALIKE);
    let stats: Value = serde_json::from_str(program.get("/stats.json", &[]).text()).unwrap();
    assert!(stats["denoise_ms"].is_f64());
    assert!(saved() == plain, "what is saved is what was rendered");
    viewer.say(r#"{"act":"denoise"}"#);
    viewer.status_that(|status| status["stats"].get("denoise_ms").is_none());
    still_that(&mut viewer, |picture| *picture == plain);
}

fn status_statistics_equal_stats_json() {
    let program = Program::start(&[
        "--compaction",
        "scan-scatter",
        "--seed",
        "7",
        "--clamp-indirect",
        "2",
    ]);
    let mut viewer = Viewer::join(&program);
    let status = viewer.status_that(|status| status["state"] == "done");
    let answer: Value = serde_json::from_str(program.get("/stats.json", &[]).text()).unwrap();
    assert_eq!(status["stats"], answer, "one set of figures");
    let folder = folder();
    let headless = [
        "scene.ron",
        "--backend",
        "cpu",
        "--threads",
        "1",
        "--compaction",
        "scan-scatter",
        "--seed",
        "7",
        "--clamp-indirect",
        "2",
        "-o",
        "a.png",
        "--stats",
        "a.json",
    ];
    assert!(
        raysieve(folder.path())
            .args(headless)
            .output()
            .unwrap()
            .status
            .success()
    );
    let written = fs::read(folder.path().join("a.json")).unwrap();
    let written: Value = serde_json::from_slice(&written).unwrap();
    // Times differ between runs, and the hash is only known for the finished film.
    let counted = |stats: &Value| {
        let mut stats = stats.clone();
        let fields = stats.as_object_mut().unwrap();
        for time in [
            "seconds",
            "paths_per_second",
            "rays_per_second",
            "film_hash",
        ] {
            assert!(fields.remove(time).is_some(), "{time}");
        }
        for device in fields["devices"].as_array_mut().unwrap() {
            let speed = device.as_object_mut().unwrap().remove("paths_per_second");
            assert!(speed.is_some_and(|speed| speed.is_f64()));
        }
        for bounce in fields["bounces"].as_array_mut().unwrap() {
            for stage in Stage::OF_BOUNCE.map(Stage::label) {
                let field = format!("{stage}_ms");
                let time = bounce.as_object_mut().unwrap().remove(&field);
                assert!(time.is_some_and(|time| time.is_f64()), "{stage}");
            }
        }
        stats
    };
    assert_eq!(counted(&answer), counted(&written));
}

fn every_control_is_accepted() {
    let program = Program::start(&["--spp", "100000"]);
    let mut viewer = Viewer::join(&program);
    viewer.status_that(|status| status["stats"]["spp"].as_u64() > Some(0));
    let controls = viewer.greeting["controls"].as_array().unwrap().clone();
    let mut own = Vec::new();
    for (_, action) in controls.iter().flat_map(|control| {
        let keys = control["keys"].as_array().unwrap();
        keys.iter().map(|key| (key[0].clone(), key[1].clone()))
    }) {
        match action["render"].as_str() {
            Some(change) => viewer.say(&format!(r#"{{"act":"{change}"}}"#)),
            // Fly keys are sent as motions.
            None if action["fly"].is_string() => viewer.say(r#"{"fly":[0.1,0.1,0.1]}"#),
            None => own.push(action["screen"].as_str().unwrap().to_owned()),
        }
    }
    // The page has a function for each of its own actions.
    own.sort();
    own.dedup();
    let page = program.get("/view.js", &[]);
    for action in &own {
        assert!(page.text().contains(&format!("  {action}: ")), "{action}");
    }
    assert!(
        !own.contains(&"quit".to_owned()),
        "a page does not end the program"
    );
    // Exactly one of the actions was the pause, so the render is paused now.
    viewer.status_that(|status| status["state"]["paused"].is_object());
    viewer.say(r#"{"act":"pause"}"#);
    viewer.status_that(|status| status["state"]["rendering"].is_object());
    viewer.say(r#"{"act":"restart"}"#);
    let mut told = |message: &str, field: fn(&Value) -> &Value, wanted: &str| {
        viewer.say(message);
        viewer.status_that(|status| field(status) == wanted);
    };
    for strategy in viewer_list(&program, "strategies") {
        told(
            &format!(r#"{{"strategy":"{strategy}"}}"#),
            |status| &status["stats"]["compaction"],
            &strategy,
        );
    }
    for tone in viewer_list(&program, "tones") {
        told(
            &format!(r#"{{"tone":"{tone}"}}"#),
            |status| &status["tone"],
            &tone,
        );
    }
    let before = viewer.status["exposure_stops"].as_f64().unwrap();
    viewer.say(r#"{"act":"brighter"}"#);
    viewer.status_that(|status| status["exposure_stops"] == before + 0.5);
    viewer.say(r#"{"act":"pause"}"#);
    viewer.status_that(|status| status["state"]["paused"]["samples"] == 100_000);
    viewer.say(r#"{"act":"pause"}"#);
    viewer.status_that(|status| status["state"]["rendering"]["progress"].as_f64() > Some(0.0));
}

fn viewer_list(program: &Program, name: &str) -> Vec<String> {
    let viewer = Viewer::join(program);
    let list = viewer.greeting[name].as_array().unwrap();
    list.iter()
        .map(|one| one.as_str().unwrap().to_owned())
        .collect()
}

fn all_viewers_see_changes_of_one() {
    let program = Program::start(&["--spp", "16"]);
    let (mut one, mut other) = (Viewer::join(&program), Viewer::join(&program));
    let home = still(&mut one);
    one.status_that(|status| status["viewers"] == 2);
    one.say(r#"{"turn":[0.3,0]}"#);
    let seen = still_that(&mut other, |picture| *picture != home);
    assert!(difference(&seen, &home) > ALIKE);
    // Bit for bit.
    still_that(&mut one, |picture| *picture == seen);
    drop(other);
    one.status_that(|status| status["viewers"] == 1);
}

fn a_viewer_can_reconnect_during_a_render() {
    let program = Program::start(&ENDLESS);
    let mut first = Viewer::join(&program);
    first.say(r#"{"turn":[0.3,0]}"#);
    first.say(r#"{"tone":"aces"}"#);
    let before = first.status_that(|status| {
        status["stats"]["spp"].as_u64() > Some(20) && status["tone"] == "aces"
    });
    let picture = first.picture_that(|_| true);
    drop(first);
    let mut again = Viewer::join(&program);
    let same = again.picture_that(|_| true);
    assert!(
        difference(&same, &picture) < ALIKE,
        "the view stays where it was moved to"
    );
    let after = again.status_that(|status| status["stats"]["spp"].is_u64());
    assert!(
        after["stats"]["spp"].as_u64() >= before["stats"]["spp"].as_u64(),
        "it did not begin again"
    );
    assert_eq!(after["tone"], "aces");
}

fn a_paused_render_sends_its_picture_to_new_viewers() {
    let program = Program::start(&ENDLESS);
    let mut viewer = Viewer::join(&program);
    viewer.status_that(|status| status["stats"]["spp"].as_u64() > Some(2));
    viewer.say(r#"{"act":"pause"}"#);
    viewer.status_that(|status| status["state"]["paused"].is_object());
    drop(viewer);
    thread::sleep(Duration::from_millis(200));
    let mut late = Viewer::join(&program);
    late.picture_that(|picture| picture.dimensions() == (160, 120));
    let before = late.status_that(|status| status["stats"].is_object());
    thread::sleep(Duration::from_millis(300));
    late.say(r#"{"act":"brighter"}"#);
    let after = late.status_that(|status| status["exposure_stops"] == 0.5);
    assert_eq!(
        after["stats"]["spp"], before["stats"]["spp"],
        "it stands still"
    );
    // A new view is rendered nevertheless, with one sample.
    late.say(r#"{"turn":[0.4,0]}"#);
    let moved = late.status_that(|status| status["stats"]["spp"] != before["stats"]["spp"]);
    assert!(moved["state"]["paused"].is_object());
}

/// Number of pictures that each viewer must receive next to a stalled one.
const PICTURES: usize = 60;

fn a_stalled_viewer_slows_no_other_and_uses_bounded_memory() {
    let program = Program::start(&[
        "--size",
        "640x480",
        "--spp",
        "10000000",
        "--max-bounces",
        "0",
    ]);
    // One viewer reads nothing; the other reads but never acknowledges a picture.
    let deaf = Viewer::join(&program);
    let mut blind = Viewer::join(&program);
    let (done, finished) = mpsc::channel();
    let rates: Vec<Duration> = thread::scope(|scope| {
        for _ in 0..10 {
            let (done, program) = (done.clone(), &program);
            scope.spawn(move || {
                let mut viewer = Viewer::join(program);
                viewer.picture();
                let begun = Instant::now();
                for _ in 0..PICTURES {
                    viewer.picture();
                }
                done.send(begun.elapsed()).unwrap();
            });
        }
        let memory = program.memory();
        let rates = (0..10)
            .map(|_| finished.recv_timeout(PATIENCE).expect("pictures"))
            .collect();
        let grown = program.memory().saturating_sub(memory);
        // Allows for some pictures of 1.2 MB and the buffers of ten viewers, but not for 600 pictures.
        assert!(grown < 64 << 20, "{} MB more", grown >> 20);
        rates
    });
    println!("{PICTURES} pictures took {rates:?}");
    assert!(rates.iter().all(|took| *took < PATIENCE / 2), "{rates:?}");
    // The viewer that acknowledges nothing was sent exactly two pictures.
    let mut sent = 0;
    blind
        .socket
        .get_ref()
        .set_read_timeout(Some(Duration::from_millis(500)))
        .unwrap();
    while let Ok(message) = blind.socket.read() {
        sent += usize::from(message.is_binary());
    }
    assert_eq!(sent, 2);
    drop(deaf);
}

fn a_flood_of_commands_is_merged() {
    let program = Program::start(&ENDLESS);
    let mut viewer = Viewer::join(&program);
    let memory = program.memory();
    for step in 0..50_000 {
        let message = format!(r#"{{"turn":[{},0.0]}}"#, f64::from(step % 7) * 1e-3);
        viewer.socket.write(Message::text(message)).unwrap();
        if step % 100 == 0 {
            viewer.socket.flush().unwrap();
        }
    }
    viewer.say(r#"{"tone":"neutral"}"#);
    viewer.status_that(|status| status["tone"] == "neutral");
    viewer.picture_that(|_| true);
    let grown = program.memory().saturating_sub(memory);
    assert!(grown < 32 << 20, "{} MB more", grown >> 20);
}

fn an_invalid_message_disconnects_only_its_viewer() {
    let mut program = Program::start(&ENDLESS);
    let mut watcher = Viewer::join(&program);
    let nonsense = [
        "",
        "{",
        "null",
        "[]",
        "{}",
        "\"quit\"",
        r#"{"act":"quit"}"#,
        r#"{"act":"no-such"}"#,
        r#"{"turn":[0.1]}"#,
        r#"{"turn":[1e999,0]}"#,
        r#"{"turn":["a","b"]}"#,
        r#"{"dolly":null}"#,
        r#"{"strategy":"none"}"#,
        r#"{"tone":"sepia"}"#,
        r#"{"displayed":1,"act":"pause"}"#,
    ];
    for message in nonsense {
        let mut viewer = Viewer::join(&program);
        viewer.say(message);
        let farewell = loop {
            if let Heard::Farewell(why) = viewer.hear() {
                break why;
            }
        };
        let (code, why) = farewell.expect("a reason");
        assert_eq!(code, CloseCode::Policy, "{message}");
        assert!(!why.is_empty(), "{message}");
    }
    // Messages that are too long or binary are cut off in any way.
    for message in [
        Message::text("x".repeat(100_000)),
        Message::binary(vec![0; 16]),
    ] {
        let mut viewer = Viewer::join(&program);
        viewer.socket.send(message).unwrap();
        while viewer.socket.read().is_ok() {}
    }
    // Extreme numbers, which JSON allows but no pointer produces.
    for message in [
        r#"{"turn":[1e38,-1e38]}"#,
        r#"{"pan":[-1e38,1e38]}"#,
        r#"{"dolly":1e38}"#,
        r#"{"dolly":-1e38}"#,
        r#"{"zoom":0}"#,
        r#"{"zoom":-1e38}"#,
        r#"{"zoom":1e39}"#,
        r#"{"pan":[1e39,-1e39]}"#,
    ] {
        watcher.say(message);
        watcher.picture_that(|picture| picture.width() > 0);
    }
    watcher.say(r#"{"act":"home"}"#);
    watcher.picture_that(|_| true);
    assert!(program.is_running());
}

fn a_click_shows_the_path_of_a_sample_until_the_view_changes() {
    let program = Program::start(&["--spp", "4"]);
    let mut viewer = Viewer::join(&program);
    viewer.status_that(|status| status["state"] == "done");
    viewer.say(r#"{"inspect":[60,70]}"#);
    let path = viewer.path_that(|path| !path.is_null());
    let inspect = [
        "inspect",
        "scene.ron",
        "60,70",
        "--sample",
        "3",
        "--json",
        "a.json",
    ];
    let told = raysieve(program.folder.path())
        .args(inspect)
        .output()
        .unwrap();
    assert!(told.status.success());
    let file = fs::read_to_string(program.folder.path().join("a.json")).unwrap();
    let record: Value = serde_json::from_str(&file).unwrap();
    assert_eq!(path["path_record"], record, "the last sample of the pixel");
    assert_eq!(path["size"], serde_json::json!([160, 120]));
    assert!(!path["segments"].as_array().unwrap().is_empty());

    // A viewer that joins later sees the path too.
    let mut other = Viewer::join(&program);
    assert_eq!(other.path_that(|path| !path.is_null()), path);
    other.say(r#"{"inspect":[160,0]}"#);
    other.status_that(|status| {
        let said = status["message"][1].as_str().unwrap_or_default();
        said.contains("pixel 160,0")
    });
    // The path disappears when its material or the view changes.
    let paths = |view: &str, viewer: &mut Viewer, other: &mut Viewer| {
        other.say(view);
        viewer.path_that(Value::is_null);
        other.path_that(Value::is_null);
    };
    paths(r#"{"material":[0,[["red",0.1]]]}"#, &mut viewer, &mut other);
    other.say(r#"{"inspect":[60,70]}"#);
    let shows_another = |path: &Value| !path.is_null() && path["path_record"] != record;
    other.path_that(shows_another);
    viewer.path_that(shows_another);
    paths(r#"{"turn":[0.2,0]}"#, &mut viewer, &mut other);
}

/// With adaptive sampling, each pixel has its own number of samples.
fn a_click_shows_the_last_path_of_its_pixel_with_adaptive_sampling() {
    let to_noise = ["--noise", "0.1", "--spp", "400", "--size", "40x30"];
    let program = Program::start(&to_noise);
    let mut viewer = Viewer::join(&program);
    viewer.status_that(|status| status["state"] == "done");
    let mut scene = Scene::load(&program.folder.path().join("scene.ron")).unwrap();
    scene.set_size((40, 30));
    scene.spp = 400;
    let on_cpu = Settings {
        backend: BackendChoice::Cpu,
        ..Settings::default()
    };
    let mut renderer = Renderer::new(&scene, &on_cpu).unwrap();
    renderer.set_noise(Some(0.1)).unwrap();
    while renderer.advance().unwrap() {}
    let counts = renderer.sample_counts().unwrap();
    let inspector = Inspector::new(&scene).unwrap();
    let mut numbers: Vec<u32> = counts.clone();
    numbers.sort_unstable();
    numbers.dedup();
    assert!(numbers.len() > 2, "{numbers:?}");
    for number in numbers {
        let pixel = counts.iter().position(|&count| count == number).unwrap() as u32;
        let (column, row) = (pixel % 40, pixel / 40);
        viewer.say(&format!(r#"{{"inspect":[{column},{row}]}}"#));
        let asked = serde_json::json!([column, row]);
        let path = viewer.path_that(|path| path["path_record"]["pixel"] == asked);
        let record = inspector.trace((column, row), number - 1).unwrap();
        let record: Value = serde_json::from_str(&serde_json::to_string(&record).unwrap()).unwrap();
        assert_eq!(
            path["path_record"]["sample"],
            number - 1,
            "pixel {column},{row}"
        );
        assert_eq!(path["path_record"], record, "pixel {column},{row}");
    }
}

fn debug_views_have_a_legend_and_can_be_left() {
    let program = Program::start(&["--spp", "4", "--view", "noise"]);
    let mut viewer = Viewer::join(&program);
    let noise = viewer.status_that(|status| !status["legend"].is_null());
    assert_eq!(noise["debug_view"], "noise");
    assert_eq!(noise["legend"]["ticks"][0][1], "0.1 %");
    viewer.say(r#"{"debug-view":"light"}"#);
    viewer.status_that(|status| status["legend"].is_null());
    let light = still(&mut viewer);
    let hash = |viewer: &mut Viewer| {
        let status = viewer.status_that(|status| status["state"] == "done");
        status["stats"]["rays"].clone()
    };
    let rays = hash(&mut viewer);
    let views = viewer_list(&program, "debug_views");
    assert_eq!(views.len(), 8);
    let mut seen = vec![light.clone()];
    for view in &views[1..] {
        viewer.say(&format!(r#"{{"debug-view":"{view}"}}"#));
        viewer.status_that(|status| status["debug_view"] == **view && !status["legend"].is_null());
        let picture = still_that(&mut viewer, |picture| !seen.contains(picture));
        assert_eq!(picture.dimensions(), (160, 120), "{view}");
        seen.push(picture);
    }
    // Paths and camera motion also work in a debug view.
    viewer.say(r#"{"inspect":[60,70]}"#);
    viewer.path_that(|path| !path.is_null());
    let depth = seen.pop().unwrap();
    viewer.say(r#"{"turn":[0.3,0]}"#);
    still_that(&mut viewer, |picture| difference(picture, &depth) > ALIKE);
    viewer.say(r#"{"act":"home"}"#);
    viewer.say(r#"{"act":"picture"}"#);
    still_that(&mut viewer, |picture| *picture == light);
    assert_eq!(hash(&mut viewer), rays, "the render did not notice");
}

fn materials_can_be_edited_undone_and_saved() {
    let program = Program::start(&["--spp", "4"]);
    let mut viewer = Viewer::join(&program);
    let home = still(&mut viewer);
    let listed = viewer.materials.clone();
    assert_eq!(listed[0]["name"], "red");
    assert_eq!(listed[0]["index"], 0);
    assert!(listed[0]["roughness"].is_null(), "{listed}");
    viewer.say(r#"{"material":[0,[["red",0.0],["blue",0.75]]]}"#);
    let blue = still_that(&mut viewer, |picture| *picture != home);
    viewer.status_that(|status| status["state"] == "done");
    assert_eq!(
        viewer.materials[0]["color"],
        serde_json::json!([0.0, 0.2, 0.75])
    );
    viewer.say(r#"{"act":"undo"}"#);
    still_that(&mut viewer, |picture| *picture == home);
    // The keyboard starts with the first parameter, red.
    assert!(viewer.chosen_material.is_null());
    viewer.say(r#"{"act":"next-material"}"#);
    viewer.say(r#"{"act":"increase"}"#);
    viewer.status_that(|status| status["message"][1] == "material \"red\": red 0.75");
    while viewer.chosen_material != 0 {
        viewer.hear();
    }
    viewer.say(r#"{"act":"next-material"}"#);
    while viewer.chosen_material != 1 {
        viewer.hear();
    }
    assert_eq!(viewer.materials[1]["name"], "white");
    viewer.say(r#"{"act":"undo"}"#);
    still_that(&mut viewer, |picture| *picture == home);

    viewer.say(r#"{"material":[0,[["red",0.0],["blue",0.75]]]}"#);
    still_that(&mut viewer, |picture| *picture == blue);
    viewer.say(r#"{"act":"print-camera"}"#);
    let status =
        viewer.status_that(|status| status["message"][1].to_string().contains("camera: ("));
    let told = status["message"][1].as_str().unwrap();
    assert!(
        told.contains("\"red\": Diffuse(albedo: (0, 0.2, 0.75)),"),
        "{told}"
    );
    viewer.say(r#"{"act":"save-camera"}"#);
    viewer.status_that(|status| {
        status["message"][1]
            .to_string()
            .contains("materials saved to")
    });
    let scene = program.folder.path().join("scene.ron");
    let kept = fs::read_to_string(&scene).unwrap();
    assert_eq!(kept, SCENE.replace("(0.7, 0.2, 0.1)", "(0, 0.2, 0.75)"));
    fs::write(&scene, SCENE).unwrap();
    still_that(&mut viewer, |picture| *picture == home);
    viewer.say(r#"{"material":[9,[["red",0.0]]]}"#);
    assert!(matches!(
        last_words(&mut viewer),
        Some((CloseCode::Policy, _))
    ));
}

fn last_words(viewer: &mut Viewer) -> Option<(CloseCode, String)> {
    loop {
        if let Heard::Farewell(why) = viewer.hear() {
            return why;
        }
    }
}

fn a_camera_flies_and_focuses() {
    let program = Program::start(&["--spp", "16"]);
    let mut viewer = Viewer::join(&program);
    let home = still(&mut viewer);
    viewer.say(r#"{"act":"fly"}"#);
    viewer.status_that(|status| status["flying"] == true);
    for fly in ["[0.2,0,0]", "[0,0.2,0]", "[0,0,0.5]"] {
        viewer.say(&format!(r#"{{"fly":{fly}}}"#));
        still_that(&mut viewer, |picture| difference(picture, &home) > ALIKE);
        viewer.say(r#"{"act":"home"}"#);
        still_that(&mut viewer, |picture| *picture == home);
    }
    // In fly mode, dragging looks around.
    viewer.say(r#"{"turn":[0.25,0]}"#);
    still_that(&mut viewer, |picture| difference(picture, &home) > ALIKE);
    viewer.say(r#"{"act":"print-camera"}"#);
    let told = |viewer: &mut Viewer| {
        let status =
            viewer.status_that(|status| status["message"][1].to_string().contains("camera:"));
        status["message"][1].as_str().unwrap().to_owned()
    };
    assert!(told(&mut viewer).contains("origin: (0, 1, 5)"));
    viewer.say(r#"{"act":"home"}"#);
    viewer.say(r#"{"act":"fly"}"#);
    viewer.status_that(|status| status["flying"] == false);
    viewer.say(r#"{"focus":[60,60]}"#);
    viewer.status_that(|status| status["message"][1].to_string().contains("no lens"));

    // The sphere is about four metres away, and the focus distance is nine.
    let scene = SCENE.replace("fov: 40", "fov: 40, lens: (radius: 0.3, focus_distance: 9)");
    fs::write(program.folder.path().join("scene.ron"), scene).unwrap();
    let blurred = still_that(&mut viewer, |picture| *picture != home);
    viewer.say(r#"{"focus":[56,52]}"#);
    viewer.status_that(|status| {
        let said = status["message"][1].as_str().unwrap_or_default();
        said.starts_with("focus at 4.2") || said.starts_with("focus at 4.3")
    });
    still_that(&mut viewer, |picture| difference(picture, &blurred) > 1.0);
    viewer.say(r#"{"act":"undo"}"#);
    still_that(&mut viewer, |picture| *picture == blurred);
    viewer.say(r#"{"focus":[1,1]}"#);
    viewer.status_that(|status| {
        status["message"][1]
            .to_string()
            .contains("nothing to focus on")
    });
}
