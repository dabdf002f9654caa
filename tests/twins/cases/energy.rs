//! Cases of energy tables.

use raysieve::shading::energy::{directional, hemispherical, table_place};

use super::{Case, twin};
use crate::inputs::{Harvest, Inputs};

/// Returns the offset of one of the scene's tables.
pub(super) fn table(inputs: &mut Inputs) -> u32 {
    inputs.one_of(&inputs.harvest.scene.materials).table
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        twin!(
            ("energy", "table_place", "table_place"),
            |inputs| (inputs.draw(), inputs.one_of(&[2, 32, 1000])),
            |root: f32, count: u32| table_place(root, count)
        ),
        twin!(
            (
                "energy",
                "directional",
                "+[](u32 table, u32 function, f32 alpha, f32 cosine) {
                    return directional((const f32 *)calls::energy.data(), table, function, alpha, cosine);
                }"
            ),
            |inputs| {
                let (table, function) = (table(inputs), inputs.below(2) as u32);
                (table, function, inputs.draw(), inputs.draw())
            },
            |table: u32, function: u32, alpha: f32, cosine: f32| {
                directional(tables(), table, function, alpha, cosine)
            }
        ),
        twin!(
            (
                "energy",
                "hemispherical",
                "+[](u32 table, u32 mean, f32 alpha) {
                    return hemispherical((const f32 *)calls::energy.data(), table, mean, alpha);
                }"
            ),
            |inputs| (table(inputs), inputs.below(4) as u32, inputs.draw()),
            |table: u32, mean: u32, alpha: f32| hemispherical(tables(), table, mean, alpha)
        ),
    ]
}

pub(super) fn tables() -> &'static [f32] {
    &Harvest::get().scene.energy
}
