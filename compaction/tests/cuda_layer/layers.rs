//! Tests of NVRTC and of the layers around it: the cache and the archive.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use compaction::{
    Error,
    cuda::{Archive, Cache, Compiler, InOut, Nvrtc, Origin, Source, Target},
};

use crate::parcels::{MOVE, PARCEL_FIELDS, move_parcels, move_with};

pub(crate) fn machine_code_reports_registers_and_spills(nvrtc: &Arc<Nvrtc>) {
    let target = nvrtc.target(90).unwrap();
    let usage = nvrtc.compile(&move_parcels(), target).unwrap().usage();
    let Target::Cubin(_) = target else {
        return assert!(usage.is_empty());
    };
    assert_eq!(usage.len(), 1, "{usage:?}");
    assert_eq!(usage[0].kernel, "move_parcels");
    assert!(
        (4..=64).contains(&usage[0].registers) && usage[0].spill_store_bytes == 0,
        "{usage:?}"
    );
    let spilling = Source::new(
        "spill.cu",
        r#"extern "C" __global__ void __launch_bounds__(1024, 2) spill(u32 *out) {
            u32 held[96];
            #pragma unroll
            for (u32 i = 0; i < 96; ++i) held[i] = ((volatile u32 *)out)[i];
            __syncthreads();
            #pragma unroll
            for (u32 i = 0; i < 96; ++i) ((volatile u32 *)out)[i * 2] = held[i] * held[95 - i];
        }"#,
    )
    .kernel::<(InOut<u32>,)>("spill");
    let usage = nvrtc.compile(&spilling, target).unwrap().usage();
    assert!(
        usage[0].registers <= 32 && usage[0].spill_store_bytes > 0 && usage[0].spill_load_bytes > 0,
        "{usage:?}"
    );
}

pub(crate) fn kernels_round_like_rust(nvrtc: &Arc<Nvrtc>) {
    let source = Source::new(
        "round.cu",
        r#"extern "C" __global__ void round_once(f32 *x) { x[0] = sqrtf(x[1] * x[2] + x[3]) / x[4]; }"#,
    );
    let ptx =
        String::from_utf8(nvrtc.compile(&source, Target::Ptx(75)).unwrap().image.bytes).unwrap();
    for instruction in ["mul.rn.f32", "add.rn.f32", "sqrt.rn.f32", "div.rn.f32"] {
        assert!(ptx.contains(instruction), "{instruction} is not in\n{ptx}");
    }
    assert!(
        !ptx.contains("fma") && !ptx.contains(".ftz") && !ptx.contains(".approx"),
        "{ptx}"
    );
}

pub(crate) fn the_target_is_the_gpu_or_the_newest_below_it(nvrtc: &Arc<Nvrtc>) {
    assert_eq!(nvrtc.target(90), Some(Target::Cubin(90)));
    assert!(matches!(nvrtc.target(9999), Some(Target::Ptx(newest)) if newest >= 90));
    assert_eq!(nvrtc.target(20), None);
}

pub(crate) fn a_compiled_kernel_is_cached(nvrtc: &Arc<Nvrtc>) {
    let folder = tempfile::tempdir().unwrap();
    let compiler = Compiler::new()
        .cache(Cache::at(folder.path().join("new").join("folder")))
        .nvrtc(Some(nvrtc.clone()));
    let (first, origin) = compiler.image(&move_parcels(), 90).unwrap();
    assert_eq!(origin, Origin::Nvrtc);
    let driver_only = compiler.clone().nvrtc(None);
    assert_eq!(
        driver_only.image(&move_parcels(), 90).unwrap(),
        (first, Origin::Cache)
    );
    // The entry must not serve another GPU, another constant or another text.
    assert!(driver_only.image(&move_parcels(), 80).is_err());
    assert!(
        driver_only
            .image(&move_parcels().constant("OTHER", 1), 90)
            .is_err()
    );
    assert!(
        driver_only
            .image(
                &move_with(PARCEL_FIELDS, &MOVE.replace("+= 1;", "+= 2;")),
                90
            )
            .is_err()
    );
}

