//! Restricts the render to a region of the picture.

use super::Session;
use crate::session::message::Message;
use raysieve::render::region::Region;

impl Session {
    /// Renders only the pixels between two corners, given by column and row, which belong to the region; corners
    /// outside the picture are moved to its edge. Returns a message.
    pub(crate) fn set_region(&mut self, from: (u32, u32), to: (u32, u32)) -> Option<Message> {
        let range = |one: u32, other: u32, length: u32| {
            let (first, last) = (one.min(other), one.max(other).min(length - 1));
            (first.min(last), last)
        };
        let (left, right) = range(from.0, to.0, self.size.0);
        let (top, bottom) = range(from.1, to.1, self.size.1);
        let region = Region {
            x: left,
            y: top,
            width: right - left + 1,
            height: bottom - top + 1,
        };
        self.region = Some(region);
        (self.render).send(|commands| commands.region = Some(Some(region)));
        let Region { width, height, .. } = region;
        Some(Message::by_input(|input| {
            let whole = input.control("O", "Region, then a tap");
            format!(
                "rendering {width} × {height} pixels at {left},{top}; {whole}: the whole picture"
            )
        }))
    }

    /// Renders the whole picture again; always returns a message.
    pub(super) fn clear_region(&mut self) -> Option<Message> {
        Some(match self.region {
            Some(_) => {
                self.forget_region();
                "rendering the whole picture".into()
            }
            None => Message::by_input(|input| {
                let selects = input.control("o", "Region");
                format!("the whole picture is rendered already; {selects} selects a region")
            }),
        })
    }

    /// Renders the whole picture again if only a region is rendered.
    pub(super) fn forget_region(&mut self) {
        if self.region.take().is_some() {
            self.render.send(|commands| commands.region = Some(None));
        }
    }
}
