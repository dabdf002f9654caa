//! Structs of BSDFs: a BSDF at a hit, its value for two directions, and a sampled direction. Twin:
//! `kernels/shared/bsdf_types.cuh`.

use glam::Vec3;

/// The BSDF of a material at a hit, for the side that the path sees and its direction `to_eye`.
#[derive(Clone, Copy, Debug)]
pub struct Bsdf {
    /// Albedo, reflectance or tint in linear sRGB, see `Material::color`.
    pub color: Vec3,
    /// Material kind, one of the constants of [`material`](crate::shading::material).
    pub kind: u32,
    /// Real part of a conductor's refractive index, per channel; unused if the conductor is defined by `color`. For a
    /// layered or extended material, the F0 of its dielectric boundary; for a dielectric, the tint of reflected light.
    pub index: Vec3,
    /// Imaginary part of a conductor's refractive index, per channel. For a layered material, the tint of the reflection
    /// of its facets.
    pub k: Vec3,
    /// Relative refractive index: that on the eye's side over that behind the surface, below 1 where a ray enters glass
    /// from air. 1 for materials that have no refractive index. For thin glass, that of entering it, from both sides.
    pub eta: f32,
    /// GGX roughness `alpha`; of anisotropic facets, that across `tangent`.
    pub alpha: f32,
    /// Sum of the flags of `Material::flags`.
    pub flags: u32,
    /// Offset of the material's energy table, in floats, among all [`energy`](crate::shading::energy) tables.
    pub table: u32,
    /// Side of compensated glass that is seen: 0 front, 1 back. It also selects the function of a glass table for the
    /// eye's side. 0 for other materials.
    pub back: u32,
    /// Fraction of the energy towards `to_eye` that single scattering loses, and that is also the probability of
    /// sampling the compensating lobe; 0 without compensation.
    pub lost: f32,
    /// Ratio of `lost`, which is that for the direction `to_eye`, to its cosine-weighted mean over the eye's
    /// hemisphere. It scales the compensating lobe, and may exceed 1; 0 without compensation.
    pub lost_ratio: f32,
    /// Ratio of `lost` to the mean of the energy lost over the hemisphere behind the surface, which scales the
    /// transmitted compensating lobe of glass.
    pub lost_ratio_behind: f32,
    /// Fraction of the compensated energy of glass that is transmitted; the rest is reflected.
    pub transmitted_share: f32,
    /// Offset of a layered material's energy table of perfectly reflecting facets, in floats.
    pub mirrors: u32,
    /// Schlick reflectance at normal incidence (F0) of a layered material's metal and dielectric boundary together. For a
    /// compensated conductor, its mean reflectance over the hemisphere.
    pub f0: Vec3,
    /// Schlick reflectance at grazing incidence (F90) that belongs to `f0`.
    pub f90: f32,
    /// Color of the multiple scattering of a layered material's metal: tint times metallic weight, times the energy
    /// lost towards `to_eye` over its hemispherical mean. The lobe is this times the energy lost from `to_light`, times
    /// cos θ / π.
    pub multiple_scattering: Vec3,
    /// Albedo of a layered material's diffuse base, times its weight, times the energy that the boundary transmits
    /// towards `to_eye` over its hemispherical mean. The lobe is this times the energy that it transmits from
    /// `to_light`, times cos θ / π. A clear coat above it is treated in the same way.
    pub diffuse: Vec3,
    /// Reflectance at normal incidence (F0) of the dielectric boundary above the diffuse base.
    pub boundary_f0: f32,
    /// Reflectance at grazing incidence (F90) of the dielectric boundary above the diffuse base.
    pub boundary_f90: f32,
    /// Weight of a layered material's glass, 0..=1.
    pub glass: f32,
    /// Weight of a layered material's clear coat, 0..=1.
    pub coat: f32,
    /// GGX roughness `alpha` of the clear coat.
    pub coat_alpha: f32,
    /// Shading normal of the clear coat, on the eye's side; set by the caller of
    /// [`bsdf_of`](crate::shading::bsdf::bsdf_of).
    pub coat_normal: Vec3,
    /// Fraction of the energy towards `to_eye` that the clear coat transmits.
    pub coat_transmittance: f32,
    /// Factor of `to_eye` for light that facets below the clear coat scatter, see
    /// [`coat_factor`](crate::shading::bsdf::dielectric::coat_factor).
    pub coat_factor: f32,
    /// Probability of sampling the clear coat's facets.
    pub coat_probability: f32,
    /// Cumulative probability of sampling the coat or the facets below it.
    pub facets_cumulative: f32,
    /// Cumulative probability of sampling the coat, the facets or the cosine lobe; glass takes the rest.
    pub diffuse_cumulative: f32,
    /// Tangent along the anisotropy direction of an extended or anisotropic material, of length 1 and perpendicular to
    /// the shading normal; set by the caller of [`bsdf_of`](crate::shading::bsdf::bsdf_of).
    pub tangent: Vec3,
    /// GGX roughness of anisotropic facets, and of those of an extended material, along `tangent`; across it the
    /// roughness is `alpha`.
    pub alpha_along: f32,
    /// Offset of the energy table of anisotropic facets, in floats.
    pub anisotropic_table: u32,
    /// Weight of the metal in an extended material, 0..=1.
    pub metallic: f32,
    /// Strength of an extended material's thin film, 0..=1; 0 without a film.
    pub film: f32,
    /// Refractive index of the thin film, at least 1.
    pub film_ior: f32,
    /// Thickness of the thin film in nanometres.
    pub film_thickness: f32,
    /// Fraction of the light that the thin film adds to what facets of glass reflect, relative to what they transmit
    /// without it, per channel. It may be negative, and is a mean over the directions.
    pub film_added: Vec3,
    /// Factor per channel of the light that several filmed facets of glass reflect, see
    /// [`filmed_glass_value`](crate::shading::bsdf::extended::filmed_glass_value).
    pub film_again: Vec3,
    /// Factor per channel of the light that several filmed facets of glass transmit.
    pub film_again_behind: Vec3,
    /// Color of the diffuse transmission of an extended material, with the factors of `diffuse`.
    pub behind: Vec3,
    /// Color of the sheen of an extended material, 0..=1 per channel; 0 inside glass.
    pub sheen: Vec3,
    /// Largest channel of the material's sheen, inside glass too, where `sheen` is 0.
    pub sheen_strength: f32,
    /// Alpha of the sheen.
    pub sheen_alpha: f32,
    /// Offset of the energy table of sheen, in floats.
    pub sheen_table: u32,
    /// Fraction of the energy towards `to_eye` that the sheen lets pass to the layers below.
    pub sheen_transmittance: f32,
    /// Factor of `to_eye` for light that facets below the sheen scatter, see
    /// [`sheen_factor`](crate::shading::bsdf::sheen::sheen_factor).
    pub sheen_factor: f32,
    /// Cumulative probability of sampling the lobes of `diffuse_cumulative` or the diffuse transmission.
    pub behind_cumulative: f32,
    /// Cumulative probability of sampling the lobes of `behind_cumulative` or the sheen; glass takes the rest.
    pub sheen_cumulative: f32,
}

