//! Which key does what, in the window and on the page.

use serde::{Deserialize, Serialize};

/// What a key or a button asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Action {
    /// Of the render, which all who look share.
    Render(Change),
    /// Of what one of them sees.
    Screen(Local),
}

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

use Action::{Render, Screen};

/// All there is to do, in the order of the list.
pub(crate) static CONTROLS: [Control; 18] = [
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
    control(
        "0, Home",
        "the scene's own camera",
        &[("0", Render(Change::Home)), ("Home", Render(Change::Home))],
    )
    .button("Home"),
    control(
        "u",
        "undo the last move of the camera",
        &[("u", Render(Change::Undo))],
    )
    .button("Undo"),
    control(
        "k",
        "tell the camera, as a scene has it",
        &[("k", Render(Change::TellCamera))],
    ),
    control(
        "K",
        "keep it in the scene's file",
        &[("K", Render(Change::KeepCamera))],
    ),
    Control {
        on_page: false,
        ..control("click", "one path of a pixel, bounce by bounce", &[])
    },
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
        "s",
        "save the picture as PNG",
        &[("s", Screen(Local::Save))],
    )
    .button("Save"),
    control(
        "?, F1",
        "hide or show these keys",
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

/// What a key press asks for, if anything.
pub(crate) fn action(pressed: &str) -> Option<Action> {
    let mut keys = CONTROLS.iter().flat_map(|control| control.keys);
    keys.find(|(key, _)| *key == pressed)
        .map(|(_, action)| *action)
}

/// Every key of the window, and the mouse, each with what it does.
pub fn list() -> impl Iterator<Item = (&'static str, &'static str)> {
    CONTROLS.iter().map(|control| (control.label, control.what))
}
