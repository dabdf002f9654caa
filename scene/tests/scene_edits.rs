//! Tests of editing materials, lights, sky, background and camera: their ranges, and saving them into the scene file,
//! which keeps its comments and layout.

use std::{
    fs,
    path::{Path, PathBuf},
};

use glam::{DAffine3, Vec3};
use raysieve_scene::{
    Absorption, Background, Error, FieldValue, Part, Scene, Surface, edits_to_ron, save_edits,
};

/// Returns the folder of the scenes.
fn folder() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("scene_edits");
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Writes a scene with these materials, lights and further fields to `name.ron`, and returns the path.
fn written(name: &str, materials: &str, lights: &str, more: &str) -> PathBuf {
    let path = folder();
    let picture = path.join(format!("{name}.png"));
    image::RgbImage::new(1, 1).save(picture).unwrap();
    let path = path.join(format!("{name}.ron"));
    let text = format!(
        "// What it is.\n(\n    camera: (origin: (0, 1, 5), target: (0, 1, 0), fov: 40),{more}\n    materials: {{\n        \
         // First.\n        {materials}, // so\n        \"other\": Diffuse(albedo: (0, 0, 0)),\n    }},\n    \
         lights: [/* none yet */ {lights}],\n    objects: [\n        Sphere(center: (0, 0, 0), radius: 1, material: \"one\"),\n    \
         ],\n)\n"
    );
    fs::write(&path, text).unwrap();
    path
}

