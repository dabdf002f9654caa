//! The content of the window: the newest picture, and figures, editor and messages as egui's widgets.

mod description;
mod dialogs;
mod editor;
mod menu;
mod panels;
mod picture;
mod time_bar;
mod wipe;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use egui::{Pos2, Rect, Ui};

pub(super) use self::{
    dialogs::{Answer, NamePrompt, Pending, Question},
    time_bar::HEIGHT as TIME_BAR_HEIGHT,
};
use self::{
    editor::Editor,
    menu::KeyList,
    panels::PanelTexture,
    picture::{Drag, Reduced},
    wipe::Wipe,
};
use super::{
    layout::Layout,
    message::{MessageKind, Messages},
    painter::Painter,
    settings::{Settings, TEXT_SCALES},
};
use crate::{
    overlay::{
        self, FigureFormat, Overlay,
        canvas::Area,
        colors::{BRIGHT, DIM, WARNING},
        fitted::{Fitted, Zoom},
        scale_for,
    },
    session::{
        self, Action, Alpha, Change, Continuity, DisplayFrame, InspectedPath, PixelInfo, Session,
        State,
    },
};
use raysieve::{film::picture::comparison::ComparisonImage, inspect::debug_view::DebugImage};

/// The displayed picture and panels. The methods that change them take effect at the next [`show`](Self::show), which
/// the caller must request.
#[derive(Default)]
pub(super) struct View {
    /// Newest frame; `None` before the first.
    pub(super) frame: Option<DisplayFrame>,
    /// Debug image that is displayed instead of the frame's picture; `None` displays the picture.
    pub(super) debug_image: Option<Arc<DebugImage>>,
    /// Alpha of the picture, which is displayed over a checkerboard; `None` displays it as it is.
    alpha: Option<Alpha>,
    /// Inspected path that is drawn over the picture; `None` if there is none.
    path: Option<InspectedPath>,
    overlay: Overlay,
    /// Settings as the user has changed them, except for the place of the window.
    pub(super) settings: Settings,
    /// Area of the picture in physical pixels when it was last displayed; `None` before the first frame.
    pub(super) shown: Option<Fitted>,
    /// How the picture was made that the graphics card has; `None` if it must be made again.
    reduced: Option<Reduced>,
    has_hints: bool,
    /// Comparison of the picture with another image side by side; `None` if there is none.
    wipe: Option<Wipe>,
    /// Whether the next drag selects the region to render.
    selects_region: bool,
    /// Two corners of the region that is being selected, by column and row; `None` if none is.
    selection: Option<Corners>,
    /// Drag of the picture in progress, and the relation of its next movement to the last one; `None` if there is none.
    drag: Option<(Drag, Continuity)>,
    /// Displayed part of the picture.
    pub(super) zoom: Zoom,
    describes_pixel: bool,
    /// Pixel under the pointer, by column and row; `None` outside the picture.
    pointed: Option<(u32, u32)>,
    /// Newest answer about a pixel, which may be another one than `pointed`.
    pixel_info: Option<PixelInfo>,
    /// Pixel about which the session was asked; `None` if no answer is awaited.
    asked: Option<(u32, u32)>,
    pub(super) keys: KeyList,
    pub(super) editor: Editor,
    /// Height of the editor's panel in points when it was last displayed.
    editor_height: f32,
    pub(super) messages: Messages,
    /// Name of a file that is typed; `None` if none is.
    pub(super) prompt: Option<NamePrompt>,
    /// Question about unsaved changes; `None` if there is none.
    pub(super) question: Option<Question>,
    figures: PanelTexture,
    /// Time of the frame whose figures are displayed; `None` before the first.
    figures_time: Option<Instant>,
    legend: PanelTexture,
    /// What the user has asked for in this pass of the widgets.
    requests: Vec<Request>,
}

/// Two pixels in opposite corners of a region, by column and row.
pub(super) type Corners = ((u32, u32), (u32, u32));

