//! The SVG chart of benchmark results, with one panel per scene.

use std::{io::Write, path::Path};

use crate::error::Error;
use raysieve_scene::atomic_file;
use raysieve_viewer::chart::{ENDED, MISSES, SURVIVORS};

use super::{
    results::{Results, SceneResults, Timing},
    svg::Svg,
    tables::{OFF, fastest_compaction, figure},
};
use crate::table::samples_per_pixel;

/// Color of the bars for the strategy `off`, which does not compact.
const WITHOUT: &str = ENDED;
/// Color of the bars for strategies that compact.
const WITH: &str = SURVIVORS;
/// Color of the bars for the fraction of live paths, and of the bar for the megakernel.
const LIVE: &str = MISSES;

/// Height of the panel of one scene in pixels, the unit of all lengths of the chart.
const HEIGHT: f64 = 210.0;
/// Left edge of the bar chart by bounce, in pixels.
const LEFT: f64 = 62.0;
/// Distance from the top of a panel to the top of its bar charts, in pixels.
const TOP: f64 = 44.0;
/// Width of the bar chart by bounce, in pixels.
const BOUNCES_WIDTH: f64 = 400.0;
/// Height of the bar chart by bounce, in pixels. A bar of this height stands for all paths, or for the longest time of
/// a bounce.
const BOUNCES_HEIGHT: f64 = 120.0;
/// Left edge of the bars by strategy, in pixels.
const STRATEGIES_LEFT: f64 = 640.0;
/// Length of the bar of the fastest strategy, in pixels.
const STRATEGIES_WIDTH: f64 = 150.0;
/// Vertical distance between the bars of two strategies, in pixels.
const STRATEGY_HEIGHT: f64 = 15.0;

/// Writes the chart to the .svg file at `path`, atomically.
pub(super) fn write(path: &Path, results: &Results) -> Result<(), Error> {
    let text = chart(results);
    Ok(atomic_file::write_whole(path, |file| {
        file.write_all(text.as_bytes())
    })?)
}

/// Returns the chart as a complete SVG document: one panel of height [`HEIGHT`] for each scene, one below the other.
fn chart(results: &Results) -> String {
    let height = HEIGHT * results.scenes.len() as f64;
    let mut svg = Svg::new(840, height as u32);
    for (place, scene) in results.scenes.iter().enumerate() {
        draw_panel(&mut svg, HEIGHT * place as f64, scene);
    }
    svg.finish()
}

/// Draws the panel of one scene: a title, bars by bounce on the left, bars by strategy on the right, and a note. The
/// panel's top edge is `y` pixels below the top of the chart.
///
/// Draws nothing if no strategy was measured, so that the panel's place stays blank.
fn draw_panel(svg: &mut Svg, y: f64, scene: &SceneResults) {
    let Some(compact) = fastest_compaction(scene) else {
        return;
    };
    let [width, height] = scene.size;
    svg.title(
        LEFT,
        y + 18.0,
        &format!(
            "{}, {width} × {height}, {} {}; {}",
            scene.scene,
            scene.spp,
            samples_per_pixel(scene.spp),
            scene.device
        ),
    );
    let off = scene
        .timing(OFF)
        .filter(|off| off.strategy != compact.strategy);
    svg.key(LEFT, y + 34.0, LIVE, "live paths");
    svg.key(LEFT + 88.0, y + 34.0, WITH, &compact.strategy);
    if off.is_some() {
        svg.key(LEFT + 216.0, y + 34.0, WITHOUT, OFF);
    }
    draw_bounces(svg, y + TOP, scene, compact, off);
    draw_strategies(svg, y + TOP, scene);
    let pays = match off.map(|off| compact.faster_from(off)) {
        Some(Some(bounce)) => format!("; {} is faster from bounce {bounce} on", compact.strategy),
        Some(None) => format!("; {} is faster at no bounce", compact.strategy),
        None => String::new(),
    };
    svg.note(
        LEFT,
        y + HEIGHT - 10.0,
        &format!(
            "milliseconds per frame, by bounce{pays}; film_hash {}",
            scene.film_hash
        ),
    );
}

