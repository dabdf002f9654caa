//! The rectangle that a picture occupies in a region of a window.

use glam::DVec2;

use super::canvas::Area;

/// The area of a window that a picture occupies: centered in a region, scaled to fit, and possibly magnified beyond the
/// region's edges. Lengths are in window pixels, except those of `picture`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fitted {
    /// Width and height of the picture in its own pixels.
    pub(crate) picture: (u32, u32),
    /// Region of the window outside which nothing of the picture is visible.
    pub(crate) region: Area,
    /// Area of the whole picture; it extends beyond the region if the picture is magnified.
    pub(crate) area: Area,
}

/// The part of a picture that is displayed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Zoom {
    /// Magnification relative to the fitted picture, at least 1.
    pub(crate) factor: f64,
    /// Position in the picture, as fractions of its width and height, that is in the middle of the region.
    pub(crate) middle: DVec2,
}

impl Default for Zoom {
    fn default() -> Self {
        Self {
            factor: 1.0,
            middle: DVec2::splat(0.5),
        }
    }
}

/// Length of the longer side in pixels below which a picture is fitted by whole factors only, if it is enlarged.
pub(crate) const SMALL: u32 = 512;

/// Returns the upper left corner and the size of an area.
fn corner_and_size(area: Area) -> (DVec2, DVec2) {
    (
        DVec2::new(area.x.into(), area.y.into()),
        DVec2::new(area.width.into(), area.height.into()),
    )
}

/// Converts a width and height in pixels.
fn vector((width, height): (u32, u32)) -> DVec2 {
    DVec2::new(width.into(), height.into())
}

impl Fitted {
    /// Fits a picture, given by its width and height in pixels, into a region of a window, and then magnifies it by
    /// `zoom`. A picture whose sides are below 512 pixels is fitted with a whole factor if it is enlarged. Neither
    /// picture nor region may be empty.
    pub(crate) fn new(picture: (u32, u32), region: Area, zoom: Zoom) -> Self {
        let (corner, room) = corner_and_size(region);
        let fit = (room / vector(picture)).min_element();
        let is_small = picture.0.max(picture.1) < SMALL && fit > 1.0;
        let scale = zoom.factor * if is_small { fit.floor() } else { fit };
        let size = (vector(picture) * scale).round().max(DVec2::ONE);
        // A side that fits is centered. Otherwise, no border is left between the picture and the region's edges.
        let free = room - size;
        let magnified = (room / 2.0 - zoom.middle * size).clamp(free.min(DVec2::ZERO), DVec2::ZERO);
        let offset = DVec2::select(free.cmpge(DVec2::ZERO), free / 2.0, magnified);
        let (at, size) = ((corner + offset.floor()).as_ivec2(), size.as_ivec2());
        let area = Area {
            x: at.x,
            y: at.y,
            width: size.x,
            height: size.y,
        };
        Self {
            picture,
            region,
            area,
        }
    }

    /// Returns the zoom that magnifies the picture by `factor`, at most until a pixel is `max_width` wide, and that
    /// leaves the position `at` in window pixels where it is. `zoom` is the present one.
    pub(crate) fn zoomed(&self, zoom: Zoom, factor: f64, max_width: f64, at: DVec2) -> Zoom {
        let whole = f64::from(self.area.width) / zoom.factor;
        let max_factor = (max_width * f64::from(self.picture.0) / whole).max(1.0);
        let factor = (zoom.factor * factor).clamp(1.0, max_factor);
        let (corner, room) = corner_and_size(self.region);
        let size = corner_and_size(self.area).1 * (factor / zoom.factor);
        let middle = self.fraction(at) + (corner + room / 2.0 - at) / size;
        Zoom { factor, middle }
    }

    /// Returns the zoom with the picture moved by this many window pixels to the right and down.
    pub(crate) fn moved(&self, zoom: Zoom, by: DVec2) -> Zoom {
        // Begins at what is displayed, which is limited by the edges of the picture.
        let (corner, room) = corner_and_size(self.region);
        let middle = self.fraction(corner + room / 2.0 - by);
        Zoom { middle, ..zoom }
    }

    /// Returns the position in the picture, as fractions of its width and height, at a position in window pixels;
    /// outside 0..1 if it is beside the picture.
    pub(crate) fn fraction(&self, at: DVec2) -> DVec2 {
        let (corner, size) = corner_and_size(self.area);
        (at - corner) / size
    }

    /// Returns the column and row (from 0) of the picture's pixel at a position in window pixels; `None` outside the
    /// visible part of the picture.
    pub(crate) fn pixel(&self, at: DVec2) -> Option<(u32, u32)> {
        let (corner, room) = corner_and_size(self.region);
        let is_inside =
            |at: DVec2, size: DVec2| at.cmpge(DVec2::ZERO).all() && at.cmplt(size).all();
        let part = self.fraction(at);
        let is_visible = is_inside(at - corner, room) && is_inside(part, DVec2::ONE);
        is_visible.then(|| self.nearest_pixel(at))
    }

    /// Returns the column and row of the picture's pixel that is nearest to a position in window pixels.
    pub(crate) fn nearest_pixel(&self, at: DVec2) -> (u32, u32) {
        let size = vector(self.picture);
        let pixel = (self.fraction(at) * size).clamp(DVec2::ZERO, size - 1.0);
        pixel.as_uvec2().into()
    }

    /// Converts a position in picture pixels, possibly outside the picture, to a position in window pixels.
    pub(crate) fn place(&self, [x, y]: [f32; 2]) -> [f32; 2] {
        let (columns, rows) = self.picture;
        [
            self.area.x as f32 + x * self.area.width as f32 / columns as f32,
            self.area.y as f32 + y * self.area.height as f32 / rows as f32,
        ]
    }
}
