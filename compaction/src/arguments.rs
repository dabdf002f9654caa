//! Validation of the arguments of GPU calls: item counts, buffer lengths and workspaces.

#[cfg(feature = "cuda")]
mod gpu;

use std::ops::Range;

use crate::{CountWord, Error, Result, count::to_word};

#[cfg(feature = "cuda")]
pub(crate) use gpu::{Call, Input, InputParams, ItemCount, Operands, read_count, room_for_count};

/// Descriptions of an operation's arguments, as they appear in error messages.
pub(crate) struct ArgumentNames {
    /// The operation: `select`.
    pub(crate) operation: &'static str,
    /// The input buffer, whose length limits the item count: `the flags of select`.
    pub(crate) input: &'static str,
    /// A count that the host gives: `the count given to select`.
    pub(crate) given: &'static str,
    /// The device count that the call reads: `the words of the count that select reads`.
    pub(crate) read: &'static str,
    /// The device count that the call writes: `the words of the count that select writes`.
    pub(crate) written: &'static str,
    /// The output buffer: `the output of select`.
    pub(crate) output: &'static str,
}

/// Builds the [`ArgumentNames`] of an operation. `$input` names the input buffer whose length is the number of items.
macro_rules! argument_names {
    ($operation:literal, $input:literal) => {
        $crate::arguments::ArgumentNames {
            operation: $operation,
            input: concat!("the ", $input, " of ", $operation),
            given: concat!("the count given to ", $operation),
            read: concat!("the words of the count that ", $operation, " reads"),
            written: concat!("the words of the count that ", $operation, " writes"),
            output: concat!("the output of ", $operation),
        }
    };
}
pub(crate) use argument_names;

/// Returns [`Error::LengthMismatch`] unless `got` equals `expected`. `what` describes the quantity in the error.
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

/// Returns [`Error::OutOfRange`] unless `got` is in `min..=max`. `what` describes the number in the error.
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

/// Returns [`Error::OutputTooShort`] if an output that holds `got` items is shorter than `needed`.
pub(crate) fn check_room(what: &'static str, got: usize, needed: usize) -> Result<()> {
    if got < needed {
        return Err(Error::OutputTooShort { what, needed, got });
    }
    Ok(())
}

/// Returns [`Error::WorkspaceTooSmall`] if a workspace has room for `got` units but the call needs `needed`. `what`
/// describes the units: `the items of scan by raking`.
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

/// Returns the largest number of items below `too_many` for which the memory of a workspace `fits`; 0 if there is none.
/// Fewer items must not need more memory, so that a binary search finds it.
pub(crate) fn largest_that_fits(mut too_many: usize, fits: impl Fn(usize) -> bool) -> usize {
    let mut fitting = 0;
    while too_many - fitting > 1 {
        let middle = fitting + (too_many - fitting) / 2;
        if fits(middle) {
            fitting = middle;
        } else {
            too_many = middle;
        }
    }
    fitting
}

/// Returns the ranges between consecutive offsets into `items` items. An offset beyond them counts as their end.
/// Returns [`Error::OutOfRange`] for an offset that is less than the one before it. `what` describes an offset in the
/// error.
pub(crate) fn segments_between<W: CountWord>(
    what: &'static str,
    offsets: &[W],
    items: usize,
) -> Result<Vec<Range<usize>>> {
    let ends = offsets.iter().map(|offset| offset.to_len().min(items));
    let ends: Vec<usize> = ends.collect();
    for pair in ends.windows(2) {
        check_range(what, pair[1], pair[0], items)?;
    }
    let segments = ends.windows(2).map(|pair| pair[0]..pair[1]);
    Ok(segments.collect())
}

/// Returns [`Error::Uncountable`] if `items`, the length of the buffer `what`, does not fit in a word `W`.
pub(crate) fn check_words<W: CountWord>(what: &'static str, items: usize) -> Result<()> {
    to_word::<W>(what, items).map(drop)
}

/// Returns whether counts or indices of type `W` have 8 bytes instead of 4.
pub(crate) const fn is_wide<W: CountWord>() -> bool {
    size_of::<W>() == size_of::<u64>()
}

/// Returns the size of a count of type `W` in 4-byte words: 1 or 2.
pub(crate) const fn count_words<W: CountWord>() -> u32 {
    (size_of::<W>() / size_of::<u32>()) as u32
}
