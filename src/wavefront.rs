//! The loop of the path tracer, written once for both backends.
//!
//! ```text
//! generate     camera rays for a wave of (pixel, sample) pairs
//! per bounce:
//!   intersect  every live ray against the scene         → hit or miss, per ray
//!   scatter    paths in media that scatter before their hit: a shadow ray, the next ray, a queue of their own
//!   compact    hits stay; misses leave with the light of the sky
//!   sort_hits  hits of one kind of material side by side, where that pays
//!   shade      hits: emission, a shadow ray, the next ray, Russian roulette
//!   shadow     shadow rays that nothing blocks add their light
//!   compact    live paths stay, scattered or not; ended ones leave
//! accumulate   the samples of the wave → film
//! ```
//!
//! The stage `resolve` converts the film to an image once per frame. Nothing here waits: on CUDA every call only
//! enqueues work. If several waves have the same shape, their launches are captured in a CUDA graph, which is launched
//! as a whole.

use std::iter;

use crate::{
    Error,
    path::Span,
    stages::{
        Keep, accumulate, compact, generate, intersect, scatter, shade, shadow, sort_hits,
        wave::Wave,
    },
};

/// Traces all paths of `span` to their ends and adds their samples to the wave's film.
///
/// The span must fit into the wave's buffers. On CUDA the work is only enqueued when this returns.
///
/// # Errors
/// If an allocation or a kernel launch fails.
pub fn trace(wave: &mut Wave, span: Span) -> Result<(), Error> {
    wave.begin(span)?;
    trace_prepared(wave)
}

/// Traces all paths of a wave that has begun, as [`trace`] does.
pub(crate) fn trace_prepared(wave: &mut Wave) -> Result<(), Error> {
    wave.run(|wave| steps(wave.max_bounces()).try_for_each(|step| step.run(wave)))
}

/// Returns the steps of a wave in order, for paths that scatter up to `max_bounces` times.
///
/// Path records, debug views and tests run the same steps, and read the wave's buffers in between.
pub fn steps(max_bounces: u32) -> impl Iterator<Item = Step> {
    let bounce = |bounce| {
        [
            Step::Intersect(bounce),
            Step::Scatter(bounce),
            Step::Compact(bounce, Keep::Hits),
            Step::SortHits(bounce),
            Step::Shade(bounce),
            Step::Shadow(bounce),
            Step::Compact(bounce, Keep::Survivors),
        ]
    };
    iter::once(Step::Generate)
        .chain((0..=max_bounces).flat_map(bounce))
        .chain([Step::Accumulate])
}

/// A run of a stage over a whole wave. The number is the bounce, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each variant is the stage of that name")]
pub enum Step {
    Generate,
    Intersect(u32),
    Scatter(u32),
    Compact(u32, Keep),
    SortHits(u32),
    Shade(u32),
    Shadow(u32),
    Accumulate,
}

impl Step {
    /// Runs the stage on a wave that has begun; see [`Wave::begin`]. On CUDA the work is only enqueued when this
    /// returns.
    pub fn run(self, wave: &mut Wave) -> Result<(), Error> {
        match self {
            Step::Generate => generate(wave),
            Step::Intersect(bounce) => intersect(wave, bounce),
            Step::Scatter(bounce) => scatter(wave, bounce),
            Step::Compact(bounce, keep) => compact(wave, bounce, keep),
            Step::SortHits(bounce) => sort_hits(wave, bounce),
            Step::Shade(bounce) => shade(wave, bounce),
            Step::Shadow(bounce) => shadow(wave, bounce),
            Step::Accumulate => accumulate(wave),
        }
    }
}
