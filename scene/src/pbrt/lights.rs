//! Lights of pbrt. Those that shapes emit become part of their materials.

use std::f64::consts::PI;

use glam::{DMat3, DVec3, Vec3};

use super::{Converter, parameters::Parameters};
use crate::{
    error::excerpt,
    import::environment::{self, Layout},
    scene::{Light, SpotFalloff},
};

/// An area light.
pub(super) struct Emission {
    /// Number of the directive `AreaLightSource` among all of the scene, from 1.
    pub(super) number: usize,
    pub(super) parameters: Parameters,
}

impl Converter {
    /// Converts a light of the current graphics state.
    pub(super) fn light(&mut self, kind: &str, parameters: &Parameters) -> Result<(), String> {
        let transform = self.state.transform;
        let scale = parameters.number("scale", 1.0);
        let from = parameters.vector("from", DVec3::ZERO);
        let to = parameters.vector("to", DVec3::Z);
        let along = transform.transform_vector3(to - from);
        let power = parameters.number("power", 0.0);
        match kind {
            "point" => {
                let scale = if power > 0.0 {
                    scale * power / (4.0 * PI)
                } else {
                    scale
                };
                let intensity = self.strength(parameters, "I", scale)?;
                let position = transform.transform_point3(from);
                let light = Light::Point {
                    position: position.as_vec3(),
                    intensity,
                };
                self.scene.push_light(light, position);
            }
            "spot" => {
                let outer = parameters.number("coneangle", 30.0).clamp(0.0, 90.0);
                let inner = (outer - parameters.number("conedeltaangle", 5.0)).clamp(0.0, outer);
                let cosine = |degrees: f64| libm::cos(degrees.to_radians());
                let full = 2.0 * PI * (1.0 - cosine(inner) + (cosine(inner) - cosine(outer)) / 2.0);
                let scale = if power > 0.0 {
                    scale * power / full
                } else {
                    scale
                };
                let intensity = self.strength(parameters, "I", scale)?;
                let position = transform.transform_point3(from);
                let light = Light::Spot {
                    position: position.as_vec3(),
                    direction: along.as_vec3(),
                    intensity,
                    inner_degrees: inner as f32,
                    outer_degrees: outer as f32,
                    falloff: SpotFalloff::Smooth,
                };
                self.scene.push_light(light, position);
            }
            "distant" => {
                let illuminance = parameters.number("illuminance", 0.0);
                let scale = if illuminance > 0.0 {
                    scale * illuminance
                } else {
                    scale
                };
                let irradiance = self.strength(parameters, "L", scale)?;
                let light = Light::Directional {
                    direction: along.as_vec3(),
                    irradiance,
                    angle_degrees: 0.0,
                };
                self.scene.push_light(light, DVec3::ZERO);
            }
            "infinite" => self.infinite(parameters, scale, transform.matrix3)?,
            kind => {
                let kind = excerpt(kind);
                self.note(format!("not shown: lights of type `{kind}`"));
            }
        }
        Ok(())
    }

    /// Converts light from all directions: an environment map, or the same radiance everywhere.
    fn infinite(
        &mut self,
        parameters: &Parameters,
        scale: f64,
        to_world: DMat3,
    ) -> Result<(), String> {
        let illuminance = parameters.number("illuminance", 0.0);
        if !parameters.numbers("portal").is_empty() {
            self.note(
                "not used: the portal of an environment map; light that pbrt limits to the portal comes from all directions that no wall blocks",
            );
        }
        let name = parameters.text("filename", parameters.text("mapname", ""));
        if name.is_empty() {
            let scale = if illuminance > 0.0 {
                scale * illuminance / PI
            } else {
                scale
            };
            let radiance = self.strength(parameters, "L", scale)?;
            self.scene.sky += radiance;
            return Ok(());
        }
        if illuminance > 0.0 {
            self.note("not used: the illuminance of an environment map");
        }
        let named = |problem: String| format!("`{}`: {problem}", excerpt(name));
        let path = self.files.find_by_last_component(name);
        let Some(image) = self.scene.environment_image(name, path) else {
            return Ok(());
        };
        let layout = match image.width == 2 * image.height {
            true => Layout::LatitudeLongitude,
            false => Layout::Octahedral,
        };
        let inverse = to_world.inverse();
        if !inverse.is_finite() {
            return Err("its transform has no inverse; correct it".to_owned());
        }
        // Older versions of pbrt have latitude-longitude maps with z up and −x in the centre.
        let from_world = match layout {
            Layout::LatitudeLongitude | Layout::PolesInRows => {
                DMat3::from_cols(DVec3::NEG_Z, DVec3::X, DVec3::Y) * inverse
            }
            Layout::Octahedral => inverse,
        };
        let scale = Vec3::splat(scale as f32);
        let spp = self.scene.spp;
        let map = environment::environment(&image, layout, from_world, scale, spp);
        let map = map.map_err(named)?;
        match self.scene.environment {
            None => self.scene.environment = Some(map),
            Some(_) => self.note("not shown: all environment maps but the first"),
        }
        Ok(())
    }

    /// Returns the strength of a light: the color with this name times `scale`, 0 or more.
    fn strength(
        &mut self,
        parameters: &Parameters,
        name: &str,
        scale: f64,
    ) -> Result<Vec3, String> {
        let strength = self.light_color(parameters, name)? * scale as f32;
        match strength.is_finite() {
            true => Ok(strength.max(Vec3::ZERO)),
            false => Err(format!("{name}: {strength} is not finite; lower the scale")),
        }
    }
}
