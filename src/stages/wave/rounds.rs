//! The state of adaptive sampling that belongs to a wave.

use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use compaction::{
    cuda::{Compiler, Kernel, download, overwrite, rest, zeroed},
    cudarc::driver::{CudaContext, CudaSlice, CudaStream, DriverError},
    select::{Select, Strategy, Workspace},
};

use super::{CudaWave, Wave, cuda::KernelLoader};
use crate::{
    Error,
    adaptive::{pixel_noise::PixelNoise, pixel_stats::PixelStats},
    stages::{
        ConvergenceArguments, CountArguments, TALLIED, count_source, test_convergence_source,
    },
};

/// The buffers and kernels of the stage `test_convergence` on a GPU. The film holds the number of samples of each pixel.
pub struct CudaRounds {
    pub(crate) test_convergence: Kernel<ConvergenceArguments>,
    /// Sums of the film at the last convergence test.
    pub(crate) marks: CudaSlice<u64>,
    /// Noise estimate of each pixel.
    pub(crate) histories: CudaSlice<PixelNoise>,
    /// 1 for each pixel of the list that has not converged, else 0.
    pub(crate) flags: CudaSlice<u8>,
    /// Number of pixels on the list that the next test reads.
    pub(crate) listed: u32,
    /// The list of the next round.
    pub(crate) left: CudaSlice<u32>,
    /// One number: the length of `left`.
    pub(crate) count: CudaSlice<u32>,
    /// Sums over the picture, see `test_convergence`.
    pub(crate) tally: CudaSlice<u64>,
    /// Compacts the list. It keeps the order whatever the strategy of the waves, because the order of the list decides which
    /// samples a part of a round has.
    pub(crate) select: Select,
    pub(crate) workspace: Workspace,
}

impl CudaRounds {
    fn new(
        compiler: &Compiler,
        context: &Arc<CudaContext>,
        stream: &Arc<CudaStream>,
        pixel_count: usize,
        listed: usize,
    ) -> Result<CudaRounds, Error> {
        let strategy = Strategy::LookBack;
        Ok(CudaRounds {
            test_convergence: compiler
                .load(context, &test_convergence_source())?
                .kernel("test_convergence")?,
            marks: zeroed(stream, 3 * pixel_count)?,
            histories: zeroed(stream, pixel_count)?,
            flags: zeroed(stream, listed)?,
            listed: listed as u32,
            left: zeroed(stream, listed)?,
            count: zeroed(stream, 1)?,
            tally: zeroed(stream, TALLIED)?,
            select: Select::new(compiler, context, strategy)?,
            workspace: Workspace::for_strategy(stream, strategy, listed)?,
        })
    }

    /// Returns whether the buffers have the size for a film of `pixel_count` pixels and a list of `listed` pixels.
    pub(crate) fn fits(&self, pixel_count: usize, listed: usize) -> bool {
        self.histories.len() == pixel_count && self.left.len() == listed
    }

    /// Uploads the statistics of the pixels, or clears them if there are none.
    pub(crate) fn set_pixel_stats(
        &mut self,
        stream: &Arc<CudaStream>,
        ledger: Option<&PixelStats>,
    ) -> Result<(), Error> {
        self.listed = self.left.len() as u32;
        if let Some(ledger) = ledger {
            overwrite(stream, &ledger.marks, &mut self.marks)?;
            overwrite(stream, &ledger.histories, &mut self.histories)?;
            return Ok(());
        }
        stream
            .memset_zeros(&mut self.marks)
            .and_then(|()| stream.memset_zeros(&mut self.histories))
            .map_err(cannot_clear())?;
        Ok(())
    }
}

/// Returns the error of a clearing operation that failed.
fn cannot_clear() -> impl FnOnce(DriverError) -> compaction::Error {
    compaction::Error::driver("clear the pixel statistics")
}

impl CudaWave {
    /// Begins adaptive sampling of the pixels on a list, from these statistics or from none.
    fn begin_rounds(&mut self, list: &[u32], ledger: Option<&PixelStats>) -> Result<(), Error> {
        let pixel_count = self.camera.host.pixel_count() as usize;
        let stream = self.stream.clone();
        let mut rounds = match self.rounds.take() {
            Some(rounds) if rounds.fits(pixel_count, list.len()) => rounds,
            _ => self.new_rounds(&stream, pixel_count, list.len())?,
        };
        rounds.set_pixel_stats(&stream, ledger)?;
        self.rounds = Some(rounds);
        self.set_list(list)?;
        match ledger {
            Some(ledger) => overwrite(&stream, &ledger.taken, &mut self.film.taken)?,
            None => stream
                .memset_zeros(&mut self.film.taken)
                .map_err(cannot_clear())?,
        }
        Ok(())
    }

