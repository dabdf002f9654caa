//! The kernel files, and what Rust gives into them: constants, and the structs that both sides read.

use compaction::cuda::{Params, Source};

use crate::{
    bvh, energy, film, filter, history, instance, light, light_tree, maps, material, math,
    microfacet, opacity, path, primitive, sampler, texture,
};

/// Threads of a block, in every kernel of a stage.
pub(crate) const BLOCK_THREADS: u32 = 128;
/// Blocks for each multiprocessor, at most, in kernels over a queue: several times what it holds, so that a block of
/// slow rays delays nobody, and few enough that a grid without live paths is gone in a few microseconds.
pub(crate) const BLOCKS_PER_MULTIPROCESSOR: u32 = 128;

const HEADERS: &[(&str, &str)] = &[
    (
        "kernels/shared/words.cuh",
        include_str!("../kernels/shared/words.cuh"),
    ),
    (
        "kernels/shared/lanes.cuh",
        include_str!("../kernels/shared/lanes.cuh"),
    ),
    (
        "kernels/shared/clock.cuh",
        include_str!("../kernels/shared/clock.cuh"),
    ),
    (
        "kernels/shared/math.cuh",
        include_str!("../kernels/shared/math.cuh"),
    ),
    (
        "kernels/shared/sampler.cuh",
        include_str!("../kernels/shared/sampler.cuh"),
    ),
    (
        "kernels/shared/path.cuh",
        include_str!("../kernels/shared/path.cuh"),
    ),
    (
        "kernels/shared/camera.cuh",
        include_str!("../kernels/shared/camera.cuh"),
    ),
    (
        "kernels/shared/primitive.cuh",
        include_str!("../kernels/shared/primitive.cuh"),
    ),
    (
        "kernels/shared/instance.cuh",
        include_str!("../kernels/shared/instance.cuh"),
    ),
    (
        "kernels/shared/bvh.cuh",
        include_str!("../kernels/shared/bvh.cuh"),
    ),
    (
        "kernels/shared/material.cuh",
        include_str!("../kernels/shared/material.cuh"),
    ),
    (
        "kernels/shared/microfacet.cuh",
        include_str!("../kernels/shared/microfacet.cuh"),
    ),
    (
        "kernels/shared/energy.cuh",
        include_str!("../kernels/shared/energy.cuh"),
    ),
    (
        "kernels/shared/bsdf.cuh",
        include_str!("../kernels/shared/bsdf.cuh"),
    ),
    (
        "kernels/shared/environment.cuh",
        include_str!("../kernels/shared/environment.cuh"),
    ),
    (
        "kernels/shared/light_tree.cuh",
        include_str!("../kernels/shared/light_tree.cuh"),
    ),
    (
        "kernels/shared/light.cuh",
        include_str!("../kernels/shared/light.cuh"),
    ),
    (
        "kernels/shared/texture.cuh",
        include_str!("../kernels/shared/texture.cuh"),
    ),
    (
        "kernels/shared/maps.cuh",
        include_str!("../kernels/shared/maps.cuh"),
    ),
    (
        "kernels/shared/opacity.cuh",
        include_str!("../kernels/shared/opacity.cuh"),
    ),
    (
        "kernels/shared/first_ray.cuh",
        include_str!("../kernels/shared/first_ray.cuh"),
    ),
    (
        "kernels/shared/shading.cuh",
        include_str!("../kernels/shared/shading.cuh"),
    ),
    (
        "kernels/shared/whole_path.cuh",
        include_str!("../kernels/shared/whole_path.cuh"),
    ),
    (
        "kernels/shared/film.cuh",
        include_str!("../kernels/shared/film.cuh"),
    ),
    (
        "kernels/shared/history.cuh",
        include_str!("../kernels/shared/history.cuh"),
    ),
    (
        "kernels/shared/confidence.cuh",
        include_str!("../kernels/shared/confidence.cuh"),
    ),
];

/// A stage's kernel file, with the kernel `name` of the arguments `P`.
pub(crate) fn stage<P: Params>(
    path: &'static str,
    text: &'static str,
    name: &'static str,
) -> Source {
    of_kinds::<P>(path, text, name, material::ALL_KINDS)
}

