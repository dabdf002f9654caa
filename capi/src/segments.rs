//! Segments of a buffer, as the calls of segmented operations describe them.

use crate::{
    buffers::{Buffers, Input},
    memory::Address,
    status::Failure,
};

/// The segments of a call.
pub(crate) enum Segments {
    /// The segments lie between consecutive offsets, of which there is one more than segments.
    Between { offsets: Address, segments: u64 },
    /// All segments have this length.
    OfLength(u64),
}

impl Segments {
    /// Returns the number of segments of a buffer of `items` items. It is 0 for segments of no items.
    pub(crate) fn number(&self, items: u64) -> u64 {
        match self {
            Self::Between { segments, .. } => *segments,
            Self::OfLength(length) => items.checked_div(*length).unwrap_or(0),
        }
    }

    /// Adds the offsets to the buffers of a call. Returns `None` for segments of equal lengths.
    pub(crate) fn offsets<W>(&self, buffers: &mut Buffers) -> Result<Option<Input<W>>, Failure> {
        let Self::Between { offsets, segments } = self else {
            return Ok(None);
        };
        let words = segments.saturating_add(1);
        buffers.reads("offsets", *offsets, words).map(Some)
    }

    /// Returns the length of the segments if it is equal, and otherwise 0.
    pub(crate) fn length(&self) -> usize {
        match self {
            Self::Between { .. } => 0,
            Self::OfLength(length) => usize::try_from(*length).unwrap_or(usize::MAX),
        }
    }
}

/// Returns the items of the first segments of equal lengths.
pub(crate) fn first<T>(items: &[T], segments: usize, length: usize) -> &[T] {
    &items[..items.len().min(segments.saturating_mul(length))]
}
