//! The renderer on a thread of its own: commands go in, the latest picture comes out, and neither side waits.

use std::{
    io,
    sync::{Arc, PoisonError, mpsc},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use serde::Serialize;

use super::{
    inspection::{Inspected, Question},
    orders::{Command, Orders, OrdersReceiver, OrdersSender},
    outlet::{Outlet, Slot},
    recent::{Recent, Recorder},
    session::News,
};
use crate::{
    Error, picture::Picture, quiet::panic_text, renderer::Renderer, stages::Preview, stats::Stats,
    wave::Pace,
};

/// What the thread tells.
pub(crate) enum Told {
    /// There is a new picture.
    Frame,
    /// The renderer has something to say.
    Note(String),
    /// A path that was asked for.
    Inspected(Box<Inspected>),
    /// There are new false colours.
    Sight,
    /// What the session is to hear.
    News(News),
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
    pub(crate) picture: Arc<Picture>,
    /// Samples of each pixel, if they are asked for.
    pub(crate) counts: Option<Vec<u32>>,
    /// With less noise, if that is asked for.
    pub(crate) preview: Option<Arc<Preview>>,
    pub(crate) stats: Stats,
    pub(crate) recent: Recent,
    pub(crate) state: State,
}

/// What has become of a render.
pub(crate) struct Ended {
    pub(crate) renderer: Box<Renderer>,
    /// What ended it, if it did not end because nobody looks any more.
    pub(crate) error: Option<Error>,
}

/// The end of those who look. Dropping it lets the thread end by itself.
pub(crate) struct RenderThread {
    orders: OrdersSender,
    latest: Slot,
    thread: JoinHandle<Result<Ended, Error>>,
}

impl RenderThread {
    /// Starts to render up to `samples` a pixel, unless `paused`, with or without previews of less noise; pictures come no
    /// faster than one per `interval`, and `tell` hears of them on the thread. Gives the renderer back if the system has no
    /// thread left.
    pub(super) fn start(
        renderer: Box<Renderer>,
        samples: u32,
        paused: bool,
        denoises: bool,
        interval: Duration,
        tell: impl Fn(Told) + Send + 'static,
    ) -> Result<Self, (Box<Renderer>, io::Error)> {
        let orders = OrdersSender::default();
        let received = orders.receiver();
        let (hand_over, handed_over) = mpsc::channel::<Box<Renderer>>();
        let latest = Slot::default();
        let slot = latest.clone();
        let thread = thread::Builder::new()
            .name("render".to_owned())
            .spawn(move || {
                let outlet = Outlet::new(slot, tell, interval);
                let Ok(mut renderer) = handed_over.recv() else {
                    return Err(gone("nothing to render"));
                };
                renderer.keep_for_previews();
                let stats = renderer.stats();
                let work = Work {
                    renderer,
                    stats,
                    recorder: Recorder::default(),
                    pictures: Shelf::default(),
                    previews: Shelf::default(),
                    samples,
                    orders: received,
                    outlet,
                    interval,
                    paused,
                    counts: false,
                    done: false,
                    speed: 0.0,
                    preview_of: None,
                    moved: Instant::now(),
                    denoises,
                    preview_time: Duration::ZERO,
                };
                Ok(work.run())
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
        self.orders.send(command);
    }

    /// The newest picture, once.
    pub(super) fn take_frame(&self) -> Option<Frame> {
        self.latest
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    /// Ends the thread after the wave that it is at, and takes the renderer back.
    pub(super) fn finish(self) -> Result<Ended, Error> {
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

/// The last pictures of a kind: when nobody holds one any more, the next is made in its memory.
#[derive(Default)]
struct Shelf<T>(Vec<Arc<T>>);

/// One is shown, one waits to be, one is being made, and one is being saved.
const MOST_PICTURES: usize = 4;

impl<T: Default> Shelf<T> {
    fn take(&mut self) -> Arc<T> {
        let mut held = self.0.iter_mut();
        let free = held.position(|held| Arc::get_mut(held).is_some());
        free.map_or_else(Arc::default, |at| self.0.swap_remove(at))
    }

    fn put(&mut self, made: &Arc<T>) {
        self.0.push(made.clone());
        // Whoever holds more than these keeps them for long.
        let too_many = self.0.len().saturating_sub(MOST_PICTURES);
        self.0.drain(..too_many);
    }
}

struct Work<T: Fn(Told)> {
    renderer: Box<Renderer>,
    /// After the last wave.
    stats: Stats,
    recorder: Recorder,
    pictures: Shelf<Picture>,
    previews: Shelf<Preview>,
    samples: u32,
    orders: OrdersReceiver,
    outlet: Outlet<T>,
    interval: Duration,
    paused: bool,
    /// Whether frames have the samples of each pixel.
    counts: bool,
    done: bool,
    /// Paths a second, of late; 0 if not known.
    speed: f64,
    /// The size that is wanted, while a smaller picture is rendered ahead of it.
    preview_of: Option<(u32, u32)>,
    /// When the view was changed last.
    moved: Instant,
    denoises: bool,
    /// What it took the last time, with all that a picture waits for.
    preview_time: Duration,
}

/// A view that has stood still for so long is looked at, no longer moved.
const STILL: Duration = Duration::from_secs(1);

/// A wave's part of the time between two pictures: of a view that is moved, whose next motion waits for it, and of one that
/// stands still, which larger waves render faster.
const MOVING_SHARE: u32 = 8;
const STILL_SHARE: u32 = 3;

/// The longest that a hand does not feel between two pictures. Where one takes more, a smaller one comes first.
const SMOOTH: Duration = Duration::from_millis(33);

/// Columns and rows of the picture for one of its preview.
const MAX_REDUCTION: f64 = 8.0;

impl<T: Fn(Told)> Work<T> {
    fn run(mut self) -> Ended {
        let error = self.follow().err();
        self.renderer.set_pace(Pace::Steady);
        Ended {
            renderer: self.renderer,
            error,
        }
    }

    /// Does what is asked until those who look are gone.
    fn follow(&mut self) -> Result<(), Error> {
        // What a process before this one has rendered.
        if self.stats.spp > 0 {
            self.publish()?;
        }
        while let Some(orders) = self.orders.collect(!self.is_working()) {
            let changed = self.obey(orders)?;
            if self.is_working() {
                self.work()?;
                for line in self.renderer.take_notes() {
                    (self.outlet.teller.0)(Told::Note(line));
                }
            }
            if changed || !self.is_working() || self.outlet.beat().is_due(self.stats.spp) {
                self.publish()?;
                if let Some(size) = self.preview_of.take_if(|_| self.stats.spp > 0) {
                    self.render_in(size)?;
                }
            }
        }
        Ok(())
    }

    /// Renders until there is something to show or to obey.
    fn work(&mut self) -> Result<(), Error> {
        let is_still = self.moved.elapsed() >= STILL;
        let share = if is_still { STILL_SHARE } else { MOVING_SHARE };
        self.renderer.set_pace(Pace::Watched(self.interval / share));
        let (orders, beat, paused) = (&self.orders, self.outlet.beat(), self.paused);
        let enough = |samples: u32| {
            // Each view that was begun gets its first sample, however fast the next ones come.
            let begun = samples > 0 || !beat.is_waiting();
            orders.closed()
                || begun && (orders.any() || paused && samples > 0)
                || beat.is_due(samples)
        };
        self.done = !self.renderer.advance_until(&enough)?;
        self.stats = self.renderer.stats();
        self.speed = self.stats.paths_per_second;
        let is_preview = self.preview_of.is_some();
        self.recorder.add(&self.stats, is_still && !is_preview);
        Ok(())
    }

    fn publish(&mut self) -> Result<(), Error> {
        // What is still rendered is no part of a picture's time.
        self.renderer.land()?;
        let begun = Instant::now();
        let frame = Frame {
            picture: self.picture()?,
            counts: self
                .counts
                .then(|| self.renderer.sample_counts())
                .transpose()?,
            preview: self.denoised(),
            stats: self.stats.clone(),
            recent: self.recorder.recent(&self.stats, self.size()),
            state: self.state(),
        };
        self.outlet.publish(frame, begun);
        Ok(())
    }

    fn picture(&mut self) -> Result<Arc<Picture>, Error> {
        let mut picture = self.pictures.take();
        self.renderer.picture_into(Arc::make_mut(&mut picture))?;
        self.pictures.put(&picture);
        Ok(picture)
    }

    /// The picture with less noise, if that is asked for and there soon enough: one that takes longer than the time
    /// between two pictures waits until the view stands still.
    fn denoised(&mut self) -> Option<Arc<Preview>> {
        let stands = !self.is_working() || self.moved.elapsed() >= STILL;
        if !self.denoises || !stands && self.preview_time > self.interval {
            return None;
        }
        let begun = Instant::now();
        let mut preview = self.previews.take();
        let made = self.renderer.preview_into(Arc::make_mut(&mut preview));
        self.preview_time = begun.elapsed();
        self.previews.put(&preview);
        let made = made.unwrap_or_else(|error| {
            // There may be no memory for it; the render goes on.
            self.denoises = false;
            (self.outlet.teller.0)(Told::Note(format!("no preview: {error}")));
            false
        });
        made.then_some(preview)
    }

    /// Of the picture that is wanted.
    fn size(&self) -> (u32, u32) {
        let [width, height] = self.stats.size;
        self.preview_of.unwrap_or((width, height))
    }

    /// Begins again in another size.
    fn render_in(&mut self, (width, height): (u32, u32)) -> Result<(), Error> {
        if self.stats.size != [width, height] {
            self.renderer.set_size(width, height)?;
            self.stats = self.renderer.stats();
            self.recorder.begin_film(false);
        }
        self.done = false;
        Ok(())
    }

    /// The size of a picture that is there soon, if one of `size` is not.
    fn preview(&self, (width, height): (u32, u32)) -> Option<(u32, u32)> {
        let seconds = f64::from(width) * f64::from(height) / self.speed;
        let smooth = self.interval.max(SMOOTH).as_secs_f64();
        let reduction = (seconds / smooth).sqrt().ceil().min(MAX_REDUCTION);
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
        if let Some((renderer, samples)) = orders.renderer {
            self.renderer = renderer;
            self.samples = samples;
            self.stats = self.renderer.stats();
            self.recorder = Recorder::default();
        }
        if let Some((camera, size)) = orders.view {
            let preview = self.preview(size);
            self.preview_of = preview.map(|_| size);
            self.render_in(preview.unwrap_or(size))?;
            self.renderer.set_camera(camera)?;
            self.recorder.begin_film(true);
            self.moved = Instant::now();
        }
        if orders.restart {
            self.renderer.restart()?;
            self.recorder.begin_film(false);
        }
        if orders.view.is_some() || orders.restart {
            self.done = false;
            self.outlet.wait();
        }
        if let Some(counts) = orders.counts {
            changed = self.counts != counts;
            self.counts = counts;
        }
        if let Some(paused) = orders.paused {
            changed |= self.paused != paused;
            self.paused = paused;
        }
        if let Some(denoises) = orders.denoises {
            changed |= self.denoises != denoises;
            self.denoises = denoises;
        }
        if let Some(strategy) = orders.strategy {
            // A strategy may need what this machine lacks; the one before it goes on.
            if let Err(error) = self.renderer.set_strategy(strategy) {
                (self.outlet.teller.0)(Told::Note(error.to_string()));
            }
            self.recorder.set_strategy();
            changed = true;
        }
        self.stats = self.renderer.stats();
        if let Some(question) = orders.last_sample {
            let sample = self.last_sample(&question)?;
            let news = News::Ask(Question { sample, ..question });
            (self.outlet.teller.0)(Told::News(news));
        }
        Ok(changed)
    }

    /// Of the pixel in question. A picture of another size, ahead of the one that is wanted, knows no more than what all of
    /// its pixels have.
    fn last_sample(&mut self, question: &Question) -> Result<u32, Error> {
        let (size, (column, row)) = (question.size, question.pixel);
        let is_on_film = self.stats.size == [size.0, size.1] && column < size.0 && row < size.1;
        let samples = match is_on_film {
            true => self.renderer.samples_of(row * size.0 + column)?,
            false => self.stats.spp,
        };
        Ok(samples.saturating_sub(1))
    }
}
