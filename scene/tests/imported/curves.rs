//! Tests of the curves of Mitsuba scenes.

use glam::{Vec3, Vec3Swizzles};
use raysieve_scene::Scene;

use super::{assert_noted, load};

/// Loads a shape of this type with these control points, and returns the corners of its triangles.
fn curves(plugin: &str, points: &str) -> Result<(Scene, Vec<[Vec3; 3]>), String> {
    let shape = format!(
        "<shape type=\"{plugin}\"><string name=\"filename\" value=\"curves.txt\"/><transform name=\"to_world\">\
         <scale value=\"2\"/></transform></shape>"
    );
    let text = format!("<scene version=\"3.0.0\"><shape type=\"sphere\"/>{shape}</scene>");
    let scene = load(&[("scene.xml", &text), ("curves.txt", points)])?;
    let mut corners = Vec::new();
    for mesh in scene.meshes.iter() {
        let position = |vertex: u32| mesh.positions[vertex as usize];
        corners.extend(mesh.triangles.iter().map(|corners| corners.map(position)));
    }
    Ok((scene, corners))
}

#[test]
fn curves_have_the_radii_of_their_control_points() {
    // The transform doubles the lengths, but not the radii, which grow from 0.1 to 0.2 along 2 m.
    let spline = "-1 0 0 0\n0 0 0 0.1\n1 0 0 0.2\n2 0 0 0.3\n";
    let (scene, corners) = curves("bsplinecurve", spline).unwrap();
    assert_noted(&scene, "curves by meshes");
    assert!(corners.len() >= 256, "{}", corners.len());
    for &[a, b, c] in &corners {
        for point in [a, b, c] {
            let radius = 0.1 + 0.05 * point.x;
            assert!((point.yz().length() - radius).abs() < 1e-5, "{point}");
            assert!((-1e-5..2.00001).contains(&point.x), "{point}");
        }
        assert!(
            (b - a)
                .cross(c - a)
                .dot((a + b + c) * Vec3::new(0.0, 1.0, 1.0))
                > 0.0
        );
    }
    // Two lines of three points and of two. Each has round ends.
    let lines = "0 0 0 0.1\r\n1 0 0 0.1\n1 1 0 0.2\n\n \n0 0 3 0.1\n0 0 4 0.1 ignored\n\n";
    let (_, corners) = curves("linearcurve", lines).unwrap();
    // The cone between two spheres touches both, so that its distance from the axis does not grow evenly.
    let capsule = |point: Vec3, from: Vec3, to: Vec3, radii: [f32; 2]| {
        (0..=1000)
            .map(|step| step as f32 / 1000.0)
            .fold(f32::MAX, |least, part| {
                let radius = radii[0] + (radii[1] - radii[0]) * part;
                least.min(point.distance(from.lerp(to, part)) - radius)
            })
    };
    let (mut low, mut high) = (Vec3::MAX, Vec3::MIN);
    for &point in corners.as_flattened() {
        let distance = [
            capsule(point, Vec3::ZERO, 2.0 * Vec3::X, [0.1; 2]),
            capsule(point, 2.0 * Vec3::X, Vec3::new(2.0, 2.0, 0.0), [0.1, 0.2]),
            capsule(point, 6.0 * Vec3::Z, 8.0 * Vec3::Z, [0.1; 2]),
        ];
        assert!(
            distance.into_iter().any(|distance| distance.abs() < 1e-3),
            "{point}"
        );
        (low, high) = (low.min(point), high.max(point));
    }
    assert!(
        (low - Vec3::new(-0.1, -0.1, -0.2)).abs().max_element() < 1e-3,
        "{low}"
    );
    assert!(
        (high - Vec3::new(2.2, 2.2, 8.1)).abs().max_element() < 1e-3,
        "{high}"
    );
}

/// Everything else of the scene is shown.
#[test]
fn shapes_without_their_files_are_left_out() {
    let shape = |plugin: &str, name: &str| {
        format!("<shape type=\"{plugin}\"><string name=\"filename\" value=\"{name}\"/></shape>")
    };
    let missing = shape("obj", "none.obj") + &shape("linearcurve", "none.txt");
    let scene = load(&[(
        "scene.xml",
        &format!("<scene version=\"3.0.0\"><shape type=\"sphere\"/>{missing}</scene>"),
    )])
    .unwrap();
    assert_eq!(scene.spheres.len(), 1);
    assert_noted(
        &scene,
        "not shown: 2 shapes whose file does not exist, such as `none.obj`",
    );
}

#[test]
fn wrong_curves_are_refused_or_reported() {
    let (scene, corners) =
        curves("linearcurve", "0 0 0 1\n\n0 0 0 1\n0 0 0 0\n2 0 0 -1\n").unwrap();
    assert_noted(
        &scene,
        "not shown: 1 curve with fewer than 2 control points",
    );
    assert!(!corners.is_empty());
    let (scene, corners) = curves("bsplinecurve", "0 0 0 1\n0 0 0 1\n0 0 0 1\n").unwrap();
    assert_noted(
        &scene,
        "not shown: 1 curve with fewer than 4 control points",
    );
    assert!(corners.is_empty());
    for (points, text) in [
        ("", "curves.txt: has no control points"),
        (
            "0 0 0 1\n0 0 1\n",
            "curves.txt: line 2: found `0 0 1`, expected four finite numbers",
        ),
        ("0 0 1e60 1\n", "line 1: found `0 0 1e60 1`"),
        ("0 0 0 nan\n", "line 1: found `0 0 0 nan`"),
        ("# hair\n", "line 1: found `# hair`"),
    ] {
        let error = curves("linearcurve", points).unwrap_err();
        assert!(error.contains(text), "{error}");
    }
}
