//! How surfaces scatter and shine. Twin: `kernels/shared/material.cuh`.

use compaction::shared;
use glam::Vec3;

use crate::{
    math::{dot, greater, half_power, normalize, square_to_disk, to_world},
    microfacet::{MIN_ALPHA, fresnel_conductor},
    scene,
};

/// Beside the bits of materials' kinds: a scene has lights that are no surfaces, or so many that they have a tree.
pub const OTHER_LIGHTS: u32 = 1 << 31;
/// Beside the bits of materials' kinds: a material absorbs what goes through it.
pub const ABSORBING: u32 = 1 << 30;
/// Beside the bits of materials' kinds: instances shine.
pub const PLACED_LIGHTS: u32 = 1 << 29;
/// Beside the bits of materials' kinds: a coat has normals of its own.
pub const COAT_NORMALS: u32 = 1 << 28;
/// Beside the bits of materials' kinds: a texture lies by a surface's second coordinates.
pub const TWO_COORDINATES: u32 = 1 << 27;
/// `Material::kind`: Lambert's, of albedo `color`; shines with `emission` from its front.
pub const DIFFUSE: u32 = 0;
/// `Material::kind`: a perfect mirror that reflects `color`.
pub const MIRROR: u32 = 1;
/// `Material::kind`: a smooth boundary to a medium of refractive index `ior`, which lies behind the front.
pub const DIELECTRIC: u32 = 2;
/// `Material::kind`: a smooth metal, of `eta` and `k` or of `color`.
pub const CONDUCTOR: u32 = 3;
/// `Material::kind`: a metal whose facets are spread by `alpha`.
pub const ROUGH_CONDUCTOR: u32 = 4;
/// `Material::kind`: a boundary as of `DIELECTRIC`, whose facets are spread by `alpha`.
pub const ROUGH_DIELECTRIC: u32 = 5;
/// `Material::kind`: a coat over a mixture of metal, glass and an even base.
pub const LAYERED: u32 = 6;
/// Kinds that there are.
pub const KIND_COUNT: u32 = LAYERED + 1;
/// "No kind": of a lane without a path.
pub const NO_KIND: u32 = 255;

/// Kinds that the plain kernel knows, a bit each: scenes of these alone are not slowed down by the others.
pub const PLAIN_KINDS: u32 = 1 << DIFFUSE | 1 << MIRROR | 1 << DIELECTRIC;
/// All kinds but what is rare, and slows every other scene with instances.
pub const ALL_KINDS: u32 = PLAIN_KINDS
    | 1 << CONDUCTOR
    | 1 << ROUGH_CONDUCTOR
    | 1 << ROUGH_DIELECTRIC
    | 1 << LAYERED
    | OTHER_LIGHTS
    | ABSORBING;

/// What is rare: scenes with any of it have kernels that know all.
pub const RARE_KINDS: u32 = PLACED_LIGHTS | COAT_NORMALS | TWO_COORDINATES;

/// In `Material::flags`: facets shadow and mask each other by one height; else as if by two of their own.
pub const CORRELATED: u32 = 1;
/// In `Material::flags`: what a single scattering loses leaves after several.
pub const COMPENSATED: u32 = 2;
/// In `Material::flags`: the metal reflects by Schlick's approximation, from `color` head on.
pub const SCHLICK: u32 = 4;
/// In `Material::flags`: glass without a volume behind its front, which bends nothing.
pub const THIN: u32 = 8;
/// In `Material::flags`: light that a boundary sends back into an even base is scattered there again.
pub const SATURATED: u32 = 16;
/// In `Material::flags`: shines to both sides; what goes to the back is found by the paths that meet it alone.
pub const SHINES_BEHIND: u32 = 32;

