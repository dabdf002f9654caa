//! Input on the panel of properties.

use winit::{dpi::PhysicalPosition, keyboard::Key};

use super::Viewer;
use crate::window::properties::Effect;

impl Viewer {
    /// Passes a press or release of the left button to the panel of properties. Returns whether it belongs to the
    /// panel: a press on it, or a release that ends the drag of a slider. A press elsewhere sets the typed number.
    pub(super) fn press_properties(&mut self, pressed: bool) -> bool {
        let at = (self.cursor.x, self.cursor.y);
        if !pressed {
            let was_dragging = self.view.properties.is_dragging();
            let effect = self.view.properties.release(&mut self.session);
            if was_dragging {
                self.show_effect(effect);
            }
            return was_dragging;
        }
        if !self.view.properties.contains(at) {
            // As in other programs, a click elsewhere sets the typed number.
            if self.view.properties.is_open() {
                let effect = self.view.properties.leave(&mut self.session);
                self.show_effect(effect);
            }
            return false;
        }
        let effect = self.view.properties.press(at, &mut self.session);
        self.show_effect(effect);
        true
    }

    /// Passes a movement of the pointer to the slider that it holds. Returns `false` if it holds none.
    pub(super) fn drag_property(&mut self, to: PhysicalPosition<f64>) -> bool {
        if !self.view.properties.is_dragging() {
            return false;
        }
        self.cursor = to;
        let effect = self.view.properties.drag((to.x, to.y), &mut self.session);
        self.show_effect(effect);
        true
    }

    /// Passes notches of the wheel to the panel of properties. Returns whether the pointer is on the panel.
    pub(super) fn scroll_properties(&mut self, notches: f32) -> bool {
        let at = (self.cursor.x, self.cursor.y);
        let is_on_panel = self.view.properties.contains(at);
        if is_on_panel {
            let effect = self.view.properties.scroll(at, notches, &mut self.session);
            self.show_effect(effect);
        }
        is_on_panel
    }

    /// Passes a pressed key to the panel of properties. Returns `false` if no number is being typed there.
    pub(in crate::window) fn type_key(&mut self, key: &Key) -> bool {
        let is_typing = self.view.properties.is_typing();
        if is_typing {
            let effect = self.view.properties.type_key(key, &mut self.session);
            self.show_effect(effect);
        }
        is_typing
    }

    /// Displays the effect of an input on the panel, and executes the action of a button.
    fn show_effect(&mut self, effect: Effect) {
        self.view.withdraw_question();
        self.title_time = None;
        self.view.hide_hints();
        self.view.forget_expired();
        if let Some(message) = effect.message {
            self.say(message);
        }
        if let Some(action) = effect.action {
            // None of the panel's buttons quits.
            self.act(action);
        }
        self.screen.refresh();
    }
}
