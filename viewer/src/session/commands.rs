//! Commands to the renderer. Commands that arrive during a wave are merged, so at most one of each kind is pending.

use std::{
    mem,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

use compaction::select::Strategy;

use super::{inspection::PathQuery, lock};
use raysieve::render::renderer::Renderer;
use raysieve_scene::Camera;

/// A command to the render thread.
pub(super) enum Command {
    View {
        camera: Camera,
        size: (u32, u32),
    },
    /// Replaces the renderer. The number is its target in samples per pixel, for display only: the renderer itself
    /// decides when the render is complete. A `View` command must follow; it sets camera and size, and starts the
    /// render.
    Renderer(Box<Renderer>, u32),
    Strategy(Strategy),
    Pause(bool),
    /// Sets whether frames contain the sample count of each pixel.
    Counts(bool),
    Denoise(bool),
    Restart,
    /// Asks for the number of the last sample of a pixel, to inspect its path.
    LastSample(PathQuery),
}

/// The pending commands, merged: a later command replaces an earlier one of its kind.
#[derive(Default)]
pub(super) struct PendingCommands {
    pub(super) view: Option<(Camera, (u32, u32))>,
    pub(super) renderer: Option<(Box<Renderer>, u32)>,
    pub(super) strategy: Option<Strategy>,
    pub(super) paused: Option<bool>,
    pub(super) counts: Option<bool>,
    pub(super) denoises: Option<bool>,
    pub(super) restart: bool,
    pub(super) last_sample: Option<PathQuery>,
    any: bool,
    /// Whether the sending side has been dropped.
    closed: bool,
}

impl PendingCommands {
    fn add(&mut self, command: Command) {
        self.any = true;
        match command {
            Command::View { camera, size } => self.view = Some((camera, size)),
            Command::Renderer(renderer, samples) => self.renderer = Some((renderer, samples)),
            Command::Strategy(strategy) => self.strategy = Some(strategy),
            Command::Pause(paused) => self.paused = Some(paused),
            Command::Counts(counts) => self.counts = Some(counts),
            Command::Denoise(denoises) => self.denoises = Some(denoises),
            Command::Restart => self.restart = true,
            Command::LastSample(query) => self.last_sample = Some(query),
        }
    }
}

/// The pending commands, shared by the sender and the receiver, and a condition variable for changes.
#[derive(Default)]
struct SharedCommands {
    commands: Mutex<PendingCommands>,
    changed: Condvar,
}

impl SharedCommands {
    fn lock(&self) -> MutexGuard<'_, PendingCommands> {
        lock(&self.commands)
    }

    fn change(&self, change: impl FnOnce(&mut PendingCommands)) {
        change(&mut self.lock());
        self.changed.notify_one();
    }
}

/// Sending half of the render thread's command queue; dropping it closes the queue.
#[derive(Default)]
pub(super) struct CommandSender(Arc<SharedCommands>);

impl CommandSender {
    pub(super) fn send(&self, command: Command) {
        self.0.change(|commands| commands.add(command));
    }

    /// Returns a receiving half of the same queue.
    pub(super) fn receiver(&self) -> CommandReceiver {
        CommandReceiver(self.0.clone())
    }
}

impl Drop for CommandSender {
    fn drop(&mut self) {
        self.0.change(|commands| commands.closed = true);
    }
}

/// Receiving half of the command queue, for the render thread.
pub(super) struct CommandReceiver(Arc<SharedCommands>);

impl CommandReceiver {
    /// Takes all pending commands. Waits for one if `idle`. Returns `None` once the sender has been dropped, even if
    /// commands are pending.
    pub(super) fn collect(&self, idle: bool) -> Option<PendingCommands> {
        let nothing = |commands: &mut PendingCommands| idle && !commands.any && !commands.closed;
        let mut commands = self
            .0
            .changed
            .wait_while(self.0.lock(), nothing)
            .unwrap_or_else(PoisonError::into_inner);
        (!commands.closed).then(|| mem::take(&mut *commands))
    }

    /// Returns whether a command is pending.
    pub(super) fn any(&self) -> bool {
        self.0.lock().any
    }

    /// Returns whether the sender has been dropped.
    pub(super) fn closed(&self) -> bool {
        self.0.lock().closed
    }
}