pub(crate) fn the_cache_drops_what_was_not_used_for_longest(nvrtc: &Arc<Nvrtc>) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file of somebody else");
    std::fs::write(&file, vec![0; 1 << 20]).unwrap();
    let source = |number| move_parcels().constant("NUMBER", number);
    let compiler = |max_bytes| {
        let cache = Cache::at(folder.path()).max_bytes(max_bytes);
        Compiler::new().cache(cache).nvrtc(Some(nvrtc.clone()))
    };
    let is_cached = |number| {
        let driver_only = compiler(u64::MAX).nvrtc(None);
        driver_only.image(&source(number), 90).is_ok()
    };
    let entries = || {
        let all = std::fs::read_dir(folder.path()).unwrap();
        all.map(|entry| entry.unwrap().path())
            .filter(|path| *path != file)
            .collect::<Vec<_>>()
    };
    for number in [1, 2, 3] {
        compiler(u64::MAX).image(&source(number), 90).unwrap();
    }
    let bytes: Vec<u64> = entries()
        .iter()
        .map(|path| path.metadata().unwrap().len())
        .collect();
    let three: u64 = bytes.iter().sum();
    for path in entries() {
        let long_ago = SystemTime::now() - Duration::from_secs(100_000);
        let entry = std::fs::File::options().append(true).open(path).unwrap();
        entry.set_modified(long_ago).unwrap();
    }
    // These are used now, and entry 2 is not.
    assert!(is_cached(1) && is_cached(3));
    compiler(three + three / 6).image(&source(4), 90).unwrap();
    assert_eq!([1, 2, 3, 4].map(is_cached), [true, false, true, true]);
    compiler(0).image(&source(5), 90).unwrap();
    assert_eq!([1, 3, 4, 5].map(is_cached), [false, false, false, true]);
    assert!(file.exists());
}

pub(crate) fn a_damaged_cache_entry_is_compiled_again(nvrtc: &Arc<Nvrtc>) {
    let folder = tempfile::tempdir().unwrap();
    let compiler = Compiler::new()
        .cache(Cache::at(folder.path()))
        .nvrtc(Some(nvrtc.clone()));
    let (image, _) = compiler.image(&move_parcels(), 90).unwrap();
    let entry = only_file(folder.path());
    let whole = std::fs::read(&entry).unwrap();
    for damage in [
        &whole[..whole.len() / 2],
        &whole[..3],
        b"",
        &whole.iter().rev().copied().collect::<Vec<_>>(),
    ] {
        std::fs::write(&entry, damage).unwrap();
        assert_eq!(
            compiler.image(&move_parcels(), 90).unwrap(),
            (image.clone(), Origin::Nvrtc)
        );
        assert_eq!(
            std::fs::read(only_file(folder.path())).unwrap(),
            whole,
            "the entry is replaced, and no other file remains"
        );
    }
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    std::fs::write(&entry, flipped).unwrap();
    assert!(
        compiler
            .clone()
            .nvrtc(None)
            .image(&move_parcels(), 90)
            .is_err()
    );
}

/// Returns the only file in a folder.
fn only_file(folder: &Path) -> std::path::PathBuf {
    let files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}

pub(crate) fn an_unwritable_cache_folder_is_no_error(nvrtc: &Arc<Nvrtc>) {
    let file = tempfile::NamedTempFile::new().unwrap();
    let compiler = Compiler::new()
        .cache(Cache::at(file.path().join("below a file")))
        .nvrtc(Some(nvrtc.clone()));
    for _ in 0..2 {
        assert_eq!(
            compiler.image(&move_parcels(), 90).unwrap().1,
            Origin::Nvrtc
        );
    }
}

