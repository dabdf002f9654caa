//! Runs the renderer on a thread of its own. Commands go in and the newest frame comes out. The session does not wait
//! for waves, and the thread waits for commands only while there is nothing to render.

mod comparison;
mod execute;
mod film;
mod region;

use std::{
    io,
    sync::{Arc, mpsc},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use serde::Serialize;

use self::{comparison::RunningComparison, region::RegionRender};
use super::{
    DisplayFrame,
    commands::{CommandSender, Commands, Pending},
    events::EventSender,
    frame_pacing::{FramePublisher, LatestFrame},
    inspection_scene::InspectionScene,
    lock,
    noise_history::NoiseHistory,
    recent_stats::{Recent, Recorder},
    requested_film::FilmRequest,
    spawn,
};
use crate::Error;
use raysieve::{
    film::picture::Picture,
    render::{part::Samples, renderer::Renderer, stats::Stats},
    stages::Preview,
    stages::wave::Pace,
};
use raysieve_scene::catch_panics::panic_text;

/// The state of the render (running, paused, comparing strategies or complete) and its progress.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum State {
    /// Samples are being added, up to `samples` per pixel. `progress` is the completed fraction in 0..=1.
    Rendering {
        samples: u32,
        progress: f64,
    },
    /// The render is paused before it has reached `samples` per pixel. `progress` is the completed fraction in 0..=1.
    Paused {
        samples: u32,
        progress: f64,
    },
    /// Compaction strategies are being compared, while the film is set aside.
    Comparing,
    Done,
}

/// The result of a render that was displayed.
pub struct Ended {
    /// The renderer, with its film.
    pub renderer: Box<Renderer>,
    /// Error that ended the render; `None` if the user or the program did. After [`Renderer::all_gpus_failed`], the
    /// renderer cannot continue, but [`Renderer::part`] returns the last copy of its film in host memory, which lacks the
    /// samples rendered since that copy.
    pub error: Option<Error>,
}

impl Ended {
    /// Returns the error that ended the render, unless all GPUs have failed, so that there is a film to save.
    pub(crate) fn checked(mut self) -> Result<Self, Error> {
        let may_save = self.renderer.all_gpus_failed();
        self.error.take_if(|_| !may_save).map_or(Ok(self), Err)
    }
}

/// Returns whether the render has failed, given the result of a render thread that has ended.
pub(crate) fn has_failed(ended: &Result<Ended, Error>) -> bool {
    !matches!(ended, Ok(Ended { error: None, .. }))
}

/// Handle of the render thread. Dropping the handle ends the thread after the current wave, without waiting.
pub(crate) struct RenderThread {
    commands: CommandSender,
    latest: LatestFrame,
    thread: JoinHandle<Result<Ended, Error>>,
}

impl RenderThread {
    /// Starts the thread, which publishes at most one frame per `interval` on average. `inspection_scene` is the scene
    /// of the renderer. `samples` is the renderer's target in samples per pixel, for display only. `denoises` tells
    /// whether frames contain a denoised picture.
    ///
    /// If the thread cannot be started, returns the renderer and the error of the operating system.
    pub(super) fn start(
        renderer: Box<Renderer>,
        inspection_scene: Arc<InspectionScene>,
        samples: u32,
        denoises: bool,
        interval: Duration,
        events: EventSender,
    ) -> Result<Self, (Box<Renderer>, io::Error)> {
        let commands = CommandSender::default();
        let received = commands.0.clone();
        let (hand_over, handed_over) = mpsc::channel::<Box<Renderer>>();
        let latest = LatestFrame::default();
        let slot = latest.clone();
        let thread = spawn("render", move || {
            let publisher = FramePublisher::new(slot, events, interval);
            let Ok(mut renderer) = handed_over.recv() else {
                return Err(thread_error("nothing to render"));
            };
            renderer.keep_for_previews();
            let may_use_cpu = renderer.has_automatic_backend();
            let stats = renderer.stats();
            let work = RenderThreadState {
                renderer,
                inspection_scene,
                stats,
                recorder: Recorder::default(),
                pictures: ImagePool::default(),
                previews: ImagePool::default(),
                samples,
                commands: received,
                publisher,
                interval,
                paused: false,
                counts: false,
                done: false,
                speed: 0.0,
                preview_of: None,
                moved: Instant::now(),
                denoises,
                preview_time: Duration::ZERO,
                wants_comparison: false,
                comparison: None,
                kept_preview: None,
                films: Vec::new(),
                region: RegionRender::default(),
                noise: NoiseHistory::default(),
                may_use_cpu,
            };
            Ok(work.run())
        });
        match thread {
            Ok(thread) => {
                // The thread waits for it.
                let _ = hand_over.send(renderer);
                Ok(Self {
                    commands,
                    latest,
                    thread,
                })
            }
            Err(error) => Err((renderer, error)),
        }
    }

