//! What a GPU was dealt, and where that is: on its own film, on its way, on the sum of all films, or safe.

use std::{collections::VecDeque, ops::Range};

use super::Counted;

/// What a GPU was dealt and may still lose, in its order. Lots are numbered from 0 on since the film was black; the marks
/// are numbers of lots, and rise from `safe` to the one that is dealt next.
#[derive(Default)]
pub(super) struct Lots {
    lots: VecDeque<Lot>,
    /// Those before are safe: in the host's memory too.
    safe: u64,
    /// Those before are on the sum.
    gathered: u64,
    /// Those before are on the sum or on their way to it, and no longer on the GPU's own film.
    departed: u64,
    /// Those before have been counted.
    landed: u64,
}

/// Pairs that were dealt at once, and what was counted for them.
pub(super) struct Lot {
    pub(super) pairs: Range<u64>,
    pub(super) counted: Option<Counted>,
}

impl Lots {
    /// The number of the next.
    fn next(&self) -> u64 {
        self.safe + self.lots.len() as u64
    }

    /// Takes a lot on.
    pub(super) fn deal(&mut self, pairs: Range<u64>) {
        self.lots.push_back(Lot {
            pairs,
            counted: None,
        });
    }

    /// Notes what was counted for the oldest lot of which that is not known; `false` if it has been lost meanwhile.
    pub(super) fn land(&mut self, counted: &Counted) -> bool {
        let place = self.landed.checked_sub(self.safe);
        self.landed += 1;
        let lot = place.and_then(|place| self.lots.get_mut(place as usize));
        lot.map(|lot| lot.counted = Some(counted.clone())).is_some()
    }

    /// Whether something is on the GPU's own film.
    pub(super) fn can_depart(&self) -> bool {
        self.departed < self.next()
    }

    /// All that is on the film leaves it.
    pub(super) fn depart(&mut self) {
        self.departed = self.next();
    }

    /// Whether something is on its way.
    pub(super) fn are_under_way(&self) -> bool {
        self.gathered < self.departed
    }

    /// Whether something is on its way of which it is not known what was counted.
    pub(super) fn are_to_land(&self) -> bool {
        self.landed < self.departed
    }

    /// What was on its way is on the sum; up to where that is.
    pub(super) fn gather(&mut self) {
        self.gathered = self.departed;
    }

    /// Up to where lots are on the sum.
    pub(super) fn gathered(&self) -> u64 {
        self.gathered
    }

    /// Those before this one are safe.
    pub(super) fn keep(&mut self, before: u64) {
        let kept = before.saturating_sub(self.safe) as usize;
        self.lots.drain(..kept.min(self.lots.len()));
        self.safe = self.safe.max(before);
    }

    /// The GPU is lost, and its own film with it.
    pub(super) fn lose_film(&mut self) -> Vec<Lot> {
        self.departed = self.gathered;
        let first = (self.gathered - self.safe) as usize;
        self.lots.drain(first..).collect()
    }

    /// The sum is lost, and what is on its way to it.
    pub(super) fn lose_sum(&mut self) -> Vec<Lot> {
        let end = (self.departed - self.safe) as usize;
        let lost = self.lots.drain(..end.min(self.lots.len())).collect();
        (self.safe, self.gathered) = (self.departed, self.departed);
        lost
    }
}
