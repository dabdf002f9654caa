//! Compiles the kernels of the feature `shipped`: `cargo run -p compaction --features shipped --example ship_kernels`.
//!
//! Needs NVRTC 12.8: `pip install nvidia-cuda-nvrtc-cu12==12.8.93`. Drivers from 535 on load its machine code, those
//! from 570 on also its PTX, which GPUs newer than Hopper need.

use std::{error::Error, fs, path::Path};

use compaction::{
    cuda::{Archive, Nvrtc},
    shipped,
};

fn main() -> Result<(), Box<dyn Error>> {
    let nvrtc = Nvrtc::find()?;
    if nvrtc.version() != (12, 8) {
        let (major, minor) = nvrtc.version();
        return Err(format!(
            "{}: found NVRTC {major}.{minor}, but the shipped kernels need 12.8",
            nvrtc.path().display()
        )
        .into());
    }
    let sources = shipped::sources()?;
    println!(
        "compiling {} kernel files for {} targets, which takes minutes",
        sources.len(),
        Archive::TARGETS.len()
    );
    let archive = Archive::build(&sources, &Archive::TARGETS, &nvrtc)?;
    let bytes = archive.to_bytes();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels/shipped.bin");
    fs::write(&path, &bytes)?;
    println!(
        "{}: {} kernel files, {} bytes",
        path.display(),
        archive.len(),
        bytes.len()
    );
    Ok(())
}
