//! Ranges of (pixel, sample) pairs, which are numbered sample by sample and assigned in that order.

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use crate::{
    Error,
    path::{Span, rendered_pixel},
    stages::{megakernel_prepared, wave::Wave},
    wavefront::trace_prepared,
};

/// Base-2 logarithm of the maximum number of samples of a pixel that get adjacent paths: one per lane of a warp of a
/// GPU. It applies to [batches](super::batches) on the CPU, too.
const MAX_LOG2_SAMPLES_TOGETHER: u32 = 5;

/// The pixels of a picture that are rendered: all of them, a random selection for verification, or those of a list, see
/// [`Plan::listed`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pixels {
    /// Number of pixels that are rendered.
    pub(crate) count: u32,
    /// Number of pixels that the random selection leaves out; 0 without it.
    pub(crate) skipped: u32,
    /// Seed that selects the pixels; unused if none are skipped.
    pub(crate) pick_seed: u32,
}

impl Pixels {
    /// Returns all pixels of a picture of this size.
    pub(crate) fn all((width, height): (u32, u32)) -> Pixels {
        Pixels {
            count: width * height,
            skipped: 0,
            pick_seed: 0,
        }
    }

    /// Returns the pixel indices in row order. The pixels must not be those of a list.
    pub(crate) fn list(self) -> impl Iterator<Item = u32> {
        let span = Span {
            pixel_count: self.count,
            skipped_pixels: self.skipped,
            pick_seed: self.pick_seed,
            ..Span::default()
        };
        (0..self.count).map(move |number| rendered_pixel(&span, &[], number))
    }
}

/// The meaning of pair numbers in a render, and how the pairs are traced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Width of the picture in pixels.
    pub(crate) width: u32,
    /// The pixels that are rendered.
    pub(crate) pixels: Pixels,
    /// Whether the pixels are those of the waves' list, as in adaptive sampling.
    pub(crate) listed: bool,
    /// Sample number of pair 0.
    pub(crate) first_sample: u32,
    /// Seed of the render's random numbers.
    pub(crate) seed: u32,
    /// Whether the megakernel traces whole paths, instead of a wave stage by stage.
    pub(crate) by_megakernel: bool,
}

impl Plan {
    /// Returns the first of these pairs, at most `paths`. The range ends with a whole sample if it reaches one, so that
    /// the next range begins with the first tile.
    pub(super) fn cut(&self, pairs: Range<u64>, paths: u64) -> Range<u64> {
        let (first, count) = (pairs.start, u64::from(self.pixels.count));
        let end = match (first + paths) / count * count {
            whole if whole > first => whole,
            _ => first + paths,
        };
        first..end.min(pairs.end)
    }

    /// Returns the span of these pairs, fewer than 2³².
    pub(super) fn span(&self, pairs: Range<u64>) -> Span {
        let Pixels {
            count,
            skipped,
            pick_seed,
        } = self.pixels;
        let path_count = (pairs.end - pairs.start) as u32;
        Span {
            width: self.width,
            pixel_count: count,
            first_pixel: (pairs.start % u64::from(count)) as u32,
            first_sample: self.first_sample + (pairs.start / u64::from(count)) as u32,
            path_count,
            seed: self.seed,
            skipped_pixels: skipped,
            pick_seed,
            // Selected pixels have no neighbours.
            tiled: u32::from(skipped == 0),
            log2_samples_together: (path_count / count)
                .checked_ilog2()
                .unwrap_or(0)
                .min(MAX_LOG2_SAMPLES_TOGETHER),
            listed: self.listed.into(),
        }
    }

    /// Launches a wave of these pairs, fewer than 2³². On a GPU it returns while the wave runs.
    pub(super) fn launch(&self, wave: &mut Wave, pairs: Range<u64>) -> Result<(), Error> {
        wave.begin(self.span(pairs))?;
        self.launch_prepared(wave)
    }

    /// Launches a wave that has begun.
    pub(super) fn launch_prepared(&self, wave: &mut Wave) -> Result<(), Error> {
        if self.by_megakernel {
            megakernel_prepared(wave)?;
        } else {
            trace_prepared(wave)?;
        }
        wave.post_report()
    }
}

/// The pairs of a render that are still to be assigned, shared by all waves.
pub(crate) struct Spans {
    pub(crate) plan: Plan,
    /// Number of the first pair that is not assigned.
    pub(crate) next: AtomicU64,
    /// Number of the pair after the last one.
    pub(crate) end: u64,
}

impl Spans {
    /// Assigns the next pairs, at most as many as `paths` returns for the range that is left; `None` if none are left.
    pub(super) fn assign(&self, paths: impl Fn(&Range<u64>) -> u64) -> Option<Range<u64>> {
        let first_of = |first: u64| {
            let left = first..self.end;
            let paths = paths(&left);
            (!left.is_empty()).then(|| self.plan.cut(left, paths))
        };
        let take = |first| first_of(first).map(|assigned| assigned.end);
        let first = self.next.fetch_update(Relaxed, Relaxed, take).ok()?;
        first_of(first)
    }
}
