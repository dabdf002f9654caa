//! Computes images from the displayed picture, on a thread of their own: its error map, which shows the difference from
//! the image of `--compare`, and the picture denoised by Open Image Denoise.

use std::{io, sync::Arc, time::Instant};

use super::{
    events::{EventSender, RenderEvent},
    inspection_scene::SceneView,
    newest_request::NewestRequestThread,
    tone_mapping_pool,
};
use raysieve::{
    film::picture::{
        Picture,
        comparison::{Compared, ComparisonImage},
        flip,
        transparency::to_rgba8,
    },
    inspect::{
        aovs::{Aov, Aovs},
        debug_view::{DebugImage, DebugView, Legend},
    },
    render::{
        oidn::{GUIDES, Oidn},
        output::Look,
    },
    stages::Preview,
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
                    Err(problem) => RenderEvent::Problem(problem),
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

/// Number of colors of the legend's bar.
const BAR_STEPS: u16 = 33;

/// Returns the name of an image with which the picture is compared, with a remark unless the scene is shown at the time of
/// the image.
pub(super) fn image_label(image: &ComparisonImage, is_at_compared_time: bool) -> String {
    let name = image.path().file_name().unwrap_or_default();
    let remark = match is_at_compared_time {
        true => "",
        false => ", of another time",
    };
    format!("{}{remark}", name.to_string_lossy())
}

/// Computes the error map of a picture, with its legend. The picture has the size of `image`. `traced` has the alpha of
/// its view if that is transparent.
pub(super) fn error_map(
    image: &ComparisonImage,
    request: &DerivedImageRequest,
    traced: &Aovs,
) -> DebugImage {
    let (picture, look, samples) = (&request.picture, request.look, request.samples);
    let difference = image.compare(
        Compared::Picture(picture, traced.alpha()),
        look.exposure_stops,
        look.tone,
    );
    let bar = (0..BAR_STEPS).map(|step| flip::color(f32::from(step) / f32::from(BAR_STEPS - 1)));
    let ticks = [(0.0, "0"), (0.5, "0.5"), (1.0, "1")];
    let summary = difference.summary;
    DebugImage {
        debug_view: DebugView::Light,
        size: (picture.width, picture.height),
        rgba: difference.map(),
        legend: Legend {
            title: format!(
                "FLIP, difference from {}",
                image_label(image, request.is_at_compared_time)
            ),
            bar: bar.collect(),
            ticks: ticks.map(|(place, text)| (place, text.to_owned())).to_vec(),
            note: format!(
                "mean {:.4}, 95 % below {:.4}, at {samples} samples",
                summary.mean, summary.quantile_95
            ),
        },
    }
}

/// Denoises pictures, and keeps what the next picture may need again.
pub(super) struct OidnImages {
    oidn: Oidn,
    /// Albedo, normal and alpha of the view.
    guides: AovCache,
    /// The last denoised picture, and the progress of the picture.
    denoised: Option<((u64, f64), Preview)>,
}

impl OidnImages {
    /// Creates a denoiser that has seen no picture.
    pub(super) fn new(oidn: Oidn) -> Self {
        Self {
            oidn,
            guides: AovCache::new(&GUIDES),
            denoised: None,
        }
    }

    /// Returns the denoised picture as an image. Denoises only if the picture is another one than the last, and not if
    /// only exposure or tone curve have changed.
    ///
    /// # Errors
    /// A message on one line if the first hits cannot be traced, or if the program of Open Image Denoise fails.
    pub(super) fn image(&mut self, request: &DerivedImageRequest) -> Result<DebugImage, String> {
        let guides = self.guides.of(&request.view)?;
        let denoised = match self.denoised.take() {
            Some((progress, denoised)) if progress == request.progress => denoised,
            _ => {
                let denoised = self.oidn.denoise(&request.picture, guides);
                denoised.map_err(|error| error.line())?
            }
        };
        let (picture, look) = (&denoised.picture, request.look);
        let rgba = to_rgba8(picture, guides.alpha(), look.exposure_stops, look.tone);
        let image = DebugImage {
            debug_view: DebugView::Light,
            size: (request.picture.width, request.picture.height),
            rgba,
            legend: Legend {
                title: "denoised by Open Image Denoise".to_owned(),
                bar: Vec::new(),
                ticks: Vec::new(),
                note: format!(
                    "{} samples, {:.1} s",
                    request.samples,
                    denoised.milliseconds / 1e3
                ),
            },
        };
        self.denoised = Some((request.progress, denoised));
        Ok(image)
    }
}
