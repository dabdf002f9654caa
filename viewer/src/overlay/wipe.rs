//! Lines over the picture: between two images that are compared side by side, and around a region.

use super::{
    BOX_OPACITY, Overlay, PANEL, RADIUS,
    canvas::{Area, Canvas, Colour},
    content::BRIGHT,
    fitted::Fitted,
};

/// Colour of the line.
const LINE: Colour = [255, 255, 255];
/// Colour of the edges of the line, so that it is visible on white.
const EDGE: Colour = [14, 17, 23];

impl Overlay {
    /// Draws the line at this column in window pixels over the visible height of a fitted picture. The labels of the left
    /// and the right image are beside its upper end: for each, the first that fits.
    pub(crate) fn draw_wipe(
        &mut self,
        rgba: &mut [u8],
        size: (u32, u32),
        fitted: &Fitted,
        column: i32,
        labels: [&[String]; 2],
    ) {
        let mut canvas = Canvas::new(rgba, size.0, size.1);
        let Fitted { area, region, .. } = *fitted;
        let top = area.y.max(region.y);
        let bottom = (area.y + area.height).min(region.y + region.height);
        let width = self.pixels(2.0).max(1);
        let line = Area {
            x: column - width / 2,
            y: top,
            width,
            height: bottom - top,
        };
        let edge = Area {
            x: line.x - 1,
            width: width + 2,
            ..line
        };
        canvas.fill(edge, EDGE, 0.6);
        canvas.fill(line, LINE, 1.0);
        let margin = self.margin(&canvas);
        let (cell, height) = (self.type_face.cell_width, self.type_face.line_height);
        let left = area.x.max(region.x);
        let right = (area.x + area.width).min(region.x + region.width);
        for (texts, is_left) in labels.into_iter().zip([true, false]) {
            let placed = texts.iter().find_map(|text| {
                let width = text.chars().count() as i32 * cell + 2 * margin;
                let x = if is_left {
                    line.x - margin - width
                } else {
                    line.x + line.width + margin
                };
                (x >= left && x + width <= right).then_some((text, x, width))
            });
            let Some((text, x, width)) = placed else {
                continue;
            };
            let label = Area {
                x,
                y: top + margin,
                width,
                height: height + margin,
            };
            canvas.panel(label, self.pixels(RADIUS).min(margin), PANEL, BOX_OPACITY);
            let y = label.y + margin / 2;
            canvas.text(&mut self.type_face, x + margin, y, BRIGHT, text);
        }
    }

    /// Outlines the region between two pixels of a fitted picture, given by column and row, which belong to it.
    pub(crate) fn draw_outline(
        &mut self,
        rgba: &mut [u8],
        size: (u32, u32),
        fitted: &Fitted,
        (one, other): ((u32, u32), (u32, u32)),
    ) {
        let mut canvas = Canvas::new(rgba, size.0, size.1);
        let corner = |pick: fn(u32, u32) -> u32, beyond: u32| {
            let pixel = [pick(one.0, other.0) + beyond, pick(one.1, other.1) + beyond];
            fitted
                .place(pixel.map(|place| place as f32))
                .map(|place| place.round() as i32)
        };
        let ([left, top], [right, bottom]) = (corner(u32::min, 0), corner(u32::max, 1));
        let width = self.pixels(1.0).max(1);
        let Area {
            x,
            y,
            width: across,
            height: down,
        } = fitted.region;
        for (colour, inset) in [(EDGE, 0), (LINE, width)] {
            let outer = Area {
                x: left - 2 * width + inset,
                y: top - 2 * width + inset,
                width: right - left + 4 * width - 2 * inset,
                height: bottom - top + 4 * width - 2 * inset,
            };
            let sides = [
                Area {
                    height: width,
                    ..outer
                },
                Area {
                    y: outer.y + outer.height - width,
                    height: width,
                    ..outer
                },
                Area { width, ..outer },
                Area {
                    x: outer.x + outer.width - width,
                    width,
                    ..outer
                },
            ];
            for side in sides {
                let (first, last) = (side.x.max(x), (side.x + side.width).min(x + across));
                let (upper, lower) = (side.y.max(y), (side.y + side.height).min(y + down));
                let visible = Area {
                    x: first,
                    y: upper,
                    width: (last - first).max(0),
                    height: (lower - upper).max(0),
                };
                canvas.fill(visible, colour, 1.0);
            }
        }
    }
}
