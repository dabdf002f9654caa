//! Tests of the messages to the users, by the protocol and in the browser.

use std::{fs, time::Duration};

use libtest_mimic::Trial;
use serde_json::json;

use crate::{
    browser::has_browser,
    chromium::{Browser, DESK, PHONE, browse},
    denoiser::PROGRAM_VARIABLE,
    program::add_tests,
    server::{Program, SCENE},
    viewer::Viewer,
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials,
        no_message_replaces_a_problem,
        failed_actions_are_problems,
        a_refused_edit_is_a_problem,
    );
    add_tests!(
        trials, if has_browser() =>
        the_page_shows_a_problem_beside_later_messages,
        a_number_outside_its_range_is_explained_at_its_field,
        an_entered_number_precedes_what_the_same_tap_does,
        messages_name_keys_and_buttons,
        a_tap_shows_the_editor_on_a_phone_and_the_help_lists_gestures_and_words,
        a_phone_shows_long_and_earlier_problems,
        messages_cover_no_legend_and_stay_while_the_page_is_hidden,
    );
}

/// A request that is answered by a problem, because the pixel is outside the picture.
const IMPOSSIBLE: &str = r#"{"inspect":[160,0]}"#;

fn no_message_replaces_a_problem() {
    let program = Program::start(&["--spp", "4"]);
    let mut viewer = Viewer::join(&program);
    viewer.wait_for_status(|status| status["state"] == "done");
    assert_eq!(viewer.status["problems"], json!([]));
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
    assert_eq!(other.status["problems"], viewer.status["problems"]);
    // The number shows that an equal problem is a new one.
    viewer.send(IMPOSSIBLE);
    viewer.wait_for_status(|status| status["problems"][0][0] == 2);
    // Another one does not replace it.
    viewer.send(r#"{"inspect":[0,120]}"#);
    viewer.wait_for_problem("pixel 0,120");
    viewer.wait_for_problem("pixel 160,0");
}

fn failed_actions_are_problems() {
    let other = tempfile::tempdir().unwrap();
    let compared = other.path().join("other.png");
    image::RgbImage::new(160, 120).save(&compared).unwrap();
    let compared = compared.to_str().unwrap();
    let program = Program::start(&["--spp", "4", "--compare", compared]);
    let mut viewer = Viewer::join(&program);
    viewer.wait_for_status(|status| status["state"] == "done");
    let smaller = SCENE.replace("(160, 120)", "(16, 12)");
    fs::write(program.folder.path().join("scene.ron"), smaller).unwrap();
    viewer.wait_for_status(|status| status["size"] == json!([16, 12]));
    viewer.send(r#"{"act":"error-map"}"#);
    viewer.wait_for_problem("only pictures of the same size have an error map");
    viewer.send(r#"{"act":"pause"}"#);
    for _ in 0..32 {
        viewer.send(r#"{"act":"more-samples"}"#);
    }
    viewer.wait_for_problem("no more samples: ");
}

/// Makes the page believe that it is hidden or shown. A hidden page keeps its messages and problems.
async fn hide(browser: &Browser, is_hidden: bool) {
    let property = format!("{{ value: {is_hidden}, configurable: true }}");
    browser
        .run(&format!(
            "Object.defineProperty(document, 'hidden', {property});\
             document.dispatchEvent(new Event('visibilitychange'))"
        ))
        .await;
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
    browse(DESK, async move |browser| {
        browser.open(&program.url).await;
        browser.still().await;
        // Nothing disappears by itself, so that the checks may be slow.
        hide(browser, true).await;
        let problem = "return document.getElementById('problem').textContent";
        let shows_problem = |text: &serde_json::Value| {
            let text = text.as_str();
            text.is_some_and(|text| text.contains("pixel 160,0"))
        };
        let mut viewer = Viewer::join(&program);
        viewer.send(IMPOSSIBLE);
        browser.until(problem, shows_problem).await;
        browser.press("t").await;
        browser
            .wait_for_message(|text| text == "tone curve: agx")
            .await;
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
        browser.wait_for_message(|text| text == asks).await;
        browser.click("#problem").await;
        browser.wait_for_text("#problem", "").await;
        browser.wait_for_text("#message", asks).await;
        browser.press("\u{e00c}").await;
        browser
            .wait_for_message(|text| text == "no region selected")
            .await;
        let selects = "return document.querySelector('.selects') !== null";
        assert_eq!(browser.run(selects).await, false);

        // A message does not hide that the program has ended.
        drop(program);
        let lost = "return document.getElementById('connection').textContent";
        let says_lost = |text: &serde_json::Value| text.as_str().unwrap().contains("reconnecting");
        browser.until(lost, says_lost).await;
        browser.press("h").await;
        browser
            .wait_for_message(|text| text == "figures: over the picture")
            .await;
        assert!(says_lost(&browser.run(lost).await));
        // The picture is not the present one.
        browser.wait_for_text("#state", "connection lost").await;
        let opacity = "return getComputedStyle(document.getElementById('view')).opacity";
        let opacity = browser.run(opacity).await;
        let opacity: f64 = opacity.as_str().unwrap().parse().unwrap();
        assert!(opacity < 0.5, "{opacity}");
    });
}

fn a_phone_shows_long_and_earlier_problems() {
    let missing = "no denoiser ".repeat(100);
    let program = Program::start_on(
        &["--backend", "cpu", "--threads", "1"],
        "127.0.0.1:0",
        &["--spp", "4"],
        &[(PROGRAM_VARIABLE, &missing)],
    );
    browse(PHONE, async |browser| {
        browser.open(&program.url).await;
        browser.still().await;
        // Nothing disappears by itself, so that the checks may be slow.
        hide(browser, true).await;
        let problem = "return document.getElementById('problem').textContent";
        let mut viewer = Viewer::join(&program);
        for (request, words) in [
            (IMPOSSIBLE, "pixel 160,0"),
            (r#"{"act":"oidn"}"#, "no denoiser"),
        ] {
            viewer.send(request);
            let is_shown = |text: &serde_json::Value| text.as_str().unwrap().contains(words);
            browser.until(problem, is_shown).await;
        }
        browser
            .wait_for_text("#earlier", "tap: 1 earlier problem")
            .await;
        // The rest of the long text is reached by scrolling.
        let fits = "const [problem, picture] = ['problem', 'picture'].map((id) => document.getElementById(id));
            const [box, middle] = [problem, picture].map((one) => one.getBoundingClientRect());
            return box.top > middle.top + 0.6 * middle.height && problem.scrollHeight > 2 * problem.clientHeight";
        assert_eq!(browser.run(fits).await, true);
        browser.click("#dismiss").await;
        let text = browser.run(problem).await;
        assert!(text.as_str().unwrap().contains("pixel 160,0"), "{text}");
        browser.wait_for_text("#earlier", "").await;
        browser.click("#problem").await;
        browser.wait_for_text("#problem", "").await;
    });
}

fn a_refused_edit_is_a_problem() {
    let program = Program::start(&["--spp", "4096", "--size", "16x12"]);
    let mut viewer = Viewer::join(&program);
    viewer.send(r#"{"edit":["sky","strength",16000000,false]}"#);
    let problem = viewer.wait_for_problem("sky not changed: ");
    assert!(problem.contains("spp 4096"), "{problem}");
}

fn a_number_outside_its_range_is_explained_at_its_field() {
    let program = Program::start(&["--spp", "4"]);
    browse(PHONE, async |browser| {
        browser.open(&program.url).await;
        browser.still().await;
        let mut viewer = Viewer::join(&program);
        viewer.select(&json!("sky"));
        let find = "const field = document.querySelector('[data-property=strength]');";
        let explained = format!(
            "{find} const refusal = field?.querySelector('.refusal');\
             return refusal?.checkVisibility() ? refusal.textContent : ''"
        );
        let type_number = |number: &str| {
            format!(
                "{find} const text = field.querySelector('[type=number]'); text.value = '{number}';\
                 for (const name of ['input', 'change']) text.dispatchEvent(new Event(name, {{ bubbles: true }}))"
            )
        };
        browser
            .until(&format!("{find} return field !== null"), |is_there| {
                *is_there == true
            })
            .await;
        for (number, text) in [
            ("-3", "-3 not set; must be 0 to 16777215"),
            ("0.5", ""),
            ("", "not set; it is no number"),
        ] {
            browser.run(&type_number(number)).await;
            browser
                .until(&explained, |explained| explained == text)
                .await;
        }
        // It stays until the next input.
        tokio::time::sleep(Duration::from_secs(4)).await;
        assert_eq!(browser.run(&explained).await, "not set; it is no number");
        let strength = format!("{find} return field.querySelector('[type=number]').value");
        assert_eq!(browser.run(&strength).await, "0.5", "the refused entries");
        browser.click("[data-action=undo]").await;
        browser.until(&explained, |explained| explained == "").await;
        browser.until(&strength, |strength| strength == "0.6").await;
    });
}

/// A tap ends the entry of a number and presses a button at once; on a touch screen, no frame is displayed in between.
fn an_entered_number_precedes_what_the_same_tap_does() {
    let program = Program::start(&["--spp", "4"]);
    browse(PHONE, async |browser| {
        browser.open(&program.url).await;
        browser.still().await;
        let mut viewer = Viewer::join(&program);
        viewer.select(&json!("sky"));
        let find = "const field = document.querySelector('[data-property=strength]');\
                    const text = field?.querySelector('[type=number]');";
        let enter = |number: &str| {
            format!(
                "{find} text.value = '{number}';\
                 for (const name of ['input', 'change']) text.dispatchEvent(new Event(name, {{ bubbles: true }}));"
            )
        };
        let strength = format!("{find} return text?.value");
        let undo = "document.querySelector('[data-action=undo]')";
        let wait_for = async |wanted: &str| {
            browser.until(&strength, |value| value == wanted).await;
        };
        wait_for("0.6").await;
        browser.run(&enter("0.5")).await;
        viewer.wait_for_property("strength", &json!(0.5));
        browser
            .run(&format!("{} {undo}.click()", enter("0.3")))
            .await;
        wait_for("0.5").await;
        browser.click("[data-action=redo]").await;
        wait_for("0.3").await;

        // Another property is edited in the same frame.
        let color = "const color = document.querySelector('#properties [type=color]'); color.value = '#ff0000';\
                     for (const name of ['input', 'change']) color.dispatchEvent(new Event(name, { bubbles: true }));";
        browser.run(&format!("{} {color}", enter("0.2"))).await;
        wait_for("0.2").await;
        browser.click("[data-action=undo]").await;
        browser.click("[data-action=undo]").await;
        wait_for("0.3").await;

        // A finger on the slider leaves the focus in the field, which shows the value of the slider.
        let slide = format!(
            "{find} text.focus(); text.value = '0.9'; const slider = field.querySelector('[type=range]');\
             slider.value = 0; slider.dispatchEvent(new Event('input', {{ bubbles: true }})); return text.value"
        );
        assert_eq!(browser.run(&slide).await, "0");
    });
}

fn messages_name_keys_and_buttons() {
    let program = Program::start(&["--spp", "4"]);
    for (screen, asks) in [
        (DESK, "click: the whole picture"),
        (PHONE, "tap: the whole picture"),
    ] {
        browse(screen, async |browser| {
            browser.open(&program.url).await;
            browser.still().await;
            let until_said = async |words: &str| {
                browser.wait_for_message(|text| text.contains(words)).await;
            };
            let mut viewer = Viewer::join(&program);
            viewer.send(r#"{"region":[10,20,30,40]}"#);
            until_said("; O (Region, then a click): the whole picture").await;
            viewer.send(r#"{"inspect":[60,70]}"#);
            until_said("Edit (l)").await;
            browser
                .run("document.querySelector('[data-action=region]').click()")
                .await;
            until_said(asks).await;
        });
    }
}

fn a_tap_shows_the_editor_on_a_phone_and_the_help_lists_gestures_and_words() {
    let program = Program::start(&["--spp", "4"]);
    browse(PHONE, async |browser| {
        browser.open(&program.url).await;
        browser.still().await;
        let is_visible = "const {top} = document.getElementById('editor').getBoundingClientRect();\
                          return top > 0 && top < innerHeight - 150 &&\
                          document.getElementById('picture').getBoundingClientRect().bottom <= top";
        assert_eq!(browser.run(is_visible).await, false);
        let tap = "const picture = document.getElementById('picture');\
                   const box = picture.getBoundingClientRect();\
                   const at = { clientX: box.x + 0.35 * box.width, clientY: box.y + 0.6 * box.height,\
                                pointerId: 1, pointerType: 'touch', bubbles: true };\
                   picture.setPointerCapture = () => {};\
                   for (const name of ['pointerdown', 'pointerup'])\
                     picture.dispatchEvent(new PointerEvent(name, at))";
        let hidden = "return document.getElementById('path').hidden";
        // A selected object has its properties at once, and another one only after an answer.
        for _ in 0..2 {
            // The page awaits the answer for a limited time, so its clock stands still until the answer has come.
            browser.run("performance.now = () => 0").await;
            browser.run(tap).await;
            browser.until(is_visible, |shown| *shown == true).await;
            browser.until(hidden, |hidden| *hidden == false).await;
            // A second tap, long after the first, hides the path, and nothing scrolls.
            browser.run("performance.now = () => 1e7").await;
            browser.run("scrollTo(0, 0)").await;
            browser.run(tap).await;
            browser.until(hidden, |hidden| *hidden == true).await;
            assert_eq!(browser.run(is_visible).await, false);
        }
        browser.click("[data-action=keys]").await;
        let help = "return ['gestures', 'words'].map((id) => document.getElementById(id))\
                    .filter((list) => list.checkVisibility()).map((list) => list.textContent).join()";
        let help = browser.run(help).await;
        for text in ["Region, then drag", "tap a message", "busy threads"] {
            assert!(help.as_str().unwrap().contains(text), "{text}: {help}");
        }
    });
}

fn messages_cover_no_legend_and_stay_while_the_page_is_hidden() {
    let program = Program::start(&["--spp", "4"]);
    browse(PHONE, async |browser| {
        browser.open(&program.url).await;
        browser.still().await;
        hide(browser, true).await;
        browser.press("v").await;
        let message = "return document.getElementById('message').textContent";
        let text = browser.until(message, |text| text != "").await;
        browser
            .until(&is_above("message", "legend"), |is_above| is_above == true)
            .await;
        // The legend covers nothing of the small picture.
        browser
            .until(&is_above("picture", "legend"), |is_above| is_above == true)
            .await;
        // Longer than a message is displayed.
        tokio::time::sleep(Duration::from_secs(4)).await;
        assert_eq!(browser.run(message).await, text);
        hide(browser, false).await;
        browser.wait_for_text("#message", "").await;
    });
}
