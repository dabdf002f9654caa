//! Item counts, and the word types of counts and indices.
//!
//! Each operation is generic over the word type: `u32` is enough for fewer than 2³² items and halves the memory traffic
//! of indices; `u64` serves any length.

use cudarc::driver::CudaView;

use crate::{Error, Result, layout::Shared};

/// The number of items that a GPU call processes, with counts in words of 32 or 64 bits.
///
/// ```no_run
/// use compaction::{Count, cuda};
///
/// let stream = cuda::open(0)?.default_stream();
/// let counts = cuda::upload(&stream, &[17_u64, 4])?;
/// let four = Count::Device(counts.slice(1..));
/// let seven = Count::Given(7_u32);
/// # let _ = (four, seven);
/// # Ok::<(), compaction::Error>(())
/// ```
#[derive(Debug)]
pub enum Count<'a, W: CountWord = u32> {
    /// All items of the input buffer.
    All,
    /// The number of items that the host passes, at most the length of the input buffer.
    Given(W),
    /// The number of items in the first word of a view of device memory, read when the GPU executes the call.
    ///
    /// A number larger than the input buffer is clamped to its length, and the workspace's `check` or `read` reports
    /// it.
    Device(CudaView<'a, W>),
}

/// The word type of counts and indices: `u32` for fewer than 2³² items, or `u64` for any length.
///
/// The type of the count or index buffers selects it; where a call has none, the operation's type parameter does.
///
/// ```
/// use compaction::CountWord;
///
/// assert_eq!(u32::from_len(1 << 32), None);
/// assert_eq!(u64::from_len(1 << 32), Some(1 << 32));
/// assert_eq!(7_u32.to_len(), 7);
/// ```
///
/// The trait is sealed: other crates cannot implement it.
pub trait CountWord:
    Shared + sealed::Sealed + Ord + std::fmt::Debug + std::fmt::Display + Send + Sync
{
    /// Converts a length to a word, or returns `None` if it does not fit.
    fn from_len(len: usize) -> Option<Self>;

    /// Converts a word to a length.
    fn to_len(self) -> usize;

    /// Converts a length that is known to fit; a larger one is truncated.
    #[doc(hidden)]
    fn of_len(len: usize) -> Self;
}

macro_rules! words {
    ($($word:ident),+) => {$(
        impl CountWord for $word {
            #[inline]
            fn from_len(len: usize) -> Option<Self> {
                len.try_into().ok()
            }
            #[inline]
            fn to_len(self) -> usize {
                self.try_into().unwrap_or(usize::MAX)
            }
            #[inline]
            fn of_len(len: usize) -> Self {
                len as Self
            }
        }
        impl sealed::Sealed for $word {}
    )+};
}
words!(u32, u64);

mod sealed {
    pub trait Sealed {}
}

/// Converts a length to a word, or returns [`Error::Uncountable`]. `what` names the buffer in the error.
pub(crate) fn to_word<W: CountWord>(what: &'static str, len: usize) -> Result<W> {
    W::from_len(len).ok_or(Error::Uncountable {
        what,
        len,
        word: W::NAME,
    })
}
