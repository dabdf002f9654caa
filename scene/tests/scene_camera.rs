//! Tests of saving a moved camera into the scene file, which keeps its comments and layout.

use std::{
    fs,
    path::{Path, PathBuf},
};

use glam::Vec3;
use raysieve_scene::{Camera, Error, FieldValue, Focus, Projection, Scene, save_camera};

/// Writes a scene with this camera to `name.ron` and returns the path.
fn written(name: &str, camera: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("scene_camera");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{name}.ron"));
    let text = format!(
        "// What it is.\n(\n    camera: {camera},\n    // Grey.\n    sky: (1, 1, 1), /* as it is */\n    \
         objects: [Model(file: \"{name}.ply\", scale: (1, 1, 1e0))],\n)\n"
    );
    let ply = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n\
               element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n";
    fs::write(folder.join(format!("{name}.ply")), ply).unwrap();
    fs::write(&path, text).unwrap();
    path
}

/// Loads a scene and returns its camera.
fn camera(path: &Path) -> Camera {
    Scene::load(path)
        .unwrap_or_else(|error| panic!("{error}"))
        .camera
}

/// Origin and target of a moved camera, with numbers that are long in decimal.
const MOVED: (Vec3, Vec3) = (
    Vec3::new(0.1, -2.3e-7, 1234.567),
    Vec3::new(1.0 / 3.0, 0.0, -5.0),
);

/// Returns the camera with origin and target replaced by `MOVED`.
fn moved(camera: Camera) -> Camera {
    let (origin, target) = MOVED;
    Camera {
        origin,
        target,
        ..camera
    }
}

#[test]
fn saving_a_camera_changes_only_its_changed_numbers() {
    let path = written(
        "comments",
        "( // seen\n        origin: (0, 1, 5), // from here\n        target: /* there */ (0, 1, 0),\n        fov: 40, \
         filter: Gaussian(radius: 2),\n    )",
    );
    let before = fs::read_to_string(&path).unwrap();
    let wanted = moved(camera(&path));
    save_camera(&path, &wanted).unwrap();
    assert_eq!(camera(&path), wanted);
    let expected = before
        .replace("(0, 1, 5)", "(0.1, -0.00000023, 1234.567)")
        .replace("(0, 1, 0)", "(0.33333334, 0, -5)");
    assert_eq!(fs::read_to_string(&path).unwrap(), expected);
    // Saving the same camera again changes nothing.
    save_camera(&path, &wanted).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), expected);
}

#[test]
fn saving_a_camera_keeps_the_focus_as_it_is_given() {
    for (name, lens) in [
        ("by_target", "(radius: 0.1)"),
        ("by_stop", "(f_stop: 2.8, blades: 6, /* */)"),
        ("by_distance", "(focus_distance: 3, radius: 0.1)"),
        (
            "by_point",
            "(radius: 0.1, focus_point: (0, 1, 1), rotation: 10)",
        ),
    ] {
        let path = written(
            name,
            &format!("(origin: (0, 1, 5), lens: {lens}, fov: 30, target: (0, 1, 0))"),
        );
        let mut wanted = camera(&path);
        wanted.origin.x = 0.7;
        wanted.target.z = -2.25;
        save_camera(&path, &wanted).unwrap();
        assert_eq!(camera(&path), wanted, "{name}");
        // A changed focus is saved too.
        let lens = wanted.lens.as_mut().unwrap();
        lens.focus = match lens.focus {
            Focus::Distance(_) => Focus::Distance(2.125),
            Focus::Point(_) => Focus::Point(Vec3::new(0.1, 0.2, 0.3)),
        };
        save_camera(&path, &wanted).unwrap();
        assert_eq!(camera(&path), wanted, "{name}");
    }
}

