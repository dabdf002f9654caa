//! Compiled kernels, whoever compiled them.

use xxhash_rust::xxh3::xxh3_128;

use super::nvrtc::OPTIONS;

/// What to compile for. The number is the compute capability without its point: 75, 90, 120.
///
/// ```
/// use compaction::cuda::Target;
///
/// assert_eq!(Target::Ptx(75).to_string(), "compute_75");
/// assert_eq!(Target::Cubin(90).to_string(), "sm_90");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// PTX, which the driver turns into machine code for any GPU from this one on.
    Ptx(u32),
    /// Machine code for GPUs of this architecture.
    Cubin(u32),
}

impl std::fmt::Display for Target {
    /// As the compilers name it: `compute_75`, `sm_90`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ptx(capability) => write!(f, "compute_{capability}"),
            Self::Cubin(capability) => write!(f, "sm_{capability}"),
        }
    }
}

/// Where an [`Image`] comes from: the three layers, in the order that they are asked.
///
/// ```
/// use compaction::cuda::Origin;
///
/// assert_eq!(Origin::Shipped.to_string(), "shipped with the program");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// This machine compiled it before.
    Cache,
    /// NVRTC compiled it just now.
    Nvrtc,
    /// It came with the program.
    Shipped,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Cache => "from the cache",
            Self::Nvrtc => "compiled by NVRTC",
            Self::Shipped => "shipped with the program",
        })
    }
}

/// A compiled source, as the driver loads it.
///
/// ```
/// use compaction::cuda::{Nvrtc, Source, Target};
///
/// let source = Source::new("nothing.cu", r#"extern "C" __global__ void nothing() {}"#);
/// if let Ok(nvrtc) = Nvrtc::find() {
///     let image = nvrtc.compile(&source, Target::Ptx(75))?.image;
///     assert!(String::from_utf8_lossy(&image.bytes).contains(".entry nothing"));
/// }
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// What it runs on.
    pub target: Target,
    /// PTX text without a final NUL, or a CUBIN.
    pub bytes: Vec<u8>,
}

/// Names what an image is compiled from and for: equal keys, equal images.
pub(super) fn key(text: &str, target: Target) -> u128 {
    let parts = [&target.to_string(), &OPTIONS.join(" "), text];
    // Lengths keep the parts apart.
    xxh3_128(
        parts
            .map(|part| format!("{}:{part}", part.len()))
            .concat()
            .as_bytes(),
    )
}
