//! Physical laws that any correct image obeys: closed-form solutions, conservation of energy, and sums of the
//! statistics.

#[path = "../common/mod.rs"]
mod common;

mod absorption;
mod blends;
mod boundaries;
mod counts;
mod empty_views;
mod energy;
mod far;
mod fog;
mod extended;
mod furnace;
mod hidden_lights;
mod instances;
mod nested;
mod area_lights;
mod opacity;
mod orthographic;
mod scale;
mod sides;
mod debug_views;
mod skies;
mod strategies;
mod path_records;
mod roulette;
mod white;
mod tints;

use common::{on_cpu, render, scene};
use glam::DVec3;
use raysieve::{film::SCALE, film::picture::Picture, scene::Scene};

/// Number of renders whose spread gives the standard error of their mean.
const BATCHES: u32 = 16;

/// A mean radiance and its standard error.
#[derive(Debug)]
struct Measured {
    mean: DVec3,
    error: DVec3,
}

/// Returns a large plane of albedo (0.2, 0.5, 0.8), seen by the camera around `at`, and a lamp of radiance 1.
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

/// Returns the mean radiance over the image, from [`BATCHES`] renders with different seeds.
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
        .map(|&value| (value - mean) * (value - mean))
        .sum();
    Measured {
        mean,
        error: (squares / (count - 1.0) / count).map(f64::sqrt),
    }
}

/// Returns the mean over all pixels, per channel.
fn mean(picture: &Picture) -> DVec3 {
    picture
        .pixels
        .iter()
        .map(|pixel| pixel.as_dvec3())
        .sum::<DVec3>()
        / picture.pixels.len() as f64
}

/// Asserts that a measured mean is within five standard errors of `expected`, plus an allowance for rounding.
///
/// With 16 batches a correct mean fails once in some thousands of runs. The standard error must be at most 2 % of
/// `expected`, because a noisy measurement proves nothing.
fn expect(measured: &Measured, expected: DVec3, case: &str) {
    let tolerance = measured.error * 5.0 + expected * 2e-5 + 1.0 / f64::from(SCALE);
    let difference = (measured.mean - expected).abs();
    println!(
        "{case}: {} expected {expected}, error {}",
        measured.mean, measured.error
    );
    assert!(
        difference.cmple(tolerance).all(),
        "{case}: {measured:?}, expected {expected}"
    );
    assert!(
        measured.error.cmple(expected * 0.02).all(),
        "{case}: {measured:?} is too noisy"
    );
}
