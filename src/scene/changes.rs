//! What somebody wants of a scene otherwise than its file says.

use super::Scene;
use crate::Error;

/// What is said of a scene elsewhere than in its file; what is not stays.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Changes {
    /// Width and height of the picture, pixels.
    pub size: Option<(u32, u32)>,
    /// Samples a pixel.
    pub spp: Option<u32>,
    /// How often a path may scatter.
    pub max_bounces: Option<u32>,
    /// See [`Scene::clamp_indirect`].
    pub clamp_indirect: Option<f32>,
    /// Of every random number.
    pub seed: Option<u32>,
}

impl Scene {
    /// Takes these settings.
    ///
    /// # Errors
    /// As [`Scene::check_settings`].
    pub fn change(&mut self, changes: &Changes) -> Result<(), Error> {
        self.set_size(changes.size.unwrap_or(self.size));
        self.spp = changes.spp.unwrap_or(self.spp);
        self.max_bounces = changes.max_bounces.unwrap_or(self.max_bounces);
        self.seed = changes.seed.unwrap_or(self.seed);
        self.clamp_indirect = changes.clamp_indirect.or(self.clamp_indirect);
        self.check_settings()
    }
}
