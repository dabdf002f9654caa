//! Tests of the area that the overlay covers, and of its texts.

use super::{Detail, FigureFormat, Figures, Overlay, Units, colors, figures_as};
use crate::chart;
use crate::session::{
    Comparison, Difference, MeasuredTimes, NoisePoint, Pays, Recent, RecentBounce, StageTimes,
    State, StrategyComparison,
};
use raysieve::render::stats::{BounceStats, Stats};

/// Statistics of one device that fill graph, table and comparison of strategies, with nine bounces.
fn full() -> (Stats, Recent) {
    let stats = |bounce: u32| BounceStats {
        bounce,
        rays: 1 << (40 - 2 * bounce),
        hits: 1 << (40 - 2 * bounce),
        survivors: 1 << (38 - 2 * bounce),
        ..BounceStats::default()
    };
    let measured = |stages| MeasuredTimes {
        median: StageTimes(stages),
        spread: None,
    };
    let recent = |bounce: u32| RecentBounce {
        removed: 0.75,
        times: measured(std::array::from_fn(|stage| {
            1e3 / f64::from(bounce + 1) + 100.0 * stage as f64
        })),
        ..RecentBounce::default()
    };
    let strategy_row = |strategy: &str| StrategyComparison {
        strategy: strategy.to_owned(),
        pays: Pays::Before(4),
        total: RecentBounce {
            lane_use: 0.9,
            times: measured([120.0; 4]),
            ..RecentBounce::default()
        },
        rays_per_second: 1e9,
        interval: [0.9e9, 1.1e9],
        comparison: Comparison::Difference(Difference {
            by: -0.123,
            low: -0.15,
            high: -0.1,
        }),
        ..StrategyComparison::default()
    };
    let stats = Stats {
        scene: "scene.ron".to_owned(),
        backend: "cuda".to_owned(),
        device: "A graphics card".to_owned(),
        size: [1920, 1080],
        paths: 1920 * 1080,
        bounces: (0..9).map(stats).collect(),
        ..Stats::default()
    };
    let recent = Recent {
        bounces: (0..9).map(recent).collect(),
        stage_history: vec![[100.0, 20.0, 80.0, 30.0]; 100],
        rate_history: (0..100).map(|point| 1e9 + 1e7 * point as f32).collect(),
        noise_history: (0..12)
            .map(|doubling| NoisePoint {
                samples: f64::from(1 << doubling),
                seconds: f64::from(doubling),
                error: 0.5 / f64::from(1 << doubling),
            })
            .collect(),
        strategies: ["look-back", "off", "atomic", "hole-filling"]
            .map(strategy_row)
            .to_vec(),
        ..Recent::of(&stats, 1.0)
    };
    (stats, recent)
}

/// Returns figures of a complete render in this size, for one sample of every pixel.
fn figures((stats, recent): &(Stats, Recent), size: (u32, u32)) -> Figures<'_> {
    Figures {
        stats,
        recent,
        size,
        state: State::Done,
        detail: Detail::Full,
        units: Units::PerSample,
        denoises: false,
    }
}

/// Draws figures onto a picture of this size in one color. Returns the bytes and the texts of the rows.
fn drawn(size: (u32, u32), scale: f32, state: State, detail: Detail) -> (Vec<u8>, Vec<String>) {
    let shown = full();
    let mut rgba = BACKGROUND.repeat((size.0 * size.1) as usize);
    let figures = Figures {
        state,
        detail,
        ..figures(&shown, (1920, 1080))
    };
    let panel = Overlay::new(scale).draw_stats(&mut rgba, size, &figures);
    let rows = panel.map_or(Vec::new(), |panel| panel.rows);
    (rgba, rows.into_iter().map(|row| row.text).collect())
}

fn texts(size: (u32, u32), state: State, detail: Detail) -> Vec<String> {
    drawn(size, 1.0, state, detail).1
}

const BACKGROUND: [u8; 4] = [120, 120, 120, 255];

/// Draws the overlay. Returns the fraction of pixels that it covers.
fn covered(size: (u32, u32), scale: f32, detail: Detail) -> f64 {
    let (rgba, _) = drawn(size, scale, PAUSED, detail);
    let (pixels, _) = rgba.as_chunks::<4>();
    let drawn = pixels.iter().filter(|pixel| **pixel != BACKGROUND);
    drawn.count() as f64 / pixels.len() as f64
}

#[test]
fn the_overlay_covers_little() {
    let size = (1920, 1080);
    let full = covered(size, 1.0, Detail::Full);
    let short = covered(size, 1.0, Detail::Short);
    assert!(full < 0.13 && short < 0.04, "{full} and {short}");
}

