//! Tests of the XML of Mitsuba scenes: defaults, references, included files, limits, and errors.

use glam::Vec3;
use raysieve_scene::Surface;

use super::{
    load,
    mitsuba::{BALL, refused, scene},
};

#[test]
fn defaults_are_replaced_and_references_may_precede_objects() {
    let scene = scene(
        "<default name=\"size\" value=\"3\"/><default name=\"size\" value=\"4\"/>\
         <shape type=\"sphere\"><float name=\"radius\" value=\"$size\"/><ref id=\"later\"/></shape>\
         <bsdf type=\"diffuse\" id=\"later\"><rgb name=\"reflectance\" value=\"0.$size\"/></bsdf>",
    )
    .unwrap();
    assert_eq!(scene.spheres[0].radius, 3.0);
    let Surface::Diffuse { albedo, .. } = scene.materials[0] else {
        panic!();
    };
    assert_eq!(albedo, Vec3::splat(0.3));
    refused(
        "<shape type=\"sphere\"><float name=\"radius\" value=\"$r\"/></shape>",
        "`$r` has no value",
    );
}

#[test]
fn included_files_do_not_include_themselves() {
    let outer = "<scene><include filename=\"parts/ball.xml\"/></scene>";
    let ball = format!("<scene>{BALL}</scene>");
    let scene = load(&[("scene.xml", outer), ("parts/ball.xml", &ball)]).unwrap();
    assert_eq!(scene.spheres.len(), 1);
    let circle = "<scene><include filename=\"scene.xml\"/></scene>";
    let error = load(&[("scene.xml", outer), ("parts/ball.xml", circle)]).unwrap_err();
    assert!(error.contains("includes itself"), "{error}");
    refused("<include filename=\"../x.xml\"/>", "does not exist");
    refused("<include filename=\"/etc/x.xml\"/>", "is an absolute path");
    refused("<include filename=\"none.xml\"/>", "does not exist");
}

#[test]
fn many_includes_end() {
    let twice = |name: &str| {
        format!("<scene><include filename=\"{name}\"/><include filename=\"{name}\"/></scene>")
    };
    let names: Vec<String> = (0..20).map(|number| format!("{number}.xml")).collect();
    let mut files: Vec<(&str, String)> = (0..19)
        .map(|number| (names[number].as_str(), twice(&names[number + 1])))
        .collect();
    files.push((&names[19], format!("<scene>{BALL}</scene>")));
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(name, text)| (*name, text.as_str()))
        .collect();
    let error = load(&files).unwrap_err();
    assert!(
        error.contains("more than 32768 files, or 64 GiB, are included"),
        "{error}"
    );
}

#[test]
fn more_than_ten_thousand_files_may_be_included() {
    let included = "<include filename=\"part.xml\"/>".repeat(101);
    let outer = format!("<scene>{included}</scene>");
    let middle =
        "<scene>".to_owned() + &"<include filename=\"ball.xml\"/>".repeat(101) + "</scene>";
    let ball = format!("<scene>{BALL}</scene>");
    let files = [
        ("scene.xml", &*outer),
        ("part.xml", &*middle),
        ("ball.xml", &*ball),
    ];
    assert_eq!(load(&files).unwrap().spheres.len(), 101 * 101);
}

#[test]
fn entities_are_refused() {
    let bomb = "<!DOCTYPE scene [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;&a;\">]><scene>&b;</scene>";
    let error = load(&[("scene.xml", bomb)]).unwrap_err();
    assert!(
        error.contains("is not valid XML: XML with DTD detected"),
        "{error}"
    );
}

