//! Plays the animations of a scene's file, and shows them at a time that the user chooses.
//!
//! The loader thread makes the poses. While the animations play, the next pose is requested once a frame of the last
//! one has been displayed, so that a slow render is never left without a picture.

use std::{sync::Arc, time::Instant};

use super::Session;
use crate::session::{
    loader::{FRAME_RATE, PoseRequest, PoseTime},
    render_thread::Frame,
};
use raysieve_scene::{FieldEdit, Timeline};

/// The state of the animations of a scene. The default is paused.
#[derive(Default)]
pub(super) struct Playback {
    /// Instant and time of the animation, in seconds, from which it plays; `None` while it is paused.
    playing: Option<(Instant, f64)>,
    /// Time that was requested last; `None` if the scene shows the requested time, or the animation plays.
    requested: Option<f64>,
    /// Whether a requested pose has neither arrived nor failed.
    is_awaited: bool,
    /// Whether a frame of the last pose has been displayed.
    is_shown: bool,
}

/// The animations of a scene, as the window and the page display them.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub(crate) struct Animation {
    /// Time in seconds that is shown or requested; `None` for the rest pose.
    pub(crate) time: Option<f64>,
    /// Length of the animations in seconds.
    pub(crate) seconds: f64,
    pub(crate) playing: bool,
}

impl Animation {
    /// Returns time and length as text, such as `time 1.25 of 3.4 s`.
    pub(crate) fn text(&self) -> String {
        let length = self.length();
        match self.time {
            Some(time) => format!("time {time:.2} of {length}"),
            None => format!("rest pose, animation of {length}"),
        }
    }

    /// Returns the length as text, such as `3.4 s`.
    pub(crate) fn length(&self) -> String {
        let seconds = format!("{:.2}", self.seconds);
        let seconds = seconds.trim_end_matches('0').trim_end_matches('.');
        // A shorter animation is not without a length.
        let seconds = if seconds == "0" { "0.01" } else { seconds };
        format!("{seconds} s")
    }
}

impl Playback {
    /// Records that a pose at this time has arrived, unless another time has been requested since.
    pub(super) fn receive(&mut self, time: Option<f64>) {
        self.is_shown = false;
        if self.requested.is_none() || self.requested == time {
            self.is_awaited = false;
            self.requested = None;
        }
    }
}

impl Session {
    /// Returns the animations of the scene; `None` if it has none.
    pub(crate) fn animation(&self) -> Option<Animation> {
        let Timeline { seconds, time } = self.scene.timeline?;
        Some(Animation {
            time: self.playback.requested.or(time),
            seconds,
            playing: self.playback.playing.is_some(),
        })
    }

    /// Returns the animations of the scene with the time of the pose that it has; `None` if it has none. A requested time
    /// is still to come.
    pub(crate) fn posed_animation(&self) -> Option<Animation> {
        let Timeline { time, .. } = self.scene.timeline?;
        let animation = self.animation()?;
        Some(Animation { time, ..animation })
    }

    /// Plays the animations in a loop, or pauses them; always returns a message.
    pub(super) fn play_or_pause(&mut self) -> Option<String> {
        let animation = match self.playable() {
            Ok(animation) => animation,
            Err(message) => return message,
        };
        if self.playback.playing.take().is_some() {
            return Some(format!("animation paused: {}", animation.text()));
        }
        let from = animation.time.unwrap_or(0.0).clamp(0.0, animation.seconds);
        self.playback.playing = Some((Instant::now(), from));
        self.request_pose(PoseTime::At(from));
        let length = animation.length();
        Some(format!("animation plays: {length} in a loop"))
    }

