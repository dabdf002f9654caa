//! What a hand has set of a render, as far as another process needs it to go on where this one was.

use compaction::select::Strategy;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::{materials::Turned, orbit::Orbit};
use crate::{
    Error,
    output::Look,
    part::Part,
    renderer::Renderer,
    scene::{Camera, Scene},
};

/// How a render stands that people look at: what they have set of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// By the scene's own frame.
    pub(super) camera: Camera,
    /// Where it was before each move, the last one last.
    pub(super) past: Vec<Camera>,
    /// Of the picture that is rendered, pixels.
    pub(super) size: (u32, u32),
    #[serde(serialize_with = "name", deserialize_with = "by_name")]
    pub(super) strategy: Strategy,
    pub(super) paused: bool,
    pub(super) look: Look,
    /// Of materials that were turned, and are in no file.
    #[serde(default)]
    pub(super) turned: Vec<Turned>,
    /// What is said to those who look when they see it first.
    pub(super) note: Option<String>,
}

/// A render that people look at, after all its GPUs have failed: see [`Renderer::has_fallen`].
pub struct Fallen {
    /// With what was safe.
    pub renderer: Renderer,
    /// What ended it.
    pub error: Error,
    /// What they had set.
    pub standing: Standing,
}

impl Standing {
    /// As the scene begins, by a renderer that was made with this strategy.
    pub fn new(scene: &Scene, strategy: Strategy, look: Look) -> Standing {
        Standing {
            camera: scene.camera,
            past: Vec::new(),
            size: scene.size,
            strategy,
            paused: false,
            look,
            turned: Vec::new(),
            note: None,
        }
    }

    /// Has something said to those who look.
    pub fn say(&mut self, note: String) {
        self.note = Some(note);
    }

    /// Lets a renderer of the scene show what was seen; with this film, if it is of that. That of a preview is not.
    ///
    /// # Errors
    /// [`Error::Setting`] for a size that is none.
    pub fn restore(
        &self,
        scene: &Scene,
        renderer: &mut Renderer,
        film: Option<&Part>,
    ) -> Result<(), Error> {
        let (width, height) = self.size;
        let mut seen = scene.clone();
        seen.size = self.size;
        seen.check_settings()?;
        renderer.set_size(width, height)?;
        renderer.set_camera(self.orbit(scene).camera(self.size))?;
        renderer.set_strategy(self.strategy)?;
        match film {
            Some(film) if renderer.check_resume(&film.claim).is_ok() => renderer.resume(film),
            _ => Ok(()),
        }
    }

    pub(super) fn orbit(&self, scene: &Scene) -> Orbit {
        let mut orbit = Orbit::new(scene.camera, scene.size);
        orbit.put(self.camera);
        orbit
    }

    /// Of the picture that is rendered, pixels.
    pub(crate) fn size(&self) -> (u32, u32) {
        self.size
    }
}

fn name<S: Serializer>(strategy: &Strategy, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(strategy.name())
}

fn by_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Strategy, D::Error> {
    let name = String::deserialize(deserializer)?;
    name.parse().map_err(D::Error::custom)
}
