//! Tests of saving a moved camera into the scene file, which keeps its comments and layout.

use std::{
    fs,
    path::{Path, PathBuf},
};

use glam::{DVec3, Vec3};
use raysieve_scene::{Camera, Error, FieldValue, Focus, Lens, Projection, Scene, save_camera};

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
    save_camera(&path, &wanted, DVec3::ZERO).unwrap();
    assert_eq!(camera(&path), wanted);
    let expected = before
        .replace("(0, 1, 5)", "(0.1, -0.00000023, 1234.567)")
        .replace("(0, 1, 0)", "(0.33333334, 0, -5)");
    assert_eq!(fs::read_to_string(&path).unwrap(), expected);
    // Saving the same camera again changes nothing.
    save_camera(&path, &wanted, DVec3::ZERO).unwrap();
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
        save_camera(&path, &wanted, DVec3::ZERO).unwrap();
        assert_eq!(camera(&path), wanted, "{name}");
        // A changed focus is saved too.
        let lens = wanted.lens.as_mut().unwrap();
        lens.focus = match lens.focus {
            Focus::Distance(_) => Focus::Distance(2.125),
            Focus::Point(_) => Focus::Point(Vec3::new(0.1, 0.2, 0.3)),
        };
        save_camera(&path, &wanted, DVec3::ZERO).unwrap();
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
        save_camera(&path, &wanted, DVec3::ZERO).unwrap_or_else(|error| panic!("{name}: {error}"));
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
    save_camera(&path, &wanted, DVec3::ZERO).unwrap();
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
        let ron = first.to_ron(DVec3::ZERO);
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
    let wanted = Camera {
        target: camera(&path).origin,
        ..camera(&path)
    };
    let error = save_camera(&path, &wanted, DVec3::ZERO).expect_err("the save is refused");
    let expected = "is the same point as `origin`";
    assert!(error.to_string().contains(expected), "{error}");
    kept();
    let model = path.with_file_name("other.ply");
    let error = save_camera(&model, &orthographic, DVec3::ZERO).expect_err("a model has no text");
    assert!(matches!(error, Error::File { .. }), "{error}");
    fs::write(&path, "(camera: 7").unwrap();
    save_camera(&path, &orthographic, DVec3::ZERO).expect_err("no scene any more");
    assert_eq!(fs::read_to_string(&path).unwrap(), "(camera: 7");
}

/// Each of these cameras can be saved in place of each other one, whatever the kinds of projection, aperture and focus
/// that the file names.
#[test]
fn every_camera_can_be_saved_in_place_of_every_other() {
    let view = "origin: (0, 1, 5), target: (0, 1, 0)";
    let cameras = [
        "fov: 40",
        "width: 3, pixel_aspect: 2",
        "fov: 90, up: (1, 1, 0), shift: (0.25, -0.5)",
        "fov: 40, lens: (f_stop: 2.8)",
        "fov: 40, lens: (radius: 0.1, focus_distance: 2, blades: 5)",
        // Apertures that are no valid numbers of stops.
        "fov: 40, lens: (radius: 20, focus_point: (0, 1, 1))",
        "fov: 170, lens: (radius: 1e-9)",
        "width: 3, lens: (focus_point: (1, 2, 3), radius: 0.5, rotation: 10)",
        // The focus is behind the camera.
        "fov: 40, lens: (radius: 0.1, focus_point: (0, 1, 6))",
    ];
    let path = |index: usize| {
        written(
            &format!("exchanged_{index}"),
            &format!("({view}, {})", cameras[index]),
        )
    };
    let wanted = [0, 1, 2, 3, 4, 5, 6, 7, 8].map(|index| camera(&path(index)));
    for from in 0..cameras.len() {
        for (to, wanted) in wanted.iter().enumerate() {
            assert!(wanted.is_expressible(), "{}", cameras[to]);
            let path = path(from);
            save_camera(&path, wanted, DVec3::ZERO)
                .unwrap_or_else(|error| panic!("{} to {}: {error}", cameras[from], cameras[to]));
            assert_eq!(
                camera(&path),
                *wanted,
                "{} to {}",
                cameras[from],
                cameras[to]
            );
        }
    }
}

#[test]
fn cameras_that_no_scene_expresses_are_refused() {
    let path = written("refused", "(origin: (0, 1, 5), target: (0, 1, 0), fov: 40)");
    let good = camera(&path);
    let lens = |radius: f32, focus: Focus| Camera {
        lens: Some(Lens {
            radius,
            focus,
            blades: 0,
            rotation_degrees: 0.0,
        }),
        ..good
    };
    for wrong in [
        Camera {
            up: Vec3::new(0.0, 0.0, 2.0),
            ..good
        },
        Camera {
            up: Vec3::ZERO,
            ..good
        },
        Camera {
            target: good.origin,
            ..good
        },
        Camera {
            origin: Vec3::new(2e8, 0.0, 0.0),
            ..good
        },
        Camera {
            projection: Projection::Orthographic { width: 0.0 },
            ..good
        },
        Camera {
            projection: Projection::Perspective { fov_degrees: 180.0 },
            ..good
        },
        lens(0.0, Focus::Distance(1.0)),
        lens(0.1, Focus::Distance(-1.0)),
        lens(0.1, Focus::Point(Vec3::new(0.0, f32::NAN, 0.0))),
    ] {
        assert!(!wrong.is_expressible(), "{wrong:?}");
        save_camera(&path, &wrong, DVec3::ZERO).expect_err("the save is refused");
        assert_eq!(camera(&path), good);
    }
}

#[test]
fn a_focus_behind_the_camera_is_reported() {
    let path = written(
        "behind",
        "(origin: (0, 1, 5), target: (0, 1, 0), fov: 40, lens: (radius: 0.1, focus_point: (0, 1, 6)))",
    );
    let notes = Scene::load(&path).expect("a scene").notes;
    assert!(
        notes
            .iter()
            .any(|note| note.starts_with("camera: its `focus_point` is not in front")),
        "{notes:?}"
    );
}

#[test]
fn a_spot_light_without_an_angle_is_reported() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("scene_camera");
    fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("spot.ron");
    let notes = |outer: &str| {
        let lights = format!(
            "Spot(position: (0, 0, 3), direction: (0, 0, -1), intensity: (5, 5, 5), outer: {outer})"
        );
        let camera = "(origin: (0, 0, 5), target: (0, 0, 0), fov: 40)";
        fs::write(&path, format!("(camera: {camera}, lights: [{lights}], materials: {{\"m\": Mirror(reflectance: (1, 1, 1))}}, objects: [Sphere(center: (0, 0, 0), radius: 1, material: \"m\")])")).expect("a file");
        Scene::load(&path).expect("a scene").notes
    };
    let reported =
        "light 1 (Spot): its `outer` is 0, so that it gives no light; choose a larger angle";
    assert!(
        notes("0").iter().any(|note| note == reported),
        "{:?}",
        notes("0")
    );
    assert!(!notes("1").iter().any(|note| note.contains("outer")));
}
