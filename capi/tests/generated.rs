//! The committed files that programs write are up to date: the header by cbindgen, and the archive of kernels.

use std::{env, fs, path::Path};

use compaction::cuda::{Archive, Cache, Compiler, Origin};
use compaction_capi::shipped;

#[test]
fn header_is_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    let bindings = cbindgen::Builder::new()
        .with_config(config)
        .with_crate(root)
        .generate()
        .unwrap();
    let mut written = Vec::new();
    bindings.write(&mut written);
    let path = root.join("include/compaction.h");
    if env::var_os("UPDATE_HEADER").is_some() {
        fs::write(&path, &written).unwrap();
    }
    let committed = fs::read(&path).unwrap_or_default();
    assert!(
        committed == written,
        "{} is out of date: UPDATE_HEADER=1 cargo test -p compaction-capi --test generated",
        path.display()
    );
}

#[test]
fn shipped_kernels_are_up_to_date() {
    let sources = shipped::sources().unwrap();
    let archive = Archive::open(shipped::ARCHIVE).unwrap();
    let missing = archive.missing(&sources).unwrap();
    assert!(
        missing.is_empty() && archive.len() == sources.len(),
        "{} of {} kernel files ship; not {missing:?}: cargo run -p compaction-capi --example ship_kernels",
        archive.len(),
        sources.len()
    );
    // Turing to Blackwell: the last one takes PTX.
    let compiler = Compiler::new()
        .nvrtc(None)
        .cache(Cache::off())
        .shipped(shipped::ARCHIVE);
    for capability in [75, 80, 86, 89, 90, 100] {
        for source in &sources {
            let (image, origin) = compiler.image(source, capability).unwrap();
            assert!(origin == Origin::Shipped && !image.bytes.is_empty());
        }
    }
}
