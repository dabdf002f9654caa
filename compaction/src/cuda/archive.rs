//! The third layer: compiled kernels that ship with a program.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
};

use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};
use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_128;

use super::{
    image::{Image, Target, key},
    nvrtc::Nvrtc,
    source::Source,
};
use crate::error::{Error, Result};

/// Begins every archive; another format has another.
const MAGIC: &[u8; 8] = b"kernels1";

/// What ships: PTX for Turing, which every GPU since and every driver that NVRTC's version knows turns into its own.
const TARGET: Target = Target::Ptx(75);

/// Compiled kernels that ship with a program: for a machine with a driver and nothing else.
///
/// Each image is kept under the key of the text it was compiled from, so that an image of another text is never used;
/// a test of the program asserts that [`missing`](Self::missing) is empty. PTX made by NVRTC 12.2 is good for every
/// driver since 535.
///
/// ```no_run
/// use compaction::cuda::{Archive, Compiler, Nvrtc, Source};
///
/// // The program's kernels; a function of the program, so that all three places below see the same.
/// let sources = [Source::new("nothing.cu", r#"extern "C" __global__ void nothing() {}"#)];
///
/// // Once, by its author:
/// let archive = Archive::build(&sources, &Nvrtc::find()?)?;
/// std::fs::write("shipped.bin", archive.to_bytes()?)?;
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
    images: BTreeMap<u128, Vec<u8>>,
}

impl Archive {
    /// Compiles sources into an archive.
    ///
    /// ```
    /// use compaction::cuda::{Archive, Nvrtc, Source};
    ///
    /// let source = Source::new("nothing.cu", r#"extern "C" __global__ void nothing() {}"#);
    /// if let Ok(nvrtc) = Nvrtc::find() {
    ///     assert_eq!(Archive::build(&[source], &nvrtc)?.len(), 1);
    /// }
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Nvrtc::compile`].
    pub fn build(sources: &[Source], nvrtc: &Nvrtc) -> Result<Self> {
        let image = |source: &Source| {
            let text = source.text()?;
            let compiled = nvrtc.compile_text(source.path(), &text, TARGET)?;
            let ptx = without_call_numbers(&compiled.image.bytes);
            Ok((key(&text, TARGET), ptx))
        };
        let images = sources.par_iter().map(image).collect::<Result<_>>()?;
        Ok(Self { images })
    }

    /// The archive in a file's bytes.
    ///
    /// ```
    /// use compaction::cuda::Archive;
    ///
    /// let error = Archive::open(b"kernels1, once").unwrap_err();
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
        let (checksum, packed) = rest
            .split_first_chunk::<16>()
            .ok_or_else(|| damaged("it ends early"))?;
        if xxh3_128(packed) != u128::from_le_bytes(*checksum) {
            return Err(damaged("its checksum is not that of its content"));
        }
        let mut content = Vec::new();
        ZlibDecoder::new(packed)
            .read_to_end(&mut content)
            .map_err(|error| damaged(&error.to_string()))?;
        let mut images = BTreeMap::new();
        let mut rest = content.as_slice();
        while !rest.is_empty() {
            let (key, image, after) =
                split_image(rest).ok_or_else(|| damaged("an image ends early"))?;
            images.insert(key, image.to_vec());
            rest = after;
        }
        Ok(Self { images })
    }

    /// The bytes of a file that [`open`](Self::open) reads. Equal archives have equal bytes.
    ///
    /// ```
    /// use compaction::cuda::Archive;
    ///
    /// let archive = Archive::default();
    /// assert_eq!(Archive::open(&archive.to_bytes()?)?, archive);
    /// # Ok::<(), compaction::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Archive`] if the compression fails.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let failed = |error: std::io::Error| Error::Archive {
            reason: error.to_string(),
        };
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        for (key, image) in &self.images {
            encoder.write_all(&key.to_le_bytes()).map_err(failed)?;
            encoder
                .write_all(&(image.len() as u64).to_le_bytes())
                .map_err(failed)?;
            encoder.write_all(image).map_err(failed)?;
        }
        let packed = encoder.finish().map_err(failed)?;
        Ok([MAGIC.as_slice(), &xxh3_128(&packed).to_le_bytes(), &packed].concat())
    }

    /// The sources that the archive has no image of, by path: those that changed since it was built.
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
            if self.image(&source.text()?).is_none() {
                missing.push(source.path());
            }
        }
        Ok(missing)
    }

    /// The number of images.
    ///
    /// ```
    /// assert_eq!(compaction::cuda::Archive::default().len(), 0);
    /// ```
    pub fn len(&self) -> usize {
        self.images.len()
    }

    /// Whether there is no image.
    ///
    /// ```
    /// assert!(compaction::cuda::Archive::default().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.images.is_empty()
    }

    pub(super) fn image(&self, text: &str) -> Option<Image> {
        self.images.get(&key(text, TARGET)).map(|bytes| Image {
            target: TARGET,
            bytes: bytes.clone(),
        })
    }
}

/// Key, image, and what comes after.
fn split_image(content: &[u8]) -> Option<(u128, &[u8], &[u8])> {
    let (key, content) = content.split_first_chunk::<16>()?;
    let (length, content) = content.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (image, after) = content.split_at_checked(length)?;
    Some((u128::from_le_bytes(*key), image, after))
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
