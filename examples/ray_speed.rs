//! Measures the speed of ray traversal on the CPU: `cargo run --example ray_speed -- [SCENE]`. Without a scene it uses
//! a displaced sphere of 500,000 triangles.
//!
//! It traces camera rays, cosine-distributed rays from their hits, and shadow rays from there to one point, on all
//! threads. Each set is traced by SIMD traversal (limited by `RAYSIEVE_VECTORS`) and through the BVH that GPUs use; the
//! best of 7 rounds counts.

use std::{env, fs, path::PathBuf, time::Instant};

use glam::Vec3;
use rayon::prelude::*;
use raysieve::{
    accel::{
        bvh::{nearest, occluded, wide::SimdScene},
        primitive::surface_at,
    },
    camera::{Camera, camera_ray},
    device::render_scene::RenderScene,
    math::offset_point,
    path::{Hit, NO_PRIMITIVE, Ray, ShadowRay},
    sampler::{pair, sampler},
    scene::Scene,
    shading::material::sample_cosine,
};

/// Width and height of the image in pixels.
const SIDE: u32 = 1024;
/// Number of rays that a thread takes at once.
const TAKEN: usize = 1 << 13;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let path = match env::args().nth(1) {
        Some(path) => PathBuf::from(path),
        None => {
            let path = folder.path().join("sphere.ron");
            fs::write(&path, SPHERE)?;
            path
        }
    };
    let scene = Scene::load(&path)?;
    let render_scene = RenderScene::new(&scene)?;
    if !render_scene.instances.is_empty() {
        return Err("scenes with instances are not supported".into());
    }
    let start = Instant::now();
    let wide = render_scene.simd_scene();
    println!(
        "{} triangles and spheres, SIMD tree built in {:.2} s",
        render_scene.primitives.len(),
        start.elapsed().as_secs_f64()
    );
    if wide.is_none() {
        println!("skipped SIMD traversal: this processor has no supported vector instructions");
    }

    let camera = Camera::new(&scene.camera, SIDE, SIDE);
    let primary: Vec<Ray> = (0..SIDE * SIDE)
        .map(|pixel| {
            let (u, v) = pair(sampler(0, pixel, 0), 0, 0);
            let (column, row) = ((pixel % SIDE) as f32, (pixel / SIDE) as f32);
            let (origin, direction) = camera_ray(&camera, column + u, row + v, 0.5, 0.5);
            Ray {
                origin,
                pdf: 0.0,
                direction,
                from_primitive: NO_PRIMITIVE,
            }
        })
        .collect();
    let hits = time_nearest("primary", &render_scene, wide, &primary);

    let light = Vec3::new(0.45, 0.6, 0.75) * render_scene.light_params.extent * 4.0;
    let (mut diffuse, mut shadow) = (Vec::new(), Vec::new());
    for ((number, ray), hit) in (0..).zip(&primary).zip(&hits) {
        if hit.primitive == NO_PRIMITIVE {
            continue;
        }
        let surface = surface_at(&render_scene.primitives[hit.primitive as usize], ray, hit);
        let side = if surface.normal.dot(ray.direction) < 0.0 {
            1.0
        } else {
            -1.0
        };
        let normal = surface.normal * side;
        let (u, v) = pair(sampler(0, number, 0), 0, 1);
        let origin = offset_point(surface.point, normal, surface.error);
        diffuse.push(Ray {
            origin,
            pdf: 0.0,
            direction: sample_cosine(normal, u, v).0,
            from_primitive: hit.primitive,
        });
        let way = light - origin;
        if way.dot(normal) > 0.0 {
            shadow.push(ShadowRay {
                origin,
                distance: way.length(),
                direction: way.normalize(),
                from_primitive: hit.primitive,
                to_primitive: NO_PRIMITIVE,
                light: Vec3::ONE,
            });
        }
    }
    time_nearest("diffuse", &render_scene, wide, &diffuse);
    time_occluded(&render_scene, wide, &shadow);
    Ok(())
}

/// The default scene.
const SPHERE: &str = r#"(
    camera: (origin: (0, 2, 5), target: (0, 0, 0), fov: 40),
    materials: { "clay": Diffuse(albedo: (0.7, 0.5, 0.3)) },
    objects: [DisplacedSphere(
        rings: 500, segments: 500, amplitudes: (0.08, 0.03), material: "clay",
    )],
)"#;

/// Traces all rays, prints the rate and returns the results.
fn time<R: Copy + Sync, F: Send>(
    name: &str,
    rays: &[R],
    trace: impl Fn(&[R]) -> Vec<F> + Sync,
) -> Vec<F> {
    let mut seconds = f64::INFINITY;
    let mut results = Vec::new();
    for _ in 0..7 {
        let start = Instant::now();
        results = rays.par_chunks(TAKEN).flat_map_iter(&trace).collect();
        seconds = start.elapsed().as_secs_f64().min(seconds);
    }
    println!(
        "{name:<24} {:>8.2} Mrays/s",
        rays.len() as f64 / seconds / 1e6
    );
    results
}

/// Measures nearest-hit queries and returns the hits.
fn time_nearest(
    name: &str,
    render_scene: &RenderScene,
    wide: Option<&SimdScene>,
    rays: &[Ray],
) -> Vec<Hit> {
    let extent = render_scene.light_params.extent;
    if let Some(wide) = wide {
        time(name, rays, |rays| {
            let mut hits = vec![Hit::default(); rays.len()];
            let all = 0..rays.len();
            wide.each_nearest(&render_scene.primitives, rays, all, |at, hit| {
                hits[at] = hit
            });
            hits
        });
    }
    time(&format!("{name}, GPU tree"), rays, |rays| {
        let find = |ray| nearest(&render_scene.nodes, &render_scene.primitives, extent, ray);
        rays.iter().map(find).collect()
    })
}

/// Measures occlusion queries.
fn time_occluded(render_scene: &RenderScene, wide: Option<&SimdScene>, rays: &[ShadowRay]) {
    let extent = render_scene.light_params.extent;
    if let Some(wide) = wide {
        time("shadow", rays, |rays| {
            let mut blocked = vec![false; rays.len()];
            let all = 0..rays.len();
            wide.each_occluded(&render_scene.primitives, rays, all, |at, is| {
                blocked[at] = is
            });
            blocked
        });
    }
    time("shadow, GPU tree", rays, |rays| {
        let find = |ray| occluded(&render_scene.nodes, &render_scene.primitives, extent, ray);
        rays.iter().map(find).collect()
    });
}
