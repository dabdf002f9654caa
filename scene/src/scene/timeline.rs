//! The time at which the animations of a scene are shown.

/// The animations of a scene that [`LoadOptions::time`](crate::LoadOptions::time) poses, and the time at which it shows
/// them.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    /// Time in seconds of the last keyframe, above 0 and at most 1e6. With several animations, it is that of the
    /// longest.
    pub seconds: f64,
    /// Time in seconds at which the scene is shown; `None` for the rest pose.
    pub time: Option<f64>,
    /// The animations of a model file that can play, each as the value of
    /// [`LoadOptions::animation`](crate::LoadOptions::animation) that chooses it: its name, or its number if it has no
    /// name of its own. Empty for a scene file, whose models have choices of their own.
    pub animations: Vec<String>,
    /// Time in seconds of the last keyframe of each of `animations`, above 0 and at most 1e6.
    pub lengths: Vec<f64>,
    /// Whether two of `animations` change the same property of a node, so that at most one of them is meant to play.
    pub overlap: bool,
    /// Index in `animations` of the animation that plays; `None` if all play.
    pub chosen: Option<usize>,
}

/// Largest value of [`Timeline::seconds`]; later keyframes do not count.
pub(crate) const MAX_SECONDS: f64 = 1e6;
