//! Computes the error map of the picture and the image of `--compare`, on a thread of its own.

use std::{
    io,
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use super::{lock, render_thread::RenderEvent, tone_mapping_pool};
use raysieve::{
    film::picture::{
        Picture,
        comparison::{Compared, ComparisonImage},
        flip,
    },
    inspect::debug_view::{DebugImage, DebugView, Legend},
    render::output::Look,
};

/// Handle of the thread that compares pictures with an image. Dropping it ends the thread after the current picture.
pub(super) struct DifferenceThread {
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
    request: Option<DifferenceRequest>,
    /// Identification of the newest request, also after it was taken; `None` before the first.
    last: Option<(u64, u64, Look)>,
    /// Newest error map; `None` before the first.
    image: Option<Arc<DebugImage>>,
    /// Whether the handle has been dropped.
    closed: bool,
}

/// A picture to compare, as it looks on a display.
pub(super) struct DifferenceRequest {
    /// Picture of the same size as the other image.
    pub(super) picture: Arc<Picture>,
    pub(super) look: Look,
    /// Number of samples of every pixel.
    pub(super) samples: u32,
    /// Number of paths and render time of the picture, which distinguish it from others.
    pub(super) progress: (u64, f64),
}

/// Minimum pause after the computation of a map, as a multiple of its duration, so that the render on the CPU goes on.
const PAUSE_SHARE: u32 = 4;

/// Number of colors of the legend's bar.
const BAR_STEPS: u16 = 33;

impl DifferenceThread {
    /// Starts the thread, which compares pictures with `image`. It passes `RenderEvent::DebugImage` to `on_event`.
    ///
    /// # Errors
    /// The error of the operating system if the thread cannot be started.
    pub(super) fn start(
        image: Arc<ComparisonImage>,
        on_event: impl Fn(RenderEvent) + Send + 'static,
    ) -> io::Result<Self> {
        let shared = Arc::<SharedState>::default();
        let pool = tone_mapping_pool().map_err(io::Error::other)?;
        let of_thread = shared.clone();
        thread::Builder::new()
            .name("difference".to_owned())
            .spawn(move || {
                while let Some(request) = of_thread.next() {
                    let begun = Instant::now();
                    let map = Arc::new(pool.install(|| error_map(&image, &request)));
                    lock(&of_thread.state).image = Some(map);
                    on_event(RenderEvent::DebugImage);
                    of_thread.pause(PAUSE_SHARE * begun.elapsed());
                }
            })?;
        Ok(Self { shared })
    }

    /// Requests the error map of a picture, in place of an earlier picture that is still waiting. Does nothing if it
    /// was the last one requested.
    pub(super) fn request(&self, request: DifferenceRequest) {
        let (paths, seconds) = request.progress;
        let requested = Some((paths, seconds.to_bits(), request.look));
        let mut state = lock(&self.shared.state);
        if state.last != requested {
            (state.last, state.request) = (requested, Some(request));
            self.shared.changed.notify_one();
        }
    }

    /// Returns the newest error map, perhaps of an earlier picture; `None` before the first.
    pub(super) fn image(&self) -> Option<Arc<DebugImage>> {
        lock(&self.shared.state).image.clone()
    }
}

impl Drop for DifferenceThread {
    fn drop(&mut self) {
        lock(&self.shared.state).closed = true;
        self.shared.changed.notify_one();
    }
}

impl SharedState {
    /// Waits for a request and takes it; `None` if the handle was dropped.
    fn next(&self) -> Option<DifferenceRequest> {
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

/// Computes the error map of a picture, with its legend.
fn error_map(image: &ComparisonImage, request: &DifferenceRequest) -> DebugImage {
    let DifferenceRequest {
        picture,
        look,
        samples,
        ..
    } = request;
    let difference = image.compare(Compared::Picture(picture), look.exposure_stops, look.tone);
    let rgba = difference.errors.iter().flat_map(|&error| {
        let [red, green, blue] = flip::color(error);
        [red, green, blue, 255]
    });
    let name = image.path().file_name().unwrap_or_default();
    let bar = (0..BAR_STEPS).map(|step| flip::color(f32::from(step) / f32::from(BAR_STEPS - 1)));
    let ticks = [(0.0, "0"), (0.5, "0.5"), (1.0, "1")];
    let summary = difference.summary;
    DebugImage {
        debug_view: DebugView::Light,
        size: (picture.width, picture.height),
        rgba: rgba.collect(),
        legend: Legend {
            title: format!("FLIP, difference from {}", name.to_string_lossy()),
            bar: bar.collect(),
            ticks: ticks.map(|(place, text)| (place, text.to_owned())).to_vec(),
            note: format!(
                "mean {:.4}, 95 % below {:.4}, at {samples} samples",
                summary.mean, summary.quantile_95
            ),
        },
    }
}
