//! A rectangle of an image's pixels, to which a render can be restricted.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A rectangle of pixels inside an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    /// Column of the left pixels, from 0.
    pub x: u32,
    /// Row of the upper pixels, from 0 at the top of the image.
    pub y: u32,
    /// Width in pixels, at least 1.
    pub width: u32,
    /// Height in pixels, at least 1.
    pub height: u32,
}

impl Region {
    /// Returns whether the region has pixels, and all of them are in an image of this width and height.
    pub fn is_inside(&self, (width, height): (u32, u32)) -> bool {
        let fits = |start: u32, length: u32, all: u32| {
            length > 0 && start.checked_add(length).is_some_and(|end| end <= all)
        };
        fits(self.x, self.width, width) && fits(self.y, self.height, height)
    }

    /// Returns whether the pixel with this row-major index in an image of this width is in the region.
    pub(crate) fn contains(&self, pixel: u32, width: u32) -> bool {
        let is_within =
            |place: u32, start: u32, length: u32| place >= start && place - start < length;
        is_within(pixel % width, self.x, self.width)
            && is_within(pixel / width, self.y, self.height)
    }

    /// Yields the row-major indices, in an image of this width, of the pixels of the region, row by row from the top.
    pub(crate) fn pixels(self, width: u32) -> impl Iterator<Item = u32> + Clone {
        let row = move |y: u32| (self.x..self.x + self.width).map(move |x| y * width + x);
        (self.y..self.y + self.height).flat_map(row)
    }
}

/// Formats the region as on the command line, such as `16,0,64x48`.
impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{},{}x{}", self.x, self.y, self.width, self.height)
    }
}
