//! The content of the window: the newest picture, tone-mapped and scaled to fit, with panels overlaid.

mod pixel_lines;
mod side_by_side;

use std::{sync::Arc, time::Instant};

use rayon::ThreadPool;

use self::pixel_lines::as_messages;
use super::{
    layout::{Layout, Placement, Regions},
    message::{MessageKind, Messages, Prompt, Request},
    properties::Properties,
    scaling::{BORDER, fit},
    wipe::Wipe,
};
use crate::overlay::{
    Detail, Figures, Overlay, ScrubBar, Units,
    canvas::Area,
    fitted::{Fitted, Zoom},
    scale_for,
};
use crate::session::{
    self, Alpha, DisplayFrame, Frame, InspectedPath, Message, PixelInfo, Session,
};
use raysieve::{
    inspect::debug_view::DebugImage,
    render::{output::Look, region::Region},
};

/// The displayed picture and panels. The methods that change them take effect at the next `draw`, which the caller must
/// request.
pub(super) struct View {
    /// Newest frame; `None` before the first.
    frame: Option<DisplayFrame>,
    /// Debug image that is displayed instead of the frame's picture; `None` displays the picture.
    debug_image: Option<Arc<DebugImage>>,
    /// Alpha of the picture, which is displayed over a checkerboard; `None` displays it as it is.
    alpha: Option<Alpha>,
    /// Inspected path that is drawn over the picture; `None` if there is none.
    path: Option<InspectedPath>,
    overlay: Overlay,
    placement: Placement,
    units: Units,
    /// Area of the picture when it was last drawn; `None` before the first frame.
    shown: Option<Fitted>,
    /// Bar with the time of the animation, as it was last drawn; `None` without one.
    scrub_bar: Option<ScrubBar>,
    /// Whether the first hints are displayed.
    has_hints: bool,
    /// Comparison of the picture with another image side by side; `None` if there is none.
    wipe: Option<Wipe>,
    /// Two corners of the region that is being selected, by column and row; `None` if none is.
    selection: Option<Corners>,
    /// Displayed part of the picture.
    zoom: Zoom,
    /// Factor of the text's size relative to its default, chosen by the user, in [`TEXT_SCALES`].
    text_scale: f32,
    /// Pixel that is described, by column and row; `None` if none is.
    pixel: Option<(u32, u32)>,
    /// Newest answer about a pixel, which may be another one than `pixel`.
    pixel_info: Option<PixelInfo>,
    /// Displayed page of the list of keys, from 0; `None` if the list is hidden.
    keys: Option<usize>,
    /// Number of pages of the list of keys when it was last drawn; 1 before that.
    key_pages: usize,
    /// Panel of the selected part's properties.
    pub(super) properties: Properties,
    messages: Messages,
    /// The displayed image, scaled to the window's size; `None` if it must be made again.
    backdrop: Option<Backdrop>,
    pool: ThreadPool,
}

/// Two pixels in opposite corners of a region, by column and row.
pub(super) type Corners = ((u32, u32), (u32, u32));

/// The displayed picture or debug image, tone-mapped and scaled to the window, without panels. It is cached until the
/// image changes.
struct Backdrop {
    /// Width and height of the window in pixels.
    size: (u32, u32),
    fitted: Fitted,
    /// Display settings with which the picture was tone-mapped.
    look: Look,
    rgba: Vec<u8>,
}

/// Valid factors of the text's size.
pub(super) const TEXT_SCALES: std::ops::RangeInclusive<f32> = 0.5..=4.0;

impl View {
    /// Creates a view without a frame, which displays the first hints.
    pub(super) fn new(
        placement: Placement,
        units: Units,
        text_scale: f32,
    ) -> Result<Self, rayon::ThreadPoolBuildError> {
        Ok(Self {
            frame: None,
            debug_image: None,
            alpha: None,
            path: None,
            overlay: Overlay::new(1.0),
            placement,
            units,
            shown: None,
            scrub_bar: None,
            has_hints: true,
            wipe: None,
            selection: None,
            zoom: Zoom::default(),
            text_scale,
            pixel: None,
            pixel_info: None,
            keys: None,
            key_pages: 1,
            properties: Properties::default(),
            messages: Messages::default(),
            backdrop: None,
            pool: session::tone_mapping_pool()?,
        })
    }

