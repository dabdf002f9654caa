//! Denoised previews, and the copies of the film that they need.

use std::ops::Range;

use super::Renderer;
use crate::{Error, stages::Preview};

impl Renderer {
    /// Keeps copies of the film at smaller sample counts from now on, which [`Renderer::preview`] needs. This takes one
    /// or two films of the backend's memory, and a copy whenever the samples have doubled. If the film is not black,
    /// only later samples count.
    pub fn keep_for_previews(&mut self) {
        if !self.keeps_earlier {
            self.keeps_earlier = true;
            self.keep_film_copy();
        }
    }

    /// Returns the film as a denoised preview, or `None` while its noise is unknown.
    ///
    /// The preview averages over neighbouring pixels that agree within their noise (see
    /// [`adaptive_window`](crate::adaptive::adaptive_window)), and approaches the film's picture as samples are added.
    /// The noise is known from two samples per pixel on, if [`Renderer::keep_for_previews`] was called. With adaptive
    /// sampling it is known after the first two rounds of 16 samples per pixel, without that call.
    ///
    /// If copies were kept from the first sample on, the bits depend on scene, size, seed and samples alone.
    pub fn preview(&mut self) -> Result<Option<Preview>, Error> {
        let mut preview = Preview::default();
        let made = self.preview_into(&mut preview)?;
        Ok(made.then_some(preview))
    }

    /// Writes the denoised preview into `preview`, whose memory is reused. Returns `false` while the noise is unknown.
    pub fn preview_into(&mut self, preview: &mut Preview) -> Result<bool, Error> {
        let is_known = match &self.rounds {
            Some(rounds) => rounds.has_error(),
            None => self.can_preview(),
        };
        if !is_known {
            return Ok(false);
        }
        self.finish_waves()?;
        let made = self.backend.denoise(self.done - self.range.start, preview);
        self.record_counts(made)
    }

    /// Returns the next number of pairs, a power of two samples per pixel, at which the film is copied.
    pub(super) fn next_doubling(&self) -> Option<u64> {
        let Range { start, end } = self.range;
        let pixel_count = u64::from(self.pixel_count());
        let samples = (self.done - start) / pixel_count;
        let pairs = (samples + 1)
            .next_power_of_two()
            .saturating_mul(pixel_count);
        let next = start.saturating_add(pairs);
        (self.keeps_earlier && self.can_preview() && next < end).then_some(next)
    }

    /// Copies the film once every pixel has a sample. If the memory does not suffice, previews are given up.
    pub(super) fn keep_film_copy(&mut self) {
        let done = self.done - self.range.start;
        if done < self.pixel_count().into() || !self.can_preview() {
            return;
        }
        let kept = self.backend.snapshot_film(done);
        if let Err(error) = self.record_counts(kept) {
            self.keeps_earlier = false;
            self.notes.push(format!("no more previews: {error}"));
        }
    }

    /// Returns whether denoised previews are possible without adaptive sampling: the samples begin with a first pixel,
    /// and sampling is not adaptive.
    fn can_preview(&self) -> bool {
        let begins = self.range.start.is_multiple_of(self.pixel_count().into());
        begins && self.rounds.is_none()
    }
}
