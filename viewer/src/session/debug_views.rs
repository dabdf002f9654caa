//! Computes debug images of the session's scene and camera on a thread of its own: coarse at first, then with 1, 2, 4
//! and more samples per pixel. The samples view needs no computation and is not requested here.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use super::{
    events::{EventSender, RenderEvent},
    inspection_scene::SceneView,
    newest_request::{NewestRequestThread, Work},
};
use crate::Error;
use raysieve::inspect::debug_view::{Accumulator, DebugImage, DebugView, MAX_SAMPLES};

/// Handle of the debug view thread, which is started when first needed. Dropping it ends the thread.
#[derive(Default)]
pub(super) struct DebugViewThread {
    /// The thread; `None` until it is needed.
    thread: Option<NewestRequestThread<DebugViewRequest, Arc<DebugImage>>>,
    /// Number of samples that every pixel of the film had at the last call of [`DebugViewThread::image`]; 0 before.
    film_samples: Arc<AtomicU32>,
}

/// A request for images of a debug view.
#[derive(Clone)]
pub(super) struct DebugViewRequest {
    pub(super) view: SceneView,
    pub(super) debug_view: DebugView,
}

/// Interval at which the thread checks whether the film has more samples, once a noise image is complete.
const FILM_INTERVAL: Duration = Duration::from_millis(500);

impl DebugViewThread {
    /// Requests a debug image in place of the previous request; `None` requests none. The previous image stays until
    /// the new one is ready, but is dropped at once if the debug view changes. The thread sends `RenderEvent::DebugImage` for
    /// new images, and `RenderEvent::Problem` if an image cannot be computed.
    ///
    /// # Errors
    /// The error of the operating system if the thread cannot be started; then the previous request stays.
    pub(super) fn request(
        &mut self,
        request: Option<DebugViewRequest>,
        events: &EventSender,
    ) -> io::Result<()> {
        let thread = match (&mut self.thread, &request) {
            (None, None) => return Ok(()),
            (Some(thread), _) => thread,
            (place, Some(_)) => {
                let (film_samples, events) = (self.film_samples.clone(), events.clone());
                let work = move |request: &DebugViewRequest, work: &Work<_, _>| {
                    if let Err(error) = compute(request, work, &film_samples, &events) {
                        let name = request.debug_view.name();
                        events.problem(format!("cannot compute debug view {name}: {error}"));
                    }
                };
                place.insert(NewestRequestThread::start("debug view", work)?)
            }
        };
        let debug_view = request.as_ref().map(|request| request.debug_view);
        let is_same = thread.has_requested(|last| Some(last.debug_view) == debug_view);
        thread.request(request);
        if !is_same {
            thread.forget_result();
        }
        Ok(())
    }

    /// Returns the newest image of the requested debug view, perhaps of an earlier camera or scene. Returns `None`
    /// before the first image of this debug view, and if none is requested.
    ///
    /// Also stores `film_samples`, the number of samples that every pixel of the film has. Noise images computed later
    /// display the estimated error of that many samples.
    pub(super) fn image(&self, film_samples: u32) -> Option<Arc<DebugImage>> {
        self.film_samples.store(film_samples, Ordering::Relaxed);
        self.thread.as_ref()?.result()
    }
}

/// Computes the image of a request, until the image has [`MAX_SAMPLES`] samples per pixel or the request is outdated.
///
/// Stores the image as the result of the work and sends `RenderEvent::DebugImage` after a first, coarse pass and at
/// sample counts that are powers of two. A noise image is first sent at two samples. Once complete, a noise image is
/// computed again whenever the film's sample count has changed, until the request is outdated.
fn compute(
    request: &DebugViewRequest,
    work: &Work<DebugViewRequest, Arc<DebugImage>>,
    film_samples: &AtomicU32,
    events: &EventSender,
) -> Result<(), Error> {
    let DebugViewRequest { view, debug_view } = request;
    let scene = &view.inspection_scene;
    let mut accumulator = Accumulator::new(
        scene.render_scene()?,
        &scene.scene,
        &view.camera,
        view.size,
        *debug_view,
    );
    let film_samples = || film_samples.load(Ordering::Relaxed);
    let show = |accumulator: &Accumulator, film_samples| {
        let debug_image = Arc::new(accumulator.image(film_samples));
        // While the camera moves, the image of the previous position is shown until a new one is ready.
        if work.put_if(debug_image, |newest| newest.debug_view == *debug_view) {
            events.send(RenderEvent::DebugImage);
        }
        film_samples
    };
    let mut shown = 0;
    while accumulator.samples() < MAX_SAMPLES {
        if !accumulator.advance(&|| work.is_outdated())? {
            return Ok(());
        }
        let samples = accumulator.samples();
        // A single sample has no variance.
        let has_values = *debug_view != DebugView::Noise || samples > 1;
        if has_values && (samples == 0 || samples.is_power_of_two()) {
            shown = show(&accumulator, film_samples());
        }
    }
    while debug_view.follows_film() && !work.is_outdated() {
        work.wait(FILM_INTERVAL, true);
        let samples = film_samples();
        if samples != shown && !work.is_outdated() {
            shown = show(&accumulator, samples);
        }
    }
    Ok(())
}
