//! Selects the region to render by a drag.

use super::Viewer;
use crate::session::Change;

impl Viewer {
    /// Lets the next drag select the region to render, or ends that.
    pub(super) fn switch_selection(&mut self) {
        if !self.cancel_selection() {
            self.selects_region = true;
            self.say("drag over the region to render; click: the whole picture".to_owned());
        }
    }

    /// Ends the selection of a region, and displays a message instead of the one that asks for it. Returns whether a
    /// selection was in progress.
    pub(super) fn cancel_selection(&mut self) -> bool {
        let was_selecting = self.end_selection();
        if was_selecting {
            self.say("no region selected".to_owned());
        }
        was_selecting
    }

    /// Ends the selection of a region. Returns whether one was in progress.
    fn end_selection(&mut self) -> bool {
        self.view.select(None);
        std::mem::take(&mut self.selects_region)
    }

    /// Handles the press or release of the button that selects a region. The release renders the region between both
    /// positions, or the whole picture after a click. Does nothing if the press was outside the picture.
    pub(super) fn drag_region(&mut self, pressed: bool) {
        if pressed {
            let corner = self.pointed_pixel();
            self.view.select(corner.map(|corner| (corner, corner)));
        } else if let Some((from, to)) = self.view.selection() {
            self.end_selection();
            let message = match from == to {
                true => self.session.act(Change::WholePicture),
                false => self.session.set_region(from, to),
            };
            if let Some(message) = message {
                self.say(message);
            }
        }
        self.screen.refresh();
    }

    /// Extends the selected region to the pixel under the pointer, or to the nearest one of the picture.
    pub(super) fn extend_region(&mut self) {
        if let (Some((from, _)), Some(fitted)) = (self.view.selection(), self.view.shown()) {
            let [right, down] = fitted.fraction(self.cursor.x, self.cursor.y);
            let (width, height) = self.session.size();
            let at = |part: f64, length: u32| {
                ((part.clamp(0.0, 1.0) * f64::from(length)) as u32).min(length - 1)
            };
            let to = (at(right, width), at(down, height));
            self.view.select(Some((from, to)));
            self.screen.refresh();
        }
    }
}
