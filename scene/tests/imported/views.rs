//! Tests of the view of an imported scene, and of a scene without anything to see.

use glam::{DVec3, Vec3};
use raysieve_scene::{Background, CameraFrom, Light, LoadOptions, Projection, Scene, UpAxis};

use super::{
    load, load_with,
    mitsuba::{refused, scene},
};

#[test]
fn a_camera_orbits_about_the_shapes_in_its_view() {
    let camera = |shapes: &str| {
        let sensor = "<sensor type=\"perspective\"><transform name=\"to_world\">\
            <lookat origin=\"0, 0, -800\" target=\"0, 0, -799\" up=\"0, 1, 0\"/></transform></sensor>";
        let scene = scene(&format!("{sensor}{shapes}")).unwrap();
        scene.camera.around(scene.origin, DVec3::ZERO)
    };
    let ball = |z: f64| {
        format!("<shape type=\"sphere\"><point name=\"center\" x=\"0\" y=\"0\" z=\"{z}\"/></shape>")
    };
    let shapes = [ball(-2000.0), ball(10.0), ball(30.0), ball(1e5)].concat();
    let found = camera(&shapes);
    assert_eq!(found.target, Vec3::new(0.0, 0.0, 30.0));
    assert_eq!(found.origin, Vec3::new(0.0, 0.0, -800.0));
    // Without shapes in front, the target is near: at a hundredth of the distance from the origin, here the ball.
    assert_eq!(camera(&ball(-2000.0)).target.z, -788.0);
}

#[test]
fn a_scene_without_shapes_says_why() {
    refused(
        "<path value=\"none\"/><shape type=\"obj\"><string name=\"filename\" value=\"a.obj\"/></shape>",
        "(not shown: 1 shape",
    );
}

/// A Mitsuba scene whose top is +z: a box at the origin with a raised ball in front of it, and a look of the camera from
/// −y and above, with a light from +x.
const Z_UP: &str = r#"<scene version="3.0.0">
    <sensor type="perspective">
        <transform name="to_world"><lookat origin="1, -8, 5" target="0, 0, 1" up="0, 0, 1"/></transform>
    </sensor>
    <emitter type="point"><point name="position" x="4" y="1" z="3"/></emitter>
    <shape type="cube"/>
    <shape type="sphere"><point name="center" x="0" y="-3" z="2"/></shape>
</scene>"#;

/// Loads [`Z_UP`] with options.
fn z_up(options: &LoadOptions) -> Scene {
    load_with(&[("z.xml", Z_UP)], options).unwrap()
}

#[test]
fn vertical_axis_of_a_scene_is_that_of_its_camera() {
    // Without an option that needs a vertical axis, nothing is turned.
    let plain = z_up(&LoadOptions::default());
    assert_eq!(plain.camera.origin, Vec3::new(1.0, -8.0, 5.0));
    let turned = Vec3::new(1.0, 5.0, 8.0);
    let turntable = LoadOptions {
        turntable: true,
        ..LoadOptions::default()
    };
    let up_is = |up| LoadOptions {
        up: Some(up),
        ..turntable.clone()
    };
    let scene = z_up(&turntable);
    assert_eq!(scene.camera.origin, turned);
    assert!(scene.camera.up.y > 0.8, "{}", scene.camera.up);
    assert_eq!(scene.spheres[0].center, Vec3::new(0.0, 2.0, 3.0));
    assert!(matches!(
        scene.lights[0],
        Light::Point { position, .. } if position == Vec3::new(4.0, 3.0, -1.0)
    ));
    assert_eq!(z_up(&up_is(UpAxis::Z)).camera.origin, turned);
    assert_eq!(z_up(&up_is(UpAxis::Y)).camera.origin, plain.camera.origin);
    let x_up = z_up(&up_is(UpAxis::X));
    assert_eq!(x_up.camera.origin, Vec3::new(8.0, 1.0, 5.0));
    // The camera circles about the vertical axis, at the same height.
    let quarter = scene.camera.turned(90.0);
    assert!((quarter.origin.y - 5.0).abs() < 1e-4, "{}", quarter.origin);
}

#[test]
fn camera_from_and_ground_use_the_vertical_axis_of_the_camera() {
    let from = LoadOptions {
        camera_from: Some(CameraFrom {
            azimuth_degrees: 0.0,
            elevation_degrees: 0.0,
            distance: Some(9.0),
        }),
        background: Some(Background::Transparent),
        ground: true,
        ..LoadOptions::default()
    };
    let scene = z_up(&from);
    let away = scene.camera.origin - scene.camera.target;
    assert!((away - Vec3::new(0.0, 0.0, 9.0)).length() < 1e-4, "{away}");
    assert_eq!(scene.camera.up, Vec3::Y);
    assert_eq!(scene.shadow_catcher, Some(-1.0));
}

