//! The displayed figures as CSV and as JSON: the same rows in the same units, with all digits.

use serde_json::{Map, Value, json};

use super::{
    Figures, Units,
    entry::{Entry, entries, total},
};
use crate::session::{Comparison, Pays, State, StrategyComparison};
use raysieve::{render::stats::Stats, stages::Stage};

/// The format of exported figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureFormat {
    /// Tables with a line of headings each, separated by empty lines: the render, the bounces and, if there are any, the
    /// compared strategies. Unknown values are empty.
    Csv,
    /// An object with the same tables. Unknown values are `null`.
    Json,
}

impl FigureFormat {
    /// Returns the format that the extension of a file's name stands for, `.csv` or `.json`; `None` for another.
    pub fn of(path: &std::path::Path) -> Option<FigureFormat> {
        let extension = path.extension()?.to_str()?;
        match extension.to_ascii_lowercase().as_str() {
            "csv" => Some(FigureFormat::Csv),
            "json" => Some(FigureFormat::Json),
            _ => None,
        }
    }
}

/// Returns the figures of a complete render as text in this format, for one sample of every pixel, as
/// [`draw`](super::draw) displays them.
pub fn export(stats: &Stats, format: FigureFormat) -> String {
    super::with_figures(stats, |figures| figures_as(figures, format))
}

/// Returns the displayed figures as text in this format.
pub(crate) fn figures_as(figures: &Figures<'_>, format: FigureFormat) -> String {
    match format {
        FigureFormat::Csv => to_csv(figures),
        FigureFormat::Json => to_json(figures),
    }
}

/// Returns the displayed figures as CSV, see [`FigureFormat::Csv`].
pub(crate) fn to_csv(figures: &Figures<'_>) -> String {
    let render = render(figures);
    let head = render
        .iter()
        .map(|(name, value)| vec![("figure", json!(name)), ("value", value.clone())]);
    let mut bounces: Vec<Record> = entries(figures).map(|entry| bounce(&entry)).collect();
    bounces.push(all_bounces(&total(figures)));
    let strategies = figures.recent.strategies.iter().map(strategy);
    let tables = [head.collect(), bounces, strategies.collect::<Vec<_>>()];
    let tables = tables.iter().filter(|table| !table.is_empty());
    tables
        .map(|table| csv_table(table))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Returns the displayed figures as JSON, see [`FigureFormat::Json`].
pub(crate) fn to_json(figures: &Figures<'_>) -> String {
    let object = |record: Record| {
        let fields = record
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value));
        Value::Object(fields.collect::<Map<_, _>>())
    };
    let bounces = entries(figures).map(|entry| object(bounce(&entry)));
    let strategies = figures.recent.strategies.iter();
    let all = json!({
        "render": object(render(figures)),
        "bounces": bounces.collect::<Vec<_>>(),
        "total": object(all_bounces(&total(figures))),
        "strategies": strategies.map(|row| object(strategy(row))).collect::<Vec<_>>(),
    });
    let text = serde_json::to_string_pretty(&all);
    text.unwrap_or_default() + "\n"
}

