//! The words in which counts and indices are written.
//!
//! An operation that counts, or writes indices, does so in words of the caller's choice: `u32`, which moves half the
//! bytes and is enough for fewer than 2³² items, or `u64`, for any length. The type of the buffers says which, or where
//! no count is written that of the operation.

use cudarc::driver::CudaView;

use crate::{Error, Result, layout::Shared};

/// How many items there are, in words of 32 or 64 bits.
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
    /// As many as there are.
    All,
    /// As many as the host says.
    Given(W),
    /// As many as a word of device memory says when the GPU gets there, at most as many as there are: a word that says
    /// more counts as that many, and the workspace's `check`, or `read`, reports it.
    Device(CudaView<'a, W>),
}

/// A word for counts and indices: `u32`, which moves half the bytes and is enough for fewer than 2³² items, or `u64`, for
/// any length. The buffers' type says which, or where no count is written that of the operation.
///
/// ```
/// use compaction::CountWord;
///
/// assert_eq!(u32::from_len(1 << 32), None);
/// assert_eq!(u64::from_len(1 << 32), Some(1 << 32));
/// assert_eq!(7_u32.to_len(), 7);
/// ```
///
/// Not for implementation elsewhere.
pub trait CountWord:
    Shared + sealed::Sealed + Ord + std::fmt::Debug + std::fmt::Display + Send + Sync
{
    /// This length as a word, if the word can say it.
    fn from_len(len: usize) -> Option<Self>;

    /// What the word says, as a length.
    fn to_len(self) -> usize;

    /// A length that is known to fit.
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

/// A length as a word. `what` is how an error names what is so long.
pub(crate) fn counted<W: CountWord>(what: &'static str, len: usize) -> Result<W> {
    W::from_len(len).ok_or(Error::Uncountable {
        what,
        len,
        word: W::NAME,
    })
}
