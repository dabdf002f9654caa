//! Times rays alone on the CPU: `cargo run --example ray_speed -- [SCENE]`, a bumpy sphere of 500,000 triangles if it is not
//! said. Primary rays, rays that leave where they hit by the cosine, and shadow rays from there to one point, by all
//! threads; by vectors as long as the processor has them (`RAYSIEVE_VECTORS`), and through the one that the GPU reads. The best of 7 rounds.

use std::{env, fs, path::PathBuf, time::Instant};

use glam::Vec3;
use rayon::prelude::*;
use raysieve::{
    bvh::{nearest, occluded, wide::Wide},
    camera::{Camera, camera_ray},
    material::sample_cosine,
    math::offset_point,
    path::{Hit, NO_PRIMITIVE, Ray, ShadowRay},
    primitive::surface_at,
    sampler::{pair, sampler},
    scene::Scene,
    world::World,
};

/// Pixels a row, and rows.
const SIDE: u32 = 1024;
/// Rays that a thread takes at once.
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
    let world = World::new(&scene)?;
    if !world.instances.is_empty() {
        return Err("instances have a tree of another kind".into());
    }
    let begun = Instant::now();
    let wide = world.wide();
    println!(
        "{} triangles and spheres, the tree for vectors made in {:.2} s",
        world.primitives.len(),
        begun.elapsed().as_secs_f64()
    );
    if wide.is_none() {
        println!("skipped: this processor has no vectors that are known here");
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
                from: NO_PRIMITIVE,
            }
        })
        .collect();
    let hits = time_nearest("primary", &world, wide, &primary);

    let light = Vec3::new(0.45, 0.6, 0.75) * world.surroundings.extent * 4.0;
    let (mut diffuse, mut shadow) = (Vec::new(), Vec::new());
    for ((number, ray), hit) in (0..).zip(&primary).zip(&hits) {
        if hit.primitive == NO_PRIMITIVE {
            continue;
        }
        let surface = surface_at(&world.primitives[hit.primitive as usize], ray, hit);
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
            from: hit.primitive,
        });
        let way = light - origin;
        if way.dot(normal) > 0.0 {
            shadow.push(ShadowRay {
                origin,
                distance: way.length(),
                direction: way.normalize(),
                from: hit.primitive,
                to: NO_PRIMITIVE,
                light: Vec3::ONE,
            });
        }
    }
    time_nearest("diffuse", &world, wide, &diffuse);
    time_occluded(&world, wide, &shadow);
    Ok(())
}

const SPHERE: &str = r#"(
    camera: (origin: (0, 2, 5), target: (0, 0, 0), fov: 40),
    materials: { "clay": Diffuse(albedo: (0.7, 0.5, 0.3)) },
    objects: [DisplacedSphere(
        rings: 500, segments: 500, amplitudes: (0.08, 0.03), material: "clay",
    )],
)"#;

/// The results of all rays, and prints how many a second.
fn time<R: Copy + Sync, F: Send>(
    name: &str,
    rays: &[R],
    trace: impl Fn(&[R]) -> Vec<F> + Sync,
) -> Vec<F> {
    let mut seconds = f64::INFINITY;
    let mut results = Vec::new();
    for _ in 0..7 {
        let begun = Instant::now();
        results = rays.par_chunks(TAKEN).flat_map_iter(&trace).collect();
        seconds = begun.elapsed().as_secs_f64().min(seconds);
    }
    println!(
        "{name:<24} {:>8.2} Mrays/s",
        rays.len() as f64 / seconds / 1e6
    );
    results
}

fn time_nearest(name: &str, world: &World, wide: Option<&Wide>, rays: &[Ray]) -> Vec<Hit> {
    let extent = world.surroundings.extent;
    if let Some(wide) = wide {
        time(name, rays, |rays| {
            let mut hits = vec![Hit::default(); rays.len()];
            let all = 0..rays.len();
            wide.each_nearest(&world.primitives, rays, all, |at, hit| hits[at] = hit);
            hits
        });
    }
    time(&format!("{name}, as the GPU"), rays, |rays| {
        let find = |ray| nearest(&world.nodes, &world.primitives, extent, ray);
        rays.iter().map(find).collect()
    })
}

fn time_occluded(world: &World, wide: Option<&Wide>, rays: &[ShadowRay]) {
    let extent = world.surroundings.extent;
    if let Some(wide) = wide {
        time("shadow", rays, |rays| {
            let mut blocked = vec![false; rays.len()];
            let all = 0..rays.len();
            wide.each_occluded(&world.primitives, rays, all, |at, is| blocked[at] = is);
            blocked
        });
    }
    time("shadow, as the GPU", rays, |rays| {
        let find = |ray| occluded(&world.nodes, &world.primitives, extent, ray);
        rays.iter().map(find).collect()
    });
}