/// What a user asks for by the pointer or a widget, and the view cannot do.
pub(super) enum Request {
    /// Executes an action, as its key does.
    Act(Action),
    /// Saves or opens the file whose name was typed; `None` if the user has cancelled.
    Typed(Option<std::path::PathBuf>),
    /// Answers the question about unsaved changes.
    Answer(Answer),
}

/// Fraction of the height of the figures' panel that the editor takes at most, if figures need the rest.
const EDITOR_SHARE: f32 = 0.6;

/// Minimum interval between changes of the figures while samples are added.
const FIGURES_INTERVAL: Duration = Duration::from_millis(100);

/// Width in points of the editor over the picture; a narrower picture reduces it.
const EDITOR_WIDTH: f32 = 400.0;

impl View {
    /// Creates a view without a frame, which displays the first hints.
    pub(super) fn new(settings: Settings) -> Self {
        Self {
            settings,
            has_hints: true,
            ..Self::default()
        }
    }

    /// Displays a new frame. If a debug image is displayed, it stays, and only the frame's statistics are displayed.
    pub(super) fn update(&mut self, frame: DisplayFrame) {
        // Figures that change more often cannot be read.
        let rests = matches!(frame.state, State::Paused { .. } | State::Done);
        let is_recent = |time: Instant| time.elapsed() < FIGURES_INTERVAL;
        if rests || !self.figures_time.is_some_and(is_recent) {
            self.figures.forget();
            self.figures_time = Some(Instant::now());
        }
        let last = self.frame.as_ref();
        let is_same = last.is_some_and(|last| last.has_same_picture(&frame));
        if self.debug_image.is_none() && !is_same {
            self.reduced = None;
        }
        self.frame = Some(frame);
    }

    /// Displays a debug image instead of the picture; `None` displays the picture again.
    pub(super) fn set_debug_image(&mut self, debug_image: Option<Arc<DebugImage>>) {
        let pointer = |image: &Option<_>| image.as_ref().map(Arc::as_ptr);
        if pointer(&debug_image) != pointer(&self.debug_image) {
            self.debug_image = debug_image;
            self.reduced = None;
            self.legend.forget();
        }
    }

    /// Displays the picture over a checkerboard with this alpha; `None` displays it as it is.
    pub(super) fn set_alpha(&mut self, alpha: Option<Alpha>) {
        if alpha != self.alpha {
            self.alpha = alpha;
            self.reduced = None;
        }
    }

    /// Displays an inspected path in place of the previous one, until the camera or the scene changes. Displays a
    /// message about it if there is one.
    pub(super) fn show_path(&mut self, path: InspectedPath, message: Option<String>) {
        self.path = Some(path);
        message.into_iter().for_each(|message| self.note(message));
    }

    /// Requests the path of the last sample of a pixel, or hides that pixel's path if it is already displayed.
    fn inspect(&mut self, session: &Session, pixel: (u32, u32)) {
        let is_shown = self.path.as_ref().is_some_and(|path| {
            path.view.size == session.size && pixel == path.path_record.pixel.into()
        });
        if is_shown {
            self.path = None;
        } else {
            session.inspect(pixel);
        }
    }

    /// Lets the next drag select the region to render, or ends that.
    pub(super) fn switch_selection(&mut self) {
        let message = if self.end_selection() {
            "no region selected"
        } else {
            self.selects_region = true;
            "drag over the region to render; click: the whole picture"
        };
        self.note(message);
    }

    /// Renders only the region between two pixels, or the whole picture if they are equal.
    fn render_region(&mut self, session: &mut Session, (from, to): Corners) {
        self.end_selection();
        if from == to {
            session.act(Change::WholePicture);
        } else {
            session.set_region(from, to);
        }
    }

    /// Describes the pixel under the pointer from now on, or no longer.
    pub(super) fn switch_pixel(&mut self, session: &Session) {
        self.describes_pixel = !self.describes_pixel;
        self.asked = None;
        self.ask_pixel(session);
    }

    /// Asks the session about the pixel under the pointer if it is to be described, unless an answer is still awaited.
    pub(super) fn ask_pixel(&mut self, session: &Session) {
        if self.describes_pixel
            && self.asked.is_none()
            && let Some(pixel) = self.pointed
        {
            self.asked = Some(pixel);
            session.ask_pixel(pixel);
        }
    }