fn load(path: &Path) -> Scene {
    Scene::load(path).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the scene after these fields of a part were set.
fn edited(scene: &Scene, part: Part, edits: &[(&str, FieldValue)]) -> Scene {
    let edit = |scene: Scene, &(field, value): &(&str, FieldValue)| {
        let edited = scene.with_field(part, field, value);
        edited.unwrap_or_else(|problem| panic!("{field}: {problem}"))
    };
    edits.iter().fold(scene.clone(), edit)
}

fn number(number: f32) -> FieldValue {
    FieldValue::Number(number)
}

fn color(red: f32, green: f32, blue: f32) -> FieldValue {
    FieldValue::Color(Vec3::new(red, green, blue))
}

const FIRST: Part = Part::Material(0);
const LIGHT: Part = Part::Light(0);

#[test]
fn saving_edits_changes_only_their_changed_numbers() {
    let body = |color: [f32; 3], distance| {
        FieldValue::Absorption(Absorption::new(Vec3::from_array(color), distance))
    };
    let materials: [(&str, &str, &[_], &str); 12] = [
        (
            "diffuse",
            "Diffuse(/* grey */ albedo: (0.7, 0.25, 1), one_sided: true)",
            &[("albedo", color(0.5, 0.25, 1.0))],
            "Diffuse(/* grey */ albedo: (0.5, 0.25, 1), one_sided: true)",
        ),
        (
            "preset",
            "RoughConductor(preset: \"gold\", alpha: 0.125)",
            &[("alpha", number(0.25))],
            "RoughConductor(preset: \"gold\", alpha: 0.25)",
        ),
        (
            "default",
            "CoatedDiffuse(albedo: (0, 0, 0))",
            &[
                ("alpha", number(0.25)),
                ("ior", number(1.75)),
                ("albedo", color(0.5, 0.0, 0.0)),
            ],
            "CoatedDiffuse(ior: 1.75, alpha: 0.25, albedo: (0.5, 0, 0))",
        ),
        (
            "all_by_default",
            "Principled( /* nothing ( */ )",
            &[
                ("base_color", color(0.5, 1.0, 1.0)),
                ("emission", color(6.0, 6.0, 6.0)),
                ("roughness", number(0.25)),
                ("transmission", number(0.75)),
            ],
            "Principled(base_color: (0.5, 1, 1), roughness: 0.25, transmission: 0.75, emission: (6, 6, 6),  /* nothing ( */ )",
        ),
        (
            "textured",
            "Principled(base_color: Texture(file: \"textured.png\"), roughness: Texture(factor: 0.5, file: \"textured.png\"),)",
            &[
                ("base_color", color(0.5, 1.0, 1.0)),
                ("roughness", number(0.25)),
            ],
            "Principled(base_color: Texture(file: \"textured.png\", factor: (0.5, 1, 1)), \
             roughness: Texture(factor: 0.25, file: \"textured.png\"),)",
        ),
        (
            "lamp",
            "Emissive(radiance: (1, 0, 3))",
            &[("radiance", color(2.0, 0.0, 6.0))],
            "Emissive(radiance: (2, 0, 6))",
        ),
        (
            "glass",
            "Dielectric(ior: 1.5)",
            &[("ior", number(1.25))],
            "Dielectric(ior: 1.25)",
        ),
        (
            "body",
            "Dielectric(ior: 1.5, absorption: ((1, 0.5, 0.25), /* m */ 0.1))",
            &[("absorption", body([0.75, 0.5, 0.25], 0.3))],
            "Dielectric(ior: 1.5, absorption: ((0.75, 0.5, 0.25), /* m */ 0.3))",
        ),
        (
            "clear_body",
            "Principled(transmission: 1)",
            &[("absorption", body([0.75, 1.0, 0.0], 2.0))],
            "Principled(absorption: ((0.75, 1, 0), 2), transmission: 1)",
        ),
        (
            "metal",
            "Conductor(eta: (1.5, 1, 0.5), k: (7, 6, 5))",
            &[("eta", color(1.5, 1.25, 0.5)), ("k", color(7.0, 6.0, 50.0))],
            "Conductor(eta: (1.5, 1.25, 0.5), k: (7, 6, 50))",
        ),
        (
            "edited_preset",
            "RoughConductor(preset: \"gold\", alpha: 0.125)",
            &[
                ("alpha", number(0.5)),
                ("eta", color(1.0, 0.5, 0.25)),
                ("k", color(4.0, 3.0, 2.0)),
            ],
            "RoughConductor(eta: (1, 0.5, 0.25), k: (4, 3, 2), alpha: 0.5)",
        ),
        (
            "opacity",
            "Diffuse(albedo: (0.5, 0.5, 0.5), cutoff: 0.5)",
            &[("opacity", number(0.25)), ("cutoff", number(0.125))],
            "Diffuse(opacity: 0.25, albedo: (0.5, 0.5, 0.5), cutoff: 0.125)",
        ),
    ];
    let materials = materials.map(|(name, before, edits, after)| {
        let text = |material: &str| format!("\"one\": {material}");
        let path = written(name, &text(before), "", "");
        (name, path, FIRST, edits, text(before), text(after))
    });
    let lights: [(&str, &str, &[_], &str); 7] = [
        (
            "point",
            "Point(position: (1, 2, 3), intensity: (1, 2, 4))",
            &[("intensity", color(0.5, 1.0, 2.0))],
            "Point(position: (1, 2, 3), intensity: (0.5, 1, 2))",
        ),
        (
            "spot",
            "Spot(position: (0, 3, 2), direction: (0, -1, 0), intensity: (5, 5, 5), outer: 30)",
            &[("inner", number(12.5)), ("outer", number(45.0))],
            "Spot(inner: 12.5, position: (0, 3, 2), direction: (0, -1, 0), intensity: (5, 5, 5), outer: 45)",
        ),
        (
            "directional",
            "Directional(direction: (1, -1, 0), irradiance: (0.5, 0.4, 0.3), /* sharp */ angle: 0)",
            &[("angle", number(2.0))],
            "Directional(direction: (1, -1, 0), irradiance: (0.5, 0.4, 0.3), /* sharp */ angle: 2)",
        ),
        (
            "environment",
            "Environment(file: \"environment.exr\", scale: 0.5)",
            &[("scale", number(1.3)), ("rotate_y", number(30.1))],
            "Environment(rotate_y: 30.1, file: \"environment.exr\", scale: 1.3)",
        ),
        (
            "studio",
            "Studio()",
            &[("azimuth", number(-33.3)), ("scale", number(0.7))],
            "Studio(scale: 0.7, azimuth: -33.3, )",
        ),
        (
            "sun",
            "SunSky(elevation: 40.123456789, turbidity: 4)",
            &[
                ("azimuth", number(77.7)),
                ("scale", number(0.03)),
                ("ground", color(0.1, 0.2, 0.3)),
            ],
            "SunSky(scale: 0.03, azimuth: 77.7, ground: (0.1, 0.2, 0.3), elevation: 40.123456789, turbidity: 4)",
        ),
        (
            "date",
            "SunSky(date: (2026, 10, 3), time: 15.5, latitude: 37.18, longitude: -3.59)",
            &[("time", number(9.1)), ("north", number(90.0))],
            "SunSky(north: 90, date: (2026, 10, 3), time: 9.1, latitude: 37.18, longitude: -3.59)",
        ),
    ];
    let map = image::Rgb32FImage::from_fn(8, 4, |x, y| image::Rgb([x as f32, y as f32, 0.3]));
    map.save(folder().join("environment.exr")).unwrap();
    let lights = lights.map(|(name, before, edits, after)| {
        let path = written(name, "\"one\": Mirror(reflectance: (1, 1, 1))", before, "");
        (
            name,
            path,
            LIGHT,
            edits,
            before.to_owned(),
            after.to_owned(),
        )
    });
    for (name, path, part, edits, before, after) in materials.into_iter().chain(lights) {
        let text = fs::read_to_string(&path).unwrap();
        let scene = load(&path);
        let wanted = edited(&scene, part, edits);
        assert_ne!(wanted.surfaces_hash(), scene.surfaces_hash(), "{name}");
        let printed = edits_to_ron(&wanted, &scene).0;
        assert_eq!(printed, format!("{after},"), "{name}");
        let unwritten = fs::read_to_string(&path).unwrap();
        assert_eq!(unwritten, text, "{name}: printing must not write");
        for _ in 0..2 {
            let missing = save_edits(&wanted, &scene, &scene.camera);
            assert_eq!(missing.unwrap(), [], "{name}");
            let kept = fs::read_to_string(&path).unwrap();
            assert_eq!(kept, text.replace(&before, &after), "{name}");
        }
        let loaded = load(&path);
        assert_eq!(loaded.hash(), wanted.hash(), "{name}: the same film");
        assert_eq!(loaded.part_state(part), wanted.part_state(part), "{name}");
    }
}

#[test]
fn the_sky_can_be_edited_and_added() {
    let mirror = "\"one\": Mirror(reflectance: (1, 1, 1))";
    for (name, more, after) in [
        (
            "sky",
            "\n    sky: (1, 2, 3), // blue",
            "    sky: (0.5, 0.25, 0), // blue\n",
        ),
        ("no_sky", "", "fov: 40),\n    sky: (0.5, 0.25, 0),\n"),
    ] {
        let path = written(name, mirror, "", more);
        let scene = load(&path);
        let wanted = edited(&scene, Part::Sky, &[("sky", color(0.5, 0.25, 0.0))]);
        save_edits(&wanted, &scene, &scene.camera).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(after), "{text}");
        assert_eq!(load(&path).hash(), wanted.hash());
    }
}

