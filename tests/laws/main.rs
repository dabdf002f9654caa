//! What a right picture obeys, whoever made it: closed forms, conservation of energy, and the sums of the statistics.

mod common;

use std::f64::consts::PI;

use common::{on_cpu, render, scene, scenes, sized};
use glam::{DVec3, Vec3};
use raysieve::{film::SCALE, picture::Picture, scene::Scene, stats::Stats};

/// Renders whose spread tells the error of their mean.
const BATCHES: u32 = 16;

/// A mean radiance, and the error that its samples let expect.
#[derive(Debug)]
struct Measured {
    mean: DVec3,
    error: DVec3,
}

#[test]
fn a_white_sphere_in_a_white_furnace_is_invisible() {
    for material in [
        "Diffuse(albedo: (1, 1, 1))",
        "Mirror(reflectance: (1, 1, 1))",
    ] {
        let (picture, _) = render(&furnace(material), &on_cpu());
        for (index, pixel) in picture.pixels.iter().enumerate() {
            assert!(
                (*pixel - Vec3::ONE).abs().max_element() < 1e-5,
                "{material}: pixel {index} is {pixel}"
            );
        }
    }
}

/// Rays are caught inside for long, and roulette makes their light noisy: most at the rim, where they are caught longest.
#[test]
fn a_glass_sphere_in_a_white_furnace_is_invisible() {
    let (picture, _) = render(&furnace("Dielectric(ior: 1.5)"), &on_cpu());
    let mean = mean(&picture);
    assert!(
        (mean - DVec3::ONE).abs().max_element() < 1e-3,
        "the mean is {mean}"
    );
    let close = |pixel: &&Vec3| (**pixel - Vec3::ONE).abs().max_element() < 0.01;
    let share = picture.pixels.iter().filter(close).count() as f64 / picture.pixels.len() as f64;
    assert!(share > 0.99, "{share} of the pixels are 1 to 1 %");
}

#[test]
fn an_absorbing_sphere_in_a_furnace_shows_its_albedo() {
    let (picture, _) = render(&furnace("Diffuse(albedo: (0.25, 0.5, 0.75))"), &on_cpu());
    let middle = picture.pixels[(picture.pixels.len() + picture.width as usize) / 2];
    assert!(
        (middle - Vec3::new(0.25, 0.5, 0.75)).abs().max_element() < 1e-5,
        "{middle}"
    );
}

/// Where everything shines with L and reflects a, everything is as bright as L (1 + a + a² + ...).
#[test]
fn a_shining_room_is_as_bright_as_its_geometric_series() {
    let albedo = 0.6_f64;
    for bounces in [0, 1, 2, 8] {
        let walls =
            format!("Emissive(radiance: (0.5, 1, 2), albedo: ({albedo}, {albedo}, {albedo}))");
        let room = scene(&format!(
            r#"(
                size: (16, 16), spp: 16, max_bounces: {bounces},
                camera: (origin: (0.3, 0.2, 0.4), target: (-1, -0.5, -1), fov: 90),
                materials: {{ "wall": {walls} }},
                objects: [{}],
            )"#,
            inside_of_a_cube("wall")
        ));
        let series: f64 = (0..=bounces).map(|bounce| albedo.powi(bounce)).sum();
        expect(
            &measure(&room),
            DVec3::new(0.5, 1.0, 2.0) * series,
            &format!("{bounces} bounces"),
        );
    }
}

/// No light comes from nowhere: the lamp's radiance over one minus the albedo is the most that a closed room can show.
#[test]
fn a_closed_room_keeps_within_its_lamp() {
    let room = scene(&format!(
        r#"(
            size: (32, 32), spp: 64, max_bounces: 200,
            camera: (origin: (0, 0, 0.9), target: (0, 0, 0), fov: 90),
            materials: {{
                "wall": Diffuse(albedo: (0.9, 0.9, 0.9)),
                "lamp": Emissive(radiance: (4, 4, 4)),
            }},
            objects: [
                {}
                Quad(corner: (-0.5, 0.99, -0.5), edge_u: (1, 0, 0), edge_v: (0, 0, 1), material: "lamp"),
            ],
        )"#,
        inside_of_a_cube("wall")
    ));
    let (picture, stats) = render(&room, &on_cpu());
    assert_eq!(stats.rejected_samples, 0);
    assert!(picture.pixels.iter().all(|pixel| pixel.is_finite()));
    let mean = mean(&picture);
    assert!(
        mean.min_element() > 0.0 && mean.max_element() < 4.0 / (1.0 - 0.9),
        "{mean}"
    );
}

