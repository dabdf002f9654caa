//! Tests of scenes far from 0. Their coordinates are relative to an origin, so that they are as precise as near 0.

use std::{
    fs,
    path::{Path, PathBuf},
};

use glam::{DVec3, Vec3};
use raysieve_scene::{
    Camera, Light, LoadOptions, Scene, SceneLoader, UpAxis, position_in_file, save_camera,
};

/// Places on a map and on the globe, in metres, and one with negative coordinates.
const PLACES: [DVec3; 4] = [
    DVec3::new(1000.0, 0.0, 0.0),
    DVec3::new(-1_000_000.0, 250.0, -3_000_000.0),
    DVec3::new(448_262.375, 112.5, -5_411_932.75),
    DVec3::new(4_027_893.0, 307_045.5, 4_919_475.25),
];

/// Largest error in metres of a position of an object of 2 m.
const ERROR: f64 = 1e-6;

/// Creates an empty folder for a test's files and returns it.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("far_origin")
        .join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Formats a point as in a scene file.
fn text([x, y, z]: [f64; 3]) -> String {
    format!("({x}, {y}, {z})")
}

/// Returns a scene of these objects in `folder`, seen by a camera 0.25 m from its target, with a lamp, all at `place`.
fn scene_in(folder: &Path, place: DVec3, objects: &str) -> Scene {
    let path = folder.join("scene.ron");
    let at = |x: f64, y: f64, z: f64| text((place + DVec3::new(x, y, z)).to_array());
    let scene = format!(
        r#"(
            camera: (origin: {}, target: {}, fov: 60, lens: (radius: 0.01, focus_point: {})),
            lights: [Point(position: {}, intensity: (1, 1, 1))],
            materials: {{ "clay": Diffuse(albedo: (0.5, 0.5, 0.5)) }},
            objects: [{objects}],
        )"#,
        at(0.0, 0.0, 0.75),
        at(0.0, 0.0, 0.5),
        at(0.125, 0.0, 0.5),
        at(0.0, 0.5, 0.0),
    );
    fs::write(&path, scene).unwrap();
    Scene::load(&path).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns a box of 2 m whose center is `place`, turned by some degrees.
fn room(place: DVec3, degrees: f64) -> String {
    let center = text(place.to_array());
    format!("Box(center: {center}, half_size: (1, 1, 1), rotate_y: {degrees}, material: \"clay\"),")
}

/// Returns all triangles of a scene in the coordinates of its file.
fn triangles(scene: &Scene) -> Vec<[DVec3; 3]> {
    let separate = scene.triangles.iter().map(|triangle| triangle.vertices);
    let mut triangles: Vec<[DVec3; 3]> = separate
        .map(|vertices| vertices.map(|vertex| vertex.as_dvec3() + scene.origin))
        .collect();
    for instance in scene.instances.iter() {
        let mesh = &scene.meshes[instance.mesh as usize];
        let [x, y, z] = instance.axes.map(|axis| axis.as_dvec3());
        let place = |vertex: u32| {
            let at = mesh.positions[vertex as usize].as_dvec3();
            x * at.x + y * at.y + z * at.z + instance.position.as_dvec3() + scene.origin
        };
        triangles.extend(mesh.triangles.iter().map(|corners| corners.map(place)));
    }
    triangles
}

/// Checks that a scene has the same triangles as the scene `near`, moved by `place`.
fn assert_moved(scene: &Scene, near: &Scene, place: DVec3, what: &str) {
    let (far, near) = (triangles(scene), triangles(near));
    assert_eq!(far.len(), near.len(), "{what}");
    assert!(!near.is_empty(), "{what}");
    for (far, near) in far.iter().flatten().zip(near.iter().flatten()) {
        let off = (*far - (*near + place)).abs().max_element();
        assert!(off < ERROR, "{what} at {place}: {far} is off by {off} m");
    }
    let from = (scene.origin - place).abs().max_element();
    assert!(from < 4.0, "{what} at {place}: origin {}", scene.origin);
}

