//! Tests of bump maps and normal maps of Mitsuba and pbrt scenes.

use glam::{Vec2, Vec3};
use image::{GrayImage, Luma, RgbImage};
use raysieve_scene::{Parameter, Scene, Surface, Texels};

use super::{assert_not_noted, assert_noted, load_with_picture};

/// An image whose brightness grows to the right and, half as fast, downwards.
fn ramp() -> GrayImage {
    GrayImage::from_fn(64, 32, |x, y| Luma([(2 * x + 2 * y) as u8]))
}

/// Returns the slopes along tangent and bitangent in the middle of the normal map of a scene's `index`-th instance.
fn slopes(scene: &Scene, index: usize) -> Vec2 {
    let mesh = &scene.meshes[scene.instances[index].mesh as usize];
    let own = scene.instances[index].material;
    slopes_of_material(scene, own.unwrap_or(mesh.materials[0]))
}

/// Returns the slopes of [`slopes`] for a material.
fn slopes_of_material(scene: &Scene, material: u32) -> Vec2 {
    let maps = &scene.maps[&material];
    let texture = scene.textures[maps.textures[&Parameter::Normal].texture as usize];
    let image = &scene.images[texture.image as usize];
    let Texels::Words(texels) = &image.texels else {
        panic!("a height map becomes 16-bit normals");
    };
    let middle = texels[(image.height / 2 * image.width + image.width / 2) as usize];
    let [x, y, z] = [0, 1, 2].map(|channel| f32::from(middle[channel]) / 65535.0 * 2.0 - 1.0);
    -Vec2::new(x, y) / z * maps.normal_scale
}

/// Asserts that two slopes are equal but for rounding.
fn assert_near(found: Vec2, expected: Vec2) {
    let off = (found - expected).abs().max_element();
    assert!(off < 0.02 * expected.length(), "{found}, not {expected}");
}

/// Returns the parts of a Mitsuba scene with a bump map on a shape.
fn bumped(to_uv: &str, shape: &str) -> String {
    let texture = format!(
        "<texture type=\"bitmap\"><string name=\"filename\" value=\"picture.png\"/><boolean name=\"raw\" value=\"true\"/>\
         <transform name=\"to_uv\">{to_uv}</transform></texture>"
    );
    format!(
        "<shape type=\"rectangle\">{shape}<bsdf type=\"bumpmap\">{texture}<bsdf type=\"diffuse\"/></bsdf></shape>"
    )
}

/// Loads a Mitsuba scene with these members.
fn scene(members: &str) -> Scene {
    let text = format!("<scene version=\"3.0.0\">{members}</scene>");
    load_with_picture("scene.xml", &text, ramp())
}

/// Slopes of the ramp on a surface of 1 m along u and v: the differences per texel, times the number of texels.
fn unit_slopes() -> Vec2 {
    Vec2::new(2.0 / 255.0 * 64.0, -2.0 / 255.0 * 32.0)
}

#[test]
fn the_slopes_of_a_bump_map_depend_on_the_size_along_u_and_v() {
    let scaled = |x: f32, y: f32| {
        let scale = format!("<scale x=\"{x}\" y=\"{y}\"/>");
        let shape = format!("<transform name=\"to_world\">{scale}</transform>");
        slopes(&scene(&bumped("", &shape)), 0)
    };
    // A rectangle extends from -1 to 1.
    assert_near(scaled(0.5, 0.5), unit_slopes());
    assert_near(scaled(2.0, 0.5), unit_slopes() / Vec2::new(4.0, 1.0));
}

