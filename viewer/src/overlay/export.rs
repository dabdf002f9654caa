//! The displayed figures as CSV and as JSON: the same rows in the same units, with all digits.

use serde_json::{Value, json};

use super::{
    Figures,
    entry::{Entry, entries, total},
};
use crate::session::{
    Comparison, Difference, MeasuredTimes, Pays, Spread, StageTimes, State, StrategyComparison,
};
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

pub(crate) fn figures_as(figures: &Figures<'_>, format: FigureFormat) -> String {
    let render = render(figures);
    let bounces = entries(figures).map(|entry| record(json!(entry.counts.bounce), &entry));
    let mut bounces: Vec<Record> = bounces.collect();
    let total = record(json!("all"), &total(figures));
    let strategies = figures.recent.strategies.iter().map(strategy);
    let strategies: Vec<Record> = strategies.collect();
    if format == FigureFormat::Json {
        let all = json!({
            "render": Value::Object(render.into_iter().collect()),
            "bounces": objects(bounces),
            "total": Value::Object(total.into_iter().collect()),
            "strategies": objects(strategies),
        });
        return serde_json::to_string_pretty(&all).unwrap_or_default() + "\n";
    }
    let head = render.into_iter().map(|(name, value)| {
        let value = ("value".to_owned(), value);
        vec![("figure".to_owned(), json!(name)), value]
    });
    bounces.push(total);
    let tables = [head.collect(), bounces, strategies];
    let tables = tables.iter().filter(|table| !table.is_empty());
    let tables: Vec<_> = tables.map(|table| csv_table(table)).collect();
    tables.join("\n")
}

/// A row of a table: names of columns, and their values.
type Record = Vec<(String, Value)>;

/// Returns rows with names that are known when the program is compiled.
fn named<const N: usize>(figures: [(&str, Value); N]) -> Record {
    figures.map(|(name, value)| (name.to_owned(), value)).into()
}

/// Returns a table as JSON, an array of objects.
fn objects(records: Vec<Record>) -> Value {
    let objects = records.into_iter();
    objects
        .map(|record| Value::Object(record.into_iter().collect()))
        .collect()
}

/// Returns a table as CSV, with a line of headings. Every record has the same columns.
fn csv_table(records: &[Record]) -> String {
    let names = |record: &Record| record.iter().map(|(name, _)| name.clone()).collect();
    let cells = |record: &Record| record.iter().map(|(_, value)| csv_cell(value)).collect();
    let lines = records.first().map(names).into_iter();
    let lines = lines.chain(records.iter().map(cells));
    lines
        .map(|line: Vec<String>| line.join(",") + "\n")
        .collect()
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

/// Returns a number rounded to six decimals, or `null` if it is unknown or not finite.
fn number(value: impl Into<Option<f64>>) -> Value {
    json!(value.into().map(|value| (value * 1e6).round() / 1e6))
}

fn render(figures: &Figures<'_>) -> Record {
    let (stats, (width, height)) = (figures.stats, figures.size);
    let (name, target) = match figures.state {
        State::Rendering { samples, .. } => ("rendering", Some(samples)),
        State::Paused { samples, .. } => ("paused", Some(samples)),
        State::Comparing => ("comparing", None),
        State::Done => ("done", None),
    };
    let (speeds, noise) = (figures.speeds(), stats.noise.as_ref());
    let (memory, waves) = (stats.memory, stats.waves);
    let samples = match noise {
        Some(noise) => number(noise.mean_samples),
        None => json!(stats.spp),
    };
    named([
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
        ("busy", number(figures.busy())),
        ("noise", number(noise.and_then(|noise| noise.estimated))),
        (
            "target_noise",
            number(noise.map(|noise| noise.target.into())),
        ),
        ("rejected_samples", json!(stats.rejected_samples)),
        ("film_bytes", json!(memory.map(|of| of.film))),
        ("paths_bytes", json!(memory.map(|of| of.paths))),
        ("scene_bytes", json!(memory.map(|of| of.scene))),
        ("trees_bytes", json!(memory.map(|of| of.trees))),
        ("wave_paths", json!(waves.map(|of| of.paths))),
        ("waves_in_flight", json!(waves.map(|of| of.in_flight))),
        ("units", json!(figures.units)),
    ])
}

/// Returns the figures of a row of the table, whose first cell is `label`.
fn record(label: Value, entry: &Entry) -> Record {
    let known = |time: f64| number(entry.has_times.then_some(time));
    let counts = &entry.counts;
    let is_busy = entry.lane_use > 0.0;
    let mut record = named([
        ("bounce", label),
        ("rays", json!(counts.rays)),
        ("survivors", json!(counts.survivors)),
        ("ended", json!(counts.ended)),
        ("scattered", json!(counts.scattered)),
        ("misses", json!(counts.misses)),
        ("shadow_rays", json!(counts.shadow_rays)),
        ("busy", number(is_busy.then_some(entry.lane_use))),
    ]);
    let MeasuredTimes { median, spread } = &entry.times;
    let mut times = |name: String, of: &dyn Fn(&StageTimes) -> f64| {
        let quartile =
            |times: fn(&Spread) -> &StageTimes| spread.as_ref().map(|spread| of(times(spread)));
        record.extend([
            (name.clone(), known(of(median))),
            (
                format!("{name}_low"),
                number(quartile(|spread| &spread.low)),
            ),
            (
                format!("{name}_high"),
                number(quartile(|spread| &spread.high)),
            ),
        ]);
    };
    for (place, stage) in Stage::OF_BOUNCE.iter().enumerate() {
        times(format!("{}_us", stage.label()), &|times| times.0[place]);
    }
    times("time_us".to_owned(), &StageTimes::total);
    record.extend(named([
        ("ns_per_ray", number(entry.ns_per_ray)),
        ("saved_us", number(entry.saved_us)),
    ]));
    record
}

fn strategy(row: &StrategyComparison) -> Record {
    let [by, low, high] = match row.comparison {
        Comparison::Difference(Difference { by, low, high }) => [by, low, high].map(number),
        Comparison::Baseline | Comparison::NotEnoughData => Default::default(),
    };
    let pays = match row.pays {
        Pays::Unknown => Value::Null,
        Pays::Everywhere => json!("everywhere"),
        Pays::Nowhere => json!("nowhere"),
        Pays::Before(bounce) => json!(bounce),
    };
    named([
        ("strategy", json!(row.strategy)),
        ("current", json!(row.is_current)),
        ("fastest", json!(row.is_fastest)),
        ("rays_per_second", number(row.rays_per_second)),
        ("rays_per_second_low", number(row.interval[0])),
        ("rays_per_second_high", number(row.interval[1])),
        ("faster_than_off", by),
        ("faster_than_off_low", low),
        ("faster_than_off_high", high),
        ("busy", number(row.total.lane_use)),
        (
            "compact_us",
            number(row.total.times.median.of(Stage::Compact)),
        ),
        ("pays_before_bounce", pays),
    ])
}
