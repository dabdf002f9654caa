//! How many bounces the paths of a wave come to, as far as waves before it tell.

use super::counts;

/// Bounces that waves of one size have had paths in. The others get small grids, since an idle one takes a microsecond
/// for each 2,000 blocks; where paths come to them after all, such a grid takes them too, if slowly where they are many.
pub(super) struct Reach {
    /// Of the waves.
    paths: u32,
    bounces: u32,
}

impl Reach {
    /// Before the first wave is known.
    pub(super) fn of_all(max_bounces: u32) -> Reach {
        Reach {
            paths: 0,
            bounces: max_bounces + 1,
        }
    }

    /// The bounces of the next wave that many paths are expected in, the first ones.
    pub(super) fn bounces(&self) -> u32 {
        self.bounces
    }

    /// Learns from a wave of so many paths what it counted. It takes more than a `few` paths in the next bounce to change
    /// what waves of one size were found to have, and it only grows then: graphs are recorded anew no more than that.
    pub(super) fn learn(&mut self, paths: u32, counted: &[u32], few: u32) {
        let rays = |bounce: u32| counted.get(counts::rays(bounce)).copied().unwrap_or(0);
        if paths == self.paths && rays(self.bounces) <= few {
            return;
        }
        self.paths = paths;
        self.bounces = (0..).take_while(|&bounce| rays(bounce) > 0).count() as u32;
    }
}
