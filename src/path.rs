//! Path state: the structs that both backends share, and the mapping from paths to pixels and samples. Twin:
//! `kernels/shared/path.cuh`.

use compaction::shared;
use glam::Vec3;

use crate::sampler::hash;

/// Queue entry without a path. The strategy `off`, which does not compact, leaves it in place of ended paths.
pub const NO_PATH: u32 = u32::MAX;
/// `Hit::primitive` of a ray that hit nothing; also used wherever a primitive's index is absent.
pub const NO_PRIMITIVE: u32 = u32::MAX;
/// Bit of `PathRadiance::history`: the path has scattered off anything but smooth mirrors and glass.
pub const SCATTERED: u32 = 1;
/// Width and height of a tile, in pixels. Paths may be scheduled tile by tile so that neighbouring rays are coherent.
pub const TILE: u32 = 8;
/// Whole numbers that kernels use under the same names.
pub(crate) const CONSTANTS: &[(&str, u32)] = named![NO_PATH, NO_PRIMITIVE, SCATTERED, TILE];

shared! {
    /// The (pixel, sample) pairs of one wave, and how they are assigned to its paths.
    ///
    /// The pairs are consecutive in the order: all rendered pixels of one sample, then all of the next sample.
    pub struct Span {
        /// Width of the image in pixels.
        pub width: u32,
        /// Number of pixels that are rendered: all pixels of the image, a random subset of them, or those of a list.
        pub pixel_count: u32,
        /// Index, among the rendered pixels, of the pixel of path 0.
        pub first_pixel: u32,
        /// Sample number, within its pixel, of path 0.
        pub first_sample: u32,
        /// Number of paths in the wave, one per (pixel, sample) pair.
        pub path_count: u32,
        /// Seed of every random number.
        pub seed: u32,
        /// Number of pixels of the image that a random subset leaves out; 0 if all pixels, or those of a list, are
        /// rendered. It gives the image's pixel count, of which [`rendered_pixel`] picks the subset.
        pub skipped_pixels: u32,
        /// Seed that selects the pixels of the random subset; unused if `skipped_pixels` is 0.
        pub pick_seed: u32,
        /// Scheduling of pairs: 0 assigns them to paths in order; any other value assigns them tile by tile, see
        /// [`scheduled_pair`].
        pub tiled: u32,
        /// Base-2 logarithm of the maximum number of samples of a pixel that get adjacent paths if `tiled` is not 0.
        /// `pixel_count` times that number must be less than 2³².
        pub log2_samples_together: u32,
        /// 1 if the rendered pixels are given by a list, otherwise 0.
        pub listed: u32,
    }
}

shared! {
    /// The ray that a path traces next.
    #[repr(align(16))]
    pub struct Ray {
        /// Origin in world space, metres.
        pub origin: Vec3,
        /// Probability density of the direction, per steradian of solid angle; 0 for a camera ray or a delta
        /// distribution (mirror, smooth glass).
        pub pdf: f32,
        /// Direction in world space, of length 1.
        pub direction: Vec3,
        /// Index of the primitive that the ray leaves, to avoid hitting it again at the origin; `NO_PRIMITIVE` from the
        /// camera.
        pub from_primitive: u32,
    }
}

shared! {
    /// The intersection of a ray with a primitive, or the absence of one.
    #[repr(align(16))]
    pub struct Hit {
        /// Distance from the ray's origin to the hit in metres.
        pub distance: f32,
        /// Index of the primitive, or `NO_PRIMITIVE` if nothing was hit.
        pub primitive: u32,
        /// Barycentric weight of a triangle's second vertex, 0..=1; 0 on a sphere.
        pub u: f32,
        /// Barycentric weight of a triangle's third vertex, 0..=1; 0 on a sphere.
        pub v: f32,
    }
}

shared! {
    /// Radiance that a path has gathered so far, and what it has met.
    #[repr(align(16))]
    pub struct PathRadiance {
        /// Radiance in linear sRGB.
        pub rgb: Vec3,
        /// Bit [`SCATTERED`] is set after the path's first non-specular scattering event (anything but smooth mirrors
        /// and glass), and whenever `Ray::pdf` of the path is not 0. The bits above it list the
        /// [bodies](crate::shading::bodies) that the path is inside.
        pub history: u32,
    }
}

shared! {
    /// Throughput of a path: the product of BSDF times cosine over pdf along it, as `beta` in pbrt.
    #[repr(align(16))]
    pub struct Throughput {
        /// Throughput in linear sRGB.
        pub rgb: Vec3,
        /// pbrt's `etaScale`: the squared refractive index of the current medium over that of the first one. Russian
        /// roulette multiplies `rgb` by it, so that the radiance scaling of refraction does not affect survival.
        pub eta_scale: f32,
    }
}

shared! {
    /// A ray from a surface to a sampled point of a light, with the radiance to add if nothing blocks it.
    #[repr(align(16))]
    pub struct ShadowRay {
        /// Origin in world space, metres.
        pub origin: Vec3,
        /// Distance to the light in metres; `f32::MAX` for a light at infinity; 0 if there is no shadow ray.
        pub distance: f32,
        /// Direction in world space, of length 1.
        pub direction: Vec3,
        /// Index of the primitive that the ray leaves, or `NO_PRIMITIVE`.
        pub from_primitive: u32,
        /// Contribution to the path's sample if unoccluded, in linear sRGB: throughput times BSDF, cosine, radiance and
        /// MIS weight, over the light sample's pdf.
        pub light: Vec3,
        /// Index of the light's primitive, which does not block the ray; `NO_PRIMITIVE` if the light is not a surface.
        pub to_primitive: u32,
    }
}