/// Lambert's formula for the irradiance from a polygon.
#[test]
fn a_quad_lamp_lights_a_plane_by_its_form_factor() {
    let corners = [
        (-0.5, 1.0, -0.3),
        (0.7, 1.0, -0.3),
        (0.7, 1.0, 0.9),
        (-0.5, 1.0, 0.9),
    ]
    .map(DVec3::from);
    let lamp = r#"Quad(corner: (-0.5, 1, -0.3), edge_u: (1.2, 0, 0), edge_v: (0, 0, 1.2), material: "lamp")"#;
    for point in [(0.1, 0.3), (0.0, 0.0), (1.5, 0.0), (-3.0, 4.0)] {
        let at = DVec3::new(point.0, 0.0, point.1);
        let irradiance = polygon_irradiance(&corners.map(|corner| corner - at));
        expect(
            &measure(&lit_plane(at, lamp)),
            lit(irradiance),
            &format!("the quad over {point:?}"),
        );
    }
}

/// A sphere above the horizon lights like the point in its middle.
#[test]
fn a_sphere_lamp_lights_a_plane_by_its_form_factor() {
    let center = DVec3::new(0.2, 1.0, -0.1);
    for radius in [0.001, 0.3, 0.95] {
        for point in [(0.2, -0.1), (1.0, 0.5), (-2.0, 2.0)] {
            let at = DVec3::new(point.0, 0.0, point.1);
            let to_center = center - at;
            let distance = to_center.length();
            let irradiance = PI * (radius / distance).powi(2) * to_center.y / distance;
            let lamp =
                format!(r#"Sphere(center: (0.2, 1, -0.1), radius: {radius}, material: "lamp")"#);
            let case = format!("the sphere of {radius} over {point:?}");
            expect(&measure(&lit_plane(at, &lamp)), lit(irradiance), &case);
        }
    }
}

#[test]
fn a_plane_under_the_sky_shows_albedo_times_sky() {
    let plane = Scene {
        sky: Vec3::new(0.5, 1.0, 4.0),
        ..lit_plane(DVec3::ZERO, "")
    };
    let (picture, _) = render(&plane, &on_cpu());
    let expected = Vec3::new(0.5, 1.0, 4.0) * Vec3::new(0.2, 0.5, 0.8);
    for pixel in &picture.pixels {
        assert!((*pixel - expected).abs().max_element() < 1e-5, "{pixel}");
    }
}

/// A hole in the ceiling under a sky is a lamp: but the lamp is sampled, and the sky is only ever met.
#[test]
fn sampled_light_and_met_light_are_as_bright() {
    for (half, spp) in [(0.1, 64), (0.5, 16), (0.95, 16)] {
        for bounces in [1, 3] {
            let room = |sky: f32, lamp: &str| {
                let walls = inside_of_a_cube_with_a_hole("wall", half);
                scene(&format!(
                    r#"(
                        size: (24, 24), spp: {spp}, max_bounces: {bounces}, sky: ({sky}, {sky}, {sky}),
                        camera: (origin: (0, 0.5, 0.9), target: (0, -1, -0.5), fov: 70),
                        materials: {{
                            "wall": Diffuse(albedo: (0.3, 0.6, 0.9)),
                            "lamp": Emissive(radiance: (3, 3, 3)),
                        }},
                        objects: [{walls} {lamp}],
                    )"#
                ))
            };
            let full = 2.0 * half;
            let quad = format!(
                r#"Quad(corner: (-{half}, 1, -{half}), edge_u: ({full}, 0, 0), edge_v: (0, 0, {full}), material: "lamp")"#
            );
            let (met, sampled) = (measure(&room(3.0, "")), measure(&room(0.0, &quad)));
            let error = (met.error * met.error + sampled.error * sampled.error).map(f64::sqrt);
            let z = (met.mean - sampled.mean) / error;
            assert!(
                z.abs().max_element() < 4.0,
                "{half}, {bounces} bounces: met {met:?}, sampled {sampled:?}"
            );
            // The light sample is worth its ray where the lamp is small.
            assert!(
                half > 0.2 || sampled.error.max_element() < 0.5 * met.error.max_element(),
                "{met:?} {sampled:?}"
            );
        }
    }
}