#[test]
fn the_slopes_of_a_bump_map_follow_the_transform_of_texture_coordinates() {
    let shape = "<transform name=\"to_world\"><scale value=\"0.5\"/></transform>";
    let of = |to_uv: &str| slopes(&scene(&bumped(to_uv, shape)), 0);
    let plain = unit_slopes();
    assert_near(of("<scale x=\"3\" y=\"1\"/>"), plain * Vec2::new(3.0, 1.0));
    assert_near(
        of("<scale x=\"-1\" y=\"1\"/>"),
        plain * Vec2::new(-1.0, 1.0),
    );
    // The image is turned by 90 degrees: where v grows, it moves against its u.
    let turned = of("<matrix value=\"0 -1 0 0  1 0 0 0  0 0 1 0  0 0 0 1\"/>");
    assert_near(turned.abs(), Vec2::new(plain.y, plain.x).abs());
}

#[test]
fn the_heights_of_a_bump_map_are_decoded() {
    let flat =
        "Shape \"trianglemesh\" \"point3 P\" [0 0 0 1 0 0 0 1 0] \"point2 uv\" [0 0 1 0 0 1]";
    let of = |encoding: &str| {
        let text = format!(
            "WorldBegin\nTexture \"t\" \"float\" \"imagemap\" \"string filename\" \"picture.png\" \"string encoding\" \"{encoding}\"\n\
             Material \"diffuse\" \"texture displacement\" \"t\"\n{flat}"
        );
        slopes(&load_with_picture("scene.pbrt", &text, ramp()), 0)
    };
    assert_near(of("linear"), unit_slopes());
    // The slope of the sRGB curve at the value in the middle.
    let encoded = (2.0 * 32.0 + 2.0 * 16.0) / 255.0;
    let rise = 2.4 / 1.055 * ((encoded + 0.055_f32) / 1.055).powf(1.4);
    assert_near(of("sRGB"), unit_slopes() * rise);
}

#[test]
fn instances_that_scale_a_bump_map_keep_its_heights() {
    let instance = |scale: &str| {
        format!(
            "<shape type=\"instance\"><ref id=\"group\"/><transform name=\"to_world\">{scale}</transform></shape>"
        )
    };
    let shape = "<transform name=\"to_world\"><scale value=\"0.5\"/></transform>";
    let group = format!(
        "<shape type=\"shapegroup\" id=\"group\">{}</shape>",
        bumped("", shape)
    );
    let scene = scene(&format!(
        "{group}{}{}{}",
        instance(""),
        instance("<scale value=\"4\"/>"),
        instance("<scale value=\"0.5\"/>"),
    ));
    let mut found = [0, 1, 2].map(|index| slopes(&scene, index).x);
    found.sort_by(f32::total_cmp);
    let plain = unit_slopes().x;
    for (found, expected) in found.into_iter().zip([plain / 4.0, plain, 2.0 * plain]) {
        assert_near(Vec2::new(found, 1.0), Vec2::new(expected, 1.0));
    }
}

/// Returns the directions in which green points in world space, at each instance of a scene.
fn bitangents(scene: &Scene) -> Vec<Vec3> {
    let of = |instance: &raysieve_scene::Instance| {
        let mesh = &scene.meshes[instance.mesh as usize];
        let [x, y, z, side] = mesh.tangents[0];
        let local = mesh.normals[0].cross(Vec3::new(x, y, z)) * side;
        let [right, up, back] = instance.axes;
        (right * local.x + up * local.y + back * local.z).normalize()
    };
    scene.instances.iter().map(of).collect()
}

#[test]
fn a_normal_map_in_a_mirroring_instance_has_the_bitangent_of_mitsuba() {
    let group = "<shape type=\"shapegroup\" id=\"group\"><shape type=\"rectangle\"><bsdf type=\"normalmap\">\
        <texture type=\"bitmap\" name=\"normalmap\"><string name=\"filename\" value=\"picture.png\"/>\
        <boolean name=\"raw\" value=\"true\"/></texture><bsdf type=\"diffuse\"/></bsdf></shape></shape>";
    let instance = "<shape type=\"instance\"><ref id=\"group\"/></shape>\
        <shape type=\"instance\"><ref id=\"group\"/><transform name=\"to_world\"><scale x=\"-1\" y=\"1\"/></transform></shape>";
    let text = format!("<scene version=\"3.0.0\">{group}{instance}</scene>");
    let scene = load_with_picture("scene.xml", &text, RgbImage::new(2, 2));
    // The cross product of the normal, +z, and the direction of u, +x and -x.
    let mut found = bitangents(&scene);
    found.sort_by(|a, b| b.y.total_cmp(&a.y));
    assert!(found[0].distance(Vec3::Y) < 1e-5, "{found:?}");
    assert!(found[1].distance(Vec3::NEG_Y) < 1e-5, "{found:?}");
}

