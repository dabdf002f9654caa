//! Cases of the camera.

use raysieve::camera::{Camera, aperture_point, camera_ray, film_point, filter_offset};

use super::{Case, twin};

pub(super) fn cases() -> Vec<Case> {
    vec![
        twin!("camera", "filter_offset", |camera: Camera, number: f32| {
            filter_offset(&camera, number)
        }),
        twin!(
            "camera",
            "film_point",
            |camera: Camera, column: u32, row: u32, u: f32, v: f32| film_point(
                &camera, column, row, u, v
            )
        ),
        twin!(
            "camera",
            "aperture_point",
            |camera: Camera, u: f32, v: f32| { aperture_point(&camera, u, v) }
        ),
        twin!(
            "camera",
            "camera_ray",
            |camera: Camera, x: f32, y: f32, u: f32, v: f32| camera_ray(&camera, x, y, u, v)
        ),
    ]
}
