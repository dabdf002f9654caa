//! An interactive render: what the window and the web page have in common.
//!
//! The renderer works on a thread of its own (`render_thread`). Keys and buttons map to actions through one table
//! (`controls`). Actions on the render go through the `controller`, which holds the camera, the display settings and
//! the compaction strategy. The window and the page display the resulting frames.

mod commands;
mod controller;
mod controls;
mod debug_views;
mod derived_image;
mod editing;
mod events;
mod frame_pacing;
mod inspection;
mod inspection_scene;
mod light_groups;
mod loader;
mod newest_request;
mod noise_history;
mod orbit;
mod path_query;
mod quantile;
mod recent_stats;
mod stage_times;
mod render_thread;
mod requested_film;
mod strategy_comparison;
mod transparency;

pub(crate) use commands::Pending;
pub(crate) use controller::{
    Animation, Continuity, EditState, EditorState, Motion, NOTHING_TO_COMPARE, SceneToSave, Session,
};
pub(crate) use controls::{
    Action, Change, Control, FAST, FlyDirection, HELP, ScreenAction, action, hints, tooltip,
};
pub use controls::{ControlHelp, list as controls};
pub(crate) use derived_image::DerivedImage;
pub(crate) use editing::{FRACTION, Property, rounded, with_unit};
pub(crate) use events::{RenderEvent, SessionEvent};
use inspection_scene::InspectionScene;
pub(crate) use inspection_scene::SceneView;
pub(crate) use light_groups::PartInfo;
pub(crate) use noise_history::NoisePoint;
pub(crate) use path_query::{InspectedPath, PixelInfo};
pub(crate) use recent_stats::Recent;
pub use render_thread::Ended;
pub(crate) use render_thread::State;
pub(crate) use stage_times::{MeasuredTimes, RecentBounce, Spread, StageTimes};
pub(crate) use strategy_comparison::{Comparison, Difference, Pays, StrategyComparison};
pub(crate) use transparency::Alpha;

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
};

use compaction::select::Strategy;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use raysieve::{
    film::picture::{Picture, comparison::ComparisonImage, tone, transparency::over_checkerboard},
    inspect::debug_view::{DebugImage, DebugView},
    render::{
        oidn::Oidn,
        output::{DisplayImage, Look},
        region::Region,
        stats::Stats,
    },
    stages::Preview,
};
use raysieve_scene::{Background, Camera, LoadOptions, Scene, SettingOverrides};

/// The options of an interactive render in the window or on the web page. They set how its picture is displayed at
/// first, and what applies to scenes that are reloaded or opened later.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewOptions {
    /// Exposure, tone curve and denoising with which the picture is displayed at first. The field `overlay` is ignored.
    pub look: Look,
    /// Debug view displayed at first; `DebugView::Light` displays the picture itself.
    pub debug_view: DebugView,
    /// Open Image Denoise, if the picture denoised by it is displayed at first. It has no effect with a debug view.
    pub oidn: Option<Oidn>,
    /// Image with which the picture can be compared; `None` if there is none.
    pub compared: Option<Arc<ComparisonImage>>,
    /// Compaction strategy with which the renderer was created. Renderers of scenes that are loaded later use it too,
    /// until the user selects another.
    pub strategy: Strategy,
    /// Command-line overrides of the scene's settings. They are applied to each scene that is reloaded or opened; the
    /// first scene must contain them already.
    pub changes: SettingOverrides,
    /// Choices among what the scene's file offers, such as a material variant, for each reload of that file. The first
    /// scene must have been loaded with them.
    pub load: LoadOptions,
    /// Target error of adaptive sampling (see `Renderer::set_noise`) for the renderers of scenes that are loaded later;
    /// `None` gives every pixel the scene's sample count. The first renderer must have this target already.
    pub noise: Option<f32>,
    /// Whether the scene's files are watched, and reloaded when they change.
    pub watches: bool,
}

/// A rendered frame whose images are shared by reference, so that copies for several viewers are cheap.
#[derive(Clone)]
pub(crate) struct DisplayFrame {
    pub(crate) picture: Arc<Picture>,
    /// Scene with which the picture was rendered, except for its camera and size.
    inspection_scene: Arc<InspectionScene>,
    pub(crate) camera: Camera,
    /// Requested width and height of the picture in pixels; `picture` may be a smaller preview.
    pub(crate) size: (u32, u32),
    /// Sample count of each pixel, row by row from the top; `None` unless the samples debug view is displayed.
    pub(crate) counts: Option<Arc<Vec<u32>>>,
    /// Denoised picture; `None` if denoising is off or failed, if the noise is not known yet, or while denoising is too
    /// slow for a moving camera.
    pub(crate) preview: Option<Arc<Preview>>,
    pub(crate) stats: Stats,
    pub(crate) recent: Recent,
    pub(crate) state: State,
    /// Region to which the render is restricted; `None` for the whole picture.
    pub(crate) region: Option<Region>,
}

