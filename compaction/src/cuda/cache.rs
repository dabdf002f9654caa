//! The cache of compiled kernels in a folder of this machine, which a `Compiler` searches before it compiles.

use std::{
    env, fs,
    io::{self, Write},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use xxhash_rust::xxh3::xxh3_128;

use super::image::{Image, Target};

/// The first bytes of every file in the cache. They change whenever the format changes.
const MAGIC: &[u8; 8] = b"compact1";

/// A folder of compiled kernels, which avoids compiling the same kernels again.
///
/// An entry that was not used for the longest time is removed when all entries together exceed
/// [`max_bytes`](Cache::max_bytes), 256 MiB by default. Other files in the folder stay.
///
/// The cache never causes an error: a damaged entry counts as absent, and a folder that cannot be written stays empty.
///
/// ```
/// use compaction::cuda::{Cache, Compiler};
///
/// // A program that keeps its kernels beside its other files.
/// let compiler = Compiler::new().cache(Cache::at("/var/cache/my-program/kernels"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    folder: Option<PathBuf>,
    max_bytes: u64,
}

/// The default of [`Cache::max_bytes`].
const MAX_BYTES: u64 = 256 << 20;
/// The time within which a use of an entry is not noted again. So most reads write nothing.
const SAME_USE: Duration = Duration::from_secs(3600);

impl Cache {
    /// Returns the default cache: the folder that `COMPACTION_CACHE` names, or else `compaction/kernels` in the
    /// platform's cache folder (`XDG_CACHE_HOME` or `~/.cache` on Linux).
    ///
    /// `COMPACTION_CACHE=off` disables it.
    ///
    /// ```
    /// use compaction::cuda::{Cache, Compiler};
    ///
    /// // What `Compiler::new()` has anyway.
    /// let compiler = Compiler::new().cache(Cache::standard());
    /// ```
    pub fn standard() -> Self {
        match env::var_os("COMPACTION_CACHE") {
            Some(choice) if choice == "off" => Self::off(),
            Some(folder) => Self::at(PathBuf::from(folder)),
            None => Self {
                folder: dirs::cache_dir().map(|caches| caches.join("compaction").join("kernels")),
                ..Self::off()
            },
        }
    }

    /// Returns a cache in this folder. The first write creates the folder.
    ///
    /// ```
    /// use compaction::cuda::Cache;
    ///
    /// assert_ne!(Cache::at("/var/cache/my-program/kernels"), Cache::off());
    /// ```
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: Some(folder.into()),
            ..Self::off()
        }
    }

    /// Sets the maximum size of all entries together. 0 keeps the last entry only.
    ///
    /// ```
    /// use compaction::cuda::Cache;
    ///
    /// let cache = Cache::standard().max_bytes(1 << 30);
    /// ```
    pub fn max_bytes(self, max_bytes: u64) -> Self {
        Self { max_bytes, ..self }
    }

    /// Returns a disabled cache, which stores nothing and finds nothing.
    ///
    /// ```
    /// use compaction::cuda::{Cache, Compiler};
    ///
    /// // Compiles every time, for measuring how long that takes.
    /// let compiler = Compiler::new().cache(Cache::off());
    /// ```
    pub fn off() -> Self {
        Self {
            folder: None,
            max_bytes: MAX_BYTES,
        }
    }

    /// Returns the image stored under `key`, or `None` if it is absent or damaged.
    pub(super) fn read(&self, key: u128) -> Option<Image> {
        let path = entry(self.folder.as_deref()?, key);
        let image = decode(&fs::read(&path).ok()?)?;
        note_use(&path);
        Some(image)
    }

    /// Stores an image under its key. Write errors are ignored, because the image can be compiled again.
    pub(super) fn write(&self, key: u128, image: &Image) {
        if let Some(folder) = &self.folder {
            // Without the entry, the image is compiled again next time, which is no error.
            let _ = store(folder, key, image);
            remove_unused(folder, self.max_bytes, key);
        }
    }
}

/// Returns the path of a cache entry: the key as 32 hexadecimal digits, in `folder`.
fn entry(folder: &Path, key: u128) -> PathBuf {
    folder.join(format!("{key:032x}"))
}

/// Writes a cache entry to a temporary file and renames the file, so that no other process reads a partial entry.
fn store(folder: &Path, key: u128, image: &Image) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(&encode(image))?;
    file.persist(entry(folder, key))?;
    Ok(())
}

/// Sets the time of an entry to now, unless it was used recently. A folder that cannot be written keeps its times.
fn note_use(path: &Path) {
    let now = SystemTime::now();
    let is_recent = fs::metadata(path)
        .and_then(|entry| entry.modified())
        .is_ok_and(|used| now.duration_since(used).is_ok_and(|age| age < SAME_USE));
    if !is_recent {
        let _ = fs::File::options()
            .append(true)
            .open(path)
            .and_then(|entry| entry.set_modified(now));
    }
}

/// Removes the entries of a folder that were not used for the longest time, until the others have at most `max_bytes`.
/// Keeps the entry `newest`.
fn remove_unused(folder: &Path, max_bytes: u64, newest: u128) {
    let newest = entry(folder, newest);
    let is_entry = |name: &str| name.len() == 32 && name.bytes().all(|c| c.is_ascii_hexdigit());
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut entries: Vec<(SystemTime, u64, PathBuf)> = files
        .filter(|file| file.file_name().to_str().is_some_and(is_entry))
        .filter_map(|file| {
            let metadata = file.metadata().ok()?;
            Some((metadata.modified().ok()?, metadata.len(), file.path()))
        })
        .collect();
    entries.sort_unstable();
    let mut bytes: u64 = entries.iter().map(|(_, bytes, _)| bytes).sum();
    for (_, own, path) in entries.iter().filter(|(.., path)| *path != newest) {
        if bytes <= max_bytes {
            break;
        }
        // An entry that another process removes at the same time is no error.
        let _ = fs::remove_file(path);
        bytes -= own;
    }
}

/// Encodes an image as a cache entry: magic, 16 bytes of checksum of the rest, 5 bytes of target, and code.
fn encode(image: &Image) -> Vec<u8> {
    let mut content = image.target.to_bytes().to_vec();
    content.extend(&image.bytes);
    [
        MAGIC.as_slice(),
        &xxh3_128(&content).to_le_bytes(),
        &content,
    ]
    .concat()
}

/// Decodes the bytes of [`encode`]. Returns `None` if they are damaged or have another format.
fn decode(file: &[u8]) -> Option<Image> {
    let (checksum, content) = file.strip_prefix(MAGIC)?.split_first_chunk::<16>()?;
    if xxh3_128(content) != u128::from_le_bytes(*checksum) {
        return None;
    }
    let (target, bytes) = content.split_first_chunk()?;
    let target = Target::from_bytes(*target)?;
    Some(Image {
        target,
        bytes: bytes.to_vec(),
    })
}
