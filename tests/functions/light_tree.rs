//! Tests of the light tree: its probabilities sum to 1, match the sampling, and favour the lights that matter.

use glam::{DVec3, Vec3};
use raysieve::{
    device::render_scene::RenderScene,
    lights::light_tree::{
        LEAF, LightBounds, NO_LIGHT, PROBABILITY_UNITS, choose_from_tree, light_probability,
        light_tree,
    },
    scene::Scene,
};

use crate::common::{Random, scene};

/// Returns small lamps with random orientations in a box of 20 m.
fn lamps(count: usize, random: &mut Random) -> Vec<LightBounds> {
    (0..count)
        .map(|_| {
            let mut vector = || {
                let [x, y, z] = [random.signed(), random.signed(), random.signed()];
                DVec3::new(x.into(), y.into(), z.into())
            };
            let (low, axis) = (vector() * 10.0, vector().normalize_or(DVec3::Y));
            let size = vector().abs() * 0.1;
            LightBounds {
                low,
                high: low + size,
                axis,
                angle: 0.0,
                intensity: f64::from(random.unit()) + 0.01,
            }
        })
        .collect()
}

fn point(random: &mut Random) -> Vec3 {
    Vec3::new(random.signed(), random.signed(), random.signed()) * 12.0
}

#[test]
fn all_probabilities_sum_to_one() {
    let mut random = Random::new(41);
    for count in [2, 3, 50, 1000] {
        let lights = lamps(count, &mut random);
        let (pairs, trails) = light_tree(&lights);
        assert_eq!((pairs.len(), trails.len()), (count - 1, count));
        for _ in 0..20 {
            let at = point(&mut random);
            let widths = trails
                .iter()
                .map(|&trail| u64::from(light_probability(&pairs, at, trail, PROBABILITY_UNITS)));
            let sum: u64 = widths.sum();
            // A node without any light for this point loses its share of the probability.
            assert!(sum <= u64::from(PROBABILITY_UNITS), "{count}: {sum}");
            let mut lost = 0_u64;
            for number in (0..PROBABILITY_UNITS).step_by(1 << 17) {
                let chosen = choose_from_tree(&pairs, at, number, PROBABILITY_UNITS);
                lost += u64::from(chosen.light == NO_LIGHT);
            }
            let kept = sum as f64 / f64::from(PROBABILITY_UNITS) + lost as f64 / (1 << 14) as f64;
            assert!((kept - 1.0).abs() < 0.02, "{count}: {kept}");
        }
    }
}

/// Checks a tree of one light: it is chosen wherever it gives light.
#[test]
fn a_single_light_has_all_probability() {
    let mut random = Random::new(45);
    for _ in 0..50 {
        let lights = lamps(1, &mut random);
        let (pairs, trails) = light_tree(&lights);
        assert_eq!((pairs.len(), &trails[..]), (1, &[0][..]));
        for _ in 0..50 {
            let at = point(&mut random);
            let width = light_probability(&pairs, at, 0, PROBABILITY_UNITS);
            let faces = (at.as_dvec3() - lights[0].low).dot(lights[0].axis) > 0.2;
            assert!(
                width == PROBABILITY_UNITS || (width == 0 && !faces),
                "{width}"
            );
            for number in [0, PROBABILITY_UNITS / 2, PROBABILITY_UNITS - 1] {
                let chosen = choose_from_tree(&pairs, at, number, PROBABILITY_UNITS);
                let expected = if width == 0 { NO_LIGHT } else { 0 };
                assert_eq!((chosen.light, chosen.width), (expected, width));
            }
        }
    }
}

