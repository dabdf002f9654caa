//! Materials as the stages read them, and the reflection, refraction and MIS functions they share. Twin:
//! `kernels/shared/material.cuh`.

use compaction::shared;
use glam::Vec3;

use crate::math::{
    dot, half_power, local_to_world, max_f32, min_f32, normalize, square_to_disk, truncated,
};

pub use crate::scene::limits::MAX_BLENDS;

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
/// Feature bit beside the bits of material kinds: some material is glass that refracts below a clear coat.
pub const COATED_GLASS: u32 = 1 << 26;
/// Feature bit beside the bits of material kinds: some conductor or glass has the flag [`ANISOTROPIC_FACETS`] or
/// [`BECKMANN_FACETS`].
pub const ANISOTROPIC: u32 = 1 << 25;
/// Feature bit beside the bits of material kinds: some material has the flag [`BOUNDARY`].
pub const BOUNDARIES: u32 = 1 << 24;
/// Feature bit beside the bits of material kinds: some body has a [priority](PRIORITY_SHIFT) above 0. A scene with it also
/// has the feature [`BOUNDARIES`], and uses kernels of its own.
pub const NESTED: u32 = 1 << 23;
/// `Material::kind`: Lambertian reflection of albedo `color`.
pub const DIFFUSE: u32 = 0;
/// `Material::kind`: a perfect mirror of reflectance `color`.
pub const MIRROR: u32 = 1;
/// `Material::kind`: a smooth dielectric boundary. The medium of refractive index `ior` lies behind its front.
pub const DIELECTRIC: u32 = 2;
/// `Material::kind`: a smooth conductor, given by `eta` and `k`, or by `color` with the flag `SCHLICK`.
pub const CONDUCTOR: u32 = 3;
/// `Material::kind`: a conductor with GGX roughness [`Material::alpha`].
pub const ROUGH_CONDUCTOR: u32 = 4;
/// `Material::kind`: a dielectric boundary with GGX roughness [`Material::alpha`], which reflects and refracts. The
/// medium of refractive index `ior` lies behind its front.
pub const ROUGH_DIELECTRIC: u32 = 5;
/// `Material::kind`: a clear coat over a mixture of metal, glass and a diffuse base below a dielectric boundary.
pub const LAYERED: u32 = 6;
/// `Material::kind`: a layered material with sheen, anisotropy, iridescence, diffuse transmission or dispersion. Also
/// that of a blend, which has the flag [`BLEND`], until one of its materials is chosen.
pub const EXTENDED: u32 = 7;
/// Number of material kinds.
pub const KIND_COUNT: u32 = EXTENDED + 1;
/// Sort key of a queue entry without a path.
pub const NO_KIND: u32 = 255;

/// Material kinds of the simplest kernel variant, one bit each. Scenes with no other kinds avoid the cost of the
/// others.
pub const PLAIN_KINDS: u32 = 1 << DIFFUSE | 1 << MIRROR | 1 << DIELECTRIC;
/// Material kinds and features of the general kernel variant: everything except [`RARE_KINDS`] and
/// [`EXTENDED_KINDS`].
pub const ALL_KINDS: u32 = PLAIN_KINDS
    | 1 << CONDUCTOR
    | 1 << ROUGH_CONDUCTOR
    | 1 << ROUGH_DIELECTRIC
    | 1 << LAYERED
    | OTHER_LIGHTS
    | ABSORBING;

/// Features that would slow down other scenes with instances. A scene with any of them uses a variant with these and
/// [`ALL_KINDS`], or the one with everything if it has [`EXTENDED_KINDS`] too.
pub const RARE_KINDS: u32 = INSTANCED_LIGHTS | COAT_NORMALS | SECOND_UV;
/// Material kinds and features that would slow down scenes with rare features. A scene with any of them uses the
/// variant with everything.
pub const EXTENDED_KINDS: u32 = 1 << EXTENDED | COATED_GLASS | ANISOTROPIC | BOUNDARIES;

