//! Cases of the lists of bodies that a path is inside.

use glam::Vec3;
use raysieve::shading::{
    bodies::{BODY_BITS, INNERMOST, absorption_before, absorption_beyond, bodies_beyond, body_of},
    material::{Material, THIN},
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
