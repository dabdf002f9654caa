//! Comparison of the picture with an image that the user opens.

use std::sync::Arc;

use super::{Session, display::shown_time};
use raysieve::film::picture::comparison::ComparisonImage;

impl Session {
    /// Compares the picture with this image from now on, instead of the one before.
    pub(crate) fn compare_with(&mut self, image: Arc<ComparisonImage>) {
        self.compared = Some(image);
        self.compared_time = shown_time(&self.scene);
        self.has_said_other_view = false;
    }
}
