//! A render that people look at and handle: what the window and the page in a browser have in common.
//!
//! The renderer has a thread of its own (`render_thread`). What a hand asks for, by one table of controls (`controls`),
//! goes through the `session`, which knows the camera, the look and what the renderer is to do; either side shows the
//! frames in its own way.

mod controls;
mod inspection;
mod loader;
mod materials;
mod orbit;
mod orders;
mod outlet;
mod recent;
mod render_thread;
mod rivals;
mod session;
mod sights;
mod standing;
mod study;

pub use controls::list as controls;
pub(crate) use controls::{Action, CONTROLS, Change, Control, FAST, Local, Way, action};
pub(crate) use inspection::{Inspected, Vantage};
pub(crate) use materials::Listed;
pub(crate) use recent::{Recent, RecentBounce};
pub(crate) use render_thread::{Ended, Frame, State, Told};
pub(crate) use rivals::{Against, Rival};
pub(crate) use session::{Motion, News, Session};
pub use standing::{Fallen, Standing};

use std::sync::Arc;

use compaction::select::Strategy;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use crate::{
    output::{Developed, Look},
    picture::Picture,
    scene::Changes,
    sight::{Sight, Sighting},
    stages::Preview,
    stats::Stats,
    tone,
};

/// How a render begins that is looked at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ViewOptions {
    /// How the light is shown.
    pub look: Look,
    /// Or what is shown in its place.
    pub sight: Sight,
    /// The strategy that the renderer was made with.
    pub strategy: Strategy,
    /// What the scene was changed by, and is again when its file changes.
    pub changes: Changes,
    /// The error that is good enough, which the renderer stops at.
    pub noise: Option<f32>,
    /// Shows what is saved of the scene's files.
    pub watches: bool,
    /// Keeps the picture's size whatever the window's; else the picture is rendered in the window's size.
    pub keep_size: bool,
}

/// A frame whose picture others may hold too.
#[derive(Clone)]
pub(crate) struct Shown {
    pub(crate) picture: Arc<Picture>,
    /// Samples of each pixel, if they were asked for.
    pub(crate) counts: Option<Arc<Vec<u32>>>,
    /// With less noise, if that is asked for.
    pub(crate) preview: Option<Arc<Preview>>,
    pub(crate) stats: Stats,
    pub(crate) recent: Recent,
    pub(crate) state: State,
}

impl Shown {
    /// The picture to be seen in this look.
    fn seen(&self, look: Look) -> &Picture {
        self.preview_in(look)
            .map_or(&self.picture, |preview| &preview.picture)
    }

    /// The statistics of that picture, which say if it is a preview; false colours in its place are none.
    pub(crate) fn stats_in(&self, look: Look, in_false_colours: bool) -> Stats {
        let preview = self.preview_in(look).filter(|_| !in_false_colours);
        Stats {
            denoise_ms: preview.map(|preview| preview.milliseconds),
            ..self.stats.clone()
        }
    }

    fn preview_in(&self, look: Look) -> Option<&Preview> {
        self.preview.as_deref().filter(|_| look.denoise)
    }
}

impl From<Frame> for Shown {
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

impl Shown {
    /// What is seen of it, in eight bits: its light, or false colours in the place of that.
    pub(crate) fn developed(&self, look: Look, sighting: Option<&Sighting>) -> Developed {
        match sighting {
            Some(sighting) => Developed {
                size: sighting.size,
                rgba: sighting.rgba.clone(),
                sight: sighting.sight,
            },
            None => Developed {
                size: (self.picture.width, self.picture.height),
                rgba: tone::to_srgb8(self.seen(look), look.exposure_stops, look.tone),
                sight: Sight::Light,
            },
        }
    }
}

/// More do not make a picture's few milliseconds shorter.
const MAX_THREADS: usize = 4;

/// Threads to develop pictures on: the renderer keeps the common pool busy, and a job there would wait for its wave.
pub(crate) fn developing_threads() -> Result<ThreadPool, ThreadPoolBuildError> {
    let threads = rayon::current_num_threads().min(MAX_THREADS);
    ThreadPoolBuilder::new().num_threads(threads).build()
}
