//! What the overlay says, line by line; how it looks is told apart from it, by colours.

use std::path::Path;

use super::{Detail, canvas::Colour, columns::Entry, figures};
use crate::{
    live::{Against, Recent, Rival, State},
    stats::{BounceStats, Stats},
};

pub(super) const BRIGHT: Colour = [240, 243, 247];
pub(super) const PLAIN: Colour = [205, 211, 219];
pub(super) const DIM: Colour = [152, 161, 174];
pub(super) const ACCENT: Colour = [255, 213, 110];
pub(super) const WARNING: Colour = [255, 140, 120];

/// Text in pieces of one colour each.
pub(super) type Line = Vec<(Colour, String)>;

/// One line of the panel.
pub(super) enum Row<'a> {
    /// Left-aligned, and right-aligned if both fit.
    Text(Line, Line),
    /// A thin line that fills with the render's progress.
    Progress(f64),
    /// Rays a second over some time, the newest last.
    Graph(&'a [f32]),
    /// What the table's colours stand for.
    Legend,
    Headings,
    Bounce(Box<Entry>),
    /// What became of a bounce's rays, without figures.
    Bar(&'a BounceStats),
    Total(Box<Entry>),
}

/// Everything there is to show in so much detail.
pub(super) fn rows<'a>(
    stats: &'a Stats,
    recent: &'a Recent,
    state: State,
    detail: Detail,
) -> Vec<Row<'a>> {
    let mut rows = match detail {
        Detail::None => return Vec::new(),
        Detail::Short | Detail::Full => head(stats, recent, state),
    };
    if detail == Detail::Full {
        let device = vec![dim(&stats.backend), dim(": "), plain(&stats.device)];
        rows.push(Row::Text(device, Line::new()));
        rows.extend(devices(stats));
    }
    rows.extend(noise(stats));
    rows.extend(warnings(stats));
    rows.push(Row::Progress(match state {
        State::Rendering { progress, .. } | State::Paused { progress, .. } => progress,
        State::Done => 0.0,
    }));
    // A path that may scatter a thousand times seldom does. Before the first wave nothing is known of it.
    let bounces = stats.bounces.iter();
    let last = bounces.clone().rposition(|bounce| bounce.rays > 0);
    let shown = last.map_or(stats.bounces.len(), |last| last + 1);
    if detail == Detail::Short {
        rows.extend(bounces.take(shown).map(Row::Bar));
        return rows;
    }
    if !recent.course.is_empty() {
        rows.push(Row::Graph(&recent.course));
    }
    rows.extend([Row::Legend, Row::Headings]);
    let entries = bounces.zip(&recent.bounces).take(shown);
    rows.extend(entries.map(|(stats, recent)| Row::Bounce(Box::new(Entry::new(stats, recent)))));
    rows.push(Row::Total(Box::new(Entry::total(stats, recent))));
    if recent.rivals.len() > 1 {
        rows.push(Row::Text(
            vec![dim("strategies on this view")],
            vec![dim("median Mrays/s")],
        ));
        rows.extend(recent.rivals.iter().map(rival));
    }
    rows
}

/// Scene, sieve, samples and speed.
fn head<'a>(stats: &Stats, recent: &Recent, state: State) -> Vec<Row<'a>> {
    let scene = Path::new(&stats.scene)
        .file_name()
        .map_or(stats.scene.clone(), |name| name.to_string_lossy().into());
    let [width, height] = stats.size;
    let has = match &stats.noise {
        Some(noise) => format!("{:.1}", noise.mean_samples),
        None => stats.spp.to_string(),
    };
    let (samples, tag) = match state {
        State::Rendering { samples, .. } => (format!("{has} of {samples}"), ""),
        State::Paused { samples, .. } => (format!("{has} of {samples}"), "paused  "),
        State::Done => (has, ""),
    };
    let (paths, rays) = match state {
        State::Done => (stats.paths_per_second, stats.rays_per_second),
        _ => (recent.paths_per_second, recent.rays_per_second),
    };
    let time = figures::duration(stats.seconds);
    vec![
        Row::Text(
            vec![
                (ACCENT, scene),
                dim(&format!("  {width} × {height}  {time}")),
            ],
            vec![dim("sieve "), bright(stats.sieve())],
        ),
        Row::Text(
            vec![
                bright(samples),
                plain(" samples  "),
                bright(figures::millions(paths)),
                plain(" Mpaths/s  "),
                bright(figures::millions(rays)),
                plain(" Mrays/s"),
            ],
            vec![
                (ACCENT, tag.to_owned()),
                dim("lanes "),
                plain(&figures::percent(recent.lane_use)),
            ],
        ),
    ]
}

/// Each of several, with its share.
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
                bright(figures::count(device.paths)),
                plain(" paths  "),
                bright(figures::millions(device.paths_per_second)),
                plain(" Mpaths/s"),
            ],
        )
    })
}

/// Where pixels get samples until they are good: how good they are.
fn noise<'a>(stats: &Stats) -> Option<Row<'a>> {
    let noise = stats.noise.as_ref()?;
    let percent = |error: f64| format!("{:.2} %", 100.0 * error);
    let pixels: f64 = stats.size.map(f64::from).iter().product();
    let done = 1.0 - f64::from(noise.unfinished) / pixels;
    Some(Row::Text(
        vec![
            dim("noise "),
            bright(noise.estimated.map_or("–".to_owned(), percent)),
            dim(&format!(" of {}", percent(noise.wanted.into()))),
        ],
        vec![
            bright(format!("{:.1} %", (1000.0 * done).floor() / 10.0)),
            plain(" of the pixels done"),
        ],
    ))
}

fn warnings<'a>(stats: &Stats) -> Vec<Row<'a>> {
    let mut warnings = Vec::new();
    if stats.rejected_samples > 0 {
        warnings.push(format!(
            "{} samples rejected: not finite or too bright",
            figures::count(stats.rejected_samples)
        ));
    }
    if let Some(most) = stats.clamp_indirect {
        warnings.push(format!(
            "indirect light clamped to {most}: darker than it is"
        ));
    }
    if let Some(milliseconds) = stats.denoise_ms {
        warnings.push(format!(
            "denoised preview, denoise {milliseconds:.1} ms: not what is rendered"
        ));
    }
    warnings
        .into_iter()
        .map(|warning| Row::Text(vec![(WARNING, warning)], Line::new()))
        .collect()
}

fn rival<'a>(rival: &Rival) -> Row<'a> {
    let told = |by: f64, how: &str| format!("{} {how}", figures::percent(by));
    let (colour, against) = match &rival.against {
        Against::Itself => (BRIGHT, "now".to_owned()),
        Against::NotEnough => (DIM, "not enough yet".to_owned()),
        Against::Alike => (PLAIN, "as fast".to_owned()),
        Against::Faster(by) => (ACCENT, told(*by, "faster")),
        Against::Slower(by) => (PLAIN, told(*by, "slower")),
    };
    let speed = if rival.rays_per_second > 0.0 {
        figures::millions(rival.rays_per_second)
    } else {
        "–".to_owned()
    };
    Row::Text(
        vec![
            (colour, format!("  {:<20}", rival.strategy)),
            (colour, against),
        ],
        vec![(colour, speed)],
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
