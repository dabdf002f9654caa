//! Plays the animations of a scene's file, and shows them at a time that the user chooses.
//!
//! The loader thread makes the poses. While the animations play, the next pose is requested once a frame of the last
//! one has been displayed, so that a slow render is never left without a picture.

use std::{sync::Arc, time::Instant};

use super::Session;
use crate::session::{
    DisplayFrame,
    loader::{FRAME_RATE, LoadRequest, PoseRequest},
};
use raysieve_scene::{FieldEdit, Timeline, escaped};

/// The state of the animations of a scene. The default is paused.
#[derive(Default)]
pub(super) struct Playback {
    /// Instant and time of the animation, in seconds, from which it plays; `None` while it is paused.
    playing: Option<(Instant, f64)>,
    /// Pose that was requested last; `None` if the scene shows it, or the animation plays.
    requested: Option<RequestedPose>,
    /// Whether a requested pose has neither arrived nor failed.
    is_awaited: bool,
    /// Whether a frame of the last pose has been displayed.
    is_shown: bool,
}

/// A pose at a time that the user has chosen.
#[derive(PartialEq)]
struct RequestedPose {
    /// Time in seconds.
    time: f64,
    /// Index of the animation in [`Timeline::animations`]; `None` for all.
    animation: Option<usize>,
}

