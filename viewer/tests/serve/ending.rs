//! Tests of how serving ends.

use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use libtest_mimic::Trial;
use raysieve_scene::Scene;
use serde_json::Value;
use tungstenite::{Message, protocol::frame::coding::CloseCode};

use crate::{
    program::add_tests,
    server::{ENDLESS, Program, SCENE, TIMEOUT, scene_folder},
    viewer::Viewer,
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials,
        an_interrupt_closes_the_viewers_and_prints_the_table,
        an_interrupt_writes_the_requested_picture,
        a_finished_render_is_served_until_the_interrupt,
        a_stalled_viewer_does_not_delay_the_end,
        an_interrupt_keeps_edits_of_the_viewers,
        edits_of_the_viewers_survive_a_crash,
        edits_survive_a_camera_nearer_than_the_focus_point,
        every_camera_that_is_reached_can_be_saved,
        a_backup_that_fails_is_a_problem,
    );
}

fn an_interrupt_closes_the_viewers_and_prints_the_table() {
    // The program waits one second for its viewers. If it is not scheduled for that long, they receive no reason.
    let reason = (0..5).find_map(|_| reason_after_interrupt());
    assert_eq!(
        reason,
        Some((CloseCode::Away, "the program has ended".to_owned()))
    );
}

/// Interrupts a render, and returns the reason that its viewer receives; `None` if the connection ends without one.
fn reason_after_interrupt() -> Option<(CloseCode, String)> {
    let mut program = Program::start(&ENDLESS);
    let mut viewer = Viewer::join(&program);
    viewer.wait_for_status(|status| status["stats"]["spp"].as_u64() > Some(0));
    let (code, messages, printed) = program.interrupt();
    assert_eq!(code, Some(0), "{messages}");
    assert_eq!(messages, "");
    assert!(printed.contains("film_hash"), "{printed}");
    loop {
        match viewer.socket.read() {
            Ok(Message::Close(frame)) => {
                return frame.map(|frame| (frame.code, frame.reason.to_string()));
            }
            Ok(_) => {}
            Err(_) => return None,
        }
    }
}