#[test]
fn a_scaled_overlay_covers_the_same_fraction() {
    let once = covered((960, 540), 1.0, Detail::Full);
    let twice = covered((1920, 1080), 2.0, Detail::Full);
    assert!((once / twice - 1.0).abs() < 0.02, "{once} and {twice}");
}

const PAUSED: State = State::Paused {
    samples: 64,
    progress: 0.5,
};

const DETAILS: [Detail; 3] = [Detail::Short, Detail::Full, Detail::Everything];

#[test]
fn a_paused_render_says_so_first_in_a_panel_of_any_size() {
    for detail in DETAILS {
        for width in [100, 180, 320, 640, 1920] {
            for height in [60, 120, 900] {
                let rows = texts((width, height), PAUSED, detail);
                let first = rows.first().map_or("", String::as_str);
                assert!(
                    first.starts_with("paused "),
                    "{width} × {height}: {first:?}"
                );
            }
        }
    }
}

#[test]
fn the_table_stays_in_a_small_panel_and_has_all_figures_in_words() {
    for detail in [Detail::Full, Detail::Everything] {
        for size in [(120, 200), (320, 200), (640, 300), (1920, 1080)] {
            let rows = texts(size, State::Done, detail);
            let first = rows.iter().find(|row| row.starts_with("bounce 0: "));
            let first = first.unwrap_or_else(|| panic!("{size:?}: {rows:?}"));
            for figure in ["rays", "shadow rays", "intersect", "compact", "shade"] {
                assert!(first.contains(figure), "{first}");
            }
        }
    }
}

#[test]
fn a_panel_of_its_own_shows_times_and_rays_of_all_bounces() {
    for width in [600, 1920] {
        let rows = texts((width, 1200), State::Done, Detail::Everything);
        let of_bounces = rows.iter().filter(|row| row.starts_with("bounce "));
        // A narrow panel has two tables, a wide one a single table.
        let tables = if width < 1000 { 2 } else { 1 };
        assert_eq!(of_bounces.count(), 9 * tables, "{rows:?}");
    }
}

/// Returns whether a picture contains a square of this side in pixels that has exactly this color.
fn has_square(rgba: &[u8], width: usize, side: usize, color: [u8; 3]) -> bool {
    let (pixels, _) = rgba.as_chunks::<4>();
    let is_colored = |x: usize, y: usize| {
        let pixel = pixels.get(y * width + x);
        x < width && pixel.is_some_and(|pixel| pixel[..3] == color)
    };
    let height = pixels.len() / width;
    let mut places = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    places
        .any(|(x, y)| (0..side).all(|row| (0..side).all(|column| is_colored(x + column, y + row))))
}

#[test]
fn bars_of_rays_have_a_legend_in_a_panel_of_any_width() {
    let survivors = colors::parsed(chart::SURVIVORS);
    for detail in DETAILS {
        for width in [90, 140, 200, 320, 640, 1400] {
            let (rgba, rows) = drawn((width, 900), 1.0, State::Done, detail);
            assert!(rows.iter().any(|row| row.starts_with("bounce 0: ")));
            // Bars of rays are 3 pixels high, and the squares of legends 8.
            assert!(has_square(&rgba, width as usize, 8, survivors), "{width}");
        }
    }
}

#[test]
fn csv_and_json_contain_the_same_figures() {
    let shown = full();
    for units in [Units::PerSample, Units::Total] {
        let figures = Figures {
            state: PAUSED,
            units,
            ..figures(&shown, (1920, 1080))
        };
        let [csv, json] =
            [FigureFormat::Csv, FigureFormat::Json].map(|format| figures_as(&figures, format));
        let json: serde_json::Value = serde_json::from_str(&json).expect("valid JSON");
        let tables: Vec<Vec<&str>> = csv
            .split("\n\n")
            .map(|table| table.lines().collect())
            .collect();
        let [render, bounces, strategies] = &tables[..] else {
            panic!("{csv}");
        };
        assert!(render.contains(&"state,paused"), "{csv}");
        for (rows, name) in [(bounces, "bounces"), (strategies, "strategies")] {
            let names: Vec<&str> = rows[0].split(',').collect();
            for (row, object) in rows[1..].iter().zip(json[name].as_array().expect("rows")) {
                for (name, cell) in names.iter().zip(row.split(',')) {
                    let value = match &object[name] {
                        serde_json::Value::Null => String::new(),
                        serde_json::Value::String(text) => text.clone(),
                        value => value.to_string(),
                    };
                    assert_eq!(cell, value, "{name} of {row}");
                }
            }
        }
        assert_eq!(json["bounces"].as_array().map(Vec::len), Some(9));
        let rays = json["bounces"][0]["rays"].as_u64();
        let expected = match units {
            Units::PerSample => (1_u64 << 40) * 1920 * 1080 / shown.0.paths,
            Units::Total => 1 << 40,
        };
        assert_eq!(rays, Some(expected));
    }
}