/// Value and pdf of a BSDF for a pair of directions.
#[derive(Clone, Copy, Debug)]
pub struct BsdfValue {
    /// Linear sRGB factor; BSDF times the absolute cosine of `to_light` is `color * scale`.
    pub color: Vec3,
    /// Scalar factor to `color`, per steradian: BSDF times the absolute cosine of `to_light` is `color * scale`.
    pub scale: f32,
    /// Pdf with which [`bsdf_sample`](crate::shading::bsdf::bsdf_sample) samples the direction, per steradian of solid
    /// angle.
    pub pdf: f32,
}

/// A sampled direction in which the path continues.
#[derive(Clone, Copy, Debug)]
pub struct BsdfSample {
    /// Direction in world space, of length 1.
    pub direction: Vec3,
    /// Throughput factor: BSDF times cosine over pdf, per channel; 0 ends the path.
    pub weight: Vec3,
    /// Pdf of the direction, per steradian of solid angle; 0 for a delta distribution.
    pub pdf: f32,
    /// Factor to [`Throughput::eta_scale`](crate::path::Throughput): the squared ratio of the refractive indices behind
    /// and before a refraction, otherwise 1.
    pub eta_scale: f32,
    /// 1 if the path continues on the eye's side of the surface, −1 on the other.
    pub side: f32,
}

/// Value of a BSDF for directions that it does not connect: zero, with pdf 0.
pub const NO_VALUE: BsdfValue = BsdfValue {
    color: Vec3::ZERO,
    scale: 0.0,
    pdf: 0.0,
};

/// Returns `part / whole`, or 0 if `whole` is not positive.
#[inline(always)]
pub fn share(part: f32, whole: f32) -> f32 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
