//! Emitters of Mitsuba that are not shapes.

use std::f64::consts::PI;

use glam::{DMat3, DVec3, Vec3};

use super::{Converter, document::Object, sensor, sun, textures::Use, values::Value};
use crate::{
    error::excerpt,
    import::{
        environment::{self, Layout},
        projector::Beam,
    },
    limits::SAMPLE_LIMIT,
    scene::{Environment, Light, SpotFalloff},
    sun_sky::{Moment, SunSky, sun_at},
};

/// Factor from the radiance of the crate's sky, in W·sr⁻¹·m⁻² weighted by the eye, to Mitsuba's, which is divided by
/// the integral of the color matching function y.
const SKY_SCALE: f64 = 1.0 / 106.857;
/// Angular diameter of Mitsuba's sun in degrees, unless the file gives another one.
const SUN_APERTURE: f64 = 0.5358;

impl Converter<'_> {
    /// Converts an emitter of the scene. An area light is skipped, because the shapes that refer to it convert it.
    /// Adds a warning for an unknown type. Fails if a light is too bright, or an environment is invalid.
    pub(super) fn emitter(&mut self, object: &Object) -> Result<(), String> {
        let to_world = self.transform(object, "to_world");
        let position = match object.value("position") {
            Some(&Value::Vector(position)) => position,
            _ => to_world.translation,
        };
        let forward = to_world.transform_vector3(DVec3::Z);
        match object.plugin.as_str() {
            "point" => {
                let intensity = self.strength(object, "intensity")?;
                let light = Light::Point {
                    position: position.as_vec3(),
                    intensity,
                };
                self.scene.push_light(light, position);
            }
            "spot" => {
                let cutoff = object.number("cutoff_angle", 20.0).clamp(0.0, 90.0);
                let beam = object
                    .number("beam_width", 0.75 * cutoff)
                    .clamp(0.0, cutoff);
                // A polynomial describes the fall-off of other spot lights.
                if beam < 0.4 * cutoff {
                    self.scene.note(
                        "approximated: the fall-off of spot lights with a small `beam_width`",
                    );
                }
                let mut intensity = self.strength(object, "intensity")?;
                if let Some(texture) = self.color(object, "texture", Use::Reflectance)? {
                    self.scene
                        .note("approximated: the texture of spot lights by its mean");
                    intensity *= texture.mean(&self.scene.model.library);
                }
                let light = Light::Spot {
                    position: position.as_vec3(),
                    direction: forward.as_vec3(),
                    intensity,
                    inner_degrees: beam as f32,
                    outer_degrees: cutoff as f32,
                    falloff: SpotFalloff::Linear,
                };
                self.scene.push_light(light, position);
            }
            "projector" => {
                let color = self.emission(object, "irradiance")?;
                let library = &self.scene.model.library;
                let aspect_ratio = color.texture.map_or(1.0, |texture| {
                    let image = library.textures[texture as usize].image;
                    let image = &library.images[image as usize];
                    f64::from(image.width) / f64::from(image.height)
                });
                let half_width = sensor::half_width(object, aspect_ratio)?;
                let beam = Beam {
                    tangents: [half_width, half_width / aspect_ratio],
                    position,
                    direction: forward,
                };
                // Mitsuba multiplies the irradiance, which is that of a plane at a distance of 1, by π.
                let scale = object.number("scale", 1.0) * PI;
                let scale = scale * beam.section() / beam.solid_angle();
                let intensity = self.strength(object, "irradiance")? * scale as f32;
                self.scene.push_projector(&beam, intensity);
            }
            "directional" => {
                let irradiance = self.strength(object, "irradiance")?;
                let (direction, irradiance) = match object.value("direction") {
                    Some(&Value::Vector(direction)) => {
                        (to_world.transform_vector3(direction), irradiance)
                    }
                    // Mitsuba 3.9 uses the axis with the length that `to_world` gives it.
                    _ => (forward, irradiance * forward.length() as f32),
                };
                let light = Light::Directional {
                    direction: direction.as_vec3(),
                    irradiance,
                    angle_degrees: 0.0,
                };
                self.scene.push_light(light, DVec3::ZERO);
            }
            "constant" => {
                let radiance = self.strength(object, "radiance")?;
                self.scene.sky += radiance;
            }
            "envmap" => {
                let name = object.text("filename", "");
                let path = self.files.find_by_last_component(name);
                let named = |problem: String| format!("`{}`: {problem}", excerpt(name));
                let Some(image) = self.scene.environment_image(name, path) else {
                    return Ok(());
                };
                let scale = Vec3::splat(object.number("scale", 1.0) as f32);
                // The difference between both layouts is half a row, which is invisible in larger maps.
                let layout = match image.height < 512 {
                    true => Layout::PolesInRows,
                    false => Layout::LatitudeLongitude,
                };
                let turned = rotation(to_world.matrix3)?;
                let spp = self.scene.spp;
                let map = environment::environment(&image, layout, turned, scale, spp);
                self.environment(map.map_err(named)?);
            }
            // An area light that shapes refer to.
            "area" => {}
            "directionalarea" => self.scene.note(
                "not shown: the light of `directionalarea`, which the paths of Mitsuba do not find either",
            ),
            "sunsky" | "sky" | "sun" => self.sun_sky(object, to_world.matrix3)?,
            plugin => {
                let plugin = excerpt(plugin);
                self.scene
                    .note(format!("not shown: the emitter `{plugin}`"));
            }
        }
        Ok(())
    }

    /// Returns the strength of a light with this name, 0 or more. A texture is replaced by its mean. Fails if the
    /// strength is not finite, or not below [`SAMPLE_LIMIT`].
    fn strength(&mut self, object: &Object, name: &str) -> Result<Vec3, String> {
        let color = self.emission(object, name)?;
        let strength = color.mean(&self.scene.model.library);
        match strength.is_finite() && strength.max_element() < SAMPLE_LIMIT {
            true => Ok(strength.max(Vec3::ZERO)),
            false => Err(format!(
                "{name}: {strength} is too bright; expected less than {SAMPLE_LIMIT}"
            )),
        }
    }

    /// Sets the environment map of the scene. A second one is left out, with a warning.
    fn environment(&mut self, map: Environment) {
        match self.scene.environment {
            None => self.scene.environment = Some(map),
            Some(_) => self
                .scene
                .note("not shown: all environment maps but the first"),
        }
    }

    /// Converts the sky and the sun of a clear day, with z up before `to_world`.
    fn sun_sky(&mut self, object: &Object, to_world: DMat3) -> Result<(), String> {
        // Mitsuba's sky has z up, and this crate's y up: x stays, y becomes -z.
        let local = DMat3::from_cols(DVec3::X, DVec3::Z, DVec3::NEG_Y);
        let to_world = to_world * local;
        let from_world = rotation(to_world)?;
        let Some(day) = day(object, from_world)? else {
            self.scene
                .note("the sun is not above the horizon, so that sky and sun are black as in Mitsuba; correct its date or direction");
            return Ok(());
        };
        let scale = object.number("scale", 1.0);
        let finite = |name: &str| object.number(name, 1.0).clamp(0.0, 1e6) * scale;
        if object.plugin != "sun" {
            let (width, mut radiances) = day.radiances();
            // Mitsuba's sky is black below the horizon.
            let half = radiances.len() / 2;
            radiances[half..].fill(Vec3::ZERO);
            let factor = (finite("sky_scale") * SKY_SCALE) as f32;
            let radiances = radiances.iter().map(|&radiance| radiance * factor);
            let map = Environment::new(width, radiances.collect(), 0.0);
            self.environment(environment::rotated(&map, from_world));
        }
        if object.plugin != "sky" && object.number("sun_scale", 1.0) != 0.0 {
            if object.flag("complex_sun", false) {
                self.scene
                    .note("approximated: the disk of the sun, which is equally bright everywhere");
            }
            let aperture = object
                .number("sun_aperture", SUN_APERTURE)
                .clamp(0.01, 90.0);
            // Mitsuba spreads the flux evenly over the solid angle of the disk. Its edge faces surfaces less.
            let facing = (1.0 + libm::cos(aperture.to_radians() / 2.0)) / 2.0;
            let flux = sun::flux(day.elevation, day.turbidity) * finite("sun_scale");
            let light = Light::Directional {
                direction: (to_world * -day.to_sun()).as_vec3(),
                irradiance: (flux * facing).as_vec3(),
                angle_degrees: aperture as f32,
            };
            self.scene.push_light(light, DVec3::ZERO);
        }
        Ok(())
    }
}

