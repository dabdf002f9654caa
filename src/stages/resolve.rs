//! The stage `resolve`: converts the film to an image, once per frame.
//!
//! Reads: the film's sums and either the number of (pixel, sample) pairs on the film, from which the sample count of
//! each pixel follows, or the sample counts themselves. Writes: the mean radiance of every pixel.
//! Method: each fixed-point sum is divided by the sample count of its pixel.

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
    film::picture::Picture,
    film::{mean, samples_of},
};

/// Writes the image of the wave's film into `picture`, whose buffer is reused. Waits until the image is in host memory.
///
/// `done` is the number of (pixel, sample) pairs on the film, see [`samples_of`]. It is ignored in adaptive renders,
/// whose films count the samples of each pixel.
///
/// # Errors
/// If the image's memory cannot be allocated. On a GPU also if a kernel fails, or if the image does not arrive before
/// the wave's timeout.
pub fn resolve(wave: &mut Wave, done: u64, picture: &mut Picture) -> Result<(), Error> {
    match wave {
        Wave::Cpu(cpu) => on_cpu(cpu, done, picture),
        Wave::Cuda(cuda) => on_cuda(cuda, done, picture),
    }
}

fn on_cpu(wave: &CpuWave, done: u64, picture: &mut Picture) -> Result<(), Error> {
    let (width, height) = wave.camera.size();
    let pixel = |pixel: u32| {
        let samples = match wave.film.sample_counts() {
            Some(sample_counts) => sample_counts[pixel as usize].load(Relaxed),
            None => samples_of(pixel, width * height, done),
        };
        let first = 3 * pixel as usize;
        let channel = |index: usize| mean(wave.film.sums[first + index].load(Relaxed), samples);
        Vec3::new(channel(0), channel(1), channel(2))
    };
    picture.fill((width, height), pixel)
}

/// Parameters of the kernel: the number of pixels, the number of (pixel, sample) pairs on the film, the sums, and the
/// image.
pub(super) type Arguments = (u32, u64, In<u64>, InOut<f32>);

/// Parameters of the kernel for films that count the samples of each pixel: the number of pixels, their sample counts,
/// the sums, and the image.
pub(super) type UnevenArguments = (u32, In<u32>, In<u64>, InOut<f32>);

/// Returns the source of the kernels `resolve` and `resolve_uneven`.
pub(super) fn source() -> Source {
    stage::<Arguments>(
        "kernels/resolve.cu",
        include_str!("../../kernels/resolve.cu"),
        "resolve",
    )
    .kernel::<UnevenArguments>("resolve_uneven")
}

fn on_cuda(wave: &mut CudaWave, done: u64, picture: &mut Picture) -> Result<(), Error> {
    let mut readback = wave.image_readback.take();
    let sums = wave.film.sums.as_view();
    let (stream, kernels, camera) = (&wave.stream, &wave.kernels, &wave.camera.host);
    let stream = (stream, wave.timeout());
    let samples = if wave.rounds.is_some() {
        FilmSamples::PerPixel(wave.film.sample_counts.as_view())
    } else {
        FilmSamples::FirstPairs(done)
    };
    let resolved = develop(
        kernels,
        stream,
        camera,
        sums,
        samples,
        &mut readback,
        picture,
    );
    wave.image_readback = readback;
    wave.record_timeout(resolved)
}

/// The samples that a film on a GPU contains, from which the sample count of each pixel follows.
pub(crate) enum FilmSamples<'a> {
    /// The first (pixel, sample) pairs of the render, and their number.
    FirstPairs(u64),
    /// The first samples of each pixel, and a buffer with the number of them for each pixel.
    PerPixel(CudaView<'a, u32>),
}

/// Resolves a film on a GPU into `picture`, whose buffer is reused.
///
/// `camera` gives the size of the image, and `sums` holds three channels per pixel. `readback` holds the buffers of the
/// previous image for reuse; `None` allocates new ones. Waits until the stream is done, at most for the duration in
/// `stream`.
///
/// # Errors
/// If a kernel fails, or on a timeout. After a timeout `readback` must not be dropped, because that waits without a
/// limit.
pub(crate) fn develop(
    kernels: &Kernels,
    stream: (&Arc<CudaStream>, Duration),
    camera: &Camera,
    sums: CudaView<'_, u64>,
    samples: FilmSamples<'_>,
    readback: &mut Option<ImageReadback>,
    picture: &mut Picture,
) -> Result<(), Error> {
    let pixel_count = camera.pixel_count();
    let size = (camera.width as u32, camera.height as u32);
    ImageReadback::read_image(readback, stream, size, picture, |channels| {
        let launch = Launch::covering(3 * pixel_count, BLOCK_THREADS);
        match samples {
            FilmSamples::FirstPairs(done) => {
                let arguments = (pixel_count, done, sums, channels);
                kernels.resolve.launch(stream.0, launch, arguments)
            }
            FilmSamples::PerPixel(sample_counts) => {
                let arguments = (pixel_count, sample_counts, sums, channels);
                kernels.resolve_uneven.launch(stream.0, launch, arguments)
            }
        }
    })
}

/// The buffers through which an image is copied from a GPU to the host.
pub struct ImageReadback {
    /// The image in the GPU's memory, three channels per pixel.
    channels: CudaSlice<f32>,
    /// The page-locked copy in host memory.
    host_copy: Readback<f32>,
}

impl ImageReadback {
    /// Copies an image of `width` × `height` pixels from the GPU into `picture`. `launch` enqueues the kernel that
    /// writes the image, three channels per pixel.
    ///
    /// `readback` holds the buffers of the previous image, which are replaced if the size differs; `None` allocates new
    /// ones. Waits until the stream is done, at most for `timeout`.
    pub(super) fn read_image(
        readback: &mut Option<ImageReadback>,
        (stream, timeout): (&Arc<CudaStream>, Duration),
        (width, height): (u32, u32),
        picture: &mut Picture,
        launch: impl FnOnce(CudaViewMut<'_, f32>) -> compaction::Result<()>,
    ) -> Result<(), Error> {
        let len = 3 * width as usize * height as usize;
        let buffers = match readback.take().filter(|last| last.channels.len() == len) {
            Some(last) => last,
            None => ImageReadback::new(stream, len)?,
        };
        // Stored before the wait, because dropping the buffers after a timeout would wait without a limit.
        let buffers = readback.insert(buffers);
        launch(buffers.channels.as_view_mut())?;
        buffers.host_copy.post(stream, buffers.channels.as_view())?;
        let channels = buffers.host_copy.wait_for(timeout)?;
        (picture.width, picture.height) = (width, height);
        // All threads copy, because a single one takes longer than the transfer.
        bytemuck::cast_slice(channels)
            .par_iter()
            .copied()
            .collect_into_vec(&mut picture.pixels);
        Ok(())
    }

    fn new(stream: &Arc<CudaStream>, channels: usize) -> Result<ImageReadback, Error> {
        Ok(ImageReadback {
            channels: uninitialised(stream, channels)?,
            host_copy: Readback::new(stream.context(), channels)?,
        })
    }
}
