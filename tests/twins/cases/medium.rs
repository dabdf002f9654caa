//! Cases of media.

use glam::Vec3;
use raysieve::shading::medium::{Medium, phase, sample_flight, sample_phase};

use super::{Case, twin};
use crate::inputs::Inputs;

/// Draws the mean cosine of a phase function.
fn anisotropy(inputs: &mut Inputs) -> f32 {
    let any = 2.0 * inputs.unit() - 1.0;
    inputs.one_of(&[0.0, 1e-4, -0.999, 0.999, any])
}

/// Draws the length of a way: of any hit, or of a ray without one.
fn length(inputs: &mut Inputs) -> f32 {
    let near = 8.0 * inputs.unit();
    inputs.one_of(&[near, f32::MAX])
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        twin!(
            (
                "medium",
                "sample_flight",
                "+[](Vec3 extinction, Vec3 scattering, Vec3 throughput, f32 end, f32 u, f32 v) {
                    return sample_flight({extinction, 0.0f, scattering, 1}, throughput, end, u, v);
                }"
            ),
            |inputs| {
                let (extinction, throughput): (Vec3, Vec3) = (inputs.draw(), inputs.draw());
                let clear = inputs.one_of(&[0.0, 1.0]);
                let extinction = extinction.abs() * Vec3::new(1.0, clear, 1.0);
                let scattering = extinction * inputs.unit();
                (
                    extinction,
                    scattering,
                    throughput.abs(),
                    length(inputs),
                    inputs.unit(),
                    inputs.unit(),
                )
            },
            |extinction: Vec3, scattering: Vec3, throughput: Vec3, end: f32, u: f32, v: f32| {
                let medium = Medium {
                    extinction,
                    scattering,
                    anisotropy: 0.0,
                    scatters: 1,
                };
                sample_flight(&medium, throughput, end, u, v)
            }
        ),
        twin!(
            ("medium", "phase", "phase"),
            |inputs| (anisotropy(inputs), 2.0 * inputs.unit() - 1.0),
            |anisotropy: f32, cosine: f32| phase(anisotropy, cosine)
        ),
        twin!(
            ("medium", "sample_phase", "sample_phase"),
            |inputs| {
                let direction = inputs.direction();
                let (u, v) = (inputs.unit(), inputs.unit());
                (anisotropy(inputs), direction, u, v)
            },
            |anisotropy: f32, direction: Vec3, u: f32, v: f32| {
                sample_phase(anisotropy, direction, u, v)
            }
        ),
    ]
}
