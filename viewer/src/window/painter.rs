//! Draws a window by the graphics card. `pixels` holds the picture as a texture of its own size, and one pass draws
//! egui's shapes, of which one displays that texture. Images that have many more pixels than are displayed are reduced
//! first, so that the graphics card only has to scale them by a factor near 1.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering::Relaxed},
};

use egui::{ClippedPrimitive, TextureId, TexturesDelta};
use egui_wgpu::{Renderer, RendererOptions, ScreenDescriptor};
use pixels::{Pixels, PixelsBuilder, SurfaceTexture, wgpu};
use rayon::{ThreadPool, prelude::*};
use winit::window::Window;

use crate::{overlay::canvas::Area, session::tone_mapping_pool};
use raysieve_scene::catch_panics::catch_panics;

/// Color around the picture, and of the window before the first frame, as sRGB.
const BACKGROUND: [u8; 3] = [24, 26, 30];

/// Maximum width and height in pixels of a texture, which every graphics card of the last ten years supports.
pub(super) const MAX_TEXTURE_SIDE: u32 = 8192;

/// A window's surface on the graphics card, and the texture of the picture.
pub(super) struct Painter {
    /// Threads that convert pictures.
    pub(super) pool: ThreadPool,
    pixels: Pixels<'static>,
    renderer: Renderer,
    pub(super) picture: TextureId,
    /// Width and height of the picture's texture in pixels.
    picture_size: (u32, u32),
    /// Width and height of the surface in pixels; never 0.
    size: (u32, u32),
    /// Number of times that the graphics card has completed its work since the redraw began; see [`stop_if_stale`].
    completions: Arc<AtomicU32>,
    /// Whether the graphics card has failed, so that nothing is drawn any more.
    has_failed: bool,
}

/// Maximum number of completions in one redraw. There are about two if the surface has the size of its window.
const MAX_COMPLETIONS: u32 = 12;

/// Panic message by which [`stop_if_stale`] ends a redraw.
const STALE: &str = "the surface has another size than the window";

impl Painter {
    /// Opens the surface of a window of this size in pixels, which must not be 0. Prefers graphics cards that save
    /// power, because others may be rendering, and Vulkan, Metal and Direct3D to OpenGL.
    ///
    /// The error is the reason on one line.
    pub(super) fn new(window: &Arc<Window>, size: (u32, u32)) -> Result<Self, String> {
        let open = |backends| {
            let opened = catch_panics(|| Self::open(window, size, backends));
            opened.map_err(String::from).flatten()
        };
        let painter = match wgpu::Backends::from_env() {
            Some(chosen) => open(chosen),
            None => open(wgpu::Backends::PRIMARY).or_else(|_| open(wgpu::Backends::GL)),
        };
        painter.map_err(|reason| {
            let remedy = "install a graphics driver, or Mesa's (package mesa-vulkan-drivers)";
            format!("no graphics card can draw in a window: {reason}; {remedy}")
        })
    }

    fn open(
        window: &Arc<Window>,
        (width, height): (u32, u32),
        backends: wgpu::Backends,
    ) -> Result<Self, String> {
        let texture = SurfaceTexture::new(width, height, window.clone());
        let mut pixels = PixelsBuilder::new(1, 1, texture)
            .wgpu_backend(backends)
            .request_adapter_options(wgpu::RequestAdapterOptions {
                power_preference: wgpu::PowerPreference::LowPower,
                ..wgpu::RequestAdapterOptions::default()
            })
            .device_descriptor(wgpu::DeviceDescriptor {
                required_limits: wgpu::Limits {
                    max_texture_dimension_2d: MAX_TEXTURE_SIDE,
                    ..wgpu::Limits::downlevel_webgl2_defaults()
                },
                memory_hints: wgpu::MemoryHints::MemoryUsage,
                ..wgpu::DeviceDescriptor::default()
            })
            // The bytes of the picture are sRGB already, and reach the display unchanged.
            .texture_format(wgpu::TextureFormat::Rgba8Unorm)
            .surface_texture_format(wgpu::TextureFormat::Bgra8Unorm)
            .present_mode(wgpu::PresentMode::Mailbox)
            .build()
            .map_err(|error| super::os_text(&error.to_string()))?;
        let context = pixels.context();
        let formats = &context.surface_capabilities.formats;
        if !formats.contains(&wgpu::TextureFormat::Bgra8Unorm) {
            return Err(format!("the display offers only the formats {formats:?}"));
        }
        if pixels.present_mode() == wgpu::PresentMode::AutoVsync {
            // Waiting for the display would delay the answers to input.
            pixels.set_present_mode(wgpu::PresentMode::AutoNoVsync);
        }
        let context = pixels.context();
        let mut renderer = Renderer::new(
            &context.device,
            wgpu::TextureFormat::Bgra8Unorm,
            RendererOptions {
                dithering: false,
                ..RendererOptions::default()
            },
        );
        let view = context.texture.create_view(&Default::default());
        let picture = renderer.register_native_texture_with_sampler_options(
            &context.device,
            &view,
            sampler(),
        );
        let completions = Arc::default();
        stop_if_stale(context.queue.clone(), Arc::clone(&completions));
        Ok(Self {
            pool: tone_mapping_pool().map_err(|error| error.to_string())?,
            pixels,
            renderer,
            picture,
            picture_size: (1, 1),
            size: (width, height),
            completions,
            has_failed: false,
        })
    }

