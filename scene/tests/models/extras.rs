//! Tests of extensions of glTF nodes and animations, and of notes that count or name what is left out.

use std::fs;

use glam::Vec3;
use raysieve::scene::{Absorption, Channel, Light, Parameter, Scene, Surface, Texels};
use serde_json::{Value, json};

use crate::{
    assert_triangles, at, folder,
    gltf::{Gltf, SQUARE},
    load, load_with, message, pixels, refusal, square, textured,
};

const TRIANGLE: [[f32; 3]; 3] = [SQUARE[0], SQUARE[1], SQUARE[2]];

/// Returns the notes of a scene without the name of its file.
fn notes(model: &Gltf, name: &str) -> Vec<String> {
    let notes = load(&model.write(name)).notes;
    let rest = |note: &String| note.split_once("glb: ").expect("a file").1.to_owned();
    notes.iter().map(rest).collect()
}

#[test]
fn hidden_nodes_hide_their_children_but_not_their_joints() {
    let mut model = Gltf::triangle();
    let hidden = json!({ "KHR_node_visibility": { "visible": false } });
    let lamp = json!({ "KHR_lights_punctual": { "light": 0 } });
    model.json["extensionsUsed"] = json!(["KHR_node_visibility", "KHR_lights_punctual"]);
    model.json["extensionsRequired"] = json!(["KHR_node_visibility"]);
    model.json["extensions"] =
        json!({ "KHR_lights_punctual": { "lights": [{ "type": "point" }] } });
    model.json["nodes"] = json!([
        { "mesh": 0 },
        { "mesh": 0, "translation": [5, 0, 0], "extensions": hidden, "children": [2, 3] },
        { "mesh": 0, "extensions": { "KHR_node_visibility": { "visible": true } } },
        { "extensions": lamp },
    ]);
    model.json["scenes"][0]["nodes"] = json!([0, 1]);
    let scene = load(&model.write("hidden"));
    assert_triangles(&scene, &[TRIANGLE]);
    assert_eq!(scene.notes, [""; 0]);
    model.json["nodes"][1]["extensions"] = json!({});
    let shown = load(&model.write("hidden"));
    assert_eq!(crate::triangles(&shown).len(), 3);
    let lamps = |scene: &Scene| {
        let is_lamp = |light: &&Light| matches!(light, Light::Point { .. });
        scene.lights.iter().filter(is_lamp).count()
    };
    assert_eq!((lamps(&scene), lamps(&shown)), (0, 1));
    // A joint of a hidden node still moves the skin.
    let mut skinned = Gltf::triangle();
    let joints = skinned.accessor(5121, "VEC4", 3, &[0; 12]);
    let weights = skinned.floats("VEC4", &[[1.0, 0.0, 0.0, 0.0]; 3]);
    let attributes = &mut skinned.primitive()["attributes"];
    attributes["JOINTS_0"] = json!(joints);
    attributes["WEIGHTS_0"] = json!(weights);
    skinned.json["skins"] = json!([{ "joints": [1] }]);
    skinned.json["nodes"] =
        json!([{ "mesh": 0, "skin": 0 }, { "translation": [0, 0, 2], "extensions": hidden }]);
    skinned.json["scenes"][0]["nodes"] = json!([0, 1]);
    let moved = TRIANGLE.map(|[x, y, _]| [x, y, 2.0]);
    assert_triangles(&load(&skinned.write("skinned")), &[moved]);
}

