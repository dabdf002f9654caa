//! The sum of the films of all GPUs, in the memory of one of them.

mod rounds;

use std::{sync::Arc, time::Duration};

use compaction::{
    cuda::{PeerCopy, Readback, download, rest, upload, zeroed},
    cudarc::driver::{CudaSlice, CudaStream},
};
use rounds::{ConvergenceState, copy};

use crate::{
    Error,
    camera::Camera,
    film::FilmSums,
    film::picture::Picture,
    stages::wave::CudaWave,
    stages::{
        Denoiser, FilmSamples, ImageReadback, Kernels, NoiseSource, Preview, develop,
        gather_on_cuda,
    },
};

/// A film that the workers' films are added to: three fixed-point sums per pixel, then the number of rejected samples.
///
/// Its stream has priority over the waves of its GPU, so that work on the sum waits for no wave.
pub(super) struct Sum {
    /// Number of the worker whose GPU holds the sum.
    pub(super) home: usize,
    stream: Arc<CudaStream>,
    /// The sums and the number of rejected samples.
    film: CudaSlice<u64>,
    /// Capacity of the transfers, in `u64` values.
    room: usize,
    /// Transfer from each worker's GPU; `None` for one that has failed.
    transfers: Vec<Option<PeerCopy<u64>>>,
    /// Transfer of the sum to the host, see [`Sum::start_host_copy`].
    host_copy: Readback<u64>,
    /// Reused memory of the last picture; `None` before the first.
    shown: Option<ImageReadback>,
    /// Timeout for short work on the GPU.
    timeout: Duration,
    /// The denoiser; `None` until a preview is asked for.
    denoiser: Option<Denoiser>,
    /// State of adaptive sampling; `None` without it.
    convergence: Option<ConvergenceState>,
}

impl Sum {
    /// Returns a sum that begins with this film, or black, on the GPU of the worker `home`. `waves` holds each worker's
    /// wave, or `None` for one that has failed.
    pub(super) fn new(
        home: usize,
        on: &CudaWave,
        waves: &[Option<&CudaWave>],
        film: Option<&[u64]>,
        timeout: Duration,
    ) -> Result<Sum, Error> {
        let context = on.stream.context();
        // CUDA clamps this to its highest priority.
        let stream = context
            .new_stream_with_priority(i32::MIN)
            .map_err(compaction::Error::driver("create a stream"))?;
        let len = len(&on.camera.host);
        let transfer = |wave: &Option<&CudaWave>| {
            wave.map(|wave| PeerCopy::new(&wave.stream, &stream, len))
                .transpose()
        };
        Ok(Sum {
            home,
            room: len,
            film: match film {
                Some(film) => upload(&stream, film)?,
                None => zeroed(&stream, len)?,
            },
            transfers: waves.iter().map(transfer).collect::<Result<_, _>>()?,
            host_copy: Readback::new(context, len)?,
            shown: None,
            timeout,
            denoiser: None,
            convergence: None,
            stream,
        })
    }

    /// Returns whether the transfers are large enough for a film of this camera's size.
    pub(super) fn fits(&self, camera: &Camera) -> bool {
        len(camera) <= self.room
    }

