//! Finds out why a camera sees no object, before a render that would show only its background.

use glam::{DVec3, Vec3};

use crate::{
    accel::instance::NO_INSTANCE,
    camera::Camera,
    device::render_scene::RenderScene,
    path::{NO_PRIMITIVE, Span},
    sampler::sampler,
    scene::{Projection, Scene, position_in_file},
    stages::first_ray,
    vertex::rays::nearest_hit,
};

/// Numbers of rows and columns of the rays that look for an object: few at first, and many if those find none.
const GRIDS: [u32; 2] = [32, 256];
/// Approximate number of triangles, spheres and corners of instances that are looked at, evenly spaced.
const MAX_CORNERS: usize = 4096;
/// Distance from the middle of all corners, relative to the median, from which on a corner is far from the others.
const FAR: f64 = 1000.0;

/// Returns one line with the likely cause if no ray of a grid over the picture hits an object; `None` if one does, or if the
/// scene has no corners.
pub(crate) fn note(scene: &Scene, render_scene: &RenderScene, camera: &Camera) -> Option<String> {
    let sees = |side: u32| match render_scene.is_plain() {
        true => sees_object::<false>(render_scene, camera, side),
        false => sees_object::<true>(render_scene, camera, side),
    };
    if GRIDS.into_iter().any(sees) {
        return None;
    }
    let corners = corners(scene);
    let middle = median(&corners)?;
    let distance = |corner: &DVec3| corner.distance(middle);
    let mut distances: Vec<f64> = corners.iter().map(distance).collect();
    distances.sort_by(f64::total_cmp);
    let radius = distances[distances.len() / 2];
    let in_file = |point: DVec3| position_in_file(point.as_vec3(), scene.origin).to_array();
    let [x, y, z] = in_file(middle);
    let (origin, forward) = (camera.origin.as_dvec3(), camera.forward.as_dvec3());
    let is_ahead = |corner: &DVec3| (corner - origin).dot(forward) > 0.0;
    let away = origin.distance(middle) as f32;
    let depth = match scene.camera.projection {
        Projection::Perspective { .. } => away,
        Projection::Orthographic { .. } => 1.0,
    };
    let pixel = depth * 2.0 * camera.right.length() / camera.width;
    let cause = if !corners.iter().any(is_ahead) {
        format!("they are behind it, around ({x}, {y}, {z}); point the camera's `target` there")
    } else if !corners
        .iter()
        .any(|&corner| is_in_frame(scene, camera, corner))
    {
        format!(
            "they are beside the view, around ({x}, {y}, {z}); point the camera's `target` there"
        )
    } else if radius < f64::from(pixel) {
        format!(
            "they are smaller than a pixel at {away} m, around ({x}, {y}, {z}); move the camera closer, or narrow its view"
        )
    } else {
        format!("those in view, around ({x}, {y}, {z}), are transparent or too thin")
    };
    let farthest = corners
        .iter()
        .max_by(|one, other| distance(one).total_cmp(&distance(other)));
    let stray = farthest.filter(|corner| distance(corner) > FAR * radius && radius > 0.0);
    let stray = stray.map_or(String::new(), |corner| {
        let [x, y, z] = in_file(*corner);
        format!("; a corner at ({x}, {y}, {z}) is far from all others, and perhaps a mistake")
    });
    Some(format!("the camera sees no object: {cause}{stray}"))
}

/// Returns whether a camera ray hits an object, of `side` × `side` rays over the picture.
fn sees_object<const INSTANCED: bool>(scene: &RenderScene, camera: &Camera, side: u32) -> bool {
    let (width, height) = camera.size();
    let place = |at: u32, size: u32| {
        let at = u64::from(2 * at + 1) * u64::from(size);
        (at / u64::from(2 * side)) as u32
    };
    (0..side * side).any(|at| {
        let pixel = place(at / side, height) * width + place(at % side, width);
        // No render has this sample.
        let sample = u32::MAX;
        let span = Span {
            width,
            ..Span::default()
        };
        let ray = first_ray(camera, &span, pixel, sample);
        let numbers = sampler(0, pixel, sample);
        let found = nearest_hit::<INSTANCED>(scene, &ray, NO_INSTANCE, numbers, 0);
        found.hit.primitive != NO_PRIMITIVE
    })
}

/// Returns corners of the scene's objects in world space.
fn corners(scene: &Scene) -> Vec<DVec3> {
    let step = |count: usize| count.div_ceil(MAX_CORNERS).max(1);
    let triangles = scene.triangles.iter().step_by(step(scene.triangles.len()));
    let triangles = triangles.flat_map(|triangle| triangle.vertices);
    let spheres = scene.spheres.iter().step_by(step(scene.spheres.len()));
    let spheres = spheres.flat_map(|sphere| {
        [-1.0, 1.0].map(|side| sphere.center + Vec3::splat(side * sphere.radius))
    });
    let count = scene.instances.len();
    let each = (MAX_CORNERS / count.max(1)).max(2);
    let instances = scene.instances.iter().step_by(step(count));
    let instances = instances.flat_map(|instance| {
        let positions = &scene.meshes[instance.mesh as usize].positions;
        let [x, y, z] = instance.axes;
        let positions = positions
            .iter()
            .step_by(positions.len().div_ceil(each).max(1));
        positions.map(move |at| instance.position + x * at.x + y * at.y + z * at.z)
    });
    let all = triangles.chain(spheres).chain(instances);
    all.map(Vec3::as_dvec3)
        .filter(|corner| corner.is_finite())
        .collect()
}

/// Returns the median of each coordinate; `None` without corners.
fn median(corners: &[DVec3]) -> Option<DVec3> {
    let of = |axis: usize| {
        let mut values: Vec<f64> = corners.iter().map(|corner| corner[axis]).collect();
        values.sort_by(f64::total_cmp);
        let last = values.len().checked_sub(1)?;
        Some((values[last / 2] + values[last.div_ceil(2)]) / 2.0)
    };
    Some(DVec3::new(of(0)?, of(1)?, of(2)?))
}

/// Returns whether a point is in the picture if nothing hides it.
fn is_in_frame(scene: &Scene, camera: &Camera, point: DVec3) -> bool {
    let from = point - camera.origin.as_dvec3();
    let forward = camera.forward.as_dvec3();
    let depth = from.dot(forward) / forward.length_squared();
    let scale = match scene.camera.projection {
        Projection::Perspective { .. } => depth,
        Projection::Orthographic { .. } => 1.0,
    };
    let beside = |axis: Vec3| {
        let axis = axis.as_dvec3();
        let at = (from - forward * depth).dot(axis) / axis.length_squared();
        at.abs() <= scale
    };
    depth > 0.0 && beside(camera.right) && beside(camera.up)
}