/// A row of a table: names of columns, and their values.
type Record = Vec<(&'static str, Value)>;

/// Returns a table as CSV, with a line of headings. Every record has the same columns.
fn csv_table(records: &[Record]) -> String {
    let line = |cells: &mut dyn Iterator<Item = String>| cells.collect::<Vec<_>>().join(",") + "\n";
    let head = records.first().map(|record| {
        let mut names = record.iter().map(|(name, _)| (*name).to_owned());
        line(&mut names)
    });
    let rows = records.iter().map(|record| {
        let mut cells = record.iter().map(|(_, value)| csv_cell(value));
        line(&mut cells)
    });
    head.into_iter().chain(rows).collect()
}

/// Returns a value as a cell of CSV, in quotation marks if it contains a separator.
fn csv_cell(value: &Value) -> String {
    let text = match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

/// Returns a number rounded to six decimals, or `null` if it is not finite.
fn number(value: f64) -> Value {
    json!((value * 1e6).round() / 1e6)
}

/// Returns a number, or `null` without one.
fn optional(value: Option<f64>) -> Value {
    value.map_or(Value::Null, number)
}

/// Returns the figures of the whole render.
fn render(figures: &Figures<'_>) -> Record {
    let Figures {
        stats,
        size: (width, height),
        state,
        units,
        ..
    } = *figures;
    let (name, target) = match state {
        State::Rendering { samples, .. } => ("rendering", Some(samples)),
        State::Paused { samples, .. } => ("paused", Some(samples)),
        State::Comparing => ("comparing", None),
        State::Done => ("done", None),
    };
    let speeds = figures.speeds();
    let samples = match &stats.noise {
        Some(noise) => number(noise.mean_samples),
        None => json!(stats.spp),
    };
    let memory = stats.memory.unwrap_or_default();
    let known = |bytes: u64| stats.memory.map_or(Value::Null, |_| json!(bytes));
    let estimated = stats.noise.as_ref().and_then(|noise| noise.estimated);
    vec![
        ("scene", json!(stats.scene)),
        ("width", json!(width)),
        ("height", json!(height)),
        ("backend", json!(stats.backend)),
        ("device", json!(stats.device)),
        ("compaction", json!(stats.compaction_text())),
        ("state", json!(name)),
        ("samples", samples),
        ("target_samples", json!(target)),
        ("seconds", number(stats.seconds)),
        ("paths_per_second", number(speeds.0)),
        ("rays_per_second", number(speeds.1)),
        ("busy", figures.busy().map_or(Value::Null, number)),
        ("noise", optional(estimated)),
        (
            "target_noise",
            optional(stats.noise.as_ref().map(|noise| noise.target.into())),
        ),
        ("rejected_samples", json!(stats.rejected_samples)),
        ("film_bytes", known(memory.film)),
        ("paths_bytes", known(memory.paths)),
        ("scene_bytes", known(memory.scene)),
        ("trees_bytes", known(memory.trees)),
        ("wave_paths", json!(stats.waves.map(|waves| waves.paths))),
        (
            "waves_in_flight",
            json!(stats.waves.map(|waves| waves.in_flight)),
        ),
        (
            "units",
            json!(match units {
                Units::PerSample => "per-sample",
                Units::Total => "total",
            }),
        ),
    ]
}

/// Returns the figures of a bounce.
fn bounce(entry: &Entry) -> Record {
    record(json!(entry.counts.bounce), entry)
}

/// Returns the figures of all bounces together.
fn all_bounces(entry: &Entry) -> Record {
    record(json!("all"), entry)
}

/// Returns the figures of a row of the table, whose first cell is `label`.
fn record(label: Value, entry: &Entry) -> Record {
    let known = |value: f64| match entry.has_times {
        true => number(value),
        false => Value::Null,
    };
    let counts = &entry.counts;
    let mut record = vec![
        ("bounce", label),
        ("rays", json!(counts.rays)),
        ("survivors", json!(counts.survivors)),
        ("ended", json!(counts.ended)),
        ("misses", json!(counts.misses)),
        ("shadow_rays", json!(counts.shadow_rays)),
        (
            "busy",
            match entry.lane_use > 0.0 {
                true => number(entry.lane_use),
                false => Value::Null,
            },
        ),
    ];
    for (place, names) in STAGE_COLUMNS.iter().enumerate() {
        let spread = entry.spread.as_ref();
        record.extend([
            (names[0], known(entry.times.0[place])),
            (names[1], optional(spread.map(|spread| spread.low.0[place]))),
            (
                names[2],
                optional(spread.map(|spread| spread.high.0[place])),
            ),
        ]);
    }
    let total = entry.spread.as_ref().map(|spread| spread.total_us);
    record.extend([
        ("time_us", known(entry.times.total())),
        ("time_us_low", optional(total.map(|total| total[0]))),
        ("time_us_high", optional(total.map(|total| total[1]))),
        ("ns_per_ray", optional(entry.ns_per_ray)),
        ("saved_us", optional(entry.saved_us)),
    ]);
    record
}

/// Names of the columns of each stage: its time, and the lower and upper quartile.
const STAGE_COLUMNS: [[&str; 3]; Stage::OF_BOUNCE.len()] = [
    ["intersect_us", "intersect_us_low", "intersect_us_high"],
    ["compact_us", "compact_us_low", "compact_us_high"],
    ["shade_us", "shade_us_low", "shade_us_high"],
    ["shadow_us", "shadow_us_low", "shadow_us_high"],
];

/// Returns the result of a compared strategy.
fn strategy(row: &StrategyComparison) -> Record {
    let difference = match row.comparison {
        Comparison::Difference(difference) => Some(difference),
        Comparison::Baseline | Comparison::NotEnoughData => None,
    };
    let pays = match row.pays {
        Pays::Unknown => Value::Null,
        Pays::Everywhere => json!("everywhere"),
        Pays::Nowhere => json!("nowhere"),
        Pays::Before(bounce) => json!(bounce),
    };
    vec![
        ("strategy", json!(row.strategy)),
        ("current", json!(row.is_current)),
        ("fastest", json!(row.is_fastest)),
        ("rays_per_second", number(row.rays_per_second)),
        ("rays_per_second_low", number(row.interval[0])),
        ("rays_per_second_high", number(row.interval[1])),
        (
            "faster_than_off",
            optional(difference.map(|found| found.by)),
        ),
        (
            "faster_than_off_low",
            optional(difference.map(|found| found.low)),
        ),
        (
            "faster_than_off_high",
            optional(difference.map(|found| found.high)),
        ),
        ("busy", number(row.lane_use)),
        ("compact_us", number(row.compact_us)),
        ("pays_before_bounce", pays),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_stages_have_their_labels() {
        for (names, stage) in STAGE_COLUMNS.iter().zip(Stage::OF_BOUNCE) {
            let label = stage.label();
            assert_eq!(names[0], format!("{label}_us"));
            assert_eq!(names[1], format!("{label}_us_low"));
            assert_eq!(names[2], format!("{label}_us_high"));
        }
    }
}
