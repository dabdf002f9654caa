//! The rectangle that a picture occupies in a region of a window.

use super::canvas::Area;

/// The area of a window that a picture occupies: centerd in a region, scaled to fit, and possibly magnified beyond the
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
    pub(crate) middle: [f64; 2],
}

impl Default for Zoom {
    fn default() -> Self {
        Self {
            factor: 1.0,
            middle: [0.5; 2],
        }
    }
}

/// Length of the longer side in pixels below which a picture is fitted by whole factors only, if it is enlarged.
pub(crate) const SMALL: u32 = 512;

impl Fitted {
    /// Fits a picture, given by its width and height in pixels, into a region of a window, and then magnifies it by
    /// `zoom`. A picture whose sides are below 512 pixels is fitted with a whole factor if it is enlarged. Neither
    /// picture nor region may be empty.
    pub(crate) fn new(picture: (u32, u32), region: Area, zoom: Zoom) -> Self {
        let (width, height) = (f64::from(picture.0), f64::from(picture.1));
        let fit = (f64::from(region.width) / width).min(f64::from(region.height) / height);
        let is_small = picture.0.max(picture.1) < SMALL;
        let scale = zoom.factor
            * if is_small && fit > 1.0 {
                fit.floor()
            } else {
                fit
            };
        let along = |length: f64, begin: i32, room: i32, middle: f64| {
            let long = (length * scale).round().max(1.0);
            // A side that fits is centerd. Otherwise, no border is left between the picture and the region's edges.
            let free = f64::from(room) - long;
            let offset = match free >= 0.0 {
                true => free / 2.0,
                false => (f64::from(room) / 2.0 - middle * long).clamp(free, 0.0),
            };
            (begin + offset.floor() as i32, long as i32)
        };
        let (x, wide) = along(width, region.x, region.width, zoom.middle[0]);
        let (y, high) = along(height, region.y, region.height, zoom.middle[1]);
        let area = Area {
            x,
            y,
            width: wide,
            height: high,
        };
        Self {
            picture,
            region,
            area,
        }
    }

    /// Returns the zoom that magnifies the picture by `factor`, at most until a pixel is `max_width` wide, and that
    /// leaves the position (`x`, `y`) in window pixels where it is. `zoom` is the present one.
    pub(crate) fn zoomed(
        &self,
        zoom: Zoom,
        factor: f64,
        max_width: f64,
        (x, y): (f64, f64),
    ) -> Zoom {
        let whole = f64::from(self.area.width) / zoom.factor;
        let max_factor = (max_width * f64::from(self.picture.0) / whole).max(1.0);
        let factor = (zoom.factor * factor).clamp(1.0, max_factor);
        let larger = factor / zoom.factor;
        let [right, down] = self.fraction(x, y);
        let along = |part: f64, at: f64, begin: i32, room: i32, length: i32| {
            part + (f64::from(room) / 2.0 - (at - f64::from(begin))) / (f64::from(length) * larger)
        };
        let Self { region, area, .. } = self;
        Zoom {
            factor,
            middle: [
                along(right, x, region.x, region.width, area.width),
                along(down, y, region.y, region.height, area.height),
            ],
        }
    }

    /// Returns the zoom with the picture moved by this many window pixels to the right and down.
    pub(crate) fn moved(&self, zoom: Zoom, right: f64, down: f64) -> Zoom {
        // Begins at what is displayed, which is limited by the edges of the picture.
        let shown = |begin: i32, room: i32, area_begin: i32, length: i32| {
            (f64::from(begin) + f64::from(room) / 2.0 - f64::from(area_begin)) / f64::from(length)
        };
        let Self { region, area, .. } = self;
        Zoom {
            middle: [
                shown(region.x, region.width, area.x, area.width) - right / f64::from(area.width),
                shown(region.y, region.height, area.y, area.height) - down / f64::from(area.height),
            ],
            ..zoom
        }
    }

    /// Returns the position in the picture, as fractions of its width and height, at a position in window pixels;
    /// outside 0..1 if it is beside the picture.
    pub(crate) fn fraction(&self, x: f64, y: f64) -> [f64; 2] {
        [
            (x - f64::from(self.area.x)) / f64::from(self.area.width),
            (y - f64::from(self.area.y)) / f64::from(self.area.height),
        ]
    }

    /// Returns the column and row (from 0) of the picture's pixel at a position in window pixels; `None` outside the
    /// visible part of the picture.
    pub(crate) fn pixel(&self, x: f64, y: f64) -> Option<(u32, u32)> {
        let inside = |at: f64, begin: i32, length: i32| {
            (f64::from(begin)..f64::from(begin + length)).contains(&at)
        };
        let Area {
            x: left,
            y: top,
            width,
            height,
        } = self.region;
        if !(inside(x, left, width) && inside(y, top, height)) {
            return None;
        }
        let (columns, rows) = self.picture;
        let [right, down] = self.fraction(x, y);
        let at = |part: f64, pixels: u32| {
            (0.0..1.0)
                .contains(&part)
                .then(|| ((part * f64::from(pixels)) as u32).min(pixels - 1))
        };
        Some((at(right, columns)?, at(down, rows)?))
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
