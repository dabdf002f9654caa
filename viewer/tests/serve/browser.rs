//! Tests of the page in Chromium, with real input and screenshots.

use std::{env, fs, path::PathBuf, process::Command, time::Duration};

use fantoccini::actions::{
    Actions, InputSource, MOUSE_BUTTON_LEFT, PointerAction, TouchActions, WheelAction, WheelActions,
};
use libtest_mimic::Trial;
use serde_json::json;

use crate::{
    chromium::{Browser, DARK, DESK, PHONE, browse},
    program::add_tests,
    server::{ENDLESS, Program},
    viewer::{Viewer, difference, property},
};

/// Returns `Ok` if there is a browser with its driver, otherwise which of them is missing.
pub(crate) fn has_browser() -> Result<(), String> {
    let missing = ["chromium", "chromedriver"]
        .iter()
        .find(|program| Command::new(program).arg("--version").output().is_err());
    missing.map_or(Ok(()), |program| Err(format!("{program} is not installed")))
}

pub(crate) fn add(trials: &mut Vec<Trial>) {
    let possible = has_browser();
    let has_axe = axe().ok_or_else(|| "AXE_CORE names no axe.min.js".to_owned());
    add_tests!(
        trials, if possible.clone() =>
        dragging_the_page_moves_the_picture,
        a_drag_of_the_camera_that_rests_is_undone_in_one_step,
        a_drag_of_a_slider_that_rests_is_undone_in_one_step,
        a_held_button_of_a_number_field_is_undone_in_one_step,
        a_held_key_on_a_slider_is_undone_in_one_step,
        keys_and_buttons_of_the_page_work,
        a_click_on_the_page_shows_a_path,
        sliders_and_colors_of_the_page_edit_the_scene,
        the_page_works_on_a_phone_with_touch,
        the_page_reconnects_and_hides_its_token,
    );
    add_tests!(trials, if possible.clone().and(has_axe.clone().map(drop)) => the_page_is_accessible);
}

/// Mean channel difference below which two pictures show the same view; noise and scaling stay below it.
pub(crate) const ALIKE: f64 = 5.0;

fn dragging_the_page_moves_the_picture() {
    let program = Program::start(&["--spp", "16", "--size", "320x240"]);
    browse(DESK, async |browser| {
        browser.open(&program.url).await;
        let home = browser.still().await;
        browser.drag((0.3, 0.5), (0.6, 0.45)).await;
        let turned = browser.still_unlike(&home).await;
        browser.press("0").await;
        browser
            .wait_for_screenshot(|screenshot| difference(screenshot, &home) < ALIKE)
            .await;
        // Shift moves the target too.
        browser
            .run("document.getElementById('picture').focus()")
            .await;
        browser.press("\u{e008}\u{e012}\u{e012}\u{e008}").await;
        let panned = browser
            .wait_for_screenshot(|screenshot| difference(screenshot, &home) > ALIKE)
            .await;
        assert!(difference(&panned, &turned) > ALIKE);
        browser.press("0").await;
        browser
            .wait_for_screenshot(|screenshot| difference(screenshot, &home) < ALIKE)
            .await;
        let mut wheel = WheelActions::new("wheel".to_owned());
        wheel.push(WheelAction::Scroll {
            x: 300,
            y: 300,
            delta_x: 0,
            delta_y: -500,
            duration: None,
        });
        browser.client.perform_actions(wheel).await.unwrap();
        browser
            .wait_for_screenshot(|screenshot| difference(screenshot, &home) > ALIKE)
            .await;
    });
}

/// Time for which a drag rests: longer than the time after which a key press begins a new undo step.
const REST: Duration = Duration::from_secs(1);

/// Undoes a change of the page, and waits until there is no other one to undo.
async fn undo_the_only_change(browser: &Browser, viewer: &mut Viewer) {
    viewer.wait_for_editor(|editor| editor["can_undo"] == true);
    browser.click("[data-action=undo]").await;
    viewer.wait_for_editor(|editor| editor["can_redo"] == true);
    assert_eq!(viewer.editor["can_undo"], false, "{}", viewer.editor);
}

