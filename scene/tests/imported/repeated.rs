//! Tests of warnings: each is one line for all objects that it concerns, and says what it is about.

use super::{
    assert_not_noted, assert_noted, load,
    mitsuba::{BALL, scene},
    pbrt::world,
};

#[test]
fn many_missing_things_are_one_warning_each() {
    let mut members = BALL.to_owned();
    for number in 0..200 {
        members += &format!(
            "<shape type=\"sphere\"><ref id=\"none{number}\"/></shape>\
             <shape type=\"sphere\"><bsdf type=\"odd{number}\"/></shape>\
             <shape type=\"sphere\"><bsdf type=\"diffuse\"><texture type=\"bitmap\" name=\"reflectance\">\
             <string name=\"filename\" value=\"none{number}.png\"/></texture></bsdf></shape>"
        );
    }
    let scene = scene(&members).unwrap();
    assert!(scene.notes.len() < 8, "{:#?}", scene.notes);
    assert_noted(
        &scene,
        "no objects have 200 ids to which shapes refer, such as `none0`",
    );
    assert_noted(
        &scene,
        "200 kinds of BSDFs, such as `odd0`; their surfaces are grey",
    );
    assert_noted(
        &scene,
        "200 images are left out, such as `none0.png`: does not exist",
    );
    let mut directives = String::new();
    for number in 0..200 {
        directives += &format!(
            "Material \"odd{number}\" Shape \"sphere\" NamedMaterial \"none{number}\" Shape \"sphere\"\n\
             Texture \"t\" \"spectrum\" \"imagemap\" \"string filename\" \"none{number}.png\"\n\
             Material \"diffuse\" \"texture reflectance\" \"lost{number}\" Shape \"sphere\"\n"
        );
    }
    let scene = world(&directives).unwrap();
    assert!(scene.notes.len() < 8, "{:#?}", scene.notes);
    assert_noted(&scene, "200 kinds of materials, such as `odd0`");
    assert_noted(&scene, "no materials have 200 names, such as \"none0\"");
    assert_noted(&scene, "no textures have 200 names, such as \"lost0\"");
    assert_noted(
        &scene,
        "200 images are left out, such as `none0.png`: does not exist",
    );
}

#[test]
fn a_missing_mesh_with_an_absolute_path_is_left_out() {
    for name in ["/abs/none.ply", "C:\\meshes\\none.ply"] {
        let members = format!(
            "{BALL}<shape type=\"ply\"><string name=\"filename\" value=\"{name}\"/></shape>"
        );
        let note = "1 shape whose file does not exist in the scene's folder, such as `";
        assert_noted(&scene(&members).unwrap(), note);
        let name = name.replace('\\', "\\\\");
        let shapes = format!("Shape \"sphere\" Shape \"plymesh\" \"string filename\" \"{name}\"");
        assert_noted(&world(&shapes).unwrap(), note);
        let texture =
            format!("Texture \"t\" \"spectrum\" \"imagemap\" \"string filename\" \"{name}\"");
        let scene = world(&format!("{texture} Shape \"sphere\"")).unwrap();
        assert_noted(&scene, "is left out: does not exist; check the path");
    }
    // A copy in the folder is used.
    let text = format!(
        "<scene>{BALL}<shape type=\"obj\"><string name=\"filename\" value=\"/abs/a.obj\"/></shape></scene>"
    );
    let copy = [
        ("scene.xml", &text[..]),
        ("a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"),
    ];
    assert_not_noted(&load(&copy).unwrap(), "does not exist");
}

#[test]
fn flat_patches_and_unused_parameters_are_not_reported() {
    let patch = |corner: &str| {
        world(&format!(
            "Shape \"bilinearmesh\" \"point3 P\" [ 0 0 0  1 0 0  0 1 0  1 1 {corner} ]"
        ))
        .unwrap()
    };
    assert_not_noted(&patch("0"), "bilinear patches");
    assert_noted(&patch("1"), "curved bilinear patches");
    let rough =
        "<bsdf type=\"roughconductor\"><string name=\"distribution\" value=\"phong\"/></bsdf>";
    let scene = scene(&format!("<shape type=\"sphere\">{rough}</shape>")).unwrap();
    assert_noted(
        &scene,
        "the `phong` distribution of rough surfaces by Beckmann",
    );
}

