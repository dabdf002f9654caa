//! Compiled kernels that ship with a program. A `Compiler` searches them before its cache and after NVRTC.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
};

use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};
use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_128;

use super::{
    image::{Image, Target, source_key},
    nvrtc::Nvrtc,
    source::Source,
};
use crate::error::{Error, Result};

/// The archive of this crate's own kernels, written by `cargo run -p compaction --features shipped --example
/// ship_kernels`.
#[cfg(feature = "shipped")]
pub(crate) const SHIPPED: &[u8] = include_bytes!("../../kernels/shipped.bin");

/// Returns the archive that is built into this crate by the feature `shipped`.
pub(super) fn built_in() -> Option<&'static Archive> {
    #[cfg(feature = "shipped")]
    {
        static ARCHIVE: std::sync::OnceLock<Option<Archive>> = std::sync::OnceLock::new();
        ARCHIVE.get_or_init(|| Archive::open(SHIPPED).ok()).as_ref()
    }
    #[cfg(not(feature = "shipped"))]
    None
}

/// The first bytes of every archive. They change whenever the format changes.
const MAGIC: &[u8; 8] = b"kernels2";

/// Compiled kernels that ship with a program, for machines with a driver but without NVRTC.
///
/// For each source, an archive may hold machine code, which is loaded directly, and PTX, which the driver compiles.
/// Each image is stored under a hash of the source text it was compiled from, so it is never used for another text. A
/// program's tests should assert that [`missing`](Self::missing) is empty.
///
/// A driver loads machine code made by any NVRTC of its own or an older major version, but PTX only if NVRTC is not
/// newer than the driver. NVRTC 12.8 therefore makes machine code for every driver since 535, and PTX for drivers since
/// 570, which newer GPUs need anyway.
///
/// ```no_run
/// use compaction::cuda::{Archive, Compiler, Nvrtc, Source};
///
/// // The program's kernels. A function should return them, so that all three places below see the same list.
/// let sources = [Source::new("nothing.cu", r#"extern "C" __global__ void nothing() {}"#)];
///
/// // Once, by the author of the program:
/// let archive = Archive::build(&sources, &Archive::TARGETS, &Nvrtc::find()?)?;
/// std::fs::write("shipped.bin", archive.to_bytes())?;
///
/// // In its tests:
/// assert!(Archive::open(&std::fs::read("shipped.bin")?)?.missing(&sources)?.is_empty());
///
/// // In the program, where the file is `include_bytes!("shipped.bin")`:
/// let compiler = Compiler::new().shipped(&std::fs::read("shipped.bin")?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Archive {
    /// The images of each source, by the hash of the source's expanded text and the compiler options.
    sources: BTreeMap<u128, Images>,
}

/// The compiled images of one source, by target. The bytes of each image are compressed separately, so that only the
/// needed image is decompressed.
type Images = BTreeMap<Target, Vec<u8>>;

impl Archive {
    /// Targets for every GPU since Turing: machine code for compute capability 7.5 (Turing), 8.x (Ampere, Ada) and 9.0
    /// (Hopper), and PTX for later GPUs.
    pub const TARGETS: [Target; 4] = [
        Target::Cubin(75),
        Target::Cubin(80),
        Target::Cubin(90),
        Target::Ptx(75),
    ];

