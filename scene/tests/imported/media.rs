//! Tests of media in scenes of Mitsuba and pbrt.

use glam::Vec3;
use raysieve_scene::{Medium, Scene, Surface};

use super::{assert_noted, load_with, mitsuba, pbrt};

/// Returns the only material of a scene, with the medium inside it.
fn only(scene: &Scene) -> (Surface, Option<Medium>) {
    assert_eq!(scene.materials.len(), 1);
    (scene.materials[0], scene.media.get(&0).copied())
}

/// Asserts that a medium has these coefficients, within rounding.
fn assert_medium(medium: Option<Medium>, scattering: [f32; 3], absorption: [f32; 3], g: f32) {
    let medium = medium.expect("a medium");
    let differs = |a: Vec3, b: [f32; 3]| (a - Vec3::from(b)).abs().max_element() > 1e-5;
    let is_wrong = differs(medium.scattering, scattering)
        || differs(medium.absorption, absorption)
        || (medium.anisotropy - g).abs() > 1e-6;
    assert!(!is_wrong, "{medium:?}");
}

const MITSUBA_SMOKE: &str = r#"<rgb name="sigma_t" value="1,2,4"/><rgb name="albedo" value="0.5,0.75,1"/>
    <float name="scale" value="2"/><phase type="hg"><float name="g" value="0.3"/></phase></medium>"#;

#[test]
fn a_null_bsdf_around_a_medium_is_a_boundary() {
    for (bsdf, expected) in [
        ("null", Surface::Boundary),
        (
            "dielectric",
            mitsuba::surface("<bsdf type=\"dielectric\"/>"),
        ),
    ] {
        let scene = mitsuba::scene(&format!(
            r#"<shape type="sphere"><bsdf type="{bsdf}"/><medium name="interior" type="homogeneous">{MITSUBA_SMOKE}</shape>"#
        ))
        .unwrap();
        let (surface, medium) = only(&scene);
        assert_eq!(surface, expected);
        assert_medium(medium, [1.0, 3.0, 8.0], [1.0, 1.0, 0.0], 0.3);
        assert!(
            scene.fog.is_none() && scene.notes.is_empty(),
            "{:?}",
            scene.notes
        );
    }
}

#[test]
fn a_medium_of_the_sensor_is_fog_unless_it_is_inside_a_shape() {
    for (interior, is_fog) in [("", true), (r#"<ref name="interior" id="smoke"/>"#, false)] {
        let scene = mitsuba::scene(&format!(
            r#"<sensor type="perspective"><ref id="smoke"/></sensor>
               <medium type="homogeneous" id="smoke">{MITSUBA_SMOKE}
               <shape type="cube"><bsdf type="dielectric"/>{interior}</shape>"#
        ))
        .unwrap();
        assert_eq!(scene.fog.is_some(), is_fog, "{interior}");
        assert_eq!(only(&scene).1.is_some(), !is_fog, "{interior}");
    }
}

#[test]
fn a_grid_has_the_mean_of_its_values() {
    let mut grid = b"VOL\x03".to_vec();
    for word in [1_u32, 2, 1, 1, 1] {
        grid.extend(word.to_le_bytes());
    }
    for number in [0.0_f32, 0.0, 0.0, 1.0, 1.0, 1.0, 0.5, 3.5] {
        grid.extend(number.to_le_bytes());
    }
    let text = r#"<scene version="3.0.0"><shape type="cube"><bsdf type="null"/>
        <medium name="interior" type="heterogeneous"><volume name="sigma_t" type="gridvolume">
        <string name="filename" value="smoke.vol"/></volume><float name="albedo" value="0.5"/>
        <phase type="rayleigh"/></medium></shape></scene>"#;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scene.xml");
    std::fs::write(&path, text).unwrap();
    let load = |grid: &[u8]| {
        std::fs::write(folder.path().join("smoke.vol"), grid).unwrap();
        Scene::load(&path)
    };
    let scene = load(&grid).unwrap();
    assert_medium(only(&scene).1, [1.0; 3], [1.0; 3], 0.0);
    assert_noted(&scene, "the density of media that varies, by its mean");
    assert_noted(&scene, "the phase function `rayleigh` by `isotropic`");
    for damaged in [&grid[..grid.len() - 1], &grid[..20], b"VOL"] {
        let error = load(damaged).unwrap_err().line();
        assert!(error.contains("`smoke.vol` is damaged"), "{error}");
    }
}

#[test]
fn an_interface_around_a_medium_is_a_boundary() {
    let smoke = r#"MakeNamedMedium "smoke" "string type" "homogeneous" "rgb sigma_s" [ 1 2 4 ] "rgb sigma_a" [ 1 0 0.5 ]
        "float scale" 2 "float g" -0.25"#;
    for kind in ["interface", "", "none"] {
        let scene = pbrt::world(&format!(
            "{smoke}\nMediumInterface \"smoke\" \"\" Material \"{kind}\" Shape \"sphere\""
        ))
        .unwrap();
        let (surface, medium) = only(&scene);
        assert_eq!(surface, Surface::Boundary);
        assert_medium(medium, [2.0, 4.0, 8.0], [2.0, 0.0, 1.0], -0.25);
    }
    let inside = "MediumInterface \"smoke\" \"\" Material \"dielectric\" Shape \"sphere\"";
    let scene = pbrt::world(&format!("{smoke}\n{inside}")).unwrap();
    assert!(only(&scene).1.is_some());
    let preset = "MakeNamedMedium \"smoke\" \"string preset\" \"Skin1\"";
    let scene = pbrt::world(&format!("{preset}\n{inside}")).unwrap();
    assert_medium(only(&scene).1, [0.74, 0.88, 1.01], [0.032, 0.17, 0.48], 0.0);
}

#[test]
fn a_medium_around_the_camera_of_pbrt_is_fog() {
    let text = "MakeNamedMedium \"haze\" \"rgb sigma_s\" [ 1 1 1 ] \"rgb sigma_a\" [ 0 0 0 ]
        MediumInterface \"\" \"haze\" Camera \"perspective\" WorldBegin Shape \"sphere\"";
    let scene = load_with(&[("scene.pbrt", text)], &Default::default()).unwrap();
    assert_medium(scene.fog, [1.0; 3], [0.0; 3], 0.0);
    assert!(only(&scene).1.is_none());
}
