//! Restricts the render to a region of the picture.

use super::Session;
use crate::session::{commands::Command, control_names::control_name};
use raysieve::render::region::Region;

impl Session {
    /// Renders only the pixels between two corners, given by column and row, which belong to the region; corners
    /// outside the picture are moved to its edge. Returns a message.
    pub(crate) fn set_region(&mut self, from: (u32, u32), to: (u32, u32)) -> Option<String> {
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
        self.render.send(Command::Region(Some(region)));
        Some(format!(
            "rendering {} × {} pixels at {left},{top}; {}: the whole picture",
            region.width,
            region.height,
            control_name("O", "Region, then a tap")
        ))
    }

    /// Renders the whole picture again; always returns a message.
    pub(super) fn clear_region(&mut self) -> Option<String> {
        Some(match self.region {
            Some(_) => {
                self.forget_region();
                "rendering the whole picture".to_owned()
            }
            None => format!(
                "the whole picture is rendered already; {} selects a region",
                control_name("o", "Region")
            ),
        })
    }

    /// Renders the whole picture again if only a region is rendered.
    pub(super) fn forget_region(&mut self) {
        if self.region.take().is_some() {
            self.render.send(Command::Region(None));
        }
    }
}