fn a_drag_of_the_camera_that_rests_is_undone_in_one_step() {
    let program = Program::start(&["--spp", "4"]);
    browse(DESK, async |browser| {
        browser.open(&program.url).await;
        let mut viewer = Viewer::join(&program);
        let home = viewer.still();
        let [left, top, width, height] = browser.picture().await;
        let place = |x: f64| (left + x * width, top + 0.5 * height);
        browser
            .drag_along(&[place(0.3), place(0.4), place(0.5), place(0.6)], REST)
            .await;
        viewer.wait_for_still(|picture| difference(picture, &home) > ALIKE);
        undo_the_only_change(browser, &mut viewer).await;
        viewer.wait_for_still(|picture| *picture == home);
    });
}

fn a_drag_of_a_slider_that_rests_is_undone_in_one_step() {
    for screen in [DESK, PHONE] {
        let program = Program::start(&["--spp", "4"]);
        browse(screen, async |browser| {
            browser.open(&program.url).await;
            let mut viewer = Viewer::join(&program);
            viewer.select(&json!("sky"));
            let [left, top, width, height] =
                browser.place("[data-property=strength] [type=range]").await;
            let place = |x: f64| (left + x * width, top + 0.5 * height);
            browser
                .drag_along(&[place(0.3), place(0.4), place(0.5), place(0.6)], REST)
                .await;
            undo_the_only_change(browser, &mut viewer).await;
            viewer.wait_for_property("strength", &json!(0.6));
        });
    }
}

fn a_held_button_of_a_number_field_is_undone_in_one_step() {
    let program = Program::start(&["--spp", "4"]);
    browse(DESK, async |browser| {
        browser.open(&program.url).await;
        let mut viewer = Viewer::join(&program);
        viewer.select(&json!("sky"));
        let [left, top, width, height] = browser
            .place("[data-property=strength] [type=number]")
            .await;
        // The button that increases the number is the upper one at the right end.
        let button = (left + width - 8.0, top + 0.3 * height);
        browser.drag_along(&[button, button, button], REST).await;
        viewer.wait_for_editor(|editor| {
            property(editor, "strength")
                .is_some_and(|strength| strength["value"].as_f64() > Some(2.0))
        });
        undo_the_only_change(browser, &mut viewer).await;
        viewer.wait_for_property("strength", &json!(0.6));
    });
}

fn a_held_key_on_a_slider_is_undone_in_one_step() {
    let program = Program::start(&["--spp", "4"]);
    browse(DESK, async |browser| {
        browser.open(&program.url).await;
        let mut viewer = Viewer::join(&program);
        viewer.select(&json!("sky"));
        let slider = "[data-property=strength] [type=range]";
        browser.place(slider).await;
        // The driver repeats no keys.
        let step = |repeat: bool| {
            format!(
                "const slider = document.querySelector('{slider}');\
                 slider.dispatchEvent(new KeyboardEvent('keydown', {{ key: 'ArrowRight', bubbles: true, repeat: {repeat} }}));\
                 slider.stepUp(100);\
                 for (const name of ['input', 'change']) slider.dispatchEvent(new Event(name, {{ bubbles: true }}));\
                 return Number(document.querySelector('[data-property=strength] [type=number]').value)"
            )
        };
        for repeat in [false, true, true] {
            let strength = browser.run(&step(repeat)).await;
            viewer.wait_for_property("strength", &strength);
        }
        undo_the_only_change(browser, &mut viewer).await;
        viewer.wait_for_property("strength", &json!(0.6));
    });
}

