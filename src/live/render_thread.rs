//! The renderer on a thread of its own: commands go in, the latest picture comes out, and neither side waits.

use std::{
    io, mem,
    ops::RangeInclusive,
    sync::{Arc, Condvar, Mutex, PoisonError, mpsc},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use compaction::select::Strategy;
use serde::Serialize;

use crate::{
    Error, picture::Picture, quiet::panic_text, renderer::Renderer, scene::Camera, stats::Stats,
};

/// What is asked of the renderer.
pub(super) enum Command {
    View { camera: Camera, size: (u32, u32) },
    Strategy(Strategy),
    Pause(bool),
    Restart,
}

/// What the thread tells.
pub(crate) enum Told {
    /// There is a new picture.
    Frame,
    /// The renderer has something to say.
    Note(String),
    /// The thread has ended.
    Ended,
}

/// How far the render is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum State {
    /// Samples are being added, up to so many a pixel; `progress` is from 0 to 1.
    Rendering { samples: u32, progress: f64 },
    /// It stands still before so many samples a pixel are there.
    Paused { samples: u32, progress: f64 },
    /// Nothing more will come.
    Done,
}

/// A picture and how it came about.
pub(crate) struct Frame {
    pub(crate) picture: Picture,
    pub(crate) stats: Stats,
    pub(crate) state: State,
}

/// The end of those who look. Dropping it lets the thread end by itself.
pub(crate) struct RenderThread {
    orders: OrdersSender,
    latest: Arc<Mutex<Option<Frame>>>,
    thread: JoinHandle<Result<Box<Renderer>, Error>>,
}

impl RenderThread {
    /// Starts to render up to `samples` a pixel; pictures come no faster than one per `interval`, and `tell` hears of
    /// them on the thread. Gives the renderer back if the system has no thread left.
    pub(super) fn start(
        renderer: Box<Renderer>,
        samples: u32,
        interval: Duration,
        tell: impl Fn(Told) + Send + 'static,
    ) -> Result<Self, (Box<Renderer>, io::Error)> {
        let orders = OrdersSender::default();
        let received = OrdersReceiver(orders.0.clone());
        let (hand_over, handed_over) = mpsc::channel::<Box<Renderer>>();
        let latest = Arc::new(Mutex::new(None));
        let slot = latest.clone();
        let thread = thread::Builder::new()
            .name("render".to_owned())
            .spawn(move || {
                // Also when the renderer panics, so that nobody waits for it.
                let teller = Teller(tell);
                let Ok(renderer) = handed_over.recv() else {
                    return Err(gone("nothing to render"));
                };
                let outlet = Outlet {
                    slot,
                    teller,
                    interval,
                    published: None,
                    waiting: Some(Instant::now()),
                    pause: interval,
                };
                let stats = renderer.stats();
                let (paused, done) = (false, false);
                Work {
                    renderer,
                    stats,
                    samples,
                    orders: received,
                    outlet,
                    paused,
                    done,
                    speed: 0.0,
                    preview_of: None,
                }
                .run()
            });
        match thread {
            Ok(thread) => {
                // It listens.
                let _ = hand_over.send(renderer);
                Ok(Self {
                    orders,
                    latest,
                    thread,
                })
            }
            Err(error) => Err((renderer, error)),
        }
    }

    /// The thread may have ended with an error: then nobody listens, and `Told::Ended` is on its way.
    pub(super) fn send(&self, command: Command) {
        self.orders.0.change(|orders| orders.add(command));
    }

