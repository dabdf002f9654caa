//! The energy tables of glass in other bodies, see [`nested_table`](crate::shading::bodies::nested_table).

use super::MAX_EXACT;
use crate::shading::{
    bodies::{priority_of, relative_ior},
    material::{BODY, BOUNDARY, Material, dispersed_ior},
};

/// Returns each body with a priority as it is inside each other body or in air, once per refractive index, with the index
/// of its material. Its variants follow each other. Returns nothing in scenes without priorities.
pub(super) fn variants(materials: &[Material]) -> Vec<(usize, Material)> {
    let bodies = materials
        .iter()
        .filter(|material| material.flags & (BODY | BOUNDARY) != 0);
    let mut outsides: Vec<f32> = bodies.flat_map(indices).chain([1.0]).collect();
    sort(&mut outsides);
    if outsides.len() > MAX_EXACT {
        // The closest table serves.
        for ior in &mut outsides {
            *ior = libm::exp2((libm::log2((*ior).into()) * 32.0).round() / 32.0) as f32;
        }
        sort(&mut outsides);
    }
    let nested = materials
        .iter()
        .enumerate()
        .filter(|(_, material)| priority_of(material) > 0);
    nested
        .flat_map(|(index, material)| {
            let mut inside: Vec<f32> = indices(material)
                .into_iter()
                .flat_map(|ior| {
                    let refracting = Material { ior, ..*material };
                    let relative = move |&outside| relative_ior(&refracting, outside);
                    outsides.iter().map(relative).collect::<Vec<f32>>()
                })
                .collect();
            sort(&mut inside);
            inside.into_iter().map(move |ior| {
                let dispersion = 0.0;
                let glass = Material {
                    ior,
                    dispersion,
                    ..*material
                };
                (index, glass)
            })
        })
        .collect()
}

/// Returns the refractive indices of a body: one, or one per channel with dispersion.
fn indices(material: &Material) -> Vec<f32> {
    if material.dispersion > 0.0 {
        [0, 1, 2]
            .map(|channel| dispersed_ior(material, channel))
            .into()
    } else {
        vec![material.ior]
    }
}

/// Sorts refractive indices and removes duplicates.
fn sort(indices: &mut Vec<f32>) {
    indices.sort_by(f32::total_cmp);
    indices.dedup();
}

/// Appends the lists of the tables of each material to the tables. `listed` has the index of the material, the refractive
/// index, and the offset of the table, in the order of [`variants`].
pub(super) fn add_lists(
    materials: &mut [Material],
    tables: &mut Vec<f32>,
    listed: &[(usize, f32, u32)],
) {
    for &(index, ior, table) in listed {
        let material = &mut materials[index];
        if material.second == 0 {
            material.first = tables.len() as u32;
        }
        material.second += 1;
        tables.extend([ior, f32::from_bits(table)]);
    }
}
