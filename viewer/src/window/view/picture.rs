//! The picture in the window: it reacts to the pointer, and what belongs to its pixels is drawn over it.

use egui::{
    Color32, Event, Id, MouseWheelUnit, PointerButton, Pos2, Rangef, Rect, Response, Sense, Shape,
    Stroke, TextureId, Ui, WidgetInfo, WidgetType,
};

use glam::DVec2;

use super::{Corners, View, to_rect};
use crate::{
    overlay::{fitted::Fitted, pixels::short},
    session::{Continuity, Motion, Session},
    window::painter::{MAX_TEXTURE_SIDE, Painter, reduce, reduction},
};
use raysieve::{
    film::picture::Picture,
    render::{output::Look, region::Region},
};

/// The effect of a drag of the picture.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Drag {
    /// Orbits the camera about the target, or turns it in place in fly mode.
    Turn,
    /// Moves camera and target sideways.
    Pan,
    /// Moves the magnified picture instead of the camera.
    Picture,
    Region,
}

/// How the picture was made that the graphics card has.
#[derive(PartialEq)]
pub(super) struct Reduced {
    look: Look,
    divisor: u32,
}

/// Magnification of the picture per notch of the mouse wheel.
const ZOOM_FACTOR: f64 = 1.25;

/// Touchpad scroll distance in points that equals one notch of the mouse wheel.
const NOTCH_POINTS: f32 = 50.0;

/// Width and height in points of a character.
const CELL: [f32; 2] = [7.0, 15.0];

/// Minimum width of a magnified pixel in characters from which its values are written into it.
const MIN_CELLS: f32 = 7.0;

/// Maximum width of a magnified pixel in characters.
const MAX_CELLS: f32 = 16.0;

/// Color of lines over the picture.
const LINE: Color32 = Color32::WHITE;
/// Color of the edges of lines, so that they are visible on white.
const EDGE: Color32 = Color32::from_rgb(14, 17, 23);

impl View {
    /// Copies the displayed picture or debug image to the graphics card, unless it has it already. A picture with much more
    /// pixels than are displayed is reduced first.
    pub(super) fn update_picture(&mut self, painter: &mut Painter, session: &Session) {
        let (Some(frame), Some(fitted)) = (&self.frame, &self.shown) else {
            return;
        };
        let picture = (frame.picture.width, frame.picture.height);
        let reduced = Reduced {
            look: session.look,
            divisor: reduction(picture, fitted.area, MAX_TEXTURE_SIDE),
        };
        if self.reduced.as_ref() == Some(&reduced) {
            return;
        }
        let debug_image = self.debug_image.as_deref();
        let image = painter.pool.install(|| {
            let image = frame.to_image(reduced.look, debug_image, self.alpha.as_ref());
            reduce(image.size, image.rgba, reduced.divisor)
        });
        painter.set_picture(image.0, &image.1);
        self.reduced = Some(reduced);
    }

