//! Tests of the material extensions sheen, anisotropy, iridescence, diffuse transmission and dispersion.

use std::fs;

use raysieve::scene::{Principled, Surface};
use serde_json::{Value, json};

use crate::{folder, pixels, scene_of, square};

/// Returns extensions with each of their fields, and with textures 0 and 1.
fn extensions() -> Value {
    json!({
        "KHR_materials_sheen": {
            "sheenColorFactor": [0.5, 0.25, 1], "sheenColorTexture": { "index": 0 },
            "sheenRoughnessFactor": 0.75, "sheenRoughnessTexture": { "index": 1 },
        },
        "KHR_materials_anisotropy": {
            "anisotropyStrength": 0.5, "anisotropyRotation": std::f64::consts::FRAC_PI_2,
            "anisotropyTexture": { "index": 1 },
        },
        "KHR_materials_iridescence": {
            "iridescenceFactor": 0.25, "iridescenceTexture": { "index": 0 },
            "iridescenceIor": 1.5, "iridescenceThicknessMinimum": 200,
            "iridescenceThicknessMaximum": 800, "iridescenceThicknessTexture": { "index": 1 },
        },
        "KHR_materials_diffuse_transmission": {
            "diffuseTransmissionFactor": 0.5, "diffuseTransmissionTexture": { "index": 1 },
            "diffuseTransmissionColorFactor": [1, 0.5, 0.25],
            "diffuseTransmissionColorTexture": { "index": 0 },
        },
        "KHR_materials_dispersion": { "dispersion": 0.5 },
        "KHR_materials_transmission": { "transmissionFactor": 0.5 },
        "KHR_materials_volume": { "thicknessFactor": 1 },
    })
}

#[test]
fn gltf_extensions_equal_the_fields_of_principled() {
    let folder = folder("extensions");
    pixels(&folder, "a.png", 1);
    pixels(&folder, "b.png", 2);
    let mut model = square();
    model.json["images"] = json!([{ "uri": "a.png" }, { "uri": "b.png" }]);
    model.json["textures"] = json!([{ "source": 0 }, { "source": 1 }]);
    model.json["materials"] = json!([{ "extensions": extensions() }]);
    let names: Vec<String> = extensions().as_object().unwrap().keys().cloned().collect();
    model.json["extensionsUsed"] = json!(names);
    model.json["extensionsRequired"] = json!(names);
    fs::write(folder.join("model.glb"), model.glb()).unwrap();
    let found = scene_of(&folder, "objects: [Model(file: \"model.glb\")]");
    assert_eq!(found.notes, [""; 0]);
    let expected = scene_of(
        &folder,
        r#"materials: { "all": Principled(
            metallic: 1,
            roughness: 1,
            transmission: 0.5,
            sheen_color: Texture(file: "a.png", factor: (0.5, 0.25, 1)),
            sheen_roughness: Texture(file: "b.png", factor: 0.75, channel: Alpha),
            anisotropy: Texture(file: "b.png", factor: 0.5),
            anisotropy_rotation: 90,
            iridescence: Texture(file: "a.png", factor: 0.25),
            iridescence_ior: 1.5,
            iridescence_thickness_min: 200,
            iridescence_thickness: Texture(file: "b.png", factor: 800, channel: Green),
            diffuse_transmission: Texture(file: "b.png", factor: 0.5, channel: Alpha),
            diffuse_transmission_color: Texture(file: "a.png", factor: (1, 0.5, 0.25)),
            dispersion: 0.5,
        ) },
        objects: [Quad(corner: (0, 0, 0), edge_u: (1, 0, 0), edge_v: (0, 1, 0), material: "all")]"#,
    );
    assert_eq!(found.materials, expected.materials);
    assert_eq!(found.images.len(), expected.images.len());
    let maps = |scene: &raysieve::scene::Scene| {
        let maps = scene.maps[&0].textures.iter();
        maps.map(|(&parameter, map)| (parameter, map.channel))
            .collect::<Vec<_>>()
    };
    assert_eq!(maps(&found), maps(&expected));
}