    /// The newest picture, once.
    pub(super) fn take_frame(&self) -> Option<Frame> {
        self.latest
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    /// Ends the thread after the wave that it is at, and takes the renderer back.
    pub(super) fn finish(self) -> Result<Box<Renderer>, Error> {
        drop(self.orders);
        self.thread
            .join()
            .unwrap_or_else(|panic| Err(gone(&panic_text(&*panic))))
    }
}

fn gone(why: &str) -> Error {
    Error::Window {
        problem: format!("the render thread stopped: {why}"),
    }
}

struct Teller<T: Fn(Told)>(T);

impl<T: Fn(Told)> Drop for Teller<T> {
    fn drop(&mut self) {
        (self.0)(Told::Ended);
    }
}

/// All commands that came while a wave was rendered, as one: of several views only the last is rendered.
#[derive(Default)]
struct Orders {
    view: Option<(Camera, (u32, u32))>,
    strategy: Option<Strategy>,
    paused: Option<bool>,
    restart: bool,
    any: bool,
    /// Those who look are gone.
    closed: bool,
}

impl Orders {
    fn add(&mut self, command: Command) {
        self.any = true;
        match command {
            Command::View { camera, size } => self.view = Some((camera, size)),
            Command::Strategy(strategy) => self.strategy = Some(strategy),
            Command::Pause(paused) => self.paused = Some(paused),
            Command::Restart => self.restart = true,
        }
    }
}

/// Where orders wait: however many come, they take the room of one.
#[derive(Default)]
struct Counter {
    orders: Mutex<Orders>,
    changed: Condvar,
}

impl Counter {
    fn change(&self, change: impl FnOnce(&mut Orders)) {
        change(&mut self.orders.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_one();
    }
}

#[derive(Default)]
struct OrdersSender(Arc<Counter>);

impl Drop for OrdersSender {
    fn drop(&mut self) {
        self.0.change(|orders| orders.closed = true);
    }
}

struct OrdersReceiver(Arc<Counter>);

impl OrdersReceiver {
    /// `None` when those who look are gone. Waits for an order if there is nothing else to do.
    fn collect(&self, idle: bool) -> Option<Orders> {
        let orders = self.0.orders.lock().unwrap_or_else(PoisonError::into_inner);
        let mut orders = self
            .0
            .changed
            .wait_while(orders, |orders| idle && !orders.any && !orders.closed)
            .unwrap_or_else(PoisonError::into_inner);
        (!orders.closed).then(|| mem::take(&mut *orders))
    }
}

struct Work<T: Fn(Told)> {
    renderer: Box<Renderer>,
    /// After the last wave.
    stats: Stats,
    samples: u32,
    orders: OrdersReceiver,
    outlet: Outlet<T>,
    paused: bool,
    done: bool,
    /// Paths a second, of late; 0 if not known.
    speed: f64,
    /// The size that is wanted, while a smaller picture is rendered ahead of it.
    preview_of: Option<(u32, u32)>,
}

/// What a picture may take for the view to follow a hand; where it takes more, a smaller one comes first.
const PREVIEW_SECONDS: f64 = 0.08;

/// Columns and rows of the picture for one of its preview.
const MAX_REDUCTION: f64 = 8.0;

impl<T: Fn(Told)> Work<T> {
    fn run(mut self) -> Result<Box<Renderer>, Error> {
        while let Some(orders) = self.orders.collect(!self.is_working()) {
            let changed = self.obey(orders)?;
            if self.is_working() {
                self.done = !self.renderer.advance_for(self.outlet.slice())?;
                self.stats = self.renderer.stats();
                self.speed = self.stats.paths_per_second;
            }
            let preview_of = self.preview_of.take_if(|_| self.stats.spp > 0);
            if changed
                || preview_of.is_some()
                || !self.is_working()
                || self.outlet.is_due(self.stats.spp)
            {
                let begun = Instant::now();
                let picture = self.renderer.picture()?;
                self.outlet.publish(
                    Frame {
                        picture,
                        stats: self.stats.clone(),
                        state: self.state(),
                    },
                    begun,
                );
            }
            if let Some(size) = preview_of {
                self.render_in(size)?;
            }
        }
        Ok(self.renderer)
    }

    /// Begins again in another size.
    fn render_in(&mut self, (width, height): (u32, u32)) -> Result<(), Error> {
        if self.stats.size != [width, height] {
            self.renderer.set_size(width, height)?;
            self.stats = self.renderer.stats();
        }
        self.done = false;
        Ok(())
    }

