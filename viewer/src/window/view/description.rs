//! Descriptions over the picture: of one inspected path, and of the pixel under the pointer.

use egui::{
    Align2, Area, Color32, Frame, Id, Order, Pos2, Rect, RichText, ScrollArea, Stroke, Ui,
    text::LayoutJob,
};

use super::{View, to_rect};
use crate::{
    chart,
    overlay::{
        colors::{ACCENT, BRIGHT, Color, DIM, PLAIN, parsed},
        fitted::Fitted,
        pixels,
    },
    session::InspectedPath,
    window::theme::color,
};
use raysieve::inspect::path_record::{PathVertex, SegmentKind};

/// Color of the outlines below a path's segments.
const OUTLINE: Color32 = Color32::from_rgb(14, 17, 23);

/// Width in points of a path's segments.
const LINE_WIDTH: f32 = 2.0;
/// Width in points of the outlines below a path's segments.
const OUTLINE_WIDTH: f32 = 4.0;

/// Maximum height of the description of a path, as a fraction of that of the picture's region.
const MAX_SHARE: f32 = 0.5;

impl View {
    /// Draws the segments and the pixel of the inspected path over the picture, if there is one.
    pub(super) fn draw_path(&self, ui: &Ui, fitted: &Fitted) {
        let Some(inspected) = &self.path else {
            return;
        };
        let scale = ui.pixels_per_point();
        let painter = ui.painter_at(to_rect(fitted.region, scale));
        let place = |at: [f32; 2]| {
            let [x, y] = fitted.place(at);
            Pos2::new(x / scale, y / scale)
        };
        // Dark outlines first, so that lines are visible on any background.
        for (width, is_outline) in [(OUTLINE_WIDTH, true), (LINE_WIDTH, false)] {
            for segment in &inspected.segments {
                let line = match is_outline {
                    true => OUTLINE,
                    false => color(line_color(segment.kind)),
                };
                let ends = [place(segment.from), place(segment.to)];
                painter.line_segment(ends, Stroke::new(width, line));
            }
        }
        let [column, row] = inspected.path_record.pixel;
        let at = place([column as f32 + 0.5, row as f32 + 0.5]);
        painter.circle_filled(at, 1.5 * LINE_WIDTH, OUTLINE);
        painter.circle_filled(at, LINE_WIDTH, color(BRIGHT));
    }

    /// Displays the description of the inspected path, if there is one, in the lower right corner of the region of the
    /// picture. Returns the part of the region above it.
    pub(super) fn show_path_description(&self, ui: &Ui, region: Rect) -> Rect {
        let Some(inspected) = &self.path else {
            return region;
        };
        let area = Area::new(Id::new("path"))
            .order(Order::Middle)
            .pivot(Align2::RIGHT_BOTTOM)
            .fixed_pos(region.right_bottom() - egui::vec2(9.0, 9.0))
            .constrain(false);
        let shown = area.show(ui.ctx(), |ui| {
            Frame::window(ui.style()).show(ui, |ui| {
                ui.set_max_width((region.width() - 34.0).max(40.0));
                ui.spacing_mut().item_spacing.y = 1.0;
                let scroll = ScrollArea::both().max_height(MAX_SHARE * region.height());
                scroll.show(ui, |ui| {
                    ui.style_mut().wrap_mode = Some(egui::TextWrapMode::Extend);
                    for line in lines(ui, inspected) {
                        ui.label(line);
                    }
                });
            });
        });
        region.with_max_y(shown.response.rect.top())
    }

    /// Returns the two lines that describe the pixel under the pointer, or that of the image with which the picture is
    /// compared; none without such a pixel.
    pub(super) fn pixel_lines(&self) -> Vec<String> {
        let described = self.pointed.zip(self.frame.as_ref());
        let lines = described.and_then(|(pixel, frame)| {
            let info = self.pixel_info.as_ref();
            let compared = self.wipe.as_ref().zip(self.shown.as_ref());
            let compared = compared.and_then(|(wipe, fitted)| {
                let [x, _] = fitted.place([pixel.0 as f32 + 0.5, 0.0]);
                wipe.image_at(x, fitted)
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

fn line_color(kind: SegmentKind) -> Color {
    parsed(match kind {
        SegmentKind::Path => chart::PATH,
        SegmentKind::Missed => chart::MISSED,
        SegmentKind::Light => chart::LIGHT,
        SegmentKind::Blocked => chart::BLOCKED,
    })
}

fn lines(ui: &Ui, inspected: &InspectedPath) -> Vec<LayoutJob> {
    let record = &inspected.path_record;
    let [column, row] = record.pixel;
    let [red, green, blue] = record.radiance.to_array();
    let line = |pieces: Vec<(Color, String)>| {
        let mut job = LayoutJob::default();
        for (piece, text) in pieces {
            RichText::new(text).color(color(piece)).append_to(
                &mut job,
                ui.style(),
                egui::FontSelection::Default,
                egui::Align::Center,
            );
        }
        job
    };
    let first = vec![
        (BRIGHT, format!("path of pixel {column},{row}")),
        (DIM, format!(", sample {}", record.sample)),
    ];
    let vertices = record.vertices.iter().enumerate().map(vertex_line);
    let last = [
        vec![
            (DIM, "ended: ".to_owned()),
            (PLAIN, inspected.end.to_owned()),
        ],
        vec![
            (DIM, "light: ".to_owned()),
            (BRIGHT, format!("{red:.4} {green:.4} {blue:.4}")),
        ],
    ];
    [first]
        .into_iter()
        .chain(vertices)
        .chain(last)
        .map(line)
        .collect()
}

/// Returns the description of one vertex, given with its bounce number, in pieces of one color each.
fn vertex_line((bounce, vertex): (usize, &PathVertex)) -> Vec<(Color, String)> {
    let what = match &vertex.hit {
        Some(hit) if hit.front => hit.material.clone(),
        Some(hit) => format!("{} from behind", hit.material),
        None => "nothing (background)".to_owned(),
    };
    let mut line = vec![
        (ACCENT, format!("{bounce:>2} ")),
        (PLAIN, format!("{:<22}", raysieve_scene::escaped(&what))),
    ];
    if vertex.emission.max_element() > 0.0 {
        let emission = vertex.emission.max_element();
        line.push((BRIGHT, format!(" emits {emission:.4}")));
    }
    match &vertex.light_sample {
        Some(probe) if probe.blocked => line.push((
            line_color(SegmentKind::Blocked),
            " direct light blocked".to_owned(),
        )),
        Some(probe) => line.push((
            line_color(SegmentKind::Light),
            format!(" direct light {:.4}", probe.light.max_element()),
        )),
        None => {}
    }
    line
}
