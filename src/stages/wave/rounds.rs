//! The state of adaptive sampling in a wave: the list of pixels that a round samples, and their statistics.
//!
//! A round gives the same number of samples to each listed pixel; see [`schedule`](crate::adaptive::schedule).

use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use compaction::{
    cuda::{Compiler, Kernel, clear, download, overwrite, rest, zeroed},
    cudarc::driver::{CudaContext, CudaSlice, CudaStream},
    select::{Select, Strategy, Workspace},
};

use super::{CudaWave, Wave, cuda::KernelLoader};
use crate::{
    Error,
    adaptive::{pixel_noise::PixelNoise, pixel_stats::PixelStats},
    stages::{
        ConvergenceArguments, CountArguments, TALLY_LEN, count_source, test_convergence_source,
    },
};

/// The buffers and kernels of the stage `test_convergence` on a GPU. The film, not this struct, holds the sample counts
/// of the pixels, and the paths hold the list of pixels.
pub struct CudaAdaptiveState {
    /// The kernel that tests the pixels.
    pub(crate) test_convergence: Kernel<ConvergenceArguments>,
    /// The film's fixed-point sums at each pixel's last convergence test, three channels per pixel of the image; 0
    /// before.
    pub(crate) sums_at_test: CudaSlice<u64>,
    /// The noise statistics of each pixel of the image.
    pub(crate) pixel_noise: CudaSlice<PixelNoise>,
    /// The flag of each list entry: 1 if its pixel has not converged, otherwise 0.
    pub(crate) flags: CudaSlice<u8>,
    /// Number of pixels on the list that the next test reads.
    pub(crate) listed: u32,
    /// The buffer into which a test writes the list of the next round: the pixels that have not converged.
    pub(crate) unconverged: CudaSlice<u32>,
    /// The number of pixels that the test has written to `unconverged`, as one entry.
    pub(crate) unconverged_count: CudaSlice<u32>,
    /// Sums over the tested pixels, see [`RoundResult`](crate::adaptive::schedule::RoundResult).
    pub(crate) tally: CudaSlice<u64>,
    /// The compaction of the list. It keeps the order, unlike some strategies for waves, because the order of the list
    /// decides which samples a part of a round contains.
    pub(crate) select: Select,
    /// The scratch buffers of the compaction.
    pub(crate) workspace: Workspace,
}

impl CudaAdaptiveState {
    /// Loads the kernels, and allocates buffers for an image of `pixel_count` pixels and a list of `listed` pixels.
    fn new(
        compiler: &Compiler,
        context: &Arc<CudaContext>,
        stream: &Arc<CudaStream>,
        pixel_count: usize,
        listed: usize,
    ) -> Result<CudaAdaptiveState, Error> {
        let strategy = Strategy::LookBack;
        Ok(CudaAdaptiveState {
            test_convergence: compiler
                .load(context, &test_convergence_source())?
                .kernel("test_convergence")?,
            sums_at_test: zeroed(stream, 3 * pixel_count)?,
            pixel_noise: zeroed(stream, pixel_count)?,
            flags: zeroed(stream, listed)?,
            listed: listed as u32,
            unconverged: zeroed(stream, listed)?,
            unconverged_count: zeroed(stream, 1)?,
            tally: zeroed(stream, TALLY_LEN)?,
            select: Select::new(compiler, context, strategy)?,
            workspace: Workspace::for_strategy(stream, strategy, listed)?,
        })
    }

    /// Returns whether the buffers were allocated for an image of `pixel_count` pixels and a list of `listed` pixels.
    pub(crate) fn fits(&self, pixel_count: usize, listed: usize) -> bool {
        self.pixel_noise.len() == pixel_count && self.unconverged.len() == listed
    }

    /// Uploads the statistics of all pixels, or clears them if `pixel_stats` is `None`. The next test reads the whole
    /// list that the buffers were allocated for.
    pub(crate) fn set_pixel_stats(
        &mut self,
        stream: &Arc<CudaStream>,
        pixel_stats: Option<&PixelStats>,
    ) -> Result<(), Error> {
        self.listed = self.unconverged.len() as u32;
        if let Some(stats) = pixel_stats {
            overwrite(stream, &stats.sums_at_test, &mut self.sums_at_test)?;
            overwrite(stream, &stats.pixel_noise, &mut self.pixel_noise)?;
            return Ok(());
        }
        clear(stream, &mut self.sums_at_test)?;
        clear(stream, &mut self.pixel_noise)?;
        Ok(())
    }
}

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
