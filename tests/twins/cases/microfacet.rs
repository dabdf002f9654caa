//! Cases of microfacet functions.

use glam::Vec3;
use raysieve::shading::microfacet::{
    fresnel_conductor, sample_visible_normal, schlick, shadowing, smith_root,
    visible_normal_density,
};

use super::{Case, twin};

pub(super) fn cases() -> Vec<Case> {
    vec![
        twin!("microfacet", "smith_root", |cosine: f32, alpha: f32| {
            smith_root(cosine, alpha)
        }),
        twin!(
            "microfacet",
            "visible_normal_density",
            |normal: Vec3, half: Vec3, cos_eye: f32, alpha: f32| visible_normal_density(
                normal, half, cos_eye, alpha
            )
        ),
        twin!(
            "microfacet",
            "shadowing",
            |cos_eye: f32, cos_light: f32, alpha: f32, correlated: bool| shadowing(
                cos_eye, cos_light, alpha, correlated
            )
        ),
        twin!(
            "microfacet",
            "sample_visible_normal",
            |normal: Vec3, to_eye: Vec3, alpha: f32, u: f32, v: f32| sample_visible_normal(
                normal, to_eye, alpha, u, v
            )
        ),
        twin!(
            "microfacet",
            "fresnel_conductor",
            |cosine: f32, eta: f32, k: f32| fresnel_conductor(cosine, eta, k)
        ),
        twin!("microfacet", "schlick", |cosine: f32| schlick(cosine)),
    ]
}