    /// Sends commands, which the thread executes after the current wave. If the thread has ended, they are ignored;
    /// `RenderEvent::Ended` has reported that end.
    pub(super) fn send(&self, add: impl FnOnce(&mut Commands)) {
        self.commands.0.change(add);
    }

    /// Takes the newest frame; `None` before the first, or if the newest has been taken already.
    pub(super) fn take_frame(&self) -> Option<DisplayFrame> {
        lock(&self.latest).take()
    }

    /// Ends the thread after the current wave, waits for its end, and returns the renderer and an error that ended the
    /// render before.
    ///
    /// # Errors
    /// [`Error::RenderThread`] if the thread panicked; the renderer is lost then.
    pub(super) fn finish(self) -> Result<Ended, Error> {
        drop(self.commands);
        self.thread
            .join()
            .unwrap_or_else(|panic| Err(thread_error(&panic_text(&*panic))))
    }
}

/// Returns the error for a render thread that ended without a result, for this reason.
fn thread_error(why: &str) -> Error {
    Error::RenderThread {
        problem: why.to_owned(),
    }
}

/// A pool of recent images. The memory of an image is reused once there are no references to it outside the pool.
#[derive(Default)]
struct ImagePool<T>(Vec<Arc<T>>);

/// Maximum number of images in a pool: one displayed, one waiting, one being made and one being saved.
const MAX_PICTURES: usize = 4;

impl<T: Default> ImagePool<T> {
    /// Takes an image without other references from the pool, or creates one. The image may have the content of an
    /// earlier one.
    fn take(&mut self) -> Arc<T> {
        let free = self
            .0
            .iter_mut()
            .position(|image| Arc::get_mut(image).is_some());
        free.map_or_else(Arc::default, |at| self.0.remove(at))
    }

    /// Adds an image to the pool, and removes the oldest beyond `MAX_PICTURES`.
    fn put(&mut self, made: &Arc<T>) {
        self.0.push(made.clone());
        // An image that is still in use after this many others is removed from the pool.
        let too_many = self.0.len().saturating_sub(MAX_PICTURES);
        self.0.drain(..too_many);
    }
}

