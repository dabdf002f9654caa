//! Tests of Mitsuba's plastics and textured spot lights, which other materials and lights replace.

use raysieve_scene::{Light, Scene, SpotFalloff, Surface, Texels};

use super::{
    assert_noted,
    mitsuba::{BALL, scene, surface},
    pbrt::world,
};

/// Returns the fall-off of the first light, a spot light, and whether a warning mentions it.
fn falloff(scene: &Scene) -> (SpotFalloff, bool) {
    let noted = scene.notes.iter().any(|note| note.contains("fall-off"));
    match scene.lights[0] {
        Light::Spot { falloff, .. } => (falloff, noted),
        _ => panic!("no spot light"),
    }
}

#[test]
fn spot_lights_fall_off_as_in_their_format() {
    let mitsuba = |angles: &str| {
        let light = format!("{BALL}<emitter type=\"spot\">{angles}</emitter>");
        falloff(&scene(&light).unwrap())
    };
    assert_eq!(mitsuba(""), (SpotFalloff::Linear, false));
    let narrow = "<float name=\"beam_width\" value=\"0\"/>";
    assert_eq!(mitsuba(narrow), (SpotFalloff::Linear, true));
    let pbrt = world("LightSource \"spot\"\nShape \"sphere\"").unwrap();
    assert_eq!(falloff(&pbrt), (SpotFalloff::Smooth, false));
}

#[test]
fn the_fall_off_of_a_spot_light_is_a_field_of_scene_files() {
    let light = |falloff: &str| {
        let text = format!(
            "(camera: (origin: (0, 0, 4), target: (0, 0, 0), fov: 40),
            materials: {{ \"m\": Diffuse(albedo: (1, 1, 1)) }},
            objects: [Sphere(center: (0, 0, 0), radius: 1, material: \"m\")],
            lights: [Spot(position: (0, 3, 0), direction: (0, -1, 0), intensity: (1, 1, 1), outer: 30{falloff})])"
        );
        Scene::parse("spot.ron".as_ref(), &text)
    };
    let smooth = light(", falloff: Smooth").unwrap();
    assert_eq!(falloff(&smooth).0, SpotFalloff::Smooth);
    let squared = light("").unwrap();
    assert_eq!(falloff(&squared).0, SpotFalloff::Squared);
    let problem = light(", falloff: Round").unwrap_err().to_string();
    assert!(
        problem.contains("expected Squared, Smooth or Linear"),
        "{problem}"
    );
}

#[test]
fn a_textured_spot_light_has_the_mean_of_its_texture() {
    let spot = |texture: &str| {
        let text = format!(
            "<emitter type=\"spot\"><float name=\"intensity\" value=\"2\"/>{texture}</emitter>"
        );
        scene(&format!("{BALL}{text}")).unwrap()
    };
    let texture = "<texture name=\"texture\" type=\"checkerboard\"><float name=\"color0\" value=\"0.2\"/>\
        <float name=\"color1\" value=\"0.6\"/></texture>";
    let intensity = |scene: &Scene| match scene.lights[0] {
        Light::Spot { intensity, .. } => intensity,
        _ => panic!("no spot light"),
    };
    let plain = spot("");
    let textured = spot(texture);
    assert_noted(&textured, "the texture of spot lights by its mean");
    assert!((intensity(&textured) - intensity(&plain) * 0.4).length() < 1e-5);
}

#[test]
fn textured_plastic_is_as_bright_as_plain_plastic() {
    let plastic = |inner: &str| format!("<bsdf type=\"plastic\">{inner}</bsdf>");
    let plain = |albedo: f32| {
        let inner = format!("<rgb name=\"diffuse_reflectance\" value=\"{albedo}\"/>");
        match surface(&plastic(&inner)) {
            Surface::CoatedDiffuse { albedo, .. } => albedo.to_array(),
            other => panic!("{other:?}"),
        }
    };
    let inner = "<texture name=\"diffuse_reflectance\" type=\"checkerboard\">\
        <float name=\"color0\" value=\"0.2\"/><float name=\"color1\" value=\"0.6\"/></texture>";
    let scene = scene(&format!(
        "<shape type=\"sphere\">{}</shape>",
        plastic(inner)
    ))
    .unwrap();
    let image = &scene.images[scene.textures.last().unwrap().image as usize];
    let Texels::Floats(texels) = &image.texels else {
        panic!("a checkerboard has floats");
    };
    for (texel, albedo) in texels.iter().zip([0.2, 0.6]) {
        assert_eq!(texel[..3], plain(albedo));
        assert!(texel[0] > albedo);
    }
}

/// The bases are as bright as Mitsuba's, whose BSDF reflects 0.370, 0.273 and 0.436 of diffuse light from a base of 0.5.
#[test]
fn a_base_below_a_rough_coat_is_as_bright_as_mitsubas() {
    for (inner, expected) in [
        ("<float name=\"alpha\" value=\"0.4\"/>", 0.592),
        (
            "<float name=\"alpha\" value=\"0.4\"/><string name=\"distribution\" value=\"ggx\"/>",
            0.479,
        ),
        (
            "<float name=\"alpha\" value=\"0.05\"/><string name=\"distribution\" value=\"ggx\"/>",
            0.684,
        ),
    ] {
        let bsdf = |more: &str| format!("<bsdf type=\"roughplastic\">{inner}{more}</bsdf>");
        let albedo = |more: &str| match surface(&bsdf(more)) {
            Surface::CoatedDiffuse { albedo, .. } => albedo.x,
            other => panic!("{other:?}"),
        };
        assert!(
            (albedo("") - expected).abs() < 0.012,
            "{inner}: {}",
            albedo("")
        );
        let nonlinear = albedo("<boolean name=\"nonlinear\" value=\"true\"/>");
        assert!(nonlinear < albedo(""), "{inner}: {nonlinear}");
    }
}
