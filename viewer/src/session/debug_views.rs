//! Computes debug images of the session's scene and camera on a thread of its own: coarse at first, then with 1, 2, 4
//! and more samples per pixel. The samples view needs no computation and is not requested here.

use std::{
    io,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use super::{inspection_scene::InspectionScene, lock, render_thread::RenderEvent};
use crate::Error;
use raysieve::inspect::debug_view::{Accumulator, DebugImage, DebugView, MAX_SAMPLES};
use raysieve_scene::Camera;

/// Handle of the debug view thread, which is started when first needed. Dropping it ends the thread.
pub(super) struct DebugViewThread {
    shared: Arc<SharedState>,
    /// Whether the thread has been started.
    is_started: bool,
    on_event: Arc<Mutex<dyn Fn(RenderEvent) + Send>>,
}

/// The state that the handle and the thread share. The condition variable tells the thread that there is a new request
/// or that the handle was dropped.
#[derive(Default)]
struct SharedState {
    state: Mutex<RequestState>,
    changed: Condvar,
}

/// The newest request and its result.
#[derive(Default)]
struct RequestState {
    /// Newest request; `None` if no debug image is wanted.
    request: Option<DebugViewRequest>,
    /// Number of changes of `request` so far, by which the thread detects that its work is outdated.
    changes: u64,
    /// Number of samples that every pixel of the film had at the last call of [`DebugViewThread::image`]; 0 before.
    film_samples: u32,
    /// Newest image of the requested debug view, perhaps of an earlier request; `None` before the first.
    image: Option<Arc<DebugImage>>,
    /// Whether the handle has been dropped.
    closed: bool,
}

/// A request for images of a debug view: of this scene and camera, in this size.
#[derive(Clone)]
pub(super) struct DebugViewRequest {
    pub(super) inspection_scene: Arc<InspectionScene>,
    pub(super) camera: Camera,
    /// Width and height of the image in pixels.
    pub(super) size: (u32, u32),
    pub(super) debug_view: DebugView,
}

/// Interval at which the thread checks whether the film has more samples, once a noise image is complete.
const FILM_INTERVAL: Duration = Duration::from_millis(500);

impl DebugViewThread {
    /// Creates the handle without starting the thread. The thread will pass `RenderEvent::DebugImage` and messages to
    /// `on_event`.
    pub(super) fn new(on_event: impl Fn(RenderEvent) + Send + 'static) -> Self {
        Self {
            shared: Arc::default(),
            is_started: false,
            on_event: Arc::new(Mutex::new(on_event)),
        }
    }

    /// Requests a debug image in place of the previous request; `None` requests none. The previous image stays until
    /// the new one is ready, but is dropped at once if the debug view changes.
    ///
    /// # Errors
    /// The error of the operating system if the thread cannot be started; then the previous request stays.
    pub(super) fn request(&mut self, request: Option<DebugViewRequest>) -> io::Result<()> {
        if request.is_some() && !self.is_started {
            let (shared, on_event) = (self.shared.clone(), self.on_event.clone());
            let thread = thread::Builder::new().name("debug_view".to_owned());
            thread.spawn(move || {
                work(&shared, |event| {
                    lock(&on_event)(event);
                });
            })?;
            self.is_started = true;
        }
        let mut state = self.shared.lock();
        let of =
            |request: &Option<DebugViewRequest>| request.as_ref().map(|request| request.debug_view);
        if of(&request) != of(&state.request) {
            state.image = None;
        }
        state.request = request;
        state.changes += 1;
        self.shared.changed.notify_one();
        Ok(())
    }

    /// Returns the newest image of the requested debug view, perhaps of an earlier camera or scene. Returns `None`
    /// before the first image of this debug view, and if none is requested.
    ///
    /// Also stores `film_samples`, the number of samples that every pixel of the film has. Noise images computed later
    /// display the estimated error of that many samples.
    pub(super) fn image(&self, film_samples: u32) -> Option<Arc<DebugImage>> {
        let mut state = self.shared.lock();
        state.film_samples = film_samples;
        state.image.clone()
    }
}

impl Drop for DebugViewThread {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.changed.notify_one();
    }
}

