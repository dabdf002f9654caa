//! The rows of the statistics panel, which the overlay draws and puts into words, and their lines of colored text.

use super::{
    canvas::cells,
    colors::{BRIGHT, Color, DIM, PLAIN},
    entry::Entry,
};
use crate::session::{Recent, StrategyComparison};
use raysieve::render::stats::BounceStats;

pub(super) type Line = Vec<(Color, String)>;

/// Returns the number of characters in all pieces of a line.
pub(super) fn length(line: &Line) -> i32 {
    line.iter().map(|(_, text)| cells(text)).sum()
}

/// A row of the statistics panel.
pub(super) enum Row<'a> {
    /// Left-aligned text, which is cut if it is too long, and right-aligned text, which is drawn only if both fit.
    Text(Line, Line),
    /// Text as in `Text`, which is omitted before bounces of the table are.
    Extra(Line, Line),
    /// A thin progress bar, filled by this fraction in 0..=1.
    Progress(f64),
    /// A graph of rays per second over time and, if it has at least two points, one of the noise over the samples beside
    /// it. The number is the height as a multiple of the usual one.
    Graph(&'a Recent, f32),
    /// A graph of the times of the stages over time, stacked. The number is the height as in `Graph`.
    StageGraph(&'a Recent, f32),
    /// A title, which may be empty, and the labels and colors of bars.
    Legend(&'static str, Vec<(&'static str, Color)>),
    Headings(Table),
    /// A row of a table with the figures of one bounce, in the tables of rays above a bar of its rays.
    Bounce(Table, Box<Entry>),
    /// A bar of a bounce's surviving, ended and missed rays, without numbers.
    Bar(&'a BounceStats),
    /// The last row of a table, with the totals over all bounces.
    Total(Table, Box<Entry>),
    StrategyHeadings,
    /// A compared strategy, above a bar of its speed with the confidence interval. The number is the speed of a full bar.
    Strategy(&'a StrategyComparison, f64),
}

/// A table of bounces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    /// The only table, with all columns that fit.
    Whole,
    /// The upper of two tables, with the columns of rays.
    Rays,
    /// The lower of two tables, with the columns of times.
    Times,
}

/// Number of spaces between two labels of a legend.
pub(super) const KEY_GAP: i32 = 1;

/// Returns the width in characters of a label of a legend, with its color and the space after it.
pub(super) fn key_width(label: &str) -> i32 {
    label.chars().count() as i32 + 2 + KEY_GAP
}

pub(super) fn plain(text: &str) -> (Color, String) {
    (PLAIN, text.to_owned())
}

pub(super) fn bright(text: String) -> (Color, String) {
    (BRIGHT, text)
}

pub(super) fn dim(text: &str) -> (Color, String) {
    (DIM, text.to_owned())
}
