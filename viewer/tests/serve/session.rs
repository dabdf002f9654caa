//! Tests of what edits and comparisons of strategies keep: samples, figures and the film.

use libtest_mimic::Trial;
use serde_json::Value;

use crate::{
    compare::{downloaded_hash, rendered_hash},
    program::add_tests,
    server::Program,
    viewer::Viewer,
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials,
        preview_and_added_samples_are_kept_after_an_edit,
        figures_belong_to_the_selected_strategy,
        a_render_continues_after_a_comparison_that_is_stopped,
        an_adaptive_render_is_restored_after_a_comparison,
    );
}

/// Edits the first material.
const EDIT: &str = r#"{"edit":[{"material":0},"albedo",[0,0.2,0.75],false]}"#;

fn is_done(status: &Value) -> bool {
    status["state"] == "done"
}

/// Receives messages until the strategies are being compared and, if `is_paused`, the comparison is paused.
fn wait_for_comparison(viewer: &mut Viewer, is_paused: bool) {
    viewer.wait_for_status(|status| {
        status["state"] == "comparing" && status["recent"]["comparing"]["paused"] == is_paused
    });
}

fn preview_and_added_samples_are_kept_after_an_edit() {
    let program = Program::start(&["--spp", "8"]);
    let mut viewer = Viewer::join(&program);
    viewer.send(r#"{"act":"denoise"}"#);
    viewer.send(r#"{"act":"more-samples"}"#);
    let is_kept = |status: &Value| {
        let stats = &status["stats"];
        is_done(status) && stats["spp"] == 16 && stats["denoise_ms"].is_f64()
    };
    viewer.wait_for_status(is_kept);
    let before = viewer.still();
    viewer.send(EDIT);
    viewer.wait_for_still(|picture| *picture != before);
    viewer.wait_for_status(is_kept);
}

fn figures_belong_to_the_selected_strategy() {
    let program = Program::start(&["--spp", "16"]);
    let mut viewer = Viewer::join(&program);
    let before = viewer.wait_for_status(is_done)["recent"].take();
    assert!(before["total"]["lane_use"].as_f64() > Some(0.0), "{before}");
    assert_eq!(before["is_measured"], true);
    viewer.send(r#"{"strategy":"off"}"#);
    let after = viewer.wait_for_status(|status| status["stats"]["compaction"] == "off");
    let after = &after["recent"];
    assert_eq!(
        (&after["is_measured"], &after["is_mixed"]),
        (&false.into(), &true.into())
    );
    assert_eq!(after["total"]["lane_use"], 0.0);
    for bounce in after["bounces"].as_array().expect("bounces") {
        for figure in [
            "removed",
            "intersect_us",
            "shade_us",
            "shadow_us",
            "compact_us",
        ] {
            assert_eq!(bounce[figure], 0.0, "{figure} of {bounce}");
        }
    }
}

fn a_render_continues_after_a_comparison_that_is_stopped() {
    let arguments = ["--spp", "256"];
    let program = Program::start(&arguments);
    let mut viewer = Viewer::join(&program);
    viewer.send(r#"{"act":"denoise"}"#);
    viewer.send(r#"{"act":"compare-strategies"}"#);
    wait_for_comparison(&mut viewer, false);
    viewer.send(r#"{"act":"compare-strategies"}"#);
    let done =
        viewer.wait_for_status(|status| is_done(status) && status["stats"]["denoise_ms"].is_f64());
    assert_eq!(done["stats"]["spp"], 256);
    let expected = rendered_hash(&program, "scene.ron", &arguments);
    assert_eq!(downloaded_hash(&program), expected);
}

fn an_adaptive_render_is_restored_after_a_comparison() {
    let program = Program::start(&["--spp", "512", "--noise", "0.05", "--size", "48x32"]);
    let mut viewer = Viewer::join(&program);
    let before = viewer.wait_for_status(is_done);
    let film = downloaded_hash(&program);
    viewer.send(r#"{"act":"compare-strategies"}"#);
    wait_for_comparison(&mut viewer, false);
    viewer.send(r#"{"act":"pause"}"#);
    wait_for_comparison(&mut viewer, true);
    assert_eq!(
        downloaded_hash(&program),
        film,
        "also while the film is set aside"
    );
    viewer.send(r#"{"act":"pause"}"#);
    viewer.wait_for_status(|status| {
        let rounds = status["recent"]["comparing"]["rounds"].as_u64();
        rounds > Some(1)
    });
    viewer.send(r#"{"act":"compare-strategies"}"#);
    let after = viewer.wait_for_status(is_done);
    assert_eq!(downloaded_hash(&program), film);
    assert_eq!(after["stats"]["noise"], before["stats"]["noise"]);
    assert_eq!(after["stats"]["compaction"], before["stats"]["compaction"]);
    assert!(after["recent"]["bounces"][0]["saved_us"].is_f64());

    // Figures of a compared strategy are known even if it has not rendered the film.
    viewer.send(r#"{"strategy":"off"}"#);
    let off = viewer.wait_for_status(|status| status["stats"]["compaction"] == "off");
    assert_eq!(off["recent"]["is_measured"], true);
    assert!(off["recent"]["total"]["lane_use"].as_f64() > Some(0.0));
    // The comparison belongs to the view.
    viewer.send(EDIT);
    viewer.wait_for_status(|status| {
        is_done(status) && status["recent"]["strategies"] == Value::Array(Vec::new())
    });
}