/// The animations of a scene, as the window and the page display them.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub(crate) struct Animation {
    /// Name of the animation that is shown, shortened if it is long; `None` if there are no others.
    #[serde(skip)]
    pub(crate) name: Option<String>,
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

    /// Returns name, time and length as text, such as `Walk, time 1.25 of 3.4 s`.
    pub(crate) fn named_text(&self) -> String {
        match &self.name {
            Some(name) => format!("{name}, {}", self.text()),
            None => self.text(),
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
    /// Records that the scene of a pose has arrived, unless another one has been requested since.
    pub(super) fn receive(&mut self, shown: Option<&Timeline>) {
        self.is_shown = false;
        let is_later = |requested: &RequestedPose| {
            shown.is_some_and(|shown| {
                shown.time != Some(requested.time) || shown.chosen != requested.animation
            })
        };
        if !self.requested.as_ref().is_some_and(is_later) {
            self.is_awaited = false;
            self.requested = None;
        }
    }
}

impl Session {
    /// Returns the animations of the scene, with the requested time; `None` if it has none.
    pub(crate) fn animation(&self) -> Option<Animation> {
        let timeline = self.scene.timeline.as_ref()?;
        let requested = self.playback.requested.as_ref();
        let time = requested.map(|requested| requested.time).or(timeline.time);
        Some(self.described(timeline, self.animations().1, time))
    }

    /// Returns the animations of the scene with which a frame was rendered, with the frame's time; `None` if it has none.
    /// The frame of a requested time may not have come yet.
    pub(crate) fn animation_in(&self, frame: &DisplayFrame) -> Option<Animation> {
        let timeline = frame.scene().timeline.as_ref()?;
        Some(self.described(timeline, default_animation(timeline), timeline.time))
    }

    /// Returns the animations of a timeline. `chosen` is `None` for all of them, and `time` is `None` for the rest pose.
    fn described(
        &self,
        timeline: &Timeline,
        chosen: Option<usize>,
        time: Option<f64>,
    ) -> Animation {
        let animations = &timeline.animations;
        // A timeline has the lengths of all animations, so also of a requested one whose scene has not arrived.
        let length = chosen.and_then(|chosen| timeline.lengths.get(chosen).copied());
        Animation {
            name: (animations.len() > 1).then(|| name(animations, chosen)),
            time,
            seconds: length.unwrap_or(timeline.seconds),
            playing: self.playback.playing.is_some(),
        }
    }

    /// Returns the animations among which the user can choose, and the index of the one that is shown or requested, or
    /// would be if it began to play; `None` for all.
    ///
    /// All play at once if they change different things. Otherwise they are alternatives, and the first one plays unless
    /// the user has chosen.
    pub(crate) fn animations(&self) -> (&[String], Option<usize>) {
        let Some(shown) = &self.scene.timeline else {
            return (&[], None);
        };
        let requested = self.playback.requested.as_ref();
        let chosen = match requested {
            Some(requested) => requested.animation,
            None => default_animation(shown),
        };
        (&shown.animations, chosen)
    }

    /// Shows the next animation of the file, or after the last one all of them.
    pub(super) fn next_animation(&mut self) {
        let path = self.scene.path.display();
        let next = match self.animations() {
            ([], _) if self.scene.timeline.is_some() => {
                return self.say(format!(
                    "{path}: the field `animation` of each Model chooses its animation"
                ));
            }
            ([_], _) => return self.say(format!("{path} has no other animation to choose")),
            _ if self.is_at_rest() => Some(0),
            (_, None) => Some(0),
            (animations, Some(chosen)) => Some(chosen + 1).filter(|&next| next < animations.len()),
        };
        // The index is one of the file's animations.
        let _ = self.choose_animation(next);
    }

    /// Returns whether the rest pose is shown, and no other one is requested.
    fn is_at_rest(&self) -> bool {
        let shown = self.scene.timeline.as_ref();
        self.playback.requested.is_none() && shown.is_some_and(|shown| shown.time.is_none())
    }

    /// Shows an animation of the file, given by its index, at its start; `None` shows all. It plays if the last one did.
    ///
    /// # Errors
    /// A message if there is no such animation.
    pub(crate) fn choose_animation(
        &mut self,
        animation: Option<usize>,
    ) -> Result<(), &'static str> {
        if self.playable().is_none() {
            return Ok(());
        }
        let (animations, _) = self.animations();
        let count = animations.len();
        if animation.is_some_and(|animation| animation >= count) {
            return Err("unknown animation");
        }
        let name = name(animations, animation);
        if self.playback.playing.is_some() {
            self.playback.playing = Some((Instant::now(), 0.0));
        }
        self.request_pose(animation, 0.0);
        self.say(match animation {
            Some(animation) => format!("animation {name}, {} of {count}", animation + 1),
            None => name,
        });
        Ok(())
    }

    /// Plays the animations in a loop, or pauses them.
    pub(super) fn play_or_pause(&mut self) {
        let Some(animation) = self.playable() else {
            return;
        };
        if self.playback.playing.take().is_some() {
            return self.say(format!("animation paused: {}", animation.text()));
        }
        let from = animation.time.unwrap_or(0.0).clamp(0.0, animation.seconds);
        self.playback.playing = Some((Instant::now(), from));
        self.request_time(from);
        let length = animation.length();
        let (animations, chosen) = self.animations();
        let what = match (&animation.name, chosen) {
            (None, _) => return self.say(format!("animation plays: {length} in a loop")),
            (Some(name), None) => name.clone(),
            (Some(name), Some(chosen)) => {
                format!("animation {name}, {} of {}", chosen + 1, animations.len())
            }
        };
        self.say(format!(
            "playing {what}: {length} in a loop; j (list Animation): the next one"
        ));
    }

    /// Pauses the animations, and shows them a number of frames of 1/24 s later. After the end follows the beginning.
    pub(super) fn step_animation(&mut self, frames: f64) {
        let Some(Animation { time, seconds, .. }) = self.playable() else {
            return;
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
        self.request_time(frame / FRAME_RATE);
    }

    /// Shows the animations at a time in seconds, clamped to their length. They play on from there if they play.
    pub(crate) fn seek(&mut self, seconds: f64) {
        let Some(animation) = self.playable() else {
            return;
        };
        // A number that is not one becomes 0. Whole milliseconds have a short text in printed and saved scenes.
        let time = ((seconds * 1e3).round() / 1e3)
            .max(0.0)
            .min(animation.seconds);
        if animation.playing {
            self.playback.playing = Some((Instant::now(), time));
        }
        self.request_time(time);
    }

    /// Requests the next pose while the animations play, if a frame of the last one has been displayed. Call it after
    /// each frame.
    pub(crate) fn play_on(&mut self) {
        if let (Some((since, from)), Some(&Timeline { seconds, .. })) =
            (self.playback.playing, self.scene.timeline.as_ref())
            && self.playback.is_shown
            && !self.playback.is_awaited
        {
            // Taken from the clock, so that slow poses skip frames.
            let time = from + since.elapsed().as_secs_f64();
            self.request_time(time.rem_euclid(seconds));
            self.playback.requested = None;
        }
    }

    /// Records whether a frame shows the last pose.
    pub(super) fn record_shown(&mut self, frame: &DisplayFrame) {
        self.playback.is_shown |= Arc::ptr_eq(&frame.inspection_scene, &self.inspection_scene);
    }

    /// Pauses the animations, because the scene cannot be shown at the requested time, and reports the problem.
    pub(super) fn end_playback(&mut self, problem: String) {
        self.playback = Playback::default();
        self.report_problem(problem);
    }

    /// Reports a problem about edits that the animation has replaced, if there are any, given the edits before the change
    /// of the time.
    pub(super) fn report_lost_edits(&self, before: &[FieldEdit]) {
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
        if !names.is_empty() {
            let names = names.join(", ");
            self.report_problem(format!(
                "edit undone, because the animation changes it: {names}"
            ));
        }
    }

    /// Requests a pose of the shown animation, as [`request_pose`](Self::request_pose) does.
    fn request_time(&mut self, time: f64) {
        let (_, chosen) = self.animations();
        self.request_pose(chosen, time);
    }

    /// Requests a pose of an animation, given by its index (`None` for all), in place of an earlier one that is not being
    /// made yet.
    fn request_pose(&mut self, animation: Option<usize>, time: f64) {
        let Some(loader) = &self.loader else {
            return;
        };
        let (animations, _) = self.animations();
        loader.send(LoadRequest::Pose(PoseRequest {
            path: self.scene.path.clone(),
            animation: animation.and_then(|animation| animations.get(animation).cloned()),
            time,
        }));
        self.playback.is_awaited = true;
        self.playback.requested = Some(RequestedPose { time, animation });
    }

    /// Returns the animations of the scene. Displays a message and returns `None` if it has none, or if there is no thread
    /// to make poses.
    fn playable(&self) -> Option<Animation> {
        let name = self.scene.path.display();
        let animation = self.animation();
        if animation.is_none() {
            self.say(format!(
                "{name} has no animation to play; open an animated glTF file"
            ));
        } else if self.loader.is_none() {
            self.report_problem(format!(
                "{name}: not animated: the system has no free thread for it; restart the program"
            ));
        }
        animation.filter(|_| self.loader.is_some())
    }
}

/// Returns the index of the animation that a scene shows, or would show if it began to play; `None` for all.
fn default_animation(timeline: &Timeline) -> Option<usize> {
    // In the rest pose, nobody has chosen all.
    let plays_first = timeline.time.is_none() && timeline.overlap;
    timeline.chosen.or(plays_first.then_some(0))
}

/// Maximum number of characters of the name of an animation.
const MAX_NAME: usize = 32;

/// Returns the name of the animation with this index on one line, shortened if it is long; `None` stands for all.
fn name(animations: &[String], chosen: Option<usize>) -> String {
    match chosen.and_then(|chosen| animations.get(chosen)) {
        None => "all animations".to_owned(),
        Some(name) if name.chars().count() <= MAX_NAME => escaped(name),
        Some(name) => {
            let start: String = name.chars().take(MAX_NAME - 1).collect();
            format!("{}…", escaped(&start))
        }
    }
}
