//! Selects what is displayed instead of the picture: a debug view, the error map of the picture and another image, the
//! picture denoised by Open Image Denoise, or a region of the picture alone.

use std::sync::Arc;

use super::Session;
use crate::session::{
    DisplayFrame,
    debug_views::DebugViewRequest,
    derived_image::{
        AovCache, DerivedImage, DerivedImageRequest, DerivedImageThread, OidnImages, error_map,
        image_label,
    },
    transparency::Alpha,
};
use raysieve::{
    film::picture::comparison::ComparisonImage,
    inspect::debug_view::{DebugImage, DebugView},
    render::{oidn::Oidn, region::Region},
};
use raysieve_scene::{Background, Scene};

impl Session {
    /// Compares the picture with this image from now on, instead of the one before.
    pub(crate) fn compare_with(&mut self, image: Arc<ComparisonImage>) {
        self.compared = Some(image);
        self.compared_time = shown_time(&self.scene);
        self.has_said_other_view = false;
    }

    /// Returns labels of the image with which the picture can be compared, the longest first: its name, with a remark if
    /// the scene is shown at another time than when the image was loaded, or with another animation. A shorter label is
    /// the remark alone. There are none without an image.
    pub(crate) fn compared_labels(&self) -> Vec<String> {
        let Some(image) = self.compared.as_ref() else {
            return Vec::new();
        };
        let is_at_compared_time = self.is_at_compared_time();
        let mut labels = vec![image_label(image, is_at_compared_time)];
        if !is_at_compared_time {
            labels.push("another time".to_owned());
        }
        labels
    }

    /// Returns whether the scene is shown at the time of the image with which the picture is compared. Assumes that the
    /// image shows the scene as it was loaded first.
    fn is_at_compared_time(&self) -> bool {
        let (time, animation) = shown_time(&self.scene);
        let (compared_time, compared_animation) = self.compared_time;
        let is_same_time = match (time, compared_time) {
            (Some(time), Some(compared)) => (time - compared).abs() <= TIME_TOLERANCE,
            (time, compared) => time == compared,
        };
        is_same_time && animation == compared_animation
    }

    /// Displays, once, that the camera no longer shows the view of the image with which the picture is compared, and how
    /// to go back. Assumes that the image shows the view of the scene's own camera.
    pub(super) fn say_other_view(&mut self) {
        if let Some(image) = self.compared.as_ref()
            && !self.orbit.is_home()
            && !self.has_said_other_view
        {
            let name = image.path().file_name().unwrap_or_default();
            let name = name.to_string_lossy();
            self.say(format!(
                "this is not the view of {name} any more; 0 (Home) shows that view again"
            ));
            self.has_said_other_view = true;
        }
    }

    /// Displays the error map of the picture and the other image, or the picture again.
    pub(super) fn switch_error_map(&mut self) {
        if self.ends_derived_image(DerivedImage::ErrorMap) {
            return self.say("picture instead of the error map");
        }
        let Some(image) = self.compared.clone() else {
            return self.say(NOTHING_TO_COMPARE);
        };
        let (size, expected) = (self.size, image.size());
        if size != expected {
            return self.report_problem(format!(
                "{} is {} × {}, and the picture {} × {}; only pictures of the same size have an error map",
                image.path().display(),
                expected.0,
                expected.1,
                size.0,
                size.1
            ));
        }
        let mut traced = AovCache::new(&[]);
        let compute = move |request: &DerivedImageRequest| {
            Ok(error_map(&image, request, traced.of(&request.view)?))
        };
        if self.show_derived_image(DerivedImage::ErrorMap, compute) {
            self.say("error map: how visible the difference is (FLIP)");
        }
    }

    /// Displays the picture denoised by Open Image Denoise, or the picture again.
    pub(super) fn switch_oidn(&mut self) {
        if self.ends_derived_image(DerivedImage::Denoised) {
            return self.say("picture without denoising");
        }
        match Oidn::find() {
            Ok(oidn) => {
                if self.show_oidn(oidn) {
                    self.say("denoised by Open Image Denoise, once it is ready");
                }
            }
            Err(error) => self.report_problem(error.line()),
        }
    }

    /// Displays the picture denoised by Open Image Denoise; see [`show_derived_image`](Self::show_derived_image).
    pub(super) fn show_oidn(&mut self, oidn: Oidn) -> bool {
        let mut images = OidnImages::new(oidn);
        let compute = move |request: &DerivedImageRequest| images.image(request);
        self.show_derived_image(DerivedImage::Denoised, compute)
    }

    /// Displays the picture again if the image of this kind is selected. Returns whether it was; otherwise, nothing
    /// changes.
    fn ends_derived_image(&mut self, kind: DerivedImage) -> bool {
        let is_shown = self.derived_image() == Some(kind);
        self.derived.take_if(|_| is_shown).is_some()
    }

    /// Displays an image that `compute` returns for each picture, instead of a debug view. Returns `false` if the thread
    /// cannot be started, which is reported as a problem.
    fn show_derived_image(
        &mut self,
        kind: DerivedImage,
        compute: impl FnMut(&DerivedImageRequest) -> Result<DebugImage, String> + Send + 'static,
    ) -> bool {
        self.select_debug_view(DebugView::Light);
        match DerivedImageThread::start(kind, compute, self.events.clone()) {
            Ok(thread) => self.derived = Some(thread),
            Err(error) => self.report_problem(format!(
                "the image cannot be computed: {error}; close other programs"
            )),
        }
        self.derived.is_some()
    }

    /// Returns the kind of the image that is computed from the picture and displayed instead of it; `None` if there is
    /// none.
    pub(crate) fn derived_image(&self) -> Option<DerivedImage> {
        self.derived.as_ref().map(|thread| thread.kind)
    }

