//! Tests of the figures on the page besides those of the status: their files and the digits of edited values.

use std::fs;

use compaction::select::Strategy;
use libtest_mimic::Trial;
use raysieve::stages::Stage;
use raysieve_viewer::chart;
use serde_json::{Value, json};

use crate::{
    browser::has_browser,
    chromium::{DESK, browse},
    compare::downloaded_hash,
    program::add_tests,
    server::{ENDLESS, Program, SCENE},
    viewer::Viewer,
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials, if has_browser() =>
        statistics_on_the_page_equal_stats_json,
        memory_waves_and_histories_are_displayed,
        all_strategies_are_compared_and_exported,
        exported_figures_are_those_of_the_page_in_its_units,
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

fn statistics_on_the_page_equal_stats_json() {
    let program = Program::start(&["--spp", "7"]);
    browse(DESK, async |browser| {
        browser.open(&program.url).await;
        browser.wait_for_text("#state", "done").await;
        let stats: Value = serde_json::from_str(program.get("/stats.json", &[]).text()).unwrap();
        let mut viewer = Viewer::join(&program);
        let status = viewer.wait_for_status(|status| status["state"] == "done");
        // All columns but that of the time per ray.
        let counts = "return [...document.querySelectorAll('#counts tbody tr')].map((row) =>\
                      [...row.cells].slice(2).toSpliced(6, 1).map((cell) => Number(cell.title)))";
        let rows = |figures: &Value, fields: &[&str]| -> Vec<Vec<f64>> {
            let bounces = figures["bounces"].as_array().unwrap().iter();
            let row = |bounce: &Value| {
                let figures = fields.iter().map(|field| bounce[field].as_f64().unwrap());
                figures.collect()
            };
            bounces.map(row).collect()
        };
        // Displayed counts have three digits and a prefix; they are for one sample at first.
        let first = "return document.querySelector('#counts tbody tr').cells[2].textContent";
        assert_eq!(browser.run(first).await, "19.2k");
        let columns = |id: &str, count: usize| {
            // Tooltips of times also have quartiles, and unknown figures have none.
            format!(
                "const heads = [...document.querySelectorAll('#{id} thead th')];\
                 const columns = heads.keys().filter((place) => heads[place].querySelector('i')).take({count}).toArray();\
                 return [...document.querySelectorAll('#{id} tbody tr')].map((row) => columns.map((place) =>\
                 parseFloat(row.cells[place + 2].title)))"
            )
        };
        let shown = browser.run(&columns("times", Stage::OF_BOUNCE.len())).await;
        let timed = Stage::OF_BOUNCE.map(|stage| format!("{}_us", stage.label()));
        let timed = timed.each_ref().map(String::as_str);
        let median_times = rows(&status["recent"], &timed);
        assert_eq!(shown, json!(median_times));
        let per_ray = "return document.querySelector('#counts tbody tr').cells[8].title";
        let time = rows(&status["recent"], &["total_us"])[0][0];
        let counted = rows(&stats, &["rays", "shadow_rays"]);
        let rays = counted[0].iter().sum::<f64>() / 7.0;
        let shown: f64 = (browser.run(per_ray).await.as_str().unwrap())
            .parse()
            .unwrap();
        assert!(
            (shown / (1e3 * time / rays) - 1.0).abs() < 1e-9,
            "{shown} ns"
        );
        browser.press("U").await;
        browser
            .wait_for_message(|text| text == "figures: total since the start")
            .await;
        let removed = rows(&status["recent"], &["removed", "lane_use"]);
        let fields = ["rays", "shadow_rays", "survivors", "ended", "misses"];
        let mut counted = rows(&stats, &fields);
        for (row, removed) in counted.iter_mut().zip(removed) {
            row.extend(removed);
        }
        let timed = Stage::OF_BOUNCE.map(|stage| format!("{}_ms", stage.label()));
        let timed = timed.each_ref().map(String::as_str);
        let mut times = rows(&stats, &timed);
        times.iter_mut().flatten().for_each(|time| *time *= 1000.0);
        for (id, script, wanted) in [
            ("counts", counts.to_owned(), counted),
            ("times", columns("times", Stage::OF_BOUNCE.len()), times),
        ] {
            let shown: Vec<Vec<f64>> = serde_json::from_value(browser.run(&script).await).unwrap();
            let equal = |(one, other): (&f64, &f64)| (one - other).abs() <= 1e-9 * other.abs();
            let mut rows = shown.iter().zip(&wanted);
            assert!(
                shown.len() == wanted.len()
                    && rows.all(|(one, other)| one.iter().zip(other).all(equal)),
                "{id}: {shown:?}, not {wanted:?}"
            );
        }
        let colors = "return [...document.querySelectorAll('#times thead i')].map((swatch) => \
                       getComputedStyle(swatch).backgroundColor)";
        let wanted = chart::STAGES.map(|hex| {
            let [r, g, b] = [1, 3, 5].map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap());
            format!("rgb({r}, {g}, {b})")
        });
        assert_eq!(browser.run(colors).await, json!(wanted));
        for (id, field) in [
            ("rays", "rays_per_second"),
            ("paths", "paths_per_second"),
            ("seconds", "seconds"),
        ] {
            let shown = browser
                .run(&format!(
                    "return Number(document.getElementById('{id}').title)"
                ))
                .await;
            assert_eq!(shown.as_f64(), stats[field].as_f64(), "{field}");
        }
        browser.wait_for_text("#samples", "7 samples").await;
        browser.wait_for_text("#scene", "scene.ron").await;
        assert_eq!(browser.run(first).await, "134k");
    });
}