/// Returns a row of spheres that starts at 0.
fn spheres(count: u32, spacing: f64, radius: f64) -> String {
    let sphere = |number: u32| {
        let x = spacing * f64::from(number);
        format!("Sphere(center: ({x}, 0, 0), radius: {radius}, material: \"clay\"),")
    };
    (0..count).map(sphere).collect()
}

#[test]
fn scenes_near_0_have_the_origin_0() {
    let near = room(DVec3::ZERO, 0.0);
    let stray = "Sphere(center: (1e6, 0, 1e6), radius: 1, material: \"clay\"),";
    let backdrop = "Quad(corner: (-500, -500, -1e5), edge_u: (1000, 0, 0), edge_v: (0, 1000, 0), \
                    material: \"clay\"),";
    let ground = "Quad(corner: (-1e6, -1, 1e6), edge_u: (2e6, 0, 0), edge_v: (0, 0, -2e6), \
                  material: \"clay\"),";
    let floor =
        "Quad(corner: (-1, 0, 1), edge_u: (2, 0, 0), edge_v: (0, 0, -2), material: \"clay\"),";
    let ball = "Sphere(center: (0, 1, 0), radius: 1, material: \"clay\"),";
    let bead = "Sphere(center: (60, 0, 0), radius: 1e-3, material: \"clay\"),";
    for (name, objects) in [
        ("room", near.clone()),
        ("room and far sphere", format!("{stray}{near}")),
        ("room and far backdrop", format!("{backdrop}{near}")),
        (
            "floor, sphere and far room",
            format!("{floor}{ball}{}", room(PLACES[1], 0.0)),
        ),
        ("ground and bead", format!("{ground}{bead}")),
        ("row of spheres", spheres(100, 50.0, 0.5)),
        ("short row of spheres", spheres(20, 50.0, 4.0)),
        ("room and far camera", near.clone()),
    ] {
        let camera = match name {
            "room and far camera" => DVec3::splat(1e5),
            _ => DVec3::ZERO,
        };
        let scene = scene_in(&folder("near"), camera, &objects);
        assert_eq!(scene.origin, DVec3::ZERO, "{name}");
    }
}

#[test]
fn a_far_room_is_precise_beside_strays_and_a_ground() {
    let ground = "Quad(corner: (-5e7, -2e3, 5e7), edge_u: (1e8, 0, 0), edge_v: (0, 0, -1e8), \
                  material: \"clay\"),";
    let stray = "Sphere(center: (0, 0, 0), radius: 1, material: \"clay\"),";
    let backdrop = "Quad(corner: (-50, -50, -1e5), edge_u: (100, 0, 0), edge_v: (0, 100, 0), \
                    material: \"clay\"),";
    let rooms = folder("strays");
    for place in PLACES {
        for degrees in [0.0, 27.0] {
            let near = scene_in(&rooms, DVec3::ZERO, &room(DVec3::ZERO, degrees));
            for others in ["", ground, stray, backdrop] {
                let far = format!("{}{others}", room(place, degrees));
                let mut scene = scene_in(&rooms, place, &far);
                // The room is first.
                std::sync::Arc::make_mut(&mut scene.triangles).truncate(12);
                assert_moved(&scene, &near, place, "room");
            }
        }
    }
}

