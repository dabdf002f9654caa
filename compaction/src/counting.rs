//! The words in which counts and indices are written.
//!
//! An operation that counts, or writes indices, does so in words of the caller's choice: `u32`, which moves half the
//! bytes and is enough for fewer than 2³² items, or `u64`, for any length. The type of the buffers says which.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, CudaView};

use crate::{Error, Result, cuda, layout::Shared, select::Count};

/// A word for counts and indices: `u32` or `u64`.
///
/// ```
/// use compaction::counting::CountWord;
///
/// assert_eq!(u32::from_len(1 << 32), None);
/// assert_eq!(u64::from_len(1 << 32), Some(1 << 32));
/// assert_eq!(7_u32.to_len(), 7);
/// ```
///
/// Not for implementation elsewhere.
pub trait CountWord: Shared + sealed::Sealed + Ord + std::fmt::Display + Send + Sync {
    /// This length as a word, if the word can say it.
    fn from_len(len: usize) -> Option<Self>;

    /// What the word says, as a length.
    fn to_len(self) -> usize;
}

macro_rules! words {
    ($($word:ident),+) => {$(
        impl CountWord for $word {
            fn from_len(len: usize) -> Option<Self> {
                len.try_into().ok()
            }
            fn to_len(self) -> usize {
                self.try_into().unwrap_or(usize::MAX)
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
#[allow(dead_code, reason = "the operations come to it one by one")]
pub(crate) fn counted<W: CountWord>(what: &'static str, len: usize) -> Result<W> {
    W::from_len(len).ok_or(Error::Uncountable {
        what,
        len,
        word: W::NAME,
    })
}

/// What a call of a room counts its items by.
pub(crate) struct Counted<'a> {
    /// Where the device reads how many items there are.
    pub(crate) count: CudaView<'a, u32>,
    /// The most that there may be.
    pub(crate) capacity: u32,
    /// Whether there are that many, and nothing to be read.
    pub(crate) is_given: bool,
}

/// How errors name what a call was given.
pub(crate) struct Names {
    /// The operation.
    pub(crate) room: &'static str,
    /// What the items are counted by.
    pub(crate) input: &'static str,
    /// The count's word.
    pub(crate) count: &'static str,
}

impl<'a> Counted<'a> {
    /// Refuses a count that is more than the `len` items that there are, or than the workspace's `room`.
    pub(crate) fn new(
        names: &Names,
        len: usize,
        count: Count<'a>,
        room: u32,
        no_limit: &'a CudaSlice<u32>,
    ) -> Result<Self> {
        let capacity = match &count {
            Count::Given(items) => *items as usize,
            Count::All | Count::Device(_) => len,
        };
        if capacity > len {
            return Err(Error::LengthMismatch {
                what: names.input,
                expected: capacity,
                got: len,
            });
        }
        let capacity = u32::try_from(capacity).map_err(|_| Error::TooLong {
            what: names.input,
            len: capacity,
            max: u32::MAX as usize,
        })?;
        if room < capacity {
            return Err(Error::WorkspaceTooSmall {
                what: names.room,
                needed: capacity as usize,
                got: room as usize,
            });
        }
        let (count, is_given) = match count {
            // Without a count on the device nothing limits it there, and the capacity is the count.
            Count::All | Count::Given(_) => (no_limit.slice(..), true),
            Count::Device(count) if !count.is_empty() => (count, false),
            Count::Device(_) => {
                return Err(Error::LengthMismatch {
                    what: names.count,
                    expected: 1,
                    got: 0,
                });
            }
        };
        Ok(Self {
            count,
            capacity,
            is_given,
        })
    }
}

/// Refuses an output with less room than may be written.
pub(crate) fn check_room(what: &'static str, got: usize, needed: usize) -> Result<()> {
    if got < needed {
        return Err(Error::OutputTooShort { what, needed, got });
    }
    Ok(())
}

/// The count in a view's first word, after all that the stream has to do before.
pub(crate) fn read_count(
    what: &'static str,
    stream: &Arc<CudaStream>,
    count: &CudaView<'_, u32>,
) -> Result<usize> {
    let count = cuda::download(stream, count)?;
    count
        .first()
        .map(|&count| count as usize)
        .ok_or(Error::LengthMismatch {
            what,
            expected: 1,
            got: 0,
        })
}