    /// Loads the kernel that counts the samples of pixels when several GPUs share a round.
    pub(crate) fn new_counter(&self) -> Result<Kernel<CountArguments>, Error> {
        let module = self.loader.load(&count_source())?;
        Ok(module.kernel("count")?)
    }

    /// Allocates the buffers and loads the kernels of `test_convergence`.
    pub(crate) fn new_rounds(
        &self,
        stream: &Arc<CudaStream>,
        pixel_count: usize,
        listed: usize,
    ) -> Result<CudaRounds, Error> {
        let KernelLoader {
            compiler, context, ..
        } = &self.loader;
        CudaRounds::new(compiler, context, stream, pixel_count, listed)
    }

    /// Sets the list of the next round, whose pixels another GPU tests. Waits for the work in flight, at most for `timeout`.
    pub(crate) fn list_pixels(&mut self, list: &[u32], timeout: Duration) -> Result<(), Error> {
        rest(&self.stream, timeout)?;
        self.set_list(list)
    }

    /// Uploads a list. If it fits into the buffer, graphs stay valid, because they contain the buffer's address.
    fn set_list(&mut self, list: &[u32]) -> Result<(), Error> {
        let pixel_count = self.camera.host.pixel_count() as usize;
        if self.film.taken.len() != pixel_count || self.paths.list.len() < list.len() {
            self.forget_graphs();
            self.film.taken = zeroed(&self.stream, pixel_count)?;
            self.paths.list = zeroed(&self.stream, list.len())?;
        }
        let place = &mut self.paths.list.slice_mut(..list.len());
        Ok(overwrite(&self.stream, list, place)?)
    }

    fn end_rounds(&mut self) -> Result<(), Error> {
        self.rounds = None;
        self.forget_graphs();
        self.film.taken = zeroed(&self.stream, 1)?;
        self.paths.list = zeroed(&self.stream, 1)?;
        Ok(())
    }

    fn ledger(&self) -> Result<Option<PixelStats>, Error> {
        let Some(rounds) = &self.rounds else {
            return Ok(None);
        };
        Ok(Some(PixelStats {
            taken: download(&self.stream, &self.film.taken)?,
            marks: download(&self.stream, &rounds.marks)?,
            histories: download(&self.stream, &rounds.histories)?,
        }))
    }
}

impl Wave {
    /// Begins adaptive sampling of the pixels on a list, from these statistics or from none. The wave tests convergence.
    ///
    /// The film must count the same samples as the statistics, or not count samples yet.
    pub fn begin_rounds(
        &mut self,
        list: &Arc<[u32]>,
        ledger: Option<&PixelStats>,
    ) -> Result<(), Error> {
        match self {
            Wave::Cpu(cpu) => {
                let known = ledger.cloned();
                let ledger = known.unwrap_or_else(|| PixelStats::new(cpu.camera.pixel_count()));
                cpu.film.count_from(ledger.taken.iter().copied());
                cpu.list = list.clone();
                cpu.ledger = Some(Box::new(ledger));
            }
            Wave::Cuda(cuda) => cuda.begin_rounds(list, ledger)?,
        }
        Ok(())
    }

    /// Ends adaptive sampling. The film must be replaced after this.
    pub(crate) fn end_rounds(&mut self) -> Result<(), Error> {
        match self {
            Wave::Cpu(cpu) => {
                cpu.list = Arc::default();
                cpu.ledger = None;
            }
            Wave::Cuda(cuda) => cuda.end_rounds()?,
        }
        Ok(())
    }

    /// Waits for all waves in flight, and returns the statistics of the pixels; `None` without adaptive sampling, and for
    /// waves that do not test convergence.
    pub fn ledger(&self) -> Result<Option<PixelStats>, Error> {
        match self {
            Wave::Cpu(cpu) => {
                let known = cpu.ledger.as_deref();
                known
                    .map(|ledger| {
                        Ok(PixelStats {
                            taken: self.taken()?,
                            ..ledger.clone()
                        })
                    })
                    .transpose()
            }
            Wave::Cuda(cuda) => cuda.ledger(),
        }
    }

    /// Waits for all waves in flight, and returns the number of samples of each pixel during adaptive sampling.
    pub(crate) fn taken(&self) -> Result<Vec<u32>, Error> {
        match self {
            Wave::Cpu(cpu) => {
                let taken = cpu.film.taken().unwrap_or_default().iter();
                Ok(taken.map(|taken| taken.load(Relaxed)).collect())
            }
            Wave::Cuda(cuda) => Ok(download(&cuda.stream, &cuda.film.taken)?),
        }
    }
}
