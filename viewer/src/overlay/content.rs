//! The content of the statistics panel: its rows, and what they say as words, for tooltips and screen readers.

use std::iter;

use super::{
    Detail, Figures,
    colors::Color,
    columns::{
        COLUMNS, Cell, Column, RAYS, STRATEGY_COLUMNS, full_width, strategy_rows, unexplained,
    },
    entry::{Entry, entries, total},
    format, head,
    row::{KEY_GAP, Line, Row, Table, key_width},
};
use crate::session::{Recent, State, StrategyComparison};
use raysieve::{render::stats::BounceStats, stages::Stage};

/// A form of the panel, of which the first that fits is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    pub(super) cells: i32,
    /// Whether there are two tables of bounces, one of rays and one of times.
    pub(super) has_two_tables: bool,
    /// Height of the graphs as a multiple of the usual one.
    pub(super) graph_scale: f32,
}

impl Form {
    /// Returns the forms of a panel of this width in characters, the preferred one first. The last one is reduced if it
    /// does not fit.
    pub(super) fn of(detail: Detail, cells: i32) -> Vec<Self> {
        let form = |has_two_tables: bool, graph_scale: f32| Self {
            cells,
            has_two_tables,
            graph_scale,
        };
        match detail {
            Detail::Short | Detail::Full => vec![form(false, 1.0)],
            Detail::Everything => {
                let two = cells < full_width();
                vec![form(two, 3.0), form(two, 1.0), form(false, 1.0)]
            }
        }
    }
}

/// Returns the rows of the statistics panel in this form, without regard to the height.
pub(super) fn rows<'a>(figures: &Figures<'a>, form: Form) -> Vec<Row<'a>> {
    let (stats, recent) = (figures.stats, figures.recent);
    let mut rows = head::rows(figures);
    rows.push(Row::Progress(match (figures.state, recent.comparing) {
        (State::Comparing, Some(comparing)) => comparing.progress,
        (State::Rendering { progress, .. } | State::Paused { progress, .. }, _) => progress,
        (State::Comparing | State::Done, _) => 0.0,
    }));
    if figures.detail == Detail::Short {
        rows.extend(legend("", &RAYS, form.cells));
        rows.extend(stats.bounces.iter().take(recent.rows).map(Row::Bar));
        return rows;
    }
    if !recent.rate_history.is_empty() {
        rows.push(Row::Graph(recent, form.graph_scale));
        rows.push(Row::StageGraph(recent, form.graph_scale));
    }
    let mut title = figures.units.label();
    let tables = match form.has_two_tables {
        true => &[Table::Rays, Table::Times][..],
        false => &[Table::Whole],
    };
    for &table in tables {
        rows.extend(legend(title, &unexplained(table, form.cells), form.cells));
        rows.push(Row::Headings(table));
        rows.extend(entries(figures).map(|entry| Row::Bounce(table, Box::new(entry))));
        rows.push(Row::Total(table, Box::new(total(figures))));
        title = "";
    }
    rows.extend(strategy_rows(&recent.strategies));
    rows
}

