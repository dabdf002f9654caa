//! The loop.
//!
//! ```text
//! generate     camera rays for a wave of (pixel, sample) pairs
//! per bounce:
//!   intersect  every live ray against the scene         → hit or miss, per ray
//!   sieve      hits stay; misses leave with the sky's light
//!   partition  hits of one kind of material side by side, where that pays
//!   shade      hits: emission, a shadow ray, the next ray, roulette
//!   shadow     shadow rays that nothing blocks add their light
//!   sieve      live paths stay; ended ones leave
//! accumulate   the wave's samples → film
//! ```
//!
//! Once a frame `resolve` makes a picture of the film. Nothing here waits: on CUDA every call only enqueues. There the stages of a
//! wave become one graph once they repeat, which the host launches as a whole.

use crate::{
    Error,
    path::Span,
    stages::{Keep, accumulate, generate, intersect, partition, shade, shadow, sieve},
    wave::Wave,
};

/// Traces the paths of `span` to their ends.
pub fn trace(wave: &mut Wave, span: Span) -> Result<(), Error> {
    wave.begin(span)?;
    wave.run(stages)
}

fn stages(wave: &mut Wave) -> Result<(), Error> {
    generate(wave)?;
    for bounce in 0..=wave.max_bounces() {
        intersect(wave, bounce)?;
        sieve(wave, bounce, Keep::Hits)?;
        partition(wave, bounce)?;
        shade(wave, bounce)?;
        shadow(wave, bounce)?;
        sieve(wave, bounce, Keep::Survivors)?;
    }
    accumulate(wave)
}