/// The state of the render thread: the renderer, its statistics and the options of the frames.
struct RenderThreadState {
    renderer: Box<Renderer>,
    inspection_scene: Arc<InspectionScene>,
    /// Statistics after the last wave.
    stats: Stats,
    recorder: Recorder,
    pictures: ImagePool<Picture>,
    previews: ImagePool<Preview>,
    /// Target in samples per pixel, for display only; the renderer itself decides when the render is complete.
    samples: u32,
    commands: Arc<Pending<Commands>>,
    publisher: FramePublisher,
    /// Minimum average interval between frames.
    interval: Duration,
    /// Whether the render is paused once every pixel has a sample.
    paused: bool,
    /// Whether frames contain the sample count of each pixel, for the samples debug view.
    counts: bool,
    done: bool,
    /// Camera paths per second of the film after the last wave; 0 before the first wave. If the speed is low, a smaller
    /// preview is rendered first after a change of the camera or size.
    speed: f64,
    /// Requested width and height in pixels while a smaller preview is rendered; `None` otherwise.
    preview_of: Option<(u32, u32)>,
    /// Time of the last change of scene, camera or size; at first the start of the thread.
    moved: Instant,
    /// Whether frames contain a denoised picture once one is available; set to `false` if denoising fails.
    denoises: bool,
    /// Duration of the last denoising; 0 before the first.
    preview_time: Duration,
    /// Whether compaction strategies are to be compared once every pixel has a sample.
    wants_comparison: bool,
    /// Comparison of compaction strategies; `None` if there is none in progress.
    comparison: Option<RunningComparison>,
    /// Denoised picture of a film that was set aside and then continued, with the number of its paths. The continued
    /// film lacks the copies for another one. `None` if the film was not set aside.
    kept_preview: Option<(u64, Arc<Preview>)>,
    /// Requests for the film that wait until it is complete enough.
    films: Vec<FilmRequest>,
    /// Noise of the film so far.
    noise: NoiseHistory,
    region: RegionRender,
    /// Whether the CPU continues the render if all GPUs fail.
    may_use_cpu: bool,
}

/// Time without a change of scene, camera or size after which the view counts as still.
const STILL: Duration = Duration::from_secs(1);

/// Number of waves per frame interval until the view counts as still. Short waves keep a moving view responsive.
const MOVING_SHARE: u32 = 8;
/// Number of waves per frame interval once the view counts as still. Longer waves render faster.
const STILL_SHARE: u32 = 3;

/// Frame time up to which movement feels smooth. If one sample per pixel takes longer than this and than the frame
/// interval, a smaller preview is rendered first.
const SMOOTH: Duration = Duration::from_millis(33);

/// Maximum divisor of the picture's width and height for a preview.
const MAX_REDUCTION: f64 = 8.0;

impl RenderThreadState {
    /// Runs the thread, and returns the renderer with an error that ended the render.
    fn run(mut self) -> Ended {
        let served = self.serve_commands();
        let restored = self.end_comparison().and_then(|()| self.end_region());
        let error = served.err().or(restored.err());
        self.renderer.set_pace(Pace::Steady);
        Ended {
            renderer: self.renderer,
            error,
        }
    }

    /// Executes commands and renders until the session ends or the render fails. After a complete render, waits for
    /// commands. If all GPUs fail, the CPU continues unless the user has chosen the GPUs.
    fn serve_commands(&mut self) -> Result<(), Error> {
        // A film that was restored before the start is displayed at once.
        if self.stats.spp > 0
            && let Err(error) = self.publish()
        {
            self.continue_on_cpu(error)?;
        }
        while let Some(mut commands) = self.commands.collect(self.is_idle()) {
            if let Err(error) = self.step(&mut commands) {
                self.continue_on_cpu(error)?;
                self.step(&mut commands)?;
            }
        }
        Ok(())
    }

    /// Executes the commands, renders for a while, and publishes a frame if one is due. After an error, `commands` are
    /// those that have not been executed.
    fn step(&mut self, commands: &mut Commands) -> Result<(), Error> {
        let changed = self.execute(commands)?;
        if self.can_begin_region() {
            self.begin_region()?;
        }
        if self.can_begin_comparison() {
            self.begin_comparison()?;
        }
        if self.is_working() {
            self.work()?;
            self.report_notes();
        }
        // During a comparison, the samples are those of a turn.
        let samples = match self.comparison {
            Some(_) => 1,
            None => self.stats.spp,
        };
        if changed || !self.is_working() || self.publisher.pacing.is_due(samples) {
            self.publish()?;
            if let Some(size) = self.preview_of.take_if(|_| self.stats.spp > 0) {
                self.render_in(size)?;
            }
        }
        self.answer_film_requests()
    }