/// Returns rows with a title and the labels and colors of bars, in as many lines as a panel of this width needs.
/// Returns none without both.
fn legend<'a>(title: &'static str, keys: &[(&'static str, Color)], cells: i32) -> Vec<Row<'a>> {
    let mut lines: Vec<Vec<(&'static str, Color)>> = Vec::new();
    let mut free = 0;
    for &key in keys {
        let width = key_width(key.0);
        match lines.last_mut() {
            Some(line) if width <= free => line.push(key),
            _ => {
                lines.push(vec![key]);
                free = cells + KEY_GAP;
            }
        }
        free -= width;
    }
    let used = keys.iter().map(|(label, _)| key_width(label)).sum::<i32>();
    let has_room = title.chars().count() as i32 + used <= cells;
    let is_separate = !title.is_empty() && (keys.is_empty() || !has_room);
    if is_separate {
        lines.insert(0, Vec::new());
    }
    let titles = iter::once(title).chain(iter::repeat(""));
    let rows = titles.zip(lines);
    rows.map(|(title, line)| Row::Legend(title, line)).collect()
}

/// Returns a row in words; empty if the row has no content of its own.
pub(super) fn describe(row: &Row<'_>) -> String {
    match row {
        Row::Text(left, right) | Row::Extra(left, right) => {
            let parts = [words(left), words(right)];
            let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            parts.join(", ")
        }
        // A complete render has an empty bar.
        Row::Progress(progress) if *progress <= 0.0 => String::new(),
        Row::Progress(progress) => format!("{} done", format::percent(*progress)),
        Row::Graph(recent, _) => graphs(recent),
        Row::StageGraph(recent, _) => stage_graph(recent),
        Row::Legend("", _) | Row::Headings(_) | Row::StrategyHeadings => String::new(),
        Row::Legend(title, _) => format!("table of bounces, {title}"),
        Row::Bounce(_, entry) => bounce(&format!("bounce {}", entry.counts.bounce), entry),
        Row::Bar(stats) => {
            let counts = BounceStats::clone(stats);
            let entry = Entry {
                counts,
                ..Entry::default()
            };
            bounce(&format!("bounce {}", stats.bounce), &entry)
        }
        Row::Strategy(strategy, _) => strategy_row(strategy),
        Row::Total(_, entry) => bounce("all bounces", entry),
    }
}

/// Returns the text of a line without repeated spaces.
fn words(line: &Line) -> String {
    let text: String = line.iter().map(|(_, text)| text.as_str()).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the known figures of a row of the table in words, with all digits of counts. `label` names the bounce.
fn bounce(label: &str, entry: &Entry) -> String {
    let figure = |column: &Column| {
        let name = match column.heading {
            "sh.rays" => "shadow rays",
            "busy" => "busy threads",
            "saved" => "saved by compaction",
            "±" => "spread",
            heading => heading,
        };
        let value = match column.cell {
            Cell::Count(rays) => format::grouped(rays(entry)),
            _ => column.text(entry)?,
        };
        let is_known = !value.is_empty() && value != format::UNKNOWN;
        is_known.then(|| format!("{name} {value}"))
    };
    let figures: Vec<_> = COLUMNS.iter().filter_map(figure).collect();
    format!("{label}: {}", figures.join(", "))
}

/// Returns the graphs of speed and noise in words.
fn graphs(recent: &Recent) -> String {
    let newest = recent.rate_history.last().copied().unwrap_or(0.0);
    let mut text = format!(
        "speed of the last 10 seconds, now {} Mrays/s",
        format::millions(f64::from(newest))
    );
    if let Some(last) = recent.noise_history.last() {
        text += &format!(
            "; noise {:.2} % at {:.0} samples",
            100.0 * last.error,
            last.samples
        );
    }
    text
}

fn stage_graph(recent: &Recent) -> String {
    let mut text = "time of the stages in the last 10 seconds, now".to_owned();
    let newest = recent.stage_history.last().copied().unwrap_or_default();
    for (place, (stage, time)) in Stage::OF_BOUNCE.iter().zip(newest).enumerate() {
        let comma = if place == 0 { "" } else { "," };
        let time = format::microseconds(f64::from(time));
        text += &format!("{comma} {} {time}", stage.label());
    }
    text
}

fn strategy_row(strategy: &StrategyComparison) -> String {
    let figures = STRATEGY_COLUMNS.iter();
    let figures: Vec<_> = figures
        .map(|(heading, _, text)| format!("{heading} {}", text(strategy)))
        .collect();
    let [low, high] = strategy.interval.map(format::millions);
    let used = if strategy.is_current { ", in use" } else { "" };
    format!(
        "{}: {} ({low} to {high} Mrays/s){used}",
        strategy.strategy,
        figures.join(", ")
    )
}
