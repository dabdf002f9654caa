//! Cases of energy tables.

use raysieve::shading::energy::{
    anisotropic_directional, anisotropic_mean, below_coat, directional, hemispherical,
    mean_below_coat, sample_directional, table_place,
};

use super::{Case, twin};
use crate::inputs::{Harvest, Inputs};

/// Returns the offset of one of the scene's tables.
fn table(inputs: &mut Inputs) -> u32 {
    inputs.one_of(&inputs.harvest.scene.materials).table
}

/// Returns the offset of a table that has a part for coats.
fn coated_table(inputs: &mut Inputs) -> u32 {
    let materials = inputs.harvest.scene.materials.iter();
    let coated: Vec<_> = materials
        .filter(|material| material.clearcoat > 0.0)
        .collect();
    let material = inputs.one_of(&coated);
    if inputs.draw() {
        material.table
    } else {
        material.mirrors
    }
}

/// Returns the offset of the table of anisotropic facets.
fn anisotropic_table() -> u32 {
    let materials = Harvest::get().scene.materials.iter();
    materials
        .map(|material| material.anisotropic_table)
        .max()
        .unwrap()
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
        twin!(
            (
                "energy",
                "sample_directional",
                "+[](u32 table, u32 function, f32 alpha, f32 u) {
                    return sample_directional((const f32 *)calls::energy.data(), table, function, alpha, u);
                }"
            ),
            |inputs| {
                let (table, function) = (table(inputs), inputs.below(2) as u32);
                (table, function, inputs.draw(), inputs.unit())
            },
            |table: u32, function: u32, alpha: f32, u: f32| {
                sample_directional(tables(), table, function, alpha, u)
            }
        ),
        twin!(
            (
                "energy",
                "anisotropic_directional",
                "+[](u32 table, u32 function, f32 along, f32 across, f32 along2, f32 cosine) {
                    const f32 *tables = (const f32 *)calls::energy.data();
                    return anisotropic_directional(tables, table, function, along, across, along2, cosine);
                }"
            ),
            |inputs| {
                let function = inputs.below(2) as u32;
                let (along, across) = (inputs.draw(), inputs.draw());
                (anisotropic_table(), function, along, across, inputs.draw(), inputs.draw())
            },
            |table: u32, function: u32, along: f32, across: f32, along2: f32, cosine: f32| {
                anisotropic_directional(tables(), table, function, (along, across), (along2, cosine))
            }
        ),
        twin!(
            (
                "energy",
                "anisotropic_mean",
                "+[](u32 table, u32 function, f32 along, f32 across) {
                    return anisotropic_mean((const f32 *)calls::energy.data(), table, function, along, across);
                }"
            ),
            |inputs| {
                let function = inputs.below(2) as u32;
                (anisotropic_table(), function, inputs.draw(), inputs.draw())
            },
            |table: u32, function: u32, along: f32, across: f32| {
                anisotropic_mean(tables(), table, function, along, across)
            }
        ),
        twin!(
            (
                "energy",
                "below_coat",
                "+[](u32 table, f32 alpha, f32 coat_alpha, f32 cosine) {
                    return below_coat((const f32 *)calls::energy.data(), table, alpha, coat_alpha, cosine);
                }"
            ),
            |inputs| (coated_table(inputs), inputs.draw(), inputs.draw(), inputs.draw()),
            |table: u32, alpha: f32, coat_alpha: f32, cosine: f32| {
                below_coat(tables(), table, (alpha, coat_alpha), cosine)
            }
        ),
        twin!(
            (
                "energy",
                "mean_below_coat",
                "+[](u32 table, u32 mean, f32 alpha, f32 coat_alpha) {
                    return mean_below_coat((const f32 *)calls::energy.data(), table, mean, alpha, coat_alpha);
                }"
            ),
            |inputs| {
                let (table, mean) = (coated_table(inputs), inputs.below(2) as u32);
                (table, mean, inputs.draw(), inputs.draw())
            },
            |table: u32, mean: u32, alpha: f32, coat_alpha: f32| {
                mean_below_coat(tables(), table, mean, (alpha, coat_alpha))
            }
        ),
    ]
}

pub(super) fn tables() -> &'static [f32] {
    &Harvest::get().scene.energy
}
