//! Validation of the arguments of GPU calls: item counts, buffer lengths and workspaces.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, CudaView, CudaViewMut};

use crate::{Count, CountWord, Error, Result, count::to_word, cuda, layout::Shared};

/// The item count of a GPU call, validated against the input buffer.
pub(crate) struct ItemCount<'a> {
    /// The count in device memory, as 4-byte words. A dummy if the host gave the count.
    pub(crate) count: CudaView<'a, u32>,
    /// The largest possible number of items: the host's count, or the length of the input buffer.
    pub(crate) capacity: usize,
    /// Whether the number of items is exactly `capacity`. Otherwise kernels read it from `count`.
    pub(crate) is_given: bool,
}

/// The names of an operation's arguments in error messages.
pub(crate) struct ArgumentNames {
    /// Name of the input buffer, whose length limits the item count: `the flags of select`.
    pub(crate) input: &'static str,
    /// Name of a count that the host passed.
    pub(crate) given: &'static str,
    /// Name of the device count that the call reads.
    pub(crate) read: &'static str,
    /// Name of the device count that the call writes.
    pub(crate) written: &'static str,
    /// Name of the output buffer.
    pub(crate) output: &'static str,
}

/// Builds the [`ArgumentNames`] of the operation `$room`, whose items are counted by its buffer `$input`.
macro_rules! argument_names {
    ($room:literal, $input:literal) => {
        $crate::arguments::ArgumentNames {
            input: concat!("the ", $input, " of ", $room),
            given: concat!("the count given to ", $room),
            read: concat!("the words of the count that ", $room, " reads"),
            written: concat!("the words of the count that ", $room, " writes"),
            output: concat!("the output of ", $room),
        }
    };
}
pub(crate) use argument_names;

impl<'a> ItemCount<'a> {
    /// Validates `count` against a buffer of `len` items.
    ///
    /// Returns an error if the count exceeds `len` or does not fit in a word `W`. `dummy_count` is the dummy that kernels
    /// receive instead of a device count.
    pub(crate) fn new<W: CountWord>(
        names: &ArgumentNames,
        len: usize,
        count: Count<'a, W>,
        dummy_count: &'a CudaSlice<u64>,
    ) -> Result<Self> {
        let capacity = match count {
            Count::Given(items) => items.to_len(),
            Count::All | Count::Device(_) => to_word::<W>(names.input, len)?.to_len(),
        };
        check_range(names.given, capacity, 0, len)?;
        let (count, is_given) = match count {
            Count::All | Count::Given(_) => (cuda::reinterpret(dummy_count.as_view())?, true),
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

/// Returns [`Error::LengthMismatch`] unless `got` equals `expected`.
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

/// Returns [`Error::OutOfRange`] unless `got` lies between both bounds, inclusively.
pub(crate) fn check_range(what: &'static str, got: usize, min: usize, max: usize) -> Result<()> {
    if got < min || got > max {
        return Err(Error::OutOfRange {
            what,
            got,
            min,
            max,
        });
    }
    Ok(())
}

/// Returns [`Error::OutputTooShort`] if an output has room for fewer than `needed` items.
pub(crate) fn check_room(what: &'static str, got: usize, needed: usize) -> Result<()> {
    if got < needed {
        return Err(Error::OutputTooShort { what, needed, got });
    }
    Ok(())
}

/// Returns [`Error::WorkspaceTooSmall`] if a workspace has room for fewer units than the call needs. `what` names the
/// unit.
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

/// Returns [`Error::Uncountable`] if `items` does not fit in a word `W`.
pub(crate) fn check_words<W: CountWord>(what: &'static str, items: usize) -> Result<()> {
    to_word::<W>(what, items).map(drop)
}

/// Returns the buffer for the number of selected items as words of type `U`, or an error if it is empty.
pub(crate) fn room_for_count<'a, W: CountWord, U: Shared>(
    names: &ArgumentNames,
    selected: &'a mut CudaViewMut<'_, W>,
) -> Result<CudaViewMut<'a, U>> {
    check_room(names.written, selected.len(), 1)?;
    cuda::reinterpret_mut(selected)
}

/// Returns whether counts or indices of type `W` are 8-byte words.
pub(crate) const fn is_wide<W: CountWord>() -> bool {
    size_of::<W>() == size_of::<u64>()
}

/// Returns the size of a count of type `W` in 4-byte words: 1 or 2.
pub(crate) const fn count_words<W: CountWord>() -> u32 {
    (size_of::<W>() / size_of::<u32>()) as u32
}

/// Waits for the stream and returns the count in the first word of `count`.
pub(crate) fn read_count<W: CountWord>(
    names: &ArgumentNames,
    stream: &Arc<CudaStream>,
    count: &CudaView<'_, W>,
) -> Result<usize> {
    let count = cuda::download(stream, count)?;
    check_len(names.written, count.len().min(1), 1)?;
    Ok(count.first().map_or(0, |count| count.to_len()))
}
