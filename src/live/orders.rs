//! What is asked of the renderer while it works: however much it is, it takes the room of one order of each kind.

use std::{
    mem,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

use compaction::select::Strategy;

use super::inspection::Question;
use crate::{renderer::Renderer, scene::Camera};

/// What is asked of the renderer.
pub(super) enum Command {
    View {
        camera: Camera,
        size: (u32, u32),
    },
    /// Another one takes the place of the one at work, for so many samples a pixel; a view follows.
    Renderer(Box<Renderer>, u32),
    Strategy(Strategy),
    Pause(bool),
    /// Whether frames are to have the samples of each pixel.
    Counts(bool),
    Denoise(bool),
    Restart,
    /// Which sample was the last of a pixel.
    LastSample(Question),
}

/// All commands that came while a wave was rendered, as one: of several views only the last is rendered.
#[derive(Default)]
pub(super) struct Orders {
    pub(super) view: Option<(Camera, (u32, u32))>,
    pub(super) renderer: Option<(Box<Renderer>, u32)>,
    pub(super) strategy: Option<Strategy>,
    pub(super) paused: Option<bool>,
    pub(super) counts: Option<bool>,
    pub(super) denoises: Option<bool>,
    pub(super) restart: bool,
    pub(super) last_sample: Option<Question>,
    any: bool,
    /// Those who look are gone.
    closed: bool,
}

impl Orders {
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
            Command::LastSample(question) => self.last_sample = Some(question),
        }
    }
}

/// Where orders wait.
#[derive(Default)]
struct Counter {
    orders: Mutex<Orders>,
    changed: Condvar,
}

impl Counter {
    fn lock(&self) -> MutexGuard<'_, Orders> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Orders)) {
        change(&mut self.lock());
        self.changed.notify_one();
    }
}

/// The end of those who ask. Dropping it says that they are gone.
#[derive(Default)]
pub(super) struct OrdersSender(Arc<Counter>);

impl OrdersSender {
    pub(super) fn send(&self, command: Command) {
        self.0.change(|orders| orders.add(command));
    }

    /// The other end.
    pub(super) fn receiver(&self) -> OrdersReceiver {
        OrdersReceiver(self.0.clone())
    }
}

impl Drop for OrdersSender {
    fn drop(&mut self) {
        self.0.change(|orders| orders.closed = true);
    }
}

/// The renderer's end.
pub(super) struct OrdersReceiver(Arc<Counter>);

impl OrdersReceiver {
    /// `None` when those who look are gone. Waits for an order if there is nothing else to do.
    pub(super) fn collect(&self, idle: bool) -> Option<Orders> {
        let nothing = |orders: &mut Orders| idle && !orders.any && !orders.closed;
        let mut orders = self
            .0
            .changed
            .wait_while(self.0.lock(), nothing)
            .unwrap_or_else(PoisonError::into_inner);
        (!orders.closed).then(|| mem::take(&mut *orders))
    }

    /// Whether something is asked for.
    pub(super) fn any(&self) -> bool {
        self.0.lock().any
    }

    /// Whether those who look are gone.
    pub(super) fn closed(&self) -> bool {
        self.0.lock().closed
    }
}