shared! {
    /// A surface's material.
    #[repr(align(16))]
    pub struct Material {
        /// Albedo or reflectance, linear sRGB, 0..=1; of a metal with `eta` and `k` the mean over light from all sides.
        pub color: Vec3,
        /// One of the kinds.
        pub kind: u32,
        /// Radiance from the front, linear sRGB; see `SHINES_BEHIND`.
        pub emission: Vec3,
        /// Refractive index relative to the outside.
        pub ior: f32,
        /// Real part of a metal's refractive index, per channel; of a layered material what its boundary reflects head on.
        pub eta: Vec3,
        /// GGX roughness, `MIN_ALPHA`..=1.
        pub alpha: f32,
        /// Imaginary part of a metal's refractive index.
        pub k: Vec3,
        /// A sum of the flags.
        pub flags: u32,
        /// 1 if it is black seen from behind.
        pub one_sided: u32,
        /// Where its table begins among those of `energy`.
        pub table: u32,
        /// Where the table of its mirrors begins, if it is layered.
        pub mirrors: u32,
        /// What a layered material's boundary reflects at grazing angles, 0..=1.
        pub specular: f32,
        /// Part of a layered material that is metal, 0..=1.
        pub metallic: f32,
        /// Part of the rest that is glass, 0..=1.
        pub transmission: f32,
        /// Part of it that is coated, 0..=1.
        pub clearcoat: f32,
        /// The coat's roughness, as `alpha`.
        pub clearcoat_alpha: f32,
        /// Number of its maps, if textures scale its parameters; else 0.
        pub maps: u32,
        /// Behind its front, what comes through a metre is ½ to this power; 0 where nothing is absorbed.
        pub absorption: Vec3,
    }
}

/// Direction of a mirrored ray, of length 1. `normal` faces the ray.
#[inline]
pub fn reflect(direction: Vec3, normal: Vec3) -> Vec3 {
    normalize(direction - normal * (2.0 * dot(direction, normal)))
}

/// Direction of a refracted ray, of length 1. `normal` faces the ray; `eta` is the index before the surface over the one
/// behind it; `cos_out` is the refracted ray's cosine from `fresnel`.
#[inline]
pub fn refract(direction: Vec3, normal: Vec3, eta: f32, cos_in: f32, cos_out: f32) -> Vec3 {
    normalize(direction * eta + normal * (eta * cos_in - cos_out))
}

/// Fraction of unpolarised light that a smooth boundary reflects, and the cosine of the refracted ray (0 in total
/// reflection). Fresnel's equations for dielectrics.
#[inline]
pub fn fresnel(cos_in: f32, eta: f32) -> (f32, f32) {
    let sin2_out = eta * eta * greater(0.0, 1.0 - cos_in * cos_in);
    if sin2_out >= 1.0 {
        return (1.0, 0.0);
    }
    let cos_out = (1.0 - sin2_out).sqrt();
    let parallel = (cos_in - eta * cos_out) / (cos_in + eta * cos_out);
    let perpendicular = (eta * cos_in - cos_out) / (eta * cos_in + cos_out);
    (
        0.5 * (parallel * parallel + perpendicular * perpendicular),
        cos_out,
    )
}

/// A direction about `normal` with density cos θ / π, and its cosine.
#[inline(always)]
pub fn sample_cosine(normal: Vec3, u: f32, v: f32) -> (Vec3, f32) {
    let (x, y) = square_to_disk(u, v);
    let cosine = greater(0.0, 1.0 - x * x - y * y).sqrt();
    (normalize(to_world(normal, Vec3::new(x, y, cosine))), cosine)
}

/// Part of the light that is left of what went so far behind the material's front, metres (Beer & Lambert).
#[inline]
pub fn transmitted(material: &Material, distance: f32) -> Vec3 {
    Vec3::new(
        half_power(material.absorption.x * distance),
        half_power(material.absorption.y * distance),
        half_power(material.absorption.z * distance),
    )
}

/// Weight of a sample drawn with density `drawn` that `other` could have drawn too: the power heuristic with exponent 2
/// (Veach 1997). The quotient, and not the squares, so that no density is too large for it.
#[inline]
pub fn power_heuristic(drawn: f32, other: f32) -> f32 {
    let ratio = other / drawn;
    1.0 / (1.0 + ratio * ratio)
}

/// Mean of a metal's reflectance over light from all sides, in one channel.
fn mean_reflectance(eta: f32, k: f32) -> f32 {
    const STEPS: u32 = 256;
    let steps = (0..STEPS).map(|step| {
        let cosine = (f64::from(step) + 0.5) / f64::from(STEPS);
        f64::from(fresnel_conductor(cosine as f32, eta, k)) * 2.0 * cosine
    });
    (steps.sum::<f64>() / f64::from(STEPS)) as f32
}

