//! Instances of a mesh behave like the transformed mesh, whatever their rotation, scale, reflection and size.

use std::sync::Arc;

use glam::{DVec3, Vec3};
use raysieve::{
    accel::{
        bvh::{nearest, nearest_instanced},
        instance::NO_INSTANCE,
    },
    device::render_scene::RenderScene,
    math::normalize,
    path::{NO_PRIMITIVE, Ray},
    scene::{Instance, Mesh, Scene},
};

use crate::{
    common::{Random, ball, file, on_cpu, render, scene, sized},
    mean, measure,
};

/// Checks that distance and barycentric coordinates of a hit are equal to the bit.
#[test]
fn an_instance_at_the_identity_is_hit_like_the_mesh() {
    let bumps = "DisplacedSphere(rings: 24, segments: 48, material: \"clay\")";
    let of = |objects: &str| {
        let scene = scene(&format!(
            r#"(
                camera: (origin: (0, 0, 4), target: (0, 0, 0), fov: 40), sky: (1, 1, 1),
                materials: {{ "clay": Diffuse(albedo: (0.5, 0.5, 0.5)) }},
                objects: [Sphere(center: (0, -2, 0), radius: 0.5, material: "clay"), {objects}],
            )"#
        ));
        RenderScene::new(&scene).unwrap()
    };
    let flat = of(bumps);
    let instanced = of(&format!("Instances(of: {bumps}, at: [()])"));
    let mut random = Random::new(3);
    let mut hits = 0;
    for _ in 0..100_000 {
        let mut vector = || Vec3::new(random.signed(), random.signed(), random.signed());
        let ray = Ray {
            origin: vector() * 3.0,
            direction: normalize(vector()),
            from_primitive: NO_PRIMITIVE,
            ..Ray::default()
        };
        let extent = flat.light_params.extent;
        let ours = nearest(&flat.nodes, &flat.primitives, extent, &ray);
        let theirs = nearest_instanced(&instanced.instanced_scene(), &ray, NO_INSTANCE);
        let numbers = |hit: raysieve::path::Hit| (hit.distance, hit.u, hit.v);
        assert_eq!(numbers(ours), numbers(theirs.hit), "{ray:?}");
        if theirs.instance != NO_INSTANCE {
            let (ours, theirs) = (ours.primitive as usize, theirs.hit.primitive as usize);
            let number = flat.primitives[ours].number;
            assert_eq!(number, instanced.primitives[theirs].number, "{ray:?}");
            hits += 1;
        }
    }
    assert!(hits > 5000, "only {hits} rays hit the mesh");
}

/// Compares an instance with a mesh to which the same scale, rotation and translation were applied.
#[test]
fn an_instance_renders_like_the_transformed_mesh() {
    let pyramid = file("tests/meshes/pyramid.obj");
    for place in [
        "translate: (0.3, -0.2, 0.5)",
        "scale: (1.5, 0.4, 0.8), rotate: (20, 50, -70), translate: (0.2, 0, 0)",
        "scale: (1, -1, 1), rotate: (0, 30, 0)",
    ] {
        let of = |object: &str| {
            let object = object
                .replace(
                    "MESH",
                    &format!("Mesh(file: {pyramid:?}, material: \"clay\""),
                )
                .replace("PLACE", place);
            let scene = scene(&format!(
                r#"(
                    size: (12, 12), spp: 16, max_bounces: 4, sky: (0.5, 0.6, 0.7),
                    camera: (origin: (1, 2, 4), target: (0, 0.3, 0), fov: 40),
                    materials: {{
                        "clay": Diffuse(albedo: (0.7, 0.5, 0.3), one_sided: true),
                        "lamp": Emissive(radiance: (9, 8, 7)),
                    }},
                    objects: [
                        Quad(corner: (-4, -1, 4), edge_u: (8, 0, 0), edge_v: (0, 0, -8), material: "clay"),
                        Sphere(center: (2, 3, 1), radius: 0.4, material: "lamp"),
                        {object},
                    ],
                )"#
            ));
            measure(&scene)
        };
        let flat = of("MESH, PLACE)");
        let instanced = of("Instances(of: MESH), at: [(PLACE)])");
        let difference = (flat.mean - instanced.mean).abs();
        let error = (flat.error * flat.error + instanced.error * instanced.error).map(f64::sqrt);
        assert!(
            difference.cmple(error * 5.0).all(),
            "{place}: {flat:?} {instanced:?}"
        );
        assert!(error.cmple(flat.mean * 0.02).all(), "{place}: too noisy");
    }
}

