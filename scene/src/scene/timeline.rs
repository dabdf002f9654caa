//! The time at which the animations of a scene are shown.

/// The animations of a scene that [`LoadOptions::time`](crate::LoadOptions::time) poses, and the time at which it shows
/// them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timeline {
    /// Time in seconds of the last keyframe, above 0 and at most 1e6. With several animations, it is that of the
    /// longest.
    pub seconds: f64,
    /// Time in seconds at which the scene is shown; `None` for the rest pose.
    pub time: Option<f64>,
}

/// Largest value of [`Timeline::seconds`]; later keyframes do not count.
pub(crate) const MAX_SECONDS: f64 = 1e6;
