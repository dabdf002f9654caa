//! A render without a window: progress, Ctrl-C, the files and the table at the end.

use std::{
    fmt, process,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};
use raysieve::{Error, output, renderer::Renderer, stats::Stats};

use crate::{Ending, cli::Outputs, note, say, table};

/// Renders all samples, or as many as there are when a signal ends it; writes the files, prints the table.
pub(crate) fn render(mut renderer: Renderer, spp: u32, outputs: &Outputs) -> Result<Ending, Error> {
    let interrupted = watch_for_signals()?;
    let progress = progress_bar();
    let rendered = advance_until(&mut renderer, &interrupted, &progress);
    progress.finish_and_clear();
    if rendered? {
        finish(&mut renderer, outputs)?;
        return Ok(Ending::Done);
    }
    let picture = outputs.picture.display();
    if renderer.progress() == 0.0 {
        note(&format!(
            "raysieve: interrupted before the first sample; {picture} is not written"
        ));
    } else {
        let stats = finish(&mut renderer, outputs)?;
        let begun = if renderer.progress() * f64::from(spp) > f64::from(stats.spp) {
            ", some pixels one more"
        } else {
            ""
        };
        note(&format!(
            "raysieve: interrupted; {picture} has {} of {spp} samples a pixel{begun}",
            stats.spp
        ));
    }
    Ok(Ending::Interrupted)
}

/// `false` if it was interrupted before the last sample.
fn advance_until(
    renderer: &mut Renderer,
    interrupted: &AtomicBool,
    progress: &ProgressBar,
) -> Result<bool, Error> {
    while !interrupted.load(Ordering::Relaxed) {
        if !renderer.advance()? {
            return Ok(true);
        }
        progress.set_position((renderer.progress() * PROGRESS_STEPS as f64) as u64);
    }
    Ok(renderer.progress() >= 1.0)
}

/// Writes the files and prints the table, the table even if a file cannot be written.
fn finish(renderer: &mut Renderer, outputs: &Outputs) -> Result<Stats, Error> {
    let stats = renderer.finish()?;
    let picture = renderer.picture()?;
    let picture_written = output::write_picture(&outputs.picture, &picture, &stats, outputs.look);
    let stats_written = write_stats(&stats, outputs);
    say(&table::of(&stats))?;
    picture_written?;
    say(&format!("picture      {}\n", outputs.picture.display()))?;
    stats_written?;
    Ok(stats)
}

/// What is left to do when a window has closed: the table and the statistics' file.
pub(crate) fn report(mut renderer: Renderer, outputs: &Outputs) -> Result<(), Error> {
    let stats = renderer.finish()?;
    say(&table::of(&stats))?;
    write_stats(&stats, outputs)
}

fn write_stats(stats: &Stats, outputs: &Outputs) -> Result<(), Error> {
    outputs
        .stats
        .as_deref()
        .map_or(Ok(()), |path| output::write_stats(path, stats))
}

/// Turns true at the first SIGINT, SIGTERM or SIGHUP. A second one ends the process at once.
fn watch_for_signals() -> Result<Arc<AtomicBool>, Error> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&interrupted);
    ctrlc::set_handler(move || {
        if seen.swap(true, Ordering::Relaxed) {
            process::exit(Ending::Interrupted as i32);
        }
    })
    .map_err(|error| Error::Signals(error.to_string()))?;
    Ok(interrupted)
}

const PROGRESS_STEPS: u64 = 10_000;

/// Draws on the standard error, and only if that is a terminal.
fn progress_bar() -> ProgressBar {
    let bar = ProgressBar::new(PROGRESS_STEPS);
    if let Ok(style) = ProgressStyle::with_template("{wide_bar} {percent:>3} %{time_left}") {
        bar.set_style(style.with_key("time_left", time_left));
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// Nothing can be said of it before the first wave is done.
fn time_left(state: &ProgressState, text: &mut dyn fmt::Write) {
    if state.pos() > 0 {
        let _ = write!(text, ", {:#} left", HumanDuration(state.eta()));
    }
}
