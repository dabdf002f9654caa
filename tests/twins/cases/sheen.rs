//! Cases of sheen.

use raysieve::shading::{
    bsdf::sheen::{
        charlie_density, charlie_fit, charlie_lambda, sheen_factor, sheen_over_base, sheen_scale,
        sheen_transmittance, sheen_value,
    },
    bsdf_types::Bsdf,
};

use super::{Case, bsdf::seen, energy::tables, twin};

pub(super) fn cases() -> Vec<Case> {
    vec![
        twin!("sheen", "charlie_density", |sin2_half: f32, alpha: f32| {
            charlie_density(sin2_half, alpha)
        }),
        twin!("sheen", "charlie_fit", |cosine: f32, alpha: f32| {
            charlie_fit(cosine, alpha)
        }),
        twin!("sheen", "charlie_lambda", |cosine: f32, alpha: f32| {
            charlie_lambda(cosine, alpha)
        }),
        twin!(
            "sheen",
            "sheen_value",
            |cos_eye: f32, cos_light: f32, sin2_half: f32, alpha: f32| sheen_value(
                cos_eye, cos_light, sin2_half, alpha
            )
        ),
        twin!(
            (
                "sheen",
                "sheen_scale",
                "+[](Bsdf bsdf, f32 cosine) {
                    return sheen_scale((const f32 *)calls::energy.data(), bsdf, cosine);
                }"
            ),
            |inputs| (seen(inputs).0, inputs.draw()),
            |bsdf: Bsdf, cosine: f32| sheen_scale(tables(), &bsdf, cosine)
        ),
        twin!(
            (
                "sheen",
                "sheen_transmittance",
                "+[](Bsdf bsdf, f32 cosine) {
                    return sheen_transmittance((const f32 *)calls::energy.data(), bsdf, cosine);
                }"
            ),
            |inputs| (seen(inputs).0, inputs.draw()),
            |bsdf: Bsdf, cosine: f32| sheen_transmittance(tables(), &bsdf, cosine)
        ),
        twin!(
            (
                "sheen",
                "sheen_factor",
                "+[](Bsdf bsdf, f32 cosine, f32 transmittance) {
                    return sheen_factor((const f32 *)calls::energy.data(), bsdf, cosine, transmittance);
                }"
            ),
            |inputs| (seen(inputs).0, inputs.draw(), inputs.unit()),
            |bsdf: Bsdf, cosine: f32, transmittance: f32| {
                sheen_factor(tables(), &bsdf, cosine, transmittance)
            }
        ),
        twin!(
            (
                "sheen",
                "sheen_over_base",
                "+[](Bsdf bsdf, f32 mean_entered) {
                    return sheen_over_base((const f32 *)calls::energy.data(), bsdf, mean_entered);
                }"
            ),
            |inputs| (seen(inputs).0, inputs.unit()),
            |bsdf: Bsdf, mean_entered: f32| sheen_over_base(tables(), &bsdf, mean_entered)
        ),
    ]
}
