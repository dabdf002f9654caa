//! What page and program say to each other, as JSON. Pictures go as they are, one a message.

use compaction::select::Strategy;
use serde::{Deserialize, Serialize};

use crate::{
    live::{CONTROLS, Change, Control, Recent, State},
    stats::Stats,
    tone::Tone,
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
    Strategy(String),
    Tone(String),
}

/// What a page hears first.
#[derive(Serialize)]
pub(super) struct Greeting {
    /// A page of another version loads itself again.
    version: &'static str,
    controls: Vec<&'static Control>,
    strategies: Vec<&'static str>,
    tones: Vec<&'static str>,
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
    pub(super) viewers: usize,
    /// What happened last, and how many things had happened before it.
    pub(super) said: (u64, &'a str),
}