/// Returns a room of `size` metres around `at`, whose six walls consist of 8 × 8 instanced quads each, facing inwards.
///
/// Every quad has its own scale and rotation, and overlaps its neighbours by a hundred-thousandth.
fn room_of_instances(size: f64, at: DVec3, wall: &str, sky: f32) -> Scene {
    let eye = at + DVec3::new(0.1, 0.2, 0.4) * size;
    let mut room = scene(&format!(
        r#"(
            size: (16, 16), spp: 64, max_bounces: 32, sky: ({sky}, {sky}, {sky}),
            camera: (origin: ({}, {}, {}), target: ({}, {}, {}), fov: 70),
            materials: {{ "wall": {wall} }},
            objects: [Sphere(center: ({}, {}, {}), radius: {}, material: "wall")],
        )"#,
        eye.x,
        eye.y,
        eye.z,
        at.x,
        at.y,
        at.z,
        at.x,
        at.y - 0.25 * size,
        at.z,
        0.2 * size
    ));
    Arc::make_mut(&mut room.meshes).push(Mesh {
        positions: [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]
            .map(|(x, y)| Vec3::new(x, y, 0.0))
            .into(),
        triangles: vec![[0, 1, 2], [0, 2, 3]],
        materials: vec![0],
        ..Mesh::default()
    });
    let (half, step) = (size / 2.0, size / 8.0);
    for axis in 0..3 {
        for side in [-1.0, 1.0] {
            let mut inward = DVec3::ZERO;
            inward[axis] = -side;
            let mut u = DVec3::ZERO;
            u[(axis + 1) % 3] = 1.0;
            let v = inward.cross(u);
            for number in 0..64 {
                let along = f64::from(number % 8) - 3.5;
                let across = f64::from(number / 8) - 3.5;
                let center = at - inward * half + (u * along + v * across) * step;
                let reach = step / 2.0 * (1.0 + 1e-5);
                Arc::make_mut(&mut room.instances).push(Instance {
                    mesh: 0,
                    axes: [u * reach, v * reach, inward * reach].map(DVec3::as_vec3),
                    position: center.as_vec3(),
                    material: None,
                });
            }
        }
    }
    room
}

#[test]
fn a_wall_of_instances_leaks_no_light() {
    for size in [1e-3, 1.0, 1e4] {
        for at in [DVec3::ZERO, DVec3::new(3.0, -2.0, 1.5) * size] {
            let room = room_of_instances(size, at, "Diffuse(albedo: (0.9, 0.9, 0.9))", 1000.0);
            let (picture, _) = render(&room, &on_cpu());
            let brightest = picture.pixels.iter().map(|pixel| pixel.max_element());
            let brightest = brightest.fold(0.0, f32::max);
            assert_eq!(brightest, 0.0, "size {size} at {at}");
        }
    }
}

/// Checks rooms whose walls emit 1 and reflect half, so that the radiance is 2 everywhere.
#[test]
fn a_furnace_of_instances_has_the_same_radiance_at_every_scale() {
    let wall = "Emissive(radiance: (1, 1, 1), albedo: (0.5, 0.5, 0.5))";
    for size in [1e-3, 1.0, 1e4] {
        let at = DVec3::new(3.0, -2.0, 1.5) * size;
        let mean = mean(&render(&room_of_instances(size, at, wall, 0.0), &on_cpu()).0);
        let off = (mean - DVec3::splat(2.0)).abs().max_element();
        assert!(off < 0.01, "size {size}: {mean}");
    }
}

