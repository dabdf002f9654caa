//! The rectangle that a picture occupies in a window of another size.

/// The area of a window that a picture occupies: centred, and scaled to fit. Lengths are in window pixels, except those
/// of `picture`.
pub(crate) struct Fitted {
    /// Width and height of the picture in its own pixels.
    picture: (u32, u32),
    pub(crate) left: u32,
    pub(crate) top: u32,
    pub(crate) width: u32,
    pub(crate) height: u32,
}

impl Fitted {
    /// Fits a picture into a window; both are given by width and height, and the picture is not empty.
    pub(crate) fn new(picture: (u32, u32), (width, height): (u32, u32)) -> Self {
        let enlarge =
            (f64::from(width) / f64::from(picture.0)).min(f64::from(height) / f64::from(picture.1));
        let fitted = |length: u32, room: u32| {
            ((f64::from(length) * enlarge).round() as u32).clamp(1, room.max(1))
        };
        let (fitted_width, fitted_height) = (fitted(picture.0, width), fitted(picture.1, height));
        Self {
            picture,
            left: width.saturating_sub(fitted_width) / 2,
            top: height.saturating_sub(fitted_height) / 2,
            width: fitted_width,
            height: fitted_height,
        }
    }

    /// Returns the column and row (from 0) of the picture's pixel at a position in window pixels; `None` outside the
    /// picture.
    pub(crate) fn pixel(&self, x: f64, y: f64) -> Option<(u32, u32)> {
        let along = |place: f64, begin: u32, length: u32, pixels: u32| {
            let part = (place - f64::from(begin)) / f64::from(length);
            (0.0..1.0)
                .contains(&part)
                .then(|| ((part * f64::from(pixels)) as u32).min(pixels - 1))
        };
        let (columns, rows) = self.picture;
        Some((
            along(x, self.left, self.width, columns)?,
            along(y, self.top, self.height, rows)?,
        ))
    }

    /// Converts a position in picture pixels, possibly outside the picture, to a position in window pixels.
    pub(crate) fn place(&self, [x, y]: [f32; 2]) -> [f32; 2] {
        let (columns, rows) = self.picture;
        [
            self.left as f32 + x * self.width as f32 / columns as f32,
            self.top as f32 + y * self.height as f32 / rows as f32,
        ]
    }
}
