//! Times how long the tree over a scene takes to build, by number of threads:
//! `cargo run --release --example tree_speed -- [TRIANGLES]`, ten million if it is not said.

use std::{env, fs, time::Instant};

use rayon::ThreadPoolBuilder;
use raysieve::{scene::Scene, world::World};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let triangles = env::args()
        .nth(1)
        .map_or(Ok(1e7), |count| count.parse::<f64>())?;
    // Two triangles for each square between the rings and segments.
    let side = (triangles / 2.0).sqrt().clamp(2.0, 1e4).ceil();
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("sphere.ron");
    fs::write(
        &path,
        format!(
            r#"(
                camera: (origin: (0, 2, 5), target: (0, 0, 0), fov: 40),
                materials: {{ "clay": Diffuse(albedo: (0.7, 0.5, 0.3)) }},
                objects: [DisplacedSphere(
                    rings: {side}, segments: {side}, amplitudes: (0.08, 0.03), material: "clay",
                )],
            )"#
        ),
    )?;
    let scene = Scene::load(&path)?;
    let millions = scene.triangles.len() as f64 / 1e6;
    println!(
        "{} triangles: threads, seconds, seconds a million",
        scene.triangles.len()
    );
    let cores = std::thread::available_parallelism()?.get();
    let mut threads = 1;
    while threads <= cores {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
        let begun = Instant::now();
        let world = pool.install(|| World::new(&scene))?;
        let seconds = begun.elapsed().as_secs_f64();
        println!(
            "{threads:>4} {seconds:>8.2} {:>8.3}   {} nodes",
            seconds / millions,
            world.nodes.len()
        );
        drop(world);
        threads = if threads < cores {
            (2 * threads).min(cores)
        } else {
            cores + 1
        };
    }
    Ok(())
}
