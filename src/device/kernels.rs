//! CUDA sources of the stages, with the headers and the constants that Rust defines for them.

use std::collections::HashSet;

use compaction::cuda::{Params, Source};

use super::kernel_variant::KernelVariant;
use crate::{
    accel::{bvh, instance, primitive},
    adaptive::pixel_noise,
    camera::filter,
    film,
    lights::{lamp, light, light_sample, light_tree},
    math, path, sampler,
    shading::{energy, material, material_textures, microfacet, opacity, texture},
};

/// Threads per block in every stage's kernel.
pub(crate) const BLOCK_THREADS: u32 = 128;
/// Maximum number of blocks per multiprocessor in kernels over a queue.
///
/// It is several times what fits at once, so that slow rays delay no other block, and small enough that a grid without
/// live paths ends within a few microseconds.
pub(crate) const BLOCKS_PER_MULTIPROCESSOR: u32 = 128;

/// Paths and texts of the headers that kernels may include.
const HEADERS: &[(&str, &str)] = &[
    (
        "kernels/shared/words.cuh",
        include_str!("../../kernels/shared/words.cuh"),
    ),
    (
        "kernels/shared/queue.cuh",
        include_str!("../../kernels/shared/queue.cuh"),
    ),
    (
        "kernels/shared/clock.cuh",
        include_str!("../../kernels/shared/clock.cuh"),
    ),
    (
        "kernels/shared/math.cuh",
        include_str!("../../kernels/shared/math.cuh"),
    ),
    (
        "kernels/shared/sampler.cuh",
        include_str!("../../kernels/shared/sampler.cuh"),
    ),
    (
        "kernels/shared/path.cuh",
        include_str!("../../kernels/shared/path.cuh"),
    ),
    (
        "kernels/shared/path_buffers.cuh",
        include_str!("../../kernels/shared/path_buffers.cuh"),
    ),
    (
        "kernels/shared/camera.cuh",
        include_str!("../../kernels/shared/camera.cuh"),
    ),
    (
        "kernels/shared/primitive.cuh",
        include_str!("../../kernels/shared/primitive.cuh"),
    ),
    (
        "kernels/shared/instance.cuh",
        include_str!("../../kernels/shared/instance.cuh"),
    ),
    (
        "kernels/shared/bvh.cuh",
        include_str!("../../kernels/shared/bvh.cuh"),
    ),
    (
        "kernels/shared/material.cuh",
        include_str!("../../kernels/shared/material.cuh"),
    ),
    (
        "kernels/shared/microfacet.cuh",
        include_str!("../../kernels/shared/microfacet.cuh"),
    ),
    (
        "kernels/shared/energy.cuh",
        include_str!("../../kernels/shared/energy.cuh"),
    ),
    (
        "kernels/shared/bsdf_types.cuh",
        include_str!("../../kernels/shared/bsdf_types.cuh"),
    ),
    (
        "kernels/shared/conductor.cuh",
        include_str!("../../kernels/shared/conductor.cuh"),
    ),
    (
        "kernels/shared/specular.cuh",
        include_str!("../../kernels/shared/specular.cuh"),
    ),
    (
        "kernels/shared/dielectric.cuh",
        include_str!("../../kernels/shared/dielectric.cuh"),
    ),
    (
        "kernels/shared/layered.cuh",
        include_str!("../../kernels/shared/layered.cuh"),
    ),
    (
        "kernels/shared/bsdf.cuh",
        include_str!("../../kernels/shared/bsdf.cuh"),
    ),
    (
        "kernels/shared/environment.cuh",
        include_str!("../../kernels/shared/environment.cuh"),
    ),
    (
        "kernels/shared/light_tree.cuh",
        include_str!("../../kernels/shared/light_tree.cuh"),
    ),
    (
        "kernels/shared/light_sample.cuh",
        include_str!("../../kernels/shared/light_sample.cuh"),
    ),
    (
        "kernels/shared/area_light.cuh",
        include_str!("../../kernels/shared/area_light.cuh"),
    ),
    (
        "kernels/shared/lamp.cuh",
        include_str!("../../kernels/shared/lamp.cuh"),
    ),
    (
        "kernels/shared/light.cuh",
        include_str!("../../kernels/shared/light.cuh"),
    ),
    (
        "kernels/shared/texture.cuh",
        include_str!("../../kernels/shared/texture.cuh"),
    ),
    (
        "kernels/shared/material_textures.cuh",
        include_str!("../../kernels/shared/material_textures.cuh"),
    ),
    (
        "kernels/shared/opacity.cuh",
        include_str!("../../kernels/shared/opacity.cuh"),
    ),
    (
        "kernels/shared/device_scene.cuh",
        include_str!("../../kernels/shared/device_scene.cuh"),
    ),
    (
        "kernels/shared/first_ray.cuh",
        include_str!("../../kernels/shared/first_ray.cuh"),
    ),
    (
        "kernels/shared/shading.cuh",
        include_str!("../../kernels/shared/shading.cuh"),
    ),
    (
        "kernels/shared/rays.cuh",
        include_str!("../../kernels/shared/rays.cuh"),
    ),
    (
        "kernels/shared/film.cuh",
        include_str!("../../kernels/shared/film.cuh"),
    ),
    (
        "kernels/shared/device_film.cuh",
        include_str!("../../kernels/shared/device_film.cuh"),
    ),
    (
        "kernels/shared/pixel_noise.cuh",
        include_str!("../../kernels/shared/pixel_noise.cuh"),
    ),
    (
        "kernels/shared/adaptive_window.cuh",
        include_str!("../../kernels/shared/adaptive_window.cuh"),
    ),
];