    /// Displays the answer about a pixel, and asks about the one under the pointer if it is another by now.
    pub(super) fn show_pixel(&mut self, session: &Session, info: PixelInfo) {
        self.pixel_info = Some(info);
        if self.pointed != self.asked.take() {
            self.ask_pixel(session);
        }
    }

    /// Handles Escape: closes what is uppermost, which is the question, the list of keys, the hints, the selection of a
    /// region, the inspected path, the messages, or the editor. Returns whether there was something to close.
    pub(super) fn close_panel(&mut self) -> bool {
        self.question.take().is_some()
            || self.keys.close()
            || self.hide_hints()
            || self.end_selection()
            || self.close_path_or_messages()
            || self.editor.close()
    }

    /// Removes the inspected path or, without one, the messages. Returns whether there was one.
    pub(super) fn close_path_or_messages(&mut self) -> bool {
        self.path.take().is_some() || self.messages.close()
    }

    pub(super) fn end_selection(&mut self) -> bool {
        self.selection = None;
        std::mem::take(&mut self.selects_region)
    }

    /// Removes the first hints. Returns whether they were displayed.
    pub(super) fn hide_hints(&mut self) -> bool {
        std::mem::take(&mut self.has_hints)
    }

    /// Displays the figures in the next place, and displays a message about it.
    pub(super) fn switch_placement(&mut self) {
        self.settings.statistics = self.settings.statistics.next();
        self.note(self.settings.statistics.message());
    }

    /// Displays the table of bounces in the next units, and displays a message about it.
    pub(super) fn switch_units(&mut self) {
        self.settings.units = self.settings.units.next();
        self.figures.forget();
        self.note(format!("figures: {}", self.settings.units.label()));
    }

    /// Sets the factor of the text's size, clamped to its range, and displays a message about it.
    pub(super) fn set_text_scale(&mut self, factor: f32) {
        self.settings.text_scale = factor.clamp(*TEXT_SCALES.start(), *TEXT_SCALES.end());
        self.note(format!(
            "text size {:.0} %",
            100.0 * self.settings.text_scale
        ));
    }

    /// Returns the displayed figures as text; `None` before the first frame.
    pub(super) fn figures_text(&self, session: &Session, format: FigureFormat) -> Option<String> {
        let frame = self.frame.as_ref()?;
        let stats = frame.stats_in(session.look, self.debug_image.is_some());
        let figures = self.figures_of(frame, &stats, session);
        Some(overlay::figures_as(&figures, format))
    }

    /// Returns the number of physical pixels per pixel of text at scale 1, in a window of this size in physical pixels.
    /// `monitor_scale` is that of the monitor.
    pub(super) fn scale(&self, size: (u32, u32), monitor_scale: f32) -> f32 {
        monitor_scale.max(scale_for(size.0, size.1)) * self.settings.text_scale
    }

    /// Compares the picture side by side with an image, or ends the comparison.
    pub(super) fn switch_wipe(&mut self, image: &Arc<ComparisonImage>) {
        self.wipe = match self.wipe {
            None => Some(Wipe::new(image.clone())),
            Some(_) => None,
        };
    }

    /// Compares the picture side by side with an image, in place of another one.
    pub(super) fn show_wipe(&mut self, image: &Arc<ComparisonImage>) {
        self.wipe = Some(Wipe::new(image.clone()));
    }

    /// Displays a note for some seconds.
    pub(super) fn note(&mut self, note: impl Into<String>) {
        (self.messages).add(note.into(), MessageKind::Note, Instant::now());
    }

    /// Displays a problem for some seconds, marked as an error.
    pub(super) fn say_problem(&mut self, problem: impl Into<String>) {
        // The problem may be the answer about a pixel.
        self.asked = None;
        (self.messages).add(problem.into(), MessageKind::Problem, Instant::now());
    }

