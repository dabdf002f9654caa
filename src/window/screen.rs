//! The window on the screen: bytes to its surface, no faster than is of use.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use pixels::{Pixels, PixelsBuilder, SurfaceTexture, wgpu::DeviceType};
use winit::{
    dpi::{LogicalSize, PhysicalSize},
    event_loop::ActiveEventLoop,
    window::{Window, WindowAttributes},
};

use crate::quiet::quietly;

/// A window and the bytes that it shows, one pixel of the screen each.
pub(super) struct Screen {
    window: Arc<Window>,
    pixels: Pixels<'static>,
    /// Of the surface and its bytes; never empty.
    size: (u32, u32),
    interval: Duration,
    /// When the next picture may be shown; `None` if nothing new waits.
    due: Option<Instant>,
    shown: Instant,
}

/// As often as a common display shows a picture.
const INTERVAL: Duration = Duration::from_millis(16);

/// Without a graphics card the processor draws the window, and shall have time for the render.
const SOFTWARE_INTERVAL: Duration = Duration::from_millis(60);

/// Part of the monitor that a new window takes at most.
const MONITOR_SHARE: f64 = 0.9;

/// A title bar and a few figures.
const SMALLEST: LogicalSize<u32> = LogicalSize::new(160, 120);

impl Screen {
    /// A window for a picture of so many pixels, or of a size in units of the screen; or why there can be none.
    pub(super) fn open(
        event_loop: &ActiveEventLoop,
        title: &str,
        picture: (u32, u32),
        wanted: Option<(f64, f64)>,
    ) -> Result<Self, String> {
        let size = match wanted {
            Some((width, height)) => LogicalSize::new(width, height),
            None => initial_size(event_loop, picture),
        };
        let attributes = WindowAttributes::default()
            .with_title(title)
            .with_inner_size(size)
            .with_min_inner_size(SMALLEST);
        let window = event_loop
            .create_window(attributes)
            .map_err(|error| super::os_text(&error.to_string()))?;
        let window = Arc::new(window);
        let size = at_least_one(window.inner_size());
        let surface = SurfaceTexture::new(size.0, size.1, window.clone());
        let pixels =
            quietly(|| PixelsBuilder::new(size.0, size.1, surface).build()).and_then(|pixels| {
                pixels.map_err(|error| {
                    format!(
                        "no way to draw on the display: {}",
                        super::os_text(&error.to_string())
                    )
                })
            })?;
        // Left to itself, wgpu panics at what no call of its returns, such as a display that has gone away.
        pixels.device().on_uncaptured_error(Arc::new(|_| {}));
        let on_processor = pixels.adapter().get_info().device_type == DeviceType::Cpu;
        let interval = if on_processor {
            SOFTWARE_INTERVAL
        } else {
            INTERVAL
        };
        Ok(Self {
            window,
            pixels,
            size,
            interval,
            due: None,
            shown: Instant::now(),
        })
    }

    /// Pixels.
    pub(super) fn size(&self) -> (u32, u32) {
        self.size
    }

    /// In units of the screen.
    pub(super) fn logical_size(&self) -> (f64, f64) {
        let (width, height) = self.size;
        let scale = f64::from(self.scale());
        (f64::from(width) / scale, f64::from(height) / scale)
    }

    /// Pixels per unit of text and distance.
    pub(super) fn scale(&self) -> f32 {
        self.window.scale_factor() as f32
    }

    /// Between two pictures.
    pub(super) fn interval(&self) -> Duration {
        self.interval
    }

    pub(super) fn set_title(&self, title: &str) {
        self.window.set_title(title);
    }

    /// The window has another size; a minimised one has none and keeps what it had.
    pub(super) fn resize(&mut self, size: PhysicalSize<u32>) {
        let (width, height) = (size.width, size.height);
        if width == 0 || height == 0 {
            return;
        }
        let resized = self
            .pixels
            .resize_surface(width, height)
            .and_then(|()| self.pixels.resize_buffer(width, height));
        // Larger than the graphics card can draw: the old size is stretched over it.
        if resized.is_ok() {
            self.size = (width, height);
        }
        self.refresh();
    }

    /// There is something new to show.
    pub(super) fn refresh(&mut self) {
        self.due.get_or_insert(self.shown + self.interval);
    }

    /// Asks for a redraw once its time has come; else says when it will.
    pub(super) fn wait_until(&mut self, now: Instant) -> Option<Instant> {
        if self.due.is_some_and(|due| due <= now) {
            self.due = None;
            self.window.request_redraw();
        }
        self.due
    }

    /// Lets `draw` fill the bytes, RGBA from the top, and shows them.
    pub(super) fn show(&mut self, draw: impl FnOnce(&mut [u8])) {
        draw(self.pixels.frame_mut());
        self.shown = Instant::now();
        if self.pixels.render().is_err() {
            // The surface is changing under it, such as in the middle of a resize. A display that has gone away cannot be
            // asked for the size: winit panics.
            self.resize(self.size.into());
        }
    }
}

fn at_least_one(size: PhysicalSize<u32>) -> (u32, u32) {
    (size.width.max(1), size.height.max(1))
}

/// A unit of the screen for every pixel of the picture, shrunk in its shape to what the monitor has room for.
fn initial_size(event_loop: &ActiveEventLoop, (width, height): (u32, u32)) -> LogicalSize<f64> {
    let (width, height) = (f64::from(width), f64::from(height));
    let monitor = event_loop
        .primary_monitor()
        .or_else(|| event_loop.available_monitors().next());
    let shrink = monitor.map_or(1.0, |monitor| {
        let room = monitor.size().to_logical::<f64>(monitor.scale_factor());
        (MONITOR_SHARE * room.width / width).min(MONITOR_SHARE * room.height / height)
    });
    let shrink = if shrink > 0.0 { shrink.min(1.0) } else { 1.0 };
    LogicalSize::new((width * shrink).round(), (height * shrink).round())
}
