//! Finds out why a picture would be empty or black, before its render.

mod corners;
mod darkness;

use glam::{DVec3, Vec3};

use crate::{
    accel::instance::NO_INSTANCE,
    camera::Camera,
    device::render_scene::RenderScene,
    path::{NO_PRIMITIVE, Span},
    sampler::sampler,
    scene::{Instance, Projection, Scene},
    stages::first_ray,
    vertex::rays::nearest_hit,
};
use corners::{Corners, in_file};

/// Numbers of rows and columns of the rays that look for an object: few at first, and many if those find none.
const GRIDS: [u32; 2] = [32, 256];
/// Size of most objects, relative to the picture, below which nobody recognises them.
const TINY: f64 = 1.0 / 50.0;

/// Returns one line with the likely cause if the picture would be empty, or black at its exposure; `None` if it shows
/// something.
///
/// A picture is empty if no ray of a grid over it hits an object, or if all objects are tiny because a corner is far
/// from them.
pub(crate) fn note(scene: &Scene, render_scene: &RenderScene, camera: &Camera) -> Option<String> {
    let sees = |side: u32| match render_scene.is_plain() {
        true => sees_object::<false>(render_scene, camera, side),
        false => sees_object::<true>(render_scene, camera, side),
    };
    let corners = Corners::of(scene)?;
    if GRIDS.into_iter().any(sees) {
        let tiny = || {
            let stray = corners.stray(scene, camera)?;
            let around = in_file(scene, corners.middle);
            Some(format!(
                "the objects around {around} are tiny in the picture: {stray}"
            ))
        };
        let is_tiny = corners.share_of_picture(scene, camera) < TINY;
        let tiny = is_tiny.then(tiny).flatten();
        return tiny.or_else(|| darkness::note(scene, render_scene, camera));
    }
    let (origin, forward) = (camera.origin.as_dvec3(), camera.forward.as_dvec3());
    let is_ahead = |corner: &DVec3| (corner - origin).dot(forward) > 0.0;
    let away = origin.distance(corners.middle) as f32;
    let depth = match scene.camera.projection {
        Projection::Perspective { .. } => away,
        Projection::Orthographic { .. } => 1.0,
    };
    let pixel = depth * 2.0 * camera.right.length() / camera.width;
    let around = in_file(scene, corners.middle);
    let in_frame = |&corner: &DVec3| is_in_frame(scene, camera, corner);
    let is_opaque = |material| {
        let maps = scene.maps.get(&material);
        maps.is_none_or(|maps| maps.opacity > 0.0)
    };
    let cause = if !has_material(scene, is_opaque) {
        "their materials have an opacity of 0; raise it".to_owned()
    } else if !corners.some.iter().any(is_ahead) {
        format!("they are behind it, around {around}; point the camera's `target` there")
    } else if !corners.some.iter().any(in_frame) {
        format!("they are beside the view, around {around}; point the camera's `target` there")
    } else if corners.radius < f64::from(pixel) {
        format!(
            "they are smaller than a pixel at {away} m, around {around}; move the camera closer, or narrow its view"
        )
    } else {
        format!("those in view, around {around}, are transparent or too thin")
    };
    let stray = corners.stray(scene, camera);
    let stray = stray.map_or(String::new(), |stray| format!("; {stray}"));
    Some(format!("the camera sees no object: {cause}{stray}"))
}

/// Returns whether `is_wanted` is true for the material of an object, given by its index.
fn has_material(scene: &Scene, is_wanted: impl Fn(u32) -> bool) -> bool {
    let of_instance = |instance: &Instance| match instance.material {
        Some(material) => is_wanted(material),
        None => {
            let mut all = scene.meshes[instance.mesh as usize].materials.iter();
            all.any(|&material| is_wanted(material))
        }
    };
    scene.triangles.iter().any(|each| is_wanted(each.material))
        || scene.spheres.iter().any(|each| is_wanted(each.material))
        || scene.instances.iter().any(of_instance)
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
