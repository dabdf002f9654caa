//! The title of the window.

use crate::{
    overlay::format,
    session::{Animation, DisplayFrame, State},
};

/// Returns the title of the window, with the time of an animation, and the samples, speed and state of a frame. `scene`
/// is the name of the scene's file.
pub(super) fn title(scene: &str, animation: Option<Animation>, frame: &DisplayFrame) -> String {
    let time = animation.map(|animation| format!(" – {}", animation.named_text()));
    let time = time.unwrap_or_default();
    let (stats, state) = (&frame.stats, &frame.state);
    let word = format::sample_word(stats.spp);
    let samples = match state {
        State::Rendering { samples, .. } => format!("{} of {samples} samples", stats.spp),
        State::Paused { samples, .. } => format!("{} of {samples} samples, paused", stats.spp),
        State::Comparing => format!("{} {word}, comparing strategies", stats.spp),
        State::Done => format!("{} {word}", stats.spp),
    };
    let left = format::time_left(stats.seconds, *state);
    let noise = stats.noise.as_ref().and_then(|noise| noise.estimated);
    let details = [
        left.map(|left| format!(" – {left} left")),
        noise.map(|noise| format!(" – noise {:.2} %", 100.0 * noise)),
    ];
    let details: String = details.into_iter().flatten().collect();
    let frames = match state {
        State::Rendering { .. } => format!(" – {} fps", frame.recent.frames_per_second),
        _ => String::new(),
    };
    let speed = format::millions(match state {
        State::Done => stats.paths_per_second,
        _ => frame.recent.paths_per_second,
    });
    format!("{scene}{time} – {samples}{details} – {speed} Mpaths/s{frames} – raysieve")
}
