//! Times the building of a scene's BVHs by number of threads: `cargo run --release --example tree_speed -- [SCENE |
//! TRIANGLES]`. The default is a sphere of ten million triangles.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    time::Instant,
};

use rayon::ThreadPoolBuilder;
use raysieve::{device::render_scene::RenderScene, scene::Scene};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let what = env::args().nth(1).unwrap_or_else(|| "1e7".to_owned());
    let folder = tempfile::tempdir()?;
    let path = match what.parse() {
        Ok(triangles) => sphere(folder.path(), triangles)?,
        Err(_) => PathBuf::from(what),
    };
    let scene = Scene::load(&path)?;
    let meshes = scene.meshes.iter().map(|mesh| mesh.triangles.len());
    let triangles = scene.triangles.len() + meshes.sum::<usize>();
    let millions = triangles as f64 / 1e6;
    println!("{triangles} triangles: threads, seconds, seconds per million");
    let cores = std::thread::available_parallelism()?.get();
    let mut threads = 1;
    while threads <= cores {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
        let start = Instant::now();
        let render_scene = pool.install(|| RenderScene::new(&scene))?;
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{threads:>4} {seconds:>8.2} {:>8.3}   {} nodes",
            seconds / millions,
            render_scene.nodes.len()
        );
        drop(render_scene);
        threads = if threads < cores {
            (2 * threads).min(cores)
        } else {
            cores + 1
        };
    }
    Ok(())
}

/// Writes a scene of about this many triangles and returns its path.
fn sphere(folder: &Path, triangles: f64) -> io::Result<PathBuf> {
    // Two triangles for each quad between the rings and segments.
    let side = (triangles / 2.0).sqrt().clamp(2.0, 1e4).ceil();
    let path = folder.join("sphere.ron");
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
    Ok(path)
}
