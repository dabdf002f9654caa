//! The comparison of the picture with another image, side by side.

use std::sync::Arc;

use super::View;
use crate::window::wipe::Wipe;
use raysieve::film::picture::comparison::ComparisonImage;

impl View {
    /// Compares the picture side by side with an image, or ends the comparison.
    pub(in crate::window) fn switch_wipe(&mut self, image: &Arc<ComparisonImage>) {
        self.wipe = match self.wipe {
            None => Some(Wipe::new(image.clone())),
            Some(_) => None,
        };
    }

    /// Returns whether a press at column `x` in window pixels drags the line between two compared images. `scale` is
    /// the number of physical pixels per logical pixel.
    pub(in crate::window) fn is_at_wipe(&self, x: f64, scale: f64) -> bool {
        let compared = self.wipe.as_ref().zip(self.shown.as_ref());
        compared.is_some_and(|(wipe, fitted)| wipe.is_at(x, fitted, scale))
    }

    /// Moves the line between two compared images to column `x` in window pixels.
    pub(in crate::window) fn move_wipe(&mut self, x: f64) {
        if let (Some(wipe), Some(fitted)) = (&mut self.wipe, &self.shown) {
            wipe.move_to(x, fitted);
        }
    }
}
