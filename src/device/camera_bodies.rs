//! The bodies that the camera is inside, such as a box of smoke around it.

use std::cmp::Reverse;

use glam::Vec3;

use super::{media::has_inside, render_scene::RenderScene};
use crate::{
    accel::instance::{InstanceHit, NO_INSTANCE},
    camera::Camera,
    math::dot,
    path::{NO_PRIMITIVE, Ray},
    scene,
    shading::{
        bodies::{BODY_BITS, BODY_PLACES, MAX_BOUNDARIES, body_of, priority_of},
        opacity::nearest_beyond,
    },
};

/// Builds the camera of a scene for a film of this size, with the bodies that it is inside. They are those around the
/// center of its lens or, without perspective, of its film.
pub fn camera_in(scene: &RenderScene, camera: &scene::Camera, width: u32, height: u32) -> Camera {
    let camera = Camera::new(camera, width, height);
    Camera {
        bodies: bodies_around(scene, camera.origin),
        ..camera
    }
}

/// Directions of the rays by which [`bodies_around`] finds the bodies around a point. They are along no axis or
/// diagonal.
const PROBES: [Vec3; 5] = [
    Vec3::new(0.353, 0.905, 0.237),
    Vec3::new(-0.813, 0.291, -0.504),
    Vec3::new(0.611, -0.557, -0.562),
    Vec3::new(-0.264, -0.683, 0.681),
    Vec3::new(0.487, 0.179, 0.855),
];

/// Returns the list of bodies that a point is inside, with the fog as the outermost one; only the fog in scenes without
/// media.
///
/// A ray from inside a closed body leaves it once more often than it enters it. Most of several rays decide, because
/// bodies that are not closed are around the point for some directions only.
fn bodies_around(scene: &RenderScene, point: Vec3) -> u32 {
    if scene.media.is_empty() {
        return scene.light_params.fog_body;
    }
    let found = PROBES.map(|direction| bodies_along(scene, point, direction.normalize()));
    let votes = |list: u32| found.iter().filter(|&&other| other == list).count();
    let mut best = found[0];
    for list in found {
        if votes(list) > votes(best) {
            best = list;
        }
    }
    best
}

/// Returns the list of bodies around the origin of a ray by what it leaves and enters, with the fog as the outermost
/// one.
fn bodies_along(scene: &RenderScene, origin: Vec3, direction: Vec3) -> u32 {
    let ray = Ray {
        origin,
        pdf: 0.0,
        direction,
        from_primitive: NO_PRIMITIVE,
    };
    let opacity = scene.opacity();
    let mut found = InstanceHit::none_within(f32::MAX);
    let (mut entered, mut around) = (Vec::new(), Vec::new());
    for _ in 0..MAX_BOUNDARIES {
        let to = (NO_PRIMITIVE, NO_INSTANCE);
        found = nearest_beyond(&opacity, &ray, NO_INSTANCE, 0, &found, f32::MAX, to);
        if found.hit.primitive == NO_PRIMITIVE {
            break;
        }
        let (surface, material) = scene.surface_and_material(&ray, &found.hit, found.instance);
        let body = body_of(surface.material);
        if body == 0 || !has_inside(&material) {
            continue;
        }
        let is_inside = entered.iter().rposition(|&each| each == body);
        match (dot(direction, surface.normal) < 0.0, is_inside) {
            (true, _) => entered.push(body),
            (false, Some(at)) => drop(entered.remove(at)),
            (false, None) if !around.contains(&body) => around.push(body),
            (false, None) => {}
        }
    }
    if scene.light_params.fog_body != 0 {
        around.push(scene.light_params.fog_body);
    }
    // The order of a list, see `nested_beyond`.
    around.sort_by_key(|&body| Reverse(priority_of(&scene.materials[body as usize - 1])));
    let places = around.iter().take(BODY_PLACES as usize).enumerate();
    places.fold(0, |list, (place, body)| {
        list | body << (BODY_BITS * place as u32)
    })
}
