//! Tests of the parameters of directives and plugins: each is used, has no effect on the image, or is reported.

use std::fmt::Write;

use glam::Vec3;
use image::GrayImage;
use raysieve_scene::{Scene, Surface};

use super::{
    assert_noted, load, load_with_picture,
    pbrt::{surface, world},
};

/// A triangle with an anisotropic metal, and `rest` among its parameters.
fn brushed(rest: &str) -> String {
    format!(
        "Material \"conductor\" \"float uroughness\" 0.3 \"float vroughness\" 0.1\n\
         Shape \"trianglemesh\" \"point3 P\" [0 0 0 1 0 0 0 1 0] \"point2 uv\" [0 0 1 0 0 1] {rest}"
    )
}

/// Asserts that none of a scene's warnings contains a text.
fn assert_silent(scene: &Scene, text: &str) {
    let notes = &scene.notes;
    assert!(notes.iter().all(|note| !note.contains(text)), "{notes:#?}");
}

#[test]
fn tangents_of_a_pbrt_mesh_turn_its_anisotropy() {
    let tangents = "\"vector3 S\" [0 2 0 0 2 0 0 2 0]";
    let scene = world(&brushed(tangents)).unwrap();
    assert_silent(&scene, "`S`");
    let along = |scene: &Scene| -> Vec<Vec3> {
        let tangents = &scene.meshes[0].tangents;
        tangents
            .iter()
            .map(|&[x, y, z, _]| Vec3::new(x, y, z))
            .collect()
    };
    assert_eq!(along(&scene), [Vec3::Y; 3]);
    assert_eq!(along(&world(&brushed("")).unwrap()), [Vec3::X; 3]);
    let error = world(&brushed("\"vector3 S\" [0 2 0]")).unwrap_err();
    assert!(error.contains("S: has 1 entries for 3 vertices"), "{error}");
    // Without tangents in use there is nothing to keep.
    let plain = world(&brushed(tangents).replace("conductor", "diffuse")).unwrap();
    assert!(plain.meshes.iter().all(|mesh| mesh.tangents.is_empty()));
}

#[test]
fn tangents_of_a_mesh_with_a_bump_map_are_reported() {
    let text = format!(
        "WorldBegin\nTexture \"t\" \"float\" \"imagemap\" \"string filename\" \"picture.png\"\n{}",
        brushed("\"vector3 S\" [0 2 0 0 2 0 0 2 0]").replace(
            "\"conductor\"",
            "\"conductor\" \"texture displacement\" \"t\""
        )
    );
    let scene = load_with_picture("scene.pbrt", &text, GrayImage::new(4, 4));
    assert_noted(&scene, "not used: `S` of meshes with a bump map");
    assert_eq!(scene.meshes[0].tangents[0][..3], [1.0, 0.0, 0.0]);
}

#[test]
fn attributes_are_parameters_of_the_directives_that_follow() {
    let albedo = |directives: &str| match surface(directives) {
        Surface::Diffuse { albedo, .. } => albedo,
        other => panic!("{other:?}"),
    };
    let red = "Attribute \"material\" \"rgb reflectance\" [0.8 0 0]";
    let own = "Material \"diffuse\" \"rgb reflectance\" [0 0.8 0]";
    assert_eq!(
        albedo(&format!("{red} Material \"diffuse\"")),
        Vec3::new(0.8, 0.0, 0.0)
    );
    assert_eq!(albedo(&format!("{red} {own}")), Vec3::new(0.0, 0.8, 0.0));
    let later = format!("{red} {} Material \"diffuse\"", red.replace("0.8", "0.4"));
    assert_eq!(albedo(&later), Vec3::new(0.4, 0.0, 0.0));
    let ended = format!("AttributeBegin {red} AttributeEnd Material \"diffuse\"");
    assert_eq!(albedo(&ended), Vec3::splat(0.5));
    let scene = world(
        "Attribute \"shape\" \"float radius\" 2 Attribute \"light\" \"float scale\" 3\n\
         LightSource \"infinite\" \"rgb L\" [1 1 1] Shape \"sphere\"",
    )
    .unwrap();
    assert_eq!(
        (scene.spheres[0].radius, scene.sky),
        (2.0, Vec3::splat(3.0))
    );
    assert_silent(&scene, "Attribute");
    let error = world("Attribute \"lights\" \"float scale\" 3").unwrap_err();
    assert!(error.contains("expected shape, light, material"), "{error}");
    let mut many = String::from("Attribute \"shape\"");
    (0..65).for_each(|number| write!(many, " \"float a{number}\" 1").unwrap());
    let error = world(&many).unwrap_err();
    assert!(error.contains("more than 64 parameters"), "{error}");
}

