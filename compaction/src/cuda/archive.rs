//! Compiled kernels that ship with a program: a layer of the compiler.

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

/// Begins every archive; another format has another.
const MAGIC: &[u8; 8] = b"kernels2";

/// Compiled kernels that ship with a program: for a machine with a driver and nothing else.
///
/// Of each source there may be machine code, which is loaded as it is, and PTX, which the driver compiles. They are kept under
/// the key of the text that they were compiled from, so that an image of another text is never used; a test of the program
/// asserts that [`missing`](Self::missing) is empty.
///
/// Drivers take machine code by any NVRTC of their major version or an older one, and PTX by one that is not newer than they are:
/// what 12.8 makes is machine code for every driver since 535, and PTX for those since 570, which newer GPUs need anyway.
///
/// ```no_run
/// use compaction::cuda::{Archive, Compiler, Nvrtc, Source};
///
/// // The program's kernels; a function of the program, so that all three places below see the same.
/// let sources = [Source::new("nothing.cu", r#"extern "C" __global__ void nothing() {}"#)];
///
/// // Once, by its author:
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
    /// By the keys of the texts.
    sources: BTreeMap<u128, Images>,
}

/// The images of a source, compressed one by one, so that nobody waits for those that are not needed.
type Images = BTreeMap<Target, Vec<u8>>;

impl Archive {
    /// For every GPU since Turing: machine code for Turing, for Ampere and Ada, and for Hopper, and PTX for those that came after.
    pub const TARGETS: [Target; 4] = [
        Target::Cubin(75),
        Target::Cubin(80),
        Target::Cubin(90),
        Target::Ptx(75),
    ];

    /// Compiles each source for each target into an archive.
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
    /// Those of [`Nvrtc::compile`], which may not know a target; [`Error::Archive`] if the compression fails.
    pub fn build(sources: &[Source], targets: &[Target], nvrtc: &Nvrtc) -> Result<Self> {
        let images = |source: &Source| {
            let text = source.text()?;
            let image = |&target: &Target| {
                let bytes = nvrtc
                    .compile_text(source.path(), &text, target)?
                    .image
                    .bytes;
                let packed = match target {
                    Target::Cubin(_) => packed(&bytes),
                    Target::Ptx(_) => packed(&without_call_numbers(&bytes)),
                };
                Ok((target, packed?))
            };
            let images = targets.iter().map(image).collect::<Result<_>>()?;
            Ok((source_key(&text), images))
        };
        let sources = sources.par_iter().map(images).collect::<Result<_>>()?;
        Ok(Self { sources })
    }

    /// The archive in a file's bytes.
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
    /// [`Error::Archive`] if they are damaged or of another format.
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

    /// The bytes of a file that [`open`](Self::open) reads. Equal archives have equal bytes.
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

    /// The sources that the archive has no images of, by path: those that changed since it was built.
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
    /// [`Error::NoHeader`].
    pub fn missing<'a>(&self, sources: &'a [Source]) -> Result<Vec<&'a str>> {
        let mut missing = Vec::new();
        for source in sources {
            if !self.sources.contains_key(&source_key(&source.text()?)) {
                missing.push(source.path());
            }
        }
        Ok(missing)
    }

    /// The number of sources.
    ///
    /// ```
    /// assert_eq!(compaction::cuda::Archive::default().len(), 0);
    /// ```
    pub fn len(&self) -> usize {
        self.sources.len()
    }

    /// Whether there is no source.
    ///
    /// ```
    /// assert!(compaction::cuda::Archive::default().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// The images of a source's text that run on GPUs of a compute capability, the one that suits them best first.
    pub(super) fn images(&self, text: &str, capability: u32) -> impl Iterator<Item = Image> {
        let images = self.sources.get(&source_key(text)).into_iter().flatten();
        // Targets are sorted: PTX, then machine code by capability.
        images
            .rev()
            .filter(move |(target, _)| target.runs_on(capability))
            .filter_map(|(&target, packed)| {
                let bytes = unpacked(packed)?;
                Some(Image { target, bytes })
            })
    }
}

fn packed(image: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder
        .write_all(image)
        .and_then(|()| encoder.finish())
        .map_err(|error| Error::Archive {
            reason: error.to_string(),
        })
}

fn unpacked(packed: &[u8]) -> Option<Vec<u8>> {
    let mut image = Vec::new();
    ZlibDecoder::new(packed).read_to_end(&mut image).ok()?;
    Some(image)
}

/// Takes an image off what is left: the key of its source, its target, its compressed bytes.
fn split_image<'a>(rest: &mut &'a [u8]) -> Option<(u128, [u8; 5], &'a [u8])> {
    let (key, after) = rest.split_first_chunk::<16>()?;
    let (target, after) = after.split_first_chunk::<5>()?;
    let (length, after) = after.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (image, after) = after.split_at_checked(length)?;
    *rest = after;
    Some((u128::from_le_bytes(*key), *target, image))
}

/// NVRTC numbers calls through all that a process compiles, in comments. Without these a source is the same bytes each time.
fn without_call_numbers(ptx: &[u8]) -> Vec<u8> {
    const COMMENT: &[u8] = b"// callseq";
    let lines = ptx.split(|&byte| byte == b'\n').map(|line| {
        let comment = line.windows(COMMENT.len()).position(|part| part == COMMENT);
        &line[..comment.unwrap_or(line.len())]
    });
    lines.collect::<Vec<_>>().join(&b'\n')
}