    /// Displays a new frame. If a debug image is displayed, it stays, and only the frame's statistics are displayed.
    pub(super) fn update(&mut self, frame: Frame) {
        self.frame = Some(frame.into());
        if self.debug_image.is_none() {
            self.backdrop = None;
        }
    }

    /// Displays a debug image instead of the picture; `None` displays the picture again.
    pub(super) fn set_debug_image(&mut self, debug_image: Option<Arc<DebugImage>>) {
        let pointer = |image: &Option<_>| image.as_ref().map(Arc::as_ptr);
        if pointer(&debug_image) != pointer(&self.debug_image) {
            self.debug_image = debug_image;
            self.backdrop = None;
        }
    }

    /// Displays the picture over a checkerboard with this alpha; `None` displays it as it is.
    pub(super) fn set_alpha(&mut self, alpha: Option<Alpha>) {
        if alpha != self.alpha {
            self.alpha = alpha;
            self.backdrop = None;
        }
    }

    /// Returns the displayed debug image; `None` if the picture is displayed.
    pub(super) fn debug_image(&self) -> Option<&Arc<DebugImage>> {
        self.debug_image.as_ref()
    }

    /// Displays an inspected path in place of the previous one, until the camera or the scene changes. Displays a
    /// message about it if there is one.
    pub(super) fn show_path(&mut self, path: InspectedPath, message: Option<String>) {
        self.path = Some(path);
        self.messages.close_path_note();
        if let Some(message) = message {
            self.say(message, MessageKind::PathNote);
        }
    }

    /// Removes the inspected path and the message about it. Returns whether there was a path.
    pub(super) fn hide_path(&mut self) -> bool {
        let is_shown = self.path.take().is_some();
        if is_shown {
            self.messages.close_path_note();
        }
        is_shown
    }

    /// Returns column and row of the pixel whose path is displayed; `None` if there is none, or if `size` is not the
    /// size of the picture in which the path was requested.
    pub(super) fn path_pixel(&self, size: (u32, u32)) -> Option<(u32, u32)> {
        let path = self
            .path
            .as_ref()
            .filter(|path| path.viewpoint.size == size);
        path.map(|path| path.path_record.pixel.into())
    }

    /// Handles Escape: closes the topmost panel, which is the list of keys, the hints, the inspected path, the
    /// messages, the list of parts, or the properties. Returns whether there was one. A message that has just
    /// disappeared by itself counts as one.
    pub(super) fn close_panel(&mut self) -> bool {
        self.keys.take().is_some()
            || self.hide_hints()
            || self.hide_path()
            || self.messages.escape(Instant::now())
            || self.properties.close()
    }

    /// Removes the inspected path or, without one, the messages. Returns whether there was one.
    pub(super) fn close_path_or_messages(&mut self) -> bool {
        self.hide_path() || self.messages.close(Instant::now())
    }

    /// Removes the first hints. Returns whether they were displayed.
    pub(super) fn hide_hints(&mut self) -> bool {
        std::mem::take(&mut self.has_hints)
    }

    /// Handles input: an Escape after it is no longer attributed to a message that has disappeared. Call it after
    /// [`close_panel`](Self::close_panel).
    pub(super) fn forget_expired(&mut self) {
        self.messages.forget_expired();
    }

    /// Removes the messages whose display time is over at `now`. Their time stands still if the window is not visible.
    /// Returns whether a message was removed, so that a redraw is required.
    pub(super) fn update_messages(&mut self, is_visible: bool, now: Instant) -> bool {
        self.messages.set_visible(is_visible, now);
        self.messages.expire(now)
    }

    /// Returns whether a message is displayed that disappears by itself.
    pub(super) fn has_timed_message(&self) -> bool {
        self.messages.has_timed()
    }

    pub(super) fn frame(&self) -> Option<&DisplayFrame> {
        self.frame.as_ref()
    }

    /// Returns place and amount of the figures.
    pub(super) fn placement(&self) -> Placement {
        self.placement
    }

    /// Displays the figures in the next place, and displays a message about it.
    pub(super) fn switch_placement(&mut self) {
        self.placement = self.placement.next();
        self.say(self.placement.message().to_owned(), MessageKind::Note);
    }

    /// Returns the units of the table of bounces.
    pub(super) fn units(&self) -> Units {
        self.units
    }

    /// Displays the table of bounces in the next units, and displays a message about it.
    pub(super) fn switch_units(&mut self) {
        self.units = self.units.next();
        self.say(
            format!("figures: {}", self.units.label()),
            MessageKind::Note,
        );
    }