#[test]
fn pointers_animate_the_properties_of_nodes() {
    let mut model = Gltf::triangle();
    model.animate(0, "translation", "STEP", &[0.0], "VEC3", &[[1.0, 2.0, 3.0]]);
    let point_to = |model: &mut Gltf, pointer: &str| {
        model.json["animations"][0]["channels"][0]["target"] = json!({ "path": "pointer", "extensions": { "KHR_animation_pointer": { "pointer": pointer } } });
    };
    point_to(&mut model, "/nodes/0/translation");
    let moved = TRIANGLE.map(|point| (Vec3::from(point) + Vec3::new(1.0, 2.0, 3.0)).to_array());
    let scene = load_with(&model.write("pointers"), &at(0.0));
    assert_triangles(&scene, &[moved]);
    assert_eq!(scene.notes, [""; 0]);
    point_to(&mut model, "/nodes/0/scale");
    let scaled = TRIANGLE.map(|[x, y, _]| [x, 2.0 * y, 0.0]);
    assert_triangles(&load_with(&model.write("pointers"), &at(0.0)), &[scaled]);
    point_to(&mut model, "/nodes/7/scale");
    let problem = refusal(&model.write("pointers"), &at(0.0));
    assert!(problem.contains("there is no node 7"), "{problem}");
    for other in [
        "/materials/0/emissiveFactor",
        "/nodes/0/extensions/KHR_node_visibility/visible",
        "/nodes/x/scale",
        "",
    ] {
        point_to(&mut model, other);
        let scene = load_with(&model.write("pointers"), &at(0.0));
        assert_triangles(&scene, &[TRIANGLE]);
        let note =
            "not shown: 1 animation channel of other things than transforms and weights of nodes";
        assert!(scene.notes[0].ends_with(note), "{other}: {:?}", scene.notes);
    }
}

#[test]
fn one_property_of_many_animations_counts_once() {
    let mut model = Gltf::triangle();
    model.animate(0, "translation", "STEP", &[0.0], "VEC3", &[[1.0; 3]]);
    let animation = model.json["animations"][0].clone();
    model.json["animations"] = Value::Array(vec![animation; 5]);
    let scene = load_with(&model.write("many"), &at(0.0));
    let note = "last of several animations of 1 property; choose one of the animations";
    assert!(scene.notes[0].ends_with(note), "{:?}", scene.notes);
}

#[test]
fn notes_of_textures_count_and_name_materials() {
    let path = folder("counted");
    pixels(&path, "a.png", 1);
    let mut model = square();
    let uvs = model.primitive()["attributes"]["TEXCOORD_0"].clone();
    for set in ["TEXCOORD_1", "TEXCOORD_2"] {
        model.primitive()["attributes"][set] = uvs.clone();
    }
    model.primitive()["material"] = json!(0);
    model.json["images"] = json!([{ "uri": "a.png" }]);
    model.json["textures"] = json!([{ "source": 0 }, {}]);
    model.json["materials"] = json!([{
        "name": "wood",
        "pbrMetallicRoughness": {
            "baseColorTexture": { "index": 0 },
            "metallicRoughnessTexture": { "index": 0, "texCoord": 2 },
        },
        "normalTexture": { "index": 0, "texCoord": 1 },
    }]);
    let at = path.join("model.glb");
    fs::write(&at, model.glb()).unwrap();
    let third = "third set of texture coordinates (metallicRoughnessTexture, 1 material)";
    let found = load(&at).notes;
    assert!(found.len() == 1 && found[0].ends_with(third), "{found:?}");
    model.json["materials"][0] = json!({
        "name": "wood",
        "pbrMetallicRoughness": { "metallicRoughnessTexture": { "index": 1 } },
    });
    fs::write(&at, model.glb()).unwrap();
    let found = load(&at).notes;
    let imageless =
        "textures refer to no image that can be read; shown without them: material 0 (wood)";
    assert!(
        found.len() == 1 && found[0].ends_with(imageless),
        "{found:?}"
    );
}

#[test]
fn anisotropic_glass_is_noted_and_hints_for_polygons_are_not() {
    let mut model = Gltf::triangle();
    model.json["extensionsUsed"] = json!(["FB_ngon_encoding"]);
    model.primitive()["extensions"] = json!({ "FB_ngon_encoding": {} });
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
    let note = "approximated: the anisotropic glass of 1 material by glass that is equally rough in all directions; exact only if white, with a volume and no other layers, and without a normal map unless the direction is along or across the tangent";
    assert_eq!(notes(&model, "glass"), [note]);
}

