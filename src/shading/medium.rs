//! Media: distances at which light scatters, and the phase function. Twin: `kernels/shared/medium.cuh`.
//!
//! Method: distances are sampled by the extinction of one color channel, which is chosen by the throughput, and weighted
//! by the balance heuristic over the channels. So the sum of the throughput's channels never grows. The phase function
//! is that of Henyey and Greenstein (1941).

use compaction::shared;
use glam::Vec3;

use crate::{
    math::{dot, local_to_world, log_base_2, max_f32, min_f32, normalize, square_to_disk},
    shading::material::transmitted,
};

/// 1 / (4 π).
pub const INV_FOUR_PI: f32 = 0.079_577_47;
/// Floating-point numbers that kernels use under the same names.
pub(crate) const NUMBERS: &[(&str, f32)] = named![INV_FOUR_PI];

shared! {
    /// The homogeneous medium inside a body, or around all of them.
    #[repr(align(16))]
    pub struct Medium {
        /// Extinction coefficient: the transmittance of one metre is 2 to the power of minus this, per channel.
        pub extinction: Vec3,
        /// Mean cosine of the scattering angle, above -1 and below 1.
        pub anisotropy: f32,
        /// Scattering coefficient in the unit of `extinction`, at most that.
        pub scattering: Vec3,
        /// 1 if light scatters in the medium, otherwise 0.
        pub scatters: u32,
    }
}

/// The way of a path through a medium, up to where it scatters or to its hit.
#[derive(Clone, Copy, Debug)]
pub struct Flight {
    /// Distance in metres at which the path scatters, or the largest number if it reaches its hit.
    pub distance: f32,
    /// Factor of the throughput. It includes the transmittance only if the path scatters.
    pub weight: Vec3,
}

/// Samples the distance at which a path scatters on a way of `end` metres. `throughput` has a positive channel, and `u`
/// and `v` lie in [0, 1).
#[inline]
pub fn sample_flight(medium: &Medium, throughput: Vec3, end: f32, u: f32, v: f32) -> Flight {
    let total = throughput.x + throughput.y + throughput.z;
    let choice = u * total;
    let chosen = if choice < throughput.x {
        medium.extinction.x
    } else if choice < throughput.x + throughput.y {
        medium.extinction.y
    } else {
        medium.extinction.z
    };
    let mut distance = f32::MAX;
    if chosen > 0.0 {
        distance = min_f32(-log_base_2(1.0 - v) / chosen, f32::MAX);
    }
    if distance < end {
        let passed = transmitted(medium.extinction, distance);
        let pdf = dot(throughput, medium.extinction * passed);
        let weight = medium.scattering * passed * (total / pdf);
        return Flight { distance, weight };
    }
    let probability = dot(throughput, transmitted(medium.extinction, end));
    Flight {
        distance: f32::MAX,
        weight: Vec3::splat(total / probability),
    }
}

/// Returns the phase function for this cosine of the scattering angle, per steradian. It is also the density of
/// [`sample_phase`].
#[inline]
pub fn phase(anisotropy: f32, cosine: f32) -> f32 {
    let squared = anisotropy * anisotropy;
    let base = max_f32(1.0 + squared - 2.0 * anisotropy * cosine, 1e-7);
    INV_FOUR_PI * (1.0 - squared) / (base * base.sqrt())
}

/// Samples the direction of length 1 in which light goes on that came along `direction`. `u` and `v` lie in [0, 1).
#[inline]
pub fn sample_phase(anisotropy: f32, direction: Vec3, u: f32, v: f32) -> Vec3 {
    let (x, y) = square_to_disk(u, v);
    // Uniform in 0..=1 and independent of the direction of (x, y).
    let uniform = min_f32(x * x + y * y, 1.0);
    let mut cosine = 1.0 - 2.0 * uniform;
    if anisotropy * anisotropy > 1e-6 {
        let ratio = (1.0 - anisotropy * anisotropy) / (1.0 + anisotropy * cosine);
        cosine = (1.0 + anisotropy * anisotropy - ratio * ratio) / (2.0 * anisotropy);
    }
    cosine = max_f32(min_f32(cosine, 1.0), -1.0);
    let mut scale = 0.0;
    if uniform > 0.0 {
        scale = (max_f32(1.0 - cosine * cosine, 0.0) / uniform).sqrt();
    }
    normalize(local_to_world(
        direction,
        Vec3::new(x * scale, y * scale, cosine),
    ))
}
