//! The window on the desktop: input goes to egui, and egui's shapes are drawn at a limited rate.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use egui::{Context, Pos2, Rect, TexturesDelta, Ui, Vec2, ViewportId};
use winit::{
    dpi::{LogicalSize, PhysicalPosition, PhysicalSize},
    event::WindowEvent,
    event_loop::{ActiveEventLoop, EventLoopProxy},
    monitor::MonitorHandle,
    window::{Fullscreen, UserAttentionType, Window, WindowAttributes},
};

use super::{Wake, painter::Painter, theme::Fallback};
use raysieve_scene::catch_panics::catch_panics;

/// A window, its widgets, and its surface on the graphics card.
pub(super) struct Screen {
    // Dropped before the window.
    painter: Painter,
    widgets: egui_winit::State,
    pub(super) window: Arc<Window>,
    /// Shapes of the last pass of the widgets, and changes of textures since the last redraw.
    shapes: Vec<egui::epaint::ClippedShape>,
    textures: TexturesDelta,
    /// Fonts of the system for characters that the embedded font lacks.
    fallback: Fallback,
    /// Width and height of the window's content in physical pixels; never 0.
    pub(super) size: (u32, u32),
    /// Whether other windows cover the window completely.
    is_occluded: bool,
    /// Minimum interval between redraws that show new frames.
    pub(super) interval: Duration,
    /// Time of the next redraw; `None` if no redraw is requested.
    due: Option<Instant>,
    /// Time of the last redraw; at first the time of opening.
    drawn: Instant,
}

/// Minimum interval between redraws after input, and while GPUs render: every frame of a 60 Hz display.
const INTERVAL: Duration = Duration::from_millis(16);

/// Minimum interval between redraws that show new frames while the CPU renders. Tone mapping and drawing take time from
/// the render.
const CPU_INTERVAL: Duration = Duration::from_millis(60);

/// Maximum fraction of the monitor's width and height that a window takes at first, unless its size was saved.
const MONITOR_SHARE: f64 = 0.9;

/// Minimum size of the window in logical pixels.
const MIN_SIZE: LogicalSize<u32> = LogicalSize::new(160, 120);

/// Height in logical pixels that is reserved for the title bar and borders when a window is restored.
const TITLE_BAR: f64 = 40.0;

impl Screen {
    /// Opens a window. `size` returns its width and height in pixels at [`scale`](Self::scale) 1, and receives those
    /// available on the monitor, or `None` if they are unknown.
    ///
    /// `position` is the last upper left corner of the window on the desktop, in physical pixels. The window is shrunk
    /// and moved to fit the monitor there. With `None`, or outside all monitors, the desktop chooses the place.
    ///
    /// New frames are drawn less often if `renders_on_cpu`. Assistive technologies wake the event loop by `wake`. The
    /// error is the reason on one line.
    pub(super) fn open(
        event_loop: &ActiveEventLoop,
        title: &str,
        size: impl FnOnce(Option<(f64, f64)>) -> (f64, f64),
        position: Option<(i32, i32)>,
        renders_on_cpu: bool,
        wake: EventLoopProxy<Wake>,
    ) -> Result<Self, String> {
        let (monitor, enlargement) = primary_monitor(event_loop);
        let (width, height) =
            size(monitor.map(|(width, height)| (MONITOR_SHARE * width, MONITOR_SHARE * height)));
        // A saved size may be that of a larger monitor.
        let (wide, high) = monitor.unwrap_or((f64::INFINITY, f64::INFINITY));
        let (inner_width, inner_height) = (width.min(wide), height.min(high));
        let inner_size = LogicalSize::new(enlargement * inner_width, enlargement * inner_height);
        let mut attributes = WindowAttributes::default()
            .with_title(title)
            .with_inner_size(inner_size)
            .with_min_inner_size(MIN_SIZE)
            // Assistive technologies must be set up before the window is visible.
            .with_visible(false);
        let place = position.and_then(|at| visible_place(event_loop, at, (width, height)));
        if let Some((position, size)) = place {
            attributes = attributes.with_position(position).with_inner_size(size);
        }
        let window = event_loop
            .create_window(attributes)
            .map_err(|error| super::os_text(&error.to_string()))?;
        let window = Arc::new(window);
        let PhysicalSize { width, height } = window.inner_size();
        let size = (width.max(1), height.max(1));
        let painter = Painter::new(&window, size)?;
        let mut widgets = egui_winit::State::new(
            super::theme::context(),
            ViewportId::ROOT,
            &*window,
            Some(window.scale_factor() as f32),
            None,
            Some(super::painter::MAX_TEXTURE_SIDE as usize),
        );
        widgets.init_accesskit(event_loop, &window, wake);
        window.set_visible(true);
        Ok(Self {
            painter,
            widgets,
            window,
            shapes: Vec::new(),
            textures: TexturesDelta::default(),
            fallback: Fallback::default(),
            size,
            is_occluded: false,
            interval: if renders_on_cpu {
                CPU_INTERVAL
            } else {
                INTERVAL
            },
            due: None,
            drawn: Instant::now(),
        })
    }

