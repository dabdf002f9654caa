//! What a call is told of its items' number, and how it is checked and read.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, CudaView};

use crate::{
    Error, Result,
    counting::{CountWord, counted},
    cuda,
    select::Count,
};

/// What a call of a room counts its items by.
pub(crate) struct Counted<'a, Capacity = usize> {
    /// Where the device reads how many items there are, in words of 4 bytes.
    pub(crate) count: CudaView<'a, u32>,
    /// The most that there may be.
    pub(crate) capacity: Capacity,
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

impl<'a, Capacity: TryFrom<usize>> Counted<'a, Capacity> {
    /// Refuses a count that is more than the `len` items that there are, or than the workspace's `room`.
    pub(crate) fn new<W: CountWord>(
        names: &Names,
        len: usize,
        count: Count<'a, W>,
        room: usize,
        no_limit: &'a CudaSlice<u32>,
    ) -> Result<Self> {
        let capacity = match &count {
            Count::Given(items) => items.to_len(),
            Count::All | Count::Device(_) => len,
        };
        if capacity > len {
            return Err(Error::LengthMismatch {
                what: names.input,
                expected: capacity,
                got: len,
            });
        }
        let too_long = |_| Error::TooLong {
            what: names.input,
            len: capacity,
            max: u32::MAX as usize,
        };
        let fitting = Capacity::try_from(capacity).map_err(too_long)?;
        if room < capacity {
            return Err(Error::WorkspaceTooSmall {
                what: names.room,
                needed: capacity,
                got: room,
            });
        }
        let (count, is_given) = match count {
            // Without a count on the device nothing limits it there, and the capacity is the count.
            Count::All | Count::Given(_) => (no_limit.slice(..), true),
            Count::Device(count) if !count.is_empty() => (cuda::reinterpret(count)?, false),
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
            capacity: fitting,
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

/// Refuses words that cannot say how many items there may be.
pub(crate) fn check_words<W: CountWord>(what: &'static str, items: usize) -> Result<()> {
    counted::<W>(what, items).map(drop)
}

/// Whether counts or indices come in words of 8 bytes.
pub(crate) const fn is_wide<W: CountWord>() -> bool {
    size_of::<W>() == size_of::<u64>()
}

/// The words of 4 bytes of a count.
pub(crate) const fn count_words<W: CountWord>() -> u32 {
    (size_of::<W>() / size_of::<u32>()) as u32
}

/// The count in a view's first word, after all that the stream has to do before.
pub(crate) fn read_count<W: CountWord>(
    what: &'static str,
    stream: &Arc<CudaStream>,
    count: &CudaView<'_, W>,
) -> Result<usize> {
    let count = cuda::download(stream, count)?;
    count
        .first()
        .map(|count| count.to_len())
        .ok_or(Error::LengthMismatch {
            what,
            expected: 1,
            got: 0,
        })
}
