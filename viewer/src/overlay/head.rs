//! The first rows of the statistics panel: scene, progress and speed, devices, memory, noise and warnings.

use std::path::Path;

use super::{
    Detail, Figures,
    colors::{ACCENT, WARNING},
    format::{self, UNKNOWN},
    row::{Line, Row, bright, dim, plain},
};
use crate::session::State;
use raysieve::render::stats::Stats;

/// Returns the rows above the progress bar.
pub(super) fn rows<'a>(figures: &Figures<'_>) -> Vec<Row<'a>> {
    let stats = figures.stats;
    let mut rows = head(figures);
    if figures.detail != Detail::Short {
        let device = vec![dim(&stats.backend), dim(": "), plain(&stats.device)];
        rows.push(Row::Extra(device, Line::new()));
        rows.extend(devices(stats));
        rows.extend(memory(stats));
    }
    rows.extend(noise(stats));
    rows.extend(warnings(stats, figures.denoises));
    rows.extend(comparing(figures));
    rows
}

/// Returns two rows. The first has whether the render is paused, scene, picture size, render time, time left if known,
/// and compaction strategy; the second has samples, paths and rays per second, and lane use.
fn head<'a>(figures: &Figures<'_>) -> Vec<Row<'a>> {
    let (stats, state, (width, height)) = (figures.stats, figures.state, figures.size);
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
    let samples = match state {
        State::Rendering { samples, .. } | State::Paused { samples, .. } => {
            format!("{has} of {samples}")
        }
        State::Comparing | State::Done => has,
    };
    let is_paused = figures
        .recent
        .comparing
        .is_some_and(|progress| progress.paused);
    // The first words of a line are the last to be cut.
    let tag = match state {
        State::Paused { .. } => "paused  ",
        State::Comparing if is_paused => "paused  ",
        State::Comparing => "comparing  ",
        State::Rendering { .. } | State::Done => "",
    };
    let (paths, rays) = figures.speeds();
    let time = match format::time_left(stats.seconds, state) {
        Some(left) => format!("{}, {left} left", format::duration(stats.seconds)),
        None => format::duration(stats.seconds),
    };
    let busy = figures.busy();
    let mut lanes = vec![
        dim("busy threads "),
        plain(&busy.map_or(UNKNOWN.to_owned(), format::percent)),
    ];
    if let Some(busy) = busy.filter(|_| stats.compaction == "off") {
        lanes.push(dim(&format!(", {} idle", format::percent(1.0 - busy))));
    }
    vec![
        Row::Text(
            vec![
                (WARNING, tag.to_owned()),
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
            lanes,
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

/// Returns a row with the memory by kind, and the size and number of waves; `None` for merged parts.
fn memory<'a>(stats: &Stats) -> Option<Row<'a>> {
    let (memory, waves) = stats.memory.zip(stats.waves)?;
    let mut line = vec![
        dim("memory "),
        plain(&format::bytes(memory.total())),
        dim(" "),
    ];
    for (kind, bytes) in memory.kinds() {
        line.extend([dim(&format!(" {kind} ")), plain(&format::bytes(bytes))]);
    }
    let paths = format::count(waves.paths);
    let number = waves.in_flight;
    let waves = vec![
        plain(&number.to_string()),
        dim(if number == 1 {
            " wave of "
        } else {
            " waves of "
        }),
        plain(&paths),
    ];
    Some(Row::Extra(line, waves))
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
            bright(noise.estimated.map_or(UNKNOWN.to_owned(), percent)),
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

/// Returns a row with the progress of a comparison of strategies; `None` without one.
fn comparing<'a>(figures: &Figures<'_>) -> Option<Row<'a>> {
    let progress = figures.recent.comparing?;
    Some(Row::Text(
        vec![
            plain("comparing strategies: "),
            bright(progress.rounds.to_string()),
            plain(&format!(" of {} rounds", progress.of_rounds)),
        ],
        vec![dim("the film is kept")],
    ))
}