#[test]
fn the_background_can_be_edited_and_added() {
    let mirror = "\"one\": Mirror(reflectance: (1, 1, 1))";
    let gray = Background::Color(Vec3::splat(0.5));
    for (name, before, background, after) in [
        (
            "added",
            "",
            gray,
            "fov: 40),\n    background: (0.5, 0.5, 0.5),\n",
        ),
        (
            "transparent",
            "\n    background: (1, 2, 3), // blue",
            Background::Transparent,
            "    background: Transparent, // blue\n",
        ),
        (
            "environment",
            "\n    background: Transparent, // none",
            Background::Environment,
            "    background: Environment, // none\n",
        ),
    ] {
        let path = written(&format!("background_{name}"), mirror, "", before);
        let scene = load(&path);
        let value = FieldValue::Background(background);
        let wanted = edited(&scene, Part::Background, &[("background", value)]);
        save_edits(&wanted, &scene, &scene.camera).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(after), "{text}");
        assert_eq!(load(&path).hash(), wanted.hash());
    }
}

#[test]
fn blades_of_the_lens_are_saved() {
    let mirror = "\"one\": Mirror(reflectance: (1, 1, 1))";
    let path = written("blades", mirror, "", "");
    let text = fs::read_to_string(&path).unwrap();
    let text = text.replace("fov: 40)", "fov: 40, lens: (radius: 0.25, /* round */ ))");
    fs::write(&path, &text).unwrap();
    let scene = load(&path);
    let edit = |edits: &[(&str, f32)]| {
        let set = |camera: raysieve_scene::Camera, &(name, value): &(&str, f32)| {
            camera.with_field(name, number(value))
        };
        edits.iter().fold(scene.camera, set)
    };
    let round = edit(&[("blades", 6.0), ("blades", 2.0)]);
    assert_eq!(round, scene.camera, "two blades stand for a round aperture");
    let six = edit(&[("blades", 6.3), ("rotation", 15.0)]);
    save_edits(&scene, &scene, &six).unwrap();
    let kept = fs::read_to_string(&path).unwrap();
    assert!(
        kept.contains("/* round */") && kept.contains("blades: 6"),
        "{kept}"
    );
    let loaded = load(&path);
    assert_eq!(loaded.camera, six);
    let eight = loaded.camera.with_field("blades", number(8.0));
    save_edits(&loaded, &loaded, &eight).unwrap();
    let kept = fs::read_to_string(&path).unwrap();
    assert!(
        kept.contains("blades: 8") && kept.contains("rotation: 15"),
        "{kept}"
    );
}

