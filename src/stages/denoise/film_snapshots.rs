//! Copies of a film at earlier sample counts, from which `denoise` estimates the noise of the film.

/// The most recent snapshots of a film, at most two. `T` is the buffer of sums, in host memory or on a GPU.
#[derive(Debug)]
pub(crate) struct FilmSnapshots<T> {
    /// Number of (pixel, sample) pairs on the film at each snapshot, with the film's sums; the older snapshot first.
    snapshots: Vec<(u64, T)>,
}

/// Maximum number of snapshots. The renderer takes one at each doubling of the sample count, so one of the last two has
/// at most half of the current samples.
const MAX_SNAPSHOTS: usize = 2;

impl<T> Default for FilmSnapshots<T> {
    fn default() -> Self {
        FilmSnapshots {
            snapshots: Vec::new(),
        }
    }
}

impl<T> FilmSnapshots<T> {
    /// Adds the sums of the first `done` (pixel, sample) pairs. Drops the oldest snapshot if there are two already.
    pub(crate) fn add(&mut self, done: u64, sums: T) {
        if self.snapshots.len() == MAX_SNAPSHOTS {
            self.snapshots.remove(0);
        }
        self.snapshots.push((done, sums));
    }

    /// Drops all snapshots.
    pub(crate) fn clear(&mut self) {
        self.snapshots.clear();
    }

    /// Returns the snapshot that gives the best noise estimate for a film of the first `done` pairs, with its number of
    /// pairs.
    ///
    /// That is the latest snapshot of at most half of the pairs, otherwise the oldest one of fewer pairs than `done`.
    /// Returns `None` if there is no such snapshot.
    pub(crate) fn before(&self, done: u64) -> Option<(u64, &T)> {
        let mut latest_first = self.snapshots.iter().rev();
        let half = latest_first.find(|(pairs, _)| *pairs <= done / 2);
        let found = half.or_else(|| self.snapshots.iter().find(|(pairs, _)| *pairs < done));
        found.map(|(pairs, sums)| (*pairs, sums))
    }
}
