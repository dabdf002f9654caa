//! Selects what is displayed instead of the picture: a debug view, or the error map of the picture and another image.

use std::sync::Arc;

use super::Session;
use crate::session::{
    DisplayFrame,
    commands::Command,
    debug_views::DebugViewRequest,
    difference::{DifferenceRequest, DifferenceThread},
    lock,
};
use raysieve::{
    film::picture::comparison::ComparisonImage,
    inspect::debug_view::{DebugImage, DebugView},
};

impl Session {
    /// Returns the image with which the picture can be compared; `None` if there is none.
    pub(crate) fn compared(&self) -> Option<&Arc<ComparisonImage>> {
        self.compared.as_ref()
    }

    /// Displays the error map of the picture and the other image, or the picture again; always returns a message.
    pub(super) fn switch_error_map(&mut self) -> Option<String> {
        if self.difference.take().is_some() {
            return Some("picture instead of the error map".to_owned());
        }
        let Some(image) = self.compared.clone() else {
            return Some(NOTHING_TO_COMPARE.to_owned());
        };
        let (size, expected) = (self.size, image.size());
        if size != expected {
            return Some(format!(
                "{} is {} × {}, and the picture {} × {}; only pictures of the same size have an error map",
                image.path().display(),
                expected.0,
                expected.1,
                size.0,
                size.1
            ));
        }
        self.set_debug_view(DebugView::Light);
        let on_event = self.on_event.clone();
        match DifferenceThread::start(image, move |event| lock(&on_event)(event)) {
            Ok(thread) => {
                self.difference = Some(thread);
                Some("error map: how visible the difference is (FLIP)".to_owned())
            }
            Err(error) => Some(format!("no error map: {error}")),
        }
    }

    /// Returns whether the error map of the picture and the other image is to be displayed.
    pub(crate) fn shows_error_map(&self) -> bool {
        self.difference.is_some()
    }

    /// Requests the error map of a frame, unless it is a smaller preview.
    fn request_error_map(&self, difference: &DifferenceThread, frame: &DisplayFrame) {
        let is_same_size = |image: &&Arc<ComparisonImage>| {
            image.size() == (frame.picture.width, frame.picture.height)
        };
        if self.compared().filter(is_same_size).is_some() {
            difference.request(DifferenceRequest {
                picture: frame.picture.clone(),
                look: self.look,
                samples: frame.stats.spp,
                progress: (frame.stats.paths, frame.stats.seconds),
            });
        }
    }

    /// Displays this debug view, or the picture for `DebugView::Light`; always returns a message.
    pub(crate) fn set_debug_view(&mut self, debug_view: DebugView) -> Option<String> {
        self.debug_view = debug_view;
        self.difference = None;
        self.request_debug_view();
        Some(format!("debug view: {}", self.debug_view.name()))
    }

    /// Returns the selected debug view; `DebugView::Light` is the picture itself.
    pub(crate) fn debug_view(&self) -> DebugView {
        self.debug_view
    }

    /// Returns the debug image or error map to display instead of `frame`, perhaps of an earlier camera or scene.
    /// Returns
    /// `None` if none is selected or it is not ready.
    pub(crate) fn debug_image(&self, frame: &DisplayFrame) -> Option<Arc<DebugImage>> {
        if let Some(difference) = &self.difference {
            self.request_error_map(difference, frame);
            return difference.image();
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

    /// Requests what the debug view needs: debug images of the current scene and camera, or sample counts in the frames
    /// for the samples view. For the picture itself, ends such requests.
    pub(super) fn request_debug_view(&mut self) {
        let counts = self.debug_view == DebugView::Samples;
        self.render.send(Command::Counts(counts));
        let is_measured = !matches!(self.debug_view, DebugView::Light | DebugView::Samples);
        let wanted = is_measured.then(|| DebugViewRequest {
            inspection_scene: self.inspection_scene.clone(),
            camera: self.orbit.camera(self.size),
            size: self.size,
            debug_view: self.debug_view,
        });
        if self.debug_views.request(wanted).is_err() {
            // No thread could be started.
            self.debug_view = DebugView::Light;
        }
    }
}

/// Message if no image to compare with was given.
pub(crate) const NOTHING_TO_COMPARE: &str =
    "nothing to compare with; start raysieve with --compare and an .exr or .png";