/// A comparison lists every strategy against `off`, and its rows are those of the exported file.
fn all_strategies_are_compared_and_exported() {
    let program = Program::start(&["--spp", "64", "--size", "40x30"]);
    browse(DESK, async |browser| {
        browser.open(&program.url).await;
        browser.still().await;
        let hidden = "return document.getElementById('strategies').hidden";
        assert_eq!(browser.run(hidden).await, true, "nothing is compared yet");
        let film = downloaded_hash(&program);
        browser.press("c").await;
        let rounds = "return document.getElementById('comparison').checkVisibility() && \
                      document.getElementById('rounds').textContent";
        browser
            .until(rounds, |text| {
                text.as_str().is_some_and(|text| text.starts_with("round "))
            })
            .await;
        browser
            .wait_for_text("#state", "comparing strategies")
            .await;
        // A round may take long on a busy machine.
        let progress = "return [document.getElementById('state').textContent, \
                        document.getElementById('rounds').textContent]";
        let mut before = browser.run(progress).await;
        while before[0] != "done" {
            before = browser.until(progress, |now| *now != before).await;
        }
        let table = "return [...document.querySelectorAll('#strategies tbody tr')].map((row) => \
                     [...row.cells].map((cell) => cell.textContent))";
        let shown: Vec<Vec<String>> = serde_json::from_value(browser.run(table).await).unwrap();
        let mut names = (Strategy::ALL.iter())
            .map(|strategy| strategy.name())
            .chain(["sort-hits", "megakernel"]);
        let name = |row: &Vec<String>| row[0].replace(" (in use)", "");
        assert!(shown.iter().map(name).eq(names.by_ref()), "{shown:?}");
        for row in &shown {
            let words = [
                "faster (",
                "slower (",
                "no clear difference (",
                "not enough data",
            ];
            let is_compared = words.iter().any(|words| row[2].contains(words));
            assert_eq!(is_compared, name(row) != "off", "{row:?}");
        }
        assert_eq!(
            browser
                .run("return document.getElementById('comparison').hidden")
                .await,
            true
        );

        let json: Value = serde_json::from_str(program.get("/figures.json", &[]).text()).unwrap();
        let exported: Vec<_> = json["strategies"].as_array().unwrap().iter().collect();
        assert_eq!(exported.len(), shown.len());
        for (row, exported) in shown.iter().zip(exported) {
            assert_eq!(exported["strategy"], name(row));
        }
        assert_eq!(downloaded_hash(&program), film, "the film is restored");
        // What compaction saves is known now.
        let saved = "return document.querySelector('#times tfoot tr').cells[4].textContent";
        browser.until(saved, |text| *text != "–").await;
    });
}

