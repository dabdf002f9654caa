//! Tests of the triangles and spheres that the objects of a scene become, and of the numbers of the supplied scenes.

use std::{
    fs,
    path::{Path, PathBuf},
};

use glam::Vec3;
use raysieve::scene::{
    Absorption, Camera, GlassTint, PixelFilter, Projection, Scene, Sphere, Surface, Triangle,
};

/// Loads a scene, and panics with the error if that fails.
fn load(path: &str) -> Scene {
    Scene::load(Path::new(path)).unwrap_or_else(|error| panic!("{error}"))
}

/// Writes and loads a scene with the given objects and a material "clay". `name` is the file name.
fn objects(name: &str, objects: &str) -> Scene {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("scene_meshes");
    fs::create_dir_all(&folder).unwrap();
    let path: PathBuf = folder.join(format!("{name}.ron"));
    let text = format!(
        "(camera: (origin: (0, 0, 9), target: (0, 0, 0), fov: 40), sky: (1, 1, 1), \
         materials: {{ \"clay\": Diffuse(albedo: (0.5, 0.5, 0.5)) }}, objects: [{objects}])"
    );
    fs::write(&path, text).unwrap();
    load(path.to_str().unwrap())
}

/// Loads a scene with a `Mesh` object of a file in `tests/meshes` and further fields.
fn mesh(name: &str, file: &str, fields: &str) -> Scene {
    let file = fs::canonicalize(format!("../tests/meshes/{file}")).unwrap();
    objects(
        name,
        &format!("Mesh(file: {file:?}, material: \"clay\", {fields})"),
    )
}

/// Returns the normal of a triangle, whose length is twice the area.
fn normal(triangle: &Triangle) -> Vec3 {
    let [a, b, c] = triangle.vertices;
    (b - a).cross(c - a)
}

/// Returns the volume of a closed mesh by the divergence theorem, positive if the fronts are outside.
fn volume(scene: &Scene) -> f64 {
    let signed = |triangle: &Triangle| {
        let [a, b, c] = triangle.vertices.map(Vec3::as_dvec3);
        a.dot(b.cross(c)) / 6.0
    };
    scene.triangles.iter().map(signed).sum()
}

/// Asserts that two numbers differ by at most `tolerance`.
fn assert_close(found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found - expected).abs() <= tolerance,
        "{found} is not {expected} within {tolerance}"
    );
}

#[test]
fn all_ply_encodings_and_obj_give_the_same_triangles() {
    let ascii = mesh("ascii", "pyramid_ascii.ply", "");
    let corners = [
        (-1.0, 0.0, -1.0),
        (1.0, 0.0, -1.0),
        (1.0, 0.0, 1.0),
        (-1.0, 0.0, 1.0),
        (0.0, 1.5, 0.0),
    ];
    let [a, b, c, d, top] = corners.map(Vec3::from);
    let expected = [
        [a, b, c],
        [a, c, d],
        [a, top, b],
        [b, top, c],
        [c, top, d],
        [d, top, a],
    ];
    assert_eq!(
        *ascii.triangles,
        expected.map(|vertices| Triangle {
            vertices,
            material: 0
        })
    );
    for file in ["pyramid_little.ply", "pyramid_big.ply"] {
        assert_eq!(mesh(file, file, "").triangles, ascii.triangles, "{file}");
    }
    // The OBJ file starts its last face with another corner. The triangle must be the same.
    assert_eq!(mesh("obj", "pyramid.obj", "").triangles, ascii.triangles);
    assert_close(volume(&ascii), 2.0, 1e-6);
}

#[test]
fn a_mesh_is_scaled_then_rotated_then_translated() {
    let scene = mesh(
        "moved",
        "pyramid_ascii.ply",
        "scale: (1, 2, 3), rotate: (90, 90, 90), translate: (10, 20, 30)",
    );
    // The apex (0, 1.5, 0) is scaled to (0, 3, 0), rotated about x to (0, 0, 3), about y to (3, 0, 0), about z to (0,
    // 3, 0).
    assert_eq!(scene.triangles[2].vertices[1], Vec3::new(10.0, 23.0, 30.0));
    assert_close(volume(&scene), 12.0, 1e-2);
}

#[test]
fn rotations_are_right_handed() {
    let scene = mesh("turned", "pyramid_ascii.ply", "rotate: (0, 0, 30)");
    let top = scene.triangles[2].vertices[1];
    assert!(
        top.distance(Vec3::new(-0.75, 1.5 * 0.75f32.sqrt(), 0.0)) < 1e-6,
        "{top}"
    );
}

#[test]
fn a_mirrored_mesh_keeps_its_front_outside() {
    for (scale, expected) in [
        ("(-1, 1, 1)", 2.0),
        ("(-1, 2, -1)", 4.0),
        ("-2", 16.0),
        ("(1, 1, -0.5)", 1.0),
    ] {
        let scene = mesh("mirrored", "pyramid_ascii.ply", &format!("scale: {scale}"));
        assert_close(volume(&scene), expected, 1e-5);
    }
}

