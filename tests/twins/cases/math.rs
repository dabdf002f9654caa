//! Cases of arithmetic and vectors.

use glam::Vec3;
use raysieve::math::{
    arctan2, clamped, cos_small, cross, dot, half_power, local_to_world, log_base_2, luminance,
    max_component, max_f32, min_f32, normalize, offset_point, power_of_2, round_down,
    sin_cos_turns, sin_small, square_to_disk, to_local,
};

use super::{Case, twin};

pub(super) fn cases() -> Vec<Case> {
    vec![
        twin!("math", "operator+", |a: Vec3, b: Vec3| a + b),
        twin!(
            (
                "math",
                "operator-",
                "static_cast<Vec3 (*)(Vec3, Vec3)>(operator-)"
            ),
            |inputs| (inputs.draw(), inputs.draw()),
            |a: Vec3, b: Vec3| a - b
        ),
        twin!(
            (
                "math",
                "operator*",
                "static_cast<Vec3 (*)(Vec3, Vec3)>(operator*)"
            ),
            |inputs| (inputs.draw(), inputs.draw()),
            |a: Vec3, b: Vec3| a * b
        ),
        twin!(
            (
                "math",
                "operator*",
                "static_cast<Vec3 (*)(Vec3, f32)>(operator*)"
            ),
            |inputs| (inputs.draw(), inputs.draw()),
            |v: Vec3, s: f32| v * s
        ),
        twin!(
            (
                "math",
                "operator-",
                "static_cast<Vec3 (*)(Vec3)>(operator-)"
            ),
            |inputs| (inputs.draw(),),
            |v: Vec3| -v
        ),
        twin!("math", "min_f32", |a: f32, b: f32| min_f32(a, b)),
        twin!("math", "max_f32", |a: f32, b: f32| max_f32(a, b)),
        twin!("math", "round_down", |value: f32| round_down(value)),
        twin!("math", "dot", |a: Vec3, b: Vec3| dot(a, b)),
        twin!("math", "cross", |a: Vec3, b: Vec3| cross(a, b)),
        twin!("math", "normalize", |v: Vec3| normalize(v)),
        twin!("math", "any_nonzero", |v: Vec3| v != Vec3::ZERO),
        twin!("math", "max_component", |v: Vec3| max_component(v)),
        twin!("math", "clamped", |light: Vec3, max: f32| clamped(
            light, max
        )),
        twin!("math", "luminance", |v: Vec3| luminance(v)),
        twin!("math", "sin_small", |x: f32| sin_small(x)),
        twin!("math", "cos_small", |x: f32| cos_small(x)),
        twin!("math", "sin_cos_turns", |turns: f32| sin_cos_turns(turns)),
        twin!("math", "arctan2", |y: f32, x: f32| arctan2(y, x)),
        twin!("math", "half_power", |x: f32| half_power(x)),
        twin!("math", "log_base_2", |x: f32| log_base_2(x)),
        twin!("math", "power_of_2", |x: f32| power_of_2(x)),
        twin!("math", "local_to_world", |normal: Vec3, local: Vec3| {
            local_to_world(normal, local)
        }),
        twin!("math", "to_local", |normal: Vec3, v: Vec3| to_local(
            normal, v
        )),
        twin!("math", "square_to_disk", |u: f32, v: f32| square_to_disk(
            u, v
        )),
        twin!(
            "math",
            "offset_point",
            |point: Vec3, normal: Vec3, error: f32| offset_point(point, normal, error)
        ),
    ]
}
