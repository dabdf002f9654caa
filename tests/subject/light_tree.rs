//! The tree over many lights: its chances add up, are what is drawn, and go where light comes from.

use glam::{DVec3, Vec3};
use raysieve::{
    light_tree::{Bounded, LEAF, NO_LIGHT, WHOLE, light_of_number, light_tree, width_of_light},
    scene::Scene,
    world::World,
};

use crate::common::{Random, scene};

/// Small lamps in a box of 20 m, that face anywhere.
fn lamps(count: usize, random: &mut Random) -> Vec<Bounded> {
    (0..count)
        .map(|_| {
            let mut vector = || {
                let [x, y, z] = [random.signed(), random.signed(), random.signed()];
                DVec3::new(x.into(), y.into(), z.into())
            };
            let (low, axis) = (vector() * 10.0, vector().normalize_or(DVec3::Y));
            let size = vector().abs() * 0.1;
            Bounded {
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
fn all_chances_add_up() {
    let mut random = Random(41);
    for count in [1, 2, 3, 50, 1000] {
        let lights = lamps(count, &mut random);
        let (nodes, trails) = light_tree(&lights);
        assert_eq!((nodes.len(), trails.len()), (2 * count - 1, count));
        for _ in 0..20 {
            let at = point(&mut random);
            let widths = trails
                .iter()
                .map(|&trail| u64::from(width_of_light(&nodes, at, trail, WHOLE)));
            let sum: u64 = widths.sum();
            // Where no light of a part shines, its share is nobody's.
            assert!(sum <= u64::from(WHOLE), "{count}: {sum}");
            let mut lost = 0_u64;
            for number in (0..WHOLE).step_by(1 << 17) {
                let chosen = light_of_number(&nodes, at, number, WHOLE);
                lost += u64::from(chosen.light == NO_LIGHT);
            }
            let kept = sum as f64 / f64::from(WHOLE) + lost as f64 / (1 << 14) as f64;
            assert!((kept - 1.0).abs() < 0.02, "{count}: {kept}");
        }
    }
}

/// Exactly: a light's width is how many numbers choose it.
#[test]
fn a_light_has_the_chance_with_which_it_is_drawn() {
    const COUNT: u32 = 1 << 18;
    let mut random = Random(42);
    let lights = lamps(200, &mut random);
    let (nodes, trails) = light_tree(&lights);
    for _ in 0..4 {
        let at = point(&mut random);
        let mut drawn = vec![0_u32; lights.len()];
        let step = WHOLE / COUNT;
        for number in 0..COUNT {
            let chosen = light_of_number(&nodes, at, number * step, WHOLE);
            if chosen.light == NO_LIGHT {
                continue;
            }
            drawn[chosen.light as usize] += 1;
            let width = width_of_light(&nodes, at, trails[chosen.light as usize], WHOLE);
            assert_eq!(chosen.width, width);
        }
        for (light, &count) in drawn.iter().enumerate() {
            let expected =
                f64::from(width_of_light(&nodes, at, trails[light], WHOLE)) / f64::from(step);
            assert!(
                (f64::from(count) - expected).abs() < 1.01,
                "light {light}: {count}, {expected}"
            );
        }
    }
}

/// A chance where there is light, and none on what faces away.
#[test]
fn what_shines_has_a_chance() {
    let mut random = Random(43);
    let lights = lamps(500, &mut random);
    let (nodes, trails) = light_tree(&lights);
    let mut away = 0;
    for _ in 0..200 {
        let at = point(&mut random);
        for (light, &trail) in lights.iter().zip(&trails) {
            let middle = (light.low + light.high) / 2.0;
            let to_point = at.as_dvec3() - middle;
            let width = width_of_light(&nodes, at, trail, WHOLE);
            if to_point.dot(light.axis) > 0.0 {
                assert!(width > 0, "{light:?} shines on {at}");
            }
            away += u32::from(width == 0);
        }
    }
    assert!(away > 10_000, "only {away} are known to be dark");
}

/// Over a floor, a sample of one lamp says much more of all of them if it is drawn by the tree than by power.
#[test]
fn near_lights_are_preferred() {
    let mut random = Random(44);
    for side in [3, 6, 40] {
        let count = side * side;
        let (mut by_tree, mut by_power) = (0.0, 0.0);
        for _ in 0..200 {
            let lights: Vec<Bounded> = (0..count)
                .map(|lamp| {
                    let place = |step: i32| (f64::from(step) + 0.5) / f64::from(side) * 20.0 - 10.0;
                    let height = 0.3 + 1.7 * f64::from(random.unit());
                    let low = DVec3::new(place(lamp % side), height, place(lamp / side));
                    Bounded {
                        low,
                        high: low + DVec3::new(1.0, 0.0, 1.0) / f64::from(side),
                        axis: DVec3::NEG_Y,
                        angle: 0.0,
                        intensity: 1.0,
                    }
                })
                .collect();
            let (nodes, trails) = light_tree(&lights);
            let at = Vec3::new(10.0 * random.signed(), 0.0, 10.0 * random.signed());
            let sends = |light: &Bounded| {
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
                let width = width_of_light(&nodes, at, trails[index], WHOLE);
                f64::from(width) / f64::from(WHOLE)
            }) / 200.0;
            by_power += variance(&|_| 1.0 / f64::from(count)) / 200.0;
        }
        println!(
            "{count} lamps: relative variance {by_tree:.2} by the tree, {by_power:.2} by power"
        );
        assert!(by_tree * 4.0 < by_power, "{count}: {by_tree} {by_power}");
    }
}

/// Lights at one place, and rows of them that no split parts well: the way down stays short enough for a trail.
#[test]
fn no_way_down_is_too_long() {
    let light = |x: f64| Bounded {
        low: DVec3::X * x,
        high: DVec3::X * x,
        axis: DVec3::Y,
        angle: std::f64::consts::PI,
        intensity: 1.0,
    };
    let together: Vec<Bounded> = (0..3000).map(|_| light(1.0)).collect();
    let powers: Vec<Bounded> = (0..3000)
        .map(|step| light(2.0_f64.powi(step / 50)))
        .collect();
    for lights in [together, powers] {
        let (nodes, trails) = light_tree(&lights);
        let mut seen = vec![false; lights.len()];
        for &trail in &trails {
            let (mut node, mut way, mut levels) = (0, trail, 0);
            while nodes[node].link < LEAF {
                node = (nodes[node].link + (way & 1)) as usize;
                (way, levels) = (way >> 1, levels + 1);
            }
            assert!(levels <= 32, "{levels} levels");
            seen[(nodes[node].link - LEAF) as usize] = true;
        }
        assert!(seen.into_iter().all(|seen| seen));
    }
}

/// Surfaces, points and spots among them, and what is infinitely far beside them.
#[test]
fn many_lights_of_all_kinds_become_a_tree() {
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
    let world = World::new(&scene).unwrap();
    let surroundings = world.surroundings;
    assert_eq!(
        (surroundings.tree_lights, surroundings.light_count),
        (42, 44)
    );
    let of_tree = f64::from(surroundings.tree_share) / f64::from(WHOLE);
    let rest: f64 = world
        .lamps
        .iter()
        .filter(|lamp| lamp.kind >= 2)
        .map(|lamp| f64::from(lamp.chance))
        .sum();
    assert!((of_tree + rest - 1.0).abs() < 1e-6, "{of_tree} {rest}");
    let placed: Vec<u32> = world
        .light_places
        .iter()
        .copied()
        .filter(|&place| place != NO_LIGHT)
        .collect();
    assert_eq!(placed, [0]);
}

/// One number that chose none of them would be one path in 2³¹ that looks for a light where there is none.
#[test]
fn a_tree_of_all_lights_gets_every_number() {
    let mut random = Random(43);
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
        let surroundings = World::new(&scene).unwrap().surroundings;
        assert_eq!(surroundings.light_count, count);
        assert_eq!(surroundings.tree_lights, count);
        assert_eq!(surroundings.tree_share, WHOLE, "{count} lights");
    }
}
