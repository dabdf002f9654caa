//! What a film held some time ago, which tells the noise of what it holds now.

/// Films of a render at earlier times: the last two that were kept, in this machine's memory or in a GPU's.
#[derive(Debug)]
pub(crate) struct Earlier<T> {
    /// Pairs, and the sums of so many; the older first.
    kept: Vec<(u64, T)>,
}

/// The film of half as many samples as there are is one of the last two that were kept at each doubling.
const KEPT: usize = 2;

impl<T> Default for Earlier<T> {
    fn default() -> Self {
        Earlier { kept: Vec::new() }
    }
}

impl<T> Earlier<T> {
    /// Keeps the sums of the first `done` pairs, and drops the oldest for it.
    pub(crate) fn keep(&mut self, done: u64, sums: T) {
        if self.kept.len() == KEPT {
            self.kept.remove(0);
        }
        self.kept.push((done, sums));
    }

    pub(crate) fn forget(&mut self) {
        self.kept.clear();
    }

    /// What tells most of a film of the first `done` pairs: the last that holds no more than half of them, else the first
    /// that holds fewer.
    pub(crate) fn before(&self, done: u64) -> Option<(u64, &T)> {
        let half = self.kept.iter().rev().find(|(pairs, _)| *pairs <= done / 2);
        let found = half.or_else(|| self.kept.iter().find(|(pairs, _)| *pairs < done));
        found.map(|(pairs, sums)| (*pairs, sums))
    }
}