/// Compares exactly: a light's probability is the fraction of the random numbers that select it.
#[test]
fn a_lights_probability_is_its_sampling_frequency() {
    const COUNT: u32 = 1 << 18;
    let mut random = Random::new(42);
    let lights = lamps(200, &mut random);
    let (pairs, trails) = light_tree(&lights);
    for _ in 0..4 {
        let at = point(&mut random);
        let mut drawn = vec![0_u32; lights.len()];
        let step = PROBABILITY_UNITS / COUNT;
        for number in 0..COUNT {
            let chosen = choose_from_tree(&pairs, at, number * step, PROBABILITY_UNITS);
            if chosen.light == NO_LIGHT {
                continue;
            }
            drawn[chosen.light as usize] += 1;
            let width =
                light_probability(&pairs, at, trails[chosen.light as usize], PROBABILITY_UNITS);
            assert_eq!(chosen.width, width);
        }
        for (light, &count) in drawn.iter().enumerate() {
            let expected = f64::from(light_probability(
                &pairs,
                at,
                trails[light],
                PROBABILITY_UNITS,
            )) / f64::from(step);
            assert!(
                (f64::from(count) - expected).abs() < 1.01,
                "light {light}: {count}, {expected}"
            );
        }
    }
}

/// Checks that probabilities are above 0 wherever a light gives light, and 0 at points that it faces away from.
#[test]
fn every_light_that_contributes_can_be_sampled() {
    let mut random = Random::new(43);
    let lights = lamps(500, &mut random);
    let (pairs, trails) = light_tree(&lights);
    let mut away = 0;
    for _ in 0..200 {
        let at = point(&mut random);
        for (light, &trail) in lights.iter().zip(&trails) {
            let middle = (light.low + light.high) / 2.0;
            let to_point = at.as_dvec3() - middle;
            let width = light_probability(&pairs, at, trail, PROBABILITY_UNITS);
            if to_point.dot(light.axis) > 0.0 {
                assert!(width > 0, "{light:?} lights {at} but is never sampled");
            }
            away += u32::from(width == 0);
        }
    }
    assert!(away > 10_000, "only {away} lights have probability 0");
}

/// Compares the variance with that of sampling by power, on a floor under many lamps.
#[test]
fn sampling_by_the_tree_reduces_variance() {
    let mut random = Random::new(44);
    for side in [3, 6, 40] {
        let count = side * side;
        let (mut by_tree, mut by_power) = (0.0, 0.0);
        for _ in 0..200 {
            let lights: Vec<LightBounds> = (0..count)
                .map(|lamp| {
                    let place = |step: i32| (f64::from(step) + 0.5) / f64::from(side) * 20.0 - 10.0;
                    let height = 0.3 + 1.7 * f64::from(random.unit());
                    let low = DVec3::new(place(lamp % side), height, place(lamp / side));
                    LightBounds {
                        low,
                        high: low + DVec3::new(1.0, 0.0, 1.0) / f64::from(side),
                        axis: DVec3::NEG_Y,
                        angle: 0.0,
                        intensity: 1.0,
                    }
                })
                .collect();
            let (pairs, trails) = light_tree(&lights);
            let at = Vec3::new(10.0 * random.signed(), 0.0, 10.0 * random.signed());
            let sends = |light: &LightBounds| {
                let to_light = (light.low + light.high) / 2.0 - at.as_dvec3();
                to_light.y.powi(2) / to_light.length_squared().powi(2)
            };
            let sum: f64 = lights.iter().map(sends).sum();
            let variance = |chance: &dyn Fn(usize) -> f64| -> f64 {
                let terms = lights.iter().enumerate();
                let squares = terms.map(|(index, light)| sends(light).powi(2) / chance(index));
                squares.sum::<f64>() / (sum * sum) - 1.0
            };
            by_tree += variance(&|index| {
                let width = light_probability(&pairs, at, trails[index], PROBABILITY_UNITS);
                f64::from(width) / f64::from(PROBABILITY_UNITS)
            }) / 200.0;
            by_power += variance(&|_| 1.0 / f64::from(count)) / 200.0;
        }
        println!(
            "{count} lamps: relative variance {by_tree:.2} by the tree, {by_power:.2} by power"
        );
        assert!(by_tree * 4.0 < by_power, "{count}: {by_tree} {by_power}");
    }
}

