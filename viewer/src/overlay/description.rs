//! The rows of the statistics panel in words, for tooltips and screen readers.

use super::{
    content::{Line, Row},
    entry::Entry,
    format,
};
use crate::session::{NoisePoint, StrategyComparison};
use raysieve::{render::stats::BounceStats, stages::Stage};

/// Returns a row in words with full figures; empty if the row has no content of its own.
pub(super) fn describe(row: &Row<'_>) -> String {
    match row {
        Row::Text(left, right) => {
            let parts = [words(left), words(right)];
            let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            parts.join(", ")
        }
        Row::Progress(progress) => format!("{} done", format::percent(*progress)),
        Row::Graph(rates, noise) => graphs(rates, noise),
        Row::Legend(units) => format!("table of bounces, {}", units.label()),
        Row::Headings => String::new(),
        Row::Bounce(entry) => bounce(&format!("bounce {}", entry.counts.bounce), entry),
        Row::Bar(stats) => format!("bounce {}: {}", stats.bounce, rays(stats)),
        Row::Strategy(left, right, strategy, _) => strategy_row(left, right, strategy),
        Row::Total(entry) => bounce("all bounces", entry),
    }
}

/// Returns the text of a line without repeated spaces.
fn words(line: &Line) -> String {
    let text: String = line.iter().map(|(_, text)| text.as_str()).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the counts of a bounce in words.
fn rays(counts: &BounceStats) -> String {
    let grouped = format::grouped;
    format!(
        "{} rays, {} survive, {} end, {} miss",
        grouped(counts.rays),
        grouped(counts.survivors),
        grouped(counts.ended),
        grouped(counts.misses)
    )
}

/// Returns a row of the table in words. `label` names the bounce.
fn bounce(label: &str, entry: &Entry) -> String {
    let mut text = format!(
        "{label}: {}, {} shadow rays",
        rays(&entry.counts),
        format::grouped(entry.counts.shadow_rays)
    );
    if entry.lane_use > 0.0 {
        text += &format!(
            "; {} of the threads busy, {} idle",
            format::percent(entry.lane_use),
            format::percent(1.0 - entry.lane_use)
        );
    }
    let Some(total) = entry.microseconds() else {
        return text + "; times not measured with this strategy";
    };
    text += &format!("; {}", format::microseconds(total));
    if let Some(spread) = &entry.spread {
        let [low, high] = spread.total_us.map(format::microseconds);
        text += &format!(" (quartiles {low} to {high})");
    }
    for (stage, time) in Stage::OF_BOUNCE.iter().zip(entry.times.0) {
        text += &format!(", {} {}", stage.label(), format::microseconds(time));
    }
    if let Some(nanoseconds) = entry.ns_per_ray {
        text += &format!("; {nanoseconds:.2} ns per ray");
    }
    if let Some(saved) = entry.saved_us {
        text += &format!(
            "; compaction costs {} and saves {}",
            format::microseconds(entry.times.of(Stage::Compact)),
            format::signed_microseconds(saved)
        );
    }
    text
}

/// Returns the graphs in words.
fn graphs(rates: &[f32], noise: &[NoisePoint]) -> String {
    let newest = rates.last().copied().unwrap_or(0.0);
    let mut text = format!(
        "speed of the last 10 seconds, now {} Mrays/s",
        format::millions(f64::from(newest))
    );
    if let Some(last) = noise.last() {
        text += &format!(
            "; noise {:.2} % at {:.0} samples",
            100.0 * last.error,
            last.samples
        );
    }
    text
}

/// Returns the row of a strategy in words.
fn strategy_row(left: &Line, right: &Line, strategy: &StrategyComparison) -> String {
    let mut text = format!("{}, {} Mrays/s", words(left), words(right));
    if strategy.lane_use > 0.0 {
        text += &format!(
            ", {} of the threads busy",
            format::percent(strategy.lane_use)
        );
    }
    if strategy.compact_us > 0.0 {
        text += &format!(
            ", compaction {} per sample",
            format::microseconds(strategy.compact_us)
        );
    }
    if let Some(pays) = format::pays(strategy.pays) {
        text += &format!(", {pays}");
    }
    text
}
