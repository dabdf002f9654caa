//! Every kernel file, through the compilers of the GPUs that are in use: it compiles, fits, and computes as the
//! CPU does.

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
    shading::material::{ALL_KINDS, RARE_KINDS},
    stages::{sources, sources_for},
};

/// The version of NVRTC that what ships is by.
const SHIPPING: (i32, i32) = (12, 8);
/// Those that the shipped PTX becomes machine code for on a user's machine: Blackwell, twice.
const ASSEMBLED_FOR: [u32; 2] = [100, 120];
/// With more, fewer than 6 blocks of 128 threads share a multiprocessor's 65,536, and traversal waits for memory often.
const MAX_REGISTERS_TRAVERSING: u32 = 80;
/// What the way through two levels may keep in memory so that 6 blocks fit: 4 to 6 % faster than 5 without (docs/experiments/003-two-level-occupancy.md).
const MAX_SPILLED_INSTANCED: u32 = 32;
/// What the sieve of many items may keep there so that 4 blocks of 512 threads fit. Without, few items take longer (docs/experiments/042-register-spills.md).
const MAX_SPILLED_OF_MANY: u32 = 16;
/// With more, fewer than 4.
const MAX_REGISTERS: u32 = 128;
/// With more, fewer than 3: the megakernel carries a whole path through traversal and shading.
const MAX_REGISTERS_OF_PATHS: u32 = 168;
/// With more, fewer than 3: what shades scenes where instances shine has no register to spare at 128.
const MAX_REGISTERS_RARE: u32 = 168;

fn main() {
    Tests::new()
        .nvrtc_shared("every_kernel_compiles_and_fits", compiles)
        .nvrtc_shared(
            "stages_neither_contract_nor_approximate",
            computes_as_the_cpu_does,
        )
        .test(
            "kernels_take_few_arguments_of_different_types",
            kernels_take_few_arguments_of_different_types,
        )
        .test(
            "kernels_receive_only_the_constants_they_use",
            kernels_receive_only_the_constants_they_use,
        )
        .test("what_ships_is_not_stale", what_ships_is_not_stale)
        .test(
            "what_ships_is_for_every_kind_of_scene",
            what_ships_is_for_every_kind_of_scene,
        )
        .needs(
            "no ptxas",
            find_ptxas(),
            "what_ships_assembles_and_fits",
            assembles,
        )
        .run()
}

/// Maximum number of arguments of a stage's kernel.
const MAX_ARGUMENTS: usize = 12;

/// Returns the sources of the stages' kernels, without those of `compaction`.
fn stage_sources() -> impl Iterator<Item = Source> {
    let of_stages = |source: &Source| source.path().starts_with("kernels/");
    sources().into_iter().filter(of_stages)
}

/// A kernel takes at most [`MAX_ARGUMENTS`], and no two adjacent ones of the same type, so that a wrong order does not
/// compile.
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

/// Adding a constant must not change, and so invalidate, kernels that do not use it.
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

/// For every target that they ship for; and what ships is just that.
fn compiles(nvrtc: &Arc<Nvrtc>, share: Share) {
    let ships = nvrtc.version() == SHIPPING;
    if !ships {
        eprintln!("skipped: whether it ships, which is by NVRTC {SHIPPING:?} and not by {nvrtc:?}");
    }
    let shipped = shipped();
    for source in share.of(&sources()) {
        for target in Archive::TARGETS {
            let compiled = nvrtc
                .compile(source, target)
                .unwrap_or_else(|error| panic!("{error}"));
            let same = match target {
                Target::Cubin(capability) => {
                    spills_little(source, &compiled.usage(), capability);
                    let (image, _) = shipped.image(source, capability).unwrap();
                    !ships || image == compiled.image
                }
                Target::Ptx(_) => {
                    let (image, _) = shipped.image(source, ASSEMBLED_FOR[0]).unwrap();
                    // NVRTC numbers calls in comments.
                    !ships || code(&image).eq(code(&compiled.image))
                }
            };
            assert!(
                same,
                "kernels/shipped.bin: {} for {target} is not what NVRTC makes; run `cargo run --example ship_kernels`",
                source.path()
            );
        }
    }
}

/// What ships, and nothing else.
fn shipped() -> Compiler {
    Compiler::new()
        .shipped(SHIPPED)
        .nvrtc(None)
        .cache(Cache::off())
}

/// The lines of PTX without what is commented.
fn code(ptx: &Image) -> impl Iterator<Item = &str> {
    let text = str::from_utf8(&ptx.bytes).expect("PTX is text");
    text.lines()
        .map(|line| line.split("//").next().unwrap_or(line).trim_end())
}

