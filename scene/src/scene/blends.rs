//! The rules for blends: which materials they may contain, and how deeply they nest.

use std::collections::BTreeMap;

use glam::Vec3;

use super::{MaterialTextures, Scene, Surface};
use crate::limits::MAX_BLENDS;

/// The materials of a scene, among which blends refer to others by index.
pub(crate) struct Blends<'a> {
    /// All materials.
    pub(crate) surfaces: &'a [Surface],
    /// Textures by material index.
    pub(crate) maps: &'a BTreeMap<u32, MaterialTextures>,
    /// Names of all materials, for messages.
    pub(crate) names: &'a [String],
}

impl Scene {
    /// Checks that every blend contains materials that exist, are opaque, emit no light, are not boundaries, and are
    /// not hidden from the camera. Checks that at most 8 blends contain one another.
    ///
    /// # Errors
    /// The first blend that is invalid or contains an invalid one.
    pub fn check_blends(&self) -> Result<(), BlendError> {
        let blends = Blends {
            surfaces: &self.materials,
            maps: &self.maps,
            names: &self.material_names,
        };
        blends.check().map_err(|(index, problem)| BlendError {
            material: blends.name(index).to_owned(),
            problem,
        })
    }
}

/// A blend of materials that is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("material {material:?} {problem}")]
pub struct BlendError {
    /// Name of the blend.
    pub material: String,
    /// Cause on one line, to be put after the name.
    pub problem: String,
}

impl Blends<'_> {
    /// Checks all blends, see [`Scene::check_blends`].
    ///
    /// # Errors
    /// The index of the first blend that is invalid or contains an invalid one, and a one-line message that does not
    /// name it.
    pub(crate) fn check(&self) -> Result<(), (usize, String)> {
        // How many blends contain one another below each material that was checked.
        let mut levels: Vec<Option<u32>> = vec![None; self.surfaces.len()];
        for index in 0..self.surfaces.len() {
            self.level(index, 0, &mut levels)
                .map_err(|problem| (index, problem))?;
        }
        Ok(())
    }

    /// Returns the name of a material for messages; empty if it has none.
    fn name(&self, index: usize) -> &str {
        self.names.get(index).map_or("", String::as_str)
    }

    /// Returns how many blends contain one another from the material with this index on, 0 if it is no blend. `above`
    /// is the number of blends that contain it. Results are kept in `levels`.
    fn level(&self, index: usize, above: u32, levels: &mut [Option<u32>]) -> Result<u32, String> {
        if let Some(known) = levels[index] {
            return Ok(known);
        }
        let Some(parts) = self.surfaces[index].blended() else {
            levels[index] = Some(0);
            return Ok(0);
        };
        let too_deep = || {
            format!(
                "contains itself, or more than {MAX_BLENDS} blends within one another; correct `first` and `second`"
            )
        };
        if above == MAX_BLENDS {
            return Err(too_deep());
        }
        let mut below = 0;
        for part in parts {
            let part = part as usize;
            self.check_part(part)?;
            below = below.max(self.level(part, above + 1, levels)?);
        }
        let level = below + 1;
        if level > MAX_BLENDS {
            return Err(too_deep());
        }
        levels[index] = Some(level);
        Ok(level)
    }

    /// Checks that the material with this index may be part of a blend: see [`Scene::check_blends`].
    fn check_part(&self, index: usize) -> Result<(), String> {
        let name = self.name(index);
        let Some(surface) = self.surfaces.get(index) else {
            return Err(format!(
                "contains material {index}, which does not exist; choose another one"
            ));
        };
        if surface.radiance() != Vec3::ZERO {
            return Err(format!(
                "contains {name:?}, which emits light; give the blend the `emission` instead"
            ));
        }
        if matches!(surface, Surface::Boundary) {
            return Err(format!(
                "contains {name:?}, which has no surface; choose a material that has one"
            ));
        }
        let default = MaterialTextures::default();
        let maps = self.maps.get(&(index as u32)).unwrap_or(&default);
        let is_opaque = maps.opacity == default.opacity && maps.cutoff == default.cutoff;
        if !is_opaque || maps.textures.contains_key(&super::Parameter::Opacity) {
            return Err(format!(
                "contains {name:?}, which is not opaque; give the blend the `opacity` instead"
            ));
        }
        if maps.hidden_from_camera {
            return Err(format!(
                "contains {name:?}, which is hidden from the camera; give the blend `hidden_from_camera` instead"
            ));
        }
        Ok(())
    }
}