fn an_interrupt_writes_the_requested_picture() {
    let mut program = Program::start(&[
        "--spp", "10000000", "-o", "a.png", "--stats", "a.json", "--size", "320x200",
    ]);
    let mut viewer = Viewer::join(&program);
    // The interrupt comes shortly after a new view was begun.
    viewer.send(r#"{"turn":[0.4,0]}"#);
    let (code, messages, _) = program.interrupt();
    assert_eq!(code, Some(0), "{messages}");
    assert!(messages.starts_with("a.png has "), "{messages}");
    assert!(
        messages
            .trim_end()
            .ends_with(" of 10000000 samples per pixel"),
        "{messages}"
    );
    assert_eq!(
        image::image_dimensions(program.folder.path().join("a.png")).unwrap(),
        (320, 200)
    );
    let stats = fs::read(program.folder.path().join("a.json")).unwrap();
    let stats: Value = serde_json::from_slice(&stats).unwrap();
    assert_eq!(stats["size"], serde_json::json!([320, 200]));
    assert!(stats["spp"].as_u64() > Some(0));
}

fn a_finished_render_is_served_until_the_interrupt() {
    let mut program = Program::start(&[]);
    let mut viewer = Viewer::join(&program);
    viewer.wait_for_status(|status| status["state"] == "done");
    drop(viewer);
    let mut late = Viewer::join(&program);
    late.wait_for_picture(|picture| picture.dimensions() == (160, 120));
    assert!(program.is_running());
    let (code, messages, printed) = program.interrupt();
    assert_eq!((code, messages.as_str()), (Some(0), ""));
    assert!(printed.contains("film_hash"), "{printed}");
}

fn an_interrupt_keeps_edits_of_the_viewers() {
    let edits = [
        // A camera that was only moved is not kept.
        (r#"{"turn":[0.4,0]}"#, None),
        (
            r#"{"edit":["camera","fov",60,false]}"#,
            Some(("camera", "fov: 60")),
        ),
        (
            r#"{"edit":[{"material":0},"albedo",[0,0.25,0.75],false]}"#,
            Some(("materials", "Diffuse(albedo: (0, 0.25, 0.75))")),
        ),
        // The largest channel is exactly the strength.
        (
            r#"{"edit":["sky","strength",3.1,false]}"#,
            Some(("sky", ", 3.1),")),
        ),
    ];
    for (edit, kept) in edits {
        let mut program = Program::start(&["--spp", "4"]);
        let mut viewer = Viewer::join(&program);
        let before = viewer.still();
        viewer.send(edit);
        viewer.wait_for_still(|picture| *picture != before);
        let (code, messages, _) = program.interrupt();
        assert_eq!(code, Some(0), "{messages}");
        let folder = program.folder.path();
        let text = fs::read_to_string(folder.join("scene.unsaved.ron")).ok();
        let Some((words, value)) = kept else {
            assert_eq!((messages.as_str(), text), ("", None));
            continue;
        };
        let line = format!(
            "raysieve: scene.ron: {words} changed and not saved; scene.unsaved.ron contains them\n"
        );
        assert_eq!(messages, line);
        let text = text.unwrap();
        assert!(text.contains(value), "{text}");
        assert_eq!(fs::read_to_string(folder.join("scene.ron")).unwrap(), SCENE);
    }
}

fn edits_of_the_viewers_survive_a_crash() {
    let program = Program::start(&["--spp", "4"]);
    let mut viewer = Viewer::join(&program);
    viewer.still();
    viewer.send(r#"{"edit":[{"material":0},"albedo",[0,0.25,0.75],false]}"#);
    let text = wait_for_backup(program.folder.path(), "Diffuse(albedo: (0, 0.25, 0.75))");
    program.kill();

    // The next start tells.
    let folder = scene_folder();
    fs::write(folder.path().join("scene.unsaved.ron"), text).unwrap();
    let machine = ["--backend", "cpu"];
    let program = Program::start_in(folder, "scene.ron", &machine, "127.0.0.1:0", &[], &[]);
    let line =
        "scene.unsaved.ron contains edits that were not saved; open it to go on, or delete it";
    assert_eq!(Viewer::join(&program).wait_for_problem("not saved"), line);
}

/// Waits until the backup of edits in `folder` contains a text.
fn wait_for_backup(folder: &Path, wanted: &str) -> String {
    let kept = folder.join("scene.unsaved.ron");
    let start = Instant::now();
    loop {
        let text = fs::read_to_string(&kept).unwrap_or_default();
        if text.contains(wanted) {
            return text;
        }
        assert!(start.elapsed() < TIMEOUT, "the edit is not kept: {text}");
        thread::sleep(Duration::from_millis(50));
    }
}

fn edits_survive_a_camera_nearer_than_the_focus_point() {
    let folder = scene_folder();
    let lens = "fov: 40, lens: (radius: 0.05, focus_point: (0, 0.6, 4))";
    let text = SCENE.replace("fov: 40", lens);
    fs::write(folder.path().join("scene.ron"), text).unwrap();
    let machine = ["--backend", "cpu", "--threads", "1"];
    let few = ["--spp", "4"];
    let mut program = Program::start_in(folder, "scene.ron", &machine, "127.0.0.1:0", &few, &[]);
    let mut viewer = Viewer::join(&program);
    viewer.still();
    // To a distance of 0.6 m from the target, with the focus point 3.4 m behind the camera.
    viewer.send(r#"{"dolly":20}"#);
    viewer.send(r#"{"edit":[{"material":0},"albedo",[0,0.25,0.75],false]}"#);
    wait_for_backup(program.folder.path(), "Diffuse(albedo: (0, 0.25, 0.75))");
    // The camera can be saved, too.
    viewer.send(r#"{"act":"save-camera"}"#);
    viewer.wait_for_message("saved to scene.ron");
    let saved = program.folder.path().join("scene.ron");
    assert!(Scene::load(&saved).is_ok());
    let (code, messages, _) = program.interrupt();
    // The program may have read the saved file again before it ended.
    let note = "raysieve: camera: its `focus_point` is not in front of it, so that everything is blurred; \
                choose a point on the side of `target`\n";
    assert_eq!(
        (code, messages.replacen(note, "", 1)),
        (Some(0), String::new())
    );
}

fn every_camera_that_is_reached_can_be_saved() {
    let views = [
        "origin: (0, 1, 5), target: (0, 0.5, 0), fov: 40, lens: (f_stop: 2.8)",
        // At the largest coordinates, where small movements vanish.
        "origin: (9.9e7, 0, 1e7), target: (9.9e7, 0, 0), width: 1e8",
        "origin: (1e6, 0, 0.5), target: (1e6, 0, 0), fov: 0.001, lens: (radius: 1e-9, focus_distance: 1e8)",
        // At the smallest distances.
        "origin: (0, 0, 1e-14), target: (0, 0, 0), fov: 179.999, lens: (radius: 0.1)",
        // Almost along `up`.
        "origin: (0, 5, 0.0001), target: (0, 0, 0), fov: 40",
    ];
    for view in views {
        let folder = scene_folder();
        let own = "origin: (0, 1, 5), target: (0, 0.5, 0), fov: 40";
        assert!(SCENE.contains(own));
        let text = SCENE.replace(own, view);
        fs::write(folder.path().join("scene.ron"), text).unwrap();
        let machine = ["--backend", "cpu", "--threads", "1"];
        let few = ["--spp", "1", "--size", "16x12"];
        let program = Program::start_in(folder, "scene.ron", &machine, "127.0.0.1:0", &few, &[]);
        let mut viewer = Viewer::join(&program);
        for motion in [
            r#"{"dolly":100}"#,
            r#"{"turn":[0.3,100]}"#,
            r#"{"pan":[100,100]}"#,
            r#"{"fly":[10,10,10]}"#,
            r#"{"dolly":-100}"#,
            r#"{"turn":[0.1,-100]}"#,
            r#"{"act":"fly"}"#,
            r#"{"turn":[0.7,100]}"#,
            r#"{"fly":[-10,10,-10]}"#,
            r#"{"zoom":1000}"#,
            r#"{"edit":["camera","radius",1000,false]}"#,
            r#"{"edit":["camera","focus_distance",100000000,false]}"#,
            r#"{"dolly":-100}"#,
        ] {
            viewer.send(motion);
        }
        viewer.send(r#"{"act":"save-camera"}"#);
        // An edit may be refused, as a problem, but not the save.
        let saved = |status: &Value| {
            let text = status.to_string();
            text.contains("saved to scene.ron") || text.contains("not saved")
        };
        let status = viewer.wait_for_status(saved).to_string();
        assert!(!status.contains("not saved"), "{view}: {status}");
        Scene::load(&program.folder.path().join("scene.ron")).expect(view);
    }
}

fn a_backup_that_fails_is_a_problem() {
    let program = Program::start(&["--spp", "4"]);
    let mut viewer = Viewer::join(&program);
    viewer.still();
    fs::remove_dir_all(program.folder.path()).unwrap();
    viewer.send(r#"{"edit":[{"material":0},"albedo",[0,0.25,0.75],false]}"#);
    let problem = viewer.wait_for_problem("cannot back up unsaved edits");
    assert!(
        problem.contains("scene.unsaved.ron: not written: "),
        "{problem}"
    );
}

fn a_stalled_viewer_does_not_delay_the_end() {
    let mut program = Program::start(&[
        "--size",
        "1600x1200",
        "--spp",
        "1000000",
        "--max-bounces",
        "0",
    ]);
    let stalled = Viewer::join(&program);
    let mut viewer = Viewer::join(&program);
    viewer.picture();
    let (code, messages, _) = program.interrupt();
    assert_eq!(code, Some(0), "{messages}");
    drop(stalled);
}
