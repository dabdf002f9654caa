//! Tests of numbers of materials, such as opacities and roughnesses, that come from colored images or several sources.

use glam::Vec3;
use image::{RgbImage, RgbaImage};
use raysieve_scene::{Parameter, Scene, Surface, Texels};

use super::{assert_noted, load_with_picture, mitsuba::scene, pbrt::world};

/// A color whose channels are 0.8, 0.2 and 0.4 as stored.
const RED: [u8; 3] = [204, 51, 102];

/// Returns the opacity of a scene's first material: the factor times the red value of the texture's first texel as it is
/// stored, 0 to 1.
fn opacity(scene: &Scene) -> f32 {
    let material = match scene.triangles.first() {
        Some(triangle) => triangle.material,
        None => scene.meshes[0].materials[0],
    };
    let maps = &scene.maps[&material];
    let value = maps.textures.get(&Parameter::Opacity).map_or(1.0, |map| {
        let image = scene.textures[map.texture as usize].image;
        match &scene.images[image as usize].texels {
            Texels::Bytes(texels) => f32::from(texels[0][0]) / 255.0,
            Texels::Words(texels) => f32::from(texels[0][0]) / 65535.0,
            Texels::Floats(texels) => texels[0][0],
        }
    });
    maps.opacity * value
}

/// Decodes a byte of sRGB.
fn decoded(byte: u8) -> f32 {
    let encoded = f32::from(byte) / 255.0;
    ((encoded + 0.055) / 1.055).powf(2.4)
}

/// Asserts that two numbers are equal but for rounding to 16 bits.
fn assert_near(found: f32, expected: f32) {
    assert!((found - expected).abs() < 1e-4, "{found}, not {expected}");
}

#[test]
fn mitsuba_takes_the_luminance_of_a_colored_image_for_a_number() {
    let picture = RgbImage::from_pixel(2, 2, image::Rgb(RED));
    let of = |raw: bool| {
        let text = format!(
            "<scene version=\"3.0.0\"><shape type=\"rectangle\"><bsdf type=\"mask\"><texture type=\"bitmap\" name=\"opacity\">\
             <string name=\"filename\" value=\"picture.png\"/><boolean name=\"raw\" value=\"{raw}\"/></texture>\
             <bsdf type=\"diffuse\"/></bsdf></shape></scene>"
        );
        opacity(&load_with_picture("scene.xml", &text, picture.clone()))
    };
    assert_near(of(true), 0.2126 * 0.8 + 0.7152 * 0.2 + 0.0722 * 0.4);
    let [r, g, b] = RED.map(decoded);
    assert_near(of(false), 0.2126 * r + 0.7152 * g + 0.0722 * b);
}

#[test]
fn pbrt_takes_the_mean_or_the_alpha_of_a_colored_image_for_a_number() {
    let text = |file: &str| {
        format!(
            "WorldBegin\nTexture \"t\" \"float\" \"imagemap\" \"string filename\" \"{file}\" \"string encoding\" \"linear\"\n\
             Shape \"trianglemesh\" \"point3 P\" [0 0 0 1 0 0 0 1 0] \"point2 uv\" [0 0 1 0 0 1] \"texture alpha\" \"t\""
        )
    };
    let [r, g, b] = RED;
    let opaque = RgbImage::from_pixel(2, 2, image::Rgb(RED));
    let scene = load_with_picture("scene.pbrt", &text("picture.png"), opaque);
    assert_near(opacity(&scene), (0.8 + 0.2 + 0.4) / 3.0);
    let transparent = RgbaImage::from_pixel(2, 2, image::Rgba([r, g, b, 153]));
    let scene = load_with_picture("scene.pbrt", &text("picture.png"), transparent);
    assert_near(opacity(&scene), 0.6);
}