#[test]
fn unknown_parameters_are_one_warning() {
    let ball = "<shape type=\"sphere\"><float name=\"raduis\" value=\"2\"/><bsdf type=\"diffuse\">\
                <texture name=\"reflektance\" type=\"checkerboard\"/></bsdf></shape>";
    let scene = scene(&ball.repeat(3)).unwrap();
    assert_noted(
        &scene,
        "not used: unknown parameters of 6 objects: \"raduis of sphere\", \"reflektance of diffuse\"",
    );
    let scene = world(
        "Material \"diffuse\" \"rgb Kd\" [ 1 0 0 ] Shape \"sphere\" \"float raduis\" 2 \"float alpha\" 1",
    )
    .unwrap();
    assert_noted(
        &scene,
        "not used: unknown parameters of 2 objects: \"Kd of diffuse\", \"raduis of sphere\"",
    );
    for example in ["everything.xml", "everything.pbrt"] {
        assert_not_noted(&super::example(example), "unknown parameters");
    }
}

#[test]
fn what_changes_the_image_is_reported() {
    let color = |value: &str| {
        scene(&format!(
            "<shape type=\"sphere\"><bsdf type=\"diffuse\"><rgb name=\"reflectance\" value=\"{value}\"/></bsdf></shape>"
        ))
        .unwrap()
    };
    assert_not_noted(&color("1, 0, 0.5"), "outside 0 to 1");
    for wrong in ["1.2, 0, 0", "-0.1, 0.5, 0.5"] {
        assert_noted(&color(wrong), "1 reflectance outside 0 to 1");
    }
    let pbrt = world("Material \"diffuse\" \"rgb reflectance\" [ 2 2 2 ] Shape \"sphere\"");
    assert_noted(&pbrt.unwrap(), "1 reflectance outside 0 to 1");
    let skin = scene("<shape type=\"sphere\"><subsurface type=\"dipole\"/></shape>").unwrap();
    assert_noted(&skin, "not shown: subsurface scattering");
}

/// Warnings about the camera are only there where it would change the image.
#[test]
fn clipping_planes_and_scales_are_reported_where_they_count() {
    let shown = |sensor: &str, parameters: &str, scale: &str| {
        let scale = format!("<scale {scale}/><translate z=\"-5\"/>");
        scene(&format!(
            "<sensor type=\"{sensor}\">{parameters}<transform name=\"to_world\">{scale}</transform></sensor>\
             {BALL}<shape type=\"rectangle\"/>"
        ))
        .unwrap()
    };
    let clip = |near: f64, far: f64| {
        format!(
            "<float name=\"near_clip\" value=\"{near}\"/><float name=\"far_clip\" value=\"{far}\"/>"
        )
    };
    for sensor in ["perspective", "orthographic"] {
        assert_not_noted(&shown(sensor, "", "value=\"1\""), "clip");
        assert_not_noted(&shown(sensor, &clip(3.9, 6.1), "value=\"1\""), "clip");
        assert_noted(
            &shown(sensor, &clip(4.1, 6.1), "value=\"1\""),
            "not used: near_clip",
        );
        assert_noted(
            &shown(sensor, &clip(3.9, 5.9), "value=\"1\""),
            "not used: far_clip",
        );
    }
    // A floor under the camera, which looks down at it.
    let floor = scene(
        "<sensor type=\"perspective\"><float name=\"near_clip\" value=\"0.5\"/><transform name=\"to_world\">\
         <lookat origin=\"0, 2, 5\" target=\"0, 0, 0\" up=\"0, 1, 0\"/></transform></sensor>\
         <shape type=\"rectangle\"><transform name=\"to_world\"><scale value=\"100\"/><rotate x=\"1\" angle=\"-90\"/>\
         </transform></shape>",
    );
    assert_not_noted(&floor.unwrap(), "clip");
    // Mitsuba scales the distance of the near plane, 2 m here, and not the distance between both planes, 5 m.
    let deep = |near: f64, far: f64| shown("orthographic", &clip(near, far), "value=\"2\"");
    assert_not_noted(&deep(1.0, 6.0), "clip");
    assert_noted(&deep(2.1, 8.0), "not used: near_clip");
    assert_noted(&deep(1.0, 4.9), "not used: far_clip");
}
