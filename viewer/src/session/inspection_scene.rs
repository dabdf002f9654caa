//! A scene in which rays are traced on the CPU, for path inspection and debug views. It is prepared when first needed.

use std::sync::{Arc, Mutex};

use serde::Serialize;

use super::lock;
use crate::Error;
use raysieve::{
    accel::trees::SceneBvhs,
    device::render_scene::RenderScene,
    inspect::aovs::{Aov, Aovs},
};
use raysieve_scene::{Camera, Scene};

/// A scene and, once needed, its prepared form for tracing rays on the CPU.
pub(super) struct InspectionScene {
    pub(super) scene: Arc<Scene>,
    /// Acceleration structures of the renderer, shared to save time and memory. `None` if they are no longer in host
    /// memory, so that they must be built again.
    pub(super) trees: Option<Arc<SceneBvhs>>,
    /// The prepared scene; `None` until it is needed.
    render_scene: Mutex<Option<Arc<RenderScene>>>,
}

impl InspectionScene {
    /// Creates an unprepared scene. `trees` are the renderer's acceleration structures, or `None` if they are not in
    /// host memory.
    pub(super) fn new(scene: Arc<Scene>, trees: Option<Arc<SceneBvhs>>) -> Self {
        Self {
            scene,
            trees,
            render_scene: Mutex::default(),
        }
    }

    /// Returns the prepared scene. The first call prepares the scene and later calls share it; after a failure, the
    /// next call tries again. Concurrent callers wait.
    pub(super) fn render_scene(&self) -> Result<Arc<RenderScene>, Error> {
        let mut render_scene = lock(&self.render_scene);
        if let Some(prepared) = &*render_scene {
            return Ok(prepared.clone());
        }
        let made = Arc::new(match &self.trees {
            Some(trees) => RenderScene::with_trees(trees.clone(), &self.scene)?,
            None => RenderScene::new(&self.scene)?,
        });
        *render_scene = Some(made.clone());
        Ok(made)
    }
}

/// A view of a scene, in which rays can be traced. A path or pixel is displayed while the session has the view in which it
/// was traced; see `Session::is_at`.
#[derive(Clone, Serialize)]
pub(crate) struct SceneView {
    #[serde(skip)]
    pub(super) inspection_scene: Arc<InspectionScene>,
    #[serde(skip)]
    pub(super) camera: Camera,
    /// Width and height of the picture in pixels.
    pub(crate) size: (u32, u32),
}

impl SceneView {
    /// Returns whether both views are the same: of the same shared scene, with an equal camera and an equal size.
    pub(super) fn is_same(&self, other: &SceneView) -> bool {
        Arc::ptr_eq(&self.inspection_scene, &other.inspection_scene)
            && self.camera == other.camera
            && self.size == other.size
    }

    /// Traces these values of the first surfaces, and alpha if the background is transparent.
    pub(super) fn trace(&self, wanted: &[Aov]) -> Result<Aovs, Error> {
        let scene = Scene {
            camera: self.camera,
            size: self.size,
            ..Scene::clone(&self.inspection_scene.scene)
        };
        Ok(Aovs::trace(
            &scene,
            self.inspection_scene.trees.clone(),
            wanted,
        )?)
    }

    /// Traces the alpha of each pixel, 0..=1, row by row from the top; empty if the background is not transparent.
    pub(crate) fn alpha(&self) -> Result<Vec<f32>, Error> {
        Ok(self.trace(&[])?.alpha().unwrap_or_default().to_vec())
    }
}
