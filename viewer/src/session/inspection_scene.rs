//! A scene prepared for path inspection and debug views on the CPU, when first needed.

use std::sync::{Arc, Mutex, PoisonError};

use crate::Error;
use raysieve::{accel::trees::SceneBvhs, device::render_scene::RenderScene};
use raysieve_scene::Scene;

/// A scene and, once needed, its prepared form for tracing rays on the CPU.
pub(super) struct InspectionScene {
    pub(super) scene: Arc<Scene>,
    /// Acceleration structures of the renderer, if it has any, which are shared to save time and memory.
    trees: Option<Arc<SceneBvhs>>,
    world: Mutex<Option<Arc<RenderScene>>>,
}

impl InspectionScene {
    /// Creates an unprepared scene; `trees` are the renderer's acceleration structures, if it has any.
    pub(super) fn new(scene: Arc<Scene>, trees: Option<Arc<SceneBvhs>>) -> Self {
        Self {
            scene,
            trees,
            world: Mutex::default(),
        }
    }

    /// Returns the prepared scene, and prepares it on the first call; concurrent callers wait.
    pub(super) fn world(&self) -> Result<Arc<RenderScene>, Error> {
        let mut world = self.world.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(world) = &*world {
            return Ok(world.clone());
        }
        let made = Arc::new(match &self.trees {
            Some(trees) => RenderScene::with_trees(trees.clone(), &self.scene)?,
            None => RenderScene::new(&self.scene)?,
        });
        *world = Some(made.clone());
        Ok(made)
    }
}