    /// Compiles each source for each target, in parallel, and returns the archive of the images.
    ///
    /// ```
    /// use compaction::cuda::{Archive, Nvrtc, Source, Target};
    ///
    /// let source = Source::new("nothing.cu", r#"extern "C" __global__ void nothing() {}"#);
    /// if let Ok(nvrtc) = Nvrtc::find() {
    ///     assert_eq!(Archive::build(&[source], &[Target::Ptx(75)], &nvrtc)?.len(), 1);
    /// }
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Nvrtc::compile`], for example if this NVRTC does not support a target, and
    /// [`Error::Archive`] if compression fails.
    pub fn build(sources: &[Source], targets: &[Target], nvrtc: &Nvrtc) -> Result<Self> {
        let images = |source: &Source| {
            let text = source.text()?;
            let image = |&target: &Target| {
                let bytes = nvrtc
                    .compile_text(source.path(), &text, target)?
                    .image
                    .bytes;
                let packed = match target {
                    Target::Cubin(_) => compress(&bytes),
                    Target::Ptx(_) => compress(&strip_call_numbers(&bytes)),
                };
                Ok((target, packed?))
            };
            let images = targets.iter().map(image).collect::<Result<_>>()?;
            Ok((source_key(&text), images))
        };
        let sources = sources.par_iter().map(images).collect::<Result<_>>()?;
        Ok(Self { sources })
    }

    /// Reads an archive from its bytes, as returned by [`to_bytes`](Self::to_bytes).
    ///
    /// ```
    /// use compaction::cuda::Archive;
    ///
    /// let error = Archive::open(b"kernels2, once").unwrap_err();
    /// assert_eq!(error.to_string(), "the archive of compiled kernels cannot be read: it ends early");
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::Archive`] if the bytes are damaged or have another format.
    pub fn open(bytes: &[u8]) -> Result<Self> {
        let damaged = |reason: &str| Error::Archive {
            reason: reason.to_owned(),
        };
        let rest = bytes
            .strip_prefix(MAGIC)
            .ok_or_else(|| damaged("it does not begin as one"))?;
        let (checksum, mut rest) = rest
            .split_first_chunk::<16>()
            .ok_or_else(|| damaged("it ends early"))?;
        if xxh3_128(rest) != u128::from_le_bytes(*checksum) {
            return Err(damaged("its checksum is not that of its content"));
        }
        let mut sources = BTreeMap::<u128, Images>::new();
        while !rest.is_empty() {
            let (key, target, image) =
                split_image(&mut rest).ok_or_else(|| damaged("an image ends early"))?;
            let target = Target::from_bytes(target)
                .ok_or_else(|| damaged("an image is of no known kind"))?;
            sources
                .entry(key)
                .or_default()
                .insert(target, image.to_vec());
        }
        Ok(Self { sources })
    }

    /// Returns the archive as bytes that [`open`](Self::open) reads. Equal archives have equal bytes.
    ///
    /// ```
    /// use compaction::cuda::Archive;
    ///
    /// let archive = Archive::default();
    /// assert_eq!(Archive::open(&archive.to_bytes())?, archive);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut content = Vec::new();
        for (key, images) in &self.sources {
            for (target, image) in images {
                content.extend(key.to_le_bytes());
                content.extend(target.to_bytes());
                content.extend((image.len() as u64).to_le_bytes());
                content.extend(image);
            }
        }
        [
            MAGIC.as_slice(),
            &xxh3_128(&content).to_le_bytes(),
            &content,
        ]
        .concat()
    }

    /// Returns the paths of those `sources` whose current text has no image in the archive, because the text changed or
    /// is new.
    ///
    /// ```
    /// use compaction::cuda::{Archive, Source};
    ///
    /// let new = Source::new("new.cu", r#"extern "C" __global__ void nothing() {}"#);
    /// assert_eq!(Archive::default().missing(&[new])?, ["new.cu"]);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoHeader`] if a source includes an unknown header.
    pub fn missing<'a>(&self, sources: &'a [Source]) -> Result<Vec<&'a str>> {
        let mut missing = Vec::new();
        for source in sources {
            if !self.sources.contains_key(&source_key(&source.text()?)) {
                missing.push(source.path());
            }
        }
        Ok(missing)
    }

    /// Returns the number of sources that have images in the archive.
    ///
    /// ```
    /// assert_eq!(compaction::cuda::Archive::default().len(), 0);
    /// ```
    pub fn len(&self) -> usize {
        self.sources.len()
    }

    /// Returns whether the archive contains no source.
    ///
    /// ```
    /// assert!(compaction::cuda::Archive::default().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// Decompresses the images of a source text that run on a compute capability (90 for 9.0): machine code first, then
    /// PTX.
    pub(super) fn images(&self, text: &str, capability: u32) -> impl Iterator<Item = Image> {
        let images = self.sources.get(&source_key(text)).into_iter().flatten();
        // Targets are sorted: PTX, then machine code by capability.
        images
            .rev()
            .filter(move |(target, _)| target.runs_on(capability))
            .filter_map(|(&target, packed)| {
                let bytes = decompress(packed)?;
                Some(Image { target, bytes })
            })
    }
}

fn compress(image: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder
        .write_all(image)
        .and_then(|()| encoder.finish())
        .map_err(|error| Error::Archive {
            reason: error.to_string(),
        })
}

/// Returns the decompressed image, or `None` if the bytes are damaged.
fn decompress(packed: &[u8]) -> Option<Vec<u8>> {
    let mut image = Vec::new();
    ZlibDecoder::new(packed).read_to_end(&mut image).ok()?;
    Some(image)
}

/// Removes the first image from `rest` and returns its source key, its encoded target and its compressed bytes. Returns
/// `None` and leaves `rest` unchanged if the bytes end early.
fn split_image<'a>(rest: &mut &'a [u8]) -> Option<(u128, [u8; 5], &'a [u8])> {
    let (key, after) = rest.split_first_chunk::<16>()?;
    let (target, after) = after.split_first_chunk::<5>()?;
    let (length, after) = after.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (image, after) = after.split_at_checked(length)?;
    *rest = after;
    Some((u128::from_le_bytes(*key), *target, image))
}

/// Removes the `// callseq` comments from a PTX text. NVRTC uses them to number the calls of a whole process.
///
/// Without them, compiling a source gives the same bytes every time.
fn strip_call_numbers(ptx: &[u8]) -> Vec<u8> {
    const COMMENT: &[u8] = b"// callseq";
    let lines = ptx.split(|&byte| byte == b'\n').map(|line| {
        let comment = line.windows(COMMENT.len()).position(|part| part == COMMENT);
        &line[..comment.unwrap_or(line.len())]
    });
    lines.collect::<Vec<_>>().join(&b'\n')
}