impl SharedState {
    fn lock(&self) -> MutexGuard<'_, RequestState> {
        lock(&self.state)
    }

    /// Waits for a request newer than number `done`, and returns it with its own number; `None` if the handle was
    /// dropped.
    fn next_request(&self, done: u64) -> Option<(DebugViewRequest, u64)> {
        let idle = |state: &mut RequestState| {
            !state.closed && (state.request.is_none() || state.changes == done)
        };
        let state = self.changed.wait_while(self.lock(), idle);
        let state = state.unwrap_or_else(PoisonError::into_inner);
        match &state.request {
            Some(request) if !state.closed => Some((request.clone(), state.changes)),
            _ => None,
        }
    }

    /// Returns whether request number `changes` is outdated, or the handle was dropped.
    fn is_stale(&self, changes: u64) -> bool {
        let state = self.lock();
        state.closed || state.changes != changes
    }

    /// Waits until request number `changes` is outdated or the handle was dropped, but no longer than `FILM_INTERVAL`.
    fn wait_until_stale(&self, changes: u64) {
        let still = |state: &mut RequestState| !state.closed && state.changes == changes;
        let rested = self
            .changed
            .wait_timeout_while(self.lock(), FILM_INTERVAL, still);
        drop(rested.unwrap_or_else(PoisonError::into_inner));
    }
}

/// Runs the debug view thread: computes the requested images until the handle is dropped. A failure is sent as a
/// message, and the thread waits for the next request.
fn work(shared: &SharedState, on_event: impl Fn(RenderEvent)) {
    let mut done = 0;
    while let Some((request, changes)) = shared.next_request(done) {
        done = changes;
        if let Err(error) = compute(shared, &request, changes, &on_event) {
            on_event(RenderEvent::Message(format!(
                "cannot compute debug view {}: {error}",
                request.debug_view.name()
            )));
        }
    }
}

/// Computes the image of request number `changes`, until the image has [`MAX_SAMPLES`] samples per pixel or the request
/// is outdated.
///
/// Stores the image in `shared` and sends `RenderEvent::DebugImage` after a first, coarse pass and at sample counts
/// that are powers of two. A noise image is first sent at two samples. Once complete, a noise image is computed again
/// whenever the film's sample count has changed, until the request is outdated.
fn compute(
    shared: &SharedState,
    request: &DebugViewRequest,
    changes: u64,
    on_event: &impl Fn(RenderEvent),
) -> Result<(), Error> {
    let DebugViewRequest {
        inspection_scene,
        camera,
        size,
        debug_view,
    } = request;
    let mut accumulator = Accumulator::new(
        inspection_scene.render_scene()?,
        &inspection_scene.scene,
        camera,
        *size,
        *debug_view,
    );
    let film_samples = || shared.lock().film_samples;
    let show = |accumulator: &Accumulator, film_samples| {
        let debug_image = Arc::new(accumulator.image(film_samples));
        let mut state = shared.lock();
        // While the camera moves, the image of the previous position is shown until a new one is ready.
        let is_current = |request: &DebugViewRequest| request.debug_view == *debug_view;
        if state.request.as_ref().is_some_and(is_current) {
            state.image = Some(debug_image);
            drop(state);
            on_event(RenderEvent::DebugImage);
        }
        film_samples
    };
    let mut shown = 0;
    while accumulator.samples() < MAX_SAMPLES {
        if !accumulator.advance(&|| shared.is_stale(changes))? {
            return Ok(());
        }
        let samples = accumulator.samples();
        // A single sample has no variance.
        let has_values = *debug_view != DebugView::Noise || samples > 1;
        if has_values && (samples == 0 || samples.is_power_of_two()) {
            shown = show(&accumulator, film_samples());
        }
    }
    while debug_view.follows_film() && !shared.is_stale(changes) {
        shared.wait_until_stale(changes);
        let samples = film_samples();
        if samples != shown && !shared.is_stale(changes) {
            shown = show(&accumulator, samples);
        }
    }
    Ok(())
}
