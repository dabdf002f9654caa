//! Lamps: point, spot and directional lights, and suns. Twin: `kernels/shared/lamp.cuh`.

use compaction::shared;
use glam::Vec3;

use crate::{
    lights::light_sample::{LightSample, NO_SAMPLE},
    math::{PI, dot, local_to_world, max_f32, normalize, square_to_disk},
    path::NO_PRIMITIVE,
};

/// `Lamp::kind`: a point light; `radiance` holds its intensity, W/sr.
pub const POINT: u32 = 0;
/// `Lamp::kind`: a spotlight, a point light restricted to a cone; `radiance` holds its intensity on the axis, W/sr.
pub const SPOT: u32 = 1;
/// `Lamp::kind`: a directional light at infinity; `radiance` holds its irradiance, W/m².
pub const DISTANT: u32 = 2;
/// `Lamp::kind`: a disk at infinity of uniform radiance.
pub const SUN: u32 = 3;

shared! {
    /// A light that is not a surface of the scene.
    #[repr(align(16))]
    pub struct Lamp {
        /// Position in world space, metres; unused for lamps at infinity.
        pub position: Vec3,
        /// Kind of the lamp: [`POINT`], [`SPOT`], [`DISTANT`] or [`SUN`].
        pub kind: u32,
        /// Direction of length 1: the axis along which a spotlight shines, or the direction towards a lamp at infinity.
        pub direction: Vec3,
        /// Probability that a light sample chooses the lamp; unused if it is in the light tree.
        pub chance: f32,
        /// Linear sRGB: radiance of a sun, intensity of a point or spot light, irradiance of a distant light.
        pub radiance: Vec3,
        /// Cosine of the angle at which a spotlight's falloff begins; for a sun, 1 − cosine of its angular
        /// radius.
        pub cos_inner: f32,
        /// Cosine of the angle at which a spotlight's falloff reaches 0.
        pub cos_outer: f32,
        /// Factor of p in a spotlight's falloff, see [`spot_falloff`].
        pub falloff_1: f32,
        /// Factor of p² in a spotlight's falloff.
        pub falloff_2: f32,
        /// Factor of p³ in a spotlight's falloff.
        pub falloff_3: f32,
    }
}

/// Returns the fraction of its intensity that a spotlight emits at an angle with this cosine to its axis.
///
/// It is 1 within the inner cone and 0 outside the outer one. Between, it is a polynomial of p, which is linear in the
/// cosine: p² for glTF's `KHR_lights_punctual`, see [`SpotFalloff`](crate::scene::SpotFalloff).
#[inline]
pub fn spot_falloff(lamp: &Lamp, cosine: f32) -> f32 {
    if cosine >= lamp.cos_inner {
        return 1.0;
    }
    if cosine <= lamp.cos_outer {
        return 0.0;
    }
    let part = (cosine - lamp.cos_outer) / (lamp.cos_inner - lamp.cos_outer);
    part * (lamp.falloff_1 + part * (lamp.falloff_2 + part * lamp.falloff_3))
}

/// Samples a direction to a lamp. `chance` is the probability with which the lamp was chosen.
#[inline]
pub fn sample_lamp(lamp: &Lamp, chance: f32, origin: Vec3, u: f32, v: f32) -> LightSample {
    if lamp.kind == DISTANT {
        return LightSample {
            direction: lamp.direction,
            distance: f32::MAX,
            pdf: chance,
            radiance: lamp.radiance,
            to_primitive: NO_PRIMITIVE,
            is_delta: 1,
        };
    }
    if lamp.kind == SUN {
        let (x, y) = square_to_disk(u, v);
        let drop = (x * x + y * y) * lamp.cos_inner;
        let stretch = max_f32(0.0, lamp.cos_inner * (2.0 - drop)).sqrt();
        let local = Vec3::new(x * stretch, y * stretch, 1.0 - drop);
        return LightSample {
            direction: normalize(local_to_world(lamp.direction, local)),
            distance: f32::MAX,
            pdf: chance / (2.0 * PI * lamp.cos_inner),
            radiance: lamp.radiance,
            to_primitive: NO_PRIMITIVE,
            is_delta: 0,
        };
    }
    let to_lamp = lamp.position - origin;
    let distance2 = dot(to_lamp, to_lamp);
    let distance = distance2.sqrt();
    let direction = to_lamp * (1.0 / distance);
    let part = if lamp.kind == SPOT {
        spot_falloff(lamp, -dot(direction, lamp.direction))
    } else {
        1.0
    };
    let lit = distance > 0.0 && part > 0.0;
    if !lit {
        return NO_SAMPLE;
    }
    LightSample {
        direction,
        distance,
        pdf: chance,
        radiance: lamp.radiance * (part / distance2),
        to_primitive: NO_PRIMITIVE,
        is_delta: 1,
    }
}
