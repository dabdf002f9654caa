//! The keyboard and mouse controls, which the window and the web page share, and the help about them. `help.json` lists
//! both.

use std::{iter, sync::LazyLock};

use glam::Vec3;
use serde::{Deserialize, Serialize};

/// An action that a key or button triggers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Action {
    /// Changes the render or its display for all viewers.
    Render(Change),
    /// Affects one viewer only: changes its display, saves the picture, or ends the viewer.
    Screen(ScreenAction),
    /// Moves the camera in this direction until the key is released, in fly mode only.
    Fly(FlyDirection),
}

impl Action {
    /// Returns whether the action can end a viewer.
    pub(crate) fn may_quit(self) -> bool {
        matches!(self, Self::Screen(ScreenAction::Quit))
    }
}

/// A direction of movement in fly mode, relative to the camera.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FlyDirection {
    Forward,
    Back,
    Left,
    Right,
    Up,
    Down,
}

impl FlyDirection {
    /// Returns the unit vector of this direction in camera space: x to the right, y up, z forward.
    pub(crate) fn direction(self) -> Vec3 {
        match self {
            FlyDirection::Forward => Vec3::Z,
            FlyDirection::Back => Vec3::NEG_Z,
            FlyDirection::Left => Vec3::NEG_X,
            FlyDirection::Right => Vec3::X,
            FlyDirection::Up => Vec3::Y,
            FlyDirection::Down => Vec3::NEG_Y,
        }
    }
}

/// Factor by which holding Shift increases the speed of fly mode.
pub(crate) const FAST: f32 = 4.0;

/// An action on the render that all viewers share. It changes the camera, an edited part, the compaction strategy, the
/// progress or the display, or prints or saves the camera and the edited parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Change {
    TurnLeft,
    TurnRight,
    TurnUp,
    TurnDown,
    PanLeft,
    PanRight,
    PanUp,
    PanDown,
    Nearer,
    Farther,
    Fly,
    Home,
    NextCamera,
    /// Plays the animations of the scene's file in a loop, or pauses them.
    PlayAnimation,
    /// Shows the next animation of the scene's file, or after the last one all of them.
    NextAnimation,
    /// Pauses the animations, and shows them 1/24 s earlier.
    PreviousAnimationFrame,
    /// Pauses the animations, and shows them 1/24 s later.
    NextAnimationFrame,
    Undo,
    Redo,
    PrintCamera,
    SaveCamera,
    NextStrategy,
    /// Compares all compaction strategies, or ends that.
    CompareStrategies,
    Pause,
    Restart,
    /// Doubles the number of samples per pixel.
    MoreSamples,
    Brighter,
    Darker,
    NextTone,
    NextDebugView,
    Picture,
    /// Renders the whole picture again instead of a region.
    WholePicture,
    /// Displays the error map of the picture and the image of `--compare`, or the picture again.
    ErrorMap,
    NextPart,
    PreviousPart,
    NextProperty,
    Increase,
    Decrease,
    Denoise,
    /// Displays the picture denoised by Open Image Denoise, or the picture again.
    Oidn,
}

/// An action that affects one viewer only. It changes what the viewer displays, such as the statistics, a pixel's
/// description or the list of keys. It can also save the picture, or end the viewer (window only).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ScreenAction {
    Overlay,
    Units,
    /// Renders the picture in the size of its region of the window or, if it has that size, in the scene's size (window
    /// only).
    FitWindow,
    /// Describes the pixel under the pointer from now on, or ends that.
    Pixel,
    /// Shows or hides the panel of the selected part's properties.
    Properties,
    /// Shows the whole picture again after it was magnified. On the page, magnifies the middle if nothing is magnified.
    WholePicture,
    /// Fills the screen with the window, or ends that (window only).
    FullScreen,
    /// Enlarges text (window only).
    LargerText,
    /// Makes text smaller (window only).
    SmallerText,
    /// Gives text its default size (window only).
    DefaultText,
    /// Selects the region to render by the next drag, or ends the selection.
    Region,
    /// Shows the picture and the image of `--compare` side by side, with a line to drag between them, or ends that.
    Wipe,
    Save,
    /// Asks for a scene, a model or an image, and opens it (window only).
    Open,
    /// Asks for a name and format, and saves the picture, the film or the scene.
    SaveAs,
    /// Like [`SaveAs`](Self::SaveAs), but proposes the name of a new scene file. No key does it.
    SaveSceneAs,
    /// Writes the figures to a file in the format of its name, CSV or JSON (window only).
    ExportFigures,
    /// Copies the figures to the clipboard as CSV (window only).
    CopyFigures,
    /// Copies the displayed figures to the clipboard as JSON (window only).
    CopyFiguresAsJson,
    Keys,
    /// Closes the topmost panel.
    Close,
    Quit,
}

