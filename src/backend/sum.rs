//! The sum of all GPUs' films, in the memory of one of them.

mod rounds;

use std::{sync::Arc, time::Duration};

use compaction::{
    cuda::{Crossing, Mailbox, download, rest, upload, zeroed},
    cudarc::driver::{CudaSlice, CudaStream},
};
use rounds::{Judging, copy};

use crate::{
    Error,
    camera::Camera,
    film::Exposed,
    picture::Picture,
    stages::{Denoiser, Held, Kernels, Preview, Shown, Told, develop, gather_on_cuda},
    wave::CudaWave,
};

/// A film that others are added to: three sums a pixel, and behind them how many samples were rejected.
///
/// It has a stream of its own, which goes before the waves of its GPU: whoever waits for it waits for no wave.
pub(super) struct Sum {
    /// Which worker's GPU it is on.
    pub(super) home: usize,
    stream: Arc<CudaStream>,
    film: CudaSlice<u64>,
    /// Sums and a number of the largest film that there is room for on the ways to it.
    room: usize,
    /// From each worker's GPU to this one.
    crossings: Vec<Option<Crossing<u64>>>,
    /// The sum on its way to the host.
    kept: Mailbox<u64>,
    /// The last picture's memory.
    shown: Option<Shown>,
    /// For what takes a GPU no time worth naming.
    patience: Duration,
    /// Once previews were asked for.
    denoiser: Option<Denoiser>,
    /// Where pixels get samples until they are good.
    judging: Option<Judging>,
}

impl Sum {
    /// A sum of this, or a black one, on the GPU of the worker `home`. `waves` are the workers', with none for those that
    /// have failed.
    pub(super) fn new(
        home: usize,
        on: &CudaWave,
        waves: &[Option<&CudaWave>],
        film: Option<&[u64]>,
        patience: Duration,
    ) -> Result<Sum, Error> {
        let context = on.stream.context();
        // The number is cut to the highest priority that there is.
        let stream = context
            .new_stream_with_priority(i32::MIN)
            .map_err(compaction::Error::driver("create a stream"))?;
        let len = len(&on.camera);
        let crossing = |wave: &Option<&CudaWave>| {
            wave.map(|wave| Crossing::new(&wave.stream, &stream, len))
                .transpose()
        };
        Ok(Sum {
            home,
            room: len,
            film: match film {
                Some(film) => upload(&stream, film)?,
                None => zeroed(&stream, len)?,
            },
            crossings: waves.iter().map(crossing).collect::<Result<_, _>>()?,
            kept: Mailbox::new(context, len)?,
            shown: None,
            patience,
            denoiser: None,
            judging: None,
            stream,
        })
    }

    /// Whether it has room for a film of this size.
    pub(super) fn fits(&self, camera: &Camera) -> bool {
        len(camera) <= self.room
    }

    /// Bytes of the film.
    pub(super) fn bytes(&self) -> usize {
        self.film.num_bytes()
    }

    /// Whether its GPU still works. Waits for what that has to do here.
    pub(super) fn is_alive(&self) -> bool {
        rest(&self.stream, self.patience).is_ok()
    }

    /// Puts this into the place of what was there, or a black film for this camera.
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

    /// Sends a worker's film here, behind all its waves, which leaves it black.
    pub(super) fn send(&mut self, worker: usize, wave: &mut CudaWave) -> Result<(), Error> {
        if let Some(crossing) = &mut self.crossings[worker] {
            // What follows waits for it without an end.
            rest(&self.stream, self.patience)?;
            let film = [wave.sums.as_view(), wave.rejected.as_view()];
            crossing.post(&wave.stream, &film)?;
            wave.clear_film()?;
        }
        Ok(())
    }

    /// Whether the worker's film is here. `Err` is the worker's failure.
    pub(super) fn has_arrived(&self, worker: usize) -> Result<bool, Error> {
        match &self.crossings[worker] {
            Some(crossing) => Ok(crossing.has_arrived()?),
            None => Ok(true),
        }
    }

    /// Waits for the worker's film. `Err` is the worker's failure.
    pub(super) fn wait(&self, worker: usize) -> Result<(), Error> {
        match &self.crossings[worker] {
            Some(crossing) => Ok(crossing.wait_for(self.patience).map(drop)?),
            None => Ok(()),
        }
    }