fn metal(metal: scene::Metal, kind: u32) -> Material {
    let material = Material {
        kind,
        ior: 1.0,
        ..Material::default()
    };
    match metal {
        scene::Metal::Index { eta, k } => Material {
            color: Vec3::from_array([0, 1, 2].map(|c| mean_reflectance(eta[c], k[c]))),
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

fn rough(roughness: scene::Roughness, smooth: Material) -> Material {
    let correlated = match roughness.masking {
        scene::Masking::Separable => 0,
        scene::Masking::HeightCorrelated => CORRELATED,
    };
    let compensated = if roughness.energy_compensation {
        COMPENSATED
    } else {
        0
    };
    Material {
        alpha: roughness.alpha,
        flags: smooth.flags + correlated + compensated,
        ..smooth
    }
}

/// How often a metre halves the light, from the coefficient of absorption per metre.
fn halvings(absorption: Vec3) -> Vec3 {
    (absorption.as_dvec3() * std::f64::consts::LOG2_E).as_vec3()
}

fn layered(principled: &scene::Principled) -> Material {
    let &scene::Principled {
        base_color,
        metallic,
        roughness,
        ior,
        specular,
        specular_color,
        transmission,
        thin,
        clearcoat,
        clearcoat_roughness,
        emission,
        both_sides,
        one_sided,
        absorption,
    } = principled;
    let head_on = (ior - 1.0) / (ior + 1.0);
    let boundary = (specular_color * (head_on * head_on)).min(Vec3::ONE) * specular;
    // Glass that bends nothing is thin.
    let thin = thin || (ior - 1.0).abs() < 1e-3;
    Material {
        color: base_color,
        kind: LAYERED,
        emission,
        ior,
        eta: boundary,
        specular,
        alpha: greater(roughness * roughness, MIN_ALPHA),
        flags: CORRELATED
            + COMPENSATED
            + if thin { THIN } else { 0 }
            + if both_sides { SHINES_BEHIND } else { 0 },
        one_sided: one_sided.into(),
        metallic,
        transmission,
        clearcoat,
        clearcoat_alpha: greater(clearcoat_roughness * clearcoat_roughness, MIN_ALPHA),
        absorption: if thin || transmission == 0.0 {
            Vec3::ZERO
        } else {
            halvings(absorption)
        },
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
            scene::Surface::Dielectric { ior, absorption } => Material {
                ior,
                absorption: halvings(absorption),
                ..plain(DIELECTRIC, Vec3::ONE)
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
            // Nothing is bent, so that no facet is seen.
            scene::Surface::RoughDielectric {
                ior, absorption, ..
            } if (ior - 1.0).abs() < 1e-3 => Material {
                ior,
                absorption: halvings(absorption),
                ..plain(DIELECTRIC, Vec3::ONE)
            },
            scene::Surface::RoughDielectric {
                ior,
                roughness,
                absorption,
            } => rough(
                roughness,
                Material {
                    ior,
                    absorption: halvings(absorption),
                    ..plain(ROUGH_DIELECTRIC, Vec3::ONE)
                },
            ),
            scene::Surface::CoatedDiffuse {
                albedo,
                ior,
                alpha,
                one_sided,
            } => {
                let head_on = (ior - 1.0) / (ior + 1.0);
                Material {
                    ior,
                    eta: Vec3::splat(head_on * head_on),
                    specular: 1.0,
                    alpha: greater(alpha, MIN_ALPHA),
                    clearcoat_alpha: MIN_ALPHA,
                    flags: CORRELATED + COMPENSATED + SATURATED,
                    one_sided: one_sided.into(),
                    ..plain(LAYERED, albedo)
                }
            }
            scene::Surface::Principled(ref principled) => layered(principled),
            scene::Surface::Emissive {
                radiance,
                albedo,
                one_sided,
                both_sides,
            } => Material {
                emission: radiance,
                one_sided: one_sided.into(),
                flags: if both_sides { SHINES_BEHIND } else { 0 },
                ..plain(DIFFUSE, albedo)
            },
        }
    }
}
