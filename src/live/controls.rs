//! Which key does what, in the window and on the page.

use glam::Vec3;
use serde::{Deserialize, Serialize};

/// What a key or a button asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Action {
    /// Of the render, which all who look share.
    Render(Change),
    /// Of what one of them sees.
    Screen(Local),
    /// Of where the camera is, for as long as a key is held.
    Fly(Way),
}

/// Where a camera flies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Way {
    Forward,
    Back,
    Left,
    Right,
    Up,
    Down,
}

impl Way {
    /// To the right, upwards and ahead.
    pub(crate) fn direction(self) -> Vec3 {
        match self {
            Way::Forward => Vec3::Z,
            Way::Back => Vec3::NEG_Z,
            Way::Left => Vec3::NEG_X,
            Way::Right => Vec3::X,
            Way::Up => Vec3::Y,
            Way::Down => Vec3::NEG_Y,
        }
    }
}

/// How much faster it flies with Shift.
pub(crate) const FAST: f32 = 4.0;

/// What is changed of the render.
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
    Undo,
    TellCamera,
    KeepCamera,
    NextStrategy,
    Pause,
    Restart,
    Brighter,
    Darker,
    NextTone,
    NextSight,
    Light,
    NextMaterial,
    LastMaterial,
    NextKnob,
    More,
    Less,
    Denoise,
}

/// What is changed of one screen, or done with what it shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Local {
    Overlay,
    Save,
    Keys,
    Quit,
}

/// A line of the list of controls.
#[derive(Serialize)]
pub(crate) struct Control {
    /// As the list names it.
    pub(crate) label: &'static str,
    pub(crate) what: &'static str,
    /// What the page's button is called that does what the first key does.
    pub(crate) button: Option<&'static str>,
    /// By the names of the DOM's `KeyboardEvent.key`, those of more than one letter after `Shift+` where it is held.
    pub(crate) keys: &'static [(&'static str, Action)],
    /// Whether a page in a browser has it.
    #[serde(skip)]
    pub(crate) on_page: bool,
}

const fn control(
    label: &'static str,
    what: &'static str,
    keys: &'static [(&'static str, Action)],
) -> Control {
    Control {
        label,
        what,
        button: None,
        keys,
        on_page: true,
    }
}

impl Control {
    const fn button(self, name: &'static str) -> Self {
        Self {
            button: Some(name),
            ..self
        }
    }
}

use Action::{Fly, Render, Screen};

/// All there is to do, in the order of the list.
pub(crate) static CONTROLS: [Control; 25] = [
    control(
        "drag, arrows",
        "orbit about the target",
        &[
            ("ArrowLeft", Render(Change::TurnLeft)),
            ("ArrowRight", Render(Change::TurnRight)),
            ("ArrowUp", Render(Change::TurnUp)),
            ("ArrowDown", Render(Change::TurnDown)),
        ],
    ),
    control(
        "Shift + those",
        "move the target: also by the right button",
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
        "fly on, aside, up and down; faster with Shift",
        &[
            ("w", Fly(Way::Forward)),
            ("s", Fly(Way::Back)),
            ("a", Fly(Way::Left)),
            ("d", Fly(Way::Right)),
            ("r", Fly(Way::Up)),
            ("f", Fly(Way::Down)),
        ],
    ),
    control(
        "0, Home",
        "the scene's own camera",
        &[("0", Render(Change::Home)), ("Home", Render(Change::Home))],
    )
    .button("Home"),
    control(
        "u",
        "undo the last move, or change of a material",
        &[("u", Render(Change::Undo))],
    )
    .button("Undo"),
    control(
        "m, M",
        "next material, the one before",
        &[
            ("m", Render(Change::NextMaterial)),
            ("M", Render(Change::LastMaterial)),
        ],
    ),
    control(
        "p, [ and ]",
        "its next number, less and more of it",
        &[
            ("p", Render(Change::NextKnob)),
            ("[", Render(Change::Less)),
            ("]", Render(Change::More)),
        ],
    ),
    control(
        "k",
        "tell camera and changed materials, as a scene has them",
        &[("k", Render(Change::TellCamera))],
    ),
    control(
        "K",
        "keep them in the scene's file",
        &[("K", Render(Change::KeepCamera))],
    ),
    control("Ctrl + click", "focus there, through a lens", &[]),
    control("click", "one path of a pixel, bounce by bounce", &[]),
    control(
        "h",
        "statistics: all, a few, none",
        &[("h", Screen(Local::Overlay))],
    ),
    control(
        "c",
        "next strategy of the sieve",
        &[("c", Render(Change::NextStrategy))],
    ),
    control("Space", "pause and go on", &[(" ", Render(Change::Pause))]).button("Pause"),
    control("r", "restart", &[("r", Render(Change::Restart))]).button("Restart"),
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
        "next view in false colours, the light",
        &[
            ("v", Render(Change::NextSight)),
            ("V", Render(Change::Light)),
        ],
    )
    .button("View"),
    control(
        "n",
        "denoised preview; what is saved is not",
        &[("n", Render(Change::Denoise))],
    )
    .button("Denoise"),
    control(
        "s",
        "save the picture as PNG",
        &[("s", Screen(Local::Save))],
    )
    .button("Save"),
    control(
        "?, F1",
        "show these keys, and hide them",
        &[("?", Screen(Local::Keys)), ("F1", Screen(Local::Keys))],
    )
    .button("Keys"),
    Control {
        on_page: false,
        ..control(
            "q, Escape",
            "quit",
            &[("q", Screen(Local::Quit)), ("Escape", Screen(Local::Quit))],
        )
    },
];

/// What a key press asks for, if anything; some keys mean something else to a camera that flies.
pub(crate) fn action(pressed: &str, flying: bool) -> Option<Action> {
    let keys = || CONTROLS.iter().flat_map(|control| control.keys);
    let flies = |action: Action| matches!(action, Fly(_));
    // Shift makes it faster, and capital letters of the keys.
    let way = keys().find(|(key, action)| flies(*action) && key.eq_ignore_ascii_case(pressed));
    let other = || keys().find(|(key, action)| !flies(*action) && *key == pressed);
    let found = way.filter(|_| flying).or_else(other);
    found.map(|(_, action)| *action)
}

/// Every key of the window, and the mouse, each with what it does.
pub fn list() -> impl Iterator<Item = (&'static str, &'static str)> {
    CONTROLS.iter().map(|control| (control.label, control.what))
}
