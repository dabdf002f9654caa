//! Draws rectangles and text into the RGBA bytes of a picture, clipped to the picture.

use std::collections::HashMap;

use ab_glyph::{Font, FontRef, PxScale, ScaleFont, point};
use unicode_width::UnicodeWidthChar;

use super::colors::Color;
use crate::fonts;

/// A rectangle in pixels, given by its upper left corner and its size. It may extend beyond the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Area {
    pub(crate) x: i32,
    pub(crate) y: i32,
    pub(crate) width: i32,
    pub(crate) height: i32,
}

impl Area {
    /// Returns the area of a whole picture of this width and height in pixels.
    pub(crate) fn of((width, height): (u32, u32)) -> Self {
        Self {
            x: 0,
            y: 0,
            width: width as i32,
            height: height as i32,
        }
    }

    /// Returns the area with other columns: `width` pixels from `x` to the right.
    pub(crate) fn columns(self, x: i32, width: i32) -> Self {
        Self { x, width, ..self }
    }

    /// Returns the area with other rows: `height` pixels from `y` down.
    pub(crate) fn rows(self, y: i32, height: i32) -> Self {
        Self { y, height, ..self }
    }

    /// Returns whether both areas have a pixel in common.
    pub(crate) fn meets(&self, other: &Area) -> bool {
        self.x < other.x + other.width
            && other.x < self.x + self.width
            && self.y < other.y + other.height
            && other.y < self.y + self.height
    }
}

/// A picture in RGBA bytes, rows from the top, to draw onto.
pub(super) struct Canvas<'a> {
    pixels: &'a mut [[u8; 4]],
    width: usize,
    height: usize,
}

impl<'a> Canvas<'a> {
    /// Wraps the RGBA bytes of a picture of this width and height in pixels. If the buffer is too short, the canvas has
    /// only the rows that the buffer contains completely.
    pub(super) fn new(rgba: &'a mut [u8], width: u32, height: u32) -> Self {
        let (pixels, width) = (rgba.as_chunks_mut().0, width as usize);
        let height = (height as usize).min(pixels.len().checked_div(width).unwrap_or(0));
        Self {
            pixels,
            width,
            height,
        }
    }

    fn width(&self) -> i32 {
        self.width as i32
    }

    /// Blends a color over an area; `opacity` is in 0..=1.
    pub(super) fn fill(&mut self, area: Area, color: Color, opacity: f32) {
        let opacity = to_256ths(opacity);
        for y in area.y..area.y + area.height {
            for pixel in self.span(area.x, y, area.width) {
                blend(pixel, color, opacity);
            }
        }
    }

    /// Blends a color over an area with rounded corners; `opacity` is in 0..=1. The radius is in pixels, at most half
    /// the area's shorter side.
    pub(super) fn panel(&mut self, area: Area, radius: i32, color: Color, opacity: f32) {
        let flat = area.rows(area.y + radius, area.height - 2 * radius);
        self.fill(flat, color, opacity);
        for row in 0..radius {
            let up = (radius - row) as f32 - 0.5;
            for y in [area.y + row, area.y + area.height - 1 - row] {
                for column in 0..radius {
                    let left = (radius - column) as f32 - 0.5;
                    let inside = (radius as f32 + 0.5 - left.hypot(up)).clamp(0.0, 1.0);
                    for x in [area.x + column, area.x + area.width - 1 - column] {
                        self.fill(area.columns(x, 1).rows(y, 1), color, opacity * inside);
                    }
                }
                let middle = area.columns(area.x + radius, area.width - 2 * radius);
                self.fill(middle.rows(y, 1), color, opacity);
            }
        }
    }

    /// Draws one line of text; `x` and `y` are the upper left corner of its first character cell in pixels. Omits
    /// characters that the left or right edge would cut.
    pub(super) fn text(
        &mut self,
        type_face: &mut TypeFace,
        x: i32,
        y: i32,
        color: Color,
        text: &str,
    ) {
        let mut left = x;
        for character in text.chars() {
            self.glyph(type_face.glyph(character), left, y, color);
            left += cells_of(character) * type_face.cell_width;
        }
    }

    fn glyph(&mut self, glyph: &Glyph, x: i32, y: i32, color: Color) {
        let left = x + glyph.left;
        // A glyph that is cut off at the left or right edge is omitted.
        if left < 0 || left + glyph.width as i32 > self.width() {
            return;
        }
        for (row, coverage) in glyph.coverage.chunks_exact(glyph.width.max(1)).enumerate() {
            let pixels = self.span(left, y + glyph.top + row as i32, glyph.width as i32);
            for (pixel, &coverage) in pixels.iter_mut().zip(coverage) {
                blend(pixel, color, coverage);
            }
        }
    }

