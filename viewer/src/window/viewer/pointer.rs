//! Input of the pointer: buttons, movement and wheel.

use winit::{
    dpi::PhysicalPosition,
    event::{MouseButton, MouseScrollDelta},
};

use super::Viewer;
use crate::session::Motion;

/// The effect of a drag of the pointer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Drag {
    /// Orbits the camera about the target, or turns it in place in fly mode.
    Turn,
    /// Moves camera and target sideways.
    Pan,
    /// Moves the magnified picture instead of the camera.
    Picture,
    /// Moves the line between two compared images.
    Wipe,
    /// Selects the region to render.
    Region,
    /// Changes the time of the animation.
    Time,
}

/// Pointer movement in logical pixels from which a press counts as a drag instead of a click.
const CLICK_PIXELS: f64 = 4.0;

/// Magnification of the picture per notch of the mouse wheel.
const ZOOM_FACTOR: f64 = 1.25;

/// Touchpad scroll distance in physical pixels that equals one notch of the mouse wheel.
const NOTCH_PIXELS: f64 = 50.0;

impl Viewer {
    /// Handles the press or release of a mouse button, which begins or ends a drag. The release that ends a left click
    /// without Shift inspects a path or, with Ctrl, sets the focus. A right click hides the path or, without one, the
    /// messages.
    pub(in crate::window) fn handle_button(&mut self, button: MouseButton, pressed: bool) {
        self.dismiss_hints();
        if button == MouseButton::Left && self.press_properties(pressed) {
            return;
        }
        if button == MouseButton::Left && self.press_scrub_bar(pressed) {
            return;
        }
        let scale = f64::from(self.screen.scale());
        let drag = match button {
            MouseButton::Left if self.selects_region => Drag::Region,
            MouseButton::Left if self.view.is_at_wipe(self.cursor.x, scale) => Drag::Wipe,
            MouseButton::Left if self.shift() => Drag::Pan,
            MouseButton::Left if self.ctrl() => Drag::Picture,
            MouseButton::Left => Drag::Turn,
            MouseButton::Right | MouseButton::Middle => Drag::Pan,
            _ => return,
        };
        self.dragging = pressed.then_some(drag);
        let clicked = self.pressed.take().is_some() && !pressed;
        if drag == Drag::Region {
            return self.drag_region(pressed);
        }
        if pressed {
            self.pressed = Some(self.cursor);
        } else if clicked && button == MouseButton::Left && !matches!(drag, Drag::Pan | Drag::Wipe)
        {
            self.inspect();
        } else if clicked && button == MouseButton::Right && self.view.close_path_or_messages() {
            self.screen.refresh();
        }
    }

    /// Handles a movement of the pointer to a position in physical pixels. During a drag, it moves the camera or the
    /// magnified picture.
    pub(in crate::window) fn move_cursor(&mut self, to: PhysicalPosition<f64>) {
        if self.drag_property(to) || self.drag_scrub_bar(to) {
            return;
        }
        if let Some(pressed) = self.pressed {
            if (to.x - pressed.x).hypot(to.y - pressed.y)
                < CLICK_PIXELS * f64::from(self.screen.scale())
            {
                return;
            }
            self.pressed = None;
        }
        let from = std::mem::replace(&mut self.cursor, to);
        let side = match self.view.shown() {
            Some(fitted) => f64::from(fitted.area.width.min(fitted.area.height)),
            None => return,
        };
        let (right, down) = (
            ((to.x - from.x) / side) as f32,
            ((to.y - from.y) / side) as f32,
        );
        match self.dragging {
            Some(Drag::Turn) => self.move_camera(Motion::Turn(right, down)),
            Some(Drag::Pan) => self.move_camera(Motion::Pan(right, down)),
            Some(Drag::Region) => self.extend_region(),
            Some(Drag::Wipe) => {
                self.view.hide_hints();
                self.view.move_wipe(to.x);
                self.screen.refresh();
            }
            Some(Drag::Picture) => {
                self.view.hide_hints();
                self.view.move_picture(to.x - from.x, to.y - from.y);
                self.screen.refresh();
            }
            Some(Drag::Time) | None => {}
        }
        self.ask_pixel();
    }

    /// Handles the mouse wheel or a touchpad scroll, which moves the camera towards the target or away. With Ctrl,
    /// magnifies the picture at the pointer instead.
    pub(in crate::window) fn scroll(&mut self, delta: MouseScrollDelta) {
        let notches = match delta {
            MouseScrollDelta::LineDelta(_, lines) => lines,
            MouseScrollDelta::PixelDelta(pixels) => (pixels.y / NOTCH_PIXELS) as f32,
        };
        if self.scroll_properties(notches) {
            return;
        }
        if self.ctrl() {
            let factor = ZOOM_FACTOR.powf(f64::from(notches));
            self.view.hide_hints();
            // The middle of the pixel under the pointer stays where it is.
            let at = (self.cursor.x + 0.5, self.cursor.y + 0.5);
            self.view.magnify(factor, at);
            self.ask_pixel();
            return self.screen.refresh();
        }
        self.move_camera(Motion::Dolly(notches));
    }
}
