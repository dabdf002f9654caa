//! Tests that all kernels compile for the GPUs in use, keep to their register limits, and round like the CPU, and that
//! `kernels/shipped.bin` contains their current versions.

#[path = "../compaction/tests/common/mod.rs"]
mod harness;

use std::{
    env,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use compaction::cuda::{Archive, Cache, Compiled, Compiler, Image, Nvrtc, Source, Target, Usage};
use harness::{Share, Tests};
use rayon::prelude::*;
use raysieve::{
    device::{kernel_variant::KernelVariant, kernels::SHIPPED},
    shading::material::{ALL_KINDS, EXTENDED_KINDS, RARE_KINDS},
    stages::{sources, sources_for},
};

/// Version of NVRTC that writes `kernels/shipped.bin`.
const SHIPPING_NVRTC: (i32, i32) = (12, 8);
/// Compute capabilities of the GPUs whose drivers compile the shipped PTX: Blackwell for data centers and for desktops.
const PTX_CAPABILITIES: [u32; 2] = [100, 120];
/// Environment variable. If it is set, each kernel is compiled for every GPU. Otherwise each kernel is compiled for one
/// GPU, in turn, because all of them take minutes.
const EVERY_TARGET: &str = "EVERY_TARGET";
/// Maximum number of registers per thread that lets 4 blocks of 128 threads share the 65,536 of a multiprocessor.
const MAX_REGISTERS: u32 = 128;
/// Maximum number of registers per thread of BVH traversal without instances, which needs 8 blocks to hide the latency
/// of memory.
const MAX_REGISTERS_TRAVERSAL: u32 = 64;
/// Maximum number of bytes per thread that BVH traversal without instances may spill: one word on some GPUs.
const MAX_SPILL_TRAVERSAL: u32 = 4;
/// Maximum number of registers per thread of the megakernel, which keeps a whole path; 3 blocks fit.
const MAX_REGISTERS_MEGAKERNEL: u32 = 168;
/// Maximum number of bytes per thread that traversal of instances and shading of rare or extended materials may spill.
///
/// Fewer blocks with more registers are slower (docs/experiments/044-spills-for-occupancy.md), also with the tables of
/// clear coats: `gltf_model` renders 1,300 instead of 1,420 Mpaths/s with 512 threads per multiprocessor.
const MAX_SPILL_FOR_OCCUPANCY: u32 = 1280;
/// Maximum number of bytes per thread that the compaction of many items may spill.
///
/// Kernels without the spill are slower for short inputs (docs/experiments/042-register-spills.md).
const MAX_SPILL_MANY_ITEMS: u32 = 16;
/// Maximum number of arguments of a stage's kernel.
const MAX_ARGUMENTS: usize = 12;

fn main() {
    Tests::new()
        .nvrtc_shared(
            "every_kernel_compiles_within_its_register_limit",
            every_kernel_compiles_within_its_register_limit,
        )
        .nvrtc_shared("kernels_round_like_the_cpu", kernels_round_like_the_cpu)
        .test(
            "kernels_take_few_arguments_of_different_types",
            kernels_take_few_arguments_of_different_types,
        )
        .test(
            "kernels_receive_only_the_constants_they_use",
            kernels_receive_only_the_constants_they_use,
        )
        .test(
            "shipped_kernels_are_up_to_date",
            shipped_kernels_are_up_to_date,
        )
        .test(
            "shipped_kernels_cover_every_kind_of_scene",
            shipped_kernels_cover_every_kind_of_scene,
        )
        .needs(
            "no ptxas",
            find_ptxas(),
            "shipped_ptx_assembles_within_its_register_limit",
            shipped_ptx_assembles_within_its_register_limit,
        )
        .run()
}

/// Returns the sources of the stages' kernels, without those of `compaction`.
fn stage_sources() -> impl Iterator<Item = Source> {
    let is_stage = |source: &Source| source.path().starts_with("kernels/");
    sources().into_iter().filter(is_stage)
}

/// Checks that a kernel has at most [`MAX_ARGUMENTS`] arguments, and that adjacent ones differ in type.
///
/// Swapped arguments then do not compile.
fn kernels_take_few_arguments_of_different_types() {
    for source in stage_sources() {
        let text = source.text().unwrap();
        let mut signatures = 0;
        for line in text.lines() {
            let Some((kernel, types)) = line.split_once(": argument types in Rust are (") else {
                continue;
            };
            signatures += 1;
            let types: Vec<&str> = types.split(')').next().unwrap().split(", ").collect();
            assert!(types.len() <= MAX_ARGUMENTS, "{kernel}: {types:?}");
            let differ = types.windows(2).all(|pair| pair[0] != pair[1]);
            assert!(differ, "{kernel}: {types:?}");
        }
        assert_eq!(
            signatures,
            source.kernel_names().count(),
            "{}",
            source.path()
        );
    }
}

/// Checks that a new constant does not change, and so invalidate, the kernels that do not use it.
fn kernels_receive_only_the_constants_they_use() {
    for source in stage_sources() {
        let text = source.text().unwrap();
        let code: String = text
            .lines()
            .map(|line| line.split("//").next().unwrap_or(line).to_owned() + "\n")
            .collect();
        for line in code.lines() {
            let constant = line
                .strip_prefix("constexpr u32 ")
                .and_then(|rest| rest.split_once(" = "));
            let Some((name, _)) = constant else { continue };
            let words = code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let uses = words.filter(|word| *word == name).count();
            assert!(uses > 1, "{}: {name} is not used", source.path());
        }
    }
}

/// Returns the targets for which a kernel file is compiled: all of them with [`EVERY_TARGET`], and otherwise one, by
/// the number of the file.
fn targets_of_file<T: Copy>(number: usize, targets: &[T]) -> impl Iterator<Item = T> {
    let every = env::var_os(EVERY_TARGET).is_some();
    let turn = number % targets.len();
    let chosen = move |&(index, _): &(usize, &T)| every || index == turn;
    let numbered = targets.iter().enumerate();
    numbered.filter(chosen).map(|(_, &target)| target)
}

/// Compiles all kernels for the shipped targets, and compares the results with `kernels/shipped.bin`.
fn every_kernel_compiles_within_its_register_limit(nvrtc: &Arc<Nvrtc>, share: Share) {
    let is_comparable = nvrtc.version() == SHIPPING_NVRTC;
    if !is_comparable {
        eprintln!(
            "skipped: the comparison with kernels/shipped.bin, which needs NVRTC {SHIPPING_NVRTC:?} and not {nvrtc:?}"
        );
    }
    let shipped = shipped();
    for (number, source) in share.of(sources().iter().enumerate()) {
        for target in targets_of_file(number, &Archive::TARGETS) {
            let compiled = nvrtc
                .compile(source, target)
                .unwrap_or_else(|error| panic!("{error}"));
            let same = match target {
                Target::Cubin(capability) => {
                    assert_within_limits(source, &compiled.usage(), capability);
                    let (image, _) = shipped.image(source, capability).unwrap();
                    !is_comparable || image == compiled.image
                }
                Target::Ptx(_) => {
                    let (image, _) = shipped.image(source, PTX_CAPABILITIES[0]).unwrap();
                    // The comments contain call numbers, which may differ.
                    !is_comparable || code(&image).eq(code(&compiled.image))
                }
            };
            assert!(
                same,
                "kernels/shipped.bin: {} for {target} differs from what NVRTC compiles; run `cargo run --example ship_kernels`",
                source.path()
            );
        }
    }
}

/// Returns a compiler that only looks up shipped kernels, without NVRTC and cache.
fn shipped() -> Compiler {
    Compiler::new()
        .shipped(SHIPPED)
        .nvrtc(None)
        .cache(Cache::off())
}

/// Returns the lines of a PTX text without comments.
fn code(ptx: &Image) -> impl Iterator<Item = &str> {
    let text = str::from_utf8(&ptx.bytes).expect("PTX is text");
    text.lines()
        .map(|line| line.split("//").next().unwrap_or(line).trim_end())
}

/// Checks that kernels round after every operation, like Rust: without fused multiply-add, and with exact division and
/// square root.
///
/// `ROUND_TWICE` disables the fused multiply-add of the bounding-box test, which need not match the CPU. Kernels
/// without that test are checked as they are shipped.
fn kernels_round_like_the_cpu(nvrtc: &Arc<Nvrtc>, share: Share) {
    const DISABLED: &str = "ROUND_TWICE";
    let shipped = shipped();
    for source in share.of(sources()) {
        let image = if source.text().unwrap().contains(DISABLED) {
            let source = source.clone().define(DISABLED, "1");
            nvrtc.compile(&source, Target::Ptx(75)).unwrap().image
        } else {
            shipped.image(&source, PTX_CAPABILITIES[0]).unwrap().0
        };
        for line in code(&image) {
            for wrong in ["fma.", ".ftz", ".approx", "div.full"] {
                assert!(!line.contains(wrong), "{}: {line}", source.path());
            }
        }
        assert!(
            code(&image).any(|line| line.contains(".visible .entry")),
            "{}: no kernel",
            source.path()
        );
    }
}

fn shipped_kernels_are_up_to_date() {
    let archive = Archive::open(SHIPPED).unwrap();
    let sources = sources();
    let stale = archive.missing(&sources).unwrap();
    assert!(
        stale.is_empty(),
        "kernels/shipped.bin is out of date for {}; run `cargo run --example ship_kernels`",
        stale.join(", ")
    );
    assert_eq!(
        archive.len(),
        sources.len(),
        "kernels/shipped.bin contains kernels that no render loads"
    );
}

/// Checks scenes with each single material kind, alone and with each rare feature.
fn shipped_kernels_cover_every_kind_of_scene() {
    let archive = Archive::open(SHIPPED).unwrap();
    let bits = |kinds: u32| {
        (0..32)
            .map(|bit| 1 << bit)
            .filter(move |bit| kinds & bit != 0)
    };
    for common in bits(ALL_KINDS) {
        for rare in bits(RARE_KINDS | EXTENDED_KINDS).chain([0]) {
            for (instanced, alpha_tested) in [(false, false), (true, false), (true, true)] {
                // Rare features need textures or instances, and extended materials use the same kernels.
                if rare != 0 && !instanced {
                    continue;
                }
                let scene = KernelVariant {
                    materials: common | rare,
                    instanced,
                    alpha_tested,
                    far_lights: true,
                    lights: true,
                    media: false,
                    boundaries: false,
                };
                let sources = sources_for(scene);
                let missing = archive.missing(&sources).unwrap();
                assert!(missing.is_empty(), "{scene:?}: {missing:?}");
            }
        }
    }
}

/// Assembles the shipped PTX like the driver of a newer GPU.
fn shipped_ptx_assembles_within_its_register_limit(ptxas: &PathBuf) {
    let shipped = shipped();
    sources()
        .par_iter()
        .enumerate()
        .for_each(|(number, source)| {
            let folder = tempfile::tempdir().unwrap();
            let (input, output) = (
                folder.path().join("kernel.ptx"),
                folder.path().join("kernel.cubin"),
            );
            let (image, _) = shipped.image(source, PTX_CAPABILITIES[0]).unwrap();
            assert_eq!(image.target, Target::Ptx(75));
            fs::write(&input, &image.bytes).unwrap();
            for capability in targets_of_file(number, &PTX_CAPABILITIES) {
                let run = Command::new(ptxas)
                    .args(["-v", &format!("--gpu-name=sm_{capability}"), "-o"])
                    .args([&output, &input])
                    .output()
                    .unwrap();
                let log = String::from_utf8_lossy(&run.stderr).into_owned()
                    + &String::from_utf8_lossy(&run.stdout);
                assert!(
                    run.status.success(),
                    "{}: {} for sm_{capability}: {log}",
                    ptxas.display(),
                    source.path()
                );
                // The report has the format of NVRTC's.
                let assembled = Compiled {
                    image: image.clone(),
                    log,
                };
                assert_within_limits(source, &assembled.usage(), capability);
            }
        });
}

/// Returns whether a kernel trades registers for more resident blocks.
fn spills_for_occupancy(kernel: &str) -> bool {
    let traverses = kernel.starts_with("intersect_") || kernel.starts_with("shadow_");
    let shades = kernel.starts_with("shade") || kernel.starts_with("scatter_found");
    let does_all = ["_extended", "_media", "_boundaries", "_nested"]
        .map(|variant| format!("megakernel{variant}"));
    let crosses =
        kernel == "scatter_find_behind_boundaries" || kernel == "scatter_find_in_nested_bodies";
    traverses && kernel != "intersect_sky"
        || shades
        || crosses
        || does_all.iter().any(|name| name == kernel)
}

/// Asserts that each kernel keeps to its limits of registers and spilled bytes.
fn assert_within_limits(source: &Source, kernels: &[Usage], capability: u32) {
    assert!(
        !kernels.is_empty(),
        "{}: no compiler report for {capability}",
        source.path()
    );
    for usage in kernels {
        let case = format!("{} for {capability}: {usage:?}", source.path());
        let max_spill = match usage.kernel.as_str() {
            "select_many_items_look_back" => MAX_SPILL_MANY_ITEMS,
            "intersect" | "shadow" => MAX_SPILL_TRAVERSAL,
            kernel if spills_for_occupancy(kernel) => MAX_SPILL_FOR_OCCUPANCY,
            _ => 0,
        };
        assert!(usage.spill_store_bytes <= max_spill, "{case}");
        assert!(usage.spill_load_bytes <= max_spill, "{case}");
        let max_registers = match usage.kernel.as_str() {
            "intersect" | "shadow" => MAX_REGISTERS_TRAVERSAL,
            kernel if kernel.starts_with("megakernel") => MAX_REGISTERS_MEGAKERNEL,
            _ => MAX_REGISTERS,
        };
        assert!((1..=max_registers).contains(&usage.registers), "{case}");
    }
}

/// Returns the path of `ptxas`: the one in the environment variable `PTXAS`, on `PATH`, or in the Python environment.
fn find_ptxas() -> Result<PathBuf, String> {
    if let Some(named) = env::var_os("PTXAS") {
        return Ok(named.into());
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path = env::split_paths(&path).collect::<Vec<_>>();
    let environment = env::var_os("VIRTUAL_ENV").map(|root| Path::new(&root).join("lib"));
    let packages = environment
        .and_then(|lib| fs::read_dir(lib).ok())
        .into_iter()
        .flatten()
        .flatten();
    let wheels = packages.map(|python| python.path().join("site-packages/nvidia/cuda_nvcc/bin"));
    on_path
        .into_iter()
        .chain(wheels)
        .map(|folder| folder.join(OsStr::new("ptxas")))
        .find(|file| file.is_file())
        .ok_or_else(|| {
            "ptxas was not found: run `pip install nvidia-cuda-nvcc-cu12`, or set PTXAS to its path"
                .to_owned()
        })
}