    /// Returns the context of the window's widgets.
    pub(super) fn context(&self) -> &Context {
        self.widgets.egui_ctx()
    }

    /// Passes an event of the window to the widgets.
    pub(super) fn pass_to_widgets(&mut self, event: &WindowEvent) {
        let response = self.widgets.on_window_event(&self.window, event);
        if response.repaint && !matches!(event, WindowEvent::RedrawRequested) {
            self.refresh_soon();
        }
    }

    /// Handles an event of assistive technologies, such as a screen reader.
    pub(super) fn handle_accessibility(&mut self, event: egui_winit::accesskit_winit::WindowEvent) {
        use egui_winit::accesskit_winit::WindowEvent;
        match event {
            WindowEvent::InitialTreeRequested => self.context().enable_accesskit(),
            WindowEvent::ActionRequested(request) => {
                self.widgets.on_accesskit_action_request(request);
            }
            WindowEvent::AccessibilityDeactivated => self.context().disable_accesskit(),
        }
        self.refresh_soon();
    }

    /// Runs the widgets once with the input since the last call. `add_widgets` gets the area of the whole window, and the
    /// graphics card for the texture of the picture. The result is displayed by the next [`show`](Self::show), which this requests if a widget asks for it.
    pub(super) fn run_widgets(&mut self, mut add_widgets: impl FnMut(&mut Ui, &mut Painter)) {
        // winit panics if the window does not exist any more, and the event about that may still be on its way.
        let Ok(input) = catch_panics(|| self.widgets.take_egui_input(&self.window)) else {
            return;
        };
        let context = self.widgets.egui_ctx().clone();
        let painter = &mut self.painter;
        let output = context.run_ui(input, |ui| add_widgets(ui, painter));
        (self.widgets).handle_platform_output(&self.window, output.platform_output);
        self.shapes = output.shapes;
        if self.fallback.add_missing(&context, &self.shapes) {
            self.refresh_soon();
        }
        self.textures.append(output.textures_delta);
        let viewport = output.viewport_output.get(&ViewportId::ROOT);
        let delay = viewport.map_or(Duration::MAX, |viewport| viewport.repaint_delay);
        if let Some(due) = Instant::now().checked_add(delay) {
            self.refresh_at(due.max(self.drawn + INTERVAL));
        }
    }

    /// Displays the result of the last [`run_widgets`](Self::run_widgets).
    pub(super) fn show(&mut self) -> Result<(), String> {
        let context = self.widgets.egui_ctx().clone();
        let pixels_per_point = context.pixels_per_point();
        let primitives = context.tessellate(self.shapes.clone(), pixels_per_point);
        let textures = std::mem::take(&mut self.textures);
        self.drawn = Instant::now();
        // The window may have been resized since the last event, or may not exist any more.
        let Ok(PhysicalSize { width, height }) = catch_panics(|| self.window.inner_size()) else {
            return Ok(());
        };
        if width > 0 && height > 0 {
            self.painter.resize((width, height))?;
        }
        let is_drawn = (self.painter).paint(&primitives, &textures, pixels_per_point)?;
        // A hidden window is redrawn when it becomes visible.
        if !is_drawn && self.is_visible() {
            self.refresh_soon();
        }
        Ok(())
    }

    /// Makes a pixel of text at scale 1 as large as `scale` physical pixels.
    pub(super) fn set_pixels_per_point(&self, scale: f32) {
        let zoom = scale / self.window.scale_factor() as f32;
        self.context().set_zoom_factor(zoom);
    }

    /// Returns the width and height of the window's content in pixels at [`scale`](Self::scale) 1.
    pub(super) fn logical_size(&self) -> (f64, f64) {
        let (width, height) = self.size;
        let scale = f64::from(self.scale());
        (f64::from(width) / scale, f64::from(height) / scale)
    }

    /// Returns the number of physical pixels per pixel at scale 1. This is the scale of the desktop or, on a large monitor
    /// whose desktop has no such scale, the one that makes text legible: see [`monitor_scale`].
    pub(super) fn scale(&self) -> f32 {
        let monitor = self.window.current_monitor();
        monitor.map_or_else(
            || self.window.scale_factor(),
            |monitor| monitor_scale(&monitor),
        ) as f32
    }

    /// Returns the position of the window's upper left corner on the desktop in physical pixels; `None` if the desktop
    /// does not tell it, as with Wayland, or has destroyed the window.
    pub(super) fn position(&self) -> Option<(i32, i32)> {
        // winit panics if the window does not exist any more, and the event about that may still be on its way.
        let position = catch_panics(|| self.window.outer_position()).ok()?;
        position.ok().map(Into::into)
    }

    /// Switches the window between full screen and its former size.
    pub(super) fn switch_full_screen(&self) {
        let is_full = self.is_full_screen();
        self.window
            .set_fullscreen((!is_full).then_some(Fullscreen::Borderless(None)));
    }

