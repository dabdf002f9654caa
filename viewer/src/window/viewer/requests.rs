//! Executes what users ask for by the pointer or a widget.

use super::Viewer;
use crate::{
    session::{Change, Message, PixelInfo},
    window::view::Request,
};

impl Viewer {
    pub(super) fn execute(&mut self, request: Request) {
        match request {
            Request::Act(action) => self.act(action),
            Request::Move(motion, continuity) => self.move_camera(motion, continuity),
            Request::Inspect(pixel) => self.inspect(pixel),
            Request::Focus(pixel) => {
                if let Some(message) = self.session.focus(pixel) {
                    self.say(message);
                }
            }
            Request::Dismiss => drop(self.view.close_path_or_messages()),
            Request::Region((from, to)) => self.render_region(from, to),
            Request::Seek(seconds) => {
                let message = self.session.seek(seconds);
                self.say_any(message);
            }
            Request::Animation(index) => {
                // The list contains only animations of the file.
                let message = self.session.choose_animation(index).ok().flatten();
                self.say_any(message);
            }
            Request::Pointed => self.ask_pixel(),
            Request::Edited => self.title_time = None,
            Request::Typed(path) => self.finish_prompt(path),
            Request::Answer(answer) => self.answer(answer),
        }
        self.screen.refresh_soon();
    }

    /// Displays a message if there is one, after a change of what is displayed.
    fn say_any(&mut self, message: Option<Message>) {
        self.title_time = None;
        if let Some(message) = message {
            self.say(message);
        }
    }

    /// Requests the path of the last sample of a pixel, or hides that pixel's path if it is already displayed.
    fn inspect(&mut self, pixel: (u32, u32)) {
        let size = self.session.size();
        match self.view.path_pixel(size) == Some(pixel) {
            true => drop(self.view.hide_path()),
            false => self.session.inspect(pixel),
        }
    }

    /// Lets the next drag select the region to render, or ends that.
    pub(super) fn switch_selection(&mut self) {
        if self.view.end_selection() {
            return self.say("no region selected".to_owned());
        }
        self.view.selects_region = true;
        self.say("drag over the region to render; click: the whole picture".to_owned());
    }

    /// Renders only the region between two pixels, or the whole picture if they are equal.
    fn render_region(&mut self, from: (u32, u32), to: (u32, u32)) {
        self.view.end_selection();
        let message = match from == to {
            true => self.session.act(Change::WholePicture),
            false => self.session.set_region(from, to),
        };
        self.say_any(message);
    }

    /// Describes the pixel under the pointer from now on, or no longer.
    pub(super) fn switch_pixel(&mut self) {
        self.view.describes_pixel = !self.view.describes_pixel;
        self.asked = None;
        self.ask_pixel();
    }

    /// Asks the session about the pixel under the pointer if it is to be described, unless an answer is still awaited.
    pub(super) fn ask_pixel(&mut self) {
        if !self.view.describes_pixel {
            return;
        }
        if self.asked.is_none()
            && let Some(pixel) = self.view.pointed
        {
            self.asked = Some(pixel);
            self.session.ask_pixel(pixel);
        }
    }

    /// Displays the answer about a pixel, and asks about the one under the pointer if it is another by now.
    pub(in crate::window) fn show_pixel(&mut self, info: PixelInfo) {
        let answered = self.asked.take();
        self.view.pixel_info = Some(info);
        if self.view.pointed != answered {
            self.ask_pixel();
        }
        self.screen.refresh();
    }
}
