//! Lights of a scene that are not objects.

use std::{borrow::Cow, sync::Arc};

use glam::{DVec3, Vec3};
use serde::Deserialize;

use crate::{
    limits::MAX_VISIBLE_RADIANCE,
    studio::studio_radiances,
    sun_sky::{Moment, SUN_DEGREES, SunSky, sun_at},
};

/// A light that is not an object of the scene. Its colors are linear sRGB, 0 or more per channel.
#[derive(Clone, Debug, PartialEq)]
pub enum Light {
    /// A light that emits from a point, equally in all directions.
    Point {
        /// Position in world space, metres.
        position: Vec3,
        /// Radiant intensity, W/sr per channel, 0 to below 2²⁴.
        intensity: Vec3,
    },
    /// A light that emits from a point into a cone.
    Spot {
        /// Position in world space, metres.
        position: Vec3,
        /// Axis of the cone, from the light outwards, of any length except 0.
        direction: Vec3,
        /// Radiant intensity on the axis, W/sr per channel, 0 to below 2²⁴.
        intensity: Vec3,
        /// Angle from the axis in degrees, 0..=`outer_degrees`, up to which the intensity is full. From there it falls
        /// to 0 at `outer_degrees`.
        inner_degrees: f32,
        /// Angle from the axis in degrees, 0..=90, at which the light ends.
        outer_degrees: f32,
        /// Function by which the intensity falls from the inner to the outer angle.
        falloff: SpotFalloff,
    },
    /// A light that emits from infinitely far away, in parallel rays or from a small disk.
    Directional {
        /// Direction in which the light travels, of any length except 0.
        direction: Vec3,
        /// Irradiance on a surface that faces the light, W/m² per channel, 0 to below 2²⁴.
        irradiance: Vec3,
        /// Angular diameter of the light's disk in degrees: 0.01..=90, or 0 for a light that is invisible and casts
        /// hard shadows.
        angle_degrees: f32,
    },
    /// Emits from infinitely far away in all directions, with the radiance that an environment map gives.
    Environment(Environment),
}

/// A function by which the intensity of a spot light falls from its inner to its outer angle.
///
/// A ramp is 0 at the outer and 1 at the inner angle, and linear in the cosine between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum SpotFalloff {
    /// The square of the ramp, as in glTF.
    #[default]
    Squared,
    /// 3 p² − 2 p³ for a ramp p, as in pbrt.
    Smooth,
    /// Linear in the angle, as in Mitsuba. A cubic polynomial of the ramp approximates it, within 0.003 for an inner
    /// angle of at least half the outer one, and within 0.1 for all others.
    Linear,
}

impl SpotFalloff {
    /// Returns the factors of p, p² and p³ in the fall-off, where p is the ramp. They add up to 1. `inner` and `outer`
    /// are the angles in radians.
    pub fn polynomial(self, inner: f64, outer: f64) -> [f64; 3] {
        match self {
            SpotFalloff::Squared => [0.0, 1.0, 0.0],
            SpotFalloff::Smooth => [0.0, 3.0, -2.0],
            SpotFalloff::Linear if inner >= outer => [1.0, 0.0, 0.0],
            SpotFalloff::Linear => linear_in_angle(inner, outer),
        }
    }
}

/// Returns the cubic polynomial of the ramp that is 0 at 0 and 1 at 1, and between has the smallest mean squared
/// distance to a function that is linear in the angle.
fn linear_in_angle(inner: f64, outer: f64) -> [f64; 3] {
    const STEPS: u32 = 64;
    let (cos_inner, cos_outer) = (libm::cos(inner), libm::cos(outer));
    // p + p (1 − p) (a + b p), by the normal equations of a and b.
    let (mut aa, mut ab, mut bb, mut a_rest, mut b_rest) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for step in 0..STEPS {
        // Denser at both ends.
        let turn = (f64::from(step) + 0.5) / f64::from(STEPS);
        let part = 0.5 - 0.5 * libm::cos(turn * std::f64::consts::PI);
        let cosine = cos_outer + part * (cos_inner - cos_outer);
        let rest = (outer - libm::acos(cosine.clamp(-1.0, 1.0))) / (outer - inner) - part;
        let a = part * (1.0 - part);
        let b = a * part;
        aa += a * a;
        ab += a * b;
        bb += b * b;
        a_rest += a * rest;
        b_rest += b * rest;
    }
    let determinant = aa * bb - ab * ab;
    let a = (a_rest * bb - b_rest * ab) / determinant;
    let b = (b_rest * aa - a_rest * ab) / determinant;
    [1.0 + a, b - a, -b]
}