    /// Displays the notes of the renderer, each of which tells of a failure, as one problem.
    fn report_notes(&mut self) {
        let notes = self.renderer.take_notes();
        if !notes.is_empty() {
            self.publisher.events.problem(notes.join("\n"));
        }
    }

    /// Renders until a frame is due, a command is pending or the render is complete. If paused, stops once every pixel
    /// has a sample. Commands other than the end wait until a changed view has its first sample or its frame is due.
    fn work(&mut self) -> Result<(), Error> {
        if self.comparison.is_some() {
            return self.continue_comparison();
        }
        let is_still = self.moved.elapsed() >= STILL;
        let share = if is_still { STILL_SHARE } else { MOVING_SHARE };
        self.renderer.set_pace(Pace::Watched(self.interval / share));
        let (commands, pacing, paused) = (&self.commands, &self.publisher.pacing, self.paused);
        let enough = |samples: u32| {
            // Each view that was begun gets its first sample before the next command is executed.
            let begun = samples > 0 || !pacing.is_waiting();
            commands.is_closed()
                || begun && (commands.has_changed() || paused && samples > 0)
                || pacing.is_due(samples)
        };
        self.done = !self.renderer.advance_until(&enough)?;
        self.stats = self.renderer.stats();
        self.speed = self.stats.paths_per_second;
        self.recorder.add(&self.stats);
        Ok(())
    }

    /// Makes a frame of the current film, and publishes it.
    fn publish(&mut self) -> Result<(), Error> {
        // Finish the wave in flight first, so that it does not count as time spent on the frame.
        self.renderer.finish_waves()?;
        let begun = Instant::now();
        let (picture, counts, preview) = match &self.comparison {
            Some(running) => (
                running.picture.clone(),
                running.counts.clone(),
                running.preview.clone(),
            ),
            None => (self.picture()?, self.sample_counts()?, self.denoised()),
        };
        let stats = self.displayed_stats();
        if self.comparison.is_none() && self.preview_of.is_none() && !self.region.is_begun() {
            self.noise.add(&stats, &picture, self.done);
        }
        let frame = DisplayFrame {
            picture,
            inspection_scene: self.inspection_scene.clone(),
            camera: self.renderer.camera(),
            size: self.size(),
            counts,
            preview,
            recent: Recent {
                noise_history: self.noise.points(),
                comparing: self.comparison.as_ref().map(RunningComparison::progress),
                ..self.recorder.recent(&stats, self.size())
            },
            stats,
            state: self.state(),
            region: self.region.wanted,
        };
        self.publisher.publish(frame, begun);
        Ok(())
    }

    /// Returns the sample count of each pixel, row by row from the top; `None` unless the samples debug view is
    /// displayed.
    fn sample_counts(&mut self) -> Result<Option<Arc<Vec<u32>>>, Error> {
        let counts = self.counts.then(|| self.renderer.sample_counts());
        Ok(counts.transpose()?.map(Arc::new))
    }

    /// Returns the film as a picture. While a region is rendered, the pixels outside it come from the picture before.
    fn picture(&mut self) -> Result<Arc<Picture>, Error> {
        let mut picture = self.pictures.take();
        self.renderer.picture_into(Arc::make_mut(&mut picture))?;
        self.region
            .complete(Arc::make_mut(&mut picture), self.stats.spp);
        self.pictures.put(&picture);
        Ok(picture)
    }