    /// Returns the factor of the text's size that the user has chosen, in [`TEXT_SCALES`]; 1 is the default. It does
    /// not include the scale of the monitor.
    pub(super) fn text_scale(&self) -> f32 {
        self.text_scale
    }

    /// Sets the factor of the text's size, clamped to its range, and displays a message about it.
    pub(super) fn set_text_scale(&mut self, factor: f32) {
        self.text_scale = factor.clamp(*TEXT_SCALES.start(), *TEXT_SCALES.end());
        let text = format!("text size {:.0} %", 100.0 * self.text_scale);
        self.say(text, MessageKind::Note);
    }

    /// Magnifies the picture by `factor` about a position in window pixels. A factor below 1 shrinks it, at most to its
    /// fitted size.
    pub(super) fn magnify(&mut self, factor: f64, at: (f64, f64)) {
        let max_width = self.overlay.max_pixel_width();
        self.change_zoom(|fitted, zoom| fitted.zoomed(zoom, factor, max_width, at));
    }

    /// Moves the magnified picture by this many window pixels.
    pub(super) fn move_picture(&mut self, right: f64, down: f64) {
        self.change_zoom(|fitted, zoom| fitted.moved(zoom, right, down));
    }

    /// Displays the part of the picture that `change` returns, given the area of the picture and the present part. Does
    /// nothing before the first frame.
    fn change_zoom(&mut self, change: impl FnOnce(&Fitted, Zoom) -> Zoom) {
        if let (Some(shown), Some(frame)) = (&mut self.shown, &self.frame) {
            self.zoom = change(shown, self.zoom);
            // Further changes may follow before the next redraw.
            *shown = Fitted::new(frame.size, shown.region, self.zoom);
        }
    }

    /// Outlines a region that is being selected; `None` outlines none.
    pub(super) fn select(&mut self, selection: Option<Corners>) {
        self.selection = selection;
    }

    /// Returns two corners of the region that is being selected; `None` if none is.
    pub(super) fn selection(&self) -> Option<Corners> {
        self.selection
    }

    /// Displays the whole picture again.
    pub(super) fn show_whole_picture(&mut self) {
        self.zoom = Zoom::default();
    }

    /// Displays the description of the picture's pixel in this column and row, from 0 at the upper left; `None`
    /// displays none.
    pub(super) fn describe_pixel(&mut self, pixel: Option<(u32, u32)>) {
        self.pixel = pixel;
    }

    /// Stores the session's answer about a pixel, for the description of that pixel.
    pub(super) fn set_pixel_info(&mut self, info: PixelInfo) {
        self.pixel_info = Some(info);
    }

    /// Returns the area of the picture when it was last drawn; `None` before the first frame.
    pub(super) fn shown(&self) -> Option<&Fitted> {
        self.shown.as_ref()
    }

    /// Returns the bar with the time of the animation, as it was last drawn; `None` without one.
    pub(super) fn scrub_bar(&self) -> Option<&ScrubBar> {
        self.scrub_bar.as_ref()
    }

    /// Displays the list of keys from its first page if it is hidden. Otherwise displays its next page, or hides the
    /// list after the last page.
    pub(super) fn switch_keys(&mut self) {
        let next = self.keys.map_or(0, |page| page + 1);
        self.keys = (next < self.key_pages || self.keys.is_none()).then_some(next);
    }

    /// Displays a message for some seconds; see [`Messages::show`].
    pub(super) fn say(&mut self, message: impl Into<Message>, kind: MessageKind) {
        let text = message.into().for_keyboard().clone();
        self.messages.show(text, kind, Instant::now());
    }

    /// Displays a question about a request until the user answers it, presses Escape or does something else. Returns
    /// whether a question about that request was displayed already.
    pub(super) fn ask(&mut self, request: Request, question: String) -> bool {
        self.messages.ask(request, question)
    }

    /// Returns whether Escape has removed the question, and no other input has followed.
    pub(super) fn has_cancelled(&self) -> bool {
        self.messages.has_cancelled()
    }

    /// Displays a name that is being typed; `None` removes it.
    pub(super) fn set_prompt(&mut self, prompt: Option<Prompt>) {
        self.messages.set_prompt(prompt);
    }

    /// Removes the question, because the user did something else.
    pub(super) fn withdraw_question(&mut self) {
        self.messages.withdraw();
    }

    /// Returns the time at which the next message disappears; `None` if there is no message.
    pub(super) fn messages_until(&self) -> Option<Instant> {
        self.messages.until()
    }