#[test]
fn what_shines_is_seen_exactly() {
    let seen = |objects: &str| {
        let scene = scene(&format!(
            r#"(
                size: (9, 7), spp: 5, max_bounces: 0, sky: (0.1, 0.2, 0.3),
                camera: (origin: (0, 0, 3), target: (0, 0, 0), fov: 30),
                materials: {{
                    "lamp": Emissive(radiance: (0.7, 1.3, 1000.1), albedo: (1, 1, 1)),
                    "white": Diffuse(albedo: (1, 1, 1)),
                }},
                objects: [{objects}],
            )"#
        ));
        render(&scene, &on_cpu()).0.pixels
    };
    let all = |radiance: Vec3| vec![radiance; 63];
    let quad = |material: &str, corner: &str, u: &str| {
        format!(
            r#"Quad(corner: ({corner}), edge_u: ({u}), edge_v: (0, 20, 0), material: "{material}"),"#
        )
    };
    let (front, back) = (("-10, -10, 0", "20, 0, 0"), ("10, -10, 0", "-20, 0, 0"));
    assert_eq!(
        seen(&quad("lamp", front.0, front.1)),
        all(Vec3::new(0.7, 1.3, 1000.1))
    );
    assert_eq!(
        seen(&quad("lamp", back.0, back.1)),
        all(Vec3::ZERO),
        "a lamp's back does not shine"
    );
    assert_eq!(
        seen(&quad("white", front.0, front.1)),
        all(Vec3::ZERO),
        "nothing scatters"
    );
    let beside = quad("lamp", "100, -10, 0", "20, 0, 0");
    assert_eq!(seen(&beside), all(Vec3::new(0.1, 0.2, 0.3)), "the sky");
}

#[test]
fn one_sided_surfaces_are_black_from_behind() {
    let seen = |material: &str, from: f32| {
        let scene = scene(&format!(
            r#"(
                size: (8, 8), spp: 4, max_bounces: 4, sky: (1, 1, 1),
                camera: (origin: (0, 0, {from}), target: (0, 0, 0), fov: 30),
                materials: {{ "m": {material} }},
                objects: [Quad(corner: (-10, -10, 0), edge_u: (20, 0, 0), edge_v: (0, 20, 0), material: "m")],
            )"#
        ));
        mean(&render(&scene, &on_cpu()).0).x
    };
    let materials = [
        ("Diffuse(albedo: (0.5, 0.5, 0.5)", 0.5, 0.5),
        ("Mirror(reflectance: (0.5, 0.5, 0.5)", 0.5, 0.5),
        // It shines to the front alone, and reflects to both sides.
        (
            "Emissive(radiance: (2, 2, 2), albedo: (0.5, 0.5, 0.5)",
            2.5,
            0.5,
        ),
    ];
    for (material, front, back) in materials {
        for (end, behind) in [(")", back), (", one_sided: true)", 0.0)] {
            let material = format!("{material}{end}");
            let (got_front, got_back) = (seen(&material, 3.0), seen(&material, -3.0));
            assert!(
                (got_front - front).abs() < 1e-5,
                "{material}: {got_front} from the front"
            );
            assert!(
                (got_back - behind).abs() < 1e-5,
                "{material}: {got_back} from behind"
            );
        }
    }
}

#[test]
fn the_counts_of_every_scene_add_up() {
    for scene in scenes() {
        let scene = sized(scene, 40, 24, 3);
        let (_, stats) = render(&scene, &on_cpu());
        adds_up(&scene, &stats);
    }
}