/// Bit of `Material::flags`: masking and shadowing of GGX are height-correlated; otherwise they are separable.
pub const CORRELATED: u32 = 1;
/// Bit of `Material::flags`: the energy that single scattering loses is restored, see
/// [`energy`](crate::shading::energy).
pub const COMPENSATED: u32 = 2;
/// Bit of `Material::flags`: a conductor uses Schlick's Fresnel approximation with F0 = `color`.
pub const SCHLICK: u32 = 4;
/// Bit of `Material::flags`: glass without an interior, which transmits light without refraction. If it is smooth,
/// light is also reflected to and fro between both sides.
pub const THIN: u32 = 8;
/// Bit of `Material::flags`: light that the boundary reflects back into a diffuse base is scattered there again.
pub const SATURATED: u32 = 16;
/// Bit of `Material::flags`: emits from both sides. Emission from the back is found by BSDF samples only.
pub const TWO_SIDED_EMISSION: u32 = 32;
/// Bit of `Material::flags`: the facets of a rough conductor or of glass have the roughness `alpha` along the tangent
/// and `alpha_across` across it.
pub const ANISOTROPIC_FACETS: u32 = 64;
/// Bit of `Material::flags`: a texture of the roughness scales `alpha`. Otherwise it scales the square root of `alpha`.
pub const LINEAR_ROUGHNESS: u32 = 128;
/// Bit of `Material::flags`: a blend of the materials `first` and `second`, of which each path chooses one.
pub const BLEND: u32 = 256;
/// Bit of `Material::flags`: the side of a blend to which the shading normals point is its first material, and the other
/// side the second one.
pub const BY_SIDE: u32 = 512;
/// Bit of `Material::flags`: from behind, normal maps show the relief of the front as its mirror image at the surface.
pub const MIRRORED_RELIEF: u32 = 1024;
/// Bit of `Material::flags`: camera rays do not see the surface. Such a material has an entry in
/// [`MaterialTextures`](crate::shading::material_textures::MaterialTextures).
pub const HIDDEN: u32 = 2048;
/// Bit of `Material::flags`: the surface only bounds a medium, and light passes it straight and unchanged.
pub const BOUNDARY: u32 = 1 << 17;
/// Bit of `Material::flags`: the facets of a rough conductor or of glass have Beckmann's distribution instead of GGX.
pub const BECKMANN_FACETS: u32 = 1 << 16;
/// Bit of `Material::flags`: paths that are transmitted through the front enter a body. Set in scenes with the feature
/// [`NESTED`] only.
pub const BODY: u32 = 1 << 18;
/// Number of the lowest bit of the priority in `Material::flags`, 0 to 255. Where bodies overlap, the one of the highest
/// priority fills the space.
pub const PRIORITY_SHIFT: u32 = 24;
/// Smallest difference between 1 and the index of refraction of a layered material with a volume.
pub const WEAKEST_REFRACTION: f32 = 0.002;
/// Smallest alpha of sheen. With a smaller one, sheen would be visible at grazing angles only.
pub const MIN_SHEEN_ALPHA: f32 = 0.0049;
/// Floating-point numbers that kernels use under the same names.
pub(crate) const NUMBERS: &[(&str, f32)] = named![WEAKEST_REFRACTION, MIN_SHEEN_ALPHA];
/// Kinds, features and flags that kernels use under the same names.
pub(crate) const CONSTANTS: &[(&str, u32)] = named![
    DIFFUSE,
    MIRROR,
    DIELECTRIC,
    CONDUCTOR,
    ROUGH_CONDUCTOR,
    ROUGH_DIELECTRIC,
    LAYERED,
    EXTENDED,
    NO_KIND,
    PLAIN_KINDS,
    OTHER_LIGHTS,
    ABSORBING,
    INSTANCED_LIGHTS,
    COAT_NORMALS,
    SECOND_UV,
    COATED_GLASS,
    ANISOTROPIC,
    BOUNDARIES,
    NESTED,
    CORRELATED,
    COMPENSATED,
    SCHLICK,
    THIN,
    SATURATED,
    TWO_SIDED_EMISSION,
    ANISOTROPIC_FACETS,
    LINEAR_ROUGHNESS,
    BLEND,
    BY_SIDE,
    MIRRORED_RELIEF,
    HIDDEN,
    BOUNDARY,
    BODY,
    PRIORITY_SHIFT,
    BECKMANN_FACETS,
    MAX_BLENDS
];

