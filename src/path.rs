//! What travels: the structs that cross the border to the GPU. Twin: `kernels/shared/path.cuh`.

use compaction::shared;
use glam::Vec3;

use crate::sampler::hash;

/// "No path": what a queue holds where the strategy `off` left a dead lane.
pub const NO_PATH: u32 = u32::MAX;
/// "No primitive": what a ray hit that hit nothing.
pub const NO_PRIMITIVE: u32 = u32::MAX;
/// Columns and rows of a tile.
pub const TILE: u32 = 8;
/// The highest chance that roulette gives a path to go on.
pub const MOST_LIKELY: f32 = 0.95;
/// Scatterings before Russian roulette sets in.
pub const ROULETTE_AFTER: u32 = 5;

shared! {
    /// The (pixel, sample) pairs of one wave: a stretch of all pixels of sample 0 in row order, then of sample 1, and so on.
    pub struct Span {
        /// Pixels a row.
        pub width: u32,
        /// Pixels that are rendered.
        pub pixel_count: u32,
        /// Which of them path 0 belongs to.
        pub first_pixel: u32,
        /// Sample of path 0.
        pub first_sample: u32,
        /// Paths of the wave.
        pub path_count: u32,
        /// Seed of every random number.
        pub seed: u32,
        /// Pixels of the picture that are not rendered: 0 where it is rendered whole.
        pub skipped_pixels: u32,
        /// Which ones those are.
        pub pick: u32,
        /// How the pairs are dealt to the paths: 0 in their order, else tile by tile, see [`dealt_pair`].
        pub tiled: u32,
        /// Binary logarithm of how many samples of a pixel are next to each other then.
        pub together: u32,
        /// 1 where the pixels that are rendered are those of a list, else 0.
        pub listed: u32,
    }
}

shared! {
    /// The next ray of a path.
    #[repr(align(16))]
    pub struct Ray {
        /// World space, metres.
        pub origin: Vec3,
        /// Density with which the direction was drawn, per steradian; 0 if it was the only one possible.
        pub pdf: f32,
        /// World space, of length 1.
        pub direction: Vec3,
        /// Position of the primitive that it leaves, which it does not hit there again; `NO_PRIMITIVE` from the camera.
        pub from: u32,
    }
}

shared! {
    /// Where a ray hit.
    #[repr(align(16))]
    pub struct Hit {
        /// Distance from the ray's origin, metres.
        pub distance: f32,
        /// Position among the primitives, or `NO_PRIMITIVE`.
        pub primitive: u32,
        /// Weight of a triangle's second vertex, 0..=1.
        pub u: f32,
        /// Weight of its third vertex.
        pub v: f32,
    }
}

shared! {
    /// Light that a path gathered, per linear sRGB channel.
    #[repr(align(16))]
    pub struct Rgb {
        /// Radiance.
        pub rgb: Vec3,
        /// 1 once the path met more than mirrors and glass.
        pub scattered: u32,
    }
}

shared! {
    /// The fraction of light that a path passes on.
    #[repr(align(16))]
    pub struct Throughput {
        /// Per linear sRGB channel.
        pub rgb: Vec3,
        /// Squared refractive index of where the path is, over that of where it began: radiance grows by it on the way
        /// into a medium, and a path is no brighter for that.
        pub squeeze: f32,
    }
}

shared! {
    /// A ray towards a light, with what it brings if nothing is in its way.
    #[repr(align(16))]
    pub struct ShadowRay {
        /// World space, metres.
        pub origin: Vec3,
        /// To the light, metres; 0 if there is no such ray.
        pub distance: f32,
        /// World space, of length 1.
        pub direction: Vec3,
        /// Position of the primitive that it leaves.
        pub from: u32,
        /// Radiance that it adds to the path's sample.
        pub light: Vec3,
        /// Position of the primitive that it goes to, which is not in its way.
        pub to: u32,
    }
}

/// A pixel that is rendered, by its number among those: the list's, or one by chance out of each of as many stretches of
/// the picture. Where nothing is listed the list may be empty.
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
    first + hash(number ^ hash(span.pick)) % (next - first)
}

/// Which pair of the span a path has. Next to each other are some samples of a pixel, then the pixels of a tile, then the
/// tiles of a band of rows: their rays go nearly the same way. What fills no group of samples is dealt sample by sample, what
/// fills no band row by row. Pixels of a list are dealt in its order.
#[inline]
pub fn dealt_pair(span: &Span, path: u32) -> u32 {
    if span.tiled == 0 {
        return path;
    }
    let mut together = span.together;
    let mut pixels = span.pixel_count;
    let group = pixels << together;
    let mut first = path / group * group;
    if span.path_count - first < group {
        first += (path - first) / pixels * pixels;
        pixels = pixels.min(span.path_count - first);
        together = 0;
    }
    let mut pixel = (path - first) >> together;
    let sample = (path - first) - (pixel << together);
    let band = TILE * span.width;
    let start = pixel / band * band;
    if span.listed == 0 && span.width.is_multiple_of(TILE) && start + band <= pixels {
        let tile = (pixel - start) / (TILE * TILE);
        let within = (pixel - start) % (TILE * TILE);
        pixel = start + within / TILE * span.width + tile * TILE + within % TILE;
    }
    first + sample * span.pixel_count + pixel
}

/// Pixel and sample of a path of a wave.
#[inline]
pub fn pixel_and_sample(span: &Span, list: &[u32], path: u32) -> (u32, u32) {
    let number = span.first_pixel + dealt_pair(span, path);
    // Most waves are of one sample, and a division takes the CPU long.
    if number < span.pixel_count {
        return (rendered_pixel(span, list, number), span.first_sample);
    }
    (
        rendered_pixel(span, list, number % span.pixel_count),
        span.first_sample + number / span.pixel_count,
    )
}
