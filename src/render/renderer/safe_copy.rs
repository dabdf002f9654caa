//! Copies of a single GPU's film in host memory, from which another process continues the render if that GPU fails.
//! Several GPUs keep such copies themselves (`backend::gpus`).

use std::time::{Duration, Instant};

use super::Renderer;
use crate::{
    Error,
    adaptive::{pixel_stats::PixelStats, schedule::Schedule},
    film::FilmSums,
    render::{part::Part, stats::Stats},
    scene::memory,
};

/// Minimum time between two copies, unless [`super::Settings::keep_every`] sets another one.
const PAUSE: Duration = Duration::from_secs(10);
/// Minimum time between two copies, as a multiple of the duration of a copy, unless [`super::Settings::keep_every`] is
/// set. It limits the time for copying, without the wait for running waves, to 1 %.
const SPACING: u32 = 100;
/// Host memory for one more copy in bytes per pixel: the sums of the film, and the statistics of adaptive sampling.
const BYTES_PER_PIXEL: u64 = 64;

/// The copies of the film of a render on a single GPU.
pub(super) struct SafeCopies {
    /// The last copy; `None` before the first one of this film.
    last: Option<Box<SafeCopy>>,
    /// Time at which the last copy was made or lacked memory, or the film was cleared.
    taken_at: Instant,
    /// Time that the last copy took, without the wait for running waves.
    duration: Duration,
    /// Whether the GPU has failed. The renderer then has the state of the last copy.
    pub(super) gpu_failed: bool,
}

/// The state of a render in host memory.
struct SafeCopy {
    film: FilmSums,
    /// Statistics of the pixels; `None` without adaptive sampling.
    pixel_stats: Option<PixelStats>,
    /// See [`Renderer::done`].
    done: u64,
    /// See [`Renderer::rounds`].
    rounds: Option<Schedule>,
    /// See [`Renderer::stats`].
    stats: Stats,
    /// See [`Renderer::elapsed`].
    elapsed: Duration,
}

impl SafeCopies {
    /// Starts without a copy.
    pub(super) fn new() -> SafeCopies {
        SafeCopies {
            last: None,
            taken_at: Instant::now(),
            duration: Duration::ZERO,
            gpu_failed: false,
        }
    }

    /// Returns the film of the last copy if the GPU has failed. `None` means that the film of the GPU is used.
    pub(super) fn film(&self) -> Option<FilmSums> {
        let last = self.last.as_ref().filter(|_| self.gpu_failed)?;
        Some(last.film.clone())
    }

    /// Returns the statistics of the pixels in the last copy. `None` means that there is no copy yet, or that it was
    /// made without adaptive sampling.
    pub(super) fn pixel_stats(&self) -> Option<PixelStats> {
        self.last.as_ref()?.pixel_stats.clone()
    }

    /// Returns the schedule in the last copy; `None` if there is no copy, or no schedule in it.
    pub(super) fn schedule(&mut self) -> Option<&mut Schedule> {
        self.last.as_mut()?.rounds.as_mut()
    }

    /// Replaces the schedule in the last copy, after a part of an adaptive render was resumed.
    pub(super) fn set_schedule(&mut self, rounds: &Option<Schedule>) {
        if let Some(last) = &mut self.last {
            last.rounds.clone_from(rounds);
        }
    }
}

impl Renderer {
    /// Waits for the running waves and copies the state of the render to host memory. Does nothing if the last copy is
    /// recent, on the CPU, on several GPUs, for a region, or if the host lacks memory.
    ///
    /// Fails if the GPU fails.
    pub(super) fn keep_safe_copy(&mut self) -> Result<(), Error> {
        let copies = &self.safe_copies;
        let pause = PAUSE.max(copies.duration * SPACING);
        let pause = self.settings.keep_every.unwrap_or(pause);
        // The film of a region is not a part, so that nothing could continue it.
        if !self.backend.is_single_gpu()
            || self.region.is_some()
            || copies.taken_at.elapsed() < pause
        {
            return Ok(());
        }
        // Also without memory for a copy, so that the next attempt is as late.
        self.safe_copies.taken_at = Instant::now();
        if !self.has_memory_for_copy() {
            return Ok(());
        }
        self.finish_waves()?;
        let begun = Instant::now();
        let film = self.film_sums()?;
        let pixel_stats = self.pixel_stats()?;
        self.set_safe_copy(film, pixel_stats);
        self.safe_copies.duration = begun.elapsed();
        self.elapsed += begun.elapsed();
        Ok(())
    }

    /// Replaces the last copy by the film of a resumed part. Only discards the last copy if memory does not suffice, on
    /// the CPU, and on several GPUs. If memory does not suffice and the GPU has failed, a black film takes its place.
    pub(super) fn copy_resumed(&mut self, part: &Part) {
        self.safe_copies.last = None;
        self.safe_copies.taken_at = Instant::now();
        if self.backend.is_single_gpu() && self.has_memory_for_copy() {
            self.set_safe_copy(part.film.clone(), part.pixel_stats.clone());
        } else if self.safe_copies.gpu_failed {
            self.reset_to_black_film();
        }
    }

    /// Discards the last copy because the film is cleared. If the GPU has failed, a black film takes its place.
    pub(super) fn forget_safe_copy(&mut self) {
        self.safe_copies.last = None;
        self.safe_copies.taken_at = Instant::now();
        if self.safe_copies.gpu_failed {
            self.reset_to_black_film();
        }
    }

    /// Stores this film, and the progress of the render, as the last copy.
    fn set_safe_copy(&mut self, film: FilmSums, pixel_stats: Option<PixelStats>) {
        self.safe_copies.taken_at = Instant::now();
        self.safe_copies.last = Some(Box::new(SafeCopy {
            film,
            pixel_stats,
            done: self.done,
            rounds: self.rounds.clone(),
            stats: self.stats.clone(),
            elapsed: self.elapsed,
        }));
    }

    /// Returns whether the host has memory for one more copy.
    fn has_memory_for_copy(&self) -> bool {
        memory::check(u64::from(self.pixel_count()) * BYTES_PER_PIXEL).is_ok()
    }

    /// Returns the error to report. If the only GPU has failed, names that GPU in it and restores the state of the last
    /// copy, or of a black film if there is none. Returns other errors unchanged.
    pub(super) fn restore_after_failure(&mut self, error: Error) -> Error {
        // After an earlier failure as well, because the call may have changed the progress before it failed.
        if !self.safe_copies.gpu_failed && !self.backend.only_gpu_has_failed() {
            return error;
        }
        self.safe_copies.gpu_failed = true;
        match &self.safe_copies.last {
            Some(last) => {
                self.done = last.done;
                self.rounds.clone_from(&last.rounds);
                self.stats.clone_from(&last.stats);
                self.elapsed = last.elapsed;
            }
            None => self.reset_to_black_film(),
        }
        match error {
            Error::Gpu { .. } => error,
            other => Error::Gpu {
                gpu: self.backend.devices[0].clone(),
                problem: other.to_string(),
            },
        }
    }

    /// Resets the progress of the render, and stores a black film without samples as the last copy.
    fn reset_to_black_film(&mut self) {
        self.done = self.range.start;
        self.stats.clear();
        self.elapsed = Duration::ZERO;
        self.reset_rounds();
        let sums = vec![0; 3 * self.pixel_count() as usize];
        let pixel_stats = self.goal.map(|_| PixelStats::new(self.pixel_count()));
        self.set_safe_copy(FilmSums { sums, rejected: 0 }, pixel_stats);
    }
}
