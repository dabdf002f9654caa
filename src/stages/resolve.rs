//! resolve: the film as a picture, once a frame.
//!
//! Reads: the film's sums, how many (pixel, sample) pairs they hold. Writes: the mean radiance of every pixel.

use std::sync::{Arc, atomic::Ordering::Relaxed};

use compaction::{
    cuda::{In, InOut, Launch, Mailbox, Source, uninitialised},
    cudarc::driver::{CudaSlice, CudaStream},
};
use glam::Vec3;
use rayon::prelude::*;

use crate::{
    Error,
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
    let pixel_count = wave.camera.pixel_count();
    let len = 3 * pixel_count as usize;
    let mut shown = match wave
        .shown
        .take()
        .filter(|shown| shown.channels.len() == len)
    {
        Some(shown) => shown,
        None => Shown::new(&wave.stream, len)?,
    };
    wave.kernels.resolve.launch(
        &wave.stream,
        Launch::covering(3 * pixel_count, BLOCK_THREADS),
        (
            pixel_count,
            done,
            wave.sums.as_view(),
            shown.channels.as_view_mut(),
        ),
    )?;
    shown.arrived.post(&wave.stream, shown.channels.as_view())?;
    let channels = shown.arrived.wait()?;
    let pixels = bytemuck::cast_slice(channels).to_vec();
    wave.shown = Some(shown);
    Ok(Picture {
        width: wave.camera.width as u32,
        height: wave.camera.height as u32,
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
