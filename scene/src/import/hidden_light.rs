//! Area lights that light a scene without being visible.
//!
//! The renderer has no such light, and a surface with an opacity of 0 does not shine. A spot light has no size, so that
//! it is invisible. Many of them on the surface together cast soft shadows. The intensity of a diffuse light falls with
//! the cosine c of the angle to its normal, and that of a spot light with the square of a ramp. Both agree on average:
//! c = c²/2 + ½ ∫ min(1, c²/i²) di, for i from 0 to 1. So half of the spot lights fall off with c², and each of the
//! others is constant up to an angle with another cosine i.

use glam::{DAffine3, DVec3, Vec3};

use super::Imported;
use crate::{
    memory::reserve_more,
    model::ModelMesh,
    scene::{Light, SpotFalloff},
};

/// Largest number of points with a spot light on one area light.
const MAX_POINTS: usize = 1 << 10;
/// Number of spot lights of which each area light takes at most a 32nd of those that earlier ones left, but at least one.
const ALL_LAMPS: usize = 1 << 18;

impl Imported {
    /// Adds an invisible light of the shape of a mesh with this transform. `radiance` is that of its front, and also of
    /// its back if `both_sides`. A mesh without an area adds nothing. Fails if the transform is not finite, or memory
    /// does not suffice.
    pub(crate) fn push_hidden_light(
        &mut self,
        mesh: &ModelMesh,
        transform: &DAffine3,
        radiance: Vec3,
        both_sides: bool,
    ) -> Result<(), String> {
        let mirrors = transform.matrix3.determinant() < 0.0;
        let mut triangles = mesh.triangles.iter().map(|triangle| {
            let [a, b, c] = triangle.map(|vertex| {
                transform.transform_point3(mesh.positions[vertex as usize].as_dvec3())
            });
            let corners = if mirrors { [a, c, b] } else { [a, b, c] };
            let normal = (b - a).cross(c - a) * if mirrors { -0.5 } else { 0.5 };
            (corners, normal)
        });
        let area: f64 = triangles.clone().map(|(_, normal)| normal.length()).sum();
        if !area.is_finite() {
            return Err("has a transform that is not finite; correct its numbers".to_owned());
        }
        if area == 0.0 || radiance == Vec3::ZERO {
            return Ok(());
        }
        self.note("approximated: area lights with an alpha of 0 by spot lights on their surface");
        let left = ALL_LAMPS.saturating_sub(self.lights.len());
        let points = (left / 32).clamp(1, MAX_POINTS);
        let each = area / points as f64;
        let intensity = radiance.max(Vec3::ZERO) * each as f32;
        reserve_more(&mut self.lights, 2 * points)?;
        let mut before = 0.0;
        let mut current = ([DVec3::ZERO; 3], DVec3::ZERO);
        for point in 0..points {
            let place = (point as f64 + 0.5) * each;
            while before + current.1.length() < place {
                let Some(next) = triangles.next() else {
                    break;
                };
                before += current.1.length();
                current = next;
            }
            let (corners, normal) = current;
            let along = (place - before) / normal.length();
            let position = uniform_point(corners, along.clamp(0.0, 1.0), reversed(point, 2));
            let inner = 2.0 * reversed(point, 3) - 1.0;
            let mut shine = |direction: DVec3| {
                let light = Light::Spot {
                    position: position.as_vec3(),
                    direction: direction.as_vec3(),
                    intensity,
                    inner_degrees: if inner > 0.0 {
                        libm::acos(inner).to_degrees() as f32
                    } else {
                        0.0
                    },
                    outer_degrees: 90.0,
                    falloff: SpotFalloff::Squared,
                };
                self.push_light(light, position);
            };
            let front = normal.normalize_or_zero();
            shine(front);
            if both_sides {
                shine(-front);
            }
        }
        Ok(())
    }
}

/// Maps two numbers from 0 to 1 to a point of a triangle, preserving areas (E. Heitz 2019).
fn uniform_point([a, b, c]: [DVec3; 3], u: f64, v: f64) -> DVec3 {
    let (along, across) = match v > u {
        true => (u / 2.0, v - u / 2.0),
        false => (u - v / 2.0, v / 2.0),
    };
    a + (b - a) * along + (c - a) * across
}

/// Returns the number from 0 to below 1 whose digits after the point, in this base, are those of `number` from the last
/// to the first (J. van der Corput 1935).
fn reversed(mut number: usize, base: usize) -> f64 {
    let (mut value, mut digit) = (0.0, 1.0);
    while number > 0 {
        digit /= base as f64;
        value += (number % base) as f64 * digit;
        number /= base;
    }
    value
}
