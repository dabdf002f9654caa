//! The keyboard: which keys are held, and whether a pressed key belongs to a widget or to the window.

use std::time::Instant;

use egui::text_selection::LabelSelectionState;
use glam::Vec3;
use winit::{
    event::WindowEvent,
    keyboard::{Key, ModifiersState, NamedKey, PhysicalKey},
};

use super::Viewer;
use crate::session::{self, Action, FlyDirection};

/// The keys that are held.
#[derive(Default)]
pub(super) struct Keyboard {
    modifiers: ModifiersState,
    /// Keys that were already held when the window got the keyboard focus, until they are released.
    ignored: Vec<PhysicalKey>,
    /// Whether the window got the keyboard focus with the events that are being handled.
    pub(super) has_new_focus: bool,
    /// Directions of the fly keys that are held, each with the time up to which its movement has been applied.
    directions: Vec<(FlyDirection, Instant)>,
}

impl Keyboard {
    /// Begins a movement in fly mode. Ignores the repeat events of a held key.
    pub(super) fn fly(&mut self, direction: FlyDirection) {
        let mut known = self.directions.iter();
        if known.all(|(down, _)| *down != direction) {
            self.directions.push((direction, Instant::now()));
        }
    }

    pub(super) fn is_flying(&self) -> bool {
        !self.directions.is_empty()
    }

    /// Returns the movement of the camera by the held fly keys up to the time `now`, each from the last call or, if that
    /// is later, the press of its key; `None` without movement. Shift makes it faster.
    pub(super) fn flown(&mut self, now: Instant) -> Option<Vec3> {
        let speed = match self.modifiers.shift_key() {
            true => session::FAST,
            false => 1.0,
        };
        let mut by = Vec3::ZERO;
        for (direction, since) in &mut self.directions {
            by += direction.direction() * (now - *since).as_secs_f32() * speed;
            *since = now;
        }
        (by != Vec3::ZERO).then_some(by)
    }
}

/// Who a pressed key belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Receiver {
    Widgets,
    Window,
    Nobody,
}

impl Viewer {
    /// Records which modifier keys are held.
    pub(in crate::window) fn set_modifiers(&mut self, modifiers: ModifiersState) {
        self.keyboard.modifiers = modifiers;
    }

    /// Ignores a key that is held, and its repetitions, until it is released.
    pub(in crate::window) fn ignore_until_released(&mut self, key: PhysicalKey) {
        self.keyboard.ignored.push(key);
    }

    /// Handles the loss of the keyboard focus, which counts as the release of all keys.
    pub(in crate::window) fn release_all(&mut self) {
        self.keyboard.ignored.clear();
        self.keyboard.directions.clear();
    }

    /// Handles the event of a key that was pressed, repeated or released.
    pub(in crate::window) fn handle_key(&mut self, event: &WindowEvent) {
        let WindowEvent::KeyboardInput { event: key, .. } = event else {
            return;
        };
        let is_pressed = key.state.is_pressed();
        if !is_pressed {
            let released = key.physical_key;
            self.keyboard.ignored.retain(|ignored| *ignored != released);
        }
        if self.keyboard.ignored.contains(&key.physical_key) {
            return;
        }
        let modifiers = self.keyboard.modifiers;
        let chord = chord(
            &key.logical_key,
            modifiers.shift_key(),
            modifiers.control_key(),
        );
        if !is_pressed {
            if let Some(Action::Fly(direction)) =
                chord.and_then(|chord| session::action(&chord, true))
            {
                self.keyboard
                    .directions
                    .retain(|(down, _)| *down != direction);
            }
            self.screen.pass_to_widgets(event);
            return;
        }
        match self.receiver(&key.logical_key) {
            Receiver::Nobody => {}
            Receiver::Widgets => {
                self.dismiss_hints();
                self.screen.pass_to_widgets(event);
                // Later keys may belong to another widget.
                self.run_widgets();
            }
            Receiver::Window => self.press(chord, key.repeat),
        }
    }

    /// Executes the action of a key, named as in the table of controls.
    fn press(&mut self, chord: Option<String>, is_repeated: bool) {
        let Some(chord) = chord else {
            return self.dismiss_hints();
        };
        if self.view.keys.scroll(&chord) {
            return self.screen.refresh_soon();
        }
        let action = session::action(&chord, self.session.flying);
        // A held key may not quit, because users can be too late to release it. Nor may one that comes together with the
        // focus: it may have been held for another window, and released before this one could notice that it was.
        let may_quit = !is_repeated && !self.keyboard.has_new_focus;
        match action.filter(|action| may_quit || !action.may_quit()) {
            Some(action) => self.act(action),
            None => self.dismiss_hints(),
        }
    }

    /// Returns who a pressed key belongs to.
    fn receiver(&self, key: &Key) -> Receiver {
        let context = self.screen.context();
        let is_navigation = matches!(
            key,
            Key::Named(
                NamedKey::Tab
                    | NamedKey::Enter
                    | NamedKey::Space
                    | NamedKey::Escape
                    | NamedKey::ArrowLeft
                    | NamedKey::ArrowRight
                    | NamedKey::ArrowUp
                    | NamedKey::ArrowDown
            )
        );
        if self.view.question.is_some() {
            return match key {
                Key::Named(NamedKey::Escape) => Receiver::Window,
                Key::Character(letter) if letter == "q" => Receiver::Window,
                _ if is_navigation => Receiver::Widgets,
                _ => Receiver::Nobody,
            };
        }
        let focused = context.memory(|memory| memory.focused());
        let is_on_widget = focused.is_some_and(|focused| focused != egui::Id::new("picture"));
        let is_busy = is_on_widget || egui::Popup::is_any_open(context);
        let is_typing = context.text_edit_focused() || self.view.prompt.is_some();
        let is_copy = matches!(key, Key::Character(letter) if letter == "c")
            && self.keyboard.modifiers.control_key()
            && context
                .with_plugin(|labels: &mut LabelSelectionState| labels.has_selection())
                .unwrap_or_default();
        if is_typing
            || is_copy
            || is_navigation && is_busy
            || matches!(key, Key::Named(NamedKey::Tab))
        {
            Receiver::Widgets
        } else {
            Receiver::Window
        }
    }
}

/// Returns a key by its name in the table of controls, with the prefix `Shift+` for a named key if `shift`, and `Ctrl+`
/// for a key of text if `ctrl`. A key of text, such as a letter or Space, is named by its text. Returns `None` for a key
/// without a name.
fn chord(key: &Key, shift: bool, ctrl: bool) -> Option<String> {
    match key {
        Key::Character(letter) if ctrl => Some(format!("Ctrl+{letter}")),
        Key::Character(letter) => Some(letter.to_string()),
        Key::Named(NamedKey::Space) => Some(" ".to_owned()),
        // The variants of winit are named like the keys of browsers.
        Key::Named(name) if shift => Some(format!("Shift+{name:?}")),
        Key::Named(name) => Some(format!("{name:?}")),
        Key::Unidentified(_) | Key::Dead(_) => None,
    }
}
