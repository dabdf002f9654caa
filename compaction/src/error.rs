//! The error type. Each message is one line that names the object, the cause and, unless it is obvious, the remedy. The
//! compiler's log follows the line of [`Error::Compile`].

#[cfg(feature = "cuda")]
use std::fmt::Write;
use std::fmt::{self, Debug, Display, Formatter};

#[cfg(feature = "cuda")]
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
/// assert_eq!(error.to_string(), "the output of scan: room for 2 items where up to 3 may be written; make it longer");
/// ```
///
/// The `Debug` text is the message too, so that a `fn main() -> compaction::Result<()>` ends with a readable line.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A length or number differs from the required one. For example, two buffers hold different numbers of items.
    #[error("{what}: {got} instead of {expected}")]
    LengthMismatch {
        /// Description of the length or number: `the items of select`.
        what: &'static str,
        /// The length or number that is required.
        expected: usize,
        /// The length or number that was found.
        got: usize,
    },
    /// An output buffer is shorter than the largest possible result.
    #[error("{what}: room for {got} items where up to {needed} may be written; make it longer")]
    OutputTooShort {
        /// Name of the output buffer: `the output of select`.
        what: &'static str,
        /// The largest number of items that the call may write.
        needed: usize,
        /// The length of the output buffer in items, which is less than `needed`.
        got: usize,
    },
    /// A number is outside its valid range.
    #[error("{what}: {got}, where {min} to {max} are possible")]
    OutOfRange {
        /// Description of the number, for the message: `the columns of select_columns`.
        what: &'static str,
        /// The number that was found outside the range.
        got: usize,
        /// The smallest valid value of the number, inclusive.
        min: usize,
        /// The largest valid value of the number, inclusive.
        max: usize,
    },
    /// A range of values is empty or too wide.
    #[error(
        "{what}: {got}, where a range {wanted} is possible; the start must be less than the end"
    )]
    InvalidRange {
        /// Name of the range: `the range of histogram`.
        what: &'static str,
        /// The range that was found: `1.0..0.0`.
        got: String,
        /// Description of the possible ranges: `of a finite width`.
        wanted: &'static str,
    },
    /// An input has more items than the word type of counts or indices can represent. `u64` can represent any length.
    #[error("{what}: {len} items are more than a {word} counts; give u64 for counts and indices")]
    Uncountable {
        /// Name of the buffer that has too many items: `the flags of select`.
        what: &'static str,
        /// The number of items in the buffer, which is more than the word type can represent.
        len: usize,
        /// Name of the word type that cannot represent `len`: `u32`.
        word: &'static str,
    },
    /// A workspace has too little memory for the call: it was created for fewer items, or for another strategy.
    #[error("{what}: a workspace for {got} is used for {needed}; make one for as many")]
    WorkspaceTooSmall {
        /// Description of the units in which `needed` and `got` count: `the items of scan by raking`.
        what: String,
        /// The capacity that the call needs, in the units of `what`.
        needed: usize,
        /// The capacity that the workspace has for the strategy of the call, in the units of `what`.
        got: usize,
    },
    /// A count in device memory was larger than the buffer. The call clamped the count and processed the whole buffer.
    #[error(
        "the count on the device that {what} read says {count} items, but there were {capacity}: it took {capacity}"
    )]
    CountTooLarge {
        /// Name of the operation that read the count: `select`.
        what: &'static str,
        /// The count in device memory, which is larger than `capacity`.
        count: usize,
        /// The number of items in the buffer, all of which the call processed.
        capacity: usize,
    },
    /// The text of a user-defined operator does not define a function that it must define.
    #[cfg(feature = "cuda")]
    #[error("{path} defines no {function}: \"{text}\"")]
    NoFunction {
        /// Name of the operator's text: `product.cuh`.
        path: String,
        /// The function with its types: `u32 combine(u32, u32)`.
        function: String,
        /// The beginning of the text on one line.
        text: String,
    },
    /// The strategy cannot select in place on a GPU.
    #[error("{strategy} cannot select in place on a GPU; use look-back, which keeps the order")]
    NotInPlace {
        /// The strategy that has no in-place variant.
        strategy: crate::select::Strategy,
    },
    /// A buffer, stream or kernel belongs to another CUDA context than the stream of the call.
    #[error(
        "{what}: in another CUDA context than the stream of the call; use one context for both"
    )]
    ForeignContext {
        /// Name of the buffer, stream or kernel that belongs to another context.
        what: String,
    },
    /// A buffer belongs to another stream than that of the call while one of these streams is captured into a graph.
    /// Otherwise calls are ordered after the work of the other stream, but a captured call cannot wait for work outside
    /// the graph.
    #[error(
        "{what}: on another stream while a graph is being captured; allocate it on the stream of the call"
    )]
    ForeignStream {
        /// Name of the buffer that was allocated on another stream.
        what: String,
    },
    /// Something cannot be part of a graph that [`Graph::record`](crate::cuda::Graph::record) records.
    #[error("{what} cannot be recorded into a graph; {remedy}")]
    NotRecordable {
        /// Description of what cannot be recorded: `an upload`.
        what: String,
        /// Description of the alternative.
        remedy: &'static str,
    },
    /// A launch of a graph was not given all buffers that the graph uses.
    #[error(
        "the graph {} {what}, which the launch was not given{}; give it all buffers and workspaces of the recorded calls",
        if *.is_written { "writes" } else { "reads" },
        if *.is_written { " for writing" } else { "" }
    )]
    NotGiven {
        /// Name of the buffer or workspace: `the output of select`, or `argument "counter" of kernel "count_up"`.
        what: String,
        /// Whether the graph may write it.
        is_written: bool,
    },
    /// Bits are not a valid item of their type.
    #[error("{what}: not a valid {item}; use {instead}")]
    InvalidItem {
        /// Description of the bits: `item 3 of the buffer to download`.
        what: String,
        /// Name of the type: `bool`.
        item: &'static str,
        /// Description of the type to use in its place.
        instead: &'static str,
    },
    /// A device buffer cannot be viewed as items of another type: its length in bytes is not a multiple of their size,
    /// or its address is not a multiple of their alignment.
    #[error(
        "{bytes} bytes at device address {address:#x} cannot be read as whole, aligned items of {item}"
    )]
    Reinterpret {
        /// Length in bytes of the device buffer that cannot be viewed as whole items.
        bytes: usize,
        /// Device address at which the buffer that cannot be viewed as aligned items begins.
        address: u64,
        /// Name of the item type as which the buffer was to be viewed: `u32`.
        item: &'static str,
    },
    /// A device address is not a multiple of the alignment of the items there.
    #[error("{what}: device address {address:#x} is not a multiple of {align} bytes")]
    Misaligned {
        /// Name of the buffer or of its item type: `u32`.
        what: &'static str,
        /// The device address, which is not a multiple of `align`.
        address: u64,
        /// The required alignment in bytes.
        align: usize,
    },
    /// The memory that the caller gave for a workspace is too small.
    #[error("the memory for a workspace: {got} bytes, where at least {needed} are needed")]
    MemoryTooSmall {
        /// A lower bound of the number of bytes that the workspace needs.
        needed: usize,
        /// The number of bytes that the caller gave.
        got: usize,
    },
    /// The GPU has less free memory than an allocation needs.
    #[error("the GPU has no {asked} bytes left: {free} of its {total} are free")]
    OutOfMemory {
        /// Size of the requested allocation in bytes.
        asked: usize,
        /// Free device memory in bytes.
        free: usize,
        /// Total device memory in bytes.
        total: usize,
    },
    /// No usable CUDA device was found.
    #[error("no CUDA device: {reason}")]
    NoDevice {
        /// The reason: no driver, a driver that is too old, no GPU, or no GPU of the requested number.
        reason: String,
    },
    /// The GPU is older than those that the kernels support.
    #[error(
        "the GPU has compute capability {major}.{minor}; the kernels need 7.0 or newer (Volta, 2017)"
    )]
    OldDevice {
        /// Major number of the GPU's compute capability.
        major: u32,
        /// Minor number of the GPU's compute capability.
        minor: u32,
    },
    /// No compiled code of a kernel file is available for the GPU, and NVRTC cannot compile the file on this machine.
    /// NVRTC is missing, disabled, older than 11.2, or so new that it no longer supports the GPU.
    #[error(
        "{kernel} cannot be compiled for this GPU: {reason}; to install NVRTC, CUDA's run-time compiler: \
         pip install nvidia-cuda-nvrtc-cu12"
    )]
    NoCompiler {
        /// Path of the kernel file, as given to [`Source::new`](crate::cuda::Source::new).
        kernel: String,
        /// The reason why no compiled code is available and NVRTC cannot compile the file.
        reason: String,
    },
    /// A kernel file includes a header that was not added to its [`Source`](crate::cuda::Source).
    #[error("{file}:{line}: no header \"{name}\"; there are {known}")]
    NoHeader {
        /// Path of the kernel file or header that contains the `#include`.
        file: String,
        /// Line number of the `#include`, starting at 1.
        line: usize,
        /// The header name as written in the `#include`.
        name: String,
        /// The paths of all headers that can be included, separated by commas.
        known: String,
    },
    /// NVRTC rejected a kernel file.
    #[error("{kernel} does not compile:{}", indented(log))]
    Compile {
        /// Path of the kernel file that was rejected, or of the predicate that it includes.
        kernel: String,
        /// NVRTC's log: all errors and warnings, one or more lines each.
        log: String,
    },
    /// The text of a predicate does not define the function `keep` of the expected type.
    #[error(
        "{predicate} defines no {expected}, as the types of items and parameters require: \"{text}\""
    )]
    NoKeep {
        /// The path that names the predicate, as given to [`Predicate::new`](crate::select::Predicate::new).
        predicate: String,
        /// The expected function: `bool keep(u32)`. Its parameters may also be `const` references.
        expected: String,
        /// The predicate's text on one line, or its first 80 characters and `…`.
        text: String,
    },
    /// A kernel file declares no kernel of the requested name and argument types.
    #[error("{file} declares no kernel {kernel}; it declares {declared}")]
    NoKernel {
        /// Path of the kernel file that does not declare the kernel.
        file: String,
        /// The requested kernel name and argument types in CUDA: `count_up(u64 *)`.
        kernel: String,
        /// The kernels that the file declares, with their argument types, or `none`.
        declared: String,
    },
    /// A kernel needs more dynamic shared memory per block than the GPU can give it.
    #[error(
        "kernel \"{kernel}\" asks for {asked} bytes of dynamic shared memory a block; on this GPU it can have {max}"
    )]
    SharedMemory {
        /// Name of the kernel that needs the memory.
        kernel: &'static str,
        /// Requested dynamic shared memory per block, in bytes.
        asked: u32,
        /// The largest possible dynamic shared memory per block in bytes, beside the kernel's static shared memory.
        max: u32,
    },
    /// A kernel with [functions of a block](crate::look_back) was launched with blocks of another size.
    #[cfg(feature = "cuda")]
    #[error(
        "kernel \"{kernel}\": blocks of {got:?} threads; launch it with {expected}, which is its BLOCK_THREADS"
    )]
    BlockSize {
        /// Name of the kernel.
        kernel: &'static str,
        /// The number of threads in the one dimension of each block: the constant `BLOCK_THREADS`.
        expected: u32,
        /// The number of threads of a block of the launch, as (x, y, z).
        got: (u32, u32, u32),
    },
    /// The bytes of an archive of compiled kernels are damaged or have another format.
    #[error("the archive of compiled kernels cannot be read: {reason}")]
    Archive {
        /// The reason why the archive cannot be read or written.
        reason: String,
    },
    /// A GPU did not finish its work, or a driver call did not return, within the time limit of the caller.
    #[error("{doing}: nothing for {seconds} s: the GPU hangs")]
    Timeout {
        /// The operation that did not finish in time: `wait for a stream`.
        doing: &'static str,
        /// The time limit of the operation in seconds.
        seconds: f64,
    },
    /// A call of the CUDA driver failed.
    #[cfg(feature = "cuda")]
    #[error("{doing}: {}", in_words(source))]
    Driver {
        /// The operation that failed: `launch "shade" over 1048576 items`.
        doing: String,
        /// The error that the driver returned.
        #[source]
        source: DriverError,
    },
}

impl Debug for Error {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(self, formatter)
    }
}

#[cfg(feature = "cuda")]
impl Error {
    /// Returns a function for `map_err` that wraps a driver error together with `doing`, the operation that failed:
    /// `.map_err(Error::driver("copy the film"))`.
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

/// Formats a driver error as its name and description: `CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was
/// encountered)`.
#[cfg(feature = "cuda")]
pub(crate) fn in_words(error: &DriverError) -> String {
    let mut words = format!("{:?}", error.0);
    if let Ok(meaning) = error.error_string() {
        let _ = write!(words, " ({})", meaning.to_string_lossy());
    }
    words
}

/// Returns the log with each line on a new line, indented by two spaces.
fn indented(log: &str) -> String {
    log.lines().map(|line| format!("\n  {line}")).collect()
}
