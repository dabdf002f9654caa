//! The overlay's table: a row a bounce, its columns as many as there is room for.

use super::{
    canvas::{Colour, colour},
    figures,
};
use crate::{
    chart,
    live::{Recent, RecentBounce},
    stats::{BounceStats, Stats},
};

/// What a row of the table tells of.
pub(super) struct Entry {
    pub(super) stats: BounceStats,
    pub(super) recent: RecentBounce,
}

impl Entry {
    pub(super) fn new(stats: &BounceStats, recent: &RecentBounce) -> Self {
        Self {
            stats: stats.clone(),
            recent: recent.clone(),
        }
    }

    /// All bounces as one.
    pub(super) fn total(stats: &Stats, recent: &Recent) -> Self {
        let total = stats.total();
        let mut times = RecentBounce {
            removed: total.removed(),
            lane_use: recent.lane_use,
            ..RecentBounce::default()
        };
        for row in &recent.bounces {
            times.intersect_us += row.intersect_us;
            times.sieve_us += row.sieve_us;
            times.shade_us += row.shade_us;
            times.shadow_us += row.shadow_us;
        }
        Self {
            stats: total,
            recent: times,
        }
    }

    /// Of all stages.
    pub(super) fn microseconds(&self) -> f64 {
        self.recent.times().iter().sum()
    }
}

/// A column of the table.
pub(super) struct Column {
    pub(super) heading: &'static str,
    /// What the column's part of a bar has.
    pub(super) colour: Option<Colour>,
    /// Characters, the space before it among them.
    width: i32,
    /// Where the picture is too narrow for all, columns of a lower rank go first.
    rank: u8,
    pub(super) cell: Cell,
}

pub(super) enum Cell {
    Figure(fn(&Entry) -> String),
    /// The stages' times, as a bar.
    Times,
}

const SURVIVORS: Colour = colour(chart::SURVIVORS);
const ENDED: Colour = colour(chart::ENDED);
const MISSES: Colour = colour(chart::MISSES);

/// The stages of a bounce in the order of the loop, as a bar of their times shows them.
pub(super) const STAGES: [(&str, Colour); 4] = [
    ("intersect", colour(chart::INTERSECT)),
    ("sieve", colour(chart::SIEVE)),
    ("shade", colour(chart::SHADE)),
    ("shadow", colour(chart::SHADOW)),
];

const fn figure(
    heading: &'static str,
    width: i32,
    rank: u8,
    colour: Option<Colour>,
    figure: fn(&Entry) -> String,
) -> Column {
    Column {
        heading,
        colour,
        width,
        rank,
        cell: Cell::Figure(figure),
    }
}

static COLUMNS: [Column; 8] = [
    figure("rays", 6, 9, None, |entry| figures::count(entry.stats.rays)),
    figure("survive", 10, 8, Some(SURVIVORS), |entry| {
        figures::count(entry.stats.survivors)
    }),
    figure("end", 7, 7, Some(ENDED), |entry| {
        figures::count(entry.stats.ended)
    }),
    figure("miss", 7, 6, Some(MISSES), |entry| {
        figures::count(entry.stats.misses)
    }),
    figure("removed", 8, 5, None, |entry| {
        figures::percent(entry.recent.removed)
    }),
    figure("sieve", 9, 4, Some(STAGES[1].1), |entry| {
        figures::microseconds(entry.recent.sieve_us)
    }),
    figure("time", 8, 2, None, |entry| {
        figures::microseconds(entry.microseconds())
    }),
    Column {
        heading: "",
        colour: None,
        width: 14,
        rank: 3,
        cell: Cell::Times,
    },
];

/// Characters for a bounce's number.
pub(super) const LABEL_WIDTH: i32 = 2;

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
