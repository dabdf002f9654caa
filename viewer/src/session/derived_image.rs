//! Computes images from the displayed picture, such as the error map or the picture without noise, on a thread of their
//! own.

use std::{io, sync::Arc, time::Instant};

use super::{
    events::{EventSender, RenderEvent},
    inspection_scene::SceneView,
    newest_request::NewestRequestThread,
    tone_mapping_pool,
};
use raysieve::{
    film::picture::Picture,
    inspect::{
        aovs::{Aov, Aovs},
        debug_view::DebugImage,
    },
    render::output::Look,
};

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
    pub(super) kind: DerivedImage,
    thread: NewestRequestThread<DerivedImageRequest, Arc<DebugImage>>,
}

/// A picture from which an image is computed, as it looks on a display.
#[derive(Clone)]
pub(super) struct DerivedImageRequest {
    pub(super) picture: Arc<Picture>,
    /// The displayed scene with camera and size of the picture.
    pub(super) view: SceneView,
    pub(super) look: Look,
    /// Number of samples of every pixel.
    pub(super) samples: u32,
    /// Number of paths and render time of the picture, which distinguish it from others.
    pub(super) progress: (u64, f64),
    /// Whether the scene is shown at the time of the image of `--compare`.
    pub(super) is_at_compared_time: bool,
}

/// Values of the surfaces that are seen first, kept until the view changes.
pub(super) struct AovCache {
    /// The values that are traced, besides the alpha of a transparent background.
    wanted: &'static [Aov],
    /// The view and its values; `None` before the first view.
    last: Option<(SceneView, Aovs)>,
}

/// Minimum pause after the computation of an image, as a multiple of its duration, so that the render on the CPU goes on.
const PAUSE_SHARE: u32 = 4;

impl DerivedImageThread {
    /// Starts the thread, which computes an image of this kind by `compute`. It sends `RenderEvent::DebugImage`, or
    /// `RenderEvent::Problem` if `compute` returns a message instead of an image.
    ///
    /// # Errors
    /// The error of the operating system if the thread cannot be started.
    pub(super) fn start(
        kind: DerivedImage,
        mut compute: impl FnMut(&DerivedImageRequest) -> Result<DebugImage, String> + Send + 'static,
        events: EventSender,
    ) -> io::Result<Self> {
        let pool = tone_mapping_pool().map_err(io::Error::other)?;
        let thread = NewestRequestThread::start(
            "derived image",
            move |request: &DerivedImageRequest, work| {
                let begun = Instant::now();
                events.send(match pool.install(|| compute(request)) {
                    Ok(image) => {
                        work.put_if(Arc::new(image), |_| true);
                        RenderEvent::DebugImage
                    }
                    Err(problem) => RenderEvent::problem(problem),
                });
                work.wait(PAUSE_SHARE * begun.elapsed(), false);
            },
        )?;
        Ok(Self { kind, thread })
    }

    /// Requests the image of a picture, in place of an earlier picture that is still waiting. Does nothing if it
    /// was the last one requested.
    pub(super) fn request(&self, request: DerivedImageRequest) {
        let is_last = |last: &DerivedImageRequest| {
            last.progress == request.progress && last.look == request.look
        };
        if !self.thread.has_requested(is_last) {
            self.thread.request(Some(request));
        }
    }

    /// Returns the newest image, perhaps of an earlier picture; `None` before the first.
    pub(super) fn image(&self) -> Option<Arc<DebugImage>> {
        self.thread.result()
    }
}

impl AovCache {
    /// Creates a view that traces `wanted`, and the alpha of a transparent background.
    pub(super) fn new(wanted: &'static [Aov]) -> Self {
        Self { wanted, last: None }
    }

    /// Returns the values of a view. Traces them only if it is another view than the last.
    ///
    /// # Errors
    /// A message on one line if they cannot be traced.
    pub(super) fn of(&mut self, view: &SceneView) -> Result<&Aovs, String> {
        let last = self.last.take().filter(|(last, _)| last.is_same(view));
        let traced = match last {
            Some(traced) => traced,
            None => {
                let aovs = view.trace(self.wanted).map_err(|error| error.line())?;
                (view.clone(), aovs)
            }
        };
        Ok(&self.last.insert(traced).1)
    }
}