#[test]
fn a_blend_refuses_parts_that_are_not_opaque() {
    let materials = "\"one\": Diffuse(albedo: (1, 0, 0)), \
                     \"both\": Blend(first: \"one\", second: \"other\")";
    let scene = load(&written("blend", materials, "", ""));
    let problem = scene.with_field(FIRST, "opacity", number(0.5)).unwrap_err();
    assert!(problem.to_string().contains("opaque"), "{problem}");
    let blend = edited(&scene, Part::Material(1), &[("opacity", number(0.5))]);
    let opacity = blend.field(Part::Material(1), "opacity");
    assert_eq!(opacity.map(|field| field.value), Some(number(0.5)));
}

#[test]
fn a_blend_by_side_has_no_weight_to_edit_or_hash() {
    let blend = |by_side: bool| {
        let materials = format!(
            "\"one\": Blend(first: \"red\", second: \"other\", by_side: {by_side}), \
             \"red\": Diffuse(albedo: (1, 0, 0))"
        );
        load(&written("by_side", &materials, "", ""))
    };
    let (mixed, sides) = (blend(false), blend(true));
    assert!(mixed.field(FIRST, "weight").is_some() && mixed.field(FIRST, "emission").is_some());
    assert!(sides.field(FIRST, "weight").is_none() && sides.field(FIRST, "emission").is_some());
    assert_ne!(mixed.hash(), sides.hash());
    let mut other_weight = sides.clone();
    let Surface::Blend { weight, .. } = &mut other_weight.materials[0] else {
        panic!("{:?}", sides.materials);
    };
    *weight = 0.25;
    assert_eq!(other_weight.hash(), sides.hash());
}