#[test]
fn steep_cameras_have_the_vertical_axis_that_they_are_not_rolled_about() {
    let turntable = LoadOptions {
        turntable: true,
        ..LoadOptions::default()
    };
    for (origin, up, is_turned) in [
        ("3, -2, 20", "0, 0, 1", true),
        ("3, 20, -2", "0, 1, 0", false),
        ("3, 20, 2", "0, 1, 0", false),
        ("0, 20, 0", "0, 0, -1", false),
        ("0, 0, 9", "1, 1, 0", false),
    ] {
        let text = Z_UP.replace("1, -8, 5", origin);
        let text = text.replace(r#"up="0, 0, 1""#, &format!(r#"up="{up}""#));
        let text = text.replace(r#"target="0, 0, 1""#, r#"target="0, 0, 0""#);
        let scene = load_with(&[("steep.xml", &text)], &turntable).unwrap();
        let is = scene.spheres[0].center == Vec3::new(0.0, 2.0, 3.0);
        assert_eq!(is, is_turned, "from {origin} with {up}");
    }
}

#[test]
fn cameras_have_the_pixels_of_their_scale() {
    let mitsuba = |film: &str, scale: &str| {
        scene(&format!(
            "<sensor type=\"orthographic\"><film type=\"hdrfilm\">{film}</film><transform name=\"to_world\">\
             <scale {scale}/><lookat origin=\"0, 0, 5\" target=\"0, 0, 0\" up=\"0, 1, 0\"/></transform></sensor>\
             <shape type=\"sphere\"/>"
        ))
        .unwrap()
        .camera
    };
    let film = "<integer name=\"width\" value=\"200\"/><integer name=\"height\" value=\"100\"/>";
    let camera = mitsuba(film, "x=\"3\" y=\"2\"");
    assert_eq!(
        (camera.projection, camera.pixel_aspect),
        (Projection::Orthographic { width: 6.0 }, 1.5)
    );
    assert_eq!(mitsuba(film, "value=\"3\"").pixel_aspect, 1.0);
    let pbrt = |film: &str, directives: &str| {
        let text = format!("{film} {directives} WorldBegin Translate 0 0 5 Shape \"sphere\"\n");
        load(&[("scene.pbrt", &text)]).unwrap().camera
    };
    let film = "Film \"rgb\" \"integer xresolution\" 200 \"integer yresolution\" 100";
    // The view is 6 m wide and 2 m high.
    let camera = pbrt(
        film,
        "Camera \"orthographic\" \"float screenwindow\" [ -3 3 -1 1 ]",
    );
    assert_eq!(
        (camera.projection, camera.pixel_aspect),
        (Projection::Orthographic { width: 6.0 }, 1.5)
    );
    let camera = pbrt(film, "Camera \"perspective\" \"float frameaspectratio\" 3");
    assert_eq!(camera.pixel_aspect, 1.5);
    let Projection::Perspective { fov_degrees } = camera.projection else {
        panic!();
    };
    assert!((fov_degrees - 2.0 * 3.0_f32.atan().to_degrees()).abs() < 1e-3);
    let camera = pbrt(film, "Scale 0.5 0.25 1 Camera \"orthographic\"");
    assert_eq!(
        (camera.projection, camera.pixel_aspect),
        (Projection::Orthographic { width: 8.0 }, 0.5)
    );
    let plain = pbrt(film, "Scale -2 2 2 Camera \"perspective\"");
    assert_eq!(plain.pixel_aspect, 1.0);
}

#[test]
fn a_sheared_camera_is_reported() {
    let noted = |transform: &str| {
        let scene = scene(&format!(
            "<sensor type=\"orthographic\"><transform name=\"to_world\">{transform}<translate z=\"-5\"/></transform></sensor>\
             <shape type=\"sphere\"/>"
        ))
        .unwrap();
        scene
            .notes
            .iter()
            .any(|note| note.contains("not perpendicular"))
    };
    let turn = "<rotate z=\"1\" angle=\"30\"/>";
    assert!(!noted(&format!("<scale x=\"2\" y=\"1\"/>{turn}")));
    assert!(noted(&format!("{turn}<scale x=\"2\" y=\"1\"/>")));
}
