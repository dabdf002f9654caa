//! Cases of functions of Beckmann's distribution.

use glam::Vec3;
use raysieve::shading::beckmann::{
    beckmann_area, beckmann_density, beckmann_shadowing, bell, error_function,
    inverse_error_function, sample_beckmann_normal, sample_slope,
};

use super::{Case, twin};

pub(super) fn cases() -> Vec<Case> {
    vec![
        twin!("beckmann", "bell", |x: f32| bell(x)),
        twin!("beckmann", "error_function", |x: f32, bell: f32| {
            error_function(x, bell)
        }),
        twin!("beckmann", "inverse_error_function", |x: f32| {
            inverse_error_function(x)
        }),
        twin!(
            "beckmann",
            "beckmann_area",
            |direction: Vec3, along: f32, across: f32| beckmann_area(direction, along, across)
        ),
        twin!(
            "beckmann",
            "beckmann_density",
            |eye: Vec3, half: Vec3, along: f32, across: f32| beckmann_density(
                eye, half, along, across
            )
        ),
        twin!(
            "beckmann",
            "beckmann_shadowing",
            |eye: Vec3, light: Vec3, along: f32, across: f32, correlated: bool| {
                beckmann_shadowing(eye, light, along, across, correlated)
            }
        ),
        twin!(
            "beckmann",
            "sample_slope",
            |cosine: f32, sine: f32, u: f32| { sample_slope(cosine, sine, u) }
        ),
        twin!(
            "beckmann",
            "sample_beckmann_normal",
            |eye: Vec3, along: f32, across: f32, u: f32, v: f32| {
                sample_beckmann_normal(eye, along, across, u, v)
            }
        ),
    ]
}
