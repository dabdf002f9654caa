//! Tests that glTF materials equal the same materials written in a scene.

use std::fs;

use raysieve::scene::{Parameter, Scene, Surface};
use serde_json::json;

use crate::{folder, gltf::Gltf, pixels, scene_of, square};

/// Uses every supported texture of every material extension.
#[test]
fn a_gltf_material_equals_the_same_principled_material() {
    let folder = folder("materials");
    let names = ["a.png", "b.png", "c.png", "d.png"];
    let images = [1, 2, 3, 4].map(|seed| pixels(&folder, names[seed as usize - 1], seed));
    let mut model = square();
    // The images are in a buffer view, in a file, in a data URI, and in another file.
    let view = model.view(&images[0]);
    use base64::Engine;
    let base64 = base64::engine::general_purpose::STANDARD.encode(&images[2]);
    model.json["images"] = json!([
        { "bufferView": view, "mimeType": "image/png" },
        { "uri": "b.png" },
        { "uri": format!("data:image/png;base64,{base64}") },
        { "uri": "d.png" },
    ]);
    model.json["samplers"] = json!([
        { "wrapS": 33071, "wrapT": 33648, "magFilter": 9728 },
        { "minFilter": 9728 },
    ]);
    model.json["textures"] = json!([
        { "source": 0, "sampler": 0 }, { "source": 1 }, { "source": 2, "sampler": 1 },
        { "extensions": { "EXT_texture_webp": { "source": 3 } } },
    ]);
    let transform = json!({ "KHR_texture_transform": { "offset": [0.25, 0.5], "scale": [2, 3], "rotation": 0 } });
    model.json["materials"] = json!([{
        "pbrMetallicRoughness": {
            "baseColorFactor": [0.5, 0.25, 1, 1], "metallicFactor": 0.75, "roughnessFactor": 0.5,
            "baseColorTexture": { "index": 0, "extensions": transform },
            "metallicRoughnessTexture": { "index": 1 },
        },
        "normalTexture": { "index": 2, "scale": 0.5, "extensions": transform },
        "occlusionTexture": { "index": 1 },
        "emissiveTexture": { "index": 3 }, "emissiveFactor": [1, 0.5, 0.25],
        "extensions": {
            "KHR_materials_emissive_strength": { "emissiveStrength": 4 },
            "KHR_materials_ior": { "ior": 1.25 },
            "KHR_materials_transmission": { "transmissionFactor": 0.5, "transmissionTexture": { "index": 2 } },
            "KHR_materials_volume": { "thicknessFactor": 1 },
            "KHR_materials_clearcoat": {
                "clearcoatFactor": 0.5, "clearcoatTexture": { "index": 1 },
                "clearcoatRoughnessFactor": 0.25, "clearcoatRoughnessTexture": { "index": 2 },
                "clearcoatNormalTexture": { "index": 1, "scale": 0.25 }
            },
            "KHR_materials_specular": {
                "specularFactor": 0.75, "specularTexture": { "index": 3 },
                "specularColorFactor": [2, 1, 0.5], "specularColorTexture": { "index": 1 }
            },
        },
    }]);
    fs::write(folder.join("model.glb"), model.glb()).unwrap();
    let found = scene_of(&folder, "objects: [Model(file: \"model.glb\")]");
    // Its specular reflection is not that of its index, which glass cannot show.
    assert!(found.notes.len() == 1 && found.notes[0].contains("KHR_materials_specular"));
    let lie = "scale: (2, 3), offset: (0.25, 0.5)";
    let expected = scene_of(
        &folder,
        &format!(
            r#"materials: {{ "all": Principled(
                base_color: Texture(file: "a.png", factor: (0.5, 0.25, 1), {lie}, wrap: (Clamp, Mirror), filter: Nearest),
                metallic: Texture(file: "b.png", factor: 0.75, channel: Blue),
                roughness: Texture(file: "b.png", factor: 0.5, channel: Green),
                normal: Texture(file: "c.png", factor: 0.5, {lie}),
                emission: Texture(file: "d.png", factor: (4, 2, 1)),
                ior: 1.25,
                transmission: Texture(file: "c.png", factor: 0.5, channel: Red),
                clearcoat: Texture(file: "b.png", factor: 0.5, channel: Red),
                clearcoat_roughness: Texture(file: "c.png", factor: 0.25, channel: Green),
                clearcoat_normal: Texture(file: "b.png", factor: 0.25),
                specular: Texture(file: "d.png", factor: 0.75, channel: Alpha),
                specular_color: Texture(file: "b.png", factor: (2, 1, 0.5)),
            ) }},
            objects: [Quad(corner: (0, 0, 0), edge_u: (1, 0, 0), edge_v: (0, 1, 0), material: "all")]"#
        ),
    );
    assert_eq!(found.images.len(), expected.images.len());
    assert_eq!(found.hash(), expected.hash());
    // A coat without a normal map of its own is not bent by the surface's map.
    let coat = &mut model.json["materials"][0]["extensions"]["KHR_materials_clearcoat"];
    coat.as_object_mut()
        .unwrap()
        .remove("clearcoatNormalTexture");
    model.json["materials"][0]["doubleSided"] = json!(true);
    fs::write(folder.join("model.glb"), model.glb()).unwrap();
    let found = scene_of(&folder, "objects: [Model(file: \"model.glb\")]");
    let textures = &found.maps[&0].textures;
    assert_eq!(
        textures[&Parameter::ClearcoatNormal].texture,
        textures[&Parameter::Normal].texture
    );
    assert_eq!(
        (
            found.maps[&0].normal_scale,
            found.maps[&0].coat_normal_scale
        ),
        (0.5, 0.0)
    );
    // A double-sided surface emits from both sides.
    let shines = |scene: &Scene| match scene.materials[0] {
        Surface::Principled(all) => all.both_sides,
        _ => false,
    };
    assert!(shines(&found) && !shines(&expected));
    // An unlit material uses only its base color.
    model.json["materials"][0]["extensions"]["KHR_materials_unlit"] = json!({});
    fs::write(folder.join("model.glb"), model.glb()).unwrap();
    let found = scene_of(&folder, "objects: [Model(file: \"model.glb\")]");
    let expected = scene_of(
        &folder,
        &format!(
            r#"materials: {{ "all": Emissive(
                radiance: Texture(file: "a.png", factor: (0.5, 0.25, 1), {lie}, wrap: (Clamp, Mirror), filter: Nearest),
                both_sides: true,
            ) }},
            objects: [Quad(corner: (0, 0, 0), edge_u: (1, 0, 0), edge_v: (0, 1, 0), material: "all")]"#
        ),
    );
    // Both have the default strength for normal maps, because there are none.
    assert!(found.images.len() == 1 && found.maps[&0] == expected.maps[&0]);
    assert_eq!(found.hash(), expected.hash());
}

