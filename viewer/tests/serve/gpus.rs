//! Tests of the page on several GPUs, emulated by `emulator/run` because real GPUs do not fail on request.

use std::fs;

use compaction::cuda::devices;
use libtest_mimic::Trial;
use raysieve::render::part::Part;

use crate::{
    program::add_tests,
    server::{Program, SCENE},
    viewer::{Viewer, difference},
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    let possible = match devices() {
        Ok(found) if found.len() < 2 => Err("there is only one GPU".to_owned()),
        Ok(found) if found[0].name.starts_with("Emulated") => Ok(()),
        Ok(_) => Err("real GPUs do not fail on request".to_owned()),
        Err(error) => Err(error.to_string()),
    };
    add_tests!(
        trials, if possible.clone() =>
        a_page_saves_its_picture_when_all_gpus_fail,
        a_page_continues_on_the_cpu_when_the_gpu_fails,
        an_adaptive_page_shows_each_gpu,
    );
}

fn a_page_saves_its_picture_when_all_gpus_fail() {
    let region = r#"{"region":[4,4,20,20]}"#;
    let turn = r#"{"turn":[0.3,0.1]}"#;
    let edit = r#"{"edit":[{"material":0},"albedo",[0,0.2,0.75],false]}"#;
    for message in [region, turn, edit] {
        let mut program = Program::start_on(
            &["--backend", "cuda:all"],
            "127.0.0.1:0",
            &[
                "--spp",
                "1000000",
                "--size",
                "48x32",
                "--keep-every",
                "50ms",
                "--wave-size",
                "512",
            ],
            &[
                ("EMULATED_ALL_FALL", "1"),
                ("EMULATED_FAILURES", "1:6000"),
                ("EMULATED_DELAYS", "0:1000,1:1000,2:1000"),
                ("CUDA_VISIBLE_DEVICES", "0,1,2"),
            ],
        );
        Viewer::join(&program).send(message);
        let unsaved = program.folder.path().join("scene.unsaved.ron");
        if message != region {
            let line = program.wait_for_line("changed and not saved");
            assert!(
                line.trim_end()
                    .ends_with("; scene.unsaved.ron contains them"),
                "{line}"
            );
            let text = fs::read_to_string(&unsaved).unwrap();
            let is_edited = text.contains("albedo: (0, 0.2, 0.75)");
            assert_eq!(is_edited, message == edit, "{text}");
            assert_ne!(text, SCENE);
        }
        let line = program.wait_for_line("scene.unfinished.exr");
        assert!(line.starts_with("raysieve: Emulated GPU (cuda:"), "{line}");
        let (_, hint) = line.trim_end().split_once("; ").unwrap();
        assert_eq!(unsaved.exists(), message != region);
        if message != region {
            assert!(
                hint.ends_with("the changed view is saved in scene.unfinished.exr"),
                "{line}"
            );
        } else {
            assert!(
                hint.contains(" are saved in scene.unfinished.exr; continue with: "),
                "{line}"
            );
            assert!(
                hint.ends_with(" --checkpoint scene.unfinished.exr"),
                "{line}"
            );
            assert!(!hint.contains("--serve"), "{line}");
        }
        let saved = program.folder.path().join("scene.unfinished.exr");
        assert!(!Part::read(&saved).unwrap().header.samples.is_empty());
    }
}

/// The picture is that of a render without a failure, and the scene can be edited further.
fn a_page_continues_on_the_cpu_when_the_gpu_fails() {
    let small = ["--spp", "400", "--size", "48x32"];
    let waves = ["--keep-every", "20ms", "--wave-size", "256"];
    let program = Program::start_on(
        &["--backend", "auto"],
        "127.0.0.1:0",
        &[&small[..], &waves].concat(),
        &[
            ("EMULATED_ALL_FALL", "1"),
            ("EMULATED_FAILURES", "0:600"),
            ("EMULATED_DELAYS", "0:1000"),
            ("CUDA_VISIBLE_DEVICES", "0,1,2"),
        ],
    );
    let mut viewer = Viewer::join(&program);
    let problem = viewer.wait_for_problem("; the CPU continues ");
    assert!(problem.contains("LAUNCH_FAILED"), "{problem}");
    let status = viewer.wait_for_status(|status| status["state"] == "done");
    let stats = &status["stats"];
    assert_eq!(stats["backend"], "cpu");
    assert_eq!(stats["paths"], 48 * 32 * 400);
    let complete = viewer.still();
    viewer.send(r#"{"edit":[{"material":0},"albedo",[0,0.2,0.75],false]}"#);
    viewer.wait_for_still(|edited| difference(edited, &complete) > 1.0);
}

/// While one GPU fails during the render, statistics and sample counts are those of an uninterrupted render on the CPU.
fn an_adaptive_page_shows_each_gpu() {
    let program = Program::start_on(
        &["--backend", "cuda:all"],
        "127.0.0.1:0",
        &[
            "--noise",
            "0.1",
            "--spp",
            "144",
            "--size",
            "24x16",
            "--wave-size",
            "1500",
        ],
        &[
            ("EMULATED_FAILURES", "0:200"),
            ("CUDA_VISIBLE_DEVICES", "0,1,2"),
        ],
    );
    let mut viewer = Viewer::join(&program);
    viewer.send(r#"{"debug-view":"samples"}"#);
    let status = viewer.wait_for_status(|status| status["state"] == "done");
    let (_, mut renderer) = program.render_to_noise((24, 16), 144);
    let expected = renderer.stats();
    let expected_noise = serde_json::to_string(&expected.noise).unwrap();
    let expected_noise: serde_json::Value = serde_json::from_str(&expected_noise).unwrap();
    let stats = &status["stats"];
    assert_eq!(stats["noise"], expected_noise);
    assert_eq!(stats["paths"], expected.paths);
    let devices = stats["devices"].as_array().unwrap();
    let failed = devices.iter().map(|device| device["failed"] == true);
    assert!(failed.eq([true, false, false]), "{devices:?}");
    let paths = devices
        .iter()
        .map(|device| device["paths"].as_u64().unwrap());
    assert_eq!(paths.clone().sum::<u64>(), expected.paths);
    assert!(paths.skip(1).all(|paths| paths > 0), "{devices:?}");
    let counts = renderer.sample_counts().unwrap();
    for pixel in [0, 24 * 8 + 12, 24 * 16 - 1] {
        let pixel_json = serde_json::json!([pixel % 24, pixel / 24]);
        viewer.send(&format!(r#"{{"inspect":{pixel_json}}}"#));
        let path = viewer.wait_for_path(|path| path["path_record"]["pixel"] == pixel_json);
        assert_eq!(
            path["path_record"]["sample"],
            counts[pixel] - 1,
            "{pixel_json}"
        );
    }
}
