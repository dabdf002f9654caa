//! Cases of microfacet functions.

use glam::Vec3;
use raysieve::shading::microfacet::{
    anisotropic_density, anisotropic_root, anisotropic_shadowing, fresnel_conductor, in_frame,
    sample_anisotropic_normal, sample_visible_normal, schlick, shadowing, smith_root,
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
            "in_frame",
            |normal: Vec3, tangent: Vec3, direction: Vec3| in_frame(normal, tangent, direction)
        ),
        twin!(
            "microfacet",
            "anisotropic_root",
            |local: Vec3, along: f32, across: f32| anisotropic_root(local, along, across)
        ),
        twin!(
            "microfacet",
            "anisotropic_density",
            |eye: Vec3, half: Vec3, along: f32, across: f32| anisotropic_density(
                eye, half, along, across
            )
        ),
        twin!(
            "microfacet",
            "anisotropic_shadowing",
            |eye: Vec3, light: Vec3, along: f32, across: f32, correlated: bool| {
                anisotropic_shadowing(eye, light, along, across, correlated)
            }
        ),
        twin!(
            "microfacet",
            "sample_anisotropic_normal",
            |normal: Vec3, tangent: Vec3, to_eye: Vec3, along: f32, across: f32, u: f32, v: f32| {
                sample_anisotropic_normal((normal, tangent), to_eye, along, across, (u, v))
            }
        ),
        twin!(
            "microfacet",
            "fresnel_conductor",
            |cosine: f32, eta: f32, k: f32| fresnel_conductor(cosine, eta, k)
        ),
        twin!("microfacet", "schlick", |cosine: f32| schlick(cosine)),
    ]
}