impl DisplayFrame {
    pub(crate) fn has_same_picture(&self, other: &DisplayFrame) -> bool {
        let denoised = |frame: &DisplayFrame| frame.preview.as_ref().map(Arc::as_ptr);
        Arc::ptr_eq(&self.picture, &other.picture) && denoised(self) == denoised(other)
    }

    /// Returns the statistics to display with this look. `denoise_ms` is set only if the denoised picture is displayed,
    /// and so never if a debug image replaces the picture (`in_debug_view`).
    pub(crate) fn stats_in(&self, look: Look, in_debug_view: bool) -> Stats {
        let preview = self.preview_in(look).filter(|_| !in_debug_view);
        Stats {
            denoise_ms: preview.map(|preview| preview.milliseconds),
            ..self.stats.clone()
        }
    }

    /// Converts the picture to 8-bit sRGB with this look, or returns a copy of the debug image instead if one is given.
    /// With `alpha`, the picture is over a checkerboard, and so is a debug image where it is transparent.
    pub(crate) fn to_image(
        &self,
        look: Look,
        debug_image: Option<&DebugImage>,
        alpha: Option<&Alpha>,
    ) -> DisplayImage {
        let preview = self.preview_in(look);
        let picture = preview.map_or(&*self.picture, |preview| &preview.picture);
        match debug_image {
            Some(debug_image) => {
                let mut image = debug_image.to_image();
                over_checkerboard(&mut image.rgba, image.size);
                image
            }
            None => DisplayImage {
                size: (self.picture.width, self.picture.height),
                rgba: match alpha {
                    Some(alpha) => alpha.over_checkerboard(picture, look),
                    None => tone::to_srgb8(picture, look.exposure_stops, look.tone),
                },
                debug_view: DebugView::Light,
            },
        }
    }

    /// Returns the scene with which the picture was rendered, except for its camera and size.
    pub(crate) fn scene(&self) -> &Scene {
        &self.inspection_scene.scene
    }

    fn view(&self) -> SceneView {
        SceneView {
            inspection_scene: self.inspection_scene.clone(),
            camera: self.camera,
            size: (self.picture.width, self.picture.height),
        }
    }

    /// Returns the view that the picture shows, to trace its alpha; `None` if its background is not transparent.
    pub(crate) fn transparent_view(&self) -> Option<SceneView> {
        let background = &self.scene().background;
        (*background == Background::Transparent).then(|| self.view())
    }

    /// Returns the denoised picture if the look asks for denoising and there is one.
    fn preview_in(&self, look: Look) -> Option<&Preview> {
        self.preview.as_deref().filter(|_| look.denoise)
    }
}

/// Maximum number of problems that are kept for the user to see.
const MAX_PROBLEMS: usize = 20;

/// Adds a problem to those that the user has not seen, of which the newest is the last. The problem replaces one of equal
/// text and, if there are 20, the oldest. `text` returns the text of a problem.
pub(crate) fn add_problem<T>(problems: &mut Vec<T>, problem: T, text: impl Fn(&T) -> &String) {
    problems.retain(|earlier| text(earlier) != text(&problem));
    if problems.len() == MAX_PROBLEMS {
        problems.remove(0);
    }
    problems.push(problem);
}

/// Maximum number of threads of [`tone_mapping_pool`], which converts pictures for display. More threads do not shorten
/// the few milliseconds that a conversion takes.
const MAX_THREADS: usize = 4;

/// Creates a pool of up to four threads for tone mapping, scaling and encoding pictures. On the CPU backend the global
/// pool is busy rendering, so a job there would wait for a wave.
pub(crate) fn tone_mapping_pool() -> Result<ThreadPool, ThreadPoolBuildError> {
    let threads = rayon::current_num_threads().min(MAX_THREADS);
    ThreadPoolBuilder::new().num_threads(threads).build()
}

/// Starts a thread of this name.
pub(crate) fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    thread::Builder::new().name(name.to_owned()).spawn(work)
}

/// Locks a mutex, and ignores that a thread has panicked while it held the lock. The data are valid even then, because
/// every change of them is complete in itself.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
