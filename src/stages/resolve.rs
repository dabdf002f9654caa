//! resolve: the film as a picture, once a frame.
//!
//! Reads: the film's sums, how many (pixel, sample) pairs they hold. Writes: the mean radiance of every pixel.

use std::sync::{Arc, atomic::Ordering::Relaxed};

use compaction::{
    cuda::{In, InOut, Launch, Mailbox, Source, uninitialised},
    cudarc::driver::{CudaSlice, CudaStream, CudaView},
};
use glam::Vec3;
use rayon::prelude::*;

use super::Kernels;
use crate::{
    Error,
    camera::Camera,
    film::{mean, samples_of},
    kernels::{BLOCK_THREADS, stage},
    picture::Picture,
    wave::{CpuWave, CudaWave, Wave},
};

/// Runs the stage over a film that holds the first `done` pairs.
pub fn resolve(wave: &mut Wave, done: u64) -> Result<Picture, Error> {
    match wave {
        Wave::Cpu(cpu) => Ok(on_cpu(cpu, done)),
        Wave::Cuda(cuda) => on_cuda(cuda, done),
    }
}

fn on_cpu(wave: &CpuWave, done: u64) -> Picture {
    let (width, height) = (wave.camera.width as u32, wave.camera.height as u32);
    let pixel = |pixel: u32| {
        let samples = samples_of(pixel, width * height, done);
        let first = 3 * pixel as usize;
        let channel = |index: usize| mean(wave.film.sums[first + index].load(Relaxed), samples);
        Vec3::new(channel(0), channel(1), channel(2))
    };
    Picture {
        width,
        height,
        pixels: (0..width * height).into_par_iter().map(pixel).collect(),
    }
}

/// What the kernel takes.
pub(super) type Arguments = (u32, u64, In<u64>, InOut<f32>);

/// The kernel's file.
pub(super) fn source() -> Source {
    stage::<Arguments>(
        "kernels/resolve.cu",
        include_str!("../../kernels/resolve.cu"),
        "resolve",
    )
}

fn on_cuda(wave: &mut CudaWave, done: u64) -> Result<Picture, Error> {
    let mut shown = wave.shown.take();
    let (stream, sums) = (&wave.stream, wave.sums.as_view());
    let picture = develop(&wave.kernels, stream, &wave.camera, sums, done, &mut shown);
    wave.shown = shown;
    picture
}

/// Runs the stage on a GPU, over the sums of a film that is looked at through this camera. `shown` is what the picture
/// before was shown by, and is kept for the next.
pub(crate) fn develop(
    kernels: &Kernels,
    stream: &Arc<CudaStream>,
    camera: &Camera,
    sums: CudaView<'_, u64>,
    done: u64,
    shown: &mut Option<Shown>,
) -> Result<Picture, Error> {
    let pixel_count = camera.pixel_count();
    let len = 3 * pixel_count as usize;
    let mut on_its_way = match shown.take().filter(|shown| shown.channels.len() == len) {
        Some(shown) => shown,
        None => Shown::new(stream, len)?,
    };
    kernels.resolve.launch(
        stream,
        Launch::covering(3 * pixel_count, BLOCK_THREADS),
        (pixel_count, done, sums, on_its_way.channels.as_view_mut()),
    )?;
    on_its_way
        .arrived
        .post(stream, on_its_way.channels.as_view())?;
    let channels = on_its_way.arrived.wait()?;
    // By all threads: what is written for the first time has to be found by the system, page by page.
    let pixels = bytemuck::cast_slice(channels).par_iter().copied().collect();
    *shown = Some(on_its_way);
    Ok(Picture {
        width: camera.width as u32,
        height: camera.height as u32,
        pixels,
    })
}

/// A picture on its way to the host.
pub struct Shown {
    channels: CudaSlice<f32>,
    arrived: Mailbox<f32>,
}

impl Shown {
    fn new(stream: &Arc<CudaStream>, channels: usize) -> Result<Shown, Error> {
        Ok(Shown {
            channels: uninitialised(stream, channels)?,
            arrived: Mailbox::new(stream.context(), channels)?,
        })
    }
}
