//! The page on several GPUs, emulated by `emulator/run`: real ones do not fail when they are asked to.

use compaction::cuda::devices;
use libtest_mimic::Trial;
use raysieve::{
    renderer::{BackendChoice, Renderer, Settings},
    scene::Scene,
};

use crate::{add_if, program::Program, viewer::Viewer};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    let missing = match devices() {
        Ok(found) if found.len() < 2 => Some("there is one GPU alone".to_owned()),
        Ok(found) if found[0].name.starts_with("Emulated") => None,
        Ok(_) => Some("no real GPU fails when it is asked to".to_owned()),
        Err(error) => Some(error.to_string()),
    };
    for (name, test) in [
        (
            "a_page_outlives_gpus_that_fall_together",
            (|| a_page_outlives_gpus(&[])) as fn(),
        ),
        ("a_page_to_a_noise_outlives_gpus_that_fall_together", || {
            a_page_outlives_gpus(&["--noise", "0.001"]);
        }),
        (
            "a_page_to_a_noise_shows_each_gpu",
            a_page_to_a_noise_shows_each_gpu,
        ),
    ] {
        add_if(trials, missing.clone(), name, test);
    }
}

/// The camera, as it is told when somebody asks for it; another one than that.
fn camera(viewer: &mut Viewer, other_than: &str) -> String {
    viewer.say(r#"{"act":"tell-camera"}"#);
    let is_told = |said: &str| said.contains("origin") && said != other_than;
    let status = viewer.status_that(|status| status["said"][1].as_str().is_some_and(is_told));
    status["said"][1].as_str().unwrap().to_owned()
}

fn a_page_outlives_gpus(more: &[&str]) {
    // With a token, which stays as well.
    let mut program = Program::start_on(
        &["--backend", "cuda:all"],
        "0.0.0.0:0",
        &[
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
            more,
        ]
        .concat(),
        &[
            ("EMULATED_ALL_FALL", "1"),
            ("EMULATED_FAILURES", "1:600"),
            ("CUDA_VISIBLE_DEVICES", "0,1,2"),
        ],
    );
    let cookie = format!("raysieve-{}={}", program.port(), program.token());
    let join = |program: &Program| Viewer::join_with(program, &[("cookie", &cookie)]).unwrap();
    let mut viewer = join(&program);
    viewer.say(r#"{"turn":[0.3,0.1]}"#);
    viewer.say(r#"{"tone":"aces"}"#);
    viewer.say(r#"{"strategy":"off"}"#);
    viewer.say(r#"{"act":"brighter"}"#);
    viewer.say(r#"{"material":[0,[["blue",0.75]]]}"#);
    let seen = camera(&mut viewer, "");
    assert!(seen.contains("0.75"), "{seen}");
    // It hears of the end, and comes back.
    let url = program.url.clone();
    let told = program.hear_that("is left out");
    assert!(
        told.contains("Emulated GPU (cuda:1) is suspected and is left out"),
        "{told}"
    );
    program.hear_page();
    assert_eq!(program.url, url);
    let mut viewer = join(&program);
    let status = viewer.status_that(|status| status["stats"]["spp"].as_u64() > Some(0));
    assert!(
        status["said"][1]
            .as_str()
            .unwrap()
            .contains("(cuda:1) is suspected"),
        "{status}"
    );
    assert_eq!(status["tone"], "aces");
    assert_eq!(status["exposure_stops"], 0.5);
    assert_eq!(status["stats"]["compaction"], "off");
    let failed = |number: usize| status["stats"]["devices"][number]["failed"] == true;
    assert_eq!([0, 1, 2].map(failed), [false, true, false]);
    assert_eq!(camera(&mut viewer, ""), seen);
    // And back to where it was before the hand came.
    viewer.say(r#"{"act":"undo"}"#);
    camera(&mut viewer, &seen);
    drop(viewer);
    let (code, said, _) = program.interrupt();
    assert_eq!(code, Some(0), "{said}");
}

/// One fails in the middle; the figures, and each pixel's last sample, are those of one machine alone.
fn a_page_to_a_noise_shows_each_gpu() {
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
    viewer.say(r#"{"sight":"samples"}"#);
    let status = viewer.status_that(|status| status["state"] == "done");
    let mut scene = Scene::load(&program.folder.path().join("scene.ron")).unwrap();
    scene.set_size((24, 16));
    scene.spp = 144;
    let on_cpu = Settings {
        backend: BackendChoice::Cpu,
        ..Settings::default()
    };
    let mut renderer = Renderer::new(&scene, &on_cpu).unwrap();
    renderer.set_noise(Some(0.1)).unwrap();
    while renderer.advance().unwrap() {}
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
        let asked = serde_json::json!([pixel % 24, pixel / 24]);
        viewer.say(&format!(r#"{{"inspect":{asked}}}"#));
        let path = viewer.path_that(|path| path["track"]["pixel"] == asked);
        assert_eq!(path["track"]["sample"], counts[pixel] - 1, "{asked}");
    }
}