/// `KHR_materials_pbrSpecularGlossiness` converts glossiness to 1 − roughness.
#[test]
fn a_specular_glossiness_material_becomes_principled() {
    let folder = folder("glossiness");
    let image = image::RgbaImage::from_fn(4, 4, |x, y| {
        image::Rgba([200, (60 * y) as u8, 50, (60 * x + y) as u8])
    });
    image.save(folder.join("shine.png")).unwrap();
    let rough = image::RgbaImage::from_fn(4, 4, |x, y| {
        let smooth = image.get_pixel(x, y).0[3];
        image::Rgba([255 - smooth; 4])
    });
    rough.save(folder.join("rough.png")).unwrap();
    let mut model = square();
    model.json["images"] = json!([{ "uri": "shine.png" }]);
    model.json["textures"] = json!([{ "source": 0 }]);
    model.json["materials"] = json!([{ "extensions": { "KHR_materials_pbrSpecularGlossiness": {
        "diffuseFactor": [0.5, 0.25, 1, 1], "specularFactor": [0.5, 0.5, 1],
        "specularGlossinessTexture": { "index": 0 }
    } } }]);
    let seen = |material: &str, model: &Gltf| {
        fs::write(folder.join("model.glb"), model.glb()).unwrap();
        let found = scene_of(&folder, "objects: [Model(file: \"model.glb\")]");
        let fields = format!(
            "materials: {{ \"it\": Principled(base_color: (0.5, 0.25, 1), {material}) }},
             objects: [Quad(corner: (0, 0, 0), edge_u: (1, 0, 0), edge_v: (0, 1, 0), material: \"it\")]"
        );
        (found, scene_of(&folder, &fields))
    };
    let textures = "specular_color: Texture(file: \"shine.png\", factor: (12.5, 12.5, 25)),
                    roughness: Texture(file: \"rough.png\")";
    let (found, expected) = seen(textures, &model);
    assert_eq!(found.notes, [""; 0]);
    assert_eq!(found.hash(), expected.hash());
    let extension =
        &mut model.json["materials"][0]["extensions"]["KHR_materials_pbrSpecularGlossiness"];
    extension["glossinessFactor"] = json!(0.75);
    extension
        .as_object_mut()
        .unwrap()
        .remove("specularGlossinessTexture");
    let (found, expected) = seen("specular_color: (12.5, 12.5, 25), roughness: 0.25", &model);
    assert_eq!(
        found.materials[found.triangles[0].material as usize],
        expected.materials[0]
    );
}

#[test]
fn alpha_is_the_opacity_if_the_alpha_mode_uses_it() {
    let folder = folder("alpha");
    let image =
        image::RgbaImage::from_fn(4, 4, |x, y| image::Rgba([200, 100, 50, (60 * x + y) as u8]));
    image.save(folder.join("leaf.png")).unwrap();
    pixels(&folder, "wall.png", 3);
    let mut model = square();
    model.json["images"] = json!([{ "uri": "leaf.png" }, { "uri": "wall.png" }]);
    model.json["textures"] = json!([{ "source": 0 }, { "source": 1 }]);
    for (mode, alpha, texture, expected) in [
        ("OPAQUE", 0.5, 0, ""),
        (
            "BLEND",
            0.5,
            0,
            "opacity: Texture(file: \"leaf.png\", encoding: Srgb, factor: 0.5)",
        ),
        (
            "MASK",
            1.0,
            0,
            "opacity: Texture(file: \"leaf.png\", encoding: Srgb), cutoff: 0.25",
        ),
        // An image without an alpha channel gives no opacity texture.
        ("BLEND", 1.0, 1, ""),
        ("BLEND", 0.25, 1, "opacity: 0.25"),
    ] {
        model.json["materials"] = json!([{
            "alphaMode": mode, "alphaCutoff": 0.25, "pbrMetallicRoughness": {
                "baseColorFactor": [1, 1, 1, alpha], "baseColorTexture": { "index": texture }, "metallicFactor": 0
            }
        }]);
        fs::write(folder.join("model.glb"), model.glb()).unwrap();
        let found = scene_of(&folder, "objects: [Model(file: \"model.glb\")]");
        let file = ["leaf.png", "wall.png"][texture];
        let expected = scene_of(
            &folder,
            &format!(
                "materials: {{ \"it\": Principled(base_color: Texture(file: \"{file}\"), roughness: 1, {expected}) }},
                 objects: [Quad(corner: (0, 0, 0), edge_u: (1, 0, 0), edge_v: (0, 1, 0), material: \"it\")]"
            ),
        );
        assert_eq!(found.maps, expected.maps, "{mode} {alpha} {texture}");
        assert_eq!(found.hash(), expected.hash(), "{mode} {alpha} {texture}");
    }
}

#[test]
fn a_gltf_volume_equals_the_same_absorption() {
    let folder = folder("volume");
    let mut model = square();
    let mut of = |volume: serde_json::Value| {
        model.json["materials"] = json!([{ "extensions": {
            "KHR_materials_transmission": { "transmissionFactor": 1 }, "KHR_materials_volume": volume
        } }]);
        fs::write(folder.join("model.glb"), model.glb()).unwrap();
    };
    let model = "objects: [Model(file: \"model.glb\")]";
    for (volume, expected) in [
        (
            json!({ "thicknessFactor": 1, "attenuationColor": [1, 0.5, 0], "attenuationDistance": 0.25 }),
            ", absorption: ((1, 0.5, 0), 0.25)",
        ),
        (
            json!({ "thicknessFactor": 1, "attenuationColor": [0.5, 0.5, 0.5] }),
            "",
        ),
    ] {
        of(volume);
        let found = scene_of(&folder, model);
        assert_eq!(found.notes, [""; 0]);
        let expected = scene_of(
            &folder,
            &format!(
                "materials: {{ \"it\": Principled(metallic: 1, roughness: 1, transmission: 1{expected}) }},
                 objects: [Quad(corner: (0, 0, 0), edge_u: (1, 0, 0), edge_v: (0, 1, 0), material: \"it\")]"
            ),
        );
        assert_eq!(found.materials, expected.materials);
        assert_eq!(found.hash(), expected.hash());
    }
    for distance in [0, -1] {
        of(json!({ "thicknessFactor": 1, "attenuationDistance": distance }));
        let error = Scene::load(&folder.join("model.glb"))
            .unwrap_err()
            .to_string();
        let problem = format!("attenuationDistance is {distance}, expected a number above 0");
        assert!(error.contains(&problem), "{error}");
    }
}
