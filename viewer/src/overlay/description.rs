//! The rows of the statistics panel in words, for tooltips and screen readers.

use super::{
    content::{Line, Row},
    entry::Entry,
    format,
};
use crate::session::{Comparison, Recent, StrategyComparison};
use raysieve::{render::stats::BounceStats, stages::Stage};

/// Returns a row in words with full figures; empty if the row has no content of its own.
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
        Row::Bar(stats) => format!("bounce {}: {}", stats.bounce, rays(stats)),
        Row::Strategy(strategy, _) => strategy_row(strategy),
        Row::Total(_, entry) => bounce("all bounces", entry),
    }
}

/// Returns the text of a line without repeated spaces.
fn words(line: &Line) -> String {
    let text: String = line.iter().map(|(_, text)| text.as_str()).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

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
    let against = match strategy.comparison {
        Comparison::Baseline => "with which the others are compared".to_owned(),
        Comparison::NotEnoughData => "not enough rounds yet".to_owned(),
        Comparison::Difference(difference) => match difference.is_unclear() {
            true => format!("{} from off", format::difference(difference)),
            false => format!("{} than off", format::difference(difference)),
        },
    };
    let mut text = format!("{}: {against}", strategy.strategy);
    if strategy.rays_per_second > 0.0 {
        let [low, high] = strategy.interval.map(format::millions);
        let speed = format::millions(strategy.rays_per_second);
        text += &format!(", {speed} Mrays/s ({low} to {high})");
    }
    if strategy.lane_use > 0.0 {
        let busy = format::percent(strategy.lane_use);
        text += &format!(", {busy} of the threads busy");
    }
    if strategy.compact_us > 0.0 {
        let compact = format::microseconds(strategy.compact_us);
        text += &format!(", compaction {compact} per sample of every pixel");
    }
    if let Some(pays) = format::pays(strategy.pays) {
        text += &format!(", {pays}");
    }
    if strategy.is_current {
        text += ", in use";
    }
    text
}
