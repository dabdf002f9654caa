//! The stage `generate`: creates the camera rays of a wave.
//!
//! Reads: the span, the list of rendered pixels, and the camera. Writes by path: rays, throughputs and radiances.
//! Writes the queue of all paths, and the count of rays of bounce 0; it clears the other counts, and on CUDA the times.
//! Method: each sample has its own random point within the camera's pixel filter, and on the lens.

use glam::Vec3;

use compaction::cuda::{In, InOut, Launch, Source};

use super::{
    Stage,
    wave::{CpuWave, CudaWave, Wave},
};
use crate::{
    Error,
    accel::vectors::vectorized,
    camera::{Camera, camera_ray, film_point, filter_offsets, filtered_point},
    device::{
        kernels::{BLOCK_THREADS, stage},
        path_buffers::PathBuffers,
    },
    path::{NO_PRIMITIVE, PathRadiance, Ray, Span, Throughput},
    sampler::{PAIR_FILM, PAIR_LENS, pair, sampler},
};

/// Creates the camera rays of a wave that has begun. On CUDA it only enqueues the work.
pub fn generate(wave: &mut Wave) -> Result<(), Error> {
    match wave {
        Wave::Cpu(cpu) => on_cpu(cpu),
        Wave::Cuda(cuda) => on_cuda(cuda)?,
    }
    wave.mark(Stage::Generate);
    Ok(())
}

/// Number of paths that are processed together, in loops that the compiler vectorises.
const PATHS_PER_BLOCK: usize = 32;

fn on_cpu(wave: &mut CpuWave) {
    vectorized(
        #[inline(always)]
        || {
            let camera = wave.camera;
            let has_lens = camera.focus_distance != 0.0;
            let has_filter = camera.filter_radius != 0.0;
            // Constant zeros let the compiler remove the code for lenses and filters.
            match (has_lens, has_filter) {
                (false, false) => first_rays(
                    wave,
                    &Camera {
                        focus_distance: 0.0,
                        filter_radius: 0.0,
                        ..camera
                    },
                ),
                (false, true) => first_rays(
                    wave,
                    &Camera {
                        focus_distance: 0.0,
                        ..camera
                    },
                ),
                _ => first_rays(wave, &camera),
            }
        },
    );
    let radiance = PathRadiance {
        rgb: Vec3::ZERO,
        history: wave.camera.bodies << 1,
    };
    for path in 0..wave.span.path_count {
        let index = path as usize;
        wave.throughputs[index] = Throughput {
            rgb: Vec3::ONE,
            eta_scale: 1.0,
        };
        wave.radiances[index] = radiance;
        wave.queue[index] = path;
    }
    wave.counts[0] = wave.span.path_count;
}

/// Writes the camera rays of all paths into `wave.rays`, with the same bits as [`first_ray`].
#[inline(always)]
fn first_rays(wave: &mut CpuWave, camera: &Camera) {
    let Span { width, seed, .. } = wave.span;
    let paths = ..wave.span.path_count as usize;
    let (mut pixels, mut samples) = ([0; PATHS_PER_BLOCK], [0; PATHS_PER_BLOCK]);
    let (mut columns, mut rows) = ([0; PATHS_PER_BLOCK], [0; PATHS_PER_BLOCK]);
    let (mut us, mut vs) = ([0.0; PATHS_PER_BLOCK], [0.0; PATHS_PER_BLOCK]);
    let (mut lens_us, mut lens_vs) = ([0.0; PATHS_PER_BLOCK], [0.0; PATHS_PER_BLOCK]);
    let mut origins = [[0.0; PATHS_PER_BLOCK]; 3];
    let mut directions = [[0.0; PATHS_PER_BLOCK]; 3];
    let pairs = wave.pairs[paths].chunks(PATHS_PER_BLOCK);
    for (pairs, rays) in pairs.zip(wave.rays[paths].chunks_mut(PATHS_PER_BLOCK)) {
        for (at, &(pixel, sample)) in pairs.iter().enumerate() {
            (pixels[at], samples[at]) = (pixel, sample);
            (columns[at], rows[at]) = (pixel % width, pixel / width);
        }
        for at in 0..PATHS_PER_BLOCK {
            let numbers = sampler(seed, pixels[at], samples[at]);
            (us[at], vs[at]) = pair(numbers, 0, PAIR_FILM);
        }
        if camera.focus_distance != 0.0 {
            for at in 0..PATHS_PER_BLOCK {
                let numbers = sampler(seed, pixels[at], samples[at]);
                (lens_us[at], lens_vs[at]) = pair(numbers, 0, PAIR_LENS);
            }
        }
        if camera.filter_radius != 0.0 {
            us = filter_offsets(camera, &us);
            vs = filter_offsets(camera, &vs);
        }
        // All functions are always inlined, because a loop with a call is not vectorised.
        for at in 0..PATHS_PER_BLOCK {
            let (x, y) = if camera.filter_radius == 0.0 {
                film_point(camera, columns[at], rows[at], us[at], vs[at])
            } else {
                filtered_point(camera, columns[at], rows[at], (us[at], vs[at]))
            };
            let (origin, direction) = camera_ray(camera, x, y, lens_us[at], lens_vs[at]);
            for axis in 0..3 {
                origins[axis][at] = origin[axis];
                directions[axis][at] = direction[axis];
            }
        }
        for (at, ray) in rays.iter_mut().enumerate() {
            *ray = Ray {
                origin: Vec3::new(origins[0][at], origins[1][at], origins[2][at]),
                pdf: 0.0,
                direction: Vec3::new(directions[0][at], directions[1][at], directions[2][at]),
                from_primitive: NO_PRIMITIVE,
            };
        }
    }
}

/// Returns the camera ray of a sample of a pixel. `span` gives the seed, and the width of the image.
#[inline]
pub(crate) fn first_ray(camera: &Camera, span: &Span, pixel: u32, sample: u32) -> Ray {
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
        from_primitive: NO_PRIMITIVE,
    }
}

/// Parameters of the kernel: the paths, the camera, and the counts and start times to initialise, each with its length.
pub(super) type Arguments = (
    PathBuffers<'static>,
    In<Camera>,
    InOut<u32>,
    u32,
    InOut<u64>,
    u32,
);

/// Returns the source of the kernel `generate`.
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
            wave.paths.argument(),
            wave.camera.device.as_view(),
            wave.counts.as_view_mut(),
            count_slots,
            wave.stamps.as_view_mut(),
            stamp_count,
        ),
    )?;
    Ok(())
}
