//! Materials as the stages read them, and the reflection, refraction and MIS functions they share. Twin:
//! `kernels/shared/material.cuh`. Imports `math`, `microfacet`, `scene`.

use compaction::shared;
use glam::Vec3;

use crate::{
    math::{dot, half_power, local_to_world, max_f32, normalize, square_to_disk},
    scene,
    shading::microfacet::{MIN_ALPHA, fresnel_conductor},
};

/// Feature bit beside the bits of material kinds: the scene has lights that are not surfaces, or a light tree.
pub const OTHER_LIGHTS: u32 = 1 << 31;
/// Feature bit beside the bits of material kinds: some material absorbs light in its interior.
pub const ABSORBING: u32 = 1 << 30;
/// Feature bit beside the bits of material kinds: triangles of mesh instances are sampled as lights.
pub const INSTANCED_LIGHTS: u32 = 1 << 29;
/// Feature bit beside the bits of material kinds: some clear coat has a normal map of its own.
pub const COAT_NORMALS: u32 = 1 << 28;
/// Feature bit beside the bits of material kinds: some texture uses the second set of texture coordinates.
pub const SECOND_UV: u32 = 1 << 27;
/// `Material::kind`: Lambertian reflection of albedo `color`.
pub const DIFFUSE: u32 = 0;
/// `Material::kind`: a perfect mirror of reflectance `color`.
pub const MIRROR: u32 = 1;
/// `Material::kind`: a smooth dielectric boundary. The medium of refractive index `ior` lies behind its front.
pub const DIELECTRIC: u32 = 2;
/// `Material::kind`: a smooth conductor, given by `eta` and `k`, or by `color` with the flag `SCHLICK`.
pub const CONDUCTOR: u32 = 3;
/// `Material::kind`: a conductor with GGX roughness `alpha`.
pub const ROUGH_CONDUCTOR: u32 = 4;
/// `Material::kind`: a dielectric boundary with GGX roughness `alpha`.
pub const ROUGH_DIELECTRIC: u32 = 5;
/// `Material::kind`: a clear coat over a mixture of metal, glass and a diffuse base below a dielectric boundary.
pub const LAYERED: u32 = 6;
/// Number of material kinds.
pub const KIND_COUNT: u32 = LAYERED + 1;
/// Sort key of a queue entry without a path.
pub const NO_KIND: u32 = 255;

/// Material kinds of the simplest kernel variant, one bit each. Scenes with no other kinds avoid the cost of the
/// others.
pub const PLAIN_KINDS: u32 = 1 << DIFFUSE | 1 << MIRROR | 1 << DIELECTRIC;
/// Material kinds and features of the general kernel variant: everything except [`RARE_KINDS`].
pub const ALL_KINDS: u32 = PLAIN_KINDS
    | 1 << CONDUCTOR
    | 1 << ROUGH_CONDUCTOR
    | 1 << ROUGH_DIELECTRIC
    | 1 << LAYERED
    | OTHER_LIGHTS
    | ABSORBING;

/// Features that would slow down other scenes with instances. A scene with any of them uses the variant with
/// everything.
pub const RARE_KINDS: u32 = INSTANCED_LIGHTS | COAT_NORMALS | SECOND_UV;

/// Bit of `Material::flags`: masking and shadowing of GGX are height-correlated; otherwise they are separable.
pub const CORRELATED: u32 = 1;
/// Bit of `Material::flags`: the energy that single scattering loses is restored, see
/// [`energy`](crate::shading::energy).
pub const COMPENSATED: u32 = 2;
/// Bit of `Material::flags`: a conductor uses Schlick's Fresnel approximation with F0 = `color`.
pub const SCHLICK: u32 = 4;
/// Bit of `Material::flags`: glass without an interior, which transmits light without refraction.
pub const THIN: u32 = 8;
/// Bit of `Material::flags`: light that the boundary reflects back into a diffuse base is scattered there again.
pub const SATURATED: u32 = 16;
/// Bit of `Material::flags`: emits from both sides. Emission from the back is found by BSDF samples only.
pub const TWO_SIDED_EMISSION: u32 = 32;
/// Kinds, features and flags that kernels use under the same names.
pub(crate) const CONSTANTS: &[(&str, u32)] = named![
    DIFFUSE,
    MIRROR,
    DIELECTRIC,
    CONDUCTOR,
    ROUGH_CONDUCTOR,
    ROUGH_DIELECTRIC,
    LAYERED,
    NO_KIND,
    PLAIN_KINDS,
    OTHER_LIGHTS,
    ABSORBING,
    INSTANCED_LIGHTS,
    COAT_NORMALS,
    SECOND_UV,
    CORRELATED,
    COMPENSATED,
    SCHLICK,
    THIN,
    SATURATED,
    TWO_SIDED_EMISSION
];

