//! What page and program say to each other, as JSON. Pictures go as they are, one a message.

use compaction::select::Strategy;
use serde::{Deserialize, Serialize};

use crate::{
    live::{CONTROLS, Change, Control, FAST, Inspected, Listed, Recent, State},
    scene::Knob,
    sight::{Legend, Sight},
    stats::Stats,
    tone::Tone,
    track::{Stroke, Track},
};

/// What a page may say.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Asked {
    /// It has shown a picture, and takes another.
    Shown,
    Act(Change),
    /// As a hand moves over the picture, in its shorter side: to the right and down.
    Turn(f32, f32),
    Pan(f32, f32),
    /// Notches of a wheel.
    Dolly(f32),
    /// What two fingers grew the picture by.
    Zoom(f32),
    /// See [`Motion::Fly`](crate::live::Motion::Fly).
    Fly(f32, f32, f32),
    /// A click on a pixel that is to be sharp.
    Focus(u32, u32),
    /// A click on a pixel of the picture, column and row from the upper left.
    Inspect(u32, u32),
    Strategy(String),
    Tone(String),
    /// By its name.
    Sight(String),
    /// Numbers of the material at this place of the list.
    Material(usize, Vec<(Knob, f32)>),
}

/// What a page hears first.
#[derive(Serialize)]
pub(super) struct Greeting {
    /// A page of another version loads itself again.
    version: &'static str,
    controls: Vec<&'static Control>,
    strategies: Vec<&'static str>,
    tones: Vec<&'static str>,
    sights: Vec<&'static str>,
    /// How much faster the camera flies with Shift.
    fast: f32,
}

impl Greeting {
    pub(super) fn new() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            controls: CONTROLS.iter().filter(|control| control.on_page).collect(),
            strategies: Strategy::ALL
                .iter()
                .map(|strategy| strategy.name())
                .collect(),
            tones: Tone::ALL.iter().map(|tone| tone.name()).collect(),
            sights: Sight::ALL.iter().map(|sight| sight.name()).collect(),
            fast: FAST,
        }
    }
}

/// What a page hears from then on, some times a second: the figures that `--stats` writes, and what has been set.
#[derive(Serialize)]
pub(super) struct Status<'a> {
    pub(super) stats: &'a Stats,
    /// Of the last seconds.
    pub(super) recent: &'a Recent,
    pub(super) state: State,
    /// Of the picture; a preview is smaller.
    pub(super) size: (u32, u32),
    pub(super) exposure_stops: f32,
    pub(super) tone: &'static str,
    pub(super) sight: &'static str,
    /// What its colours mean, once there are any.
    pub(super) legend: Option<&'a Legend>,
    /// Whether keys fly it and hands look around.
    pub(super) flying: bool,
    /// Whether previews of less noise are asked for; the statistics say if the picture is one.
    pub(super) denoise: bool,
    pub(super) viewers: usize,
    /// What happened last, and how many things had happened before it.
    pub(super) said: (u64, &'a str),
    /// Why the scene's files cannot be rendered as they are now.
    pub(super) trouble: Option<&'a str>,
}

/// What a page hears when somebody has asked for a path, and when it is no longer of the view.
#[derive(Serialize)]
pub(super) struct Path<'a> {
    path: Option<PathShown<'a>>,
}

#[derive(Serialize)]
struct PathShown<'a> {
    track: &'a Track,
    /// In pixels of a picture of this size.
    strokes: &'a [Stroke],
    size: (u32, u32),
    /// Why the sieve took it out, in words.
    end: String,
}

impl<'a> Path<'a> {
    pub(super) fn of(inspected: Option<&'a Inspected>) -> Self {
        let shown = |inspected: &'a Inspected| PathShown {
            track: &inspected.track,
            strokes: &inspected.strokes,
            size: inspected.vantage.size,
            end: inspected.track.end.to_string(),
        };
        Self {
            path: inspected.map(shown),
        }
    }
}

/// What a page hears when materials have changed, or keys turn another one.
#[derive(Serialize)]
pub(super) struct Materials<'a> {
    pub(super) materials: Vec<Listed<'a>>,
    /// Which one keys turn, by its place in the scene.
    pub(super) chosen: Option<usize>,
}