/// Returns the row-major index in the image of the rendered pixel with this number, `0..span.pixel_count`.
///
/// Looks up `list` if `span.listed` is 1; `list` may be empty otherwise. If pixels are skipped, divides the image into
/// `pixel_count` stretches and picks one random pixel of each.
#[inline]
pub fn rendered_pixel(span: &Span, list: &[u32], number: u32) -> u32 {
    if span.listed != 0 {
        return list[number as usize];
    }
    if span.skipped_pixels == 0 {
        return number;
    }
    let all = u64::from(span.pixel_count) + u64::from(span.skipped_pixels);
    let first = (u64::from(number) * all / u64::from(span.pixel_count)) as u32;
    let next = ((u64::from(number) + 1) * all / u64::from(span.pixel_count)) as u32;
    first + hash(number ^ hash(span.pick_seed)) % (next - first)
}

/// Returns the index within `span` of the (pixel, sample) pair that is scheduled on a path.
///
/// Adjacent paths get several samples of one pixel, then the pixels of a tile, then the tiles of a band of rows,
/// because such rays are coherent. The samples after the last whole group are assigned in groups of half the size, and
/// so on; incomplete bands are assigned row by row. Pixels of a list keep its order.
#[inline]
pub fn scheduled_pair(span: &Span, path: u32) -> u32 {
    if span.tiled == 0 {
        return path;
    }
    let (first, log2_samples_together) = samples_together(span, path);
    let pixels = span.pixel_count.min(span.path_count - first);
    let mut pixel = (path - first) >> log2_samples_together;
    let sample = (path - first) - (pixel << log2_samples_together);
    let band = TILE * span.width;
    let start = pixel / band * band;
    if span.listed == 0 && span.width.is_multiple_of(TILE) && start + band <= pixels {
        let tile = (pixel - start) / (TILE * TILE);
        let within = (pixel - start) % (TILE * TILE);
        pixel = start + within / TILE * span.width + tile * TILE + within % TILE;
    }
    first + sample * span.pixel_count + pixel
}

/// Returns the first path of the group of whole pictures that `path` belongs to, and the base-2 logarithm of the number
/// of samples of a pixel that have adjacent paths in it.
#[inline]
fn samples_together(span: &Span, path: u32) -> (u32, u32) {
    let mut log2_samples_together = if span.tiled == 0 {
        0
    } else {
        span.log2_samples_together
    };
    let mut first = 0;
    loop {
        let group = span.pixel_count << log2_samples_together;
        first += (path - first) / group * group;
        if log2_samples_together == 0 || span.path_count - first >= group {
            return (first, log2_samples_together);
        }
        log2_samples_together -= 1;
    }
}

/// Returns the row-major pixel index and the sample number of a path of the wave.
///
/// The span must end at or before sample 2³² − 1, the last one, so that no sum overflows.
#[inline]
pub fn pixel_and_sample(span: &Span, list: &[u32], path: u32) -> (u32, u32) {
    let number = span.first_pixel + scheduled_pair(span, path);
    // Most waves hold one sample per pixel, and an integer division is slow on a CPU.
    if number < span.pixel_count {
        return (rendered_pixel(span, list, number), span.first_sample);
    }
    (
        rendered_pixel(span, list, number % span.pixel_count),
        span.first_sample + number / span.pixel_count,
    )
}

/// Replaces `pairs` by [`pixel_and_sample`] of as many paths of the span, from `first_path` on.
///
/// Computes the pair of the first path of each run of consecutive pixels, and counts up from it. This saves the integer
/// divisions of the others.
pub fn fill_pairs(span: &Span, list: &[u32], first_path: u32, pairs: &mut [(u32, u32)]) {
    let mut path = first_path;
    let mut rest = pairs;
    while !rest.is_empty() {
        let (pixel, sample) = pixel_and_sample(span, list, path);
        let run = path_run(span, path, pixel);
        let count = (run.pixels * run.samples).min(rest.len() as u32);
        let (filled, others) = rest.split_at_mut(count as usize);
        for (column, pairs) in (0..).zip(filled.chunks_mut(run.samples as usize)) {
            for (number, pair) in (0..).zip(pairs) {
                *pair = (pixel + column, sample + number);
            }
        }
        path += count;
        rest = others;
    }
}

/// A run of adjacent paths: consecutive pixels, each with the same number of samples.
struct PixelRun {
    /// Number of pixels.
    pixels: u32,
    /// Number of samples of each pixel.
    samples: u32,
}

/// Returns a run that begins with `path`, whose pixel is `pixel`. It can be shorter than possible.
fn path_run(span: &Span, path: u32, pixel: u32) -> PixelRun {
    let (first, log2_samples) = samples_together(span, path);
    let (scheduled, samples) = ((path - first) >> log2_samples, 1 << log2_samples);
    if !(path - first).is_multiple_of(samples) {
        return PixelRun {
            pixels: 1,
            samples: 1,
        };
    }
    let is_scattered = span.listed != 0 || span.skipped_pixels != 0;
    let pixels = if is_scattered {
        1
    } else {
        // Bands, tiles and their rows begin at multiples of `TILE` in this order.
        let row_end = TILE - scheduled % TILE;
        row_end
            .min(span.pixel_count - scheduled % span.pixel_count)
            .min(span.pixel_count - pixel)
    };
    PixelRun { pixels, samples }
}