    /// Draws the picture, the figures and all panels into `rgba`, the RGBA bytes of `size` physical pixels (width,
    /// height); `scale` is the number of physical pixels per logical pixel. Removes the inspected path and the answer
    /// about a pixel if the session's camera or scene has changed.
    pub(super) fn draw(
        &mut self,
        rgba: &mut [u8],
        size: (u32, u32),
        scale: f32,
        look: Look,
        session: &Session,
    ) {
        let scale = scale.max(scale_for(size.0, size.1)) * self.text_scale;
        if self.overlay.scale() != scale {
            self.overlay = Overlay::new(scale);
        }
        let regions = self.draw_frame(rgba, size, look, session);
        self.path.take_if(|path| !session.is_at(&path.viewpoint));
        self.pixel_info
            .take_if(|info| !session.is_at(&info.viewpoint));
        // The list of keys covers the whole window, except for messages below it.
        let region = match self.keys {
            Some(_) => Area::of(size),
            None => regions.picture,
        };
        let shorten = |text: &str| self.overlay.shortened(size, region, text);
        let error = session.scene_error();
        // The loader has printed it.
        let error = error.map(|error| (shorten(error).unwrap_or(error.to_owned()), true));
        let texts = self.messages.draw(shorten);
        let messages: Vec<_> = (error.iter().chain(&texts))
            .map(|(text, is_problem)| (&**text, *is_problem))
            .collect();
        let reserved = self.overlay.messages_height(size, region, &messages);
        let taken = self.draw_panels(rgba, size, (regions, reserved), session);
        self.overlay
            .draw_messages(rgba, size, region, &messages, &taken);
    }

    /// Draws the picture and the figures. Returns the regions for other panels.
    fn draw_frame(
        &mut self,
        rgba: &mut [u8],
        size: (u32, u32),
        look: Look,
        session: &Session,
    ) -> Regions {
        self.scrub_bar = None;
        let Some(frame) = &self.frame else {
            rgba.as_chunks_mut().0.fill(BORDER);
            return Regions {
                picture: Area::of(size),
                side: Area::of(size),
                figures: None,
            };
        };
        let pixel_lines = self.pixel_lines();
        let stats = frame.stats_in(look, self.debug_image.is_some());
        let mut figures = Figures {
            stats: &stats,
            recent: &frame.recent,
            size: frame.size,
            state: frame.state,
            detail: Detail::Full,
            units: self.units,
            denoises: look.denoise && self.debug_image.is_none(),
        };
        let animation = session.animation();
        let animation = animation.filter(|_| self.placement != Placement::Off);
        let bar = animation
            .as_ref()
            .map_or(0, |_| self.overlay.scrub_bar_height(size));
        let above = (size.0, size.1 - bar);
        let layout = Layout::new(&self.overlay, above, frame.size, self.placement, &figures);
        let fitted = Fitted::new(frame.size, layout.picture, self.zoom);
        self.shown = Some(fitted);
        let fresh = self.backdrop.take().filter(|backdrop| {
            backdrop.size == size && backdrop.fitted == fitted && backdrop.look == look
        });
        let backdrop = fresh.unwrap_or_else(|| {
            let debug_image = self.debug_image.as_deref();
            let alpha = self.alpha.as_ref();
            let develop = || fit(frame.to_image(look, debug_image, alpha), size, &fitted);
            Backdrop {
                size,
                fitted,
                look,
                rgba: self.pool.install(develop),
            }
        });
        rgba.copy_from_slice(&backdrop.rgba);
        self.backdrop = Some(backdrop);
        if let Some(wipe) = &mut self.wipe {
            let pool = &self.pool;
            let left = session.displayed_name(self.debug_image.is_some());
            let right = session.compared_labels();
            let labels = (&mut self.overlay, [&[left.to_owned()], &right[..]]);
            wipe.draw(rgba, size, &fitted, look, labels, |image| {
                pool.install(|| fit(image, size, &fitted))
            });
        } else if self.debug_image.is_none() {
            self.overlay
                .draw_pixel_values(rgba, size, &frame.picture, &fitted);
        }
        let rendered = frame.region.map(
            |Region {
                 x,
                 y,
                 width,
                 height,
             }| { ((x, y), (x + width - 1, y + height - 1)) },
        );
        for corners in [rendered, self.selection].into_iter().flatten() {
            self.overlay.draw_outline(rgba, size, &fitted, corners);
        }
        if let Some(animation) = animation.filter(|_| bar > 0) {
            let area = Area {
                y: above.1 as i32,
                height: bar as i32,
                ..Area::of(size)
            };
            let bar = (self.overlay).draw_scrub_bar(rgba, size, area, &animation);
            self.scrub_bar = Some(bar);
        }
        let mut regions = Regions {
            picture: layout.picture,
            side: layout.picture,
            figures: None,
        };
        if let Some((region, detail)) = layout.figures {
            figures.detail = detail;
            let mut free = region;
            if region.meets(&layout.picture) {
                // The description of a pixel must have room below figures that cover the picture.
                let lines = as_messages(&pixel_lines);
                free.height -= self.overlay.messages_height(size, region, &lines);
            }
            let drawn = self.overlay.draw_stats(rgba, size, free, &figures);
            regions.figures = drawn.map(|panel| panel.area);
            if detail == Detail::Full {
                regions.side = region;
            }
        }
        regions
    }