#[test]
fn plain_anisotropic_glass_is_a_rough_dielectric() {
    let mut model = Gltf::triangle();
    model.primitive()["material"] = json!(0);
    let mut glass = |rotation: f64, color: f64| {
        model.json["materials"] = json!([{
            "pbrMetallicRoughness": {
                "metallicFactor": 0, "roughnessFactor": 0.4, "baseColorFactor": [1, color, 1, 1],
            },
            "extensions": {
                "KHR_materials_transmission": { "transmissionFactor": 1 },
                "KHR_materials_ior": { "ior": 1.4 },
                "KHR_materials_volume": {
                    "thicknessFactor": 1, "attenuationDistance": 1, "attenuationColor": [0.5, 0.6, 0.7],
                },
                "KHR_materials_anisotropy": {
                    "anisotropyStrength": 0.5, "anisotropyRotation": rotation,
                },
            },
        }]);
        load(&model.write("brushed"))
    };
    let quarter = std::f64::consts::FRAC_PI_2;
    // Alpha is 0.16, and the strength raises that along the direction by a quarter of the way to 1.
    for (rotation, expected) in [
        (0.0, [0.37, 0.16]),
        (quarter, [0.16, 0.37]),
        (-quarter, [0.16, 0.37]),
        (2.0 * quarter, [0.37, 0.16]),
    ] {
        let scene = glass(rotation, 1.0);
        let Surface::RoughDielectric {
            ior,
            roughness,
            absorption,
            ..
        } = scene.materials[0]
        else {
            panic!("{:?}", scene.materials);
        };
        assert!(ior == 1.4 && absorption != Absorption::NONE);
        let found = [roughness.alpha, roughness.alpha_v.unwrap()];
        let off = |axis: usize| (found[axis] - expected[axis]).abs();
        assert!(off(0) < 1e-6 && off(1) < 1e-6, "{rotation}: {found:?}");
        assert!(scene.notes.is_empty(), "{:?}", scene.notes);
    }
    let scene = glass(0.0, 0.5);
    assert!(matches!(scene.materials[0], Surface::Principled(_)));
    assert!(
        scene.notes[0].contains("equally rough"),
        "{:?}",
        scene.notes
    );
}

#[test]
fn anisotropic_glass_at_any_angle_turns_the_tangents() {
    let mut model = square();
    let normals = model.floats("VEC3", &[[0.0, 0.0, 1.0]; 4]);
    model.primitive()["attributes"]["NORMAL"] = json!(normals);
    let map = json!({ "index": 0 });
    textured(&mut model, map.clone());
    let mut tangents = |rotation: f64, normal_map: bool| {
        model.json["materials"] = json!([{
            "pbrMetallicRoughness": { "metallicFactor": 0, "roughnessFactor": 0.4 },
            "extensions": {
                "KHR_materials_transmission": { "transmissionFactor": 1 },
                "KHR_materials_volume": { "thicknessFactor": 1 },
                "KHR_materials_anisotropy": {
                    "anisotropyStrength": 0.5, "anisotropyRotation": rotation,
                },
            },
        }]);
        if normal_map {
            model.json["materials"][0]["normalTexture"] = map.clone();
        }
        let scene = load(&model.write("turned_glass"));
        let is_exact = matches!(scene.materials[0], Surface::RoughDielectric { .. });
        assert_eq!(scene.notes.is_empty(), is_exact, "{:?}", scene.notes);
        assert_eq!(is_exact, !normal_map || rotation == 0.0);
        let shown = &scene.meshes[scene.instances[0].mesh as usize];
        shown
            .tangents
            .iter()
            .map(|&[x, y, z, _]| Vec3::new(x, y, z))
            .collect::<Vec<_>>()
    };
    let straight = tangents(0.0, false);
    let angle = 0.5_f64;
    // The square faces +z, and v grows downwards in its image.
    let turned = tangents(angle, false);
    assert_eq!((turned.len(), straight.len()), (4, 4));
    for (turned, along) in turned.into_iter().zip(straight) {
        let (sine, cosine) = (angle.sin() as f32, angle.cos() as f32);
        let expected = along * cosine + Vec3::Z.cross(along) * sine;
        assert!(turned.distance(expected) < 1e-6, "{turned}, not {expected}");
    }
    tangents(0.0, true);
    tangents(angle, true);
}

