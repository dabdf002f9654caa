//! Text tables of the statistics of a render.

use raysieve::{
    render::stats::{BounceStats, NoiseStats, Stats},
    stages::Stage,
};

/// Returns the table that a finished render prints: a row for each bounce with rays, a row of totals, and a summary of
/// the render.
///
/// The times of a stage are in milliseconds, summed over the whole render and divided by the number of CPU threads or
/// GPUs that work at the same time.
pub(crate) fn final_table(stats: &Stats) -> String {
    let total = stats.total();
    let lost = Lost::with(stats);
    let has_media = total.scattered > 0;
    let mut rows = vec![head(lost, has_media)];
    // A path that may scatter a thousand times seldom does: rows without rays say nothing.
    rows.extend(
        stats
            .bounces
            .iter()
            .filter(|row| row.rays > 0)
            .map(|row| cells(&row.bounce.to_string(), row, lost, has_media)),
    );
    rows.push(cells("all", &total, lost, has_media));
    aligned(&rows) + &summary(stats)
}

/// The share of a bounce that a table shows: what compaction removes, or what is idle because nothing is removed.
#[derive(Clone, Copy)]
enum Lost {
    /// The fraction of the rays that do not continue.
    Removed,
    /// The fraction of the launched lanes that have no ray, with the strategy `off`.
    Idle,
}

impl Lost {
    fn with(stats: &Stats) -> Lost {
        match stats.compaction.as_str() {
            "off" => Lost::Idle,
            _ => Lost::Removed,
        }
    }

    fn heading(self) -> &'static str {
        match self {
            Lost::Removed => "removed",
            Lost::Idle => "idle",
        }
    }

    /// Returns the share in a bounce as text.
    fn cell(self, row: &BounceStats) -> String {
        let part = match self {
            Lost::Removed => row.removed(),
            Lost::Idle => 1.0 - row.rays as f64 / row.lanes.max(row.rays).max(1) as f64,
        };
        format!("{:.1} %", 100.0 * part)
    }
}

/// Returns the narrower table that a terminal shows during a render: counts so far, and times in milliseconds for one
/// sample per pixel.
pub(crate) fn live_table(stats: &Stats) -> String {
    let samples = stats.paths as f64 / stats.size.map(f64::from).iter().product::<f64>();
    let lost = Lost::with(stats);
    let row = |label: &str, row: &BounceStats| {
        let time = |stage| format!("{:.3}", row.time(stage) / samples.max(1e-9));
        [label.to_owned(), grouped(row.rays), lost.cell(row)]
            .into_iter()
            .chain(Stage::OF_BOUNCE.map(time))
            .collect::<Vec<_>>()
    };
    let counts = ["bounce", "rays", lost.heading()].map(str::to_owned);
    // The first heading of a time has the unit.
    let times = Stage::OF_BOUNCE.iter().enumerate().map(|(place, stage)| {
        let unit = if place == 0 { " ms" } else { "" };
        stage.label().to_owned() + unit
    });
    let head: Vec<_> = counts.into_iter().chain(times).collect();
    let bounces = stats.bounces.iter().filter(|row| row.rays > 0);
    let rows: Vec<_> = [head]
        .into_iter()
        .chain(bounces.map(|bounce| row(&bounce.bounce.to_string(), bounce)))
        .chain([row("all", &stats.total())])
        .collect();
    aligned(&rows)
}

/// Returns the column headings of [`final_table`]: the counts, then the time of each stage. The paths that scatter in media
/// are counted if there are some.
fn head(lost: Lost, has_media: bool) -> Vec<String> {
    let counts = ["bounce", "rays", "hits"]
        .into_iter()
        .chain(has_media.then_some("scattered"))
        .chain([
            "misses",
            "ended",
            "survivors",
            lost.heading(),
            "shadow rays",
        ]);
    let times = Stage::OF_BOUNCE.map(|stage| format!("{} ms", stage.label()));
    counts.map(str::to_owned).chain(times).collect()
}

/// Returns one row of [`final_table`]: `label`, the counts of a bounce, and the time of each stage in milliseconds, in
/// the order of [`head`].
fn cells(label: &str, row: &BounceStats, lost: Lost, has_media: bool) -> Vec<String> {
    let counts = [label.to_owned(), grouped(row.rays), grouped(row.hits)]
        .into_iter()
        .chain(has_media.then(|| grouped(row.scattered)))
        .chain([
            grouped(row.misses),
            grouped(row.ended),
            grouped(row.survivors),
            lost.cell(row),
            grouped(row.shadow_rays),
        ]);
    let times = Stage::OF_BOUNCE.map(|stage| format!("{:.1}", row.time(stage)));
    counts.chain(times).collect()
}

/// Formats rows of equal length as text, with columns aligned to the right and two spaces between columns. Each row
/// ends with a line break.
pub(crate) fn aligned<Row: AsRef<[String]>>(rows: &[Row]) -> String {
    let columns = rows.first().map_or(0, |row| row.as_ref().len());
    let width = |column: usize| rows.iter().map(|row| row.as_ref()[column].len()).max();
    let widths: Vec<usize> = (0..columns)
        .map(|column| width(column).unwrap_or(0))
        .collect();
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> = row
            .as_ref()
            .iter()
            .zip(&widths)
            .map(|(cell, &width)| format!("{cell:>width$}"))
            .collect();
        text.push_str(&cells.join("  "));
        text.push('\n');
    }
    text
}

