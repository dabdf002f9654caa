//! generate: the camera rays of a wave.
//!
//! Reads: span, list, camera. Writes: rays, throughputs, radiances, the queue of all paths, the count of rays of bounce 0.
//! A pixel's samples are spread over it by the camera's filter, and over the lens.

use glam::Vec3;

use compaction::cuda::{In, InOut, Launch, Source};

use crate::{
    Error,
    camera::{Camera, camera_ray, film_point},
    kernels::{BLOCK_THREADS, stage},
    path::{NO_PRIMITIVE, Ray, Rgb, Span, Throughput, pixel_and_sample},
    sampler::{PAIR_FILM, PAIR_LENS, pair, sampler},
    vectors::by_vectors,
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

/// Paths that are made together, in loops that the compiler makes vector instructions of.
const TOGETHER: usize = 32;

fn on_cpu(wave: &mut CpuWave) {
    by_vectors(
        #[inline(always)]
        || {
            let camera = wave.camera;
            if camera.focus_distance == 0.0 && camera.filter_radius == 0.0 {
                // The same said once more, for the compiler: it leaves out what lenses and filters need.
                let pinhole = Camera {
                    focus_distance: 0.0,
                    filter_radius: 0.0,
                    ..camera
                };
                first_rays(wave, &pinhole);
            } else {
                first_rays(wave, &camera);
            }
        },
    );
    for path in 0..wave.span.path_count {
        let slot = path as usize;
        wave.throughputs[slot] = Throughput {
            rgb: Vec3::ONE,
            squeeze: 1.0,
        };
        wave.radiances[slot] = Rgb::default();
        wave.queue[slot] = path;
    }
    wave.counts[0] = wave.span.path_count;
}

/// What `first_ray` makes for each path.
#[inline(always)]
fn first_rays(wave: &mut CpuWave, camera: &Camera) {
    let Span { width, seed, .. } = wave.span;
    let paths = ..wave.span.path_count as usize;
    let (mut pixels, mut samples) = ([0; TOGETHER], [0; TOGETHER]);
    let (mut columns, mut rows) = ([0; TOGETHER], [0; TOGETHER]);
    let (mut us, mut vs) = ([0.0; TOGETHER], [0.0; TOGETHER]);
    let (mut lens_us, mut lens_vs) = ([0.0; TOGETHER], [0.0; TOGETHER]);
    let mut origins = [[0.0; TOGETHER]; 3];
    let mut directions = [[0.0; TOGETHER]; 3];
    let pairs = wave.pairs[paths].chunks(TOGETHER);
    for (pairs, rays) in pairs.zip(wave.rays[paths].chunks_mut(TOGETHER)) {
        for (at, &(pixel, sample)) in pairs.iter().enumerate() {
            (pixels[at], samples[at]) = (pixel, sample);
            (columns[at], rows[at]) = (pixel % width, pixel / width);
        }
        for at in 0..TOGETHER {
            let numbers = sampler(seed, pixels[at], samples[at]);
            (us[at], vs[at]) = pair(numbers, 0, PAIR_FILM);
        }
        if camera.focus_distance != 0.0 {
            for at in 0..TOGETHER {
                let numbers = sampler(seed, pixels[at], samples[at]);
                (lens_us[at], lens_vs[at]) = pair(numbers, 0, PAIR_LENS);
            }
        }
        for at in 0..TOGETHER {
            let (x, y) = film_point(camera, columns[at], rows[at], us[at], vs[at]);
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
                from: NO_PRIMITIVE,
            };
        }
    }
}

/// The first ray of a path.
#[inline]
pub(crate) fn first_ray(camera: &Camera, span: &Span, list: &[u32], path: u32) -> Ray {
    let (pixel, sample) = pixel_and_sample(span, list, path);
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
    In<u32>,
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
            wave.list.as_view(),
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
