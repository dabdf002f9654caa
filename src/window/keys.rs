//! Which key does what.

use winit::keyboard::{Key, NamedKey};

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Overlay,
    NextStrategy,
    Pause,
    Restart,
    Brighter,
    Darker,
    NextTone,
    Save,
    Home,
    Keys,
    Quit,
}

struct Binding {
    /// As the list of keys names them.
    label: &'static str,
    what: &'static str,
    keys: &'static [(Key<&'static str>, Action)],
}

const fn letter(letter: &'static str, action: Action) -> (Key<&'static str>, Action) {
    (Key::Character(letter), action)
}

const fn named(key: NamedKey, action: Action) -> (Key<&'static str>, Action) {
    (Key::Named(key), action)
}

static BINDINGS: [Binding; 13] = [
    Binding {
        label: "drag",
        what: "orbit about the target",
        keys: &[],
    },
    Binding {
        label: "wheel",
        what: "nearer and farther",
        keys: &[],
    },
    Binding {
        label: "0, Home",
        what: "the scene's own camera",
        keys: &[
            letter("0", Action::Home),
            named(NamedKey::Home, Action::Home),
        ],
    },
    Binding {
        label: "h",
        what: "hide or show the statistics",
        keys: &[letter("h", Action::Overlay)],
    },
    Binding {
        label: "c",
        what: "next strategy of the sieve",
        keys: &[letter("c", Action::NextStrategy)],
    },
    Binding {
        label: "Space",
        what: "pause and go on",
        keys: &[named(NamedKey::Space, Action::Pause)],
    },
    Binding {
        label: "r",
        what: "restart",
        keys: &[letter("r", Action::Restart)],
    },
    Binding {
        label: "e, +",
        what: "brighter, half a stop",
        keys: &[
            letter("e", Action::Brighter),
            letter("+", Action::Brighter),
            letter("=", Action::Brighter),
        ],
    },
    Binding {
        label: "E, -",
        what: "darker, half a stop",
        keys: &[letter("E", Action::Darker), letter("-", Action::Darker)],
    },
    Binding {
        label: "t",
        what: "next tone curve",
        keys: &[letter("t", Action::NextTone)],
    },
    Binding {
        label: "s",
        what: "save the picture as PNG",
        keys: &[letter("s", Action::Save)],
    },
    Binding {
        label: "?, F1",
        what: "hide or show these keys",
        keys: &[letter("?", Action::Keys), named(NamedKey::F1, Action::Keys)],
    },
    Binding {
        label: "q, Escape",
        what: "quit",
        keys: &[
            letter("q", Action::Quit),
            named(NamedKey::Escape, Action::Quit),
        ],
    },
];

/// What a key press asks for, if anything.
pub(super) fn action(pressed: &Key) -> Option<Action> {
    let pressed = pressed.as_ref();
    let keys = BINDINGS.iter().flat_map(|binding| binding.keys);
    keys.into_iter()
        .find(|(key, _)| *key == pressed)
        .map(|(_, action)| *action)
}

/// Every key of the window, and the mouse, each with what it does.
pub fn list() -> impl Iterator<Item = (&'static str, &'static str)> {
    BINDINGS.iter().map(|binding| (binding.label, binding.what))
}