    /// Returns the size of the film in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.film.num_bytes()
    }

    /// Waits for the work on the sum, and returns whether its GPU still works.
    pub(super) fn is_alive(&self) -> bool {
        rest(&self.stream, self.timeout).is_ok()
    }

    /// Replaces the sum by this film, or by a black one of the camera's size.
    pub(super) fn set(&mut self, camera: &Camera, film: Option<&[u64]>) -> Result<(), Error> {
        if let Some(denoiser) = &mut self.denoiser {
            denoiser.forget();
        }
        self.film = match film {
            Some(film) => upload(&self.stream, film)?,
            None => zeroed(&self.stream, len(camera))?,
        };
        Ok(())
    }

    /// Sends a worker's film to the sum behind all its waves, and clears it.
    pub(super) fn send(&mut self, worker: usize, wave: &mut CudaWave) -> Result<(), Error> {
        if let Some(transfer) = &mut self.transfers[worker] {
            // The transfer waits for the sum without a limit.
            rest(&self.stream, self.timeout)?;
            let film = [wave.film.sums.as_view(), wave.film.rejected.as_view()];
            transfer.post(&wave.stream, &film)?;
            wave.clear_film()?;
        }
        Ok(())
    }

    /// Returns whether the worker's film has arrived.
    ///
    /// # Errors
    /// The failure of the worker.
    pub(super) fn has_arrived(&self, worker: usize) -> Result<bool, Error> {
        match &self.transfers[worker] {
            Some(transfer) => Ok(transfer.has_arrived()?),
            None => Ok(true),
        }
    }

    /// Waits until the worker's film has arrived.
    ///
    /// # Errors
    /// The failure of the worker.
    pub(super) fn wait(&self, worker: usize) -> Result<(), Error> {
        match &self.transfers[worker] {
            Some(transfer) => Ok(transfer.wait_for(self.timeout).map(drop)?),
            None => Ok(()),
        }
    }

    /// Adds the films of these workers, which must have arrived, and waits until that is done. `kernels` are those of
    /// the sum's GPU.
    pub(super) fn add(&mut self, kernels: &Kernels, workers: &[usize]) -> Result<(), Error> {
        for &worker in workers {
            if let Some(transfer) = &self.transfers[worker] {
                let (film, more) = (self.film.as_view_mut(), transfer.wait()?);
                gather_on_cuda(kernels, &self.stream, film, more)?;
            }
        }
        Ok(rest(&self.stream, self.timeout)?)
    }

    /// Drops the transfer of a worker whose GPU has failed.
    pub(super) fn cut_off(&mut self, worker: usize) {
        self.transfers[worker] = None;
    }

    /// Starts a copy of the sum to the host, which [`Sum::take_host_copy`] takes.
    pub(super) fn start_host_copy(&mut self) -> Result<(), Error> {
        Ok(self.host_copy.post(&self.stream, self.film.as_view())?)
    }

    /// Writes the copy that [`Sum::start_host_copy`] started last into `film`, which it allocates if it is `None`, and
    /// returns `true`. While the copy is in transfer, returns `false` without waiting, and leaves `film` as it is.
    pub(super) fn take_host_copy(&self, film: &mut Option<Vec<u64>>) -> Result<bool, Error> {
        if !self.host_copy.has_arrived()? {
            return Ok(false);
        }
        let arrived = self.host_copy.wait()?;
        copy(arrived, film.get_or_insert_default());
        Ok(true)
    }

    /// Resolves the sum into a picture. It holds the first `done` pairs, or during adaptive sampling the counted ones.
    /// `wave` is that of the sum's GPU.
    pub(super) fn develop(
        &mut self,
        wave: &CudaWave,
        done: u64,
        picture: &mut Picture,
    ) -> Result<(), Error> {
        let sums = self.film.slice(..self.film.len() - 1);
        let (kernels, camera) = (&wave.kernels, &wave.camera.host);
        let (stream, shown) = ((&self.stream, self.timeout), &mut self.shown);
        let counts = match &self.convergence {
            Some(convergence) => FilmSamples::PerPixel(convergence.sample_counts.as_view()),
            None => FilmSamples::FirstPairs(done),
        };
        develop(kernels, stream, camera, sums, counts, shown, picture)
    }

    /// Keeps a copy of the sum on its GPU, for denoising. The sum holds the first `done` pairs. `wave` is that of the
    /// sum's GPU.
    pub(super) fn snapshot_film(&mut self, wave: &CudaWave, done: u64) -> Result<(), Error> {
        let mut denoiser = match self.denoiser.take() {
            Some(denoiser) => denoiser,
            None => wave.new_denoiser()?,
        };
        let sums = self.film.slice(..self.film.len() - 1);
        let kept = denoiser.snapshot_film(&self.stream, sums, done);
        self.denoiser = Some(denoiser);
        kept
    }

    /// Resolves the sum into a denoised preview. Returns `false` while its noise is unknown.
    pub(super) fn denoise(
        &mut self,
        wave: &CudaWave,
        done: u64,
        preview: &mut Preview,
    ) -> Result<bool, Error> {
        let sums = self.film.slice(..self.film.len() - 1);
        if self.denoiser.is_none() && self.convergence.is_some() {
            self.denoiser = Some(wave.new_denoiser()?);
        }
        let source = match &self.convergence {
            Some(ConvergenceState {
                sample_counts,
                rounds,
                ..
            }) => NoiseSource::PixelStats(sample_counts.as_view(), rounds.pixel_noise.as_view()),
            None => NoiseSource::Snapshot(done),
        };
        match &mut self.denoiser {
            Some(denoiser) => {
                let stream = (&self.stream, self.timeout);
                denoiser.denoise(stream, &wave.camera.host, sums, source, preview)
            }
            None => Ok(false),
        }
    }

    /// Returns a copy of the sum.
    pub(super) fn film_sums(&self) -> Result<FilmSums, Error> {
        Ok(film_sums(download(&self.stream, &self.film)?))
    }
}

/// Returns the length of a film of this size in `u64` values.
pub(super) fn len(camera: &Camera) -> usize {
    3 * camera.pixel_count() as usize + 1
}

/// Converts the flat list of sums and rejected samples into [`FilmSums`].
pub(super) fn film_sums(mut film: Vec<u64>) -> FilmSums {
    let rejected = film.pop().unwrap_or(0);
    FilmSums {
        sums: film,
        rejected,
    }
}

/// Converts [`FilmSums`] into the flat list of sums and rejected samples.
pub(super) fn list(film_sums: &FilmSums) -> Vec<u64> {
    let number = [film_sums.rejected];
    [film_sums.sums.as_slice(), &number].concat()
}
