//! Tests of the layout of the page and its controls, on the screens of a desk and of a phone.

use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::{
    browser::has_browser,
    chromium::{Browser, DESK, PHONE, SIDEWAYS, Screen, browse},
    program::add_tests,
    server::{ENDLESS, Program},
    viewer::Viewer,
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials, if has_browser() =>
        figures_are_a_table_with_a_legend_on_the_first_screen,
        the_first_line_says_that_the_render_is_paused,
        folded_controls_work_with_the_keyboard,
        a_focused_list_leaves_keys_to_the_picture,
        two_pages_agree_after_a_restart_of_the_program,
    );
}

/// The screens on which figures must be visible at once.
const SCREENS: [Screen; 3] = [DESK, PHONE, SIDEWAYS];

/// Returns a script that returns left, top, right and bottom of an element in CSS pixels.
fn place(selector: &str) -> String {
    format!(
        "const {{left, top, right, bottom}} = document.querySelector('{selector}').getBoundingClientRect();\
         return [left, top, right, bottom]"
    )
}

async fn rectangle(browser: &Browser, selector: &str) -> [f64; 4] {
    serde_json::from_value(browser.run(&place(selector)).await).unwrap()
}

fn figures_are_a_table_with_a_legend_on_the_first_screen() {
    let program = Program::start(&["--spp", "4"]);
    for screen in SCREENS {
        browse(screen, async |browser| {
            browser.open(&program.url).await;
            browser.still().await;
            let mut viewer = Viewer::join(&program);
            viewer.send(r#"{"inspect":[60,70]}"#);
            let hidden = "return document.getElementById('path').hidden || !document.getElementById('editor').open";
            browser.until(hidden, |hidden| *hidden == false).await;
            let height = browser.run("return innerHeight").await.as_f64().unwrap();
            for placement in ["panel", "short"] {
                browser
                    .run(&format!(
                        "document.querySelector('main').dataset.figures = '{placement}'; scrollTo(0, 0);\
                         document.getElementById('panel').scrollTop = 0"
                    ))
                    .await;
                for row in [
                    "#counts thead th:last-child",
                    "#counts tbody tr:nth-child(2) td:last-child",
                ] {
                    let [left, top, right, bottom] = rectangle(browser, row).await;
                    assert!(
                        right > left && top > 0.0 && bottom <= height,
                        "{screen:?}, {placement}: {row} is at {top} to {bottom} of {height}"
                    );
                    // Nothing covers it.
                    let covered = format!(
                        "const cell = document.querySelector('{row}');\
                         return cell.contains(document.elementFromPoint({}, {}))",
                        f64::midpoint(left, right),
                        f64::midpoint(top, bottom),
                    );
                    let width = browser.run("return innerWidth").await.as_f64().unwrap();
                    if right <= width {
                        assert_eq!(
                            browser.run(&covered).await,
                            true,
                            "{screen:?}, {placement}: {row}"
                        );
                    }
                }
                let legend = "return [...document.querySelectorAll('#counts thead th:has(i)')]\
                              .filter((head) => head.checkVisibility()).map((head) => head.textContent)";
                assert_eq!(
                    browser.run(legend).await,
                    json!(["survive", "end", "miss"]),
                    "{screen:?}, {placement}"
                );
            }
            let wide = "return document.documentElement.scrollWidth <= innerWidth";
            assert_eq!(browser.run(wide).await, true, "{screen:?}");
        });
    }
}

fn the_first_line_says_that_the_render_is_paused() {
    let program = Program::start(&ENDLESS);
    let mut viewer = Viewer::join(&program);
    viewer.send(r#"{"act":"pause"}"#);
    viewer.wait_for_status(|status| status["state"]["paused"].is_object());
    for screen in SCREENS {
        browse(screen, async |browser| {
            browser.open(&program.url).await;
            browser.wait_for_text("#state", "paused").await;
            // A long name is shortened instead.
            browser
                .run("document.getElementById('scene').textContent = 'name '.repeat(40)")
                .await;
            for placement in ["panel", "overlay", "short"] {
                browser
                    .run(&format!(
                        "document.querySelector('main').dataset.figures = '{placement}'"
                    ))
                    .await;
                let panel = rectangle(browser, "#panel").await;
                let [_, top, right, bottom] = rectangle(browser, "#state").await;
                let [_, name_top, name_right, name_bottom] = rectangle(browser, "#scene").await;
                assert!(
                    top >= name_top - 1.0
                        && bottom <= name_bottom + 1.0
                        && right > name_right
                        && right <= panel[2],
                    "{screen:?}, {placement}"
                );
            }
        });
    }
}

/// Keys of the WebDriver protocol.
const ENTER: &str = "\u{e007}";
const ESCAPE: &str = "\u{e00c}";
const TAB: &str = "\u{e004}";
const DOWN: &str = "\u{e015}";

fn folded_controls_work_with_the_keyboard() {
    let program = Program::start(&ENDLESS);
    browse(DESK, async |browser| {
        browser.open(&program.url).await;
        browser.wait_for_text("#state", "rendering").await;
        let visible = "return document.querySelector('[data-action=fly]').checkVisibility()";
        assert_eq!(browser.run(visible).await, false, "controls are folded");
        let groups = "return [...document.querySelectorAll('.menu > summary')].map((group) => group.textContent)";
        let groups = browser.run(groups).await;
        assert_eq!(
            groups,
            json!(["Move", "Edit", "Files", "Picture", "Render", "Measure"])
        );
        browser
            .run("document.querySelector('.menu > summary').focus()")
            .await;
        browser.press(ENTER).await;
        browser
            .until(visible, |is_visible| *is_visible == true)
            .await;
        browser.press(TAB).await;
        browser.press(ENTER).await;
        let flies = "return document.querySelector('[data-action=fly]').ariaPressed";
        browser.until(flies, |flies| *flies == "true").await;
        browser.press(ESCAPE).await;
        browser
            .until(visible, |is_visible| *is_visible == false)
            .await;
        let focused = "return document.activeElement.textContent";
        assert_eq!(browser.run(focused).await, "Move");
        // A click elsewhere folds it too.
        browser.press(ENTER).await;
        browser
            .until(visible, |is_visible| *is_visible == true)
            .await;
        browser.drag((0.9, 0.9), (0.9, 0.9)).await;
        browser
            .until(visible, |is_visible| *is_visible == false)
            .await;
    });
}

fn a_focused_list_leaves_keys_to_the_picture() {
    let program = Program::start(&["--spp", "4"]);
    browse(DESK, async |browser| {
        browser.open(&program.url).await;
        let home = browser.still().await;
        let mut viewer = Viewer::join(&program);
        // Chosen by the mouse.
        browser
            .run("document.getElementById('strategy').dispatchEvent(new PointerEvent('pointerdown', { bubbles: true }))")
            .await;
        browser.click("#strategy option[value=atomic]").await;
        viewer.wait_for_status(|status| status["stats"]["compaction"] == "atomic");
        browser.press(DOWN).await;
        browser.still_unlike(&home).await;
        let strategy = "return document.getElementById('strategy').value";
        assert_eq!(browser.run(strategy).await, "atomic");
        // Reached by the keyboard, it uses arrows, but no letters.
        browser
            .run("document.getElementById('strategy').focus()")
            .await;
        browser.press("v").await;
        viewer.wait_for_status(|status| status["debug_view"] != "light");
        browser.press("V").await;
        viewer.wait_for_status(|status| status["debug_view"] == "light");
        browser.press("n").await;
        viewer.wait_for_status(|status| status["denoise"] == true);
        let message = "return document.getElementById('message').textContent";
        browser.press("t").await;
        browser.until(message, |text| *text != "").await;
        browser.press(ESCAPE).await;
        browser.until(message, |text| *text == "").await;
        assert_eq!(browser.run(strategy).await, "atomic");

        // The key of the editor shows it, and the keyboard stays where it is.
        let open = "return [document.getElementById('editor').open, document.activeElement.id]";
        browser.press("l").await;
        assert_eq!(browser.run(open).await, json!([true, "strategy"]));
        browser.press("l").await;
        assert_eq!(browser.run(open).await, json!([false, "strategy"]));
    });
}

fn two_pages_agree_after_a_restart_of_the_program() {
    let program = Program::start(&["--spp", "4"]);
    let address = program.address().to_string();
    browse(DESK, async |one| {
        one.open(&program.url).await;
        one.still().await;
        // A list with the keyboard also follows the program.
        one.run("document.getElementById('strategy').focus()").await;
        let mut viewer = Viewer::join(&program);
        viewer.send(r#"{"strategy":"atomic"}"#);
        let strategy = "return document.getElementById('strategy').value";
        one.until(strategy, |strategy| *strategy == "atomic").await;
        drop((viewer, program));
        one.wait_for_text("#state", "connection lost").await;
        let again = Program::start_at(&address, &["--spp", "4", "--compaction", "sequences"]);
        let agrees = |strategy: &Value| *strategy == "sequences";
        one.until(strategy, agrees).await;
        browse(DESK, async |other| {
            other.open(&again.url).await;
            other.until(strategy, agrees).await;
        });
    });
}
