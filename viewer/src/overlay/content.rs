//! The content of the statistics panel as rows of coloured text, bars and graphs, which other modules of the overlay
//! draw.

use std::path::Path;

use super::{
    Detail, Figures, Units,
    canvas::Colour,
    entry::{Entry, entries, total},
    format,
};
use crate::session::{Comparison, NoisePoint, State, StrategyComparison};
use raysieve::render::stats::{BounceStats, Stats};

/// Text colour of the most important values.
pub(super) const BRIGHT: Colour = [240, 243, 247];
/// Default text colour.
pub(super) const PLAIN: Colour = [205, 211, 219];
/// Text colour of labels.
pub(super) const DIM: Colour = [152, 161, 174];
/// Colour of highlighted text, the progress bar and the graph.
pub(super) const ACCENT: Colour = [255, 213, 110];
/// Text colour of warnings and errors.
pub(super) const WARNING: Colour = [255, 140, 120];

/// A line of text in pieces, each with one colour.
pub(super) type Line = Vec<(Colour, String)>;

/// Returns the number of characters in all pieces of a line.
pub(super) fn length(line: &Line) -> i32 {
    let lengths = line.iter().map(|(_, text)| text.chars().count());
    lengths.sum::<usize>() as i32
}

/// A row of the statistics panel.
pub(super) enum Row<'a> {
    /// Left-aligned text, which is cut if it is too long, and right-aligned text, which is drawn only if both fit.
    Text(Line, Line),
    /// A thin progress bar, filled by this fraction in 0..=1.
    Progress(f64),
    /// A graph of rays per second over time, the newest value last, and beside it one of the noise over the samples, if
    /// it has at least two points.
    Graph(&'a [f32], &'a [NoisePoint]),
    /// The line above the table: its units, and the stages' names and colours.
    Legend(Units),
    /// The headings of the table's columns.
    Headings,
    /// A row of the table with the figures of one bounce, above a bar of its rays.
    Bounce(Box<Entry>),
    /// A bar of a bounce's surviving, ended and missed rays, without numbers.
    Bar(&'a BounceStats),
    /// A compaction strategy: texts as in `Text`, above a bar of its speed with the confidence interval. The last
    /// number is the speed of a full bar.
    Strategy(Line, Line, &'a StrategyComparison, f64),
    /// The last row of the table, with the totals over all bounces.
    Total(Box<Entry>),
}

/// Returns the rows of the statistics panel, without regard to the room for them.
pub(super) fn rows<'a>(figures: &Figures<'a>) -> Vec<Row<'a>> {
    let Figures {
        stats,
        recent,
        state,
        detail,
        ..
    } = *figures;
    let mut rows = head(figures);
    if detail == Detail::Full {
        let device = vec![dim(&stats.backend), dim(": "), plain(&stats.device)];
        rows.push(Row::Text(device, Line::new()));
        rows.extend(devices(stats));
    }
    rows.extend(noise(stats));
    rows.extend(warnings(stats, figures.denoises));
    rows.push(Row::Progress(match state {
        State::Rendering { progress, .. } | State::Paused { progress, .. } => progress,
        State::Comparing | State::Done => 0.0,
    }));
    let bounces = stats.bounces.iter();
    let shown = recent.rows;
    if detail == Detail::Short {
        rows.extend(bounces.take(shown).map(Row::Bar));
        return rows;
    }
    if !recent.rate_history.is_empty() {
        rows.push(Row::Graph(&recent.rate_history, &recent.noise_history));
    }
    rows.extend([Row::Legend(figures.units), Row::Headings]);
    rows.extend(entries(figures).map(|entry| Row::Bounce(Box::new(entry))));
    rows.push(Row::Total(Box::new(total(figures))));
    if recent.strategies.len() > 1 {
        rows.push(Row::Text(
            vec![dim("compaction strategies against off")],
            vec![dim("median Mrays/s")],
        ));
        let ends = recent.strategies.iter().map(|entry| entry.interval[1]);
        let fastest = ends.fold(0.0, f64::max);
        let strategies = recent.strategies.iter();
        rows.extend(strategies.map(|entry| strategy_row(entry, fastest)));
    }
    rows
}

