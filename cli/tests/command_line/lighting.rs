//! Tests of the options of camera, light and background, and of scene files that are written from models.

use std::{fs, io::BufReader, path::Path};

use libtest_mimic::Trial;
use raysieve::{film::picture::Picture, inspect::aovs::Aov, render::part::alpha_of};
use serde_json::{Value, json};

use crate::{
    add_tests, assert_done, assert_refused,
    files::{linear, statistics},
    folder,
    gltf::Gltf,
    models::{HALF_TURN, cube, film_hash, render, turning_cube, write},
    names, run, scene, stderr,
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials,
        options_of_the_view_change_models_and_scenes,
        an_environment_file_replaces_the_light_of_models_and_scenes,
        a_background_color_is_seen_and_lights_nothing,
        a_transparent_background_gives_files_with_alpha,
        parts_and_checkpoints_keep_alpha,
        a_scene_with_a_transparent_background_hides_neither_glass_nor_mirrors,
        a_ground_shows_shadows_and_leaves_the_film,
        a_written_scene_renders_the_film_of_its_model,
        a_written_scene_replaces_no_file,
        wrong_options_of_camera_and_light_are_reported_on_one_line,
    );
}

/// Writes an environment map of one color in Radiance format.
fn write_sky(path: &Path, rgbe: [u8; 4]) {
    let mut bytes = b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 2 +X 4\n".to_vec();
    bytes.extend(rgbe.repeat(8));
    fs::write(path, bytes).expect("the sky is written");
}

/// Radiance 1 of all channels in Radiance format.
const WHITE: [u8; 4] = [128, 128, 128, 129];

/// Returns the film hash of a scene of the repository at 16 × 16 pixels with one sample.
fn scene_hash(folder: &Path, name: &str, more: &[&str]) -> Value {
    let path = scene(name);
    let path = path.to_str().expect("a path of text");
    let arguments = [
        path,
        "--backend",
        "cpu",
        "--headless",
        "--size",
        "16x16",
        "--spp",
        "1",
        "-o",
        "s.png",
        "--stats",
        "s.json",
    ];
    assert_done(&run(folder, [&arguments[..], more].concat()));
    statistics(&folder.join("s.json"))["film_hash"].clone()
}

fn options_of_the_view_change_models_and_scenes() {
    let mut model = cube();
    model.json["nodes"][0]["scale"] = json!([1, 2, 3]);
    let folder = write(&model);
    let hash = |more: &[&str]| film_hash(folder.path(), more);
    let default = hash(&[]);
    assert_eq!(hash(&["--camera-from", "35,20"]), default);
    assert_eq!(hash(&["--up", "y"]), default);
    let changes: [&[&str]; 6] = [
        &["--camera-from=-35,20"],
        &["--camera-from", "35,20,9"],
        &["--up", "z"],
        &["--up", "x"],
        &["--fov", "90"],
        &["--orthographic"],
    ];
    let mut hashes: Vec<Value> = changes.into_iter().map(hash).collect();
    hashes.push(default);
    for (number, one) in hashes.iter().enumerate() {
        assert!(!hashes[..number].contains(one), "{number} of {hashes:?}");
    }
    let hash = |more: &[&str]| scene_hash(folder.path(), "spheres.ron", more);
    let changes: [&[&str]; 4] = [
        &[],
        &["--camera-from", "90,10"],
        &["--fov", "90"],
        &["--orthographic"],
    ];
    let hashes: Vec<Value> = changes.into_iter().map(hash).collect();
    for (number, one) in hashes.iter().enumerate() {
        assert!(!hashes[..number].contains(one), "{number} of {hashes:?}");
    }
    let spheres = scene("spheres.ron");
    let spheres = spheres.to_str().expect("a path of text");
    let refused = run(folder.path(), [spheres, "--up", "z", "--headless"]);
    assert_refused(&refused, 2, &["spheres.ron: ", "`rotate`"]);
}

