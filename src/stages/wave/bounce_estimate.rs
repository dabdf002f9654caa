//! An estimate of how many bounces of a wave have live paths, learnt from completed waves.

use super::counts;

/// The number of bounces in which waves of one size have had live paths.
///
/// Later bounces are launched with small grids, because an empty grid takes a microsecond per 2,000 blocks. A small
/// grid still processes all paths that reach its bounce, but slowly if there are many.
pub(super) struct BounceEstimate {
    /// Number of paths of the waves that the estimate is for; 0 before the first wave has ended.
    paths: u32,
    /// Number of bounces with live paths, counted from bounce 0.
    bounces: u32,
}

impl BounceEstimate {
    /// Creates an estimate that expects live paths in all bounces until a wave has ended.
    pub(super) fn all_bounces(max_bounces: u32) -> BounceEstimate {
        BounceEstimate {
            paths: 0,
            bounces: max_bounces + 1,
        }
    }

    /// Returns the number of bounces in which the next wave is expected to have many paths, counted from bounce 0.
    pub(super) fn bounces(&self) -> u32 {
        self.bounces
    }

    /// Updates the estimate from the ray counts of a completed wave of `paths` paths; see [`counts`] for their indices.
    ///
    /// While waves have the same size, the estimate only grows, and only if more than `few` paths reach the first
    /// bounce beyond it. Changes are rare on purpose, because each needs a new CUDA graph.
    pub(super) fn learn(&mut self, paths: u32, counted: &[u32], few: u32) {
        let rays = |bounce: u32| counted.get(counts::rays(bounce)).copied().unwrap_or(0);
        if paths == self.paths && rays(self.bounces) <= few {
            return;
        }
        self.paths = paths;
        self.bounces = (0..).take_while(|&bounce| rays(bounce) > 0).count() as u32;
    }
}
