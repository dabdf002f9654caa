//! The archive of the feature `shipped` contains the current kernels.

use compaction::{
    cuda::{Archive, Cache, Compiler, Origin},
    shipped,
};

#[test]
fn the_built_in_kernels_are_up_to_date() {
    let sources = shipped::sources().unwrap();
    let archive = Archive::open(shipped::ARCHIVE).unwrap();
    let missing = archive.missing(&sources).unwrap();
    assert!(
        missing.is_empty() && archive.len() == sources.len(),
        "{} of {} kernel files ship; not {missing:?}: cargo run -p compaction --features shipped --example ship_kernels",
        archive.len(),
        sources.len()
    );
    // Turing to Blackwell: the last one takes PTX.
    let compiler = Compiler::new().nvrtc(None).cache(Cache::off());
    for capability in [75, 80, 86, 89, 90, 100] {
        for source in &sources {
            let (image, origin) = compiler.image(source, capability).unwrap();
            assert!(origin == Origin::Shipped && !image.bytes.is_empty());
        }
    }
}