#[test]
fn every_far_object_is_as_precise_as_near_0() {
    let files = folder("objects");
    let lines = |place: DVec3, separator: &str, start: &str| -> String {
        let corners = [[-1, -1, -1], [1, -1, 0], [0, 1, 0], [0, 0, 1]];
        let line = |corner: [i32; 3]| {
            let [x, y, z] = (DVec3::from(corner.map(f64::from)) + place).to_array();
            format!("{start}{x}{separator}{y}{separator}{z}\n")
        };
        corners.map(line).concat()
    };
    let objects = |place: DVec3, name: &str| {
        let at = text(place.to_array());
        let ply = format!(
            "ply\nformat ascii 1.0\nelement vertex 4\nproperty double x\nproperty double y\nproperty double z\n\
             element face 2\nproperty list uchar int vertex_indices\nend_header\n{}3 0 1 2\n3 0 2 3\n",
            lines(place, " ", "")
        );
        fs::write(files.join(format!("{name}.ply")), ply).unwrap();
        let obj = format!("{}f 1 2 3\nf 1 3 4\n", lines(place, " ", "v "));
        fs::write(files.join(format!("{name}.obj")), obj).unwrap();
        [
            format!("DisplacedSphere(rings: 6, segments: 9, center: {at}, material: \"clay\")"),
            format!(
                "DisplacedSphere(rings: 6, segments: 9, center: {at}, smooth: true, material: \"clay\")"
            ),
            format!("Mesh(file: \"{name}.ply\", material: \"clay\")"),
            format!("Mesh(file: \"{name}.ply\", smooth: true, material: \"clay\")"),
            format!("Mesh(file: \"{name}.obj\", material: \"clay\")"),
            format!("Model(file: \"{name}.ply\")"),
            format!("Model(file: \"{name}.obj\", material: \"clay\")"),
            format!("Model(file: \"near.obj\", translate: {at}, rotate: (10, 20, 30))"),
            format!(
                "Instances(of: DisplacedSphere(rings: 4, segments: 5, radius: 0.5, material: \"clay\"), \
                 at: [(translate: {at}), (translate: {at}, rotate: (0, 30, 0), scale: 2)])"
            ),
            // Far in its own coordinates, and moved back.
            format!(
                "Instances(of: Mesh(file: \"{name}.ply\", material: \"clay\"), at: [(rotate: (0, 90, 0))])"
            ),
            format!(
                "Instances(of: DisplacedSphere(rings: 4, segments: 5, radius: 0.1, material: \"clay\"), \
                 grid: (count: (3, 2, 2), spacing: (1, 1, 1), center: {at}))"
            ),
        ]
    };
    let near = objects(DVec3::ZERO, "near");
    for place in PLACES {
        for (far, near) in objects(place, "far").iter().zip(&near) {
            let is_turned = far.contains("(0, 90, 0)");
            let to = match is_turned {
                true => DVec3::new(place.z, place.y, -place.x),
                false => place,
            };
            let far_scene = scene_in(&files, to, far);
            let near_scene = scene_in(&files, DVec3::ZERO, near);
            assert_moved(&far_scene, &near_scene, to, far);
        }
    }
}

#[test]
fn spheres_cameras_and_lights_are_relative_to_the_origin() {
    let files = folder("relative");
    for place in PLACES {
        let sphere = format!(
            "Sphere(center: {}, radius: 0.25, material: \"clay\"),",
            text((place + DVec3::new(0.125, 0.0, 0.0)).to_array())
        );
        let scene = scene_in(&files, place, &sphere);
        let near = |relative: Vec3, wanted: [f64; 3]| {
            let off = relative.as_dvec3() + scene.origin - place - DVec3::from(wanted);
            assert!(off.abs().max_element() < ERROR, "{relative} at {place}");
        };
        near(scene.spheres[0].center, [0.125, 0.0, 0.0]);
        near(scene.camera.origin, [0.0, 0.0, 0.75]);
        near(scene.camera.target, [0.0, 0.0, 0.5]);
        let Some(Light::Point { position, .. }) = scene.lights.first() else {
            panic!("the scene has a point light");
        };
        near(*position, [0.0, 0.5, 0.0]);
    }
}

