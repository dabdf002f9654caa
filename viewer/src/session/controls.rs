//! The table of keyboard and mouse controls, which the window and the web page share.

use glam::Vec3;
use serde::{Deserialize, Serialize};

/// An action that a key or button triggers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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
    /// Ends a comparison of compaction strategies; does nothing without one. No key does it.
    StopComparison,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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

/// An entry of the list of controls: a key or gesture, and its effect.
#[derive(Serialize)]
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
    pub(crate) keys: &'static [(&'static str, Action)],
    /// Whether the web page offers the control; the window offers all.
    #[serde(skip)]
    pub(crate) on_page: bool,
}

/// Creates a control without a button, which is available on the page.
const fn control(
    label: &'static str,
    description: &'static str,
    keys: &'static [(&'static str, Action)],
) -> Control {
    Control {
        heading: None,
        label,
        description,
        button: None,
        keys,
        on_page: true,
    }
}

impl Control {
    /// Returns the control with a button of this label on the page.
    const fn button(self, name: &'static str) -> Self {
        Self {
            button: Some(name),
            ..self
        }
    }

    /// Returns the control as the first of a group.
    const fn heading(self, heading: &'static str) -> Self {
        Self {
            heading: Some(heading),
            ..self
        }
    }

    /// Returns the control as one that the page does not offer.
    const fn window_only(self) -> Self {
        Self {
            on_page: false,
            ..self
        }
    }
}

use Action::{Fly, Render, Screen};

