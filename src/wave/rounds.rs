//! What a wave keeps of pixels that get samples until they are good.

use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use compaction::{
    cuda::{Compiler, Kernel, download, overwrite, rest, zeroed},
    cudarc::driver::{CudaContext, CudaSlice, CudaStream, DriverError},
    select::{Select, Strategy, Workspace},
};

use super::{CudaWave, Wave};
use crate::{
    Error,
    adaptive::{pixel_noise::PixelNoise, pixel_stats::PixelStats},
    stages::{
        ConvergenceArguments, CountArguments, TALLIED, count_source, test_convergence_source,
    },
};

/// The same in a GPU's memory, but for how many samples each pixel has; and what the stage `test_convergence` needs.
pub struct CudaRounds {
    pub(crate) test_convergence: Kernel<ConvergenceArguments>,
    /// The film's sums when its pixels were judged last.
    pub(crate) marks: CudaSlice<u64>,
    pub(crate) histories: CudaSlice<PixelNoise>,
    /// By place on the list: 1 if the pixel stays.
    pub(crate) flags: CudaSlice<u8>,
    /// Number of pixels on the list, which the next judgement reads.
    pub(crate) listed: u32,
    /// The next list.
    pub(crate) left: CudaSlice<u32>,
    /// Its length.
    pub(crate) count: CudaSlice<u32>,
    pub(crate) tally: CudaSlice<u64>,
    /// Keeps the order, whatever the waves' sieve does: which pairs a stretch of a round has hangs on it.
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

    /// Whether it has room for so many pixels, of which so many are listed at most.
    pub(crate) fn fits(&self, pixel_count: usize, listed: usize) -> bool {
        self.histories.len() == pixel_count && self.left.len() == listed
    }

    /// Takes what is known of the pixels into the place of what was, or that nothing is.
    pub(crate) fn know(
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
            .map_err(forget())?;
        Ok(())
    }
}

fn forget() -> impl FnOnce(DriverError) -> compaction::Error {
    compaction::Error::driver("clear what is known of the pixels")
}

impl CudaWave {
    /// The pixels on this list get samples until they are good, and each has what the ledger says, or none yet.
    fn begin_rounds(&mut self, list: &[u32], ledger: Option<&PixelStats>) -> Result<(), Error> {
        let pixel_count = self.camera.pixel_count() as usize;
        let stream = self.stream.clone();
        let mut rounds = match self.rounds.take() {
            Some(rounds) if rounds.fits(pixel_count, list.len()) => rounds,
            _ => self.new_rounds(&stream, pixel_count, list.len())?,
        };
        rounds.know(&stream, ledger)?;
        self.rounds = Some(rounds);
        self.set_list(list)?;
        match ledger {
            Some(ledger) => overwrite(&stream, &ledger.taken, &mut self.film.taken)?,
            None => stream
                .memset_zeros(&mut self.film.taken)
                .map_err(forget())?,
        }
        Ok(())
    }

    /// What counts the samples of pixels whose round others have a part in.
    pub(crate) fn new_counter(&self) -> Result<Kernel<CountArguments>, Error> {
        let module = self.compiler.load(&self.context, &count_source())?;
        Ok(module.kernel("count")?)
    }

    /// What judges pixels on this GPU.
    pub(crate) fn new_rounds(
        &self,
        stream: &Arc<CudaStream>,
        pixel_count: usize,
        listed: usize,
    ) -> Result<CudaRounds, Error> {
        CudaRounds::new(&self.compiler, &self.context, stream, pixel_count, listed)
    }

    /// Lets the pixels on this list have the next samples, which another one judges. Waits for so long at most for what is
    /// under way.
    pub(crate) fn list_pixels(&mut self, list: &[u32], timeout: Duration) -> Result<(), Error> {
        rest(&self.stream, timeout)?;
        self.set_list(list)
    }

    /// Where it fits graphs of waves may go on: they name the list's place.
    fn set_list(&mut self, list: &[u32]) -> Result<(), Error> {
        let pixel_count = self.camera.pixel_count() as usize;
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
    /// Gives samples to the pixels on this list until they are good, and judges them; each has what the ledger says, or none
    /// yet. The film is one that counts them so, or does not yet count at all.
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

    /// Every pixel gets all samples from now on, on another film.
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

    /// What is known of the pixels, by the wave that judges them, if they get samples until they are good. Waits for all
    /// waves under way.
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

    /// How many samples each pixel has, if they get samples until they are good. Waits for all waves under way.
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