    /// Returns whether the window is visible, as far as the desktop tells: neither minimized nor covered.
    pub(super) fn is_visible(&self) -> bool {
        !self.is_occluded && self.window.is_minimized() != Some(true)
    }

    /// Makes a minimized or covered window visible or, where the desktop does not allow it, asks for attention.
    pub(super) fn uncover(&self) {
        self.window.set_minimized(false);
        self.window.focus_window();
        self.window
            .request_user_attention(Some(UserAttentionType::Informational));
    }

    pub(super) fn is_full_screen(&self) -> bool {
        self.window.fullscreen().is_some()
    }

    /// Records the window's new size, and requests a redraw. Ignores the empty size of a minimized window.
    pub(super) fn resize(&mut self, size: PhysicalSize<u32>) {
        if size.width > 0 && size.height > 0 {
            self.size = size.into();
            self.refresh_soon();
        }
    }

    /// Records whether other windows cover the window completely, and requests a redraw if they do not.
    pub(super) fn set_occluded(&mut self, is_occluded: bool) {
        self.is_occluded = is_occluded;
        if !is_occluded {
            self.refresh_soon();
        }
    }

    /// Requests a redraw for a new frame, at the earliest `interval` after the last one.
    pub(super) fn refresh(&mut self) {
        self.refresh_at(self.drawn + self.interval);
    }

    /// Requests a redraw after input, at the earliest 16 ms after the last one.
    pub(super) fn refresh_soon(&mut self) {
        self.refresh_at(self.drawn + INTERVAL);
    }

    fn refresh_at(&mut self, due: Instant) {
        self.due = Some(self.due.map_or(due, |earlier| earlier.min(due)));
    }

    /// Makes the window redraw if a requested redraw is due at `now`. Returns the time at which a later redraw is due;
    /// `None` if none is requested.
    pub(super) fn redraw_if_due(&mut self, now: Instant) -> Option<Instant> {
        if self.due.is_some_and(|due| due <= now) {
            self.due = None;
            self.window.request_redraw();
        }
        self.due
    }
}

/// Height in physical pixels of a usual monitor, on which text at scale 1 has its intended size.
const FULL_HD_HEIGHT: u32 = 1080;

/// Returns the number of physical pixels per pixel at scale 1 on a monitor. This is the desktop's scale or, if that is 1,
/// the number of times that 1080 pixels fit into the shorter side of the monitor: 2 for one of 3840 × 2160 pixels.
fn monitor_scale(monitor: &MonitorHandle) -> f64 {
    let PhysicalSize { width, height } = monitor.size();
    let times = width.min(height) / FULL_HD_HEIGHT;
    match monitor.scale_factor() {
        scale if scale > 1.0 => scale,
        scale => scale.max(f64::from(times)),
    }
}

/// Returns the width and height of the primary monitor in pixels at scale 1, or `None` if no monitor is known. Also
/// returns the number of logical pixels per pixel at scale 1 there, which is 1 if no monitor is known.
fn primary_monitor(event_loop: &ActiveEventLoop) -> (Option<(f64, f64)>, f64) {
    let monitor = event_loop
        .primary_monitor()
        .or_else(|| event_loop.available_monitors().next());
    let Some(monitor) = monitor else {
        return (None, 1.0);
    };
    let scale = monitor_scale(&monitor);
    let size = monitor.size().to_logical::<f64>(scale);
    let is_known = size.width > 0.0 && size.height > 0.0;
    let size = is_known.then_some((size.width, size.height));
    (size, scale / monitor.scale_factor())
}

/// Returns the place and size in physical pixels for a window that was last at `position`, with a width and height of
/// `size` pixels at scale 1. The window is shrunk and moved to fit the monitor that shows most of it.
///
/// Returns `None` if no monitor shows any of it.
fn visible_place(
    event_loop: &ActiveEventLoop,
    (x, y): (i32, i32),
    size: (f64, f64),
) -> Option<(PhysicalPosition<i32>, PhysicalSize<u32>)> {
    let places = event_loop.available_monitors().map(|monitor| {
        let (PhysicalPosition { x: left, y: top }, room) = (monitor.position(), monitor.size());
        let scale = monitor_scale(&monitor);
        let high = f64::from(room.height) - TITLE_BAR * scale;
        let corner = Pos2::new(left as f32, top as f32);
        let room = Rect::from_min_size(corner, Vec2::new(room.width as f32, high as f32));
        let size = Vec2::new((scale * size.0) as f32, (scale * size.1) as f32).round();
        let wanted = Rect::from_min_size(Pos2::new(x as f32, y as f32), size);
        let area = wanted.intersect(room).size().max(Vec2::ZERO);
        let size = size.min(room.size());
        (
            area.x * area.y,
            wanted.min.clamp(room.min, room.max - size),
            size,
        )
    });
    let (area, at, size) = places.max_by(|one, other| one.0.total_cmp(&other.0))?;
    let place = PhysicalPosition::new(at.x as i32, at.y as i32);
    (area > 0.0).then_some((place, PhysicalSize::new(size.x as u32, size.y as u32)))
}
