//! The legend of a debug view, in the lower left corner: a title, a colour bar with numbers, and a note.

use super::{
    Line, Overlay, PANEL, PANEL_OPACITY, RADIUS,
    canvas::{Area, Canvas},
    content::{BRIGHT, DIM, PLAIN},
};
use raysieve::inspect::debug_view::Legend;

/// Minimum width of the legend in characters; a narrower region reduces it.
const CELLS: i32 = 44;
/// Height of the colour bar in pixels at scale 1.
const BAR_HEIGHT: f32 = 12.0;

impl Overlay {
    /// Draws the legend into the lower left corner of a region, or higher if it would overlap the `taken` areas and
    /// there is room. Returns the area of its panel. If the region is too narrow for a character, draws nothing and
    /// returns `None`.
    pub(crate) fn draw_legend(
        &mut self,
        rgba: &mut [u8],
        size: (u32, u32),
        region: Area,
        legend: &Legend,
        taken: &[Area],
    ) -> Option<Area> {
        let mut canvas = Canvas::new(rgba, size.0, size.1);
        let margin = self.margin(&canvas);
        let cell = self.type_face.cell_width;
        let longest = [&legend.title, &legend.note].map(|text| text.chars().count() as i32);
        let wanted = longest.into_iter().fold(CELLS, i32::max);
        let cells = wanted.min((region.width - 4 * margin) / cell);
        if cells < 1 {
            return None;
        }
        let (line, bar_height) = (self.line_height(), self.pixels(BAR_HEIGHT));
        let has_bar = !legend.bar.is_empty();
        let scale = if has_bar { bar_height + line } else { 0 };
        let height = 2 * line + scale + 2 * margin;
        let panel = Area {
            x: region.x + margin,
            y: region.y + region.height - height - margin,
            width: cells * cell + 2 * margin,
            height,
        };
        let panel = panel.above(taken, margin);
        canvas.panel(panel, self.pixels(RADIUS).min(margin), PANEL, PANEL_OPACITY);
        let mut area = Area {
            x: panel.x + margin,
            y: panel.y + margin,
            width: cells * cell,
            height: line,
        };
        let title = vec![(BRIGHT, legend.title.clone())];
        self.text(&mut canvas, area, &title, &Line::new());
        area.y += line;
        if has_bar {
            self.draw_scale(&mut canvas, area, legend, bar_height);
            area.y += scale;
        }
        let note = vec![(DIM, legend.note.clone())];
        self.text(&mut canvas, area, &note, &Line::new());
        Some(panel)
    }

    /// Draws the colour bar over the width of `area`, `bar_height` pixels high, with its numbers below.
    fn draw_scale(
        &mut self,
        canvas: &mut Canvas<'_>,
        area: Area,
        legend: &Legend,
        bar_height: i32,
    ) {
        let cell = self.type_face.cell_width;
        for column in 0..area.width {
            let place = column as f32 / (area.width - 1).max(1) as f32;
            let pixel = Area {
                x: area.x + column,
                width: 1,
                height: bar_height,
                ..area
            };
            canvas.fill(pixel, colour_at(&legend.bar, place), 1.0);
        }
        for (place, number) in &legend.ticks {
            let width = number.chars().count() as i32 * cell;
            let middle = area.x + (place * area.width as f32) as i32;
            let x = (middle - width / 2).clamp(area.x, (area.x + area.width - width).max(area.x));
            canvas.text(&mut self.type_face, x, area.y + bar_height, PLAIN, number);
        }
    }
}

/// Returns the colour at `place` in 0..=1, interpolated linearly between the evenly spaced colours of `bar`, which is
/// not empty.
fn colour_at(bar: &[[u8; 3]], place: f32) -> [u8; 3] {
    let along = place * (bar.len() - 1) as f32;
    let (low, high) = (along.floor() as usize, along.ceil() as usize);
    let part = along - along.floor();
    let mix = |channel: usize| {
        let (from, to) = (f32::from(bar[low][channel]), f32::from(bar[high][channel]));
        (from + (to - from) * part).round() as u8
    };
    [mix(0), mix(1), mix(2)]
}
