//! Reads the camera of a scene file, with its lens and its pixel filter.

use std::ops::RangeInclusive;

use glam::Vec3;

use super::{
    source::{Object, Raw, SceneSource},
    text::{CameraText, FilterText, LensText},
};
use crate::{
    Error,
    limits::{MAX_PIXEL_ASPECT, MAX_SHIFT, MIN_PIXEL_ASPECT},
    origin::NEAR,
    scene::{Camera, Focus, Lens, NoView, PixelFilter, Projection},
};

/// Valid values of `f_stop`.
pub(super) const STOPS: RangeInclusive<f64> = 0.1..=1000.0;

/// Reads and validates the field `camera`, which is `object`. Invalid values are an [`Error::Scene`].
pub(crate) fn camera(source: &SceneSource, object: &Object) -> Result<Camera, Error> {
    let written: CameraText = source.parse(object)?;
    let origin = source.point(object, "origin", written.origin)?;
    let target = source.point(object, "target", written.target)?;
    let up = match written.up {
        Some(raw) => source.position(object, "up", raw)?.as_vec3(),
        None => Vec3::Y,
    };
    let projection = projection(source, object, &written)?;
    let camera = Camera {
        origin,
        target,
        up,
        projection,
        shift: shift(source, object, &written)?,
        pixel_aspect: pixel_aspect(source, object, &written)?,
        lens: None,
        filter: PixelFilter::default(),
    };
    let up_at = written.up.unwrap_or(object.raw);
    let (at, problem) = match camera.no_view() {
        None => return with_lens_and_filter(source, &written, camera),
        Some(NoView::NoDirection) => (
            written.target,
            "target: is the same point as `origin`; expected another point for the camera to look at",
        ),
        Some(NoView::NoUp) => (
            up_at,
            "up: has zero length; expected a direction such as (0, 1, 0)",
        ),
        Some(NoView::ParallelUp) => (
            up_at,
            "up: is parallel to the view direction from `origin` to `target`; choose another direction",
        ),
    };
    Err(source.error(object, at, problem))
}

/// Returns whether the position of a camera, which is `object`, is so far from the origin that rounding may make a valid
/// camera invalid.
pub(crate) fn may_be_rounded(source: &SceneSource, object: &Object) -> bool {
    let written: Result<CameraText, Error> = source.parse(object);
    let position = written.and_then(|written| source.point(object, "origin", written.origin));
    position.is_ok_and(|position| f64::from(position.abs().max_element()) > NEAR)
}

/// Returns the camera with its fields `lens` and `filter`. Invalid values are an [`Error::Scene`].
fn with_lens_and_filter(
    source: &SceneSource,
    written: &CameraText,
    camera: Camera,
) -> Result<Camera, Error> {
    let lens = |raw| lens(source, &Object::new("lens", raw), &camera);
    let filter = |raw| filter(source, &Object::new("filter", raw));
    Ok(Camera {
        lens: written.lens.map(lens).transpose()?,
        filter: written.filter.map_or(Ok(camera.filter), filter)?,
        ..camera
    })
}

/// Reads the field `fov` or `width` of a camera. Both or neither is an [`Error::Scene`].
fn projection(
    source: &SceneSource,
    object: &Object,
    written: &CameraText,
) -> Result<Projection, Error> {
    match (written.fov, written.width) {
        (Some(_), Some(raw)) => Err(source.error(
            object,
            raw,
            "width: cannot be combined with `fov`; remove one of them",
        )),
        (Some(raw), None) => {
            let degrees = "an angle from 0.001 to 179.999 degrees";
            let valid = |fov: f64| (0.001..=179.999).contains(&fov);
            let fov = source.number(object, "fov", raw, degrees, valid)?;
            Ok(Projection::Perspective {
                fov_degrees: fov as f32,
            })
        }
        (None, Some(raw)) => Ok(Projection::Orthographic {
            width: source.length(object, "width", raw)? as f32,
        }),
        (None, None) => Err(source.error(
            object,
            object.raw,
            "the field `fov` is missing, or `width` for an orthographic camera",
        )),
    }
}

/// Reads the optional field `shift` of a camera, no shift by default. Invalid values are an [`Error::Scene`].
fn shift(source: &SceneSource, object: &Object, written: &CameraText) -> Result<[f32; 2], Error> {
    let Some(raw) = written.shift else {
        return Ok([0.0; 2]);
    };
    let expected = "(right, up) in image widths and heights, each from -1e6 to 1e6";
    let valid = |&(right, up): &(f64, f64)| right.abs() <= MAX_SHIFT && up.abs() <= MAX_SHIFT;
    let (right, up) = source.field(object, "shift", raw, expected, valid)?;
    Ok([right as f32, up as f32])
}

