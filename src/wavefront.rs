//! The loop of the path tracer, written once for both backends.
//!
//! ```text
//! generate     camera rays for a wave of (pixel, sample) pairs
//! per bounce:
//!   intersect  every live ray against the scene         → hit or miss, per ray
//!   compact    hits stay; misses leave with the sky's light
//!   sort_hits  hits of one kind of material side by side, where that pays
//!   shade      hits: emission, a shadow ray, the next ray, Russian roulette
//!   shadow     shadow rays that nothing blocks add their light
//!   compact    live paths stay; ended ones leave
//! accumulate   the wave's samples → film
//! ```
//!
//! `resolve` turns the film into an image once per frame. Nothing here waits: on CUDA every call only enqueues work.
//! Once the stages of a wave repeat, they are captured in a CUDA graph, which the host launches as a whole.

use crate::{
    Error,
    path::Span,
    stages::{Keep, accumulate, compact, generate, intersect, shade, shadow, sort_hits},
    wave::Wave,
};

/// Traces all paths of `span` to their ends and adds their samples to the wave's film.
///
/// On CUDA the work is only enqueued when this returns. Fails if a launch or an allocation fails.
pub fn trace(wave: &mut Wave, span: Span) -> Result<(), Error> {
    wave.begin(span)?;
    wave.run(stages)
}

/// Runs all stages of one wave in order, for up to `max_bounces` scattering events per path.
fn stages(wave: &mut Wave) -> Result<(), Error> {
    generate(wave)?;
    for bounce in 0..=wave.max_bounces() {
        intersect(wave, bounce)?;
        compact(wave, bounce, Keep::Hits)?;
        sort_hits(wave, bounce)?;
        shade(wave, bounce)?;
        shadow(wave, bounce)?;
        compact(wave, bounce, Keep::Survivors)?;
    }
    accumulate(wave)
}