#[test]
fn vertex_colors_of_anisotropic_glass_are_noted() {
    let mut model = square();
    // Different colors would become a texture. Where mirrored coordinates meet, tangents need more vertices.
    let colors = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0; 3]];
    let colors = model.floats("VEC3", &colors);
    model.primitive()["attributes"]["COLOR_0"] = json!(colors);
    let normals = model.floats("VEC3", &[[0.0, 0.0, 1.0]; 4]);
    model.primitive()["attributes"]["NORMAL"] = json!(normals);
    let uvs = model.floats("VEC2", &[[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]);
    model.primitive()["attributes"]["TEXCOORD_0"] = json!(uvs);
    model.json["materials"] = json!([{
        "pbrMetallicRoughness": { "metallicFactor": 0, "roughnessFactor": 0.4 },
        "extensions": {
            "KHR_materials_transmission": { "transmissionFactor": 1 },
            "KHR_materials_volume": { "thicknessFactor": 1 },
            "KHR_materials_anisotropy": { "anisotropyStrength": 0.5, "anisotropyRotation": 0.5 },
        },
    }]);
    let found = notes(&model, "colored_glass");
    let text = "not used: the vertex colors of 1 instance of anisotropic glass";
    assert!(found.iter().any(|note| note == text), "{found:?}");
}

#[test]
fn specular_reflection_of_glass_is_noted() {
    let mut model = Gltf::triangle();
    model.primitive()["material"] = json!(0);
    let mut with = |transmission: f32, specular: Value| {
        model.json["materials"] = json!([{
            "pbrMetallicRoughness": { "metallicFactor": 0 },
            "extensions": {
                "KHR_materials_transmission": { "transmissionFactor": transmission },
                "KHR_materials_specular": specular,
            },
        }]);
        notes(&model, "specular_glass")
    };
    let note = "not used: the specular strength and color (KHR_materials_specular) of the glass of 1 material, which reflects by its index of refraction; change KHR_materials_ior instead";
    assert_eq!(with(0.5, json!({ "specularFactor": 0.5 })), [note]);
    let tint = json!({ "specularColorFactor": [1, 0.5, 0.5] });
    assert_eq!(with(1.0, tint.clone()), [note]);
    assert_eq!(with(0.0, tint), [""; 0]);
    assert_eq!(with(1.0, json!({})), [""; 0]);
}

