//! Commands to the render thread, and what else threads ask of another thread: it is merged until that thread takes it, so
//! that at most one command of each kind is pending.

use std::{
    mem,
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::Instant,
};

use compaction::select::Strategy;

use super::{
    inspection_scene::InspectionScene, lock, path_query::PathQuery, requested_film::FilmRequest,
};
use raysieve::render::{region::Region, renderer::Renderer};
use raysieve_scene::Camera;

/// A renderer that replaces the current one.
pub(super) struct NewRenderer {
    pub(super) renderer: Box<Renderer>,
    pub(super) inspection_scene: Arc<InspectionScene>,
    /// The renderer's target in samples per pixel, for display only: the renderer itself decides when the render is
    /// complete.
    pub(super) samples: u32,
}

/// The pending commands: a later command replaces an earlier one of its kind. A field that is `None`, `false` or empty
/// stands for no command.
#[derive(Default)]
pub(super) struct Commands {
    /// Sets the camera and the picture's width and height in pixels, and restarts the render. The thread may render a
    /// smaller preview first.
    pub(super) view: Option<(Camera, (u32, u32))>,
    /// Replaces the renderer. `view` is then set too, and a later `view` without a renderer does not remove it.
    pub(super) renderer: Option<NewRenderer>,
    /// Continues with this compaction strategy. If it is not available, a message follows and the previous one stays.
    /// During a comparison of strategies, the strategy is selected afterwards.
    pub(super) strategy: Option<Strategy>,
    /// Compares all compaction strategies, and then restores the film. Ends a comparison that is in progress instead, so
    /// that two commands cancel each other.
    pub(super) compares: bool,
    /// Pauses the render (`true`) or continues it (`false`).
    pub(super) paused: Option<bool>,
    /// Sets whether frames contain the sample count of each pixel.
    pub(super) counts: Option<bool>,
    /// Sets whether frames contain a denoised picture.
    pub(super) denoises: Option<bool>,
    /// Clears the film and begins again with the first sample.
    pub(super) restart: bool,
    /// Continues the render up to this number of samples per pixel, which is larger than before.
    pub(super) samples: Option<u32>,
    /// Asks for the number of the last sample of the query's pixel, to inspect a path. `SessionEvent::Query` follows.
    pub(super) last_sample: Option<PathQuery>,
    /// Asks for the number of the last sample like `last_sample`, to describe the pixel.
    pub(super) pixel: Option<PathQuery>,
    /// Renders only this region of the picture; `Some(None)` renders the whole picture. The film is continued afterwards.
    pub(super) region: Option<Option<Region>>,
    /// Requests for a copy of the film, once every pixel of the requested picture has a sample.
    pub(super) films: Vec<FilmRequest>,
    /// Whether the [`CommandSender`] has been dropped.
    closed: bool,
}

/// The sending half of the render thread's queue of commands. Dropping it ends the render thread after the current wave,
/// even if commands are pending.
#[derive(Default)]
pub(super) struct CommandSender(pub(super) Arc<Pending<Commands>>);

impl Drop for CommandSender {
    fn drop(&mut self) {
        self.0.change(|commands| commands.closed = true);
    }
}

impl Pending<Commands> {
    /// Takes all pending commands, perhaps none. If `idle`, waits until there is one or the sender is dropped. Returns
    /// `None` once the sender has been dropped, even if commands are pending.
    pub(super) fn collect(&self, idle: bool) -> Option<Commands> {
        let until = (!idle).then(Instant::now);
        Some(self.take(until)).filter(|commands| !commands.closed)
    }

    /// Returns whether the sender has been dropped.
    pub(super) fn is_closed(&self) -> bool {
        self.peek(|commands| commands.closed)
    }
}

/// Requests or events that are pending, as fields of `T`. Any thread may change them, and one thread takes all at once.
#[derive(Default)]
pub(crate) struct Pending<T> {
    state: Mutex<PendingState<T>>,
    /// Tells the taking thread that there is a change.
    changed: Condvar,
}

#[derive(Default)]
struct PendingState<T> {
    pending: T,
    /// Whether `pending` was changed since it was last taken.
    has_changed: bool,
}

impl<T: Default> Pending<T> {
    /// Changes what is pending, and wakes the thread that takes it.
    pub(crate) fn change(&self, change: impl FnOnce(&mut T)) {
        let mut state = lock(&self.state);
        change(&mut state.pending);
        state.has_changed = true;
        self.changed.notify_one();
    }

    /// Waits for a change, but no longer than `until` if it is given. Takes what is pending, which is the default if
    /// `until` has passed without a change.
    pub(crate) fn take(&self, until: Option<Instant>) -> T {
        let state = lock(&self.state);
        let is_idle = |state: &mut PendingState<T>| !state.has_changed;
        let mut state = match until {
            Some(until) => {
                let time = until.saturating_duration_since(Instant::now());
                let waited = self.changed.wait_timeout_while(state, time, is_idle);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => {
                let waited = self.changed.wait_while(state, is_idle);
                waited.unwrap_or_else(PoisonError::into_inner)
            }
        };
        mem::take(&mut *state).pending
    }

    /// Returns whether there was a change since the last call of [`take`](Self::take).
    pub(super) fn has_changed(&self) -> bool {
        lock(&self.state).has_changed
    }

    /// Calls `read` with what is pending, without taking it.
    pub(super) fn peek<R>(&self, read: impl FnOnce(&T) -> R) -> R {
        read(&lock(&self.state).pending)
    }
}
