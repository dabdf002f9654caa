//! Scenes that a program builds: they equal those of scene files, and laws hold for them.

use std::{fs, sync::Arc};

use glam::{Affine3A, DAffine3, DVec3, Quat, Vec3};
use raysieve::{
    Camera, Renderer, Scene,
    scene::{
        Background, Environment, Image, Instance, Light, MaterialTextures, NewMesh, Surface,
        Texels, Triangle,
    },
};

use crate::common::{self, on_cpu, render};

/// Returns a square in the plane z = 0 with corners at ±1, facing +z.
fn square() -> NewMesh {
    NewMesh {
        positions: [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]
            .map(|(x, y)| Vec3::new(x, y, 0.0))
            .to_vec(),
        triangles: vec![[0, 1, 2], [0, 2, 3]],
        ..NewMesh::default()
    }
}

/// Returns a scene of 8 × 8 pixels under a white sky, whose camera sees the square at ±1 fill the picture.
fn furnace() -> Scene {
    let mut scene = Scene::new(Camera::look_at(Vec3::Z, Vec3::ZERO, 90.0));
    scene.size = (8, 8);
    scene.spp = 4;
    scene.sky = Vec3::ONE;
    scene
}

#[test]
fn a_built_scene_has_the_film_of_the_same_scene_file() {
    let file = common::scene(
        r#"(
            size: (16, 12), spp: 4, sky: (0.1, 0.2, 0.3),
            camera: (origin: (2, 1.5, 4), target: (0, 0, 0), fov: 40),
            lights: [Point(position: (1, 2, 3), intensity: (30, 30, 30))],
            materials: {
                "clay": Diffuse(albedo: (0.7, 0.5, 0.3)),
                "glass": Dielectric(ior: 1.5),
            },
            objects: [
                Sphere(center: (0, 0, 0), radius: 0.5, material: "clay"),
                Sphere(center: (1, 0, 0), radius: 0.25, material: "glass"),
            ],
        )"#,
    );
    let mut built = Scene::new(Camera::look_at(Vec3::new(2.0, 1.5, 4.0), Vec3::ZERO, 40.0));
    built.size = (16, 12);
    built.spp = 4;
    built.sky = Vec3::new(0.1, 0.2, 0.3);
    let clay = built.add_material("clay", Surface::diffuse(Vec3::new(0.7, 0.5, 0.3)));
    let glass = built.add_material("glass", Surface::glass(1.5));
    built.add_sphere(Vec3::ZERO, 0.5, clay);
    built.add_sphere(Vec3::X, 0.25, glass);
    built.add_light(Light::Point {
        position: Vec3::new(1.0, 2.0, 3.0),
        intensity: Vec3::splat(30.0),
    });
    assert_eq!(built.hash(), file.hash());
    let (_, of_file) = render(&file, &on_cpu());
    let (_, of_built) = render(&built, &on_cpu());
    assert_eq!(of_built.film_hash, of_file.film_hash);
}

#[test]
fn a_mesh_is_placed_by_its_transform() {
    let mut scene = furnace();
    let lamp = scene.add_material("lamp", Surface::emissive(Vec3::splat(3.0)));
    let half = NewMesh {
        transform: Affine3A::from_scale(Vec3::splat(0.5)),
        ..square()
    };
    scene.add_mesh(half, lamp).unwrap();
    scene.sky = Vec3::ZERO;
    let (picture, _) = render(&scene, &on_cpu());
    for (pixel, light) in picture.pixels.iter().enumerate() {
        let is_inside = |place: usize| (2..6).contains(&place);
        let expected = is_inside(pixel % 8) && is_inside(pixel / 8);
        assert_eq!(
            *light,
            Vec3::splat(if expected { 3.0 } else { 0.0 }),
            "{pixel}"
        );
    }
}

#[test]
fn vertex_colors_are_interpolated_over_triangles() {
    let mut scene = furnace();
    scene.sky = Vec3::ZERO;
    let lamp = scene.add_material("lamp", Surface::emissive(Vec3::splat(2.0)));
    let colors = square().positions;
    let colors = colors
        .iter()
        .map(|at| Vec3::new(at.x + 1.0, at.y + 1.0, 0.5) / 2.0);
    let colors: Vec<Vec3> = colors.collect();
    let index = scene
        .add_mesh(NewMesh { colors, ..square() }, lamp)
        .unwrap();
    // The material itself stays without colors.
    assert_eq!(scene.maps.get(&lamp), None);
    assert_ne!(scene.meshes[index as usize].materials, [lamp]);
    scene.spp = 256;
    let (picture, _) = render(&scene, &on_cpu());
    for (pixel, light) in picture.pixels.iter().enumerate() {
        let (x, y) = ((pixel % 8) as f32 + 0.5, 7.5 - (pixel / 8) as f32);
        let expected = Vec3::new(x / 4.0, y / 4.0, 0.5);
        assert!(
            (*light - expected).abs().max_element() < 0.01,
            "{pixel}: {light} {expected}"
        );
    }
}

