//! The picture and another image side by side, with a line between them that can be dragged.

use std::sync::Arc;

use egui::{
    Align2, Color32, ColorImage, CursorIcon, Id, Key, Pos2, Rect, Sense, Stroke, TextStyle,
    TextureHandle, TextureOptions, Ui, WidgetInfo,
};

use super::{picture::WHOLE, to_rect};
use crate::{
    overlay::{
        colors::{BRIGHT, PANEL},
        fitted::Fitted,
    },
    window::{
        painter::{MAX_TEXTURE_SIDE, reduce, reduction},
        theme::color,
    },
};
use raysieve::{film::picture::comparison::ComparisonImage, render::output::Look};

/// A comparison side by side: the picture, or what is displayed instead of it, is left of the line, and the other image
/// right of it.
pub(super) struct Wipe {
    image: Arc<ComparisonImage>,
    /// Position of the line, as a fraction of the picture's width, in 0..=1.
    position: f32,
    /// The other image on the graphics card, with the display settings and the divisor with which it was made; `None` if
    /// it must be made again.
    texture: Option<(TextureHandle, Look, u32)>,
}

/// Distance from the line in points within which a press drags it.
const REACH: f32 = 8.0;

/// Change of the position by an arrow key.
const KEY_STEP: f32 = 0.02;

impl Wipe {
    pub(super) fn new(image: Arc<ComparisonImage>) -> Self {
        Self {
            image,
            position: 0.5,
            texture: None,
        }
    }

    /// Returns the column of the line in physical pixels of the window.
    fn column(&self, fitted: &Fitted) -> f32 {
        let line = fitted.area.x as f32 + self.position * fitted.area.width as f32;
        let region = fitted.region;
        line.clamp(region.x as f32, (region.x + region.width) as f32)
    }

    /// Returns the other image if it is displayed in column `x` in physical pixels, right of the line.
    pub(super) fn image_at(&self, x: f32, fitted: &Fitted) -> Option<&ComparisonImage> {
        (x >= self.column(fitted)).then_some(&self.image)
    }

    /// Displays the other image right of the line, over the picture, and then the line, which reacts to pointer and arrow
    /// keys. `labels` are those of what is displayed left and right of it: the first that fits is used.
    pub(super) fn show(
        &mut self,
        ui: &mut Ui,
        fitted: &Fitted,
        look: Look,
        labels: [&[String]; 2],
    ) {
        let scale = ui.pixels_per_point();
        let (area, region) = (to_rect(fitted.area, scale), to_rect(fitted.region, scale));
        let visible = area.intersect(region);
        let column = self.column(fitted) / scale;
        self.update_texture(ui, fitted, look);
        if let Some((texture, ..)) = &self.texture {
            let right = Rect::from_min_max(Pos2::new(column, visible.top()), visible.max);
            let painter = ui.painter_at(right);
            painter.image(texture.id(), area, WHOLE, Color32::WHITE);
        }
        let line = Rect::from_x_y_ranges(column - REACH..=column + REACH, visible.y_range());
        let response = ui.interact(line, Id::new("wipe"), Sense::drag());
        let percent = f64::from(100.0 * self.position);
        response.widget_info(|| WidgetInfo::slider(true, percent, "line between both images"));
        let response = response.on_hover_cursor(CursorIcon::ResizeHorizontal);
        if let Some(at) = response.interact_pointer_pos() {
            self.position = ((at.x - area.left()) / area.width()).clamp(0.0, 1.0);
            ui.request_repaint();
        }
        if response.has_focus() {
            let arrows = egui::EventFilter {
                horizontal_arrows: true,
                ..egui::EventFilter::default()
            };
            ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, arrows));
            let steps = ui.input(|input| {
                input.num_presses(Key::ArrowRight) as f32 - input.num_presses(Key::ArrowLeft) as f32
            });
            self.position = (self.position + KEY_STEP * steps).clamp(0.0, 1.0);
        }
        let painter = ui.painter_at(visible);
        let edge = Stroke::new(4.0, color(PANEL).gamma_multiply(0.6));
        painter.vline(column, visible.y_range(), edge);
        painter.vline(column, visible.y_range(), Stroke::new(2.0, Color32::WHITE));
        let font = TextStyle::Body.resolve(ui.style());
        for (texts, is_left) in labels.into_iter().zip([true, false]) {
            let room = match is_left {
                true => column - visible.left(),
                false => visible.right() - column,
            };
            let galleys = texts
                .iter()
                .map(|text| painter.layout_no_wrap(text.clone(), font.clone(), color(BRIGHT)));
            let mut fitting = galleys.filter(|galley| galley.size().x + 24.0 <= room);
            let Some(galley) = fitting.next() else {
                continue;
            };
            let (pivot, x) = match is_left {
                true => (Align2::RIGHT_TOP, column - 12.0),
                false => (Align2::LEFT_TOP, column + 12.0),
            };
            let place = Pos2::new(x, visible.top() + 12.0);
            let label = pivot.anchor_size(place, galley.size());
            painter.rect_filled(label.expand(5.0), 6.0, color(PANEL));
            painter.galley(label.min, galley, color(BRIGHT));
        }
    }

    /// Copies the other image to the graphics card, unless it has it already.
    fn update_texture(&mut self, ui: &Ui, fitted: &Fitted, look: Look) {
        let size = self.image.size();
        let divisor = reduction(size, fitted.area, MAX_TEXTURE_SIDE);
        let is_fresh =
            |(_, made, known): &(TextureHandle, Look, u32)| (*made, *known) == (look, divisor);
        if self.texture.as_ref().is_some_and(is_fresh) {
            return;
        }
        let rgba = self.image.to_display(look.exposure_stops, look.tone);
        let (size, rgba) = reduce(size, rgba, divisor);
        let image = ColorImage::from_rgba_unmultiplied([size.0 as usize, size.1 as usize], &rgba);
        let options = TextureOptions {
            minification: egui::TextureFilter::Linear,
            ..TextureOptions::NEAREST
        };
        let texture = ui.ctx().load_texture("compared", image, options);
        self.texture = Some((texture, look, divisor));
    }
}
