//! CUDA sources of the stages, with the headers, and the constants that the modules list for them.

use std::collections::HashSet;

use compaction::cuda::{Params, Source};
use include_dir::{Dir, include_dir};

use super::kernel_variant::KernelVariant;
use crate::{
    accel::{bvh, instance, primitive},
    adaptive::pixel_noise,
    camera::filter,
    film,
    lights::{light, light_sample},
    math, path, sampler,
    shading::{
        beckmann, bodies, energy, material, material_textures, medium, microfacet, opacity,
        opacity_map, texture,
    },
};

/// Threads per block in every stage's kernel.
pub(crate) const BLOCK_THREADS: u32 = 128;
/// Maximum number of blocks per multiprocessor in kernels over a queue.
///
/// It is several times what fits at once, so that slow rays delay no other block, and small enough that a grid without
/// live paths ends within a few microseconds.
pub(crate) const BLOCKS_PER_MULTIPROCESSOR: u32 = 128;

/// The headers that kernels may include: every file of `kernels/shared`.
static HEADERS: Dir = include_dir!("$CARGO_MANIFEST_DIR/kernels/shared");

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
    // A kernel in the shipped archive is found by its text, so another order of the constants needs a new archive.
    let constants: [&[(&'static str, u32)]; _] = [
        named![BLOCK_THREADS],
        &[("KINDS", kinds)],
        path::CONSTANTS,
        sampler::CONSTANTS,
        primitive::CONSTANTS,
        light_sample::CONSTANTS,
        material::CONSTANTS,
        beckmann::CONSTANTS,
        bodies::CONSTANTS,
        energy::CONSTANTS,
        bvh::CONSTANTS,
        texture::CONSTANTS,
        material_textures::CONSTANTS,
        opacity::CONSTANTS,
        opacity_map::CONSTANTS,
        filter::CONSTANTS,
        instance::CONSTANTS,
        light::CONSTANTS,
        pixel_noise::CONSTANTS,
    ];
    let numbers: [&[(&'static str, f32)]; _] = [
        &[
            ("MAX_F32", f32::MAX),
            ("PI", math::PI),
            ("INV_PI", math::INV_PI),
            ("MIN_ALPHA", microfacet::MIN_ALPHA),
        ],
        film::NUMBERS,
        material::NUMBERS,
        medium::NUMBERS,
        bvh::NUMBERS,
        light::NUMBERS,
        pixel_noise::NUMBERS,
    ];
    let source = HEADERS
        .files()
        .filter_map(|file| Some((file.path().to_str()?, file.contents_utf8()?)))
        .fold(Source::new(path, text), |source, (name, text)| {
            source.header(format!("kernels/shared/{name}"), text)
        });
    // A missing header is reported when the kernel is compiled.
    let expanded = source.text().unwrap_or_default();
    let used = identifiers(&expanded);
    let is_used = |name: &str| used.contains(name);
    let constants = constants.concat();
    let constants: Vec<_> = constants.into_iter().filter(|c| is_used(c.0)).collect();
    let numbers = numbers.concat();
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
