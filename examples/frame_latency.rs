//! Times single frames, one sample a pixel, from "begin again" to the samples on the film and to the picture in this
//! machine's memory: `cargo run --example frame_latency -- [SCENE] [WIDTHxHEIGHT] [BACKEND]`.

use std::{
    env,
    path::Path,
    time::{Duration, Instant},
};

use raysieve::{
    renderer::{Renderer, Settings},
    scene::Scene,
};

/// Frames whose times are not counted: kernels load, caches fill.
const WARM_UP: usize = 20;
const FRAMES: usize = 200;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let path = arguments
        .first()
        .map_or("scenes/cornell.ron", String::as_str);
    let size = arguments.get(1).map_or("512x512", String::as_str);
    let (width, height) = size.split_once('x').ok_or("a size is WIDTHxHEIGHT")?;
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
        let begun = Instant::now();
        while renderer.advance()? {}
        let traced = begun.elapsed();
        renderer.picture()?;
        if frame >= WARM_UP {
            on_film.push(traced);
            shown.push(begun.elapsed());
        }
    }
    for (what, times) in [("on the film", on_film), ("as a picture", shown)] {
        println!("{what:<14} {}", quartiles(times));
    }
    println!("\nbounce     rays   intersect   sieve   shade   shadow, ms of the last frame");
    for bounce in renderer.stats().bounces {
        println!(
            "{:>6} {:>8} {:>11.4} {:>7.4} {:>7.4} {:>8.4}",
            bounce.bounce,
            bounce.rays,
            bounce.intersect_ms,
            bounce.compact_ms,
            bounce.shade_ms,
            bounce.shadow_ms
        );
    }
    Ok(())
}

fn quartiles(mut times: Vec<Duration>) -> String {
    times.sort();
    let at = |part: usize| times[part * (times.len() - 1) / 4].as_secs_f64() * 1e3;
    format!(
        "median {:.3} ms, half of all within {:.3} to {:.3} ms, least {:.3} ms",
        at(2),
        at(1),
        at(3),
        at(0)
    )
}
