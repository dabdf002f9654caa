//! Computes images from the displayed picture, such as the error map or the picture without noise, on a thread of their
//! own.

use std::{
    io,
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use super::{
    inspection_scene::InspectionScene, lock, render_thread::RenderEvent, tone_mapping_pool,
};
use raysieve::{film::picture::Picture, inspect::debug_view::DebugImage, render::output::Look};
use raysieve_scene::Camera;

/// An image that is computed from the picture and displayed instead of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DerivedImage {
    /// The visible difference from the image of `--compare`.
    ErrorMap,
    /// The picture denoised by Open Image Denoise.
    Denoised,
}

/// Handle of the thread that computes an image from each newer picture. Dropping it ends the thread after the current
/// picture.
pub(super) struct DerivedImageThread {
    /// The image that the thread computes.
    pub(super) kind: DerivedImage,
    shared: Arc<SharedState>,
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
    /// Newest request that the thread has not taken; `None` if there is none.
    request: Option<DerivedImageRequest>,
    /// Identification of the newest request, also after it was taken; `None` before the first.
    last: Option<(u64, u64, Look)>,
    /// Newest image; `None` before the first.
    image: Option<Arc<DebugImage>>,
    /// Whether the handle has been dropped.
    closed: bool,
}

/// A picture from which an image is computed, as it looks on a display.
pub(super) struct DerivedImageRequest {
    pub(super) picture: Arc<Picture>,
    /// The displayed scene, and the camera for the size of the picture.
    pub(super) inspection_scene: Arc<InspectionScene>,
    pub(super) camera: Camera,
    pub(super) look: Look,
    /// Number of samples of every pixel.
    pub(super) samples: u32,
    /// Number of paths and render time of the picture, which distinguish it from others.
    pub(super) progress: (u64, f64),
}

/// Minimum pause after the computation of an image, as a multiple of its duration, so that the render on the CPU goes on.
const PAUSE_SHARE: u32 = 4;

impl DerivedImageThread {
    /// Starts the thread, which computes an image of this kind by `compute`. It passes `RenderEvent::DebugImage` to
    /// `on_event`, or `RenderEvent::Problem` if `compute` returns a message instead of an image.
    ///
    /// # Errors
    /// The error of the operating system if the thread cannot be started.
    pub(super) fn start(
        kind: DerivedImage,
        mut compute: impl FnMut(&DerivedImageRequest) -> Result<DebugImage, String> + Send + 'static,
        on_event: impl Fn(RenderEvent) + Send + 'static,
    ) -> io::Result<Self> {
        let shared = Arc::<SharedState>::default();
        let pool = tone_mapping_pool().map_err(io::Error::other)?;
        let of_thread = shared.clone();
        thread::Builder::new()
            .name("derived image".to_owned())
            .spawn(move || {
                while let Some(request) = of_thread.next() {
                    let begun = Instant::now();
                    on_event(match pool.install(|| compute(&request)) {
                        Ok(image) => {
                            lock(&of_thread.state).image = Some(Arc::new(image));
                            RenderEvent::DebugImage
                        }
                        Err(problem) => RenderEvent::Problem(problem),
                    });
                    of_thread.pause(PAUSE_SHARE * begun.elapsed());
                }
            })?;
        Ok(Self { kind, shared })
    }

    /// Requests the image of a picture, in place of an earlier picture that is still waiting. Does nothing if it
    /// was the last one requested.
    pub(super) fn request(&self, request: DerivedImageRequest) {
        let (paths, seconds) = request.progress;
        let requested = Some((paths, seconds.to_bits(), request.look));
        let mut state = lock(&self.shared.state);
        if state.last != requested {
            (state.last, state.request) = (requested, Some(request));
            self.shared.changed.notify_one();
        }
    }

    /// Returns the newest image, perhaps of an earlier picture; `None` before the first.
    pub(super) fn image(&self) -> Option<Arc<DebugImage>> {
        lock(&self.shared.state).image.clone()
    }
}

impl Drop for DerivedImageThread {
    fn drop(&mut self) {
        lock(&self.shared.state).closed = true;
        self.shared.changed.notify_one();
    }
}

impl SharedState {
    /// Waits for a request and takes it; `None` if the handle was dropped.
    fn next(&self) -> Option<DerivedImageRequest> {
        let idle = |state: &mut RequestState| !state.closed && state.request.is_none();
        let state = self.changed.wait_while(lock(&self.state), idle);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        state.request.take().filter(|_| !state.closed)
    }

    /// Waits for this time, or until the handle is dropped.
    fn pause(&self, time: Duration) {
        let state = lock(&self.state);
        let paused = self
            .changed
            .wait_timeout_while(state, time, |state| !state.closed);
        drop(paused.unwrap_or_else(PoisonError::into_inner));
    }
}
