//! One path over the picture, and what is to be said of it.

use super::{
    BOX_OPACITY, Line, Overlay, PANEL, RADIUS,
    canvas::{Area, Canvas, Colour, colour},
    content::{ACCENT, BRIGHT, DIM, PLAIN},
};
use crate::{
    chart,
    live::Inspected,
    track::{Flight, Track, Vertex},
    window::view::Fitted,
};

const PATH: Colour = colour(chart::PATH);
const MISSED: Colour = colour(chart::MISSED);
const LIGHT: Colour = colour(chart::LIGHT);
const BLOCKED: Colour = colour(chart::BLOCKED);
const EDGE: Colour = [14, 17, 23];

/// Of the lines at scale 1, pixels.
const STROKE: f32 = 2.0;
const EDGE_STROKE: f32 = 4.0;

/// Bounces that are told of, where there is room for them; what came behind them is a line.
const MOST_LINES: usize = 16;
/// Of what is told besides bounces.
const OTHER_LINES: i32 = 4;

impl Overlay {
    /// The path's lines, and in the lower right corner what became of it, on a panel that it says.
    pub(in crate::window) fn draw_path(
        &mut self,
        rgba: &mut [u8],
        size: (u32, u32),
        inspected: &Inspected,
        fitted: &Fitted,
    ) -> Area {
        let mut canvas = Canvas::new(rgba, size.0, size.1);
        // Dark edges first: lines are seen on any ground.
        for (width, on_edge) in [(EDGE_STROKE, true), (STROKE, false)] {
            for stroke in &inspected.strokes {
                let colour = if on_edge { EDGE } else { shown(stroke.what) };
                let (from, to) = (fitted.place(stroke.from), fitted.place(stroke.to));
                canvas.line(from, to, width * self.scale, colour);
            }
        }
        let [column, row] = inspected.track.pixel;
        let at = fitted.place([column as f32 + 0.5, row as f32 + 0.5]);
        canvas.line(at, at, 3.0 * STROKE * self.scale, EDGE);
        canvas.line(at, at, 2.0 * STROKE * self.scale, BRIGHT);
        let room = (canvas.height() - 4 * self.margin(&canvas)) / self.line_height() - OTHER_LINES;
        let most = usize::try_from(room).unwrap_or(0).min(MOST_LINES);
        self.tell(&mut canvas, &lines(&inspected.track, most))
    }

    fn tell(&mut self, canvas: &mut Canvas<'_>, lines: &[Line]) -> Area {
        let margin = self.margin(canvas);
        let length = |line: &Line| line.iter().map(|(_, text)| text.chars().count()).sum();
        let longest: usize = lines.iter().map(length).max().unwrap_or(0);
        let cells = (longest as i32).min((canvas.width() - 4 * margin) / self.type_face.cell_width);
        let width = cells * self.type_face.cell_width;
        let height = self.box_height(canvas, lines.len());
        let panel = Area {
            x: canvas.width() - width - 3 * margin,
            y: canvas.height() - height - margin,
            width: width + 2 * margin,
            height,
        };
        canvas.panel(panel, self.pixels(RADIUS).min(margin), PANEL, BOX_OPACITY);
        let mut area = Area {
            x: panel.x + margin,
            y: panel.y + margin,
            width,
            height: self.line_height(),
        };
        for line in lines {
            self.text(canvas, area, line, &Line::new());
            area.y += area.height;
        }
        panel
    }
}

fn shown(what: Flight) -> Colour {
    match what {
        Flight::Path => PATH,
        Flight::Missed => MISSED,
        Flight::Light => LIGHT,
        Flight::Blocked => BLOCKED,
    }
}

/// With so many bounces at most.
fn lines(track: &Track, most: usize) -> Vec<Line> {
    let [column, row] = track.pixel;
    let mut lines = vec![vec![
        (BRIGHT, format!("pixel {column},{row}")),
        (DIM, format!("  sample {}", track.sample)),
    ]];
    lines.extend(track.vertices.iter().enumerate().take(most).map(line));
    if track.vertices.len() > most {
        let more = track.vertices.len() - most;
        lines.push(vec![(DIM, format!("... {more} more"))]);
    }
    let [r, g, b] = track.radiance.to_array();
    lines.push(vec![
        (DIM, "sieved: ".to_owned()),
        (PLAIN, track.end.to_string()),
    ]);
    lines.push(vec![
        (DIM, "light:  ".to_owned()),
        (BRIGHT, format!("{r:.4} {g:.4} {b:.4}")),
    ]);
    lines
}

fn line((bounce, vertex): (usize, &Vertex)) -> Line {
    let what = match &vertex.met {
        Some(met) if met.front => met.material.clone(),
        Some(met) => format!("{}, from behind", met.material),
        None => "nothing".to_owned(),
    };
    let mut line = vec![
        (ACCENT, format!("{bounce:>2} ")),
        (PLAIN, format!("{:<24}", what.escape_debug().to_string())),
    ];
    if vertex.found.max_element() > 0.0 {
        line.push((BRIGHT, format!(" finds {:.4}", vertex.found.max_element())));
    }
    match &vertex.light_sample {
        Some(probe) if probe.blocked => line.push((BLOCKED, " light blocked".to_owned())),
        Some(probe) => line.push((LIGHT, format!(" light {:.4}", probe.light.max_element()))),
        None => {}
    }
    line
}