/// All controls, in the order in which the help lists them.
pub(crate) static CONTROLS: &[Control] = &[
    control(
        "drag, arrows",
        "orbit about the target",
        &[
            ("ArrowLeft", Render(Change::TurnLeft)),
            ("ArrowRight", Render(Change::TurnRight)),
            ("ArrowUp", Render(Change::TurnUp)),
            ("ArrowDown", Render(Change::TurnDown)),
        ],
    )
    .heading("Move"),
    control(
        "Shift + those",
        "pan (or right-drag)",
        &[
            ("Shift+ArrowLeft", Render(Change::PanLeft)),
            ("Shift+ArrowRight", Render(Change::PanRight)),
            ("Shift+ArrowUp", Render(Change::PanUp)),
            ("Shift+ArrowDown", Render(Change::PanDown)),
        ],
    ),
    control(
        "wheel, PgUp/Dn",
        "nearer and farther",
        &[
            ("PageUp", Render(Change::Nearer)),
            ("PageDown", Render(Change::Farther)),
        ],
    ),
    control("g", "fly, or orbit again", &[("g", Render(Change::Fly))]).button("Fly"),
    control(
        "w a s d, r f",
        "fly forward, sideways, up and down; faster with Shift",
        &[
            ("w", Fly(FlyDirection::Forward)),
            ("s", Fly(FlyDirection::Back)),
            ("a", Fly(FlyDirection::Left)),
            ("d", Fly(FlyDirection::Right)),
            ("r", Fly(FlyDirection::Up)),
            ("f", Fly(FlyDirection::Down)),
        ],
    ),
    control(
        "0, Home",
        "the scene's own camera",
        &[("0", Render(Change::Home)), ("Home", Render(Change::Home))],
    )
    .button("Home"),
    control(
        "C",
        "next camera of the model's file",
        &[("C", Render(Change::NextCamera))],
    )
    .button("Camera"),
    control("Ctrl + click", "focus there (camera with a lens)", &[]),
    control(
        "P, < and >",
        "play or pause the model's animation; < and >: 1/24 s back, forward (also , and .)",
        &[
            ("P", Render(Change::PlayAnimation)),
            ("<", Render(Change::PreviousAnimationFrame)),
            (",", Render(Change::PreviousAnimationFrame)),
            (">", Render(Change::NextAnimationFrame)),
            (".", Render(Change::NextAnimationFrame)),
        ],
    )
    .heading("Animation"),
    control(
        "j",
        "next animation of the model's file, or all of them",
        &[("j", Render(Change::NextAnimation))],
    ),
    control(
        "click",
        "show one path of the pixel, and select its material to edit; again: hide the path",
        &[],
    )
    .heading("Edit"),
    control(
        "l",
        "panel to edit materials, lights, sky and lens",
        &[("l", Screen(ScreenAction::Properties))],
    ),
    control(
        "m, M",
        "next material, light, sky or camera to edit; M: previous",
        &[
            ("m", Render(Change::NextPart)),
            ("M", Render(Change::PreviousPart)),
        ],
    ),
    control(
        "p, [ and ]",
        "next property of it, decrease, increase",
        &[
            ("p", Render(Change::NextProperty)),
            ("[", Render(Change::Decrease)),
            ("]", Render(Change::Increase)),
        ],
    ),
    control(
        "u, Ctrl z",
        "undo the last move or edit",
        &[
            ("u", Render(Change::Undo)),
            ("Ctrl+z", Render(Change::Undo)),
        ],
    )
    .button("Undo"),
    control(
        "Ctrl y, Ctrl Z",
        "redo it",
        &[
            ("Ctrl+y", Render(Change::Redo)),
            ("Ctrl+Z", Render(Change::Redo)),
        ],
    )
    .button("Redo"),
    control(
        "Ctrl o",
        "open a scene or model, or an image to compare with (or drop it here)",
        &[("Ctrl+o", Screen(ScreenAction::Open))],
    )
    .window_only()
    .heading("Files"),
    control(
        "s",
        "save the picture as PNG",
        &[("s", Screen(ScreenAction::Save))],
    )
    .button("Save"),
    control(
        "S",
        "save as: picture (PNG), light with all layers (EXR), or scene",
        &[
            ("S", Screen(ScreenAction::SaveAs)),
            ("Ctrl+s", Screen(ScreenAction::SaveAs)),
        ],
    )
    .button("Save as"),
    control(
        "K",
        "save camera and edits to the scene file",
        &[("K", Render(Change::SaveCamera))],
    )
    .button("Save scene"),
    control(
        "k",
        "print camera and edits as scene text",
        &[("k", Render(Change::PrintCamera))],
    ),
    control(
        "Ctrl + wheel, Z",
        "magnify down to single pixels (Ctrl + drag: move); Z: whole picture",
        &[("Z", Screen(ScreenAction::WholePicture))],
    )
    .button("Magnify")
    .heading("Picture"),
    control(
        "e, +",
        "brighter, half a stop",
        &[
            ("e", Render(Change::Brighter)),
            ("+", Render(Change::Brighter)),
            ("=", Render(Change::Brighter)),
        ],
    )
    .button("Brighter"),
    control(
        "E, -",
        "darker, half a stop",
        &[("E", Render(Change::Darker)), ("-", Render(Change::Darker))],
    )
    .button("Darker"),
    control("t", "next tone curve", &[("t", Render(Change::NextTone))]),
    control(
        "v, V",
        "next debug view; V: back to the picture",
        &[
            ("v", Render(Change::NextDebugView)),
            ("V", Render(Change::Picture)),
        ],
    )
    .button("View"),
    control(
        "n, N",
        "denoised preview, which is not saved; N: by Open Image Denoise, if installed",
        &[("n", Render(Change::Denoise)), ("N", Render(Change::Oidn))],
    )
    .button("Denoise"),
    control(
        "x, X",
        "compare with the image of --compare: side by side; X: map of the visible error",
        &[
            ("x", Screen(ScreenAction::Wipe)),
            ("X", Render(Change::ErrorMap)),
        ],
    )
    .button("Compare"),
    control("Space", "pause, resume", &[(" ", Render(Change::Pause))])
        .button("Pause")
        .heading("Render"),
    control("r", "restart", &[("r", Render(Change::Restart))]).button("Restart"),
    control(
        "b",
        "more samples: twice as many per pixel",
        &[("b", Render(Change::MoreSamples))],
    )
    .button("More samples"),
    control(
        "o, O",
        "render only a region: drag over it; O: the whole picture",
        &[
            ("o", Screen(ScreenAction::Region)),
            ("O", Render(Change::WholePicture)),
        ],
    )
    .button("Region"),
    control(
        "y",
        "next compaction strategy, which changes the speed only",
        &[("y", Render(Change::NextStrategy))],
    ),
    control(
        "c",
        "compare the speed of all compaction strategies; again: stop",
        &[("c", Render(Change::CompareStrategies))],
    )
    .button("Compare strategies")
    .heading("Measure"),
    control(
        "i",
        "the pixel under the pointer: value, samples, error, material",
        &[("i", Screen(ScreenAction::Pixel))],
    )
    .button("Pixel"),
    control(
        "h",
        "figures: panel, over the picture, short form, off",
        &[("h", Screen(ScreenAction::Overlay))],
    ),
    control(
        "U",
        "units of the figures: per sample, or total",
        &[("U", Screen(ScreenAction::Units))],
    )
    .button("Units"),
    control(
        "F, Ctrl c",
        "export the figures as CSV or JSON; Ctrl c: copy them",
        &[
            ("F", Screen(ScreenAction::ExportFigures)),
            ("Ctrl+c", Screen(ScreenAction::CopyFigures)),
            ("Ctrl+C", Screen(ScreenAction::CopyFiguresAsJson)),
        ],
    )
    .button("Export"),
    control(
        "?, F1",
        "show or hide this list of keys",
        &[
            ("?", Screen(ScreenAction::Keys)),
            ("F1", Screen(ScreenAction::Keys)),
        ],
    )
    .button("Help")
    .heading("Help and window"),
    control(
        "z",
        "render in the window's or the scene's size",
        &[("z", Screen(ScreenAction::FitWindow))],
    )
    .window_only(),
    control(
        "F11",
        "full screen",
        &[("F11", Screen(ScreenAction::FullScreen))],
    )
    .window_only(),
    control(
        "Ctrl + and -",
        "larger and smaller text; Ctrl 0: default size",
        &[
            ("Ctrl++", Screen(ScreenAction::LargerText)),
            ("Ctrl+=", Screen(ScreenAction::LargerText)),
            ("Ctrl+-", Screen(ScreenAction::SmallerText)),
            ("Ctrl+0", Screen(ScreenAction::DefaultText)),
        ],
    )
    .window_only(),
    control(
        "q, Escape",
        "quit; Escape closes an open panel or a message",
        &[
            ("q", Screen(ScreenAction::Quit)),
            ("Escape", Screen(ScreenAction::Close)),
        ],
    )
    .window_only(),
];

/// Returns the action of a pressed key, named as in [`Control::keys`]; `None` if the key has none. In fly mode, keys of
/// [`Action::Fly`] take precedence and also match in upper case.
pub(crate) fn action(pressed: &str, flying: bool) -> Option<Action> {
    let keys = || CONTROLS.iter().flat_map(|control| control.keys);
    let flies = |action: Action| matches!(action, Fly(_));
    // Held with Shift, these keys arrive as capital letters and move faster.
    let way = keys().find(|(key, action)| flies(*action) && key.eq_ignore_ascii_case(pressed));
    let other = || keys().find(|(key, action)| !flies(*action) && *key == pressed);
    let found = way.filter(|_| flying).or_else(other);
    found.map(|(_, action)| *action)
}