#[test]
fn a_color_image_and_an_environment_come_from_arrays() {
    let mut scene = furnace();
    scene.sky = Vec3::ZERO;
    scene.set_environment(Environment::new(1, vec![Vec3::splat(0.25); 2], 0.0));
    scene.set_environment(Environment::new(1, vec![Vec3::ONE; 2], 0.0));
    assert_eq!(scene.lights.len(), 1);
    let paper = scene.add_material("paper", Surface::diffuse(Vec3::ONE));
    let texels = Texels::Floats(vec![[0.5, 0.25, 1.0, 1.0]]);
    let (width, height) = (1, 1);
    scene.set_color_image(
        paper,
        Image {
            width,
            height,
            texels,
        },
    );
    let uvs = vec![[0.0; 2]; 4];
    scene.add_mesh(NewMesh { uvs, ..square() }, paper).unwrap();
    scene.spp = 256;
    let (picture, _) = render(&scene, &on_cpu());
    let mean = picture.pixels.iter().copied().sum::<Vec3>() / 64.0;
    let expected = Vec3::new(0.5, 0.25, 1.0);
    assert!((mean - expected).abs().max_element() < 0.01, "{mean}");
}

#[test]
fn wrong_meshes_are_refused_and_leave_the_scene_as_it_is() {
    let mut scene = furnace();
    let clay = scene.add_material("clay", Surface::diffuse(Vec3::ONE));
    let before = scene.clone();
    let flat = NewMesh {
        triangles: vec![[0, 0, 1]],
        ..square()
    };
    let cases = [
        (NewMesh::default(), clay, "meshes[0]: has no triangles"),
        (flat, clay, "meshes[0]: has no triangle with an area"),
        (
            square(),
            7,
            "meshes[0]: material is 7, which does not exist",
        ),
        (
            NewMesh {
                triangles: vec![[0, 1, 4]],
                ..square()
            },
            clay,
            "meshes[0]: triangles[0]: vertex 4 does not exist",
        ),
        (
            NewMesh {
                normals: vec![Vec3::Z],
                ..square()
            },
            clay,
            "meshes[0]: has 1 normals, expected 4",
        ),
        (
            NewMesh {
                normals: vec![Vec3::ZERO; 4],
                ..square()
            },
            clay,
            "meshes[0]: normals[0] is [0, 0, 0]",
        ),
        (
            NewMesh {
                colors: vec![Vec3::ONE],
                ..square()
            },
            clay,
            "meshes[0]: has 1 colors, expected 4",
        ),
        (
            NewMesh {
                colors: vec![Vec3::NAN; 4],
                ..square()
            },
            clay,
            "meshes[0]: colors[0] is [NaN",
        ),
        (
            NewMesh {
                colors: vec![Vec3::ONE; 4],
                uvs: vec![[0.0; 2]; 4],
                ..square()
            },
            clay,
            "meshes[0]: has colors and uvs",
        ),
    ];
    for (mesh, material, expected) in cases {
        let error = scene.add_mesh(mesh, material).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}\n{expected}");
        assert!(scene == before, "{expected}");
    }
}

#[test]
fn materials_are_found_and_replaced_by_name() {
    let mut scene = furnace();
    let clay = scene.add_material("clay", Surface::diffuse(Vec3::ONE));
    scene.maps.insert(
        clay,
        MaterialTextures {
            opacity: 0.5,
            ..MaterialTextures::default()
        },
    );
    assert_eq!(scene.add_material("clay", Surface::glass(1.5)), clay);
    assert_eq!((scene.materials.len(), scene.maps.len()), (1, 0));
    *scene.material_mut("clay").unwrap() = Surface::metal(Vec3::ONE, 0.1);
    assert_eq!(scene.materials[0], Surface::metal(Vec3::ONE, 0.1));
    assert_eq!(
        (scene.material_index("gold"), scene.material_mut("")),
        (None, None)
    );
    assert_ne!(
        scene.add_material("", Surface::glass(1.5)),
        scene.add_material("", Surface::glass(1.5))
    );
}

