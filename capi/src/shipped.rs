//! The kernels that the library contains, so that it needs no NVRTC for common types.

use compaction::{
    cuda::Source,
    select::{Select, Strategy},
};

/// The archive of compiled kernels, written by `cargo run -p compaction-capi --example ship_kernels`.
pub const ARCHIVE: &[u8] = include_bytes!("../kernels/shipped.bin");

/// Returns the kernel files that are compiled into [`ARCHIVE`].
pub fn sources() -> Vec<Source> {
    let mut sources = Vec::new();
    sources.extend(Select::sources::<u32, u32>(Strategy::LookBack));
    sources.extend(Select::sources::<u32, u64>(Strategy::LookBack));
    sources
}
