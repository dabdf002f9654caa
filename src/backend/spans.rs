//! The (pixel, sample) pairs of a picture, dealt out in order.

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use crate::{
    Error,
    path::{Span, rendered_pixel},
    stages::megakernel,
    wave::Wave,
    wavefront::trace,
};

/// Samples of a pixel that are traced side by side at most, as a binary logarithm.
const MOST_TOGETHER: u32 = 2;

/// The pixels of a picture that are rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pixels {
    pub(crate) count: u32,
    pub(crate) skipped: u32,
    /// Which ones, if some are skipped.
    pub(crate) pick: u32,
}

impl Pixels {
    /// All of them.
    pub(crate) fn all((width, height): (u32, u32)) -> Pixels {
        Pixels {
            count: width * height,
            skipped: 0,
            pick: 0,
        }
    }

    /// In row order.
    pub(crate) fn list(self) -> impl Iterator<Item = u32> {
        let span = Span {
            pixel_count: self.count,
            skipped_pixels: self.skipped,
            pick: self.pick,
            ..Span::default()
        };
        (0..self.count).map(move |number| rendered_pixel(&span, &[], number))
    }
}

/// What the pairs of a render are, and how they are traced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) width: u32,
    pub(crate) pixels: Pixels,
    /// Whether those are on the waves' list.
    pub(crate) listed: bool,
    /// Of the first pair.
    pub(crate) first_sample: u32,
    pub(crate) seed: u32,
    /// Whether each path is traced in one go, instead of a wave stage by stage.
    pub(crate) by_megakernel: bool,
}

impl Plan {
    /// The first of some pairs, so many at most. Up to the end of a sample, if it gets that far: so what comes next begins
    /// with the first tile.
    pub(super) fn cut(&self, pairs: Range<u64>, paths: u64) -> Range<u64> {
        let (first, count) = (pairs.start, u64::from(self.pixels.count));
        let end = match (first + paths) / count * count {
            whole if whole > first => whole,
            _ => first + paths,
        };
        first..end.min(pairs.end)
    }

    /// Takes these pairs on, fewer than 2³², and returns while a GPU is at them.
    pub(super) fn launch(&self, wave: &mut Wave, pairs: Range<u64>) -> Result<(), Error> {
        let Pixels {
            count,
            skipped,
            pick,
        } = self.pixels;
        let path_count = (pairs.end - pairs.start) as u32;
        let span = Span {
            width: self.width,
            pixel_count: count,
            first_pixel: (pairs.start % u64::from(count)) as u32,
            first_sample: self.first_sample + (pairs.start / u64::from(count)) as u32,
            path_count,
            seed: self.seed,
            skipped_pixels: skipped,
            pick,
            // Pixels that are picked have no neighbours.
            tiled: u32::from(skipped == 0),
            together: (path_count / count)
                .checked_ilog2()
                .unwrap_or(0)
                .min(MOST_TOGETHER),
            listed: self.listed.into(),
        };
        if self.by_megakernel {
            megakernel(wave, span)?;
        } else {
            trace(wave, span)?;
        }
        wave.depart()
    }
}

/// The pairs that are left.
pub(crate) struct Spans {
    pub(crate) plan: Plan,
    pub(crate) next: AtomicU64,
    pub(crate) end: u64,
}

impl Spans {
    /// The next pairs, at most as many as `paths` says of those that are left; `None` when all are dealt.
    pub(super) fn deal(&self, paths: impl Fn(&Range<u64>) -> u64) -> Option<Range<u64>> {
        let first_of = |first: u64| {
            let left = first..self.end;
            let paths = paths(&left);
            (!left.is_empty()).then(|| self.plan.cut(left, paths))
        };
        let take = |first| first_of(first).map(|dealt| dealt.end);
        let first = self.next.fetch_update(Relaxed, Relaxed, take).ok()?;
        first_of(first)
    }
}