#[test]
fn anisotropic_glass_can_have_a_texture_of_its_roughness() {
    let mut model = square();
    let map = json!({ "index": 0 });
    textured(&mut model, map.clone());
    for (rotation, along, across) in [
        (0.0, Parameter::Roughness, Parameter::RoughnessV),
        (
            std::f64::consts::FRAC_PI_2,
            Parameter::RoughnessV,
            Parameter::Roughness,
        ),
    ] {
        model.json["materials"] = json!([{
            "pbrMetallicRoughness": {
                "metallicFactor": 0, "roughnessFactor": 0.8, "metallicRoughnessTexture": map,
            },
            "extensions": {
                "KHR_materials_transmission": { "transmissionFactor": 1 },
                "KHR_materials_volume": { "thicknessFactor": 1 },
                "KHR_materials_anisotropy": {
                    "anisotropyStrength": 0.5, "anisotropyRotation": rotation,
                },
            },
        }]);
        let scene = load(&model.write("textured_glass"));
        let Surface::RoughDielectric { roughness, .. } = scene.materials[0] else {
            panic!("{:?}", scene.materials);
        };
        assert!(scene.notes.is_empty(), "{:?}", scene.notes);
        let textures = &scene.maps[&0].textures;
        assert!(!textures.contains_key(&Parameter::Metallic));
        let alpha = |parameter: Parameter| {
            let map = textures[&parameter];
            assert_eq!(map.channel, Channel::Green);
            let image = scene.textures[map.texture as usize].image;
            let Texels::Words(texels) = &scene.images[image as usize].texels else {
                panic!("a computed image has 16 bits");
            };
            let factor = match parameter {
                Parameter::Roughness => roughness.alpha,
                _ => roughness.alpha_v.unwrap(),
            };
            texels
                .iter()
                .map(move |texel| factor * f32::from(texel[1]) / 65535.0)
        };
        // The strength raises alpha along the direction by a quarter of the way to 1.
        for (along, across) in alpha(along).zip(alpha(across)) {
            let expected = across + (1.0 - across) * 0.25;
            assert!((along - expected).abs() < 1e-4, "{along} {expected}");
        }
        let largest = alpha(across).fold(0.0, f32::max);
        assert!((0.3..0.65).contains(&largest), "{largest}");
    }
}

#[test]
fn instances_beyond_the_limit_are_refused_before_they_are_read() {
    let mut model = Gltf::triangle();
    // 10,000 nodes share the transforms of 2,000 instances.
    let places = model.floats("VEC3", &[[0.0; 3]; 2000]);
    let node = json!({
        "mesh": 0,
        "extensions": { "EXT_mesh_gpu_instancing": { "attributes": { "TRANSLATION": places } } },
    });
    model.json["nodes"] = Value::Array(vec![node; 10_000]);
    model.json["scenes"][0]["nodes"] = (0..10_000).collect();
    model.json["extensionsUsed"] = json!(["EXT_mesh_gpu_instancing"]);
    let problem = message(&model.write("copies"));
    let expected = "has 20000000 instances (EXT_mesh_gpu_instancing), but the limit is 16777216; export it with fewer";
    assert!(problem.ends_with(expected), "{problem}");
}

#[test]
fn errors_of_libraries_are_not_cut_off() {
    let path = folder("cut");
    let text = r#"{ "asset": { "version": "2.0" }, "meshes": [{ "primitives": [{ "attributes": { "POSITION": "uri" } }] }] }"#;
    fs::write(path.join("a.gltf"), text).unwrap();
    let problem = message(&path.join("a.gltf"));
    assert!(
        problem.ends_with("expected index into child of root"),
        "{problem}"
    );
    let mut model = Gltf::triangle();
    model.primitive()["material"] = json!(0);
    model.json["images"] = json!([{ "uri": "a.png" }]);
    model.json["textures"] = json!([{ "source": 0 }]);
    model.json["materials"] = json!([{ "emissiveTexture": { "index": 0 } }]);
    fs::write(
        path.join("a.png"),
        b"\x89PNG\r\n\x1a\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    )
    .unwrap();
    fs::write(path.join("b.glb"), model.glb()).unwrap();
    let found = load(&path.join("b.glb")).notes.join("\n");
    let expected = "a.png: cannot be decoded; save it again with another program; shown without it: material 0";
    assert!(found.ends_with(expected), "{found}");
}

#[test]
fn stl_text_is_recognized_by_its_content() {
    let path = folder("stl").join("a.obj");
    let facet = "facet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid a\n";
    for head in ["solid a\n", "SOLID\r\n  "] {
        fs::write(&path, format!("{head}{facet}")).unwrap();
        let problem = message(&path);
        assert!(problem.contains("is an STL file"), "{problem}");
    }
}