fn keys_and_buttons_of_the_page_work() {
    let program = Program::start(&ENDLESS);
    browse(DESK, async |browser| {
        browser.open(&program.url).await;
        browser.wait_for_text("#state", "rendering").await;
        browser.press(" ").await;
        browser.wait_for_text("#state", "paused").await;
        let pressed = "return document.querySelector('[data-action=pause]').ariaPressed";
        assert_eq!(browser.run(pressed).await, "true");
        browser.click("[data-action=pause]").await;
        browser.wait_for_text("#state", "rendering").await;
        browser.press("e").await;
        browser.wait_for_text("#exposure", "+0.5 stops").await;
        browser.click("[data-action=darker]").await;
        browser.click("[data-action=darker]").await;
        browser.wait_for_text("#exposure", "−0.5 stops").await;
        browser.press("t").await;
        browser
            .wait_for_message(|text| text == "tone curve: agx")
            .await;
        browser.click("#strategy option[value=atomic]").await;
        browser
            .wait_for_message(|text| text == "compaction: atomic")
            .await;
        let chosen = "return document.getElementById('strategy').value";
        assert_eq!(browser.run(chosen).await, "atomic");
        browser.run("document.activeElement.blur()").await;
        // The list scrolls with the keyboard.
        browser.press("m").await;
        browser.press("m").await;
        let listed = "return document.getElementById('part').selectedOptions[0].text";
        browser.until(listed, |name| name == "white").await;
        // The short form has one of the tables, and nothing is shown when figures are off.
        let shown = "return ['counts', 'times', 'state'].map((id) => document.getElementById(id).checkVisibility())";
        for (text, wanted) in [
            ("over the picture", [true, true, true]),
            ("short form below the picture", [true, false, true]),
            ("off", [false, false, false]),
            ("panel beside the picture", [true, true, true]),
        ] {
            browser.press("h").await;
            browser
                .wait_for_message(|message| message == format!("figures: {text}"))
                .await;
            assert_eq!(browser.run(shown).await, json!(wanted), "{text}");
        }
        browser.press("i").await;
        // The middle of a pixel.
        let [_, _, width, height] = browser.picture().await;
        let scale = (width / 160.0).min(height / 120.0);
        let middle = (0.5 + 0.5 * scale / width, 0.5 + 12.5 * scale / height);
        browser.drag(middle, middle).await;
        let described = "return document.getElementById('pixel').textContent";
        browser
            .until(described, |text| {
                let text = text.as_str().unwrap();
                text.starts_with("pixel 80,72: ")
                    && text.contains("(linear)")
                    && text.contains("primitive")
            })
            .await;
        browser.press("i").await;
        let hidden = "return document.getElementById('pixel').hidden";
        assert_eq!(browser.run(hidden).await, true);
        let keys = "return document.getElementById('keys').open";
        browser.press("?").await;
        assert_eq!(browser.run(keys).await, true);
        let listed = browser
            .run("return document.querySelectorAll('#keys dt').length")
            .await;
        assert!(listed.as_u64() > Some(10), "{listed}");
        let scrolled = "return document.getElementById('keys').scrollTop";
        assert_eq!(browser.run(scrolled).await, 0, "it begins with the first");
        browser.press("\u{e00c}").await;
        assert_eq!(browser.run(keys).await, false);
    });
}

