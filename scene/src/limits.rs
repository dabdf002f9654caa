//! Limits of coordinates, render settings and radiance, and the checks of single settings against them.

use std::ops::RangeInclusive;

use crate::memory;

/// Upper bound, exclusive, of each channel of a radiance sample that the film accepts: 2²⁴ W·sr⁻¹·m⁻². Larger samples
/// are rejected and counted, so a scene with a brighter light is an error.
pub const SAMPLE_LIMIT: f32 = 16_777_216.0;
/// Largest radiance, W·sr⁻¹·m⁻² per channel, of an infinitely distant light that the camera sees directly or through
/// only mirrors and clear glass. Brighter channels are clamped to it, because a sun's disk would overflow the film.
pub const MAX_VISIBLE_RADIANCE: f32 = 16_384.0;
/// Smallest GGX `alpha` of a rough material. A smaller one would look like a smooth surface.
pub const MIN_ALPHA: f32 = 0.001;
/// Largest number of blends that contain one another. A blend of two materials that are not blends counts as 1.
pub const MAX_BLENDS: u32 = 8;
/// Largest thickness of a thin film in nanometres. Thicker films have no visible interference.
pub const MAX_FILM_THICKNESS: f32 = 1e5;
/// Largest strength of dispersion. The Abbe number is 20 divided by it, and real materials have at least 9.
pub const MAX_DISPERSION: f32 = 100.0;
/// Largest magnitude of the shift of a camera, in whole widths and heights of its image. A larger shift is an error in
/// a `.ron` scene; other formats clamp it.
pub(crate) const MAX_SHIFT: f64 = 1e6;
/// Smallest width of a pixel divided by its height. A smaller one is an error in a `.ron` scene; other formats clamp it.
pub(crate) const MIN_PIXEL_ASPECT: f64 = 1e-3;
/// Largest width of a pixel divided by its height. A larger one is an error in a `.ron` scene; other formats clamp it.
pub(crate) const MAX_PIXEL_ASPECT: f64 = 1e3;
/// Largest number of emissive triangles of all instances that can be sampled as lights: 2²⁰. A triangle of a mesh
/// counts once per instance. Each takes about 300 bytes.
pub const MAX_INSTANCED_LIGHTS: u64 = 1 << 20;
/// Peak memory in bytes that the renderer needs per triangle, sphere or instance to build acceleration structures for
/// the CPU, besides the scene. Measured on binary PLY files of 1 to 20 million triangles: 210 to 221.
pub const BUILDING_BYTES: u64 = 230;

/// Memory in bytes that the acceleration structures of the renderer take per triangle, sphere or instance on the CPU.
/// Measured on binary PLY files of 1 to 5 million triangles.
pub const RENDERING_BYTES: u64 = 200;

/// Peak memory of the acceleration structures over instances, in bytes per instance, besides that of all primitives.
/// Measured on a scene of 100,000 instances.
pub const INSTANCE_BYTES: u64 = 270;

/// Largest number of primitives of a scene: triangles, spheres and instances together. The triangles of a mesh count
/// once. Primitive indices have 32 bits, and one bit is reserved.
pub(crate) const MAX_PRIMITIVES: usize = 1 << 31;

/// Largest coordinate and length in metres. The square of a product of two of them still fits into an `f32`.
pub(crate) const MAX_LENGTH: f64 = 1e8;
/// Smallest length in metres. Its square is still a normal `f32`.
pub(crate) const MIN_LENGTH: f64 = 1e-15;

