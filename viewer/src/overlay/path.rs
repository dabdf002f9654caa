//! Draws one inspected path over the picture, and describes its vertices in a panel.

use super::{
    Line, Overlay,
    canvas::{Area, Canvas, Colour, colour},
    content::{ACCENT, BRIGHT, DIM, PLAIN, length},
    fitted::Fitted,
};
use crate::{
    chart,
    session::{InspectedPath, end_text},
};
use raysieve::inspect::path_record::{PathRecord, PathVertex, SegmentKind};

/// Colour of a path's segments between two vertices.
const PATH: Colour = colour(chart::PATH);
/// Colour of the last segment of a path that left the scene.
const MISSED: Colour = colour(chart::MISSED);
/// Colour of unblocked shadow rays.
const LIGHT: Colour = colour(chart::LIGHT);
/// Colour of blocked shadow rays.
const BLOCKED: Colour = colour(chart::BLOCKED);
/// Colour of the outlines below a path's segments.
const OUTLINE: Colour = [14, 17, 23];

/// Width of a path's segments in pixels at scale 1.
const LINE_WIDTH: f32 = 2.0;
/// Width of the outlines below a path's segments in pixels at scale 1.
const OUTLINE_WIDTH: f32 = 4.0;

/// Maximum number of vertices that the description lists; a line states how many more there are.
const MAX_LINES: usize = 16;
/// Maximum number of the description's lines that do not describe a vertex.
const OTHER_LINES: i32 = 4;

impl Overlay {
    /// Draws a path's segments and its pixel, and describes its vertices on a panel in the lower right corner of
    /// `region`. Returns that panel's area. `fitted` converts the path's picture pixels to pixels of `rgba`.
    pub(crate) fn draw_path(
        &mut self,
        rgba: &mut [u8],
        size: (u32, u32),
        region: Area,
        inspected: &InspectedPath,
        fitted: &Fitted,
    ) -> Area {
        let mut canvas = Canvas::new(rgba, size.0, size.1);
        // Dark outlines first, so that lines are visible on any background.
        for (width, is_outline) in [(OUTLINE_WIDTH, true), (LINE_WIDTH, false)] {
            for segment in &inspected.segments {
                let colour = if is_outline {
                    OUTLINE
                } else {
                    line_colour(segment.kind)
                };
                let (from, to) = (fitted.place(segment.from), fitted.place(segment.to));
                canvas.line(from, to, width * self.scale, colour);
            }
        }
        let [column, row] = inspected.path_record.pixel;
        let at = fitted.place([column as f32 + 0.5, row as f32 + 0.5]);
        canvas.line(at, at, 3.0 * LINE_WIDTH * self.scale, OUTLINE);
        canvas.line(at, at, 2.0 * LINE_WIDTH * self.scale, BRIGHT);
        let room = (region.height - 4 * self.margin(&canvas)) / self.line_height() - OTHER_LINES;
        let max_bounces = usize::try_from(room).unwrap_or(0).min(MAX_LINES);
        let lines = lines(&inspected.path_record, max_bounces);
        self.draw_description(&mut canvas, region, &lines)
    }

    /// Returns whether [`draw_path`](Self::draw_path) has room for the whole description of a path in a region of a
    /// picture of this size, with a margin around it.
    pub(crate) fn fits_path(
        &self,
        size: (u32, u32),
        region: Area,
        inspected: &InspectedPath,
    ) -> bool {
        let size = (size.0 as i32, size.1 as i32);
        let margin = self.margin_in(size);
        let lines = lines(&inspected.path_record, MAX_LINES);
        let longest = lines.iter().map(length).max().unwrap_or(0);
        longest * self.type_face.cell_width + 4 * margin <= region.width
            && self.box_height(size, lines.len()) + 2 * margin <= region.height
    }

    fn draw_description(&mut self, canvas: &mut Canvas<'_>, region: Area, lines: &[Line]) -> Area {
        let margin = self.margin(canvas);
        let longest = lines.iter().map(length).max().unwrap_or(0);
        let cells = longest.min((region.width - 4 * margin) / self.type_face.cell_width);
        let width = cells * self.type_face.cell_width + 2 * margin;
        let size = (canvas.width(), canvas.height());
        let height = self.box_height(size, lines.len());
        let panel = Area {
            x: region.x + region.width - width - margin,
            y: region.y + region.height - height - margin,
            width,
            height,
        };
        self.draw_lines(canvas, panel, lines);
        panel
    }
}

/// Returns the colour of a kind of segment.
fn line_colour(kind: SegmentKind) -> Colour {
    match kind {
        SegmentKind::Path => PATH,
        SegmentKind::Missed => MISSED,
        SegmentKind::Light => LIGHT,
        SegmentKind::Blocked => BLOCKED,
    }
}

/// Returns the description of a path, with the first `max_bounces` vertices.
fn lines(record: &PathRecord, max_bounces: usize) -> Vec<Line> {
    let [column, row] = record.pixel;
    let mut lines = vec![vec![
        (BRIGHT, format!("path of pixel {column},{row}")),
        (DIM, format!(", sample {}", record.sample)),
    ]];
    lines.extend(
        record
            .vertices
            .iter()
            .enumerate()
            .take(max_bounces)
            .map(line),
    );
    if record.vertices.len() > max_bounces {
        let more = record.vertices.len() - max_bounces;
        lines.push(vec![(DIM, format!("… {more} more"))]);
    }
    let [r, g, b] = record.radiance.to_array();
    lines.push(vec![
        (DIM, "ended: ".to_owned()),
        (PLAIN, end_text(record.end).to_owned()),
    ]);
    lines.push(vec![
        (DIM, "light: ".to_owned()),
        (BRIGHT, format!("{r:.4} {g:.4} {b:.4}")),
    ]);
    lines
}

/// Returns the description of one vertex, given with its bounce number.
fn line((bounce, vertex): (usize, &PathVertex)) -> Line {
    let what = match &vertex.hit {
        Some(hit) if hit.front => hit.material.clone(),
        Some(hit) => format!("{} from behind", hit.material),
        None => "nothing (background)".to_owned(),
    };
    let mut line = vec![
        (ACCENT, format!("{bounce:>2} ")),
        (PLAIN, format!("{:<22}", what.escape_debug().to_string())),
    ];
    if vertex.emission.max_element() > 0.0 {
        line.push((
            BRIGHT,
            format!(" emits {:.4}", vertex.emission.max_element()),
        ));
    }
    match &vertex.light_sample {
        Some(probe) if probe.blocked => line.push((BLOCKED, " direct light blocked".to_owned())),
        Some(probe) => line.push((
            LIGHT,
            format!(" direct light {:.4}", probe.light.max_element()),
        )),
        None => {}
    }
    line
}