    /// Returns the pixels from column `x` to `x + width` of row `y` that lie on the picture; empty if none does.
    fn span(&mut self, x: i32, y: i32, width: i32) -> &mut [[u8; 4]] {
        let [left, right] = [x, x + width].map(|x| x.clamp(0, self.width()) as usize);
        if y < 0 || y >= self.height as i32 || left >= right {
            return &mut [];
        }
        let row = y as usize * self.width;
        &mut self.pixels[row + left..row + right]
    }
}

/// Returns the number of character cells that a text takes.
pub(super) fn cells(text: &str) -> i32 {
    text.chars().map(cells_of).sum()
}

/// Returns the number of cells that a character takes: 2 for Chinese and other wide ones, and 0 for combining marks.
fn cells_of(character: char) -> i32 {
    character.width().map_or(1, |cells| cells as i32)
}

fn to_256ths(opacity: f32) -> u16 {
    (opacity * 256.0).round() as u16
}

/// Blends a color over an opaque pixel; `opacity` is in 256ths, 0..=256.
fn blend(pixel: &mut [u8; 4], [red, green, blue]: Color, opacity: u16) {
    for (channel, over) in pixel.iter_mut().zip([red, green, blue, 255]) {
        *channel =
            ((u16::from(*channel) * (256 - opacity) + u16::from(over) * opacity) / 256) as u8;
    }
}

/// The overlay's monospaced font at one size, with cached glyphs.
pub(super) struct TypeFace {
    font: FontRef<'static>,
    size: PxScale,
    /// Width of a character cell, which is the distance between characters, in pixels.
    pub(super) cell_width: i32,
    /// Height of a character cell, which is the distance between lines, in pixels.
    pub(super) line_height: i32,
    glyphs: HashMap<char, Glyph>,
}

/// A rasterised character; the default is empty, such as a space. `left` and `top` are its offset in pixels from the upper left corner of the character cell.
#[derive(Default)]
struct Glyph {
    left: i32,
    top: i32,
    width: usize,
    /// Coverage of each pixel in 256ths, 0..=256, row by row.
    coverage: Vec<u16>,
}

impl TypeFace {
    /// Loads the font at this scale; at scale 1, a character cell has 7 × 15 pixels. Chooses its size so that a
    /// character is a whole number of pixels wide, which keeps text crisp and aligned.
    pub(super) fn new(scale: f32) -> Self {
        let font = fonts::embedded();
        let cell_width = (7.0 * scale).round().max(1.0);
        let advance = font.h_advance_unscaled(font.glyph_id('0')) / font.height_unscaled();
        let size = PxScale::from(cell_width / advance);
        let line_height = (15.0 * scale).round() as i32;
        Self {
            font,
            size,
            cell_width: cell_width as i32,
            line_height,
            glyphs: HashMap::new(),
        }
    }

    fn glyph(&mut self, character: char) -> &Glyph {
        self.glyphs.entry(character).or_insert_with(|| {
            if self.font.glyph_id(character).0 != 0 {
                return Glyph::new(&self.font, self.size, self.line_height, character);
            }
            let font = fonts::for_character(character).and_then(|font| font.parsed());
            let font = font.as_ref().unwrap_or(&self.font);
            // Characters of other fonts must not be wider than their cells.
            let advance = font.h_advance_unscaled(font.glyph_id(character));
            let room = (cells_of(character).max(1) * self.cell_width) as f32;
            let fitting = room / advance.max(1.0) * font.height_unscaled();
            let size = PxScale::from(self.size.y.min(fitting));
            Glyph::new(font, size, self.line_height, character)
        })
    }
}

impl Glyph {
    fn new(font: &FontRef<'static>, size: PxScale, line_height: i32, character: char) -> Self {
        let scaled = font.as_scaled(size);
        let baseline = ((line_height as f32 + scaled.ascent() + scaled.descent()) / 2.0).round();
        let outline = font.outline_glyph(
            font.glyph_id(character)
                .with_scale_and_position(size, point(0.0, baseline)),
        );
        let Some(outline) = outline else {
            return Self::default();
        };
        let bounds = outline.px_bounds();
        let width = bounds.width() as usize;
        let mut coverage = vec![0; width * bounds.height() as usize];
        outline.draw(|x, y, amount| {
            if let Some(covered) = coverage.get_mut(y as usize * width + x as usize) {
                *covered = to_256ths(amount.clamp(0.0, 1.0));
            }
        });
        Self {
            left: bounds.min.x as i32,
            top: bounds.min.y as i32,
            width,
            coverage,
        }
    }
}
