//! Cases of the lists of bodies that a path is inside.

use glam::Vec3;
use raysieve::shading::{
    bodies::{
        BODY_BITS, INNERMOST, absorption_before, absorption_beyond, bodies_beyond, body_of,
        is_displaced, is_matched, material_in, nested_beyond, nested_table, outside_body,
        priority_of, relative_ior,
    },
    material::{
        BODY, DIELECTRIC, EXTENDED, LAYERED, Material, PRIORITY_SHIFT, ROUGH_DIELECTRIC, THIN,
    },
};

use super::{Case, twin};
use crate::inputs::Inputs;

/// Draws a material, thin or not.
fn material(inputs: &mut Inputs) -> Material {
    Material {
        absorption: inputs.draw(),
        flags: inputs.one_of(&[0, THIN]),
        ..inputs.draw()
    }
}

/// Draws a material of a body with one of few priorities and refractive indices.
fn glass(inputs: &mut Inputs) -> Material {
    let flags = inputs.one_of(&[0, THIN, BODY, BODY]);
    Material {
        flags: flags + (inputs.one_of(&[0, 1, 2, 255]) << PRIORITY_SHIFT),
        kind: inputs.one_of(&[DIELECTRIC, ROUGH_DIELECTRIC, LAYERED, EXTENDED]),
        color: inputs.one_of(&[Vec3::ONE, Vec3::new(1.0, 0.5, 1.0)]),
        ior: inputs.one_of(&[1.0, 1.3, 1.3005, 1.5, 0.1, 10.0]),
        ..inputs.draw()
    }
}

/// Draws a list of up to three bodies from 1 to 3.
fn list(inputs: &mut Inputs) -> u32 {
    let places = inputs.below(4);
    (0..places).fold(0, |list, _| {
        (list << BODY_BITS) | (1 + inputs.below(3) as u32)
    })
}

/// Draws a list whose innermost body, if any, is `body` or body 1.
fn list_in(inputs: &mut Inputs, body: u32) -> u32 {
    let list = list(inputs);
    let innermost = inputs.one_of(&[1, body]);
    if list == 0 {
        0
    } else {
        list & !INNERMOST | innermost
    }
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        twin!(
            ("bodies", "body_of", "body_of"),
            |inputs| {
                let near = INNERMOST - 2 + inputs.below(4) as u32;
                (inputs.one_of(&[0, near, u32::MAX]),)
            },
            |material: u32| body_of(material)
        ),
        twin!(
            ("bodies", "bodies_beyond", "bodies_beyond"),
            |inputs| {
                let (list, body) = (list(inputs), inputs.below(5) as u32);
                (list, body, material(inputs), inputs.one_of(&[false, true]))
            },
            |bodies: u32, body: u32, material: Material, front: bool| {
                bodies_beyond(bodies, body, &material, front)
            }
        ),
        twin!(
            ("bodies", "priority_of", "priority_of"),
            |inputs| (glass(inputs),),
            |material: Material| priority_of(&material)
        ),
        twin!(
            ("bodies", "outside_body", "outside_body"),
            |inputs| (list(inputs), inputs.below(4) as u32),
            |bodies: u32, body: u32| outside_body(bodies, body)
        ),
        twin!(
            (
                "bodies",
                "nested_beyond",
                "+[](Material a, Material b, u32 bodies, u32 body, Material material, bool front) {
                    const Material materials[3] = {a, b, b};
                    return nested_beyond(materials, bodies, body, material, front);
                }"
            ),
            |inputs| {
                let (a, b, material) = (glass(inputs), glass(inputs), glass(inputs));
                let (list, body) = (list(inputs), inputs.below(4) as u32);
                (a, b, list, body, material, inputs.one_of(&[false, true]))
            },
            |a: Material, b: Material, bodies: u32, body: u32, material: Material, front: bool| {
                nested_beyond(&[a, b, b], bodies, body, &material, front)
            }
        ),
        twin!(
            ("bodies", "relative_ior", "relative_ior"),
            |inputs| (glass(inputs), glass(inputs).ior),
            |material: Material, outside: f32| relative_ior(&material, outside)
        ),
        twin!(
            ("bodies", "is_matched", "is_matched"),
            |inputs| (1.0 + 0.002 * (inputs.unit() - inputs.unit()),),
            |ior: f32| is_matched(ior)
        ),
        twin!(
            (
                "bodies",
                "is_displaced",
                "+[](Material a, Material b, u32 bodies, u32 body, Material material) {
                    const Material materials[3] = {a, b, b};
                    return is_displaced(materials, bodies, body, material);
                }"
            ),
            |inputs| {
                let (a, b, material) = (glass(inputs), glass(inputs), glass(inputs));
                (a, b, list(inputs), inputs.below(4) as u32, material)
            },
            |a: Material, b: Material, bodies: u32, body: u32, material: Material| {
                is_displaced(&[a, b, b], bodies, body, &material)
            }
        ),
        twin!(
            (
                "bodies",
                "nested_table",
                "+[](f32 one, f32 other, Material material, f32 ior) {
                    const f32 tables[5] = {0.0f, one, bits_to_float(7), other, bits_to_float(9)};
                    material.first = 1;
                    return nested_table(tables, material, ior);
                }"
            ),
            |inputs| {
                let second = inputs.below(3) as u32;
                let ior = glass(inputs).ior;
                let material = Material {
                    second,
                    ..inputs.draw()
                };
                (glass(inputs).ior, glass(inputs).ior, material, ior)
            },
            |one: f32, other: f32, material: Material, ior: f32| {
                let tables = [0.0, one, f32::from_bits(7), other, f32::from_bits(9)];
                nested_table(
                    &tables,
                    &Material {
                        first: 1,
                        ..material
                    },
                    ior,
                )
            }
        ),
        twin!(
            (
                "bodies",
                "material_in",
                "+[](Material material, f32 outside) {
                    return material_in(nullptr, material, outside);
                }"
            ),
            |inputs| (
                Material {
                    second: 0,
                    ..glass(inputs)
                },
                glass(inputs).ior
            ),
            |material: Material, outside: f32| material_in(&[], &material, outside)
        ),
        twin!(
            (
                "bodies",
                "absorption_before",
                "+[](Material other, u32 bodies, u32 body, Material material, bool front) {
                    return absorption_before(&other, bodies, body, material, front);
                }"
            ),
            |inputs| {
                let body = inputs.below(3) as u32;
                let list = list_in(inputs, body);
                let front = inputs.one_of(&[false, true]);
                (material(inputs), list, body, material(inputs), front)
            },
            |other: Material, bodies: u32, body: u32, material: Material, front: bool| {
                absorption_before(&[other], bodies, body, &material, front)
            }
        ),
        twin!(
            (
                "bodies",
                "absorption_beyond",
                "+[](Material other, u32 bodies, Vec3 before, Material material, bool front) {
                    return absorption_beyond(&other, bodies, before, material, front);
                }"
            ),
            |inputs| {
                let (list, before): (u32, Vec3) = (list_in(inputs, 1), inputs.draw());
                let front = inputs.one_of(&[false, true]);
                (material(inputs), list, before, material(inputs), front)
            },
            |other: Material, bodies: u32, before: Vec3, material: Material, front: bool| {
                absorption_beyond(&[other], bodies, before, &material, front)
            }
        ),
    ]
}