#[test]
fn a_saved_lens_loads_as_the_edited_one() {
    let number = FieldValue::Number;
    let lenses: [(&str, &str, &[_], &str); 7] = [
        (
            "lens_radius",
            "lens: (radius: 0.1)",
            &[("radius", 0.25), ("focus_distance", 3.0)],
            "lens: (radius: 0.25, focus_point: (0, 1, 2))",
        ),
        ("lens_stop", "lens: (f_stop: 2.8)", &[("fov", 60.0)], ""),
        (
            "lens_stops",
            "lens: (f_stop: 2.8)",
            &[("f_stop", 3.4)],
            "lens: (f_stop: 3.4)",
        ),
        (
            "lens_distance",
            "lens: (focus_distance: 2, radius: 0.1)",
            &[("focus_distance", 2.5)],
            "lens: (focus_distance: 2.5, radius: 0.1)",
        ),
        (
            "lens_added",
            "filter: Gaussian(radius: 2)",
            &[("radius", 0.5)],
            "filter: Gaussian(radius: 2)",
        ),
        (
            "lens_removed",
            "lens: (radius: 0.1)",
            &[("radius", 0.0)],
            "",
        ),
        (
            "lens_first",
            "/* a */ lens: (radius: 0.1), filter: Gaussian()",
            &[("radius", 0.0)],
            "filter",
        ),
    ];
    for (name, before, edits, after) in lenses {
        let path = written(
            name,
            &format!("(origin: (0, 1, 5), target: (0, 1, 0), fov: 30, {before})"),
        );
        let edit =
            |camera: Camera, &(field, value): &(&str, f32)| camera.with_field(field, number(value));
        let wanted = edits.iter().fold(camera(&path), edit);
        assert_ne!(wanted, camera(&path), "{name}");
        save_camera(&path, &wanted).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(camera(&path), wanted, "{name}");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(after), "{name}: {text}");
    }
}

#[test]
fn saving_an_orthographic_camera_keeps_width_and_up() {
    let path = written("flat", "(origin: (0, 1, 5), target: (0, 1, 0), width: 3)");
    let wanted = Camera {
        projection: Projection::Orthographic { width: 0.3 },
        up: Vec3::new(0.0, 0.5, 0.25),
        ..moved(camera(&path))
    };
    save_camera(&path, &wanted).unwrap();
    assert_eq!(camera(&path), wanted);
}

#[test]
fn a_camera_printed_as_scene_text_loads_as_the_same_camera() {
    for (name, text) in [
        ("pinhole", "(origin: (0, 1, 5), target: (0, 1, 0), fov: 40)"),
        (
            "wide",
            "(origin: (0, 1, 5), target: (0, 1, 0), up: (0, 1, 1), width: 4.5)",
        ),
        (
            "oblong",
            "(origin: (0, 1, 5), target: (0, 1, 0), width: 4.5, shift: (1, 2), pixel_aspect: 1.5)",
        ),
        (
            "lens",
            "(origin: (0, 1, 5), target: (0, 1, 0), fov: 40, lens: (f_stop: 1.4, blades: 7, rotation: 12.5))",
        ),
    ] {
        let first = moved(camera(&written(name, text)));
        let ron = first.to_ron();
        let value = ron
            .strip_prefix("camera: ")
            .and_then(|text| text.strip_suffix(','));
        let again = written(&format!("{name}_again"), value.expect("a field of a scene"));
        assert_eq!(camera(&again), first, "{ron}");
    }
}

#[test]
fn a_failed_save_leaves_the_file_unchanged() {
    let path = written("other", "(origin: (0, 1, 5), target: (0, 1, 0), fov: 40)");
    let before = fs::read_to_string(&path).unwrap();
    let kept = || assert_eq!(fs::read_to_string(&path).unwrap(), before);
    let orthographic = camera(&written(
        "orthographic",
        "(origin: (0, 1, 5), target: (0, 1, 0), width: 40)",
    ));
    for (wanted, expected) in [
        (orthographic, "load the scene again"),
        (
            Camera {
                target: camera(&path).origin,
                ..camera(&path)
            },
            "is the same point as `origin`",
        ),
    ] {
        let error = save_camera(&path, &wanted).expect_err("the save is refused");
        assert!(error.to_string().contains(expected), "{error}");
        kept();
    }
    let model = path.with_file_name("other.ply");
    let error = save_camera(&model, &orthographic).expect_err("a model has no text");
    assert!(matches!(error, Error::File { .. }), "{error}");
    fs::write(&path, "(camera: 7").unwrap();
    save_camera(&path, &orthographic).expect_err("no scene any more");
    assert_eq!(fs::read_to_string(&path).unwrap(), "(camera: 7");
}
