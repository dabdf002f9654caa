//! Tests of pictures, statistics and controls over the WebSocket, for one viewer and for several.

use std::{fs, thread};

use libtest_mimic::Trial;
use raysieve::stages::Stage;
use serde_json::Value;
use tungstenite::{Message, protocol::frame::coding::CloseCode};

use crate::{
    program::{add_tests, assert_done, run},
    server::{ENDLESS, Program, scene_folder},
    viewer::{ALIKE, Viewer, difference},
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials,
        pictures_follow_the_pointer_and_home_restores_the_view,
        a_still_picture_is_sent_losslessly,
        a_smaller_preview_is_not_a_complete_render,
        a_denoised_preview_is_marked_and_not_saved,
        the_last_noise_is_that_of_the_finished_picture,
        status_statistics_equal_stats_json,
        every_control_is_accepted,
        all_viewers_see_changes_of_one,
        a_viewer_can_reconnect_during_a_render,
        a_paused_render_sends_its_picture_to_new_viewers,
        a_stalled_viewer_slows_no_other_and_uses_bounded_memory,
        a_flood_of_commands_is_merged,
        an_invalid_message_disconnects_only_its_viewer,
    );
}

fn pictures_follow_the_pointer_and_home_restores_the_view() {
    let program = Program::start(&["--spp", "16"]);
    let mut viewer = Viewer::join(&program);
    let home = viewer.still();
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
        viewer.send(motion);
        let moved = viewer.wait_for_still(|picture| *picture != home);
        assert_eq!(moved.dimensions(), (160, 120), "{motion}");
        viewer.send(r#"{"act":"home"}"#);
        // Bit for bit.
        viewer.wait_for_still(|picture| *picture == home);
    }
    // The scene follows the pointer by the same distance.
    viewer.send(r#"{"pan":[0.25,0]}"#);
    let moved = viewer.wait_for_still(|picture| *picture != home);
    let shifted = |x: u32, y: u32| (home.get_pixel(x, y), moved.get_pixel(x + 30, y));
    let (mut alike, mut all) = (0, 0);
    for (x, y) in (20..110).flat_map(|x| (50..90).map(move |y| (x, y))) {
        let (from, to) = shifted(x, y);
        all += 1;
        alike += u32::from(from.0.iter().zip(to.0).all(|(a, b)| a.abs_diff(b) < 40));
    }
    assert!(
        alike * 10 > all * 8,
        "{alike} of {all} pixels followed the pointer"
    );
}

fn a_still_picture_is_sent_losslessly() {
    let program = Program::start(&["--exposure", "0.5", "--tone", "agx"]);
    let mut viewer = Viewer::join(&program);
    let seen = viewer.still();
    let saved = program.get("/picture.png", &[]);
    assert_eq!(saved.header("content-type"), Some("image/png"));
    assert_eq!(
        saved.header("content-disposition"),
        Some("attachment; filename=\"scene.png\"")
    );
    let saved = image::load_from_memory(&saved.body).unwrap().into_rgb8();
    let folder = scene_folder();
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
    assert_done(&run(folder.path(), headless));
    let written = image::open(folder.path().join("a.png"))
        .unwrap()
        .into_rgb8();
    assert!(
        seen == written,
        "the page must show the picture that a render writes"
    );
    assert!(
        saved == written,
        "the saved picture must equal the one that a render writes"
    );
}

/// A picture that takes longer than a frame is preceded by a smaller one after each movement of the camera. With one
/// sample per pixel, that one is complete at once, and the render is not.
fn a_smaller_preview_is_not_a_complete_render() {
    let (width, height) = (1200, 900);
    let program = Program::start(&["--size", "1200x900", "--spp", "1"]);
    let mut viewer = Viewer::join(&program);
    let paths = |status: &Value| status["stats"]["paths"].as_u64().unwrap();
    viewer.wait_for_status(|status| status["state"] == "done");
    viewer.send(r#"{"turn":[0.3,0]}"#);
    let moved = viewer.wait_for_status(|status| status["state"] != "done");
    assert!(paths(&moved) < width * height, "{moved}");
    let done = viewer.wait_for_status(|status| status["state"] == "done");
    assert_eq!(paths(&done), width * height);
}

fn a_denoised_preview_is_marked_and_not_saved() {
    let program = Program::start(&["--spp", "8"]);
    let mut viewer = Viewer::join(&program);
    let plain = viewer.still();
    let saved = || {
        image::load_from_memory(&program.get("/picture.png", &[]).body)
            .unwrap()
            .into_rgb8()
    };
    assert!(saved() == plain);
    viewer.send(r#"{"act":"denoise"}"#);
    let status = viewer.wait_for_status(|status| status["stats"]["denoise_ms"].is_f64());
    assert_eq!(status["denoise"], true);
    let preview = viewer.wait_for_still(|picture| *picture != plain);
    assert!(difference(&preview, &plain) < ALIKE);
    let stats: Value = serde_json::from_str(program.get("/stats.json", &[]).text()).unwrap();
    assert!(stats["denoise_ms"].is_f64());
    assert!(saved() == plain, "the saved picture must not be denoised");
    viewer.send(r#"{"act":"denoise"}"#);
    viewer.wait_for_status(|status| status["stats"].get("denoise_ms").is_none());
    viewer.wait_for_still(|picture| *picture == plain);
}

fn the_last_noise_is_that_of_the_finished_picture() {
    for options in [
        &["--spp", "100"][..],
        &["--spp", "100", "--noise", "0.05", "--size", "80x60"],
    ] {
        let program = Program::start(options);
        let mut viewer = Viewer::join(&program);
        let done = viewer.wait_for_status(|status| status["state"] == "done");
        let samples = match &done["stats"]["noise"]["mean_samples"] {
            Value::Null => done["stats"]["spp"].as_f64(),
            mean => mean.as_f64(),
        };
        let history = done["recent"]["noise_history"].as_array().unwrap();
        let last = history.last().unwrap();
        assert_eq!(last["samples"].as_f64(), samples, "{history:?}");
        assert!(last["error"].as_f64() > Some(0.0), "{history:?}");
        let grows = |pair: &[Value]| pair[0]["samples"].as_f64() < pair[1]["samples"].as_f64();
        assert!(history.windows(2).all(grows), "{history:?}");
    }
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
    let status = viewer.wait_for_status(|status| status["state"] == "done");
    let answer: Value = serde_json::from_str(program.get("/stats.json", &[]).text()).unwrap();
    assert_eq!(status["stats"], answer, "one set of figures");
    let folder = scene_folder();
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
    assert_done(&run(folder.path(), headless));
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
    viewer.wait_for_status(|status| status["stats"]["spp"].as_u64() > Some(0));
    let controls = viewer.greeting["controls"].as_array().unwrap().clone();
    let mut own = Vec::new();
    for (_, action) in controls.iter().flat_map(|control| {
        let keys = control["keys"].as_array().unwrap();
        keys.iter().map(|key| (key[0].clone(), key[1].clone()))
    }) {
        match action["render"].as_str() {
            Some(change) => {
                let act = format!(r#"{{"act":"{change}"}}"#);
                viewer.send(&act);
                // The second request ends the comparison, for which a busy machine takes minutes.
                if change == "compare-strategies" {
                    viewer.send(&act);
                }
            }
            // Fly keys are sent as motions.
            None if action["fly"].is_string() => viewer.send(r#"{"fly":[0.1,0.1,0.1]}"#),
            None => own.push(action["screen"].as_str().unwrap().to_owned()),
        }
    }
    // The page has a function for each of its own actions.
    own.sort();
    own.dedup();
    let page = program.get("/view.js", &[]);
    for action in &own {
        let names = [format!("  {action}: "), format!("  \"{action}\": ")];
        let is_there = names.iter().any(|name| page.text().contains(name));
        assert!(is_there, "{action}");
    }
    assert!(
        !own.contains(&"quit".to_owned()),
        "a page must not end the program"
    );
    // Exactly one of the actions was the pause, so the render is paused now.
    viewer.wait_for_status(|status| status["state"]["paused"].is_object());
    viewer.send(r#"{"act":"pause"}"#);
    viewer.wait_for_status(|status| status["state"]["rendering"].is_object());
    viewer.send(r#"{"act":"restart"}"#);
    for strategy in viewer.list("strategies") {
        viewer.send(&format!(r#"{{"strategy":"{strategy}"}}"#));
        viewer.wait_for_status(|status| status["stats"]["compaction"] == strategy.as_str());
    }
    for tone in viewer.list("tones") {
        viewer.send(&format!(r#"{{"tone":"{tone}"}}"#));
        viewer.wait_for_status(|status| status["tone"] == tone.as_str());
    }
    let before = viewer.status["exposure_stops"].as_f64().unwrap();
    viewer.send(r#"{"act":"brighter"}"#);
    viewer.wait_for_status(|status| status["exposure_stops"] == before + 0.5);
    viewer.send(r#"{"act":"pause"}"#);
    // One of the actions doubles the number of samples, and another one reads the scene again with its own number.
    let samples = |status: &Value| status["state"]["paused"]["samples"].as_u64();
    viewer.wait_for_status(|status| [Some(100_000), Some(200_000)].contains(&samples(status)));
    viewer.send(r#"{"act":"pause"}"#);
    viewer.wait_for_status(|status| status["state"]["rendering"]["progress"].as_f64() > Some(0.0));
}

fn all_viewers_see_changes_of_one() {
    let program = Program::start(&["--spp", "16"]);
    let (mut one, mut other) = (Viewer::join(&program), Viewer::join(&program));
    let home = one.still();
    one.wait_for_status(|status| status["viewers"] == 2);
    one.send(r#"{"turn":[0.3,0]}"#);
    let seen = other.wait_for_still(|picture| *picture != home);
    assert!(difference(&seen, &home) > ALIKE);
    // Bit for bit.
    one.wait_for_still(|picture| *picture == seen);
    drop(other);
    one.wait_for_status(|status| status["viewers"] == 1);
}

fn a_viewer_can_reconnect_during_a_render() {
    let program = Program::start(&ENDLESS);
    let mut first = Viewer::join(&program);
    first.wait_for_status(|status| status["stats"]["spp"].as_u64() > Some(2));
    let home = first.wait_for_picture(|_| true);
    // A paused render has one sample of a new view, which distinguishes the statistics of the two views.
    first.send(r#"{"act":"pause"}"#);
    first.wait_for_status(|status| status["state"]["paused"].is_object());
    first.send(r#"{"turn":[0.3,0]}"#);
    first.send(r#"{"tone":"aces"}"#);
    first.wait_for_status(|status| status["stats"]["spp"] == 1 && status["tone"] == "aces");
    first.send(r#"{"act":"pause"}"#);
    let before = first.wait_for_status(|status| status["stats"]["spp"].as_u64() > Some(20));
    let picture = first.wait_for_picture(|picture| difference(picture, &home) > ALIKE);
    drop(first);
    let mut again = Viewer::join(&program);
    let same = again.wait_for_picture(|_| true);
    assert!(
        difference(&same, &picture) < ALIKE,
        "the moved view must stay"
    );
    let after = again.wait_for_status(|status| status["stats"]["spp"].is_u64());
    assert!(
        after["stats"]["spp"].as_u64() >= before["stats"]["spp"].as_u64(),
        "the render must not restart"
    );
    assert_eq!(after["tone"], "aces");
}

fn a_paused_render_sends_its_picture_to_new_viewers() {
    let program = Program::start(&ENDLESS);
    let mut viewer = Viewer::join(&program);
    viewer.wait_for_status(|status| status["stats"]["spp"].as_u64() > Some(2));
    viewer.send(r#"{"act":"pause"}"#);
    viewer.wait_for_status(|status| status["state"]["paused"].is_object());
    drop(viewer);
    let mut late = Viewer::join(&program);
    late.wait_for_picture(|picture| picture.dimensions() == (160, 120));
    let before = late.wait_for_status(|status| status["viewers"] == 1);
    for (act, stops) in [("brighter", 0.5), ("darker", 0.0)].repeat(20) {
        late.send(&format!(r#"{{"act":"{act}"}}"#));
        let after = late.wait_for_status(|status| status["exposure_stops"] == stops);
        assert_eq!(
            after["stats"]["spp"], before["stats"]["spp"],
            "the paused render must not continue"
        );
    }
    // A new view is rendered nevertheless, with one sample.
    late.send(r#"{"turn":[0.4,0]}"#);
    let moved = late.wait_for_status(|status| status["stats"]["spp"] != before["stats"]["spp"]);
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
    let stalled = Viewer::join(&program);
    let mut blind = Viewer::join(&program);
    let memory = program.memory();
    thread::scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|| {
                let mut viewer = Viewer::join(&program);
                for _ in 0..PICTURES {
                    viewer.picture();
                }
            });
        }
    });
    let grown = program.memory().saturating_sub(memory);
    // Allows for some pictures of 1.2 MB and the buffers of ten viewers, but not for 600 pictures.
    assert!(grown < 64 << 20, "{} MB more", grown >> 20);
    // The viewer that acknowledges nothing was sent exactly two pictures before the answer to a request or, on a busy
    // machine, before it was disconnected after 20 seconds.
    let _ = (blind.socket).send(Message::text(r#"{"tone":"aces"}"#));
    let mut sent = 0;
    while let Ok(message) = blind.socket.read() {
        match message {
            Message::Binary(_) => sent += 1,
            Message::Text(text) if text.contains(r#""tone":"aces""#) => break,
            _ => {}
        }
    }
    assert_eq!(sent, 2);
    drop(stalled);
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
        // A viewer that displays no picture for 20 seconds is disconnected.
        if step % 2500 == 0 {
            viewer.picture();
        }
    }
    viewer.send(r#"{"tone":"neutral"}"#);
    viewer.wait_for_status(|status| status["tone"] == "neutral");
    viewer.wait_for_picture(|_| true);
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
        viewer.send(message);
        let (code, why) = viewer.wait_for_close().expect("a reason");
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
        watcher.send(message);
        watcher.wait_for_picture(|picture| picture.width() > 0);
    }
    watcher.send(r#"{"act":"home"}"#);
    watcher.wait_for_picture(|_| true);
    assert!(program.is_running());
}
