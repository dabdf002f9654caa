//! A render that people look at and handle: what the window and the page in a browser have in common.
//!
//! The renderer has a thread of its own (`render_thread`). What a hand asks for, by one table of controls (`controls`),
//! goes through the `session`, which knows the camera, the look and what the renderer is to do; either side shows the
//! frames in its own way.

mod controls;
mod inspection;
mod orbit;
mod orders;
mod outlet;
mod recent;
mod render_thread;
mod rivals;
mod session;

pub use controls::list as controls;
pub(crate) use controls::{Action, CONTROLS, Change, Control, Local, action};
pub(crate) use inspection::Inspected;
pub(crate) use recent::{Recent, RecentBounce};
pub(crate) use render_thread::{Frame, State, Told};
pub(crate) use rivals::{Against, Rival};
pub(crate) use session::{Motion, Session};

use std::sync::Arc;

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use crate::{picture::Picture, stats::Stats};

/// A frame whose picture others may hold too.
#[derive(Clone)]
pub(crate) struct Shown {
    pub(crate) picture: Arc<Picture>,
    pub(crate) stats: Stats,
    pub(crate) recent: Recent,
    pub(crate) state: State,
}

impl From<Frame> for Shown {
    fn from(frame: Frame) -> Self {
        let Frame {
            picture,
            stats,
            recent,
            state,
        } = frame;
        Self {
            picture,
            stats,
            recent,
            state,
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