    /// Draws the panels besides figures and messages: properties, path, legend, hints, list of keys, and description of
    /// a pixel. Returns their areas, which messages must avoid. The list of keys replaces the properties, and covers
    /// path, legend and hints, whose areas are then not returned. It leaves the lowest `reserved` pixels free.
    fn draw_panels(
        &mut self,
        rgba: &mut [u8],
        size: (u32, u32),
        (mut regions, reserved): (Regions, i32),
        session: &Session,
    ) -> Vec<Area> {
        let Regions { picture, side, .. } = regions;
        let is_alone = side != picture;
        let shows_properties = self.properties.begin_frame(self.keys.is_none());
        let mut taken = Vec::new();
        // Properties in a region of their own replace what is there; over the picture, they cover the path.
        if shows_properties && is_alone {
            let panel = self.draw_properties(rgba, size, (side, true), session);
            regions.figures = panel.or(regions.figures);
        }
        if let (Some(path), Some(fitted)) = (&self.path, &self.shown) {
            let mut region = side;
            if shows_properties && is_alone {
                let fits = |region: &Area| self.overlay.fits_path(size, *region, path);
                let free = regions.without_figures().into_iter().find(fits);
                region = free.unwrap_or(picture);
            }
            taken.push(self.overlay.draw_path(rgba, size, region, path, fitted));
        }
        if shows_properties && !is_alone {
            taken.extend(self.draw_properties(rgba, size, (side, false), session));
        }
        if let Some(debug_image) = &self.debug_image {
            let legend = &debug_image.legend;
            // Beside the picture, it covers nothing.
            let free = regions.without_figures();
            let fits = |region: &Area| self.overlay.fits_legend(size, *region, legend, &taken);
            let region = free.into_iter().find(fits).unwrap_or(picture);
            let place = (region, region.meets(&picture));
            let drawn = (self.overlay).draw_legend(rgba, size, place, legend, &taken);
            taken.extend(drawn);
        }
        if self.has_hints {
            let hints = session::hints(session.animation().is_some());
            let hints: Vec<_> = hints.map(|hint| (hint, false)).collect();
            let free = regions.without_figures();
            let fits = |region: &Area| self.overlay.fits_messages(size, *region, &hints, &taken);
            if let Some(region) = free.into_iter().find(fits) {
                let panel = self
                    .overlay
                    .draw_messages(rgba, size, region, &hints, &taken);
                taken.extend(panel);
            }
        }
        let mut uncovered = taken.clone();
        if let Some(page) = self.keys {
            let keys: Vec<_> = session::controls().collect();
            let shown = (&keys[..], page);
            let drawn = self.overlay.draw_keys(rgba, size, shown, reserved);
            (self.keys, self.key_pages) = (Some(drawn.page), drawn.pages);
            uncovered.push(drawn.panel);
            taken = vec![drawn.panel];
        }
        taken.extend(self.draw_pixel_lines(rgba, size, regions, uncovered));
        taken
    }

    /// Draws the panel of properties in a region, which it has for itself if `is_alone`. Returns the panel's area, or
    /// `None` if there is no room.
    fn draw_properties(
        &mut self,
        rgba: &mut [u8],
        size: (u32, u32),
        (region, is_alone): (Area, bool),
        session: &Session,
    ) -> Option<Area> {
        let place = (region, is_alone);
        self.properties
            .draw(&mut self.overlay, rgba, size, place, session)
    }
}
