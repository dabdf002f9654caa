//! A scene as the CPU's own tracers look at it: made ready once, when it is first asked for.

use std::sync::{Arc, Mutex, PoisonError};

use crate::{Error, scene::Scene, trees::Trees, world::World};

/// A scene, and its world.
pub(super) struct Study {
    pub(super) scene: Arc<Scene>,
    /// Those of the scene, if the renderer has any: they take time and memory.
    trees: Option<Arc<Trees>>,
    world: Mutex<Option<Arc<World>>>,
}

impl Study {
    pub(super) fn new(scene: Arc<Scene>, trees: Option<Arc<Trees>>) -> Self {
        Self {
            scene,
            trees,
            world: Mutex::default(),
        }
    }

    /// The world, which may have to be made; who comes meanwhile waits for it.
    pub(super) fn world(&self) -> Result<Arc<World>, Error> {
        let mut world = self.world.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(world) = &*world {
            return Ok(world.clone());
        }
        let made = Arc::new(match &self.trees {
            Some(trees) => World::within(trees.clone(), &self.scene)?,
            None => World::new(&self.scene)?,
        });
        *world = Some(made.clone());
        Ok(made)
    }
}
