//! The window on the desktop and its surface: displays a byte buffer, at a limited rate.

use std::{
    num::NonZeroU32,
    sync::Arc,
    time::{Duration, Instant},
};

use softbuffer::{Context, SoftBufferError, Surface};
use winit::{
    dpi::{LogicalSize, PhysicalPosition, PhysicalSize},
    event_loop::ActiveEventLoop,
    monitor::MonitorHandle,
    window::{Fullscreen, UserAttentionType, Window, WindowAttributes},
};

use raysieve_scene::catch_panics::catch_panics;

/// A window and the pixel buffer that it displays.
pub(super) struct Screen {
    window: Arc<Window>,
    surface: Surface<Arc<Window>, Arc<Window>>,
    /// Content of the window: RGBA bytes, rows from the top.
    rgba: Vec<u8>,
    /// Width and height of the window's content in physical pixels; never 0.
    size: (u32, u32),
    /// Whether other windows cover the window completely.
    is_occluded: bool,
    /// Minimum interval between redraws.
    interval: Duration,
    /// Time of the next redraw; `None` if no redraw is requested.
    due: Option<Instant>,
    /// Time of the last redraw; at first the time of opening.
    drawn: Instant,
}

/// Minimum interval between redraws while GPUs render: every frame of a 60 Hz display.
const INTERVAL: Duration = Duration::from_millis(16);

