//! Cases of BSDFs and their lobes.

use glam::Vec3;
use raysieve::{
    accel::instance::tangent_at,
    math::{dot, normalize},
    shading::{
        bsdf::{
            bsdf_of, bsdf_sample, bsdf_value,
            conductor::{
                compensate_conductor, metal_reflectance, metal_value, multiple_scattering_tint,
            },
            dielectric::{
                alpha_below_coat, coat_factor, coat_transmittance, coated_part,
                compensate_dielectric, filmed_glass, glass_facets, glass_value,
                mean_coat_above_glass, mean_coat_transmittance, meets_coat_from_inside,
                part_below_coat, reflected_part, sample_again, sample_rough,
            },
            extended::{along_tangent, anisotropy_direction},
            facets::{
                facet_density, facet_frame, facet_shadowing, has_anisotropic_facets,
                has_beckmann_facets, sample_facet,
            },
            layered::{layered_value, resolve_layers, sample_layers},
            specular::{is_specular, sample_specular},
        },
        bsdf_types::{Bsdf, NO_VALUE, share},
        material::{Material, reflect},
        microfacet::in_frame,
    },
};

use super::{Case, energy::tables, twin};
use crate::inputs::Inputs;

/// Returns a normal and a direction to the eye, mostly on the normal's side.
fn facing(inputs: &mut Inputs) -> (Vec3, Vec3) {
    let (normal, to_eye): (Vec3, Vec3) = (inputs.draw(), inputs.draw());
    let behind = dot(normal, to_eye) < 0.0 && inputs.below(8) > 0;
    (normal, if behind { -to_eye } else { to_eye })
}

/// Returns a BSDF with a normal and a direction to the eye.
pub(super) fn seen(inputs: &mut Inputs) -> (Bsdf, Vec3, Vec3) {
    let material: Material = inputs.draw();
    let (normal, to_eye) = facing(inputs);
    // Mostly the base's normal or one near it.
    let coat_normal = match inputs.below(4) {
        0 => inputs.draw(),
        1 => normalize(normal + inputs.direction() * 0.3),
        _ => normal,
    };
    let (cos_eye, cos_coat) = (dot(normal, to_eye), dot(coat_normal, to_eye));
    let tangent = tangent_at(inputs.draw(), normal);
    let along2 = along_tangent(in_frame(normal, tangent, to_eye));
    let bsdf = Bsdf {
        coat_normal,
        tangent,
        ..bsdf_of(
            tables(),
            &material,
            cos_eye,
            cos_coat,
            along2,
            inputs.draw(),
        )
    };
    (bsdf, normal, to_eye)
}

/// Returns a BSDF with a normal, a direction to the eye and one to a light.
fn lit_surface(inputs: &mut Inputs) -> (Bsdf, Vec3, Vec3, Vec3) {
    let (bsdf, normal, to_eye) = seen(inputs);
    let to_light = match inputs.below(4) {
        0 => inputs.draw(),
        // Close to the mirror direction.
        1 => normalize(reflect(-to_eye, normal) + inputs.direction() * 0.01),
        _ => inputs.direction(),
    };
    (bsdf, normal, to_eye, to_light)
}

