//! A scene for path inspection and debug views, which is prepared for tracing rays on the CPU when first needed.

use std::sync::{Arc, Mutex};

use super::lock;
use crate::Error;
use raysieve::{accel::trees::SceneBvhs, device::render_scene::RenderScene};
use raysieve_scene::Scene;

/// A scene and, once needed, its prepared form for tracing rays on the CPU.
pub(super) struct InspectionScene {
    pub(super) scene: Arc<Scene>,
    /// Acceleration structures of the renderer, shared to save time and memory. `None` if they are no longer in host
    /// memory, so that they must be built again.
    trees: Option<Arc<SceneBvhs>>,
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

    /// Returns the renderer's acceleration structures; `None` if they are no longer in host memory.
    pub(super) fn trees(&self) -> Option<Arc<SceneBvhs>> {
        self.trees.clone()
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