fn a_click_on_the_page_shows_a_path() {
    let program = Program::start(&["--spp", "16"]);
    browse(DESK, async |browser| {
        browser.open(&program.url).await;
        browser.still().await;
        // A pixel on the sphere, left of the center.
        browser.drag((0.378, 0.504), (0.378, 0.504)).await;
        browser
            .until(
                "return document.getElementById('path-title').textContent",
                |title| title == "Path of pixel 60,60, sample 15",
            )
            .await;
        browser
            .wait_for_message(|text| text == "material \"red\" selected: see Edit (l)")
            .await;
        let material_script = "return [...document.querySelectorAll('#path tbody tr')].map((row) => row.cells[1].textContent)";
        let materials = browser.run(material_script).await;
        assert_eq!(materials[0], "red", "{materials}");
        let drawn = "return document.querySelectorAll('#segments line:not(.edge)').length";
        assert!(browser.run(drawn).await.as_u64() > Some(1));
        // The mark is at the position of the click.
        let mark = "const {x, y, width, height} = document.querySelector('#segments .mark').getBoundingClientRect(); \
                    return [x + width / 2, y + height / 2]";
        let mark: [f64; 2] = serde_json::from_value(browser.run(mark).await).unwrap();
        let [left, top, width, height] = browser.picture().await;
        let hand = [left + 0.378 * width, top + 0.504 * height];
        let distance = (mark[0] - hand[0]).hypot(mark[1] - hand[1]);
        assert!(distance < width / 160.0, "{mark:?} is far from {hand:?}");

        // Each of these hides the path: a second click, Escape, and a movement of the camera.
        let is_hidden = "return document.getElementById('path').hidden";
        for key in ["", "\u{e00c}", "\u{e014}"] {
            browser.until(is_hidden, |hidden| hidden == false).await;
            match key {
                "" => browser.drag((0.378, 0.504), (0.378, 0.504)).await,
                key => browser.press(key).await,
            }
            browser.until(is_hidden, |hidden| hidden == true).await;
            assert_eq!(browser.run(drawn).await, 0);
            if key != "\u{e014}" {
                browser.drag((0.378, 0.504), (0.378, 0.504)).await;
            }
        }
    });
}

/// A touch screen has the same inputs, in the width of a phone.
fn sliders_and_colors_of_the_page_edit_the_scene() {
    let program = Program::start(&["--spp", "16", "--size", "320x240"]);
    browse(PHONE, async |browser| {
        browser.open(&program.url).await;
        let home = browser.still().await;
        let [left, top, width, height] = browser.picture().await;
        let click = format!(
            "const at = {{bubbles: true, clientX: {}, clientY: {}, pointerId: 1, button: 0}};\
             const picture = document.getElementById('picture');\
             picture.setPointerCapture = () => {{}};\
             for (const kind of ['pointerdown', 'pointerup']) picture.dispatchEvent(new PointerEvent(kind, at))",
            left + 0.33 * width,
            top + 0.45 * height,
        );
        browser.run(&click).await;
        // The click selects the red material, and its row has a color. A click on the message removes it.
        browser
            .wait_for_message(|text| text == "material \"red\" selected: see Edit (l)")
            .await;
        browser
            .run("document.getElementById('message').click()")
            .await;
        let message = "return document.getElementById('message').textContent";
        assert_eq!(browser.run(message).await, "");
        let value = |id: &str, kind: &str| {
            format!(
                "return document.querySelector('[data-property={id}] input[type={kind}]')?.value"
            )
        };
        browser
            .until(&value("albedo", "color"), |color| color == "#da7c59")
            .await;
        let set = |id: &str, kind: &str, value: &str| {
            format!(
                "const input = document.querySelector('[data-property={id}] input[type={kind}]');\
                 input.value = '{value}';\
                 for (const kind of ['input', 'change']) input.dispatchEvent(new Event(kind, {{bubbles: true}}))"
            )
        };
        // The picture stays visible next to its values.
        let top = "scrollTo(0, 400); return document.getElementById('picture').getBoundingClientRect().top";
        assert_eq!(browser.run(top).await, 0, "the picture is scrolled away");
        browser.run(&set("albedo", "color", "#0000ff")).await;
        let blue = browser.still_unlike(&home).await;
        let wide = "return document.documentElement.scrollWidth <= innerWidth";
        assert_eq!(browser.run(wide).await, true, "too wide for the screen");
        browser.click("[data-action=undo]").await;
        browser
            .wait_for_screenshot(|screenshot| difference(screenshot, &home) < ALIKE)
            .await;
        browser
            .until(&value("albedo", "color"), |color| color == "#da7c59")
            .await;
        browser.click("[data-action=redo]").await;
        browser
            .wait_for_screenshot(|screenshot| difference(screenshot, &blue) < ALIKE)
            .await;

        browser.click("#part option[value='\"sky\"']").await;
        browser
            .until(&value("strength", "number"), |number| number == "0.6")
            .await;
        browser.run(&set("strength", "number", "0.3")).await;
        browser
            .wait_for_screenshot(|screenshot| difference(screenshot, &blue) > ALIKE)
            .await;
        browser.click("[data-action=save-camera]").await;
        browser
            .wait_for_message(|text| text.starts_with("camera, materials and sky saved to "))
            .await;
        let saved = fs::read_to_string(program.folder.path().join("scene.ron")).unwrap();
        for text in ["albedo: (0, 0, 1)", "sky: (0.2, 0.25, 0.3)"] {
            assert!(saved.contains(text), "{saved}");
        }
        // A number outside the range is refused, even before the program has answered the edit before it.
        let [edit, refused] =
            [("range", "1000"), ("number", "-3")].map(|(kind, entry)| set("strength", kind, entry));
        let entries = format!("{{{edit}}} {{{refused}}} {}", value("strength", "number"));
        assert_eq!(browser.run(&entries).await, "1000");
        let refusal =
            "return document.querySelector('[data-property=strength] .refusal').textContent";
        let text = "-3 not set; must be 0 to 16777215";
        browser.until(refusal, |refusal| refusal == text).await;
        browser
            .until(&value("strength", "number"), |number| number == "1000")
            .await;
    });
}