/// Returns a BSDF with a normal, a direction to the eye and the three random numbers of a sample.
fn sampled_surface(inputs: &mut Inputs) -> (Bsdf, Vec3, Vec3, f32, f32, f32) {
    let (bsdf, normal, to_eye) = seen(inputs);
    let (choice, u, v) = (inputs.unit(), inputs.unit(), inputs.unit());
    (bsdf, normal, to_eye, choice, u, v)
}

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new(("bsdf_types", "no_value", "no_value"), |_| (), |()| NO_VALUE),
        twin!("bsdf_types", "share", |part: f32, whole: f32| share(part, whole)),
        twin!(
            ("facets", "has_anisotropic_facets", "has_anisotropic_facets"),
            |inputs| (seen(inputs).0,),
            |bsdf: Bsdf| has_anisotropic_facets(&bsdf)
        ),
        twin!(
            ("facets", "has_beckmann_facets", "has_beckmann_facets"),
            |inputs| (seen(inputs).0,),
            |bsdf: Bsdf| has_beckmann_facets(&bsdf)
        ),
        twin!(
            ("facets", "facet_frame", "facet_frame"),
            |inputs| {
                let (bsdf, normal, to_eye) = seen(inputs);
                (bsdf, normal, to_eye)
            },
            |bsdf: Bsdf, normal: Vec3, direction: Vec3| facet_frame(&bsdf, normal, direction)
        ),
        twin!(
            ("facets", "facet_density", "facet_density"),
            |inputs| {
                let (bsdf, normal, to_eye) = seen(inputs);
                (bsdf, normal, to_eye, inputs.direction(), dot(normal, to_eye))
            },
            |bsdf: Bsdf, normal: Vec3, to_eye: Vec3, half: Vec3, cos_eye: f32| {
                facet_density(&bsdf, normal, to_eye, half, cos_eye)
            }
        ),
        twin!(
            ("facets", "facet_shadowing", "facet_shadowing"),
            |inputs| {
                let (bsdf, normal, to_eye, to_light) = lit_surface(inputs);
                (bsdf, normal, to_eye, to_light, inputs.unit())
            },
            |bsdf: Bsdf, normal: Vec3, to_eye: Vec3, to_light: Vec3, depth: f32| {
                facet_shadowing(&bsdf, normal, to_eye, to_light, depth)
            }
        ),
        twin!(
            ("facets", "sample_facet", "sample_facet"),
            |inputs| {
                let (bsdf, normal, to_eye) = seen(inputs);
                (bsdf, normal, to_eye, inputs.unit(), inputs.unit())
            },
            |bsdf: Bsdf, normal: Vec3, to_eye: Vec3, u: f32, v: f32| {
                sample_facet(&bsdf, normal, to_eye, u, v)
            }
        ),
        twin!(
            (
                "conductor",
                "compensate_conductor",
                "+[](Bsdf bsdf, Material material, f32 cos_eye) {
                    compensate_conductor((const f32 *)calls::energy.data(), bsdf, material, cos_eye);
                    return bsdf;
                }"
            ),
            |inputs| (seen(inputs).0, inputs.draw(), inputs.draw()),
            |bsdf: Bsdf, material: Material, cos_eye: f32| {
                let mut bsdf = bsdf;
                compensate_conductor(tables(), &mut bsdf, &material, cos_eye);
                bsdf
            }
        ),
        twin!(
            (
                "dielectric",
                "compensate_dielectric",
                "+[](Bsdf bsdf, f32 cos_eye, bool front) {
                    compensate_dielectric((const f32 *)calls::energy.data(), bsdf, cos_eye, front);
                    return bsdf;
                }"
            ),
            |inputs| (seen(inputs).0, inputs.draw(), inputs.draw()),
            |bsdf: Bsdf, cos_eye: f32, front: bool| {
                let mut bsdf = bsdf;
                compensate_dielectric(tables(), &mut bsdf, cos_eye, front);
                bsdf
            }
        ),
        twin!(
            (
                "layered",
                "resolve_layers",
                "+[](Bsdf bsdf, Material material, f32 cos_eye, f32 cos_coat, bool front) {
                    resolve_layers((const f32 *)calls::energy.data(), bsdf, material, cos_eye, cos_coat, front);
                    return bsdf;
                }"
            ),
            |inputs| {
                let bsdf = seen(inputs).0;
                let (cos_eye, cos_coat) = (inputs.draw(), inputs.draw());
                (bsdf, inputs.draw(), cos_eye, cos_coat, inputs.draw())
            },
            |bsdf: Bsdf, material: Material, cos_eye: f32, cos_coat: f32, front: bool| {
                let mut bsdf = bsdf;
                resolve_layers(tables(), &mut bsdf, &material, cos_eye, cos_coat, front);
                bsdf
            }
        ),
        twin!(
            (
                "bsdf",
                "bsdf_of",
                "+[](Material material, f32 cos_eye, f32 cos_coat, f32 along2, bool front) {
                    return bsdf_of((const f32 *)calls::energy.data(), material, cos_eye, cos_coat, along2, front);
                }"
            ),
            |inputs| {
                let (cos_eye, cos_coat) = (inputs.draw(), inputs.draw());
                (inputs.draw(), cos_eye, cos_coat, inputs.draw(), inputs.draw())
            },
            |material: Material, cos_eye: f32, cos_coat: f32, along2: f32, front: bool| bsdf_of(
                tables(),
                &material,
                cos_eye,
                cos_coat,
                along2,
                front
            )
        ),
        twin!(
            ("specular", "is_specular", "is_specular"),
            |inputs| (seen(inputs).0,),
            |bsdf: Bsdf| is_specular(&bsdf)
        ),
        twin!(
            ("conductor", "metal_reflectance", "metal_reflectance"),
            |inputs| (seen(inputs).0, inputs.draw()),
            |bsdf: Bsdf, cosine: f32| metal_reflectance(&bsdf, cosine)
        ),
        twin!("conductor", "multiple_scattering_tint", |mean: f32, lost: f32| {
            multiple_scattering_tint(mean, lost)
        }),
        twin!(
            (
                "conductor",
                "metal_value",
                "+[](Bsdf bsdf, Vec3 normal, Vec3 to_eye, Vec3 to_light) {
                    return metal_value((const f32 *)calls::energy.data(), bsdf, normal, to_eye, to_light);
                }"
            ),
            lit_surface,
            |bsdf: Bsdf, normal: Vec3, to_eye: Vec3, to_light: Vec3| metal_value(
                tables(),
                &bsdf,
                normal,
                to_eye,
                to_light
            )
        ),
        twin!(
            (
                "dielectric",
                "reflected_part",
                "+[](Bsdf bsdf, f32 cos_in, f32 reflected, f32 cos_out) {
                    return reflected_part(bsdf, cos_in, Fresnel{reflected, cos_out});
                }"
            ),
            |inputs| (lit_surface(inputs).0, inputs.draw(), inputs.draw(), inputs.draw()),
            |bsdf: Bsdf, cos_in: f32, reflected: f32, cos_out: f32| {
                reflected_part(&bsdf, cos_in, (reflected, cos_out))
            }
        ),
        twin!(
            ("dielectric", "coated_part", "coated_part"),
            |inputs| (lit_surface(inputs).0, inputs.draw(), inputs.draw()),
            |bsdf: Bsdf, reflected: f32, cos_out: f32| coated_part(&bsdf, reflected, cos_out)
        ),
        twin!(
            (
                "dielectric",
                "filmed_glass",
                "+[](Bsdf bsdf, f32 cos_in, f32 reflected, f32 cos_out) {
                    return filmed_glass(bsdf, cos_in, Fresnel{reflected, cos_out});
                }"
            ),
            |inputs| (lit_surface(inputs).0, inputs.draw(), inputs.draw(), inputs.draw()),
            |bsdf: Bsdf, cos_in: f32, reflected: f32, cos_out: f32| {
                filmed_glass(&bsdf, cos_in, (reflected, cos_out))
            }
        ),
        twin!(
            (
                "dielectric",
                "coat_transmittance",
                "+[](Bsdf bsdf, f32 cosine) {
                    return coat_transmittance((const f32 *)calls::energy.data(), bsdf, cosine);
                }"
            ),
            |inputs| (seen(inputs).0, inputs.draw()),
            |bsdf: Bsdf, cosine: f32| coat_transmittance(tables(), &bsdf, cosine)
        ),
        twin!(
            (
                "dielectric",
                "mean_coat_transmittance",
                "+[](Bsdf bsdf) {
                    return mean_coat_transmittance((const f32 *)calls::energy.data(), bsdf);
                }"
            ),
            |inputs| (seen(inputs).0,),
            |bsdf: Bsdf| mean_coat_transmittance(tables(), &bsdf)
        ),
        twin!(
            ("dielectric", "alpha_below_coat", "alpha_below_coat"),
            |inputs| (seen(inputs).0,),
            |bsdf: Bsdf| alpha_below_coat(&bsdf)
        ),
        twin!(
            (
                "dielectric",
                "mean_coat_above_glass",
                "+[](Bsdf bsdf) {
                    return mean_coat_above_glass((const f32 *)calls::energy.data(), bsdf);
                }"
            ),
            |inputs| (seen(inputs).0,),
            |bsdf: Bsdf| mean_coat_above_glass(tables(), &bsdf)
        ),
        twin!(
            (
                "dielectric",
                "glass_facets",
                "+[](Bsdf bsdf, Vec3 normal, Vec3 to_eye, Vec3 to_light, f32 cos_eye, f32 cos_light) {
                    const f32 *tables = (const f32 *)calls::energy.data();
                    return glass_facets(tables, bsdf, normal, to_eye, to_light, cos_eye, cos_light);
                }"
            ),
            |inputs| {
                let (bsdf, normal, to_eye, to_light) = lit_surface(inputs);
                (bsdf, normal, to_eye, to_light, inputs.unit(), inputs.draw())
            },
            |bsdf: Bsdf, normal: Vec3, to_eye: Vec3, to_light: Vec3, cos_eye: f32, cos_light: f32| {
                let directions = (normal, to_eye, to_light);
                glass_facets(tables(), &bsdf, directions, (cos_eye, cos_light))
            }
        ),
        twin!(
            (
                "dielectric",
                "coat_factor",
                "+[](Bsdf bsdf, f32 cosine, f32 transmittance) {
                    return coat_factor((const f32 *)calls::energy.data(), bsdf, cosine, transmittance);
                }"
            ),
            |inputs| (seen(inputs).0, inputs.draw(), inputs.unit()),
            |bsdf: Bsdf, cosine: f32, transmittance: f32| {
                coat_factor(tables(), &bsdf, cosine, transmittance)
            }
        ),
        twin!(
            ("dielectric", "meets_coat_from_inside", "meets_coat_from_inside"),
            |inputs| (seen(inputs).0,),
            |bsdf: Bsdf| meets_coat_from_inside(&bsdf)
        ),
        twin!(
            (
                "dielectric",
                "part_below_coat",
                "+[](Bsdf bsdf, f32 cos_eye, f32 cos_light, f32 cos_eye_half, f32 reflected) {
                    const f32 *tables = (const f32 *)calls::energy.data();
                    return part_below_coat(tables, bsdf, cos_eye, cos_light, cos_eye_half, reflected);
                }"
            ),
            |inputs| {
                let cosines: [f32; 3] = [inputs.draw(), inputs.draw(), inputs.draw()];
                (seen(inputs).0, cosines[0], cosines[1], cosines[2], inputs.unit())
            },
            |bsdf: Bsdf, cos_eye: f32, cos_light: f32, cos_eye_half: f32, reflected: f32| {
                part_below_coat(tables(), &bsdf, (cos_eye, cos_light), cos_eye_half, reflected)
            }
        ),
        twin!(
            ("extended", "anisotropy_direction", "anisotropy_direction"),
            |inputs| {
                let material = Material {
                    anisotropy_cosine: inputs.draw(),
                    anisotropy_sine: inputs.draw(),
                    ..inputs.draw()
                };
                (material, inputs.draw(), inputs.draw(), inputs.draw())
            },
            |material: Material, normal: Vec3, tangent: Vec3, handedness: f32| {
                anisotropy_direction(&material, normal, tangent, handedness)
            }
        ),
        twin!(
            (
                "dielectric",
                "glass_value",
                "+[](Bsdf bsdf, Vec3 normal, Vec3 to_eye, Vec3 to_light) {
                    return glass_value((const f32 *)calls::energy.data(), bsdf, normal, to_eye, to_light);
                }"
            ),
            lit_surface,
            |bsdf: Bsdf, normal: Vec3, to_eye: Vec3, to_light: Vec3| glass_value(
                tables(),
                &bsdf,
                normal,
                to_eye,
                to_light
            )
        ),
        twin!(
            (
                "layered",
                "layered_value",
                "+[](Bsdf bsdf, Vec3 normal, Vec3 to_eye, Vec3 to_light) {
                    return layered_value((const f32 *)calls::energy.data(), bsdf, normal, to_eye, to_light);
                }"
            ),
            lit_surface,
            |bsdf: Bsdf, normal: Vec3, to_eye: Vec3, to_light: Vec3| layered_value(
                tables(),
                &bsdf,
                normal,
                to_eye,
                to_light
            )
        ),
        twin!(
            (
                "bsdf",
                "bsdf_value",
                "+[](Bsdf bsdf, Vec3 normal, Vec3 to_eye, Vec3 to_light) {
                    return bsdf_value((const f32 *)calls::energy.data(), bsdf, normal, to_eye, to_light);
                }"
            ),
            lit_surface,
            |bsdf: Bsdf, normal: Vec3, to_eye: Vec3, to_light: Vec3| bsdf_value(
                tables(),
                &bsdf,
                normal,
                to_eye,
                to_light
            )
        ),
        twin!(
            ("specular", "sample_specular", "sample_specular"),
            |inputs| {
                let (bsdf, normal, to_eye) = seen(inputs);
                (bsdf, normal, to_eye, inputs.unit())
            },
            |bsdf: Bsdf, normal: Vec3, to_eye: Vec3, choice: f32| sample_specular(
                &bsdf, normal, to_eye, choice
            )
        ),
        twin!(
            (
                "dielectric",
                "sample_again",
                "+[](Bsdf bsdf, Vec3 normal, f32 choice, f32 u, f32 v) {
                    return sample_again((const f32 *)calls::energy.data(), bsdf, normal, choice, u, v);
                }"
            ),
            |inputs| {
                let (bsdf, normal, _) = seen(inputs);
                (bsdf, normal, inputs.unit(), inputs.unit(), inputs.unit())
            },
            |bsdf: Bsdf, normal: Vec3, choice: f32, u: f32, v: f32| sample_again(
                tables(),
                &bsdf,
                normal,
                choice,
                u,
                v
            )
        ),
        twin!(
            (
                "dielectric",
                "sample_rough",
                "+[](Bsdf bsdf, Vec3 normal, Vec3 to_eye, f32 choice, f32 u, f32 v) {
                    return sample_rough((const f32 *)calls::energy.data(), bsdf, normal, to_eye, choice, u, v);
                }"
            ),
            sampled_surface,
            |bsdf: Bsdf, normal: Vec3, to_eye: Vec3, choice: f32, u: f32, v: f32| sample_rough(
                tables(),
                &bsdf,
                normal,
                to_eye,
                choice,
                u,
                v
            )
        ),
        twin!(
            (
                "layered",
                "sample_layers",
                "+[](Bsdf bsdf, Vec3 normal, Vec3 to_eye, f32 choice, f32 u, f32 v) {
                    return sample_layers((const f32 *)calls::energy.data(), bsdf, normal, to_eye, choice, u, v);
                }"
            ),
            sampled_surface,
            |bsdf: Bsdf, normal: Vec3, to_eye: Vec3, choice: f32, u: f32, v: f32| sample_layers(
                tables(),
                &bsdf,
                normal,
                to_eye,
                choice,
                u,
                v
            )
        ),
        twin!(
            (
                "bsdf",
                "bsdf_sample",
                "+[](Bsdf bsdf, Vec3 normal, Vec3 to_eye, f32 choice, f32 u, f32 v) {
                    return bsdf_sample((const f32 *)calls::energy.data(), bsdf, normal, to_eye, choice, u, v);
                }"
            ),
            sampled_surface,
            |bsdf: Bsdf, normal: Vec3, to_eye: Vec3, choice: f32, u: f32, v: f32| bsdf_sample(
                tables(),
                &bsdf,
                normal,
                to_eye,
                choice,
                u,
                v
            )
        ),
    ]
}
