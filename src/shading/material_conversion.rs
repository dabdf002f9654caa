//! The conversion of a scene's materials to those that the stages read.

use glam::Vec3;

use super::{
    material::{
        ANISOTROPIC_FACETS, BECKMANN_FACETS, BLEND, BOUNDARY, BY_SIDE, COMPENSATED, CONDUCTOR,
        CORRELATED, DIELECTRIC, DIFFUSE, EXTENDED, LAYERED, LINEAR_ROUGHNESS, MIN_SHEEN_ALPHA,
        MIRROR, Material, ROUGH_CONDUCTOR, ROUGH_DIELECTRIC, SATURATED, SCHLICK, THIN,
        TWO_SIDED_EMISSION, WEAKEST_REFRACTION,
    },
    medium::Medium,
    microfacet::{MIN_ALPHA, fresnel_conductor},
};
use crate::{math::max_f32, scene};

/// Returns the cosine-weighted hemispherical mean of a conductor's Fresnel reflectance in one channel.
fn mean_reflectance(eta: f32, k: f32) -> f32 {
    const STEPS: u32 = 256;
    let steps = (0..STEPS).map(|step| {
        let cosine = (f64::from(step) + 0.5) / f64::from(STEPS);
        f64::from(fresnel_conductor(cosine as f32, eta, k)) * 2.0 * cosine
    });
    (steps.sum::<f64>() / f64::from(STEPS)) as f32
}

/// Builds a conductor, smooth or rough according to `kind`.
fn metal(metal: scene::Metal, kind: u32) -> Material {
    let material = Material {
        kind,
        ior: 1.0,
        ..Material::default()
    };
    match metal {
        scene::Metal::Index { eta, k, tint } => Material {
            color: tint,
            sheen: Vec3::from_array([0, 1, 2].map(|c| mean_reflectance(eta[c], k[c]))),
            eta,
            k,
            ..material
        },
        scene::Metal::Color(color) => Material {
            color,
            flags: SCHLICK,
            ..material
        },
    }
}

/// Builds a smooth dielectric. A thin one has no interior.
fn dielectric(
    ior: f32,
    thin: bool,
    tint: scene::GlassTint,
    absorption: scene::Absorption,
) -> Material {
    Material {
        kind: DIELECTRIC,
        color: tint.transmission,
        eta: tint.reflection,
        ior,
        flags: if thin { THIN } else { 0 },
        absorption: if thin {
            Vec3::ZERO
        } else {
            halvings(absorption.coefficient())
        },
        ..Material::default()
    }
}

/// Sets distribution, roughness, masking and energy compensation of a material. Anisotropic facets and Beckmann's are
/// never compensated. Textures of the roughness will scale `alpha` itself, not its square root.
fn rough(roughness: scene::Roughness, smooth: Material) -> Material {
    let correlated = match roughness.masking {
        scene::Masking::Separable => 0,
        scene::Masking::HeightCorrelated => CORRELATED,
    };
    let distribution = match roughness.distribution {
        scene::FacetDistribution::Ggx => 0,
        scene::FacetDistribution::Beckmann => BECKMANN_FACETS,
    };
    let facets = match roughness.alpha_v {
        Some(_) => ANISOTROPIC_FACETS,
        None if roughness.energy_compensation && distribution == 0 => COMPENSATED,
        None => 0,
    };
    Material {
        alpha: roughness.alpha,
        alpha_across: roughness.alpha_v.unwrap_or(roughness.alpha),
        anisotropy_cosine: 1.0,
        flags: smooth.flags + correlated + distribution + facets + LINEAR_ROUGHNESS,
        ..smooth
    }
}

/// Converts an absorption coefficient per metre (base e) to base 2.
fn halvings(absorption: Vec3) -> Vec3 {
    (absorption.as_dvec3() * std::f64::consts::LOG2_E).as_vec3()
}