#[test]
fn a_normal_map_of_pbrt_has_the_cross_product_of_normal_and_tangent_as_bitangent() {
    let mesh = |uvs: &str| {
        let text = format!(
            "WorldBegin\nMaterial \"diffuse\" \"string normalmap\" \"picture.png\"\n\
             Shape \"trianglemesh\" \"point3 P\" [0 0 0 1 0 0 0 1 0] \"normal N\" [0 0 1 0 0 1 0 0 1] \"point2 uv\" [{uvs}]"
        );
        bitangents(&load_with_picture("scene.pbrt", &text, RgbImage::new(2, 2)))[0]
    };
    assert!(mesh("0 0 1 0 0 1").distance(Vec3::Y) < 1e-5);
    assert!(mesh("0 0 1 0 0 -1").distance(Vec3::Y) < 1e-5);
    assert!(mesh("0 0 -1 0 0 1").distance(Vec3::NEG_Y) < 1e-5);
}

#[test]
fn a_bump_map_around_a_normal_map_is_reported() {
    let texture = |name: &str| {
        format!(
            "<texture type=\"bitmap\" name=\"{name}\"><string name=\"filename\" value=\"picture.png\"/></texture>"
        )
    };
    let inner = format!(
        "<bsdf type=\"normalmap\">{}<bsdf type=\"diffuse\"/></bsdf>",
        texture("normalmap")
    );
    let scene = scene(&format!(
        "<shape type=\"rectangle\"><bsdf type=\"bumpmap\">{}{inner}</bsdf></shape>",
        texture("arbitrary")
    ));
    assert_noted(&scene, "several bump maps and normal maps");
}

/// Returns the indices of both parts of the blend that a scene's `index`-th instance shows.
fn parts(scene: &Scene, index: usize) -> [u32; 2] {
    let mesh = &scene.meshes[scene.instances[index].mesh as usize];
    let own = scene.instances[index].material;
    let blend = own.unwrap_or(mesh.materials[0]);
    let Surface::Blend { first, second, .. } = scene.materials[blend as usize] else {
        panic!("{:?}", scene.materials[blend as usize]);
    };
    assert!(!scene.maps.contains_key(&blend) || scene.maps[&blend].textures.is_empty());
    [first, second]
}

/// Returns the slopes of both parts of the blend that a scene's `index`-th instance shows.
fn slopes_of_parts(scene: &Scene, index: usize) -> [Vec2; 2] {
    parts(scene, index).map(|part| slopes_of_material(scene, part))
}

