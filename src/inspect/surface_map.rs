//! What the camera sees at the center of each pixel: one surface point per pixel, unfiltered, for computer vision.
//!
//! Unlike AOVs, which average over a pixel, no value mixes several surfaces. Points are traced on the CPU without the
//! blur of a lens, and depend on nothing but the scene, its camera and its size.

use std::sync::Arc;

use glam::Vec3;
use rayon::prelude::*;

use crate::{
    Error,
    accel::{instance::NO_INSTANCE, trees::SceneBvhs},
    camera::{Camera, camera_ray},
    device::render_scene::RenderScene,
    math::dot,
    path::{NO_PRIMITIVE, Ray},
    sampler::sampler,
    scene::{self, Scene, memory},
    vertex::rays::nearest_hit,
};

/// The nearest surface at the center of a pixel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SurfacePoint {
    /// Position in metres, in world space, relative to [`Scene::origin`].
    pub position: Vec3,
    /// Shading normal in world space, of length 1, on the camera's side.
    pub normal: Vec3,
    /// First texture coordinates; (0, 0) is the upper left corner of an image. 0 on meshes without coordinates.
    pub uv: [f32; 2],
    /// Distance from the camera along the viewing direction, in metres. It is not the distance along the ray.
    pub depth: f32,
    /// Index of the instance; `None` for a triangle or a sphere that belongs to no instance.
    pub instance: Option<u32>,
    /// Index of the triangle in its mesh, or in [`Scene::triangles`] without an instance; `None` for a sphere.
    pub triangle: Option<u32>,
    /// Index of the material.
    pub material: u32,
}

/// Traces a ray through the center of each pixel. Returns the surface that it hits, row by row from the top; `None`
/// where it hits nothing. Partly opaque surfaces are hit by chance, in proportion to their opacity.
///
/// `trees` are the BVHs of this scene. With `None` they are built.
///
/// # Errors
/// See [`RenderScene::new`]. [`Error::Memory`] if the memory does not suffice.
pub fn surface_map(
    scene: &Scene,
    trees: Option<Arc<SceneBvhs>>,
) -> Result<Vec<Option<SurfacePoint>>, Error> {
    let render_scene = match trees {
        Some(trees) => RenderScene::with_trees(trees, scene)?,
        None => RenderScene::new(scene)?,
    };
    let (width, height) = scene.size;
    let sharp = scene::Camera {
        lens: None,
        ..scene.camera
    };
    let camera = Camera::new(&sharp, width, height);
    let along = camera.viewing_direction();
    let point = |pixel: u32| {
        let (x, y) = ((pixel % width) as f32 + 0.5, (pixel / width) as f32 + 0.5);
        let (origin, direction) = camera_ray(&camera, x, y, 0.0, 0.0);
        let ray = Ray {
            origin,
            pdf: 0.0,
            direction,
            from_primitive: NO_PRIMITIVE,
        };
        let numbers = sampler(scene.seed, pixel, 0);
        let found = nearest_hit::<true>(&render_scene, &ray, NO_INSTANCE, numbers, 0);
        if found.hit.primitive == NO_PRIMITIVE {
            return None;
        }
        let (surface, _) = render_scene.surface_and_material(&ray, &found.hit, found.instance);
        let primitive = &render_scene.primitives[found.hit.primitive as usize];
        let facing = if dot(surface.normal, direction) > 0.0 {
            -1.0
        } else {
            1.0
        };
        Some(SurfacePoint {
            position: surface.point,
            normal: surface.shading * facing,
            uv: [surface.u, surface.v],
            depth: dot(surface.point - camera.origin, along),
            instance: (found.instance != NO_INSTANCE).then_some(found.instance),
            triangle: (!primitive.is_sphere()).then_some(primitive.number),
            material: surface.material,
        })
    };
    let pixel_count = width * height;
    let mut points = Vec::new();
    memory::reserve(&mut points, pixel_count as usize).map_err(Error::memory(scene.size))?;
    let pixels = (0..pixel_count).into_par_iter().map(point);
    pixels.collect_into_vec(&mut points);
    Ok(points)
}
