//! Applies the choices of projection and direction to a camera of a scene or model file.

use glam::DVec3;

use crate::{
    LoadOptions,
    scene::{Camera, Projection, ViewAxes},
};

/// Returns the camera of a scene file with the direction and the projection of `options`. The target stays. `origin` is
/// [`Scene::origin`](crate::Scene::origin).
///
/// # Errors
/// A one-line message without the file's name if `options` has an angle of view and the camera is orthographic.
pub(crate) fn scene_camera(
    camera: Camera,
    options: &LoadOptions,
    origin: DVec3,
) -> Result<Camera, String> {
    let target = camera.target.as_dvec3();
    let Some(from) = options.camera_from else {
        let distance = (camera.origin.as_dvec3() - target).length();
        return projected(camera, options, distance);
    };
    let axes = ViewAxes::new(from.azimuth_degrees, from.elevation_degrees);
    let own = (camera.origin.as_dvec3() - target).length();
    let distance = from.distance.unwrap_or(own);
    let moved = Camera {
        origin: (target + axes.back * distance).as_vec3(),
        up: axes.camera_up(),
        ..camera
    };
    if !(moved.origin - moved.target).length_squared().is_normal() {
        return Err(format!(
            "has its camera's target at {}, from which {distance} m cannot be told apart; choose a larger distance",
            target + origin
        ));
    }
    projected(moved, options, distance)
}

/// Returns the camera with the projection of `options`. An orthographic view has the width that the perspective one has
/// at `distance` metres.
///
/// # Errors
/// A one-line message without the file's name if `options` has an angle of view and the camera is orthographic.
pub(crate) fn projected(
    camera: Camera,
    options: &LoadOptions,
    distance: f64,
) -> Result<Camera, String> {
    let projection = match (camera.projection, options.fov_degrees) {
        (Projection::Perspective { fov_degrees }, _) if options.orthographic => {
            let tan_half = libm::tan(f64::from(fov_degrees).to_radians() / 2.0);
            Projection::Orthographic {
                width: (2.0 * tan_half * distance).clamp(1e-15, 1e8) as f32,
            }
        }
        (Projection::Perspective { .. }, Some(fov_degrees)) => {
            Projection::Perspective { fov_degrees }
        }
        (Projection::Orthographic { .. }, Some(_)) if !options.orthographic => {
            return Err(
                "has an orthographic camera, which has no angle of view; omit the angle".to_owned(),
            );
        }
        (own, _) => own,
    };
    Ok(Camera {
        projection,
        ..camera
    })
}