/// Reads the optional field `pixel_aspect` of a camera, 1 by default. Invalid values are an [`Error::Scene`].
fn pixel_aspect(source: &SceneSource, object: &Object, written: &CameraText) -> Result<f32, Error> {
    let Some(raw) = written.pixel_aspect else {
        return Ok(1.0);
    };
    let expected = "the width of a pixel divided by its height, from 0.001 to 1000";
    let valid = |aspect: f64| (MIN_PIXEL_ASPECT..=MAX_PIXEL_ASPECT).contains(&aspect);
    let aspect = source.number(object, "pixel_aspect", raw, expected, valid)?;
    Ok(aspect as f32)
}

/// Reads the field `lens` of `camera`. Its aperture may be given as `radius` or as `f_stop`, and the focus defaults to
/// the camera's target. Invalid values are an [`Error::Scene`].
fn lens(source: &SceneSource, object: &Object, camera: &Camera) -> Result<Lens, Error> {
    let written: LensText = source.parse(object)?;
    let radius = match (written.radius, written.f_stop) {
        (Some(_), Some(raw)) => {
            return Err(source.error(
                object,
                raw,
                "f_stop: cannot be combined with `radius`; remove one of them",
            ));
        }
        (Some(raw), None) => source.length(object, "radius", raw)?,
        (None, Some(raw)) => {
            let valid = |stop: f64| STOPS.contains(&stop);
            let stop = source.number(object, "f_stop", raw, "a number from 0.1 to 1000", valid)?;
            let Some(focal_length) = camera.focal_length() else {
                return Err(source.error(
                    object,
                    raw,
                    "f_stop: an orthographic camera has no focal length; use `radius` instead",
                ));
            };
            focal_length / stop / 2.0
        }
        (None, None) => {
            return Err(source.error(
                object,
                object.raw,
                "the field `radius` or `f_stop` is missing",
            ));
        }
    };
    let focus = match (written.focus_distance, written.focus_point) {
        (Some(_), Some(raw)) => {
            return Err(source.error(
                object,
                raw,
                "focus_point: cannot be combined with `focus_distance`; remove one of them",
            ));
        }
        (Some(raw), None) => Focus::Distance(source.length(object, "focus_distance", raw)? as f32),
        (None, Some(raw)) => Focus::Point(source.point(object, "focus_point", raw)?),
        (None, None) => Focus::Point(camera.target),
    };
    let blades = match written.blades {
        Some(raw) => source.field(
            object,
            "blades",
            raw,
            "0 for a round aperture, or a whole number from 3 to 16",
            |&blades: &u32| blades == 0 || (3..=16).contains(&blades),
        )?,
        None => 0,
    };
    let rotation_degrees = match written.rotation {
        Some(raw) => source.number(
            object,
            "rotation",
            raw,
            "an angle from -360 to 360 degrees",
            |angle| angle.abs() <= 360.0,
        )? as f32,
        None => 0.0,
    };
    Ok(Lens {
        radius: radius as f32,
        focus,
        blades,
        rotation_degrees,
    })
}

/// Reads the field `filter` of a camera, which is `object`. Invalid values are an [`Error::Scene`].
fn filter(source: &SceneSource, object: &Object) -> Result<PixelFilter, Error> {
    let radius = |raw: Option<Raw>, default: f32| match raw {
        Some(raw) => source
            .number(
                object,
                "radius",
                raw,
                "a number of pixels from 0.01 to 16",
                |radius| (0.01..=16.0).contains(&radius),
            )
            .map(|radius| radius as f32),
        None => Ok(default),
    };
    Ok(match source.parse(object)? {
        FilterText::Box { radius: raw } => PixelFilter::Box {
            radius: radius(raw, 0.5)?,
        },
        FilterText::Gaussian { radius: raw, sigma } => {
            let radius = radius(raw, 1.5)?;
            let within =
                |sigma: f64| (f64::from(radius) / 8.0..=f64::from(radius) * 8.0).contains(&sigma);
            let expected = "a number of pixels from radius / 8 to 8 * radius";
            let sigma = sigma.map_or(Ok(f64::from(radius) / 3.0), |raw| {
                source.number(object, "sigma", raw, expected, within)
            })?;
            PixelFilter::Gaussian {
                radius,
                sigma: sigma as f32,
            }
        }
        FilterText::BlackmanHarris { radius: raw } => PixelFilter::BlackmanHarris {
            radius: radius(raw, 1.5)?,
        },
    })
}