    /// Returns the denoised picture. Returns `None` if denoising is off or has failed, or if the noise is not known
    /// yet. If the last denoising took longer than a frame interval, also returns `None` until the view is still.
    fn denoised(&mut self) -> Option<Arc<Preview>> {
        let is_still = !self.is_working() || self.moved.elapsed() >= STILL;
        if !self.denoises || !is_still && self.preview_time > self.interval {
            return None;
        }
        let begun = Instant::now();
        let mut preview = self.previews.take();
        let made = self.renderer.preview_into(Arc::make_mut(&mut preview));
        self.preview_time = begun.elapsed();
        self.previews.put(&preview);
        let made = made.unwrap_or_else(|error| {
            // Memory for denoising may be lacking; the render continues without it.
            self.denoises = false;
            self.publisher
                .events
                .problem(format!("no denoised preview: {error}"));
            false
        });
        if made {
            self.kept_preview = None;
            return Some(preview);
        }
        let kept = self.kept_preview.as_ref();
        kept.map(|(_, preview)| preview.clone())
    }

    /// Returns the requested width and height of the picture in pixels, also while a smaller preview is rendered.
    fn size(&self) -> (u32, u32) {
        let of_film = match &self.comparison {
            Some(running) => running.film.header.stats.size,
            None => self.stats.size,
        };
        self.preview_of.unwrap_or(of_film.into())
    }

    /// Continues the render at this width and height in pixels, with an empty film if the size differs from that of the
    /// film.
    fn render_in(&mut self, (width, height): (u32, u32)) -> Result<(), Error> {
        if self.stats.size != [width, height] {
            self.renderer.set_size(width, height)?;
            // The user may have added samples to those of the scene.
            let samples = Samples::first(self.samples, width * height);
            if self.renderer.samples() != samples {
                self.renderer.set_samples(&samples)?;
            }
            self.stats = self.renderer.stats();
            self.recorder.begin_film(false);
        }
        self.done = false;
        Ok(())
    }

    /// Returns the width and height of a preview to render before a picture of this size. Returns `None` if the picture
    /// itself is ready soon enough or the speed is unknown.
    fn preview(&self, (width, height): (u32, u32)) -> Option<(u32, u32)> {
        let seconds = f64::from(width) * f64::from(height) / self.speed;
        let smooth = self.interval.max(SMOOTH).as_secs_f64();
        let reduction = (seconds / smooth).sqrt().ceil().min(MAX_REDUCTION);
        let reduced = |length: u32| ((f64::from(length) / reduction).round() as u32).max(1);
        (self.speed > 0.0 && reduction > 1.0).then(|| (reduced(width), reduced(height)))
    }

    /// Returns for display whether the render is running, paused, comparing strategies or complete, with its progress.
    /// While a smaller preview is rendered, even a paused render runs, and its own progress is 0.
    fn state(&self) -> State {
        let samples = self.samples;
        if self.preview_of.is_some() {
            let progress = 0.0;
            return State::Rendering { samples, progress };
        }
        let progress = self.renderer.progress();
        match (self.done, self.paused) {
            _ if self.comparison.is_some() => State::Comparing,
            (true, _) => State::Done,
            (false, true) => State::Paused { samples, progress },
            (false, false) => State::Rendering { samples, progress },
        }
    }

    /// Returns whether there are samples to render now. Even a paused render adds one sample to each pixel of an empty
    /// film.
    fn is_working(&self) -> bool {
        match &self.comparison {
            Some(running) => !running.is_paused,
            None => !self.done && (!self.paused || self.stats.spp == 0),
        }
    }

    /// Returns the value of a result. After an error, such as a lack of memory, displays a problem about `what` and returns
    /// `None`, unless all GPUs have failed.
    fn unless_fatal<T>(
        &self,
        result: Result<T, raysieve::Error>,
        what: &str,
    ) -> Result<Option<T>, Error> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) if self.renderer.all_gpus_failed() => Err(error.into()),
            Err(error) => {
                self.publisher.events.problem(format!("{what}: {error}"));
                Ok(None)
            }
        }
    }

    /// Returns whether there is nothing to do until the next command.
    fn is_idle(&self) -> bool {
        !self.is_working() && !self.can_begin_region() && !self.can_begin_comparison()
    }
}
