//! Tests of the material variants of glTF files.

use raysieve::scene::{LoadOptions, Principled, Scene, Surface};
use serde_json::json;

use crate::{folder, gltf::Gltf, load, load_with, refusal, scene_of};

/// Returns a triangle with a white default material and the variants `red` and `blue`; `bare` maps nothing.
fn model() -> Gltf {
    let mut model = Gltf::triangle();
    let color = |color: [f32; 4]| json!({ "pbrMetallicRoughness": { "baseColorFactor": color } });
    model.json["materials"] = json!([
        color([1.0; 4]),
        color([1.0, 0.0, 0.0, 1.0]),
        color([0.0, 0.0, 1.0, 1.0])
    ]);
    model.json["extensions"] = json!({ "KHR_materials_variants": {
        "variants": [{ "name": "red" }, { "name": "blue" }, { "name": "bare" }]
    } });
    model.primitive()["material"] = json!(0);
    model.primitive()["extensions"] = json!({ "KHR_materials_variants": { "mappings": [
        { "material": 1, "variants": [0] },
        { "material": 2, "variants": [1] },
    ] } });
    model
}

fn of(variant: &str) -> LoadOptions {
    LoadOptions {
        variant: Some(variant.to_owned()),
        ..LoadOptions::default()
    }
}

/// Returns the base color of the scene's only triangle.
fn color(scene: &Scene) -> [f32; 3] {
    let material = scene.triangles[0].material;
    match scene.materials[material as usize] {
        Surface::Principled(Principled { base_color, .. }) => base_color.to_array(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_variant_selects_the_material_that_it_maps() {
    let path = model().write("variants");
    let scene = load(&path);
    assert_eq!(color(&scene), [1.0; 3]);
    let note = ": shown with its default materials and without its variants \"red\", \"blue\", \"bare\" \
                (`--variant`, or `variant` in a scene)";
    assert!(scene.notes[0].ends_with(note), "{:?}", scene.notes);
    for (variant, expected) in [
        ("red", [1.0, 0.0, 0.0]),
        ("blue", [0.0, 0.0, 1.0]),
        ("bare", [1.0; 3]),
    ] {
        let scene = load_with(&path, &of(variant));
        assert_eq!(color(&scene), expected, "{variant}");
        assert!(scene.notes.is_empty(), "{:?}", scene.notes);
    }
}

#[test]
fn an_unknown_variant_is_refused_with_the_names() {
    let path = model().write("unknown_variant");
    let expected = "has no variant \"green\"; expected one of 1 \"red\", 2 \"blue\", 3 \"bare\"";
    assert_eq!(refusal(&path, &of("green")), expected);
    let plain = Gltf::triangle().write("no_variants");
    assert!(refusal(&plain, &of("red")).starts_with("has no variant \"red\", because it has no"));
}

#[test]
fn a_variant_with_an_invalid_material_is_refused_only_if_chosen() {
    let mut model = model();
    model.primitive()["extensions"]["KHR_materials_variants"]["mappings"][1]["material"] = json!(9);
    let path = model.write("invalid_variant");
    assert_eq!(color(&load_with(&path, &of("red"))), [1.0, 0.0, 0.0]);
    let problem = refusal(&path, &of("blue"));
    assert!(problem.contains("there is no material 9"), "{problem}");
}

#[test]
fn an_object_of_a_scene_chooses_its_variant() {
    let folder = folder("variant_object");
    std::fs::write(folder.join("model.glb"), model().glb()).unwrap();
    let objects = "objects: [Model(file: \"model.glb\", variant: \"red\"),
        Model(file: \"model.glb\", variant: \"blue\", translate: (5, 0, 0))]";
    let scene = scene_of(&folder, objects);
    let colors = [0, 1].map(|triangle: usize| {
        let material = scene.triangles[triangle].material as usize;
        match scene.materials[material] {
            Surface::Principled(Principled { base_color, .. }) => base_color.to_array(),
            other => panic!("{other:?}"),
        }
    });
    assert_eq!(colors, [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]);
    let path = folder.join("scene.ron");
    let problem = refusal(&path, &of("red"));
    assert!(
        problem.contains("the field `variant` of a Model"),
        "{problem}"
    );
}