/// Returns the inverse of a transform to the world without its scale factors, which rotates directions of the world
/// into the coordinates of an environment map. Fails if there is no inverse.
fn rotation(to_world: DMat3) -> Result<DMat3, String> {
    let columns = [to_world.x_axis, to_world.y_axis, to_world.z_axis];
    let [x, y, z] = columns.map(DVec3::normalize_or_zero);
    let inverse = DMat3::from_cols(x, y, z).inverse();
    match inverse.is_finite() && inverse.determinant().abs() > 1e-6 {
        true => Ok(inverse),
        false => Err("to_world has no inverse; correct it".to_owned()),
    }
}

/// Reads the parameters of a clear day. `from_world` turns directions of the world into those of this crate's sky.
/// Returns `None` if the sun is not above the horizon.
fn day(object: &Object, from_world: DMat3) -> Result<Option<SunSky>, String> {
    let direction = match object.value("sun_direction") {
        Some(&Value::Vector(direction)) => {
            let direction = from_world * direction;
            direction
                .try_normalize()
                .ok_or("sun_direction: has no direction; correct it")?
        }
        _ => {
            // The defaults are an afternoon in July in Tokyo.
            let part = |name: &str, default: f64| object.number(name, default);
            let local_hours =
                part("hour", 15.0) + part("minute", 0.0) / 60.0 + part("second", 0.0) / 3600.0;
            let (elevation, azimuth) = sun_at(&Moment {
                date: (
                    part("year", 2010.0).clamp(1950.0, 2050.0) as i32,
                    part("month", 7.0).clamp(1.0, 12.0) as u32,
                    part("day", 10.0).clamp(1.0, 31.0) as u32,
                ),
                hours: local_hours - part("timezone", 9.0),
                latitude: part("latitude", 35.6894).clamp(-90.0, 90.0),
                longitude: part("longitude", 139.6917).clamp(-180.0, 180.0),
            });
            // Mitsuba 3.9 has north at -x and east at -y, which is +z here.
            let (up, level) = libm::sincos(elevation.to_radians());
            let (east, north) = libm::sincos(azimuth.to_radians());
            DVec3::new(-north * level, up, east * level)
        }
    };
    if direction.y <= 0.0 {
        return Ok(None);
    }
    let albedo = object.value("albedo").and_then(Value::reflectance);
    Ok(Some(SunSky {
        elevation: libm::asin(direction.y.min(1.0)).to_degrees(),
        azimuth: libm::atan2(direction.x, -direction.z).to_degrees(),
        turbidity: object.number("turbidity", 3.0).clamp(1.0, 10.0),
        albedo: albedo
            .unwrap_or(Vec3::splat(0.3))
            .clamp(Vec3::ZERO, Vec3::ONE)
            .as_dvec3(),
    }))
}
