//! Tests of the parameters of directives and plugins: each is used, has no effect on the image, or is reported.

use std::fmt::Write;

use glam::Vec3;
use image::GrayImage;
use raysieve_scene::{Background, Encoding, Scene, Surface, Wrap};

use super::{
    assert_not_noted, assert_noted, load, load_with_picture,
    mitsuba::{BALL, scene},
    pbrt::{surface, world},
};

/// A triangle with an anisotropic metal, and `rest` among its parameters.
fn brushed(rest: &str) -> String {
    format!(
        "Material \"conductor\" \"float uroughness\" 0.3 \"float vroughness\" 0.1\n\
         Shape \"trianglemesh\" \"point3 P\" [0 0 0 1 0 0 0 1 0] \"point2 uv\" [0 0 1 0 0 1] {rest}"
    )
}

#[test]
fn tangents_of_a_pbrt_mesh_turn_its_anisotropy() {
    let tangents = "\"vector3 S\" [0 2 0 0 2 0 0 2 0]";
    let scene = world(&brushed(tangents)).unwrap();
    assert_not_noted(&scene, "`S`");
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
    assert_not_noted(&scene, "Attribute");
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
    // One level splits each of the four triangles into four. The default has three levels.
    let levels = |name: &str| {
        let points =
            "\"point3 P\" [0 0 0 1 0 0 0 1 0 0 0 1] \"integer indices\" [0 2 1 0 1 3 1 2 3 0 3 2]";
        let text = format!("Shape \"loopsubdiv\" \"integer {name}\" 1 {points}");
        world(&text).unwrap().meshes[0].triangles.len()
    };
    assert_eq!((levels("levels"), levels("nlevels")), (16, 16));
}

#[test]
fn area_lights_in_objects_do_not_shine_as_in_pbrt() {
    let object = "ObjectBegin \"a\" AreaLightSource \"diffuse\" Shape \"sphere\" ObjectEnd ObjectInstance \"a\"";
    let scene = world(object).unwrap();
    let shines = |surface: &Surface| surface.radiance() != Vec3::ZERO;
    assert!(!scene.materials.iter().any(shines));
    assert_noted(
        &scene,
        "not used: area lights in objects, as in pbrt; move them out",
    );
}

#[test]
fn spectra_of_pbrt_are_used_or_reported() {
    let glass =
        world("Material \"dielectric\" \"spectrum eta\" \"glass-BK7\" Shape \"sphere\"").unwrap();
    assert_noted(&glass, "not shown: the dispersion of materials");
    let plain = world("Material \"dielectric\" \"spectrum eta\" 1.5 Shape \"sphere\"").unwrap();
    assert_not_noted(&plain, "dispersion");
    let sky = |spectrum: &str| {
        let light = format!("LightSource \"infinite\" {spectrum} Shape \"sphere\"");
        world(&light).unwrap().sky
    };
    let lamp = sky("\"spectrum L\" \"stdillum-A\"");
    assert_eq!(lamp, sky("\"blackbody L\" 2856"));
    assert!(lamp.x > 2.0 * lamp.z, "{lamp}");
}

/// Returns the first texture of a Mitsuba scene whose sphere shows `picture.png`, with `rest` in its bitmap.
fn bitmap(rest: &str) -> Scene {
    let text = format!(
        "<scene version=\"3.0.0\"><shape type=\"sphere\"><bsdf type=\"diffuse\"><texture type=\"bitmap\" \
         name=\"reflectance\"><string name=\"filename\" value=\"picture.png\"/>{rest}</texture></bsdf></shape></scene>"
    );
    load_with_picture("scene.xml", &text, GrayImage::new(4, 4))
}

#[test]
fn bitmaps_of_older_mitsuba_versions_keep_their_wrap_modes_and_gamma() {
    let wrapped = bitmap(
        "<string name=\"wrapModeU\" value=\"clamp\"/><string name=\"wrapMode\" value=\"mirror\"/>",
    );
    assert_eq!(wrapped.textures[0].wrap, [Wrap::Clamp, Wrap::Mirror]);
    assert_noted(
        &bitmap("<string name=\"wrap_mode\" value=\"zero\"/>"),
        "the wrap mode `zero` by `repeat`",
    );
    let linear = bitmap("<float name=\"gamma\" value=\"1\"/>");
    assert_eq!(linear.textures[0].encoding, Encoding::Linear);
    assert_noted(
        &bitmap("<float name=\"gamma\" value=\"1.8\"/>"),
        "the `gamma` of images by sRGB",
    );
    assert_noted(
        &bitmap("<string name=\"filter_type\" value=\"ewa\"/>"),
        "the texture filter `ewa` by `bilinear`",
    );
    assert_noted(
        &bitmap("<string name=\"channel\" value=\"r\"/>"),
        "not used: unknown parameters of 1 object: \"channel of bitmap\"",
    );
}

