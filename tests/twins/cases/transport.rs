//! Cases of the rules that decide how far a path goes and how much light it adds.

use glam::Vec3;
use raysieve::{
    lights::light::LightParams,
    path::Throughput,
    vertex::{rays::clamp_indirect, shading::survives_roulette},
};

use super::{Case, twin};

pub(super) fn cases() -> Vec<Case> {
    vec![
        twin!(
            (
                "shading",
                "survives_roulette",
                "+[](u32 start, u32 bounce, f32 choice, Vec3 rgb, f32 eta_scale) {
                    Throughput throughput = {rgb, eta_scale};
                    bool survives = survives_roulette(start, bounce, choice, throughput);
                    Vec3 after = throughput.rgb;
                    return calls::Several<f32, 5>{{survives ? 1.0f : 0.0f, after.x, after.y, after.z, throughput.eta_scale}};
                }"
            ),
            |inputs| {
                let start = inputs.one_of(&[1, 5, 4096, u32::MAX]);
                let least = Vec3::splat(f32::MIN_POSITIVE);
                let rgb = Vec3::new(inputs.unit(), inputs.unit(), inputs.unit()).max(least);
                let bright = 4.0 * rgb;
                let rgb = inputs.one_of(&[rgb, bright, Vec3::ONE]);
                let near = start.min(4096) - inputs.below(2) as u32;
                let bounce = inputs.one_of(&[0, near, 4096]);
                let eta_scale = inputs.one_of(&[1.0, 2.25, 1.0 / 2.25]);
                (start, bounce, inputs.unit(), rgb, eta_scale)
            },
            |start: u32, bounce: u32, choice: f32, rgb: Vec3, eta_scale: f32| {
                let mut throughput = Throughput { rgb, eta_scale };
                let survives = survives_roulette(start, bounce, choice, &mut throughput);
                let [x, y, z] = throughput.rgb.to_array();
                [f32::from(u8::from(survives)), x, y, z, throughput.eta_scale]
            }
        ),
        twin!(
            (
                "rays",
                "clamp_indirect",
                "+[](LightParams params, Vec3 light, u32 scatterings) { return clamp_indirect(params, light, scatterings); }"
            ),
            |inputs| {
                let real: LightParams = inputs.draw();
                let light = Vec3::new(inputs.unit(), inputs.unit(), inputs.unit());
                let params = LightParams {
                    max_indirect: inputs.one_of(&[f32::INFINITY, 1e-6, 0.5, 1e6]),
                    ..real
                };
                let bright = 1e7 * light;
                (params, inputs.one_of(&[light, bright]), inputs.below(4) as u32)
            },
            |params: LightParams, light: Vec3, scatterings: u32| {
                clamp_indirect(&params, light, scatterings)
            }
        ),
    ]
}