#[test]
fn a_far_camera_reads_back_as_it_was_saved() {
    let files = folder("camera");
    let path = files.join("scene.ron");
    for place in PLACES {
        let scene = scene_in(&files, place, &room(place, 27.0));
        assert_ne!(scene.origin, DVec3::ZERO);
        let wanted = Camera {
            origin: scene.camera.origin + Vec3::new(0.1, -0.223_456_7, 1.0 / 3.0),
            target: scene.camera.target + Vec3::new(1e-3, 0.0, 7.0),
            ..scene.camera
        };
        let moved = wanted;
        let wanted = moved.as_written(scene.origin);
        assert!((wanted.origin - moved.origin).abs().max_element() < 1e-8);
        save_camera(&path, &wanted, scene.origin).unwrap();
        let again = Scene::load(&path).unwrap();
        assert_eq!(again.camera, wanted, "{place}");
        assert_eq!(
            again.hash(),
            Scene {
                camera: wanted,
                ..scene.clone()
            }
            .hash()
        );
        let printed = wanted.to_ron(scene.origin);
        let in_file = position_in_file(wanted.origin, scene.origin);
        assert!(printed.contains(&text(in_file.to_array())), "{printed}");
        let moved = wanted.around(scene.origin, scene.origin + 1.0);
        let back = moved.around(scene.origin + 1.0, scene.origin);
        assert!((back.target - wanted.target).abs().max_element() < 1e-5);
    }
}

#[test]
fn small_far_objects_are_not_rounded_away() {
    let place = PLACES[3];
    let center = text(place.to_array());
    let tiny = format!("Box(center: {center}, half_size: (0.01, 0.01, 0.01), material: \"clay\"),");
    let scene = scene_in(&folder("tiny"), place, &tiny);
    assert_eq!(scene.triangles.len(), 12);
    let flat = format!("Box(center: {center}, half_size: (1, 1, 1e-15), material: \"clay\"),");
    let path = folder("flat").join("scene.ron");
    let text = format!(
        "(camera: (origin: (0, 0, 1), target: (0, 0, 0), fov: 9), materials: {{\"clay\": Diffuse(albedo: (1, 1, 1))}}, \
         objects: [{flat}])"
    );
    let error = Scene::parse(&path, &text).expect_err("it has no area");
    assert!(
        error.to_string().contains("has a side without area"),
        "{error}"
    );
}

#[test]
fn far_gltf_nodes_are_precise() {
    let files = folder("gltf");
    let mut bytes = Vec::new();
    let corners = [[-1.0_f32, -1.0, -1.0], [1.0, -1.0, 0.0], [0.0, 1.0, 0.0]];
    bytes.extend(
        corners
            .as_flattened()
            .iter()
            .flat_map(|number| number.to_le_bytes()),
    );
    fs::write(files.join("mesh.bin"), &bytes).unwrap();
    let load = |place: [f64; 3], options: &LoadOptions| {
        let json = format!(
            r#"{{"asset": {{"version": "2.0"}}, "scene": 0, "scenes": [{{"nodes": [0, 1, 2]}}],
            "nodes": [{{"mesh": 0, "translation": {place:?}}},
                {{"mesh": 0, "translation": {place:?}, "rotation": [0, 0, 0.6, 0.8], "scale": [0.1, 0.1, 0.1]}},
                {{"camera": 0, "translation": {place:?}}}],
            "cameras": [{{"type": "perspective", "perspective": {{"yfov": 1, "znear": 0.1}}}}],
            "meshes": [{{"primitives": [{{"attributes": {{"POSITION": 0}}}}]}}],
            "accessors": [{{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3",
                "min": [-1, -1, -1], "max": [1, 1, 0]}}],
            "bufferViews": [{{"buffer": 0, "byteLength": 36}}],
            "buffers": [{{"uri": "mesh.bin", "byteLength": 36}}]}}"#
        );
        let path = files.join("model.gltf");
        fs::write(&path, json).unwrap();
        let mut loader = SceneLoader::new(&path);
        let scene = loader
            .load(options)
            .unwrap_or_else(|error| panic!("{error}"));
        let target = files.join("written.ron");
        let written = loader.scene_text(&scene, options, &target).unwrap();
        (scene, Scene::parse(&target, &written).unwrap())
    };
    for up in [None, Some(UpAxis::Z)] {
        let options = LoadOptions {
            up,
            ..LoadOptions::default()
        };
        let (near, _) = load([0.0; 3], &options);
        let (far, written) = load([500_000.0, 0.5, -4_500_000.0], &options);
        let place = match up {
            Some(_) => DVec3::new(500_000.0, -4_500_000.0, -0.5),
            None => DVec3::new(500_000.0, 0.5, -4_500_000.0),
        };
        assert_moved(&far, &near, place, "nodes");
        let seen = far.camera.origin.as_dvec3() + far.origin - place;
        assert!(seen.abs().max_element() < ERROR, "{seen}");
        // The scene that `--write-scene` writes is the same.
        assert_eq!(written.origin, far.origin);
        assert_eq!(written.camera, far.camera);
        assert_eq!(written.triangles, far.triangles);
    }
}