/// Checks that trees of lights at one point, or in rows without a good split, are not too deep for the bits of a
/// trail.
#[test]
fn no_path_to_a_light_is_too_long() {
    let light = |x: f64| LightBounds {
        low: DVec3::X * x,
        high: DVec3::X * x,
        axis: DVec3::Y,
        angle: std::f64::consts::PI,
        intensity: 1.0,
    };
    let together: Vec<LightBounds> = (0..3000).map(|_| light(1.0)).collect();
    let powers: Vec<LightBounds> = (0..3000)
        .map(|step| light(2.0_f64.powi(step / 50)))
        .collect();
    for lights in [together, powers] {
        let (pairs, trails) = light_tree(&lights);
        let mut seen = vec![false; lights.len()];
        for &trail in &trails {
            let (mut link, mut way, mut levels) = (0, trail, 0);
            while link < LEAF {
                link = pairs[link as usize].node(way as usize & 1).link;
                (way, levels) = (way >> 1, levels + 1);
            }
            assert!(levels <= 32, "{levels} levels");
            seen[(link - LEAF) as usize] = true;
        }
        assert!(seen.into_iter().all(|seen| seen));
    }
}

/// Checks that the tree contains emissive surfaces, point and spot lights, but no infinitely distant lights.
#[test]
fn many_lights_of_all_kinds_form_a_tree() {
    let points: String = (0..40)
        .map(|step| format!("Point(position: ({step}, 3, 0), intensity: (1, 1, 1)), "))
        .collect();
    let scene: Scene = scene(&format!(
        r#"(
            camera: (origin: (0, 0, 5), target: (0, 0, 0), fov: 40),
            lights: [
                {points}
                Spot(position: (0, 2, 0), direction: (0, -1, 0), intensity: (1, 1, 1), outer: 20),
                Directional(direction: (0, -1, 0), irradiance: (1, 1, 1)),
                Directional(direction: (1, -1, 0), irradiance: (2, 2, 2), angle: 1),
            ],
            materials: {{ "m": Diffuse(albedo: (0.5, 0.5, 0.5)), "lamp": Emissive(radiance: (1, 1, 1)) }},
            objects: [
                Sphere(center: (0, 0, 0), radius: 1, material: "m"),
                Sphere(center: (3, 0, 0), radius: 1, material: "lamp"),
            ],
        )"#
    ));
    let render_scene = RenderScene::new(&scene).unwrap();
    let light_params = render_scene.light_params;
    assert_eq!(
        (light_params.tree_lights, light_params.light_count),
        (42, 44)
    );
    let of_tree = f64::from(light_params.tree_share) / f64::from(PROBABILITY_UNITS);
    let rest: f64 = render_scene
        .lamps
        .iter()
        .filter(|lamp| lamp.kind >= 2)
        .map(|lamp| f64::from(lamp.chance))
        .sum();
    assert!((of_tree + rest - 1.0).abs() < 1e-6, "{of_tree} {rest}");
    let places: Vec<u32> = render_scene
        .light_places
        .iter()
        .copied()
        .filter(|&place| place != NO_LIGHT)
        .collect();
    assert_eq!(places, [0]);
}

/// Checks all random numbers, because a single exception would make one path in 2³¹ sample a missing light.
#[test]
fn every_random_number_selects_a_light() {
    let mut random = Random::new(43);
    for count in 8..60 {
        let points: String = (0..count)
            .map(|step| {
                let intensity = 0.1 + 30.0 * random.unit();
                format!("Point(position: ({step}, 3, 0), intensity: ({intensity}, 1, 1)), ")
            })
            .collect();
        let scene: Scene = scene(&format!(
            r#"(
                camera: (origin: (0, 0, 5), target: (0, 0, 0), fov: 40),
                lights: [{points}],
                materials: {{ "m": Diffuse(albedo: (0.5, 0.5, 0.5)) }},
                objects: [Sphere(center: (0, 0, 0), radius: 1, material: "m")],
            )"#
        ));
        let light_params = RenderScene::new(&scene).unwrap().light_params;
        assert_eq!(light_params.light_count, count);
        assert_eq!(light_params.tree_lights, count);
        assert_eq!(light_params.tree_share, PROBABILITY_UNITS, "{count} lights");
    }
}
