//! Adaptive sampling in a wave: the list of pixels that a round samples, and their statistics.
//!
//! A round gives the same number of samples to each listed pixel; see [`schedule`](crate::adaptive::schedule).

use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use compaction::{
    cuda::{Kernel, clear, download, overwrite, rest, zeroed},
    cudarc::driver::CudaStream,
};

use super::{
    Wave,
    adaptive_state::CudaAdaptiveState,
    cuda::{CudaWave, KernelLoader},
};
use crate::{
    Error,
    adaptive::pixel_stats::PixelStats,
    stages::{CountArguments, count_source},
};

impl CudaWave {
    /// Begins adaptive sampling; see [`Wave::begin_adaptive`].
    fn begin_adaptive(
        &mut self,
        list: &[u32],
        pixel_stats: Option<&PixelStats>,
    ) -> Result<(), Error> {
        let pixel_count = self.camera.host.pixel_count() as usize;
        let stream = self.stream.clone();
        let mut rounds = match self.rounds.take() {
            Some(rounds) if rounds.fits(pixel_count, list.len()) => rounds,
            _ => self.new_adaptive_state(&stream, pixel_count, list.len())?,
        };
        rounds.set_pixel_stats(&stream, pixel_stats)?;
        self.rounds = Some(rounds);
        self.set_list(list)?;
        match pixel_stats {
            Some(stats) => overwrite(&stream, &stats.sample_counts, &mut self.film.sample_counts)?,
            None => clear(&stream, &mut self.film.sample_counts)?,
        }
        Ok(())
    }

    /// Loads the kernel of the stage `count`, which computes the sample counts of pixels when several GPUs share a
    /// round.
    pub(crate) fn new_counter(&self) -> Result<Kernel<CountArguments>, Error> {
        let module = self.loader.load(&count_source())?;
        Ok(module.kernel("count")?)
    }

    /// Loads the kernels of `test_convergence`, and allocates buffers for an image of `pixel_count` pixels and a list
    /// of `listed` pixels.
    pub(crate) fn new_adaptive_state(
        &self,
        stream: &Arc<CudaStream>,
        pixel_count: usize,
        listed: usize,
    ) -> Result<CudaAdaptiveState, Error> {
        let KernelLoader {
            compiler, context, ..
        } = &self.loader;
        CudaAdaptiveState::new(compiler, context, stream, pixel_count, listed)
    }

    /// Sets the list of the pixels that the next round samples. Use it if another GPU tests convergence. Waits for the
    /// work in flight, at most for `timeout`.
    pub(crate) fn list_pixels(&mut self, list: &[u32], timeout: Duration) -> Result<(), Error> {
        rest(&self.stream, timeout)?;
        self.set_list(list)
    }

    /// Uploads a list of pixels. Reallocates the buffers, and drops the CUDA graphs that contain their addresses, only
    /// if the list does not fit or the image has another size.
    fn set_list(&mut self, list: &[u32]) -> Result<(), Error> {
        let pixel_count = self.camera.host.pixel_count() as usize;
        if self.film.sample_counts.len() != pixel_count || self.paths.list.len() < list.len() {
            self.drop_graphs();
            self.film.sample_counts = zeroed(&self.stream, pixel_count)?;
            self.paths.list = zeroed(&self.stream, list.len())?;
        }
        let entries = &mut self.paths.list.slice_mut(..list.len());
        Ok(overwrite(&self.stream, list, entries)?)
    }

    /// Ends adaptive sampling, and frees its buffers.
    fn end_adaptive(&mut self) -> Result<(), Error> {
        self.rounds = None;
        self.drop_graphs();
        self.film.sample_counts = zeroed(&self.stream, 1)?;
        self.paths.list = zeroed(&self.stream, 1)?;
        Ok(())
    }

    /// Downloads the statistics of all pixels; see [`Wave::pixel_stats`].
    fn pixel_stats(&self) -> Result<Option<PixelStats>, Error> {
        let Some(rounds) = &self.rounds else {
            return Ok(None);
        };
        Ok(Some(PixelStats {
            sample_counts: download(&self.stream, &self.film.sample_counts)?,
            sums_at_test: download(&self.stream, &rounds.sums_at_test)?,
            pixel_noise: download(&self.stream, &rounds.pixel_noise)?,
        }))
    }
}

impl Wave {
    /// Begins adaptive sampling of the pixels in `list`, which are row-major indices. This wave tests convergence.
    ///
    /// `pixel_stats` holds the statistics of all pixels of the image; `None` means that no pixel has a sample. If the
    /// film already counts the samples of each pixel, its counts must equal those of the statistics.
    pub fn begin_adaptive(
        &mut self,
        list: &Arc<[u32]>,
        pixel_stats: Option<&PixelStats>,
    ) -> Result<(), Error> {
        match self {
            Wave::Cpu(cpu) => {
                let without_samples = || PixelStats::new(cpu.camera.pixel_count());
                let pixel_stats = pixel_stats.cloned().unwrap_or_else(without_samples);
                cpu.film
                    .count_from(pixel_stats.sample_counts.iter().copied());
                cpu.list = list.clone();
                cpu.pixel_stats = Some(Box::new(pixel_stats));
            }
            Wave::Cuda(cuda) => cuda.begin_adaptive(list, pixel_stats)?,
        }
        Ok(())
    }

    /// Ends adaptive sampling. The caller must replace the film after this, because the old one counts the samples of
    /// each pixel.
    pub(crate) fn end_adaptive(&mut self) -> Result<(), Error> {
        match self {
            Wave::Cpu(cpu) => {
                cpu.list = Arc::default();
                cpu.pixel_stats = None;
            }
            Wave::Cuda(cuda) => cuda.end_adaptive()?,
        }
        Ok(())
    }

    /// Waits for all waves in flight, without a time limit, and returns the statistics of all pixels. Returns `None`
    /// without adaptive sampling, and for waves that do not test convergence.
    pub fn pixel_stats(&self) -> Result<Option<PixelStats>, Error> {
        match self {
            Wave::Cpu(cpu) => {
                let pixel_stats = cpu.pixel_stats.as_deref();
                pixel_stats
                    .map(|stats| {
                        // Field by field, because a copy of all would include the counts, for a moment.
                        Ok(PixelStats {
                            sample_counts: self.sample_counts()?,
                            sums_at_test: stats.sums_at_test.clone(),
                            pixel_noise: stats.pixel_noise.clone(),
                        })
                    })
                    .transpose()
            }
            Wave::Cuda(cuda) => cuda.pixel_stats(),
        }
    }

    /// Waits for all waves in flight, without a time limit, and returns the number of samples of each pixel. Call it
    /// only during adaptive sampling, because otherwise samples are not counted.
    pub(crate) fn sample_counts(&self) -> Result<Vec<u32>, Error> {
        match self {
            Wave::Cpu(cpu) => {
                let counts = cpu.film.sample_counts().unwrap_or_default().iter();
                Ok(counts.map(|count| count.load(Relaxed)).collect())
            }
            Wave::Cuda(cuda) => Ok(download(&cuda.stream, &cuda.film.sample_counts)?),
        }
    }
}
