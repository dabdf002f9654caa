//! Cases of opacity maps.

use std::sync::OnceLock;

use raysieve::shading::opacity_map::{MAPPED, cell_along, known_opacity};

use super::{Case, twin};
use crate::inputs::{Harvest, Inputs};

/// Returns a barycentric weight: 0 to 1, or by rounding a little more.
fn weight(inputs: &mut Inputs) -> f32 {
    let inside = inputs.unit();
    inputs.one_of(&[
        inside,
        0.0,
        1.0,
        1.0_f32.next_up(),
        0.25,
        0.25_f32.next_down(),
    ])
}

/// Returns the index of a primitive of the scene with opacity, often of one with a map.
fn primitive(inputs: &mut Inputs) -> u32 {
    static MAPPED_ONES: OnceLock<Vec<u32>> = OnceLock::new();
    let scene = &inputs.harvest.instanced;
    let count = scene.primitives.len();
    let mapped = MAPPED_ONES.get_or_init(|| {
        let is_mapped = |&primitive: &u32| scene.opacity_maps[primitive as usize] & 3 == MAPPED;
        (0..count as u32).filter(is_mapped).collect()
    });
    let mapped = inputs.one_of(mapped);
    let any = inputs.below(count) as u32;
    inputs.one_of(&[any, mapped])
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        twin!(
            ("opacity_map", "cell_along", "cell_along"),
            |inputs| (weight(inputs), inputs.below(8) as u32),
            |weight: f32, level: u32| cell_along(weight, level)
        ),
        twin!(
            (
                "opacity_map",
                "known_opacity",
                "+[](u32 primitive, f32 u, f32 v) { return known_opacity(calls::opacity_maps.data(), primitive, u, v); }"
            ),
            |inputs| (primitive(inputs), weight(inputs), weight(inputs)),
            |primitive: u32, u: f32, v: f32| {
                known_opacity(&Harvest::get().instanced.opacity_maps, primitive, u, v)
            }
        ),
    ]
}
