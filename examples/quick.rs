//! quick
use raysieve::{renderer::*, scene::Scene};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let mut scene = Scene::load(std::path::Path::new(&a[1])).unwrap_or_else(|e| panic!("{e}"));
    scene.size = (a[2].parse().unwrap(), a[2].parse().unwrap());
    scene.spp = a[3].parse().unwrap();
    if let Ok(b) = std::env::var("MB") { scene.max_bounces = b.parse().unwrap(); }
    let backend = match std::env::var("BK").as_deref() { Ok("cuda") => BackendChoice::Cuda(0), _ => BackendChoice::Cpu };
    let strategy = std::env::var("ST").ok().map_or(Default::default(), |s| s.parse().unwrap());
    let t = std::time::Instant::now();
    let mut r = Renderer::new(&scene, &Settings { backend, strategy, wave_size: std::env::var("WS").ok().map(|w| w.parse().unwrap()), threads: None }).unwrap_or_else(|e| panic!("{e}"));
    println!("{} set up in {:?}", r.backend_line(), t.elapsed());
    while r.advance().unwrap() {}
    let s = r.finish().unwrap();
    for b in &s.bounces { println!("{b:?}"); }
    println!("{:.3} Mpaths/s {:.3} Mrays/s {:.3} s rays/path {:.2} rejected {} {}", s.paths_per_second / 1e6, s.rays_per_second / 1e6, s.seconds, s.rays as f64 / s.paths as f64, s.rejected_samples, s.film_hash);
    let p = r.picture().unwrap();
    let img = image::Rgb32FImage::from_raw(p.width, p.height, p.pixels.iter().flat_map(|v| v.to_array()).collect()).unwrap();
    img.save(&a[4]).unwrap();
}
