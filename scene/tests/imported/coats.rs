//! Tests of the materials of pbrt that have layers or a refractive index.

use glam::Vec3;
use raysieve_scene::{Metal, Parameter, Scene, Surface, Texels};

use super::{
    assert_noted,
    pbrt::{surface, world},
};

/// Returns the albedo of the base of a `coateddiffuse`.
fn base(parameters: &str) -> Vec3 {
    match surface(&format!("Material \"coateddiffuse\" {parameters}")) {
        Surface::CoatedDiffuse { albedo, .. } => albedo,
        surface => panic!("{surface:?}"),
    }
}

/// Returns the base color of a principled material.
fn base_color(directives: &str) -> Vec3 {
    match surface(directives) {
        Surface::Principled(principled) => principled.base_color,
        surface => panic!("{surface:?}"),
    }
}

/// Directive that defines the checkerboard texture `t` with values 0.25 and 0.75.
const CHECKERBOARD: &str = "Texture \"t\" \"spectrum\" \"checkerboard\" \"rgb tex1\" [ 0.25 0.25 0.25 ] \
     \"rgb tex2\" [ 0.75 0.75 0.75 ] ";

#[test]
fn a_coat_darkens_its_base_by_what_it_loses() {
    let parameters = |rest: &str| format!("\"rgb reflectance\" [ 0.5 0.5 0.5 ] {rest}");
    let of = |rest: &str| base(&parameters(rest)).x;
    let rough = of("\"float roughness\" 0.15");
    assert!((rough - 0.40).abs() < 0.01, "{rough}");
    // A smooth coat without a layer loses nothing, and this renderer's is only another formula.
    let smooth = of("\"float thickness\" 0");
    assert!((smooth - 0.5).abs() < 0.01, "{smooth}");
    for (darker, brighter) in [
        ("\"float thickness\" 0.1", "\"float thickness\" 0.01"),
        ("", "\"float thickness\" 0"),
        ("\"integer maxdepth\" 1", ""),
        (
            "\"float thickness\" 0.5",
            "\"float thickness\" 0.5 \"rgb albedo\" [ 0.8 0.8 0.8 ]",
        ),
        ("\"float roughness\" 1", "\"float roughness\" 0.15"),
    ] {
        assert!(of(darker) < of(brighter), "{darker} and {brighter}");
    }
    // Values out of range are clamped.
    for extreme in [
        "\"float thickness\" -1 \"integer maxdepth\" -5",
        "\"float thickness\" 1e300 \"rgb albedo\" [ 9 9 9 ]",
        "\"integer maxdepth\" 4000000000 \"float eta\" 100",
        "\"float eta\" 0 \"float roughness\" 1e30",
        "\"float eta\" 1",
    ] {
        let albedo = of(extreme);
        assert!((0.0..=1.0).contains(&albedo), "{extreme}: {albedo}");
    }
    assert_eq!(base("\"rgb reflectance\" [ 0 0 0 ]"), Vec3::ZERO);
    let scene =
        world("Material \"coateddiffuse\" \"rgb albedo\" [ 1 1 1 ] Shape \"sphere\"").unwrap();
    assert_noted(&scene, "the scattering below the coat of `coateddiffuse`");
}

#[test]
fn a_texture_below_a_coat_has_the_colors_of_plain_bases() {
    let shape =
        "Shape \"trianglemesh\" \"point3 P\" [0 0 0 1 0 0 0 1 0] \"integer indices\" [0 1 2]";
    let coat = "\"float roughness\" 0.15";
    let scene: Scene = world(&format!(
        "{CHECKERBOARD} Material \"coateddiffuse\" \"texture reflectance\" \"t\" {coat} {shape}\n\
         Material \"coateddiffuse\" \"texture reflectance\" \"t\" {coat} {shape}\n\
         Material \"coateddiffuse\" \"texture reflectance\" \"t\" \"float roughness\" 0.3 {shape}"
    ))
    .unwrap();
    let texture = |material: u32| scene.maps[&material].textures[&Parameter::Color].texture;
    // Equal coats share a texture.
    assert!(texture(0) == texture(1) && texture(0) != texture(2));
    let image = &scene.images[scene.textures[texture(0) as usize].image as usize];
    let Texels::Floats(texels) = &image.texels else {
        panic!("a checkerboard has floats");
    };
    for (texel, albedo) in texels.iter().zip([0.25, 0.75]) {
        let plain = base(&format!(
            "\"rgb reflectance\" [ {albedo} {albedo} {albedo} ] {coat}"
        ));
        assert_eq!(texel[..3], plain.to_array());
    }
}

#[test]
fn each_coat_of_a_scene_has_a_base_of_its_own() {
    let coats = [
        "",
        "\"float roughness\" 0.3",
        "\"float eta\" 1.8",
        "\"float thickness\" 0.2",
        "\"integer maxdepth\" 1",
        "",
    ];
    let directives =
        coats.map(|coat| format!("Material \"coateddiffuse\" {coat} Shape \"sphere\"\n"));
    let scene = world(&directives.concat()).unwrap();
    for (sphere, coat) in scene.spheres.iter().zip(coats) {
        match scene.materials[sphere.material as usize] {
            Surface::CoatedDiffuse { albedo, .. } => assert_eq!(albedo, base(coat), "{coat}"),
            surface => panic!("{surface:?}"),
        }
    }
    assert_eq!(scene.spheres.len(), coats.len());
}

#[test]
fn a_metal_below_a_coat_has_the_index_relative_to_the_coat() {
    let coated = "Material \"coatedconductor\" \"rgb conductor.eta\" [ 3 3 3 ] \"rgb conductor.k\" [ 6 6 6 ]";
    let reflectance =
        |eta: f32, k: f32| ((eta - 1.0).powi(2) + k * k) / ((eta + 1.0).powi(2) + k * k);
    for (interface, ior) in [("", 1.5), ("\"float interface.eta\" 2", 2.0)] {
        let color = base_color(&format!("{coated} {interface}")).x;
        assert!(
            (color - reflectance(3.0 / ior, 6.0 / ior)).abs() < 1e-4,
            "{color}"
        );
    }
}

#[test]
fn a_conductor_with_a_reflectance_has_the_index_of_pbrt() {
    let metal = |value: f32| {
        let rgb = format!("\"rgb reflectance\" [ {value} {value} {value} ]");
        match surface(&format!("Material \"conductor\" {rgb}")) {
            Surface::Conductor {
                metal: Metal::Index { eta, k, .. },
                ..
            } => (eta.x, k.x),
            surface => panic!("{surface:?}"),
        }
    };
    let (eta, k) = metal(0.5);
    assert!(eta == 1.0 && (k - 2.0).abs() < 1e-5, "{eta} {k}");
    assert_eq!(metal(0.0), (1.0, 0.0));
    assert!(metal(1.0).1 <= 100.0);
}

#[test]
fn a_pane_of_pbrt_is_thin() {
    let pane = surface("Material \"thindielectric\" \"float eta\" 1.3");
    let is_thin = matches!(
        pane,
        Surface::Dielectric {
            ior: 1.3,
            thin: true,
            ..
        }
    );
    assert!(is_thin, "{pane:?}");
}
