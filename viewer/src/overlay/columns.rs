//! The table of the statistics panel, with one row per bounce and as many columns as fit.

use super::{
    canvas::{Colour, colour},
    entry::Entry,
    format,
};
use crate::chart;
use raysieve::{render::stats::BounceStats, stages::Stage};

/// A column of the table.
pub(super) struct Column {
    pub(super) heading: &'static str,
    /// Colour in which a bar displays the column's quantity; `None` if no bar does.
    pub(super) colour: Option<Colour>,
    /// Minimum width in characters, including the space before the text.
    width: i32,
    /// Rank of importance. If the picture is too narrow, the columns of lowest rank are omitted first.
    rank: u8,
    pub(super) cell: Cell,
}

/// The content of a column's cells.
pub(super) enum Cell {
    /// A number, formatted by this function and right-aligned.
    Figure(fn(&Entry) -> String),
    /// A stacked bar of the stages' times.
    Times,
}

const SURVIVORS: Colour = colour(chart::SURVIVORS);
const ENDED: Colour = colour(chart::ENDED);
const MISSES: Colour = colour(chart::MISSES);

/// Labels and colours of the stages, in the order of [`Stage::OF_BOUNCE`].
pub(super) const STAGES: [(&str, Colour); Stage::OF_BOUNCE.len()] = {
    let mut stages = [("", [0; 3]); Stage::OF_BOUNCE.len()];
    let mut index = 0;
    while index < stages.len() {
        let stage = Stage::OF_BOUNCE[index];
        stages[index] = (stage.label(), colour(chart::stage_colour(stage)));
        index += 1;
    }
    stages
};

/// Creates a column whose cells are numbers, which the function `figure` formats.
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
    figure("rays", 6, 9, None, |entry| format::count(entry.counts.rays)),
    figure("survive", 10, 8, Some(SURVIVORS), |entry| {
        format::count(entry.counts.survivors)
    }),
    figure("end", 7, 7, Some(ENDED), |entry| {
        format::count(entry.counts.ended)
    }),
    figure("miss", 7, 6, Some(MISSES), |entry| {
        format::count(entry.counts.misses)
    }),
    figure("busy", 8, 5, None, |entry| format::percent(entry.lane_use)),
    figure(
        "compact",
        10,
        4,
        Some(colour(chart::stage_colour(Stage::Compact))),
        |entry| format::microseconds(entry.times.of(Stage::Compact)),
    ),
    figure("time", 8, 2, None, |entry| {
        format::microseconds(entry.times.total())
    }),
    Column {
        heading: "",
        colour: None,
        width: 14,
        rank: 3,
        cell: Cell::Times,
    },
];

/// Width in characters of the first column, which contains the bounce numbers.
pub(super) const LABEL_WIDTH: i32 = 2;

/// Returns the minimum width of the table with all its columns, in characters.
pub(super) fn natural_width() -> i32 {
    LABEL_WIDTH + COLUMNS.iter().map(|column| column.width).sum::<i32>()
}

/// Returns the numbers of a bounce's rays that survived, ended and missed, with their colours, in the order of the
/// stacked bar.
pub(super) fn parts(bounce: &BounceStats) -> [(u64, Colour); 3] {
    [
        (bounce.survivors, SURVIVORS),
        (bounce.ended, ENDED),
        (bounce.misses, MISSES),
    ]
}

/// Returns the columns of a table that is `cells` characters wide, each with its width in characters. Omits columns of
/// the lowest rank until the rest fits, possibly all, and distributes spare width equally.
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