    /// Adds films that are here, and returns when that is done. `kernels` are those of its own GPU.
    pub(super) fn add(&mut self, kernels: &Kernels, workers: &[usize]) -> Result<(), Error> {
        for &worker in workers {
            if let Some(crossing) = &self.crossings[worker] {
                let (film, more) = (self.film.as_view_mut(), crossing.wait()?);
                gather_on_cuda(kernels, &self.stream, film, more)?;
            }
        }
        Ok(rest(&self.stream, self.patience)?)
    }

    /// The worker's GPU has failed.
    pub(super) fn cut_off(&mut self, worker: usize) {
        self.crossings[worker] = None;
    }

    /// Begins to send all that is here now to the host.
    pub(super) fn keep(&mut self) -> Result<(), Error> {
        Ok(self.kept.post(&self.stream, self.film.as_view())?)
    }

    /// What was sent to the host last, once it is there, in the place of what is in `film`; `false` until then.
    pub(super) fn kept(&self, film: &mut Option<Vec<u64>>) -> Result<bool, Error> {
        if !self.kept.has_arrived()? {
            return Ok(false);
        }
        let arrived = self.kept.wait()?;
        copy(arrived, film.get_or_insert_default());
        Ok(true)
    }

    /// As a picture of a film that holds the first `done` pairs, unless its pixels were counted. `wave` is that of its own GPU.
    pub(super) fn develop(
        &mut self,
        wave: &CudaWave,
        done: u64,
        picture: &mut Picture,
    ) -> Result<(), Error> {
        let sums = self.film.slice(..self.film.len() - 1);
        let (kernels, camera) = (&wave.kernels, &wave.camera);
        let (stream, shown) = ((&self.stream, self.patience), &mut self.shown);
        let held = match &self.judging {
            Some(judging) => Held::Counted(judging.taken.as_view()),
            None => Held::First(done),
        };
        develop(kernels, stream, camera, sums, held, shown, picture)
    }

    /// Keeps a film that holds the first `done` pairs. `wave` is that of its own GPU.
    pub(super) fn remember(&mut self, wave: &CudaWave, done: u64) -> Result<(), Error> {
        let mut denoiser = match self.denoiser.take() {
            Some(denoiser) => denoiser,
            None => wave.new_denoiser()?,
        };
        let sums = self.film.slice(..self.film.len() - 1);
        let kept = denoiser.remember(&self.stream, sums, done);
        self.denoiser = Some(denoiser);
        kept
    }

    /// As a picture with less noise, if that is known.
    pub(super) fn denoise(
        &mut self,
        wave: &CudaWave,
        done: u64,
        preview: &mut Preview,
    ) -> Result<bool, Error> {
        let sums = self.film.slice(..self.film.len() - 1);
        if self.denoiser.is_none() && self.judging.is_some() {
            self.denoiser = Some(wave.new_denoiser()?);
        }
        let told = match &self.judging {
            Some(Judging { taken, rounds, .. }) => {
                Told::Judged(taken.as_view(), rounds.histories.as_view())
            }
            None => Told::Earlier(done),
        };
        match &mut self.denoiser {
            Some(denoiser) => {
                let stream = (&self.stream, self.patience);
                denoiser.denoise(stream, &wave.camera, sums, told, preview)
            }
            None => Ok(false),
        }
    }

    /// What is on it.
    pub(super) fn exposed(&self) -> Result<Exposed, Error> {
        Ok(exposed(download(&self.stream, &self.film)?))
    }
}

/// Whether a GPU still does what it is asked: it adds up some numbers.
pub(super) fn try_out(wave: &CudaWave, patience: Duration) -> Result<bool, Error> {
    let numbers: Vec<u64> = (0..1 << 12).collect();
    let mut sum = upload(&wave.stream, &numbers)?;
    let more = upload(&wave.stream, &numbers)?;
    let (film, more) = (sum.as_view_mut(), more.as_view());
    gather_on_cuda(&wave.kernels, &wave.stream, film, more)?;
    rest(&wave.stream, patience)?;
    let doubled = numbers.iter().map(|number| 2 * number);
    Ok(download(&wave.stream, &sum)?.into_iter().eq(doubled))
}

/// Sums and a number of a picture of this size.
pub(super) fn len(camera: &Camera) -> usize {
    3 * camera.pixel_count() as usize + 1
}

/// The same, as the rest of the program has it.
pub(super) fn exposed(mut film: Vec<u64>) -> Exposed {
    let rejected = film.pop().unwrap_or(0);
    Exposed {
        sums: film,
        rejected,
    }
}

/// And back.
pub(super) fn list(exposed: &Exposed) -> Vec<u64> {
    let number = [exposed.rejected];
    [exposed.sums.as_slice(), &number].concat()
}