    /// The size of a picture that is there soon, if one of `size` is not.
    fn preview(&self, (width, height): (u32, u32)) -> Option<(u32, u32)> {
        let seconds = f64::from(width) * f64::from(height) / self.speed;
        let reduction = (seconds / PREVIEW_SECONDS).sqrt().ceil().min(MAX_REDUCTION);
        let reduced = |length: u32| ((f64::from(length) / reduction).round() as u32).max(1);
        (self.speed > 0.0 && reduction > 1.0).then(|| (reduced(width), reduced(height)))
    }

    fn state(&self) -> State {
        let (samples, progress) = (self.samples, self.renderer.progress());
        match (self.done, self.paused) {
            (true, _) => State::Done,
            (false, true) => State::Paused { samples, progress },
            (false, false) => State::Rendering { samples, progress },
        }
    }

    /// A paused render still shows one sample of a new view.
    fn is_working(&self) -> bool {
        !self.done && (!self.paused || self.stats.spp == 0)
    }

    /// Whether the shown figures changed though the film did not.
    fn obey(&mut self, orders: Orders) -> Result<bool, Error> {
        let mut changed = false;
        if let Some((camera, size)) = orders.view {
            let preview = self.preview(size);
            self.preview_of = preview.map(|_| size);
            self.render_in(preview.unwrap_or(size))?;
            self.renderer.set_camera(camera)?;
        }
        if orders.restart {
            self.renderer.restart()?;
        }
        if orders.view.is_some() || orders.restart {
            self.done = false;
            self.outlet.waiting.get_or_insert_with(Instant::now);
        }
        if let Some(paused) = orders.paused {
            changed = self.paused != paused;
            self.paused = paused;
        }
        if let Some(strategy) = orders.strategy {
            // A strategy may need what this machine lacks; the one before it goes on.
            if let Err(error) = self.renderer.set_strategy(strategy) {
                (self.outlet.teller.0)(Told::Note(error.to_string()));
            }
            changed = true;
        }
        self.stats = self.renderer.stats();
        Ok(changed)
    }
}

/// Where pictures leave for those who look.
struct Outlet<T: Fn(Told)> {
    slot: Arc<Mutex<Option<Frame>>>,
    teller: Teller<T>,
    interval: Duration,
    published: Option<Instant>,
    /// Since when there is a view that has not been shown.
    waiting: Option<Instant>,
    /// To the next picture.
    pause: Duration,
}

/// A view that has not one sample everywhere after so long is shown as it is.
const PATIENCE: Duration = Duration::from_millis(300);

/// Between two pictures lies so many times what a picture takes.
const PICTURE_SPACING: u32 = 4;

/// What the renderer works at least before it is asked again, and at most.
const SLICES: RangeInclusive<Duration> = Duration::from_millis(8)..=Duration::from_millis(50);

impl<T: Fn(Told)> Outlet<T> {
    /// Until the next picture is due.
    fn slice(&self) -> Duration {
        let shown = self.published.map_or(Duration::ZERO, |at| at.elapsed());
        let left = self.pause.saturating_sub(shown);
        left.clamp(*SLICES.start(), *SLICES.end())
    }

    fn is_due(&self, samples: u32) -> bool {
        self.published
            .is_none_or(|published| published.elapsed() >= self.pause)
            && (samples > 0
                || self
                    .waiting
                    .is_some_and(|since| since.elapsed() >= PATIENCE))
    }

    /// `begun` is when the making of the frame began.
    fn publish(&mut self, frame: Frame, begun: Instant) {
        let unseen = self
            .slot
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .replace(frame);
        if unseen.is_none() {
            (self.teller.0)(Told::Frame);
        }
        self.pause = self.interval.max(begun.elapsed() * PICTURE_SPACING);
        self.published = Some(Instant::now());
        self.waiting = None;
    }
}