fn the_page_works_on_a_phone_with_touch() {
    let program = Program::start(&["--spp", "16", "--size", "320x240"]);
    browse(PHONE, async |browser| {
        browser.open(&program.url).await;
        let home = browser.still().await;
        let wide = "return document.documentElement.scrollWidth <= innerWidth";
        assert_eq!(
            browser.run(wide).await,
            true,
            "the page is wider than the screen"
        );
        let outside = "return [...document.querySelectorAll('button, select, td, th, p, h1')].filter((one) => \
                       one.checkVisibility() && (one.getBoundingClientRect().right > innerWidth \
                       || one.scrollWidth > one.clientWidth + 1)).map((one) => one.outerHTML)";
        assert_eq!(browser.run(outside).await, json!([]), "text is cut off");
        browser
            .run("document.getElementById('tone').closest('details').open = true")
            .await;
        let cut = "return [...document.querySelectorAll('#buttons select, #strategy')].filter((one) => one.checkVisibility()).filter((one) => {\
                   const free = one.cloneNode();\
                   free.append(one.selectedOptions[0].cloneNode(true));\
                   free.style = 'position: absolute; width: max-content';\
                   one.parentElement.append(free);\
                   const wanted = free.offsetWidth;\
                   free.remove();\
                   return wanted > one.offsetWidth;\
                   }).map((one) => one.id)";
        assert_eq!(
            browser.run(cut).await,
            json!([]),
            "the selected entries are cut off"
        );
        let sizes = "return [...document.querySelectorAll('button, select')].filter((one) => one.checkVisibility())\
                     .map((one) => one.getBoundingClientRect().height)";
        let sizes: Vec<f64> = serde_json::from_value(browser.run(sizes).await).unwrap();
        assert!(
            sizes.iter().all(|height| *height >= 40.0),
            "buttons are too small for a finger: {sizes:?}"
        );
        // Without keys, the help lists gestures, and buttons do what only keys could do.
        browser.click("[data-action=keys]").await;
        let lists = "return ['gestures', 'key-list'].map((id) => document.getElementById(id).checkVisibility())";
        assert_eq!(browser.run(lists).await, json!([true, false]));
        browser.click("#keys button").await;
        browser.click("[data-action=next-camera]").await;
        browser
            .wait_for_message(|text| text == "the file has no cameras to choose from")
            .await;
        browser.click("[data-action=save-camera]").await;
        browser
            .wait_for_message(|text| text.starts_with("camera saved to "))
            .await;
        let panel = "return document.getElementById('panel').checkVisibility()";
        for _ in 0..3 {
            browser.click("#figures").await;
        }
        assert_eq!(browser.run(panel).await, false);
        browser.click("#figures").await;
        assert_eq!(browser.run(panel).await, true);
        let [left, top, width, height] = browser.picture().await;
        assert!(
            (width / height - 4.0 / 3.0).abs() < 0.02,
            "{width} × {height}: the picture is distorted"
        );
        let finger = |name: &str, from: f64, to: f64| {
            let y = top + height / 2.0;
            TouchActions::new(name.to_owned())
                .then(PointerAction::MoveTo {
                    duration: None,
                    x: left + width * from,
                    y,
                })
                .then(PointerAction::Down {
                    button: MOUSE_BUTTON_LEFT,
                })
                .then(PointerAction::MoveTo {
                    duration: Some(Duration::from_millis(200)),
                    x: left + width * to,
                    y,
                })
                .then(PointerAction::Up {
                    button: MOUSE_BUTTON_LEFT,
                })
        };
        browser
            .client
            .perform_actions(finger("finger", 0.3, 0.7))
            .await
            .unwrap();
        browser
            .wait_for_screenshot(|screenshot| difference(screenshot, &home) > ALIKE)
            .await;
        browser.click("[data-action=home]").await;
        browser
            .wait_for_screenshot(|screenshot| difference(screenshot, &home) < ALIKE)
            .await;
        let two = Actions::from(finger("finger", 0.45, 0.2)).and(finger("thumb", 0.55, 0.8));
        browser.client.perform_actions(two).await.unwrap();
        browser
            .wait_for_screenshot(|screenshot| difference(screenshot, &home) > ALIKE)
            .await;
    });
}