/// What the help of window and page lists.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'static"))]
pub(crate) struct Help {
    pub(crate) controls: Vec<Control>,
    /// Touch gestures on the page, and their effects.
    pub(crate) gestures: Vec<(&'static str, &'static str)>,
    pub(crate) words: Vec<(&'static str, &'static str)>,
}

/// An entry of the list of controls: a key or gesture, and its effect.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Control {
    /// Heading of the group that begins with this control; `None` if the control belongs to the group before.
    pub(crate) heading: Option<&'static str>,
    /// Keys and mouse gestures as text for the help, such as "drag, arrows".
    pub(crate) label: &'static str,
    /// Effect as text for the help.
    pub(crate) description: &'static str,
    /// Label of the page's button that triggers the action of the first of `keys`; `None` if the page has no such
    /// button.
    pub(crate) button: Option<&'static str>,
    /// Keys and their actions; empty for mouse gestures alone. Keys are DOM `KeyboardEvent.key` names; a named key held
    /// with Shift has the prefix `Shift+`.
    #[serde(default)]
    pub(crate) keys: Vec<(&'static str, Action)>,
    /// Whether the page does not offer the control; the window offers all.
    #[serde(default, skip_serializing)]
    pub(crate) window_only: bool,
}

pub(crate) static HELP: LazyLock<Help> = LazyLock::new(|| {
    serde_json::from_str(include_str!("help.json")).expect("the help in the program is valid")
});

/// Returns the action of a pressed key, named as in [`Control::keys`]; `None` if the key has none. In fly mode, keys of
/// [`Action::Fly`] take precedence and also match in upper case.
pub(crate) fn action(pressed: &str, flying: bool) -> Option<Action> {
    let keys = || HELP.controls.iter().flat_map(|control| &control.keys);
    let flies = |action: Action| matches!(action, Action::Fly(_));
    // Held with Shift, these keys arrive as capital letters and move faster.
    let way = keys().find(|(key, action)| flies(*action) && key.eq_ignore_ascii_case(pressed));
    let other = || keys().find(|(key, action)| !flies(*action) && *key == pressed);
    let found = way.filter(|_| flying).or_else(other);
    found.map(|(_, action)| *action)
}

/// Returns the effect of an action, with its keys, for a tooltip: `undo the last move or edit (u, Ctrl z)`.
pub(crate) fn tooltip(action: Action) -> String {
    let action = match action {
        Action::Screen(ScreenAction::SaveSceneAs) => Action::Screen(ScreenAction::SaveAs),
        action => action,
    };
    let is_its = |control: &&Control| control.keys.iter().any(|(_, other)| *other == action);
    let found = HELP.controls.iter().find(is_its);
    found.map_or_else(String::new, |of| {
        format!("{} ({})", of.description, of.label)
    })
}

/// Returns the first hints, which a window displays until the first input: how to move, how to compare strategies, where
/// help and editor are, and how to play animations if there are any. They fit into a window of 320 pixels.
pub(crate) fn hints(has_animations: bool) -> impl Iterator<Item = &'static str> {
    let hints = [
        "drag orbits, wheel zooms, Shift+drag pans",
        "c compares strategies of compaction",
        "? lists keys, l edits, h moves figures",
    ];
    let animated = has_animations.then_some("P plays and pauses the animation");
    hints.into_iter().chain(animated)
}

/// A line of the list of controls, or a word of the figures.
pub struct ControlHelp {
    /// Heading of the group that begins with this line; `None` if the line belongs to the group before.
    pub heading: Option<&'static str>,
    /// Keys and mouse gestures, such as "drag, arrows"; or a word.
    pub keys: &'static str,
    /// Effect of the keys and gestures, or meaning of the word.
    pub effect: &'static str,
}

/// Returns the keys and the effect of every control as text, in the order in which the help lists them. The last group
/// explains words of the figures instead.
pub fn list() -> impl Iterator<Item = ControlHelp> {
    let line = |(heading, (keys, effect))| ControlHelp {
        heading,
        keys,
        effect,
    };
    let controls = HELP.controls.iter();
    let controls = controls.map(|of| (of.heading, (of.label, of.description)));
    let headings = iter::once(Some("Words of the figures")).chain(iter::repeat(None));
    let words = headings.zip(HELP.words.iter().copied());
    controls.chain(words).map(line)
}
