//! Commands to the render thread. Commands that are not executed yet are merged, so at most one of each kind is
//! pending.

use std::{
    mem,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

use compaction::select::Strategy;

use super::{
    film::FilmRequest,
    inspection::{PathQuery, QueryKind},
    inspection_scene::InspectionScene,
    lock,
};
use raysieve::render::{region::Region, renderer::Renderer};
use raysieve_scene::Camera;

/// A command to the render thread.
pub(super) enum Command {
    /// Sets the camera and the picture's width and height in pixels, and restarts the render, perhaps with another
    /// renderer. The thread may render a smaller preview first.
    View {
        camera: Camera,
        size: (u32, u32),
        /// Renderer that replaces the current one; `None` if that continues.
        renderer: Option<NewRenderer>,
    },
    /// Continues with this compaction strategy. If it is not available, a message follows and the previous one stays.
    /// During a comparison of strategies, the strategy is selected afterwards.
    Strategy(Strategy),
    /// Compares all compaction strategies, and then restores the film. Ends a comparison that is in progress instead.
    Compare,
    /// Ends a comparison of strategies that is in progress.
    StopComparing,
    /// Pauses the render (`true`) or continues it (`false`).
    Pause(bool),
    /// Sets whether frames contain the sample count of each pixel.
    Counts(bool),
    /// Sets whether frames contain a denoised picture.
    Denoise(bool),
    /// Clears the film and begins again with the first sample.
    Restart,
    /// Continues the render up to this number of samples per pixel, which is larger than before.
    Samples(u32),
    /// Asks for the number of the last sample of the query's pixel, to inspect a path or to describe the pixel.
    /// `SessionEvent::Query` follows.
    LastSample(PathQuery),
    /// Renders only this region of the picture; `None` renders the whole picture. The film is continued afterwards.
    Region(Option<Region>),
    /// Asks for a copy of the film, once every pixel of the requested picture has a sample.
    Film(FilmRequest),
}

/// A renderer that replaces the current one.
pub(super) struct NewRenderer {
    pub(super) renderer: Box<Renderer>,
    /// Scene of the renderer.
    pub(super) inspection_scene: Arc<InspectionScene>,
    /// The renderer's target in samples per pixel, for display only: the renderer itself decides when the render is
    /// complete.
    pub(super) samples: u32,
}

/// The pending commands, merged: a later command replaces an earlier one of its kind. A field that is `None` or `false`
/// stands for no command.
#[derive(Default)]
pub(super) struct PendingCommands {
    pub(super) view: Option<(Camera, (u32, u32))>,
    /// The renderer of the last `View` command that had one.
    pub(super) renderer: Option<NewRenderer>,
    pub(super) strategy: Option<Strategy>,
    /// Whether a comparison is begun, or ended if one is in progress. Two commands cancel each other.
    pub(super) compares: bool,
    pub(super) stops_comparing: bool,
    pub(super) paused: Option<bool>,
    pub(super) counts: Option<bool>,
    pub(super) denoises: Option<bool>,
    pub(super) restart: bool,
    pub(super) samples: Option<u32>,
    /// A `LastSample` command that asks for a path.
    pub(super) last_sample: Option<PathQuery>,
    /// A `LastSample` command that asks for the description of a pixel. It does not replace one that asks for a path.
    pub(super) pixel: Option<PathQuery>,
    /// A `Region` command.
    pub(super) region: Option<Option<Region>>,
    /// All `Film` commands.
    pub(super) films: Vec<FilmRequest>,
    /// Whether any command is pending.
    any: bool,
    /// Whether the [`CommandSender`] has been dropped.
    closed: bool,
}

impl PendingCommands {
    fn add(&mut self, command: Command) {
        self.any = true;
        match command {
            Command::View {
                camera,
                size,
                renderer,
            } => {
                self.view = Some((camera, size));
                self.renderer = renderer.or(self.renderer.take());
            }
            Command::Strategy(strategy) => self.strategy = Some(strategy),
            Command::Compare => self.compares = !self.compares,
            Command::StopComparing => (self.compares, self.stops_comparing) = (false, true),
            Command::Pause(paused) => self.paused = Some(paused),
            Command::Counts(counts) => self.counts = Some(counts),
            Command::Denoise(denoises) => self.denoises = Some(denoises),
            Command::Restart => self.restart = true,
            Command::Samples(samples) => self.samples = Some(samples),
            Command::LastSample(query) if query.wanted == QueryKind::Pixel => {
                self.pixel = Some(query);
            }
            Command::LastSample(query) => self.last_sample = Some(query),
            Command::Region(region) => self.region = Some(region),
            Command::Film(request) => self.films.push(request),
        }
    }
}

/// The pending commands, shared by sender and receiver. The condition variable tells the receiver that a command was
/// added or the sender was dropped.
#[derive(Default)]
struct SharedCommands {
    commands: Mutex<PendingCommands>,
    changed: Condvar,
}

impl SharedCommands {
    fn lock(&self) -> MutexGuard<'_, PendingCommands> {
        lock(&self.commands)
    }

    /// Changes the pending commands, and wakes a waiting receiver.
    fn change(&self, change: impl FnOnce(&mut PendingCommands)) {
        change(&mut self.lock());
        self.changed.notify_one();
    }
}

/// The sending half of the render thread's command queue. Dropping it ends the render thread after the current wave,
/// even if commands are pending.
#[derive(Default)]
pub(super) struct CommandSender(Arc<SharedCommands>);

impl CommandSender {
    /// Adds a command to the pending ones, without waiting for its execution.
    pub(super) fn send(&self, command: Command) {
        self.0.change(|commands| commands.add(command));
    }

    /// Returns the receiving half of this sender's queue. Meant to be called once, because receivers would take
    /// commands away from each other.
    pub(super) fn receiver(&self) -> CommandReceiver {
        CommandReceiver(self.0.clone())
    }
}

impl Drop for CommandSender {
    fn drop(&mut self) {
        self.0.change(|commands| commands.closed = true);
    }
}

/// The receiving half of a [`CommandSender`]'s queue, for the render thread.
pub(super) struct CommandReceiver(Arc<SharedCommands>);

impl CommandReceiver {
    /// Takes all pending commands, perhaps none. If `idle`, waits until there is one or the sender is dropped. Returns
    /// `None` once the sender has been dropped, even if commands are pending.
    pub(super) fn collect(&self, idle: bool) -> Option<PendingCommands> {
        let nothing = |commands: &mut PendingCommands| idle && !commands.any && !commands.closed;
        let mut commands = self
            .0
            .changed
            .wait_while(self.0.lock(), nothing)
            .unwrap_or_else(PoisonError::into_inner);
        (!commands.closed).then(|| mem::take(&mut *commands))
    }

    /// Returns whether any command is pending, without taking it.
    pub(super) fn has_pending(&self) -> bool {
        self.0.lock().any
    }

    /// Returns whether the sender has been dropped. Commands may still be pending then, but `collect` no longer returns
    /// them.
    pub(super) fn is_closed(&self) -> bool {
        self.0.lock().closed
    }
}