    /// Returns the name of what is displayed: of the debug image if `is_debug_image`, otherwise of the picture.
    pub(crate) fn displayed_name(&self, is_debug_image: bool) -> &'static str {
        match (self.derived_image(), self.debug_view) {
            _ if !is_debug_image => "render",
            (Some(DerivedImage::ErrorMap), _) => "error map",
            (Some(DerivedImage::Denoised), _) => "denoised",
            (None, debug_view) => debug_view.name(),
        }
    }

    /// Requests the image of a frame, unless the frame is a smaller preview.
    fn request_derived_image(&self, thread: &DerivedImageThread, frame: &DisplayFrame) {
        let size = match thread.kind {
            DerivedImage::ErrorMap => self.compared.as_ref().map(|image| image.size()),
            DerivedImage::Denoised => Some(self.size),
        };
        if size == Some((frame.picture.width, frame.picture.height)) {
            thread.request(DerivedImageRequest {
                picture: frame.picture.clone(),
                view: frame.view(),
                look: self.look,
                samples: frame.stats.spp,
                progress: (frame.stats.paths, frame.stats.seconds),
                is_at_compared_time: self.is_at_compared_time(),
            });
        }
    }

    /// Displays this debug view, or the picture for `DebugView::Light`, and a message about it.
    pub(crate) fn set_debug_view(&mut self, debug_view: DebugView) {
        self.select_debug_view(debug_view);
        self.say(format!("debug view: {}", self.debug_view.name()));
    }

    fn select_debug_view(&mut self, debug_view: DebugView) {
        self.debug_view = debug_view;
        self.derived = None;
        self.request_debug_view();
    }

    /// Returns the debug view or the derived image to display instead of `frame`, perhaps of an earlier camera or
    /// scene. Returns `None` if none is selected or it is not ready.
    pub(crate) fn debug_image(&self, frame: &DisplayFrame) -> Option<Arc<DebugImage>> {
        if let Some(thread) = &self.derived {
            self.request_derived_image(thread, frame);
            return thread.image();
        }
        match self.debug_view {
            DebugView::Light => None,
            DebugView::Samples => {
                let [width, height] = frame.stats.size;
                let counts = frame.counts.as_ref()?;
                Some(Arc::new(DebugImage::of_samples((width, height), counts)))
            }
            _ => self.debug_views.image(frame.stats.spp),
        }
    }

    /// Returns the alpha of the picture, which a thread traces for a transparent background. It may be that of an
    /// earlier view, which [`Alpha`] allows for. `None` before the first, and for other backgrounds.
    pub(crate) fn alpha(&self) -> Option<Alpha> {
        self.alpha.alpha()
    }

    /// Requests what the display needs for the current scene and camera: alpha for a transparent background, debug
    /// images for a debug view, and sample counts in the frames for the samples view. Ends other such requests.
    pub(super) fn request_debug_view(&mut self) {
        let is_transparent = self.inspection_scene.scene.background == Background::Transparent;
        let alpha = is_transparent.then(|| self.view());
        // Without a thread, the background stays black.
        let _ = self.alpha.request(alpha, &self.events);
        let counts = self.debug_view == DebugView::Samples;
        self.render.send(|commands| commands.counts = Some(counts));
        let is_measured = !matches!(self.debug_view, DebugView::Light | DebugView::Samples);
        let wanted = is_measured.then(|| DebugViewRequest {
            view: self.view(),
            debug_view: self.debug_view,
        });
        if let Err(error) = self.debug_views.request(wanted, &self.events) {
            self.report_problem(format!(
                "debug view {} cannot be computed: {error}; close other programs",
                self.debug_view.name()
            ));
            self.debug_view = DebugView::Light;
        }
    }

    /// Renders only the pixels between two corners, given by column and row, which belong to the region; corners
    /// outside the picture are moved to its edge.
    pub(crate) fn set_region(&mut self, from: (u32, u32), to: (u32, u32)) {
        let range = |one: u32, other: u32, length: u32| {
            let (first, last) = (one.min(other), one.max(other).min(length - 1));
            (first.min(last), last)
        };
        let (left, right) = range(from.0, to.0, self.size.0);
        let (top, bottom) = range(from.1, to.1, self.size.1);
        let region = Region {
            x: left,
            y: top,
            width: right - left + 1,
            height: bottom - top + 1,
        };
        self.region = Some(region);
        (self.render).send(|commands| commands.region = Some(Some(region)));
        let Region { width, height, .. } = region;
        self.say(format!(
            "rendering {width} × {height} pixels at {left},{top}; O (Region, then a click): the whole picture"
        ));
    }

    /// Renders the whole picture again.
    pub(super) fn clear_region(&mut self) {
        if self.region.is_some() {
            self.forget_region();
            return self.say("rendering the whole picture");
        }
        self.say("the whole picture is rendered already; o (Region) selects a region");
    }

    /// Renders the whole picture again if only a region is rendered.
    pub(super) fn forget_region(&mut self) {
        if self.region.take().is_some() {
            self.render.send(|commands| commands.region = Some(None));
        }
    }
}

/// Difference in seconds up to which two times count as the same: half the millisecond to which users set a time.
const TIME_TOLERANCE: f64 = 0.0005;

/// Returns the time in seconds at which a scene is shown, `None` for the rest pose, and the index of its animation.
pub(super) fn shown_time(scene: &Scene) -> (Option<f64>, Option<usize>) {
    let timeline = scene.timeline.as_ref();
    timeline.map_or((None, None), |shown| (shown.time, shown.chosen))
}

/// Message if no image to compare with was given.
pub(crate) const NOTHING_TO_COMPARE: &str =
    "nothing to compare with; start raysieve with --compare and an .exr or .png";