#[test]
fn nested_opacities_multiply() {
    let mask = |opacity: &str, inner: &str| format!("<bsdf type=\"mask\">{opacity}{inner}</bsdf>");
    let number = |value: f32| format!("<float name=\"opacity\" value=\"{value}\"/>");
    let plain = "<bsdf type=\"diffuse\"/>";
    let of = |bsdf: &str| scene(&format!("<shape type=\"rectangle\">{bsdf}</shape>")).unwrap();
    assert_near(
        opacity(&of(&mask(&number(0.5), &mask(&number(0.6), plain)))),
        0.3,
    );
    let half = "<bsdf type=\"blendbsdf\"><float name=\"weight\" value=\"0.5\"/><bsdf type=\"diffuse\"/>\
                <bsdf type=\"null\"/></bsdf>";
    assert_near(opacity(&of(&mask(&number(0.5), half))), 0.25);
    let board = "<texture type=\"checkerboard\" name=\"opacity\"><float name=\"color0\" value=\"0.8\"/>\
                 <float name=\"color1\" value=\"0.4\"/></texture>";
    let both = of(&mask(board, &mask(board, plain)));
    assert_near(opacity(&both), 0.6 * 0.4);
    assert_noted(&both, "the product of two opacities");
    let mixed = world(
        "MakeNamedMaterial \"a\" \"string type\" \"diffuse\"\nMakeNamedMaterial \"b\" \"string type\" \"interface\"\n\
         Material \"mix\" \"string materials\" [\"a\" \"b\"]\n\
         Shape \"trianglemesh\" \"point3 P\" [0 0 0 1 0 0 0 1 0] \"float alpha\" 0.5",
    )
    .unwrap();
    let opacities: Vec<f32> = mixed.maps.values().map(|maps| maps.opacity).collect();
    assert!(opacities.contains(&0.25), "{opacities:?}");
}

/// Returns the color of a scene's only material: the factor times the texture's first texel.
fn reflectance(textures: &str) -> Vec3 {
    let text = format!(
        "WorldBegin\n{textures}\nMaterial \"diffuse\" \"texture reflectance\" \"t\"\n\
         Shape \"trianglemesh\" \"point3 P\" [0 0 0 1 0 0 0 1 0] \"point2 uv\" [0 0 1 0 0 1]"
    );
    let picture = RgbImage::from_pixel(2, 2, image::Rgb(RED));
    let scene = load_with_picture("scene.pbrt", &text, picture);
    assert!(
        scene.notes.iter().all(|note| note.contains("light")),
        "{:?}",
        scene.notes
    );
    let Surface::Diffuse { albedo, .. } = scene.materials[0] else {
        panic!("{:?}", scene.materials);
    };
    let map = scene.maps[&0].textures[&Parameter::Color];
    let texture = scene.textures[map.texture as usize];
    let Texels::Words(texels) = &scene.images[texture.image as usize].texels else {
        panic!("a computed image has 16 bits");
    };
    let [r, g, b, _] = texels[0].map(|word| f32::from(word) / 65535.0);
    albedo * Vec3::new(r, g, b)
}

#[test]
fn textures_of_pbrt_are_inverted_and_mixed() {
    let image = |kind: &str, name: &str, more: &str| {
        format!(
            "Texture \"{name}\" \"{kind}\" \"imagemap\" \"string filename\" \"picture.png\" \"string encoding\" \"linear\" {more}\n"
        )
    };
    let assert_is = |textures: &str, expected: [f32; 3]| {
        let off = reflectance(textures) - Vec3::from_array(expected);
        assert!(off.abs().max_element() < 1e-4, "{textures}: {off}");
    };
    assert_is(
        &image("spectrum", "t", "\"bool invert\" true \"float scale\" 0.5"),
        [0.6, 0.9, 0.8],
    );
    let mix = |parts: &str| format!("Texture \"t\" \"spectrum\" \"mix\" {parts}");
    let first = mix("\"texture tex1\" \"a\" \"rgb tex2\" [1 0 1] \"float amount\" 0.25");
    assert_is(&(image("spectrum", "a", "") + &first), [0.85, 0.15, 0.55]);
    let second = mix("\"rgb tex1\" [1 0 1] \"texture tex2\" \"a\" \"float amount\" 0.75");
    assert_is(&(image("spectrum", "a", "") + &second), [0.85, 0.15, 0.55]);
    // The amount is the mean of the channels, 7/15.
    let amount = mix("\"rgb tex1\" [0 1 0.5] \"rgb tex2\" [1 0 0.5] \"texture amount\" \"a\"");
    assert_is(
        &(image("float", "a", "") + &amount),
        [7.0 / 15.0, 8.0 / 15.0, 0.5],
    );
}