/// Returns the source of a stage's kernel `name` with arguments `P`, for scenes with any materials but without the
/// features of [`RARE_KINDS`](material::RARE_KINDS).
pub(crate) fn stage<P: Params>(
    path: &'static str,
    text: &'static str,
    name: &'static str,
) -> Source {
    of_kinds::<P>(path, text, name, material::ALL_KINDS)
}

/// Returns the source of one kernel variant, named `name`, specialised by material kinds, instancing and alpha tests.
pub(crate) fn stage_for<P: Params>(
    path: &'static str,
    text: &'static str,
    name: &'static str,
    variant: KernelVariant,
) -> Source {
    of_kinds::<P>(path, text, name, variant.materials)
        .define("KERNEL", name)
        .constant("INSTANCED", u32::from(variant.instanced))
        .constant("ALPHA_TESTED", u32::from(variant.alpha_tested))
}

/// Returns the source of a stage's kernel with those constants that its text uses, `KINDS` among them.
///
/// A new constant therefore changes only the kernels that use it, and the others remain in the archive that ships.
fn of_kinds<P: Params>(
    path: &'static str,
    text: &'static str,
    name: &'static str,
    kinds: u32,
) -> Source {
    let constants = [
        ("BLOCK_THREADS", BLOCK_THREADS),
        ("NO_PATH", path::NO_PATH),
        ("NO_PRIMITIVE", path::NO_PRIMITIVE),
        ("ROULETTE_START", path::ROULETTE_START),
        ("TILE", path::TILE),
        ("NO_KIND", material::NO_KIND),
        ("PAIR_FILM", sampler::PAIR_FILM),
        ("PAIR_LENS", sampler::PAIR_LENS),
        ("PAIR_LIGHT", sampler::PAIR_LIGHT),
        ("PAIR_BSDF", sampler::PAIR_BSDF),
        ("PAIR_CHOICE", sampler::PAIR_CHOICE),
        ("PAIRS_PER_BOUNCE", sampler::PAIRS_PER_BOUNCE),
        ("TRIANGLE", primitive::TRIANGLE),
        ("SPHERE", primitive::SPHERE),
        ("DIFFUSE", material::DIFFUSE),
        ("MIRROR", material::MIRROR),
        ("DIELECTRIC", material::DIELECTRIC),
        ("LIGHT_SAMPLES", light_sample::LIGHT_SAMPLES),
        ("BSDF_SAMPLES", light_sample::BSDF_SAMPLES),
        ("KINDS", kinds),
        ("OTHER_LIGHTS", material::OTHER_LIGHTS),
        ("ABSORBING", material::ABSORBING),
        ("INSTANCED_LIGHTS", material::INSTANCED_LIGHTS),
        ("COAT_NORMALS", material::COAT_NORMALS),
        ("SECOND_UV", material::SECOND_UV),
        ("TWO_SIDED_EMISSION", material::TWO_SIDED_EMISSION),
        ("CONDUCTOR", material::CONDUCTOR),
        ("ROUGH_CONDUCTOR", material::ROUGH_CONDUCTOR),
        ("ROUGH_DIELECTRIC", material::ROUGH_DIELECTRIC),
        ("LAYERED", material::LAYERED),
        ("PLAIN_KINDS", material::PLAIN_KINDS),
        ("THIN", material::THIN),
        ("SATURATED", material::SATURATED),
        ("CORRELATED", material::CORRELATED),
        ("COMPENSATED", material::COMPENSATED),
        ("SCHLICK", material::SCHLICK),
        ("COSINES", energy::COSINES),
        ("ROUGHNESSES", energy::ROUGHNESSES),
        ("ROW", energy::ROW),
        ("LOST", energy::LOST),
        ("GRAZING", energy::GRAZING),
        ("THROUGH_FRONT", energy::THROUGH_FRONT),
        ("STACK_SIZE", bvh::STACK_SIZE),
        ("SRGB_8", texture::SRGB_8),
        ("LINEAR_8", texture::LINEAR_8),
        ("LINEAR_16", texture::LINEAR_16),
        ("FLOAT", texture::FLOAT),
        ("REPEAT", texture::REPEAT),
        ("MIRRORED_REPEAT", texture::MIRRORED_REPEAT),
        ("CLAMP", texture::CLAMP),
        ("BILINEAR", texture::BILINEAR),
        ("NEAREST", texture::NEAREST),
        ("MAP_COLOR", material_textures::MAP_COLOR),
        ("MAP_EMISSION", material_textures::MAP_EMISSION),
        ("MAP_NORMAL", material_textures::MAP_NORMAL),
        ("MAP_ROUGHNESS", material_textures::MAP_ROUGHNESS),
        ("MAP_METALLIC", material_textures::MAP_METALLIC),
        ("MAP_TRANSMISSION", material_textures::MAP_TRANSMISSION),
        ("MAP_CLEARCOAT", material_textures::MAP_CLEARCOAT),
        (
            "MAP_CLEARCOAT_ROUGHNESS",
            material_textures::MAP_CLEARCOAT_ROUGHNESS,
        ),
        ("MAP_SPECULAR", material_textures::MAP_SPECULAR),
        ("MAP_SPECULAR_COLOR", material_textures::MAP_SPECULAR_COLOR),
        ("MAP_OPACITY", material_textures::MAP_OPACITY),
        ("MAP_COAT_NORMAL", material_textures::MAP_COAT_NORMAL),
        ("PATH_RAY", opacity::PATH_RAY),
        ("SHADOW_RAY", opacity::SHADOW_RAY),
        ("FILTER_STEPS", filter::FILTER_STEPS),
        ("INSTANCE", primitive::INSTANCE),
        ("NO_INSTANCE", instance::NO_INSTANCE),
        ("NO_MATERIAL", instance::NO_MATERIAL),
        ("NORMALS", instance::NORMALS),
        ("COORDINATES", instance::COORDINATES),
        ("TANGENTS", instance::TANGENTS),
        ("SECOND_COORDINATES", instance::SECOND_COORDINATES),
        ("LEFT_HANDED", instance::LEFT_HANDED),
        ("EMITTER", light::EMITTER),
        ("PROBABILITY_UNITS", light_tree::PROBABILITY_UNITS),
        ("LEAF", light_tree::LEAF),
        ("NO_LIGHT", light_tree::NO_LIGHT),
        ("LAMP", light::LAMP),
        ("SPOT", lamp::SPOT),
        ("DISTANT", lamp::DISTANT),
        ("SUN", lamp::SUN),
        ("CONVERGED_ROUNDS", pixel_noise::CONVERGED_ROUNDS),
    ];
    let numbers = [
        ("PI", math::PI),
        ("MIN_ALPHA", microfacet::MIN_ALPHA),
        ("INV_PI", math::INV_PI),
        ("MAX_F32", f32::MAX),
        ("SCALE", film::SCALE),
        ("SAMPLE_LIMIT", film::SAMPLE_LIMIT),
        ("MAX_SURVIVAL", path::MAX_SURVIVAL),
        ("INSTANCED_SLACK", bvh::INSTANCED_SLACK),
        ("MAX_VISIBLE_RADIANCE", light::MAX_VISIBLE_RADIANCE),
        ("AVERAGED_ROUNDS", pixel_noise::AVERAGED_ROUNDS),
        (
            "MEAN_ABSOLUTE_DEVIATION",
            pixel_noise::MEAN_ABSOLUTE_DEVIATION,
        ),
        ("UNSEEN", pixel_noise::UNSEEN),
        ("CAUTION", pixel_noise::CAUTION),
        ("ERROR_UNITS", pixel_noise::ERROR_UNITS),
        ("MAX_ERROR", pixel_noise::MAX_ERROR),
    ];
    let source = Source::new(path, text).headers(HEADERS);
    // A missing header is reported when the kernel is compiled.
    let expanded = source.text().unwrap_or_default();
    let used = identifiers(&expanded);
    let is_used = |name: &str| used.contains(name);
    let constants: Vec<_> = constants.into_iter().filter(|c| is_used(c.0)).collect();
    let numbers: Vec<_> = numbers.into_iter().filter(|n| is_used(n.0)).collect();
    with(source, &constants, &numbers).kernel::<P>(name)
}

/// Returns the identifiers in CUDA text, without comments that extend to the end of a line.
fn identifiers(text: &str) -> HashSet<&str> {
    let code = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or(line));
    code.flat_map(|code| code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'))
        .collect()
}

/// Adds numbers to a kernel's source: integer constants and `f32` values.
pub(crate) fn with(
    source: Source,
    constants: &[(&'static str, u32)],
    numbers: &[(&'static str, f32)],
) -> Source {
    let source = constants.iter().fold(source, |source, &(name, value)| {
        source.constant(name, value)
    });
    // `{:?}` prints an `f32` so that it reads back as the same bits.
    numbers.iter().fold(source, |source, &(name, value)| {
        source.define(name, &format!("{value:?}f"))
    })
}

/// Archive of precompiled kernels, so that a machine with only the driver (no NVRTC) can render.
pub static SHIPPED: &[u8] = include_bytes!("../../kernels/shipped.bin");
