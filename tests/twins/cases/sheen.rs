//! Cases of sheen.

use raysieve::shading::{
    bsdf::sheen::{
        charlie_density, charlie_fit, charlie_lambda, mean_sheen_transmittance, sheen_scale,
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
                "mean_sheen_transmittance",
                "+[](Bsdf bsdf) {
                    return mean_sheen_transmittance((const f32 *)calls::energy.data(), bsdf);
                }"
            ),
            |inputs| (seen(inputs).0,),
            |bsdf: Bsdf| mean_sheen_transmittance(tables(), &bsdf)
        ),
    ]
}