/// The same, of which there is one kernel for each kind of scene: `name` is this one's, `kinds` are those of the materials that
/// it knows, and whether it knows of instances and maps says `placed`.
pub(crate) fn stage_for<P: Params>(
    path: &'static str,
    text: &'static str,
    name: &'static str,
    (kinds, placed): (u32, bool),
) -> Source {
    of_kinds::<P>(path, text, name, kinds)
        .define("KERNEL", name)
        .constant("PLACED", u32::from(placed))
}

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
        ("ROULETTE_AFTER", path::ROULETTE_AFTER),
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
        ("LIGHT_SAMPLES", light::LIGHT_SAMPLES),
        ("BSDF_SAMPLES", light::BSDF_SAMPLES),
        ("KINDS", kinds),
        ("OTHER_LIGHTS", material::OTHER_LIGHTS),
        ("ABSORBING", material::ABSORBING),
        ("PLACED_LIGHTS", material::PLACED_LIGHTS),
        ("COAT_NORMALS", material::COAT_NORMALS),
        ("TWO_COORDINATES", material::TWO_COORDINATES),
        ("SHINES_BEHIND", material::SHINES_BEHIND),
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
        ("MAP_COLOR", maps::MAP_COLOR),
        ("MAP_EMISSION", maps::MAP_EMISSION),
        ("MAP_NORMAL", maps::MAP_NORMAL),
        ("MAP_ROUGHNESS", maps::MAP_ROUGHNESS),
        ("MAP_METALLIC", maps::MAP_METALLIC),
        ("MAP_TRANSMISSION", maps::MAP_TRANSMISSION),
        ("MAP_CLEARCOAT", maps::MAP_CLEARCOAT),
        ("MAP_CLEARCOAT_ROUGHNESS", maps::MAP_CLEARCOAT_ROUGHNESS),
        ("MAP_SPECULAR", maps::MAP_SPECULAR),
        ("MAP_SPECULAR_COLOR", maps::MAP_SPECULAR_COLOR),
        ("MAP_OPACITY", maps::MAP_OPACITY),
        ("MAP_COAT_NORMAL", maps::MAP_COAT_NORMAL),
        ("PATH_RAY", opacity::PATH_RAY),
        ("LIGHT_RAY", opacity::LIGHT_RAY),
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
        ("WHOLE", light_tree::WHOLE),
        ("LEAF", light_tree::LEAF),
        ("NO_LIGHT", light_tree::NO_LIGHT),
        ("LAMP", light::LAMP),
        ("SPOT", light::SPOT),
        ("DISTANT", light::DISTANT),
        ("SUN", light::SUN),
        ("ENOUGH", history::ENOUGH),
    ];
    let numbers = [
        ("PI", math::PI),
        ("MIN_ALPHA", microfacet::MIN_ALPHA),
        ("INV_PI", math::INV_PI),
        ("MAX_F32", f32::MAX),
        ("SCALE", film::SCALE),
        ("TOO_BRIGHT", film::TOO_BRIGHT),
        ("MOST_LIKELY", path::MOST_LIKELY),
        ("PLACED_SLACK", bvh::PLACED_SLACK),
        ("SEEN_AT_MOST", light::SEEN_AT_MOST),
        ("REMEMBERED", history::REMEMBERED),
        ("MEAN_DISTANCE", history::MEAN_DISTANCE),
        ("UNSEEN", history::UNSEEN),
        ("CAUTION", history::CAUTION),
        ("ERROR_UNITS", history::ERROR_UNITS),
        ("MOST_ERROR", history::MOST_ERROR),
    ];
    let source = Source::new(path, text).headers(HEADERS);
    with(source, &constants, &numbers).kernel::<P>(name)
}

/// A kernel file with these numbers given into it.
pub(crate) fn with(
    source: Source,
    constants: &[(&'static str, u32)],
    numbers: &[(&'static str, f32)],
) -> Source {
    let source = constants.iter().fold(source, |source, &(name, value)| {
        source.constant(name, value)
    });
    // Rust writes a number so that it reads back as the same bits.
    numbers.iter().fold(source, |source, &(name, value)| {
        source.define(name, &format!("{value:?}f"))
    })
}

/// Kernels that ship with the program: a machine with nothing but a driver renders by them.
pub static SHIPPED: &[u8] = include_bytes!("../kernels/shipped.bin");