/// Minimum interval between redraws while the CPU renders. Tone mapping and drawing take time from the render.
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
    /// The window is redrawn less often if `renders_on_cpu`. The error is the reason on one line.
    pub(super) fn open(
        event_loop: &ActiveEventLoop,
        title: &str,
        size: impl FnOnce(Option<(f64, f64)>) -> (f64, f64),
        position: Option<(i32, i32)>,
        renders_on_cpu: bool,
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
            .with_min_inner_size(MIN_SIZE);
        let place = position.and_then(|at| visible_place(event_loop, at, (width, height)));
        if let Some((position, size)) = place {
            attributes = attributes.with_position(position).with_inner_size(size);
        }
        let window = event_loop
            .create_window(attributes)
            .map_err(|error| super::os_text(&error.to_string()))?;
        let window = Arc::new(window);
        let surface = catch_panics(|| {
            let context = Context::new(window.clone())?;
            Surface::new(&context, window.clone())
        })
        .and_then(|surface| surface.map_err(|error| surface_error(&error)))?;
        let mut screen = Self {
            size: (0, 0),
            window,
            surface,
            is_occluded: false,
            rgba: Vec::new(),
            interval: if renders_on_cpu {
                CPU_INTERVAL
            } else {
                INTERVAL
            },
            due: None,
            drawn: Instant::now(),
        };
        let PhysicalSize { width, height } = screen.window.inner_size();
        screen
            .set_size((width.max(1), height.max(1)))
            .map_err(|error| surface_error(&error))?;
        Ok(screen)
    }

    /// Returns the width and height of the window's content in physical pixels; never 0.
    pub(super) fn size(&self) -> (u32, u32) {
        self.size
    }

    /// Returns the width and height of the window's content in pixels at [`scale`](Self::scale) 1.
    pub(super) fn logical_size(&self) -> (f64, f64) {
        let (width, height) = self.size;
        let scale = f64::from(self.scale());
        (f64::from(width) / scale, f64::from(height) / scale)
    }

    /// Returns the window, as the parent of dialogs.
    pub(super) fn window(&self) -> &Window {
        &self.window
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

    /// Returns the minimum interval between redraws.
    pub(super) fn interval(&self) -> Duration {
        self.interval
    }

    /// Switches the window between full screen and its former size.
    pub(super) fn switch_full_screen(&self) {
        let is_full = self.is_full_screen();
        self.window
            .set_fullscreen((!is_full).then_some(Fullscreen::Borderless(None)));
    }

    /// Records whether other windows cover the window completely.
    pub(super) fn set_occluded(&mut self, is_occluded: bool) {
        self.is_occluded = is_occluded;
    }

    /// Returns whether the window is visible, as far as the desktop tells: neither minimised nor covered.
    pub(super) fn is_visible(&self) -> bool {
        !self.is_occluded && self.window.is_minimized() != Some(true)
    }

    /// Makes a minimised or covered window visible or, where the desktop does not allow it, asks for attention.
    pub(super) fn uncover(&self) {
        self.window.set_minimized(false);
        self.window.focus_window();
        self.window
            .request_user_attention(Some(UserAttentionType::Informational));
    }

    /// Returns whether the window fills the screen.
    pub(super) fn is_full_screen(&self) -> bool {
        self.window.fullscreen().is_some()
    }

    pub(super) fn set_title(&self, title: &str) {
        self.window.set_title(title);
    }

    /// Resizes the buffer to the window's new size, and requests a redraw. Ignores the empty size of a minimised
    /// window. If the display refuses the size, the buffer keeps its old one.
    pub(super) fn resize(&mut self, size: PhysicalSize<u32>) {
        if size.width > 0 && size.height > 0 {
            // A lost display also ends the event loop, which reports it.
            let _ = self.set_size(size.into());
            self.refresh();
        }
    }

    fn set_size(&mut self, (width, height): (u32, u32)) -> Result<(), SoftBufferError> {
        let one = NonZeroU32::MIN;
        self.surface.resize(
            NonZeroU32::new(width).unwrap_or(one),
            NonZeroU32::new(height).unwrap_or(one),
        )?;
        self.size = (width, height);
        self.rgba = vec![0; 4 * width as usize * height as usize];
        Ok(())
    }

    /// Requests a redraw, at the earliest `interval` after the last one.
    pub(super) fn refresh(&mut self) {
        self.due.get_or_insert(self.drawn + self.interval);
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

    /// Calls `draw` to fill the buffer (RGBA bytes, rows from the top), and displays the buffer.
    pub(super) fn show(&mut self, draw: impl FnOnce(&mut [u8])) {
        draw(&mut self.rgba);
        self.drawn = Instant::now();
        // A lost display also ends the event loop, which reports it.
        let _ = self.present();
    }

    fn present(&mut self) -> Result<(), SoftBufferError> {
        let mut buffer = self.surface.buffer_mut()?;
        let (pixels, _) = self.rgba.as_chunks::<4>();
        for (target, &[red, green, blue, _]) in buffer.iter_mut().zip(pixels) {
            *target = u32::from_be_bytes([0, red, green, blue]);
        }
        buffer.present()
    }
}

/// Returns the message of an error of the window's surface, in one line.
fn surface_error(error: &SoftBufferError) -> String {
    format!(
        "cannot draw on the display: {}",
        super::os_text(&error.to_string())
    )
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
    /// Returns the length of the intersection of `at..at + length` and `begin..begin + room`.
    fn overlap(at: i32, length: u32, begin: i32, room: u32) -> i64 {
        let (at, begin) = (i64::from(at), i64::from(begin));
        let end = (at + i64::from(length)).min(begin + i64::from(room));
        (end - at.max(begin)).max(0)
    }
    /// Returns the start and length of `at..at + length` after it is shrunk and moved to fit `begin..begin + room`.
    fn fitted(at: i32, length: u32, begin: i32, room: u32) -> (i32, u32) {
        let length = length.min(room);
        let free = i32::try_from(room - length).unwrap_or(i32::MAX);
        let at = i64::from(at).clamp(i64::from(begin), i64::from(begin) + i64::from(free));
        (i32::try_from(at).unwrap_or(begin), length)
    }
    let places = event_loop.available_monitors().map(|monitor| {
        let (PhysicalPosition { x: left, y: top }, room) = (monitor.position(), monitor.size());
        let scale = monitor_scale(&monitor);
        let size = LogicalSize::<f64>::from(size).to_physical::<u32>(scale);
        let high = room.height.saturating_sub((TITLE_BAR * scale) as u32);
        let area = overlap(x, size.width, left, room.width) * overlap(y, size.height, top, high);
        let (x, width) = fitted(x, size.width, left, room.width);
        let (y, height) = fitted(y, size.height, top, high);
        let place = (PhysicalPosition { x, y }, PhysicalSize { width, height });
        (area, place)
    });
    let (area, place) = places.max_by_key(|&(area, _)| area)?;
    (area > 0).then_some(place)
}
