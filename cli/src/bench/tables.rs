//! Markdown tables of benchmark results.

use raysieve::stages::Stage;

use super::results::{Results, SceneResults, Timing};
use crate::table::{grouped, samples_per_pixel};

/// The alignment of the text in a table's column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

/// The text of a cell without a value, a dash.
const NOTHING: &str = "–";

/// Name of the strategy that renders without compaction.
pub(super) const OFF: &str = "off";

/// Returns the Markdown section of one scene: a table of frame times by strategy, and a table of stage times by bounce.
pub(super) fn scene_section(scene: &SceneResults) -> String {
    let [width, height] = scene.size;
    let rounds = scene.rounds();
    let reference = scene.reference.as_ref().map_or(String::new(), |reference| {
        format!(
            "; relative squared error against {}: {}",
            reference.file,
            significant(reference.squared_error)
        )
    });
    format!(
        "\n## {}\n\n{width}x{height}, {} {}, seed {}, at most {} bounces; {}, {}; {} {}; film_hash {}{reference}\n\n{}\n{}",
        scene.scene,
        grouped(scene.spp.into()),
        samples_per_pixel(scene.spp),
        scene.seed,
        scene.max_bounces,
        scene.backend,
        scene.device,
        rounds,
        if rounds == 1 { "round" } else { "rounds" },
        scene.film_hash,
        frame_table(scene),
        bounce_table(scene),
    )
}

/// Returns the Markdown section that compares all scenes: a heading and one table with a row per scene. Columns are the
/// speedup of each strategy over `off`, and the median frame times in milliseconds of `off` and of the fastest
/// strategy.
///
/// The fastest strategy can be `off` itself. A dash stands for what was not measured.
pub(super) fn summary(results: &Results) -> String {
    let mut names: Vec<&str> = Vec::new();
    for timing in results.scenes.iter().flat_map(|scene| &scene.strategies) {
        if !names.contains(&timing.strategy.as_str()) {
            names.push(&timing.strategy);
        }
    }
    let mut head = vec![("speedup over off", Align::Left)];
    head.extend(
        names
            .iter()
            .filter(|name| **name != OFF)
            .map(|name| (*name, Align::Right)),
    );
    head.extend([("off, ms", Align::Right), ("fastest, ms", Align::Right)]);
    let rows = results.scenes.iter().map(|scene| {
        let off = scene.timing(OFF);
        let mut row = vec![scene.scene.clone()];
        row.extend(names.iter().filter(|name| **name != OFF).map(|name| {
            let both = off.zip(scene.timing(name));
            both.map_or(NOTHING.to_owned(), |(off, timing)| {
                format!("{:.2}", off.median() / timing.median())
            })
        }));
        row.push(off.map_or(NOTHING.to_owned(), |off| milliseconds(off.median())));
        row.push(fastest(scene).map_or(NOTHING.to_owned(), |timing| {
            format!("{} ({})", milliseconds(timing.median()), timing.strategy)
        }));
        row
    });
    format!(
        "\n## Speedup by compaction\n\n{}",
        markdown(&head, &rows.collect::<Vec<_>>())
    )
}

/// Returns the strategy with the shortest median frame time, or `None` if no strategy was measured.
fn fastest(scene: &SceneResults) -> Option<&Timing> {
    shortest(scene.strategies.iter())
}

/// Returns the fastest strategy that compacts and has stages. If there is none, returns the fastest of all strategies,
/// or `None` if no strategy was measured.
pub(super) fn fastest_compaction(scene: &SceneResults) -> Option<&Timing> {
    let compacting = scene
        .strategies
        .iter()
        .filter(|timing| timing.strategy != OFF && timing.has_stages());
    shortest(compacting).or_else(|| fastest(scene))
}

/// Returns the timing with the smallest median frame time, and the first of them in case of a tie. Returns `None` if
/// there are no timings.
fn shortest<'a>(timings: impl Iterator<Item = &'a Timing>) -> Option<&'a Timing> {
    timings.min_by(|a, b| a.median().total_cmp(&b.median()))
}

/// Returns the Markdown table of frame times, with one row per strategy. Times are in milliseconds per frame, and
/// speeds in millions per second.
fn frame_table(scene: &SceneResults) -> String {
    let mut head = vec![
        ("strategy", Align::Left),
        ("frame, ms", Align::Right),
        ("deviation", Align::Right),
        ("min – max", Align::Right),
        ("Mpaths/s", Align::Right),
        ("Mrays/s", Align::Right),
        ("speedup over off", Align::Right),
        ("faster from bounce", Align::Right),
        ("primary, Mrays/s", Align::Right),
        ("first bounce", Align::Right),
        ("shadow", Align::Right),
    ];
    if scene.reference.is_some() {
        head.push(("error × s", Align::Right));
    }
    let off = scene.timing(OFF);
    let rows = scene.strategies.iter().map(|timing| {
        let seconds = timing.median();
        let (min, max) = timing.range();
        let speedup = off.map_or(NOTHING.to_owned(), |off| {
            format!("{:.2}", off.median() / seconds)
        });
        let pays = off
            .filter(|off| off.strategy != timing.strategy)
            .and_then(|off| timing.faster_from(off));
        let [primary, first_bounce] = [0, 1].map(|bounce| {
            let row = timing.bounces.get(bounce);
            rate(
                row.map_or(0, |row| row.rays),
                row.map_or(0.0, |row| row.time(Stage::Intersect)),
            )
        });
        let shadow_rays = timing
            .bounces
            .iter()
            .map(|row| row.shadow_rays as f64)
            .sum::<f64>();
        let shadow_ms = timing
            .bounces
            .iter()
            .map(|row| row.time(Stage::Shadow))
            .sum();
        let mut cells = vec![
            timing.strategy.clone(),
            milliseconds(seconds),
            format!("± {}", milliseconds(timing.deviation())),
            format!("{} – {}", milliseconds(min), milliseconds(max)),
            figure(scene.paths as f64 / seconds / 1e6),
            figure(scene.rays as f64 / seconds / 1e6),
            speedup,
            pays.map_or(NOTHING.to_owned(), |bounce| bounce.to_string()),
            primary,
            first_bounce,
            rate(shadow_rays as u64, shadow_ms),
        ];
        let reference = scene.reference.iter();
        cells.extend(reference.map(|reference| significant(reference.squared_error * seconds)));
        cells
    });
    markdown(&head, &rows.collect::<Vec<_>>())
}

