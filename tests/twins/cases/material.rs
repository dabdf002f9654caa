//! Cases of functions that all materials share.

use glam::Vec3;
use raysieve::shading::material::{
    DIFFUSE, MIRROR, Material, choose_channel, choose_material, dispersed_ior, dispersed_table,
    fresnel, is_black, power_heuristic, reflect, refract, sample_cosine, transmitted,
};

use super::{Case, twin};

pub(super) fn cases() -> Vec<Case> {
    vec![
        twin!("material", "reflect", |direction: Vec3, normal: Vec3| {
            reflect(direction, normal)
        }),
        twin!(
            "material",
            "refract",
            |direction: Vec3, normal: Vec3, eta: f32, cos_in: f32, cos_out: f32| refract(
                direction, normal, eta, cos_in, cos_out
            )
        ),
        twin!("material", "fresnel", |cos_in: f32, eta: f32| fresnel(
            cos_in, eta
        )),
        twin!(
            "material",
            "sample_cosine",
            |normal: Vec3, u: f32, v: f32| sample_cosine(normal, u, v)
        ),
        twin!(
            ("material", "is_black", "is_black"),
            |inputs| {
                let kind = inputs.one_of(&[DIFFUSE, MIRROR]);
                let color = inputs.one_of(&[Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z]);
                (Material {
                    kind,
                    color,
                    ..inputs.draw()
                },)
            },
            |material: Material| is_black(&material)
        ),
        twin!(
            ("material", "transmitted", "transmitted"),
            |inputs| (inputs.draw(), inputs.draw()),
            |absorption: Vec3, distance: f32| transmitted(absorption, distance)
        ),
        twin!(
            ("material", "dispersed_ior", "dispersed_ior"),
            |inputs| (inputs.draw(), inputs.below(3) as u32),
            |material: Material, channel: u32| dispersed_ior(&material, channel)
        ),
        twin!(
            ("material", "dispersed_table", "dispersed_table"),
            |inputs| (inputs.draw(), inputs.below(3) as u32),
            |material: Material, channel: u32| dispersed_table(&material, channel)
        ),
        twin!(
            ("material", "choose_channel", "choose_channel"),
            |inputs| {
                let throughput: Vec3 = inputs.draw();
                let only = inputs.one_of(&[Vec3::ONE, Vec3::ONE, Vec3::X, Vec3::Y, Vec3::Z]);
                (throughput * only, inputs.unit())
            },
            |throughput: Vec3, choice: f32| choose_channel(throughput, choice)
        ),
        twin!(
            ("material", "choose_material", "choose_material"),
            |inputs| {
                let blend = Material {
                    weight: inputs.unit(),
                    first: inputs.draw(),
                    second: inputs.draw(),
                    ..inputs.draw()
                };
                (blend, inputs.unit())
            },
            |blend: Material, choice: f32| choose_material(&blend, choice)
        ),
        twin!("material", "power_heuristic", |drawn: f32, other: f32| {
            power_heuristic(drawn, other)
        }),
    ]
}
