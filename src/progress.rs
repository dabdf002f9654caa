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
    /// When it was known first how far the render is, and how far it was then: what a checkpoint brought says nothing of the
    /// time that is left.
    known: Option<(Instant, f64)>,
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
        let mut progress = Self {
            bar,
            noise: Noise::new(),
            known: None,
            told: Instant::now(),
        };
        progress.set_position(renderer);
        progress
    }

    /// On the bar, once that is known.
    fn set_position(&mut self, renderer: &Renderer) {
        if !renderer.knows_progress() {
            return;
        }
        let progress = renderer.progress();
        self.bar
            .set_position((progress * PROGRESS_STEPS as f64) as u64);
        if self.known.is_none() {
            self.known = Some((Instant::now(), progress));
            self.bar.reset_eta();
        }
    }

    /// Looks at the render again.
    pub(crate) fn update(&mut self, renderer: &mut Renderer) -> Result<(), Error> {
        self.set_position(renderer);
        let stats = renderer.stats();
        if stats.noise.is_none() && self.noise.wants(stats.spp) {
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
        let left = self
            .known
            .map_or(String::new(), |known| told_left(known, renderer.progress()));
        format!(
            "raysieve: {}{left}{}",
            told_samples(stats),
            self.told_noise(stats)
        )
    }

    fn told_noise(&self, stats: &Stats) -> String {
        let percent = |noise: f64| format!(", noise about {:.2} %", 100.0 * noise);
        let noise = match &stats.noise {
            Some(noise) => noise.estimated,
            None => self.noise.at(stats.spp),
        };
        noise.map(percent).unwrap_or_default()
    }

    /// As many rows as the terminal has room for.
    fn table(&self, stats: &Stats) -> String {
        let (rows, columns) = Term::stderr().size();
        let head = format!(
            "{}, {:.2} Mrays/s{}\n",
            told_samples(stats),
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

/// How many samples there are, and how many pixels need more if not all get them.
fn told_samples(stats: &Stats) -> String {
    let Some(noise) = &stats.noise else {
        return format!("{} samples a pixel", stats.spp);
    };
    let pixels: f64 = stats.size.map(f64::from).iter().product();
    // Not 100 before all are.
    let finished = 100.0 * (1.0 - f64::from(noise.unfinished) / pixels);
    format!(
        "{:.1} samples a pixel, {:.1} % of the pixels good enough",
        noise.mean_samples,
        (10.0 * finished).floor() / 10.0
    )
}

/// How far a render is, and the time that is left, from when it was so far.
fn told_left((known, first): (Instant, f64), progress: f64) -> String {
    let left = known.elapsed().as_secs_f64() * (1.0 - progress)
        / (progress - first).max(f64::MIN_POSITIVE);
    let left = Duration::try_from_secs_f64(left.round()).map_or(String::new(), |left| {
        format!(", {} left", HumanDuration(left))
    });
    format!(", {:.0} %{left}", 100.0 * progress)
}
