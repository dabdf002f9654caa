//! Item counts, and the word types of counts and indices.
//!
//! Each operation is generic over the word type: `u32` is enough for fewer than 2³² items and halves the memory traffic
//! of indices; `u64` serves any length.

#[cfg(feature = "cuda")]
use cudarc::driver::CudaView;

#[cfg(feature = "cuda")]
use crate::cuda::{IntoView, Operand};
use crate::{Error, Result, layout::Shared};

/// The number of items that a GPU call processes, as a word of type `W`: `u32` or `u64`. The number comes from the host
/// or from device memory.
///
/// ```no_run
/// use compaction::{Count, cuda};
///
/// let stream = cuda::open(0)?.default_stream();
/// let counts = cuda::upload(&stream, &[17_u64, 4])?;
/// let four = Count::on_device(counts.slice(1..));
/// let seven = Count::Given(7_u32);
/// # let _ = (four, seven);
/// # Ok::<(), compaction::Error>(())
/// ```
#[cfg(feature = "cuda")]
#[doc(alias("num_items"))]
#[derive(Debug)]
pub enum Count<'a, W: CountWord = u32> {
    /// All items of the input. If a call has several inputs, these are the flags of a selection, the keys of a sort by
    /// key, the indices of a gather or scatter, and the segments of a call with offsets.
    All,
    /// A number from the host. A number larger than the input buffer is an [error](Error::OutOfRange).
    Given(W),
    /// A number in device memory: the first word of the view, which the GPU reads when it executes the call. Further
    /// words are ignored.
    ///
    /// A number larger than the input buffer is clamped to the buffer's length, and the workspace's `check` or `read`
    /// reports it.
    Device(CudaView<'a, W>),
}

#[cfg(feature = "cuda")]
impl<'a, W: CountWord> Count<'a, W> {
    /// Returns a [`Device`](Self::Device) count: the first word of a buffer or view.
    ///
    /// ```no_run
    /// use compaction::{Count, cuda};
    ///
    /// let stream = cuda::open(0)?.default_stream();
    /// let selected = cuda::zeroed::<u32>(&stream, 1)?; // which an earlier call wrote
    /// let count = Count::on_device(&selected);
    /// # let _ = count;
    /// # Ok::<(), compaction::Error>(())
    /// ```
    pub fn on_device(words: impl IntoView<'a, W>) -> Self {
        Self::Device(words.into_view())
    }

    /// Returns the buffer of a count in device memory.
    pub(crate) fn operand(&self) -> Option<&dyn Operand> {
        match self {
            Self::Device(count) => Some(count),
            Self::All | Self::Given(_) => None,
        }
    }
}

/// The word type of counts and indices: `u32` for fewer than 2³² items, or `u64` for any length.
///
/// The type of the count or index buffers selects the word. If a call has no such buffer, a type parameter of the
/// operation does.
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
    /// Converts a length to a word of this type, or returns `None` if the length exceeds the type's largest number.
    fn from_len(len: usize) -> Option<Self>;

    /// Converts a word to a length. A word that does not fit in a `usize` becomes [`usize::MAX`].
    fn to_len(self) -> usize;

    /// Converts a length that the caller knows to fit in this type. Of a larger length, only the lowest bits are kept.
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

/// Converts a length to a word of type `W`, or returns [`Error::Uncountable`] if it does not fit. `what` names the
/// buffer in the error.
pub(crate) fn to_word<W: CountWord>(what: &'static str, len: usize) -> Result<W> {
    W::from_len(len).ok_or(Error::Uncountable {
        what,
        len,
        word: W::NAME,
    })
}