/// Returns the Markdown table with one row for each bounce with rays: the fraction of live paths, the time with each
/// strategy, and the time of each stage, in milliseconds per frame.
///
/// The stage times are those of [`fastest_compaction`], next to those of `off` if that was measured. The text is empty
/// if no strategy has stage times.
fn bounce_table(scene: &SceneResults) -> String {
    let Some(fastest) = fastest_compaction(scene) else {
        return String::new();
    };
    let off = scene
        .timing(OFF)
        .filter(|off| off.strategy != fastest.strategy);
    let by_stages: Vec<_> = scene
        .strategies
        .iter()
        .filter(|timing| timing.has_stages())
        .collect();
    if by_stages.is_empty() {
        return String::new();
    }
    let mut head = vec![("bounce", Align::Right), ("live", Align::Right)];
    head.extend(
        by_stages
            .iter()
            .map(|timing| (timing.strategy.as_str(), Align::Right)),
    );
    head.extend(Stage::OF_BOUNCE.map(|stage| (stage.label(), Align::Right)));
    let live = fastest
        .bounces
        .iter()
        .enumerate()
        .filter(|(_, row)| row.rays > 0);
    let rows = live.map(|(place, row)| {
        let share = 100.0 * row.rays as f64 / scene.paths.max(1) as f64;
        let mut cells = vec![row.bounce.to_string(), format!("{share:.1} %")];
        cells.extend(by_stages.iter().map(|timing| {
            let row = timing.bounces.get(place);
            row.map_or(NOTHING.to_owned(), |row| figure(Timing::bounce_ms(row)))
        }));
        let off = off.and_then(|off| off.bounces.get(place));
        cells.extend(Stage::OF_BOUNCE.map(|stage| match off {
            Some(off) => format!("{} → {}", figure(off.time(stage)), figure(row.time(stage))),
            None => figure(row.time(stage)),
        }));
        cells
    });
    let rows: Vec<_> = rows.collect();
    let stages = match off {
        Some(off) => format!("{} → {}", off.strategy, fastest.strategy),
        None => fastest.strategy.clone(),
    };
    format!(
        "Time per bounce in ms; times of the stages: {stages}.\n\n{}",
        markdown(&head, &rows)
    )
}

/// Formats `count` per time in millions per second. Returns a dash if `count` or the time is 0.
fn rate(count: u64, milliseconds: f64) -> String {
    if count == 0 || milliseconds <= 0.0 {
        return NOTHING.to_owned();
    }
    figure(count as f64 / milliseconds / 1e3)
}

/// Formats a time, given in seconds, as milliseconds without the unit, such as `12.34` for 0.01234 s. The number of
/// decimals is that of [`figure`].
pub(super) fn milliseconds(seconds: f64) -> String {
    figure(seconds * 1e3)
}

/// Formats a number that is not negative: with three decimals below 1, two below 100, one below 10,000, and none from
/// there on. Numbers without decimals have their digits in groups of three, such as `12,345`.
pub(super) fn figure(value: f64) -> String {
    match value {
        value if value >= 1e4 => grouped(value.round() as u64),
        value if value >= 100.0 => format!("{value:.1}"),
        value if value >= 1.0 => format!("{value:.2}"),
        value => format!("{value:.3}"),
    }
}

/// Formats a positive number with three significant digits.
fn significant(value: f64) -> String {
    match value {
        value if (1e-3..1e3).contains(&value) => {
            let decimals = (2.0 - value.log10().floor()).max(0.0);
            format!("{value:.*}", decimals as usize)
        }
        value => format!("{value:.2e}"),
    }
}

/// Returns a Markdown table with the headings and alignments of `head`. Each row of `rows` has one cell per column.
/// Columns are padded, so that the table is readable as plain text.
pub(super) fn markdown(head: &[(&str, Align)], rows: &[Vec<String>]) -> String {
    // A `|` in a file name must not end its cell.
    let escaped = |cells: &Vec<String>| cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(escaped).collect();
    let widths: Vec<usize> = head
        .iter()
        .enumerate()
        .map(|(column, (name, _))| {
            let cells = rows.iter().map(|row| row[column].chars().count());
            cells.chain([name.chars().count(), 3]).max().unwrap_or(0)
        })
        .collect();
    let line = |cells: Vec<&str>| {
        let padded = cells
            .iter()
            .zip(head)
            .zip(&widths)
            .map(|((cell, (_, align)), &width)| match align {
                Align::Left => format!("{cell:<width$}"),
                Align::Right => format!("{cell:>width$}"),
            });
        format!("| {} |\n", padded.collect::<Vec<_>>().join(" | "))
    };
    let mut text = line(head.iter().map(|(name, _)| *name).collect());
    let rule = head
        .iter()
        .zip(&widths)
        .map(|((_, align), &width)| match align {
            Align::Left => "-".repeat(width + 2),
            Align::Right => "-".repeat(width + 1) + ":",
        });
    text += &format!("|{}|\n", rule.collect::<Vec<_>>().join("|"));
    for row in &rows {
        text += &line(row.iter().map(String::as_str).collect());
    }
    text
}