#[test]
fn triangles_without_area_are_left_out_and_counted() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("scene_meshes");
    fs::create_dir_all(&folder).unwrap();
    fs::write(
        folder.join("flat.obj"),
        "v 0 0 0\nv 1 0 0\nv 2 0 0\nv 0 1 0\nf 1 2 4\nf 1 2 3\nf 1 1 4\nf 1 2 3 4\n",
    )
    .unwrap();
    let scene = objects("flat", "Mesh(file: \"flat.obj\", material: \"clay\")");
    assert_eq!(scene.triangles.len(), 2);
    assert_eq!(
        scene.notes,
        [
            "object 1 (Mesh): 3 triangles without area are left out; they are invisible, so nothing is missing"
        ]
    );
}

#[test]
fn a_box_is_twelve_triangles_with_their_fronts_outside() {
    let scene = objects(
        "box",
        "Box(center: (1, 2, 3), half_size: (0.5, 1, 1.5), rotate_y: 30, material: \"clay\")",
    );
    assert_eq!(scene.triangles.len(), 12);
    assert_close(volume(&scene), 6.0, 1e-5);
    let center = Vec3::new(1.0, 2.0, 3.0);
    for triangle in scene.triangles.iter() {
        assert!(
            normal(triangle).dot(triangle.vertices[0] - center) > 0.0,
            "{triangle:?}"
        );
    }
}

#[test]
fn a_quad_faces_along_u_cross_v() {
    let scene = objects(
        "quad",
        "Quad(corner: (1, 0, 0), edge_u: (2, 0, 0), edge_v: (0, 3, 0), material: \"clay\")",
    );
    assert_eq!(scene.triangles.len(), 2);
    assert!(
        scene
            .triangles
            .iter()
            .all(|triangle| normal(triangle) == Vec3::new(0.0, 0.0, 6.0))
    );
}

#[test]
fn the_displaced_sphere_of_a_million_triangles_is_closed_and_faces_outwards() {
    let scene = load("../scenes/mesh.ron");
    assert_eq!(
        (scene.size, scene.triangles.len()),
        ((1024, 1024), 1_048_576 + 2)
    );
    assert!(scene.notes.is_empty(), "{:?}", scene.notes);
    let (sphere, plane) = scene.triangles.split_at(1_048_576);
    assert!(sphere.iter().all(|triangle| triangle.material == 0));
    assert!(plane.iter().all(|triangle| triangle.material == 1 && normal(triangle) == Vec3::new(0.0, 64.0, 0.0)));
    // The area vectors of a closed surface cancel out.
    let area: glam::DVec3 = sphere
        .iter()
        .map(|triangle| normal(triangle).as_dvec3())
        .sum();
    assert!(area.length() < 1e-4, "{area}");
    let closed = Scene {
        triangles: sphere.to_vec().into(),
        ..scene.clone()
    };
    assert_close(volume(&closed), displaced_volume(), 2e-3);
    let vertices = sphere
        .iter()
        .step_by(97)
        .flat_map(|triangle| triangle.vertices)
        .map(Vec3::as_dvec3);
    // Near the axis, v cannot be computed from the point.
    for vertex in vertices.filter(|vertex| vertex.x.hypot(vertex.z) > 0.05) {
        assert_close(displacement_error(vertex), 0.0, 1e-5);
    }
}

/// Returns the distance of the displaced sphere's surface from its center, for radius 1 and the default amplitudes. It
/// follows the documentation and uses the system's sines.
fn displacement(u: f64, v: f64) -> f64 {
    1.0 + 0.08 * (9.0 * u).sin() * (7.0 * v).cos()
        + 0.03 * (31.0 * u + 1.0).sin() * (29.0 * v).sin()
}

/// Returns the distance from the exact surface of the displaced sphere to a point, along the ray from the center;
/// negative inside.
fn displacement_error(point: glam::DVec3) -> f64 {
    let r = point.length();
    r - displacement(
        point.x.hypot(point.z).atan2(point.y),
        point.z.atan2(point.x),
    )
}

/// Returns the volume inside the exact surface of the displaced sphere, ∫ r³/3 sin u du dv, by the midpoint rule.
fn displaced_volume() -> f64 {
    use std::f64::consts::PI;
    let (rings, segments) = (1000, 2000);
    let (du, dv) = (PI / f64::from(rings), 2.0 * PI / f64::from(segments));
    let mut sum = 0.0;
    for ring in 0..rings {
        let u = (f64::from(ring) + 0.5) * du;
        for segment in 0..segments {
            sum +=
                displacement(u, (f64::from(segment) + 0.5) * dv).powi(3) / 3.0 * u.sin() * du * dv;
        }
    }
    sum
}

#[test]
fn a_sphere_without_a_fine_wave_has_no_triangles_at_its_poles() {
    let line = "DisplacedSphere(rings: 16, segments: 32, amplitudes: (0.1, 0), radius: 2, center: (1, 0, 0), material: \"clay\")";
    let scene = objects("poles", line);
    assert_eq!(scene.triangles.len(), 2 * 16 * 32 - 2 * 32);
    assert_eq!(
        scene.notes,
        [
            "object 1 (DisplacedSphere): 64 triangles without area are left out; they are invisible, so nothing is missing"
        ]
    );
}

