//! Parsing and validation of the `lights` of a scene file.

use glam::{DVec3, Vec3};

use super::{
    source::{MAX_PATH_BYTES, NumberRange, Object, Raw, SceneSource},
    text::{LightText, SunSkyText},
};
use crate::{
    Error,
    files::display_path,
    image::environment_map::read_environment,
    limits::{MAX_VISIBLE_RADIANCE, SAMPLE_LIMIT, check_brightness},
    scene::{Environment, Light, SpotFalloff, SunPosition, SunSkySettings},
    sun_sky::Moment,
};

/// Reads all entries of `lights`. Returns the lights, and warnings about them for
/// [`Scene::notes`](crate::Scene::notes).
///
/// `spp` is the number of samples per pixel, against which brightness is checked. If `is_replaced`, another environment
/// replaces those of the scene, and a sun with its sky.
///
/// # Errors
/// [`Error::Scene`] at the first invalid entry, or at a second environment.
pub(crate) fn lights(
    source: &SceneSource,
    written: &[Raw],
    spp: u32,
    is_replaced: bool,
) -> Result<(Vec<Light>, Vec<String>), Error> {
    let (mut lights, mut notes) = (Vec::new(), Vec::new());
    for (index, raw) in written.iter().enumerate() {
        let object = Object::listed("light", index, raw);
        let parsed: LightText = source.parse(&object)?;
        let is_far = matches!(
            parsed,
            LightText::SunSky(_) | LightText::Environment { .. } | LightText::Studio { .. }
        );
        if is_far && is_replaced {
            continue;
        }
        let new = read_light(source, &object, parsed, spp, &mut notes)?;
        let is_picture = |light: &Light| matches!(light, Light::Environment(_));
        if new.iter().any(is_picture) && lights.iter().any(is_picture) {
            let problem = "is the second environment; a scene has at most one";
            return Err(source.error(&object, raw, problem));
        }
        lights.extend(new);
    }
    Ok((lights, notes))
}