shared! {
    /// A surface's material.
    #[repr(align(16))]
    pub struct Material {
        /// Albedo or reflectance in linear sRGB, 0..=1. For a conductor given by `eta` and `k`, the tint of its
        /// reflection; for a dielectric, that of transmitted light.
        pub color: Vec3,
        /// The kind, from [`DIFFUSE`] to [`EXTENDED`].
        pub kind: u32,
        /// Radiance emitted from the front, in linear sRGB; see [`TWO_SIDED_EMISSION`] for the back.
        pub emission: Vec3,
        /// Refractive index of the interior relative to the outside.
        pub ior: f32,
        /// Real part of a conductor's refractive index, per channel. For a layered material, the F0 of its dielectric
        /// boundary; for a dielectric, the tint of reflected light, 0..=1.
        pub eta: Vec3,
        /// GGX roughness `alpha`, [`MIN_ALPHA`]..=1, of rough kinds; of anisotropic ones, that along the tangent. It is
        /// the square of the roughness in glTF.
        pub alpha: f32,
        /// Imaginary part of a conductor's refractive index, per channel. For a layered material, the tint of the
        /// reflection of its facets, 0..=1.
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
        /// Index of the material's textures and opacity among the scene's
        /// [`MaterialTextures`](crate::shading::material_textures::MaterialTextures); 0 for an opaque material without
        /// textures.
        pub maps: u32,
        /// Absorption of the interior: the transmittance of one metre is 2 to the power of minus this, per channel.
        pub absorption: Vec3,
        /// Color of the sheen of an extended material, 0..=1 per channel. For a conductor given by `eta` and `k`, its mean
        /// reflectance over the hemisphere without tint.
        pub sheen: Vec3,
        /// Alpha of the sheen, [`MIN_SHEEN_ALPHA`]..=1.
        pub sheen_alpha: f32,
        /// Strength of the anisotropy of an extended material, 0..=1.
        pub anisotropy: f32,
        /// Cosine of the angle from the tangent to the anisotropy direction.
        pub anisotropy_cosine: f32,
        /// Sine of the angle from the tangent to the anisotropy direction.
        pub anisotropy_sine: f32,
        /// Strength of dispersion, as in [`scene::Principled::dispersion`].
        pub dispersion: f32,
        /// Strength of the thin film of an extended material, 0..=1; 0 without a film.
        pub film: f32,
        /// Refractive index of the thin film, at least 1.
        pub film_ior: f32,
        /// Thickness of the thin film in nanometres, at least 0. If a texture sets it, this is the thickness where the
        /// texture is 1.
        pub film_thickness: f32,
        /// Thickness of the thin film in nanometres where the texture of the thickness is 0.
        pub film_thickness_min: f32,
        /// Color of the light that an extended material transmits diffusely, 0..=1 per channel.
        pub diffuse_transmission_color: Vec3,
        /// Fraction of the diffuse part that is transmitted, 0..=1.
        pub diffuse_transmission: f32,
        /// Offset of the energy table of sheen, in floats.
        pub sheen_table: u32,
        /// Offset of the energy table of anisotropic facets, in floats.
        pub anisotropic_table: u32,
        /// GGX roughness `alpha` across the tangent, [`MIN_ALPHA`]..=1, of a material with [`ANISOTROPIC_FACETS`].
        pub alpha_across: f32,
        /// Probability of the second material of a blend, 0..=1. With the flag [`BY_SIDE`] it is that on the front, 0.
        pub weight: f32,
        /// Index of the first material of a blend. For glass with a priority, offset of its list of energy tables, in
        /// floats, see [`nested_table`](crate::shading::bodies::nested_table).
        pub first: u32,
        /// Index of the second material of a blend. For glass with a priority, number of entries of its list of energy
        /// tables.
        pub second: u32,
        /// Offset of the energy table of dispersive glass for red light, in floats; `table` is that for green light.
        pub red_table: u32,
        /// Offset of the energy table of dispersive glass for blue light, in floats.
        pub blue_table: u32,
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

/// Returns whether the material scatters no light from either side, as one that only emits does.
#[inline]
pub fn is_black(material: &Material) -> bool {
    material.kind == DIFFUSE && material.color == Vec3::ZERO
}

/// Returns the transmittance per channel of `distance` metres with this absorption coefficient, per metre and to base 2
/// (Beer–Lambert law).
#[inline]
pub fn transmitted(absorption: Vec3, distance: f32) -> Vec3 {
    Vec3::new(
        half_power(absorption.x * distance),
        half_power(absorption.y * distance),
        half_power(absorption.z * distance),
    )
}

/// Returns the refractive index of an extended material for one channel: 0 red, 1 green, 2 blue.
///
/// Green has the index of the material, and red and blue differ from it by half of what the Abbe number states. The
/// result stays on the same side of 1 as that index.
#[inline]
pub fn dispersed_ior(material: &Material, channel: u32) -> f32 {
    let half_spread = (material.ior - 1.0) * (0.025 * material.dispersion);
    let ior = match channel {
        0 => material.ior - half_spread,
        1 => material.ior,
        _ => material.ior + half_spread,
    };
    if material.ior > 1.0 {
        max_f32(ior, 1.0 + WEAKEST_REFRACTION)
    } else {
        min_f32(max_f32(ior, 0.1), 1.0 - WEAKEST_REFRACTION)
    }
}

/// Returns the offset of the energy table of dispersive glass for one channel: 0 red, 1 green, 2 blue.
#[inline]
pub fn dispersed_table(material: &Material, channel: u32) -> u32 {
    match channel {
        0 => material.red_table,
        1 => material.table,
        _ => material.blue_table,
    }
}

/// Chooses one channel of a path that a dispersive material refracts, unless it has a single channel already. Returns
/// the throughput of that channel alone, its number, and a random number that is independent of it.
///
/// The channels that carry light are equally probable. `choice` is a random number in [0, 1).
#[inline]
pub fn choose_channel(throughput: Vec3, choice: f32) -> (Vec3, u32, f32) {
    let red: u32 = u32::from(throughput.x > 0.0);
    let green: u32 = u32::from(throughput.y > 0.0);
    let blue: u32 = u32::from(throughput.z > 0.0);
    let count = red + green + blue;
    let place = choice * count as f32;
    let chosen = truncated(place);
    let rest = if count > 1 {
        place - chosen as f32
    } else {
        choice
    };
    // The chosen one of the channels that carry light.
    let scale = count as f32;
    if red == 1 && chosen == 0 {
        let only = Vec3::new(throughput.x * scale, 0.0, 0.0);
        return (only, 0, rest);
    }
    if green == 1 && chosen == red {
        let only = Vec3::new(0.0, throughput.y * scale, 0.0);
        return (only, 1, rest);
    }
    let only = Vec3::new(0.0, 0.0, throughput.z * scale);
    (only, 2, rest)
}

/// Chooses one of the two materials of a blend by a random number in [0, 1). Returns the index of that material, and a
/// random number that is independent of the choice.
#[inline]
pub fn choose_material(blend: &Material, choice: f32) -> (u32, f32) {
    if choice < blend.weight {
        return (blend.second, choice / blend.weight);
    }
    (blend.first, (choice - blend.weight) / (1.0 - blend.weight))
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