    /// Displays the picture in its region, with an image of a comparison, outlines, the inspected path and values of
    /// pixels, and handles the pointer.
    pub(super) fn show_picture(&mut self, ui: &mut Ui, texture: TextureId, session: &mut Session) {
        let Some(fitted) = self.shown else {
            return;
        };
        let scale = ui.pixels_per_point();
        let region = to_rect(fitted.region, scale);
        let response = ui.interact(region, Id::new("picture"), Sense::click_and_drag());
        response.widget_info(|| {
            let text = "the picture; drag it or use the arrow keys to move the camera";
            WidgetInfo::labeled(WidgetType::Image, true, text)
        });
        if response.has_focus() {
            ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, ARROWS));
        }
        let painter = ui.painter_at(region);
        let area = to_rect(fitted.area, scale);
        painter.image(texture, area, WHOLE, Color32::WHITE);
        if let Some(wipe) = &mut self.wipe {
            let left = session.displayed_name(self.debug_image.is_some());
            let right = session.compared_labels();
            let labels = [&[left.to_owned()], &right[..]];
            wipe.show(ui, &fitted, session.look, labels);
        } else if self.debug_image.is_none() {
            self.draw_pixel_values(ui, &fitted);
        }
        let frame = self.frame.as_ref();
        let rendered = frame.and_then(|frame| frame.region).map(corners);
        for outlined in [rendered, self.selection].into_iter().flatten() {
            draw_outline(ui, &fitted, outlined);
        }
        self.draw_path(ui, &fitted);
        self.handle_pointer(ui, &fitted, &response, session);
    }

    /// Turns clicks, drags and the wheel over the picture into requests.
    fn handle_pointer(
        &mut self,
        ui: &Ui,
        fitted: &Fitted,
        response: &Response,
        session: &mut Session,
    ) {
        let scale = ui.pixels_per_point();
        let size = session.size;
        let pixel_at = |at: Pos2| {
            let pixel = fitted.pixel(in_pixels(at, scale));
            // The displayed picture may be larger than one that was just requested.
            pixel.filter(|&(column, row)| column < size.0 && row < size.1)
        };
        let pointed = match response.contains_pointer() {
            true => ui
                .input(|input| input.pointer.hover_pos())
                .and_then(pixel_at),
            false => None,
        };
        if pointed != self.pointed {
            self.pointed = pointed;
            self.ask_pixel(session);
        }
        let modifiers = ui.input(|input| input.modifiers);
        if response.clicked()
            && let Some(pixel) = response.interact_pointer_pos().and_then(pixel_at)
        {
            match (self.selects_region, modifiers.ctrl, modifiers.shift) {
                (true, ..) => self.render_region(session, (pixel, pixel)),
                (_, true, _) => session.focus(pixel),
                (_, _, false) => self.inspect(session, pixel),
                _ => {}
            }
        }
        if response.secondary_clicked() {
            self.close_path_or_messages();
        }
        self.handle_drag(ui, fitted, response, &pixel_at, session);
        let touch = ui.input(|input| input.multi_touch());
        if let Some(touch) = touch {
            self.drag = None;
            session.move_camera(Motion::Zoom(touch.zoom_delta));
        }
        if response.contains_pointer() {
            self.handle_wheel(ui, fitted, session);
        }
    }

    fn handle_drag(
        &mut self,
        ui: &Ui,
        fitted: &Fitted,
        response: &Response,
        pixel_at: &dyn Fn(Pos2) -> Option<(u32, u32)>,
        session: &mut Session,
    ) {
        let (scale, modifiers) = (ui.pixels_per_point(), ui.input(|input| input.modifiers));
        let mut delta = response.drag_delta();
        if response.drag_started() {
            let is_primary = response.drag_started_by(PointerButton::Primary);
            let drag = match is_primary {
                true if self.selects_region => Drag::Region,
                true if modifiers.ctrl => Drag::Picture,
                true if !modifiers.shift => Drag::Turn,
                _ => Drag::Pan,
            };
            self.drag = Some((drag, Continuity::Begins));
            // The movement before a press became a drag counts too.
            delta = response.total_drag_delta().unwrap_or(delta);
            if drag == Drag::Region {
                let begin = ui.input(|input| input.pointer.press_origin());
                self.selection = begin.and_then(pixel_at).map(|pixel| (pixel, pixel));
            }
        }
        let side = fitted.area.width.min(fitted.area.height) as f32;
        let (right, down) = (delta.x * scale, delta.y * scale);
        if (response.dragged() || response.drag_stopped()) && delta != egui::Vec2::ZERO {
            let mut move_by = |motion, continuity: &mut Continuity| {
                session.move_on(motion, *continuity);
                *continuity = Continuity::Continues;
            };
            let (across, along) = (right / side, down / side);
            match &mut self.drag {
                Some((Drag::Turn, continuity)) => move_by(Motion::Turn(across, along), continuity),
                Some((Drag::Pan, continuity)) => move_by(Motion::Pan(across, along), continuity),
                Some((Drag::Picture, _)) => {
                    self.zoom = fitted.moved(self.zoom, DVec2::new(right.into(), down.into()));
                    ui.request_repaint();
                }
                Some((Drag::Region, _)) | None => {}
            }
        }
        if matches!(self.drag, Some((Drag::Region, _)))
            && let (Some((from, to)), Some(at)) = (
                &mut self.selection,
                ui.input(|input| input.pointer.latest_pos()),
            )
        {
            *to = fitted.nearest_pixel(in_pixels(at, scale));
            if response.drag_stopped() {
                let region = (*from, *to);
                self.render_region(session, region);
            }
        }
        if response.drag_stopped() {
            self.drag = None;
        }
    }

    fn handle_wheel(&mut self, ui: &Ui, fitted: &Fitted, session: &mut Session) {
        let scale = ui.pixels_per_point();
        let wheel = |event: &Event| match *event {
            Event::MouseWheel {
                unit,
                delta,
                modifiers,
                ..
            } => {
                let notches = match unit {
                    MouseWheelUnit::Point => delta.y / NOTCH_POINTS,
                    MouseWheelUnit::Line | MouseWheelUnit::Page => delta.y,
                };
                Some((notches, modifiers.ctrl))
            }
            _ => None,
        };
        let turns: Vec<_> = ui.input(|input| input.events.iter().filter_map(wheel).collect());
        let Some(at) = ui.input(|input| input.pointer.hover_pos()) else {
            return;
        };
        let mut fitted = *fitted;
        for (notches, is_ctrl) in turns {
            if !is_ctrl {
                session.move_camera(Motion::Dolly(notches));
                continue;
            }
            let factor = ZOOM_FACTOR.powf(f64::from(notches));
            let max_width = f64::from(MAX_CELLS * CELL[0] * scale);
            // The middle of the pixel under the pointer stays where it is.
            let at = in_pixels(at, scale) + 0.5;
            self.zoom = fitted.zoomed(self.zoom, factor, max_width, at);
            if let Some(frame) = &self.frame {
                fitted = Fitted::new(frame.size, fitted.region, self.zoom);
            }
            ui.request_repaint();
        }
    }

    /// Writes red, green and blue in linear light into each pixel of the picture that lies completely in its region.
    /// Draws nothing if pixels are too small for the text, or while a smaller preview is displayed.
    fn draw_pixel_values(&self, ui: &Ui, fitted: &Fitted) {
        let Some(frame) = &self.frame else {
            return;
        };
        let picture: &Picture = &frame.picture;
        let scale = ui.pixels_per_point();
        let area = to_rect(fitted.area, scale);
        let region = to_rect(fitted.region, scale);
        let (columns, rows) = (picture.width as f32, picture.height as f32);
        let pixel = [area.width() / columns, area.height() / rows];
        if fitted.picture != (picture.width, picture.height)
            || pixel[0] < MIN_CELLS * CELL[0]
            || pixel[1] < 3.0 * CELL[1]
        {
            return;
        }
        let visible = |range: Rangef, begin: f32, step: f32, count: u32| {
            let first = ((range.min - begin) / step).ceil().max(0.0) as u32;
            let last = ((range.max - begin) / step).floor().max(0.0) as u32;
            first..last.min(count)
        };
        let painter = ui.painter_at(region);
        let font = egui::TextStyle::Monospace.resolve(ui.style());
        let across = visible(region.x_range(), area.left(), pixel[0], picture.width);
        let down = visible(region.y_range(), area.top(), pixel[1], picture.height);
        for row in down {
            for column in across.clone() {
                let place = row as usize * picture.width as usize + column as usize;
                let Some(value) = picture.pixels.get(place) else {
                    continue;
                };
                let middle = area.min
                    + egui::vec2(
                        (column as f32 + 0.5) * pixel[0],
                        (row as f32 + 0.5) * pixel[1],
                    );
                for (number, channel) in value.to_array().into_iter().enumerate() {
                    let at = middle + egui::vec2(0.0, (number as f32 - 1.0) * CELL[1]);
                    let galley = painter.layout_no_wrap(short(channel), font.clone(), LINE);
                    let corner = at - galley.size() / 2.0;
                    let shadow = Rect::from_min_size(corner, galley.size());
                    painter.rect_filled(shadow, 2.0, EDGE.gamma_multiply(0.6));
                    painter.galley(corner, galley, LINE);
                }
            }
        }
    }
}

