//! The statistics of a render as text.

use raysieve::stats::{BounceStats, NoiseStats, Stats};

/// A row per bounce and one for all of them, then what the figures belong to.
pub(crate) fn of(stats: &Stats) -> String {
    let total = stats.total();
    let mut rows = vec![HEAD.map(str::to_owned)];
    // A path that may scatter a thousand times seldom does: rows without rays say nothing.
    rows.extend(
        stats
            .bounces
            .iter()
            .filter(|row| row.rays > 0)
            .map(|row| cells(&row.bounce.to_string(), row)),
    );
    rows.push(cells("all", &total));
    aligned(&rows) + &summary(stats)
}

/// The same while it is rendered, in the width of a terminal: times are for one sample a pixel, milliseconds.
pub(crate) fn in_place(stats: &Stats) -> String {
    let samples = stats.paths as f64 / stats.size.map(f64::from).iter().product::<f64>();
    let row = |label: &str, row: &BounceStats| {
        let time = |milliseconds: f64| format!("{:.3}", milliseconds / samples.max(1e-9));
        [
            label.to_owned(),
            grouped(row.rays),
            format!("{:.1} %", 100.0 * row.removed()),
            time(row.intersect_ms),
            time(row.compact_ms),
            time(row.shade_ms),
            time(row.shadow_ms),
        ]
    };
    let head = [
        "bounce",
        "rays",
        "removed",
        "intersect ms",
        "sieve",
        "shade",
        "shadow",
    ];
    let bounces = stats.bounces.iter().filter(|row| row.rays > 0);
    let rows: Vec<_> = [head.map(str::to_owned)]
        .into_iter()
        .chain(bounces.map(|bounce| row(&bounce.bounce.to_string(), bounce)))
        .chain([row("all", &stats.total())])
        .collect();
    aligned(&rows)
}

const HEAD: [&str; 12] = [
    "bounce",
    "rays",
    "hits",
    "misses",
    "ended",
    "survivors",
    "removed",
    "shadow rays",
    "intersect ms",
    "shade ms",
    "shadow ms",
    "compact ms",
];

fn cells(label: &str, row: &BounceStats) -> [String; 12] {
    [
        label.to_owned(),
        grouped(row.rays),
        grouped(row.hits),
        grouped(row.misses),
        grouped(row.ended),
        grouped(row.survivors),
        format!("{:.1} %", 100.0 * row.removed()),
        grouped(row.shadow_rays),
        format!("{:.1}", row.intersect_ms),
        format!("{:.1}", row.shade_ms),
        format!("{:.1}", row.shadow_ms),
        format!("{:.1}", row.compact_ms),
    ]
}

/// Columns flush right, two spaces between them.
pub(crate) fn aligned<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    let widths: [usize; COLUMNS] =
        std::array::from_fn(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0));
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> = row
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell:>width$}"))
            .collect();
        text.push_str(&cells.join("  "));
        text.push('\n');
    }
    text
}

/// How the queue is sieved, and what is known of its order.
fn sieve(stats: &Stats) -> String {
    stats.sieve() + &worth(stats.partition_gain)
}

/// What an order of hits is worth, where that is known.
fn worth(partition_gain: Option<f64>) -> String {
    match partition_gain {
        Some(gain) if gain > 1.0 => format!(": {:.0} % faster", 100.0 * (gain - 1.0)),
        Some(gain) => format!(
            "; hits by material would be {:.0} % slower",
            100.0 * (1.0 - gain)
        ),
        None => String::new(),
    }
}

fn summary(stats: &Stats) -> String {
    let [width, height] = stats.size;
    let samples = match &stats.noise {
        Some(noise) if noise.most_samples > stats.spp => {
            let most = grouped(noise.most_samples.into());
            format!("{} to {most}", grouped(stats.spp.into()))
        }
        _ => grouped(stats.spp.into()),
    };
    let range = if stats.noise.is_some() || stats.sample_range == format!("0..{}", stats.spp) {
        String::new()
    } else {
        format!(" ({})", stats.sample_range)
    };
    let mut text = format!(
        "\nscene        {}, {width}x{height}, {} samples a pixel{range}, seed {}\n\
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
        sieve(stats),
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
            if device.partition == "on" {
                "; hits by material"
            } else {
                ""
            },
            worth(device.partition_gain),
            if device.failed { "; has failed" } else { "" }
        ));
    }
    if let Some(noise) = &stats.noise {
        text.push_str(&format!("noise        {}\n", of_noise(noise, stats.size)));
    }
    if let Some(most) = stats.clamp_indirect {
        text.push_str(&format!(
            "clamped      indirect light to {most}: the picture is darker than it should be\n"
        ));
    }
    if let Some(milliseconds) = stats.denoise_ms {
        text.push_str(&format!(
            "denoise      {milliseconds:.2} ms, for a preview\n"
        ));
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

/// What pixels have that get samples until they are good: "0.93 % estimated, 1.00 % wanted; ..".
pub(crate) fn of_noise(noise: &NoiseStats, [width, height]: [u32; 2]) -> String {
    let percent = |error: f64| format!("{:.2} %", 100.0 * error);
    let estimated = noise.estimated.map_or("not estimated".to_owned(), |error| {
        format!("{} estimated", percent(error))
    });
    let left = match noise.unfinished {
        0 => "all pixels are good enough".to_owned(),
        left => format!(
            "{} of {} pixels are not good enough yet",
            grouped(left.into()),
            grouped(u64::from(width) * u64::from(height))
        ),
    };
    format!(
        "{estimated}, {} wanted; {left}; {} samples a pixel in the mean",
        percent(noise.wanted.into()),
        grouped_tenths(noise.mean_samples)
    )
}

/// Digits in groups of three: 1,048,576.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The same with one digit behind the point: 7,168.0.
fn grouped_tenths(number: f64) -> String {
    let tenths = (10.0 * number).round() as u64;
    format!("{}.{}", grouped(tenths / 10), tenths % 10)
}
