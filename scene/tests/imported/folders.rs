//! Tests of the files that a scene of Mitsuba or pbrt names in other folders.

use super::{assert_noted, load};

/// A scene of Mitsuba with a sphere.
const BALL: &str = "<scene><shape type=\"sphere\"/></scene>";

/// Loads a scene of Mitsuba in the folder `scenes`, which includes the file `name` after the elements `paths`. The file
/// `shared/parts/ball.xml` contains a sphere, and `scenes/ball.xml` contains nothing.
fn including(paths: &str, name: &str) -> Result<raysieve_scene::Scene, String> {
    let text = format!("<scene>{paths}<include filename=\"{name}\"/></scene>");
    load(&[
        ("scenes/scene.xml", &text),
        ("shared/parts/ball.xml", BALL),
        ("scenes/ball.xml", "<scene/>"),
    ])
}

#[test]
fn files_are_found_in_the_folders_of_paths() {
    for (paths, name) in [
        ("", "../shared/parts/ball.xml"),
        ("<path value=\"../shared\"/>", "parts/ball.xml"),
        ("<path value=\"..\\shared\"/>", "Parts/Ball.xml"),
        // These folders precede that of the scene, and the last one precedes the others.
        ("<path value=\"../shared/parts\"/>", "ball.xml"),
        (
            "<path value=\".\"/><path value=\"../shared/parts\"/>",
            "ball.xml",
        ),
    ] {
        let scene = including(paths, name).unwrap();
        assert_eq!(scene.spheres.len(), 1, "{paths}");
        assert!(scene.notes.iter().all(|note| !note.contains("<path>")));
    }
    let scene = including("<path value=\"../none\"/>", "../shared/parts/ball.xml").unwrap();
    assert_noted(
        &scene,
        "not used: the <path> `../none`, which is not a folder",
    );
    let error = including(&"<path value=\".\"/>".repeat(1000), "ball.xml").unwrap_err();
    assert!(error.contains("more than 64 folders"), "{error}");
}

#[test]
fn a_pbrt_scene_includes_files_of_other_folders() {
    let outer = "WorldBegin Include \"../parts/ball.pbrt\"";
    let files = [
        ("scenes/scene.pbrt", outer),
        ("parts/ball.pbrt", "Shape \"sphere\""),
    ];
    assert_eq!(load(&files).unwrap().spheres.len(), 1);
}
