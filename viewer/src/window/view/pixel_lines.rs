//! The description of the pixel under the pointer.

use super::View;
use crate::{
    overlay::{canvas::Area, pixels},
    window::layout::Regions,
};

/// Width and height of the area around the pointer that the description of its pixel leaves free, at text scale 1.
const POINTER_SIZE: f32 = 32.0;

impl View {
    /// Draws the description of the pixel under the pointer, if it is to be described, where it covers neither the
    /// figures nor the `uncovered` areas nor the pixel. Draws nothing if there is no such place. Returns the area of
    /// its panel.
    pub(super) fn draw_pixel_lines(
        &mut self,
        rgba: &mut [u8],
        size: (u32, u32),
        regions: Regions,
        mut uncovered: Vec<Area>,
    ) -> Option<Area> {
        let lines = self.pixel_lines();
        let lines = as_messages(&lines);
        if let (Some((column, row)), Some(fitted)) = (self.pixel, &self.shown) {
            let [x, y] = fitted.place([column as f32 + 0.5, row as f32 + 0.5]);
            let side = (POINTER_SIZE * self.overlay.scale()) as i32;
            uncovered.push(Area {
                x: x as i32 - side / 2,
                y: y as i32 - side / 2,
                width: side,
                height: side,
            });
        }
        let overlay = &mut self.overlay;
        let fits = |region: &Area| overlay.fits_messages(size, *region, &lines, &uncovered);
        let region = regions.without_figures().into_iter().find(fits)?;
        overlay.draw_messages(rgba, size, region, &lines, &uncovered)
    }

    /// Returns the two lines that describe the pixel under the pointer, or that of the image with which the picture is
    /// compared; none if it is not to be described.
    pub(super) fn pixel_lines(&self) -> Vec<String> {
        let described = self.pixel.zip(self.frame.as_ref());
        let lines = described.and_then(|(pixel, frame)| {
            let info = self.pixel_info.as_ref();
            let compared = self.wipe.as_ref().zip(self.shown.as_ref());
            let compared = compared.and_then(|(wipe, fitted)| {
                let [x, _] = fitted.place([pixel.0 as f32 + 0.5, 0.0]);
                wipe.image_at(f64::from(x), fitted)
            });
            match compared {
                Some(image) => pixels::describe_compared(image, frame, pixel, info),
                None => pixels::describe(frame, pixel, info),
            }
        });
        let mut lines = lines.unwrap_or_default();
        // An empty line keeps the height of the panel while the second line is awaited.
        for line in lines.iter_mut().filter(|line| line.is_empty()) {
            line.push(' ');
        }
        lines
    }
}

/// Returns lines as messages that are not marked as errors.
pub(super) fn as_messages(lines: &[String]) -> Vec<(&str, bool)> {
    lines.iter().map(|line| (line.as_str(), false)).collect()
}