    /// Copies a picture to the texture: RGBA bytes, rows from the top. A side must be from 1 to [`MAX_TEXTURE_SIDE`]
    /// pixels long.
    pub(super) fn set_picture(&mut self, size: (u32, u32), rgba: &[u8]) {
        if size != self.picture_size {
            // Fails only for sizes that are excluded.
            if self.pixels.resize_buffer(size.0, size.1).is_err() {
                return;
            }
            self.picture_size = size;
            let context = self.pixels.context();
            let view = context.texture.create_view(&Default::default());
            self.renderer
                .update_egui_texture_from_wgpu_texture_with_sampler_options(
                    &context.device,
                    &view,
                    sampler(),
                    self.picture,
                );
        }
        self.pixels.frame_mut().copy_from_slice(rgba);
    }

    /// Adapts the surface to a new size of the window in pixels, which must not be 0.
    pub(super) fn resize(&mut self, (width, height): (u32, u32)) -> Result<(), String> {
        if (width, height) != self.size {
            let resized = catch_panics(|| self.pixels.resize_surface(width, height))
                .map_err(String::from)
                .and_then(|resized| resized.map_err(|error| error.to_string()));
            self.fail_on_error(resized)?;
            self.size = (width, height);
        }
        Ok(())
    }

    /// Applies changes of egui's textures, and draws its shapes. Returns whether they were drawn. They were not if the window
    /// is hidden, if it has another size by now, or if the graphics card is busy for a second.
    ///
    /// # Errors
    /// The reason on one line if the graphics card has failed. All later calls do nothing.
    pub(super) fn paint(
        &mut self,
        primitives: &[ClippedPrimitive],
        textures: &TexturesDelta,
        pixels_per_point: f32,
    ) -> Result<bool, String> {
        if self.has_failed {
            return Ok(true);
        }
        self.completions.store(0, Relaxed);
        let painted = catch_panics(|| self.try_to_paint(primitives, textures, pixels_per_point));
        self.completions.store(0, Relaxed);
        match painted.map_err(String::from).flatten() {
            Err(reason) if reason.contains(STALE) => Ok(false),
            painted => self.fail_on_error(painted),
        }
    }

    fn try_to_paint(
        &mut self,
        primitives: &[ClippedPrimitive],
        textures: &TexturesDelta,
        pixels_per_point: f32,
    ) -> Result<bool, String> {
        let Self {
            pixels, renderer, ..
        } = self;
        let context = pixels.context();
        for (id, delta) in &textures.set {
            renderer.update_texture(&context.device, &context.queue, *id, delta);
        }
        let screen = ScreenDescriptor {
            size_in_pixels: [self.size.0, self.size.1],
            pixels_per_point,
        };
        let mut is_drawn = false;
        let painted = pixels.render_with(|encoder, target, context| {
            is_drawn = true;
            renderer.update_buffers(
                &context.device,
                &context.queue,
                encoder,
                primitives,
                &screen,
            );
            let [red, green, blue] = BACKGROUND.map(|channel| f64::from(channel) / 255.0);
            let attachment = wgpu::RenderPassColorAttachment {
                view: target,
                resolve_target: None,
                depth_slice: None,
                ops: wgpu::Operations {
                    load: wgpu::LoadOp::Clear(wgpu::Color {
                        r: red,
                        g: green,
                        b: blue,
                        a: 1.0,
                    }),
                    store: wgpu::StoreOp::Store,
                },
            };
            let mut pass = encoder
                .begin_render_pass(&wgpu::RenderPassDescriptor {
                    label: Some("window"),
                    color_attachments: &[Some(attachment)],
                    ..wgpu::RenderPassDescriptor::default()
                })
                .forget_lifetime();
            renderer.render(&mut pass, primitives, &screen);
            Ok(())
        });
        for id in &textures.free {
            renderer.free_texture(id);
        }
        painted
            .map(|()| is_drawn)
            .map_err(|error| error.to_string())
    }