/// Returns text about the compaction strategy and the sorting of hits, such as "look-back, sorted hits: 12 % faster".
/// The gain compares the render with sorted hits to the render without. It is omitted if it was not measured.
fn compaction_line(stats: &Stats) -> String {
    stats.compaction_text() + &sort_hits_gain(stats.sort_hits_gain)
}

/// Returns text about the measured gain of sorting hits. `gain` is the speed with sorted hits divided by the speed
/// without. For example, 1.12 gives ": 12 % faster", and 0.97 gives "; sorted hits would be 3 % slower". `None` gives
/// an empty text.
fn sort_hits_gain(gain: Option<f64>) -> String {
    match gain {
        Some(gain) if gain > 1.0 => format!(": {:.0} % faster", 100.0 * (gain - 1.0)),
        Some(gain) => format!(
            "; sorted hits would be {:.0} % slower",
            100.0 * (1.0 - gain)
        ),
        None => String::new(),
    }
}

/// Returns the lines below the table: scene, backend, compaction, total time and speeds, noise, warnings and the film
/// hash.
fn summary(stats: &Stats) -> String {
    let [width, height] = stats.size;
    let samples = match &stats.noise {
        Some(noise) if noise.max_samples > stats.spp => {
            let max = grouped(noise.max_samples.into());
            format!("{} to {max} samples per pixel", grouped(stats.spp.into()))
        }
        _ => format!(
            "{} {}",
            grouped(stats.spp.into()),
            samples_per_pixel(stats.spp)
        ),
    };
    let range = if stats.noise.is_some() || stats.sample_range == format!("0..{}", stats.spp) {
        String::new()
    } else {
        format!(" ({})", stats.sample_range)
    };
    let mut text = format!(
        "\nscene        {}, {width}x{height}, {}{range}, seed {}\n\
         backend      {}, {}\n\
         compaction   {}\n\
         time         {:.2} s\n\
         paths        {}, {:.2} Mpaths/s\n\
         rays         {}, {:.2} Mrays/s\n",
        stats.scene,
        samples,
        stats.seed,
        stats.backend,
        stats.device,
        compaction_line(stats),
        stats.seconds,
        grouped(stats.paths),
        stats.paths_per_second / 1e6,
        grouped(stats.rays),
        stats.rays_per_second / 1e6,
    );
    for device in stats.devices.iter().filter(|_| stats.devices.len() > 1) {
        text.push_str(&format!(
            "             {}: {} paths, {:.2} Mpaths/s{}{}{}\n",
            device.device,
            grouped(device.paths),
            device.paths_per_second / 1e6,
            if device.sort_hits == "on" {
                "; sorted hits"
            } else {
                ""
            },
            sort_hits_gain(device.sort_hits_gain),
            if device.failed { "; failed" } else { "" }
        ));
    }
    if let Some(noise) = &stats.noise {
        text.push_str(&format!("noise        {}\n", noise_text(noise, stats.size)));
    }
    if let Some(max) = stats.clamp_indirect {
        text.push_str(&format!(
            "clamped      indirect light to {max}: the image is darker than the true one\n"
        ));
    }
    if let Some(milliseconds) = stats.denoise_ms {
        text.push_str(&format!("denoise      {milliseconds:.2} ms\n"));
    }
    if stats.rejected_samples > 0 {
        text.push_str(&format!(
            "rejected     {} samples, not finite or too bright\n",
            grouped(stats.rejected_samples)
        ));
    }
    text.push_str(&format!("film_hash    {}\n", stats.film_hash));
    text
}

/// Returns text about adaptive sampling: the estimated and the target error, the number of pixels that have not reached
/// the target, and the mean number of samples. `[width, height]` is the size of the image in pixels.
///
/// The errors are relative, and the estimated one is averaged over the pixels. An example is "0.93 % estimated, 1.00 %
/// target; all pixels have converged; 143.2 samples per pixel on average".
fn noise_text(noise: &NoiseStats, [width, height]: [u32; 2]) -> String {
    let percent = |error: f64| format!("{:.2} %", 100.0 * error);
    let estimated = noise.estimated.map_or("not estimated".to_owned(), |error| {
        format!("{} estimated", percent(error))
    });
    let left = match noise.unconverged_pixels {
        0 => "all pixels have converged".to_owned(),
        left => format!(
            "{} of {} pixels have not converged",
            grouped(left.into()),
            grouped(u64::from(width) * u64::from(height))
        ),
    };
    format!(
        "{estimated}, {} target; {left}; {} samples per pixel on average",
        percent(noise.target.into()),
        grouped_tenths(noise.mean_samples)
    )
}

/// Returns "sample per pixel" if `count` is 1, and otherwise "samples per pixel". The caller writes the number before
/// it.
pub(crate) fn samples_per_pixel(count: u32) -> &'static str {
    if count == 1 {
        "sample per pixel"
    } else {
        "samples per pixel"
    }
}

/// Formats a number with its digits in groups of three, such as 1,048,576.
pub(crate) fn grouped(number: u64) -> String {
    indicatif::HumanCount(number).to_string()
}

/// Formats a number that is not negative, rounded to one decimal and with its digits in groups of three, such as
/// 7,168.0.
fn grouped_tenths(number: f64) -> String {
    let tenths = (10.0 * number).round() as u64;
    format!("{}.{}", grouped(tenths / 10), tenths % 10)
}
