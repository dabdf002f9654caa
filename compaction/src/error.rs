//! What can go wrong, in one line each: the object, the cause, and what to do where that is not plain.

use std::fmt::Write;

use cudarc::driver::DriverError;

/// The result of every fallible function of this crate.
///
/// ```
/// use compaction::scan::{Operator, cpu};
///
/// fn sums(items: &[u32]) -> compaction::Result<Vec<u32>> {
///     let mut sums = vec![0; items.len()];
///     cpu::inclusive(Operator::Sum, items, &mut sums)?;
///     Ok(sums)
/// }
/// assert_eq!(sums(&[3, 1, 4])?, [3, 4, 8]);
/// # Ok::<(), compaction::Error>(())
/// ```
pub type Result<T> = std::result::Result<T, Error>;

/// An error of this crate.
///
/// ```
/// use compaction::{Error, scan::{Operator, cpu}};
///
/// let error = cpu::inclusive(Operator::Sum, &[3, 1, 4], &mut [0_u32; 2]).unwrap_err();
/// assert!(matches!(error, Error::OutputTooShort { needed: 3, got: 2, .. }));
/// assert_eq!(error.to_string(), "the output of scan: room for 2 items where up to 3 may be written");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Two numbers that must be equal are not: the items of two buffers, say.
    #[error("{what}: {got} instead of {expected}")]
    LengthMismatch {
        /// What there are too few or too many of.
        what: &'static str,
        /// How many there should be.
        expected: usize,
        /// How many there are.
        got: usize,
    },
    /// An output has less room than may be written.
    #[error("{what}: room for {got} items where up to {needed} may be written")]
    OutputTooShort {
        /// The buffer that is too short.
        what: &'static str,
        /// Items that may be written.
        needed: usize,
        /// Items that it has room for.
        got: usize,
    },
    /// A number is none of those that are possible.
    #[error("{what}: {got}, where {least} to {most} are possible")]
    OutOfRange {
        /// What the number is of.
        what: &'static str,
        /// The number.
        got: usize,
        /// The least that is possible.
        least: usize,
        /// The most that is possible.
        most: usize,
    },
    /// An input is longer than the word that counts its items says.
    #[error("{what}: {len} items are more than a {word} counts; give u64 for counts and indices")]
    Uncountable {
        /// The buffer that is too long.
        what: &'static str,
        /// Items that it has.
        len: usize,
        /// The word.
        word: &'static str,
    },
    /// A workspace was made for less than it is used for, or for another strategy.
    #[error("{what}: a workspace for {got} is used for {needed}; make one for as many")]
    WorkspaceTooSmall {
        /// What it has to be for so many of: `the items of scan by raking`.
        what: String,
        /// How many it is used for.
        needed: usize,
        /// How many a call by this strategy may have.
        got: usize,
    },
    /// A count in device memory said more items than there were. As many as there were have been taken.
    #[error(
        "the count on the device that {what} read says {count} items, but there were {capacity}: it took {capacity}"
    )]
    CountTooLarge {
        /// The operation.
        what: &'static str,
        /// Items, as the count says.
        count: usize,
        /// Items that there were.
        capacity: usize,
    },
    /// A strategy cannot work in place on a GPU.
    #[error(
        "{strategy} cannot select in place on a GPU; look-back (in order), hole-filling and off can"
    )]
    NotInPlace {
        /// The strategy.
        strategy: crate::select::Strategy,
    },
    /// A buffer, stream or kernel belongs to another context.
    #[error("{what} belongs to another CUDA context than the stream of the call")]
    ForeignContext {
        /// What belongs elsewhere.
        what: String,
    },
    /// A buffer was allocated on another stream, and its context does not order the two.
    #[error(
        "{what} was allocated on another stream, and its context does not track the order of streams; \
         allocate it on the stream of the call"
    )]
    ForeignStream {
        /// What belongs elsewhere.
        what: String,
    },
    /// Bytes cannot be read as another type.
    #[error(
        "{bytes} bytes at device address {address:#x} cannot be read as whole, aligned items of {item}"
    )]
    Reinterpret {
        /// Bytes there are.
        bytes: usize,
        /// Where they begin.
        address: u64,
        /// The type to read them as.
        item: &'static str,
    },
    /// The device has less free memory than was asked for.
    #[error("the GPU has no {asked} bytes left: {free} of its {total} are free")]
    OutOfMemory {
        /// Bytes asked for.
        asked: usize,
        /// Bytes free.
        free: usize,
        /// Bytes that the device has.
        total: usize,
    },
    /// No CUDA device can be used.
    #[error("no CUDA device: {reason}")]
    NoDevice {
        /// Why not.
        reason: String,
    },
    /// A kernel must be compiled here, and there is nothing to compile it with.
    #[error(
        "{kernel} cannot be compiled for this GPU: {reason}; to install NVRTC, CUDA's run-time compiler: \
         pip install nvidia-cuda-nvrtc-cu12"
    )]
    NoCompiler {
        /// The kernel file.
        kernel: String,
        /// Why nothing can compile it.
        reason: String,
    },
    /// A kernel file includes what was not given.
    #[error("{file}:{line}: no header \"{name}\"; there are {known}")]
    NoHeader {
        /// The file with the `#include`.
        file: String,
        /// Its line, from 1.
        line: usize,
        /// The header's name there.
        name: String,
        /// The headers there are.
        known: String,
    },
    /// A kernel does not compile.
    #[error("{kernel} does not compile:{}", indented(log))]
    Compile {
        /// The kernel file.
        kernel: String,
        /// What the compiler says.
        log: String,
    },
    /// A predicate does not define what is asked.
    #[error("{predicate} defines no bool keep({item}): \"{text}\"")]
    NoKeep {
        /// How errors name the predicate.
        predicate: String,
        /// The items' type in CUDA.
        item: &'static str,
        /// The predicate's text, in one line, or its beginning.
        text: String,
    },
    /// A kernel is asked for that its source does not declare, or declares with other arguments.
    #[error("{file} declares no kernel {kernel}; it declares {declared}")]
    NoKernel {
        /// The kernel file.
        file: String,
        /// The kernel and its argument types, as asked for.
        kernel: String,
        /// The kernels that the source declares.
        declared: String,
    },
    /// A kernel asks for more shared memory than a block can have.
    #[error(
        "kernel \"{kernel}\" asks for {asked} bytes of dynamic shared memory a block; on this GPU it can have {max}"
    )]
    SharedMemory {
        /// The kernel.
        kernel: &'static str,
        /// Bytes asked for.
        asked: u32,
        /// Bytes that a block can have, besides what the kernel has anyway.
        max: u32,
    },
    /// An archive of compiled kernels is damaged or of another format.
    #[error("the archive of compiled kernels cannot be read: {reason}")]
    Archive {
        /// What is wrong with it.
        reason: String,
    },
    /// A GPU has not done in a given time what it was given.
    #[error("{doing}: nothing for {seconds} s: the GPU hangs")]
    Hangs {
        /// What was being done.
        doing: &'static str,
        /// How long it was waited for.
        seconds: f64,
    },
    /// The CUDA driver refuses.
    #[error("{doing}: {}", in_words(source))]
    Driver {
        /// What was being done: `launch "shade" over 1048576 items`.
        doing: String,
        /// What the driver says.
        #[source]
        source: DriverError,
    },
}

impl Error {
    /// Says what was being done when the driver refused: `.map_err(Error::driver("copy the film"))`.
    ///
    /// ```no_run
    /// use compaction::{Error, cuda};
    ///
    /// let stream = cuda::open(0)?.new_stream().map_err(Error::driver("make a stream"))?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn driver(doing: impl Into<String>) -> impl FnOnce(DriverError) -> Self {
        move |source| Self::Driver {
            doing: doing.into(),
            source,
        }
    }
}

/// `CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)`.
pub(crate) fn in_words(error: &DriverError) -> String {
    let mut words = format!("{:?}", error.0);
    if let Ok(meaning) = error.error_string() {
        let _ = write!(words, " ({})", meaning.to_string_lossy());
    }
    words
}

fn indented(log: &str) -> String {
    log.lines().map(|line| format!("\n  {line}")).collect()
}
