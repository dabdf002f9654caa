//! Tests of the lights that shapes of Mitsuba and pbrt contain, of their colors, and of images that light a scene.

use glam::Vec3;
use image::{DynamicImage, Rgb32FImage, RgbImage};
use raysieve_scene::{EnvironmentSource, Light, Parameter, Scene, Surface};

use super::{assert_not_noted, assert_noted, load, load_with_picture, mitsuba::scene};

/// Returns the lights of a scene with this emitter in a shape that is far from the origin.
fn emitter(text: &str) -> Scene {
    let place = "<transform name=\"to_world\"><translate z=\"7\"/></transform>";
    scene(&format!("<shape type=\"sphere\">{place}{text}</shape>")).unwrap()
}

#[test]
fn a_spot_light_in_a_shape_has_its_own_transform() {
    let place = "<transform name=\"to_world\"><translate x=\"3\"/></transform>";
    let lit = emitter(&format!("<emitter type=\"spot\">{place}</emitter>"));
    let [Light::Spot { position, .. }] = lit.lights[..] else {
        panic!("{:?}", lit.lights);
    };
    assert_eq!(position, Vec3::new(3.0, 0.0, 0.0));
    // The shape is black, as one with an area light.
    assert!(
        matches!(
            lit.materials[0],
            Surface::Diffuse {
                albedo: Vec3::ZERO,
                ..
            }
        ),
        "{:?}",
        lit.materials
    );
}

#[test]
fn a_shape_with_a_directional_area_light_is_dark_and_reported() {
    let dark = emitter("<emitter type=\"directionalarea\"/>");
    assert_eq!(dark.materials[0].radiance(), Vec3::ZERO);
    assert_noted(&dark, "not shown: the light of `directionalarea`");
}

/// Vertices with the colors of a triangle, which are linear in Mitsuba.
const COLORED: &str = "ply\nformat ascii 1.0\nelement vertex 3\n\
    property float x\nproperty float y\nproperty float z\n\
    property float r\nproperty float g\nproperty float b\n\
    element face 1\nproperty list uchar int vertex_indices\nend_header\n\
    0 0 0 0.5 0.25 0.125\n1 0 0 0.5 0.25 0.125\n0 1 0 0.5 0.25 0.125\n3 0 1 2\n";

#[test]
fn colors_of_a_mesh_are_shown_only_by_a_texture_of_them() {
    let of = |reflectance: &str, ply: &str| {
        let text = format!(
            "<scene version=\"3.0.0\"><shape type=\"ply\"><string name=\"filename\" value=\"a.ply\"/>\
             <bsdf type=\"diffuse\">{reflectance}</bsdf></shape></scene>"
        );
        load(&[("scene.xml", &text), ("a.ply", ply)]).unwrap()
    };
    let albedo = |scene: &Scene| {
        let material = scene.meshes[0].materials[0] as usize;
        match scene.materials[material] {
            Surface::Diffuse { albedo, .. } => albedo,
            surface => panic!("{surface:?}"),
        }
    };
    let attribute = |name: &str| {
        format!(
            "<texture type=\"mesh_attribute\" name=\"reflectance\">\
             <string name=\"name\" value=\"{name}\"/></texture>"
        )
    };
    let colored = of(&attribute("vertex_color"), COLORED);
    let difference = albedo(&colored) - Vec3::new(0.5, 0.25, 0.125);
    assert!(difference.abs().max_element() < 1e-6, "{difference}");
    assert_not_noted(&colored, "mesh");
    assert_eq!(albedo(&of("", COLORED)), Vec3::splat(0.5));
    let scaled = format!(
        "<texture type=\"scale\" name=\"reflectance\"><float name=\"scale\" value=\"0.5\"/>{}</texture>",
        attribute("vertex_color").replace("name=\"reflectance\"", "")
    );
    assert!((albedo(&of(&scaled, COLORED)).x - 0.25).abs() < 1e-6);
    let other = of(&attribute("vertex_moss"), COLORED);
    assert_eq!(albedo(&other), Vec3::splat(0.5));
    assert_noted(&other, "not shown: the mesh attribute `vertex_moss`");
    let bare = COLORED
        .replace("property float r\nproperty float g\nproperty float b\n", "")
        .replace(" 0.5 0.25 0.125", "");
    assert_noted(
        &of(&attribute("vertex_color"), &bare),
        "not shown: a `mesh_attribute` of 1 mesh without colors",
    );
}

#[test]
fn an_area_light_of_pbrt_shows_its_image() {
    let picture = RgbImage::from_fn(2, 1, |x, _| image::Rgb([255 * x as u8; 3]));
    let of = |parameters: &str| {
        let text = format!(
            "WorldBegin\nAreaLightSource \"diffuse\" \"string filename\" \"picture.png\" {parameters}\n\
             Shape \"bilinearmesh\" \"point3 P\" [-1 -1 0 1 -1 0 -1 1 0 1 1 0]\n"
        );
        load_with_picture("scene.pbrt", &text, DynamicImage::from(picture.clone()))
    };
    let lamp = of("\"float scale\" 4");
    let index = lamp.meshes[0].materials[0];
    assert_eq!(lamp.materials[index as usize].radiance(), Vec3::splat(4.0));
    assert!(
        lamp.maps[&index]
            .textures
            .contains_key(&Parameter::Emission)
    );
    // Half of the image is black, so that the other half is twice as bright: 8 W from 4 m² in all directions.
    let power = of("\"float power\" 8");
    let radiance = power.materials[index as usize].radiance().x;
    let expected = 2.0 * 8.0 / (4.0 * std::f32::consts::PI);
    assert!((radiance / expected - 1.0).abs() < 1e-3, "{radiance}");
}

/// pbrt scales an image by its illuminance from above, of which it computes a half.
#[test]
fn an_environment_of_pbrt_has_its_illuminance() {
    let even = Rgb32FImage::from_pixel(64, 64, image::Rgb([3.0; 3]));
    let folder = tempfile::TempDir::new().unwrap();
    even.save(folder.path().join("sky.exr")).unwrap();
    let text = "WorldBegin\nLightSource \"infinite\" \"string filename\" \"sky.exr\" \"float illuminance\" 5\n\
                Shape \"sphere\"\n";
    let path = folder.path().join("scene.pbrt");
    std::fs::write(&path, text).unwrap();
    let scene = Scene::load(&path).unwrap();
    let Light::Environment(environment) = &scene.lights[0] else {
        panic!("{:?}", scene.lights);
    };
    assert!(matches!(environment.source, EnvironmentSource::Map { .. }));
    let radiance = environment.scaled_radiances()[0].x;
    let expected = 2.0 * 5.0 / std::f32::consts::PI;
    assert!((radiance / expected - 1.0).abs() < 1e-3, "{radiance}");
    assert_not_noted(&scene, "illuminance");
}