/// Returns two rows. The first has scene, picture size, render time, time left if known, and compaction strategy; the
/// second has samples, paths and rays per second, and lane use. In [`State::Done`], both speeds are averages over the
/// render; otherwise they are recent.
fn head<'a>(figures: &Figures<'_>) -> Vec<Row<'a>> {
    let Figures {
        stats,
        size: (width, height),
        state,
        ..
    } = *figures;
    let scene = Path::new(&stats.scene)
        .file_name()
        .map_or(stats.scene.clone(), |name| name.to_string_lossy().into());
    let has = match &stats.noise {
        Some(noise) => format!("{:.1}", noise.mean_samples),
        None => stats.spp.to_string(),
    };
    let word = match (state, &stats.noise) {
        (State::Done | State::Comparing, None) => format::sample_word(stats.spp),
        _ => "samples",
    };
    let (samples, tag) = match state {
        State::Rendering { samples, .. } => (format!("{has} of {samples}"), ""),
        State::Paused { samples, .. } => (format!("{has} of {samples}"), "paused  "),
        State::Comparing => (has, "comparing  "),
        State::Done => (has, ""),
    };
    let (paths, rays) = figures.speeds();
    let time = match format::time_left(stats.seconds, state) {
        Some(left) => format!("{}, {left} left", format::duration(stats.seconds)),
        None => format::duration(stats.seconds),
    };
    vec![
        Row::Text(
            vec![
                (ACCENT, scene),
                dim(&format!("  {width} × {height}  {time}")),
            ],
            vec![dim("compaction "), bright(stats.compaction_text())],
        ),
        Row::Text(
            vec![
                bright(samples),
                plain(&format!(" {word}  ")),
                bright(format::millions(paths)),
                plain(" Mpaths/s  "),
                bright(format::millions(rays)),
                plain(" Mrays/s"),
            ],
            vec![
                (ACCENT, tag.to_owned()),
                dim("busy threads "),
                plain(&figures.busy().map_or("–".to_owned(), format::percent)),
            ],
        ),
    ]
}

/// Returns one row per device if there are several, otherwise none.
fn devices<'a>(stats: &Stats) -> impl Iterator<Item = Row<'a>> {
    let several = stats.devices.iter().filter(|_| stats.devices.len() > 1);
    several.map(|device| {
        let failed = if device.failed { "  failed" } else { "" };
        Row::Text(
            vec![
                dim("  "),
                plain(&device.device),
                (WARNING, failed.to_owned()),
            ],
            vec![
                bright(format::count(device.paths)),
                plain(" paths  "),
                bright(format::millions(device.paths_per_second)),
                plain(" Mpaths/s"),
            ],
        )
    })
}

/// Returns a row with the noise estimate, its target and the fraction of converged pixels, all in percent; `None`
/// without adaptive sampling.
fn noise<'a>(stats: &Stats) -> Option<Row<'a>> {
    let noise = stats.noise.as_ref()?;
    let percent = |error: f64| format!("{:.2} %", 100.0 * error);
    let pixels: f64 = stats.size.map(f64::from).iter().product();
    let done = 1.0 - f64::from(noise.unconverged_pixels) / pixels;
    Some(Row::Text(
        vec![
            dim("noise "),
            bright(noise.estimated.map_or("–".to_owned(), percent)),
            dim(&format!(", target {}", percent(noise.target.into()))),
        ],
        vec![
            bright(format!("{:.1} %", (1000.0 * done).floor() / 10.0)),
            plain(" of the pixels done"),
        ],
    ))
}

/// Returns one row for each warning about the picture: rejected samples, clamped indirect light, and denoising. If
/// `denoises`, there is a row about denoising even while no denoised picture is displayed, so that the rows below do
/// not move.
fn warnings<'a>(stats: &Stats, denoises: bool) -> Vec<Row<'a>> {
    let mut warnings = Vec::new();
    if stats.rejected_samples > 0 {
        warnings.push(format!(
            "{} samples rejected: not finite or too bright",
            format::count(stats.rejected_samples)
        ));
    }
    if let Some(limit) = stats.clamp_indirect {
        warnings.push(format!(
            "indirect light clamped to {limit}: the image is darker than without clamping"
        ));
    }
    if let Some(milliseconds) = stats.denoise_ms {
        warnings.push(format!(
            "denoised preview ({milliseconds:.1} ms); saved images are not denoised"
        ));
    } else if denoises {
        warnings.push("denoised preview, once there are enough samples".to_owned());
    }
    warnings
        .into_iter()
        .map(|warning| Row::Text(vec![(WARNING, warning)], Line::new()))
        .collect()
}

/// Returns the row of a strategy. A full bar stands for `fastest`, in rays per second.
fn strategy_row(strategy_row: &StrategyComparison, fastest: f64) -> Row<'_> {
    let (colour, against) = match &strategy_row.comparison {
        Comparison::Baseline => (PLAIN, "baseline".to_owned()),
        Comparison::NotEnoughData => (DIM, "not enough data yet".to_owned()),
        Comparison::Difference(difference) => {
            let colour = match difference.is_unclear() || difference.by < 0.0 {
                true => PLAIN,
                false => ACCENT,
            };
            (colour, format::difference(*difference))
        }
    };
    let speed = if strategy_row.rays_per_second > 0.0 {
        format::millions(strategy_row.rays_per_second)
    } else {
        "–".to_owned()
    };
    Row::Strategy(
        vec![
            (colour, format!("{:<22}", strategy_row.strategy)),
            (colour, against),
        ],
        vec![(colour, speed)],
        strategy_row,
        fastest,
    )
}

fn plain(text: &str) -> (Colour, String) {
    (PLAIN, text.to_owned())
}

fn bright(text: String) -> (Colour, String) {
    (BRIGHT, text)
}

fn dim(text: &str) -> (Colour, String) {
    (DIM, text.to_owned())
}