    /// Records an error, after which nothing is drawn.
    fn fail_on_error<T>(&mut self, result: Result<T, String>) -> Result<T, String> {
        self.has_failed |= result.is_err();
        result.map_err(|reason| super::os_text(&reason))
    }
}

/// Ends a redraw by a panic if the graphics card completes its work again and again. `pixels` 0.17 waits in a loop until
/// the surface has the size of its window, which never comes if the window was resized meanwhile: the event with the new
/// size waits for the redraw. The loop configures the surface, which waits for the graphics card.
fn stop_if_stale(queue: wgpu::Queue, completions: Arc<AtomicU32>) {
    let again = queue.clone();
    queue.on_submitted_work_done(move || {
        let number = completions.fetch_add(1, Relaxed);
        stop_if_stale(again, completions);
        assert!(number < MAX_COMPLETIONS, "{STALE}");
    });
}

/// Returns how the picture is sampled: magnified pixels are squares, and a reduced picture is smooth.
fn sampler() -> wgpu::SamplerDescriptor<'static> {
    wgpu::SamplerDescriptor {
        label: Some("picture"),
        mag_filter: wgpu::FilterMode::Nearest,
        min_filter: wgpu::FilterMode::Linear,
        ..wgpu::SamplerDescriptor::default()
    }
}

/// Returns the largest whole divisor of the sides of an image of this size with which it still has at least as many pixels
/// as its displayed `area`, and at least the divisor with which no side exceeds `max_side`.
pub(super) fn reduction(size: (u32, u32), area: Area, max_side: u32) -> u32 {
    let along = |length: u32, shown: i32| length / shown.max(1).unsigned_abs();
    let shown = along(size.0, area.width).min(along(size.1, area.height));
    let needed = size.0.max(size.1).div_ceil(max_side);
    shown.max(needed).max(1)
}

/// Divides the sides of an image by `divisor`, rounded up: each pixel becomes the mean of a square of pixels. Images are
/// RGBA bytes, rows from the top. Runs on the current thread pool.
pub(super) fn reduce(size: (u32, u32), rgba: Vec<u8>, divisor: u32) -> ((u32, u32), Vec<u8>) {
    if divisor == 1 {
        return (size, rgba);
    }
    let new = (size.0.div_ceil(divisor), size.1.div_ceil(divisor));
    let (source, _) = rgba.as_chunks::<4>();
    let (width, divisor) = (size.0 as usize, divisor as usize);
    let mut reduced = vec![0; 4 * new.0 as usize * new.1 as usize];
    let rows = reduced.par_chunks_exact_mut(4 * new.0 as usize).enumerate();
    rows.for_each(|(y, row)| {
        let from = y * divisor..((y + 1) * divisor).min(size.1 as usize);
        for (x, pixel) in row.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            let columns = x * divisor..((x + 1) * divisor).min(width);
            let mut sum = [0_u32; 4];
            for row in from.clone() {
                for source in &source[row * width..][columns.clone()] {
                    for (sum, &channel) in sum.iter_mut().zip(source) {
                        *sum += u32::from(channel);
                    }
                }
            }
            let count = (columns.len() * from.len()) as u32;
            *pixel = sum.map(|sum| ((sum + count / 2) / count) as u8);
        }
    });
    (new, reduced)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reduced_pixel_is_the_mean_of_its_square() {
        let rgba: Vec<u8> = (0..15)
            .flat_map(|pixel| [10 * pixel, 0, 255, 255])
            .collect();
        let (size, reduced) = reduce((5, 3), rgba, 2);
        assert_eq!(size, (3, 2));
        let reds: Vec<u8> = reduced
            .as_chunks::<4>()
            .0
            .iter()
            .map(|pixel| pixel[0])
            .collect();
        assert_eq!(reds, [30, 50, 65, 105, 125, 140]);
    }

    #[test]
    fn an_image_keeps_at_least_the_displayed_pixels() {
        let area = |width, height| Area::of((width, height));
        assert_eq!(reduction((512, 512), area(512, 512), 8192), 1);
        assert_eq!(reduction((1023, 1023), area(512, 512), 8192), 1);
        assert_eq!(reduction((4096, 2048), area(1000, 500), 8192), 4);
        assert_eq!(reduction((20_000, 10), area(20_000, 10), 8192), 3);
    }
}
