//! Lights of pbrt. Those that shapes emit become part of their materials.

use std::f64::consts::PI;

use glam::{DMat3, DVec3, Vec3};

use super::{Converter, parameters::Parameters};
use crate::{
    color::luminance,
    error::excerpt,
    import::{
        environment::{self, Layout},
        materials::{Color, emit},
        projector::Beam,
    },
    model::ModelMaterial,
    scene::{Encoding, Light, SpotFalloff, Surface, Texture, Wrap},
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
            "goniometric" => {
                self.note("approximated: the directions of `goniometric` lights by their mean");
                let (image, _) = self.projected(parameters);
                let (strength, scale) = match power > 0.0 {
                    true => (Vec3::ONE, power / (4.0 * PI) * scale),
                    false => (image, scale),
                };
                let intensity = self.strength(parameters, "I", scale)? * strength;
                let position = transform.translation;
                let light = Light::Point {
                    position: position.as_vec3(),
                    intensity,
                };
                self.scene.push_light(light, position);
            }
            "projection" => {
                let (image, [width, height]) = self.projected(parameters);
                let tangent = libm::tan(parameters.number("fov", 90.0).to_radians() / 2.0);
                let shorter = width.min(height);
                let beam = Beam {
                    tangents: [width, height].map(|side| tangent * side / shorter),
                    position: transform.translation,
                    direction: transform.transform_vector3(DVec3::Z),
                };
                let strength = match power > 0.0 {
                    true => {
                        image / luminance(image).max(1e-30) * (power / beam.solid_angle()) as f32
                    }
                    false => image,
                };
                self.scene.push_projector(&beam, strength * scale as f32);
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
        // Older versions of pbrt have latitude-longitude maps with z up and −x in the center.
        let from_world = match layout {
            Layout::LatitudeLongitude | Layout::PolesInRows => {
                DMat3::from_cols(DVec3::NEG_Z, DVec3::X, DVec3::Y) * inverse
            }
            Layout::Octahedral => inverse,
        };
        let own = match layout {
            Layout::Octahedral if illuminance > 0.0 => environment::illuminance(&image),
            _ => 0.0,
        };
        let scale = match own > 0.0 {
            true => scale * illuminance / own,
            false => scale,
        };
        if illuminance > 0.0 && own <= 0.0 {
            self.note("not used: the illuminance of an environment map that is black above the horizon or not square");
        }
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

    /// Returns the radiance of an area light on a shape of `area` square metres, and whether its back shines too. A
    /// `power` above 0 is that of the whole light. An image that cannot be read is white, with a warning. Fails if the
    /// radiance is not finite.
    pub(super) fn radiance(
        &mut self,
        parameters: &Parameters,
        area: f64,
    ) -> Result<(Color, bool), String> {
        let both_sides = parameters.flag("twosided", false);
        let power = parameters.number("power", 0.0);
        let mut scale = parameters.number("scale", 1.0);
        if power > 0.0 {
            let sides = if both_sides { 2.0 } else { 1.0 };
            scale *= power / (PI * area * sides).max(1e-30);
        }
        let name = parameters.text("filename", "");
        let image = match name {
            "" => None,
            name => self.open_image(name),
        };
        let library = &mut self.scene.model.library;
        // As in pbrt, the coordinates of a shape show the image upright and once.
        let texture = image.map(|image| {
            library.add_texture(Texture {
                wrap: [Wrap::Clamp; 2],
                ..Texture::new(image, Encoding::Srgb)
            })
        });
        let image = Color {
            factor: Vec3::ONE,
            texture,
        };
        if power > 0.0 && texture.is_some() {
            scale /= f64::from(luminance(image.mean(library))).max(1e-30);
        }
        let factor = self.light_color(parameters, "L")? * scale as f32;
        match factor.is_finite() {
            true => Ok((Color { factor, ..image }, both_sides)),
            false => Err(format!("L: {factor} is not finite; lower the scale")),
        }
    }

    /// Makes a material emit the light of an area light on a shape of `area` square metres.
    pub(super) fn emit(
        &mut self,
        material: &mut ModelMaterial,
        parameters: &Parameters,
        area: f64,
    ) -> Result<(), String> {
        let (radiance, both_sides) = self.radiance(parameters, area)?;
        if !emit(material, radiance) {
            self.note("approximated: the reflection of area lights that are not diffuse");
        }
        match &mut material.surface {
            Surface::Emissive {
                both_sides: both, ..
            }
            | Surface::Blend {
                both_sides: both, ..
            } => *both = both_sides,
            Surface::Principled(principled) => principled.both_sides = both_sides,
            _ => {}
        }
        Ok(())
    }

    /// Returns the mean color of the image of a light, and its size in pixels. An image that cannot be read is white,
    /// with a warning.
    fn projected(&mut self, parameters: &Parameters) -> (Vec3, [f64; 2]) {
        match self.open_image(parameters.text("filename", "")) {
            Some(image) => {
                let image = &self.scene.model.library.images[image as usize];
                let size = [image.width, image.height].map(f64::from);
                (image.mean(Encoding::Srgb), size)
            }
            None => (Vec3::ONE, [1.0, 1.0]),
        }
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