#[test]
fn the_cornell_box_has_the_numbers_of_its_model() {
    let scene = load("../scenes/cornell.ron");
    assert_eq!(
        (scene.size, scene.max_bounces, scene.seed),
        ((512, 512), 8, 0)
    );
    let camera = Camera {
        origin: Vec3::new(0.0, 0.0, 3.9),
        target: Vec3::ZERO,
        up: Vec3::Y,
        projection: Projection::Perspective {
            fov_degrees: 39.3077,
        },
        shift: [0.0; 2],
        pixel_aspect: 1.0,
        lens: None,
        filter: PixelFilter::default(),
    };
    assert_eq!(scene.camera, camera);
    assert_eq!(scene.sky, Vec3::ZERO);
    let white = Vec3::new(0.885809, 0.698859, 0.666422);
    assert_eq!(
        scene.materials,
        [
            Surface::Diffuse {
                albedo: white,
                one_sided: true
            },
            Surface::Diffuse {
                albedo: Vec3::new(0.105421, 0.37798, 0.076425),
                one_sided: true
            },
            Surface::Diffuse {
                albedo: Vec3::new(0.570068, 0.0430135, 0.0443706),
                one_sided: true
            },
            Surface::Emissive {
                radiance: Vec3::new(18.387, 13.9873, 6.75357),
                albedo: white,
                one_sided: true,
                both_sides: false,
            },
        ]
    );
    assert_eq!(scene.triangles.len(), 6 * 2 + 2 * 12);
    // Directions of the fronts: up, down, to the viewer, to the left, to the right, and down for the lamp.
    let fronts = [
        (Vec3::Y, 0),
        (-Vec3::Y, 0),
        (Vec3::Z, 0),
        (-Vec3::X, 1),
        (Vec3::X, 2),
        (-Vec3::Y, 3),
    ];
    for (quad, (front, material)) in scene.triangles.chunks(2).zip(fronts) {
        for triangle in quad {
            assert_eq!(
                (normal(triangle).normalize(), triangle.material),
                (front, material)
            );
        }
    }
    // Corners of the two boxes in world space, from the original model.
    let corners = |box_triangles: &[Triangle], corner: Vec3| {
        box_triangles
            .iter()
            .flat_map(|triangle| triangle.vertices)
            .any(|vertex| vertex.distance(corner) < 1e-6)
    };
    assert!(corners(
        &scene.triangles[12..24],
        Vec3::new(0.534_18, -1.0, 0.754_602_97)
    ));
    assert!(corners(
        &scene.triangles[12..24],
        Vec3::new(-0.039_602_965, -0.4, 0.579_179_94)
    ));
    assert!(corners(
        &scene.triangles[24..36],
        Vec3::new(0.048_858_88, -1.01, -0.089_039_385)
    ));
    assert!(corners(
        &scene.triangles[24..36],
        Vec3::new(-0.520_960_6, 0.21, 0.098_858_89)
    ));
}

#[test]
fn furnace_scenes_are_one_sphere_in_a_white_sky() {
    let surfaces = [
        (
            "diffuse",
            Surface::Diffuse {
                albedo: Vec3::ONE,
                one_sided: false,
            },
        ),
        (
            "mirror",
            Surface::Mirror {
                reflectance: Vec3::ONE,
                one_sided: false,
            },
        ),
        (
            "dielectric",
            Surface::Dielectric {
                ior: 1.5,
                thin: false,
                tint: GlassTint::WHITE,
                absorption: Absorption::NONE,
            },
        ),
    ];
    for (name, surface) in surfaces {
        let scene = load(&format!("../tests/scenes/furnace_{name}.ron"));
        assert_eq!(
            (scene.sky, &scene.materials[..]),
            (Vec3::ONE, &[surface][..])
        );
        assert_eq!(
            *scene.spheres,
            [Sphere {
                center: Vec3::ZERO,
                radius: 1.0,
                material: 0
            }]
        );
        assert!(scene.triangles.is_empty());
    }
}

#[test]
fn spheres_of_the_sphere_scene_touch_the_ground_and_do_not_overlap() {
    let scene = load("../scenes/spheres.ron");
    assert!(scene.spheres.len() > 60);
    for (index, sphere) in scene.spheres.iter().enumerate() {
        assert_eq!(sphere.center.y, sphere.radius, "sphere {}", index + 1);
        for other in &scene.spheres[..index] {
            assert!(sphere.center.distance(other.center) > sphere.radius + other.radius);
        }
    }
}

#[test]
fn settings_have_their_documented_defaults() {
    let scene = objects(
        "defaults",
        "Sphere(center: (0, 0, 0), radius: 1, material: \"clay\")",
    );
    assert_eq!(
        (scene.size, scene.spp, scene.max_bounces, scene.seed),
        ((512, 512), 64, 8, 0)
    );
    assert_eq!(scene.camera.up, Vec3::Y);
}
