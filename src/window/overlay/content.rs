//! What the overlay says, line by line; how it looks is told apart from it, by colours.

use std::path::Path;

use super::{canvas::Colour, figures};
use crate::{
    live::State,
    stats::{BounceStats, Stats},
};

pub(super) const BRIGHT: Colour = [240, 243, 247];
pub(super) const PLAIN: Colour = [205, 211, 219];
pub(super) const DIM: Colour = [142, 151, 164];
pub(super) const ACCENT: Colour = [255, 213, 110];
const WARNING: Colour = [255, 140, 120];
// Told apart by brightness and by blue against yellow, so by colour-blind eyes too.
const SURVIVORS: Colour = [72, 207, 173];
const ENDED: Colour = [240, 150, 50];
const MISSES: Colour = [134, 152, 190];

/// A column of the table.
pub(super) struct Column {
    pub(super) heading: &'static str,
    pub(super) group: Group,
    /// Characters, the space before it among them.
    width: i32,
    pub(super) colour: Colour,
    /// Where the picture is too narrow for all, columns of a lower rank go first.
    rank: u8,
    pub(super) figure: fn(&BounceStats) -> String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    Rays,
    Time,
}

impl Group {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Rays => "rays of each bounce",
            Self::Time => "milliseconds of each stage",
        }
    }
}

type Figure = fn(&BounceStats) -> String;

const fn rays(
    heading: &'static str,
    width: i32,
    colour: Colour,
    rank: u8,
    figure: Figure,
) -> Column {
    Column {
        heading,
        group: Group::Rays,
        width,
        colour,
        rank,
        figure,
    }
}

const fn time(heading: &'static str, width: i32, rank: u8, figure: Figure) -> Column {
    Column {
        heading,
        group: Group::Time,
        width,
        colour: PLAIN,
        rank,
        figure,
    }
}

static COLUMNS: [Column; 9] = [
    rays("rays", 6, PLAIN, 9, |bounce| figures::count(bounce.rays)),
    rays("hits", 6, PLAIN, 5, |bounce| figures::count(bounce.hits)),
    rays("survivors", 10, SURVIVORS, 8, |bounce| {
        figures::count(bounce.survivors)
    }),
    rays("ended", 6, ENDED, 7, |bounce| figures::count(bounce.ended)),
    rays("misses", 7, MISSES, 6, |bounce| {
        figures::count(bounce.misses)
    }),
    time("intersect", 10, 3, |bounce| {
        figures::milliseconds(bounce.intersect_ms)
    }),
    time("shade", 6, 2, |bounce| {
        figures::milliseconds(bounce.shade_ms)
    }),
    time("shadow", 7, 1, |bounce| {
        figures::milliseconds(bounce.shadow_ms)
    }),
    time("compact", 8, 4, |bounce| {
        figures::milliseconds(bounce.compact_ms)
    }),
];

/// Characters of the whole table.
pub(super) fn natural_width() -> i32 {
    LABEL_WIDTH + COLUMNS.iter().map(|column| column.width).sum::<i32>()
}

/// What became of a bounce's rays, in the order of the bar.
pub(super) fn parts(bounce: &BounceStats) -> [(u64, Colour); 3] {
    [
        (bounce.survivors, SURVIVORS),
        (bounce.ended, ENDED),
        (bounce.misses, MISSES),
    ]
}

/// Characters for a bounce's number.
pub(super) const LABEL_WIDTH: i32 = 2;

/// Text in pieces of one colour each.
pub(super) type Line = Vec<(Colour, String)>;

/// One line of the panel.
pub(super) enum Row<'a> {
    /// Left-aligned, and right-aligned if both fit.
    Text(Line, Line),
    /// A thin line that fills with the render's progress.
    Progress(f64),
    Groups,
    Headings,
    Bounce(&'a BounceStats),
    Total(BounceStats),
}

/// Everything there is to show.
pub(super) fn rows(stats: &Stats, state: State) -> Vec<Row<'_>> {
    let scene = Path::new(&stats.scene)
        .file_name()
        .map_or(stats.scene.clone(), |name| name.to_string_lossy().into());
    let [width, height] = stats.size;
    let (samples, tag) = match state {
        State::Rendering { samples, .. } => (format!("{} of {samples}", stats.spp), ""),
        State::Paused { samples, .. } => (format!("{} of {samples}", stats.spp), "paused"),
        State::Done => (stats.spp.to_string(), ""),
    };
    let progress = match state {
        State::Rendering { progress, .. } | State::Paused { progress, .. } => progress,
        State::Done => 0.0,
    };
    let plain = |text: &str| (PLAIN, text.to_owned());
    let bright = |text: String| (BRIGHT, text);
    let dim = |text: &str| (DIM, text.to_owned());
    let time = figures::duration(stats.seconds);

    let mut rows = vec![
        Row::Text(
            vec![
                (ACCENT, scene),
                dim(&format!("  {width} × {height}  {time}")),
            ],
            vec![dim("sieve "), bright(stats.compaction.clone())],
        ),
        Row::Text(
            vec![
                bright(samples),
                plain(" samples  "),
                bright(figures::millions(stats.paths_per_second)),
                plain(" Mpaths/s  "),
                bright(figures::millions(stats.rays_per_second)),
                plain(" Mrays/s"),
            ],
            vec![(ACCENT, tag.to_owned())],
        ),
        Row::Text(
            vec![dim(&stats.backend), dim(": "), plain(&stats.device)],
            Line::new(),
        ),
    ];
    if stats.rejected_samples > 0 {
        let rejected = format!(
            "{} samples rejected: not finite or too bright",
            figures::count(stats.rejected_samples)
        );
        rows.push(Row::Text(vec![(WARNING, rejected)], Line::new()));
    }
    if let Some(most) = stats.clamp_indirect {
        let clamped = format!("indirect light clamped to {most}: darker than it is");
        rows.push(Row::Text(vec![(WARNING, clamped)], Line::new()));
    }
    rows.extend([Row::Progress(progress), Row::Groups, Row::Headings]);
    rows.extend(stats.bounces.iter().map(Row::Bounce));
    rows.push(Row::Total(sum(&stats.bounces)));
    rows
}

fn sum(bounces: &[BounceStats]) -> BounceStats {
    bounces
        .iter()
        .fold(BounceStats::default(), |sum, bounce| BounceStats {
            bounce: 0,
            rays: sum.rays + bounce.rays,
            hits: sum.hits + bounce.hits,
            misses: sum.misses + bounce.misses,
            ended: sum.ended + bounce.ended,
            survivors: sum.survivors + bounce.survivors,
            shadow_rays: sum.shadow_rays + bounce.shadow_rays,
            intersect_ms: sum.intersect_ms + bounce.intersect_ms,
            shade_ms: sum.shade_ms + bounce.shade_ms,
            shadow_ms: sum.shadow_ms + bounce.shadow_ms,
            compact_ms: sum.compact_ms + bounce.compact_ms,
        })
}

/// The columns for a table of so many characters, each with its width; what is left over is spread.
pub(super) fn fitting_columns(cells: i32) -> Vec<(&'static Column, i32)> {
    let mut columns: Vec<&Column> = COLUMNS.iter().collect();
    let mut free = cells - natural_width();
    while free < 0
        && let Some(first_to_go) = (0..columns.len()).min_by_key(|&index| columns[index].rank)
    {
        free += columns.remove(first_to_go).width;
    }
    let spread = free.max(0) / (columns.len() as i32).max(1);
    columns
        .into_iter()
        .map(|column| (column, column.width + spread))
        .collect()
}
