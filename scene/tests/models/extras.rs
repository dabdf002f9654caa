//! Tests of extensions of glTF nodes and animations, and of notes that count or name what is left out.

use serde_json::json;

use crate::{gltf::Gltf, load};

/// Returns the notes of a scene without the name of its file.
fn notes(model: &Gltf, name: &str) -> Vec<String> {
    let notes = load(&model.write(name)).notes;
    let rest = |note: &String| note.split_once("glb: ").expect("a file").1.to_owned();
    notes.iter().map(rest).collect()
}

#[test]
fn anisotropic_glass_is_noted() {
    let mut model = Gltf::triangle();
    model.primitive()["material"] = json!(0);
    let material = |metallic: f32, strength: f32| {
        json!([{
            "pbrMetallicRoughness": { "metallicFactor": metallic, "roughnessFactor": 0.4 },
            "extensions": {
                "KHR_materials_transmission": { "transmissionFactor": 1 },
                "KHR_materials_anisotropy": { "anisotropyStrength": strength },
            },
        }])
    };
    for (metallic, strength) in [(0.0, 0.0), (1.0, 0.5)] {
        model.json["materials"] = material(metallic, strength);
        assert_eq!(notes(&model, "glass"), [""; 0]);
    }
    model.json["materials"] = material(0.0, 0.5);
    let note = "approximated: the anisotropic glass of 1 material by glass that is equally rough in all directions";
    assert_eq!(notes(&model, "glass"), [note]);
}