#[test]
fn a_priority_belongs_to_a_material_and_to_the_hash() {
    let glass = |more: &str| {
        let material = format!("\"one\": Dielectric(ior: 1.5{more})");
        load(&written("priority", &material, "", ""))
    };
    let (plain, first, second) = (glass(""), glass(", priority: 1"), glass(", priority: 255"));
    assert_eq!(glass(", priority: 0").hash(), plain.hash());
    assert_ne!(first.hash(), plain.hash());
    assert_ne!(first.hash(), second.hash());
    let mut both = plain.clone();
    both.add_scene(&second, DAffine3::IDENTITY).unwrap();
    let copied = both.copy_material("copy", &first, 0).unwrap();
    let appended = plain.materials.len() as u32;
    assert_eq!(both.priorities, [(appended, 255), (copied, 1)].into());
    both.add_material("copy", first.materials[0]);
    assert_eq!(both.priorities, [(appended, 255)].into());
}

#[test]
fn edited_values_are_clamped_to_their_ranges() {
    let material = "\"one\": RoughConductor(color: (0.5, 0.5, 0.5), alpha: 0.5)";
    let light = "Spot(position: (0, 3, 2), direction: (0, -1, 0), intensity: (5, 5, 5), inner: 10, outer: 30), \
                 Directional(direction: (1, -1, 0), irradiance: (1, 1, 1))";
    let scene = load(&written("ranges", material, light, ""));
    let sun = Part::Light(1);
    for (part, field, value, expected) in [
        (FIRST, "alpha", number(-1.0), number(0.001)),
        (FIRST, "alpha", number(7.0), number(1.0)),
        (FIRST, "alpha", number(f32::NAN), number(0.001)),
        (
            FIRST,
            "color",
            color(f32::NAN, f32::INFINITY, -1.0),
            color(0.0, 1.0, 0.0),
        ),
        (LIGHT, "inner", number(40.0), number(30.0)),
        (LIGHT, "outer", number(5.0), number(10.0)),
        (LIGHT, "outer", number(500.0), number(90.0)),
        (
            LIGHT,
            "intensity",
            color(-1.0, 1e9, 2.0),
            color(0.0, 16_777_215.0, 2.0),
        ),
        (sun, "angle", number(0.001), number(0.0)),
        (Part::Camera, "fov", number(500.0), number(179.999)),
        (Part::Camera, "radius", number(-1.0), number(0.0)),
        (FIRST, "opacity", number(2.0), number(1.0)),
        (
            Part::Background,
            "background",
            FieldValue::Background(Background::Color(Vec3::splat(-1.0))),
            FieldValue::Background(Background::Color(Vec3::ZERO)),
        ),
    ] {
        let edited = edited(&scene, part, &[(field, value)]);
        let found = edited.field(part, field).map(|field| field.value);
        assert_eq!(found, Some(expected), "{field} {value:?}");
    }
    let wrong = [
        (FIRST, "strength", number(1.0)),
        (FIRST, "alpha", color(1.0, 1.0, 1.0)),
        (Part::Material(7), "alpha", number(1.0)),
        (Part::Light(7), "intensity", color(1.0, 1.0, 1.0)),
    ];
    for (part, field, value) in wrong {
        assert!(scene.with_field(part, field, value).is_err(), "{field}");
    }
    let day = "SunSky(date: (2026, 10, 3), time: 12, latitude: 37.18, longitude: -3.59)";
    let day = load(&written("night", material, day, ""));
    let problem = day.with_field(LIGHT, "time", number(2.0)).unwrap_err();
    assert!(
        problem.to_string().contains("below the horizon"),
        "{problem}"
    );
}

