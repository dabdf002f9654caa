//! Adaptive sampling (`--noise`): which samples each pixel takes, how its noise is estimated, and when it has
//! converged.
//!
//! `pixel_noise` and `adaptive_window` are twins of `kernels/shared/`.

pub mod adaptive_window;
pub mod noise_estimate;
pub mod pixel_noise;
pub mod pixel_stats;
pub mod schedule;
