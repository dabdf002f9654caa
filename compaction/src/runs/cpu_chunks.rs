//! Runs in chunks of the keys, which threads of the CPU process in parallel.

use std::{mem, ops::Range};

use crate::Movable;

/// Returns whether a run begins at the index `at`.
#[inline]
pub(super) fn is_head<K: Movable>(keys: &[K], at: usize) -> bool {
    at == 0 || bytemuck::bytes_of(&keys[at]) != bytemuck::bytes_of(&keys[at - 1])
}

/// Yields the indices in a range at which runs begin.
pub(super) fn heads<K: Movable>(keys: &[K], range: Range<usize>) -> impl Iterator<Item = usize> {
    range.filter(|&at| is_head(keys, at))
}

/// Yields ranges of `chunk` indices that together cover `len` indices. The last range may be shorter.
pub(super) fn ranges(len: usize, chunk: usize) -> impl Iterator<Item = Range<usize>> + Send {
    (0..len)
        .step_by(chunk)
        .map(move |first| first..len.min(first + chunk))
}

/// An output that chunks fill in order.
pub(super) struct Output<'a, T>(pub(super) &'a mut [T]);

impl<'a, T> Output<'a, T> {
    /// Takes the next `len` items off the output.
    pub(super) fn take(&mut self, len: usize) -> &'a mut [T] {
        let (taken, rest) = mem::take(&mut self.0).split_at_mut(len);
        self.0 = rest;
        taken
    }
}
