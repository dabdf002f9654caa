//! Tests of the messages to the users, by the protocol and in the browser.

use std::time::Duration;

use libtest_mimic::Trial;

use crate::{
    browser::has_browser,
    chromium::{DESK, PHONE, browse},
    program::add_tests,
    server::Program,
    viewer::Viewer,
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(trials, no_message_replaces_a_problem);
    add_tests!(
        trials, if has_browser() =>
        the_page_shows_a_problem_beside_later_messages,
        messages_cover_no_legend_and_stay_while_the_page_is_hidden,
    );
}

/// A request that is answered by a problem, because the pixel is outside the picture.
const IMPOSSIBLE: &str = r#"{"inspect":[160,0]}"#;

fn no_message_replaces_a_problem() {
    let program = Program::start(&["--spp", "4"]);
    let mut viewer = Viewer::join(&program);
    viewer.wait_for_status(|status| status["state"] == "done");
    assert_eq!(viewer.status["problem"][1], "");
    // The problem is reported while the messages are sent.
    viewer.send(IMPOSSIBLE);
    for _ in 0..50 {
        viewer.send(r#"{"act":"brighter"}"#);
        viewer.send(r#"{"act":"darker"}"#);
    }
    viewer.wait_for_problem("pixel 160,0");
    viewer.send(r#"{"tone":"aces"}"#);
    viewer.wait_for_message("tone curve: aces");
    viewer.wait_for_problem("pixel 160,0");
    // A viewer that joins later receives both.
    let mut other = Viewer::join(&program);
    other.wait_for_message("tone curve: aces");
    assert_eq!(other.status["problem"], viewer.status["problem"]);
    // The number shows that an equal problem is a new one.
    viewer.send(IMPOSSIBLE);
    viewer.wait_for_status(|status| status["problem"][0] == 2);
}

/// Returns a script that tells whether two elements are visible, and the first one is above the second.
fn is_above(one: &str, other: &str) -> String {
    format!(
        "const [one, other] = ['{one}', '{other}'].map((id) => document.getElementById(id).getBoundingClientRect()); \
         return one.height > 0 && other.height > 0 && one.bottom <= other.top"
    )
}

fn the_page_shows_a_problem_beside_later_messages() {
    let program = Program::start(&["--spp", "4"]);
    browse(DESK, async |browser| {
        browser.open(&program.url).await;
        browser.still().await;
        let problem = "return document.getElementById('problem').textContent";
        let shows_problem = |text: &serde_json::Value| {
            let text = text.as_str();
            text.is_some_and(|text| text.contains("pixel 160,0"))
        };
        let mut viewer = Viewer::join(&program);
        viewer.send(IMPOSSIBLE);
        browser.until(problem, shows_problem).await;
        browser.press("t").await;
        browser.wait_for_text("#message", "tone curve: agx").await;
        assert!(shows_problem(&browser.run(problem).await));
        assert_eq!(browser.run(&is_above("problem", "message")).await, true);
        browser.press("\u{e00c}").await;
        browser.wait_for_text("#problem", "").await;
        browser.wait_for_text("#message", "").await;

        // A click removes one of them.
        let mut viewer = Viewer::join(&program);
        viewer.send(IMPOSSIBLE);
        browser.until(problem, shows_problem).await;
        browser.press("o").await;
        let asks = "drag over the region to render; click: the whole picture";
        browser.wait_for_text("#message", asks).await;
        browser.click("#problem").await;
        browser.wait_for_text("#problem", "").await;
        browser.press("\u{e00c}").await;
        browser
            .wait_for_text("#message", "no region selected")
            .await;
        let selects = "return document.querySelector('.selects') !== null";
        assert_eq!(browser.run(selects).await, false);
    });
}

fn messages_cover_no_legend_and_stay_while_the_page_is_hidden() {
    let program = Program::start(&["--spp", "4"]);
    browse(PHONE, async |browser| {
        browser.open(&program.url).await;
        browser.still().await;
        let hide = |is_hidden: bool| {
            format!(
                "Object.defineProperty(document, 'hidden', {{ value: {is_hidden}, configurable: true }})"
            )
        };
        browser.run(&hide(true)).await;
        browser.press("v").await;
        let message = "return document.getElementById('message').textContent";
        let text = browser.until(message, |text| text != "").await;
        browser
            .until(&is_above("message", "legend"), |is_above| is_above == true)
            .await;
        // Longer than a message is displayed.
        tokio::time::sleep(Duration::from_secs(4)).await;
        assert_eq!(browser.run(message).await, text);
        browser.run(&hide(false)).await;
        browser.wait_for_text("#message", "").await;
    });
}
