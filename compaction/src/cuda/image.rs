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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// PTX, which the driver turns into machine code for any GPU from this one on.
    Ptx(u32),
    /// Machine code for GPUs of this architecture.
    Cubin(u32),
}

impl Target {
    /// As files hold it: kind, compute capability.
    pub(super) fn to_bytes(self) -> [u8; 5] {
        let (kind, capability) = match self {
            Self::Ptx(capability) => (b'P', capability),
            Self::Cubin(capability) => (b'C', capability),
        };
        let [a, b, c, d] = capability.to_le_bytes();
        [kind, a, b, c, d]
    }

    /// The inverse of [`to_bytes`](Self::to_bytes); `None` if they are of no kind.
    pub(super) fn from_bytes([kind, capability @ ..]: [u8; 5]) -> Option<Self> {
        let capability = u32::from_le_bytes(capability);
        match kind {
            b'P' => Some(Self::Ptx(capability)),
            b'C' => Some(Self::Cubin(capability)),
            _ => None,
        }
    }

    /// Whether GPUs of a compute capability run it: machine code is good for later ones of the same major number, PTX for all
    /// later ones.
    pub(super) fn runs_on(self, capability: u32) -> bool {
        match self {
            Self::Ptx(least) => least <= capability,
            Self::Cubin(least) => least <= capability && least / 10 == capability / 10,
        }
    }
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

/// Which of a [`Compiler`](super::Compiler)'s layers an [`Image`] comes from.
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
    hash(&[&target.to_string(), &OPTIONS.join(" "), text])
}

/// Names what images for any target are compiled from.
pub(super) fn source_key(text: &str) -> u128 {
    hash(&[&OPTIONS.join(" "), text])
}

fn hash(parts: &[&str]) -> u128 {
    // Lengths keep the parts apart.
    let apart = |part: &&str| format!("{}:{part}", part.len());
    xxh3_128(parts.iter().map(apart).collect::<String>().as_bytes())
}
