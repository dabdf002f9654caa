//! Progress of long work, on standard error: bars and lines, which appear on a terminal only, and the display of a
//! headless render.

use std::{
    fmt,
    path::Path,
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use crate::error::Error;
use console::Term;
use indicatif::{
    HumanDuration, ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressState, ProgressStyle,
};
use raysieve::{
    adaptive::noise_estimate::NoiseEstimator,
    render::{renderer::Renderer, stats::Stats},
};
use raysieve_scene::{LoadProgress, escaped};

use crate::{note, table};

/// Number of steps of a progress bar that shows a fraction from 0 to 1.
pub(crate) const PROGRESS_STEPS: u64 = 10_000;

/// Returns a progress bar with `steps` steps on standard error. The bar is hidden if standard error is not a terminal.
pub(crate) fn progress_bar(steps: u64) -> ProgressBar {
    let bar = ProgressBar::new(steps).with_finish(ProgressFinish::AndClear);
    if let Ok(style) = ProgressStyle::with_template("{msg}{wide_bar} {percent:>3} %{time_left}") {
        bar.set_style(style.with_key("time_left", time_left));
    }
    // The bar's thread would panic if it could not be started.
    if !bar.is_hidden() && thread::Builder::new().spawn(|| ()).is_ok() {
        bar.enable_steady_tick(Duration::from_millis(200));
    }
    bar
}

/// Runs `read`, which reads the scene at `path`, and returns its result. After half a second, shows "reading PATH" and
/// the elapsed time on standard error until `read` returns. While an OBJ or PLY file is read, shows its name and how
/// much of it was read, as in "reading statue.ply: 40 %". Shows nothing if standard error is not a terminal.
pub(crate) fn with_reading_line<T>(path: &Path, read: impl FnOnce() -> T) -> T {
    let progress = LoadProgress::default();
    let line = || match progress.file() {
        Some((name, fraction)) => format!("reading {}: {:.0} %", escaped(&name), 100.0 * fraction),
        None => format!("reading {}", path.display()),
    };
    with_line(line, || progress.watch(read))
}

/// Runs `work` and returns its result. After half a second, shows `what` and the elapsed time on standard error until
/// `work` returns. Shows nothing if standard error is not a terminal.
pub(crate) fn with_progress_line<T>(what: String, work: impl FnOnce() -> T) -> T {
    with_line(|| what.clone(), work)
}

/// Runs `work` and returns its result. After [`LINE_DELAY`], shows a line on standard error, updated at that interval
/// until `work` returns. `what` returns the text of the line, to which the elapsed time is added.
fn with_line<T>(what: impl Fn() -> String + Sync, work: impl FnOnce() -> T) -> T {
    let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
    if let Ok(style) = ProgressStyle::with_template("{msg}, {elapsed}") {
        line.set_style(style);
    }
    let (shown, what) = (&line, &what);
    let (done, waiting) = mpsc::channel::<()>();
    let result = thread::scope(|scope| {
        // Without this thread, only the line is missing.
        let _ = thread::Builder::new().spawn_scoped(scope, move || {
            while waiting.recv_timeout(LINE_DELAY) == Err(RecvTimeoutError::Timeout) {
                shown.set_message(what());
                if shown.is_hidden() {
                    shown.set_draw_target(ProgressDrawTarget::stderr());
                }
                shown.tick();
            }
        });
        let result = work();
        drop(done);
        result
    });
    line.finish_and_clear();
    result
}

/// Time before the line of [`with_line`] appears, and between its updates.
const LINE_DELAY: Duration = Duration::from_millis(500);

/// Writes the estimated remaining time of a progress bar to `text`, such as ", 5m left". Writes nothing while the bar
/// is at 0.
fn time_left(state: &ProgressState, text: &mut dyn fmt::Write) {
    if state.pos() > 0 {
        let _ = write!(text, ", {:#} left", HumanDuration(state.eta()));
    }
}

/// The display of the progress of one headless render, on standard error. A terminal shows a bar and a table, updated
/// in place. Otherwise a line is printed every 10 seconds.
pub(crate) struct Progress {
    /// The progress bar. It is hidden if standard error is not a terminal.
    bar: ProgressBar,
    /// The estimator of the image's noise. Unused with `--noise`, because the render then estimates the noise itself.
    noise: NoiseEstimator,
    /// The time at which the progress was first known, and that progress, from 0 to 1. `None` before: with `--noise`,
    /// the remaining work is unknown at first.
    ///
    /// The remaining time is extrapolated from this point, because samples from a checkpoint took no time in this
    /// process.
    start: Option<(Instant, f64)>,
    /// The time at which the table or the line was last printed. Before the first output, the time at which this value
    /// was created.
    last_output: Instant,
}

/// Minimum time between two updates of the table on a terminal. The bar is updated more often.
const TABLE_INTERVAL: Duration = Duration::from_millis(250);
/// Minimum time between two lines if standard error is not a terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

impl Progress {
    /// Creates the display, with the bar at the progress of the renderer. That is above 0 after a checkpoint was
    /// loaded.
    pub(crate) fn new(renderer: &Renderer) -> Self {
        let bar = progress_bar(PROGRESS_STEPS);
        let template = "{wide_bar} {percent:>3} %{time_left}\n{msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.with_key("time_left", time_left));
        }
        let mut progress = Self {
            bar,
            noise: NoiseEstimator::new(),
            start: None,
            last_output: Instant::now(),
        };
        progress.set_position(renderer);
        progress
    }

    /// Moves the bar to the render's progress. Does nothing while the renderer does not know its progress, as at first
    /// with `--noise`.
    fn set_position(&mut self, renderer: &Renderer) {
        if !renderer.knows_progress() {
            return;
        }
        let progress = renderer.progress();
        self.bar
            .set_position((progress * PROGRESS_STEPS as f64) as u64);
        if self.start.is_none() {
            self.start = Some((Instant::now(), progress));
            self.bar.reset_eta();
        }
    }

    /// Updates the bar and the noise estimate. If due, updates the table on a terminal, or prints a line elsewhere.
    /// Must be called after each [`Renderer::advance`].
    ///
    /// # Errors
    /// If the image cannot be read back for the noise estimate.
    pub(crate) fn update(&mut self, renderer: &mut Renderer) -> Result<(), Error> {
        self.set_position(renderer);
        let stats = renderer.stats();
        if stats.noise.is_none() && self.noise.wants(stats.spp) {
            match renderer.picture() {
                Ok(picture) => self.noise.look(stats.spp, &picture),
                // The render needs no estimate.
                Err(raysieve::Error::Memory { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if self.bar.is_hidden() {
            if self.last_output.elapsed() >= LINE_INTERVAL {
                self.last_output = Instant::now();
                note(&self.line(renderer, &stats));
            }
        } else if self.last_output.elapsed() >= TABLE_INTERVAL {
            self.last_output = Instant::now();
            self.bar.set_message(self.table(&stats));
        }
        Ok(())
    }

    /// Prints a line to standard error, above the bar and the table if these are visible.
    pub(crate) fn print(&self, line: &str) {
        self.bar.suspend(|| note(line));
    }

    /// Removes the bar and the table from the terminal, at the end of the render.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// Returns the line that replaces the bar if standard error is not a terminal: samples and, as far as they are
    /// known, progress, remaining time and noise.
    fn line(&self, renderer: &Renderer, stats: &Stats) -> String {
        let left = self.start.map_or(String::new(), |start| {
            progress_text(start, renderer.progress())
        });
        format!(
            "raysieve: {}{left}{}",
            samples_text(stats),
            self.noise_text(stats)
        )
    }

    /// Returns the estimated noise as text, such as ", noise about 1.20 %". Empty while there is no estimate. The noise
    /// is the relative error, averaged over the pixels.
    fn noise_text(&self, stats: &Stats) -> String {
        let percent = |noise: f64| format!(", noise about {:.2} %", 100.0 * noise);
        let noise = match &stats.noise {
            Some(noise) => noise.estimated,
            None => self.noise.at(stats.spp),
        };
        noise.map(percent).unwrap_or_default()
    }

    /// Returns the statistics table with a headline, cut to the size of the terminal.
    fn table(&self, stats: &Stats) -> String {
        let (rows, columns) = Term::stderr().size();
        let head = format!(
            "{}, {:.2} Mrays/s{}\n",
            samples_text(stats),
            stats.rays_per_second / 1e6,
            self.noise_text(stats)
        );
        let text = head + &table::live_table(stats);
        // One row is for the bar and one for the cursor.
        let room = usize::from(rows).saturating_sub(2);
        let cut = |line: &str| line.chars().take(columns.into()).collect::<String>();
        let lines: Vec<String> = text.lines().take(room).map(cut).collect();
        lines.join("\n")
    }
}

/// Returns text about the samples, such as "12 samples per pixel". With `--noise`, the text contains the mean number
/// per pixel and the percentage of converged pixels.
fn samples_text(stats: &Stats) -> String {
    let Some(noise) = &stats.noise else {
        return format!("{} {}", stats.spp, table::samples_per_pixel(stats.spp));
    };
    let pixels: f64 = stats.size.map(f64::from).iter().product();
    // Rounded down, so that 100 % means all pixels.
    let converged = 100.0 * (1.0 - f64::from(noise.unconverged_pixels) / pixels);
    format!(
        "{:.1} samples per pixel, {:.1} % of the pixels converged",
        noise.mean_samples,
        (10.0 * converged).floor() / 10.0
    )
}

/// Returns the progress and the estimated remaining time as text, such as ", 40 %, 3 minutes left". The first argument
/// is the first known (time, progress), and the second is the progress now. Both progresses are from 0 to 1.
///
/// The remaining time is extrapolated from the difference, and omitted while there is none.
fn progress_text((start, first): (Instant, f64), progress: f64) -> String {
    let left = start.elapsed().as_secs_f64() * (1.0 - progress)
        / (progress - first).max(f64::MIN_POSITIVE);
    let left = Duration::try_from_secs_f64(left.round()).map_or(String::new(), |left| {
        format!(", {} left", HumanDuration(left))
    });
    format!(", {:.0} %{left}", 100.0 * progress)
}