    /// Pauses the animations, and shows them a number of frames of 1/24 s later. After the end follows the beginning.
    /// Returns a message if that is not possible.
    pub(super) fn step_animation(&mut self, frames: f64) -> Option<String> {
        let Animation { time, seconds, .. } = match self.playable() {
            Ok(animation) => animation,
            Err(message) => return message,
        };
        self.playback.playing = None;
        // Times of keyframes are rounded.
        let last = (seconds * FRAME_RATE + 1e-3).floor();
        let frame = time.map(|time| (time * FRAME_RATE).round() + frames);
        let frame = match frame {
            // The first step leads from the rest pose to the first frame.
            None => 0.0,
            Some(frame) if frame < 0.0 => last,
            Some(frame) if frame > last => 0.0,
            Some(frame) => frame,
        };
        self.request_pose(PoseTime::At(frame / FRAME_RATE));
        None
    }

    /// Shows the animations at a time in seconds, clamped to their length. They play on from there if they play. Returns
    /// a message if that is not possible.
    pub(crate) fn seek(&mut self, seconds: f64) -> Option<String> {
        let animation = match self.playable() {
            Ok(animation) => animation,
            Err(message) => return message,
        };
        // A number that is not one becomes 0.
        let time = seconds.max(0.0).min(animation.seconds);
        if animation.playing {
            self.playback.playing = Some((Instant::now(), time));
        }
        self.request_pose(PoseTime::At(time));
        None
    }

    /// Requests the next pose while the animations play, if a frame of the last one has been displayed. Call it after
    /// each frame.
    pub(crate) fn play_on(&mut self) {
        if let (Some((since, from)), Some(Timeline { seconds, .. })) =
            (self.playback.playing, self.scene.timeline)
            && self.playback.is_shown
            && !self.playback.is_awaited
        {
            self.request_pose(PoseTime::Playing {
                since,
                from,
                seconds,
            });
        }
    }

    /// Records whether a frame shows the last pose.
    pub(super) fn record_shown(&mut self, frame: &Frame) {
        self.playback.is_shown |= Arc::ptr_eq(&frame.inspection_scene, &self.inspection_scene);
    }

    /// Pauses the animations, because the scene cannot be shown at the requested time. Reports the problem, and returns
    /// no message.
    pub(super) fn end_playback(&mut self, problem: String) -> Option<String> {
        self.playback = Playback::default();
        self.report_problem(problem)
    }

    /// Reports a problem about edits that the animation has replaced, if there are any, given the edits before the change
    /// of the time. Returns no message.
    pub(super) fn report_lost_edits(&self, before: &[FieldEdit]) -> Option<String> {
        let kept = self.edits();
        let is_lost = |edit: &&FieldEdit| {
            !kept
                .iter()
                .any(|kept| kept.part == edit.part && kept.name == edit.name)
        };
        let mut names: Vec<String> = (before.iter().filter(is_lost))
            .map(|edit| format!("{} of {}", edit.name, edit.part_name))
            .collect();
        names.dedup();
        if names.is_empty() {
            return None;
        }
        self.report_problem(format!(
            "edit undone, because the animation changes it: {}",
            names.join(", ")
        ))
    }

    /// Requests a pose, in place of an earlier one that is not being made yet.
    fn request_pose(&mut self, time: PoseTime) {
        let Some(loader) = &self.loader else {
            return;
        };
        loader.pose(PoseRequest {
            path: self.scene.path.clone(),
            time,
        });
        self.playback.is_awaited = true;
        self.playback.requested = match time {
            PoseTime::At(time) => Some(time),
            PoseTime::Playing { .. } => None,
        };
    }

    /// Returns the animations of the scene.
    ///
    /// # Errors
    /// A message if it has none. `None` if there is no thread to make poses, which is reported as a problem.
    fn playable(&self) -> Result<Animation, Option<String>> {
        let name = self.scene.path.display();
        match (self.animation(), &self.loader) {
            (None, _) => Err(Some(format!(
                "{name} has no animation to play; open an animated glTF file"
            ))),
            (Some(_), None) => Err(self.report_problem(format!(
                "{name}: not animated: the system has no free thread for it; restart the program"
            ))),
            (Some(animation), Some(_)) => Ok(animation),
        }
    }
}
