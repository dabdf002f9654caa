//! What is told while a render without a window goes on: on a terminal a bar and a table that stay in their place, else a
//! plain line from time to time.

use std::time::{Duration, Instant};

use console::Term;
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use raysieve::{Error, noise::Noise, renderer::Renderer, stats::Stats};

use crate::{
    headless::{PROGRESS_STEPS, progress_bar, time_left},
    note, table,
};

/// Tells of a render.
pub(crate) struct Progress {
    bar: ProgressBar,
    noise: Noise,
    /// When the render began, and how far it was then: what a checkpoint brought says nothing of the time that is left.
    begun: Instant,
    first: f64,
    /// When it was told of last.
    told: Instant,
}

/// Between two tables, and between two lines.
const TABLE_INTERVAL: Duration = Duration::from_millis(250);
const LINE_INTERVAL: Duration = Duration::from_secs(10);

impl Progress {
    pub(crate) fn new(renderer: &Renderer) -> Self {
        let bar = progress_bar(PROGRESS_STEPS);
        let template = "{wide_bar} {percent:>3} %{time_left}\n{msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.with_key("time_left", time_left));
        }
        bar.set_position(position(renderer));
        bar.reset_eta();
        Self {
            bar,
            noise: Noise::new(),
            begun: Instant::now(),
            first: renderer.progress(),
            told: Instant::now(),
        }
    }

    /// Looks at the render again.
    pub(crate) fn update(&mut self, renderer: &mut Renderer) -> Result<(), Error> {
        self.bar.set_position(position(renderer));
        let stats = renderer.stats();
        if self.noise.wants(stats.spp) {
            self.noise.look(stats.spp, &renderer.picture()?);
        }
        if self.bar.is_hidden() {
            if self.told.elapsed() >= LINE_INTERVAL {
                self.told = Instant::now();
                note(&self.line(renderer, &stats));
            }
        } else if self.told.elapsed() >= TABLE_INTERVAL {
            self.told = Instant::now();
            self.bar.set_message(self.table(&stats));
        }
        Ok(())
    }

    /// Says something of its own.
    pub(crate) fn say(&self, line: &str) {
        self.bar.suspend(|| note(line));
    }

    /// Takes all away from the terminal.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// Samples, time left, noise.
    fn line(&self, renderer: &Renderer, stats: &Stats) -> String {
        let progress = renderer.progress();
        let left = self.begun.elapsed().as_secs_f64() * (1.0 - progress)
            / (progress - self.first).max(f64::MIN_POSITIVE);
        let left = Duration::try_from_secs_f64(left.round()).map_or(String::new(), |left| {
            format!(", {} left", HumanDuration(left))
        });
        format!(
            "raysieve: {} samples a pixel, {:.0} %{left}{}",
            stats.spp,
            100.0 * progress,
            self.told_noise(stats)
        )
    }

    fn told_noise(&self, stats: &Stats) -> String {
        let percent = |noise: f64| format!(", noise about {:.2} %", 100.0 * noise);
        self.noise.at(stats.spp).map(percent).unwrap_or_default()
    }

    /// As many rows as the terminal has room for.
    fn table(&self, stats: &Stats) -> String {
        let (rows, columns) = Term::stderr().size();
        let head = format!(
            "{} samples a pixel, {:.2} Mrays/s{}\n",
            stats.spp,
            stats.rays_per_second / 1e6,
            self.told_noise(stats)
        );
        let text = head + &table::in_place(stats);
        // The bar has a line, and so has what is typed.
        let room = usize::from(rows).saturating_sub(2);
        let cut = |line: &str| line.chars().take(columns.into()).collect::<String>();
        let lines: Vec<String> = text.lines().take(room).map(cut).collect();
        lines.join("\n")
    }
}

/// On the bar.
fn position(renderer: &Renderer) -> u64 {
    (renderer.progress() * PROGRESS_STEPS as f64) as u64
}