    /// Adds all widgets of the window, whose content has `size` physical pixels. Returns what the user asks for. Removes
    /// the inspected path and the answer about a pixel if the session's camera or scene has changed.
    pub(super) fn show(
        &mut self,
        ui: &mut Ui,
        size: (u32, u32),
        session: &mut Session,
        painter: &mut Painter,
    ) -> Vec<Request> {
        let scale = ui.pixels_per_point();
        if self.overlay.scale != scale {
            self.overlay = Overlay::new(scale);
            self.figures.forget();
            self.legend.forget();
        }
        self.path.take_if(|path| !session.is_at(&path.view));
        self.pixel_info.take_if(|info| !session.is_at(&info.view));
        let whole = Area::of(size);
        let bar = self.show_time_bar(ui, whole, session);
        let Some(frame) = &self.frame else {
            self.show_messages(ui, to_rect(whole, scale), session);
            return std::mem::take(&mut self.requests);
        };
        let frame_size = frame.size;
        let above = (size.0, size.1 - bar as u32);
        let layout = {
            let stats = frame.stats_in(session.look, self.debug_image.is_some());
            let figures = self.figures_of(frame, &stats, session);
            Layout::new(
                &self.overlay,
                above,
                frame_size,
                self.settings.statistics,
                &figures,
            )
        };
        let fitted = Fitted::new(frame_size, layout.picture, self.zoom);
        self.shown = Some(fitted);
        self.update_picture(painter, session);
        self.show_picture(ui, painter.picture, session);
        let picture = to_rect(layout.picture, scale);
        let beside = self.show_figures(ui, &layout, session);
        self.show_editor(ui, picture, beside, session);
        self.show_legend(ui, layout.picture);
        let above = self.show_path_description(ui, picture);
        self.show_messages(ui, above, session);
        self.keys.show(ui.ctx());
        self.show_dialogs(ui.ctx(), picture);
        std::mem::take(&mut self.requests)
    }

    /// Displays the messages, the description of the pixel under the pointer, and the first hints in the region of the
    /// picture.
    fn show_messages(&mut self, ui: &Ui, region: Rect, session: &Session) {
        let mut lines = Vec::new();
        // The loader has printed it.
        if let Some(error) = session.scene_error.as_deref() {
            lines.push((WARNING, error.to_owned()));
        }
        if self.describes_pixel {
            let texts = self.pixel_lines().into_iter();
            lines.extend(texts.map(|text| (BRIGHT, text)));
        }
        if self.has_hints {
            let hints = session::hints(session.animation().is_some());
            lines.extend(hints.map(|hint| (DIM, hint.to_owned())));
        }
        // The messages do not cover the pixel that they describe.
        let pointer = ui.input(|input| input.pointer.hover_pos());
        let is_low = |at: Pos2| at.y > region.bottom() - region.height() / 3.0;
        let at_top = self.describes_pixel && pointer.is_some_and(is_low);
        self.messages.show(ui.ctx(), region, at_top, &lines);
    }

    /// Displays the editor, unless it is hidden: below the figures in their panel `beside` the picture, or else at the
    /// right edge of the picture.
    fn show_editor(
        &mut self,
        ui: &mut Ui,
        picture: Rect,
        beside: Option<Rect>,
        session: &mut Session,
    ) {
        if !self.editor.is_open {
            return;
        }
        let region = beside.unwrap_or_else(|| {
            let width = EDITOR_WIDTH.min(picture.width());
            let left = picture.right() - width;
            Rect::from_min_max(Pos2::new(left, picture.top()), picture.max)
        });
        let requests = &mut self.requests;
        let mut act = |action| requests.push(Request::Act(action));
        let height = panels::framed(ui, "editor", region, |ui| {
            self.editor.show(ui, session, &mut act);
        });
        if height != self.editor_height {
            self.editor_height = height;
            ui.request_repaint();
        }
    }
}

/// Converts an area in physical pixels to points of a scale.
fn to_rect(area: Area, scale: f32) -> Rect {
    let at = |x: i32, y: i32| Pos2::new(x as f32 / scale, y as f32 / scale);
    Rect::from_min_max(
        at(area.x, area.y),
        at(area.x + area.width, area.y + area.height),
    )
}
