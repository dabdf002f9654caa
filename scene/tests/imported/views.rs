//! Tests of the view of an imported scene, and of a scene without anything to see.

use glam::Vec3;

use super::mitsuba::{refused, scene};

#[test]
fn a_camera_orbits_about_the_shapes_in_its_view() {
    let camera = |shapes: &str| {
        let sensor = "<sensor type=\"perspective\"><transform name=\"to_world\">\
            <lookat origin=\"0, 0, -800\" target=\"0, 0, -799\" up=\"0, 1, 0\"/></transform></sensor>";
        scene(&format!("{sensor}{shapes}")).unwrap().camera
    };
    let ball = |z: f64| {
        format!("<shape type=\"sphere\"><point name=\"center\" x=\"0\" y=\"0\" z=\"{z}\"/></shape>")
    };
    let shapes = [ball(-2000.0), ball(10.0), ball(30.0), ball(1e5)].concat();
    let found = camera(&shapes);
    assert_eq!(found.target, Vec3::new(0.0, 0.0, 30.0));
    assert_eq!(found.origin, Vec3::new(0.0, 0.0, -800.0));
    // Without shapes in front, the target is near.
    assert_eq!(camera(&ball(-2000.0)).target.z, -792.0);
}

#[test]
fn a_scene_without_shapes_says_why() {
    refused(
        "<path value=\"none\"/><shape type=\"obj\"><string name=\"filename\" value=\"a.obj\"/></shape>",
        "(not shown: 1 shape",
    );
}