/// Largest product of a radiance, in W·sr⁻¹·m⁻², and the samples per pixel: 2³⁰. The film's 64-bit fixed-point sums
/// hold it without overflow.
const FILM_LIMIT: f64 = (1u64 << 30) as f64;
/// Largest number of pixels of an image, 2²⁸, so that path indices fit into 32 bits with a wide margin.
const MAX_PIXELS: u64 = 1 << 28;
/// Largest width and height of an image in pixels.
const MAX_SIDE: u32 = 1 << 16;
/// Largest valid value of [`Scene::max_bounces`](crate::Scene::max_bounces). It bounds the size of the statistics,
/// which have an entry per bounce.
pub const MAX_BOUNCES: u32 = 4096;
/// Value of [`Scene::roulette`](crate::Scene::roulette) unless a scene sets it: the first four scattering events end no
/// path at random.
pub const DEFAULT_ROULETTE: u32 = 5;
/// Valid values of [`Scene::clamp_indirect`](crate::Scene::clamp_indirect), in W·sr⁻¹·m⁻².
pub(crate) const CLAMP_RANGE: RangeInclusive<f32> = 1e-6..=1e6;
/// Bytes of memory that every render needs per pixel: three 64-bit film sums and three floats.
const BYTES_PER_PIXEL: u64 = 3 * 8 + 3 * 4;

/// Checks that width and height in pixels are within the limits, like [`check_sides`], and that the image fits into
/// memory.
///
/// # Errors
/// A phrase with the reason, to be put after the size, such as `must be at least 1x1 pixel`.
pub(crate) fn check_size(size: (u32, u32)) -> Result<(), String> {
    check_sides(size).map_err(|problem| problem.to_string())?;
    memory::check(u64::from(size.0) * u64::from(size.1) * BYTES_PER_PIXEL)
        .map_err(|problem| format!("{problem}; choose a smaller size"))
}

/// Checks that width and height in pixels are within the limits: 1..=65,536 per side and at most 2²⁸ pixels.
///
/// The available memory is not checked.
///
/// # Errors
/// The limit that the size exceeds.
pub fn check_sides((width, height): (u32, u32)) -> Result<(), SizeError> {
    let pixels = u64::from(width) * u64::from(height);
    if pixels == 0 {
        return Err(SizeError::Empty);
    }
    if width.max(height) > MAX_SIDE || pixels > MAX_PIXELS {
        return Err(SizeError::TooLarge);
    }
    Ok(())
}

/// The reason why an image cannot have a size: a phrase to be put after the size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    /// Width or height is 0.
    #[error("must be at least 1x1 pixel")]
    Empty,
    /// A side is longer than 65,536 pixels, or the image has more than 2²⁸ pixels.
    #[error("is too large; at most {MAX_SIDE} pixels per side and {MAX_PIXELS} in total")]
    TooLarge,
}

/// Checks that a number of samples per pixel is at least 1. The error is `must be at least 1`, to be put after the
/// setting's name.
pub(crate) fn check_spp(spp: u32) -> Result<(), String> {
    if spp == 0 {
        Err("must be at least 1".to_owned())
    } else {
        Ok(())
    }
}

/// Checks that a number of bounces, or the event at which roulette begins, is at most 4096. The error is `must be at most
/// 4096`, to be put after the setting's name.
pub(crate) fn check_max_bounces(max_bounces: u32) -> Result<(), String> {
    if max_bounces > MAX_BOUNCES {
        Err(format!("must be at most {MAX_BOUNCES}"))
    } else {
        Ok(())
    }
}

/// Checks that the film can accumulate `spp` samples per pixel of a radiance whose brightest channel is `brightest`, in
/// W·sr⁻¹·m⁻². It must be below 2²⁴, and its product with `spp` at most 2³⁰.
///
/// # Errors
/// One line with cause and remedy, which does not name the light or material.
pub(crate) fn check_brightness(brightest: f32, spp: u32) -> Result<(), String> {
    if brightest >= SAMPLE_LIMIT {
        return Err(format!(
            "a radiance of {brightest} is too bright for the film, which accepts samples below {SAMPLE_LIMIT}; lower the \
             radiance"
        ));
    }
    if f64::from(brightest) * f64::from(spp) > FILM_LIMIT {
        let max = FILM_LIMIT / f64::from(spp);
        return Err(format!(
            "a radiance of {brightest} is too bright for the film, which holds up to {max} at {spp} samples per \
             pixel; lower the radiance or `spp`"
        ));
    }
    Ok(())
}
