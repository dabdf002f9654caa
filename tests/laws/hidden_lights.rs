//! Lights that reach nothing do not add noise: light samples go to the lights that camera paths have found.

use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};
use raysieve::{math::luminance, scene::Scene};

use crate::common::{on_cpu, render, scene};

/// Number of renders with different seeds whose spread is the noise.
const RENDERS: u32 = 6;
/// Maximum noise relative to that without the hidden lights.
const MAX_NOISE: f64 = 1.3;

/// Returns a closed room with these lights and objects of a scene file, inside or outside.
fn room(lights: &str, objects: &str) -> Scene {
    scene(&format!(
        r#"(
            size: (32, 24), spp: 16, max_bounces: 16,
            camera: (origin: (0, 0.3, 2), target: (0, 0, 0), fov: 75),
            lights: [{lights}],
            materials: {{
                "wall": Diffuse(albedo: (0.8, 0.8, 0.8)),
                "panel": Emissive(radiance: (1, 1, 1)),
                "sign": Emissive(radiance: (500, 500, 500)),
            }},
            objects: [
                Box(center: (0, 0, 0), half_size: (2, 1.5, 2.5), rotate_y: 27, material: "wall"),
                {objects}
            ],
        )"#
    ))
}

/// Returns this many point lights in the room.
fn lamps(count: u32) -> String {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
    let mut lamp = |_| {
        let [x, y, z] = [1.2, 0.9, 1.5].map(|reach| random.random_range(-reach..reach));
        let intensity = random.random_range(0.02..0.1) / f64::from(count);
        format!(
            "Point(position: ({x}, {y}, {z}), intensity: ({intensity}, {intensity}, {intensity})),"
        )
    };
    (0..count).map(&mut lamp).collect()
}

/// Returns the mean over all pixels of standard deviation over mean, which is 0 for black pixels, and the mean luminance of each pixel.
fn noise(room: &Scene) -> (f64, Vec<f64>) {
    let pictures: Vec<Vec<f64>> = (1..=RENDERS)
        .map(|seed| {
            let scene = Scene {
                seed,
                ..room.clone()
            };
            let (picture, _) = render(&scene, &on_cpu());
            let pixels = picture.pixels.into_iter();
            pixels.map(|pixel| f64::from(luminance(pixel))).collect()
        })
        .collect();
    let count = f64::from(RENDERS);
    let pixels = pictures[0].len();
    let mut sum = 0.0;
    let means: Vec<f64> = (0..pixels)
        .map(|pixel| {
            let values = pictures.iter().map(|picture| picture[pixel]);
            let mean = values.clone().sum::<f64>() / count;
            let squares: f64 = values.map(|value| (value - mean) * (value - mean)).sum();
            if mean > 0.0 {
                sum += (squares / (count - 1.0)).sqrt() / mean;
            }
            mean
        })
        .collect();
    (sum / pixels as f64, means)
}

#[test]
fn hidden_lights_add_little_noise_to_a_room() {
    let sun = "Directional(direction: (1, -1, 0), irradiance: (20, 20, 20)),";
    let soft_sun = "Directional(direction: (1, -1, 0), irradiance: (20, 20, 20), angle: 0.53),";
    let floodlight = "Point(position: (5, 3, 0), intensity: (5000, 5000, 5000)),";
    let floodlights: String = (0..10)
        .map(|lamp| format!("Point(position: (5, 3, {lamp}), intensity: (5000, 5000, 5000)),"))
        .collect();
    let sign =
        r#"Quad(corner: (-2, 6, -2), edge_u: (4, 0, 0), edge_v: (0, 0, 4), material: "sign"),"#;
    let panel = r#"Quad(corner: (-0.15, 1.3, -0.15), edge_u: (0.3, 0, 0), edge_v: (0, 0, 0.3), material: "panel"),"#;
    let outside = [
        ("a sun", sun, ""),
        ("a sun with a disk", soft_sun, ""),
        ("sun and sky", "SunSky(elevation: 45),", ""),
        ("a floodlight", floodlight, ""),
        ("ten floodlights", &floodlights, ""),
        ("a sign", "", sign),
        (
            "all of them",
            &format!("{sun}{soft_sun}SunSky(elevation: 45),{floodlights}"),
            sign,
        ),
    ];
    for (inside, lights, objects) in [
        ("one lamp", &lamps(1), ""),
        ("8 lamps", &lamps(8), ""),
        ("16 lamps", &lamps(16), ""),
        ("1,000 lamps", &lamps(1000), ""),
        ("a panel", &String::new(), panel),
    ] {
        let (expected, means) = noise(&room(lights, objects));
        for (hidden, more_lights, more_objects) in outside {
            let (found, here) = noise(&room(
                &format!("{lights}{more_lights}"),
                &format!("{objects}{more_objects}"),
            ));
            let case = format!("{hidden} outside, {inside} inside");
            println!("{case}: {:.3} x the noise", found / expected);
            assert!(
                found <= MAX_NOISE * expected,
                "{case}: {found}, not {expected}"
            );
            // Their light does not get in: only noise tells the pictures apart.
            let ratios: Vec<f64> = here
                .iter()
                .zip(&means)
                .filter(|(_, b)| **b > 0.0)
                .map(|(a, b)| a / b - 1.0)
                .collect();
            let difference = ratios.iter().sum::<f64>() / ratios.len() as f64;
            let error =
                (found + expected) / f64::from(RENDERS).sqrt() / (ratios.len() as f64).sqrt();
            assert!(
                difference.abs() < 5.0 * error,
                "{case}: {difference} ± {error}"
            );
        }
    }
}
