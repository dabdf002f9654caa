//! What a right picture obeys, whoever made it: closed forms, conservation of energy, and the sums of the statistics.

#[path = "../common/mod.rs"]
mod common;

mod absorption;
mod counts;
mod energy;
mod furnace;
mod instances;
mod lamps;
mod opacity;
mod orthographic;
mod scale;
mod sides;
mod sights;
mod skies;
mod strategies;
mod tracks;

use common::{on_cpu, render, scene};
use glam::DVec3;
use raysieve::{film::SCALE, picture::Picture, scene::Scene};

/// Renders whose spread tells the error of their mean.
const BATCHES: u32 = 16;

/// A mean radiance, and the error that its samples let expect.
#[derive(Debug)]
struct Measured {
    mean: DVec3,
    error: DVec3,
}

/// A large plane of albedo (0.2, 0.5, 0.8) around the point that the camera looks at, and a lamp of radiance 1.
fn lit_plane(at: DVec3, lamp: &str) -> Scene {
    scene(&format!(
        r#"(
            size: (4, 4), spp: 256, max_bounces: 1,
            camera: (origin: ({}, 0.5, {}), target: ({}, 0, {}), fov: 0.01),
            materials: {{
                "plane": Diffuse(albedo: (0.2, 0.5, 0.8)),
                "lamp": Emissive(radiance: (1, 1, 1)),
            }},
            objects: [
                Quad(corner: (-50, 0, 50), edge_u: (100, 0, 0), edge_v: (0, 0, -100), material: "plane"),
                {lamp}
            ],
        )"#,
        at.x,
        at.z + 2.0,
        at.x,
        at.z
    ))
}

/// The mean over a picture, by renders with different seeds.
fn measure(scene: &Scene) -> Measured {
    let means: Vec<DVec3> = (0..BATCHES)
        .map(|seed| {
            mean(
                &render(
                    &Scene {
                        seed,
                        ..scene.clone()
                    },
                    &on_cpu(),
                )
                .0,
            )
        })
        .collect();
    let count = f64::from(BATCHES);
    let mean = means.iter().sum::<DVec3>() / count;
    let squares: DVec3 = means
        .iter()
        .map(|&each| (each - mean) * (each - mean))
        .sum();
    Measured {
        mean,
        error: (squares / (count - 1.0) / count).map(f64::sqrt),
    }
}

fn mean(picture: &Picture) -> DVec3 {
    picture
        .pixels
        .iter()
        .map(|pixel| pixel.as_dvec3())
        .sum::<DVec3>()
        / picture.pixels.len() as f64
}

/// Within five errors, which 16 batches miss once in some thousands of times; arithmetic in `f32` and the film's steps add
/// their own. And the error itself must be small, or nothing was shown.
fn expect(measured: &Measured, expected: DVec3, case: &str) {
    let tolerance = measured.error * 5.0 + expected * 2e-5 + 1.0 / f64::from(SCALE);
    let apart = (measured.mean - expected).abs();
    println!(
        "{case}: {} expected {expected}, error {}",
        measured.mean, measured.error
    );
    assert!(
        apart.cmple(tolerance).all(),
        "{case}: {measured:?}, expected {expected}"
    );
    assert!(
        measured.error.cmple(expected * 0.02).all(),
        "{case}: {measured:?} is too noisy"
    );
}