/// An environment map in latitude-longitude format.
///
/// The texel at u from the left and v from the top, both 0..=1, is in the direction
/// (sin 2πu sin πv, cos πv, −cos 2πu sin πv). Values belong to texel centers.
#[derive(Clone, Debug, PartialEq)]
pub struct Environment {
    /// Texels per row, at least 1. The number of rows is the length of `radiances` divided by it.
    pub width: u32,
    /// Radiance of each texel before it is multiplied by `scale`, in linear sRGB, row by row from the top; finite and
    /// not negative.
    pub radiances: Arc<[Vec3]>,
    /// Factor from `radiances` to W·sr⁻¹·m⁻²; 0 or more.
    pub scale: f32,
    /// Rotation of the map about +y, counter-clockwise seen from above, as a fraction of a full turn, 0 to below 1.
    pub turns: f32,
    /// Description of the map, with the values that users can edit.
    pub source: EnvironmentSource,
    /// Whether the scene's own file defines the environment, so that edits of it can be saved.
    pub is_in_scene: bool,
}

/// The description of an environment: its type, and values that users can edit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EnvironmentSource {
    /// A map with fixed texels, such as an image file.
    Map {
        /// Rotation of the map about +y in degrees, counter-clockwise seen from above.
        rotate_y: f64,
    },
    /// The default lighting of models.
    Studio {
        /// Azimuth, as seen from the model, of the viewer for whom the soft boxes are arranged, in degrees: 0 is +z and
        /// 90 is +x.
        azimuth: f64,
    },
    /// The sky of a clear day, without the disk of the sun. The sun, if the settings have one, is the next light in
    /// [`Scene::lights`](crate::Scene::lights), and changes with the settings.
    SunSky(SunSkySettings),
}

/// The description of a clear day with its sun.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SunSkySettings {
    pub(crate) position: SunPosition,
    /// Haze, from 1 (clean air) to 10 (thick).
    pub(crate) turbidity: f64,
    /// Albedo of the ground, linear sRGB, 0..=1 per channel.
    pub(crate) ground: DVec3,
    /// Factor for the radiance of the sky and the irradiance of the sun, 0..=1000.
    pub(crate) scale: f64,
    /// Whether there is a sun, or only its sky.
    pub(crate) has_sun: bool,
}

/// The position of the sun, given directly or by time and place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum SunPosition {
    Angles {
        /// Elevation of the sun's center above the horizon in degrees, 0..=90; at 90 it stands in the direction +y.
        elevation: f64,
        /// Azimuth in degrees: 0 is north (−z) and 90 is east (+x).
        azimuth: f64,
    },
    Moment {
        /// Time and place.
        moment: Moment,
        /// Azimuth of north in the scene in degrees, from −z over +x: a rotation of sky and sun about the vertical
        /// axis.
        north: f64,
    },
}

impl SunSkySettings {
    /// Returns the day without its brightness. Fails with the reason if the sun is below the horizon.
    pub(crate) fn day(&self) -> Result<SunSky, String> {
        let (elevation, azimuth) = match &self.position {
            &SunPosition::Angles { elevation, azimuth } => (elevation, azimuth),
            SunPosition::Moment { moment, north } => {
                let (elevation, azimuth) = sun_at(moment);
                (elevation, azimuth + north)
            }
        };
        if elevation < 0.0 {
            return Err(format!(
                "time: the sun is {:.1} degrees below the horizon then; expected a time of day",
                -elevation
            ));
        }
        Ok(SunSky {
            elevation,
            azimuth,
            turbidity: self.turbidity,
            albedo: self.ground,
        })
    }
}

impl Environment {
    /// Creates an environment map from its texels, see the fields of [`Environment`]. The scale is 1.
    pub fn new(width: u32, radiances: Vec<Vec3>, turns: f32) -> Environment {
        Environment {
            width,
            radiances: radiances.into(),
            scale: 1.0,
            turns,
            source: EnvironmentSource::Map {
                rotate_y: 360.0 * f64::from(turns),
            },
            is_in_scene: false,
        }
    }

