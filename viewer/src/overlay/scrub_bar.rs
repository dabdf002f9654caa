//! The bar below the picture that shows the time of an animation, and on which the time can be dragged.

use super::{
    MARGIN, Overlay,
    canvas::{Area, Canvas},
    content::{ACCENT, BRIGHT, DIM},
};
use crate::session::Animation;

/// Height of the bar in pixels at scale 1.
pub(crate) const BAR_HEIGHT: f64 = 24.0;

/// Minimum width of the line of times, in character cells, beside the text.
const MIN_CELLS: i32 = 12;

/// The area of a bar that has been drawn, and that of its line of times.
#[derive(Clone, Copy)]
pub(crate) struct ScrubBar {
    /// Area of the bar.
    area: Area,
    /// Area of the line of times, from 0 at its left end to the length of the animation.
    line: Area,
}

impl ScrubBar {
    /// Returns whether the bar has this position in window pixels.
    pub(crate) fn has(&self, x: f64, y: f64) -> bool {
        let within = |at: f64, from: i32, length: i32| {
            (f64::from(from)..f64::from(from + length)).contains(&at)
        };
        let Area {
            x: left,
            y: top,
            width,
            height,
        } = self.area;
        within(x, left, width) && within(y, top, height)
    }

    /// Returns the fraction of the animation, in 0..=1, of a column in window pixels.
    pub(crate) fn share(&self, x: f64) -> f64 {
        let along = (x - f64::from(self.line.x)) / f64::from(self.line.width.max(1));
        along.clamp(0.0, 1.0)
    }
}

impl Overlay {
    /// Returns the height of a bar in pixels for a window of this size; 0 if the window is too small for it.
    pub(crate) fn scrub_bar_height(&self, (width, height): (u32, u32)) -> u32 {
        let bar = (BAR_HEIGHT as f32 * self.scale).round() as u32;
        let is_wide = width as i32 >= (MIN_CELLS + 2) * self.type_face.cell_width;
        if is_wide && height >= 5 * bar { bar } else { 0 }
    }

    /// Draws the bar of an animation into an area of a window of this size: the time as text, if there is room, and a
    /// line with a mark at the time.
    pub(crate) fn draw_scrub_bar(
        &mut self,
        rgba: &mut [u8],
        size: (u32, u32),
        area: Area,
        animation: &Animation,
    ) -> ScrubBar {
        let mut canvas = Canvas::new(rgba, size.0, size.1);
        let margin = self.pixels(MARGIN);
        let cell = self.type_face.cell_width;
        // The line does not move while the time passes.
        let longest = Animation {
            time: Some(animation.seconds),
            ..animation.clone()
        };
        let texts = match animation.time {
            Some(_) => [animation.named_text(), animation.text()],
            None => ["rest pose".to_owned(), String::new()],
        };
        let lengths = [longest.named_text(), longest.text()].map(|text| text.chars().count());
        let mut line = Area {
            x: area.x + margin,
            y: area.y + area.height / 2,
            width: area.width - 2 * margin,
            height: self.pixels(3.0).max(1),
        };
        line.y -= line.height / 2;
        let taken = lengths.map(|length| length as i32 * cell + margin);
        let fits = |(_, taken): &(_, i32)| line.width - taken >= MIN_CELLS * cell;
        if let Some((text, taken)) = texts.into_iter().zip(taken).find(fits) {
            let y = area.y + (area.height - self.line_height()) / 2;
            canvas.text(&mut self.type_face, line.x, y, BRIGHT, &text);
            line.x += taken;
            line.width -= taken;
        }
        canvas.fill(line, DIM, 0.5);
        if let Some(time) = animation.time {
            let share = (time / animation.seconds).clamp(0.0, 1.0);
            let reached = (f64::from(line.width) * share).round() as i32;
            canvas.fill(
                Area {
                    width: reached,
                    ..line
                },
                ACCENT,
                1.0,
            );
            let (width, height) = (self.pixels(5.0).max(1), self.pixels(15.0).max(1));
            let mark = Area {
                x: line.x + reached - width / 2,
                y: area.y + (area.height - height) / 2,
                width,
                height,
            };
            let colour = if animation.playing { ACCENT } else { BRIGHT };
            canvas.fill(mark, colour, 1.0);
        }
        ScrubBar { area, line }
    }
}