#[test]
fn parameters_of_pbrt_without_a_counterpart_are_reported() {
    let texture = "Texture \"t\" \"spectrum\"";
    for (directives, note) in [
        (
            "LightSource \"distant\" \"float power\" 5",
            "not used: unknown parameters of 1 object: \"power of distant\"",
        ),
        (
            "AreaLightSource \"laser\"",
            "area lights of type `laser` by `diffuse`",
        ),
        (
            &format!("{texture} \"directionmix\""),
            "textures of type `directionmix` by the mean",
        ),
        (
            &format!("{texture} \"directionmix\" \"float amount\" 1"),
            "amount of directionmix",
        ),
        (
            "Material \"coatedconductor\" \"float thickness\" 2",
            "not used: `thickness`, `albedo`, `g` and `maxdepth` of `coatedconductor`",
        ),
    ] {
        let scene = world(&format!("{directives} Shape \"sphere\"")).unwrap();
        assert_noted(&scene, note);
    }
    for (directive, note) in [
        (
            "Film \"rgb\" \"float whitebalance\" 5000",
            "not used: `whitebalance` of the film",
        ),
        (
            "Film \"rgb\" \"float maxcomponentvalue\" 10",
            "not used: `maxcomponentvalue` of the film; `--clamp-indirect`",
        ),
        (
            "PixelFilter \"box\" \"float xradius\" 1 \"float yradius\" 2",
            "the two radii of the pixel filter by their mean",
        ),
        (
            "Integrator \"path\" \"bool regularize\" true",
            "not used: `regularize`",
        ),
        (
            "Option \"bool disablepixeljitter\" true",
            "not used: the option `disablepixeljitter`",
        ),
        (
            "Sampler \"halton\" \"integer samples\" 9",
            "samples of halton",
        ),
    ] {
        let text = format!("{directive} Camera \"perspective\" WorldBegin Shape \"sphere\"");
        assert_noted(&load(&[("scene.pbrt", &text)]).unwrap(), note);
    }
    let trilinear = "WorldBegin Texture \"t\" \"spectrum\" \"imagemap\" \"string filename\" \"picture.png\" \
         \"string filter\" \"EWA\" Shape \"sphere\"";
    let scene = load_with_picture("scene.pbrt", trilinear, GrayImage::new(4, 4));
    assert_noted(&scene, "the texture filters `trilinear` and `EWA`");
}

#[test]
fn samplers_and_shutters_of_pbrt_are_used() {
    let of = |directives: &str| {
        let text = format!("{directives} WorldBegin Shape \"sphere\"");
        load(&[("scene.pbrt", &text)]).unwrap()
    };
    assert_eq!(of("Sampler \"stratified\"").spp, 16);
    assert_eq!(
        of("Sampler \"stratified\" \"integer xsamples\" 3 \"integer ysamples\" 5").spp,
        15
    );
    assert_eq!(of("Sampler \"independent\"").spp, 4);
    let exposed = of(
        "Camera \"perspective\" \"float shutteropen\" 0.25 \"float shutterclose\" 0.5 Film \"rgb\" \"float iso\" 200",
    );
    assert_eq!(exposed.exposure_stops, -1.0);
    // Three levels and four times as many triangles in each.
    let levels = |name: &str| {
        let points =
            "\"point3 P\" [0 0 0 1 0 0 0 1 0 0 0 1] \"integer indices\" [0 2 1 0 1 3 1 2 3 0 3 2]";
        let text = format!("Shape \"loopsubdiv\" \"integer {name}\" 1 {points}");
        world(&text).unwrap().meshes[0].triangles.len()
    };
    assert_eq!((levels("levels"), levels("nlevels")), (16, 16));
}
