//! Scenes far from 0 look like those near 0.

use glam::{DVec3, Vec3};
use raysieve::{
    film::picture::Picture, inspect::path_record::Inspector, render::renderer::Renderer,
    scene::Scene,
};

use crate::common::{on_cpu, render, scene};

/// Places in whole metres: near 0, on a map, and on the globe.
const PLACES: [DVec3; 4] = [
    DVec3::ZERO,
    DVec3::new(1000.0, 0.0, 0.0),
    DVec3::new(0.0, -1_000_000.0, 1_000_000.0),
    DVec3::new(-4_027_893.0, 307_045.0, 4_919_475.0),
];

/// Returns a scene under a sky that is seen from `place`, towards −z. `(X, Y, Z)` in `objects` stands for `place`.
fn scene_at(place: DVec3, sky: f32, objects: &str) -> Scene {
    let at = |offset: DVec3| {
        let [x, y, z] = (place + offset).to_array();
        format!("({x}, {y}, {z})")
    };
    let (eye, target) = (at(DVec3::Z * 0.5), at(DVec3::ZERO));
    let objects = objects.replace("(X, Y, Z)", &at(DVec3::ZERO));
    scene(&format!(
        r#"(
            size: (64, 48), spp: 32, max_bounces: 16,
            camera: (origin: {eye}, target: {target}, fov: 120),
            sky: ({sky}, {sky}, {sky}),
            materials: {{
                "wall": Diffuse(albedo: (0.8, 0.8, 0.8)),
                "lamp": Emissive(radiance: (1, 1, 1)),
            }},
            objects: [{objects}],
        )"#
    ))
}

/// Returns the mean absolute difference of two pictures.
fn difference(one: &Picture, other: &Picture) -> f32 {
    let pairs = one.pixels.iter().zip(&other.pixels);
    let sum: f32 = pairs
        .map(|(one, other)| (*one - *other).abs().element_sum())
        .sum();
    sum / one.pixels.len() as f32
}

#[test]
fn no_light_leaks_into_a_closed_room_at_any_distance() {
    for place in PLACES {
        for degrees in [0, 27] {
            let room = format!(
                "Box(center: (X, Y, Z), half_size: (1, 1, 1), rotate_y: {degrees}, material: \"wall\")"
            );
            let (picture, stats) = render(&scene_at(place, 1e4, &room), &on_cpu());
            let misses: u64 = stats.bounces.iter().map(|bounce| bounce.misses).sum();
            assert_eq!(misses, 0, "at {place}, turned by {degrees} degrees");
            let is_black = |pixel: &Vec3| *pixel == Vec3::ZERO;
            assert!(picture.pixels.iter().all(is_black), "at {place}");
        }
    }
}

#[test]
fn a_scene_looks_the_same_at_any_distance() {
    for (what, objects) in [
        (
            "sphere",
            "Sphere(center: (X, Y, Z), radius: 0.25, material: \"lamp\")",
        ),
        (
            "mesh of a sphere",
            "DisplacedSphere(rings: 32, segments: 64, amplitudes: (0, 0), center: (X, Y, Z), radius: 0.25, \
             material: \"lamp\")",
        ),
        (
            "smooth instances",
            "Instances(of: DisplacedSphere(rings: 16, segments: 32, smooth: true, radius: 0.2, material: \"wall\"), \
             at: [(translate: (X, Y, Z)), (translate: (X, Y, Z), scale: (0.5, 1.5, 0.5), rotate: (0, 0, 40))])",
        ),
    ] {
        let near = render(&scene_at(DVec3::ZERO, 0.5, objects), &on_cpu()).0;
        let shape: f32 = near.pixels.iter().map(|pixel| (pixel.x - 0.5).abs()).sum();
        assert!(shape > 1.0, "{what} is visible");
        for place in PLACES {
            let far = render(&scene_at(place, 0.5, objects), &on_cpu()).0;
            let off = difference(&near, &far);
            assert!(off < 1e-4, "{what} at {place} differs by {off}");
        }
    }
}

#[test]
fn an_empty_view_is_explained_in_the_coordinates_of_the_file() {
    let behind = r#"Sphere(center: (-1e6, 4, 3e6), radius: 0.5, material: "wall")"#;
    let mut far = scene_at(DVec3::new(-1e6, 4.0, 3e6), 1.0, behind);
    far.camera.origin.z = -2.0;
    far.camera.target.z = -3.0;
    let renderer = Renderer::new(&far, &on_cpu()).unwrap();
    let said = renderer.empty_view().unwrap();
    assert!(said.contains("around (-1000000, 4, 3000000)"), "{said}");
}

#[test]
fn path_records_have_the_coordinates_of_the_file() {
    let wall = "Box(center: (X, Y, Z), half_size: (1, 1, 1), material: \"wall\")";
    for place in PLACES {
        let scene = scene_at(place, 0.0, wall);
        let record = Inspector::new(&scene).unwrap().trace((32, 24), 0).unwrap();
        let hit = record.vertices[0].hit.as_ref().unwrap();
        assert!((hit.position.in_file().z - (place.z - 1.0)).abs() < 1e-5);
        let json = serde_json::to_value(&record).unwrap();
        let origin = &json["vertices"][0]["origin"];
        for (axis, wanted) in (place + DVec3::Z * 0.5).to_array().into_iter().enumerate() {
            let number = origin[axis].as_f64().unwrap();
            assert!((number - wanted).abs() < 1e-6, "{number} for {wanted}");
        }
    }
}