/// Reads one entry of `lights`, and adds warnings about it to `notes`. A `SunSky` gives up to two lights, and every
/// other entry gives one. Fails with [`Error::Scene`].
///
/// `parsed` is the entry's text by fields. The brightness of lights that the camera can see is checked for `spp`
/// samples per pixel.
fn read_light(
    source: &SceneSource,
    object: &Object,
    parsed: LightText,
    spp: u32,
    notes: &mut Vec<String>,
) -> Result<Vec<Light>, Error> {
    let angle = |field, raw, max: f64| {
        let expected = format!("an angle from 0 to {max} degrees");
        let valid = |angle: f64| (0.0..=max).contains(&angle);
        source
            .number(object, field, raw, &expected, valid)
            .map(|angle| angle as f32)
    };
    let scale = |raw: Option<Raw>| {
        let expected = "a number, 0 or more";
        let valid = |scale: f64| scale >= 0.0 && (scale as f32).is_finite();
        raw.map_or(Ok(1.0), |raw| {
            source.number(object, "scale", raw, expected, valid)
        })
    };
    let light = match parsed {
        LightText::Point {
            position,
            intensity,
        } => Light::Point {
            position: source.point(object, "position", position)?,
            intensity: strength(source, object, "intensity", intensity)?,
        },
        LightText::Spot {
            position,
            direction: towards,
            intensity,
            inner,
            outer,
            falloff,
        } => {
            let falloff = falloff.map_or(Ok(SpotFalloff::default()), |raw| {
                let expected = "Squared, Smooth or Linear";
                source.field(object, "falloff", raw, expected, |_| true)
            })?;
            let outer_degrees = angle("outer", outer, 90.0)?;
            let inner_degrees = inner.map_or(Ok(0.0), |raw| angle("inner", raw, 90.0))?;
            if inner_degrees > outer_degrees {
                let at = inner.unwrap_or(outer);
                let problem = format!(
                    "inner: found {inner_degrees}, expected at most `outer`, {outer_degrees}"
                );
                return Err(source.error(object, at, problem));
            }
            if outer_degrees == 0.0 {
                notes.push(format!(
                    "{}: its `outer` is 0, so that it gives no light; choose a larger angle",
                    object.name
                ));
            }
            Light::Spot {
                position: source.point(object, "position", position)?,
                direction: direction(source, object, towards)?,
                intensity: strength(source, object, "intensity", intensity)?,
                inner_degrees,
                outer_degrees,
                falloff,
            }
        }
        LightText::Directional {
            direction: towards,
            irradiance,
            angle: diameter,
        } => {
            let expected = "0, or an angle from 0.01 to 90 degrees";
            let valid = |angle: f64| angle == 0.0 || (0.01..=90.0).contains(&angle);
            let angle_degrees = match diameter {
                Some(raw) => source.number(object, "angle", raw, expected, valid)? as f32,
                None => 0.0,
            };
            if angle_degrees > 0.0 {
                check_brightness(MAX_VISIBLE_RADIANCE, spp)
                    .map_err(|problem| source.error(object, object.raw, problem))?;
            }
            Light::Directional {
                direction: direction(source, object, towards)?,
                irradiance: strength(source, object, "irradiance", irradiance)?,
                angle_degrees,
            }
        }
        LightText::SunSky(written) => return sun_sky(source, object, &written, spp),
        LightText::Environment {
            file,
            scale: factor,
            rotate_y,
        } => {
            let scale = scale(factor)?;
            let degrees = match rotate_y {
                Some(raw) => source.number(object, "rotate_y", raw, "degrees", |_| true)?,
                None => 0.0,
            };
            let named = |path: &String| (1..=MAX_PATH_BYTES).contains(&path.len());
            let name: String = source.field(object, "file", file, "a path in quotes", named)?;
            let path = source.folder().join(name);
            let picture = read_environment(&path, scale as f32, degrees, spp);
            let (mut environment, warnings) = picture.map_err(|problem| {
                source.error(object, file, format!("{}: {problem}", display_path(&path)))
            })?;
            let warnings = warnings.iter();
            notes.extend(warnings.map(|warning| format!("{}: {warning}", object.name)));
            environment.is_in_scene = true;
            Light::Environment(environment)
        }
        LightText::Studio {
            azimuth,
            scale: factor,
        } => {
            let degrees = azimuth.map_or(Ok(0.0), |raw| {
                let expected = "an angle from -360 to 360 degrees";
                let valid = |angle: f64| angle.abs() <= 360.0;
                source.number(object, "azimuth", raw, expected, valid)
            })?;
            let scale = scale(factor)?;
            let environment = Environment {
                is_in_scene: true,
                ..Environment::studio(degrees, scale as f32)
            };
            let brightest = environment.brightest().max_element();
            if brightest >= SAMPLE_LIMIT {
                let problem = format!("scale: {scale} is too bright for the film; lower it");
                return Err(source.error(object, factor.unwrap_or(object.raw), problem));
            }
            check_brightness(brightest.min(MAX_VISIBLE_RADIANCE), spp)
                .map_err(|problem| source.error(object, object.raw, problem))?;
            Light::Environment(environment)
        }
    };
    Ok(vec![light])
}

/// Makes the environment of a `SunSky`, and the directional light of its sun unless `sun` is `false`. Fails with
/// [`Error::Scene`] if a field is invalid or the light too bright.
fn sun_sky(
    source: &SceneSource,
    object: &Object,
    written: &SunSkyText,
    spp: u32,
) -> Result<Vec<Light>, Error> {
    let position = sun_position(source, object, written)?;
    let within = |field, raw: Option<Raw>, default, (min, max): (f64, f64)| {
        let expected = format!("a number from {min} to {max}");
        let valid = |value: f64| (min..=max).contains(&value);
        raw.map_or(Ok(default), |raw| {
            source.number(object, field, raw, &expected, valid)
        })
    };
    let part = "(r, g, b), each from 0 to 1";
    let settings = SunSkySettings {
        position,
        turbidity: within("turbidity", written.turbidity, 3.0, (1.0, 10.0))?,
        ground: written.ground.map_or(Ok(DVec3::splat(0.3)), |raw| {
            source.triple(object, "ground", raw, part, NumberRange::Fraction)
        })?,
        scale: within("scale", written.scale, 0.02, (0.0, 1000.0))?,
        has_sun: source.flag(object, "sun", written.sun, true)?,
    };
    let (mut sky, sun) = Environment::sun_sky(settings)
        .map_err(|problem| source.error(object, written.time.unwrap_or(object.raw), problem))?;
    sky.is_in_scene = true;
    let seen = match sun {
        Some(_) => MAX_VISIBLE_RADIANCE,
        None => sky.brightest().max_element().min(MAX_VISIBLE_RADIANCE),
    };
    check_brightness(seen, spp).map_err(|problem| source.error(object, object.raw, problem))?;
    Ok([Light::Environment(sky)].into_iter().chain(sun).collect())
}