#[test]
fn a_moved_model_equals_the_scene_seen_from_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.ron");
    let text = r#"(
        camera: (origin: (0, 0, 4), target: (0, 0, 0), fov: 40),
        materials: { "clay": Diffuse(albedo: (0.5, 0.5, 0.5)), "lamp": Emissive(radiance: (3, 2, 1)),
                     "mix": Blend(first: "clay", second: "metal", weight: 0.5),
                     "metal": Mirror(reflectance: (0.9, 0.8, 0.7)) },
        objects: [
            Quad(corner: (-1, -1, 0), edge_u: (2, 0, 0), edge_v: (0, 1, 0), material: "lamp"),
            Sphere(center: (0, 0.5, 0), radius: 0.5, material: "mix"),
            DisplacedSphere(center: (1, 0, 0), radius: 0.3, rings: 8, segments: 16, material: "clay"),
        ],
    )"#;
    fs::write(&path, text).unwrap();
    let transform = DAffine3::from_scale_rotation_translation(
        DVec3::splat(2.0),
        Quat::from_rotation_y(0.5).as_dquat(),
        DVec3::new(3.0, -1.0, 2.0),
    );
    let moved = |at: Vec3| transform.transform_point3(at.as_dvec3()).as_vec3();
    let mut plain = furnace();
    plain.add_model(&path, DAffine3::IDENTITY).unwrap();
    plain.camera = Camera::look_at(Vec3::new(0.5, 1.0, 4.0), Vec3::ZERO, 40.0);
    let mut scene = furnace();
    scene.add_material("own", Surface::glass(1.5));
    scene.add_sphere(moved(Vec3::Z * 100.0), 0.1, 0);
    scene.add_model(&path, transform).unwrap();
    assert_eq!(scene.files.len(), 1);
    scene.camera = Camera::look_at(moved(plain.camera.origin), moved(Vec3::ZERO), 40.0);
    for scene in [&mut plain, &mut scene] {
        (scene.size, scene.spp) = ((16, 16), 64);
    }
    let [(plain, _), (moved, _)] = [&plain, &scene].map(|scene| render(scene, &on_cpu()));
    let mean = |pixels: &[Vec3]| pixels.iter().copied().sum::<Vec3>() / pixels.len() as f32;
    let (one, other) = (mean(&plain.pixels), mean(&moved.pixels));
    assert!(
        (one - other).abs().max_element() < 0.01 * one.max_element(),
        "{one} {other}"
    );
    // Only at edges and in noise may pixels differ.
    let differs = |(one, other): (&Vec3, &Vec3)| (*one - *other).abs().max_element() > 0.1;
    let different = plain
        .pixels
        .iter()
        .zip(&moved.pixels)
        .filter(|&pair| differs(pair))
        .count();
    assert!(different < 20, "{different} pixels differ");
}

#[test]
fn a_transform_that_cannot_place_a_scene_is_refused() {
    let mut round = furnace();
    let clay = round.add_material("clay", Surface::diffuse(Vec3::ONE));
    round.add_sphere(Vec3::ZERO, 1.0, clay);
    let mut scene = furnace();
    let before = scene.clone();
    for (scale, expected) in [
        (
            DVec3::new(1.0, 2.0, 1.0),
            "transform: does not keep spheres round",
        ),
        (DVec3::ZERO, "transform: cannot be inverted"),
        (DVec3::NAN, "transform: cannot be inverted"),
    ] {
        let transform = DAffine3::from_scale(scale);
        let error = scene.add_scene(&round, transform).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
        assert!(scene == before);
    }
    let empty = scene.add_scene(&furnace(), DAffine3::IDENTITY).unwrap_err();
    assert!(empty.to_string().starts_with("scene: has no objects"));
}

#[test]
fn a_changed_scene_has_the_film_of_a_new_renderer() {
    let mut scene = common::garden();
    (scene.size, scene.spp) = ((16, 16), 4);
    let mut renderer = Renderer::new(&scene, &on_cpu()).unwrap();
    let trees = renderer.trees().unwrap();
    let changes: [fn(&mut Scene); 6] = [
        |scene| scene.camera.origin.x += 0.5,
        |scene| *scene.material_mut("clay").unwrap() = Surface::glass(1.3),
        |scene| scene.sky = Vec3::ZERO,
        |scene| {
            scene.add_light(Light::Point {
                position: Vec3::Y * 3.0,
                intensity: Vec3::ONE,
            });
        },
        |scene| (scene.size, scene.seed) = ((12, 20), 5),
        |scene| *scene.material_mut("clay").unwrap() = Surface::emissive(Vec3::ONE),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        change(&mut scene);
        renderer.set_scene(&scene).unwrap();
        renderer.render_to(4, |_| {}).unwrap();
        let (_, stats) = render(&scene, &on_cpu());
        assert_eq!(
            renderer.finish().unwrap().film_hash,
            stats.film_hash,
            "change {number}"
        );
        assert!(
            Arc::ptr_eq(&trees, &renderer.trees().unwrap()),
            "change {number}"
        );
    }
    // A wrong scene leaves the renderer as it is.
    let hash = renderer.finish().unwrap().film_hash;
    let mut wrong = scene.clone();
    wrong.sky = Vec3::NAN;
    renderer.set_scene(&wrong).unwrap_err();
    assert_eq!(renderer.finish().unwrap().film_hash, hash);
    // Other shapes get other trees.
    Arc::make_mut(&mut scene.spheres)[0].radius *= 0.5;
    renderer.set_scene(&scene).unwrap();
    renderer.render_to(4, |_| {}).unwrap();
    let (_, stats) = render(&scene, &on_cpu());
    assert_eq!(renderer.finish().unwrap().film_hash, stats.film_hash);
    assert!(!Arc::ptr_eq(&trees, &renderer.trees().unwrap()));
}

