//! What a call is told of its items' number, and how it is checked and read.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, CudaView, CudaViewMut};

use crate::{Count, CountWord, Error, Result, counting::counted, cuda, layout::Shared};

/// What a call of a room counts its items by.
pub(crate) struct Counted<'a> {
    /// Where the device reads how many items there are, in words of 4 bytes.
    pub(crate) count: CudaView<'a, u32>,
    /// The most that there may be.
    pub(crate) capacity: usize,
    /// Whether there are that many, and nothing to be read.
    pub(crate) is_given: bool,
}

/// How errors name what a call was given.
pub(crate) struct Names {
    /// What the items are counted by.
    pub(crate) input: &'static str,
    /// The count from the host.
    pub(crate) given: &'static str,
    /// The words of the count on the device.
    pub(crate) read: &'static str,
    /// The words of the count that the call writes.
    pub(crate) written: &'static str,
    /// Where the result goes.
    pub(crate) output: &'static str,
}

/// The [`Names`] of a room whose items are counted by its `$input`.
macro_rules! names {
    ($room:literal, $input:literal) => {
        $crate::counted::Names {
            input: concat!("the ", $input, " of ", $room),
            given: concat!("the count given to ", $room),
            read: concat!("the words of the count that ", $room, " reads"),
            written: concat!("the words of the count that ", $room, " writes"),
            output: concat!("the output of ", $room),
        }
    };
}
pub(crate) use names;

impl<'a> Counted<'a> {
    /// Refuses a count that is more than the `len` items that there are, or than its word says. `unread` stands for a
    /// count that no kernel reads.
    pub(crate) fn new<W: CountWord>(
        names: &Names,
        len: usize,
        count: Count<'a, W>,
        unread: &'a CudaSlice<u64>,
    ) -> Result<Self> {
        let capacity = match count {
            Count::Given(items) => items.to_len(),
            Count::All | Count::Device(_) => counted::<W>(names.input, len)?.to_len(),
        };
        check_range(names.given, capacity, 0, len)?;
        let (count, is_given) = match count {
            Count::All | Count::Given(_) => (cuda::reinterpret(unread.as_view())?, true),
            Count::Device(count) => {
                check_len(names.read, count.len().min(1), 1)?;
                (cuda::reinterpret(count)?, false)
            }
        };
        Ok(Self {
            count,
            capacity,
            is_given,
        })
    }
}

/// Refuses a buffer that has not as many items as it should.
pub(crate) fn check_len(what: &'static str, got: usize, expected: usize) -> Result<()> {
    if got != expected {
        return Err(Error::LengthMismatch {
            what,
            expected,
            got,
        });
    }
    Ok(())
}

/// Refuses a number that is not among those that are possible.
pub(crate) fn check_range(what: &'static str, got: usize, least: usize, most: usize) -> Result<()> {
    if got < least || got > most {
        return Err(Error::OutOfRange {
            what,
            got,
            least,
            most,
        });
    }
    Ok(())
}

/// Refuses an output with less room than may be written.
pub(crate) fn check_room(what: &'static str, got: usize, needed: usize) -> Result<()> {
    if got < needed {
        return Err(Error::OutputTooShort { what, needed, got });
    }
    Ok(())
}

/// Refuses a workspace for less than a call is of. `what` says of what.
pub(crate) fn check_workspace(
    what: impl FnOnce() -> String,
    got: usize,
    needed: usize,
) -> Result<()> {
    if got < needed {
        return Err(Error::WorkspaceTooSmall {
            what: what(),
            needed,
            got,
        });
    }
    Ok(())
}

/// Refuses words that cannot say how many items there may be.
pub(crate) fn check_words<W: CountWord>(what: &'static str, items: usize) -> Result<()> {
    counted::<W>(what, items).map(drop)
}

/// Refuses an empty view for the number of the selected.
pub(crate) fn room_for_count<'a, W: CountWord, U: Shared>(
    names: &Names,
    selected: &'a mut CudaViewMut<'_, W>,
) -> Result<CudaViewMut<'a, U>> {
    check_room(names.written, selected.len(), 1)?;
    cuda::reinterpret_mut(selected)
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
    names: &Names,
    stream: &Arc<CudaStream>,
    count: &CudaView<'_, W>,
) -> Result<usize> {
    let count = cuda::download(stream, count)?;
    check_len(names.written, count.len().min(1), 1)?;
    Ok(count.first().map_or(0, |count| count.to_len()))
}