#[test]
fn each_material_of_a_blend_has_its_own_bump_map() {
    let texture = "<texture type=\"bitmap\"><string name=\"filename\" value=\"picture.png\"/><boolean name=\"raw\" value=\"true\"/></texture>";
    let bump = |scale: f32| {
        format!(
            "<bsdf type=\"bumpmap\">{texture}<float name=\"scale\" value=\"{scale}\"/><bsdf type=\"diffuse\"/></bsdf>"
        )
    };
    let half = "<float name=\"weight\" value=\"0.5\"/>";
    let blend = format!(
        "<bsdf type=\"blendbsdf\">{half}{}{}</bsdf>",
        bump(1.0),
        bump(0.25)
    );
    let size = "<transform name=\"to_world\"><scale value=\"0.5\"/></transform>";
    let shape =
        format!("<shape type=\"rectangle\">{size}<bsdf type=\"twosided\">{blend}</bsdf></shape>");
    let expected = [unit_slopes(), 0.25 * unit_slopes()];
    let check = |scene: &Scene, index: usize, scale: f32| {
        for (found, expected) in slopes_of_parts(scene, index).into_iter().zip(expected) {
            assert_near(found, expected * scale);
        }
    };
    check(&scene(&shape), 0, 1.0);
    // Instances scale the reliefs of both.
    let group = format!("<shape type=\"shapegroup\" id=\"group\">{shape}</shape>");
    let instance = |scale: f32| {
        format!(
            "<shape type=\"instance\"><ref id=\"group\"/><transform name=\"to_world\"><scale value=\"{scale}\"/></transform></shape>"
        )
    };
    let instances = scene(&format!("{group}{}{}", instance(1.0), instance(2.0)));
    let mut scales = [0, 1].map(|index| slopes_of_parts(&instances, index)[0].x / expected[0].x);
    scales.sort_by(f32::total_cmp);
    assert!(
        (scales[0] - 0.5).abs() < 0.01 && (scales[1] - 1.0).abs() < 0.01,
        "{scales:?}"
    );
    let heavier = blend.replace("0.5\"", "1\"");
    let single = scene(&format!(
        "<shape type=\"rectangle\">{size}{heavier}</shape>"
    ));
    assert_near(slopes(&single, 0), expected[1]);
    let of = |number: u32, scale: f32| {
        format!(
            "Texture \"s{number}\" \"float\" \"scale\" \"texture tex\" \"t\" \"float scale\" {scale}\n\
             MakeNamedMaterial \"m{number}\" \"string type\" \"diffuse\" \"texture displacement\" \"s{number}\"\n"
        )
    };
    let mix = format!(
        "WorldBegin\nTexture \"t\" \"float\" \"imagemap\" \"string filename\" \"picture.png\" \"string encoding\" \"linear\"\n\
         {}{}Material \"mix\" \"string materials\" [\"m0\" \"m1\"]\n\
         Shape \"trianglemesh\" \"point3 P\" [0 0 0 1 0 0 0 1 0] \"point2 uv\" [0 0 1 0 0 1]",
        of(0, 1.0),
        of(1, 0.25)
    );
    check(&load_with_picture("scene.pbrt", &mix, ramp()), 0, 1.0);
}

#[test]
fn a_bump_map_beside_a_normal_map_keeps_its_relief() {
    let sheet = bumped(
        "",
        "<transform name=\"to_world\"><scale value=\"0.5\"/></transform>",
    );
    let normal_map = "<bsdf type=\"normalmap\"><texture type=\"bitmap\" name=\"normalmap\">\
        <string name=\"filename\" value=\"picture.png\"/></texture><bsdf type=\"diffuse\"/></bsdf>";
    let half = "<bsdf type=\"blendbsdf\"><float name=\"weight\" value=\"0.5\"/>";
    let blended = sheet
        .replace(
            "<bsdf type=\"bumpmap\">",
            &format!("{half}{normal_map}<bsdf type=\"bumpmap\">"),
        )
        .replace("</shape>", "</bsdf></shape>");
    let scene = scene(&blended);
    // The mesh has the bitangents of normal maps, +y on a rectangle. The ramp rises downwards in the image, where the v
    // of a rectangle and its y grow.
    assert!(bitangents(&scene)[0].distance(Vec3::Y) < 1e-5);
    assert_near(
        slopes_of_material(&scene, parts(&scene, 0)[1]),
        unit_slopes() * Vec2::new(1.0, -1.0),
    );
    // A mirroring instance reverses the bitangents for normal maps.
    let group = format!("<shape type=\"shapegroup\" id=\"group\">{blended}</shape>");
    let mirror = "<shape type=\"instance\"><ref id=\"group\"/><transform name=\"to_world\"><scale x=\"-1\"/></transform></shape>";
    let note = "bump maps on meshes that also have normal maps";
    assert_noted(&self::scene(&format!("{group}{mirror}")), note);
    assert_not_noted(&scene, note);
}