#[test]
fn what_the_file_does_not_define_is_not_saved() {
    let ply = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n\
               element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n";
    fs::write(folder().join("part.ply"), ply).unwrap();
    let path = written("model", "\"one\": Diffuse(albedo: (1, 0, 0))", "", "");
    let text = fs::read_to_string(&path).unwrap();
    let text = text.replace("objects: [", "objects: [Model(file: \"part.ply\"),");
    fs::write(&path, &text).unwrap();
    let scene = load(&path);
    assert_eq!(scene.materials.len(), 3, "{:?}", scene.material_names);
    let own = Part::Material(2);
    let field = scene.fields(own)[0].name;
    let wanted = edited(&scene, own, &[(field, color(0.125, 0.5, 1.0))]);
    let wanted = edited(&wanted, FIRST, &[("albedo", color(0.0, 1.0, 0.0))]);
    // Printed, such edits are comments, and so are all edits of a scene that cannot be written.
    let comments = |path: &str| {
        let wanted = Scene {
            path: folder().join(path),
            ..wanted.clone()
        };
        edits_to_ron(&wanted, &scene).0
    };
    let name = scene.part_name(own);
    let of_own = format!("// material {name:?}: {field}: (0.125, 0.5, 1)");
    assert_eq!(
        edits_to_ron(&wanted, &scene).0,
        format!("\"one\": Diffuse(albedo: (0, 1, 0)),\n{of_own}")
    );
    let of_first = "// material \"one\": albedo: (0, 1, 0)";
    assert_eq!(comments("a.pbrt"), format!("{of_first}\n{of_own}"));
    let missing = save_edits(&wanted, &scene, &scene.camera).unwrap();
    assert_eq!(missing, [own]);
    let kept = fs::read_to_string(&path).unwrap();
    assert_eq!(kept, text.replace("(1, 0, 0)", "(0, 1, 0)"));

    // Edits survive a reload if the file has not changed the value.
    let edits = wanted.edits_since(&scene);
    let reloaded = load(&path).with_edits(&edits);
    assert_eq!(reloaded.part_state(own), wanted.part_state(own));
    assert_eq!(reloaded.part_state(FIRST), wanted.part_state(FIRST));
    fs::write(&path, text.replace("(1, 0, 0)", "(0, 0, 1)")).unwrap();
    let reloaded = load(&path).with_edits(&edits);
    let albedo = reloaded.field(FIRST, "albedo").unwrap();
    assert_eq!(albedo.value, color(0.0, 0.0, 1.0));
}

#[test]
fn a_part_that_has_changed_in_the_file_is_not_saved() {
    let light = "Point(position: (1, 2, 3), intensity: (1, 2, 4))";
    let path = written("changed", "\"one\": Diffuse(albedo: (1, 0, 0))", light, "");
    let scene = load(&path);
    let text = fs::read_to_string(&path).unwrap();
    let refused = |wanted: &Scene, text: &str| {
        fs::write(&path, text).unwrap();
        let error = save_edits(wanted, &scene, &scene.camera).expect_err("the save is refused");
        assert!(!error.to_string().contains('\n'), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        error
    };
    let wanted = edited(&scene, LIGHT, &[("intensity", color(1.0, 1.0, 1.0))]);
    let error = refused(&wanted, &text.replace("(1, 2, 4)", "(9, 9, 9)"));
    assert!(
        error.to_string().contains("load the scene again"),
        "{error}"
    );
    let wanted = edited(&scene, FIRST, &[("albedo", color(1.0, 1.0, 1.0))]);
    let error = refused(
        &wanted,
        &text.replace("Diffuse(albedo: (1", "Mirror(reflectance: (1"),
    );
    assert!(
        matches!(error, Error::Scene { .. } | Error::File { .. }),
        "{error}"
    );
    // Printed, edits that do not fit the file are comments, so that they are not lost.
    let (printed, problem) = edits_to_ron(&wanted, &scene);
    assert_eq!(printed, "// material \"one\": albedo: (1, 1, 1)");
    assert!(problem.is_some());
    fs::remove_file(&path).unwrap();
    assert_eq!(edits_to_ron(&wanted, &scene).0, printed);
    let model = scene
        .with_field(Part::Sky, "sky", color(1.0, 1.0, 1.0))
        .unwrap();
    let model = Scene {
        path: folder().join("part.ply"),
        ..model
    };
    save_edits(&model, &scene, &scene.camera).expect_err("a model has no text");
}
