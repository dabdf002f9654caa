//! Tests of Mitsuba's `twosided` with two BSDFs.

use glam::Vec3;
use image::RgbImage;
use raysieve_scene::{Parameter, Scene, Surface};

use super::{assert_noted, load_with_picture};

const RED: &str = "<bsdf type=\"diffuse\"><rgb name=\"reflectance\" value=\"1, 0, 0\"/></bsdf>";
const GREEN: &str = "<bsdf type=\"diffuse\"><rgb name=\"reflectance\" value=\"0, 1, 0\"/></bsdf>";
const BLUE: &str = "<bsdf type=\"diffuse\"><rgb name=\"reflectance\" value=\"0, 0, 1\"/></bsdf>";
const TEXTURE: &str = "<texture type=\"bitmap\" name=\"t\"><string name=\"filename\" value=\"picture.png\"/><boolean name=\"raw\" value=\"true\"/></texture>";

/// Returns a `twosided` of these BSDFs.
fn two_sided(inner: &[&str]) -> String {
    format!("<bsdf type=\"twosided\">{}</bsdf>", inner.concat())
}

/// Loads a rectangle with this BSDF, and returns the scene with the index of the rectangle's material.
fn rectangle(bsdf: &str) -> (Scene, u32) {
    let text = format!("<scene version=\"3.0.0\"><shape type=\"rectangle\">{bsdf}</shape></scene>");
    let scene = load_with_picture("scene.xml", &text, RgbImage::new(2, 2));
    let mesh = scene.meshes.first().map(|mesh| mesh.materials[0]);
    let material = mesh.unwrap_or_else(|| scene.triangles[0].material);
    (scene, material)
}

/// Returns the albedo that a scene's material has on each side; 0 on a black back.
fn albedos(scene: &Scene, material: u32) -> [Vec3; 2] {
    match scene.materials[material as usize] {
        Surface::Diffuse { albedo, one_sided } => {
            [albedo, if one_sided { Vec3::ZERO } else { albedo }]
        }
        Surface::Blend {
            first,
            second,
            weight,
            by_side,
            ..
        } => {
            let [first, second] = [first, second].map(|part| albedos(scene, part));
            let mixed = |side: usize, weight: f32| first[side].lerp(second[side], weight);
            match by_side {
                false => [mixed(0, weight), mixed(1, weight)],
                true => [first[0], second[1]],
            }
        }
        surface => panic!("{surface:?}"),
    }
}

#[test]
fn a_twosided_bsdf_has_another_bsdf_on_its_back() {
    let half = "<float name=\"weight\" value=\"0.5\"/>";
    let blend =
        |one: &str, other: &str| format!("<bsdf type=\"blendbsdf\">{half}{one}{other}</bsdf>");
    let pair = two_sided(&[RED, BLUE]);
    let violet = Vec3::new(0.5, 0.0, 0.5);
    for (bsdf, expected) in [
        (pair.clone(), [Vec3::X, Vec3::Z]),
        (two_sided(&[RED]), [Vec3::X; 2]),
        (two_sided(&[RED, RED]), [Vec3::X; 2]),
        // As in Mitsuba, a BSDF inside another `twosided` is seen from its front only.
        (two_sided(&[&pair]), [Vec3::X; 2]),
        (
            two_sided(&[&pair, &two_sided(&[GREEN, RED])]),
            [Vec3::X, Vec3::Y],
        ),
        (two_sided(&[BLUE, &blend(&pair, BLUE)]), [Vec3::Z, violet]),
        (blend(&pair, &two_sided(&[BLUE])), [violet, Vec3::Z]),
        (two_sided(&[&blend(&pair, BLUE)]), [violet; 2]),
    ] {
        let (scene, material) = rectangle(&bsdf);
        assert_eq!(albedos(&scene, material), expected, "{bsdf}");
        assert!(scene.notes.is_empty(), "{bsdf}: {:?}", scene.notes);
    }
    let (scene, _) = rectangle(&two_sided(&[RED, BLUE, GREEN]));
    assert_noted(
        &scene,
        "not used: the third and further BSDFs of `twosided`",
    );
}

#[test]
fn a_mask_and_an_emitter_belong_to_both_sides() {
    let emitter = "<emitter type=\"area\"><rgb name=\"radiance\" value=\"1, 2, 3\"/></emitter>";
    let mask = format!(
        "<bsdf type=\"mask\"><float name=\"opacity\" value=\"0.25\"/>{}</bsdf>{emitter}",
        two_sided(&[RED, BLUE])
    );
    let (scene, material) = rectangle(&mask);
    assert_eq!(albedos(&scene, material), [Vec3::X, Vec3::Z]);
    assert_eq!(scene.maps[&material].opacity, 0.25);
    let radiance = scene.materials[material as usize].radiance();
    // The light does not depend on a constant opacity.
    assert_eq!(radiance, Vec3::new(4.0, 8.0, 12.0));
    assert_eq!(scene.check_blends(), Ok(()));
}

#[test]
fn different_opacities_of_two_sides_are_reported() {
    let mask = format!("<bsdf type=\"mask\"><float name=\"opacity\" value=\"0.5\"/>{RED}</bsdf>");
    let (scene, material) = rectangle(&two_sided(&[&mask, BLUE]));
    assert_eq!(scene.maps[&material].opacity, 0.5);
    assert_eq!(scene.check_blends(), Ok(()));
    assert_noted(
        &scene,
        "approximated: the opacity of the second BSDF of `twosided`",
    );
}

/// Mitsuba refuses these scenes, or their images would need another blend than there can be.
#[test]
fn unusual_twosided_bsdfs_are_valid_scenes() {
    let mut deep = RED.to_owned();
    for _ in 0..20 {
        deep = two_sided(&[&deep, BLUE]);
    }
    for bsdf in [
        two_sided(&[]),
        two_sided(&["<bsdf type=\"null\"/>", RED]),
        two_sided(&[RED, "<bsdf type=\"null\"/>"]),
        two_sided(&["<bsdf type=\"dielectric\"/>", RED]),
        two_sided(&[RED, "<bsdf type=\"unknown\"/>"]),
        deep,
    ] {
        let (scene, _) = rectangle(&bsdf);
        assert_eq!(scene.check_blends(), Ok(()), "{bsdf}");
    }
}

/// Relief of the back is the mirror image of what it would be on the front.
#[test]
fn each_side_has_its_own_relief() {
    let bump = |scale: f32, inner: &str| {
        format!(
            "<bsdf type=\"bumpmap\">{TEXTURE}<float name=\"scale\" value=\"{scale}\"/>{inner}</bsdf>"
        )
    };
    let (scene, material) = rectangle(&two_sided(&[&bump(0.5, RED), &bump(0.25, BLUE)]));
    assert_eq!(albedos(&scene, material), [Vec3::X, Vec3::Z]);
    let Surface::Blend { first, second, .. } = scene.materials[material as usize] else {
        unreachable!()
    };
    let relief = |part: u32| scene.maps[&part].textures[&Parameter::Normal];
    assert_ne!(relief(first), relief(second));
    assert!(scene.maps[&second].mirrored_relief && !scene.maps.contains_key(&material));
    // The relief around `twosided` is that of a thin sheet.
    let (scene, material) = rectangle(&bump(0.5, &two_sided(&[RED, BLUE])));
    let maps = &scene.maps[&material];
    assert!(maps.textures.contains_key(&Parameter::Normal) && !maps.mirrored_relief);
}