#[test]
fn far_scenes_of_other_renderers_are_precise() {
    let files = folder("imported");
    let ply = |place: [f64; 3]| {
        let [x, y, z] = place;
        format!(
            "ply\nformat ascii 1.0\nelement vertex 3\nproperty double x\nproperty double y\nproperty double z\n\
             element face 1\nproperty list uchar int vertex_indices\nend_header\n{x} {y} {z}\n{} {y} {z}\n{x} {} {z}\n\
             3 0 1 2\n",
            x + 1.0,
            y + 1.0
        )
    };
    let pbrt = |place: [f64; 3]| {
        let [x, y, z] = place;
        fs::write(files.join("mesh.ply"), ply(place)).unwrap();
        format!(
            "LookAt {x} {y} {} {x} {y} {z} 0 1 0\nCamera \"perspective\"\nWorldBegin\n\
             LightSource \"point\" \"point3 from\" [{x} {} {z}]\n\
             Shape \"plymesh\" \"string filename\" \"mesh.ply\"\n\
             Shape \"trianglemesh\" \"point3 P\" [{x} {y} {z} {} {y} {z} {x} {} {z}] \"integer indices\" [0 1 2]\n\
             AttributeBegin\nTranslate {x} {y} {z}\nRotate 27 0 1 0\n\
             Shape \"trianglemesh\" \"point3 P\" [-1 -1 -1 1 -1 0 0 1 0] \"integer indices\" [0 1 2]\n\
             AttributeEnd\n",
            z + 3.0,
            y + 2.0,
            x + 1.0,
            y + 1.0
        )
    };
    let mitsuba = |place: [f64; 3]| {
        let [x, y, z] = place;
        fs::write(files.join("mesh.ply"), ply(place)).unwrap();
        format!(
            "<scene version=\"3.0.0\"><sensor type=\"perspective\"><transform name=\"to_world\">\
             <lookat origin=\"{x}, {y}, {}\" target=\"{x}, {y}, {z}\" up=\"0, 1, 0\"/></transform></sensor>\
             <emitter type=\"point\"><point name=\"position\" value=\"{x}, {}, {z}\"/></emitter>\
             <shape type=\"ply\"><string name=\"filename\" value=\"mesh.ply\"/></shape>\
             <shape type=\"cube\"><transform name=\"to_world\"><rotate y=\"1\" angle=\"27\"/>\
             <translate x=\"{x}\" y=\"{y}\" z=\"{z}\"/></transform></shape></scene>",
            z + 3.0,
            y + 2.0
        )
    };
    for (extension, write) in [
        ("pbrt", &pbrt as &dyn Fn([f64; 3]) -> String),
        ("xml", &mitsuba),
    ] {
        let load = |place: DVec3| {
            let path = files.join(format!("scene.{extension}"));
            fs::write(&path, write(place.to_array())).unwrap();
            Scene::load(&path).unwrap_or_else(|error| panic!("{error}"))
        };
        let near = load(DVec3::ZERO);
        for place in PLACES {
            let far = load(place);
            // The image of a left-handed camera is that of the mirrored scene.
            let sign = (far.camera.origin.as_dvec3() + far.origin).x.signum() * place.x.signum();
            let to = place * DVec3::new(sign, 1.0, 1.0);
            assert_moved(&far, &near, to, extension);
            let Some(Light::Point { position, .. }) = far.lights.first() else {
                panic!("{extension}: the scene has a point light");
            };
            let off = position.as_dvec3() + far.origin - to - DVec3::Y * 2.0;
            assert!(
                off.abs().max_element() < ERROR,
                "{extension} at {place}: {position}"
            );
        }
    }
}