/// Renders `model.glb` into an EXR and returns its pixels.
fn picture(folder: &Path, more: &[&str]) -> Picture {
    assert_done(&render(folder, &[more, &["-o", "a.exr"]].concat()));
    linear(&folder.join("a.exr"))
}

/// Returns the pixel in the upper left corner, which shows the background, and the one in the middle of an image of 32
/// × 24 pixels.
fn corner_and_center(picture: &Picture) -> [[f32; 3]; 2] {
    [0, 12 * 32 + 16].map(|pixel| picture.pixels[pixel].to_array())
}

fn an_environment_file_replaces_the_light_of_models_and_scenes() {
    let folder = write(&cube());
    write_sky(&folder.path().join("white, plain.hdr"), WHITE);
    let white = picture(folder.path(), &["--env", "white, plain.hdr"]);
    let [corner, center] = corner_and_center(&white);
    assert_eq!(corner, [1.0; 3]);
    // A white room without shadows: the cube reflects most of it.
    assert!(
        center.iter().all(|&value| value > 0.6 && value < 1.0),
        "{center:?}"
    );
    let bright = picture(folder.path(), &["--env", "white, plain.hdr,90,2.5"]);
    assert_eq!(corner_and_center(&bright)[0], [2.5; 3]);
    // A sky, a sun with its sky and another environment are replaced, and other lights stay.
    for light in [
        "sky: (9, 9, 9)",
        "lights: [SunSky(elevation: 40)]",
        "lights: [Environment(file: \"missing.hdr\")]",
        "lights: [Studio()]",
    ] {
        let text = format!(
            "(camera: (origin: (0, 0, 5), target: (0, 0, 0), fov: 40), {light}, materials: {{ \"m\": Diffuse(albedo: (0, 0, 0)) }}, objects: [Sphere(center: (0, 0, 0), radius: 1, material: \"m\")])"
        );
        fs::write(folder.path().join("s.ron"), text).expect("the scene is written");
        let arguments = [
            "s.ron",
            "--env",
            "white, plain.hdr",
            "--size",
            "8x8",
            "--spp",
            "1",
            "--backend",
            "cpu",
            "-o",
            "s.exr",
        ];
        assert_done(&run(folder.path(), arguments));
        let picture = linear(&folder.path().join("s.exr"));
        assert_eq!(picture.pixels[0].to_array(), [1.0; 3], "{light}");
        assert_eq!(picture.pixels[4 * 8 + 4].to_array(), [0.0; 3], "{light}");
    }
    let refused = render(folder.path(), &["--env", "none.hdr", "-o", "b.exr"]);
    assert_refused(&refused, 2, &["none.hdr: "]);
}

fn a_background_color_is_seen_and_lights_nothing() {
    let folder = write(&cube());
    let [_, plain] = corner_and_center(&picture(folder.path(), &[]));
    let colored = picture(folder.path(), &["--background", "#ff8000"]);
    let [corner, center] = corner_and_center(&colored);
    assert_eq!(center, plain);
    let expected = [1.0, 0.215_860_5, 0.0];
    let near = corner
        .iter()
        .zip(expected)
        .all(|(found, expected)| (found - expected).abs() < 1e-6);
    assert!(near, "{corner:?}");
    let env = film_hash(folder.path(), &["--background", "env"]);
    assert_eq!(env, film_hash(folder.path(), &[]));
    // The color is displayed alike at any exposure of the scene.
    let text = "(exposure: 3, background: (0, 1, 0), camera: (origin: (0, 0, 5), target: (0, 0, 0), fov: 40), materials: { \"m\": Diffuse(albedo: (0, 0, 0)) }, objects: [Sphere(center: (0, 0, 0), radius: 1, material: \"m\")])";
    fs::write(folder.path().join("s.ron"), text).expect("the scene is written");
    let corner = |more: &[&str]| {
        let arguments = [
            "s.ron",
            "--size",
            "8x8",
            "--spp",
            "1",
            "--backend",
            "cpu",
            "-o",
            "s.exr",
        ];
        assert_done(&run(folder.path(), [&arguments[..], more].concat()));
        linear(&folder.path().join("s.exr")).pixels[0].to_array()
    };
    assert_eq!(corner(&[]), [0.0, 1.0, 0.0]);
    assert_eq!(corner(&["--background", "white"]), [0.125; 3]);
}