/// Draws three bars for each bounce with rays: the fraction of live paths, the time with compaction (`compact`), and
/// the time without (`off`).
///
/// The bar chart begins `top` pixels below the top of the image. The third bar is empty if `off` is `None`.
fn draw_bounces(
    svg: &mut Svg,
    top: f64,
    scene: &SceneResults,
    compact: &Timing,
    off: Option<&Timing>,
) {
    let rows: Vec<_> = compact.bounces.iter().filter(|row| row.rays > 0).collect();
    let others: Vec<_> = off.map_or(Vec::new(), |off| off.bounces.iter().collect());
    let times = rows.iter().chain(&others).map(|row| Timing::bounce_ms(row));
    let longest = times.fold(f64::MIN_POSITIVE, f64::max);
    for part in [0.0, 0.5, 1.0] {
        let y = top + BOUNCES_HEIGHT * (1.0 - part);
        let time = if part == 0.0 {
            "0".to_owned()
        } else {
            figure(longest * part)
        };
        svg.level(LEFT, y, BOUNCES_WIDTH, &time);
        let percent = format!("{:.0} %", 100.0 * part);
        svg.value(LEFT + BOUNCES_WIDTH + 36.0, y + 4.0, &percent);
    }
    let group = (BOUNCES_WIDTH / rows.len().max(1) as f64).min(60.0);
    let every = (rows.len() / 16 + 1) as u32;
    for (place, row) in rows.iter().enumerate() {
        let x = LEFT + group * place as f64;
        let live = row.rays as f64 / scene.paths.max(1) as f64;
        let time = |row| Timing::bounce_ms(row) / longest;
        let without = others.get(place).map_or(0.0, |row| time(row));
        let bars = [(live, LIVE), (time(row), WITH), (without, WITHOUT)];
        for (number, (part, color)) in bars.into_iter().enumerate() {
            let height = BOUNCES_HEIGHT * part.min(1.0);
            let x = x + group * (0.06 + 0.28 * number as f64);
            svg.bar(
                x,
                top + BOUNCES_HEIGHT - height,
                group * 0.26,
                height,
                color,
            );
        }
        if row.bounce.is_multiple_of(every) {
            let number = row.bounce.to_string();
            svg.tick(x + group * 0.5, top + BOUNCES_HEIGHT + 15.0, &number);
        }
    }
}

/// Draws one horizontal bar per strategy, the first one `top` pixels below the top of the image. The bar shows the
/// speedup over `off`, or millions of paths per second if `off` was not measured.
fn draw_strategies(svg: &mut Svg, top: f64, scene: &SceneResults) {
    let off = scene.timing(OFF);
    let speed = |timing: &Timing| match off {
        Some(off) => off.median() / timing.median(),
        None => scene.paths as f64 / timing.median() / 1e6,
    };
    let fastest = scene
        .strategies
        .iter()
        .map(speed)
        .fold(f64::MIN_POSITIVE, f64::max);
    let heading = if off.is_some() {
        "speedup over off"
    } else {
        "Mpaths/s"
    };
    svg.title(STRATEGIES_LEFT, top - 10.0, heading);
    for (place, timing) in scene.strategies.iter().enumerate() {
        let y = top + STRATEGY_HEIGHT * place as f64;
        let length = STRATEGIES_WIDTH * speed(timing) / fastest;
        let color = match timing {
            timing if timing.strategy == OFF => WITHOUT,
            timing if timing.has_stages() => WITH,
            _ => LIVE,
        };
        svg.value(STRATEGIES_LEFT - 6.0, y + 9.0, &timing.strategy);
        svg.bar(STRATEGIES_LEFT, y, length, STRATEGY_HEIGHT * 0.75, color);
        svg.note(
            STRATEGIES_LEFT + length + 5.0,
            y + 9.0,
            &format!("{:.2}", speed(timing)),
        );
    }
}
