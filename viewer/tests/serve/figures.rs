//! Tests of the figures on the page besides those of the status: their files and the digits of edited values.

use std::fs;

use libtest_mimic::Trial;
use serde_json::json;

use crate::{
    browser::has_browser,
    chromium::{DESK, browse},
    program::add_tests,
    server::{Program, SCENE},
    viewer::Viewer,
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials, if has_browser() =>
        an_edit_of_one_channel_keeps_the_digits_of_the_others,
    );
}

fn an_edit_of_one_channel_keeps_the_digits_of_the_others() {
    let text = SCENE.replace("(0.7, 0.2, 0.1)", "(0.570068, 0.2, 0.1234567)");
    let text = text.replace("(0.4, 0.5, 0.6)", "(0.4321987, 0.5700681, 0.6)");
    let folder = crate::program::folder();
    let path = folder.path().join("scene.ron");
    fs::write(&path, &text).unwrap();
    let machine = ["--backend", "cpu", "--threads", "1"];
    let program = Program::start_in(
        folder,
        "scene.ron",
        &machine,
        "127.0.0.1:0",
        &["--spp", "4"],
        &[],
    );
    browse(DESK, async |browser| {
        browser.open(&program.url).await;
        browser.still().await;
        let mut viewer = Viewer::join(&program);
        // The color of a material, and that of a light, whose strength is its largest channel.
        for (part, id, channel) in [
            (json!({ "material": 0 }), "albedo", 1),
            (json!("sky"), "sky", 0),
        ] {
            viewer.select(&part);
            let field = format!("document.querySelector('[data-property={id}] [type=color]')");
            browser
                .until(&format!("return {field} !== null"), |found| *found == true)
                .await;
            let at = 2 * channel + 1;
            browser
                .run(&format!(
                    "const color = {field}; color.value = color.value.slice(0, {at}) + '40' + color.value.slice({at} + 2);\
                     for (const name of ['input', 'change']) color.dispatchEvent(new Event(name, {{ bubbles: true }}))"
                ))
                .await;
        }
        browser.press("K").await;
        browser
            .wait_for_message(|text| text.starts_with("camera, materials and sky saved to "))
            .await;
        let saved = fs::read_to_string(&path).unwrap();
        assert!(
            saved.contains("albedo: (0.570068, 0.05127, 0.1234567)"),
            "{saved}"
        );
        assert!(saved.contains(", 0.5700681, 0.6)"), "{saved}");
    });
}
