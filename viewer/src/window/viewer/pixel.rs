//! Actions on the pixel under the pointer: shows one of its paths, focuses on it, or describes it.

use super::Viewer;
use crate::session::PixelInfo;

impl Viewer {
    /// Returns column and row of the pixel under the pointer; `None` outside the picture.
    pub(super) fn pointed_pixel(&self) -> Option<(u32, u32)> {
        let (width, height) = self.session.size();
        let pixel = self.view.shown()?.pixel(self.cursor.x, self.cursor.y);
        // The displayed picture may be larger than one that was just requested.
        pixel.filter(|&(column, row)| column < width && row < height)
    }

    /// Requests the path of the last sample of the pixel under the pointer, or hides that pixel's path if it is already
    /// displayed. With Ctrl, focuses the camera's lens on the surface in that pixel instead. Does nothing outside the
    /// picture.
    pub(super) fn inspect(&mut self) {
        let size = self.session.size();
        let Some(pixel) = self.pointed_pixel() else {
            return;
        };
        if !self.ctrl() {
            if self.view.path_pixel(size) == Some(pixel) {
                self.view.hide_path();
                self.screen.refresh();
            } else {
                self.session.inspect(pixel, size);
            }
        } else {
            // The focus is a change that quitting must ask about.
            self.view.withdraw_question();
            if let Some(message) = self.session.focus(pixel, size) {
                self.say(message);
            }
        }
    }

    /// Describes the pixel under the pointer from now on, or no longer.
    pub(super) fn switch_pixel(&mut self) {
        self.asks_pixel = !self.asks_pixel;
        self.asked = None;
        if self.asks_pixel {
            self.ask_pixel();
        } else {
            self.view.describe_pixel(None);
        }
    }

    /// Handles the pointer's leaving the window.
    pub(in crate::window) fn leave(&mut self) {
        if self.asks_pixel {
            self.view.describe_pixel(None);
            self.screen.refresh();
        }
    }

    /// Describes the pixel under the pointer if that is switched on, and asks the session about it unless an answer is
    /// still awaited.
    pub(super) fn ask_pixel(&mut self) {
        if !self.asks_pixel {
            return;
        }
        let pixel = self.pointed_pixel();
        self.view.describe_pixel(pixel);
        self.screen.refresh();
        if self.asked.is_none()
            && let Some(pixel) = pixel
        {
            self.asked = Some(pixel);
            self.session.ask_pixel(pixel, self.session.size());
        }
    }

    /// Displays the answer about a pixel, and asks about the one under the pointer if it is another by now.
    pub(in crate::window) fn show_pixel(&mut self, info: PixelInfo) {
        let answered = self.asked.take();
        self.view.set_pixel_info(info);
        let pixel = self.pointed_pixel();
        if pixel != answered {
            self.ask_pixel();
        }
        self.screen.refresh();
    }
}