/// Returns the pixels of a PNG, which must have an alpha channel.
fn rgba(path: &Path) -> Vec<[u8; 4]> {
    let file = fs::File::open(path).expect("the PNG opens");
    let reader = png::Decoder::new(BufReader::new(file))
        .read_info()
        .expect("a PNG");
    assert_eq!(reader.info().color_type, png::ColorType::Rgba);
    let image = image::open(path).expect("the PNG opens").into_rgba8();
    image.pixels().map(|pixel| pixel.0).collect()
}

fn a_transparent_background_gives_files_with_alpha() {
    let folder = write(&cube());
    let opaque = picture(folder.path(), &["--background", "black"]);
    let transparent = picture(folder.path(), &["--background", "transparent"]);
    // Premultiplied colors are those in front of black.
    assert_eq!(transparent, opaque);
    let alpha = alpha_of(&folder.path().join("a.exr"))
        .expect("a part")
        .expect("it has alpha");
    assert_eq!([alpha[0], alpha[12 * 32 + 16]], [0.0, 1.0]);
    let partial: Vec<usize> = (0..alpha.len())
        .filter(|&pixel| alpha[pixel] > 0.0 && alpha[pixel] < 1.0)
        .collect();
    assert!(partial.len() > 10, "{}", partial.len());
    let is_black = |pixel: usize| transparent.pixels[pixel] == glam::Vec3::ZERO;
    assert!((0..alpha.len()).all(|pixel| alpha[pixel] > 0.0 || is_black(pixel)));
    // Colors of a PNG are not premultiplied: at the outline they are those of the surface.
    let options = [
        "--background",
        "transparent",
        "--tone",
        "srgb",
        "-o",
        "a.png",
    ];
    for more in [&[][..], &["--denoise"]] {
        assert_done(&render(folder.path(), &[&options[..], more].concat()));
        let pixels = rgba(&folder.path().join("a.png"));
        assert_eq!(pixels[0], [0; 4]);
        assert_eq!(pixels[12 * 32 + 16][3], 255);
        for &pixel in &partial {
            assert_eq!(f32::from(pixels[pixel][3]), (alpha[pixel] * 255.0).round());
        }
    }
    // The first channel of a reader that expects alpha is red, not alpha.
    let layers = ["--background", "transparent", "--layers", "albedo,depth"];
    picture(folder.path(), &layers);
    let found = raysieve::render::part::aovs_of(&folder.path().join("a.exr")).expect("a part");
    assert_eq!(found, [Aov::Albedo, Aov::Depth, Aov::Alpha]);
    let refused = render(folder.path(), &["--layers", "alpha", "-o", "b.exr"]);
    assert_refused(&refused, 2, &["alpha"]);
}