/// Builds a layered material from the parameters of a principled one.
fn layered(principled: &scene::Principled) -> Material {
    let amplitude = (principled.ior - 1.0) / (principled.ior + 1.0);
    let normal_reflectance = principled.specular_color * (amplitude * amplitude);
    let boundary = normal_reflectance.min(Vec3::ONE) * principled.specular;
    let has_transmission = principled.transmission > 0.0;
    let has_diffuse_transmission = principled.diffuse_transmission > 0.0;
    // Refraction is undefined at index 1. The boundary keeps its reflectance, and light bends by an invisible angle.
    let has_volume = !principled.thin && has_transmission;
    let ior = if has_volume && (principled.ior - 1.0).abs() < WEAKEST_REFRACTION {
        1.0 + WEAKEST_REFRACTION
    } else {
        principled.ior
    };
    let has_interior = !principled.thin && (has_transmission || has_diffuse_transmission);
    let thin = principled.thin || (ior - 1.0).abs() < 1e-3;
    // Diffuse transmission alone does not refract.
    let thin = thin || (principled.transmission == 0.0 && has_diffuse_transmission);
    let disperses = principled.dispersion > 0.0 && has_transmission && !thin;
    let is_extended = principled.sheen_color != Vec3::ZERO
        || principled.anisotropy > 0.0
        || principled.iridescence > 0.0
        || has_diffuse_transmission
        || disperses;
    let turn = f64::from(principled.anisotropy_rotation).to_radians();
    let alpha = |roughness: f32, min: f32| max_f32(roughness * roughness, min);
    Material {
        color: principled.base_color,
        kind: if is_extended { EXTENDED } else { LAYERED },
        emission: principled.emission,
        ior,
        eta: boundary,
        k: Vec3::ONE,
        specular: principled.specular,
        alpha: alpha(principled.roughness, MIN_ALPHA),
        flags: CORRELATED
            + COMPENSATED
            + if thin { THIN } else { 0 }
            + if principled.both_sides {
                TWO_SIDED_EMISSION
            } else {
                0
            },
        one_sided: principled.one_sided.into(),
        metallic: principled.metallic,
        transmission: principled.transmission,
        clearcoat: principled.clearcoat,
        clearcoat_alpha: alpha(principled.clearcoat_roughness, MIN_ALPHA),
        absorption: if has_interior {
            halvings(principled.absorption.coefficient())
        } else {
            Vec3::ZERO
        },
        sheen: principled.sheen_color,
        sheen_alpha: alpha(principled.sheen_roughness, MIN_SHEEN_ALPHA),
        anisotropy: principled.anisotropy,
        anisotropy_cosine: libm::cos(turn) as f32,
        anisotropy_sine: libm::sin(turn) as f32,
        dispersion: if disperses {
            principled.dispersion
        } else {
            0.0
        },
        film: principled.iridescence,
        film_ior: principled.iridescence_ior,
        film_thickness: principled.iridescence_thickness,
        film_thickness_min: principled.iridescence_thickness_min,
        diffuse_transmission_color: principled.diffuse_transmission_color,
        diffuse_transmission: principled.diffuse_transmission,
        ..Material::default()
    }
}

impl From<&scene::Surface> for Material {
    fn from(surface: &scene::Surface) -> Material {
        let plain = |kind, color| Material {
            kind,
            color,
            ior: 1.0,
            ..Material::default()
        };
        match *surface {
            scene::Surface::Diffuse { albedo, one_sided } => Material {
                one_sided: one_sided.into(),
                ..plain(DIFFUSE, albedo)
            },
            scene::Surface::Mirror {
                reflectance,
                one_sided,
            } => Material {
                one_sided: one_sided.into(),
                ..plain(MIRROR, reflectance)
            },
            scene::Surface::Dielectric {
                ior,
                thin,
                tint,
                absorption,
            } => dielectric(ior, thin, tint, absorption),
            // Paths never scatter there.
            scene::Surface::Boundary => Material {
                flags: BOUNDARY,
                ..plain(DIFFUSE, Vec3::ZERO)
            },
            scene::Surface::Conductor {
                metal: of,
                one_sided,
            } => Material {
                one_sided: one_sided.into(),
                ..metal(of, CONDUCTOR)
            },
            scene::Surface::RoughConductor {
                metal: of,
                roughness,
                one_sided,
            } => Material {
                one_sided: one_sided.into(),
                ..rough(roughness, metal(of, ROUGH_CONDUCTOR))
            },
            // An index of 1 does not refract, so the facets are invisible.
            scene::Surface::RoughDielectric {
                ior,
                tint,
                absorption,
                ..
            } if (ior - 1.0).abs() < 1e-3 => dielectric(ior, false, tint, absorption),
            scene::Surface::RoughDielectric {
                ior,
                roughness,
                tint,
                absorption,
            } => rough(
                roughness,
                Material {
                    kind: ROUGH_DIELECTRIC,
                    ..dielectric(ior, false, tint, absorption)
                },
            ),
            scene::Surface::CoatedDiffuse {
                albedo,
                ior,
                alpha,
                reflection_tint,
                one_sided,
            } => {
                let amplitude = (ior - 1.0) / (ior + 1.0);
                Material {
                    ior,
                    eta: Vec3::splat(amplitude * amplitude),
                    k: reflection_tint,
                    specular: 1.0,
                    alpha: max_f32(alpha, MIN_ALPHA),
                    clearcoat_alpha: MIN_ALPHA,
                    flags: CORRELATED + COMPENSATED + SATURATED + LINEAR_ROUGHNESS,
                    one_sided: one_sided.into(),
                    ..plain(LAYERED, albedo)
                }
            }
            scene::Surface::Principled(ref principled) => layered(principled),
            scene::Surface::Blend {
                first,
                second,
                weight,
                by_side,
                emission,
                both_sides,
            } => Material {
                emission,
                first,
                second,
                weight: if by_side { 0.0 } else { weight },
                flags: BLEND
                    + if by_side { BY_SIDE } else { 0 }
                    + if both_sides { TWO_SIDED_EMISSION } else { 0 },
                ..plain(EXTENDED, Vec3::ZERO)
            },
            scene::Surface::Emissive {
                radiance,
                albedo,
                one_sided,
                both_sides,
            } => Material {
                emission: radiance,
                one_sided: one_sided.into(),
                flags: if both_sides { TWO_SIDED_EMISSION } else { 0 },
                ..plain(DIFFUSE, albedo)
            },
        }
    }
}

impl From<&scene::Medium> for Medium {
    fn from(medium: &scene::Medium) -> Medium {
        Medium {
            extinction: halvings(medium.extinction()),
            anisotropy: medium.anisotropy,
            scattering: halvings(medium.scattering),
            scatters: u32::from(medium.scattering != Vec3::ZERO),
        }
    }
}
