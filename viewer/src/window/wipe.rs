//! The picture and another image side by side, with a line between them that can be dragged.

use std::sync::Arc;

use crate::overlay::{Overlay, canvas::Area, fitted::Fitted};
use raysieve::{
    film::picture::comparison::ComparisonImage,
    inspect::debug_view::DebugView,
    render::output::{DisplayImage, Look},
};

/// A comparison side by side: the picture, or what is displayed instead of it, is left of the line, and the other image
/// right of it.
pub(super) struct Wipe {
    image: Arc<ComparisonImage>,
    /// Position of the line, as a fraction of the picture's width, in 0..=1.
    position: f64,
    /// The other image, scaled to the window; `None` if it must be made again.
    backdrop: Option<Backdrop>,
}

/// The other image as it is displayed.
struct Backdrop {
    size: (u32, u32),
    fitted: Fitted,
    look: Look,
    rgba: Vec<u8>,
}

/// Distance from the line in logical pixels within which a press drags it.
const REACH: f64 = 8.0;

impl Wipe {
    /// Creates a comparison with an image, with the line in the middle.
    pub(super) fn new(image: Arc<ComparisonImage>) -> Self {
        Self {
            image,
            position: 0.5,
            backdrop: None,
        }
    }

    /// Returns the column of the line in window pixels.
    fn column(&self, fitted: &Fitted) -> f64 {
        let line = f64::from(fitted.area.x) + self.position * f64::from(fitted.area.width);
        let region = fitted.region;
        line.clamp(f64::from(region.x), f64::from(region.x + region.width))
    }

    /// Returns whether a press at column `x` in window pixels drags the line. `scale` is the number of physical pixels
    /// per logical pixel.
    pub(super) fn is_at(&self, x: f64, fitted: &Fitted, scale: f64) -> bool {
        (x - self.column(fitted)).abs() <= REACH * scale
    }

    /// Moves the line to column `x` in window pixels, within the picture.
    pub(super) fn move_to(&mut self, x: f64, fitted: &Fitted) {
        let along = (x - f64::from(fitted.area.x)) / f64::from(fitted.area.width);
        self.position = along.clamp(0.0, 1.0);
    }

    /// Returns the other image if it is displayed in column `x` in window pixels, right of the line.
    pub(super) fn image_at(&self, x: f64, fitted: &Fitted) -> Option<&ComparisonImage> {
        (x >= self.column(fitted)).then_some(&self.image)
    }

    /// Draws the other image right of the line into a window of this size, over the picture, and then the line. `labels`
    /// are those of what is displayed left and right of it: the first that fits is used. `fit` scales an image to the
    /// window.
    pub(super) fn draw(
        &mut self,
        rgba: &mut [u8],
        size: (u32, u32),
        fitted: &Fitted,
        look: Look,
        (overlay, labels): (&mut Overlay, [&[String]; 2]),
        fit: impl FnOnce(DisplayImage) -> Vec<u8>,
    ) {
        let fresh = self.backdrop.take().filter(|backdrop| {
            backdrop.size == size && backdrop.fitted == *fitted && backdrop.look == look
        });
        let backdrop = fresh.unwrap_or_else(|| Backdrop {
            size,
            fitted: *fitted,
            look,
            rgba: fit(DisplayImage {
                size: self.image.size(),
                rgba: self.image.to_display(look.exposure_stops, look.tone),
                debug_view: DebugView::Light,
            }),
        });
        let Area {
            x,
            y,
            width,
            height,
        } = fitted.region;
        let line = self.column(fitted).round() as i32;
        let visible = |at: i32, length: u32| at.clamp(0, length as i32) as usize;
        let columns = 4 * visible(line, size.0)..4 * visible(x + width, size.0);
        let row_bytes = 4 * size.0 as usize;
        for row in visible(y, size.1)..visible(y + height, size.1) {
            let bytes = row * row_bytes + columns.start..row * row_bytes + columns.end;
            if let (Some(to), Some(from)) = (rgba.get_mut(bytes.clone()), backdrop.rgba.get(bytes))
            {
                to.copy_from_slice(from);
            }
        }
        overlay.draw_wipe(rgba, size, fitted, line, labels);
        self.backdrop = Some(backdrop);
    }
}