fn the_page_reconnects_and_hides_its_token() {
    let program = Program::start_at("0.0.0.0:0", &["--spp", "16", "--size", "320x240"]);
    let url = format!("http://{}/?token={}", program.address(), program.token());
    browse(DESK, async |browser| {
        browser.open(&url).await;
        let home = browser.still().await;
        let shown = browser.client.current_url().await.unwrap();
        assert_eq!(shown.query(), None, "the address bar shows no token");
        browser.drag((0.3, 0.5), (0.6, 0.5)).await;
        let turned = browser.still_unlike(&home).await;
        browser.client.refresh().await.unwrap();
        browser.wait_for_text("#state", "done").await;
        browser
            .wait_for_screenshot(|screenshot| difference(screenshot, &turned) < ALIKE)
            .await;
    });
}

fn the_page_is_accessible() {
    let program = Program::start(&["--clamp-indirect", "2"]);
    let axe = fs::read_to_string(axe().unwrap()).unwrap();
    // A second click on the pixel of the displayed path, which all browsers show, would hide it.
    for (screen, pixel) in [(DESK, (0.4, 0.5)), (DARK, (0.5, 0.5)), (PHONE, (0.6, 0.5))] {
        browse(screen, async |browser| {
            browser.open(&program.url).await;
            browser.wait_for_text("#state", "done").await;
            // With a path and a debug view displayed.
            browser.drag(pixel, pixel).await;
            browser.press("v").await;
            for id in ["path", "legend"] {
                let hidden = format!("return document.getElementById('{id}').hidden");
                browser.until(&hidden, |hidden| hidden == false).await;
            }
            for opened in [false, true] {
                if opened {
                    browser.press("?").await;
                }
                browser.run(&format!("{axe}; window.axe = axe")).await;
                let script = "axe.run().then(arguments[0], (error) => arguments[0](String(error)))";
                let found = browser
                    .client
                    .execute_async(script, Vec::new())
                    .await
                    .unwrap();
                let rules = found["passes"].as_array().expect("a report").len();
                assert!(rules > 15, "axe has checked too few rules: {rules} passed");
                let faults: Vec<String> = found["violations"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|fault| {
                        format!(
                            "{} {}: {}",
                            fault["impact"], fault["help"], fault["nodes"][0]["html"]
                        )
                    })
                    .collect();
                assert_eq!(faults, Vec::<String>::new(), "{screen:?}, dialog {opened}");
            }
        });
    }
}

/// Returns the path of the accessibility checker axe, a script that is not part of this repository.
fn axe() -> Option<PathBuf> {
    env::var_os("AXE_CORE")
        .map(PathBuf::from)
        .filter(|path| path.is_file())
}