/// Returns the position of the sun, given directly or by time and place. Fails with [`Error::Scene`] if fields are
/// missing or invalid.
fn sun_position(
    source: &SceneSource,
    object: &Object,
    written: &SunSkyText,
) -> Result<SunPosition, Error> {
    let degrees = |field, raw, (min, max): (f64, f64)| {
        let expected = format!("an angle from {min} to {max} degrees");
        let valid = |value: f64| (min..=max).contains(&value);
        source.number(object, field, raw, &expected, valid)
    };
    let by_time = [
        ("date", written.date),
        ("time", written.time),
        ("latitude", written.latitude),
        ("longitude", written.longitude),
    ];
    if let Some(elevation) = written.elevation {
        let mut others = by_time.into_iter().chain([("north", written.north)]);
        if let Some((field, Some(raw))) = others.find(|(_, raw)| raw.is_some()) {
            let problem =
                format!("{field}: is given together with `elevation`; expected only one of them");
            return Err(source.error(object, raw, problem));
        }
        let azimuth = written
            .azimuth
            .map_or(Ok(180.0), |raw| degrees("azimuth", raw, (-360.0, 360.0)))?;
        return Ok(SunPosition::Angles {
            elevation: degrees("elevation", elevation, (0.0, 90.0))?,
            azimuth,
        });
    }
    if let Some(raw) = written.azimuth {
        let problem = "azimuth: is given without `elevation`; expected both, or a time and a place";
        return Err(source.error(object, raw, problem));
    }
    let [Some(date), Some(time), Some(latitude), Some(longitude)] = by_time.map(|(_, raw)| raw)
    else {
        let (field, _) = by_time
            .into_iter()
            .find(|(_, raw)| raw.is_none())
            .unwrap_or(by_time[0]);
        let problem = if by_time.iter().all(|(_, raw)| raw.is_none()) {
            "the field `elevation` is missing, or `date`, `time`, `latitude` and `longitude`"
                .to_owned()
        } else {
            format!("the field `{field}` is missing")
        };
        return Err(source.error(object, object.raw, problem));
    };
    let is_date = |&(year, month, day): &(i32, u32, u32)| {
        (1950..=2050).contains(&year)
            && (1..=12).contains(&month)
            && (1..=days_in(year, month)).contains(&day)
    };
    let hours = "hours since midnight in universal time, 0 to 24";
    let moment = Moment {
        date: source.field(
            object,
            "date",
            date,
            "(year, month, day) from 1950 to 2050",
            is_date,
        )?,
        hours: source.number(object, "time", time, hours, |time| {
            (0.0..=24.0).contains(&time)
        })?,
        latitude: degrees("latitude", latitude, (-90.0, 90.0))?,
        longitude: degrees("longitude", longitude, (-180.0, 180.0))?,
    };
    let north = written
        .north
        .map_or(Ok(0.0), |raw| degrees("north", raw, (-360.0, 360.0)))?;
    Ok(SunPosition::Moment { moment, north })
}

/// Returns the number of days of a month (1 to 12) in the Gregorian calendar.
fn days_in(year: i32, month: u32) -> u32 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Parses the field `direction`, a vector of any length except 0. Any other value is an [`Error::Scene`].
fn direction(source: &SceneSource, object: &Object, raw: Raw) -> Result<Vec3, Error> {
    let direction = source.position(object, "direction", raw)?.as_vec3();
    if direction.length_squared().is_normal() {
        Ok(direction)
    } else {
        let problem = "direction: has zero length; expected a direction such as (0, -1, 0)";
        Err(source.error(object, raw, problem))
    }
}

/// Parses the intensity or irradiance of a light: linear sRGB, each channel from 0 to below 2²⁴. Any other value is an
/// [`Error::Scene`].
fn strength(source: &SceneSource, object: &Object, field: &str, raw: Raw) -> Result<Vec3, Error> {
    let expected = "(r, g, b), each 0 or more";
    let strength = source.triple(object, field, raw, expected, NumberRange::FromZero)?;
    let strength = strength.as_vec3();
    if strength.max_element() >= SAMPLE_LIMIT {
        let problem = format!(
            "{field}: {} is too bright for the film; expected less than {SAMPLE_LIMIT}",
            strength.max_element()
        );
        return Err(source.error(object, raw, problem));
    }
    Ok(strength)
}