fn parts_and_checkpoints_keep_alpha() {
    let folder = write(&cube());
    let transparent = ["--background", "transparent"];
    let render =
        |more: &[&str]| assert_done(&render(folder.path(), &[&transparent[..], more].concat()));
    let alpha = |name: &str| alpha_of(&folder.path().join(name)).expect("a part");
    render(&["-o", "whole.exr"]);
    let whole = alpha("whole.exr");
    assert!(whole.is_some());
    render(&["--samples", "0..1", "-o", "one.exr"]);
    render(&["--samples", "1..4", "-o", "two.exr"]);
    assert_eq!(alpha("two.exr"), whole);
    let merged = run(
        folder.path(),
        ["merge", "one.exr", "two.exr", "-o", "merged.exr"],
    );
    assert_done(&merged);
    assert!(!stderr(&merged).contains("omitted"), "{}", stderr(&merged));
    assert_eq!(alpha("merged.exr"), whole);
    assert_eq!(
        linear(&folder.path().join("merged.exr")),
        linear(&folder.path().join("whole.exr"))
    );
    assert_done(&run(
        folder.path(),
        ["merge", "one.exr", "two.exr", "-o", "merged.png"],
    ));
    render(&["-o", "whole.png", "--tone", "srgb"]);
    assert_eq!(
        rgba(&folder.path().join("merged.png")),
        rgba(&folder.path().join("whole.png"))
    );
    // The image is its own checkpoint.
    render(&["-o", "kept.exr", "--checkpoint", "kept.exr"]);
    assert_eq!(alpha("kept.exr"), whole);
    let verify = |more: &[&str]| {
        let arguments = ["verify", "whole.exr", "--backend", "cpu"];
        run(folder.path(), [&arguments[..], more].concat())
    };
    assert_done(&verify(&transparent));
    assert_refused(&verify(&[]), 2, &["is not the scene of whole.exr"]);
}

