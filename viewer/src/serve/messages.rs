//! JSON messages between the page and the program. Pictures are sent as binary messages, one picture each (see
//! `encode`).

use std::time::{Duration, Instant};

use compaction::select::Strategy;
use serde::{Deserialize, Serialize};

use crate::session::{
    Animation, Change, Control, DisplayFrame, FAST, HELP, InspectedPath, Motion, Recent, Session,
    State, add_problem,
};
use raysieve::{
    film::picture::tone::Tone,
    inspect::debug_view::{DebugView, Legend},
    render::stats::Stats,
    stages::Stage,
};
use raysieve_scene::{FieldValue, Part};

/// A request from the page, as a JSON text message. An invalid message, or one with an unknown name, part or property,
/// makes the server disconnect the viewer with the reason.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum ViewerRequest {
    /// The page has displayed a picture, and can receive another one.
    Displayed,
    /// Executes an action on the render from the table of controls.
    Act(Change),
    /// Focuses a camera with a lens on the surface in a pixel, given by column and row from 0 at the upper left. If
    /// that is not possible, a message to all viewers says why.
    Focus(u32, u32),
    /// Displays the path of a pixel's last sample to all viewers, or a message if the pixel is outside the picture. The
    /// pixel is given by column and row from 0 at the upper left.
    Inspect(u32, u32),
    /// Asks for the description of a pixel, given by column and row from 0 at the upper left. The description follows,
    /// unless the pixel is outside the picture, or another viewer asks for a description at the same time.
    Pixel(u32, u32),
    /// Renders only the region between two pixels, each given by column and row from 0 at the upper left; pixels
    /// outside the picture are moved to its edge.
    Region(u32, u32, u32, u32),
    /// Shows the animations of the scene at this time in seconds, clamped to their length.
    Seek(f64),
    /// Shows the animation with this index, as the status lists them, at its start; `null` shows all.
    Animation(Option<usize>),
    /// Selects the compaction strategy of this name.
    Strategy(String),
    /// Selects the tone curve of this name.
    Tone(String),
    DebugView(String),
    Select(Part),
    /// Sets the property of this identifier of a part of the scene to a value. A number outside its range changes
    /// nothing, and a message to all viewers says so. The flag tells that the change belongs to the same drag as the one
    /// before it, so that both are undone together. The request is invalid if the part has no such property.
    Edit(Part, String, FieldValue, bool),
    /// Moves the camera as part of a drag. The flag tells that the movement belongs to the same drag as the one before it,
    /// so that both are undone together.
    Drag(Motion, bool),
    /// Moves the camera, such as `{"turn": [0.3, 0]}`.
    #[serde(untagged)]
    Move(Motion),
}

/// The first message to a page: the program's version, and the choices that the page offers.
#[derive(Serialize)]
pub(super) struct Greeting {
    /// Program version. A page that was connected to another version before reloads itself.
    version: &'static str,
    controls: Vec<Control>,
    /// Touch gestures and their effects, as texts of the help.
    gestures: &'static [(&'static str, &'static str)],
    /// Words of the figures and their meanings, as texts of the help.
    words: &'static [(&'static str, &'static str)],
    strategies: Vec<&'static str>,
    tones: Vec<&'static str>,
    debug_views: Vec<&'static str>,
    /// Labels of the stages in the table of times, in the order of [`Stage::OF_BOUNCE`].
    stages: [&'static str; Stage::OF_BOUNCE.len()],
    /// Speed factor of fly mode while Shift is held.
    fast: f32,
}

impl Greeting {
    pub(super) fn new() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            controls: controls(),
            gestures: &HELP.gestures,
            words: &HELP.words,
            strategies: Strategy::ALL
                .iter()
                .map(|strategy| strategy.name())
                .collect(),
            tones: Tone::ALL.iter().map(|tone| tone.name()).collect(),
            debug_views: DebugView::ALL
                .iter()
                .map(|debug_view| debug_view.name())
                .collect(),
            stages: Stage::OF_BOUNCE.map(Stage::label),
            fast: FAST,
        }
    }
}

/// Returns the controls that the page offers. A group whose first control the page lacks begins with the next one.
fn controls() -> Vec<Control> {
    let mut heading = None;
    let mut offered = Vec::new();
    for control in &HELP.controls {
        heading = control.heading.or(heading);
        if !control.window_only {
            offered.push(Control {
                heading: heading.take(),
                ..control.clone()
            });
        }
    }
    offered
}

/// A status message: statistics in the form that `--stats` writes, but with an empty film hash, and the current
/// settings. Sent to all viewers after each change of settings, and with new frames at most five times a second.
#[derive(Serialize)]
pub(super) struct Status<'a> {
    pub(super) stats: &'a Stats,
    /// Performance figures as medians over the last few seconds.
    pub(super) recent: &'a Recent,
    pub(super) state: State,
    /// Width and height in pixels of the picture as requested; a preview may be smaller.
    pub(super) size: (u32, u32),
    /// Region that is rendered, as column and row of its upper left pixel and its width and height; `None` if the whole
    /// picture is rendered.
    pub(super) region: Option<[u32; 4]>,
    /// File name of the image with which the picture can be compared; `None` if there is none.
    pub(super) compared: Option<String>,
    /// Name of what is displayed: `render` for the picture, or the name of the debug view or derived image.
    pub(super) displayed: &'static str,
    pub(super) exposure_stops: f32,
    pub(super) tone: &'static str,
    /// Name of the debug view; `light` for the picture itself.
    pub(super) debug_view: &'static str,
    /// Legend of the debug view; `None` without a debug view or before its first image.
    pub(super) legend: Option<&'a Legend>,
    /// Whether fly mode is on: keys move the camera and dragging looks around.
    pub(super) flying: bool,
    /// Animations of the scene; `None` if it has none.
    pub(super) animation: Option<AnimationStatus>,
    /// Whether denoising is on. `stats.denoise_ms` tells whether the sent picture is denoised.
    pub(super) denoise: bool,
    pub(super) can_save_scene: bool,
    pub(super) viewers: usize,
    /// The last message that is not a problem, with the number of such messages since the server started; 0 and an empty
    /// text before the first.
    pub(super) message: UserMessage,
    /// The last problems, the newest last, each with its number since the server started. Those that viewers received long
    /// ago may be missing.
    pub(super) problems: Vec<UserMessage>,
    /// Reason why the scene's changed files cannot be loaded; `None` if they can.
    pub(super) scene_error: Option<&'a str>,
}

