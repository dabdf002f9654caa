//! Results as a chart: a panel a scene.

use std::{io::Write, path::Path};

use raysieve::{
    Error,
    chart::{ENDED, MISSES, SURVIVORS, Svg},
    output,
};

use super::{
    results::{Results, SceneResults, Timing},
    tables::{OFF, fastest_sieve, figure},
};

/// Without a sieve, with one, and what lives.
const WITHOUT: &str = ENDED;
const WITH: &str = SURVIVORS;
const LIVE: &str = MISSES;

/// Of a panel.
const HEIGHT: f64 = 210.0;
/// Of the bounces in a panel.
const LEFT: f64 = 62.0;
const TOP: f64 = 44.0;
const BOUNCES_WIDTH: f64 = 400.0;
const BOUNCES_HEIGHT: f64 = 120.0;
/// Of the strategies in a panel.
const STRATEGIES_LEFT: f64 = 640.0;
const STRATEGIES_WIDTH: f64 = 150.0;
const STRATEGY_HEIGHT: f64 = 15.0;

/// Writes the chart, whole or not at all.
pub(super) fn write(path: &Path, results: &Results) -> Result<(), Error> {
    let text = chart(results);
    output::write_whole(path, |file| file.write_all(text.as_bytes()))
}

fn chart(results: &Results) -> String {
    let height = HEIGHT * results.scenes.len() as f64;
    let mut svg = Svg::new(840, height as u32);
    for (place, scene) in results.scenes.iter().enumerate() {
        panel(&mut svg, HEIGHT * place as f64, scene);
    }
    svg.finish()
}

fn panel(svg: &mut Svg, y: f64, scene: &SceneResults) {
    let Some(sieve) = fastest_sieve(scene) else {
        return;
    };
    let [width, height] = scene.size;
    svg.title(
        LEFT,
        y + 18.0,
        &format!(
            "{}, {width} × {height}, {} samples a pixel; {}",
            scene.scene, scene.spp, scene.device
        ),
    );
    let off = scene
        .timing(OFF)
        .filter(|off| off.strategy != sieve.strategy);
    svg.key(LEFT, y + 34.0, LIVE, "live paths");
    svg.key(LEFT + 88.0, y + 34.0, WITH, &sieve.strategy);
    if off.is_some() {
        svg.key(LEFT + 216.0, y + 34.0, WITHOUT, OFF);
    }
    bounces(svg, y + TOP, scene, sieve, off);
    strategies(svg, y + TOP, scene);
    let pays = match off.map(|off| sieve.faster_from(off)) {
        Some(Some(bounce)) => format!("; {} pays from bounce {bounce} on", sieve.strategy),
        Some(None) => format!("; {} pays at no bounce", sieve.strategy),
        None => String::new(),
    };
    svg.note(
        LEFT,
        y + HEIGHT - 10.0,
        &format!(
            "milliseconds of a frame by bounce{pays}; film_hash {}",
            scene.film_hash
        ),
    );
}

/// Bounce by bounce: the part of the paths that lives, the time without a sieve and with one.
fn bounces(svg: &mut Svg, top: f64, scene: &SceneResults, sieve: &Timing, off: Option<&Timing>) {
    let rows: Vec<_> = sieve.bounces.iter().filter(|row| row.rays > 0).collect();
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
        for (number, (part, colour)) in bars.into_iter().enumerate() {
            let height = BOUNCES_HEIGHT * part.min(1.0);
            let x = x + group * (0.06 + 0.28 * number as f64);
            svg.bar(
                x,
                top + BOUNCES_HEIGHT - height,
                group * 0.26,
                height,
                colour,
            );
        }
        if row.bounce.is_multiple_of(every) {
            let number = row.bounce.to_string();
            svg.tick(x + group * 0.5, top + BOUNCES_HEIGHT + 15.0, &number);
        }
    }
}

/// Strategy by strategy: how many times as fast as without a sieve a frame is; its paths a second where nobody knows.
fn strategies(svg: &mut Svg, top: f64, scene: &SceneResults) {
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
        "times as fast as off"
    } else {
        "Mpaths/s"
    };
    svg.title(STRATEGIES_LEFT, top - 10.0, heading);
    for (place, timing) in scene.strategies.iter().enumerate() {
        let y = top + STRATEGY_HEIGHT * place as f64;
        let length = STRATEGIES_WIDTH * speed(timing) / fastest;
        let colour = match timing {
            timing if timing.strategy == OFF => WITHOUT,
            timing if timing.has_stages() => WITH,
            _ => LIVE,
        };
        svg.value(STRATEGIES_LEFT - 6.0, y + 9.0, &timing.strategy);
        svg.bar(STRATEGIES_LEFT, y, length, STRATEGY_HEIGHT * 0.75, colour);
        svg.note(
            STRATEGIES_LEFT + length + 5.0,
            y + 9.0,
            &format!("{:.2}", speed(timing)),
        );
    }
}