#[test]
fn instances_in_a_group_are_scaled_again_with_the_group() {
    let scaled = |id: &str, scale: f32| {
        format!(
            "<shape type=\"instance\"><ref id=\"{id}\"/><transform name=\"to_world\"><scale value=\"{scale}\"/></transform></shape>"
        )
    };
    let shape = bumped(
        "",
        "<transform name=\"to_world\"><scale value=\"0.5\"/></transform>",
    );
    let inner = format!("<shape type=\"shapegroup\" id=\"inner\">{shape}</shape>");
    let outer = format!(
        "<shape type=\"shapegroup\" id=\"outer\">{}</shape>",
        scaled("inner", 2.0)
    );
    let scene = scene(&format!("{inner}{outer}{}", scaled("outer", 4.0)));
    assert_near(slopes(&scene, 0), unit_slopes() / 8.0);
}

#[test]
fn relief_that_differs_from_mitsuba_is_reported() {
    let bump = bumped("", "");
    let shadows = "without the shadows that Mitsuba adds";
    assert_noted(&scene(&bump), shadows);
    let off = "<boolean name=\"use_shadowing_function\" value=\"false\"/><bsdf type=\"diffuse\"/>";
    let plain = scene(&bump.replace("<bsdf type=\"diffuse\"/>", off));
    assert_not_noted(&plain, shadows);
    let valid = "<boolean name=\"flip_invalid_normals\" value=\"false\"/><bsdf type=\"diffuse\"/>";
    let kept = scene(&bump.replace("<bsdf type=\"diffuse\"/>", valid));
    assert_noted(&kept, "not used: a `flip_invalid_normals` of false");
}

#[test]
fn the_relief_inside_twosided_is_mirrored_behind() {
    let mirrored = |outer: &str, inner: &str| {
        let shape = bumped("", "").replace("<bsdf type=\"diffuse\"/>", inner);
        let shape = shape.replace("<bsdf type=\"bumpmap\">", outer);
        let scene = scene(&shape.replace(
            "</shape>",
            match outer.contains("twosided") {
                true => "</bsdf></shape>",
                false => "</shape>",
            },
        ));
        assert!(
            scene.notes.iter().all(|note| !note.contains("twosided")),
            "{:?}",
            scene.notes
        );
        let material = scene.meshes[0].materials[0];
        scene.maps[&material].mirrored_relief
    };
    let (plain, relief) = ("<bsdf type=\"diffuse\"/>", "<bsdf type=\"bumpmap\">");
    let both = "<bsdf type=\"twosided\"><bsdf type=\"diffuse\"/></bsdf>";
    assert!(!mirrored(relief, plain));
    assert!(!mirrored(relief, both));
    assert!(mirrored(
        "<bsdf type=\"twosided\"><bsdf type=\"bumpmap\">",
        plain
    ));
    // Two equal reliefs in a blend become that of the blend, unless only one is mirrored.
    let shape = bumped("", "");
    let sheet = &shape[shape.find("<bsdf").unwrap()..shape.find("</shape>").unwrap()];
    let diffuse = format!("<bsdf type=\"twosided\">{sheet}</bsdf>");
    let metal = diffuse.replace("\"diffuse\"", "\"roughconductor\"");
    for first in [diffuse.as_str(), sheet] {
        let blend = "<bsdf type=\"blendbsdf\"><float name=\"weight\" value=\"0.5\"/>";
        let scene = scene(&format!(
            "<shape type=\"rectangle\">{blend}{first}{metal}</bsdf></shape>"
        ));
        let maps = scene.maps.values();
        let mut mirrored = maps.filter(|maps| maps.mirrored_relief);
        assert!(mirrored.next().is_some(), "{first}");
        let whole = scene.meshes[0].materials[0];
        let is_whole = scene
            .maps
            .get(&whole)
            .is_some_and(|maps| maps.mirrored_relief);
        assert_eq!(is_whole, first != sheet, "{first}");
    }
}