#[test]
fn white_instances_under_a_white_sky_are_invisible() {
    for scale in [1e-3_f32, 1.0, 1e4] {
        let mut white = scene(&format!(
            r#"(
                size: (24, 24), spp: 16, max_bounces: 512, sky: (1, 1, 1),
                camera: (origin: (0, 0, {}), target: (0, 0, 0), fov: 40),
                materials: {{ "white": Diffuse(albedo: (1, 1, 1)) }},
                objects: [Sphere(center: (0, {}, 0), radius: {}, material: "white")],
            )"#,
            4.0 * scale,
            -2.0 * scale,
            0.5 * scale
        ));
        Arc::make_mut(&mut white.meshes).push(Mesh {
            normals: Vec::new(),
            ..ball(12, 16, 0)
        });
        for (turn, mirror) in [(0.3, 1.0), (-0.8, -1.0)] {
            let (sin, cos) = f32::sin_cos(turn);
            Arc::make_mut(&mut white.instances).push(Instance {
                mesh: 0,
                axes: [
                    Vec3::new(cos, sin, 0.0) * scale,
                    Vec3::new(-sin, cos, 0.2) * scale,
                    Vec3::new(0.1, 0.0, mirror) * scale,
                ],
                position: Vec3::new(turn, 0.1, 0.0) * scale,
                material: None,
            });
        }
        for pixel in &render(&white, &on_cpu()).0.pixels {
            let off = (*pixel - Vec3::ONE).abs().max_element();
            assert!(off < 0.05, "scale {scale}: {pixel}");
        }
    }
}

/// Checks that a coarse ball with smooth normals, lit from the side, is nowhere much darker than a sphere.
#[test]
fn the_terminator_of_a_coarse_smooth_ball_matches_a_sphere() {
    let render_lit = |object: &str| {
        sized(
            scene(&format!(
                r#"(
                    max_bounces: 1,
                    camera: (origin: (0, 0, 8), target: (0, 0, 0), fov: 16),
                    materials: {{
                        "clay": Diffuse(albedo: (0.8, 0.8, 0.8)),
                        "lamp": Emissive(radiance: (400, 400, 400)),
                    }},
                    objects: [{object} Sphere(center: (30, 10, 10), radius: 1, material: "lamp")],
                )"#
            )),
            48,
            48,
            64,
        )
    };
    let round = render_lit("Sphere(center: (0, 0, 0), radius: 1, material: \"clay\"),");
    let mut coarse = render_lit("");
    Arc::make_mut(&mut coarse.meshes).push(ball(8, 12, 0));
    Arc::make_mut(&mut coarse.instances).push(Instance {
        mesh: 0,
        axes: [Vec3::X, Vec3::Y, Vec3::Z],
        position: Vec3::ZERO,
        material: None,
    });
    let round = render(&round, &on_cpu()).0;
    let coarse = render(&coarse, &on_cpu()).0;
    let brightest = round.pixels.iter().map(|pixel| pixel.x).fold(0.0, f32::max);
    let mut compared = 0;
    for (number, (ours, theirs)) in coarse.pixels.iter().zip(&round.pixels).enumerate() {
        let (x, y) = ((number % 48) as f32 - 23.5, (number / 48) as f32 - 23.5);
        // Only pixels inside both silhouettes.
        if x.hypot(y) > 17.0 || theirs.x < 0.1 * brightest {
            continue;
        }
        compared += 1;
        assert!(
            ours.x > 0.5 * theirs.x,
            "pixel {x}, {y}: {} where a round ball has {}",
            ours.x,
            theirs.x
        );
    }
    assert!(compared > 300, "{compared} pixels compared");
}