fn exported_figures_are_those_of_the_page_in_its_units() {
    let program = Program::start(&["--spp", "7"]);
    browse(DESK, async |browser| {
        browser.open(&program.url).await;
        browser.still().await;
        let mut is_total = false;
        for units in ["per-sample", "total"] {
            if is_total {
                browser.press("U").await;
            }
            browser.press("F").await;
            let link = "const link = document.getElementById('export-json');\
                        return link.checkVisibility() ? link.pathname + link.search : ''";
            let link = browser.until(link, |link| *link != "").await;
            let file = program.get(link.as_str().unwrap(), &[]);
            let name = "attachment; filename=\"scene.json\"";
            assert_eq!(file.header("content-disposition"), Some(name));
            let json: Value = serde_json::from_str(file.text()).unwrap();
            assert_eq!(json["render"]["units"], units);
            let shown = "return [...document.querySelectorAll('#counts tbody tr')].map((row) => \
                         [...row.cells].slice(2, 7).map((cell) => Number(cell.title)))";
            let bounces = json["bounces"].as_array().unwrap().iter();
            let rows = bounces.map(|bounce| {
                ["rays", "shadow_rays", "survivors", "ended", "misses"]
                    .map(|field| bounce[field].clone())
            });
            assert_eq!(browser.run(shown).await, json!(rows.collect::<Vec<_>>()));
            // The table is in the file for spreadsheets too.
            let csv = program.get(&link.as_str().unwrap().replace(".json", ".csv"), &[]);
            let lines = csv
                .text()
                .lines()
                .filter(|line| line.starts_with("0,"))
                .count();
            assert_eq!(lines, 1, "{}", csv.text());
            browser.click("#export form button:last-child").await;
            is_total = true;
        }
        // A copy is the same text.
        browser
            .run(
                "window.copied = ''; \
                 Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { window.copied = text; } } })",
            )
            .await;
        browser.click("[data-action=export-figures]").await;
        browser.click("#copy").await;
        browser
            .wait_for_message(|text| text == "figures copied")
            .await;
        let copied = browser.run("return window.copied").await;
        assert_eq!(copied, program.get("/figures.csv?total", &[]).text());
    });
}

fn memory_waves_and_histories_are_displayed() {
    let program = Program::start(&ENDLESS);
    browse(DESK, async |browser| {
        browser.open(&program.url).await;
        let rates = "return document.querySelector('#rate-history path').getAttribute('d').split('L').length";
        browser
            .until(rates, |points| points.as_u64() > Some(20))
            .await;
        let words = "return document.getElementById('rate-history-text').textContent";
        let words = browser.run(words).await;
        assert!(
            words.as_str().unwrap().contains("million rays per second"),
            "{words}"
        );
        let stages = "return [...document.querySelectorAll('#stage-history path')]\
                      .map((path) => path.getAttribute('d').split('L').length)";
        let is_drawn = |lengths: &Value| {
            let lengths = lengths.as_array().unwrap();
            lengths.len() == Stage::OF_BOUNCE.len()
                && lengths.iter().all(|length| length.as_u64() > Some(20))
        };
        browser.until(stages, is_drawn).await;
        let text = async |id: &str| {
            let text = browser
                .run(&format!(
                    "return document.getElementById('{id}').textContent"
                ))
                .await;
            text.as_str().unwrap().to_owned()
        };
        let memory = text("memory").await;
        for kind in ["film", "paths", "scene", "trees"] {
            assert!(memory.contains(kind), "{memory}");
        }
        let waves = text("waves").await;
        assert!(waves.contains("paths each, up to 1 in flight"), "{waves}");
        // The spread of times.
        let spread = "return document.querySelector('#times tbody tr').cells[8].textContent";
        browser
            .until(spread, |text| text.as_str().unwrap().ends_with('%'))
            .await;
    });
}