    /// Creates the default lighting of models for a viewer at this azimuth in degrees.
    pub(crate) fn studio(azimuth: f64, scale: f32) -> Environment {
        let (width, radiances) = studio_radiances(azimuth);
        Environment {
            scale,
            source: EnvironmentSource::Studio { azimuth },
            ..Environment::new(width, radiances, 0.0)
        }
    }

    /// Creates the sky of a clear day and, if it has one, its sun. Fails with the reason if the sun is below the
    /// horizon.
    pub(crate) fn sun_sky(
        settings: SunSkySettings,
    ) -> Result<(Environment, Option<Light>), String> {
        let (width, radiances) = settings.day()?.radiances();
        Environment::new(width, radiances, 0.0).with_sun_sky(settings)
    }

    /// Returns the map with another scale and description. If it is a sky with a sun, also returns the sun. Fails with
    /// the reason if the sun is below the horizon.
    pub(super) fn with_source(
        &self,
        scale: f32,
        source: EnvironmentSource,
    ) -> Result<(Environment, Option<Light>), String> {
        let environment = match source {
            EnvironmentSource::Map { rotate_y } => Environment {
                scale,
                turns: turns(rotate_y),
                source,
                ..self.clone()
            },
            EnvironmentSource::Studio { azimuth } if source != self.source => Environment {
                is_in_scene: self.is_in_scene,
                ..Environment::studio(azimuth, scale)
            },
            EnvironmentSource::Studio { .. } => Environment {
                scale,
                ..self.clone()
            },
            EnvironmentSource::SunSky(settings) => {
                let day = settings.day()?;
                let EnvironmentSource::SunSky(before) = self.source else {
                    return Environment::sun_sky(settings);
                };
                let mut sky = self.clone();
                // A map is computed for each texel, so it is kept while only brightness or sun change.
                if before.day() != Ok(day) {
                    sky.radiances = day.radiances().1.into();
                }
                return sky.with_sun_sky(settings);
            }
        };
        Ok((environment, None))
    }

    /// Returns the map of a sky with this description, of which it has the texels, and the sun.
    fn with_sun_sky(
        self,
        settings: SunSkySettings,
    ) -> Result<(Environment, Option<Light>), String> {
        let day = settings.day()?;
        let sun = settings.has_sun.then(|| Light::Directional {
            direction: -day.to_sun().as_vec3(),
            irradiance: (day.irradiance() * settings.scale).as_vec3(),
            angle_degrees: SUN_DEGREES,
        });
        let environment = Environment {
            scale: settings.scale as f32,
            source: EnvironmentSource::SunSky(settings),
            ..self
        };
        Ok((environment, sun))
    }

    /// Returns the radiance of each texel, W·sr⁻¹·m⁻², row by row from the top.
    pub fn scaled_radiances(&self) -> Cow<'_, [Vec3]> {
        if self.scale == 1.0 {
            return Cow::Borrowed(&self.radiances);
        }
        let scaled = self.radiances.iter().map(|&radiance| radiance * self.scale);
        Cow::Owned(scaled.collect())
    }

    /// Returns the largest radiance of a texel, W·sr⁻¹·m⁻² per channel.
    pub(crate) fn brightest(&self) -> Vec3 {
        let radiances = self.radiances.iter().copied();
        radiances.fold(Vec3::ZERO, Vec3::max) * self.scale
    }
}

/// Returns a rotation in degrees as a fraction of a full turn, 0 to below 1.
pub(crate) fn turns(degrees: f64) -> f32 {
    let turns = (degrees / 360.0).rem_euclid(1.0) as f32;
    // A value just below 1 rounds up to 1 as an `f32`.
    if turns < 1.0 { turns } else { 0.0 }
}

impl Light {
    /// Returns an upper bound, W·sr⁻¹·m⁻² per channel, of the radiance that a camera sees when it looks at the light.
    /// It is 0 for lights without a size, which are invisible. Others are shown clamped to `MAX_VISIBLE_RADIANCE`,
    /// 16,384, which also limits the bound.
    pub(crate) fn max_visible_radiance(&self) -> Vec3 {
        match self {
            Light::Environment(environment) => environment
                .brightest()
                .min(Vec3::splat(MAX_VISIBLE_RADIANCE)),
            Light::Directional { angle_degrees, .. } if *angle_degrees > 0.0 => {
                Vec3::splat(MAX_VISIBLE_RADIANCE)
            }
            Light::Point { .. } | Light::Spot { .. } | Light::Directional { .. } => Vec3::ZERO,
        }
    }
}
