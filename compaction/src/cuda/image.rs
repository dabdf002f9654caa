//! Compiled kernel images, independent of the layer they come from.

use xxhash_rust::xxh3::xxh3_128;

/// The compiler options of every kernel. `--use_fast_math` is never among them.
pub(super) const OPTIONS: &[&str] = &[
    "--std=c++17",
    // Unmarked functions are device functions, so that a header can also be compiled for the host.
    "-default-device",
    // Rust does not contract a * b + c, so CUDA must not either: then equal functions give equal bits.
    "--fmad=false",
    // IEEE division, square root and subnormals, as on the CPU. These are NVRTC's defaults, stated because results
    // depend on them.
    "--prec-div=true",
    "--prec-sqrt=true",
    "--ftz=false",
];

/// A compilation target. The number is the compute capability times 10: 75 for 7.5, 90 for 9.0, 120 for 12.0.
///
/// ```
/// use compaction::cuda::Target;
///
/// assert_eq!(Target::Ptx(75).to_string(), "compute_75");
/// assert_eq!(Target::Cubin(90).to_string(), "sm_90");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// PTX, which the driver compiles for any GPU of this compute capability or a later one.
    Ptx(u32),
    /// Machine code for this compute capability and later minor versions of the same major version.
    Cubin(u32),
}

impl Target {
    /// Encodes the target as stored in files: a byte `P` for PTX or `C` for machine code, and the compute capability as
    /// a little-endian `u32`.
    pub(super) fn to_bytes(self) -> [u8; 5] {
        let (kind, capability) = match self {
            Self::Ptx(capability) => (b'P', capability),
            Self::Cubin(capability) => (b'C', capability),
        };
        let [a, b, c, d] = capability.to_le_bytes();
        [kind, a, b, c, d]
    }

    /// Decodes the bytes of [`to_bytes`](Self::to_bytes). Returns `None` for an unknown kind.
    pub(super) fn from_bytes([kind, capability @ ..]: [u8; 5]) -> Option<Self> {
        let capability = u32::from_le_bytes(capability);
        match kind {
            b'P' => Some(Self::Ptx(capability)),
            b'C' => Some(Self::Cubin(capability)),
            _ => None,
        }
    }

    /// Returns whether a GPU of compute capability `capability` (90 for 9.0) can run code for this target.
    ///
    /// Machine code runs on the same or a later minor version of its major version. PTX runs on the same and all later
    /// capabilities.
    pub(super) fn runs_on(self, capability: u32) -> bool {
        match self {
            Self::Ptx(oldest) => oldest <= capability,
            Self::Cubin(oldest) => oldest <= capability && oldest / 10 == capability / 10,
        }
    }
}

impl std::fmt::Display for Target {
    /// Writes the target as the compilers name it: `compute_75` for PTX, `sm_90` for machine code.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ptx(capability) => write!(f, "compute_{capability}"),
            Self::Cubin(capability) => write!(f, "sm_{capability}"),
        }
    }
}

/// The layer of a [`Compiler`](super::Compiler) that an [`Image`] came from.
///
/// ```
/// use compaction::cuda::Origin;
///
/// assert_eq!(Origin::Shipped.to_string(), "shipped with the program");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The image came from the [`Cache`](super::Cache), because the source was compiled earlier.
    Cache,
    /// NVRTC compiled the image just now.
    Nvrtc,
    /// The image came from the [`Archive`](super::Archive) that was passed to
    /// [`Compiler::shipped`](super::Compiler::shipped).
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

/// The compiled code of a source file, in the form that the driver loads.
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
    /// The target that the code was compiled for.
    pub target: Target,
    /// PTX text without a final NUL, or machine code (a CUBIN file).
    pub bytes: Vec<u8>,
}

/// Returns the cache key of an image: a hash of the expanded source text, the compiler options and the target.
pub(super) fn key(text: &str, target: Target) -> u128 {
    hash(&[&target.to_string(), &OPTIONS.join(" "), text])
}

/// Returns the archive key of a source: a hash of `text`, which is the source with its includes expanded, and of the
/// compiler options. It does not depend on a target.
pub(super) fn source_key(text: &str) -> u128 {
    hash(&[&OPTIONS.join(" "), text])
}

fn hash(parts: &[&str]) -> u128 {
    // Lengths keep the parts apart.
    let apart = |part: &&str| format!("{}:{part}", part.len());
    xxh3_128(parts.iter().map(apart).collect::<String>().as_bytes())
}