/// Number and text of a message.
pub(super) type UserMessage = (u64, String);

/// The animations of the scene, with the requested time, and the time of the displayed frame as text.
#[derive(Serialize)]
pub(super) struct AnimationStatus {
    #[serde(flatten)]
    animation: Animation,
    text: String,
    /// Animations among which the user can choose.
    names: Vec<String>,
    /// Index in `names` of the animation that is shown or requested; `None` if all are.
    chosen: Option<usize>,
}

impl AnimationStatus {
    /// Returns the animations of the session's scene, with the time of a frame; `None` if it has none.
    pub(super) fn of(session: &Session, frame: &DisplayFrame) -> Option<Self> {
        let (names, chosen) = session.animations();
        Some(Self {
            text: session.animation_in(frame)?.text(),
            animation: session.animation()?,
            names: names.to_vec(),
            chosen,
        })
    }
}

/// A message that makes the page display an inspected path; a `path` of `None` makes it hide the displayed one.
#[derive(Serialize)]
pub(super) struct Path<'a> {
    pub(super) path: Option<&'a InspectedPath>,
}

/// The description of a pixel that a viewer asked for. Pages that asked for another pixel ignore it.
#[derive(Serialize)]
pub(super) struct PixelDescription {
    pub(super) pixel: (u32, u32),
    pub(super) lines: Vec<String>,
    /// Lines for a pointer on the image with which the picture is compared; `None` if there is none.
    pub(super) compared: Option<Vec<String>>,
}

/// The last note and the last problems. All are displayed, so that no message replaces a problem that nobody has seen.
#[derive(Default)]
pub(super) struct UserMessages {
    /// Number of notes since the start, and the last one; an empty text before the first.
    pub(super) note: UserMessage,
    /// Number of problems since the start.
    count: u64,
    /// The last problems, the newest last.
    problems: Vec<Problem>,
}

/// A problem that the page displays.
struct Problem {
    /// Number of the problem since the start, from 1.
    number: u64,
    text: String,
    /// Time at which the problem was first sent to a viewer; `None` before.
    sent: Option<Instant>,
}

/// Time after which a message removes a problem that was sent, so that viewers who join later do not receive it. The page
/// displays a problem at least as long.
const PROBLEM_TIME: Duration = Duration::from_secs(10);

impl UserMessages {
    /// Replaces the note if there is one, and adds problems. Removes problems that viewers have had for ten seconds at
    /// `now`.
    pub(super) fn add(&mut self, note: Option<String>, problems: Vec<String>, now: Instant) {
        let is_old = |sent: Instant| now.saturating_duration_since(sent) >= PROBLEM_TIME;
        self.problems
            .retain(|problem| !problem.sent.is_some_and(is_old));
        if let Some(note) = note {
            self.note = (self.note.0 + 1, note);
        }
        for text in problems {
            self.count += 1;
            let problem = Problem {
                number: self.count,
                text,
                sent: None,
            };
            add_problem(&mut self.problems, problem, |problem| &problem.text);
        }
    }

    /// Records that all messages are sent to a viewer at `now`.
    pub(super) fn mark_sent(&mut self, now: Instant) {
        for problem in &mut self.problems {
            problem.sent.get_or_insert(now);
        }
    }

    /// Returns the last problems, the newest last, each with its number.
    pub(super) fn problems(&self) -> Vec<UserMessage> {
        let problems = self.problems.iter();
        problems
            .map(|problem| (problem.number, problem.text.clone()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_problems_that_were_displayed_are_removed() {
        let all = |number, text: &str| (number, text.to_owned());
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut messages = UserMessages::default();
        messages.mark_sent(at(0));
        let (note, problem) = ("saved".to_owned(), "not saved".to_owned());
        messages.add(Some(note.clone()), vec![problem.clone()], at(20));
        messages.add(Some(note.clone()), Vec::new(), at(100));
        assert_eq!(
            messages.problems(),
            [all(1, "not saved")],
            "nobody has seen it"
        );

        messages.mark_sent(at(100));
        messages.add(None, vec!["no image".into()], at(105));
        messages.mark_sent(at(109));
        messages.add(Some(note.clone()), Vec::new(), at(109));
        let both = [all(1, "not saved"), all(2, "no image")];
        assert_eq!(messages.problems(), both, "they are displayed");
        messages.add(Some(note.clone()), Vec::new(), at(110));
        assert_eq!(messages.note, all(4, "saved"));
        assert_eq!(messages.problems(), [all(2, "no image")]);

        let problems = vec![problem, "no image".into()];
        messages.add(None, problems, at(111));
        let both = [all(3, "not saved"), all(4, "no image")];
        assert_eq!(messages.problems(), both, "an equal one is new");
    }
}
