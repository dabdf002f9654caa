//! Renders a scene or model from all sides: `cargo run --example turntable -- scenes/mesh.ron 8` writes
//! `turntable_0.png` and so on. The trees are built once.

use std::{env, path::PathBuf, time::Instant};

use raysieve::{Error, Renderer, Scene, Settings};

fn main() -> Result<(), Error> {
    let mut arguments = env::args().skip(1);
    let path = PathBuf::from(arguments.next().unwrap_or("scenes/mesh.ron".to_owned()));
    let views: u32 = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(8);
    let mut scene = Scene::load(&path)?;
    scene.set_size((320, 240));
    let begun = Instant::now();
    let mut renderer = Renderer::new(&scene, &Settings::default())?;
    eprintln!("prepared in {:.2} s", begun.elapsed().as_secs_f64());
    for view in 0..views {
        let degrees = 360.0 * f64::from(view) / f64::from(views);
        renderer.set_camera(scene.camera.turned(degrees))?;
        let begun = Instant::now();
        renderer.render_to(16, |_| {})?;
        eprintln!("view {view} in {:.2} s", begun.elapsed().as_secs_f64());
        renderer.save(format!("turntable_{view}.png"))?;
    }
    Ok(())
}