fn a_scene_with_a_transparent_background_hides_neither_glass_nor_mirrors() {
    let folder = folder();
    let text = "(background: Transparent, sky: (2, 2, 2), camera: (origin: (0, 0, 9), target: (0, 0, 0), width: 8),
        materials: {
            \"glass\": Dielectric(ior: 1.5), \"mirror\": Mirror(reflectance: (1, 1, 1)),
            \"half\": Principled(base_color: (1, 1, 1), opacity: 0.5),
        },
        objects: [
            Sphere(center: (-2.5, 0, 0), radius: 1, material: \"glass\"),
            Sphere(center: (0, 0, 0), radius: 1, material: \"mirror\"),
            Quad(corner: (1.5, -1, 0), edge_u: (2, 0, 0), edge_v: (0, 2, 0), material: \"half\"),
        ])";
    fs::write(folder.path().join("s.ron"), text).expect("the scene is written");
    let arguments = [
        "s.ron",
        "--size",
        "16x8",
        "--spp",
        "16",
        "--backend",
        "cpu",
        "-o",
        "s.exr",
    ];
    assert_done(&run(folder.path(), arguments));
    let path = folder.path().join("s.exr");
    let (picture, alpha) = (
        linear(&path),
        alpha_of(&path).expect("a part").expect("alpha"),
    );
    let row = 4 * 16;
    for (column, name) in [(3, "glass"), (8, "mirror")] {
        assert_eq!(alpha[row + column], 1.0, "{name}");
        let shown = picture.pixels[row + column].x;
        assert!((shown - 2.0).abs() < 0.1, "{name}: {shown}");
    }
    assert_eq!((alpha[0], picture.pixels[0]), (0.0, glam::Vec3::ZERO));
    // Half of the rays pass the half opaque surface.
    let half = alpha[row + 13];
    assert!((half - 0.5).abs() < 0.1, "{half}");
}

fn a_ground_shows_shadows_and_leaves_the_film() {
    let folder = write(&cube());
    let transparent = ["--background", "transparent"];
    let with_ground = [&transparent[..], &["--ground"]].concat();
    assert_eq!(
        film_hash(folder.path(), &with_ground),
        film_hash(folder.path(), &transparent)
    );
    let alpha = |options: &[&str]| {
        assert_done(&render(
            folder.path(),
            &[options, &["-o", "a.exr"]].concat(),
        ));
        let alpha = alpha_of(&folder.path().join("a.exr"));
        alpha.expect("a part").expect("it has alpha")
    };
    let (plain, shadows) = (alpha(&transparent), alpha(&with_ground));
    assert!(
        plain
            .iter()
            .zip(&shadows)
            .all(|(plain, shadows)| plain <= shadows)
    );
    let is_shadow = |&(&plain, &shadow): &(&f32, &f32)| plain == 0.0 && shadow > 0.1;
    let count = plain.iter().zip(&shadows).filter(is_shadow).count();
    assert!(count > 20, "{count}");
    assert_refused(
        &render(folder.path(), &["--ground"]),
        2,
        &["model.glb: ", "transparent background"],
    );
    // Under a sphere, the share of an even sky that it blocks is the square of radius over distance.
    for light in [
        "sky: (1, 2, 3)",
        "lights: [Environment(file: \"white.hdr\")]",
    ] {
        write_sky(&folder.path().join("white.hdr"), WHITE);
        let text = format!(
            "(background: Transparent, shadow_catcher: -1, {light}, camera: (origin: (0, 1, 9), target: (0, -1, 0), width: 0.1),
            materials: {{ \"m\": Diffuse(albedo: (1, 1, 1)) }},
            objects: [Sphere(center: (0, 1, 0), radius: 1, material: \"m\")])"
        );
        fs::write(folder.path().join("s.ron"), text).expect("the scene is written");
        let arguments = [
            "s.ron",
            "--size",
            "8x8",
            "--spp",
            "1",
            "--backend",
            "cpu",
            "-o",
            "s.exr",
        ];
        assert_done(&run(folder.path(), arguments));
        let alpha = alpha_of(&folder.path().join("s.exr"))
            .expect("a part")
            .expect("alpha");
        let mean = alpha.iter().sum::<f32>() / 64.0;
        assert!((mean - 0.25).abs() < 0.01, "{light}: {mean}");
    }
}

/// Returns a cube with lamps of all kinds and a camera, in front of it.
fn lit_cube() -> Gltf {
    let mut model = cube();
    model.json["cameras"] = json!([{ "type": "perspective",
        "perspective": { "yfov": 0.6, "aspectRatio": 1.5, "znear": 0.1 } }]);
    model.json["extensions"] = json!({ "KHR_lights_punctual": { "lights": [
        { "type": "point", "intensity": 70000, "color": [1, 0.7, 0.3] },
        { "type": "spot", "intensity": 9000, "spot": { "innerConeAngle": 0.3, "outerConeAngle": 0.7 } },
        { "type": "directional", "intensity": 3000 },
    ] } });
    let light = |number: u32| json!({ "KHR_lights_punctual": { "light": number } });
    model.json["scenes"] = json!([{ "nodes": [0, 1, 2, 3, 4] }]);
    model.json["nodes"] = json!([
        { "mesh": 0 },
        { "camera": 0, "translation": [0.5, 0.7, 5] },
        { "translation": [0.1, 3, 2], "extensions": light(0) },
        { "translation": [0.3, 0.4, 4], "extensions": light(1) },
        { "rotation": HALF_TURN, "extensions": light(2) },
    ]);
    model
}

fn a_written_scene_renders_the_film_of_its_model() {
    let cases: [(Gltf, &[&str]); 8] = [
        (cube(), &[]),
        (
            cube(),
            &["--up", "z", "--camera-from=-60,30", "--fov", "33"],
        ),
        (
            cube(),
            &[
                "--orthographic",
                "--background",
                "#336699",
                "--exposure",
                "1.5",
                "--tone",
                "agx",
            ],
        ),
        (
            cube(),
            &[
                "--env",
                "sky.hdr,77,0.3",
                "--background",
                "transparent",
                "--ground",
            ],
        ),
        (lit_cube(), &[]),
        (
            lit_cube(),
            &[
                "--up",
                "x",
                "--max-bounces",
                "3",
                "--seed",
                "5",
                "--clamp-indirect",
                "2",
            ],
        ),
        (lit_cube(), &["--camera-from", "10,90", "--env", "sky.hdr"]),
        (turning_cube(), &["--animation", "1", "--time", "0.7"]),
    ];
    for (model, options) in cases {
        let folder = write(&model);
        write_sky(&folder.path().join("sky.hdr"), [90, 120, 200, 130]);
        fs::create_dir(folder.path().join("scenes")).expect("a folder");
        let written = render(
            folder.path(),
            &[options, &["--write-scene", "scenes/s.ron"]].concat(),
        );
        assert_done(&written);
        let text = fs::read_to_string(folder.path().join("scenes/s.ron")).expect("the scene");
        let expected = film_hash(folder.path(), options);
        let arguments = [
            "scenes/s.ron",
            "--backend",
            "cpu",
            "-o",
            "s.exr",
            "--stats",
            "s.json",
        ];
        let rendered = run(folder.path(), arguments);
        assert_done(&rendered);
        assert_eq!(
            statistics(&folder.path().join("s.json"))["film_hash"],
            expected,
            "{options:?}: {text}"
        );
        // Exposure and tone curve are those of the model.
        let png = |name: &str, arguments: &[&str]| {
            let output = run(
                folder.path(),
                [arguments, &["--backend", "cpu", "-o", name]].concat(),
            );
            assert_done(&output);
            image::open(folder.path().join(name))
                .expect("the PNG")
                .into_rgba8()
        };
        let size = ["model.glb", "--size", "32x24", "--spp", "4"];
        let model = png("m.png", &[&size[..], options].concat());
        assert!(
            model == png("s.png", &["scenes/s.ron"]),
            "{options:?}: {text}"
        );
    }
}

fn a_written_scene_replaces_no_file() {
    let folder = write(&cube());
    fs::write(folder.path().join("s.ron"), "(mine)").expect("a file");
    let refused = render(folder.path(), &["--write-scene", "s.ron"]);
    assert_refused(&refused, 1, &["s.ron: exists", "name another file"]);
    let text = fs::read_to_string(folder.path().join("s.ron")).expect("the file");
    assert_eq!(text, "(mine)");
    let spheres = scene("spheres.ron");
    let spheres = spheres.to_str().expect("a path of text");
    let refused = run(folder.path(), [spheres, "--write-scene", "t.ron"]);
    assert_refused(&refused, 2, &["spheres.ron: is a scene file already"]);
    assert_eq!(names(folder.path()), ["model.glb", "s.ron"]);
}

fn wrong_options_of_camera_and_light_are_reported_on_one_line() {
    let wrong: &[(&[&str], &[&str])] = &[
        (&["--up", "w"], &["--up", "'w'", "x, y, z"]),
        (&["--fov", "180"], &["'180'", "179.999"]),
        (&["--fov", "NaN"], &["'NaN'", "179.999"]),
        (
            &["--fov", "40", "--orthographic"],
            &["--fov", "--orthographic"],
        ),
        (&["--camera-from", "10"], &["'10'", "such as 35,20"]),
        (&["--camera-from", "10,91"], &["elevation", "90"]),
        (&["--camera-from", "nan,0"], &["azimuth", "360"]),
        (&["--camera-from", "0,0,0"], &["distance", "1e-15"]),
        (
            &["--camera-from", "0,0", "--camera", "1"],
            &["--camera-from", "--camera"],
        ),
        (&["--env", "sky.png"], &["'sky.png'", ".hdr or .exr"]),
        (&["--env", "sky.hdr,east"], &["rotation", "360"]),
        (&["--env", "sky.hdr,0,-1"], &["strength", "1e6"]),
        (&["--env", "sky.hdr,0,1,2"], &[".hdr or .exr"]),
        (&["--background", "blueish"], &["'blueish'", "#f0f0f0"]),
        (&["--background", "#12345"], &["'#12345'", "#f0f0f0"]),
        (&["--write-scene", "a.glb"], &["'a.glb'", ".ron"]),
        (
            &["--write-scene", "a.ron", "-o", "a.png"],
            &["--write-scene", "--output"],
        ),
    ];
    let folder = folder();
    for (arguments, expected) in wrong {
        let output = run(folder.path(), [&["a.glb"][..], arguments].concat());
        assert_refused(&output, 2, expected);
        assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
    }
    assert!(names(folder.path()).is_empty());
}