/// Rust rounds after every operation, and divides and takes roots exactly. So do kernels, but for boxes.
fn computes_as_the_cpu_does(nvrtc: &Arc<Nvrtc>, share: Share) {
    for source in share.of(sources()) {
        let source = source.define("ROUND_TWICE", "1");
        let compiled = nvrtc.compile(&source, Target::Ptx(75)).unwrap();
        for line in code(&compiled.image) {
            for wrong in ["fma.", ".ftz", ".approx", "div.full"] {
                assert!(!line.contains(wrong), "{}: {line}", source.path());
            }
        }
        assert!(
            code(&compiled.image).any(|line| line.contains(".visible .entry")),
            "{}: no kernel",
            source.path()
        );
    }
}

fn what_ships_is_not_stale() {
    let archive = Archive::open(SHIPPED).unwrap();
    let sources = sources();
    let stale = archive.missing(&sources).unwrap();
    assert!(
        stale.is_empty(),
        "kernels/shipped.bin does not hold what {} is now; run `cargo run --example ship_kernels`",
        stale.join(", ")
    );
    assert_eq!(
        archive.len(),
        sources.len(),
        "kernels/shipped.bin holds what nobody loads"
    );
}

/// Of a scene that has one kind of material, or one that is rare besides.
fn what_ships_is_for_every_kind_of_scene() {
    let archive = Archive::open(SHIPPED).unwrap();
    let bits = |kinds: u32| {
        (0..32)
            .map(|bit| 1 << bit)
            .filter(move |bit| kinds & bit != 0)
    };
    for common in bits(ALL_KINDS) {
        for rare in bits(RARE_KINDS).chain([0]) {
            for (instanced, alpha_tested) in [(false, false), (true, false), (true, true)] {
                // What is rare takes maps or instances.
                if rare != 0 && !instanced {
                    continue;
                }
                let scene = KernelVariant {
                    materials: common | rare,
                    instanced,
                    alpha_tested,
                    far_lights: true,
                    lights: true,
                };
                let sources = sources_for(scene);
                let missing = archive.missing(&sources).unwrap();
                assert!(missing.is_empty(), "{scene:?}: {missing:?}");
            }
        }
    }
}

/// The PTX that ships, through a newer assembler, as a user's driver does it.
fn assembles(ptxas: &PathBuf) {
    let shipped = shipped();
    sources().par_iter().for_each(|source| {
        let folder = tempfile::tempdir().unwrap();
        let (input, output) = (
            folder.path().join("kernel.ptx"),
            folder.path().join("kernel.cubin"),
        );
        let (image, _) = shipped.image(source, ASSEMBLED_FOR[0]).unwrap();
        assert_eq!(image.target, Target::Ptx(75));
        fs::write(&input, &image.bytes).unwrap();
        for capability in ASSEMBLED_FOR {
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
            // It reports as NVRTC does, which assembles by it.
            let assembled = Compiled {
                image: image.clone(),
                log,
            };
            spills_little(source, &assembled.usage(), capability);
        }
    });
}

fn spills_little(source: &Source, kernels: &[Usage], capability: u32) {
    assert!(
        !kernels.is_empty(),
        "{}: no report for {capability}",
        source.path()
    );
    for usage in kernels {
        let case = format!("{} for {capability}: {usage:?}", source.path());
        let instanced = matches!(
            usage.kernel.as_str(),
            "intersect_instanced" | "shadow_instanced"
        );
        let most_spilled = match usage.kernel.as_str() {
            _ if instanced => MAX_SPILLED_INSTANCED,
            "select_many_items_look_back" => MAX_SPILLED_OF_MANY,
            _ => 0,
        };
        assert!(usage.spill_store_bytes <= most_spilled, "{case}");
        assert!(usage.spill_load_bytes <= most_spilled, "{case}");
        let most = match usage.kernel.as_str() {
            "intersect" | "intersect_instanced" | "shadow" | "shadow_instanced" => {
                MAX_REGISTERS_TRAVERSING
            }
            "shade_rare_instanced" => MAX_REGISTERS_RARE,
            kernel if kernel.starts_with("megakernel") => MAX_REGISTERS_OF_PATHS,
            _ => MAX_REGISTERS,
        };
        assert!((1..=most).contains(&usage.registers), "{case}");
    }
}

/// The assembler that `PTXAS` names, the one on `PATH`, or that of the Python environment.
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
            "ptxas was not found: `pip install nvidia-cuda-nvcc-cu12`, or name it by PTXAS"
                .to_owned()
        })
}