fn adds_up(scene: &Scene, stats: &Stats) {
    let name = &stats.scene;
    assert_eq!(stats.rejected_samples, 0, "{name}");
    assert_eq!((stats.size, stats.spp), ([40, 24], 3), "{name}");
    assert_eq!(stats.paths, 40 * 24 * 3, "{name}");
    assert_eq!(
        stats.bounces.len(),
        scene.max_bounces as usize + 1,
        "{name}"
    );
    assert_eq!(stats.bounces[0].rays, stats.paths, "{name}");
    for (number, row) in stats.bounces.iter().enumerate() {
        assert_eq!(row.bounce as usize, number, "{name}");
        assert_eq!(row.rays, row.hits + row.misses, "{name}: {row:?}");
        assert_eq!(row.hits, row.ended + row.survivors, "{name}: {row:?}");
        assert!(row.shadow_rays <= row.hits, "{name}: {row:?}");
        if let Some(next) = stats.bounces.get(number + 1) {
            assert_eq!(next.rays, row.survivors, "{name}: {next:?} after {row:?}");
        } else {
            assert_eq!(
                (row.survivors, row.shadow_rays),
                (0, 0),
                "{name}: the last bounce only sees"
            );
        }
    }
    let rays: u64 = stats
        .bounces
        .iter()
        .map(|row| row.rays + row.shadow_rays)
        .sum();
    assert_eq!(stats.rays, rays, "{name}");
    assert!(stats.bounces[0].hits > 0, "{name}: the camera sees nothing");
}

fn furnace(material: &str) -> Scene {
    scene(&format!(
        r#"(
            size: (64, 64), spp: 64, max_bounces: 128, sky: (1, 1, 1),
            camera: (origin: (0, 0, 4), target: (0, 0, 0), fov: 40),
            materials: {{ "m": {material} }},
            objects: [Sphere(center: (0, 0, 0), radius: 1, material: "m")],
        )"#
    ))
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

/// What the plane of `lit_plane` shows under so much light.
fn lit(irradiance: f64) -> DVec3 {
    DVec3::new(0.2, 0.5, 0.8) * irradiance / PI
}

/// Irradiance on a surface at the origin that faces +y, from a polygon of radiance 1 above it: half the sum over its
/// edges of the angle that an edge is seen under times the cosine between its plane's normal and +y.
fn polygon_irradiance(corners: &[DVec3]) -> f64 {
    let edges = corners.iter().zip(corners.iter().cycle().skip(1));
    let sum: f64 = edges
        .map(|(&a, &b)| a.angle_between(b) * a.cross(b).normalize().y)
        .sum();
    sum.abs() / 2.0
}

/// The six walls of the cube from -1 to 1, their fronts inside.
fn inside_of_a_cube(material: &str) -> String {
    let ceiling = format!(
        r#"Quad(corner: (-1, 1, -1), edge_u: (2, 0, 0), edge_v: (0, 0, 2), material: "{material}"),"#
    );
    walls(material) + &ceiling
}

/// The same with a square hole of half this side in the ceiling.
fn inside_of_a_cube_with_a_hole(material: &str, half: f64) -> String {
    let (full, rest) = (2.0 * half, 1.0 - half);
    let ceiling = [
        (-1.0, -1.0, 2.0, rest),
        (-1.0, half, 2.0, rest),
        (-1.0, -half, rest, full),
        (half, -half, rest, full),
    ];
    let quad = |(x, z, width, depth): (f64, f64, f64, f64)| {
        format!(
            r#"Quad(corner: ({x}, 1, {z}), edge_u: ({width}, 0, 0), edge_v: (0, 0, {depth}), material: "{material}"),"#
        )
    };
    walls(material) + &ceiling.map(quad).concat()
}

/// Floor, back, front, left and right.
fn walls(material: &str) -> String {
    let walls = [
        ("(-1, -1, 1)", "(2, 0, 0)", "(0, 0, -2)"),
        ("(-1, -1, -1)", "(2, 0, 0)", "(0, 2, 0)"),
        ("(1, -1, 1)", "(-2, 0, 0)", "(0, 2, 0)"),
        ("(-1, -1, 1)", "(0, 0, -2)", "(0, 2, 0)"),
        ("(1, -1, -1)", "(0, 0, 2)", "(0, 2, 0)"),
    ];
    let quad = |(corner, u, v)| {
        format!(r#"Quad(corner: {corner}, edge_u: {u}, edge_v: {v}, material: "{material}"),"#)
    };
    walls.map(quad).concat()
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