/// Comments may contain `--`, as in Mitsuba, and do not change the lines of errors.
#[test]
fn comments_may_contain_two_hyphens() {
    let text = "<scene><!-- mitsuba -- scene.xml\n <shape type=\"none\"> --->\n<!----><shape type=\"sphere\"/></scene>";
    let scene = load(&[("scene.xml", text)]).unwrap();
    assert_eq!(scene.spheres.len(), 1);
    assert!(
        scene.notes.iter().all(|note| !note.contains("none")),
        "{:?}",
        scene.notes
    );
    let wrong = text.replace(
        "sphere\"/>",
        "sphere\"><float name=\"radius\" value=\"x\"/></shape>",
    );
    let error = load(&[("scene.xml", &wrong)]).unwrap_err();
    assert!(error.contains("line 3"), "{error}");
    let error = load(&[("scene.xml", "<scene><!-- open </scene>")]).unwrap_err();
    assert!(error.contains("is not valid XML"), "{error}");
}

#[test]
fn costly_xml_is_refused() {
    let deep = format!(
        "{}{}",
        "<bsdf type=\"mask\">".repeat(1 << 18),
        "</bsdf>".repeat(1 << 18)
    );
    refused(&deep, "is nested deeper than 64 elements");
    let attributes: String = (0..1 << 16)
        .map(|number| format!(" a{number}=\"\""))
        .collect();
    refused(&format!("<shape{attributes}/>"), "more than 100 attributes");
    let spaces: String = (0..1 << 10)
        .map(|number| format!("<a xmlns:n{number}=\"u\"/>"))
        .collect();
    refused(&spaces, "more than 16 XML namespaces");
}

#[test]
fn references_in_a_circle_are_refused() {
    refused(
        "<bsdf type=\"mask\" id=\"a\"><ref id=\"b\"/></bsdf><bsdf type=\"mask\" id=\"b\"><ref id=\"a\"/></bsdf>\
         <shape type=\"sphere\"><ref id=\"a\"/></shape>",
        "contains itself",
    );
    refused(
        "<shape type=\"shapegroup\" id=\"g\"><shape type=\"instance\"><ref id=\"g\"/></shape></shape>\
         <shape type=\"instance\"><ref id=\"g\"/></shape>",
        "contains itself",
    );
    refused(
        "<texture type=\"scale\" id=\"t\"><ref id=\"t\"/></texture><shape type=\"sphere\"><bsdf type=\"diffuse\">\
         <ref name=\"reflectance\" id=\"t\"/></bsdf></shape>",
        "contains itself",
    );
}

#[test]
fn errors_name_the_place_the_cause_and_the_remedy() {
    for (members, text) in [
        ("", "has no shape that can be shown; add one"),
        (
            "\n<shape type=\"obj\"><string name=\"filename\" value=\"a.obj\"/></shape>",
            "not shown: 1 shape whose file does not exist, such as `a.obj`",
        ),
        (
            "<sensor type=\"perspective\"><float name=\"fov\" value=\"200\"/></sensor>",
            "fov: found 200, expected",
        ),
        (
            "<sensor type=\"perspective\"><float name=\"fov\" value=\"wide\"/></sensor>",
            "`fov`: found `wide`, expected a number",
        ),
        (
            "<shape type=\"sphere\"><transform name=\"to_world\"><skew/></transform></shape>",
            "unknown step <skew>",
        ),
        (
            "<shape type=\"sphere\"><bsdf type=\"conductor\"><string name=\"material\" value=\"Xx\"/></bsdf></shape>",
            "expected a metal such as Au",
        ),
        (
            "<shape type=\"sphere\"><emitter type=\"area\"><rgb name=\"radiance\" value=\"1e9\"/></emitter></shape>",
            "too bright for the film",
        ),
        (
            "<shape type=\"sphere\"><float name=\"radius\" value=\"1e30\"/></shape>",
            "expected coordinates within 1e8 m",
        ),
    ] {
        refused(members, text);
    }
    let error = load(&[("scene.xml", "<mesh/>")]).unwrap_err();
    assert_eq!(
        error,
        "scene.xml: is not a Mitsuba scene, but has the root element <mesh>; expected <scene>"
    );
}