pub(crate) fn an_archive_serves_machines_without_nvrtc(nvrtc: &Arc<Nvrtc>) {
    let bytes = Archive::build(&[move_parcels()], &Archive::TARGETS, nvrtc)
        .unwrap()
        .to_bytes();
    let compiler = Compiler::new()
        .cache(Cache::off())
        .nvrtc(None)
        .shipped(&bytes);
    let (turing, ampere, hopper) = (Target::Cubin(75), Target::Cubin(80), Target::Cubin(90));
    for (capability, target) in [
        (75, turing),
        (80, ampere),
        (86, ampere),
        (89, ampere),
        (90, hopper),
        // Machine code of another major version does not run there.
        (100, Target::Ptx(75)),
        (120, Target::Ptx(75)),
    ] {
        let (image, origin) = compiler.image(&move_parcels(), capability).unwrap();
        assert_eq!(origin, Origin::Shipped, "{capability}");
        assert_eq!(
            image,
            nvrtc.compile(&move_parcels(), target).unwrap().image,
            "{capability}"
        );
    }
    // Machine code for exactly this GPU is preferred to the compiler, and the compiler to other images that run there.
    let compiling = compiler.clone().nvrtc(Some(nvrtc.clone()));
    for (capability, origin) in [
        (80, Origin::Shipped),
        (86, Origin::Nvrtc),
        (90, Origin::Shipped),
    ] {
        assert_eq!(
            compiling.image(&move_parcels(), capability).unwrap().1,
            origin,
            "{capability}"
        );
    }
    let other = compiling.image(&move_parcels().constant("OTHER", 1), 90);
    assert_eq!(other.unwrap().1, Origin::Nvrtc);
    assert!(compiler.image(&move_parcels(), 70).is_err());
    let message = compiler
        .image(&move_parcels().constant("OTHER", 1), 120)
        .unwrap_err()
        .to_string();
    assert!(message.contains("not among those that ship"), "{message}");
}

pub(crate) fn an_archive_is_stale_as_soon_as_a_source_changes(nvrtc: &Arc<Nvrtc>) {
    let archive = Archive::build(&[move_parcels()], &Archive::TARGETS, nvrtc).unwrap();
    assert_eq!(archive.len(), 1);
    assert!(archive.missing(&[move_parcels()]).unwrap().is_empty());
    let changed = move_with(PARCEL_FIELDS, &MOVE.replace("+= 1;", "+= 2;"));
    assert_eq!(
        archive.missing(&[move_parcels(), changed]).unwrap(),
        ["kernels/move.cu"]
    );
}

pub(crate) fn an_archive_has_the_same_bytes_every_time(nvrtc: &Arc<Nvrtc>) {
    let other = Source::new("other.cu", "extern \"C\" __global__ void other() {}");
    let sources = [move_parcels(), other];
    let mut reversed = sources.clone();
    reversed.reverse();
    let build = |sources: &[Source]| Archive::build(sources, &Archive::TARGETS, nvrtc).unwrap();
    let bytes = build(&sources).to_bytes();
    assert_eq!(bytes, build(&reversed).to_bytes());
    assert_eq!(Archive::open(&bytes).unwrap().to_bytes(), bytes);
}

pub(crate) fn a_damaged_archive_is_refused() {
    let bytes = Archive::default().to_bytes();
    assert!(Archive::open(&bytes).unwrap().is_empty());
    for end in 0..bytes.len() {
        assert!(
            matches!(Archive::open(&bytes[..end]), Err(Error::Archive { .. })),
            "truncated after {end} bytes"
        );
    }
    for byte in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[byte] ^= 4;
        assert!(
            matches!(Archive::open(&damaged), Err(Error::Archive { .. })),
            "byte {byte}"
        );
    }
}

pub(crate) fn without_nvrtc_the_message_says_how_to_install_it() {
    for compiler in [
        Compiler::new(),
        Compiler::new().shipped(b"no archive"),
        Compiler::new().shipped(&Archive::default().to_bytes()),
    ] {
        let compiler = compiler.cache(Cache::off()).nvrtc(None);
        let message = compiler.image(&move_parcels(), 90).unwrap_err().to_string();
        assert!(
            message.starts_with("kernels/move.cu ")
                && message.ends_with("pip install nvidia-cuda-nvrtc-cu12"),
            "{message}"
        );
    }
}