#[test]
fn render_to_stops_at_the_number_of_samples_and_continues() {
    let mut scene = common::garden();
    (scene.size, scene.spp) = ((16, 16), 7);
    let mut renderer = Renderer::new(&scene, &on_cpu()).unwrap();
    for samples in [3, 7, 20] {
        let mut seen = Vec::new();
        renderer.render_to(samples, |done| seen.push(done)).unwrap();
        let of_part = Scene {
            spp: samples,
            ..scene.clone()
        };
        let (_, stats) = render(&of_part, &on_cpu());
        assert_eq!(
            renderer.finish().unwrap().film_hash,
            stats.film_hash,
            "{samples}"
        );
        assert!(seen.is_sorted() && seen.last() == Some(&1.0), "{seen:?}");
    }
    renderer.render_to(5, |_| {}).unwrap();
    assert_eq!(renderer.samples_done().min_samples(), 20);
    let error = renderer
        .render_to(u32::MAX, |_| {})
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("spp 4294967295: a radiance of"),
        "{error}"
    );
    assert_eq!(renderer.samples_done().min_samples(), 20);
}

#[test]
fn a_saved_picture_has_the_look_and_the_alpha_of_the_scene() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("picture.png");
    let mut scene = furnace();
    let gray = scene.add_material("gray", Surface::emissive(Vec3::splat(0.25)));
    scene.sky = Vec3::ZERO;
    let half = NewMesh {
        transform: Affine3A::from_scale(Vec3::splat(0.5)),
        ..square()
    };
    scene.add_mesh(half, gray).unwrap();
    scene.background = Background::Transparent;
    scene.exposure_stops = 2.0;
    let mut renderer = Renderer::new(&scene, &on_cpu()).unwrap();
    // The camera of the renderer, not that of the scene, determines the alpha.
    let away = Camera::look_at(Vec3::Z, Vec3::Z * 2.0, 90.0);
    renderer.set_camera(away).unwrap();
    renderer.render_to(2, |_| {}).unwrap();
    renderer.save(&path).unwrap();
    let empty = image::open(&path).unwrap().to_rgba8();
    assert!(empty.pixels().all(|pixel| pixel.0 == [0; 4]));
    renderer.set_camera(scene.camera).unwrap();
    renderer.render_to(2, |_| {}).unwrap();
    renderer.save(&path).unwrap();
    let picture = image::open(&path).unwrap().to_rgba8();
    assert_eq!(picture.get_pixel(4, 4).0, [255; 4]);
    assert_eq!(picture.get_pixel(0, 0).0, [0; 4]);
    let error = renderer
        .save(folder.path().join("picture.gif"))
        .unwrap_err();
    assert!(error.to_string().ends_with(".png or .exr"), "{error}");
}

#[test]
fn a_mirrored_scene_keeps_its_fronts() {
    let mut lamp = furnace();
    let material = lamp.add_material("lamp", Surface::emissive(Vec3::ONE));
    let corner = Vec3::new(-1.0, -1.0, 0.0);
    lamp.triangles = Arc::new(vec![Triangle {
        vertices: [corner, Vec3::X * 3.0, Vec3::Y * 3.0],
        material,
    }]);
    lamp.meshes = Arc::default();
    lamp.instances = Arc::<Vec<Instance>>::default();
    let mut scene = furnace();
    scene.sky = Vec3::ZERO;
    scene
        .add_scene(&lamp, DAffine3::from_scale(DVec3::new(-1.0, 1.0, 1.0)))
        .unwrap();
    let (picture, _) = render(&scene, &on_cpu());
    assert!(picture.pixels.iter().any(|light| light.x > 0.0));
}
