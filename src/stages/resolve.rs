//! The stage `resolve`: converts the film to an image, once per frame.
//!
//! Reads: the film's sums, and the number of (pixel, sample) pairs they hold or the number of samples of each pixel.
//! Writes: the mean radiance of every pixel.

use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use compaction::{
    cuda::{In, InOut, Launch, Readback, Source, uninitialised},
    cudarc::driver::{CudaSlice, CudaStream, CudaView, CudaViewMut},
};
use glam::Vec3;
use rayon::prelude::*;

use super::Kernels;
use super::wave::{CpuWave, CudaWave, Wave};
use crate::{
    Error,
    camera::Camera,
    device::kernels::{BLOCK_THREADS, stage},
    film::{mean, samples_of},
    picture::Picture,
};

/// Runs the stage over a film that holds the first `done` pairs, unless it counts the samples of each pixel itself; into the
/// memory of a picture that is not needed any more.
pub fn resolve(wave: &mut Wave, done: u64, picture: &mut Picture) -> Result<(), Error> {
    match wave {
        Wave::Cpu(cpu) => on_cpu(cpu, done, picture),
        Wave::Cuda(cuda) => return on_cuda(cuda, done, picture),
    }
    Ok(())
}

fn on_cpu(wave: &CpuWave, done: u64, picture: &mut Picture) {
    let (width, height) = (wave.camera.width as u32, wave.camera.height as u32);
    let pixel = |pixel: u32| {
        let samples = match wave.film.taken() {
            Some(taken) => taken[pixel as usize].load(Relaxed),
            None => samples_of(pixel, width * height, done),
        };
        let first = 3 * pixel as usize;
        let channel = |index: usize| mean(wave.film.sums[first + index].load(Relaxed), samples);
        Vec3::new(channel(0), channel(1), channel(2))
    };
    (picture.width, picture.height) = (width, height);
    (0..width * height)
        .into_par_iter()
        .map(pixel)
        .collect_into_vec(&mut picture.pixels);
}

/// Parameters of the kernel: the number of pixels, the number of pairs on the film, the sums, and the image.
pub(super) type Arguments = (u32, u64, In<u64>, InOut<f32>);

/// Parameters of the kernel for films that count the samples of each pixel: the number of pixels, the samples, the
/// sums, and the image.
pub(super) type UnevenArguments = (u32, In<u32>, In<u64>, InOut<f32>);

/// Returns the source of the kernel.
pub(super) fn source() -> Source {
    stage::<Arguments>(
        "kernels/resolve.cu",
        include_str!("../../kernels/resolve.cu"),
        "resolve",
    )
    .kernel::<UnevenArguments>("resolve_uneven")
}

fn on_cuda(wave: &mut CudaWave, done: u64, picture: &mut Picture) -> Result<(), Error> {
    let mut shown = wave.shown.take();
    let sums = wave.film.sums.as_view();
    let (stream, kernels, camera) = (&wave.stream, &wave.kernels, &wave.camera.host);
    let stream = (stream, wave.timeout());
    let held = if wave.rounds.is_some() {
        Held::Counted(wave.film.taken.as_view())
    } else {
        Held::First(done)
    };
    let developed = develop(kernels, stream, camera, sums, held, &mut shown, picture);
    wave.shown = shown;
    wave.noticing(developed)
}

/// Which samples a film holds.
pub(crate) enum Held<'a> {
    /// The first so many pairs.
    First(u64),
    /// Of each pixel the first so many.
    Counted(CudaView<'a, u32>),
}

/// Runs the stage on a GPU, over the sums of a film that is looked at through this camera. `shown` is what the picture
/// before was shown by, and is kept for the next. Waits for so long at most for what the stream has to do.
pub(crate) fn develop(
    kernels: &Kernels,
    stream: (&Arc<CudaStream>, Duration),
    camera: &Camera,
    sums: CudaView<'_, u64>,
    held: Held<'_>,
    shown: &mut Option<Shown>,
    picture: &mut Picture,
) -> Result<(), Error> {
    let pixel_count = camera.pixel_count();
    let size = (camera.width as u32, camera.height as u32);
    Shown::deliver(shown, stream, size, picture, |channels| {
        let launch = Launch::covering(3 * pixel_count, BLOCK_THREADS);
        match held {
            Held::First(done) => {
                let arguments = (pixel_count, done, sums, channels);
                kernels.resolve.launch(stream.0, launch, arguments)
            }
            Held::Counted(taken) => {
                let arguments = (pixel_count, taken, sums, channels);
                kernels.resolve_uneven.launch(stream.0, launch, arguments)
            }
        }
    })
}

/// A picture on its way to the host.
pub struct Shown {
    channels: CudaSlice<f32>,
    arrived: Readback<f32>,
}

impl Shown {
    /// Lets `develop` write the channels of a picture of this size, and waits until they are here; for so long at most for
    /// what the stream has to do.
    pub(super) fn deliver(
        shown: &mut Option<Shown>,
        (stream, timeout): (&Arc<CudaStream>, Duration),
        (width, height): (u32, u32),
        picture: &mut Picture,
        develop: impl FnOnce(CudaViewMut<'_, f32>) -> compaction::Result<()>,
    ) -> Result<(), Error> {
        let len = 3 * width as usize * height as usize;
        let on_its_way = match shown.take().filter(|shown| shown.channels.len() == len) {
            Some(shown) => shown,
            None => Shown::new(stream, len)?,
        };
        // Kept, too, where nothing comes: what is dropped is waited for.
        let on_its_way = shown.insert(on_its_way);
        develop(on_its_way.channels.as_view_mut())?;
        on_its_way
            .arrived
            .post(stream, on_its_way.channels.as_view())?;
        let channels = on_its_way.arrived.wait_for(timeout)?;
        (picture.width, picture.height) = (width, height);
        // By all threads: one alone takes longer than the picture takes to arrive.
        bytemuck::cast_slice(channels)
            .par_iter()
            .copied()
            .collect_into_vec(&mut picture.pixels);
        Ok(())
    }

    fn new(stream: &Arc<CudaStream>, channels: usize) -> Result<Shown, Error> {
        Ok(Shown {
            channels: uninitialised(stream, channels)?,
            arrived: Readback::new(stream.context(), channels)?,
        })
    }
}