/// Missing fields have the defaults of the extensions, and textures of a factor of 0 are not read.
#[test]
fn missing_fields_of_extensions_have_their_defaults() {
    let folder = folder("extension_defaults");
    let mut model = square();
    model.json["images"] = json!([{ "uri": "missing.png" }]);
    model.json["textures"] = json!([{ "source": 0 }]);
    model.json["materials"] = json!([{ "extensions": {
        "KHR_materials_sheen": { "sheenColorTexture": { "index": 0 } },
        "KHR_materials_anisotropy": { "anisotropyTexture": { "index": 0 } },
        "KHR_materials_iridescence": { "iridescenceTexture": { "index": 0 } },
        "KHR_materials_diffuse_transmission": { "diffuseTransmissionTexture": { "index": 0 } },
        "KHR_materials_dispersion": {},
    } }]);
    fs::write(folder.join("model.glb"), model.glb()).unwrap();
    let found = scene_of(&folder, "objects: [Model(file: \"model.glb\")]");
    assert_eq!(found.notes, [""; 0]);
    let expected = Principled {
        metallic: 1.0,
        roughness: 1.0,
        sheen_roughness: 0.0,
        ..Principled::default()
    };
    assert_eq!(found.materials, [Surface::Principled(expected)]);
    assert!(found.maps.is_empty());
}

/// Factors out of range are clamped, and an angle of many turns is reduced to one.
#[test]
fn factors_of_extensions_are_clamped() {
    let folder = folder("extension_ranges");
    let mut model = square();
    model.json["materials"] = json!([{ "extensions": {
        "KHR_materials_sheen": { "sheenColorFactor": [2, -1, 0.5], "sheenRoughnessFactor": 7 },
        "KHR_materials_anisotropy": { "anisotropyStrength": 2, "anisotropyRotation": -1e6 },
        "KHR_materials_iridescence": {
            "iridescenceFactor": 3, "iridescenceIor": 0.5, "iridescenceThicknessMinimum": -1,
            "iridescenceThicknessMaximum": 1e9,
        },
        "KHR_materials_diffuse_transmission": { "diffuseTransmissionFactor": 5 },
        "KHR_materials_dispersion": { "dispersion": 1e6 },
    } }]);
    fs::write(folder.join("model.glb"), model.glb()).unwrap();
    let found = scene_of(&folder, "objects: [Model(file: \"model.glb\")]");
    let Surface::Principled(material) = found.materials[0] else {
        panic!("{:?}", found.materials[0]);
    };
    assert_eq!(material.sheen_color.to_array(), [1.0, 0.0, 0.5]);
    assert_eq!((material.sheen_roughness, material.anisotropy), (1.0, 1.0));
    assert!((0.0..360.0).contains(&material.anisotropy_rotation));
    assert_eq!((material.iridescence, material.iridescence_ior), (1.0, 1.0));
    assert_eq!(material.iridescence_thickness_min, 0.0);
    assert_eq!(material.iridescence_thickness, 1e5);
    assert_eq!(
        (material.diffuse_transmission, material.dispersion),
        (1.0, 100.0)
    );
    assert!(material.thin);
}

#[test]
fn malformed_extensions_are_errors_that_name_the_field() {
    let folder = folder("malformed_extensions");
    for (extension, field, wrong) in [
        ("KHR_materials_sheen", "sheenColorFactor", json!([1, 2])),
        (
            "KHR_materials_sheen",
            "sheenRoughnessFactor",
            json!("rough"),
        ),
        ("KHR_materials_anisotropy", "anisotropyRotation", json!([])),
        ("KHR_materials_iridescence", "iridescenceIor", json!(1e300)),
        ("KHR_materials_dispersion", "dispersion", json!(true)),
    ] {
        let mut model = square();
        model.json["materials"] = json!([{ "extensions": { extension: { field: wrong } } }]);
        let path = folder.join("model.glb");
        fs::write(&path, model.glb()).unwrap();
        let error = raysieve::scene::Scene::load(&path).unwrap_err().to_string();
        assert!(error.contains(field) && !error.contains('\n'), "{error}");
    }
}
