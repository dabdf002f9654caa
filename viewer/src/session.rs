//! An interactive render: what the window and the web page have in common.
//!
//! The renderer works on a thread of its own (`render_thread`). Keys and buttons map to actions through one table
//! (`controls`). Actions on the render go through the `controller`, which holds the camera, the look and the compaction
//! strategy. The window and the page display the resulting frames.
//!
//! Imports no other module of this crate except `error`: neither the window nor the page.

mod commands;
mod controller;
mod controls;
mod debug_views;
mod frame_pacing;
mod inspection;
mod loader;
mod materials;
mod orbit;
mod recent_stats;
mod render_thread;
mod strategy_comparison;
mod inspection_scene;

pub(crate) use controller::{Motion, Session, SessionEvent};
pub use controls::list as controls;
pub(crate) use controls::{
    Action, CONTROLS, Change, Control, FAST, FlyDirection, ScreenAction, action,
};
pub(crate) use inspection::{InspectedPath, Viewpoint};
pub(crate) use materials::MaterialInfo;
#[cfg(test)]
pub(crate) use recent_stats::StageTimes;
pub(crate) use recent_stats::{Recent, RecentBounce};
pub(crate) use render_thread::{Ended, Frame, RenderEvent, State};
pub(crate) use strategy_comparison::{Comparison, StrategyComparison};

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use compaction::select::Strategy;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use raysieve::{
    inspect::debug_view::{DebugImage, DebugView},
    picture::{Picture, tone},
    render::{
        output::{DisplayImage, Look},
        stats::Stats,
    },
    stages::Preview,
};
use raysieve_scene::SettingOverrides;

/// Settings with which an interactive render begins, for the window and the web page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ViewOptions {
    /// Exposure, tone curve and denoising with which the picture is displayed at first. `overlay` is ignored.
    pub look: Look,
    /// Debug view displayed at first; `DebugView::Light` displays the picture itself.
    pub debug_view: DebugView,
    /// Compaction strategy with which the renderer was created. Renderers of later scenes use it until the user selects
    /// another.
    pub strategy: Strategy,
    /// Command-line overrides of the scene, applied to each scene that is reloaded or opened later.
    pub changes: SettingOverrides,
    /// Target error of adaptive sampling (see `Renderer::set_noise`) in renderers of later scenes; `None` gives every
    /// pixel the scene's sample count. The first renderer must have it already.
    pub noise: Option<f32>,
    /// Whether to watch the scene's files and reload them when they change.
    pub watches: bool,
    /// Whether the window renders the picture in the scene's size; otherwise the picture has the window's size. The
    /// page ignores this and keeps the scene's size.
    pub keep_size: bool,
}

/// A rendered frame whose images are shared by reference, so that several viewers can display it.
#[derive(Clone)]
pub(crate) struct DisplayFrame {
    pub(crate) picture: Arc<Picture>,
    /// Sample count of each pixel, row by row; `None` unless the samples debug view is displayed.
    pub(crate) counts: Option<Arc<Vec<u32>>>,
    /// Denoised picture; `None` if denoising is off or failed, if the noise is not known yet, or while denoising is too
    /// slow for a moving view.
    pub(crate) preview: Option<Arc<Preview>>,
    pub(crate) stats: Stats,
    pub(crate) recent: Recent,
    pub(crate) state: State,
}

impl DisplayFrame {
    /// Returns the picture to display with this look: the denoised preview if the look asks for it and there is one.
    fn displayed_picture(&self, look: Look) -> &Picture {
        self.preview_in(look)
            .map_or(&self.picture, |preview| &preview.picture)
    }

    /// Returns the statistics to display with this look. `denoise_ms` is set only if the denoised picture is displayed,
    /// and so never if `in_debug_view`.
    pub(crate) fn stats_in(&self, look: Look, in_debug_view: bool) -> Stats {
        let preview = self.preview_in(look).filter(|_| !in_debug_view);
        Stats {
            denoise_ms: preview.map(|preview| preview.milliseconds),
            ..self.stats.clone()
        }
    }

    /// Converts the frame to 8-bit sRGB for display, or returns the debug image instead if one is given.
    pub(crate) fn to_image(&self, look: Look, debug_image: Option<&DebugImage>) -> DisplayImage {
        match debug_image {
            Some(debug_image) => DisplayImage {
                size: debug_image.size,
                rgba: debug_image.rgba.clone(),
                debug_view: debug_image.debug_view,
            },
            None => DisplayImage {
                size: (self.picture.width, self.picture.height),
                rgba: tone::to_srgb8(self.displayed_picture(look), look.exposure_stops, look.tone),
                debug_view: DebugView::Light,
            },
        }
    }

    fn preview_in(&self, look: Look) -> Option<&Preview> {
        self.preview.as_deref().filter(|_| look.denoise)
    }
}

impl From<Frame> for DisplayFrame {
    fn from(frame: Frame) -> Self {
        let Frame {
            picture,
            counts,
            preview,
            stats,
            recent,
            state,
        } = frame;
        Self {
            picture,
            counts: counts.map(Arc::new),
            preview,
            stats,
            recent,
            state,
        }
    }
}

/// Maximum number of threads that convert pictures; more threads do not shorten the few milliseconds it takes.
const MAX_THREADS: usize = 4;

/// Creates a thread pool for tone mapping, scaling and encoding pictures. On the CPU backend the global pool is busy
/// rendering, so a job there would wait for a wave.
pub(crate) fn tone_mapping_pool() -> Result<ThreadPool, ThreadPoolBuildError> {
    let threads = rayon::current_num_threads().min(MAX_THREADS);
    ThreadPoolBuilder::new().num_threads(threads).build()
}

/// Locks a mutex, also after a panic in another thread, because every change of the data is complete in itself.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