shared! {
    /// A surface's material.
    #[repr(align(16))]
    pub struct Material {
        /// Albedo or reflectance in linear sRGB, 0..=1. For a conductor given by `eta` and `k`, its mean reflectance
        /// over the hemisphere.
        pub color: Vec3,
        /// The kind, such as [`DIFFUSE`].
        pub kind: u32,
        /// Radiance emitted from the front, in linear sRGB; see [`TWO_SIDED_EMISSION`] for the back.
        pub emission: Vec3,
        /// Refractive index of the interior relative to the outside.
        pub ior: f32,
        /// Real part of a conductor's refractive index, per channel. For a layered material, the F0 of its dielectric
        /// boundary.
        pub eta: Vec3,
        /// GGX roughness `alpha`, [`MIN_ALPHA`]..=1, of rough kinds.
        pub alpha: f32,
        /// Imaginary part of a conductor's refractive index, per channel.
        pub k: Vec3,
        /// Sum of flags such as [`CORRELATED`].
        pub flags: u32,
        /// 1 if the back absorbs all light, otherwise 0.
        pub one_sided: u32,
        /// Offset of the material's energy table, in floats, among those of [`energy`](crate::shading::energy).
        pub table: u32,
        /// Offset of a layered material's energy table of perfectly reflecting facets, in floats.
        pub mirrors: u32,
        /// F90 of a layered material's dielectric boundary, 0..=1.
        pub specular: f32,
        /// Weight of the metal in a layered material, 0..=1.
        pub metallic: f32,
        /// Weight of glass in the non-metallic part of a layered material, 0..=1.
        pub transmission: f32,
        /// Weight of the clear coat of a layered material, 0..=1.
        pub clearcoat: f32,
        /// GGX roughness `alpha` of the clear coat, [`MIN_ALPHA`]..=1.
        pub clearcoat_alpha: f32,
        /// Index of the material's textures among the scene's
        /// [`MaterialTextures`](crate::shading::material_textures::MaterialTextures); 0 without textures.
        pub maps: u32,
        /// Absorption of the interior: the transmittance of one metre is 2 to the power of minus this, per channel.
        pub absorption: Vec3,
    }
}

/// Returns the mirrored direction of a ray, of length 1. `normal` faces the ray: its dot product with `direction` is
/// negative.
#[inline(always)]
pub fn reflect(direction: Vec3, normal: Vec3) -> Vec3 {
    normalize(direction - normal * (2.0 * dot(direction, normal)))
}

/// Returns the refracted direction of a ray, of length 1.
///
/// `normal` faces the ray. `eta` is the refractive index before the surface over that behind it. `cos_in` and `cos_out`
/// are the cosines of the incoming and the refracted ray, see [`fresnel`].
#[inline]
pub fn refract(direction: Vec3, normal: Vec3, eta: f32, cos_in: f32, cos_out: f32) -> Vec3 {
    normalize(direction * eta + normal * (eta * cos_in - cos_out))
}

/// Returns the Fresnel reflectance of a smooth dielectric boundary for unpolarised light, and the cosine of the
/// refracted ray.
///
/// In total internal reflection it returns (1, 0). `eta` is the refractive index before the surface over that behind
/// it.
#[inline]
pub fn fresnel(cos_in: f32, eta: f32) -> (f32, f32) {
    let sin2_out = eta * eta * max_f32(0.0, 1.0 - cos_in * cos_in);
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

/// Samples a direction about `normal` with pdf cos θ / π. Returns the direction, of length 1, and cos θ.
#[inline(always)]
pub fn sample_cosine(normal: Vec3, u: f32, v: f32) -> (Vec3, f32) {
    let (x, y) = square_to_disk(u, v);
    let cosine = max_f32(0.0, 1.0 - x * x - y * y).sqrt();
    (
        normalize(local_to_world(normal, Vec3::new(x, y, cosine))),
        cosine,
    )
}

/// Returns the transmittance per channel of `distance` metres of the material's interior (Beer–Lambert law).
#[inline]
pub fn transmitted(material: &Material, distance: f32) -> Vec3 {
    Vec3::new(
        half_power(material.absorption.x * distance),
        half_power(material.absorption.y * distance),
        half_power(material.absorption.z * distance),
    )
}

/// Returns the MIS weight of a sample of pdf `drawn` that another strategy samples with pdf `other`: the power
/// heuristic with exponent 2 (Veach 1997).
///
/// It squares the quotient instead of the pdfs, so that large pdfs do not overflow.
#[inline(always)]
pub fn power_heuristic(drawn: f32, other: f32) -> f32 {
    let ratio = other / drawn;
    1.0 / (1.0 + ratio * ratio)
}

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

/// Sets roughness, masking and energy compensation of a material.
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

/// Converts an absorption coefficient per metre (base e) to base 2.
fn halvings(absorption: Vec3) -> Vec3 {
    (absorption.as_dvec3() * std::f64::consts::LOG2_E).as_vec3()
}

/// Smallest difference between 1 and the index of refraction of a layered material with a volume.
const WEAKEST_REFRACTION: f32 = 0.002;

/// Builds a layered material from the parameters of a principled one.
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
    let amplitude = (ior - 1.0) / (ior + 1.0);
    let boundary = (specular_color * (amplitude * amplitude)).min(Vec3::ONE) * specular;
    // Refraction is undefined at index 1. The boundary keeps its reflectance, and light bends by an invisible angle.
    let has_volume = !thin && transmission > 0.0;
    let ior = if has_volume && (ior - 1.0).abs() < WEAKEST_REFRACTION {
        1.0 + WEAKEST_REFRACTION
    } else {
        ior
    };
    let thin = thin || (ior - 1.0).abs() < 1e-3;
    Material {
        color: base_color,
        kind: LAYERED,
        emission,
        ior,
        eta: boundary,
        specular,
        alpha: max_f32(roughness * roughness, MIN_ALPHA),
        flags: CORRELATED
            + COMPENSATED
            + if thin { THIN } else { 0 }
            + if both_sides { TWO_SIDED_EMISSION } else { 0 },
        one_sided: one_sided.into(),
        metallic,
        transmission,
        clearcoat,
        clearcoat_alpha: max_f32(clearcoat_roughness * clearcoat_roughness, MIN_ALPHA),
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
            // An index of 1 does not refract, so the facets are invisible.
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
                let amplitude = (ior - 1.0) / (ior + 1.0);
                Material {
                    ior,
                    eta: Vec3::splat(amplitude * amplitude),
                    specular: 1.0,
                    alpha: max_f32(alpha, MIN_ALPHA),
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
                flags: if both_sides { TWO_SIDED_EMISSION } else { 0 },
                ..plain(DIFFUSE, albedo)
            },
        }
    }
}
