//! Media of pbrt. One whose density varies becomes a homogeneous one.

use glam::Vec3;

use super::{Converter, parameters::Parameters};
use crate::{error::excerpt, import::media, scene::Medium};

/// Scattering and absorption coefficients in 1/mm of the materials of Jensen and others, A Practical Model for
/// Subsurface Light Transport (2001), by pbrt's names.
const PRESETS: &[(&str, [f32; 3], [f32; 3])] = &[
    ("Apple", [2.29, 2.39, 1.97], [0.0030, 0.0034, 0.046]),
    ("Chicken1", [0.15, 0.21, 0.38], [0.015, 0.077, 0.19]),
    ("Chicken2", [0.19, 0.25, 0.32], [0.018, 0.088, 0.20]),
    ("Cream", [7.38, 5.47, 3.15], [0.0002, 0.0028, 0.0163]),
    ("Ketchup", [0.18, 0.07, 0.03], [0.061, 0.97, 1.45]),
    ("Marble", [2.19, 2.62, 3.00], [0.0021, 0.0041, 0.0071]),
    ("Potato", [0.68, 0.70, 0.55], [0.0024, 0.0090, 0.12]),
    ("Skimmilk", [0.70, 1.22, 1.90], [0.0014, 0.0025, 0.0142]),
    ("Skin1", [0.74, 0.88, 1.01], [0.032, 0.17, 0.48]),
    ("Skin2", [1.09, 1.59, 1.79], [0.013, 0.070, 0.145]),
    ("Spectralon", [11.6, 20.4, 14.9], [0.0, 0.0, 0.0]),
    (WHOLE_MILK, [2.55, 3.21, 3.77], [0.0011, 0.0024, 0.014]),
];

/// Name of the preset whose coefficients a homogeneous medium has by default.
const WHOLE_MILK: &str = "Wholemilk";

impl Converter {
    /// Defines a medium by its name.
    pub(super) fn named_medium(
        &mut self,
        name: String,
        parameters: &Parameters,
    ) -> Result<(), String> {
        let medium = self.medium(parameters)?;
        let number = self.media.len() + 1;
        self.media.insert(name, (number, medium));
        Ok(())
    }

    /// Converts a medium; `None` for one that does nothing or is not shown, with a warning.
    fn medium(&mut self, parameters: &Parameters) -> Result<Option<Medium>, String> {
        let kind = parameters.text("type", "homogeneous");
        let density = match kind {
            "homogeneous" => 1.0,
            "uniformgrid" => {
                self.note("approximated: the density of media that varies, by its mean");
                let density = parameters.numbers("density");
                density.iter().sum::<f64>() / density.len().max(1) as f64
            }
            _ => {
                let kind = excerpt(kind);
                self.note(format!("not shown: media of type `{kind}`"));
                return Ok(None);
            }
        };
        if ["Le", "temperature"]
            .iter()
            .any(|name| parameters.get(name).is_some())
        {
            self.note("not shown: the light that media emit");
        }
        let preset = parameters.text("preset", "");
        let of_preset = PRESETS.iter().find(|(name, _, _)| *name == preset);
        let (mut scattering, mut absorption) = match (of_preset, kind) {
            (Some(&(_, scattering, absorption)), _) => (scattering.into(), absorption.into()),
            (None, "homogeneous") => {
                if !preset.is_empty() {
                    let preset = excerpt(preset);
                    self.note(format!(
                        "not shown: the medium preset `{preset}`; milk is used"
                    ));
                }
                let milk = PRESETS.iter().find(|(name, _, _)| *name == WHOLE_MILK);
                let milk = milk.map(|&(_, scattering, absorption)| (scattering, absorption));
                let (scattering, absorption) = milk.unwrap_or_default();
                (scattering.into(), absorption.into())
            }
            (None, _) => (Vec3::ONE, Vec3::ONE),
        };
        for (name, coefficient) in [("sigma_s", &mut scattering), ("sigma_a", &mut absorption)] {
            if let Some(parameter) = parameters.get(name) {
                *coefficient = self.constant_color(parameter)?;
            }
        }
        let scale = (parameters.number("scale", 1.0) * density) as f32;
        let anisotropy = parameters.number("g", 0.0);
        Ok(media::medium(
            scattering * scale,
            absorption * scale,
            anisotropy,
        ))
    }

    /// Returns the number of the medium inside the shapes that follow, 0 if there is none, and the medium.
    pub(super) fn medium_inside(&mut self) -> (usize, Option<Medium>) {
        let name: &str = &self.state.media[0];
        if name.is_empty() {
            return (0, None);
        }
        let Some(&known) = self.media.get(name) else {
            let one = format!("no medium has the name \"{}\"", excerpt(name));
            let several = "no media have {} names, such as \"{first}\"";
            let name = name.to_owned();
            self.scene.note_each(several, &name, one);
            return (0, None);
        };
        self.inside_shapes.insert(name.to_owned());
        known
    }

    /// Sets the fog of the scene to the medium around the camera, unless that is inside a shape.
    pub(super) fn finish_media(&mut self) {
        if !self.inside_shapes.contains(&self.around_camera) {
            let around = self.media.get(&self.around_camera);
            self.scene.fog = around.and_then(|&(_, medium)| medium);
        }
    }
}
