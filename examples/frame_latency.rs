//! Times single frames of one sample per pixel, from the restart until the samples are on the film, and until the image
//! is in host memory.
//!
//! `cargo run --example frame_latency -- [SCENE] [WIDTHxHEIGHT] [BACKEND]`.

use std::{
    env,
    path::Path,
    time::{Duration, Instant},
};

use raysieve::{
    render::renderer::{Renderer, Settings},
    scene::Scene,
    stages::Stage,
};

/// Number of frames that are not counted, while kernels load and caches fill.
const WARM_UP: usize = 20;
/// Number of frames that are timed.
const FRAMES: usize = 200;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let path = arguments
        .first()
        .map_or("scenes/cornell.ron", String::as_str);
    let size = arguments.get(1).map_or("512x512", String::as_str);
    let (width, height) = size
        .split_once('x')
        .ok_or("expected a size as WIDTHxHEIGHT")?;
    let mut scene = Scene::load(Path::new(path))?;
    scene.set_size((width.parse()?, height.parse()?));
    scene.spp = 1;
    scene.check_settings()?;
    let backend = arguments.get(2).map_or("auto", String::as_str).parse()?;
    let settings = Settings {
        backend,
        ..Settings::default()
    };
    let mut renderer = Renderer::new(&scene, &settings)?;
    println!("{path}, {size}, {}", renderer.backend_line());
    let (mut on_film, mut shown) = (Vec::new(), Vec::new());
    for frame in 0..WARM_UP + FRAMES {
        renderer.restart()?;
        let start = Instant::now();
        while renderer.advance()? {}
        let traced = start.elapsed();
        renderer.picture()?;
        if frame >= WARM_UP {
            on_film.push(traced);
            shown.push(start.elapsed());
        }
    }
    for (what, times) in [("on the film", on_film), ("as an image", shown)] {
        println!("{what:<14} {}", quartiles(times));
    }
    let stages = Stage::OF_BOUNCE.map(|stage| format!("{:>9}", stage.label()));
    println!(
        "\nbounce     rays {}, ms of the last frame",
        stages.join(" ")
    );
    for bounce in renderer.stats().bounces {
        println!(
            "{:>6} {:>8} {}",
            bounce.bounce,
            bounce.rays,
            Stage::OF_BOUNCE
                .map(|stage| format!("{:>9.4}", bounce.time(stage)))
                .join(" ")
        );
    }
    Ok(())
}

/// Formats median, quartiles and minimum.
fn quartiles(mut times: Vec<Duration>) -> String {
    times.sort();
    let at = |part: usize| times[part * (times.len() - 1) / 4].as_secs_f64() * 1e3;
    format!(
        "median {:.3} ms, quartiles {:.3} to {:.3} ms, min {:.3} ms",
        at(2),
        at(1),
        at(3),
        at(0)
    )
}
