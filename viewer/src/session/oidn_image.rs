//! The picture denoised by Open Image Denoise.

use std::sync::Arc;

use super::{derived_image::DerivedImageRequest, inspection_scene::InspectionScene};
use raysieve::{
    film::picture::tone,
    inspect::{
        aovs::Aovs,
        debug_view::{DebugImage, DebugView, Legend},
    },
    render::oidn::{GUIDES, Oidn},
    stages::Preview,
};
use raysieve_scene::{Camera, Scene};

/// Denoises pictures, and keeps what the next picture may need again.
pub(super) struct OidnImages {
    oidn: Oidn,
    /// Guides of the last view; `None` before the first.
    guides: Option<Guides>,
    /// The last denoised picture, and the progress of the picture.
    denoised: Option<((u64, f64), Preview)>,
}

/// Albedo and normal of a view.
struct Guides {
    inspection_scene: Arc<InspectionScene>,
    camera: Camera,
    /// Width and height in pixels.
    size: (u32, u32),
    aovs: Aovs,
}

impl OidnImages {
    /// Creates a denoiser that has seen no picture.
    pub(super) fn new(oidn: Oidn) -> Self {
        Self {
            oidn,
            guides: None,
            denoised: None,
        }
    }

    /// Returns the denoised picture as an image. Denoises only if the picture is another one than the last, and not if
    /// only exposure or tone curve have changed.
    ///
    /// # Errors
    /// A message on one line if the first hits cannot be traced, or if the program of Open Image Denoise fails.
    pub(super) fn image(&mut self, request: &DerivedImageRequest) -> Result<DebugImage, String> {
        let denoised = match self.denoised.take() {
            Some((progress, denoised)) if progress == request.progress => denoised,
            _ => self.denoise(request)?,
        };
        let look = request.look;
        let rgba = tone::to_srgb8(&denoised.picture, look.exposure_stops, look.tone);
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

    /// Denoises the picture. Traces albedo and normal only if the view has changed.
    fn denoise(&mut self, request: &DerivedImageRequest) -> Result<Preview, String> {
        let size = (request.picture.width, request.picture.height);
        let is_current = |guides: &Guides| {
            Arc::ptr_eq(&guides.inspection_scene, &request.inspection_scene)
                && guides.camera == request.camera
                && guides.size == size
        };
        let current = self.guides.take().filter(is_current);
        let guides = match current {
            Some(guides) => guides,
            None => {
                let scene = Scene {
                    camera: request.camera,
                    size,
                    ..Scene::clone(&request.inspection_scene.scene)
                };
                let trees = request.inspection_scene.trees();
                let aovs = Aovs::trace(&scene, trees, &GUIDES).map_err(|error| error.line())?;
                Guides {
                    inspection_scene: request.inspection_scene.clone(),
                    camera: request.camera,
                    size,
                    aovs,
                }
            }
        };
        let guides = self.guides.insert(guides);
        let denoised = self.oidn.denoise(&request.picture, &guides.aovs);
        denoised.map_err(|error| error.line())
    }
}
