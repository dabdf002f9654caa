//! Tests of glTF lights.

use std::fs;

use glam::Vec3;
use raysieve::scene::Light;
use serde_json::json;

use crate::{folder, gltf::Gltf, scene_of};

#[test]
fn gltf_lights_equal_the_same_lights_of_a_scene() {
    let folder = folder("lights");
    let mut model = Gltf::triangle();
    model.json["extensions"] = json!({ "KHR_lights_punctual": { "lights": [
        { "type": "point", "intensity": 10, "color": [1, 0.5, 0.25] },
        { "type": "directional", "intensity": 2 },
        { "type": "spot", "intensity": 4, "spot": { "innerConeAngle": 0, "outerConeAngle": std::f64::consts::FRAC_PI_4 } },
    ] } });
    let light = |light: u32| json!({ "KHR_lights_punctual": { "light": light } });
    model.json["scenes"][0]["nodes"] = json!([0, 1, 2, 3]);
    model.json["nodes"] = json!([
        { "mesh": 0 },
        { "translation": [1, 2, 3], "extensions": light(0) },
        // The rotation by 180° about y turns its direction to +z.
        { "rotation": [0, 1, 0, 0], "extensions": light(1) },
        { "translation": [0, 0, 5], "scale": [2, 2, 2], "extensions": light(2) },
    ]);
    let write = |model: &Gltf| fs::write(folder.join("model.glb"), model.glb()).unwrap();
    write(&model);
    let model_object = "objects: [Model(file: \"model.glb\", translate: (0, 1, 0))]";
    let found = scene_of(&folder, model_object);
    let expected = scene_of(
        &folder,
        "lights: [
            Point(position: (1, 3, 3), intensity: (10, 5, 2.5)),
            Directional(direction: (0, 0, 1), irradiance: (2, 2, 2)),
            Spot(position: (0, 1, 5), direction: (0, 0, -1), intensity: (4, 4, 4), outer: 45),
        ], objects: [Model(file: \"model.glb\", lights: false)]",
    );
    assert_eq!(found.lights.len(), 3);
    for (found, expected) in found.lights.iter().zip(&expected.lights) {
        assert!(alike(found, expected), "{found:?} is not {expected:?}");
    }
    // Lights in candela or lux are converted to watts.
    for light in model.json["extensions"]["KHR_lights_punctual"]["lights"]
        .as_array_mut()
        .unwrap()
    {
        light["intensity"] = json!(light["intensity"].as_f64().unwrap() * 683.0);
    }
    write(&model);
    let found = scene_of(&folder, model_object);
    for (found, expected) in found.lights.iter().zip(&expected.lights) {
        assert!(alike(found, expected), "{found:?} is not {expected:?}");
    }
    assert!(found.notes[0].ends_with(
        "its lights are so bright that they are taken to be in candela or lux, and divided by 683"
    ));
}

/// Returns whether two lights are of one type and equal within rounding.
fn alike(found: &Light, expected: &Light) -> bool {
    let near = |a: Vec3, b: Vec3| a.distance(b) < 1e-5 * b.length();
    match (found, expected) {
        (
            &Light::Point {
                position,
                intensity,
            },
            &Light::Point {
                position: there,
                intensity: strength,
            },
        ) => position == there && near(intensity, strength),
        (
            &Light::Directional {
                direction,
                irradiance,
                angle_degrees,
            },
            &Light::Directional {
                direction: towards,
                irradiance: strength,
                angle_degrees: 0.0,
            },
        ) => near(direction, towards) && near(irradiance, strength) && angle_degrees == 0.0,
        (
            &Light::Spot {
                position,
                direction,
                intensity,
                inner_degrees,
                outer_degrees,
                falloff,
            },
            &Light::Spot {
                position: there,
                direction: towards,
                intensity: strength,
                inner_degrees: inner,
                outer_degrees: outer,
                falloff: other,
            },
        ) => {
            position == there
                && near(direction, towards)
                && near(intensity, strength)
                && inner_degrees == inner
                && falloff == other
                && (outer_degrees - outer).abs() < 1e-4
        }
        _ => false,
    }
}

#[test]
fn a_spot_light_without_a_cone_is_reported() {
    let folder = folder("dark_spot");
    let mut model = Gltf::triangle();
    let notes = |model: &Gltf| {
        fs::write(folder.join("model.glb"), model.glb()).unwrap();
        scene_of(&folder, "objects: [Model(file: \"model.glb\")]").notes
    };
    model.json["scenes"][0]["nodes"] = json!([0, 1]);
    model.json["nodes"] = json!([
        { "mesh": 0 },
        { "extensions": { "KHR_lights_punctual": { "light": 0 } } },
    ]);
    for (angle, is_reported) in [(0.0, true), (0.5, false)] {
        let spot =
            json!({ "type": "spot", "spot": { "innerConeAngle": 0, "outerConeAngle": angle } });
        model.json["extensions"] = json!({ "KHR_lights_punctual": { "lights": [spot] } });
        let notes = notes(&model);
        let found = notes.iter().any(|note| note.contains("has an angle of 0"));
        assert_eq!(found, is_reported, "{angle}: {notes:?}");
    }
}