/// The whole texture, in its coordinates.
pub(super) const WHOLE: Rect = Rect::from_min_max(Pos2::ZERO, Pos2::new(1.0, 1.0));

/// Keys that move the camera instead of the keyboard focus while the picture has it.
const ARROWS: egui::EventFilter = egui::EventFilter {
    tab: false,
    horizontal_arrows: true,
    vertical_arrows: true,
    escape: false,
};

fn corners(region: Region) -> Corners {
    let Region { x, y, .. } = region;
    ((x, y), (x + region.width - 1, y + region.height - 1))
}

/// Converts a position in points to physical pixels.
fn in_pixels(at: Pos2, scale: f32) -> DVec2 {
    DVec2::new((at.x * scale).into(), (at.y * scale).into())
}

/// Outlines the region between two pixels of a fitted picture, given by column and row, which belong to it.
fn draw_outline(ui: &Ui, fitted: &Fitted, (one, other): Corners) {
    let scale = ui.pixels_per_point();
    let corner = |pick: fn(u32, u32) -> u32, beyond: u32| {
        let pixel = [pick(one.0, other.0) + beyond, pick(one.1, other.1) + beyond];
        let [x, y] = fitted.place(pixel.map(|place| place as f32));
        Pos2::new(x / scale, y / scale)
    };
    let outline = Rect::from_min_max(corner(u32::min, 0), corner(u32::max, 1));
    let painter = ui.painter_at(to_rect(fitted.region, scale));
    for (color, distance) in [(EDGE, 2.0), (LINE, 1.0)] {
        let stroke = Stroke::new(1.0, color);
        let rect = outline.expand(distance);
        painter.add(Shape::rect_stroke(
            rect,
            0.0,
            stroke,
            egui::StrokeKind::Middle,
        ));
    }
}
