//! Displays a picture with a transparent background over a checkerboard. Only displays do so: saved files have alpha.

use std::{io, sync::Arc, time::Duration};

use rayon::prelude::*;

use super::{
    events::{EventSender, RenderEvent},
    inspection_scene::SceneView,
    newest_request::{NewestRequestThread, Work},
    tone_mapping_pool,
};
use crate::Error;
use raysieve::{
    film::picture::{
        Picture,
        transparency::{over_checkerboard, to_rgba8},
    },
    render::output::Look,
};

/// Handle of the thread that traces alpha, which is started when first needed. Dropping it ends the thread.
#[derive(Default)]
pub(super) struct AlphaThread {
    /// The thread; `None` until it is needed.
    thread: Option<NewestRequestThread<SceneView, Arc<AlphaMask>>>,
}

/// The alpha of a view, perhaps in a lower resolution than the picture.
pub(super) struct AlphaMask {
    request: SceneView,
    /// Width and height in pixels.
    size: (u32, u32),
    /// Alpha of each pixel of the mask, 0..=1, row by row from the top: the share of its camera rays that hit
    /// something.
    alpha: Vec<f32>,
}

/// A picture's alpha for display.
#[derive(Clone)]
pub(crate) struct Alpha {
    mask: Arc<AlphaMask>,
    /// Whether the mask belongs to an earlier view, so that it may be wrong where there is light.
    is_old: bool,
}

/// Number of pixels of the mask while the view moves.
const COARSE_PIXELS: f64 = 16_384.0;

/// Largest number of pixels of the mask. More would take too long on a CPU that also renders.
const FINE_PIXELS: f64 = 1_048_576.0;

/// Time for which a view is still before its fine mask is traced, which a movement cannot interrupt.
const STILL: Duration = Duration::from_millis(300);

impl AlphaThread {
    /// Requests the alpha of a view, and starts the thread if necessary. Does nothing if the view was the last one
    /// requested. `None`, for a background that is not transparent, ends the thread and drops its mask.
    ///
    /// The thread sends `RenderEvent::DebugImage` for each new mask, and `RenderEvent::Problem` if tracing fails.
    pub(super) fn request(
        &mut self,
        request: Option<SceneView>,
        events: &EventSender,
    ) -> io::Result<()> {
        let Some(request) = request else {
            self.thread = None;
            return Ok(());
        };
        let thread = match &mut self.thread {
            Some(thread) => thread,
            place => place.insert(start(events.clone())?),
        };
        if !thread.has_requested(|last| last.is_same(&request)) {
            thread.request(Some(request));
        }
        Ok(())
    }

    /// Returns the newest alpha; `None` before the first, and if none is requested.
    pub(super) fn alpha(&self) -> Option<Alpha> {
        let thread = self.thread.as_ref()?;
        let mask = thread.result()?;
        let is_old = !thread.has_requested(|last| last.is_same(&mask.request));
        Some(Alpha { mask, is_old })
    }
}

/// Starts the thread that traces the alpha of the newest request.
fn start(events: EventSender) -> io::Result<NewestRequestThread<SceneView, Arc<AlphaMask>>> {
    let pool = tone_mapping_pool().map_err(io::Error::other)?;
    NewestRequestThread::start("alpha", move |request, work| {
        if let Err(error) = pool.install(|| trace(request, work, &events)) {
            let why = error.line();
            events.problem(format!("no checkerboard behind the picture: {why}"));
        }
    })
}

/// Traces the alpha of a view, first coarse and then fine.
fn trace(
    request: &SceneView,
    work: &Work<SceneView, Arc<AlphaMask>>,
    events: &EventSender,
) -> Result<(), Error> {
    let (width, height) = request.size;
    let pixels = f64::from(width) * f64::from(height);
    for limit in [COARSE_PIXELS, FINE_PIXELS] {
        let scale = (limit / pixels).sqrt().min(1.0);
        let scaled = |length: u32| ((f64::from(length) * scale).round() as u32).max(1);
        let size = (scaled(width), scaled(height));
        let mask = AlphaMask {
            request: request.clone(),
            size,
            alpha: SceneView {
                size,
                ..request.clone()
            }
            .alpha()?,
        };
        if work.put_if(Arc::new(mask), |_| true) {
            events.send(RenderEvent::DebugImage);
        }
        if pixels <= limit {
            break;
        }
        work.wait(STILL, true);
        if work.is_outdated() {
            break;
        }
    }
    Ok(())
}

impl PartialEq for Alpha {
    /// Returns whether both are the same mask of the same view.
    fn eq(&self, other: &Alpha) -> bool {
        Arc::ptr_eq(&self.mask, &other.mask) && self.is_old == other.is_old
    }
}

impl Alpha {
    /// Converts a picture, whose pixels are premultiplied by alpha, to RGBA in sRGB over a checkerboard.
    pub(crate) fn over_checkerboard(&self, picture: &Picture, look: Look) -> Vec<u8> {
        let (width, height) = (picture.width, picture.height);
        let (mask_width, mask_height) = self.mask.size;
        let alphas = (0..picture.pixels.len()).into_par_iter().map(|place| {
            let (column, row) = (
                place as u64 % u64::from(width),
                place as u64 / u64::from(width),
            );
            let across = column * u64::from(mask_width) / u64::from(width);
            let down = row * u64::from(mask_height) / u64::from(height);
            let at = (down * u64::from(mask_width) + across) as usize;
            let alpha = self.mask.alpha.get(at).copied().unwrap_or(1.0);
            // Where an earlier view had no surface, light comes from one that has moved there.
            match self.is_old && picture.pixels[place].max_element() > 0.0 {
                true => 1.0,
                false => alpha,
            }
        });
        let alphas: Vec<f32> = alphas.collect();
        let mut rgba = to_rgba8(picture, Some(&alphas), look.exposure_stops, look.tone);
        over_checkerboard(&mut rgba, (width, height));
        rgba
    }
}
