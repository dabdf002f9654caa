//! Commands to the render thread. Commands that are not executed yet are merged, so at most one of each kind is
//! pending.

use std::{sync::Arc, time::Instant};

use compaction::select::Strategy;

use super::{
    film::FilmRequest, inspection::PathQuery, inspection_scene::InspectionScene, pending::Pending,
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
    /// Ends a comparison of strategies that is in progress. `compares` is then `false`.
    pub(super) stops_comparing: bool,
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
