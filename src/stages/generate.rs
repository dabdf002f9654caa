//! generate: the camera rays of a wave.
//!
//! Reads: span, camera. Writes: rays, throughputs, radiances, the queue of all paths, the count of rays of bounce 0.
//! A pixel's samples are spread over it by the camera's filter, and over the lens.

use glam::Vec3;

use compaction::cuda::{In, InOut, Launch, Source};

use crate::{
    Error,
    camera::{Camera, camera_ray, film_point},
    kernels::{BLOCK_THREADS, stage},
    path::{NO_PRIMITIVE, Ray, Rgb, Span, Throughput, pixel_and_sample},
    sampler::{PAIR_FILM, PAIR_LENS, pair, sampler},
    wave::{CpuWave, CudaWave, Stage, Wave},
};

/// Runs the stage.
pub fn generate(wave: &mut Wave) -> Result<(), Error> {
    match wave {
        Wave::Cpu(cpu) => on_cpu(cpu),
        Wave::Cuda(cuda) => on_cuda(cuda)?,
    }
    wave.mark(Stage::Generate);
    Ok(())
}

fn on_cpu(wave: &mut CpuWave) {
    let span = wave.span;
    for path in 0..span.path_count {
        let slot = path as usize;
        wave.rays[slot] = first_ray(&wave.camera, &span, path);
        wave.throughputs[slot] = Throughput {
            rgb: Vec3::ONE,
            squeeze: 1.0,
        };
        wave.radiances[slot] = Rgb::default();
        wave.queue[slot] = path;
    }
    wave.counts[0] = span.path_count;
}

/// The first ray of a path.
#[inline]
pub(crate) fn first_ray(camera: &Camera, span: &Span, path: u32) -> Ray {
    let (pixel, sample) = pixel_and_sample(span, path);
    let numbers = sampler(span.seed, pixel, sample);
    let (u, v) = pair(numbers, 0, PAIR_FILM);
    let (x, y) = film_point(camera, pixel % span.width, pixel / span.width, u, v);
    let (u, v) = if camera.focus_distance == 0.0 {
        (0.0, 0.0)
    } else {
        pair(numbers, 0, PAIR_LENS)
    };
    let (origin, direction) = camera_ray(camera, x, y, u, v);
    Ray {
        origin,
        pdf: 0.0,
        direction,
        from: NO_PRIMITIVE,
    }
}

/// What the kernel takes.
pub(super) type Arguments = (
    In<Span>,
    In<Camera>,
    InOut<Ray>,
    InOut<Throughput>,
    InOut<Rgb>,
    InOut<u32>,
    InOut<u32>,
    u32,
    InOut<u64>,
    u32,
);

/// The kernel's file.
pub(super) fn source() -> Source {
    stage::<Arguments>(
        "kernels/generate.cu",
        include_str!("../../kernels/generate.cu"),
        "generate",
    )
}

fn on_cuda(wave: &mut CudaWave) -> Result<(), Error> {
    let count_slots = wave.counts.len() as u32;
    let stamp_count = wave.stamps.len() as u32;
    let threads = wave.span.path_count.max(count_slots).max(stamp_count);
    wave.kernels.generate.launch(
        &wave.stream,
        Launch::covering(threads, BLOCK_THREADS),
        (
            wave.device_span.as_view(),
            wave.device_camera.as_view(),
            wave.rays.as_view_mut(),
            wave.throughputs.as_view_mut(),
            wave.radiances.as_view_mut(),
            wave.queue.as_view_mut(),
            wave.counts.as_view_mut(),
            count_slots,
            wave.stamps.as_view_mut(),
            stamp_count,
        ),
    )?;
    Ok(())
}