#[test]
fn hidden_emitters_of_mitsuba_leave_the_background_black_or_transparent() {
    let of = |film: &str, rest: &str| {
        let hides = "<integrator type=\"path\"><boolean name=\"hide_emitters\" value=\"true\"/></integrator>";
        let sensor =
            format!("<sensor type=\"perspective\"><film type=\"hdrfilm\">{film}</film></sensor>");
        scene(&format!("{hides}{sensor}{BALL}{rest}")).unwrap()
    };
    let sky = "<emitter type=\"constant\"/>";
    let black = of("", sky);
    assert_eq!(black.background, Background::Color(Vec3::ZERO));
    assert_not_noted(&black, "hide_emitters");
    let alpha = "<string name=\"pixel_format\" value=\"rgba\"/>";
    assert_eq!(of(alpha, sky).background, Background::Transparent);
    let upper = "<string name=\"pixel_format\" value=\"RGBA\"/>";
    assert_eq!(of(upper, sky).background, Background::Transparent);
    let hides =
        "<integrator type=\"path\"><boolean name=\"hide_emitters\" value=\"true\"/></integrator>";
    let without_sensor = scene(&format!("{hides}{BALL}{sky}")).unwrap();
    assert_eq!(without_sensor.background, Background::Color(Vec3::ZERO));
    let lamp = "<shape type=\"sphere\"><emitter type=\"area\"/></shape>";
    let lit = of("", lamp);
    let hidden = lit.materials.iter().zip(0..).map(|(surface, index)| {
        let maps = lit.maps.get(&index);
        let is_hidden = maps.is_some_and(|maps| maps.hidden_from_camera);
        (surface.radiance() != Vec3::ZERO, is_hidden)
    });
    assert_eq!(hidden.collect::<Vec<_>>(), [(false, false), (true, true)]);
}

#[test]
fn light_of_a_masked_emitter_does_not_depend_on_the_opacity() {
    let lamp = |bsdf: &str| {
        let emitter = "<emitter type=\"area\"><rgb name=\"radiance\" value=\"3\"/></emitter>";
        scene(&format!("<shape type=\"sphere\">{bsdf}{emitter}</shape>")).unwrap()
    };
    let masked = lamp(
        "<bsdf type=\"mask\"><float name=\"opacity\" value=\"0.5\"/><bsdf type=\"diffuse\"/></bsdf>",
    );
    assert_eq!(masked.materials[0].radiance(), Vec3::splat(6.0));
    let bright = "<emitter type=\"area\"><rgb name=\"radiance\" value=\"1e6\"/></emitter>";
    let thin = "<bsdf type=\"mask\"><float name=\"opacity\" value=\"0.01\"/><bsdf type=\"diffuse\"/></bsdf>";
    let kept = scene(&format!("<shape type=\"sphere\">{thin}{bright}</shape>")).unwrap();
    assert_noted(&kept, "bright area lights with a `mask`");
    let textured = lamp(
        "<bsdf type=\"mask\"><texture type=\"checkerboard\" name=\"opacity\"/><bsdf type=\"diffuse\"/></bsdf>",
    );
    assert_noted(&textured, "area lights whose `mask` has a texture");
    let clear = lamp(
        "<bsdf type=\"mask\"><float name=\"opacity\" value=\"0\"/><bsdf type=\"diffuse\"/></bsdf>",
    );
    assert_noted(&clear, "area lights with an opacity of 0");
    let null = lamp("<bsdf type=\"null\"/>");
    assert_noted(
        &null,
        "area lights whose BSDF is `null` by half opaque ones",
    );
    assert_eq!(null.materials[0].radiance(), Vec3::splat(6.0));
    assert!(matches!(
        null.materials[0],
        Surface::Emissive {
            albedo: Vec3::ZERO,
            ..
        }
    ));
}

#[test]
fn names_of_older_mitsuba_versions_are_used_or_reported() {
    let of = |bsdf: &str| scene(&format!("<shape type=\"sphere\">{bsdf}</shape>")).unwrap();
    let old = of("<bsdf type=\"diffuse\"><rgb name=\"diffuseReflectance\" value=\"0.25\"/></bsdf>");
    assert!(matches!(
        old.materials[0],
        Surface::Diffuse { albedo, .. } if albedo == Vec3::splat(0.25)
    ));
    let metal = of("<bsdf type=\"conductor\"><float name=\"extEta\" value=\"1.3\"/></bsdf>");
    assert_noted(&metal, "ext_eta of conductor");
    let thin = of("<bsdf type=\"principledthin\"><float name=\"clearcoat\" value=\"1\"/></bsdf>");
    assert_noted(&thin, "clearcoat of principledthin");
}
