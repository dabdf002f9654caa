//! Tests of `--turntable`.

use std::fs;

use libtest_mimic::Trial;
use raysieve::render::part::alpha_of;

use crate::{
    add_tests, assert_done, assert_refused,
    files::{linear, statistics},
    folder,
    models::{cube, write},
    names, run, scene, stderr, stdout,
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials,
        turntable_circles_the_target_of_a_scene,
        turntable_says_once_that_it_denoises,
        whole_model_stays_in_all_images_of_a_turntable,
        turntable_is_refused_with_options_of_other_sequences,
    );
}

/// A scene whose camera looks from the given place at a red wall in the front, a green one on the right, and others.
const ROOM: &str = r#"(
    size: (24, 16), spp: 4, sky: (0.2, 0.4, 1),
    camera: (origin: ORIGIN, target: (0, 0, 0), fov: 50),
    materials: { "red": Diffuse(albedo: (0.8, 0.1, 0.1)), "green": Diffuse(albedo: (0.1, 0.8, 0.1)) },
    objects: [
        Sphere(center: (0, 0, 1.5), radius: 0.7, material: "red"),
        Sphere(center: (1.5, 0, 0), radius: 0.7, material: "green"),
    ],
)"#;

fn turntable_circles_the_target_of_a_scene() {
    let folder = folder();
    let folder = folder.path();
    let views = ["(0, 1, 5)", "(5, 1, 0)", "(0, 1, -5)", "(-5, 1, 0)"];
    for (number, view) in views.iter().enumerate() {
        let name = format!("{number}.ron");
        fs::write(folder.join(&name), ROOM.replace("ORIGIN", view)).expect("a scene");
        let image = format!("{number}.exr");
        let arguments = [&name, "--backend", "cpu", "-o", &image];
        assert_done(&run(folder, arguments));
    }
    let turned = run(
        folder,
        [
            "0.ron",
            "--backend",
            "cpu",
            "--turntable",
            "4",
            "-o",
            "turn.exr",
            "--stats",
            "turn.json",
        ],
    );
    assert_done(&turned);
    let messages = stderr(&turned);
    for (number, degrees) in ["0.0", "90.0", "180.0", "270.0"].iter().enumerate() {
        let line = format!(
            "raysieve: frame {} of 4, at {degrees}°: turn.000{number}.exr",
            number + 1
        );
        assert!(messages.contains(&line), "{line} in {messages}");
    }
    assert_eq!(stdout(&turned).lines().count(), 4, "{}", stdout(&turned));
    let images: Vec<_> = (0..4)
        .map(|number| {
            let own = linear(&folder.join(format!("turn.000{number}.exr")));
            let expected = linear(&folder.join(format!("{number}.exr")));
            let pairs = own.pixels.iter().zip(&expected.pixels);
            let sum: f32 = pairs
                .map(|(one, other)| (one - other).abs().element_sum())
                .sum();
            let mean = sum / own.pixels.len() as f32;
            assert!(mean < 1e-3, "image {number} differs by {mean}");
            own
        })
        .collect();
    assert!((1..4).all(|number| images[number].pixels != images[0].pixels));
    // The first image has the very bits of a single render.
    assert_done(&run(
        folder,
        [
            "0.ron",
            "--backend",
            "cpu",
            "-o",
            "one.exr",
            "--stats",
            "one.json",
        ],
    ));
    let [one, first] = ["one.json", "turn.0000.json"].map(|name| statistics(&folder.join(name)));
    assert_eq!(one["film_hash"], first["film_hash"]);
}

fn turntable_says_once_that_it_denoises() {
    let folder = folder();
    let spheres = scene("spheres.ron");
    let spheres = spheres.to_str().expect("a path");
    let view = ["--backend", "cpu", "--size", "32x24", "--spp", "4"];
    let rest = ["--turntable", "3", "--denoise", "-o", "a.png"];
    let output = run(folder.path(), [&[spheres], &view[..], &rest].concat());
    assert_done(&output);
    // The backend, the denoised image, and a line for each frame.
    let messages = stderr(&output);
    assert_eq!(messages.lines().count(), 5, "{messages}");
    assert_eq!(
        messages.matches("denoised preview").count(),
        1,
        "{messages}"
    );
}

fn whole_model_stays_in_all_images_of_a_turntable() {
    let mut model = cube();
    // A plank, which is far wider from one side than from the other.
    model.json["nodes"][0]["scale"] = serde_json::json!([8, 0.5, 1]);
    let folder = write(&model);
    let view = [
        "model.glb",
        "--backend",
        "cpu",
        "--size",
        "96x72",
        "--spp",
        "1",
        "--background",
        "transparent",
        "--camera-from",
        "90,10",
    ];
    let output = run(
        folder.path(),
        [&view[..], &["--turntable", "6", "-o", "a.exr"]].concat(),
    );
    assert_done(&output);
    let alpha = |name: &str| {
        let alpha = alpha_of(&folder.path().join(name)).expect("an EXR");
        alpha.expect("alpha")
    };
    for number in 0..6 {
        let alpha = alpha(&format!("a.000{number}.exr"));
        assert!(alpha.contains(&1.0), "image {number} is empty");
        let sides = (0..72).flat_map(|row| [row * 96, row * 96 + 95]);
        let cut = sides.filter(|&pixel| alpha[pixel] > 0.0).count();
        assert_eq!(cut, 0, "image {number} cuts the model off");
    }
    // A single render from the narrow side is nearer, so that the check above is not trivial.
    let near = run(folder.path(), [&view[..], &["-o", "near.exr"]].concat());
    assert_done(&near);
    let shown = |name: &str| -> f32 { alpha(name).iter().sum() };
    assert!(shown("near.exr") > 2.0 * shown("a.0000.exr"));
}

fn turntable_is_refused_with_options_of_other_sequences() {
    let folder = folder();
    let spheres = scene("spheres.ron");
    let spheres = spheres.to_str().expect("a path");
    let wrong: &[(&[&str], &str)] = &[
        (&["--turntable", "1"], "must be 2 to 10000"),
        (&["--turntable", "8", "--frames", "0..4"], "--frames"),
        (
            &["--turntable", "8", "--samples", "0..4", "-o", "a.exr"],
            "--samples",
        ),
        (
            &["--turntable", "8", "--checkpoint", "a.exr"],
            "--checkpoint",
        ),
    ];
    for (arguments, expected) in wrong {
        let output = run(folder.path(), [&[spheres], *arguments].concat());
        assert_refused(&output, 2, &["--turntable", expected]);
    }
    assert!(names(folder.path()).is_empty());
}
