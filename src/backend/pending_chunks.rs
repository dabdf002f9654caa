//! The work that was assigned to a GPU and would be lost if a GPU failed. Its result is on the GPU's own film, in
//! transfer, or on the sum of all films; once it is in host memory, it is safe.

use std::{collections::VecDeque, ops::Range};

use super::Counted;

/// The chunks of work of one GPU that are not safe yet, in the order of assignment.
///
/// Chunks are numbered from 0 since the film was cleared. Each of the other fields is a chunk number: all chunks with
/// lower numbers have completed a step.
#[derive(Default)]
pub(super) struct PendingChunks {
    chunks: VecDeque<Chunk>,
    /// Chunks before this number are safe in host memory, and no longer in `chunks`.
    safe: u64,
    /// Chunks before this number are on the sum.
    gathered: u64,
    /// Chunks before this number have left the GPU's own film: they are on the sum or in transfer to it.
    departed: u64,
    /// Chunks before this number have finished and reported their counts.
    finished: u64,
}

/// A range of (pixel, sample) pairs that was assigned at once.
pub(super) struct Chunk {
    pub(super) pairs: Range<u64>,
    /// Counts of its wave; `None` while the wave is running or not waited for.
    pub(super) counted: Option<Counted>,
}

impl PendingChunks {
    /// Returns the number that the next assigned chunk gets.
    fn next(&self) -> u64 {
        self.safe + self.chunks.len() as u64
    }

    /// Adds a chunk of these pairs.
    pub(super) fn assign(&mut self, pairs: Range<u64>) {
        self.chunks.push_back(Chunk {
            pairs,
            counted: None,
        });
    }

    /// Records the counts of the oldest chunk that has none. Returns `false` if that chunk has been lost meanwhile.
    pub(super) fn finish_oldest(&mut self, counted: &Counted) -> bool {
        let index = self.finished.checked_sub(self.safe);
        self.finished += 1;
        let chunk = index.and_then(|index| self.chunks.get_mut(index as usize));
        chunk
            .map(|chunk| chunk.counted = Some(counted.clone()))
            .is_some()
    }

    /// Returns whether the GPU's own film holds a chunk that has not been sent to the sum.
    pub(super) fn can_depart(&self) -> bool {
        self.departed < self.next()
    }

    /// Records that all chunks of the GPU's own film are in transfer to the sum.
    pub(super) fn post_report(&mut self) {
        self.departed = self.next();
    }

    /// Returns whether a chunk is in transfer to the sum.
    pub(super) fn are_under_way(&self) -> bool {
        self.gathered < self.departed
    }

    /// Returns whether a chunk that has left the GPU's own film has not reported its counts.
    pub(super) fn has_unreported(&self) -> bool {
        self.finished < self.departed
    }

    /// Records that all chunks in transfer have been added to the sum.
    pub(super) fn gather(&mut self) {
        self.gathered = self.departed;
    }

    /// Returns the chunk number before which all chunks are on the sum.
    pub(super) fn gathered(&self) -> u64 {
        self.gathered
    }

    /// Records that the chunks before this number are safe in host memory, and forgets them.
    pub(super) fn keep(&mut self, before: u64) {
        let kept = before.saturating_sub(self.safe) as usize;
        self.chunks.drain(..kept.min(self.chunks.len()));
        self.safe = self.safe.max(before);
    }

    /// Removes and returns the chunks that are lost with the GPU: those on its own film and in transfer.
    pub(super) fn lose_film(&mut self) -> Vec<Chunk> {
        self.departed = self.gathered;
        let first = (self.gathered - self.safe) as usize;
        self.chunks.drain(first..).collect()
    }

    /// Removes and returns the chunks that are lost with the sum: those on it and in transfer to it.
    pub(super) fn lose_sum(&mut self) -> Vec<Chunk> {
        let end = (self.departed - self.safe) as usize;
        let lost = self.chunks.drain(..end.min(self.chunks.len())).collect();
        (self.safe, self.gathered) = (self.departed, self.departed);
        lost
    }
}
