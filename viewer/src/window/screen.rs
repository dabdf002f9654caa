//! The window's surface: displays a byte buffer, at a limited rate.

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

use raysieve_scene::catch_panics::catch_panics;

/// A window and the pixel buffer that it displays, in physical pixels.
pub(super) struct Screen {
    window: Arc<Window>,
    pixels: Pixels<'static>,
    /// Width and height of the surface and its buffer in physical pixels; never 0.
    size: (u32, u32),
    /// Minimum interval between redraws.
    interval: Duration,
    /// Time of the next redraw; `None` if there is nothing new to display.
    due: Option<Instant>,
    /// Time of the last redraw.
    drawn: Instant,
}

/// Interval between redraws: every frame of a 60 Hz display.
const INTERVAL: Duration = Duration::from_millis(16);

/// Interval between redraws without a GPU, which leaves time for the render because the CPU draws the window.
const SOFTWARE_INTERVAL: Duration = Duration::from_millis(60);

/// Maximum fraction of the monitor's width and height that a window takes whose size is chosen to fit the picture.
const MONITOR_SHARE: f64 = 0.9;

/// Minimum size of the window in logical pixels.
const MIN_SIZE: LogicalSize<u32> = LogicalSize::new(160, 120);

impl Screen {
    /// Opens a window of size `wanted` in logical pixels. `None` stands for one logical pixel per pixel of a picture of
    /// size `picture`, scaled down to fit the monitor. Returns the reason on failure.
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
            .with_min_inner_size(MIN_SIZE);
        let window = event_loop
            .create_window(attributes)
            .map_err(|error| super::os_text(&error.to_string()))?;
        let window = Arc::new(window);
        let size = at_least_one(window.inner_size());
        let surface = SurfaceTexture::new(size.0, size.1, window.clone());
        let pixels = catch_panics(|| PixelsBuilder::new(size.0, size.1, surface).build())
            .and_then(|pixels| {
                pixels.map_err(|error| {
                    format!(
                        "cannot draw on the display: {}",
                        super::os_text(&error.to_string())
                    )
                })
            })?;
        // By default wgpu panics on errors that no call returns, such as a lost display.
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
            drawn: Instant::now(),
        })
    }

    /// Returns the size of the surface in physical pixels.
    pub(super) fn size(&self) -> (u32, u32) {
        self.size
    }

    /// Returns the size of the surface in logical pixels.
    pub(super) fn logical_size(&self) -> (f64, f64) {
        let (width, height) = self.size;
        let scale = f64::from(self.scale());
        (f64::from(width) / scale, f64::from(height) / scale)
    }

    /// Returns the number of physical pixels per logical pixel.
    pub(super) fn scale(&self) -> f32 {
        self.window.scale_factor() as f32
    }

    /// Returns the minimum interval between redraws.
    pub(super) fn interval(&self) -> Duration {
        self.interval
    }

    pub(super) fn set_title(&self, title: &str) {
        self.window.set_title(title);
    }

    /// Resizes the surface. Ignores the empty size of a minimised window.
    pub(super) fn resize(&mut self, size: PhysicalSize<u32>) {
        let (width, height) = (size.width, size.height);
        if width == 0 || height == 0 {
            return;
        }
        let resized = self
            .pixels
            .resize_surface(width, height)
            .and_then(|()| self.pixels.resize_buffer(width, height));
        // Beyond the GPU's size limit, the old size is kept and stretched.
        if resized.is_ok() {
            self.size = (width, height);
        }
        self.refresh();
    }

    /// Requests a redraw, because there is something new to display.
    pub(super) fn refresh(&mut self) {
        self.due.get_or_insert(self.drawn + self.interval);
    }

    /// Triggers the redraw if it is due; otherwise returns the time at which it will be due, or `None` if none is
    /// requested.
    pub(super) fn wait_until(&mut self, now: Instant) -> Option<Instant> {
        if self.due.is_some_and(|due| due <= now) {
            self.due = None;
            self.window.request_redraw();
        }
        self.due
    }

    /// Calls `draw` to fill the buffer (RGBA bytes, rows from the top) and displays it.
    pub(super) fn show(&mut self, draw: impl FnOnce(&mut [u8])) {
        draw(self.pixels.frame_mut());
        self.drawn = Instant::now();
        if self.pixels.render().is_err() {
            // The surface is outdated, for example during a resize. The window must not be asked for its size, because
            // winit panics if the display is lost.
            self.resize(self.size.into());
        }
    }
}

fn at_least_one(size: PhysicalSize<u32>) -> (u32, u32) {
    (size.width.max(1), size.height.max(1))
}

/// Returns the size of a new window: one logical pixel per picture pixel, scaled down to fit the monitor.
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
